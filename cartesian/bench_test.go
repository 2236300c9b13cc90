package cartesian

import (
	"fmt"
	"testing"

	"cpor/engine/search"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// null receives moves and drops them.
type null struct{ moves int }

func (n *null) Move(*search.Move)                          { n.moves++ }
func (n *null) Violation(*system.Violation, []search.Step) {}

// counters is a program whose threads count to n, each in cells of its own,
// and read a shared cell on the way: one vector has threads*n transitions.
func counters(threads, n int64) *toy.Program {
	p := toy.NewProgram()
	shared := p.Scalar("shared", 1)
	cells := p.Array("cells", make([]int64, threads*4)...)
	cell := add(mul(reg(0), num(4)), mod(reg(1), num(4)))
	p.Thread("T", 2,
		toy.Atomic(
			toy.Store(cells, cell, add(toy.Load(cells, cell), toy.Load(shared, nil))),
			toy.Set(1, add(reg(1), num(1))),
			toy.If(toy.Bin("<", reg(1), num(n)), toy.Goto(0)),
		),
	)
	for t := range threads {
		p.Start("T", t)
	}
	return p
}

// TestNoAllocations: no allocation in the steady state.
func TestNoAllocations(t *testing.T) {
	for name, p := range map[string]*toy.Program{
		"counters": counters(3, 100), "philosophers": philosophers(5), "indexer": indexer(12),
		"robots": robots(3),
	} {
		sys := build(t, p)
		e := New(sys, Options{})
		var states []system.State
		x := &explorer{limit: 20, onMove: func(s system.State, _ *search.Move) {
			states = append(states, s)
		}}
		x.run(sys, e)
		var v null
		all := func() {
			for _, s := range states {
				e.Expand(s, &v)
			}
		}
		all() // the buffers have their lengths now
		if n := testing.AllocsPerRun(3, all); n > 0 {
			t.Errorf("%s: %v allocations for %d states", name, n, len(states))
		}
	}
}

// stepCounter counts the steps of all machines of a system.
type stepCounter struct {
	system.Machine
	steps *int
}

// Capabilities implements system.Machine: those of the wrapped one.
func (c stepCounter) Capabilities() system.MachineCapabilities {
	return c.Machine.Capabilities()
}

func (c stepCounter) Step(t int, alt uint64) system.Outcome {
	*c.steps++
	return c.Machine.Step(t, alt)
}

// TestLinearSteps: the steps that a vector costs grow with its length, and not
// faster: each transition is taken once, but for the first and the last of a
// prefix and the confirmation of a cycle, which goes over the prefix once more.
func TestLinearSteps(t *testing.T) {
	for _, loop := range []bool{false, true} {
		for n := int64(10); n <= 10_000; n *= 10 {
			p := counters(4, n)
			if loop { // after n transitions each
				p = toy.NewProgram()
				p.Thread("T", 1, toy.Atomic(toy.Set(0, mod(add(reg(0), num(1)), num(n))),
					toy.Goto(0)))
				for range 4 {
					p.Start("T")
				}
			}
			steps := 0
			sys := wrapped{build(t, p), func(m system.Machine) system.Machine {
				return stepCounter{m, &steps}
			}}
			e := New(sys, Options{})
			e.Expand(sys.Initial()[0], &null{})
			length := int(e.counters.Transitions)
			if length != int(4*n) || steps > 2*length+3*4 {
				t.Errorf("loop %v, n %d: %d steps for %d transitions", loop, n, steps, length)
			}
		}
	}
}

// BenchmarkVector shows that a vector costs time linear in its length, ns/transition
// being the same in all rows:
//
//	go test ./cartesian -run - -bench Vector
func BenchmarkVector(b *testing.B) {
	for _, threads := range []int64{2, 16} {
		for n := int64(10); n <= 100_000; n *= 10 {
			b.Run(fmt.Sprintf("threads=%d/length=%d", threads, threads*n),
				func(b *testing.B) {
					sys := build(b, counters(threads, n))
					e := New(sys, Options{})
					s := sys.Initial()[0]
					var v null
					for b.Loop() {
						e.Expand(s, &v)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(
						e.counters.Transitions), "ns/transition")
				})
		}
	}
}

// BenchmarkContention has all threads write one cell after reading it n times:
// prefixes end, and the lists of a location are long.
func BenchmarkContention(b *testing.B) {
	for _, threads := range []int64{4, 16, 64, 256} {
		b.Run(fmt.Sprintf("threads=%d", threads), func(b *testing.B) {
			p := toy.NewProgram()
			x := p.Scalar("x", 0)
			p.Thread("T", 2, toy.Choose(1, 0, 7, toy.Set(0, toy.Load(x, nil))),
				toy.Atomic(toy.Store(x, nil, num(1))))
			for range threads {
				p.Start("T")
			}
			sys := build(b, p)
			e := New(sys, Options{})
			s := sys.Initial()[0]
			var v null
			for b.Loop() {
				e.Expand(s, &v)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(e.counters.Attempts),
				"ns/attempt")
		})
	}
}
