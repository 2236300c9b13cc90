package model_test

import (
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/ltl"
	"cpor/model"
	"cpor/testkit/systemtest"
)

func counter(set func(x *model.Var[int8], p *model.Process)) *model.Model {
	return model.New("counter", func(b *model.Builder) {
		x := model.NewVar(b, "x", int8(0))
		done := model.NewVars(b, "done", 2, false)
		b.Processes("Worker", 2, func(p *model.Process, me int) {
			set(x, p)
			p.Step(func() { done[me].Set(true) })
		})
		b.Invariant("none is lost", func() bool {
			return !done[0].Get() || !done[1].Get() || x.Get() == 2
		})
	})
}

func lost(x *model.Var[int8], p *model.Process) {
	read := model.NewLocal(p, "read", int8(0))
	p.Step(func() { read.Set(x.Get()) })
	p.Step(func() { x.Set(read.Get() + 1) })
}

func TestCheck(t *testing.T) {
	model.Check(t, counter(func(x *model.Var[int8], p *model.Process) {
		p.Step(func() { x.Set(x.Get() + 1) })
	}))
	r, err := counter(lost).Explore(t.Context(), model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"model_test.go:22: invariant none is lost does not hold\n",
		": x.Set(read.Get() + 1) ", "local read = 0", "x = 1", "Worker[1]"} {
		if r.Verdict() != engine.Violated || !strings.Contains(r.String(), want) {
			t.Errorf("%v: no %q", r, want)
		}
	}
}

// everything uses everything that there is.
func everything(b *model.Builder) {
	type pair struct {
		a    int8
		_    int32
		wide [2]uint64
	}
	x := model.NewVar(b, "x", pair{a: -1})
	ns := model.NewVars(b, "n", 2, int64(-1))
	wide := model.NewChan[pair](b, "wide", 2)
	one := model.NewChan[bool](b, "one", 1)
	mu := model.NewMutexes(b, "mu", 2)
	b.Init(func() {
		ns[0].Set(int64(b.Choose(3)))
		b.Require(ns[0].Get() != 1)
	})
	var ps []*model.Process
	ps = append(ps, b.Processes("P", 2, func(p *model.Process, me int) {
		i := model.NewLocal(p, "i", int8(0))
		big := model.NewLocal(p, "big", pair{})
		p.Step(func() { mu[0].Lock() })
		p.Label("inside")
		p.Step(func() { big.Set(x.Get()) })
		p.Step(func() {
			v := big.Get()
			v.a++
			v.wide[1] = 1 << 63
			x.Set(v)
			mu[0].Unlock()
		})
		p.While(func() bool { return i.Get() < 2 }, func() {
			j := model.NewLocal(p, "j", false)
			p.Select(
				model.Do(func() { wide.Send(pair{a: i.Get()}) }),
				model.When(func() bool { return wide.Len() == 2 }, func() {
					v := wide.Receive()
					j.Set(v.a > 0)
				}).Then(func() { p.Step(func() { ns[me].Set(ns[me].Get() + 1) }) }))
			p.Step(func() { i.Set(i.Get() + 1) })
		})
		p.MayEnd()
		p.Step(func() {
			if p.Choose(2) == 0 {
				one.Send(true)
			} else if p.Choose(2) == 0 {
				p.Await(ns[1].Get() > 0)
			}
		})
	})...)
	b.Process("Q", func(p *model.Process) {
		p.Loop(func() {
			p.MayEnd()
			p.Step(func() {
				_, ok := wide.TryReceive()
				p.Await(ok)
				if !mu[1].TryLock() {
					mu[1].Unlock()
				}
			})
			p.Step(func() { p.Assert(x.Get().a < 1, "x is small"); one.TrySend(false) })
			p.Step(func() { one.Receive(); ns[1].Set(3) })
		})
	})
	b.Invariant("one inside", func() bool {
		return model.Count(ps[0].At("inside"), ps[1].At("inside")) <= 1
	})
	b.Never("x is twice", func() bool { return x.Get().a > 0 })
	b.Prop("p", func() bool { return mu[1].Locked() })
}

func TestEverything(t *testing.T) {
	s, err := model.New("everything", everything).System()
	if err != nil {
		t.Fatal(err)
	}
	systemtest.Conform(t, s, systemtest.Options{MaxStates: 150, Walks: 10})
	if n := systemtest.Agree(t, s, systemtest.Engines(), false, 20000, 2); n < 8 {
		t.Errorf("only %d runs were compared", n)
	}
}

// TestTemporal checks temporal properties.
func TestTemporal(t *testing.T) {
	m := model.New("lock", func(b *model.Builder) {
		mu := model.NewMutex(b, "mu")
		in := model.NewVars(b, "in", 2, false)
		b.Processes("P", 2, func(p *model.Process, me int) {
			p.Loop(func() {
				p.Step(func() { mu.Lock() })
				p.Step(func() { in[me].Set(true) })
				p.Step(func() { in[me].Set(false) })
				p.Step(func() { mu.Unlock() })
			})
		})
		b.Reachable("in", func() bool { return in[1].Get() })
		b.AlwaysReachable("out", func() bool { return !in[0].Get() && !in[1].Get() })
		if b.Bool("SERVED", false) {
			b.Eventually("served", func() bool { return in[0].Get() })
		}
		if b.Bool("BOTH", false) {
			b.Reachable("both", func() bool { return in[0].Get() && in[1].Get() })
		}
		any := b.Prop("any", func() bool { return in[0].Get() || in[1].Get() })
		b.Temporal("again and again", ltl.Always(ltl.Eventually(any)))
	})
	for _, test := range []struct {
		m    *model.Model
		want engine.Verdict
		text string
	}{{m, engine.Pass, "no violation"},
		{m.With("SERVED", true), engine.Violated, ": ltl served { <>served } does not hold\n"},
		{m.With("BOTH", true), engine.Violated, ": ltl both { EF both } does not hold\n"}} {
		r, err := test.m.Explore(t.Context(), model.Options{Fair: true})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict() != test.want || !strings.Contains(r.String(), test.text) {
			t.Errorf("want %s: %v", test.want, r)
		}
	}
}

// TestMistakes looks at the messages for models that cannot be built.
func TestMistakes(t *testing.T) {
	type body = func(b *model.Builder, x *model.Var[int8], p *model.Process)
	step := func(f body) func(*model.Builder) {
		return func(b *model.Builder) {
			x := model.NewVar(b, "x", int8(0))
			b.Process("P", func(p *model.Process) { f(b, x, p) })
		}
	}
	calls := 0
	for want, build := range map[string]func(b *model.Builder){
		"next: *int is a pointer": func(b *model.Builder) { model.NewVar[*int](b, "next", nil) },
		"whose part [i].names is a string": func(b *model.Builder) {
			model.NewVar(b, "y", [1]struct{ names string }{})
		},
		"has no process": func(b *model.Builder) {},
		"builds something else": func(b *model.Builder) {
			calls++
			b.Process(strings.Repeat("x", calls), func(p *model.Process) { p.Step(func() {}) })
		},
		"does not do the same each time": step(func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			n := int8(0)
			p.Step(func() { n++; x.Set(n) })
		}),
		"read while the model is built": step(func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			x.Get()
		}),
		"is called while the model is built": step(func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			x.Set(1)
		}),
		"a capacity of -1": func(b *model.Builder) { model.NewChan[bool](b, "c", -1) },
		"two labels a": step(func(_ *model.Builder, _ *model.Var[int8], p *model.Process) {
			p.Label("a")
			p.Label("a")
		}),
		"panic while the model is built": step(func(*model.Builder, *model.Var[int8],
			*model.Process) {
			panic("oh")
		}),
		": before the processes begin: P is in a loop without": step(
			func(_ *model.Builder, _ *model.Var[int8], p *model.Process) { p.Loop(func() {}) }),
		"Require never holds": func(b *model.Builder) {
			b.Process("P", func(p *model.Process) { p.Step(func() {}) })
			b.Init(func() { b.Require(false) })
		},
	} {
		_, err := model.New("m", build).System()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := counter(lost).With("N", 3).System(); err == nil ||
		err.Error() != "the model counter has no constant N; it has no constants" {
		t.Error(err)
	}
}

// TestText looks at how steps are shown.
func TestText(t *testing.T) {
	var want []string
	s, err := model.New("m", func(b *model.Builder) {
		x := model.NewVar(b, "x", false)
		mu := model.NewMutexes(b, "mu", 1)
		step := func(text string, add func(p *model.Process)) {
			want = append(want, text)
			b.Process("P", add)
		}
		step("x.Set(true); x.Set(false)", func(p *model.Process) {
			p.Step(func() {
				x.Set(true) // this
				x.Set(false)
			})
		})
		step("mu[0].Lock", func(p *model.Process) { p.Step(mu[0].Lock) })
		step("!x.Get()", func(p *model.Process) { p.Wait(func() bool { return !x.Get() }) })
		step("x.Get: x.Set(false)", func(p *model.Process) {
			p.When(x.Get, func() { x.Set(false) })
		})
		step("step", func(p *model.Process) { p.Step(func() {}) })
	}).System()
	if err != nil {
		t.Fatal(err)
	}
	m := s.NewMachine()
	for i := range m.NumThreads() {
		if _, text, _ := m.Next(i); text != want[i] {
			t.Errorf("%q, want %q", text, want[i])
		}
	}
}

// TestFailures looks at what becomes of a step that goes wrong.
func TestFailures(t *testing.T) {
	for want, step := range map[string]func(b *model.Builder, x *model.Var[int8], p *model.Process){
		"panic: index out of range [3] with length 2": func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			p.Step(func() { x.Set([]int8{1, 2}[x.Get()+3]) })
		},
		"assertion: small": func(_ *model.Builder, x *model.Var[int8], p *model.Process) {
			p.Step(func() { p.Assert(x.Get() > 0, "small") })
		},
		"NewLocal in a step": func(_ *model.Builder, x *model.Var[int8], p *model.Process) {
			p.Step(func() { model.NewLocal(p, "n", 0) })
		},
		"a guard or a property changes the state": func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			p.When(func() bool { x.Set(1); return true }, func() {})
		},
		"P has no label there": func(_ *model.Builder, x *model.Var[int8], p *model.Process) {
			p.Step(func() { p.Goto("there") })
		},
		"uses something shared": func(_ *model.Builder, x *model.Var[int8], p *model.Process) {
			p.Step(func() {})
			p.If(func() bool { return x.Get() == 0 }, func() { p.Step(func() {}) }, nil)
		},
		"the local variable n of P is used outside of its steps": func(b *model.Builder,
			x *model.Var[int8], p *model.Process) {
			n := model.NewLocal(p, "n", 0)
			p.Step(func() {})
			b.Invariant("i", func() bool { return n.Get() == 0 })
		},
		"unlock of mu, which nobody holds": func(b *model.Builder, x *model.Var[int8],
			p *model.Process) {
			mu := model.NewMutex(b, "mu")
			p.Step(mu.Unlock)
		},
		"P is in a loop without a step": func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			n := model.NewLocal(p, "n", int8(0))
			p.Step(func() { n.Set(1) })
			p.While(func() bool { return n.Get() == 1 }, func() {})
		},
		"nil pointer": func(_ *model.Builder, x *model.Var[int8], p *model.Process) { p.Step(nil) },
		"there must be something to choose from": func(_ *model.Builder, x *model.Var[int8],
			p *model.Process) {
			p.Step(func() { p.Choose(0) })
		},
	} {
		m := model.New("m", func(b *model.Builder) {
			x := model.NewVar(b, "x", int8(0))
			b.Process("P", func(p *model.Process) { step(b, x, p) })
		})
		for _, por := range []string{"none", "cartesian"} {
			r, err := m.Explore(t.Context(), model.Options{Reduction: por})
			if err != nil {
				t.Error(err)
				continue
			}
			if got := r.String(); !strings.Contains(got, want) ||
				!strings.Contains(got, "model_test.go:") {
				t.Errorf("%s: %v, want %s", por, r, want)
			}
		}
	}
}
