package toysystem

import (
	"fmt"
	"slices"

	"cpor/system"
)

// machine is the live state of a toy with its undo log.
type machine struct {
	*toy
	w    []uint64
	undo []undo

	track    bool
	hash     uint64
	accesses []system.Access

	// Of the transition that is executed.
	pc      int // where it continues
	node    int // where it began
	created bool
	failure int // the index of a failure in the thread's code, or -1

	// While StepOn runs: the values of locations that are not known yet.
	ask   func(system.Loc) uint64
	known map[system.Loc]bool
}

type undo struct {
	word int
	old  uint64
}

func (s *toy) NewMachine() system.Machine {
	m := &machine{toy: s, w: make([]uint64, s.record(s.records))}
	m.Load(s.initial)
	return m
}

func (m *machine) Load(s system.State) {
	clear(m.w[copy(m.w, s):])
	m.undo = m.undo[:0]
	m.rehash()
}

func (m *machine) Encode(dst system.State) system.State {
	return append(dst[:0], m.w[:m.record(m.NumThreads())]...)
}

// mix hashes one word of the state; the state's hash is the xor of all, so
// that a write changes it by two of them.
func mix(word int, v uint64) uint64 {
	h := v*0x9e3779b97f4a7c15 + uint64(word+1)*0xd1b54a32d192ed03
	h = (h ^ h>>30) * 0xbf58476d1ce4e5b9
	h = (h ^ h>>27) * 0x94d049bb133111eb
	return h ^ h>>31
}

func (m *machine) rehash() {
	m.hash = 0
	if m.track {
		for i, v := range m.w {
			m.hash ^= mix(i, v)
		}
	}
}

func (m *machine) Hash() uint64 { return m.hash }

func (m *machine) Track(on bool) {
	m.track = on
	m.accesses = m.accesses[:0]
	m.rehash()
}

func (m *machine) NumThreads() int { return int(m.w[0]) }

func (m *machine) Accesses() []system.Access { return m.accesses }

func (m *machine) Mark() system.Mark { return system.Mark(len(m.undo)) }

func (m *machine) Rewind(mark system.Mark) {
	for i := len(m.undo) - 1; i >= int(mark); i-- {
		u := m.undo[i]
		if m.track {
			m.hash ^= mix(u.word, m.w[u.word]) ^ mix(u.word, u.old)
		}
		m.w[u.word] = u.old
	}
	m.undo = m.undo[:mark]
}

// set writes a word of the live state so that it can be undone.
func (m *machine) set(word int, v uint64) {
	old := m.w[word]
	if old == v {
		return
	}
	m.undo = append(m.undo, undo{word, old})
	if m.track {
		m.hash ^= mix(word, old) ^ mix(word, v)
	}
	m.w[word] = v
}

func (m *machine) access(l system.Loc, write bool) {
	if !m.track {
		return
	}
	for i := range m.accesses {
		if a := &m.accesses[i]; a.Loc == l {
			a.Write = a.Write || write
			return
		}
	}
	m.accesses = append(m.accesses, system.Access{Loc: l, Write: write})
}

// read is a transition's read access.
func (m *machine) read(l system.Loc) uint64 {
	m.access(l, false)
	if m.ask != nil && !m.known[l] {
		m.known[l] = true
		m.set(m.word(l), m.ask(l))
	}
	return m.w[m.word(l)]
}

// write is a transition's write access.
func (m *machine) write(l system.Loc, v uint64) {
	m.access(l, true)
	if m.ask != nil {
		m.known[l] = true
	}
	m.set(m.word(l), v)
}

// code returns the code of thread t.
func (m *machine) code(t int) *thread { return m.threads[m.w[m.record(t)+1]>>codeShift] }

func (m *machine) Step(t int, alt uint64) system.Outcome {
	m.accesses = m.accesses[:0]
	m.failure = -1
	m.created = false
	rec := m.record(t)
	control := m.w[rec+1]
	code := m.code(t)
	m.node = int(control & counterBit)
	if m.node >= len(code.code) {
		return system.Outcome{Kind: system.Ended}
	}
	if control&unstarted != 0 {
		m.read(m.existLoc(t))
	}
	node := &code.code[m.node]
	taken, next := -1, 0
	for i := range node.Cases {
		// The guards are all evaluated: each alternative reads them all.
		g := node.Cases[i].Guard
		enabled := g == nil || g.eval(m, t) != 0
		if m.failure >= 0 {
			return m.fail(t, code)
		}
		switch {
		case !enabled || i < int(alt):
		case taken < 0:
			taken = i
		case next == 0:
			next = i
		}
	}
	if taken < 0 {
		return system.Outcome{Kind: system.Blocked, AtEnd: node.AtEnd}
	}
	m.pc = m.node + 1
	for _, s := range node.Cases[taken].Body {
		if !s.exec(m, t) || m.failure >= 0 {
			out := m.fail(t, code)
			out.Next = uint64(next)
			return out
		}
	}
	m.set(rec+1, control>>codeShift<<codeShift|uint64(m.pc))
	return system.Outcome{Kind: system.Moved, Created: m.created, Next: uint64(next)}
}

// fail ends thread t in the local state of its failure. What the transition
// wrote before stays.
func (m *machine) fail(t int, code *thread) system.Outcome {
	rec := m.record(t)
	m.set(rec+1, m.w[rec+1]>>codeShift<<codeShift|uint64(len(code.code)+1+m.failure))
	return system.Outcome{Kind: system.Moved, Created: m.created,
		Violation: code.failures[m.failure]}
}

// fault notes a run-time failure; the first one counts.
func (m *machine) fault(t, kind int) {
	if m.failure < 0 {
		code := m.code(t)
		m.failure = len(code.failures) - (len(code.code)-m.node)*numFaults + kind
	}
}

// loc finds the cell of an access; ok is false after a failure.
func (m *machine) loc(t int, v *Var, idx Expr) (l system.Loc, ok bool) {
	var i int64
	if idx != nil {
		i = idx.eval(m, t)
	}
	if i < 0 || i >= int64(len(v.init)) {
		m.fault(t, badIndex)
	}
	return system.Loc(v.base + int(i)), m.failure < 0
}

func (s *setStmt) exec(m *machine, t int) bool {
	m.set(m.record(t)+2+s.reg, uint64(s.e.eval(m, t)))
	return true
}

func (s *storeStmt) exec(m *machine, t int) bool {
	v := s.e.eval(m, t)
	l, ok := m.loc(t, s.v, s.idx)
	if ok {
		m.write(l, uint64(v))
	}
	return ok
}

func (s *ifStmt) exec(m *machine, t int) bool {
	if s.cond.eval(m, t) == 0 {
		return true
	}
	for _, st := range s.then {
		if !st.exec(m, t) || m.failure >= 0 {
			return false
		}
	}
	return true
}

func (s *gotoStmt) exec(m *machine, _ int) bool {
	m.pc = s.node
	return true
}

func (s *assertStmt) exec(m *machine, t int) bool {
	holds := s.cond.eval(m, t) != 0
	if !holds && m.failure < 0 {
		m.failure = s.failure
	}
	return holds
}

func (s *spawnStmt) exec(m *machine, t int) bool {
	child := int(m.read(m.countLoc()))
	if child >= m.records {
		m.fault(t, tooManyThreads)
		return false
	}
	rec := m.record(child)
	m.set(rec+1, uint64(s.code)<<codeShift|unstarted)
	for i, a := range s.args {
		m.set(rec+2+i, uint64(a.eval(m, t)))
	}
	m.write(m.existLoc(child), 1)
	m.write(m.countLoc(), uint64(child+1))
	m.created = true
	return true
}

func (e constExpr) eval(*machine, int) int64    { return int64(e) }
func (e regExpr) eval(m *machine, t int) int64  { return int64(m.w[m.record(t)+2+int(e)]) }
func (e selfExpr) eval(_ *machine, t int) int64 { return int64(t) }
func (e *loadExpr) eval(m *machine, t int) int64 {
	l, ok := m.loc(t, e.v, e.idx)
	if !ok {
		return 0
	}
	return int64(m.read(l))
}

func (e *binExpr) eval(m *machine, t int) int64 {
	a := e.a.eval(m, t)
	switch e.op {
	case "&&":
		return boolean(a != 0 && e.b.eval(m, t) != 0)
	case "||":
		return boolean(a != 0 || e.b.eval(m, t) != 0)
	}
	b := e.b.eval(m, t)
	switch e.op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "%":
		if b == 0 {
			m.fault(t, zeroModulus)
			return 0
		}
		return a % b
	case "==":
		return boolean(a == b)
	case "!=":
		return boolean(a != b)
	case "<":
		return boolean(a < b)
	default: // New has checked the operators
		return boolean(a <= b)
	}
}

func boolean(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func (m *machine) Local(t int, dst []uint64) []uint64 {
	return append(dst[:0], m.w[m.record(t)+1:m.record(t+1)]...)
}

func (m *machine) SetLocal(t int, part []uint64) {
	for i, v := range part {
		m.set(m.record(t)+1+i, v)
	}
}

func (m *machine) Value(l system.Loc) uint64 { return m.w[m.word(l)] }

func (m *machine) SetValue(l system.Loc, v uint64) { m.set(m.word(l), v) }

// Whole is [system.Pieces]'s.
func (m *machine) Whole() string { return "" }

// StepOn is [system.Pieces]'s. If the transition creates a thread, Local of
// the child holds afterwards, too.
func (m *machine) StepOn(t int, alt uint64, local []uint64,
	ask func(system.Loc) uint64) system.Outcome {
	m.SetLocal(t, local)
	m.ask, m.known = ask, map[system.Loc]bool{}
	defer func() { m.ask, m.known = nil, nil }()
	return m.Step(t, alt)
}

func (m *machine) Next(t int) (pos system.Pos, text string, ok bool) {
	code := m.code(t)
	pc := int(m.w[m.record(t)+1] & counterBit)
	if pc >= len(code.code) {
		return system.Pos{}, "", false
	}
	return system.Pos{File: code.name, Line: pc + 1}, code.code[pc].String(), true
}

func (m *machine) Locals(t int) []system.Binding {
	var b []system.Binding
	for i := range m.code(t).regs {
		b = append(b, system.Binding{Name: regExpr(i).String(),
			Value: fmt.Sprint(regExpr(i).eval(m, t))})
	}
	return b
}

func (m *machine) ValueString(l system.Loc) string { return fmt.Sprint(int64(m.Value(l))) }

// Shape implements [system.Shaped].
func (m *machine) Shape(t int) system.Shape {
	code := m.code(t)
	pc := int(m.w[m.record(t)+1] & counterBit)
	if pc >= len(code.code) {
		return 0
	}
	cases := code.code[pc].Cases
	s := system.MayVary | system.MayRoam
	if len(cases) > 1 {
		s |= system.MayChoose
	}
	if !slices.ContainsFunc(cases, func(c Case) bool { return c.Guard == nil }) {
		s |= system.MayBlock
	}
	return s
}
