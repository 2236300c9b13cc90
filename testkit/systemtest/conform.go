// Package systemtest tests systems and engines against the contract of package system, and engines
// against each other.
//
// [Conform] checks that a system keeps the contract. Each front end calls it in its tests, on
// systems that use everything the front end supports. [Agree] runs every engine that promises
// verdicts on a system and compares the results. [Engines] lists all registered engines.
package systemtest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/validate"
	"cpor/system"
)

// Options bound what [Conform] looks at. The zero value of a number represents
// the default in its comment.
type Options struct {
	MaxStates uint64 // states that are expanded (300)
	Walks     int    // executions whose events are put in other orders (20)
	Steps     int    // of each (40)
	Seed      uint64
}

// Conform checks the contract of package system on sys, as far as states and
// executions within the bounds show it:
//
//   - there are initial states, all different, and a new machine is in the first;
//   - in each state, what package validate checks: loading and encoding, undo,
//     self-loops, tracking, accesses that are what changed, hashes, pieces if they are offered,
//     and that any two transitions that are independent there ([system.Access.Conflicts]),
//     operations for which there is room among them, do the same in both orders;
//   - locations and threads mean the same in every order: an execution whose independent
//     neighbors are exchanged takes the same transitions with the same accesses and the same
//     names, and ends in the same state;
//   - the violations on the way are the same in every order, too, and belong to the
//     same transitions unless the system is [system.Remembering];
//   - they mean the same after their state was loaded, but for what
//     [system.Renaming] says;
//   - words that differ from the loaded state are among those that a [system.Changing]
//     machine names;
//   - in all states where the bits are the same that a [system.Repeating] machine names as the
//     scope of a step, it does the same;
//   - threads that do not exist yet wait for their creation;
//   - observers are blocked or violate a property, and offer pieces.
func Conform(t testing.TB, sys system.System, o Options) {
	t.Helper()
	if err := conform(sys, o); err != nil {
		t.Error(err)
	}
}

func conform(sys system.System, o Options) error {
	def := func(n, or int) int {
		if n == 0 {
			return or
		}
		return n
	}
	if o.MaxStates == 0 {
		o.MaxStates = 300
	}
	o.Walks, o.Steps = def(o.Walks, 20), def(o.Steps, 40)
	initial := sys.Initial()
	if len(initial) == 0 {
		return errors.New("the system has no initial state")
	}
	for i, s := range initial {
		for _, r := range initial[:i] {
			if slices.Equal(r, s) {
				return errors.New("two initial states are equal")
			}
		}
	}
	if !slices.Equal(sys.NewMachine().Encode(nil), initial[0]) {
		return errors.New("a new machine is not in the first initial state")
	}
	for _, s := range initial {
		m := sys.NewMachine()
		m.Load(s)
		if err := observers(sys, m); err != nil {
			return err
		}
	}
	if err := validated(sys, o.MaxStates); err != nil {
		return err
	}
	if err := repeating(sys, int(o.MaxStates)); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(o.Seed, 1))
	for range o.Walks {
		w := &walk{sys: sys, initial: initial[r.IntN(len(initial))], rand: r}
		if err := w.check(o.Steps); err != nil {
			return err
		}
	}
	return nil
}

// validated searches with the checks of package validate.
func validated(sys system.System, states uint64) error {
	var mu sync.Mutex
	var first error
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	hook := validate.Hook(sys, func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = err
		}
		cancel()
	})
	_, err := search.Run(ctx, sys, full.Factory(sys), search.Options{
		Options: engine.Options{Workers: 1, All: true, MaxViolations: 1 << 20, MaxStates: states,
			KeepTraces: true}, Hook: hook})
	return errors.Join(first, err)
}

// event is a transition of an execution.
type event struct {
	thread   int
	alt      uint64
	name     string
	accesses []system.Access
	locs     []string
	created  bool
	violates []string // the findings, by kind and object or place
	placed   []string // those without an object: no check that remembers makes them
}

func (e *event) String() string { return fmt.Sprintf("%s/%d", e.name, e.alt) }

// walk is a random execution.
type walk struct {
	sys     system.System
	initial system.State
	rand    *rand.Rand
	events  []event
}

func (w *walk) check(steps int) error {
	m := w.sys.NewMachine()
	m.Track(true)
	m.Load(w.initial)
	for range steps {
		if err := w.afterLoad(m); err != nil {
			return err
		}
		if !w.step(m) {
			break
		}
		if err := names(m, w.initial); err != nil {
			return err
		}
	}
	end := m.Encode(nil)
	// Other orders of the same execution.
	events := slices.Clone(w.events)
	for range 5 {
		for range 4 * len(events) {
			i := w.rand.IntN(len(events))
			if i+1 < len(events) && independent(&events[i], &events[i+1]) {
				events[i], events[i+1] = events[i+1], events[i]
			}
		}
		got, err := w.replay(events)
		if err != nil {
			return fmt.Errorf("%w\nexecution %v\nin the order %v", err, pointers(w.events),
				pointers(events))
		}
		if !slices.Equal(got, end) {
			return fmt.Errorf("the state depends on the order of independent transitions: %x or "+
				"%x\nexecution %v\nin the order %v", end, got, pointers(w.events), pointers(events))
		}
	}
	return nil
}

func pointers(events []event) []*event {
	var ps []*event
	for i := range events {
		ps = append(ps, &events[i])
	}
	return ps
}

// step takes a random enabled transition; false if there is none.
func (w *walk) step(m system.Machine) bool {
	var found []event
	mark := m.Mark()
	for t := range m.NumThreads() {
		for alt, more := uint64(0), true; more; {
			out := m.Step(t, alt)
			if out.Kind == system.Moved {
				found = append(found, event{thread: t, alt: alt})
			}
			m.Rewind(mark)
			alt, more = out.Next, out.Next != 0
		}
	}
	if len(found) == 0 {
		return false
	}
	e := found[w.rand.IntN(len(found))]
	e.take(m)
	w.events = append(w.events, e)
	return true
}

// take executes the event and fills in what it is.
func (e *event) take(m system.Machine) system.Kind {
	e.name = m.ThreadName(e.thread)
	out := m.Step(e.thread, e.alt)
	e.accesses, e.locs = slices.Clone(m.Accesses()), nil
	for _, a := range e.accesses {
		e.locs = append(e.locs, m.LocName(a.Loc))
	}
	e.created, e.violates, e.placed = out.Created, nil, nil
	for v := out.Violation; v != nil; v = v.Also {
		what := v.Object
		if what == "" {
			what = fmt.Sprint(v.Pos)
			e.placed = append(e.placed, fmt.Sprintf("%s %s", v.Kind, what))
		}
		e.violates = append(e.violates, fmt.Sprintf("%s %s", v.Kind, what))
	}
	return out.Kind
}

// independent reports whether neighbors in an execution may be exchanged. Of their alternatives
// the one that was taken is enabled in either order, but for its number: a guard that the other
// writes would be an access.
func independent(a, b *event) bool {
	if a.thread == b.thread {
		return false
	}
	for _, x := range a.accesses {
		for _, y := range b.accesses {
			if x.Orders(y) {
				return false
			}
		}
	}
	return true
}

// replay executes the events in an order, on a new machine.
func (w *walk) replay(events []event) (system.State, error) {
	m := w.sys.NewMachine()
	m.Track(true)
	m.Load(w.initial)
	var found, all []string
	for i := range events {
		want := &events[i]
		all = append(all, want.violates...)
		if want.thread >= m.NumThreads() {
			return nil, fmt.Errorf("there is no thread %d (%s) when independent transitions are "+
				"exchanged", want.thread, want.name)
		}
		got := event{thread: want.thread, alt: want.alt}
		if kind := got.take(m); kind != system.Moved {
			return nil, fmt.Errorf("%v is %v when independent transitions are exchanged", want,
				kind)
		}
		found = append(found, got.violates...)
		if got.name != want.name || got.created != want.created || !slices.Equal(got.placed,
			want.placed) || !w.remembers() && !slices.Equal(got.violates, want.violates) {
			return nil, fmt.Errorf("%v is another transition when independent ones are "+
				"exchanged: %v", want, &got)
		}
		if !same(got.accesses, want.accesses) {
			return nil, fmt.Errorf("%v accesses %v, and %v when independent transitions are "+
				"exchanged", want, want.accesses, got.accesses)
		}
		if slices.Sort(got.locs); !slices.Equal(got.locs, sorted(want.locs)) {
			return nil, fmt.Errorf("%v accesses %v, and %v when independent transitions are "+
				"exchanged", want, want.locs, got.locs)
		}
	}
	if all, found := distinct(all), distinct(found); !slices.Equal(all, found) {
		return nil, fmt.Errorf("the violations are %v, and %v when independent transitions are "+
			"exchanged", all, found)
	}
	return m.Encode(nil), nil
}

// remembers reports whether the system remembers the way to a state for a check. Then the check
// finds the same in all orders of independent transitions, but may report it at another one of
// them: that two threads read a variable without a common lock is noticed at the second read.
// What has no object is no such finding and stays at its transition.
func (w *walk) remembers() bool { return len(system.Bare(w.sys, w.initial)) < len(w.initial) }

func distinct(s []string) []string { return slices.Compact(sorted(s)) }

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// same reports whether the accesses are the same but for their order and room.
func same(a, b []system.Access) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, x.Same) {
			return false
		}
	}
	return true
}

// names checks that m names all words that differ from the loaded state, if it knows.
func names(m system.Machine, loaded system.State) error {
	c := m.Capabilities().Changing
	if c == nil {
		return nil
	}
	changed, known := c.Changed(nil)
	end := m.Encode(nil)
	if !known || len(end) != len(loaded) {
		return nil
	}
	for i := range end {
		if end[i] != loaded[i] && !slices.Contains(changed, int32(i)) {
			return fmt.Errorf("word %d of a state was %x when it was loaded and is %x, and is "+
				"not among the words that have changed: %v", i, loaded[i], end[i], changed)
		}
	}
	return nil
}

// afterLoad compares the live state of m with the same state loaded again.
func (w *walk) afterLoad(m system.Machine) error {
	fresh := w.sys.NewMachine()
	fresh.Track(true)
	loaded := m.Encode(nil)
	fresh.Load(loaded)
	if m.NumThreads() != fresh.NumThreads() {
		return fmt.Errorf("a state has %d threads, and %d when it is loaded", m.NumThreads(),
			fresh.NumThreads())
	}
	renaming := m.Capabilities().Renaming
	mark, freshMark := m.Mark(), fresh.Mark()
	for t := range m.NumThreads() {
		if a, b := m.ThreadName(t), fresh.ThreadName(t); a != b {
			return fmt.Errorf("thread %d is %s, and %s when the state is loaded", t, a, b)
		}
		for alt, more := uint64(0), true; more; {
			out := m.Step(t, alt)
			accesses := slices.Clone(m.Accesses())
			m.Rewind(mark)
			other := fresh.Step(t, alt)
			if err := names(fresh, loaded); err != nil {
				return err
			}
			if out.Kind != other.Kind || out.Next != other.Next || out.Created != other.Created ||
				out.AtEnd != other.AtEnd {
				return fmt.Errorf("a transition of %s is %+v, and %+v when the state is loaded",
					m.ThreadName(t), out, other)
			}
			var want []system.Access
			known := true
			for _, a := range accesses {
				if renaming != nil {
					// What the transition itself makes has no name before it.
					var ok bool
					a.Loc, ok = renaming.Renamed(a.Loc)
					known = known && ok
				}
				want = append(want, a)
			}
			if known && !same(want, fresh.Accesses()) {
				return fmt.Errorf("a transition of %s accesses %v, and %v when the state is loaded",
					m.ThreadName(t), want, fresh.Accesses())
			}
			fresh.Rewind(freshMark)
			alt, more = out.Next, out.Next != 0
		}
	}
	return nil
}

// observers checks the observers in an initial state, the live one of m.
func observers(sys system.System, m system.Machine) error {
	obs := sys.Capabilities().Observing
	if obs == nil {
		return nil
	}
	for t := range m.NumThreads() {
		if !obs.Observer(t) {
			continue
		}
		if m.Capabilities().Pieces == nil {
			return errors.New("the system has observers and offers no pieces")
		}
		mark := m.Mark()
		out := m.Step(t, 0)
		m.Rewind(mark)
		if out.Kind == system.Moved && out.Violation == nil {
			return fmt.Errorf("the observer %s takes a step and violates nothing", m.ThreadName(t))
		}
	}
	return nil
}
