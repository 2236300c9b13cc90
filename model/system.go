package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cpor/system"
)

// System is a model that was built, as the engines see it.
type System struct {
	system.Counters
	model     *Model
	params    map[string]any
	initial   []system.State
	first     []int      // of each process: its first place, from its end on
	choices   [][]string // of each initial state
	made      *machine   // by the first build; nobody steps it
	print     string     // of the build, see fingerprint
	knowledge knowledge
	sources   sync.Once
	texts     map[string]*text
	// warnings says which invariants leave no room for a reduction; it may be empty.
	warnings string
}

// System builds the model. The error, a *[Mistake], says what is wrong with it.
func (m *Model) System() (*System, error) {
	s := &System{model: m, params: map[string]any{}}
	first, err := s.build()
	if err != nil {
		return nil, err
	}
	for c := range m.set {
		if _, ok := s.params[c]; !ok {
			known := strings.Join(slices.Sorted(maps.Keys(s.params)), ", ")
			if known == "" {
				known = "no constants"
			}
			return nil, &Mistake{Message: fmt.Sprintf("the model %s has no constant %s; it has %s",
				m.name, c, known)}
		}
	}
	s.made, s.print = first, first.fingerprint()
	again, err := s.build()
	if err != nil {
		return nil, err
	}
	if err := s.same(again); err != nil {
		return nil, err
	}
	s.StartCounting(first.number())
	if err := s.begin(again); err != nil {
		return nil, err
	}
	if err := s.settled(again); err != nil {
		return nil, err
	}
	return s, nil
}

// build runs the build function.
func (s *System) build() (m *machine, err error) {
	m = &machine{builtModel: &builtModel{sys: s}, cur: -1, place: -1}
	b := &Builder{m: m, set: s.model.set, consts: map[string]any{}}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Mistake:
			err = r
		default:
			err = &Mistake{callerOf(), fmt.Sprintf("panic while the model is built: %v", r)}
		}
	}()
	m.setMode(building)
	s.model.build(b)
	if len(m.procs) == 0 {
		panic(&Mistake{Message: fmt.Sprintf("the model %s has no process", s.model.name)})
	}
	m.layOut()
	m.collectFiles()
	m.setMode(idle)
	if s.made == nil {
		maps.Copy(s.params, b.consts)
	}
	return m, nil
}

func (s *System) same(m *machine) error {
	if m.fingerprint() != s.print {
		return &Mistake{Message: fmt.Sprintf("the function of the model %s builds something else "+
			"when it is called again: it must not depend on anything that changes", s.model.name)}
	}
	return nil
}

// fingerprint says what the steps of a build and their places are.
func (m *machine) fingerprint() string {
	var b strings.Builder
	for i := range m.locs {
		fmt.Fprintln(&b, m.locs[i].name, m.locs[i].width, m.locs[i].thread)
	}
	for _, p := range m.procs {
		fmt.Fprintln(&b, p.name, p.shape())
	}
	for _, p := range m.properties {
		fmt.Fprintln(&b, p.name, p.pos, p.temporal)
	}
	return b.String()
}

// number numbers the counters of the cases and returns how many there are.
func (m *machine) number() int {
	n := 0
	for _, p := range m.procs {
		for i := range p.nodes {
			for k := range p.nodes[i].cases {
				p.nodes[i].cases[k].count = n
				n++
			}
		}
	}
	return n
}

// collectFiles lists the files that the places of steps and properties are in.
func (m *machine) collectFiles() {
	add := func(p system.Pos) {
		if !slices.Contains(m.files, p.File) {
			m.files = append(m.files, p.File)
		}
	}
	for _, p := range m.procs {
		for i := range p.nodes {
			add(p.nodes[i].pos)
			for _, c := range p.nodes[i].cases {
				add(c.pos)
			}
		}
	}
	for _, p := range m.properties {
		add(p.pos)
	}
}

// begin computes the initial states.
func (s *System) begin(m *machine) error {
	for digits, more := uint64(0), true; more; {
		clear(m.words)
		m.log = m.log[:0]
		for _, f := range m.begin {
			f()
		}
		for _, p := range m.procs {
			for i := range p.locals {
				p.locals[i].reset()
			}
		}
		st := m.initialize(digits)
		if st == failed {
			return &Mistake{m.viol.Pos, "before the processes begin: " + m.viol.Message}
		}
		next := m.choices.Next()
		if st == moved {
			s.first = s.first[:0]
			for _, p := range m.procs {
				s.first = append(s.first, int(p.pc.get(m.words)))
			}
			state := m.Encode(nil)
			if !slices.ContainsFunc(s.initial, func(o system.State) bool {
				return slices.Equal(o, state)
			}) {
				s.initial = append(s.initial, state)
				s.choices = append(s.choices, m.chosenInit())
			}
		}
		digits, more = next, next != 0
		if len(s.initial) > maxInitial {
			return &Mistake{Message: fmt.Sprintf("more than %d initial states", maxInitial)}
		}
	}
	if len(s.initial) == 0 {
		return &Mistake{Message: "there is no initial state: Require never holds in Init"}
	}
	return nil
}

const maxInitial = 1 << 16

func (m *machine) initialize(digits uint64) (st status) {
	m.choices, m.alt = m.choices[:0], digits
	defer m.setMode(idle)
	defer m.recovered(&st, system.Pos{})
	m.setMode(stepping)
	for _, f := range m.inits {
		f()
	}
	for _, p := range m.procs {
		if st := m.enter(p); st != moved {
			return st
		}
	}
	m.cur = -1
	return moved
}

// enter lets a process come to its first step.
func (m *machine) enter(p *Process) (st status) {
	defer m.recovered(&st, p.pos)
	m.cur = p.thread
	m.arrive(p, nil, 0)
	return moved
}

func (m *machine) chosenInit() []string {
	var cs []string
	for _, c := range m.choices {
		cs = append(cs, fmt.Sprintf("Choose(%d) is %d", c.Radix, c.Value))
	}
	return cs
}

// Initial implements [system.System].
func (s *System) Initial() []system.State {
	var c []system.State
	for _, i := range s.initial {
		c = append(c, slices.Clone(i))
	}
	return c
}

// NewMachine implements [system.System]: it builds the model once more, since each machine needs
// functions that refer to it.
func (s *System) NewMachine() system.Machine { return s.newMachine() }

func (s *System) newMachine() *machine {
	m, err := s.build()
	if err == nil {
		err = s.same(m)
	}
	if err != nil {
		panic(err)
	}
	m.number()
	m.counts = s.CountMachine()
	m.setMode(idle)
	m.Load(s.initial[0])
	return m
}

// Params returns the constants of the model with their values: int64 or bool.
func (s *System) Params() map[string]any { return maps.Clone(s.params) }

// Observer implements [system.Observing].
func (s *System) Observer(t int) bool { return t >= len(s.made.procs) }

// Choices implements [system.Beginning].
func (s *System) Choices(initial int) []string { return s.choices[initial] }

// Capabilities implements [system.System].
func (s *System) Capabilities() system.Capabilities {
	return system.Capabilities{
		Observing:   s,
		Irreducible: nil,
		Symmetric:   s,
		Beginning:   s,
		Counting:    s,
		Remembering: nil,
		Interning:   nil,
		Portable:    nil,
		Merging:     nil,
		Learning:    s,
	}
}

// Capabilities implements [system.Machine].
func (m *machine) Capabilities() system.MachineCapabilities {
	c := system.MachineCapabilities{
		Pieces:        m,
		Renaming:      m,
		Futures:       nil,
		Shaped:        nil,
		Locking:       nil,
		Synchronising: nil,
		Temporal:      m,
		Unnumbered:    nil,
		Telling:       m,
		Narrating:     m,
		Showing:       m,
		Changing:      m,
		Repeating:     nil,
		Adding:        nil,
		Updating:      nil,
		Costly:        nil,
		Expanding:     nil,
	}
	if m.bound != nil {
		c.Futures = m
	}
	return c
}

// Load implements [system.Machine].
func (m *machine) Load(s system.State) {
	clear(m.words[copy(m.words, s):])
	m.log = m.log[:0]
	m.hash = 0
	m.acc = m.acc[:0]
	m.ask = nil
}

// Encode implements [system.Machine]. The words of failures are left out if they are 0, and a
// channel's oldest value is in its first slot.
func (m *machine) Encode(dst system.State) system.State {
	n := len(m.words)
	for n > m.size && m.words[n-1] == 0 && m.alike == nil { // exchanged states have one length
		n--
	}
	dst = append(dst[:0], m.words[:n]...)
	if m.rings {
		for _, q := range m.queues {
			if head := m.index(q, q.head); head != 0 {
				m.rotate(q, head, dst)
			}
		}
	}
	return dst
}

// rotate puts the oldest value of a queue into its first slot.
func (m *machine) rotate(q *queue, head int, dst system.State) {
	set := func(l int, v uint64) { m.locs[l].cell.put(dst, v) }
	set(int(q.head), 0)
	set(int(q.tail), uint64((m.index(q, q.tail)+q.n-head)%q.n))
	for i := range q.n {
		for k := range q.per {
			from := int(q.slot) + (head+i)%q.n*q.per + k
			set(int(q.slot)+i*q.per+k, m.locs[from].cell.get(m.words))
		}
	}
}

// Renamed implements [system.Renaming].
func (m *machine) Renamed(l system.Loc) (system.Loc, bool) {
	for _, q := range m.queues {
		if q.n == 1 || l < q.slot || l >= q.slot+system.Loc(q.n*q.per) {
			continue
		}
		i := int(l - q.slot)
		slot := (i/q.per + q.n - m.index(q, q.head)) % q.n
		return q.slot + system.Loc(slot*q.per+i%q.per), true
	}
	return l, true
}

// Changed implements [system.Changing].
func (m *machine) Changed(dst []int32) ([]int32, bool) {
	if m.rings {
		return dst, false
	}
	for i := range m.log {
		dst = append(dst, m.log[i].word)
	}
	return dst, true
}

// Hash implements [system.Machine].
func (m *machine) Hash() uint64 { return m.hash }

// Track implements [system.Machine].
func (m *machine) Track(on bool) {
	m.track = on
	m.acc = m.acc[:0]
	m.setMode(idle)
}

// NumThreads implements [system.Machine].
func (m *machine) NumThreads() int { return m.threads() }

// Accesses implements [system.Machine].
func (m *machine) Accesses() []system.Access { return m.acc }

// Mark implements [system.Machine].
func (m *machine) Mark() system.Mark { return system.Mark(len(m.log)) }

// Rewind implements [system.Machine].
func (m *machine) Rewind(mark system.Mark) {
	for i := len(m.log) - 1; i >= int(mark); i-- {
		u := m.log[i]
		if m.track {
			m.hash ^= system.HashWord(u.word, m.words[u.word]) ^ system.HashWord(u.word, u.old)
		}
		m.words[u.word] = u.old
	}
	m.log = m.log[:mark]
	if m.ask != nil { // the pieces that the step has asked for stay
		for l, v := range m.asked {
			m.SetValue(l, v)
		}
	}
}

// Local implements [system.Pieces].
func (m *machine) Local(t int, dst []uint64) []uint64 {
	dst = dst[:0]
	if t < len(m.procs) {
		for _, c := range m.procs[t].slot {
			dst = append(dst, c.get(m.words))
		}
	}
	return append(dst, m.words[m.size+t])
}

// SetLocal implements [system.Pieces].
func (m *machine) SetLocal(t int, part []uint64) {
	if t < len(m.procs) {
		for i, c := range m.procs[t].slot {
			m.put(c, part[i])
		}
	}
	m.set(int32(m.size+t), part[len(part)-1])
}

// Value implements [system.Pieces].
func (m *machine) Value(l system.Loc) uint64 {
	if x := &m.locs[l]; x.thread < 0 {
		return x.cell.get(m.words)
	} else if m.isAt(m.procs[x.thread], x.label) {
		return 1
	}
	return 0
}

// SetValue implements [system.Pieces]. Where a process is belongs to its local part.
func (m *machine) SetValue(l system.Loc, v uint64) {
	if x := &m.locs[l]; x.thread < 0 {
		m.put(x.cell, v)
	}
}

// Whole implements [system.Pieces]: every step needs only what it touches.
func (m *machine) Whole() string { return "" }

// StepOn implements [system.Pieces].
func (m *machine) StepOn(t int, alt uint64, local []uint64,
	ask func(system.Loc) uint64) system.Outcome {
	m.SetLocal(t, local)
	m.ask = ask
	if m.asked == nil {
		m.asked = map[system.Loc]uint64{}
	}
	clear(m.asked)
	out := m.Step(t, alt)
	m.ask = nil
	return out
}

// ThreadName implements [system.Machine].
func (m *machine) ThreadName(t int) string {
	if t < len(m.procs) {
		return m.procs[t].name
	}
	return "invariant " + m.observed(t).name
}

// LocName implements [system.Machine].
func (m *machine) LocName(l system.Loc) string { return m.locs[l].name }

// ValueString implements [system.Machine].
func (m *machine) ValueString(l system.Loc) string {
	x := &m.locs[l]
	if x.thread >= 0 {
		return fmt.Sprint(m.isAt(m.procs[x.thread], x.label))
	}
	if x.show == nil {
		return fmt.Sprint(x.cell.get(m.words))
	}
	return x.show(m.words)
}

// Locals implements [system.Machine].
func (m *machine) Locals(t int) []system.Binding {
	var b []system.Binding
	if t >= len(m.procs) {
		return nil
	}
	p := m.procs[t]
	n := m.at(p)
	for _, l := range p.locals {
		if n != nil && n.scope.within(l.scope) {
			b = append(b, system.Binding{Name: l.name, Value: l.show()})
		}
	}
	return b
}

// Next implements [system.Machine].
func (m *machine) Next(t int) (pos system.Pos, text string, ok bool) {
	if m.words[m.size+t] != 0 {
		return system.Pos{}, "", false
	}
	if t >= len(m.procs) {
		p := m.observed(t)
		return p.pos, "invariant " + p.name, true
	}
	n := m.at(m.procs[t])
	if n == nil {
		return system.Pos{}, "", false
	}
	if !m.exists(m.procs[t]) {
		return n.pos, "(not started)", true
	}
	return n.pos, m.sys.textAt(n.pos), true
}

// Told implements [system.Telling].
func (m *machine) Told() (pos system.Pos, text string) {
	if m.chosen == nil {
		return system.Pos{}, ""
	}
	return m.chosen.pos, m.sys.textAt(m.chosen.pos)
}

// Narrate implements [system.Narrating].
func (m *machine) Narrate(on bool) { m.narrate = on }

func (m *machine) tell(d system.Deed) { m.deeds = append(m.deeds, d) }

// Story implements [system.Narrating].
func (m *machine) Story() system.Story {
	s := system.Story{Deeds: m.deeds}
	if m.waits != "" {
		s.Waits = []string{m.waits}
	}
	return s
}

// Internal implements [system.Narrating]: deeds say what happens to channels.
func (m *machine) Internal(l system.Loc) bool {
	for _, q := range m.queues {
		if l >= q.slot && l < q.slot+system.Loc(q.n*q.per) ||
			q.n > 1 && (l == q.head || l == q.tail) {
			return true
		}
	}
	return m.locs[l].name == "" || m.locs[l].thread >= 0 || slices.ContainsFunc(m.meetings,
		func(c *meeting) bool { return l >= c.loc && l < c.loc+system.Loc(len(c.cells)) })
}

// Variables implements [system.Showing].
func (m *machine) Variables() []system.Binding {
	var b []system.Binding
	for i := range m.locs {
		l := system.Loc(i)
		if k := slices.IndexFunc(m.contents, func(c contents) bool { return c.loc == l }); k >= 0 {
			b = append(b, system.Binding{Name: m.contents[k].name, Value: m.contents[k].show()})
		} else if !m.Internal(l) {
			b = append(b, system.Binding{Name: m.locs[i].name, Value: m.ValueString(l)})
		}
	}
	return b
}
