package stateless

import (
	"context"
	"fmt"
	"testing"

	"cpor/engine"
)

// BenchmarkSearch measures whole searches with one worker, in transitions a
// second and allocations; undo by the log and by replay. The command is
//
//	go test ./stateless -run '^$' -bench Search -benchtime 1x
func BenchmarkSearch(b *testing.B) {
	benchmarks := []struct {
		name, params string
		red          Reduction
	}{
		{"lastzero", "N=13", DPOR},
		{"readers", "N=15", DPOR},
		{"indexer", "N=16", DPOR},
		{"filesystem", "N=18", DPOR},
		{"increments", "N=8 ATOMIC=true", DPOR},
		{"increments", "N=5", DPOR},
		{"increments", "N=4", Sleep},
		{"increments", "N=4", None},
		{"filesystem", "N=2", PersistentSleep},
	}
	for _, bb := range benchmarks {
		sys := load(b, bb.name, bb.params)
		for _, undo := range []Undo{Log, Replay} {
			b.Run(fmt.Sprintf("%s/%s/%v/%v", bb.name, bb.params, bb.red, undo), func(b *testing.B) {
				b.ReportAllocs()
				var transitions, executions uint64
				for b.Loop() {
					res, err := Run(context.Background(), sys,
						Options{Options: engine.Options{Workers: 1, MaxTransitions: 2_000_000},
							Reduction: bb.red, Undo: undo})
					if err != nil {
						b.Fatal(err)
					}
					transitions += res.Transitions
					executions += res.Executions
				}
				b.ReportMetric(float64(transitions)/b.Elapsed().Seconds(), "transitions/s")
				b.ReportMetric(float64(executions)/float64(b.N), "executions/op")
				b.ReportMetric(float64(transitions)/float64(b.N), "transitions/op")
			})
		}
	}
}
