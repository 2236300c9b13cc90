package toysystem

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"

	"cpor/system"
)

// Heap is a program whose threads allocate objects and create threads. [NewHeap]
// makes a system of it: one whose locations and threads come into being while it
// runs, in an order that depends on who runs first, and whose garbage is no
// part of its states.
//
// Threads have registers of words. A word is a number or a reference to an
// object, and 0 is also the nil reference. All objects have the same number of
// fields. An operation is a transition.
type Heap struct {
	Globals []string // names of shared words, 0 at first
	Fields  int      // of each object
	Regs    int      // of each thread
	Codes   []HeapCode
	Start   []int // the codes of the threads of the beginning
	// MaxChildren bounds how many threads one thread creates; one more is a
	// run-time violation.
	MaxChildren int
}

// HeapCode is the code of a thread, which begins at its first operation and ends
// behind its last.
type HeapCode struct {
	Name string
	Ops  []HeapOp
}

// HeapOp is an operation. What A, B and C mean depends on its kind.
type HeapOp struct {
	Kind    HeapKind
	A, B, C int
}

// HeapKind is a kind of operation.
type HeapKind uint8

// The kinds of operations. r[i] is a register, g[i] a global.
const (
	HeapNew    HeapKind = iota // r[A] = a new object
	HeapSet                    // r[A] = the number B
	HeapMove                   // r[A] = r[B]
	HeapGet                    // r[A] = g[B]
	HeapPut                    // g[A] = r[B]
	HeapLoad                   // r[A] = field C of the object r[B]
	HeapStore                  // field B of the object r[A] = r[C]
	HeapGo                     // create a thread of code A, whose r[0] is r[B]
	HeapAwait                  // blocked while g[A] is 0
	HeapTake                   // blocked until g[A] is 0, then g[A] = 1
	HeapChoose                 // r[A] = any of 0 to B
	HeapIfZero                 // if r[A] is 0 go to operation B
	HeapAssert                 // violated if r[A] is B
)

// String prints an operation.
func (o HeapOp) String() string {
	switch o.Kind {
	case HeapNew:
		return fmt.Sprintf("r%d = new", o.A)
	case HeapSet:
		return fmt.Sprintf("r%d = %d", o.A, o.B)
	case HeapMove:
		return fmt.Sprintf("r%d = r%d", o.A, o.B)
	case HeapGet:
		return fmt.Sprintf("r%d = g%d", o.A, o.B)
	case HeapPut:
		return fmt.Sprintf("g%d = r%d", o.A, o.B)
	case HeapLoad:
		return fmt.Sprintf("r%d = r%d.%d", o.A, o.B, o.C)
	case HeapStore:
		return fmt.Sprintf("r%d.%d = r%d", o.A, o.B, o.C)
	case HeapGo:
		return fmt.Sprintf("go %d(r%d)", o.A, o.B)
	case HeapAwait:
		return fmt.Sprintf("await g%d", o.A)
	case HeapTake:
		return fmt.Sprintf("take g%d", o.A)
	case HeapChoose:
		return fmt.Sprintf("r%d = choose 0..%d", o.A, o.B)
	case HeapIfZero:
		return fmt.Sprintf("if r%d == 0 goto %d", o.A, o.B)
	}
	return fmt.Sprintf("assert r%d != %d", o.A, o.B)
}

// String prints the program.
func (p *Heap) String() string {
	var b strings.Builder
	for i, c := range p.Codes {
		fmt.Fprintf(&b, "code %d %s\n", i, c.Name)
		for k, o := range c.Ops {
			fmt.Fprintf(&b, "  %d: %v\n", k, o)
		}
	}
	fmt.Fprintf(&b, "start %v, %d globals, %d fields, %d registers, at most %d children\n", p.Start,
		len(p.Globals), p.Fields, p.Regs, p.MaxChildren)
	return b.String()
}

// heap is a checked program as a system.
type heap struct {
	*Heap
	seed    maphash.Seed
	threads system.Names[threadName]
	objects system.Names[objectName]
	locs    system.Names[locName]
	initial system.State
}

// threadName is the n-th child of a thread, or the n-th thread of the beginning.
type threadName struct{ parent, n int32 }

const noParent = -1

// objectName is the n-th object that a thread has allocated since the last Load,
// or the n-th object of the state that was loaded.
type objectName struct{ creator, n int32 }

const loaded = -1

// locName is a shared location.
type locName struct {
	kind  locKind
	index uint32 // the global, the object or the thread
	field int32
}

type locKind uint8

const (
	globalLoc locKind = iota
	fieldLoc
	existenceLoc
)

// NewHeap checks a program and makes a system of it. The program must not be
// changed afterwards. The error lists everything that is wrong with it.
func NewHeap(p *Heap) (system.System, error) {
	var errs []error
	bad := func(c HeapCode, i int, what string, n, limit int) {
		if n < 0 || n >= limit {
			errs = append(errs, fmt.Errorf("%s:%d: no %s %d", c.Name, i+1, what, n))
		}
	}
	for _, c := range p.Codes {
		for i, o := range c.Ops {
			switch o.Kind {
			case HeapPut, HeapAwait, HeapTake:
				bad(c, i, "global", o.A, len(p.Globals))
			case HeapGo:
				bad(c, i, "code", o.A, len(p.Codes))
			case HeapNew, HeapSet, HeapMove, HeapGet, HeapLoad, HeapStore, HeapChoose, HeapIfZero,
				HeapAssert:
				bad(c, i, "register", o.A, p.Regs)
			default:
				errs = append(errs, fmt.Errorf("%s:%d: no operation %d", c.Name, i+1, o.Kind))
			}
			switch o.Kind {
			case HeapGet:
				bad(c, i, "global", o.B, len(p.Globals))
			case HeapMove, HeapPut, HeapLoad, HeapGo:
				bad(c, i, "register", o.B, p.Regs)
			case HeapStore:
				bad(c, i, "field", o.B, p.Fields)
				bad(c, i, "register", o.C, p.Regs)
			case HeapIfZero:
				bad(c, i, "operation", o.B, len(c.Ops)+1)
			}
			if o.Kind == HeapLoad {
				bad(c, i, "field", o.C, p.Fields)
			}
		}
	}
	for _, k := range p.Start {
		bad(HeapCode{Name: "start"}, 0, "code", k, len(p.Codes))
	}
	if len(p.Start) == 0 {
		errs = append(errs, errors.New("no thread is started"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s := &heap{Heap: p, seed: maphash.MakeSeed()}
	for g := range p.Globals {
		s.locs.Number(locName{kind: globalLoc, index: uint32(g)})
	}
	m := s.newMachine()
	for i, code := range p.Start {
		m.cur.create(s.threads.Number(threadName{noParent, int32(i)}),
			heapThread{name: threadName{noParent, int32(i)}, code: code,
				regs: make([]word, p.Regs)})
	}
	s.initial = m.Encode(nil)
	return s, nil
}

func (s *heap) Initial() []system.State {
	return []system.State{slices.Clone(s.initial)}
}

func (s *heap) NewMachine() system.Machine {
	m := s.newMachine()
	m.Load(s.initial)
	return m
}

func (s *heap) newMachine() *heapMachine {
	m := &heapMachine{heap: s}
	m.cur.globals = make([]word, len(s.Globals))
	m.cur.objects = map[uint32][]word{}
	return m
}

// word is what a register, a global or a field holds. A reference is not a
// number: the object's number is in ref, plus one.
type word struct {
	number int64
	ref    uint32
}

func (w word) zero() bool { return w == word{} }

// heapThread is a thread. The live parts of its name and counters do not change
// when a state is loaded, but for the number of allocations.
type heapThread struct {
	exists    bool
	name      threadName
	code      int
	pc        int // past the code it has ended; the operation that failed is len+1+pc
	unstarted bool
	children  int
	allocated int // since the last Load
	regs      []word
}

// heapState is a live state.
type heapState struct {
	globals []word
	threads []heapThread // by number, with gaps
	objects map[uint32][]word
}

func (s *heapState) create(number uint32, t heapThread) {
	for len(s.threads) <= int(number) {
		s.threads = append(s.threads, heapThread{})
	}
	t.exists = true
	s.threads[number] = t
}

func (s *heapState) clone() heapState {
	c := heapState{globals: slices.Clone(s.globals), threads: slices.Clone(s.threads),
		objects: make(map[uint32][]word, len(s.objects))}
	for i := range c.threads {
		c.threads[i].regs = slices.Clone(c.threads[i].regs)
	}
	for id, fields := range s.objects {
		c.objects[id] = slices.Clone(fields)
	}
	return c
}

// heapMachine is a live state with all that it was before: the undo log keeps
// whole states, which is simple and slow.
type heapMachine struct {
	*heap
	cur      heapState
	past     []heapState
	track    bool
	accesses []system.Access
	buf      system.State
}

// layout is the order in which an encoding has threads and objects.
type layout struct {
	threads  []uint32         // numbers
	position map[uint32]int32 // by number
	objects  []uint32
	at       map[uint32]int32
}

// layOut orders the threads by their names, parents first, and the objects as
// a traversal from the globals and the threads reaches them.
func (m *heapMachine) layOut() *layout {
	l := &layout{position: map[uint32]int32{}, at: map[uint32]int32{}}
	add := func(parent int32) {
		var mine []uint32
		for i, t := range m.cur.threads {
			if t.exists && t.name.parent == parent {
				mine = append(mine, uint32(i))
			}
		}
		slices.SortFunc(mine, func(a, b uint32) int {
			return int(m.cur.threads[a].name.n - m.cur.threads[b].name.n)
		})
		for _, n := range mine {
			l.position[n] = int32(len(l.threads))
			l.threads = append(l.threads, n)
		}
	}
	add(noParent)
	for i := 0; i < len(l.threads); i++ {
		add(int32(l.threads[i]))
	}
	reach := func(ws []word) {
		for _, w := range ws {
			if w.ref == 0 {
				continue
			}
			if _, ok := l.at[w.ref]; !ok {
				l.at[w.ref] = int32(len(l.objects))
				l.objects = append(l.objects, w.ref)
			}
		}
	}
	reach(m.cur.globals)
	for _, n := range l.threads {
		reach(m.cur.threads[n].regs)
	}
	for i := 0; i < len(l.objects); i++ {
		reach(m.cur.objects[l.objects[i]-1])
	}
	return l
}

func (m *heapMachine) Encode(dst system.State) system.State {
	l := m.layOut()
	dst = dst[:0]
	words := func(ws []word) {
		for _, w := range ws {
			if w.ref != 0 {
				dst = append(dst, 1, uint64(l.at[w.ref]))
			} else {
				dst = append(dst, 0, uint64(w.number))
			}
		}
	}
	words(m.cur.globals)
	dst = append(dst, uint64(len(l.threads)))
	for _, n := range l.threads {
		t := &m.cur.threads[n]
		parent := uint64(0)
		if t.name.parent != noParent {
			parent = uint64(l.position[uint32(t.name.parent)] + 1)
		}
		unstarted := uint64(0)
		if t.unstarted {
			unstarted = 1
		}
		dst = append(dst, parent, uint64(t.name.n), uint64(t.code), uint64(t.pc), unstarted,
			uint64(t.children))
		words(t.regs)
	}
	dst = append(dst, uint64(len(l.objects)))
	for _, o := range l.objects {
		words(m.cur.objects[o-1])
	}
	return dst
}

func (m *heapMachine) Load(s system.State) {
	m.past = m.past[:0]
	at := 0
	next := func() int {
		at++
		return int(s[at-1])
	}
	words := func(n int) []word {
		ws := make([]word, n)
		for i := range ws {
			isRef, v := next(), next()
			if isRef == 1 {
				ws[i].ref = m.objects.Number(objectName{loaded, int32(v)}) + 1
			} else {
				ws[i].number = int64(v)
			}
		}
		return ws
	}
	m.cur = heapState{globals: words(len(m.Globals)), objects: map[uint32][]word{}}
	numbers := make([]uint32, next())
	for i := range numbers {
		t := heapThread{name: threadName{noParent, 0}}
		if p := next(); p > 0 {
			t.name.parent = int32(numbers[p-1])
		}
		t.name.n, t.code, t.pc, t.unstarted, t.children = int32(next()), next(), next(),
			next() == 1, next()
		t.regs = words(m.Regs)
		numbers[i] = m.threads.Number(t.name)
		m.cur.create(numbers[i], t)
	}
	for i := range next() {
		m.cur.objects[m.objects.Number(objectName{loaded, int32(i)})] = words(m.Fields)
	}
}

// Renamed implements [system.Renaming].
func (m *heapMachine) Renamed(l system.Loc) (system.Loc, bool) {
	n := m.locs.Name(uint32(l))
	if n.kind != fieldLoc {
		return l, true
	}
	at, ok := m.layOut().at[n.index+1]
	if !ok {
		return 0, false
	}
	n.index = m.objects.Number(objectName{loaded, at})
	return system.Loc(m.locs.Number(n)), true
}

// Hash is that of the encoding, so that equal states have equal ones.
func (m *heapMachine) Hash() uint64 {
	if !m.track {
		return 0
	}
	var h maphash.Hash
	h.SetSeed(m.seed)
	m.buf = m.Encode(m.buf)
	for _, w := range m.buf {
		maphash.WriteComparable(&h, w)
	}
	return h.Sum64()
}

func (m *heapMachine) Track(on bool)             { m.track, m.accesses = on, m.accesses[:0] }
func (m *heapMachine) NumThreads() int           { return len(m.cur.threads) }
func (m *heapMachine) Accesses() []system.Access { return m.accesses }
func (m *heapMachine) Mark() system.Mark         { return system.Mark(len(m.past)) }

func (m *heapMachine) Rewind(mark system.Mark) {
	if int(mark) < len(m.past) {
		m.cur = m.past[mark]
		m.past = m.past[:mark]
	}
}

func (m *heapMachine) touch(n locName, write bool) {
	if !m.track {
		return
	}
	l := system.Loc(m.locs.Number(n))
	for i := range m.accesses {
		if a := &m.accesses[i]; a.Loc == l {
			a.Write = a.Write || write
			return
		}
	}
	m.accesses = append(m.accesses, system.Access{Loc: l, Write: write})
}

// global accesses a global.
func (m *heapMachine) global(i int, write bool) *word {
	m.touch(locName{kind: globalLoc, index: uint32(i)}, write)
	return &m.cur.globals[i]
}

// field accesses a field of an object; it is nil if there is none.
func (m *heapMachine) field(w word, field int, write bool) *word {
	if w.ref == 0 {
		return nil
	}
	m.touch(locName{fieldLoc, w.ref - 1, int32(field)}, write)
	return &m.cur.objects[w.ref-1][field]
}

func (m *heapMachine) Step(t int, alt uint64) system.Outcome {
	m.accesses = m.accesses[:0]
	if !m.cur.threads[t].exists {
		m.touch(locName{kind: existenceLoc, index: uint32(t)}, false)
		return system.Outcome{Kind: system.Blocked, AtEnd: true}
	}
	code := m.Codes[m.cur.threads[t].code]
	pc := m.cur.threads[t].pc
	if pc >= len(code.Ops) {
		return system.Outcome{Kind: system.Ended}
	}
	if m.cur.threads[t].unstarted {
		m.touch(locName{kind: existenceLoc, index: uint32(t)}, false)
	}
	op := code.Ops[pc]
	switch op.Kind {
	case HeapAwait:
		if m.global(op.A, false).zero() {
			return system.Outcome{Kind: system.Blocked}
		}
	case HeapTake:
		if !m.global(op.A, false).zero() {
			return system.Outcome{Kind: system.Blocked}
		}
	}
	m.past = append(m.past, m.cur)
	m.cur = m.cur.clone()
	th := &m.cur.threads[t]
	th.unstarted = false
	th.pc++
	out := system.Outcome{Kind: system.Moved}
	message, kind := "", system.Runtime
	switch op.Kind {
	case HeapNew:
		name := objectName{int32(t), int32(th.allocated)}
		th.allocated++
		id := m.objects.Number(name)
		m.cur.objects[id] = make([]word, m.Fields)
		th.regs[op.A] = word{ref: id + 1}
	case HeapSet:
		th.regs[op.A] = word{number: int64(op.B)}
	case HeapMove:
		th.regs[op.A] = th.regs[op.B]
	case HeapGet:
		th.regs[op.A] = *m.global(op.B, false)
	case HeapPut:
		*m.global(op.A, true) = th.regs[op.B]
	case HeapLoad:
		if f := m.field(th.regs[op.B], op.C, false); f == nil {
			message = "nil reference"
		} else {
			th.regs[op.A] = *f
		}
	case HeapStore:
		if f := m.field(th.regs[op.A], op.B, true); f == nil {
			message = "nil reference"
		} else {
			*f = th.regs[op.C]
		}
	case HeapTake:
		*m.global(op.A, true) = word{number: 1}
	case HeapGo:
		if th.children == m.MaxChildren {
			message = "too many threads"
			break
		}
		name := threadName{int32(t), int32(th.children)}
		th.children++
		regs := make([]word, m.Regs)
		regs[0] = th.regs[op.B]
		number := m.threads.Number(name)
		m.touch(locName{kind: existenceLoc, index: number}, true)
		m.cur.create(number, heapThread{name: name, code: op.A, unstarted: true, regs: regs})
		th = &m.cur.threads[t]
		out.Created = true
	case HeapChoose:
		th.regs[op.A] = word{number: int64(alt)}
		if int(alt) < op.B {
			out.Next = alt + 1
		}
	case HeapIfZero:
		if th.regs[op.A].zero() {
			th.pc = op.B
		}
	case HeapAssert:
		if th.regs[op.A] == (word{number: int64(op.B)}) {
			message, kind = "assertion", system.Assertion
		}
	}
	if message != "" {
		th.pc = len(code.Ops) + 1 + pc
		out.Violation = &system.Violation{Kind: kind, Message: message, Pos: system.Pos{
			File: code.Name, Line: pc + 1}}
	}
	if th.pc >= len(code.Ops) {
		clear(th.regs) // what they refer to may be garbage now
	}
	return out
}

func (m *heapMachine) Next(t int) (system.Pos, string, bool) {
	th := &m.cur.threads[t]
	if !th.exists || th.pc >= len(m.Codes[th.code].Ops) {
		return system.Pos{}, "", false
	}
	c := &m.Codes[th.code]
	return system.Pos{File: c.Name, Line: th.pc + 1}, c.Ops[th.pc].String(), true
}

func (m *heapMachine) Locals(t int) []system.Binding {
	var b []system.Binding
	for i, w := range m.cur.threads[t].regs {
		b = append(b, system.Binding{Name: fmt.Sprintf("r%d", i), Value: m.wordString(w)})
	}
	return b
}

// ThreadName says who created a thread: Main[0].1 is the second child of the
// first thread of the beginning.
func (m *heapMachine) ThreadName(t int) string {
	n := m.threads.Name(uint32(t))
	if n.parent == noParent {
		return fmt.Sprintf("%s[%d]", m.Codes[m.Heap.Start[n.n]].Name, n.n)
	}
	return fmt.Sprintf("%s.%d", m.ThreadName(int(n.parent)), n.n)
}

func (m *heapMachine) objectName(id uint32) string {
	n := m.objects.Name(id)
	if n.creator == loaded {
		return fmt.Sprintf("object %d", n.n)
	}
	return fmt.Sprintf("object %d of %s", n.n, m.ThreadName(int(n.creator)))
}

func (m *heapMachine) LocName(l system.Loc) string {
	switch n := m.locs.Name(uint32(l)); n.kind {
	case globalLoc:
		return m.Globals[n.index]
	case fieldLoc:
		return fmt.Sprintf("%s.%d", m.objectName(n.index), n.field)
	default:
		return "thread " + m.ThreadName(int(n.index))
	}
}

func (m *heapMachine) wordString(w word) string {
	if w.ref != 0 {
		return m.objectName(w.ref - 1)
	}
	return fmt.Sprint(w.number)
}

func (m *heapMachine) ValueString(l system.Loc) string {
	switch n := m.locs.Name(uint32(l)); n.kind {
	case globalLoc:
		return m.wordString(m.cur.globals[n.index])
	case fieldLoc:
		if fields, ok := m.cur.objects[n.index]; ok {
			return m.wordString(fields[n.field])
		}
		return "gone"
	default:
		return fmt.Sprint(int(n.index) < len(m.cur.threads) && m.cur.threads[n.index].exists)
	}
}
