package replay

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/frontend/gosrc/native"
	"cpor/system"
	"cpor/trace"
)

// Machine implements [system.Machine] and [system.Costly].
type Machine struct {
	s        *System
	last     []*event   // by thread: its last event; nil: none
	writer   []*event   // by location: who wrote it last
	version  []*version // by location; nil: zero
	now      int64      // what the clock shows
	alarms   uint64     // a hash of the set of events that have set an alarm or let one go off
	there    uint64     // a hash of the set of threads that were created
	fired    int        // how many alarms have gone off
	dead     bool       // the process would have ended
	over     bool       // the execution has ended quietly
	late     []bool     // by thread: as [Late], with all time-outs; only with View.NoFailed
	threads  int        // one more than the largest number of a thread that exists
	path     []*event   // that led here
	past     []uint64   // by step of the path: native.Execution.Past
	log      []undo
	accesses []system.Access

	// What the engine will do: from the place hintAt on, and later.
	hint    []native.Choice
	hintAt  int
	plans   []plan
	planned []native.Choice // of plans
	later   []native.Choice // prefixOf

	script  *script   // what the last run did, or the one that the engine is to follow
	along   int       // so many of the first events of the path are those of the script
	ahead   []*script // of executions that the engine has announced
	spare   []*script
	scout   *Machine // makes known what runs that are ahead did
	scoutAt []system.Mark
	desk    *desk // nil: the machine is used alone
	wait    func() bool

	// What is used again for each execution, or each step.
	prefix  []native.Choice
	nows    []about
	scratch []system.Access
	alts    [][]system.Access
	from    []*event
	wrote   []*version
	glimpse *Machine // for After
}

// undo is what a step has changed.
type undo struct {
	kind    undoKind
	n       int32 // a thread, a location, a number
	ev      *event
	version *version
	was     uint64 // the clock, a hash
}

type undoKind uint8

const (
	undoLast undoKind = iota
	undoWriter
	undoThreads
	undoNow
	undoOver
	undoFired
	undoDead
	undoAlarms
	undoThere
	undoLate
)

// Stop is the value of a panic that ends a search: an execution could not be made.
type Stop struct{ Err error }

func (s *Stop) Error() string { return s.Err.Error() }

func (s *Stop) Unwrap() error { return s.Err }

// Load implements [system.Machine].
func (m *Machine) Load(s system.State) {
	m.Rewind(0)
	m.log = m.log[:0]
	for _, ev := range m.s.placeOf(s) {
		m.apply(ev)
	}
}

// Encode implements [system.Machine]: a state is which event is the last of each thread.
// Executions that differ in the order of independent events lead to the same state.
func (m *Machine) Encode(dst system.State) system.State {
	dst = m.state(dst)
	m.s.remember(dst, m.path)
	return dst
}

// state is Encode without a way back.
func (m *Machine) state(dst system.State) system.State {
	dst = dst[:0]
	for _, ev := range m.last {
		if ev == nil {
			dst = append(dst, 0)
		} else {
			dst = append(dst, ev.id)
		}
	}
	for len(dst) > 1 && dst[len(dst)-1] == 0 {
		dst = dst[:len(dst)-1]
	}
	if len(dst) == 0 {
		dst = append(dst, 0)
	}
	return dst
}

// Hash implements [system.Machine].
func (m *Machine) Hash() uint64 {
	h := uint64(0)
	for t, ev := range m.last {
		if ev != nil {
			h ^= (ev.id + 1) * (2*uint64(t) + 1) * 0x9e3779b97f4a7c15
		}
	}
	return h
}

// Track implements [system.Machine]: accesses are always known.
func (m *Machine) Track(bool) {}

// NumThreads implements [system.Machine].
func (m *Machine) NumThreads() int { return m.threads }

// Accesses implements [system.Machine].
func (m *Machine) Accesses() []system.Access { return m.accesses }

// Mark implements [system.Machine].
func (m *Machine) Mark() system.Mark { return system.Mark(len(m.log)) }

// Rewind implements [system.Machine].
func (m *Machine) Rewind(mark system.Mark) {
	for i := len(m.log) - 1; i >= int(mark); i-- {
		u := &m.log[i]
		switch u.kind {
		case undoLast:
			m.last[u.n] = u.ev
			m.path, m.past = m.path[:len(m.path)-1], m.past[:len(m.past)-1]
			m.along = min(m.along, len(m.path))
		case undoWriter:
			m.writer[u.n], m.version[u.n] = u.ev, u.version
		case undoThreads:
			m.threads = int(u.n)
		case undoNow:
			m.now = int64(u.was)
		case undoOver:
			m.over = false
		case undoFired:
			m.fired--
		case undoDead:
			m.dead = false
		case undoAlarms:
			m.alarms = u.was
		case undoThere:
			m.there = u.was
		case undoLate:
			m.late[u.n] = false
		}
	}
	m.log = m.log[:mark]
}

func (m *Machine) lastOf(t int) *event {
	if t < len(m.last) {
		return m.last[t]
	}
	return nil
}

func (m *Machine) writerOf(l system.Loc) *event {
	if int(l) < len(m.writer) {
		return m.writer[l]
	}
	return nil
}

func (m *Machine) versionOf(l system.Loc) *version {
	if int(l) < len(m.version) && m.version[l] != nil {
		return m.version[l]
	}
	return zero
}

// known returns what is known of a thread in its local state.
func (m *Machine) known(t int) *known {
	if ev := m.lastOf(t); ev != nil {
		return &ev.known
	}
	return m.s.graph.root(t)
}

// exists tells whether a thread exists.
func (m *Machine) exists(t int) bool {
	return m.lastOf(t) != nil || t < len(m.s.first) && m.s.first[t] ||
		m.writerOf(exists(int32(t))) != nil
}

// find returns what a thread is known to be about to do, nil if that is not known.
func (m *Machine) find(t int) *pending {
	if p := m.scripted(t); p != nil {
		return p
	}
	p, _ := m.known(t).pending.find(m, 0)
	return p
}

// event returns what a thread is known to do, nil if that is not known.
func (m *Machine) event(t int, alt int32) *event {
	if ev := m.comes(); ev != nil && int(ev.thread) == t && ev.alt == alt {
		return ev
	}
	ev, _ := m.known(t).next.find(m, alt)
	return ev
}

// apply lets an event happen.
func (m *Machine) apply(ev *event) {
	t := int(ev.thread)
	for t >= len(m.last) {
		m.last = append(m.last, nil)
	}
	m.log = append(m.log, undo{kind: undoLast, n: ev.thread, ev: m.last[t]})
	if m.comes() == ev {
		m.along++
	}
	m.past = append(m.past, native.Past(m.pastOf(len(m.path)), ev.told))
	m.path = append(m.path, ev)
	m.last[t] = ev
	for i, a := range ev.acc {
		if !a.Write {
			continue
		}
		l := int(a.Loc)
		for l >= len(m.writer) {
			m.writer, m.version = append(m.writer, nil), append(m.version, nil)
		}
		m.log = append(m.log, undo{kind: undoWriter, n: int32(l), ev: m.writer[l],
			version: m.version[l]})
		m.writer[l], m.version[l] = ev, ev.wrote[i]
	}
	if ev.now != 0 {
		m.log = append(m.log, undo{kind: undoNow, was: uint64(m.now)})
		m.now = ev.now
	}
	if alarm(ev.op) || ev.op == native.OpTimerSet {
		m.log = append(m.log, undo{kind: undoAlarms, was: m.alarms})
		m.alarms ^= mixed(ev.id) // the order does not matter
	}
	if m.s.view.Alarms > 0 && alarm(ev.op) {
		m.log = append(m.log, undo{kind: undoFired})
		m.fired++
	}
	if ev.crash {
		m.die()
	}
	if m.s.view.NoFailed {
		m.giveIn(ev)
	}
	if len(ev.births) > 0 {
		m.log = append(m.log, undo{kind: undoThere, was: m.there})
	}
	for _, b := range ev.births {
		m.there ^= mixed(uint64(b))
		if int(b) >= m.threads {
			m.log = append(m.log, undo{kind: undoThreads, n: int32(m.threads)})
			m.threads = int(b) + 1
		}
	}
}

// pastOf returns the hash of the first n steps of the path.
func (m *Machine) pastOf(n int) uint64 {
	if n == 0 {
		return 0
	}
	return m.past[n-1]
}

// giveIn ends the execution quietly behind an event that is a failure of the test: it says so
// itself, or panics when its own time-out has expired. It notes who is late.
func (m *Machine) giveIn(ev *event) {
	if owner := m.timeoutOf(ev.op, ev.thread); owner >= 0 {
		m.delay(owner)
	}
	if m.isLate(ev.thread) && ev.op == native.OpGo {
		for _, b := range ev.births {
			m.delay(b)
		}
	}
	if f := ev.fault; f != nil && (f.Kind == failed || m.isLate(ev.thread) && OfTest(f)) {
		m.log = append(m.log, undo{kind: undoOver})
		m.over = true
	}
}

func (m *Machine) isLate(t int32) bool { return int(t) < len(m.late) && m.late[t] }

func (m *Machine) delay(t int32) {
	for int(t) >= len(m.late) {
		m.late = append(m.late, false)
	}
	if !m.late[t] {
		m.log = append(m.log, undo{kind: undoLate, n: t})
		m.late[t] = true
	}
}

// timeoutOf returns whose time-out expires when a thread executes an operation; -1: nobody's.
func (m *Machine) timeoutOf(op native.Op, t int32) int32 {
	if op == native.OpTimer {
		if made := m.writerOf(exists(t)); made != nil && made.timeout {
			return made.thread
		}
	}
	return -1
}

// OfTest tells whether a violation is a panic in a file of tests.
func OfTest(v *system.Violation) bool {
	return v.Kind == panicked && strings.HasSuffix(v.Pos.File, "_test.go")
}

// Late are the threads of a test that are late: their own time-outs have expired while somebody
// else could run, or they were started by a thread that was late then.
type Late map[int32]bool

// Before notes what the next step of a thread changes, which lets time pass early.
func (l Late) Before(m *Machine, t int) {
	if owner := m.timeoutOf(m.pending(t).op, int32(t)); owner >= 0 {
		l[owner] = true
	}
}

// Behind notes what the last step has changed.
func (l Late) Behind(m *Machine) {
	if ev := m.path[len(m.path)-1]; l[ev.thread] && ev.op == native.OpGo {
		for _, b := range ev.births {
			l[b] = true
		}
	}
}

// die notes that nothing can happen any more.
func (m *Machine) die() {
	if !m.dead {
		m.log = append(m.log, undo{kind: undoDead})
		m.dead = true
	}
}

// Step implements [system.Machine].
func (m *Machine) Step(t int, alt uint64) system.Outcome {
	out, p := m.look(t, alt)
	if out.Kind != system.Moved {
		return out
	}
	c := native.Choice{Thread: int32(t), Alt: int32(alt)}
	ev := m.event(t, c.Alt)
	if ev == nil {
		m.run(&c)
		if ev = m.event(t, c.Alt); ev == nil {
			panic(&Stop{fmt.Errorf("the step %d:%d was not executed", t, alt)})
		}
	}
	m.check(p, ev)
	m.accesses = append(m.accesses[:0], ev.acc...)
	m.viewed(t, p)
	m.apply(ev)
	out.Created = len(ev.births) > 0
	out.Violation = ev.fault
	if v := m.race(); v != nil {
		out.Violation = v
		m.die()
	}
	if m.over {
		out.Violation = nil
		for i := range m.accesses {
			m.accesses[i].Write = m.accesses[i].Write || m.accesses[i].Loc == alive
		}
	}
	return out
}

// check notes whether a thread touches what it was about to touch.
func (m *Machine) check(p *pending, ev *event) {
	if !m.s.exact.Load() || ev.checked.Load() == p {
		return
	}
	if !sameAccesses(p.alts[ev.alt], ev.acc) {
		m.s.exact.Store(false)
	}
	ev.checked.Store(p)
}

// Peek implements [system.Costly].
func (m *Machine) Peek(t int, alt uint64) system.Outcome {
	if m.s.exact.Load() {
		out, _ := m.look(t, alt)
		return out
	}
	mark := m.Mark()
	out := m.Step(t, alt)
	m.Rewind(mark)
	return out
}

// look says what a step would come to, but for violations.
func (m *Machine) look(t int, alt uint64) (system.Outcome, *pending) {
	m.accesses = m.accesses[:0]
	if !m.exists(t) {
		m.accesses = append(m.accesses, system.Access{Loc: exists(int32(t))})
		return system.Outcome{Kind: system.Blocked, AtEnd: true}, nil
	}
	if m.over {
		m.accesses = append(m.accesses, system.Access{Loc: alive})
		return system.Outcome{Kind: system.Blocked, AtEnd: true}, nil
	}
	if m.dead {
		return system.Outcome{Kind: system.Ended}, nil
	}
	p := m.pending(t)
	switch {
	case p.ended:
		return system.Outcome{Kind: system.Ended}, p
	case alt >= uint64(p.enabled):
		m.accesses = append(m.accesses, p.acc...)
		if m.s.view.NoFailed {
			m.accesses = append(m.accesses, system.Access{Loc: alive})
		}
		return system.Outcome{Kind: system.Blocked, AtEnd: m.mayWait(t, p)}, p
	}
	m.accesses = append(m.accesses, p.alts[alt]...)
	if !m.viewed(t, p) {
		m.accesses = append(m.accesses[:0], p.acc...)
		m.viewed(t, p)
		for i := range m.accesses {
			m.accesses[i].Write = false
		}
		return system.Outcome{Kind: system.Blocked, AtEnd: m.mayWait(t, p)}, p
	}
	out := system.Outcome{Kind: system.Moved}
	if alt+1 < uint64(p.enabled) {
		out.Next = alt + 1
	}
	return out, p
}

// pending returns what a thread is about to do.
func (m *Machine) pending(t int) *pending {
	p := m.find(t)
	if p == nil {
		m.s.looked.Add(1)
		m.run(nil)
		if p = m.find(t); p == nil {
			if v := m.race(); v != nil {
				panic(&Stop{&Found{m.steps(len(m.path)), v}})
			}
			panic(&Stop{fmt.Errorf("what thread %d does next was not told", t)})
		}
	}
	return p
}

// Found is the error for a data race that was found in an execution that no step has told of.
type Found struct {
	Steps     []trace.Step
	Violation *system.Violation
}

func (f *Found) Error() string { return f.Violation.Message }

// race returns the data race that the last step is known to make; nil if there is none.
func (m *Machine) race() *system.Violation {
	if !m.s.raced.Load() {
		return nil
	}
	m.s.graph.mu.Lock()
	defer m.s.graph.mu.Unlock()
	return m.s.graph.races[key(m.state(nil))]
}

// steps returns the first n steps that led here.
func (m *Machine) steps(n int) []trace.Step {
	out := make([]trace.Step, n)
	for i, ev := range m.path[:n] {
		out[i] = trace.Step{Thread: int(ev.thread), Alt: uint64(ev.alt)}
	}
	return out
}

// Verify runs the execution that led here, which has come to its end, unless it was run not long
// ago. All its events are known, but a data race shows only where both accesses happen.
func (m *Machine) Verify() {
	if m.ran() {
		m.script.seen = true
		return
	}
	k := key(m.state(nil))
	g := &m.s.graph
	g.mu.Lock()
	ran := g.complete[k]
	g.mu.Unlock()
	if ran || m.dead || m.over {
		return
	}
	m.s.verified.Add(1)
	m.hint = m.hint[:0]
	prefix := m.choices()
	err := m.s.execute(prefix, m.policy(len(prefix)), func(x *native.Execution) error {
		if x.Len() > len(prefix) {
			return &native.Diverged{At: len(prefix), What: "the execution goes on"}
		}
		sc := m.newScript()
		err := m.absorb(x, len(prefix), sc)
		m.spare = append(m.spare, sc)
		return err
	})
	if err != nil {
		panic(&Stop{m.explain(err)})
	}
	m.s.noteEnd(k)
}

// found notes that the first n steps that led here end with a data race.
func (m *Machine) found(n int, f *native.Failure) *Found {
	found := &Found{m.steps(n), violation(f)}
	c := &Machine{s: m.s, threads: len(m.s.first)}
	for _, st := range found.Steps {
		c.apply(c.event(st.Thread, int32(st.Alt)))
	}
	c.noteRace(found.Violation)
	return found
}

// noteEnd notes that the execution to an encoded state was run to its end.
func (s *program) noteEnd(k string) {
	g := &s.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.complete[k] {
		return
	}
	if len(g.recent) < remembered {
		g.recent = append(g.recent, k)
	} else {
		i := int(s.ends.Load() % remembered)
		delete(g.complete, g.recent[i])
		g.recent[i] = k
	}
	s.ends.Add(1)
	g.complete[k] = true
}

// remembered is how many ends of executions are remembered.
const remembered = 1 << 12

// noteRace notes that the last step makes a data race.
func (m *Machine) noteRace(v *system.Violation) {
	g := &m.s.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	g.races[key(m.state(nil))] = v
	m.s.raced.Store(true)
}

func violation(f *native.Failure) *system.Violation {
	return &system.Violation{Kind: f.Kind, Message: f.Message, Pos: f.Pos, Object: f.Object}
}

// viewed adds what the view lets an enabled step access, and tells whether the view lets it happen.
//
// Time that passes only when nobody can run makes an alarm depend on whether others can. That
// changes only by transitions: those of the others, and those of threads that are awake for
// them. So each transition writes that its thread is awake, and an alarm reads it of all.
func (m *Machine) viewed(t int, p *pending) bool {
	v := m.s.view
	if v.NoFailed {
		m.accesses = append(m.accesses, system.Access{Loc: alive})
		if p.alarm && v.Alarms == 0 || p.op == native.OpGo { // both decide who is late
			m.accesses = append(m.accesses, system.Access{Loc: clock, Write: p.alarm})
		}
	}
	if v.Alarms > 0 && p.alarm {
		m.accesses = append(m.accesses, system.Access{Loc: clock, Write: true})
		if m.fired >= v.Alarms {
			m.s.spent.Store(true)
			return false
		}
	}
	if v.Time == Any {
		return true
	}
	m.accesses = append(m.accesses, system.Access{Loc: awake(int32(t)), Write: true})
	if !p.alarm {
		return true
	}
	if v.Alarms == 0 {
		m.accesses = append(m.accesses, system.Access{Loc: clock, Write: true})
	}
	if v.Time == Patient && !p.sleeps {
		return true
	}
	waits := false
	for x := range m.threads {
		if x == t {
			continue
		}
		m.accesses = append(m.accesses, system.Access{Loc: awake(int32(x))})
		if !waits && p.due > m.now && m.exists(x) {
			q := m.pending(x)
			waits = q.enabled > 0 && !q.alarm || q.outside()
		}
	}
	return !waits
}

// outside tells whether a thread waits for what is not under control. Its answer may be on the way,
// so time that passes only when nobody can run stands.
func (p *pending) outside() bool { return p.op == native.OpOutside && p.enabled == 0 && !p.ended }

// mayWait tells whether a thread that is blocked may be so forever.
func (m *Machine) mayWait(t int, p *pending) bool {
	v := m.s.view
	if p.atEnd || v.NoLeaks && t != 0 && m.exists(0) && m.pending(0).ended {
		return true
	}
	spent := v.Alarms > 0 && m.fired >= v.Alarms
	if !spent && v.Time != Idle {
		return false
	}
	for x := range m.threads {
		if m.exists(x) {
			q := m.pending(x)
			if spent && q.alarm && q.enabled > 0 || v.Time == Idle && q.outside() {
				return true // an alarm would go off, or an answer come
			}
		}
	}
	return false
}

// Early tells whether the next step of a thread lets time pass while somebody else can run, and
// whether it is a sleep of the test itself.
func (m *Machine) Early(t int) (early, sleeps bool) {
	if m.dead || !m.exists(t) {
		return false, false
	}
	p := m.pending(t)
	if !p.alarm || p.due <= m.now {
		return false, false
	}
	for x := range m.threads {
		if x != t && m.exists(x) {
			if q := m.pending(x); q.enabled > 0 && !q.alarm {
				return true, p.sleeps
			}
		}
	}
	return false, false
}

// Ended tells whether a thread has ended; it has not where the whole process has.
func (m *Machine) Ended(t int) bool { return !m.dead && m.exists(t) && m.pending(t).ended }

// alarm tells whether an operation waits for time to pass.
func alarm(op native.Op) bool { return op == native.OpSleep || op == native.OpTimer }

// raced is the kind of data races.
const raced system.ViolationKind = "race"

// panicked is the kind of panics that nobody recovers.
const panicked system.ViolationKind = "panic"

// failed is the kind of the violation that the test itself says that it has failed.
const failed system.ViolationKind = "failed"

// After implements [system.Costly]. It answers for views that add nothing to what threads do.
func (m *Machine) After(t int, alt uint64, some *system.Some) (out system.Outcome, ok bool) {
	m.accesses = m.accesses[:0]
	if m.s.view != (View{NoLeaks: m.s.view.NoLeaks}) || m.dead || m.over || !m.s.exact.Load() {
		return out, false
	}
	var k *known
	if last := some.LastOf(t); last >= 0 {
		k = &m.path[last].known
	} else if t < len(m.s.first) && m.s.first[t] || some.LastWrite(exists(int32(t))) >= 0 {
		k = m.s.graph.root(t)
	} else {
		return out, false
	}
	if m.glimpse == nil {
		m.glimpse = &Machine{s: m.s}
	}
	for s := k.pending.first.Load(); s != nil; s = s.more {
		m.glimpse.see(m, s.one, some)
		p, found := s.find(m.glimpse)
		switch {
		case !found:
			continue
		case p.ended:
			out.Kind = system.Ended
		case alt >= uint64(p.enabled):
			m.accesses = append(m.accesses, p.acc...)
			out.Kind = system.Blocked
		default:
			m.accesses = append(m.accesses, p.alts[alt]...)
			out.Kind = system.Moved
			if alt+1 < uint64(p.enabled) {
				out.Next = alt + 1
			}
		}
		return out, true
	}
	return out, false
}

// see brings what a pending depends on to what it is behind some of the steps of another machine.
func (m *Machine) see(full *Machine, p *pending, some *system.Some) {
	for _, a := range p.acc {
		m.setVersion(a.Loc, full.versionAt(some.LastWrite(a.Loc), a.Loc))
	}
	if !p.alarm && !p.scans {
		return
	}
	m.alarms, m.there = 0, 0
	for i, ev := range full.path {
		if some.Has(i) {
			if alarm(ev.op) || ev.op == native.OpTimerSet {
				m.alarms ^= mixed(ev.id)
			}
			for _, b := range ev.births {
				m.there ^= mixed(uint64(b))
			}
		}
	}
}

// versionAt returns what a location is behind the step of the path that wrote it; -1: nobody did.
func (m *Machine) versionAt(i int, l system.Loc) *version {
	if i >= 0 {
		for k, a := range m.path[i].acc {
			if a.Loc == l && a.Write {
				return m.path[i].wrote[k]
			}
		}
	}
	return zero
}

func (m *Machine) setVersion(l system.Loc, v *version) {
	for int(l) >= len(m.version) {
		m.version = append(m.version, nil)
	}
	m.version[l] = v
}

// Cheapest implements [system.Costly].
func (m *Machine) Cheapest() int {
	if ev := m.comes(); ev != nil && ev.alt == 0 {
		return int(ev.thread)
	}
	// The thread that went last goes on in the executions that were run.
	if n := len(m.path); n > 0 && m.cheap(int(m.path[n-1].thread)) {
		return int(m.path[n-1].thread)
	}
	for t := range m.threads {
		if m.cheap(t) {
			return t
		}
	}
	return -1
}

func (m *Machine) cheap(t int) bool {
	return m.exists(t) && m.event(t, 0) != nil && m.find(t) != nil
}

// policy is how an execution goes on of which so many steps are known. Alarms that the view does
// not let go off do not.
func (m *Machine) policy(known int) native.Policy {
	return native.Policy{Known: known, Alarms: m.s.view.Alarms}
}

// choices returns the choices that led here, valid until the next call.
func (m *Machine) choices() []native.Choice {
	m.prefix = appendPath(m.prefix[:0], m.path)
	return m.prefix
}

// run runs the program up to the live state and on: by the choice c, if it is not nil, and then
// as the engine is foreseen to go on. What happens becomes known.
func (m *Machine) run(c *native.Choice) {
	prefix := m.choices()
	here := len(prefix)
	if c != nil {
		prefix = append(prefix, *c)
	}
	if k := len(prefix) - m.hintAt; k >= 0 && k < len(m.hint) && m.hintAt <= here &&
		slices.Equal(prefix[m.hintAt:], m.hint[:k]) {
		prefix = append(prefix, m.hint[k:]...)
	}
	// What was foreseen need not be possible: then only what is asked for is done.
	absorb := func(x *native.Execution) error {
		sc := m.newScript()
		if err := m.absorb(x, here, sc); err != nil {
			return err
		}
		sc.begun = len(prefix)
		m.follow(sc)
		return nil
	}
	err := m.order(prefix, here, absorb)
	if errors.As(err, new(*native.Diverged)) && len(prefix) > here+1 {
		prefix = prefix[:here]
		if c != nil {
			prefix = append(prefix, *c)
		}
		err = m.s.execute(prefix, m.policy(here), absorb)
	}
	m.plans = m.plans[:0]
	if err != nil {
		panic(&Stop{m.explain(err)})
	}
}

// elsewhere says that the first steps of an execution are not those that led here.
const elsewhere = "it does something else than in another execution with the same past"

// explain finds out which step it was that is not the one that led here.
func (m *Machine) explain(err error) error {
	if d := new(native.Diverged); !errors.As(err, &d) || d.What != elsewhere {
		return err
	}
	here := len(m.path)
	if again := m.s.execute(m.choices(), native.Policy{}, func(x *native.Execution) error {
		return m.leads(x, here)
	}); again != nil {
		return again
	}
	return err
}

// about is what a thread was told to be about to do, and what that is among what is known.
type about struct {
	told  *native.Pending
	known *pending
}

// absorb makes what an execution did behind its first steps, which led to the live state, known. It
// writes that into sc.
func (m *Machine) absorb(x *native.Execution, here int, sc *script) error {
	if x.End == native.TooLarge {
		return ErrTooLarge
	}
	mark := m.Mark()
	defer m.Rewind(mark)
	if err := m.leads(x, here); err != nil {
		return err
	}
	if x.End == native.Cut {
		return ErrEndless
	}
	sc.begin(m.path)
	now := m.nows[:0]
	defer func() {
		clear(now) // what was told is valid only now
		m.nows = now
	}()
	note := func(ps []native.Pending) {
		for k := range ps {
			t := int(ps[k].Thread)
			for t >= len(now) {
				now = append(now, about{})
			}
			now[t] = about{told: &ps[k]}
		}
	}
	note(x.First)
	for k := range x.Steps[:here-x.Known] {
		note(x.Steps[k].After)
	}
	learn := func(k int) error {
		for t := range now {
			a := &now[t]
			if a.told == nil || a.known != nil && a.known.fits(m) {
				continue
			}
			var err error
			if a.known, err = m.learn(int32(t), a.told, k); err != nil {
				return err
			}
		}
		return nil
	}
	if err := learn(here); err != nil {
		return err
	}
	for k := here; k < x.Len(); k++ {
		if k%64 == 63 && m.s.ctx.Err() != nil {
			return context.Cause(m.s.ctx)
		}
		st := &x.Steps[k-x.Known]
		ev, err := m.intern(st, k, k == x.Len()-1 && ended(x))
		if err != nil {
			return err
		}
		m.apply(ev)
		sc.events, sc.next = append(sc.events, ev), append(sc.next, nil)
		if t := int(st.Thread); t < len(now) {
			sc.next[k], now[t].known = now[t].known, nil // what was known is from before this step
		}
		note(st.After)
		if f := st.Failure; f != nil && f.Kind == raced {
			m.noteRace(violation(f))
		}
		if k == x.Len()-1 && ended(x) {
			return nil // what threads were about to do is not told
		}
		if err := learn(k + 1); err != nil {
			return err
		}
	}
	for t := range now {
		sc.final = append(sc.final, now[t].known)
	}
	sc.ended = true
	return nil
}

// leads tells whether the first steps of an execution lead to the live state: nil if they do.
func (m *Machine) leads(x *native.Execution, here int) error {
	n := x.Len()
	if n > 0 && n <= here {
		f := x.Failure
		if x.Known < n {
			f = x.Steps[n-1-x.Known].Failure
		}
		switch {
		case f != nil && f.Kind == raced:
			return m.found(n, f)
		case n == x.Known && (m.path[n-1].fault != nil) != (f != nil && f.Kind != system.Deadlock):
			return &native.Diverged{At: n - 1, What: elsewhere}
		}
	}
	if n < here {
		return &native.Diverged{At: n, What: "the execution has ended"}
	}
	if x.Past != m.pastOf(x.Known) {
		return &native.Diverged{At: x.Known - 1, What: elsewhere}
	}
	for i := here - 1; i >= x.Known; i-- {
		if ev, st := m.path[i], &x.Steps[i-x.Known]; !m.s.same(ev, st) {
			return &native.Diverged{At: i, What: m.otherwise(ev, st)}
		}
	}
	return nil
}

// otherwise says that a step is not the event that was seen with the same past.
func (m *Machine) otherwise(ev *event, st *native.Step) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s does something else than in another execution with the same past",
		m.ThreadName(int(ev.thread)))
	if st.Pos.Line > 0 {
		fmt.Fprintf(&b, " (%s at %s:%d)", st.Op, st.Pos.File, st.Pos.Line)
	}
	if n, ok := m.s.names.(interface{ LocName(l system.Loc) string }); ok {
		list := func(what string, a, b []system.Access) (s string) {
			for _, x := range a {
				if l, ok := told(x.Loc); ok && !slices.Contains(b, x) {
					s += ", " + what + " " + n.LocName(l)
				}
			}
			return s
		}
		now := relocated(st.Accesses)
		b.WriteString(list("now accesses", now, ev.acc) + list("accessed", ev.acc, now))
	}
	return b.String()
}

// ended tells whether the process has ended with the last step of an execution.
func ended(x *native.Execution) bool { return x.End == native.Crashed || x.End == native.Exited }

// learn notes what a thread is about to do in the live state.
func (m *Machine) learn(t int32, p *native.Pending, at int) (*pending, error) {
	q := m.find(int(t))
	if q != nil {
		if q.enabled != p.Enabled || q.ended != p.Ended {
			return nil, &native.Diverged{At: at, What: m.ThreadName(int(t)) +
				" can do something else than in another execution with the same past"}
		}
		return q, nil
	}
	if p.Op == native.OpNet { // a step may touch further words
		m.s.exact.Store(false)
	}
	first := m.lastOf(int(t)) == nil && !(int(t) < len(m.s.first) && m.s.first[t])
	k := m.known(int(t))
	g := &m.s.graph
	g.mu.Lock()
	defer g.mu.Unlock()
	q = one(&g.slabs.pendings)
	*q = pending{enabled: p.Enabled, atEnd: p.AtEnd, ended: p.Ended, op: p.Op, pos: p.Pos,
		text:  p.Text,
		alarm: alarm(p.Op), sleeps: p.Sleeps, due: p.Deadline, alarms: m.alarms,
		scans: p.Scans, there: m.there}
	m.alts = m.alts[:0]
	alternative := func(acc []system.Access) {
		m.scratch = relocate(m.scratch[:0], acc)
		if first {
			m.scratch = append(m.scratch, system.Access{Loc: exists(t)})
		}
		m.alts = append(m.alts, keep(&g.slabs.accesses, m.scratch))
	}
	alternative(p.Accesses)
	for _, a := range p.Alts {
		alternative(a)
	}
	q.acc = m.alts[0]
	if len(m.alts) > 1 {
		q.acc = slices.Clone(q.acc)
		for _, a := range m.alts[1:] {
			q.acc = join(q.acc, a)
		}
	}
	for len(m.alts) < int(q.enabled) {
		m.alts = append(m.alts, m.alts[0])
	}
	q.alts = keep(&g.slabs.alts, m.alts[:q.enabled])
	m.wrote = m.wrote[:0]
	for _, a := range q.acc {
		m.wrote = append(m.wrote, m.versionOf(a.Loc))
	}
	q.seen = keep(&g.slabs.wrote, m.wrote)
	k.pending.add(m, q, 0)
	return q, nil
}

// intern returns the event that a step is in the live state.
func (m *Machine) intern(st *native.Step, at int, last bool) (*event, error) {
	t := int(st.Thread)
	k := m.known(t)
	g := &m.s.graph
	made := g.made.Load()
	ev := m.event(t, st.Alt)
	if ev != nil {
		if !m.s.same(ev, st) {
			return nil, &native.Diverged{At: at, What: m.otherwise(ev, st)}
		}
		return ev, nil
	}
	prev := m.lastOf(t)
	acc := relocate(m.scratch[:0], st.Accesses)
	if prev == nil && !(t < len(m.s.first) && m.s.first[t]) {
		acc = append(acc, system.Access{Loc: exists(st.Thread)})
	}
	shown := len(acc)
	var births []int32
	for i := range st.After {
		if b := st.After[i].Thread; !m.exists(int(b)) {
			births = append(births, b)
			acc = append(acc, system.Access{Loc: exists(b), Write: true})
		}
	}
	m.scratch = acc
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.made.Load() != made { // another worker may have been faster
		if other, ok := k.next.find(m, st.Alt); ok {
			return other, nil
		}
	}
	g.made.Store(made + 1)
	m.from, m.wrote = m.from[:0], m.wrote[:0]
	for i, a := range acc {
		m.from = append(m.from, m.writerOf(a.Loc))
		switch {
		case !a.Write:
			m.wrote = append(m.wrote, nil)
		case i < shown && i < len(st.Values) && st.Values[i] != 0:
			m.wrote = append(m.wrote, g.versionOf(st.Values[i]))
		default:
			m.wrote = append(m.wrote, g.newVersion())
		}
	}
	ev = one(&g.slabs.events)
	g.serial++
	ev.id, ev.thread, ev.alt, ev.op = g.serial, st.Thread, st.Alt, st.Op
	ev.prev, ev.pos = prev, st.Pos
	ev.told, ev.alarms, ev.timeout = st.Hash, m.alarms, st.Timeout
	if st.Now != m.now {
		ev.now = st.Now
	}
	ev.scans, ev.there, ev.births = st.Scans, m.there, births
	ev.acc = keep(&g.slabs.accesses, acc)
	ev.from, ev.wrote = keep(&g.slabs.from, m.from), keep(&g.slabs.wrote, m.wrote)
	if f := st.Failure; f != nil && f.Kind != raced {
		ev.fault = violation(f)
		ev.crash = last
	}
	k.next.add(m, ev, ev.alt)
	m.s.events.Add(1)
	return ev, nil
}

// ThreadName implements [system.Machine].
func (m *Machine) ThreadName(t int) string { return m.s.Title(int32(t)) }

// LocName implements [system.Machine]. Locations are parts of what the text of a step is about,
// which people need not see.
func (m *Machine) LocName(system.Loc) string { return "" }

// Next implements [system.Machine].
func (m *Machine) Next(t int) (pos system.Pos, text string, ok bool) {
	if !m.exists(t) || m.dead {
		return system.Pos{}, "", false
	}
	p := m.pending(t)
	if p.ended {
		return system.Pos{}, "", false
	}
	text = p.text
	if text == "" {
		text = p.op.String()
	}
	if line := m.s.lines.at(p.pos); line != "" {
		text += ": " + line
	}
	return p.pos, text, true
}

// Locals implements [system.Machine].
func (m *Machine) Locals(int) []system.Binding { return nil }

// ValueString implements [system.Machine].
func (m *Machine) ValueString(system.Loc) string { return "" }

// mixed is a hash of a number (Steele, Lea and Flood, "Fast splittable pseudorandom number
// generators", OOPSLA 2014).
func mixed(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// key is an encoded state as a key of a map.
func key(s system.State) string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

func sameAccesses(a, b []system.Access) bool {
	if len(a) > len(b) {
		return false
	}
	for _, x := range a {
		if !slices.Contains(b, x) {
			return false
		}
	}
	for _, x := range b {
		if _, ok := told(x.Loc); ok && !slices.Contains(a, x) {
			return false
		}
	}
	return true
}
