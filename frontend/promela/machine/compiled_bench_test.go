package machine

import (
	"os"
	"testing"

	"cpor/system"
)

// BenchmarkCompiled measures the expansion of states by machine code, without a search.
func BenchmarkCompiled(b *testing.B) {
	text, err := os.ReadFile("../../../benchmarks/promela/philosophers.pml")
	if err != nil {
		b.Fatal(err)
	}
	if f := os.Getenv("BENCHPML"); f != "" {
		text, _ = os.ReadFile(f)
	}
	p, err := parseText(string(text))
	if err != nil {
		b.Fatal(err)
	}
	sys, err := New(p, Options{})
	if err != nil {
		b.Fatal(err)
	}
	c, err := emit(sys, false).Start()
	if err != nil {
		b.Fatal(err)
	}
	x, err := c.New(make([]uint64, sys.places), func() {})
	if err != nil {
		b.Fatal(err)
	}
	states := sys.Initial()
	var n system.Successor
	for i := 0; i < len(states) && len(states) < 5000; i++ {
		x.Expand(states[i])
		for x.Next(&n) {
			if n.Kind == system.Moved && !n.Left {
				states = append(states, append(system.State(nil), n.End...))
			}
		}
	}
	steps := 0
	b.ResetTimer()
	for i := range b.N {
		x.Expand(states[i%len(states)])
		for x.Next(&n) {
			if n.Kind == system.Moved {
				steps++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(steps), "ns/step")
	b.ReportMetric(float64(steps)/float64(b.N), "steps/state")
}
