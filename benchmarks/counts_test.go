package benchmarks_test

import (
	"context"
	"testing"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
)

// counts searches a whole system and returns the counts, and how many
// self-loops of ended threads come in addition.
func counts(t *testing.T, name string, ps benchmarks.Params, por string,
	workers int) (benchmarks.Counts, uint64) {
	t.Helper()
	text, err := benchmarks.Model(name)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.Parse(name+".model", string(text), model.Options{Params: ps.Map()})
	if err != nil {
		t.Fatal(err)
	}
	sys := m.System()
	res, err := search.Run(context.Background(), sys, factory(sys, por), search.Options{
		Options: engine.Options{Workers: workers, IgnoreDeadlocks: true}})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != engine.Pass || !res.Exhaustive {
		for _, v := range res.Violations {
			t.Logf("%s: %s at %v", v.Kind, v.Message, v.Pos)
		}
		t.Fatalf("verdict %s, exhaustive %v", res.Verdict, res.Exhaustive)
	}
	c := benchmarks.Counts{States: res.States, Transitions: res.Transitions}
	if por == "cartesian" {
		c.Attempts = res.Attempts
	}
	return c, res.EndedLoops
}

func factory(sys system.System, por string) search.Factory {
	if por == "none" {
		return full.Factory(sys)
	}
	return func() search.Expander {
		return cartesian.New(sys, cartesian.Options{IgnoreDeadlocks: true})
	}
}

// TestReferenceCounts pins cpor to the reference implementation: states,
// transitions and attempts, full and cartesian, one worker and several.
func TestReferenceCounts(t *testing.T) {
	for _, r := range benchmarks.Reference() {
		for _, s := range []struct {
			por  string
			want *benchmarks.Counts
		}{{"none", r.Full}, {"cartesian", r.Cartesian}} {
			if s.want == nil || s.want.Transitions > few() && !sample.Long() {
				continue
			}
			t.Run(r.Benchmark+" "+r.Params.String()+" "+s.por, func(t *testing.T) {
				workers := []int{2}
				if s.want.Transitions < few()/10 || sample.Long() {
					workers = []int{1, 2, 8}
				}
				for _, w := range workers {
					got, ended := counts(t, r.Benchmark, r.Params, s.por, w)
					if r.EndedLoops {
						got.Transitions += ended
						if s.por == "cartesian" {
							got.Attempts += ended
						}
					}
					if got != *s.want {
						t.Errorf("%d workers: %+v, want %+v", w, got, *s.want)
					}
				}
			})
		}
	}
}

// TestPaperCounts pins what agrees with the paper: the standard column of all
// benchmarks but philosophers, whose program the paper does not print, and in
// the cartesian columns those that docs/benchmarks.md lists.
func TestPaperCounts(t *testing.T) {
	for _, r := range benchmarks.Table1() {
		if p := r.Standard; p != nil && r.Benchmark != "philosophers" &&
			(p.Transitions < few()/10 || sample.Long()) {
			t.Run(r.Benchmark+" "+r.Params.String()+" none", func(t *testing.T) {
				got, ended := counts(t, r.Benchmark, r.Params, "none", 2)
				if got.States != p.States || got.Transitions != p.Transitions &&
					got.Transitions+ended != p.Transitions {
					t.Errorf("%+v and %d self-loops of ended threads, the paper has %+v", got,
						ended, *p)
				}
			})
		}
		p := r.Cartesian
		if p == nil || p.Transitions > few()/10 && !sample.Long() {
			continue
		}
		var states, attempts bool
		switch r.Benchmark {
		case "sharedptr", "sharedarray", "cmis":
			states = true
		case "indexer":
			states, attempts = true, true
		case "filesystem":
			states = r.Params.Int("N") < 14
			attempts = states
		}
		if !states && !attempts {
			continue
		}
		t.Run(r.Benchmark+" "+r.Params.String()+" cartesian", func(t *testing.T) {
			got, _ := counts(t, r.Benchmark, r.Params, "cartesian", 2)
			if got.States != p.States || attempts && got.Attempts != p.Transitions {
				t.Errorf("%+v, the paper has %+v", got, *p)
			}
		})
	}
}

// TestPhilosophersDeadlock checks that both searches report the deadlock of the
// left-handed philosophers, and that the others have none.
func TestPhilosophersDeadlock(t *testing.T) {
	for _, name := range benchmarks.Names() {
		for _, por := range []string{"none", "cartesian"} {
			text, err := benchmarks.Model(name)
			if err != nil {
				t.Fatal(err)
			}
			ps := map[string]string{}
			switch name {
			case "indexer", "filesystem":
				ps["N"] = "3" // their defaults are large
			}
			m, err := model.Parse(name+".model", string(text), model.Options{Params: ps})
			if err != nil {
				t.Fatal(err)
			}
			sys := m.System()
			factory := func() search.Expander { return cartesian.New(sys, cartesian.Options{}) }
			if por == "none" {
				factory = full.Factory(sys)
			}
			res, err := search.Run(context.Background(), sys, factory, search.Options{
				Options: engine.Options{Workers: 2, All: true}})
			if err != nil {
				t.Fatal(err)
			}
			want := 0
			if name == "philosophers" {
				want = 1
			}
			if len(res.Violations) != want || want > 0 &&
				res.Violations[0].Kind != system.Deadlock {
				t.Errorf("%s, %s: %d violations, want %d deadlocks", name, por, len(res.Violations),
					want)
			}
		}
	}
}
