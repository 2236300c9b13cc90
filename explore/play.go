package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"cpor/frontend"
	"cpor/system"
	"cpor/trace"
)

// Path names a state: the execution that leads there.
type Path struct {
	Initial int    `json:"initial"` // index into System.Initial
	Steps   []Step `json:"steps"`
}

// Step is a transition: the thread, and which alternative of its next transition.
type Step [2]uint64

// thread returns the thread; -1 if there cannot be one of that number.
func (s Step) thread() int {
	if s[0] > 1<<30 {
		return -1
	}
	return int(s[0])
}

// pathOf returns an execution as a path.
func pathOf(initial int, steps []trace.Step) Path {
	p := Path{Initial: initial, Steps: make([]Step, len(steps))}
	for i, s := range steps {
		p.Steps[i] = Step{uint64(s.Thread), s.Alt}
	}
	return p
}

// trace returns the execution.
func (p Path) trace() *trace.Trace {
	t := &trace.Trace{Initial: p.Initial}
	for _, s := range p.Steps {
		t.Steps = append(t.Steps, trace.Step{Thread: s.thread(), Alt: s[1]})
	}
	return t
}

// MaxRows bounds the steps of an execution that are shown.
const MaxRows = 5_000

// Explorer explores a program by hand. Its methods may be called from many goroutines
// at once.
type Explorer struct {
	Program *frontend.Program
	// File is the name by which the program was loaded.
	File string
	// Refused, if not nil, describes what cannot be explored in the program, as far as it was
	// executed. A search or a graph of such a program is worthless.
	Refused func() error
	// Reload loads the program again with another text of its file; nil if that
	// cannot be done.
	Reload func(text string) (*frontend.Program, error)

	once sync.Once
	obs  system.Observers
}

// observers returns those of the program's system.
func (x *Explorer) observers() *system.Observers {
	x.once.Do(func() { x.obs = system.ObserversOf(x.Program.System) })
	return &x.obs
}

// Initial returns how many initial states there are.
func (x *Explorer) Initial() int { return len(x.Program.System.Initial()) }

// Source returns the text of a file that the program was made of.
func (x *Explorer) Source(name string) (text string, ok bool) {
	if f := x.Program.Source(name); f != nil {
		return f.Text, true
	}
	return "", false
}

// Play executes a path and returns everything there is to see. The error says what is wrong with
// the path.
func (x *Explorer) Play(p Path) (*Document, error) {
	d, err := play(x.Program.System, x.observers(), p.trace())
	if err == nil {
		if no := x.refused(); no != nil {
			d.Notes = append(d.Notes,
				"The program does something that cannot be explored: "+no.Error())
		}
	}
	return d, err
}

func (x *Explorer) refused() error {
	if x.Refused == nil {
		return nil
	}
	return x.Refused()
}

// play executes a trace.
func play(sys system.System, obs *system.Observers, t *trace.Trace) (*Document, error) {
	whole := *t
	t = &whole
	d := &Document{Loop: -1, Cut: -1, Rows: []Row{}, Vars: []Var{}, Arrows: []Arrow{},
		Notes: []string{}, Next: []Standing{}}
	if v := t.Violation; v != nil {
		d.Kind, d.Message, d.Pos = string(v.Kind), v.Message, placeOf(v.Pos)
	}
	// An observer's step only finds that a property does not hold, so it learns about the state
	// itself.
	t.Steps = slices.DeleteFunc(slices.Clone(t.Steps), func(s trace.Step) bool {
		return s.Thread >= 0 && obs.Has(s.Thread)
	})
	d.Total = len(t.Steps)
	t.Violation = nil
	if len(t.Steps) > MaxRows {
		t.Steps = t.Steps[:MaxRows]
		d.Notes = append(d.Notes, fmt.Sprintf("Only the first %d of %d steps are shown.", MaxRows,
			d.Total))
	}
	rec, err := t.RecordStates(sys)
	if err != nil {
		return nil, err
	}
	path := pathOf(t.Initial, t.Steps)
	d.Path = &path
	for _, c := range rec.Choices {
		d.Notes = append(d.Notes, "It begins where "+c+".")
	}
	w := &writer{d: d, column: map[int]int{}, named: map[string]int{}, vars: map[string]int{}}
	w.state(nil, &rec.States[0])
	m := sys.NewMachine()
	m.Track(true)
	m.Load(sys.Initial()[t.Initial])
	d.Violation = broken(m, obs)
	ord := newOrder()
	for i, s := range t.Steps {
		ev := &rec.Events[i]
		out := m.Step(s.Thread, s.Alt)
		row := Row{Pos: placeOf(ev.Pos), Text: ev.Text, Deeds: ev.Deeds, Within: ev.Within,
			Accesses: []Access{}, Set: []Value{}}
		for _, c := range ev.Calls {
			row.Calls = append(row.Calls, Call{c.Func, placeOf(c.Pos)})
		}
		for _, a := range ev.Accesses {
			if !a.Internal {
				row.Accesses = append(row.Accesses, Access{a.Loc, a.Write, a.Value})
			}
		}
		var bad []string
		for v := out.Violation; v != nil; v = v.Also {
			bad = append(bad, trace.Headline(v))
		}
		for _, msg := range ev.Messages {
			switch text := msg.Channel + ": " + msg.Value; {
			case msg.Direct:
				d.Arrows = append(d.Arrows, within(i, w.column[s.Thread], w.column[msg.With],
					msg.Sent, text, msg.Value))
			case !msg.Sent && msg.Other >= 0:
				d.Arrows = append(d.Arrows, Arrow{From: msg.Other, To: i, Text: text})
			}
		}
		var touches []touch
		for _, a := range m.Accesses() {
			touches = append(touches, touch{a.Loc, a.Write})
		}
		if now := broken(m, obs); now != "" {
			bad = append(bad, now)
		}
		row.Violation = strings.Join(bad, "; ")
		w.state(&row, &rec.States[i+1])
		row.Column = w.column[s.Thread]
		row.Depends = ord.add(row.Column, touches)
		d.Rows = append(d.Rows, row)
	}
	return d, nil
}

const shared = "shared"

// writer writes states into a document, as differences from the previous one.
type writer struct {
	d      *Document
	column map[int]int    // by thread
	named  map[string]int // how many threads have a name
	vars   map[string]int // indices into d.Vars, by group and name
	now    []string       // the values of d.Vars
	stand  []Standing     // by column
	seen   []int          // the state in which a variable was last, by d.Vars
	states int
}

// state writes a state: into row, or as the beginning if there is none.
func (w *writer) state(row *Row, st *trace.State) {
	w.states++
	for _, b := range st.Shared {
		w.set(row, shared, b)
	}
	for i := range st.Threads {
		t := &st.Threads[i]
		c, ok := w.column[t.Number]
		if !ok {
			c = len(w.d.Columns)
			w.column[t.Number] = c
			name := t.Name
			w.named[name]++
			if n := w.named[name]; n > 1 {
				name = fmt.Sprintf("%s (%d)", name, n)
			}
			w.d.Columns = append(w.d.Columns, name)
			w.stand = append(w.stand, Standing{})
		}
		now := standing(t)
		now.Column = c
		if row == nil {
			w.d.Next = append(w.d.Next, now)
		} else if now != w.stand[c] {
			row.Next = append(row.Next, now)
		}
		w.stand[c] = now
		for _, b := range t.Locals {
			w.set(row, w.d.Columns[c], b)
		}
	}
	// Variables that no longer exist have no value.
	for i := range w.d.Vars {
		if w.seen[i] < w.states && w.now[i] != "" {
			w.now[i] = ""
			row.Set = append(row.Set, Value{i, ""})
		}
	}
}

func (w *writer) set(row *Row, group string, b system.Binding) {
	key := group + "\x00" + b.Name
	i, ok := w.vars[key]
	if !ok {
		i = len(w.d.Vars)
		w.vars[key] = i
		v := Var{Name: b.Name, Group: group}
		if row == nil {
			v.Value = b.Value
		}
		w.d.Vars = append(w.d.Vars, v)
		w.now, w.seen = append(w.now, v.Value), append(w.seen, 0)
	}
	w.seen[i] = w.states
	if w.now[i] != b.Value {
		w.now[i] = b.Value
		row.Set = append(row.Set, Value{i, b.Value})
	}
}

// standing returns where a thread is.
func standing(t *trace.Thread) Standing {
	st := Standing{Pos: placeOf(t.Pos), Text: t.Text, State: "enabled"}
	switch t.Kind {
	case system.Ended:
		st.State = "ended"
		if t.Stopped {
			st.State = "stopped"
		}
	case system.Blocked:
		st.State = "blocked"
		waits := slices.Clone(t.WaitsFor)
		for _, a := range t.Waits {
			if !a.Internal {
				waits = append(waits, a.Loc+" = "+a.Value)
			}
		}
		st.Waits = strings.Join(waits, ", ")
	}
	return st
}

// broken says what the observers find in the live state, and whether it is a deadlock; "" if
// nothing.
func broken(m system.Machine, obs *system.Observers) string {
	var bad []string
	for t := range m.NumThreads() {
		if obs.Has(t) {
			mark := m.Mark()
			if out := m.Step(t, 0); out.Violation != nil {
				bad = append(bad, trace.Headline(out.Violation))
			}
			m.Rewind(mark)
		}
	}
	if enabled, blocked := obs.Deadlock(m); enabled < 0 && len(blocked) > 0 {
		bad = append(bad, "deadlock")
	}
	return strings.Join(bad, "; ")
}

// Move is what a thread can do in a state.
type Move struct {
	Standing
	Name string `json:"name"` // of the thread
	// Step is the transition, of an enabled thread.
	Step   Step     `json:"step"`
	Deeds  []string `json:"deeds,omitempty"` // what it would do, in words
	Writes []Access `json:"writes"`          // what it would write
	// Violation is what it would violate; empty if nothing.
	Violation string `json:"violation,omitempty"`
}

// maxAlternatives bounds the alternatives of one transition that are listed.
const maxAlternatives = 200

// Moves returns the possible moves in the state at the end of a path: the alternatives of each
// thread's next transition, and the threads that are blocked or have ended, without observers.
func (x *Explorer) Moves(p Path) ([]Move, error) {
	m, err := x.at(p)
	if err != nil {
		return nil, err
	}
	tells := m.Capabilities().Narrating
	if tells != nil {
		tells.Narrate(true)
	}
	rec, err := p.trace().RecordStates(x.Program.System)
	if err != nil {
		return nil, err
	}
	now := &rec.States[len(rec.States)-1]
	moves := []Move{}
	for i := range now.Threads {
		th := &now.Threads[i]
		for alt, more, n := uint64(0), true, 0; more && n < maxAlternatives; n++ {
			mv := Move{Name: th.Name, Step: Step{uint64(th.Number), alt}, Writes: []Access{},
				Standing: standing(th)}
			mark := m.Mark()
			out := m.Step(th.Number, alt)
			if out.Kind == system.Moved {
				if told := m.Capabilities().Telling; told != nil {
					pos, text := told.Told()
					mv.Pos, mv.Text = placeOf(pos), text
				}
				if tells != nil {
					for _, deed := range tells.Story().Deeds {
						if deed.Text != "" {
							mv.Deeds = append(mv.Deeds, deed.Text)
						}
					}
				}
				for _, a := range m.Accesses() {
					if name := m.LocName(a.Loc); a.Write && name != "" &&
						(tells == nil || !tells.Internal(a.Loc)) {
						mv.Writes = append(mv.Writes, Access{name, true, m.ValueString(a.Loc)})
					}
				}
				if v := out.Violation; v != nil {
					mv.Violation = trace.Headline(v)
				}
			}
			m.Rewind(mark)
			moves = append(moves, mv)
			alt, more = out.Next, out.Next != 0
		}
	}
	return moves, nil
}

// at returns a machine whose live state is that at the end of a path.
func (x *Explorer) at(p Path) (system.Machine, error) {
	t := p.trace()
	if err := t.Replay(x.Program.System); err != nil {
		return nil, err
	}
	m := x.Program.System.NewMachine()
	m.Track(true)
	m.Load(x.Program.System.Initial()[t.Initial])
	for _, s := range t.Steps {
		m.Step(s.Thread, s.Alt)
	}
	return m, nil
}
