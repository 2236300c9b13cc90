package machine_test

import (
	"slices"
	"testing"

	"cpor/frontend/model"
	"cpor/system"
)

// BenchmarkRepresentatives finds representatives of reachable states: with names that have an
// order (a queue), with names that point to names (a graph), and with threads only.
func BenchmarkRepresentatives(b *testing.B) {
	for _, c := range []struct{ name, text string }{
		{"queue", `type Pid symmetric(7)
			var want [Pid]bool
			var owner Pid
			var queue chan(7) Pid
			symmetric thread Client(me Pid) {
				want[me] = true
				queue <- me
				await(owner == me)
				owner = nil
				want[me] = false
			}
			thread Server() { for range 7 { p := <-queue; owner = p; await(owner == nil) } }
			init { for p := range Pid { go Client(p) }; go Server() }`},
		{"graph", `type Pid symmetric(5)
			var next [Pid]Pid
			var r [Pid][Pid]bool
			symmetric thread W(me Pid) { p := choose(Pid); next[me] = p; q := next[p]; if q != nil { r[me][q] = true } }
			init { for p := range Pid { go W(p) } }`},
		{"threads", `var c uint8
			symmetric thread T() { for i := range 3 { v := c; if v < 9 { c = v + uint8(i) } } }
			init { for range 7 { go T() } }`},
	} {
		b.Run(c.name, func(b *testing.B) {
			m, err := model.Parse("bench.model", c.text, model.Options{})
			if err != nil {
				b.Fatal(err)
			}
			sys := m.System()
			states := reached(sys, 5000)
			sym := sys.Capabilities().Symmetric
			represent := sym.Representatives()
			var s system.State
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				s = append(s[:0], states[i%len(states)]...)
				represent(s)
			}
		})
	}
}

// reached returns the first states that a search in breadth comes to.
func reached(sys system.System, n int) []system.State {
	m := sys.NewMachine()
	known := map[string]bool{}
	var states []system.State
	add := func(s system.State) {
		b := make([]byte, 0, 8*len(s))
		for _, w := range s {
			for ; w > 0; w >>= 8 {
				b = append(b, byte(w))
			}
			b = append(b, ' ')
		}
		if !known[string(b)] {
			known[string(b)] = true
			states = append(states, slices.Clone(s))
		}
	}
	for _, s := range sys.Initial() {
		add(s)
	}
	for i := 0; i < len(states) && len(states) < n; i++ {
		m.Load(states[i])
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					add(m.Encode(nil))
				}
				m.Rewind(mark)
				alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
			}
		}
	}
	return states
}
