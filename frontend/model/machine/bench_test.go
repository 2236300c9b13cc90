package machine_test

import (
	"fmt"
	"runtime"
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
	sys, states := benchmarkStates(b, name)
	m := sys.NewMachine()
	m.Track(track)
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

// benchmarkStates returns states along an execution.
func benchmarkStates(b *testing.B, name string) (sys system.System, states []system.State) {
	text, err := benchmarks.Model(name)
	if err != nil {
		b.Fatal(err)
	}
	mod, err := model.Parse(name+".model", string(text), model.Options{})
	if err != nil {
		b.Fatal(err)
	}
	sys = mod.System()
	m := sys.NewMachine()
	m.Load(sys.Initial()[0])
	for i := range 64 {
		states = append(states, m.Encode(nil))
		for k := range m.NumThreads() {
			if m.Step((i+k)%m.NumThreads(), 0).Kind == system.Moved {
				break
			}
		}
	}
	return sys, states
}

// machineCode waits for the code of a machine that records accesses.
func machineCode(tb testing.TB, m system.Machine) *system.Code {
	for {
		code, gone := m.Capabilities().Expanding.Compiled(true)
		if gone {
			tb.Skip("no machine code")
		}
		if code != nil {
			return code
		}
		runtime.Gosched()
	}
}

// BenchmarkCompiledSteps measures machine code that records accesses: the first step of each
// thread, and with ahead those that follow it, in the same states as BenchmarkTrackedSteps.
func BenchmarkCompiledSteps(b *testing.B) {
	for _, name := range []string{"robots", "indexer", "filesystem"} {
		for _, ahead := range []uint16{0, 4} {
			b.Run(fmt.Sprintf("%s/ahead=%d", name, ahead), func(b *testing.B) {
				benchmarkCompiledSteps(b, name, ahead)
			})
		}
	}
}

func benchmarkCompiledSteps(b *testing.B, name string, ahead uint16) {
	sys, states := benchmarkStates(b, name)
	code := machineCode(b, sys.NewMachine())
	for t := range code.Ahead {
		code.Ahead[t] = ahead
	}
	b.ReportAllocs()
	b.ResetTimer()
	var next system.Successor
	for n := 0; n < b.N; {
		for _, s := range states {
			code.Expand(s)
			for code.Next(&next) {
				n++
			}
		}
	}
}
