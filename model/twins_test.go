package model_test

import (
	"testing"

	frontend "cpor/frontend/model"
	"cpor/model"
	"cpor/testkit/systemtest"
)

// TestTwins compares channels without buffers, and processes that are started, with the same in the
// model language.
func TestTwins(t *testing.T) {
	for name, test := range map[string]struct {
		text  string
		build func(b *model.Builder)
	}{
		"rendezvous": {`
var c chan int8
thread S(v int8) { c <- v; c <- v + 1 }
thread R() { v := <-c; assert(v > 0) }
init { go S(1); go R(); go R() }
`, func(b *model.Builder) {
			c := model.NewChan[int8](b, "c", 0)
			for _, v := range []int8{1} {
				b.Process("S", func(p *model.Process) {
					p.Step(func() { c.Send(v) })
					p.Step(func() { c.Send(v + 1) })
				})
			}
			b.Processes("R", 2, func(p *model.Process, _ int) {
				p.Step(func() { p.Assert(c.Receive() > 0, "positive") })
			})
		}},
		"select": {`
var a chan int8
var b chan int8
var d chan(1) int8
var x int8
thread P() {
	select {
	case a <- 1:
		x = 1
	case v := <-b:
		assert(v == 3)
	case d <- 2:
	}
}
thread Q() {
	select {
	case v := <-a:
		assert(v == 1)
	case b <- 3:
	}
}
init { go P(); go P(); go Q(); go Q() }
`, func(bu *model.Builder) {
			a, b := model.NewChan[int8](bu, "a", 0), model.NewChan[int8](bu, "b", 0)
			d, x := model.NewChan[int8](bu, "d", 1), model.NewVar(bu, "x", int8(0))
			bu.Processes("P", 2, func(p *model.Process, _ int) {
				p.Select(
					model.Do(func() { a.Send(1) }).Then(func() { p.Step(func() { x.Set(1) }) }),
					model.Do(func() { p.Assert(b.Receive() == 3, "3") }),
					model.Do(func() { d.Send(2) }))
			})
			bu.Processes("Q", 2, func(p *model.Process, _ int) {
				p.Select(
					model.Do(func() { p.Assert(a.Receive() == 1, "1") }),
					model.Do(func() { b.Send(3) }))
			})
		}},
		"spawned": {`
var x int8
thread W() { atomic { x++ }; atomic { x++ } }
thread M() { go W(); x = 0; go W(); x = 5 }
init { go M() }
`, func(b *model.Builder) {
			x := model.NewVar(b, "x", int8(0))
			w := b.Spawned("W", 2, func(p *model.Process, _ int) {
				for range 2 {
					p.Step(func() { x.Set(x.Get() + 1) })
				}
			})
			b.Process("M", func(p *model.Process) {
				p.Step(func() { p.Go(w[0]) })
				p.Step(func() { x.Set(0) })
				p.Step(func() { p.Go(w[1]) })
				p.Step(func() { x.Set(5) })
			})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := model.New(name, test.build).System()
			if err != nil {
				t.Fatal(err)
			}
			p, err := frontend.Parse(name, test.text, frontend.Options{})
			if err != nil {
				t.Fatal(err)
			}
			systemtest.Conform(t, s, systemtest.Options{MaxStates: 100, Walks: 10})
			systemtest.Agree(t, s, systemtest.Engines(), true, 20000, 2)
			e := systemtest.Engines()[0]
			a, err := e.Run(s, 1, 1e5)
			if err != nil {
				t.Fatal(err)
			}
			b, err := e.Run(p.System(), 1, 1e5)
			if err != nil {
				t.Fatal(err)
			}
			moves := func(o *systemtest.Outcome) uint64 {
				return o.Counts["transitions"] - o.Counts["blocked loops"]
			}
			if a.Verdict != b.Verdict || a.Deadlocks != b.Deadlocks ||
				a.Counts["states"] != b.Counts["states"] || moves(a) != moves(b) {
				t.Errorf("%+v, the twin %+v", a, b)
			}
		})
	}
}
