package composed_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/frontend/model"
	"cpor/testkit/fakeranks"
	"cpor/testkit/oracle"
)

// TestRanks holds composed transitions on ranks, without a check of the discipline, to one
// process: the same states, transitions and violations, and as many moves cut off.
func TestRanks(t *testing.T) {
	seeds := sample.Of[uint64](3, 4, 60)
	compared, cut := 0, 0
	for seed := range seeds {
		text := oracle.GenerateLocks(seed, configs[seed%uint64(len(configs))])
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil && strings.Contains(err.Error(), "init") {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		for _, opts := range variants {
			explore := func(ranks engine.Comm, most uint64) (*search.Result, uint64, error) {
				opts := opts
				opts.Cuts = new(atomic.Uint64)
				f, err := composed.Factory(m.System(), opts)
				if err != nil {
					return nil, 0, err
				}
				o := engine.Options{Workers: 2, All: true, MaxViolations: 1000, KeepTraces: true,
					MaxStates: most, Ranks: ranks}
				res, err := search.Run(context.Background(), m.System(), f, search.Options{
					Options: o, Counts: []*atomic.Uint64{opts.Cuts}})
				return res, opts.Cuts.Load(), err
			}
			want, cuts, err := explore(nil, maxStates)
			if err != nil {
				t.Fatal(err)
			}
			if !want.Exhaustive {
				continue
			}
			for _, n := range []int{2, 5} {
				results, all := make([]*search.Result, n), make([]uint64, n)
				err := fakeranks.Run(n, fakeranks.Options{
					Seed: seed, MaxDelay: 100 * time.Microsecond},
					func(rank int, c engine.Comm) (err error) {
						results[rank], all[rank], err = explore(c, 0)
						return err
					})
				if err != nil {
					t.Fatal(err)
				}
				for rank, got := range results {
					if got.Verdict != want.Verdict || !got.Exhaustive ||
						got.States != want.States || got.Transitions != want.Transitions {
						t.Errorf("seed %d, %+v, rank %d of %d: %v %v, %d states, %d transitions; "+
							"in one process %v, %d, %d", seed, opts, rank, n,
							got.Verdict, got.Exhaustive, got.States, got.Transitions, want.Verdict,
							want.States, want.Transitions)
					}
					// With violations, one process has executed moves again for their traces.
					if len(want.Violations) == 0 && all[rank] != cuts {
						t.Errorf("seed %d, %+v, rank %d of %d: %d moves cut, in one process %d",
							seed, opts, rank, n, all[rank], cuts)
					}
				}
				if len(results[0].Violations) != len(want.Violations) {
					t.Errorf("seed %d, %+v, %d ranks: %d violations, in one process %d", seed, opts,
						n, len(results[0].Violations), len(want.Violations))
				}
			}
			compared++
			if cuts > 0 && len(want.Violations) == 0 {
				cut++
			}
		}
	}
	t.Logf("%d compared, %d with moves cut off", compared, cut)
	if compared < int(seeds) || cut < int(seeds)/8 {
		t.Errorf("only %d compared, %d with moves cut off", compared, cut)
	}
}
