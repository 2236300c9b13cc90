package statestore

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

// The benchmarks run with, for instance,
//
//	go test -run '^$' -bench Search -benchtime 1x ./statestore
//
// and those of ten million states with -long.

// systems are like robots: threads with a few fields each, beside shared memory
// in which they leave traces.
var systems = []counters{
	{words: 1, threads: 4, bits: 12},
	{words: 4, threads: 5, bits: 16},
	{words: 10, threads: 5, bits: 16},
	{words: 40, threads: 6, bits: 20},
}

// BenchmarkSearch explores a system until it has so many states, breadth-first.
// An insertion is one move: one in a few is of a new state.
func BenchmarkSearch(b *testing.B) {
	sizes := []int{100_000, 1_000_000}
	if *long {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		for _, c := range systems {
			for _, kind := range []Kind{Tree, Plain} {
				for _, workers := range []int{1, 2, 64} {
					if workers > 1 && (n != 1_000_000 || c.words != 10) {
						continue
					}
					b.Run(fmt.Sprintf("states=%d/words=%d/%v/workers=%d", n, c.words, kind, workers), func(b *testing.B) {
						for range b.N {
							runtime.GC()
							st := mustNew(b, Options{Kind: kind, Workers: workers})
							start, cpu := time.Now(), cpuTime()
							_, inserts := search(b, st, c, workers, n)
							d := time.Since(start)
							cpu = cpuTime() - cpu
							states := float64(st.Len())
							b.ReportMetric(float64(d.Nanoseconds())/float64(inserts), "ns/insert")
							b.ReportMetric(float64(cpu.Nanoseconds())/float64(inserts), "cpu-ns/insert")
							b.ReportMetric(float64(inserts)/states, "inserts/state")
							b.ReportMetric(float64(st.Bytes())/states, "B/state")
							b.ReportMetric(0, "ns/op")
						}
					})
				}
			}
		}
	}
}

// filled returns a store with about n states of a system, their Refs in the order
// in which they were found.
func filled(b *testing.B, kind Kind, c counters, n int) (Store, []Ref) {
	st := mustNew(b, Options{Kind: kind})
	added, _ := search(b, st, c, 1, n)
	return st, added[0]
}

// BenchmarkInsert measures a store that does not grow. An operation of "load" is
// the Load of a state; one of "load+hits" is a Load with the Inserts of the states
// that are one move away, all of them covered: from the difference, an Insert
// takes what is reported as ns/hit. BenchmarkSearch has the new states, too.
func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, c := range systems {
			for _, kind := range []Kind{Tree, Plain} {
				name := fmt.Sprintf("states=%d/words=%d/%v", n, c.words, kind)
				b.Run(name, func(b *testing.B) {
					st, refs := filled(b, kind, c, n)
					refs = refs[:n/4]
					x := st.NewSession()
					var s, u []uint64
					var load float64
					b.Run("load", func(b *testing.B) {
						cpu := cpuTime()
						for i := range b.N {
							s = x.Load(refs[i%len(refs)], s)
						}
						load = float64(cpuTime()-cpu) / float64(b.N)
						b.ReportMetric(load, "cpu-ns/op")
					})
					b.Run("load+hits", func(b *testing.B) {
						cpu := cpuTime()
						for i := range b.N {
							r := refs[i%len(refs)]
							s = x.Load(r, s)
							for j := range c.threads {
								u = append(u[:0], s...)
								c.step(u, j)
								if _, added, _ := x.Insert(u, r); added {
									b.Fatal("not covered")
								}
							}
						}
						all := float64(cpuTime()-cpu) / float64(b.N)
						b.ReportMetric((all-load)/float64(c.threads), "cpu-ns/hit")
					})
				})
			}
		}
	}
}
