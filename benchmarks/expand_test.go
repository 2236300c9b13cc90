package benchmarks_test

import (
	"hash/maphash"
	"slices"
	"testing"
	"time"

	"cpor/benchmarks"
	"cpor/frontend"
	"cpor/system"
)

// BenchmarkExpand measures how long machine code takes to expand states of the systems, without a
// search: states as a search would meet them, and so many that they do not stay in the cache of
// predicted branches. It tells the time per transition, self-loops aside, how many transitions a
// state has, and how long it took to compile the code.
func BenchmarkExpand(b *testing.B) {
	runs := benchmarks.SystemRuns()
	for i := range runs {
		r := &runs[i]
		if r.Check != "" || !r.Measured {
			continue
		}
		for _, ending := range []string{".model", ".pml"} {
			b.Run(r.System+ending, func(b *testing.B) {
				initial, code, compiling := compiled(b, r, ending)
				benchmarkExpand(b, initial, code, compiling)
			})
		}
	}
}

// compiled returns the code of a system, and how long compiling took. It skips b if there is none.
func compiled(b *testing.B, r *benchmarks.SystemRun, ending string) (
	[]system.State, *system.Code, time.Duration) {
	options := frontend.Options{Params: r.Params.Map()}
	if ending == ".pml" {
		options.Flags = map[string]string{"semantics": "pure"}
	}
	p, err := frontend.Load("systems/"+r.System+ending, options)
	if err != nil {
		b.Fatal(err)
	}
	began := time.Now()
	code, gone := p.System.NewMachine().Capabilities().Expanding.Compiled(false)
	m := p.System.NewMachine().Capabilities().Expanding
	for code == nil && !gone {
		time.Sleep(100 * time.Microsecond)
		code, gone = m.Compiled(false)
	}
	if gone {
		b.Skip("no machine code")
	}
	return p.System.Initial(), code, time.Since(began)
}

func benchmarkExpand(b *testing.B, initial []system.State, code *system.Code,
	compiling time.Duration) {
	states := someStates(initial, code)
	steps, left := 0, 0
	var n system.Successor
	b.ResetTimer()
	for i := range b.N {
		code.Expand(states[i%len(states)])
		for code.Next(&n) {
			switch {
			case n.Left:
				left++
			case n.Kind == system.Moved:
				steps++
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(steps, 1)), "ns/step")
	b.ReportMetric(float64(steps)/float64(b.N), "steps/state")
	b.ReportMetric(float64(left)/float64(b.N), "left/state")
	b.ReportMetric(float64(compiling.Milliseconds()), "compile-ms")
	b.ReportMetric(0, "ns/op")
}

// someStates returns some of the states that code reaches from others, from all over a search in
// breadth.
func someStates(states []system.State, code *system.Code) (some []system.State) {
	const all, few = 20_000, 4096
	seen, seed := map[uint64]bool{}, maphash.MakeSeed()
	var n system.Successor
	states = slices.Clone(states)
	for i := 0; i < len(states) && len(states) < all; i++ {
		code.Expand(states[i])
		for code.Next(&n) {
			if n.Left || n.Kind != system.Moved {
				continue
			}
			if h := maphash.Comparable(seed, string(bytesOf(n.End))); !seen[h] {
				seen[h] = true
				states = append(states, slices.Clone(n.End))
			}
		}
	}
	var words system.State // one behind the other
	for i := 0; i < len(states); i += max(1, len(states)/few) {
		from := len(words)
		words = append(words, states[i]...)
		some = append(some, words[from:len(words):len(words)])
	}
	return some
}

// bytesOf returns what is in a state.
func bytesOf(s system.State) (b []byte) {
	for _, w := range s {
		for k := range 8 {
			b = append(b, byte(w>>(8*k)))
		}
	}
	return b
}
