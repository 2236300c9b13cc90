package unfolding

import (
	"runtime"
	"testing"

	"cpor/system"
)

// BenchmarkPrefix builds prefixes. B/event is what the prefix and what was
// learnt of the program occupy when it is done.
func BenchmarkPrefix(b *testing.B) {
	for _, c := range []struct {
		name, model string
		params      []string
	}{
		{"philosophers/50", "philosophers", []string{"N=50"}},
		{"indexer/24", "indexer", []string{"N=24"}},
		{"robots/3", "robots", []string{"R=3", "N=40"}},
		{"sharedptr", "sharedptr", nil},
		{"cmis/128", "cmis", []string{"C=8", "N=128"}},
		{"sharedarray", "sharedarray", nil},
	} {
		b.Run(c.name, func(b *testing.B) {
			sys := benchmark(b, c.model, c.params...)
			var before, after runtime.MemStats
			var x *builder
			events := 0
			for b.Loop() {
				x = nil
				runtime.GC()
				runtime.ReadMemStats(&before)
				x, _ = newBuilder(sys, runtime.GOMAXPROCS(0))
				x.build()
				events += int(x.events.n)
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/float64(x.events.n), "B/event")
		})
	}
}

// BenchmarkDeadlocks looks for all deadlocks of a finished prefix.
func BenchmarkDeadlocks(b *testing.B) {
	for _, n := range []string{"N=10", "N=20", "N=40"} {
		b.Run(n, func(b *testing.B) {
			sys := benchmark(b, "philosophers", n)
			x, _ := newBuilder(sys, 1)
			x.build()
			obs := system.ObserversOf(sys)
			for b.Loop() {
				x.workers[0].searchDeadlocks(&obs, func(*config) bool { return true })
			}
		})
	}
}
