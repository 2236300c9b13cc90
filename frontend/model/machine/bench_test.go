package machine_test

import (
	"testing"

	"cpor/benchmarks"
	"cpor/frontend/model"
	"cpor/system"
)

// BenchmarkSteps measures the machine alone: every transition from states
// along an execution, each taken and rewound. Run it with
//
//	go test -run - -bench Steps ./model/machine
func BenchmarkSteps(b *testing.B) {
	for _, name := range []string{"robots", "indexer", "filesystem", "philosophers", "sharedptr",
		"cmis"} {
		b.Run(name, func(b *testing.B) { benchmarkSteps(b, name, false) })
	}
}

// BenchmarkTrackedSteps is the same with accesses and the hash.
func BenchmarkTrackedSteps(b *testing.B) {
	for _, name := range []string{"robots", "indexer", "filesystem"} {
		b.Run(name, func(b *testing.B) { benchmarkSteps(b, name, true) })
	}
}

func benchmarkSteps(b *testing.B, name string, track bool) {
	text, err := benchmarks.Model(name)
	if err != nil {
		b.Fatal(err)
	}
	mod, err := model.Parse(name+".model", string(text), model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	sys := mod.System()
	m := sys.NewMachine()
	m.Track(track)
	var states []system.State
	m.Load(sys.Initial()[0])
	for i := range 64 {
		states = append(states, m.Encode(nil))
		for k := range m.NumThreads() {
			if m.Step((i+k)%m.NumThreads(), 0).Kind == system.Moved {
				break
			}
		}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := 0; n < b.N; {
		for _, s := range states {
			m.Load(s)
			mark := m.Mark()
			for t := range m.NumThreads() {
				m.Step(t, 0)
				m.Rewind(mark)
				n++
			}
		}
	}
}
