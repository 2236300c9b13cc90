package machine_test

import (
	"testing"

	"cpor/benchmarks"
	"cpor/frontend/model"
)

// BenchmarkFutures measures what it costs a new machine to bound the futures of
// all threads in a hundred states, and BenchmarkConflicts the analysis
// of the whole program, before the first answer.
func BenchmarkFutures(b *testing.B) {
	for _, name := range []string{"philosophers", "robots", "indexer", "filesystem", "cmis"} {
		b.Run(name, func(b *testing.B) {
			sys := parsed(b, name).System()
			states := sys.Initial()[:1]
			for m, i := sys.NewMachine(), 0; i < len(states) && len(states) < 100; i++ {
				for t := range m.NumThreads() {
					m.Load(states[i])
					m.Step(t, 0)
					states = append(states, m.Encode(nil))
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				m := sys.NewMachine()
				f := m.Capabilities().Futures
				for _, s := range states {
					m.Load(s)
					for t := range m.NumThreads() {
						f.Future(t)
					}
				}
			}
		})
	}
}

func BenchmarkConflicts(b *testing.B) {
	for _, name := range []string{"philosophers", "robots", "indexer", "filesystem"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m := parsed(b, name).System().NewMachine()
				c := m.Capabilities().Temporal
				c.Conflicts(0, nil, 1)
			}
		})
	}
}

func parsed(b *testing.B, name string) *model.Model {
	text, err := benchmarks.FS.ReadFile(name + ".model")
	if err != nil {
		b.Fatal(err)
	}
	m, err := model.Parse(name+".model", string(text), model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	return m
}
