// Package machine executes compiled models: [System] implements
// [system.System], and [Machine], the interpreter that package compile
// specifies, implements [system.Machine].
//
// A state is packed bits: the live state is the same sequence of words as the encoded one
// (except for the position of ring buffers), so loading a state is a copy, and a transition
// changes a few words in place. Each write goes through one function that keeps the undo log
// and, while tracking is on, the hash. Nothing is allocated per transition.
//
// The interpreter is a loop over register instructions; docs/design/full-search.md lists
// alternatives that were tried.
package machine

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cpor/frontend/code"
	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
	"cpor/system"
)

// MaxWords is the largest size of a state in 64-bit words.
const MaxWords = 1 << 17

// location is where a shared location is in the state.
type location struct {
	word     uint32
	shift    uint8
	up, down uint8 // shifts that bring the value to the top and down again
	signed   bool
	mask     uint64 // in place
}

func (l *location) load(words []uint64) int64 {
	v := words[l.word] << (l.up & 63)
	if l.signed {
		return int64(v) >> (l.down & 63)
	}
	return int64(v >> (l.down & 63))
}

func (l *location) get(words []uint64) uint64 { return words[l.word] & l.mask >> 0 >> l.shift }

func (l *location) put(words []uint64, v uint64) {
	words[l.word] = words[l.word]&^l.mask | v<<l.shift&l.mask
}

// ring is a buffered channel of more than one slot.
type ring struct {
	head, tail location
	slots      [][]location // by slot: the mark and the value's leaves
	turn       []piece      // gives each slot what the next one has
}

// piece moves bits of a word to another one, or the same, higher up if by is positive.
type piece struct {
	from, to uint32
	by       int8
	mask     uint64 // where they come to
}

// plan plans how a ring turns: most fields of a word move by the same number of bits.
func (r *ring) plan() {
	n := len(r.slots)
	for k := range r.slots {
		for i, to := range r.slots[k] {
			from := r.slots[(k+1)%n][i]
			p := piece{from: from.word, to: to.word, by: int8(to.shift) - int8(from.shift)}
			at := slices.IndexFunc(r.turn, func(q piece) bool {
				return q.from == p.from && q.to == p.to && q.by == p.by
			})
			if at < 0 {
				at, r.turn = len(r.turn), append(r.turn, p)
			}
			r.turn[at].mask |= to.mask
		}
	}
}

// rotate moves the oldest value to slot 0. Mostly it is in slot 1.
func (r *ring) rotate(words []uint64, head int, buf *[]uint64) {
	for range head {
		b := (*buf)[:0]
		for _, p := range r.turn {
			b = append(b, words[p.from]<<max(0, p.by)>>max(0, -p.by)&p.mask)
		}
		for i, p := range r.turn {
			words[p.to] = words[p.to]&^p.mask | b[i]
		}
		*buf = b
	}
	n, tail := len(r.slots), int(r.tail.get(words))
	r.tail.put(words, uint64((tail-head+n)%n))
	r.head.put(words, 0)
}

// System is a compiled model as a system. It implements system.System.
type System struct {
	p          *compile.Program
	initial    []system.State
	chosen     []uint64 // the choices of init that lead to each of them
	locs       []location
	rings      []ring
	ringOf     []int32 // by location: its ring, from 1; nil if there are no rings
	dynamic    bool
	count      int // the word with the number of threads, if dynamic
	base       int // the first word of the slots
	perWord    int // slots in a word; 0 if a slot takes whole words
	slotWords  int
	slots      []slotPlace // by thread
	threads    int         // their number, if not dynamic
	maxThreads int
	pcShift    uint
	pcMask     uint64
	typeIndex  map[*compile.ThreadType]int
	temporal   *temporal
	types      []*compile.ThreadType // by thread, if TypeBits is 0
	observers  int
	locks      []system.Loc // who owns a mutex or a monitor
	monitors   []system.Loc // those of monitors
	peeks      []int        // by Peek, if not dynamic: the thread, -1 if there is none
	code       code.Later
	// codeAccesses records accesses.
	codeAccesses code.Later

	// Counters counts what was executed, see compile.Cover.
	system.Counters
	coverOnce sync.Once
	targets   map[int32]int // where jumps go, by counter

	noteOnce sync.Once
	noted    []compile.Instr // see notedCode
}

// InitError is a failure of init: it blocks, violates a property, or starts no
// thread.
type InitError struct {
	Pos     system.Pos
	Message string
}

// Error returns the message with its place.
func (e *InitError) Error() string {
	if e.Pos.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.Pos.File, e.Pos.Line, e.Pos.Col, e.Message)
}

// New lays out the state of a compiled model and executes its init. The error is an *InitError,
// also for a property that names a thread that never exists, or says that the state is too
// large.
func New(p *compile.Program) (*System, error) {
	// How wide a thread number is depends on how many threads init creates,
	// so init runs twice.
	if n := len(p.Properties); n >= compile.MaxThreads {
		return nil, fmt.Errorf("%s: %d invariants: at most %d are possible, and fewer beside "+
			"threads, because each counts as a thread; join some of them with &&", p.Source.Name, n,
			compile.MaxThreads-1)
	}
	s := &System{p: p}
	if err := s.layout(compile.MaxThreads, true); err != nil {
		return nil, err
	}
	if err := s.runInit(); err != nil {
		return nil, err
	}
	n := 0
	for _, st := range s.initial {
		n = max(n, s.threadsIn(st))
	}
	final := &System{p: p}
	if p.Dynamic || p.InitChoose {
		n = compile.MaxThreads
	}
	if err := final.layout(n, p.Dynamic || p.InitChoose); err != nil {
		return nil, err
	}
	if err := final.runInit(); err != nil {
		return nil, err
	}
	if err := final.findPeeks(); err != nil {
		return nil, err
	}
	final.findLocks()
	final.temporal = newTemporal(final)
	return final, nil
}

// layout decides where everything is, for at most n threads.
func (s *System) layout(n int, dynamic bool) error {
	p := s.p
	s.dynamic = dynamic
	s.maxThreads = n
	s.threads = n
	s.observers = len(p.Properties)
	s.pcShift = uint(p.PCShift())
	s.pcMask = maskOf(p.PCBits)
	threadBits := compile.ThreadBits
	if !dynamic {
		threadBits = max(1, bits.Len(uint(n)))
	}
	at := 0
	s.locs = make([]location, len(p.Locs))
	for i := range p.Locs {
		l := &p.Locs[i]
		w := l.Bits
		switch {
		case l.Mutex || l.Role == compile.MonitorOwner || l.Role == compile.RWWriter:
			w = threadBits
		case l.Role == compile.MonitorWaiters || l.Role == compile.CondWaiters:
			w = max(1, min(n, maxWaiters))
		case l.Role == compile.ChanSlot && w == 0:
			w = 2 + compile.ThreadBits + 8
		}
		s.locs[i] = place(&at, w, l.Signed)
	}
	words := (at + 63) / 64
	if dynamic {
		s.count = words
		words++
	}
	s.base = words
	s.slotWords = (p.SlotBits + 63) / 64
	if p.SlotBits <= 32 {
		s.perWord = 64 / p.SlotBits
	}
	if total := s.length(n); !dynamic && total > MaxWords || s.base > MaxWords {
		return fmt.Errorf("%s: the state is too large: %d bytes, the limit is %d; make arrays "+
			"smaller or use smaller integer types", p.Source.Name, 8*max(total, s.base), 8*MaxWords)
	}
	s.placeSlots(n)
	s.typeIndex = map[*compile.ThreadType]int{}
	for i, tt := range p.Threads {
		s.typeIndex[tt] = i
	}
	s.findRings()
	return nil
}

// findRings finds the channels that are stored as rings, and which locations belong to them.
func (s *System) findRings() {
	p := s.p
	s.rings = s.rings[:0]
	for i := range p.Chans {
		c := &p.Chans[i]
		if c.Cap < 2 || c.Bag {
			continue
		}
		r := ring{head: s.locs[c.First], tail: s.locs[c.First+1]}
		for k := range c.Cap {
			l := slotLoc(c, k)
			r.slots = append(r.slots, s.locs[l:l+1+c.Leaves])
		}
		r.plan()
		s.rings = append(s.rings, r)
		if s.ringOf == nil {
			s.ringOf = make([]int32, len(s.locs))
		}
		s.ringOf[c.First], s.ringOf[c.First+1] = int32(len(s.rings)), int32(len(s.rings))
		for k := range c.Cap {
			for i := range 1 + c.Leaves {
				s.ringOf[slotLoc(c, k)+i] = int32(len(s.rings))
			}
		}
	}
}

// place takes the next width bits that do not cross a word.
func place(at *int, width int, signed bool) location {
	if *at%64+width > 64 {
		*at = (*at/64 + 1) * 64
	}
	l := location{word: uint32(*at / 64), shift: uint8(*at % 64), signed: signed}
	l.up, l.down = uint8(64-width-*at%64), uint8(64-width)
	l.mask = maskOf(width) << l.shift
	*at += width
	return l
}

// slotPlace is where a thread's slot begins.
type slotPlace struct {
	word  int32
	shift uint32
}

// slot returns the first word of a thread's slot and its shift there.
func (s *System) slot(t int) (word int, shift uint) {
	p := &s.slots[t]
	return int(p.word), uint(p.shift & 63)
}

// placeSlots computes the places of n slots once, because a division for each step of a thread
// would be noticeable.
func (s *System) placeSlots(n int) {
	s.slots = make([]slotPlace, n)
	for t := range s.slots {
		if s.perWord > 0 {
			s.slots[t] = slotPlace{int32(s.base + t/s.perWord),
				uint32(t % s.perWord * s.p.SlotBits)}
		} else {
			s.slots[t] = slotPlace{int32(s.base + t*s.slotWords), 0}
		}
	}
}

// length returns the number of words of a state of n threads.
func (s *System) length(n int) int {
	if s.perWord > 0 {
		return s.base + (n+s.perWord-1)/s.perWord
	}
	return s.base + n*s.slotWords
}

func (s *System) threadsIn(words []uint64) int {
	if s.dynamic {
		return int(words[s.count])
	}
	return s.threads
}

// maxInitRuns bounds how often init is executed, because many of its outcomes may be the same
// state.
const maxInitRuns = 1 << 18

// maxInitPasses bounds the iterations of loops in all of them together, to some seconds.
const maxInitPasses = 16 * Budget

// runInit computes the initial states: one for each outcome of init's choices.
func (s *System) runInit() error {
	s.initial, s.chosen = nil, nil
	m := newMachine(s, s.StartCounting(s.p.Cover.Counters))
	known := map[string]bool{}
	var key []byte
	runs, passes := 0, 0
	for alt, more := uint64(0), true; more; {
		if runs++; runs > maxInitRuns {
			return fmt.Errorf("%s: init has more than %d combinations of choices; make them in a "+
				"thread", s.p.Source.Name, maxInitRuns)
		}
		tried := alt
		st := s.initialise(m, alt)
		if passes += Budget - m.budget + m.childPasses; passes > maxInitPasses {
			return fmt.Errorf("%s: init has more than %d loop iterations over all combinations "+
				"of its choices; make them in a thread", s.p.Source.Name, maxInitPasses)
		}
		alt = m.choices.Next()
		more = alt != 0
		switch st {
		case dropped:
			continue
		case blocked, stay:
			return &InitError{s.pos(s.p.Resolved.Init.Pos()),
				"init blocks: it runs before the threads, so nothing can ever unblock it"}
		case failed:
			return &InitError{m.viol.Pos, "init fails: " + m.viol.Message}
		}
		for l := range s.p.Locs {
			if info := &s.p.Locs[l]; (info.Mutex || info.Role == compile.MonitorOwner ||
				info.Role == compile.RWWriter || info.Role == compile.RWReaders) && m.read(l) != 0 {
				return &InitError{s.pos(s.p.Resolved.Init.Pos()), "init ends while it holds " +
					info.Name + ": no thread could ever unlock it"}
			}
		}
		if m.n == s.observers {
			return &InitError{Message: s.p.Source.Name + ": init starts no thread: there is " +
				"nothing to explore; start one with go"}
		}
		m.commit(s.p.Cover.Init)
		if !s.dynamic {
			s.threads, s.types = m.n, m.types
		}
		enc := m.Encode(nil)
		key = key[:0]
		for _, w := range enc {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		if !known[string(key)] {
			known[string(key)] = true
			s.initial = append(s.initial, enc)
			s.chosen = append(s.chosen, tried)
		}
		if len(s.initial) > MaxInitial {
			return fmt.Errorf("%s: init has more than %d outcomes; make the choice in a thread",
				s.p.Source.Name, MaxInitial)
		}
	}
	if len(s.initial) == 0 {
		return &InitError{s.pos(s.p.Resolved.Init.Pos()),
			"no outcome of init satisfies the assumptions: there is nothing to explore"}
	}
	return nil
}

// initialise executes init with one outcome of its choices on the live state.
func (s *System) initialise(m *Machine, alt uint64) status {
	m.words = make([]uint64, s.base, s.base+64)
	m.types = nil
	m.n = 0
	m.log = m.log[:0]
	// While init runs, no thread does, so it can lock as thread 0.
	m.thread, m.budget, m.sample, m.alt, m.viol = 0, Budget, sampled, alt, nil
	m.childPasses = 0
	m.choices = m.choices[:0]
	for _, in := range s.p.Inits {
		m.write(in.Loc, in.Value)
	}
	for i := range s.observers {
		s.start(m, s.p.Threads[i], i)
	}
	m.path.begin(s.p.Init)
	if s.p.Init < 0 {
		return reached
	}
	m.scratch, m.scratchOf = make([]uint64, (s.p.InitBits+63)/64+1), s.p.InitThread
	st, _ := m.run(s.p.Init, m.regs, s.p.InitThread, 0, 0)
	m.scratch = nil
	return st
}

// MaxInitial is the largest number of initial states.
const MaxInitial = 1 << 16

// start creates an observer.
func (s *System) start(m *Machine, tt *compile.ThreadType, t int) {
	m.n++
	m.types = append(m.types, tt)
	m.grow(m.n)
	if s.dynamic {
		m.set(s.count, uint64(m.n))
	}
	w, sh := s.slot(t)
	if s.p.TypeBits > 0 {
		m.set(w, m.words[w]|uint64(s.typeIndex[tt])<<(uint(s.p.WaitBits)+sh))
	}
	_, to := m.run(tt.Entry, m.child, tt, w, sh)
	m.exit(&tt.Start, int32(to), m.child, w, sh)
}

// Initial implements system.System.
func (s *System) Initial() []system.State { return s.initial }

// NewMachine implements system.System.
func (s *System) NewMachine() system.Machine {
	m := newMachine(s, s.CountMachine())
	m.Load(s.initial[0])
	return m
}

// notedCode returns the code with an OpNote in place of the instruction at each note, so that only
// machines that tell what they do look for witnesses.
func (s *System) notedCode() []compile.Instr {
	s.noteOnce.Do(func() {
		s.noted = s.p.Code
		if len(s.p.Notes) > 0 {
			s.noted = slices.Clone(s.p.Code)
		}
		for i, n := range s.p.Notes {
			if n.At < len(s.noted) { // a model that is too large ends early
				s.noted[n.At] = compile.Instr{Op: compile.OpNote, T: int32(i), Site: -1}
			}
		}
	})
	return s.noted
}

// Observer implements system.Observing.
func (s *System) Observer(t int) bool { return t < s.observers }

func (s *System) pos(p source.Pos) system.Pos {
	name, line, col := s.p.Source.Place(p)
	return system.Pos{File: name, Line: line, Col: col}
}

// threadType returns the type of a thread.
func (s *System) threadType(m *Machine, t int) *compile.ThreadType {
	if s.p.TypeBits > 0 {
		w, sh := s.slot(t)
		return s.p.Threads[m.words[w]>>(uint(s.p.WaitBits)+sh)&maskOf(s.p.TypeBits)]
	}
	if s.dynamic {
		return s.p.Threads[0] // there is only one
	}
	return s.types[t]
}

// holder names a thread in a message. In [Machine.StepOn] the others do not exist.
func (m *Machine) holder(t int) string {
	if m.ask != nil {
		return "another thread"
	}
	return m.ThreadName(t)
}

// ThreadName implements system.Machine.
func (m *Machine) ThreadName(t int) string {
	s := m.sys
	if s.Observer(t) {
		return "invariant " + s.p.Threads[t].Name
	}
	tt := s.threadType(m, t)
	k := 0
	for i := range t {
		if s.threadType(m, i) == tt {
			k++
		}
	}
	return tt.Name + "[" + strconv.Itoa(k) + "]"
}

// LocName implements system.Machine.
func (m *Machine) LocName(l system.Loc) string { return m.sys.locName(l) }

func (s *System) locName(l system.Loc) string {
	i := int(l)
	if i < len(s.p.Locs) {
		return s.p.Locs[i].Name
	}
	i -= len(s.p.Locs)
	if i == 0 {
		return "the number of threads"
	}
	t, k := (i-1)/s.p.PerThread, (i-1)%s.p.PerThread
	name := fmt.Sprintf("thread %d", t)
	if s.p.TypeBits == 0 && t < len(s.types) {
		name = s.NewMachine().ThreadName(t)
		if k >= 2 && !s.isPlace(int(l)) {
			name += dotted(s.types[t].Watched[k-2].Name)
		}
	}
	switch {
	case k == 0:
		return "existence of " + name
	case k == 1:
		return "waiting of " + name
	case s.isPlace(int(l)):
		return "" // of no interest to people
	}
	return name
}

func dotted(watch string) string {
	if strings.HasPrefix(watch, "@") {
		return watch
	}
	return "." + watch
}

// Next implements system.Machine.
func (m *Machine) Next(t int) (system.Pos, string, bool) {
	pc := m.pc(t)
	if pc == 0 || pc > len(m.p.Points) || m.p.Points[pc-1].Ended {
		return system.Pos{}, "", false
	}
	pt := &m.p.Points[pc-1]
	return m.sys.pos(pt.Pos), pt.Text, true
}

// Locals implements system.Machine.
func (m *Machine) Locals(t int) []system.Binding {
	pc := m.pc(t)
	if pc == 0 || pc > len(m.p.Points) {
		return nil
	}
	w, sh := m.sys.slot(t)
	var bs []system.Binding
	for _, v := range m.p.Points[pc-1].Alive() {
		if v.Name == "" {
			continue
		}
		value := ""
		if v.N > 0 {
			types := compile.Leaves(v.Type)
			parts := make([]string, v.N)
			for i := range v.N {
				parts[i] = m.format(types[i],
					fieldValue(m.words[w:], m.p.Points[pc-1].Thread.Fields[v.Base+i], sh))
			}
			value = "[" + strings.Join(parts, " ") + "]"
		} else {
			value = m.format(v.Type, fieldValue(m.words[w:], v.Field, sh))
		}
		bs = append(bs, system.Binding{Name: v.Name, Value: value})
	}
	return bs
}

// format prints a scalar of a type.
func (m *Machine) format(t *resolve.Type, v int64) string {
	if name, ok := t.Names[v]; ok {
		return name
	}
	switch t.Kind {
	case resolve.Bool:
		return strconv.FormatBool(v != 0)
	case resolve.Pointer:
		if v == 0 {
			return "nil"
		}
		// A pointer to a struct is a pointer to its first location.
		return "&" + strings.TrimSuffix(m.sys.locName(system.Loc(v-1)), compile.FirstLeaf(t.Elem))
	case resolve.Chan:
		if v == 0 {
			return "nil"
		}
		return m.p.Chans[v-1].Name
	case resolve.Int:
		if !t.Signed {
			return strconv.FormatUint(uint64(v), 10)
		}
	}
	return strconv.FormatInt(v, 10)
}

// ValueString implements system.Machine.
func (m *Machine) ValueString(l system.Loc) string {
	if int(l) >= len(m.p.Locs) {
		return m.ofThread(l)
	}
	info := &m.p.Locs[l]
	v := m.sys.locs[l].load(m.words)
	switch {
	case info.Mutex:
		if v == 0 {
			return "free"
		}
		return m.ThreadName(int(v - 1))
	case info.Role == compile.Plain || info.Role == compile.ChanValue:
		return m.format(info.Type, v)
	case info.Role == compile.ChanSlot && info.Bits == 0:
		state, who, _ := unmark(v)
		if state == free {
			return "nobody"
		}
		return m.ThreadName(who) + []string{"", " sends", " receives", " received"}[state]
	case info.Role == compile.MonitorOwner || info.Role == compile.RWWriter:
		if v == 0 {
			return "free"
		}
		return m.ThreadName(int(v - 1))
	case info.Role == compile.MonitorWaiters || info.Role == compile.CondWaiters:
		var who []string
		for t := range maxWaiters {
			if uint64(v)>>t&1 != 0 {
				who = append(who, m.ThreadName(t))
			}
		}
		return "{" + strings.Join(who, " ") + "}"
	case info.Role == compile.ChanSlot:
		return []string{"empty", "filled"}[v]
	case info.Role == compile.ChanClosed:
		return strconv.FormatBool(v != 0)
	}
	return strconv.FormatInt(v, 10)
}

// ofThread is ValueString for what is stored with a thread.
func (m *Machine) ofThread(l system.Loc) string {
	v := m.Value(l)
	t, k, ok := m.perThread(l)
	if !ok || k == 1 || t >= m.n {
		return strconv.FormatUint(v, 10)
	}
	if k > 1 {
		if w := &m.sys.threadType(m, t).Watched[k-2]; w.Var != nil {
			return m.format(w.Type, int64(v))
		}
	}
	return strconv.FormatBool(v != 0)
}
