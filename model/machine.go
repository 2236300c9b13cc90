package model

import (
	"fmt"
	"slices"
	"strings"

	"cpor/system"
)

// machine is one build of a model with its live state. The variables, steps and properties of a
// build refer to it.
type machine struct {
	*builtModel
	words []uint64
	log   []undo
	hash  uint64
	acc   []system.Access
	track bool
	ask   func(system.Loc) uint64
	asked map[system.Loc]uint64

	mode        mode
	watching    bool // accesses are recorded or compared with bounds
	watchReads  bool // Get has to record itself
	watchWrites bool
	// About the current step:
	cur      int // the thread; -1 outside
	alt      uint64
	choices  system.Digits
	decided  int // accesses up to here decide which alternatives there are
	jump     int
	learning *Case // whose first operation is looked for
	used     bool  // something was used before it
	viol     *system.Violation
	chosen   *Case

	from     system.Mark // where it began
	taken    taken
	decisive []system.Loc
	narrate  bool
	// About bounds:
	bound  *bounds  // nil: none
	search *bounded // that they are for; nil if they learn from the steps
	place  int      // of the current step; -1 outside
	inUse  []*queue

	// About channels without buffers:
	offers  []offer
	touched bool // the step has used something shared
	trying  int  // the case
	matched int  // the case that the other side has completed; -1
	woken   bool // the operation of that case was executed
	done    int  // accesses of the step
	dormant bool // the process was not started

	deeds  []system.Deed
	waits  string
	counts []uint64
}

// builtModel is what the build function has made. It does not change afterwards.
type builtModel struct {
	sys        *System // nil while the first build runs
	locs       []location
	queues     []*queue
	meetings   []*meeting
	contents   []contents
	procs      []*Process
	properties []property
	observers  []int // the properties that are invariants
	props      []proposition
	inits      []func()

	observersFrom int      // the place of the first one
	byLoc         []*queue // the channel that each location belongs to

	alike   *symmetry // nil if nothing can be exchanged
	ids     []idCell  // what names processes
	mutexes []*Mutex

	lay, begin []func()
	size       int // words without those of failures
	files      []string
	rings      bool
}

// location is a shared location: bits of the state, or something virtual, which is a function of
// the local part of a process.
type location struct {
	name   string
	cell   cell
	width  int
	show   func(words []uint64) string
	thread int // of a label; -1
	label  int
}

// contents are what is shown of a channel.
type contents struct {
	name string
	loc  system.Loc
	show func() string
}

// mode is what the machine is doing.
type mode uint8

const (
	idle     mode = iota
	building      // the build function runs
	asking        // a property or a guard is evaluated: nothing may be written
	deciding      // a condition of If or While is evaluated: nothing shared may be read
	stepping
)

type undo struct {
	word int32
	old  uint64
}

// failure ends a step with a violation.
type failure struct {
	kind    system.ViolationKind
	message string
}

// maxAccesses bounds what one step does, if it is recorded.
const maxAccesses = 1 << 20

// blocked is the panic of a blocked step.
type blockedPanic struct{}

var blockedStep = &blockedPanic{}

func (m *machine) misuse(format string, args ...any) any {
	if m.mode == building {
		return m.mistake(format, args...)
	}
	return &failure{system.Runtime, fmt.Sprintf(format, args...)}
}

func (m *machine) mistake(format string, args ...any) *Mistake {
	return &Mistake{callerOf(), fmt.Sprintf(format, args...)}
}

// declare adds the cells of something shared, and returns the first one's number.
func (m *machine) declare(name string, widths []int, show func([]uint64) string) system.Loc {
	first := len(m.locs)
	for i, w := range widths {
		l := location{width: w, thread: -1}
		if i == 0 {
			l.name, l.show = name, show
		}
		m.locs = append(m.locs, l)
	}
	return system.Loc(first)
}

// virtual adds the location of a label.
func (m *machine) virtual(name string, thread, i int) system.Loc {
	m.locs = append(m.locs, location{name: name, thread: thread, label: i})
	return system.Loc(len(m.locs) - 1)
}

func (m *machine) cellsOf(first system.Loc, n int) []cell {
	cs := make([]cell, n)
	for i := range cs {
		cs[i] = m.locs[int(first)+i].cell
	}
	return cs
}

// layOut finds a place for everything, words being filled in order.
func (m *machine) layOut() {
	var free []int // bits used of each word
	fit := func(width int) cell {
		for w := range free {
			if free[w]+width <= 64 {
				c := cell{int32(w), uint8(free[w]), ones(width)}
				free[w] += width
				return c
			}
		}
		free = append(free, width)
		return cell{int32(len(free) - 1), 0, ones(width)}
	}
	m.layOutMeetings()
	for i := range m.locs {
		if l := &m.locs[i]; l.thread < 0 {
			l.cell = fit(l.width)
		}
	}
	for _, p := range m.procs {
		widths := append([]int{p.pcBits()}, p.widths...)
		total := 0
		for _, w := range widths {
			total += w
		}
		if total <= 64 {
			s := fit(total)
			p.slot = []cell{s}
			at := s.shift
			for _, w := range widths {
				p.cells = append(p.cells, cell{s.word, at, ones(w)})
				at += uint8(w)
			}
		} else {
			used := 64
			for _, w := range widths {
				if used+w > 64 {
					free = append(free, 64)
					p.slot = append(p.slot, cell{int32(len(free) - 1), 0, ones(64)})
					used = 0
				}
				p.cells = append(p.cells, cell{int32(len(free) - 1), uint8(used), ones(w)})
				used += w
			}
		}
		p.pc, p.cells = p.cells[0], p.cells[1:]
	}
	m.size = len(free)
	for i, p := range m.procs {
		p.fail = int32(m.size + i)
	}
	m.words = make([]uint64, m.size+m.threads())
	for _, f := range m.lay {
		f()
	}
	for _, q := range m.queues {
		m.rings = m.rings || q.n > 1
	}
	m.numberPlaces()
}

func (m *machine) threads() int { return len(m.procs) + len(m.observers) }

func (m *machine) setMode(to mode) {
	m.mode = to
	m.watching = m.track || m.bound != nil
	record := m.watching || len(m.meetings) > 0
	m.watchReads = record || m.learning != nil || to != stepping && to != asking
	m.watchWrites = record || m.learning != nil || to != stepping
}

// set writes one word.
func (m *machine) set(word int32, v uint64) {
	old := m.words[word]
	if old == v {
		return
	}
	m.log = append(m.log, undo{word, old})
	if m.track {
		m.hash ^= system.HashWord(word, old) ^ system.HashWord(word, v)
	}
	m.words[word] = v
}

func (m *machine) put(c cell, v uint64) {
	w := m.words[c.word]
	m.set(c.word, w&^(c.mask<<(c.shift&63))|v&c.mask<<(c.shift&63))
}

// access records an access.
func (m *machine) access(l system.Loc, write bool) {
	m.note(system.Access{Loc: l, Write: write})
}

// note records an access. Several to one location become an ordinary one.
func (m *machine) note(a system.Access) {
	if m.bound != nil && m.place >= 0 {
		m.touches(a.Loc, a.Write)
	}
	if m.done++; m.done > maxAccesses {
		panic(m.misuse("the step does not end: it has read and written %d times", m.done))
	}
	if !m.track {
		return
	}
	for i := len(m.acc) - 1; i >= 0; i-- {
		if b := &m.acc[i]; b.Loc == a.Loc {
			*b = system.Access{Loc: a.Loc, Write: b.Write || a.Write}
			return
		}
	}
	m.acc = append(m.acc, a)
	if m.ask != nil {
		if _, ok := m.asked[a.Loc]; !ok {
			m.asked[a.Loc] = m.ask(a.Loc)
			m.SetValue(a.Loc, m.asked[a.Loc])
		}
	}
}

// reads records that n locations are read.
func (m *machine) reads(first system.Loc, n int) {
	if m.mode != stepping && m.mode != asking {
		panic(m.outside("a variable is read"))
	}
	m.used, m.touched = true, true
	if m.watching {
		for i := range n {
			m.access(first+system.Loc(i), false)
		}
	}
}

func (m *machine) outside(what string) any {
	switch m.mode {
	case building:
		return m.mistake("%s while the model is built: only steps, properties and Init have a "+
			"state", what)
	case deciding:
		return m.misuse("the condition of If or While uses something shared, which would not be " +
			"a step of its own: let the step before it store that in a local variable")
	}
	return m.mistake("%s outside of a step of its own model", what)
}

func (m *machine) readOne(l system.Loc) {
	if m.watchReads {
		m.reads(l, 1)
	}
}

// stepping panics unless a step is being executed.
func (m *machine) stepping() {
	switch m.mode {
	case stepping:
		return
	case asking:
		panic(m.misuse("a guard or a property changes the state, or blocks; it may only read"))
	case deciding:
		panic(m.misuse("the condition of If or While changes the state; it may only read"))
	}
	panic(m.outside("Set, Send, Choose, Assert or the like is called"))
}

// own panics unless a step of p is being executed.
func (m *machine) own(p *Process, what string) {
	m.stepping()
	if m.cur != p.thread {
		panic(m.misuse("%s of %s in a step of another process", what, p.name))
	}
}

// sets records that a variable of n locations is written without being read; raw is the first
// one's value.
func (m *machine) sets(first system.Loc, n int, raw uint64) {
	m.stepping()
	m.used, m.touched = true, true
	if !m.watching {
		return
	}
	for i := range n {
		a := system.Access{Loc: first + system.Loc(i), Write: true}
		if n == 1 && raw < 1<<32 {
			if a.Op = system.Store(int64(raw)); a.Op != 0 {
				a.Room = system.Unlimited
			}
		}
		m.note(a)
	}
}

// write changes a location that the step has read.
func (m *machine) write(l system.Loc, c cell, v uint64) {
	if m.watchWrites {
		m.stepping()
		m.used, m.touched = true, true
		if m.watching {
			m.access(l, true)
		}
	}
	m.put(c, v)
}

// decide says that what the step has read so far decides whether it is enabled, or what
// alternatives it has.
func (m *machine) decide() { m.decided = len(m.acc) }

func (m *machine) choose(n int) int {
	m.stepping()
	m.used, m.touched = true, true
	if n < 1 {
		panic(m.misuse("Choose(%d): there must be something to choose from", n))
	}
	m.decide()
	value, ok := m.choices.Choose(&m.alt, uint64(n), 1<<(63-caseBits))
	if !ok {
		panic(m.misuse("the choices of one step have too many outcomes"))
	}
	return int(value)
}

// blocker is an operation that can block, and is the first one of a step: if it cannot be
// executed, the step need not be tried.
type blocker struct {
	q    *queue
	send bool
	mu   *Mutex
}

// begins notes the first operation of a step while that is learned.
func (m *machine) begins(b blocker) {
	if m.learning != nil && !m.used {
		m.learning.first = b
	}
	m.used = true
}

func (b *blocker) known() bool { return b.q != nil || b.mu != nil }

// open reports whether the operation can be executed.
func (b *blocker) open(m *machine) bool {
	if b.mu != nil {
		m.readOne(b.mu.loc)
		return b.mu.cell.get(m.words) == 0
	}
	if b.send {
		if m.full(b.q, b.q.tail) {
			m.uses(b.q, sends)
			return false
		}
		return true
	}
	if !m.full(b.q, b.q.head) {
		m.uses(b.q, receives)
		return false
	}
	return true
}

// index returns the slot that an index of a queue names.
func (m *machine) index(q *queue, l system.Loc) int {
	if q.n == 1 {
		return 0
	}
	return int(m.locs[l].cell.get(m.words))
}

// full reports whether there is a value in the slot that an index of a queue names.
func (m *machine) full(q *queue, l system.Loc) bool {
	if m.watchReads {
		if q.n > 1 {
			m.reads(l, 1)
		}
		slot := q.slot + system.Loc(m.index(q, l)*q.per)
		m.reads(slot, 1)
	}
	return m.locs[int(q.slot)+m.index(q, l)*q.per].cell.get(m.words)&1 != 0
}

// ready reports whether a queue can be sent to, or received from.
func (m *machine) ready(q *queue, send bool) bool {
	m.stepping()
	m.begins(blocker{q: q, send: send})
	var ok bool
	if send {
		m.uses(q, sends)
		ok = !m.full(q, q.tail)
	} else {
		m.uses(q, receives)
		ok = m.full(q, q.head)
	}
	m.decide()
	if !ok && m.narrate {
		m.waits = q.name + " is empty"
		if send {
			m.waits = q.name + " is full"
		}
	}
	return ok
}

// unlocked is ready for a mutex.
func (m *machine) unlocked(mu *Mutex) bool {
	m.stepping()
	m.begins(blocker{mu: mu})
	m.readOne(mu.loc)
	m.decide()
	owner := mu.cell.get(m.words)
	if owner != 0 && m.narrate {
		m.waits = fmt.Sprintf("%s, which %s", mu.name, m.holds(owner))
	}
	return owner == 0
}

func (m *machine) holds(owner uint64) string {
	if owner == 0 {
		return "nobody holds"
	}
	return m.ownerName(owner) + " holds"
}

func (m *machine) ownerName(owner uint64) string {
	if owner == 0 {
		return "free"
	}
	return m.procs[owner-1].name
}

// advance moves an index of a queue, and returns what it was.
func (m *machine) advance(q *queue, l system.Loc) int {
	i := m.index(q, l)
	if q.n > 1 {
		m.write(l, m.locs[l].cell, uint64((i+1)%q.n))
	}
	return i
}

// count returns how many values are in a queue.
func (m *machine) count(q *queue) int {
	n := 0
	for i := range q.n {
		n += int(m.locs[int(q.slot)+i*q.per].cell.get(m.words) & 1)
	}
	return n
}

// at returns the step that a process takes next; nil if it has ended.
func (m *machine) at(p *Process) *node {
	pc := p.pc.get(m.words)
	if pc == 0 {
		return nil
	}
	return &p.nodes[p.steps[pc-1]]
}

// isAt reports whether a process is at a label.
func (m *machine) isAt(p *Process, i int) bool {
	n := m.at(p)
	return n != nil && slices.Contains(n.labels, i)
}

// observed returns the invariant of an observer.
func (m *machine) observed(t int) *property { return &m.properties[m.observers[t-len(m.procs)]] }

// failWord says which violation ended a thread: a kind, a file and a line. It is not 0, and
// names the same in every process that runs the same program.
func (m *machine) failWord(kind system.ViolationKind, pos system.Pos) uint64 {
	k := map[system.ViolationKind]uint64{system.Assertion: 1, system.Invariant: 2,
		system.Runtime: 3}[kind]
	file := max(0, slices.Index(m.files, pos.File))
	return k<<56 | uint64(file)<<32 | uint64(pos.Line)
}

// recovered makes what a panic says of the outcome of a step.
func (m *machine) recovered(st *status, pos system.Pos) {
	switch r := recover().(type) {
	case nil:
	case *blockedPanic:
		*st = blocked
	case *failure:
		*st = failed
		m.viol = &system.Violation{Kind: r.kind, Message: r.message, Pos: m.failedAt(pos)}
	case *Mistake:
		*st = failed
		m.viol = &system.Violation{Kind: system.Runtime, Message: r.Message, Pos: m.failedAt(pos)}
	case error:
		*st = failed
		m.viol = &system.Violation{Kind: system.Runtime, Pos: m.failedAt(pos),
			Message: "panic: " + strings.TrimPrefix(r.Error(), "runtime error: ")}
	default:
		*st = failed
		m.viol = &system.Violation{Kind: system.Runtime, Pos: m.failedAt(pos),
			Message: fmt.Sprintf("panic: %v", r)}
	}
}

// failedAt returns the place of the frame that panics: the innermost one in a file that the model
// was built in, which all machines know.
func (m *machine) failedAt(or system.Pos) system.Pos {
	if pos := frameIn(m.files); pos.Line > 0 {
		return pos
	}
	return or
}

type status uint8

const (
	moved status = iota
	blocked
	failed
)
