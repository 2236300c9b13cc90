package machine

import (
	"fmt"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// Ending is how an execution that is repeated has ended.
type Ending struct {
	Output    string
	Violation *system.Violation
	// Stacks are those of the goroutines that matter.
	Stacks []Stack
	// MainEnded tells whether the test, or main, has ended.
	MainEnded bool
	Early     bool // an alarm went off while somebody could run
}

// Stack is where a goroutine was.
type Stack struct {
	Goroutine, What string
	Frames          []Place
}

// TraceStep is a step of a schedule.
type TraceStep struct {
	Thread int
	Alt    uint64
}

// Replay repeats an execution and finds out what people want to know of it. The
// violation is the one that the last step makes; without one, the goroutines that
// wait for ever are told.
func (s *System) Replay(steps []TraceStep) (*Ending, error) {
	m := s.NewMachine().(*Machine)
	m.Track(true)
	m.collect = true
	e := &Ending{}
	rep := &Report{accesses: map[uint64]access{}}
	m.report = rep
	for k, st := range steps {
		if !e.Early {
			e.Early = m.early(st.Thread)
		}
		out := m.Step(st.Thread, st.Alt)
		if out.Kind != system.Moved {
			return nil, fmt.Errorf("step %d is %v", k+1, out.Kind)
		}
		if out.Violation != nil {
			e.Violation = out.Violation
		}
	}
	e.Output = string(m.output)
	e.MainEnded = m.gors[0].status == ended
	if e.Violation != nil {
		e.Stacks = rep.stacks
		return e, nil
	}
	for _, g := range m.gors {
		if g.status != alive || g.daemon {
			continue
		}
		mark := m.Mark()
		out := m.Step(int(g.number), 0)
		m.Rewind(mark)
		if out.Kind == system.Blocked && !out.AtEnd {
			e.Stacks = append(e.Stacks, Stack{Goroutine: m.Describe(int(g.number)), What: m.waitsFor(g), Frames: m.places(m.stackOf(g))})
		}
	}
	return e, nil
}

// early tells whether a step lets an alarm go off while somebody else could run.
func (m *Machine) early(t int) bool {
	if t >= len(m.gors) {
		return false
	}
	i := m.gors[t].pending()
	if i == nil || m.gors[t].unstarted || i.Op != compile.Sync {
		return false
	}
	if n := natives[i.N].name; n != "internal/cpor.Await" && n != "time.awaitTimer" {
		return false
	}
	report := m.report
	m.report = nil
	defer func() { m.report = report }()
	for _, g := range m.gors {
		if int(g.number) == t || g.status != alive || g.armed {
			continue
		}
		mark := m.Mark()
		out := m.Step(int(g.number), 0)
		m.Rewind(mark)
		if out.Kind == system.Moved {
			return true
		}
	}
	return false
}

// waitsFor says why a goroutine cannot go on.
func (m *Machine) waitsFor(g *goroutine) string {
	s := "waits: " + m.doing(g)
	i := g.pending()
	if i.Op == compile.Sync {
		r := g.regs()
		switch natives[i.N].name {
		case "(*sync.Mutex).Lock", "(*sync.RWMutex).RLock", "sync.rwAnnounce":
			if h := m.mem[m.addr(r[0])]; h != 0 {
				s += ", held by " + m.Describe(int(h)-1)
			}
		case "sync.rwLock":
			s += ", others hold it for reading"
		}
	}
	return s
}

// places returns the calls of a stack, those of the standard library only where the
// user calls nothing.
func (m *Machine) places(stack []token) []Place {
	var ps []Place
	for _, t := range stack {
		if p := m.posOf(t); p.Line > 0 && !t.fn.Hidden {
			ps = append(ps, Place{t.fn.Name, p})
		}
	}
	return ps
}

// Report finds out more about a violation while an execution is repeated.
type Report struct {
	accesses map[uint64]access // by word and kind
	stacks   []Stack
}

// access is the last access of a goroutine to a word.
type access struct {
	epoch uint64
	stack []token
}

func accessKey(m *Machine, p uint64, g int32, write bool) uint64 {
	k := uint64(m.addr(p))<<24 | uint64(g)<<1
	if write {
		k |= 1
	}
	return k
}

// note remembers an access.
func (r *Report) note(m *Machine, g *goroutine, p uint64, write bool) {
	r.accesses[accessKey(m, p, g.number, write)] = access{epoch(g), m.stackOf(g)}
}

// failed notes where a goroutine has failed.
func (r *Report) failed(m *Machine, g *goroutine) {
	stack := m.stackOf(g)
	if n := len(stack); g.panics != nil && n > 0 && stack[n-1].fn == m.sys.crash {
		stack = g.panics.stack // the frames are gone
	}
	r.stacks = []Stack{{Goroutine: m.Describe(int(g.number)), What: "failed here", Frames: m.places(stack)}}
}

// raced notes the two accesses of a race.
func (r *Report) raced(m *Machine, g *goroutine, p, earlier uint64, wrote, writes bool) {
	verb := func(w bool) string {
		if w {
			return "write of "
		}
		return "read of "
	}
	what := m.describeWord(p)
	t := int32(earlier>>32) - 1
	r.stacks = []Stack{
		{Goroutine: m.Describe(int(g.number)), What: verb(writes) + what, Frames: m.places(m.stackOf(g))},
		{Goroutine: m.Describe(int(t)), What: "earlier " + verb(wrote) + what, Frames: m.places(r.accesses[accessKey(m, p, t, wrote)].stack)},
	}
}

// Output returns what was printed in the execution that led to the live state. It
// is there if the program was made with Options.Outcomes.
func (m *Machine) Output() string { return m.text(m.outText) }

// Stuck tells whether some goroutine waits for ever, and whether the first one
// does; nobody can run.
func (m *Machine) Stuck() (some, first bool) {
	for _, g := range m.gors {
		if g.status == alive && !g.daemon && !m.exited {
			some = true
			first = first || g.number == 0
		}
	}
	return some, first
}

// Failed returns the violations of the execution that led to the live state.
func (m *Machine) Failed() []*system.Violation {
	var vs []*system.Violation
	for _, g := range m.gors {
		if g.status == failed && g.failure != nil {
			vs = append(vs, g.failure)
		}
	}
	return vs
}
