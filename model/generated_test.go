package model_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/portfolio"
	"cpor/engine/temporal"
	"cpor/ltl"
	"cpor/model"
	"cpor/system"
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

// generated is a random model whose variables have three values. With loops, its executions need
// not end.
func generated(seed uint64, loops bool) *model.Model {
	return model.New(fmt.Sprint("generated", seed), func(b *model.Builder) {
		g := &generator{Rand: rand.New(rand.NewPCG(seed, 7)), b: b}
		g.xs = model.NewVars(b, "x", 2+g.IntN(2), int8(0))
		for i := range 1 + g.IntN(2) {
			g.cs = append(g.cs, model.NewChan[int8](b, fmt.Sprint("c", i), g.IntN(3)))
		}
		g.mu = model.NewMutex(b, "mu")
		if g.IntN(4) == 0 {
			b.Init(func() { g.xs[0].Set(int8(b.Choose(2))) })
		}
		if g.IntN(3) == 0 {
			g.spawned = b.Spawned("S", 1+g.IntN(2), func(p *model.Process, me int) {
				g.process(p, false)
			})
		}
		ps := b.Processes("P", 2+g.IntN(2), func(p *model.Process, me int) {
			g.process(p, loops && g.IntN(2) == 0)
			if len(g.spawned) > 0 && g.IntN(2) == 0 {
				p.Step(func() { p.Go(g.spawned[0]) })
			}
		})
		x, y := g.x(), g.x()
		v, w := g.value(), g.value()
		b.Prop("a", func() bool { return x.Get() == v })
		b.Prop("b", func() bool { return x.Get() == w || y.Get() == w })
		switch g.IntN(4) {
		case 0:
			b.Never("both", func() bool { return x.Get() == v && y.Get() == w })
		case 1:
			b.Never("at", func() bool { return ps[0].At("middle") && x.Get() == v })
		}
	})
}

type generator struct {
	*rand.Rand
	b  *model.Builder
	xs []*model.Var[int8]
	cs []*model.Chan[int8]
	mu *model.Mutex

	spawned []*model.Process
}

func (g *generator) x() *model.Var[int8] { return g.xs[g.IntN(len(g.xs))] }

func (g *generator) value() int8 { return int8(g.IntN(3)) }

func (g *generator) process(p *model.Process, loop bool) {
	l := model.NewLocal(p, "l", int8(0))
	steps := func() {
		half := g.IntN(3)
		for i := range 3 {
			if i == half {
				p.Label("middle")
			}
			if g.IntN(5) == 0 {
				p.MayEnd()
			}
			g.step(p, l)
		}
	}
	if !loop {
		steps()
		return
	}
	p.Loop(steps)
}

func (g *generator) step(p *model.Process, l *model.Local[int8]) {
	x, y, z, v, w := g.x(), g.x(), g.x(), g.value(), g.value()
	c, d := g.cs[g.IntN(len(g.cs))], g.cs[g.IntN(len(g.cs))]
	plain := []func(){
		func() { x.Set((y.Get() + 1) % 3) },
		func() { l.Set(x.Get()) },
		func() { x.Set(l.Get()) },
		func() { x.Set(v) },
		func() { c.Send(v) },
		func() { c.Send(l.Get()) },
		func() { l.Set(c.Receive()) },
		func() { x.Set(c.Receive()) },
		func() { c.TrySend(v) },
		func() {
			if u, ok := c.TryReceive(); ok {
				l.Set(u)
			}
		},
		func() { x.Set(int8(c.Len())) },
		func() { l.Set(int8(p.Choose(2))) },
		func() {
			if x.Get() == v && y.Get() == w { // seldom
				z.Set(1)
			}
		},
		func() {
			if l.Get() == v {
				p.Goto("middle")
			}
		},
		func() { p.Assert(x.Get() != v || y.Get() != w, "not both") },
		func() { l.Set(c.Receive()); x.Set(l.Get()) },
		func() {
			if c != d {
				c.Send(d.Receive())
			}
		},
	}
	if len(g.spawned) > 0 && g.IntN(4) == 0 {
		s := g.spawned[len(g.spawned)-1]
		plain = append(plain, func() { p.Go(s) }, func() { p.Go(s) })
	}
	body, other := plain[g.IntN(len(plain))], plain[g.IntN(len(plain))]
	switch g.IntN(6) {
	case 0:
		p.Step(func() { g.mu.Lock() })
		p.Step(func() { x.Set(v) })
		p.Step(func() { g.mu.Unlock() })
	case 1:
		p.When(func() bool { return x.Get() != v }, body)
	case 2:
		p.Select(model.Do(body), model.When(func() bool { return y.Get() == w }, other))
	default:
		p.Step(body)
	}
}

// few lets samples show little of most models, so that searches begin again.
func few(seed uint64) (restore func()) {
	if seed%3 == 0 {
		return func() {}
	}
	return model.Samples(1+int(seed%5), 3, int(seed%7))
}

// TestGenerated compares every engine on random models. If an engine has covered one, the model
// must not do anything beyond the bounds that the engine relied on.
func TestGenerated(t *testing.T) {
	compared, voided := 0, uint64(0)
	n := sample.Of[uint64](2, 3, 24)
	for seed := range n {
		loops := seed%2 == 0
		restore := few(seed)
		s, err := generated(seed, loops).System()
		if err != nil {
			t.Fatal(seed, err)
		}
		engines := systemtest.Engines()
		for i := range engines {
			e := engines[i]
			engines[i].Run = func(sys system.System, workers int, limit uint64) (
				*systemtest.Outcome, error) {
				s.Forget()
				out, err := e.Run(sys, workers, limit)
				voided += s.Voided()
				// In a portfolio, the unfolding can be first, which relies on none.
				if err == nil && out.Verdict != engine.Incomplete &&
					!strings.HasPrefix(e.Name, portfolio.Mode+" ") && s.Beyond(false) {
					t.Errorf("%s, %d workers: what was pruned does more", e.Name, workers)
				}
				return out, err
			}
		}
		systemtest.Conform(t, s, systemtest.Options{MaxStates: 30, Walks: 2, Seed: seed})
		compared += systemtest.Agree(t, s, engines, !loops, 3000, 1, 2)
		restore()
		if t.Failed() {
			t.Fatalf("model %d", seed)
		}
	}
	if compared < 10*int(n) || voided == 0 {
		t.Errorf("only %d runs were compared, and %d were void", compared, voided)
	}
}

// TestGeneratedFormulas compares the checks of temporal properties with and without reduction.
func TestGeneratedFormulas(t *testing.T) {
	a, b := ltl.Atom("a"), ltl.Atom("b")
	formulas := []ltl.Formula{ltl.Always(ltl.Not(a)), ltl.Eventually(b),
		ltl.Always(ltl.Implies(a, ltl.Eventually(b))), ltl.Always(ltl.Eventually(a)),
		ltl.Until(ltl.Not(b), a), ltl.Eventually(ltl.Always(b))}
	verdicts := map[engine.Verdict]int{}
	for seed := range sample.Of[uint64](3, 6, 100) {
		restore := few(seed)
		s, err := generated(seed, true).System()
		if err != nil {
			t.Fatal(seed, err)
		}
		f := formulas[seed%uint64(len(formulas))]
		for _, fair := range []string{"", "fair", "strong-fair"} {
			verdict := map[string]engine.Verdict{}
			for _, r := range []temporal.Reduction{temporal.None, temporal.Invisible,
				temporal.Transparent} {
				s.Forget()
				v := checked(t, s, r.String(), fair, f)
				if verdict[r.String()] = v; v == engine.Pass && s.Beyond(true) {
					t.Errorf("model %d, %v %s: %s: what was pruned does more", seed, f, fair, r)
				}
			}
			verdicts[verdict["none"]]++
			for r, v := range verdict {
				if v != verdict["none"] {
					t.Fatalf("model %d, %v %s: %s: %s, none: %s", seed, f, fair, r, v,
						verdict["none"])
				}
			}
		}
		restore()
	}
	if verdicts[engine.Pass] == 0 || verdicts[engine.Violated] == 0 {
		t.Error(verdicts)
	}
}

func checked(t *testing.T, s *model.System, reduction, fair string, f ltl.Formula) engine.Verdict {
	e, err := engine.Lookup(temporal.Mode, reduction)
	if err != nil {
		t.Fatal(err)
	}
	task := &engine.Task{System: s, Flags: new(engine.Values), Properties: []engine.Property{{
		Name: "f", Formula: f, Predicates: []engine.Predicate{{Prop: "a", Atoms: []string{"a"}},
			{Prop: "b", Atoms: []string{"b"}}}}}}
	task.Workers = 2
	for _, flag := range e.Flags {
		if flag.About().Name == fair {
			if err := task.Flags.Set(flag, "true"); err != nil {
				t.Fatal(err)
			}
		}
	}
	res, err := e.Run(context.Background(), task)
	if err != nil {
		t.Fatal(err)
	}
	return res.Verdict
}
