package composed

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"math/bits"
	"sync"

	"cpor/engine/lockset/persistent"
	"cpor/engine/search"
	"cpor/statestore"
	"cpor/system"
)

// ErrDependences refuses a selective search that checks a rule on a system
// that does not show what the rule depends on.
var ErrDependences = errors.New("persistent and sleep sets leave orders of independent " +
	"transitions out: a rule is checked on a system with lockset.Options.Dependences only")

// ErrSingle refuses to choose among single transitions.
var ErrSingle = errors.New("persistent and sleep sets choose among composed transitions, not " +
	"among single ones with invisible transitions first")

// maxAsleep is how many threads a sleep set has room for. Later threads never sleep.
const maxAsleep = 64

// threads is a set of the first maxAsleep threads.
type threads uint64

func (s threads) has(t int) bool { return t < maxAsleep && s>>t&1 != 0 }

func (s *threads) add(t int) {
	if t < maxAsleep {
		*s |= 1 << t
	}
}

// visited is what the search remembers of a covered state.
type visited struct {
	asleep threads // nobody who arrived here has asked for these
	taken  threads // what was asleep at the last expansion
	begun  bool    // it has been expanded, or is being expanded
}

// memory is what all workers of a search remember of the covered states.
type memory struct{ shards [256]shard }

type shard struct {
	sync.Mutex
	states map[statestore.Ref]visited
	_      [48]byte // keeps the locks of neighbours apart
}

func newMemory() *memory {
	m := new(memory)
	for i := range m.shards {
		m.shards[i].states = map[statestore.Ref]visited{}
	}
	return m
}

func (m *memory) shard(ref statestore.Ref) *shard {
	return &m.shards[uint64(ref)*0x9e3779b97f4a7c15>>56]
}

// arrive notes that a state was reached with a sleep set. It reports whether the state must be
// expanded because of that, and whether its expansion has not begun yet.
func (m *memory) arrive(ref statestore.Ref, asleep threads) (expand, fresh bool) {
	s := m.shard(ref)
	s.Lock()
	defer s.Unlock()
	v, known := s.states[ref]
	if !known {
		s.states[ref] = visited{asleep: asleep}
		return true, true
	}
	// It is in the work set if its expansion has not begun, or if a thread was woken since.
	waiting := !v.begun || v.taken&^v.asleep != 0
	v.asleep &= asleep
	s.states[ref] = v
	return !waiting && v.taken&^v.asleep != 0, !v.begun
}

// begin notes that a state is expanded. It returns its sleep set, the threads woken since the
// last expansion, whether this is the first one, and the previous entry for forget.
func (m *memory) begin(ref statestore.Ref, initial bool) (asleep, woken threads, first bool,
	before visited) {
	s := m.shard(ref)
	s.Lock()
	defer s.Unlock()
	v := s.states[ref]
	if initial {
		v.asleep = 0
	}
	before = v
	first = !v.begun
	asleep, woken = v.asleep, v.taken&^v.asleep
	v.begun, v.taken = true, v.asleep
	s.states[ref] = v
	return asleep, woken, first, before
}

// forget undoes begin, because the search ended meanwhile: the state will be expanded again.
// What was explored remains explored, as after an expansion of fewer threads.
func (m *memory) forget(ref statestore.Ref, before visited) {
	s := m.shard(ref)
	s.Lock()
	defer s.Unlock()
	v := s.states[ref]
	v.taken, v.begun = before.taken, before.begun
	s.states[ref] = v
}

// SaveMemory implements [search.Remembering].
func (x *Expander) SaveMemory(w io.Writer) error {
	out := bufio.NewWriter(w)
	put := func(n uint64) { out.Write(binary.LittleEndian.AppendUint64(out.AvailableBuffer(), n)) }
	n := uint64(0)
	if x.choice != nil {
		for i := range x.choice.memory.shards {
			n += uint64(len(x.choice.memory.shards[i].states))
		}
	}
	put(n)
	if x.choice != nil {
		for i := range x.choice.memory.shards {
			for ref, v := range x.choice.memory.shards[i].states {
				begun := uint64(0)
				if v.begun {
					begun = 1
				}
				put(uint64(ref))
				put(uint64(v.asleep))
				put(uint64(v.taken))
				put(begun)
			}
		}
	}
	return out.Flush()
}

// RestoreMemory implements [search.Remembering].
func (x *Expander) RestoreMemory(r io.Reader) error {
	// Nothing after the memory is read.
	var b [4 * 8]byte
	get := func(n int) error {
		_, err := io.ReadFull(r, b[:8*n])
		return err
	}
	word := func(i int) uint64 { return binary.LittleEndian.Uint64(b[8*i:]) }
	if err := get(1); err != nil {
		return err
	}
	n := word(0)
	if n > 0 && x.choice == nil {
		return errors.New("unexpected sleep sets")
	}
	for range n {
		if err := get(4); err != nil {
			return err
		}
		ref := statestore.Ref(word(0))
		x.choice.memory.shard(ref).states[ref] = visited{asleep: threads(word(1)),
			taken: threads(word(2)), begun: word(3) != 0}
	}
	return nil
}

// option is a composed transition from the expanded state.
type option struct {
	thread     int
	alt        uint64
	length     int
	steps      int // where its steps begin
	end        int // where its end begins
	violations int // where its violations begin

	accesses, accessesEnd int // where its accesses begin and end
}

// flaw is a violation on the path of an option.
type flaw struct {
	violation system.Violation
	length    int // of the path that shows it
}

// choice explores some of each state's composed transitions: a persistent set, without those
// that are asleep.
type choice struct {
	memory  *memory
	chooser *persistent.Chooser

	// About the state being expanded:
	options  []option // with one more at the end
	steps    []search.Step
	ends     []uint64
	accesses []system.Access
	flaws    []flaw
	first    []int // by thread: its first option, with one more at the end
	next     []persistent.Thread
	earlier  threads // explored in this expansion
}

// choose prepares the choice.
func (x *Expander) choose(sys system.System, m *memory) error {
	if x.o.InvisibleFirst {
		return ErrSingle
	}
	c := &choice{memory: m}
	if r := sys.Capabilities().Remembering; r != nil && r.Ordered() {
		return ErrDependences
	}
	if x.o.Persistent {
		c.chooser = persistent.NewChooser(sys)
	}
	x.choice = c
	return nil
}

// survey takes every composed transition of the live state and undoes it. first says that the
// state is expanded for the first time. It reports whether the state is a deadlock; whole is
// false if the search should end before all were taken.
func (c *choice) survey(x *Expander, v search.Visitor, first bool) (deadlock, whole bool) {
	m := x.m
	stopper, _ := v.(search.Stopper)
	start := m.Mark()
	c.options, c.steps, c.ends, c.accesses, c.flaws = c.options[:0], c.steps[:0], c.ends[:0],
		c.accesses[:0], c.flaws[:0]
	c.first, c.next = c.first[:0], c.next[:0]
	stuck := false
	for t, n := 0, m.NumThreads(); t < n; t++ {
		c.first = append(c.first, len(c.options))
		at := len(c.accesses)
		for alt := uint64(0); ; {
			out := m.Step(t, alt)
			if out.Kind != system.Moved {
				if out.Kind == system.Blocked {
					stuck = stuck || !out.AtEnd
					c.accesses = merge(c.accesses, len(c.accesses), m.Accesses())
				}
				x.countLoop(out, first)
				break
			}
			c.take(x, t, alt, out, start)
			if out.Next == 0 {
				break
			}
			if stopper != nil && stopper.Stopped() {
				return false, false
			}
			alt = out.Next
		}
		c.next = append(c.next, persistent.Thread{
			Accesses: c.accesses[at:len(c.accesses):len(c.accesses)]})
	}
	c.first = append(c.first, len(c.options))
	c.options = append(c.options, option{steps: len(c.steps), end: len(c.ends),
		violations: len(c.flaws)})
	return stuck && len(c.options) == 1, true
}

// countLoop counts the self-loop of a thread that is blocked or has ended, once
// for each state.
func (x *Expander) countLoop(out system.Outcome, first bool) {
	switch {
	case !first:
	case out.Kind == system.Ended:
		x.counters.EndedLoops++
	default:
		x.counters.Transitions++
		x.counters.Attempts++
	}
}

// take follows a composed transition, whose first transition has been taken,
// and enters it as an option. The machine is back at start then.
func (c *choice) take(x *Expander, t int, alt uint64, out system.Outcome, start system.Mark) {
	m := x.m
	o := option{thread: t, alt: alt, steps: len(c.steps), end: len(c.ends),
		accesses: len(c.accesses), violations: len(c.flaws)}
	x.follow(t, alt, out,
		func(v *system.Violation) { c.flaws = append(c.flaws, flaw{*v, len(x.tail)}) },
		func(a []system.Access) { c.accesses = merge(c.accesses, o.accesses, a) })
	o.length = len(x.tail)
	c.steps = append(c.steps, x.tail...)
	x.end = m.Encode(x.end)
	c.ends = append(c.ends, x.end...)
	x.net(c.accesses[o.accesses:], start)
	o.accessesEnd = len(c.accesses)
	c.options = append(c.options, o)
}

// merge adds accesses to those of a path, which are all[first:], as ordinary ones: several
// transitions together are not a single operation.
func merge(all []system.Access, first int, accesses []system.Access) []system.Access {
next:
	for _, a := range accesses {
		for i := first; i < len(all); i++ {
			if all[i].Loc == a.Loc {
				all[i].Write = all[i].Write || a.Write
				continue next
			}
		}
		all = append(all, system.Access{Loc: a.Loc, Write: a.Write})
	}
	return all
}

// net goes back to start, and keeps only the writes to synchronization objects that made a
// difference: an unchanged object counts as read.
func (x *Expander) net(accesses []system.Access, start system.Mark) {
	m := x.m
	var buf [16]uint64
	values := buf[:0]
	for _, a := range accesses {
		if x.synchronises(a) {
			values = append(values, x.pieces.Value(a.Loc))
		}
	}
	m.Rewind(start)
	for i, a := range accesses {
		if x.synchronises(a) {
			accesses[i].Write = x.pieces.Value(a.Loc) != values[0]
			values = values[1:]
		}
	}
}

// synchronises reports whether an access writes a synchronization object that may be unchanged
// in the end.
func (x *Expander) synchronises(a system.Access) bool {
	if x.pieces == nil || !a.Write || int(a.Loc) >= len(x.class) {
		return false
	}
	class := x.class[a.Loc]
	return class == system.Lock || class == system.LockState
}

// expand explores the live state.
func (c *choice) expand(x *Expander, v search.Visitor, cover search.Coverer) {
	ref, initial := cover.Expanded()
	asleep, woken, first, before := c.memory.begin(ref, initial)
	if !first && woken == 0 {
		return // it was woken for another expansion that has come first
	}
	if stopper, ok := v.(search.Stopper); ok {
		defer func() {
			if stopper.Stopped() {
				c.memory.forget(ref, before)
			}
		}()
	}
	deadlock, whole := c.survey(x, v, first)
	if !whole {
		return
	}
	if deadlock && first {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
	c.earlier = 0
	if !first {
		for t := range c.next {
			if woken.has(t) {
				c.explore(x, v, cover, t, asleep)
			}
		}
		return
	}
	if !x.o.Persistent {
		for t := range c.next {
			if !asleep.has(t) {
				c.explore(x, v, cover, t, asleep)
			}
		}
		return
	}
	c.expandPersistent(x, v, cover, asleep)
}

// expandPersistent explores a persistent set, and all if it leads to nothing new.
func (c *choice) expandPersistent(x *Expander, v search.Visitor, cover search.Coverer,
	asleep threads) {
	for t := range c.next {
		if !asleep.has(t) {
			c.next[t].Weight = c.first[t+1] - c.first[t]
		}
	}
	chosen := c.chooser.Choose(x.m, c.next)
	fresh := false
	for t := range c.next {
		if chosen[t] && !asleep.has(t) && c.explore(x, v, cover, t, asleep) {
			fresh = true
		}
	}
	if fresh {
		return
	}
	// Everything that the set leads to has been expanded before, or sleeps: the others could be
	// postponed forever.
	for t := range c.next {
		if !chosen[t] && !asleep.has(t) {
			c.explore(x, v, cover, t, asleep)
		}
	}
}

// explore sends the composed transitions of a thread, which then sleeps after later transitions.
// It reports whether one of them leads to a state whose expansion has not begun.
func (c *choice) explore(x *Expander, v search.Visitor, cover search.Coverer, t int,
	asleep threads) (fresh bool) {
	for i := c.first[t]; i < c.first[t+1]; i++ {
		o, behind := &c.options[i], &c.options[i+1]
		x.counters.Transitions += uint64(o.length)
		steps := c.steps[o.steps : o.steps+o.length]
		for k := o.violations; k < behind.violations; k++ {
			v.Violation(&c.flaws[k].violation, steps[:c.flaws[k].length])
		}
		sleep := c.sleepBehind(x, i, asleep|c.earlier)
		x.move = search.Move{Thread: o.thread, Alt: o.alt, Len: o.length,
			End: c.ends[o.end:behind.end]}
		cover.Cover(&x.move, func(ref statestore.Ref, _ bool) bool {
			expand, begins := c.memory.arrive(ref, sleep)
			fresh = fresh || begins
			return expand
		})
	}
	if c.first[t] < c.first[t+1] {
		c.earlier.add(t)
	}
	return fresh
}

// sleepBehind returns the sleeping threads that still sleep after an option: those whose
// transitions are all independent of it.
func (c *choice) sleepBehind(x *Expander, i int, asleep threads) threads {
	if !x.o.Sleep {
		return 0
	}
	o := &c.options[i]
	on := asleep
	for rest := asleep; rest != 0; rest &= rest - 1 {
		t := bits.TrailingZeros64(uint64(rest))
		if t == o.thread || conflict(c.next[t].Accesses, c.accesses[o.accesses:o.accessesEnd]) {
			on &^= 1 << t
		}
	}
	return on
}

// conflict reports whether two transitions access a common location and one writes.
func conflict(a, b []system.Access) bool {
	for _, x := range a {
		for _, y := range b {
			if x.Loc == y.Loc && (x.Write || y.Write) {
				return true
			}
		}
	}
	return false
}
