package systemtest

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/system"
	"cpor/testkit/fakeranks"
)

// scoped is what a step did in a state, with the values of its scope there.
type scoped struct {
	scope  system.Scope
	values []uint64 // of Reads
	after  []uint64 // of Reads and Writes
	out    system.Outcome
	tally  int
	state  system.State
}

// repeating checks what a [system.Repeating] machine says of its steps: in every two states
// where the bits of a step's scope are the same, it has the same outcome.
func repeating(sys system.System, states int) error {
	m := sys.NewMachine()
	r := m.Capabilities().Repeating
	if r == nil {
		return nil
	}
	type step struct {
		length, regime, thread int
		alt                    uint64
	}
	known := map[step][]scoped{}
	seen := map[string]bool{}
	var queue []system.State
	add := func(s system.State) {
		if k := fmt.Sprint(s); !seen[k] {
			seen[k] = true
			queue = append(queue, slices.Clone(s))
		}
	}
	for _, s := range sys.Initial() {
		add(s)
	}
	r.Learn(true)
	threads := map[[2]int]int{}
	for i := 0; i < len(queue) && i < states; i++ {
		s := queue[i]
		regime := r.Regime(s)
		m.Load(s)
		if n, ok := threads[[2]int{len(s), regime}]; ok && n != m.NumThreads() {
			return fmt.Errorf("states of one length and regime have %d threads and %d", n,
				m.NumThreads())
		}
		threads[[2]int{len(s), regime}] = m.NumThreads()
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				now := scoped{out: m.Step(t, alt), state: s}
				ok := r.Scope(t, &now.scope)
				if now.scope.At.Mask == 0 && ok {
					return fmt.Errorf("%s: the scope does not tell where the thread stood",
						m.ThreadName(t))
				}
				if ok {
					now.tally, ok = r.Tally()
				}
				end := m.Encode(nil)
				m.Rewind(mark)
				alt, more = now.out.Next, now.out.Next != 0
				at := step{len(s), regime, t, alt}
				if now.out.Kind == system.Moved && now.out.Violation == nil {
					add(end)
				}
				if ok && now.out.Violation != nil {
					return fmt.Errorf("%s: a step that violates a property has a scope",
						m.ThreadName(t))
				}
				if err := now.compare(m, t, s, end, ok, known[at]); err != nil {
					return err
				}
				if !ok {
					continue
				}
				now.note(s, end)
				known[at] = append(known[at], now)
			}
		}
	}
	return nil
}

// note keeps what a step read in a state and what it left.
func (x *scoped) note(s, end system.State) {
	for _, b := range x.scope.Reads {
		x.values = append(x.values, s[b.Word]&b.Mask)
	}
	for _, b := range x.changed() {
		x.after = append(x.after, end[b.Word]&b.Mask)
	}
}

// changed returns the bits that are as in after.
func (k *scoped) changed() []system.Bits { return slices.Concat(k.scope.Reads, k.scope.Writes) }

// compare compares a step in state s with all that were known of it elsewhere.
func (now *scoped) compare(m system.Machine, t int, s, end system.State, ok bool,
	known []scoped) error {
	differs := func(k *scoped, what string) error {
		return fmt.Errorf("%s: %s, though the bits of its scope %+v are the same\nin %x\nand %x",
			m.ThreadName(t), what, k.scope, k.state, s)
	}
	for i := range known {
		k := &known[i]
		if !slices.EqualFunc(k.scope.Reads, k.values, func(b system.Bits, v uint64) bool {
			return s[b.Word]&b.Mask == v
		}) {
			continue
		}
		a, b := &k.out, &now.out
		switch {
		case !ok:
			return differs(k, "its step cannot be repeated in one of two states")
		case a.Kind != b.Kind || a.Next != b.Next || a.AtEnd != b.AtEnd || k.tally != now.tally:
			return differs(k, fmt.Sprintf("its step is %+v or %+v", *a, *b))
		case a.Kind != system.Moved:
			continue
		}
		want := slices.Clone(s)
		for i, b := range k.changed() {
			want[b.Word] = want[b.Word]&^b.Mask | k.after[i]
		}
		for i := range k.scope.Copies {
			c := &k.scope.Copies[i]
			want[c.To.Word] = want[c.To.Word]&^c.To.Mask | c.Of(s)
		}
		if !slices.Equal(want, end) {
			return differs(k, fmt.Sprintf("its step leads to %x, not to %x", end, want))
		}
	}
	return nil
}

// executing hides what the machines of a system can do beside executing.
type executing struct{ system.System }

type executingMachine struct{ system.Machine }

func (s executing) NewMachine() system.Machine { return executingMachine{s.System.NewMachine()} }

// Capabilities implements [system.Machine].
func (m executingMachine) Capabilities() system.MachineCapabilities {
	can := m.Machine.Capabilities()
	can.Changing, can.Repeating, can.Expanding = nil, nil, nil
	return can
}

// Capabilities implements [system.System].
func (s executing) Capabilities() system.Capabilities { return s.System.Capabilities() }

// Remember holds that a full search which remembers steps finds what one finds that executes all
// of them, in one process and on several ranks, and so does one in which scopes have hardly any
// room: it compares the states, what is counted and what is violated, where the covered set
// takes states apart from early on. newSystem returns a system, the same one each time. It
// returns how many states were compared, 0 if there are more than limit.
func Remember(t testing.TB, newSystem func() system.System, limit uint64) (states uint64) {
	t.Helper()
	o := search.Options{Options: engine.Options{Workers: 1, All: true, MaxViolations: 1 << 20,
		MaxStates: limit, KeepTraces: true}}.With(search.Sizes{Samples: 16})
	searched := func(sys, made system.System, factory func(system.System) search.Factory,
		ranks engine.Comm, change ...func(*search.Options)) (*search.Result, []uint64, error) {
		o := o
		o.Ranks = ranks
		for _, f := range change {
			f(&o)
		}
		r, err := search.Run(context.Background(), made, factory(made), o)
		if c := sys.Capabilities().Counting; c != nil {
			return r, c.Executed(), err
		}
		return r, nil, err
	}
	sys := newSystem()
	want, executed, err := searched(sys, executing{sys}, full.Factory, nil)
	if err != nil {
		t.Error(err)
		return 0
	}
	if !want.Exhaustive {
		return 0
	}
	// Traces may be rebuilt by other steps, which count, too.
	rebuilt := func(counts []uint64) []uint64 {
		if len(want.Violations) > 0 {
			return executed
		}
		return counts
	}
	check := func(how string, r *search.Result, counts []uint64, err error) {
		t.Helper()
		switch {
		case err != nil:
			t.Errorf("%s: %v", how, err)
		case r.States != want.States || r.Transitions != want.Transitions ||
			r.EndedLoops != want.EndedLoops || r.BlockedLoops != want.BlockedLoops ||
			len(r.Violations) != len(want.Violations):
			t.Errorf("executed: %+v, %d violations; remembered%s: %+v, %d violations",
				want.Counters, len(want.Violations), how, r.Counters, len(r.Violations))
		case !slices.Equal(counts, executed):
			t.Errorf("what was executed is counted as %d when steps are executed and as %d when "+
				"they are remembered%s", executed, counts, how)
		}
	}
	for how, factory := range map[string]func(system.System) search.Factory{"": full.Factory,
		" in narrow scopes": full.Narrow, ", and as machine code": full.Coded} {
		sys := newSystem()
		r, counts, err := searched(sys, sys, factory, nil)
		check(how, r, counts, err)
	}
	if sys.NewMachine().Capabilities().Expanding != nil {
		for how, bytes := range map[string]uint64{
			", stored whole": 1 << 20, ", in the tree again": 1,
		} {
			sys := newSystem()
			r, counts, err := searched(sys, sys, full.Coded, nil, func(o *search.Options) {
				o.Sizes().WholeBytes, o.Workers = bytes, 2
			})
			check(", as machine code"+how, r, rebuilt(counts), err)
		}
	}
	can := sys.Capabilities()
	if can.Unportable() != "" {
		return want.States // its states mean nothing to other processes
	}
	if want.States%2 == 0 {
		o.Sizes().MostNumbers = 8 // other states go to the other rank as words
	}
	err = fakeranks.Run(2, fakeranks.Options{Seed: want.States},
		func(rank int, c engine.Comm) error {
			sys := newSystem()
			r, counts, err := searched(sys, sys, full.Factory, c)
			if rank == 0 {
				check(" on ranks", r, rebuilt(counts), err)
			}
			return err
		})
	if err != nil {
		t.Error(err)
	}
	return want.States
}
