package trace

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/testkit/sample"

	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// enumerated is an execution with what it shows.
type enumerated struct {
	steps    []Step
	switches int
}

// enumerate returns the first of the shortest executions that show a violation for
// which wanted is true, with the fewest switches among them; deadlocks count if dead
// is true for their state. It walks through all executions, one length after the
// other; ok is false if there are too many, or the longest is reached.
func enumerate(sys system.System, wanted func(v *system.Violation) bool,
	dead func(m system.Machine) bool) (best *enumerated, ok bool) {
	m := sys.NewMachine()
	obs := system.ObserversOf(sys)
	layer := []enumerated{{}}
	for range 14 {
		var next []enumerated
		better := func(x enumerated) {
			if best == nil || x.switches < best.switches { // the executions come in order
				best = &x
			}
		}
		for _, x := range layer { // deadlocks are shorter than what a step shows
			m.Load(sys.Initial()[0])
			for _, s := range x.steps {
				m.Step(s.Thread, s.Alt)
			}
			if enabled, blocked := obs.Deadlock(m); enabled < 0 && len(blocked) > 0 && dead(m) {
				better(x)
			}
		}
		if best != nil {
			return best, true
		}
		for _, x := range layer {
			m.Load(sys.Initial()[0])
			for _, s := range x.steps {
				m.Step(s.Thread, s.Alt)
			}
			mark := m.Mark()
			for t := range m.NumThreads() {
				for alt, more := uint64(0), true; more; {
					out := m.Step(t, alt)
					m.Rewind(mark)
					if out.Kind == system.Moved {
						y := enumerated{append(slices.Clone(x.steps), Step{Thread: t, Alt: alt}),
							x.switches}
						if n := len(x.steps); n > 0 && x.steps[n-1].Thread != t {
							y.switches++
						}
						for v := out.Violation; v != nil; v = v.Also {
							if wanted(v) {
								better(y)
							}
						}
						next = append(next, y)
					}
					alt, more = out.Next, out.Next != 0
				}
			}
		}
		if best != nil {
			return best, true
		}
		if len(next) == 0 || len(next) > 20_000 {
			return nil, false
		}
		layer = next
	}
	return nil, false
}

// walk returns a random execution to a violation or a deadlock; nil if it meets none.
func walk(sys system.System, r *rand.Rand) *Trace {
	m := sys.NewMachine()
	obs := system.ObserversOf(sys)
	m.Load(sys.Initial()[0])
	tr := &Trace{}
	for range 200 {
		if enabled, blocked := obs.Deadlock(m); enabled < 0 {
			if len(blocked) == 0 {
				return nil
			}
			tr.Violation = &system.Violation{Kind: system.Deadlock}
			return tr
		}
		th := r.IntN(m.NumThreads())
		out := m.Step(th, 0)
		if out.Kind != system.Moved {
			continue
		}
		tr.Steps = append(tr.Steps, Step{Thread: th})
		if out.Violation != nil {
			v := *out.Violation
			v.Also = nil
			tr.Violation = &v
			return tr
		}
	}
	return nil
}

// walks returns the trace of the first of 20 walks that comes to a violation, or nil.
func walks(sys system.System, r *rand.Rand) *Trace {
	for range 20 {
		if tr := walk(sys, r); tr != nil {
			return tr
		}
	}
	return nil
}

// TestShortest compares what is found with a walk through all executions of random
// programs: the very steps have to be the same. What was found first must not matter.
func TestShortest(t *testing.T) {
	programs := sample.Of(150, 150, 600)
	compared, dead := 0, 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 23))
		p := toy.Random(r, toy.Config{Observer: r.IntN(3) == 0, Threads: 3, Nodes: 4})
		sys, err := toy.New(p)
		if err != nil {
			t.Fatal(err)
		}
		tr := walks(sys, r)
		if tr == nil {
			continue
		}
		for _, anyOne := range []bool{false, true} {
			z := &shortener{sys: sys, obs: system.ObserversOf(sys), m: sys.NewMachine()}
			final := ""
			if tr.Violation.Kind == system.Deadlock {
				final = z.goal(tr).final
			}
			want, ok := enumerate(sys,
				func(v *system.Violation) bool {
					return anyOne || final == "" &&
						v.Same(tr.Violation)
				},
				func(m system.Machine) bool {
					z.m = m
					return anyOne || final != "" && z.final() == final
				})
			if !ok {
				continue
			}
			got := Shorten(sys, []*Trace{tr}, Shortening{Any: anyOne})[0]
			if err := got.Replay(sys); err != nil {
				t.Fatalf("seed %d: %v\n%v", seed, err, p)
			}
			if got.Minimal != Shortest || !slices.Equal(got.Steps, want.steps) {
				t.Fatalf("seed %d, any %v: %v, %v, not %v\n%v", seed, anyOne, got.Minimal,
					got.Steps, want.steps, p)
			}
			compared++
			if got.Violation.Kind == system.Deadlock {
				dead++
			}
		}
	}
	t.Logf("%d compared, %d of them deadlocks", compared, dead)
	if compared < programs/4 || dead < programs/20 {
		t.Errorf("only %d compared, %d of them deadlocks", compared, dead)
	}
}

// TestFewestSwitchesOfAll compares the search by context switches with a relaxation over
// the whole graph of random programs, until nothing changes.
func TestFewestSwitchesOfAll(t *testing.T) {
	programs := sample.Of(80, 80, 300)
	compared := 0
	for seed := range programs {
		r := rand.New(rand.NewPCG(uint64(seed), 29))
		p := toy.Random(r, toy.Config{Observer: r.IntN(3) == 0, Threads: 3, Nodes: 5})
		sys, err := toy.New(p)
		if err != nil {
			t.Fatal(err)
		}
		tr := walks(sys, r)
		if tr == nil {
			continue
		}
		z := &shortener{sys: sys, obs: system.ObserversOf(sys), m: sys.NewMachine(), scale: 1}
		z.fixed = z.m.NumThreads()
		z.goals = []goal{z.goal(tr)}
		switches, steps, ok := relax(z)
		if !ok {
			continue
		}
		z.bySwitches()
		got := z.goals[0].found
		if got == nil {
			t.Fatalf("seed %d: nothing was found\n%v", seed, p)
		}
		if err := got.Replay(sys); err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, p)
		}
		if got.Switches() != switches || len(got.Steps) != steps {
			t.Fatalf("seed %d: %d switches, %d steps; the best has %d, %d\n%v", seed,
				got.Switches(), len(got.Steps), switches, steps, p)
		}
		compared++
	}
	t.Logf("%d compared", compared)
	if compared < programs/4 {
		t.Errorf("only %d compared", compared)
	}
}

// relax returns the least switches, and the steps with them, of an execution that shows
// the goal of z; ok is false if there are too many states.
func relax(z *shortener) (switches, steps int, ok bool) {
	type at struct {
		state  string
		thread int
	}
	type cost struct{ switches, steps int }
	m := z.m
	words := map[string]system.State{}
	name := func() string {
		s := m.Encode(nil)
		k := string(appendKey(nil, s))
		words[k] = s
		return k
	}
	m.Load(z.sys.Initial()[0])
	costs := map[at]cost{{name(), -1}: {}}
	less := func(a, b cost) bool {
		return cmp.Or(cmp.Compare(a.switches, b.switches), cmp.Compare(a.steps, b.steps)) < 0
	}
	best := cost{1 << 30, 0}
	for changed := true; changed; {
		changed = false
		for from, c := range costs {
			m.Load(words[from.state])
			if enabled, blocked := z.obs.Deadlock(m); enabled < 0 && len(blocked) > 0 &&
				z.goals[0].final != "" && z.final() == z.goals[0].final && less(c, best) {
				best = c
			}
			for t := range m.NumThreads() {
				for alt, more := uint64(0), true; more; {
					m.Load(words[from.state])
					out := m.Step(t, alt)
					alt, more = out.Next, out.Next != 0
					if out.Kind != system.Moved {
						continue
					}
					d := cost{c.switches, c.steps + 1}
					if from.thread >= 0 && from.thread != t {
						d.switches++
					}
					if out.Violation.Find(z.goals[0].want) != nil && z.goals[0].final == "" &&
						less(d, best) {
						best = d
					}
					to := at{name(), t}
					if old, there := costs[to]; !there || less(d, old) {
						costs[to] = d
						changed = true
					}
				}
			}
			if len(costs) > 1500 {
				return 0, 0, false
			}
		}
	}
	return best.switches, best.steps, true
}

// TestShortenBounds: where the bounds are met, what is returned still shows the
// violation, says that it is not known to be the shortest, and is no longer than what
// leaving out gives. A search that has to end at once changes nothing.
func TestShortenBounds(t *testing.T) {
	for seed := range 60 {
		r := rand.New(rand.NewPCG(uint64(seed), 31))
		sys, err := toy.New(toy.Random(r, toy.Config{Observer: r.IntN(3) == 0, Threads: 4}))
		if err != nil {
			t.Fatal(err)
		}
		tr := walk(sys, r)
		if tr == nil || len(tr.Steps) < 4 {
			continue
		}
		ended := Shorten(sys, []*Trace{tr}, Shortening{Expired: func() bool { return true }})[0]
		if ended.Minimal != Cut || !slices.Equal(ended.Steps, tr.Steps) {
			t.Errorf("seed %d: a search that has to end at once: %v", seed, ended)
		}
		got := Shorten(sys, []*Trace{tr}, Shortening{Scale: searchStates / 2})[0]
		if err := got.Replay(sys); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		alone := tr.Minimize(sys, DefaultBudget)
		if got.Minimal == Local && len(got.Steps) > len(alone.Steps) {
			t.Errorf("seed %d: %d steps, by leaving out alone %d", seed, len(got.Steps),
				len(alone.Steps))
		}
	}
}

// counting counts the steps of a system's machines.
type counting struct {
	system.System
	steps *int
}

type countingMachine struct {
	system.Machine
	steps *int
}

func (c counting) NewMachine() system.Machine {
	return countingMachine{c.System.NewMachine(), c.steps}
}

func (c counting) Capabilities() system.Capabilities { return c.System.Capabilities() }

func (m countingMachine) Capabilities() system.MachineCapabilities {
	return m.Machine.Capabilities()
}

func (m countingMachine) Step(t int, alt uint64) system.Outcome {
	*m.steps++
	return m.Machine.Step(t, alt)
}

// TestShortenInTime: whenever the time is over, the search takes 64 more steps at most,
// in whichever stage it is, and what it returns shows the violation.
func TestShortenInTime(t *testing.T) {
	const few, long = 64, 60
	tried := 0
	for seed := uint64(0); tried < 3; seed++ {
		r := rand.New(rand.NewPCG(seed, 37))
		inner, err := toy.New(toy.Random(r, toy.Config{Threads: 4}))
		if err != nil {
			t.Fatal(err)
		}
		tr := walk(inner, r)
		if tr == nil || len(tr.Steps) < long {
			continue
		}
		tried++
		for at := 1; ; at += 1 + at/sample.Of(1, 1, 3) {
			steps, asked, since := 0, 0, -1
			got := Shorten(counting{inner, &steps}, []*Trace{tr},
				Shortening{Scale: searchStates / 2, Expired: func() bool {
					if asked++; asked == at {
						since = steps
					}
					return asked >= at
				}})[0]
			if err := got.Replay(inner); err != nil {
				t.Fatalf("seed %d, over at question %d: %v", seed, at, err)
			}
			if since < 0 {
				break // it ended before
			}
			if steps-since > few {
				t.Fatalf("seed %d, over at question %d: %d further steps", seed, at, steps-since)
			}
		}
	}
}

// TestShortenEndless: a state with more alternatives than can ever be looked at does not
// keep the search for a short trace from its bounds.
func TestShortenEndless(t *testing.T) {
	found := 0
	for seed := uint64(0); found < 3; seed++ {
		inner, err := toy.New(toy.Random(rand.New(rand.NewPCG(seed, 3)),
			toy.Config{NoLoops: true, Threads: 2, Nodes: 3}))
		if err != nil {
			t.Fatal(err)
		}
		best, ok := enumerate(inner, func(*system.Violation) bool { return true },
			func(system.Machine) bool { return false })
		if !ok || best == nil || len(best.steps) < 2 {
			continue
		}
		found++
		m := inner.NewMachine()
		m.Load(inner.Initial()[0])
		var out system.Outcome
		for _, s := range best.steps {
			out = m.Step(s.Thread, 0)
		}
		tr := &Trace{Steps: best.steps, Violation: out.Violation}
		for _, expired := range []func() bool{nil, func() func() bool {
			n := 0
			return func() bool {
				n++
				return n > 100
			}
		}()} {
			got := Shorten(toy.Endless{System: inner}, []*Trace{tr}, Shortening{Expired: expired,
				Scale: 100})[0]
			if len(got.Steps) != len(tr.Steps) || got.Minimal != Local && expired == nil ||
				got.Minimal != Cut && expired != nil {
				t.Errorf("seed %d: %v %v, want %d steps", seed, got.Steps, got.Minimal,
					len(tr.Steps))
			}
		}
	}
}
