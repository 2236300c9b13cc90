package monitor

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"cpor/testkit/sample"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
)

func randomComputation(rng *rand.Rand) *computation.Computation {
	n := rng.IntN(4) + 1
	return simulate.Random(rng, simulate.RandomConfig{Processes: n, Events: rng.IntN(6*n + 1),
		Messages:  []float64{0, 0.4, 0.9}[rng.IntN(3)],
		Variables: 2, Values: 3, Assign: 0.5, Undefined: rng.IntN(3) == 0})
}

// Relevant reports whether the host is one whose events matter.
func (m *Monitor) Relevant(hostName string) bool {
	_, ok := m.index[hostName]
	return ok
}

// Check reports whether Add would refuse the event, without changing anything;
// fresh is unset if the event was there already.
func (m *Monitor) Check(x *Event) (fresh bool, err error) {
	e, err := m.fromEvent(x)
	if err != nil || e == nil {
		return false, err
	}
	return m.check(e)
}

// Add takes an event. An event that was there already is ignored, so that a
// sender may repeat what was not acknowledged; one that arrives before its
// predecessor of the same host waits for it. The error says what is wrong with
// the event, which then changes nothing, or is ErrFull.
func (m *Monitor) Add(x *Event) error {
	e, err := m.fromEvent(x)
	if err != nil || e == nil {
		return err
	}
	if fresh, err := m.check(e); err != nil || !fresh {
		return err
	}
	return m.add(e)
}

var predicates = []string{
	"forall i: i.x", "forall i: !i.x", "exists i: i.x", "exists i < j: i.x && j.x",
	"forall i != j: i.x || j.y != i.y",
	"p1.x && p1.y == 1", "forall i: i.y == 2", "count(i: i.x) == 1",
	"(forall i: i.x) || (forall i: i.y == 0)",
	"exists i < j: i.y > j.y && i.x", "sum(i: i.y) >= 3", "len(set(i: i.y)) == 1",
	"forall i: i.x => i.y > 0",
	"false", "true", "p1.x <=> p1.y == 0",
}

// events returns the events of a computation in a random order that keeps that
// of each process.
func events(rng *rand.Rand, c *computation.Computation) []*Event {
	next := make([]int32, c.N())
	var out []*Event
	for len(out) < c.TotalEvents() {
		i := rng.IntN(c.N())
		if next[i] == c.Events(i) {
			continue
		}
		next[i]++
		k := next[i]
		e := &Event{
			Host:  c.Name(i),
			Clock: map[string]int32{},
			Vars:  map[string]computation.Value{},
			Text:  c.Text(i, k),
		}
		for j, x := range c.Clock(i, k) {
			e.Clock[c.Name(j)] = x
		}
		for _, v := range c.Variables(i) {
			for _, ch := range v.Changes {
				if ch.State == k {
					e.Vars[v.Name] = c.Values().Value(ch.Value)
				}
			}
		}
		out = append(out, e)
	}
	return out
}

func initial(c *computation.Computation) map[string]map[string]computation.Value {
	init := map[string]map[string]computation.Value{}
	for i := range c.N() {
		init[c.Name(i)] = map[string]computation.Value{}
		for _, v := range c.Variables(i) {
			init[c.Name(i)][v.Name] = c.Values().Value(v.At(0))
		}
	}
	return init
}

// prefix returns the computation of the events that have arrived and whose
// causal past has arrived.
func prefix(t *testing.T, c *computation.Computation, arrived []*Event) *computation.Computation {
	r := computation.NewBuilder("")
	for _, name := range c.Names() {
		r.Declare(r.Host(name))
	}
	for h, vars := range initial(c) {
		for name, v := range vars {
			r.Init(r.Host(h), r.Name(name), v, 0)
		}
	}
	have := map[string]int32{}
	for _, e := range arrived {
		have[e.Host] = e.Clock[e.Host]
	}
	for _, e := range arrived {
		complete := true
		for h, x := range e.Clock {
			complete = complete && x <= have[h]
		}
		if !complete {
			continue
		}
		r.Event(r.Host(e.Host), 0)
		for h, x := range e.Clock {
			r.Entry(r.Host(h), x)
		}
		for name, v := range e.Vars {
			r.Assign(r.Name(name), v)
		}
	}
	p, _, err := r.Build(false)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// journalled appends the event to the journal.
func journalled(t *testing.T, j *Journal, x *Event) {
	t.Helper()
	e, err := j.m.fromEvent(x)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.append(e); err != nil {
		t.Fatal(err)
	}
}

func offline(t *testing.T, c *computation.Computation, p *predicate.Predicate,
	m detect.Modality) bool {
	n, err := p.Expand(predicate.Names{Hosts: c.Names()})
	if err != nil {
		t.Fatal(err)
	}
	res, err := detect.Detect(context.Background(), c, n, m, detect.Options{Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	return res.Holds
}

// TestOnline: Poss is announced exactly with the event that completes its
// proof; Def never before it is certain for every continuation that the run
// itself is, and in the end both agree with the off-line algorithms. Some runs
// are interrupted and go on from their journal.
func TestOnline(t *testing.T) {
	defer func(old int) { minTrim = old }(minTrim)
	minTrim = 1
	dir := t.TempDir()
	announced := 0
	rounds := sample.Of(400, 400, 8000)
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 9))
		c := randomComputation(rng)
		text := predicates[rng.IntN(len(predicates))]
		p, err := predicate.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		mod := detect.Modality(seed % 2)
		cfg := Config{Predicate: p, Modality: mod, Hosts: c.Names(), Init: initial(c)}
		path := ""
		var j *Journal
		var m *Monitor
		if rng.IntN(10) == 0 { // syncing the journal takes most of the time
			path = filepath.Join(dir, fmt.Sprint(seed))
			j, m, err = OpenJournal(path, cfg, 200)
		} else {
			m, err = New(cfg)
		}
		if err != nil {
			t.Fatal(err)
		}
		name := fmt.Sprintf("seed %d, %v %s", seed, mod, text)
		all := events(rng, c)
		for k := -1; k < len(all); k++ {
			if k >= 0 {
				if err := m.Add(all[k]); err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				if j != nil {
					journalled(t, j, all[k])
					if err := j.Sync(); err != nil {
						t.Fatal(err)
					}
					if rng.IntN(4) == 0 { // a crash
						if err := j.Close(); err != nil {
							t.Fatal(err)
						}
						if j, m, err = OpenJournal(path, cfg, 200); err != nil {
							t.Fatalf("%s: %v", name, err)
						}
					}
				}
			}
			got := m.Detected() != nil
			if mod == detect.Poss {
				if want := offline(t, prefix(t, c, all[:k+1]), p, mod); got != want {
					t.Fatalf("%s: after %d events, announced %v, want %v", name, k+1, got, want)
				}
			} else if got && !offline(t, c, p, mod) {
				t.Fatalf("%s: announced after %d events, but it is not definite", name, k+1)
			}
		}
		if m.Detected() != nil {
			announced++
			if d := m.Detected(); mod == detect.Poss {
				cut := make(computation.Cut, c.N())
				for i := range cut {
					cut[i] = d.Cut[c.Name(i)]
				}
				n, _ := p.Expand(predicate.Names{Hosts: c.Names()})
				if !c.Consistent(cut) || !detect.Holds(c, n, cut) {
					t.Fatalf("%s: the witness %v is none", name, d.Cut)
				}
			}
		}
		got, err := m.End()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if want := offline(t, c, p, mod); got != want {
			t.Fatalf("%s: in the end %v, want %v", name, got, want)
		}
		if j != nil {
			j.Close()
		}
	}
	if announced < rounds/5 {
		t.Errorf("only %d announcements", announced)
	}
}

// TestBounded: as long as every process continues and its predicate becomes true now and then,
// the memory does not grow with the run.
func TestBounded(t *testing.T) {
	for _, text := range []string{"forall i: i.x", "exists i < j: i.x && j.x && i.n == j.n + 1000",
		"forall i: i.x && i.n < 0"} {
		for _, mod := range []detect.Modality{detect.Poss, detect.Def} {
			p, err := predicate.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			m, err := New(Config{Predicate: p, Modality: mod, Hosts: []string{"p1", "p2", "p3"}})
			if err != nil {
				t.Fatal(err)
			}
			// A token goes round; x is true where it is, n counts.
			clock := map[string]int32{}
			kept := map[int]int{}
			rounds := sample.Of(2000, 2000, 20_000)
			for round := range rounds {
				for _, h := range m.Hosts() {
					for step := range 2 {
						clock[h]++
						e := &Event{Host: h, Clock: map[string]int32{},
							Vars: map[string]computation.Value{
								"x": computation.BoolValue(step == 0),
								"n": computation.IntValue(int64(round))}}
						for g, x := range clock {
							e.Clock[g] = x
						}
						if err := m.Add(e); err != nil {
							t.Fatal(err)
						}
					}
				}
				if round == rounds/10 {
					kept[0] = m.Status().PeakKept
				}
			}
			st := m.Status()
			if st.Detected != nil {
				t.Fatalf("%v %s was detected", mod, text)
			}
			if st.PeakKept > kept[0]+10 || st.PeakKept > 1000 {
				t.Errorf("%v %s: %d kept at first, %d in the end", mod, text, kept[0], st.PeakKept)
			}
			for _, h := range m.hosts {
				if n := m.values.Len(); n > 10_000 || len(h.tuples) > 10_000 ||
					len(h.tupleID) > 10_000 || len(h.class) > 10_000 {
					t.Errorf("%v %s: %d values, %d tuples", mod, text, n, len(h.tuples))
				}
			}
		}
	}
}

// TestAfterwards: after the detection, events are taken but take no memory.
func TestAfterwards(t *testing.T) {
	p, err := predicate.Parse("p1.x < 0")
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Predicate: p})
	if err != nil {
		t.Fatal(err)
	}
	for k := int32(1); k < 1000; k++ {
		if err := m.Add(&Event{Host: "p1", Clock: map[string]int32{"p1": k},
			Vars: map[string]computation.Value{"x": computation.IntValue(int64(k))}}); err != nil {
			t.Fatal(err)
		}
		if k == 500 {
			err := m.Add(&Event{Host: "p1", Clock: map[string]int32{"p1": 501},
				Vars: map[string]computation.Value{"x": computation.IntValue(-1)}})
			if err != nil || m.Detected() == nil {
				t.Fatal(err)
			}
			k++
		}
	}
	if len(m.hosts[0].states) > 1 || m.Status().Events != 999 {
		t.Errorf("%d states, %+v", len(m.hosts[0].states), m.Status())
	}
}

// TestFull: a silent process makes the others' states pile up, as far as
// MaxStates.
func TestFull(t *testing.T) {
	p, err := predicate.Parse("p1.x && p2.x")
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Predicate: p, MaxStates: 100})
	if err != nil {
		t.Fatal(err)
	}
	for k := int32(1); k < 10_000; k++ {
		err = m.Add(&Event{Host: "p1", Clock: map[string]int32{"p1": k},
			Vars: map[string]computation.Value{"x": computation.BoolValue(k%2 == 1)}})
		if err != nil {
			break
		}
	}
	if err != ErrFull {
		t.Errorf("error %v", err)
	}
}

func TestRefused(t *testing.T) {
	p, err := predicate.Parse("p1.x && p2.x")
	if err != nil {
		t.Fatal(err)
	}
	m, err := New(Config{Predicate: p})
	if err != nil {
		t.Fatal(err)
	}
	add := func(host string, clock map[string]int32) error {
		return m.Add(&Event{Host: host, Clock: clock})
	}
	if err := add("p1", map[string]int32{"p1": 1, "p2": 2}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		clock map[string]int32
		want  string
	}{
		{map[string]int32{"p2": 1}, "the clock has no entry for its own host p1"},
		{map[string]int32{"p1": 2, "p2": 1}, "the clock's entry for host p2 falls from 2 to 1"},
		{map[string]int32{"p1": 2}, "the clock's entry for host p2 falls from 2 to 0"},
		{map[string]int32{"p1": 2, "p2": -1}, "the clock's entry for host p2 is negative: -1"},
	} {
		if err := add("p1", tt.clock); err == nil || err.Error() != tt.want {
			t.Errorf("%v: %v, want %s", tt.clock, err, tt.want)
		}
	}
	if _, err := m.End(); err == nil || err.Error() != "host p1 knows of event 2 of host p2, "+
		"which never arrived" {
		t.Error(err)
	}
	if st := m.Status(); st.Events != 1 {
		t.Errorf("%d events were taken", st.Events)
	}
	if err := add("stranger", map[string]int32{"stranger": 7}); err != nil ||
		m.Relevant("stranger") {
		t.Error("an event of a host that does not matter")
	}
	if _, err := New(Config{Predicate: p, Hosts: []string{"p1", "p2", "p1"}}); err == nil {
		t.Error("a host twice")
	}
	if p, err := predicate.Parse("forall i: i.x"); err != nil {
		t.Error(err)
	} else if _, err := New(Config{Predicate: p}); err != ErrNeedHosts {
		t.Error(err)
	}
}
