package lockset_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/engine/cluster/fake"
	"cpor/engine/search"
	"cpor/frontend/model"
	"cpor/lockset"
	"cpor/system"
)

// onRanks searches on n ranks over an unkind network and returns the result of rank 0. The
// others have to come to the same verdict and counts.
func onRanks(t *testing.T, n int, sys system.System, w way, o search.Options) *search.Result {
	t.Helper()
	results := make([]*search.Result, n)
	err := fake.Run(n, fake.Options{Seed: uint64(n), MaxDelay: 100 * time.Microsecond}, func(rank int, c cluster.Comm) (err error) {
		o := o
		o.Ranks = c
		_, results[rank], err = lockset.Run(context.Background(), sys, w.o, w.factory, o)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if r.Verdict != results[0].Verdict || r.Exhaustive != results[0].Exhaustive || r.States != results[0].States || r.Transitions != results[0].Transitions {
			t.Errorf("rank %d: %v %v, %d states, %d transitions; rank 0: %v %v, %d, %d", i, r.Verdict, r.Exhaustive, r.States, r.Transitions,
				results[0].Verdict, results[0].Exhaustive, results[0].States, results[0].Transitions)
		}
	}
	return results[0]
}

// TestRanks holds searches that remember locks and orders on several ranks to those of one
// process: the same verdicts and violations, and where the order of the search does not
// matter, the same counts.
func TestRanks(t *testing.T) {
	seeds := uint64(40)
	switch {
	case *long:
		seeds = 3000
	case testing.Short():
		seeds = 6
	}
	compared, found, counted, again := 0, 0, 0, 0
	for seed := range seeds {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways {
			if w.c != nil && (w.c.Sleep || w.c.Persistent) {
				continue // refused: what sleeps is stored with the states
			}
			o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true, MaxStates: 20_000}
			wrapped, res, err := lockset.Run(context.Background(), sys, w.o, w.factory, search.Options{Options: o})
			if err != nil {
				t.Fatal(err)
			}
			if res.Reason != "" {
				continue // too large
			}
			// Which locations a search begins anew with depends on its order.
			anew := !w.counts && len(wrapped.Initial()[0]) > len(sys.Initial()[0])
			counts := !anew
			want := told(&res.Result, counts)
			o.MaxStates = 0
			for _, n := range []int{2, 3, 5} {
				o := search.Options{Options: o}
				if n == 3 {
					o.Disk, o.SpillEvery = filepath.Join(t.TempDir(), "disk"), max(res.States/8, 1)
				}
				if got := told(&onRanks(t, n, sys, w, o).Result, counts); got != want {
					t.Errorf("seed %d, %s, %d ranks:\n%s\nin one process\n%s", seed, w.name, n, got, want)
				}
			}
			compared++
			if len(res.Violations) > 0 {
				found++
			}
			if anew {
				again++
			}
			if counts && !w.counts {
				counted++
			}
		}
	}
	t.Logf("%d compared, %d with violations, %d begun anew, %d not", compared, found, again, counted)
	if compared < 3*int(seeds) || found < int(seeds)/2 || again < int(seeds)/2 || counted < int(seeds)/4 {
		t.Errorf("only %d compared, %d with violations, %d begun anew, %d not", compared, found, again, counted)
	}
}

// TestRanksSuspects has programs in which a variable has different locks: where these differ
// between executions it breaks no rule, and the ranks have to begin anew to see that.
func TestRanksSuspects(t *testing.T) {
	const text = `
var c, x, y int
mutex m, k
thread T() {
	if c == 0 {
		lock(m); x++; unlock(m)
		lock(k); y++; unlock(k)
	} else {
		lock(k); x++; unlock(k)
		lock(m); y++; unlock(m)
	}
}
init { c = choose(0, 1); go T(); go T() }
`
	for _, c := range []struct {
		name, text string
		verdict    engine.Verdict
	}{
		{"executions", text, engine.Pass},
		{"threads", strings.Replace(text, "if c == 0", "if choose(0, 1) == 0", 1), engine.Violated},
	} {
		m, err := model.Parse("locks.model", c.text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range ways {
			if w.o.Rule != lockset.LDPrime || w.c != nil && w.c.Sleep {
				continue
			}
			for _, all := range []bool{false, true} {
				for _, n := range []int{2, 5} {
					res := onRanks(t, n, m.System(), w, search.Options{Options: engine.Options{Workers: 2, All: all}})
					if res.Verdict != c.verdict || res.Exhaustive != (all || c.verdict == engine.Pass) {
						t.Errorf("%s, %s, %d ranks: %v, %v: %s", c.name, w.name, n, res.Verdict, res.Exhaustive, res.Reason)
					}
				}
			}
		}
	}
}

// TestRanksStop ends searches that remember locks early: all ranks end, and none calls it
// a pass, whether or not they were about to begin anew.
func TestRanksStop(t *testing.T) {
	for seed := range uint64(6) {
		sys := randomProgram(t, seed)
		if len(sys.Initial()) == 0 {
			continue
		}
		for _, w := range ways[1:4] {
			o := engine.Options{Workers: 2, All: true, MaxStates: 2}
			if res := onRanks(t, 3, sys, w, search.Options{Options: o}); res.Verdict == engine.Pass || res.Exhaustive {
				t.Errorf("seed %d, %s: %v with two states", seed, w.name, res.Verdict)
			}
			o = engine.Options{Workers: 2, All: true, Timeout: time.Nanosecond}
			if res := onRanks(t, 3, sys, w, search.Options{Options: o}); res.Verdict == engine.Pass || res.Exhaustive {
				t.Errorf("seed %d, %s: %v in no time", seed, w.name, res.Verdict)
			}
		}
	}
}
