package detect

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/detect/computation"
	"cpor/detect/simulate"
)

func num(x int) computation.Value { return computation.IntValue(int64(x)) }

// c0 is the computation of the paper's figure 1: process 2's second event
// receives a message that process 1 sends with its second. Variable p of a
// process is the number of its local state, counted from 1.
func c0() *computation.Computation {
	r := simulate.NewRecorder([]string{"p1", "p2"})
	r.Init(0, simulate.Assign{Name: "p", Value: num(1)})
	r.Init(1, simulate.Assign{Name: "p", Value: num(1)})
	p := func(k int) simulate.Assign { return simulate.Assign{Name: "p", Value: num(k)} }
	r.Event(0, "", p(2))
	m := r.Send(0, "", p(3))
	r.Event(1, "", p(2))
	r.Receive(1, m, "", p(3))
	return r.Computation()
}

// TestC0: every statement that the paper makes about c0.
func TestC0(t *testing.T) {
	c := c0()
	var cgs []string
	for k1 := int32(0); k1 < c.States(0); k1++ {
		for k2 := int32(0); k2 < c.States(1); k2++ {
			if c.Consistent(computation.Cut{k1, k2}) {
				cgs = append(cgs, fmt.Sprintf("s%d,%d", k1+1, k2+1))
			}
		}
	}
	if got := fmt.Sprint(cgs); got != "[s1,1 s1,2 s2,1 s2,2 s3,1 s3,2 s3,3]" {
		t.Errorf("the CGSs are %s", got)
	}
	if n, exact := CountStates(context.Background(), c, 100); n != 7 || !exact {
		t.Errorf("%d CGSs are counted", n)
	}
	for _, tt := range []struct {
		m     Modality
		text  string
		holds bool
	}{
		{Poss, "p1.p == 2 && p2.p == 2", true},
		{Def, "p1.p + p2.p == 2", true}, // the initial state
		{Def, "p1.p == 2 && p2.p == 2", false},
		{Poss, "p1.p == 1 && p2.p == 3", false},
		{Poss, "p1.p == 2 && p2.p == 3", false}, // the example of section 4
		{Poss, "p1.p == 3 && p2.p == 3", true},
		{Def, "p1.p == 3 && p2.p == 3", true}, // the final state
		{Def, "p1.p == 3 && p2.p <= 2", true},
	} {
		for _, v := range variants() {
			if v.m != tt.m {
				continue
			}
			res, err := Detect(context.Background(), c, mustExpand(t, tt.text, c), v.m, v.opt)
			if err == ErrNotLocal {
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if res.Holds != tt.holds {
				t.Errorf("%v %s, %s: %v", tt.m, tt.text, v.name, res.Holds)
			}
		}
	}
	// "The selective search avoids exploring s1,2, s3,1, and the four transitions
	// incident on them": from s1,1 to s2,1, and on to s2,2, s3,2 and s3,3 as the
	// lowest-numbered false conjunct says.
	res, err := Detect(context.Background(), c, mustExpand(t, "p1.p == 2 && p2.p == 3", c), Poss,
		LevelsByName(t, "both").Options)
	if err != nil {
		t.Fatal(err)
	}
	if res.Stats.States > 5 || res.Stats.Transitions != res.Stats.States-1 {
		t.Errorf("PSPoss explored %+v", res.Stats)
	}
}

func LevelsByName(t *testing.T, name string) Level {
	t.Helper()
	for _, l := range Levels {
		if l.Name == name {
			return l
		}
	}
	t.Fatal("no level", name)
	return Level{}
}

// c1 is the computation of the paper's figure 4: processes 1 and 3 have s
// distinct local states each; process 2 has a few and waits for a message that
// process 1 sends at its end.
func c1(s int) *computation.Computation {
	r := simulate.NewRecorder([]string{"p1", "p2", "p3"})
	x := func(k int) simulate.Assign { return simulate.Assign{Name: "x", Value: num(k)} }
	for i := range 3 {
		r.Init(i, x(0))
	}
	for k := 1; k < s-1; k++ {
		r.Event(0, "", x(k))
	}
	m := r.Send(0, "", x(s-1))
	r.Receive(1, m, "", x(1))
	for k := 1; k < s; k++ {
		r.Event(2, "", x(k))
	}
	return r.Computation()
}

// TestC1: without the optimization of section 5, all interleavings of the
// transitions of processes 1 and 3 are considered, and time is quadratic; with
// it, it is linear.
func TestC1(t *testing.T) {
	count := func(opt Options, s int) float64 {
		c := c1(s)
		// A joint predicate on processes 2 and 3 that never holds.
		res, err := Detect(context.Background(), c, mustExpand(t, "p2.x + p3.x < 0", c), Poss, opt)
		if err != nil {
			t.Fatal(err)
		}
		if res.Holds {
			t.Fatal("it holds")
		}
		return float64(res.Stats.Transitions)
	}
	exponent := func(opt Options) float64 { return math.Log2(count(opt, 128) / count(opt, 64)) }
	single := LevelsByName(t, "persistent").Options
	if e := exponent(single); e < 1.8 {
		t.Errorf("single transitions: grows with S^%.2f", e)
	}
	sequences := Options{Algorithm: PSPoss, Full: true}
	if e := exponent(sequences); e > 1.2 {
		t.Errorf("sequences: grows with S^%.2f", e)
	}
	if e := exponent(Options{}); e > 1.2 {
		t.Errorf("intervals: grows with S^%.2f", e)
	}
}

// TestThreeProcesses: the other example of section 4, Poss of a 1-local
// predicate that is nearly always true and one on two other processes that
// nearly never is: quadratic for PSPoss, cubic for the lattice.
func TestThreeProcesses(t *testing.T) {
	run := func(s int, opt Options) float64 {
		r := simulate.NewRecorder([]string{"p1", "p2", "p3"})
		for i := range 3 {
			r.Init(i, simulate.Assign{Name: "x", Value: num(0)})
			for k := 1; k < s; k++ {
				r.Event(i, "", simulate.Assign{Name: "x", Value: num(k)})
			}
		}
		c := r.Computation()
		res, err := Detect(context.Background(), c, mustExpand(t, "p1.x >= 0 && p2.x + p3.x < 0",
			c), Poss, opt)
		if err != nil {
			t.Fatal(err)
		}
		return float64(res.Stats.Transitions)
	}
	exponent := func(opt Options) float64 { return math.Log2(run(24, opt) / run(12, opt)) }
	if e := exponent(LevelsByName(t, "both").Options); e > 2.2 {
		t.Errorf("PSPoss grows with S^%.2f", e)
	}
	if e := exponent(Options{Algorithm: Lattice, Full: true}); e < 2.7 {
		t.Errorf("the lattice grows with S^%.2f", e)
	}
	if e := exponent(Options{}); e > 1.2 {
		t.Errorf("intervals grow with S^%.2f", e)
	}
}

// conjunctive is a computation of n processes with about s local states each
// that pass a token around: x is true where the token is, so that all candidates
// of the conjunction of the x have to be looked at, and ruled out.
func conjunctive(n, s int) *computation.Computation {
	r := simulate.NewRecorder(simulate.Names("p", n))
	x := func(b bool) simulate.Assign {
		return simulate.Assign{Name: "x", Value: computation.BoolValue(b)}
	}
	for i := range n {
		r.Init(i, x(false))
	}
	var token simulate.Message
	for range s / 4 {
		for i := range n {
			r.Event(i, "work")
			if token == nil {
				r.Event(i, "start", x(true))
			} else {
				r.Receive(i, token, "receive", x(true))
			}
			r.Event(i, "use", x(true))
			token = r.Send(i, "send", x(false))
		}
	}
	return r.Computation()
}

const allX = "forall i: i.x"

// TestConjunctive: for a conjunction of 1-local predicates, the explored
// transitions never exceed N*S, whichever of the persistent-set algorithms.
func TestConjunctive(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 11))
		c := randomComputation(rng)
		if seed%10 == 0 {
			c = conjunctive(rng.IntN(8)+2, 100)
		}
		bound := int64(c.N()) * int64(c.MaxStates())
		n := mustExpand(t, allX, c)
		for _, opt := range []Options{{}, {Full: true}, {Algorithm: PSPoss},
			LevelsByName(t, "both").Options, LevelsByName(t, "persistent").Options,
			{Algorithm: GargWaldecker}} {
			res, err := Detect(context.Background(), c, n, Poss, opt)
			if err != nil {
				t.Fatal(err)
			}
			if res.Stats.Transitions > bound || res.Stats.Events > bound {
				t.Errorf("seed %d, %s: %+v, but N*S = %d", seed, res.Algorithm, res.Stats, bound)
			}
		}
	}
}

// TestLarge: N = 64 and S = 10,000, where the lattice is hopeless.
func TestLarge(t *testing.T) {
	sample.Skip(t)
	c := conjunctive(64, 10_000)
	n := mustExpand(t, allX, c)
	for _, opt := range []Options{{Workers: 1}, LevelsByName(t, "both").Options,
		{Algorithm: GargWaldecker}} {
		start := time.Now()
		res, err := Detect(context.Background(), c, n, Poss, opt)
		if err != nil || res.Holds {
			t.Fatal(err)
		}
		t.Logf("%s full=%v: %v, %+v", res.Algorithm, opt.Full, time.Since(start), res.Stats)
	}
	res, err := Detect(context.Background(), c, n, Poss, Options{Algorithm: Lattice, Full: true,
		MaxStates: 1_000_000})
	if err != nil || res.Exhaustive {
		t.Error("the lattice was not hopeless")
	}
}

// BenchmarkConjunctive shows that time grows as N^2*S:
//
//	go test -run '^$' -bench Conjunctive -benchtime 3x ./detect
//
// ns/N²S is the time divided by that, for the search alone.
func BenchmarkConjunctive(b *testing.B) {
	for _, size := range []struct{ n, s int }{{8, 1250}, {8, 10_000}, {16, 10_000}, {32, 10_000},
		{64, 1250}, {64, 10_000}} {
		c := conjunctive(size.n, size.s)
		n := mustExpand(b, allX, c)
		for _, level := range []Level{LevelBoth(), {"interval", Options{Workers: 1}},
			{"gw", Options{Algorithm: GargWaldecker}}} {
			b.Run(fmt.Sprintf("%s/N=%d/S=%d", level.Name, size.n, size.s), func(b *testing.B) {
				var res *Result
				for b.Loop() {
					var err error
					if res, err = Detect(context.Background(), c, n, Poss,
						level.Options); err != nil {
						b.Fatal(err)
					}
				}
				per := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				b.ReportMetric(per/float64(size.n*size.n*size.s), "ns/N²S")
				b.ReportMetric(float64(res.Stats.Transitions), "N_T")
			})
		}
	}
}

// LevelBoth is the paper's last level.
func LevelBoth() Level { return Levels[len(Levels)-1] }

// BenchmarkTransitions measures transitions per second on the paper's examples:
//
//	go test -run '^$' -bench Transitions ./detect
func BenchmarkTransitions(b *testing.B) {
	for _, ex := range []struct {
		name, text string
		c          *computation.Computation
	}{
		{"database", simulate.NotIdb(5), simulate.DatabasePartition(5, 80, 1)},
		{"primary", simulate.NotIpr, simulate.PrimarySecondary(9, 60, 1)},
	} {
		n := mustExpand(b, ex.text, ex.c)
		for _, level := range Levels {
			b.Run(ex.name+"/"+level.Name, func(b *testing.B) {
				var transitions int64
				for b.Loop() {
					res, err := Detect(context.Background(), ex.c, n, Poss, level.Options)
					if err != nil {
						b.Fatal(err)
					}
					transitions += res.Stats.Transitions
				}
				b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
			})
		}
	}
}
