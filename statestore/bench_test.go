package statestore

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"cpor/testkit/sample"
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

// BenchmarkSearch explores a system until it has that many states, breadth-first. An insertion
// is one move: one in a few is of a new state.
func BenchmarkSearch(b *testing.B) {
	sizes := []int{100_000, 1_000_000}
	if sample.Long() {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		for _, c := range systems {
			for _, kind := range []Kind{Tree, Plain} {
				for _, workers := range []int{1, 2, 64} {
					if workers > 1 && (n != 1_000_000 || c.words != 10) {
						continue
					}
					b.Run(fmt.Sprintf("states=%d/words=%d/%v/workers=%d", n, c.words, kind,
						workers), func(b *testing.B) {
						for range b.N {
							runtime.GC()
							st := mustNew(b, Options{Kind: kind, Workers: workers})
							start, cpu := time.Now(), cpuTime()
							_, inserts := search(b, st, c, workers, n)
							d := time.Since(start)
							cpu = cpuTime() - cpu
							states := float64(st.Len())
							b.ReportMetric(float64(d.Nanoseconds())/float64(inserts), "ns/insert")
							b.ReportMetric(float64(cpu.Nanoseconds())/float64(inserts),
								"cpu-ns/insert")
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

// BenchmarkInsert measures a store that does not grow. "load" is the Load of a
// state, "hit" an Insert of a covered state that is one move away from the one
// loaded, making the move not included. Reported is the 5th percentile of many
// short measurements, which other load on the machine disturbs little.
func BenchmarkInsert(b *testing.B) {
	for _, n := range []int{100_000, 1_000_000} {
		for _, c := range systems {
			for _, kind := range []Kind{Tree, Plain} {
				b.Run(fmt.Sprintf("states=%d/words=%d/%v", n, c.words, kind), func(b *testing.B) {
					st, refs := filled(b, kind, c, n)
					refs = refs[:n/4] // their successors are covered
					x := st.NewSession()
					var s, u []uint64
					moves := func(insert bool) func(r Ref) {
						return func(r Ref) {
							s = x.Load(r, s)
							for j := range c.threads {
								u = append(u[:0], s...)
								c.step(u, j)
								if insert {
									x.Insert(u, r)
								}
							}
						}
					}
					b.ResetTimer()
					for range b.N {
						load := percentile(refs, func(r Ref) { s = x.Load(r, s) })
						hit := (percentile(refs, moves(true)) - percentile(refs,
							moves(false))) / float64(c.threads)
						b.ReportMetric(load, "ns/load")
						b.ReportMetric(hit, "ns/hit")
						b.ReportMetric(0, "ns/op")
					}
				})
			}
		}
	}
}

// percentile calls f for refs, in groups that take a fraction of a millisecond,
// and returns the 5th percentile of the groups' mean time for a call, in ns.
func percentile(refs []Ref, f func(Ref)) float64 {
	const group = 500
	var times []float64
	for i := 0; i+group <= len(refs) && len(times) < 1000; i += group {
		start := time.Now()
		for _, r := range refs[i : i+group] {
			f(r)
		}
		times = append(times, float64(time.Since(start).Nanoseconds())/group)
	}
	slices.Sort(times)
	return times[len(times)/20]
}

// filled returns a store with about n states of a system, and their Refs in the
// order in which they were found.
func filled(b *testing.B, kind Kind, c counters, n int) (Store, []Ref) {
	st := mustNew(b, Options{Kind: kind})
	added, _ := search(b, st, c, 1, n)
	return st, added[0]
}

// BenchmarkMove moves states of a Tree store to a Whole store, and the same states from there to an
// empty Tree store.
func BenchmarkMove(b *testing.B) {
	takeOver := func(tree Store) *Whole {
		w, _, err := TakeOver(tree, Options{})
		if err != nil {
			b.Fatal(err)
		}
		return w
	}
	for _, c := range systems {
		b.Run(fmt.Sprintf("words=%d", c.words), func(b *testing.B) {
			const n = 100_000
			var there, back time.Duration
			for range b.N {
				tree, refs := filled(b, Tree, c, n)
				start := time.Now()
				takeOver(tree)
				there += time.Since(start)
				w := takeOver(mustNew(b, Options{Kind: Tree}))
				from, to := tree.NewSession(), w.NewSession()
				var s []uint64
				for _, r := range refs {
					s = from.Load(r, s)
					if _, _, err := to.Insert(s, 0); err != nil {
						b.Fatal(err)
					}
				}
				start = time.Now()
				if _, _, err := w.Return(); err != nil {
					b.Fatal(err)
				}
				back += time.Since(start)
			}
			b.ReportMetric(float64(there.Nanoseconds())/float64(b.N)/n, "there-ns/state")
			b.ReportMetric(float64(back.Nanoseconds())/float64(b.N)/n, "back-ns/state")
			b.ReportMetric(0, "ns/op")
		})
	}
}
