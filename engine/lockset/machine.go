package lockset

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cpor/system"
)

// Machine is a machine of a [System].
type Machine struct {
	sys   *System
	inner system.Machine
	// What inner can tell; all but locks may be nil.
	locks     system.Locking
	futures   system.Futures
	shaped    system.Shaped
	narrating system.Narrating
	updating  system.Updating

	updated system.Access // what the last step of inner says of itself

	cache *cache
	words []uint64 // the state of the lockset algorithm, two locations in each
	log   []undo
	hash  uint64
	track bool
	held  []system.Loc
	acc   []system.Access // what Accesses returns, if copied
	own   []system.Access // what the step accessed by itself, if copied
	copy  bool

	narrate bool // see story.go

	// record, if not nil, is called for each access to data that the rule
	// looks at, in the state before it.
	record func(a access, guard bool)
	// findings are the violations of the rule by the last step.
	findings []finding
	hb       *ordering // with HB
	guards   []guard   // see dependences
}

type undo struct {
	word int32
	old  uint64
}

// finding is what broke a rule.
type finding struct {
	access
	problem problem
	guard   bool // a blocked transition's guard
	how     how  // with HB
}

func (s *System) newMachine() *Machine {
	m := &Machine{sys: s, inner: s.inner.NewMachine(), cache: newCache(s.table)}
	can := m.inner.Capabilities()
	m.locks, m.futures, m.shaped, m.narrating = can.Locking, can.Futures, can.Shaped, can.Narrating
	m.updating = can.Updating
	m.inner.Track(s.rule != None)
	if s.rule == HB {
		m.hb = &ordering{orders: orders{s.histories, map[memoKey]order{}},
			shifts: map[system.Loc][]int{}}
		m.hb.syncs = can.Synchronising
		m.hb.syncs.RecordSyncs(true)
	}
	return m
}

// Load implements system.Machine.
func (m *Machine) Load(s system.State) {
	n := len(s) - m.sys.words
	m.inner.Load(s[:n])
	m.words = append(m.words[:0], s[n:]...)
	m.log = m.log[:0]
	m.hash = 0
	m.copy = false
}

// Encode implements system.Machine.
func (m *Machine) Encode(dst system.State) system.State {
	return append(m.inner.Encode(dst), m.words...)
}

// Hash implements system.Machine.
func (m *Machine) Hash() uint64 { return m.inner.Hash() ^ m.hash }

// Track implements system.Machine.
func (m *Machine) Track(on bool) {
	m.track = on
	m.inner.Track(on || m.sys.rule != None)
}

// NumThreads implements system.Machine.
func (m *Machine) NumThreads() int { return m.inner.NumThreads() }

// Accesses implements system.Machine.
func (m *Machine) Accesses() []system.Access {
	switch {
	case !m.track:
		return nil
	case m.copy:
		return m.acc
	case m.sys.rule == None:
		return m.inner.Accesses()
	}
	m.acc = append(m.acc[:0], m.inner.Accesses()...)
	m.plain()
	return m.acc
}

// plain makes those of m.acc ordinary accesses that do not commute in what the rule remembers. With
// LD' that is the same in every order, except where it asks who came first.
func (m *Machine) plain() {
	for i := range m.acc {
		if a := &m.acc[i]; !m.anyOrder(a.Loc) {
			a.Op, a.Room = 0, 0
		}
	}
}

// anyOrder reports whether the rule remembers the same of accesses to a location in every order.
func (m *Machine) anyOrder(l system.Loc) bool {
	return m.sys.rule == LDPrime && m.sys.dependences && !m.inSequence(l)
}

// Updated implements [system.Updating]. A guard that reads the location reads it between two such
// operations as well.
func (m *Machine) Updated() (system.Access, bool) {
	a := m.updated
	ok := a.Op != 0 && (m.sys.rule == None || m.anyOrder(a.Loc)) &&
		!slices.ContainsFunc(m.guards, func(g guard) bool {
			return has(g.before, a.Loc) || has(g.after, a.Loc)
		})
	return a, ok
}

// A mark is the inner machine's mark and the length of the own log.
const markBits = 31

// Mark implements system.Machine.
func (m *Machine) Mark() system.Mark {
	return m.inner.Mark()<<markBits | system.Mark(len(m.log))
}

// Rewind implements system.Machine.
func (m *Machine) Rewind(mark system.Mark) {
	m.inner.Rewind(mark >> markBits)
	own := int(mark & (1<<markBits - 1))
	for i := len(m.log) - 1; i >= own; i-- {
		m.put(m.log[i].word, m.log[i].old)
	}
	m.log = m.log[:own]
}

func (m *Machine) put(w int32, v uint64) {
	old := m.words[w]
	m.hash ^= mix(w, old) ^ mix(w, v)
	m.words[w] = v
}

func mix(w int32, v uint64) uint64 {
	hi, lo := bits.Mul64(v^uint64(w+1)*0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53)
	return hi ^ lo
}

func (m *Machine) get(slot int32) word { return word(m.words[slot/2] >> (32 * (slot & 1))) }

func (m *Machine) set(slot int32, w word) {
	i, sh := slot/2, 32*(slot&1)
	old := m.words[i]
	m.log = append(m.log, undo{i, old})
	m.put(i, old&^(uint64(1<<32-1)<<sh)|uint64(w)<<sh)
}

// Step implements system.Machine. A step that breaks the rule reports so, and
// its thread continues. Should it violate a property of the system as well, the
// rule goes first, because a reduction that rests on the rule may have no other
// step that shows that it is broken.
func (m *Machine) Step(t int, alt uint64) system.Outcome {
	m.copy = false
	mark := m.inner.Mark()
	augment := m.sys.dependences && m.sys.rule != HB && !m.sys.obs.Has(t)
	threads := m.inner.NumThreads()
	if augment && m.sys.guards {
		m.readGuards(true)
	}
	out := m.inner.Step(t, alt)
	m.updated = system.Access{}
	if m.updating != nil {
		m.updated, _ = m.updating.Updated()
	}
	if out.Kind != system.Moved || m.sys.rule == None || m.sys.obs.Has(t) {
		return out
	}
	m.findings = m.findings[:0]
	if m.sys.rule == HB {
		m.inOrder(t)
	} else {
		m.held = m.heldLocks(t, m.held)
		m.touch(t, m.inner.Accesses(), false)
		if m.sys.guards || augment {
			m.keepAccesses()
			m.pending()
		}
		if augment {
			m.dependences(t, threads)
		}
	}
	if len(m.findings) > 0 {
		out.Violation = m.violations(t, alt, mark, out.Violation)
	}
	m.again(mark, t, alt)
	return out
}

// heldLocks returns the locks that thread t held during the last step, which it
// took. A step is indivisible, so that no other thread can have held a lock at
// its beginning that it takes itself: a lock that it takes or releases counts
// for all of it.
func (m *Machine) heldLocks(t int, dst []system.Loc) []system.Loc {
	dst = m.locks.Held(t, dst)
	for _, a := range m.inner.Accesses() {
		if a.Write && m.class(a.Loc).Owned() {
			if i, ok := slices.BinarySearch(dst, a.Loc); !ok {
				dst = slices.Insert(dst, i, a.Loc)
			}
		}
	}
	return dst
}

func (m *Machine) heldIn(t int) Set {
	m.held = m.heldLocks(t, m.held)
	return m.cache.of(m.held)
}

func (m *Machine) class(l system.Loc) system.Class {
	if int(l) < len(m.sys.class) {
		return m.sys.class[l]
	}
	return system.Communication
}

func (m *Machine) keepAccesses() {
	m.acc = append(m.acc[:0], m.inner.Accesses()...)
	m.plain()
	m.own = append(m.own[:0], m.acc...)
	m.copy = true
}

// OwnAccesses implements [system.Adding].
func (m *Machine) OwnAccesses() []system.Access {
	if m.track && m.copy {
		return m.own
	}
	return m.Accesses()
}

// touch takes accesses of thread t, which holds the locks m.held, into account.
func (m *Machine) touch(t int, accesses []system.Access, guard bool) {
	held := m.cache.of(m.held)
	for _, x := range accesses {
		if int(x.Loc) >= len(m.sys.slot) || m.sys.slot[x.Loc] == untracked {
			continue
		}
		slot := m.sys.slot[x.Loc]
		a := access{t, x.Loc, x.Write, held}
		if slot == inMerged {
			m.merge(a)
			continue
		}
		if m.record != nil {
			m.record(a, guard)
		}
		was := m.get(slot)
		now, problem := m.cache.next(m.sys.rule, m.sys.class[x.Loc], m.sys.init[slot], was, a)
		if now != was {
			m.set(slot, now)
		}
		if problem != fine {
			m.findings = append(m.findings, finding{access: a, problem: problem, guard: guard})
		}
	}
}

// merge adds an access to the history of all executions. What the rule makes of
// a set of accesses does not depend on their order, so neither does this on how
// the workers take turns.
func (m *Machine) merge(a access) {
	h := &m.sys.merged[a.loc]
	for {
		was := h.Load()
		now, problem := m.cache.next(m.sys.rule, m.sys.class[a.loc], noInitThread, word(was), a)
		if word(was) == now {
			return
		}
		if h.CompareAndSwap(was, uint32(now)) {
			if problem != fine && m.sys.suspect != nil {
				m.sys.suspect(a.loc)
			}
			return
		}
	}
}

// pending takes the guards of the blocked transitions into account.
func (m *Machine) pending() {
	if !m.sys.guards || m.sys.rule != LD && m.sys.rule != LDPrime {
		return
	}
	for u, n := 0, m.inner.NumThreads(); u < n; u++ {
		if m.locks.Blocking(u) != system.BlocksOnGuard || m.sys.obs.Has(u) {
			continue
		}
		mark := m.inner.Mark()
		if m.inner.Step(u, 0).Kind == system.Blocked {
			m.held = m.locks.Held(u, m.held)
			m.touch(u, m.inner.Accesses(), true)
		}
		m.inner.Rewind(mark)
	}
}

// violations describes m.findings, which step (t, alt) from mark on made, and
// puts before what else the step violated.
func (m *Machine) violations(t int, alt uint64, mark system.Mark,
	also *system.Violation) *system.Violation {
	if !m.copy {
		m.keepAccesses()
	}
	m.inner.Rewind(mark)
	pos, _, _ := m.inner.Next(t)
	m.inner.Step(t, alt)
	var first *system.Violation
	last := &first
	for i := range m.findings {
		f := &m.findings[i]
		v := &system.Violation{Kind: Discipline, Pos: pos, Message: m.describe(f),
			Object: variable(m.inner.LocName(f.loc))}
		if f.problem == unordered {
			v.Kind = Race
		}
		if f.guard {
			v.Pos, _, _ = m.inner.Next(f.thread)
		}
		if first.Find(v) == nil {
			*last = v
			last = &v.Also
		}
	}
	*last = also
	return first
}

// variable returns the name of the variable to which a location belongs, without
// the numbers of elements: distinct variables are distinct findings, distinct
// elements that one statement accesses are not.
func variable(loc string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(loc, '[')
		j := strings.IndexByte(loc, ']')
		if i < 0 || j < i {
			b.WriteString(loc)
			return b.String()
		}
		b.WriteString(loc[:i] + "[]")
		loc = loc[j+1:]
	}
}

// anyOther is the other side of a race whose trace is not known.
const anyOther = "an access of another thread"

// describe says what is wrong, as far as one access shows it.
func (m *Machine) describe(f *finding) string {
	s := m.sys
	name, who := m.inner.LocName(f.loc), m.inner.ThreadName(f.thread)
	verb := "is read by"
	switch {
	case f.guard:
		verb = "is read in the guard of"
	case f.write:
		verb = "is written by"
	}
	what := fmt.Sprintf("%s %s %s, %s", name, verb, who, m.lockNames(f.held))
	switch f.problem {
	case notUnshared:
		return what + ", although it is declared unshared and another thread has used it"
	case wrongInit:
		return what + fmt.Sprintf(", before %s, which should initialize it",
			m.inner.ThreadName(s.init[s.slot[f.loc]]))
	case unordered:
		return what + ", and nothing orders that with " + anyOther
	}
	return what + ": no lock protects it"
}

func place(p system.Pos) string {
	if p.Line == 0 {
		return "its end"
	}
	return fmt.Sprintf("%d:%d", p.Line, p.Col)
}

// ThreadName implements system.Machine.
func (m *Machine) ThreadName(t int) string { return m.inner.ThreadName(t) }

// LocName implements system.Machine.
func (m *Machine) LocName(l system.Loc) string { return m.inner.LocName(l) }

// Next implements system.Machine.
func (m *Machine) Next(t int) (system.Pos, string, bool) { return m.inner.Next(t) }

// Locals implements system.Machine.
func (m *Machine) Locals(t int) []system.Binding { return m.inner.Locals(t) }

// ValueString implements system.Machine.
func (m *Machine) ValueString(l system.Loc) string { return m.inner.ValueString(l) }
