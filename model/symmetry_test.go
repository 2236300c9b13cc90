package model_test

import (
	"fmt"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/model"
	"cpor/system"
	"cpor/testkit/systemtest"
)

// elect lets processes ask one of each other, by number, over channels and a lock.
func elect(b *model.Builder) {
	n := b.Int("N", 3)
	inbox := model.NewChans[model.ID](b, "inbox", n, 2)
	chosen := model.NewVar(b, "chosen", model.ID(n))
	mu := model.NewMutex(b, "mu")
	own := model.NewMutexes(b, "own", n)
	done := model.NewVars(b, "done", n, false)
	loser := b.Bool("LOSER", false)
	ps := b.Processes("P", n, func(p *model.Process, me int) {
		from := model.NewLocal(p, "from", model.ID(n))
		p.Step(func() { inbox[p.Choose(n)].Send(model.ID(me)) })
		p.Step(mu.Lock)
		p.Step(func() { chosen.Set(model.ID(me)); own[me].Lock() })
		p.Step(mu.Unlock)
		p.MayEnd()
		p.Step(func() { from.Set(inbox[me].Receive()) })
		p.Step(func() {
			done[from.Get()].Set(true)
			from.Clear()
		})
	})
	if b.Bool("UNFAIR", false) {
		b.Process("Q", func(p *model.Process) { p.Step(func() { inbox[1].TrySend(0) }) })
	}
	if !b.Bool("PLAIN", false) {
		b.Symmetric(ps, model.By(inbox), model.By(done), model.By(own))
	}
	b.Never("all are done", func() bool {
		all := !loser
		for _, d := range done {
			all = all && d.Get()
		}
		return all
	})
}

// TestSymmetry counts the orbits of all states, and compares with the search that stores one of
// each. Verdicts are those without symmetry.
func TestSymmetry(t *testing.T) {
	for _, loser := range []bool{true, false} {
		m := model.New("elect", elect).With("LOSER", loser)
		plain, err := m.With("PLAIN", true).Explore(t.Context(), model.Options{
			Reduction: "none", All: true})
		if err != nil {
			t.Fatal(err)
		}
		r, err := m.Explore(t.Context(), model.Options{Reduction: "none", All: true})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.System()
		if err != nil {
			t.Fatal(err)
		}
		if want := orbits(s); r.Search.States != uint64(want) || r.Verdict() != plain.Verdict() {
			t.Errorf("%s, %d states, want %d; without symmetry %s, %d", r.Verdict(),
				r.Search.States, want, plain.Verdict(), plain.Search.States)
		}
		if 3*r.Search.States > plain.Search.States {
			t.Errorf("%d states instead of %d", r.Search.States, plain.Search.States)
		}
		if por, err := m.Explore(t.Context(), model.Options{}); err != nil ||
			por.Verdict() != plain.Verdict() {
			t.Errorf("cartesian: %v, %v", por, err)
		}
		systemtest.Conform(t, s, systemtest.Options{MaxStates: 30, Walks: 3})
	}
	r, err := model.New("elect", elect).Explore(t.Context(), model.Options{Reduction: "none"})
	if err != nil || r.Verdict() != engine.Violated {
		t.Error(r, err)
	}
}

// orbits returns how many representatives the reachable states have.
func orbits(s *model.System) int {
	seen, kept := map[string]bool{}, map[string]bool{}
	least := s.Representatives()
	m := s.NewMachine()
	queue := s.Initial()
	visit := func(state system.State) {
		if k := fmt.Sprint(state); !seen[k] {
			seen[k] = true
			queue = append(queue, append(system.State(nil), state...))
			least(state)
			kept[fmt.Sprint(state)] = true
		}
	}
	for _, i := range s.Initial() {
		visit(i)
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				m.Load(state)
				out := m.Step(t, alt)
				visit(m.Encode(nil))
				alt, more = out.Next, out.Next != 0
			}
		}
	}
	return len(kept)
}

func TestAsymmetry(t *testing.T) {
	_, err := model.New("elect", elect).With("UNFAIR", true).System()
	if err == nil || !strings.Contains(err.Error(), "cannot be exchanged") {
		t.Error(err)
	}
	for want, build := range map[string]func(b *model.Builder){
		"takes 2 to 6": func(b *model.Builder) {
			b.Symmetric(b.Processes("P", 7, func(p *model.Process, _ int) { p.Step(func() {}) }))
		},
		"has other steps": func(b *model.Builder) {
			b.Symmetric(b.Processes("P", 2, func(p *model.Process, me int) {
				for range me + 1 {
					p.Step(func() {})
				}
			}))
		},
		"an array of 3 for 2": func(b *model.Builder) {
			x := model.NewVars(b, "x", 3, false)
			b.Symmetric(b.Processes("P", 2, func(p *model.Process, _ int) { p.Step(func() {}) }),
				model.By(x))
		},
	} {
		if _, err := model.New("m", build).System(); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
