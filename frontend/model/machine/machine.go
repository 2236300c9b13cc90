package machine

import (
	"fmt"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// undo is an entry of the undo log: word was old.
type undo struct {
	word int32
	old  uint64
}

// Machine is a live state of a [System]. It implements [system.Machine].
type Machine struct {
	sys   *System
	p     *compile.Program
	code  []compile.Instr // of p; with notes while the machine tells what it does
	words []uint64
	n     int // threads
	regs  []int64
	child []int64 // the registers of a thread being created
	log   []undo
	track bool
	hash  uint64
	acc   []system.Access
	// updated is the addition that the last step has ended, if any.
	updated system.Access
	ask     func(system.Loc) uint64
	asked   map[system.Loc]uint64 // what ask answered

	// About the current step:
	thread    int
	budget    int    // passes of loops that are left
	sample    int    // lap is called when these bits of budget are 0
	alt       uint64 // what is left of the alternative's number
	choices   system.Digits
	created   bool
	viol      *system.Violation
	result    system.Outcome
	scratch   []uint64              // the slot of init, or of a proposition, while it runs
	scratchOf *compile.ThreadType   // whose it is
	timeout   bool                  // what the step sees as timeout()
	asks      bool                  // and whether it has asked
	probe     *Machine              // finds out whether a thread can move; nil before it is asked
	probeAt   system.State          // where
	heard     []system.Loc          // what it has looked at
	spare     []uint64              // for the scratch of the next proposition
	types     []*compile.ThreadType // of the threads that init created

	tried       tried // see retry
	ready       []offer
	before      []uint64
	laps        *laps           // made on demand
	childLaps   *laps           // the same for the start of a thread that is being created
	childPasses int             // of all starts while init runs
	futures     *futures        // likewise
	tallies     *system.Tallies // likewise
	tally       []int32         // scratch
	syncs       syncs
	story       story
	counts      []uint64 // what was executed, see compile.Cover
	round       uint32   // see system.Counters.Round
	path        path
}

// status is how the execution of a segment ended.
type status uint8

const (
	reached status = iota // at the point in to
	blocked
	failed  // m.viol says why; site in to
	stay    // moved, but still at the same point
	dropped // of init: the outcome does not count
)

func newMachine(s *System, counts []uint64) *Machine {
	m := &Machine{sys: s, p: s.p, code: s.p.Code, counts: counts}
	m.regs = make([]int64, s.p.NumReg)
	copy(m.regs, s.p.Consts)
	m.child = make([]int64, s.p.NumReg)
	copy(m.child, s.p.Consts)
	return m
}

// Load implements system.Machine.
func (m *Machine) Load(s system.State) {
	m.words = append(m.words[:0], s...)
	m.n = m.sys.threadsIn(m.words)
	m.log = m.log[:0]
	m.hash = 0
	m.acc = m.acc[:0]
	m.ask = nil
}

// Encode implements system.Machine. A channel's buffer is a ring in the live
// state, so that a send and a receive touch different locations; in the
// encoding it starts at slot 0, so that equal contents are equal states.
func (m *Machine) Encode(dst system.State) system.State {
	return m.encode(dst, m.words[:m.sys.length(m.n)])
}

// encode encodes a live state.
func (m *Machine) encode(dst, live system.State) system.State {
	dst = append(dst[:0], live...)
	for i := range m.sys.rings {
		r := &m.sys.rings[i]
		if head := r.head.get(dst); head != 0 && !sabotage.Is("encode/rotate") {
			r.rotate(dst, int(head), &m.before)
		}
	}
	return dst
}

// Changed implements system.Changing. The encoding of a ring depends on more than the
// words that were written.
func (m *Machine) Changed(dst []int32) ([]int32, bool) {
	if len(m.sys.rings) > 0 {
		return dst, false
	}
	for i := range m.log {
		dst = append(dst, m.log[i].word)
	}
	return dst, true
}

// Hash implements system.Machine: it hashes the difference from the loaded state, so it compares
// states reached from one Load.
func (m *Machine) Hash() uint64 { return m.hash }

// Track implements system.Machine.
func (m *Machine) Track(on bool) { m.track = on }

// NumThreads implements system.Machine.
func (m *Machine) NumThreads() int { return m.n }

// Accesses implements system.Machine.
func (m *Machine) Accesses() []system.Access { return m.acc }

// Mark implements system.Machine.
func (m *Machine) Mark() system.Mark { return system.Mark(len(m.log)) }

// Rewind implements system.Machine.
func (m *Machine) Rewind(mark system.Mark) {
	first := int(mark)
	if sabotage.Is("undo/first") && len(m.log)-first > 2 {
		first++
	}
	for i := len(m.log) - 1; i >= first; i-- {
		u := m.log[i]
		if m.track {
			m.hash ^= system.HashWord(u.word, m.words[u.word]) ^ system.HashWord(u.word, u.old)
		}
		m.words[u.word] = u.old
	}
	m.log = m.log[:mark]
	if m.sys.dynamic {
		m.n = int(m.words[m.sys.count])
	}
	if m.ask != nil { // the pieces that the step has asked for stay
		for l, v := range m.asked {
			m.SetValue(l, v)
		}
	}
}

// set writes one word of the state.
func (m *Machine) set(word int, v uint64) {
	old := m.words[word]
	if old == v {
		return
	}
	m.log = append(m.log, undo{int32(word), old})
	if m.track {
		m.hash ^= system.HashWord(int32(word), old) ^ system.HashWord(int32(word), v)
	}
	m.words[word] = v
}

// access records an access of the step, and in a step on pieces fetches the value of a location
// on its first access.
func (m *Machine) access(l system.Loc, write bool) {
	if m.syncs.on {
		m.observe(l, write)
	}
	if sabotage.On && m.unseen(l) {
		return
	}
	m.note(system.Access{Loc: l, Write: write})
}

// note adds an access to those of the step. Several accesses to a location become an ordinary
// one.
func (m *Machine) note(a system.Access) {
	l := a.Loc
	for i := len(m.acc) - 1; i >= 0; i-- {
		if b := &m.acc[i]; b.Loc == l {
			*b = system.Access{Loc: l, Write: b.Write || a.Write}
			return
		}
	}
	m.acc = append(m.acc, a)
	m.fetch(l)
}

// fetch gets the value of a location in a step on pieces, if it does not have it.
func (m *Machine) fetch(l system.Loc) {
	if m.ask == nil {
		return
	}
	if _, ok := m.asked[l]; !ok {
		m.asked[l] = m.ask(l)
		m.SetValue(l, m.asked[l])
	}
}

func (m *Machine) read(l int) int64 {
	if m.track {
		m.access(system.Loc(l), false)
	}
	return m.sys.locs[l].load(m.words)
}

// value returns the value of a location; the caller says how it uses it.
func (m *Machine) value(l int) int64 {
	m.fetch(system.Loc(l))
	return m.sys.locs[l].load(m.words)
}

// operate records that the step adds to a location, or looks at what an addition changes: it would
// do the same if others had moved the value that much further. If op is 0, it is an ordinary
// access.
func (m *Machine) operate(l int, write bool, op system.Op, room int64) {
	if !m.track {
		return
	}
	if m.syncs.on {
		m.observe(system.Loc(l), false)
		if write {
			m.observe(system.Loc(l), true)
		}
	}
	if sabotage.On && m.unseen(system.Loc(l)) {
		return
	}
	a := system.Access{Loc: system.Loc(l), Write: write}
	if op != 0 {
		a.Op, a.Room = op, system.Room(room)
		if sabotage.Is("commuting/bounds") {
			a.Room = system.Unlimited
		}
	}
	m.note(a)
}

// bump adds d to a location whose value was old and stays from lo to hi.
func (m *Machine) bump(l int, old, d, lo, hi int64) {
	switch {
	case d > 0:
		m.operate(l, true, system.Addition(d), hi-old-d)
	case d < 0:
		m.operate(l, true, system.Addition(d), old+d-lo)
	default:
		m.operate(l, true, 0, 0)
	}
	m.put(l, old+d)
}

// update notes that a store ends an addition to a location that its thread has begun earlier.
func (m *Machine) update(l int, old, v int64, t *compile.IntType) {
	op, room := system.Addition(v-old), t.Max-v
	if v < old {
		room = v - t.Min
	}
	if op != 0 {
		m.updated = system.Access{Loc: system.Loc(l), Write: true, Op: op, Room: system.Room(room)}
	}
}

// Updated implements [system.Updating].
func (m *Machine) Updated() (system.Access, bool) { return m.updated, m.updated.Op != 0 }

// store writes a number to a location that the step need not have read.
func (m *Machine) store(l int, v int64) {
	if m.track {
		n := len(m.acc)
		m.access(system.Loc(l), true)
		op := system.Store(v)
		if sabotage.Is("commuting/stores") {
			op = system.Store(0)
		}
		if len(m.acc) > n && op != 0 {
			m.acc[n].Op, m.acc[n].Room = op, system.Unlimited
		}
	}
	m.put(l, v)
}

func (m *Machine) write(l int, v int64) {
	if m.track {
		m.access(system.Loc(l), true)
	}
	m.put(l, v)
}

// put changes the value of a location.
func (m *Machine) put(l int, v int64) {
	f := &m.sys.locs[l]
	w := m.words[f.word]
	m.set(int(f.word), w&^f.mask|uint64(v)<<f.shift&f.mask)
}

// pc returns the program counter of a thread: 1 + point, or a site.
func (m *Machine) pc(t int) int {
	w, sh := m.sys.slot(t)
	return int(m.words[w] >> (sh + m.sys.pcShift) & m.sys.pcMask)
}

// Step implements system.Machine.
func (m *Machine) Step(t int, alt uint64) system.Outcome {
	m.acc, m.updated = m.acc[:0], system.Access{}
	m.story.clear()
	pc := m.pc(t)
	if pc > len(m.p.Points) || m.p.Points[pc-1].Ended {
		m.viol, m.created, m.path.committed, m.path.looked = nil, false, false, false
		return system.Outcome{Kind: system.Ended}
	}
	pt := &m.p.Points[pc-1]
	m.path.point, m.path.looked = pc-1, pt.Timeout
	if pt.Timeout {
		m.timeout, m.asks = !m.path.probing && !m.moves(t), false
	}
	if pt.Retry {
		out := m.retry(t, pt, alt)
		if pt.Timeout {
			m.heed()
		}
		return out
	}
	// Field by field: a copy of the whole outcome would wait for the stores of its parts.
	x := &m.result
	m.attempt(t, pt, alt, x)
	if pt.Timeout {
		m.heed()
	}
	return system.Outcome{Kind: x.Kind, AtEnd: x.AtEnd, Created: x.Created, Next: x.Next,
		Violation: x.Violation}
}

// attempt executes one alternative. It returns the number of the alternative to try
// next, enabled or not, 0 if there is none.
func (m *Machine) attempt(t int, pt *compile.Point, alt uint64, out *system.Outcome) uint64 {
	s := m.sys
	mark := system.Mark(len(m.log))
	w, sh := s.slot(t)
	if m.p.Observed && m.track {
		m.watched(t, pt)
	}
	for i := range pt.Loads {
		l := &pt.Loads[i]
		if l.Zero {
			m.regs[l.Reg] = 0
			continue
		}
		v := m.words[w+int(l.Word)] << ((64 - uint(l.Bits) - uint(l.Shift) - sh) & 63)
		if l.Signed {
			m.regs[l.Reg] = int64(v) >> ((64 - uint(l.Bits)) & 63)
		} else {
			m.regs[l.Reg] = int64(v >> ((64 - uint(l.Bits)) & 63))
		}
	}
	m.thread, m.budget, m.sample, m.alt, m.created, m.viol = t, Budget, sampled, alt, false, nil
	m.choices = m.choices[:0]
	m.syncs.begin(pt.Atomic)
	m.story.begin(m.p, pt)
	m.path.begin(pt.Entry)
	if s.dynamic && m.track {
		m.access(s.p.Loc(t, 0), false) // the child reads its existence
	}
	st, to := m.run(pt.Entry, m.regs, pt.Thread, w, sh)
	out.Kind, out.AtEnd, out.Created = system.Moved, false, m.created &&
		!sabotage.Is("access/created")
	out.Next, out.Violation = 0, nil
	switch st {
	case blocked:
		if sabotage.Is("access/blocked") {
			m.acc = m.acc[:0]
		}
		if !sabotage.Is("undo/blocked") {
			m.Rewind(mark)
		}
		for i := range m.acc {
			if a := &m.acc[i]; a.Write { // what it would have done
				a.Write, a.Op, a.Room = false, 0, 0
			}
		}
		if pt.Thread.Observer { // it has looked, and the invariant holds
			m.commit(m.path.point)
		}
		out.Kind, out.AtEnd, out.Created = system.Blocked, pt.End, false
		return m.choices.Next()
	case reached:
		m.commit(m.path.point)
		m.exit(pt, int32(to), m.regs, w, sh)
	case failed:
		m.failedAt(to)
		m.commit(m.path.point)
		if !sabotage.Is("sync/failed") {
			m.leaveMonitors(t)
		}
		// A site is a local state of its own.
		m.only(w, sh, 1+len(s.p.Points)+to)
	}
	out.Violation = m.viol
	if m.track {
		m.writeOwn(t, pt, st != blocked)
	}
	out.Next = m.choices.Next()
	return out.Next
}

// choose decides among radix possibilities. ok is false if the number of
// alternatives would not fit a word.
func (m *Machine) choose(radix uint64) (digit uint64, ok bool) {
	return m.choices.Choose(&m.alt, radix, 1<<63)
}

// tried is which alternatives of a step were enabled, and where that was found out. A step with n
// alternatives is executed n times in a row; without it, each time would try all of them.
type tried struct {
	thread  int
	track   bool
	words   []uint64
	enabled []uint64     // their numbers
	touched []system.Loc // by any of them
}

// holds reports whether it is about the live state.
func (x *tried) holds(m *Machine, t int) bool {
	return x.thread == t && x.track == m.track && slices.Equal(x.words, m.words)
}

// retry executes a transition in which an alternative may block, or choose again, after a
// choice: it tries all to find the enabled ones. Everything any of them touches counts as read
// by each: which alternatives are enabled, and so the number of each, is part of the transition,
// and two transitions are independent only if neither changes that of the other.
func (m *Machine) retry(t int, pt *compile.Point, alt uint64) system.Outcome {
	x := &m.tried
	// A try also learns what a step on pieces asks for, and whether a step asks timeout().
	if m.ask != nil || pt.Timeout || !x.holds(m, t) {
		m.try(t, pt)
	}
	addReads := func() {
		system.Plain(m.acc) // another alternative may look
		on := m.syncs.on
		m.syncs.on = false // what is not executed does not synchronize
		for _, l := range x.touched {
			if sabotage.Is("access/alternatives") {
				break
			}
			m.access(l, false)
		}
		m.syncs.on = on
	}
	if len(x.enabled) == 0 {
		addReads()
		return system.Outcome{Kind: system.Blocked, AtEnd: pt.End}
	}
	i := 0
	if alt != 0 {
		for i < len(x.enabled)-1 && x.enabled[i] != alt {
			i++
		}
	}
	var out system.Outcome
	m.attempt(t, pt, x.enabled[i], &out)
	addReads()
	out.Next = 0
	if i+1 < len(x.enabled) {
		out.Next = x.enabled[i+1]
	}
	return out
}

// try finds out which alternatives of a step are enabled.
func (m *Machine) try(t int, pt *compile.Point) {
	x := &m.tried
	x.thread, x.track, x.words = t, m.track, append(x.words[:0], m.words...)
	x.enabled, x.touched = x.enabled[:0], x.touched[:0]
	mark := system.Mark(len(m.log))
	m.path.trying = true
	for try := uint64(0); ; {
		var out system.Outcome
		next := m.attempt(t, pt, try, &out)
		for _, a := range m.acc {
			if !slices.Contains(x.touched, a.Loc) {
				x.touched = append(x.touched, a.Loc)
			}
		}
		if out.Kind != system.Blocked {
			x.enabled = append(x.enabled, try)
		}
		m.Rewind(mark)
		m.acc = m.acc[:0]
		if next == 0 {
			break
		}
		try = next
	}
	m.path.trying = false
}

// exit stores the variables of a segment that reached a point.
func (m *Machine) exit(pt *compile.Point, to int32, regs []int64, w int, sh uint) {
	for i := range pt.Exits {
		x := &pt.Exits[i]
		if x.To != to {
			continue
		}
		for j := range x.Words {
			ew := &x.Words[j]
			v := m.words[w+int(ew.Word)]&^(ew.Clear<<sh) | ew.PC<<sh
			for k := range ew.Stores {
				st := &ew.Stores[k]
				up := (64 - uint(st.Bits)) & 63
				v |= uint64(regs[st.Reg]) << up >> up << (uint(st.Shift) + sh)
			}
			m.set(w+int(ew.Word), v)
		}
		return
	}
	panic(fmt.Sprintf("machine: no exit from %q to point %d", pt.Text, to))
}

// only sets the program counter of a thread and clears its local part, except its type.
func (m *Machine) only(w int, sh uint, pc int) {
	s := m.sys
	keep := uint64(1)<<s.pcShift - 1
	for i := range s.slotWords {
		n := min(64, s.p.SlotBits-64*i)
		clear := maskOf(n)
		v := uint64(0)
		if i == 0 {
			clear &^= keep
			v = uint64(pc) << s.pcShift
		}
		m.set(w+i, m.words[w+i]&^(clear<<sh)|v<<sh)
	}
}

func maskOf(n int) uint64 {
	if n >= 64 {
		return ^uint64(0)
	}
	return 1<<n - 1
}

// fault records a violation at an instruction.
func (m *Machine) fault(in *compile.Instr, format string, args ...any) (status, int) {
	return m.faultAt(in.Site, format, args...)
}

// faultAt records a violation at a site.
func (m *Machine) faultAt(at int32, format string, args ...any) (status, int) {
	site := &m.p.Sites[at]
	msg := site.Message
	if format != "" {
		msg = fmt.Sprintf(format, args...)
	}
	m.viol = &system.Violation{Kind: site.Kind, Message: msg, Pos: m.sys.pos(site.Pos)}
	return failed, int(at)
}

// watched remembers what properties read of a thread.
func (m *Machine) watched(t int, pt *compile.Point) {
	m.before = m.before[:0]
	for k := range pt.Thread.Watched {
		m.before = append(m.before, m.peekWatch(t, pt.Thread, k))
	}
}

// writeOwn records a write of where the thread is if it has moved, and of each watched thing that
// the step changed.
func (m *Machine) writeOwn(t int, pt *compile.Point, moved bool) {
	if moved && m.p.Place > 0 && !sabotage.Is("asking/place") {
		m.access(m.p.Loc(t, m.p.Place), true)
	}
	if !m.p.Observed {
		return
	}
	for k, old := range m.before {
		if m.peekWatch(t, pt.Thread, k) != old && !sabotage.Is("access/observed") {
			m.access(m.p.Loc(t, 2+k), true)
		}
	}
}

// peekWatch returns the value of watched thing k of a thread.
func (m *Machine) peekWatch(t int, tt *compile.ThreadType, k int) uint64 {
	wt := &tt.Watched[k]
	pc := m.pc(t)
	if pc == 0 || pc > len(m.p.Points) || !wt.Points[pc-1] {
		return 0
	}
	if wt.Var == nil {
		return 1
	}
	w, sh := m.sys.slot(t)
	return uint64(fieldValue(m.words[w:], wt.Var.Field, sh))
}

// fieldValue reads a field of a slot.
func fieldValue(slot []uint64, f compile.Field, sh uint) int64 {
	v := slot[f.Word] << ((64 - uint(f.Bits) - uint(f.Shift) - sh) & 63)
	if f.Signed {
		return int64(v) >> ((64 - uint(f.Bits)) & 63)
	}
	return int64(v >> ((64 - uint(f.Bits)) & 63))
}

// create makes a thread and executes its local computation up to its first
// point. If that violates a property, the thread starts before it instead, so
// that the violation is a transition of its own.
func (m *Machine) create(in *compile.Instr, regs []int64) (status, int) {
	g := &m.p.Gos[in.T]
	s := m.sys
	if m.track {
		m.access(s.p.CountLoc(), true)
		m.access(s.p.Loc(m.n, 0), true)
	}
	if m.n >= s.maxThreads {
		if n := s.observers; n > 0 {
			return m.fault(in, "more than %d threads: a model can create at most %d, and each of "+
				"its %d invariants counts as one", s.maxThreads-n, s.maxThreads, n)
		}
		return m.fault(in, "more than %d threads: a model can create at most that many",
			s.maxThreads)
	}
	t := m.n
	m.n++
	m.grow(m.n)
	if s.dynamic {
		m.set(s.count, uint64(m.n))
	}
	w, sh := s.slot(t)
	tt := g.Thread
	if m.p.Observed && m.track { // what properties read of it comes to be
		for k := range tt.Watched {
			m.access(s.p.Loc(t, 2+k), true)
		}
	}
	if m.scratch != nil {
		m.types = append(m.types, tt)
	}
	if s.p.TypeBits > 0 {
		m.set(w, m.words[w]|uint64(s.typeIndex[tt])<<(uint(s.p.WaitBits)+sh))
	}
	store := func(scalar func(v *compile.Var, arg int64)) {
		k := 0
		for _, v := range tt.Params {
			if v.N == 0 {
				scalar(v, regs[g.Args[k]])
				k++
				continue
			}
			for i := range v.N {
				m.storeField(tt.Fields[v.Base+i], w, sh, regs[g.Args[k]])
				k++
			}
		}
	}
	store(func(v *compile.Var, arg int64) { m.child[v.Reg] = arg })
	m.created = true
	m.syncs.thread(system.Create, t)
	if m.story.on {
		m.tellStart(t, g, regs)
	}
	for i := range tt.Start.Loads {
		m.child[tt.Start.Loads[i].Reg] = 0
	}
	parent := m.thread
	m.thread = t
	m.took(int32(m.p.Cover.Starts + s.typeIndex[tt]))
	m.path.from, m.path.fromAt = tt.Entry, m.path.n
	// The start of a thread has a budget of its own, as when it fails and becomes a transition.
	budget, sample := m.budget, m.sample
	m.budget, m.sample, m.laps, m.childLaps = Budget, sampled, m.childLaps, m.laps
	st, to := m.run(tt.Entry, m.child, tt, w, sh)
	m.childPasses += Budget - m.budget
	m.budget, m.sample, m.laps, m.childLaps = budget, sample, m.childLaps, m.laps
	m.thread = parent
	if st == failed {
		m.failedAt(to)
	}
	m.path.from, m.path.fromAt = m.p.Cover.Gos[in.T], m.path.n
	if st == reached {
		m.exit(&tt.Start, int32(to), m.child, w, sh)
		return reached, 0
	}
	m.viol = nil
	m.only(w, sh, int(tt.Failing)+1)
	store(func(v *compile.Var, arg int64) { m.storeField(v.Field, w, sh, arg) })
	return reached, 0
}

func (m *Machine) storeField(f compile.Field, w int, sh uint, v int64) {
	mask := maskOf(int(f.Bits)) << (uint(f.Shift) + sh)
	m.set(w+int(f.Word), m.words[w+int(f.Word)]&^mask|uint64(v)<<(uint(f.Shift)+sh)&mask)
}

// unseen reports whether a sabotage hides a location.
func (m *Machine) unseen(l system.Loc) bool {
	if i := int(l) - len(m.p.Locs); i >= 0 {
		return sabotage.Is("access/existence") && (i == 0 || i > 0 && (i-1)%m.p.PerThread == 0)
	}
	info := &m.p.Locs[l]
	return sabotage.Is("access/mutex") && info.Mutex ||
		sabotage.Is("access/channel tail") && info.Role == compile.ChanTail ||
		sabotage.Is("access/channel slot") && info.Role == compile.ChanSlot ||
		sabotage.Is("access/closed") && info.Role == compile.ChanClosed ||
		sabotage.Is("access/semaphore") && info.Role == compile.SemaphoreCount ||
		sabotage.Is("access/readers") && info.Role == compile.RWReaders ||
		sabotage.Is("access/first only") && len(m.acc) >= 8
}
