package machine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/ltl"
	"cpor/system"
)

// formulas returns a generated model with a formula, nil if it is not of use.
func formulas(seed uint64) (s *System, l *program.LTL, text string) {
	g := &generator{r: rand.New(rand.NewPCG(seed, 7)), calm: true, whole: seed%2 == 0}
	text = g.model() + "ltl p { " + g.formula(3) + " }\n"
	m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
	if err != nil {
		return nil, nil, text
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil, nil, text
	}
	if s, err = New(p, Options{Watched: true}); err != nil {
		return nil, nil, text
	}
	return s, p.LTLs[0], text
}

// TestFutureBounds takes random walks: what a process accesses was among what it might, from
// each state on in which it has been.
func TestFutureBounds(t *testing.T) {
	systems := reducible(t)
	n, walks := sample.Of(8, 8, 200), sample.Of(1, 1, 3)
	for seed := range uint64(n) {
		if s, _, _ := formulas(seed); s != nil && s.Irreducible(false) == "" && !manyWays(s) {
			systems[fmt.Sprintf("seed %d", seed)] = s
		}
	}
	accesses := 0
	for name, s := range systems {
		r := rand.New(rand.NewPCG(1, 1))
		for range walks {
			m := s.newMachine()
			m.Track(true)
			bounds := map[int][]*system.Footprint{}
			for range 40 {
				n := m.NumThreads()
				for u := range bounds {
					if u >= n {
						delete(bounds, u)
					}
				}
				type step struct {
					t   int
					alt uint64
				}
				var moves []step
				mark := m.Mark()
				for u := range n {
					if f := m.Future(u); !slices.Contains(bounds[u], f) {
						bounds[u] = append(bounds[u], f)
					}
					for alt, more, tried := uint64(0), true, 0; more && tried < 50; tried++ {
						out := m.Step(u, alt)
						for _, a := range m.Accesses() {
							accesses++
							for _, f := range bounds[u] {
								if a.Write && !f.MayWrite(a.Loc) || !a.Write && !f.MayRead(a.Loc) &&
									!f.MayWrite(a.Loc) {
									t.Fatalf("%s: process %d accesses location %d (%s), write "+
										"%v, which is not among its future\n%v", name, u, a.Loc,
										m.LocName(a.Loc), a.Write, f)
								}
							}
						}
						m.Rewind(mark)
						if out.Kind == system.Moved {
							moves = append(moves, step{u, alt})
						}
						alt, more = out.Next, out.Next != 0
					}
				}
				if len(moves) == 0 {
					break
				}
				mv := moves[r.IntN(len(moves))]
				m.Step(mv.t, mv.alt)
				if m.NumThreads() < n {
					delete(bounds, n-1) // whoever gets the number is somebody else
				}
				m.Load(m.Encode(nil))
			}
		}
	}
	if accesses < 10000 {
		t.Errorf("only %d accesses", accesses)
	}
}

// TestFormulasReduced compares the verdicts on formulas with and without reductions, and with
// weak and strong fairness, and has C1 checked by brute force.
func TestFormulasReduced(t *testing.T) {
	n := sample.Of[uint64](15, 15, 150)
	compared, smaller, held, refused := 0, 0, 0, 0
	for i := range n {
		seed := *spinFirst + i
		s, l, text := formulas(seed)
		if s == nil || s.Irreducible(true) != "" || manyWays(s) {
			refused++
			continue
		}
		fair := 0
		check := func(r temporal.Reduction, f ltl.Formula, validate bool) *temporal.Result {
			rs, err := temporal.Run(context.Background(), s, []engine.Property{
				{Name: "p", Formula: f, Text: l.Text}}, temporal.Options{
				Options:   engine.Options{Workers: 1, MaxStates: 1000, Validate: validate},
				Reduction: r, Fair: fair == 1, Strong: fair == 2})
			if err != nil {
				t.Fatalf("seed %d: %v: %v\n%s", seed, r, err, text)
			}
			return rs[0]
		}
		for _, f := range []ltl.Formula{
			l.Formula, ltl.Not(ltl.Always(ltl.Eventually(ltl.Atom(s.Accepting()))))} {
			if !f.StutterInvariant() {
				continue
			}
			for fair = range 3 {
				want := check(temporal.None, f, false)
				if want.Verdict == engine.Incomplete ||
					want.Fault != nil && want.Fault.Trace == nil {
					refused++
					break
				}
				for _, r := range []temporal.Reduction{temporal.Invisible, temporal.Transparent} {
					got := check(r, f, want.States < 60)
					compared++
					if got.Verdict != want.Verdict {
						t.Errorf("seed %d: %v, fairness %d: %v, without a reduction %v: %v\n%s",
							seed, r, fair, got.Verdict, want.Verdict, f, text)
					}
					if want.Verdict == engine.Pass {
						held++
						if got.States < want.States {
							smaller++
						}
					}
				}
			}
		}
	}
	if compared < int(n)/4 || smaller == 0 || held == 0 {
		t.Errorf("only %d runs compared, of which %d pass, %d with fewer states", compared, held,
			smaller)
	}
	t.Logf("%d runs compared, %d pass, %d of these with fewer states; %d models left out", compared,
		held, smaller, refused)
}

// TestCorpusReduced compares the verdicts on the formulas of the larger examples.
func TestCorpusReduced(t *testing.T) {
	files, err := filepath.Glob("../../../examples/promela/corpus/*.pml")
	if err != nil {
		t.Fatal(err)
	}
	limit := sample.Of[uint64](1000, 1000, 20000)
	compared, smaller := 0, 0
	for _, f := range files {
		s, err := load(t, f, Options{Watched: true})
		if err != nil || s.Irreducible(true) != "" {
			continue
		}
		for _, l := range s.prog.LTLs {
			if !l.Formula.StutterInvariant() {
				continue
			}
			var rs [3]*temporal.Result
			for r := range rs {
				list, err := temporal.Run(context.Background(), s, []engine.Property{
					{Name: l.Name, Formula: l.Formula, Text: l.Text}}, temporal.Options{
					Options:   engine.Options{Workers: 2, MaxStates: limit},
					Reduction: temporal.Reduction(r)})
				if err != nil {
					t.Fatalf("%s: %v", f, err)
				}
				if rs[r] = list[0]; rs[r].Verdict == engine.Incomplete {
					break
				}
				if rs[r].Verdict != rs[0].Verdict {
					t.Errorf("%s: %s: %v is %v, without a reduction %v", filepath.Base(f), l.Name,
						temporal.Reduction(r), rs[r].Verdict, rs[0].Verdict)
				}
				compared++
				if rs[r].States < rs[0].States {
					smaller++
				}
			}
			if rs[2] != nil {
				t.Logf("%s: %s: %d states, invisible %d, transparent %d: %v", filepath.Base(f),
					l.Name, rs[0].States, rs[1].States, rs[2].States, rs[0].Verdict)
			}
		}
	}
	if compared < 15 || smaller == 0 {
		t.Errorf("only %d runs compared, %d with fewer states", compared, smaller)
	}
}
