package auto_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/auto"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/oracle"
	toy "cpor/testkit/toysystem"
)

var mixtures = flag.Int("mixtures", 0, "so many random systems are explored by mixtures")

func TestParseChoice(t *testing.T) {
	for _, c := range []struct {
		text string
		want auto.Choice
		bad  bool
	}{
		{"measured", auto.Measured, false},
		{"early", auto.Early, false},
		{"mixed", 1, false},
		{"mixed:7", 7, false},
		{text: "mixed:0", bad: true},
		{text: "mixed:", bad: true},
		{text: "mixed:-1", bad: true},
		{text: "mixed:18446744073709551615", bad: true},
		{text: "", bad: true},
		{text: "Mixed", bad: true},
		{text: "cartesian", bad: true},
	} {
		got, err := auto.ParseChoice(c.text)
		if got != c.want || (err != nil) != c.bad {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
		if err == nil {
			if again, err := auto.ParseChoice(got.String()); again != got || err != nil {
				t.Errorf("%q: %v is read as %v, %v", c.text, got, again, err)
			}
		}
	}
}

// colliding threads all touch the same variable with every transition, so that vectors
// are plain expansions that cost more.
const colliding = `
var x int8
thread T(me int8) {
	for i := int8(0); i < 4; i++ {
		x = me
		x = 0
	}
}
init {
	for i := 0; i < 4; i++ { go T(int8(i)) }
}
`

// phases begin with threads that collide, and continue with threads that have nothing to
// do with each other.
const phases = `
var x int8
var done int8
var y [4]int8
thread T(me int8) {
	for i := int8(0); i < 2; i++ {
		x = me
		x = 0
	}
	done++
	await(done == 4)
	for i := int8(0); i < 15; i++ {
		y[me] = i
	}
}
init {
	for i := 0; i < 4; i++ { go T(int8(i)) }
}
`

func parse(t *testing.T, name, text string, params map[string]string) system.System {
	t.Helper()
	m, err := model.Parse(name, text, model.Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return m.System()
}

func run(t *testing.T, sys system.System, f search.Factory, workers int) *search.Result {
	t.Helper()
	res, err := search.Run(context.Background(), sys, f, search.Options{
		Options: engine.Options{Workers: workers, All: true, MaxStates: 3_000_000}})
	if err != nil {
		t.Fatal(err)
	}
	if !res.Exhaustive {
		t.Fatal("not exhaustive: ", res.Reason)
	}
	return res
}

// TestMeasured: where vectors save nothing, plain expansion is chosen, and where they save
// much, they stay; the same each time.
func TestMeasured(t *testing.T) {
	robots, err := benchmarks.Model("robots")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		sys   system.System
		plain bool
	}{
		{"robots", parse(t, "robots.model", string(robots), nil), false},
		{"colliding", parse(t, "colliding.model", colliding, nil), true},
	} {
		t.Run(c.name, func(t *testing.T) {
			var first *search.Result
			for range 2 {
				f, report := auto.Factory(c.sys, auto.Options{})
				res := run(t, c.sys, f, 1)
				r := report()
				if r.AmpleStates+r.CartesianStates+r.FullStates != res.States {
					t.Errorf("%d and %d states were expanded, %d are covered", r.CartesianStates,
						r.FullStates, res.States)
				}
				if (len(r.Changes) > 0) != c.plain {
					t.Errorf("changes: %+v, ratio %.2f", r.Changes, r.Ratio)
				}
				if first != nil && (first.States != res.States ||
					first.Transitions != res.Transitions || first.Attempts != res.Attempts ||
					first.MaxDepth != res.MaxDepth) {
					t.Errorf("%d states, %d transitions; before %d, %d", res.States,
						res.Transitions, first.States, first.Transitions)
				}
				first = res
			}
			vectors := run(t, c.sys, func() search.Expander {
				return cartesian.New(c.sys, cartesian.Options{})
			}, 1)
			whole := run(t, c.sys, full.Factory(c.sys), 2)
			if first.States < vectors.States || first.States > whole.States {
				t.Errorf("%d states, by vectors %d, plainly %d", first.States, vectors.States,
					whole.States)
			}
		})
	}
}

// TestAlone: ample sets are left out where vectors alone promise to be better, and only there.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		name  string
		alone bool
	}{{"mesi", true}, {"paxos", true}, {"promela/corpus/go_context", true},
		{"promela/corpus/go_pipeline", false}} {
		text, err := os.ReadFile("../../../examples/" + c.name + ".model")
		if err != nil {
			t.Fatal(err)
		}
		sys := parse(t, c.name, string(text), nil)
		f, report := auto.Factory(sys, auto.Options{})
		res := run(t, sys, f, 1)
		vectors := run(t, sys, func() search.Expander {
			return cartesian.New(sys, cartesian.Options{})
		}, 1)
		r := report()
		if c.alone && (r.AmpleStates > 0 || res.States != vectors.States) ||
			!c.alone && (r.AmpleStates == 0 || res.States >= vectors.States) {
			t.Errorf("%s: %d states, with vectors %d; %+v", c.name, res.States, vectors.States, r)
		}
	}
}

// TestPhases: both changes are made where the system changes.
func TestPhases(t *testing.T) {
	sys := parse(t, "phases.model", phases, nil)
	for _, workers := range []int{1, 3} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			f, report := auto.Factory(sys, auto.Options{Choice: auto.Early})
			res := run(t, sys, f, workers)
			if r := report(); r.CartesianStates == 0 || workers == 1 &&
				(r.FullStates == 0 || len(r.Changes) < 2) {
				t.Errorf("%+v, %d states", r, res.States)
			}
		})
	}
}

// TestMixtures: whatever is chosen for each state, and whenever, the same local states,
// violations and deadlocks are reached as by the full search.
func TestMixtures(t *testing.T) {
	n := cmp.Or(*mixtures, sample.Of(37, 200, 1500))
	mixed, plain, sets, refused, large := 0, 0, 0, 0, 0
	for i := range n {
		seed := uint64(i)
		r := rand.New(rand.NewPCG(seed, 41))
		var sys system.System
		var err error
		switch seed % 4 {
		case 0:
			sys, err = toy.New(
				toy.Random(r, toy.Config{Threads: 2 + r.IntN(3), Nodes: 3 + r.IntN(3),
					Observer: seed%8 == 0}))
		case 1:
			sys, err = toy.New(toy.Random(r, toy.Config{Threads: 4, Nodes: 3, Cells: 2, Values: 2,
				NoSpawns: true}))
		case 2:
			sys, err = toy.New(toy.Random(r, toy.Config{Observer: true}))
		default:
			text := oracle.Generate(seed, oracle.Everything)
			if seed%8 == 3 {
				text = oracle.GenerateCounts(seed)
			}
			m, err := model.Parse("random.model", text, model.Options{})
			if err != nil {
				refused++ // such as an invariant about a thread that is never created
				continue
			}
			sys = m.System()
		}
		if err != nil {
			t.Fatal(err)
		}
		const most = 20_000
		want, res, err := oracle.Explore(sys, full.Factory(sys), 1, most)
		if err != nil {
			t.Fatal(err)
		}
		if !res.Exhaustive {
			large++
			continue
		}
		for _, c := range []struct {
			choice  auto.Choice
			workers int
			store   statestore.Kind
		}{{auto.Choice(seed%97 + 1), 1, statestore.Tree}, {auto.Choice(seed%89 + 1), 1 + r.IntN(3),
			statestore.Plain}, {auto.Early, 1, statestore.Tree},
			{auto.Early, 1 + r.IntN(3), statestore.Plain}} {
			f, report := auto.Factory(sys, auto.Options{Choice: c.choice})
			got, res, err := oracle.ExploreWith(sys, f, search.Options{
				Options: engine.Options{Workers: c.workers}, Store: c.store})
			if err != nil {
				t.Fatalf("%d: %v", seed, err)
			}
			if d := oracle.Diff(want, got); d != "" || !res.Exhaustive {
				t.Errorf("%d, %v, %d workers: %s %s", seed, c.choice, c.workers, d, res.Reason)
			}
			rep := report()
			if rep.AmpleStates > 0 {
				sets++
			}
			if rep.FullStates > 0 {
				plain++
				if rep.CartesianStates > 0 {
					mixed++
				}
			}
		}
	}
	if mixed < n/4 || sets < n/4 {
		t.Errorf("only %d of %d searches were mixtures, %d plain, %d with ample sets", mixed, 4*n,
			plain, sets)
	}
	t.Logf(
		"%d mixtures among searches of %d systems; %d were refused by the language, %d too large",
		mixed, n-refused-large, refused, large)
}
