package machine

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// Ending is how a repeated execution has ended.
type Ending struct {
	Output    string
	Violation *system.Violation
	// Stacks are those of the goroutines that matter.
	Stacks []Stack
	// MainEnded reports whether the test, or main, has ended.
	MainEnded bool
	Early     bool // an alarm went off while somebody could run
	// Slept is where the test itself slept at that time; without a function if it did not.
	Slept Place
	// Late reports whether the violation is a panic of a test whose own time-out has expired
	// while a goroutine could run.
	Late bool
	// Running are the goroutines that have not ended and do not wait forever.
	Running []Stack
	// GoesOn reports whether a goroutine or timer can continue.
	GoesOn bool
	// Lost are the stacks of goroutines that can never continue, whatever the others do.
	Lost []Stack
	// Calls are those of a scenario of check.LockFree or check.ObstructionFree in which goroutines
	// are.
	Calls []InCall
}

// InCall is a goroutine in a call, and what it does there.
type InCall struct {
	Stack
	Thread int
	Call   string
	Does   Doing
}

// Doing is what a goroutine does at the end of an execution.
type Doing int

// What goroutines do. If one waits, none runs.
const (
	Blocked Doing = iota // it waits for others
	// Runs: it has made steps lately, in the second half of those since a call has ended.
	Runs
	Suspended // nothing, though it could do something
)

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

// ThreadNames identifies the first n goroutines: the number of each one's creator, and how many
// that had created before. Numbers are assigned in the order in which a search meets the
// goroutines.
func (s *System) ThreadNames(n int) [][2]int32 {
	var names [][2]int32
	for i := range n {
		t := s.threads.Name(uint32(i))
		names = append(names, [2]int32{t.parent, t.n})
	}
	return names
}

// NameThreads gives goroutines their numbers in the system of ThreadNames. No execution may have
// been explored before.
func (s *System) NameThreads(names [][2]int32) error {
	for i, n := range names {
		if k := s.threads.Number(threadName{n[0], n[1]}); int(k) != i {
			return fmt.Errorf("goroutine %d has the number %d", i, k)
		}
	}
	return nil
}

// Replay repeats an execution and collects what a report shows. The violation is that of the
// last step; without one, the goroutines that wait forever are reported.
func (s *System) Replay(steps []TraceStep) (*Ending, error) {
	m := s.NewMachine().(*Machine)
	m.Track(true)
	m.collect = true
	e := &Ending{}
	rep := &Report{accesses: map[wordAccess]access{}, locked: map[lockKey]token{},
		missed: map[uint64]token{}}
	m.report = rep
	late := lateness{}
	var runs []int // the goroutines of the steps in calls since one has ended
	for k, st := range steps {
		if st.Thread >= len(m.gors) {
			return nil, fmt.Errorf("step %d is %v", k+1, system.Blocked)
		}
		late.before(m, st.Thread, e)
		in, before := m.Call(st.Thread) != "", m.Ended(st.Thread)
		children := m.gors[st.Thread].children
		out := m.Step(st.Thread, st.Alt)
		if out.Kind != system.Moved {
			return nil, fmt.Errorf("step %d is %v", k+1, out.Kind)
		}
		late.behind(m, st.Thread, children)
		if m.Ended(st.Thread) > before {
			runs = runs[:0]
		} else if in {
			runs = append(runs, st.Thread)
		}
		if out.Violation != nil {
			e.Violation = out.Violation
			e.Late = out.Violation.Kind == Panicked && late[int32(st.Thread)] &&
				ofTest(out.Violation.Pos)
		}
	}
	e.Output = string(s.first.output) + string(m.output)
	e.MainEnded = m.gors[0].status == ended
	if e.Violation != nil {
		e.Stacks = rep.stacks
		return e, nil
	}
	lost := m.Lost(nil)
	for _, g := range m.gors {
		if g.status == alive {
			m.waiting(g, slices.Contains(lost, int(g.number)), rep, e)
		}
	}
	m.inCalls(runs[len(runs)/2:], rep, e)
	return e, nil
}

// inCalls adds the goroutines that are in calls.
func (m *Machine) inCalls(runs []int, rep *Report, e *Ending) {
	waits := false
	for t, g := range m.gors {
		call := m.Call(t)
		if call == "" {
			continue
		}
		c := InCall{Thread: t, Call: call, Does: Suspended, Stack: Stack{
			Goroutine: m.Describe(t), Frames: m.places(m.stackOf(g))}}
		if slices.Contains(runs, t) {
			c.Does = Runs
		}
		mark := m.Mark()
		out := m.Step(t, 0)
		m.Rewind(mark)
		if out.Kind == system.Blocked {
			c.Does, c.What, waits = Blocked, m.waitsFor(g, rep)+", in "+call, true
		}
		e.Calls = append(e.Calls, c)
	}
	for i := range e.Calls {
		if waits && e.Calls[i].Does == Runs {
			e.Calls[i].Does = Suspended
		}
	}
}

// waiting adds what a goroutine waits for at the end, if it cannot continue.
func (m *Machine) waiting(g *goroutine, lost bool, rep *Report, e *Ending) {
	mark := m.Mark()
	out := m.Step(int(g.number), 0)
	m.Rewind(mark)
	e.GoesOn = e.GoesOn || out.Kind == system.Moved
	switch {
	case g.daemon:
	case out.Kind != system.Blocked:
		e.Running = append(e.Running, Stack{Goroutine: m.Describe(int(g.number)),
			What: "goes on forever", Frames: m.places(m.stackOf(g))})
	case !out.AtEnd || g.behind && !e.MainEnded:
		e.Stacks = append(e.Stacks, Stack{Goroutine: m.Describe(int(g.number)),
			What: m.waitsFor(g, rep), Frames: m.places(m.stackOf(g))})
		if lost {
			e.Lost = append(e.Lost, e.Stacks[len(e.Stacks)-1])
		}
	}
}

// Early reports whether the next step of a goroutine lets an alarm go off while another
// goroutine could run.
func (m *Machine) Early(t int) bool {
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

// waitsFor says why a goroutine cannot continue, and which ones could have woken it.
func (m *Machine) waitsFor(g *goroutine, rep *Report) string {
	i, r := g.pending(), g.regs()
	wakers := func(p uint64, what string) string { return m.wakers(g, p, what) }
	switch i.Op {
	case compile.Send:
		if r[i.A] == 0 {
			return "sends to a nil channel, which waits forever"
		}
		return "waits to " + m.doing(g) + m.chanState(r[i.A]) + wakers(r[i.A], "receive from it")
	case compile.Recv:
		if r[i.B] == 0 {
			return "receives from a nil channel, which waits forever"
		}
		return "waits to " + m.doing(g) + wakers(r[i.B], "send to it or close it")
	case compile.SelectOp:
		cs := m.cases(g, i)
		if len(cs) == 0 {
			return "select {} waits forever"
		}
		s := "waits in a select"
		for k, c := range g.top().fn.Selects[i.N].Cases {
			s += "\n\t- to " + cs[k]
			switch p := r[c.Chan]; {
			case p == 0:
				s += ", forever"
			case c.Send:
				s += m.chanState(p) + wakers(p, "receive from it")
			default:
				s += wakers(p, "send to it or close it")
			}
		}
		return s
	case compile.Sync:
		name := natives[i.N].name
		switch name {
		case "(*sync.Mutex).Lock", "(*sync.RWMutex).RLock", "sync.rwAnnounce":
			return m.waitsForLock(g, name, r[0], rep)
		case "sync.rwLock":
			return "waits to lock " + m.pointee(r[0]) + " for writing" + m.readers(r[0], rep)
		case "sync.condWait":
			s := "waits in Cond.Wait of " + m.pointee(r[0])
			if at, ok := rep.missed[r[0]]; ok {
				s += "; the last Signal or Broadcast, at " + m.at(at) + ", came when nobody waited"
			}
			return s + wakers(r[0], "call Signal or Broadcast")
		case "internal/cpor.WaitBits":
			what, by := g.waitsInNet()
			return "waits to " + what + wakers(r[0], by)
		case "(*sync.WaitGroup).Wait":
			return fmt.Sprintf("waits for %s, whose counter is %d", m.pointee(r[0]),
				m.tokens(r[0])) + wakers(r[0], "call Done")
		case "sync.onceBegin":
			return "waits for " + m.doing(g) + ", which is running"
		case synctestLeave:
			return "waits for the other goroutines of its bubble, in which time stands now"
		case "internal/cpor.Forever":
			return "has ended by Goexit, and the others never end"
		}
	}
	return "waits: " + m.doing(g)
}

// waitsForLock says which lock a goroutine waits for, and who holds it.
func (m *Machine) waitsForLock(g *goroutine, name string, p uint64, rep *Report) string {
	verb := map[string]string{"(*sync.Mutex).Lock": "lock",
		"(*sync.RWMutex).RLock": "lock for reading",
		"sync.rwAnnounce":       "lock for writing"}[name]
	s := "waits to " + verb + " " + m.pointee(p)
	h := int32(m.mem[m.addr(p)]) - 1
	switch {
	case h < 0:
	case name == "(*sync.Mutex).Lock" || m.mem[m.addr(p)+rwHeld] != 0:
		s += ", locked by " + m.holder(g, h)
		if t, ok := rep.locked[lockKey{p, -1}]; ok {
			s += " at " + m.at(t)
		}
	case int(h) < len(m.gors) && m.gors[h].status == ended:
		s += ": it is the copy of a lock that " + m.ThreadName(int(h)) +
			" waited to lock for writing, which keeps new readers out"
	default:
		s += ": " + m.holder(g, h) + " waits to lock it for writing, which keeps new " +
			"readers out" + m.readers(p, rep)
	}
	return s
}

// waitsInNet says what a goroutine waits for in our package net, and what would wake it.
func (g *goroutine) waitsInNet() (what, by string) {
	for i := len(g.frames) - 1; i >= 0; i-- {
		switch g.frames[i].fn.Name {
		case "(*net.netFD).Read":
			return "read from a connection", "write to the other end or close one"
		case "(*net.netFD).Write":
			return "write to a connection whose buffer is full",
				"read from the other end or close one"
		case "(*net.netFD).accept":
			return "accept a connection", "dial or close the listener"
		}
	}
	return "go on in package net", "let it"
}

// holder names a goroutine that holds something g waits for.
func (m *Machine) holder(g *goroutine, h int32) string {
	switch {
	case h == g.number:
		return "itself"
	case int(h) < len(m.gors) && m.gors[h].status == ended:
		return m.ThreadName(int(h)) + ", which has ended,"
	}
	return m.ThreadName(int(h))
}

// readers names the goroutines that hold an RWMutex for reading.
func (m *Machine) readers(p uint64, rep *Report) string {
	var names []string
	for _, x := range m.gors {
		if t, ok := rep.locked[lockKey{p, x.number}]; ok {
			names = append(names, m.ThreadName(int(x.number))+" at "+m.at(t))
		}
	}
	n := m.tokens(p + rwReaders)
	if n == 0 {
		return ""
	}
	if len(names) == 0 {
		return "; it is the copy of a lock that was locked for reading"
	}
	return fmt.Sprintf("; locked for reading by %s", strings.Join(names, ", "))
}

// tokens counts the tokens of shares.
func (m *Machine) tokens(p uint64) int {
	a := m.addr(p)
	count := 0
	for i := 0; i < int(m.mem[a+1]); i += shareWords {
		at := int(m.addr(m.mem[a])) + i
		for k := range shareMasks {
			count += bits.OnesCount64(m.mem[at+1+k])
		}
	}
	return count
}

// chanState says that a channel's buffer is full.
func (m *Machine) chanState(c uint64) string {
	switch n := m.chanWord(c, chanCap); n {
	case 0:
		return ""
	default:
		return fmt.Sprintf(", whose buffer of %d is full", n)
	}
}

// wakers names the goroutines that could wake g: those that can reach the object.
func (m *Machine) wakers(g *goroutine, p uint64, what string) string {
	id := uint32(p >> 32)
	if id < uint32(len(m.p.Globals))+1 {
		return ""
	}
	if o := &m.objs[id]; o.kind == chanObj && m.chanWord(p, chanTimer) == 1 {
		return ", that of a timer or ticker"
	}
	var names []string
	for _, x := range m.gors {
		if x != g && x.status == alive && !x.daemon && m.reaches(x, id) {
			names = append(names, m.ThreadName(int(x.number)))
		}
	}
	if len(names) == 0 {
		return "; no other goroutine is left that could " + what
	}
	return "; could " + what + ": " + strings.Join(names, ", ")
}

// reaches reports whether a goroutine's registers lead to an object.
func (m *Machine) reaches(x *goroutine, id uint32) bool {
	r := reach{m: m, seen: map[uint32]bool{}}
	r.goroutine(x)
	r.close()
	return r.seen[id]
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

// lateness are the goroutines of a test that are late in an execution which is repeated: their own
// time-outs have expired because time has passed while somebody could run, or they were started by
// a goroutine that was late then.
type lateness map[int32]bool

// before notes what the next step of a goroutine does to time.
func (l lateness) before(m *Machine, t int, e *Ending) {
	g := m.gors[t]
	sleeps := e.Slept.Func == "" && m.testSleeps(g)
	if (!e.Early || sleeps) && m.Early(t) {
		e.Early = true
		if sleeps {
			e.Slept = m.places([]token{g.userToken()})[0]
		}
	}
	if owner := m.ownerOf(g); owner != nil && e.Early { // if not by this step then before
		l[owner.number] = true
	}
}

// behind notes whom a goroutine has started that had made so many others before.
func (l lateness) behind(m *Machine, t int, children int32) {
	for ; l[int32(t)] && children < m.gors[t].children; children++ {
		l[int32(m.sys.threads.Number(threadName{int32(t), children}))] = true
	}
}

// Report collects more about a violation while an execution is repeated.
type Report struct {
	accesses map[wordAccess]access
	stacks   []Stack
	locked   map[lockKey]token // where locks were taken that are held
	missed   map[uint64]token  // the last wake-up of a Cond that woke nobody
}

// lockKey is a lock, and its holder for reading; -1: for writing.
type lockKey struct {
	p      uint64
	reader int32
}

// synchronises records what explains the goroutines that wait at the end.
func (r *Report) synchronises(m *Machine, g *goroutine, i *compile.Instr, regs []uint64) {
	if i.Op != compile.Sync || len(regs) == 0 || regs[0]>>32 == 0 {
		return
	}
	p, at := regs[0], g.userToken()
	switch natives[i.N].name {
	case "(*sync.Mutex).Lock", "(*sync.Mutex).TryLock", "sync.rwLock", "(*sync.RWMutex).TryLock":
		r.locked[lockKey{p, -1}] = at
	case "(*sync.RWMutex).RLock", "(*sync.RWMutex).TryRLock":
		r.locked[lockKey{p, g.number}] = at
	case "(*sync.RWMutex).RUnlock":
		delete(r.locked, lockKey{p, g.number})
	case "sync.condNotify":
		if m.mem[m.addr(p)] == m.mem[m.addr(p)+1] {
			r.missed[p] = at
		}
	}
}

// access is the last access of a goroutine to a word.
type access struct {
	epoch uint64
	stack []token
}

// wordAccess is an access of a goroutine to a word.
type wordAccess struct {
	p         uint64
	goroutine int32
	write     bool
}

// note records an access.
func (r *Report) note(m *Machine, g *goroutine, p uint64, write bool) {
	r.accesses[wordAccess{p, g.number, write}] = access{epoch(g), m.stackOf(g)}
}

// failed records where a goroutine has failed.
func (r *Report) failed(m *Machine, g *goroutine) {
	stack := m.stackOf(g)
	if n := len(stack); g.panics != nil && n > 0 && stack[n-1].fn == m.sys.crash {
		stack = g.panics.stack // the frames are gone
	}
	r.stacks = []Stack{{Goroutine: m.Describe(int(g.number)), What: "failed here",
		Frames: m.places(stack)}}
}

// raced records the two accesses of a race.
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
		{Goroutine: m.Describe(int(g.number)), What: verb(writes) + what,
			Frames: m.places(m.stackOf(g))},
		{Goroutine: m.Describe(int(t)), What: "earlier " + verb(wrote) + what,
			Frames: m.places(r.accesses[wordAccess{p, t, wrote}].stack)},
	}
}

// Output returns what was printed in the execution that led to the live state. It requires
// Options.Outcomes.
func (m *Machine) Output() string { return m.text(m.outText) }

// Alive reports whether a goroutine that the end of a test waits for has not ended: neither a
// timer nor one that an initializer has started.
func (m *Machine) Alive(t int) bool {
	return t < len(m.gors) && m.gors[t].status == alive && !m.gors[t].daemon && !m.gors[t].behind
}

// Over reports whether all goroutines that the end of a test waits for have ended.
func (m *Machine) Over() bool {
	if m.gors[0].status == alive {
		return false
	}
	for t := range m.gors {
		if m.Alive(t) {
			return false
		}
	}
	return true
}

// Living appends the numbers of the threads that have not ended.
func (m *Machine) Living(ts []int) []int {
	for t, g := range m.gors {
		if g.status == alive {
			ts = append(ts, t)
		}
	}
	return ts
}

// Stuck reports whether some goroutine waits forever, and whether the first one does, where none
// can run.
func (m *Machine) Stuck() (some, first bool) {
	for _, g := range m.gors {
		if g.status == alive && !g.daemon && !g.behind && !m.exited {
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
