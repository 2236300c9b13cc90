package temporal_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
	"cpor/testkit/resumetest"
)

// summary is what a check says of its properties, however often it was interrupted.
// counts says that all numbers are promised, also where a property is violated.
func summary(rs []*temporal.Result, exact, counts bool) string {
	var b strings.Builder
	for _, r := range rs {
		fmt.Fprintf(&b, "%s: %s (%s)", r.Property.Name, r.Verdict, r.Reason)
		if x := r.Counterexample; x != nil {
			fmt.Fprintf(&b, ", %v, %d: %v %v", x.Part, x.Initial, x.Stem, x.Loop)
		}
		if exact && (counts || r.Verdict == engine.Pass) {
			fmt.Fprintf(&b, ", %d states, %d transitions, %d reduced, automaton %d", r.States,
				r.Transitions, r.Reduced, r.Automaton)
			if f := r.Fault; f != nil {
				fmt.Fprintf(&b, ", %v", f.Violation)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// vacuous tells which parts do not matter. That is left out if an interruption comes meanwhile.
func vacuous(got, want []*temporal.Result) (g, w []string) {
	for i := range min(len(got), len(want)) {
		if len(got[i].Vacuous) > 0 {
			g, w = append(g, got[i].Vacuous...), append(w, want[i].Vacuous...)
		}
	}
	return g, w
}

// TestResume interrupts checks of random programs again and again, while they keep
// checkpoints every few microseconds: the result is that of a check that was never
// interrupted, with one worker in every number and step, with other numbers of workers in
// all that does not depend on their timing.
func TestResume(t *testing.T) {
	seeds := sample.Of[uint64](3, 4, 32)
	interrupted, checked := 0, 0
	for seed := uint64(0); seed < seeds; seed++ {
		text := oracle.Generate(seed, configs[seed%4])
		r := rand.New(rand.NewPCG(seed, 6))
		atoms := atomsFor(text)
		for i := range 3 {
			text += fmt.Sprintf("\nltl prop%d { %s }\n", i, randomFormula(r, atoms, 1+r.IntN(3)))
		}
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil {
			continue // TestRandomPrograms looks at why
		}
		sys, props := m.System(), properties(m)
		if _, ok := oracle.NewGraph(sys, 4000); !ok {
			continue
		}
		checked++
		for _, o := range []temporal.Options{
			{}, {Reduction: temporal.Invisible}, {Reduction: temporal.Transparent}, {Fair: true},
			{Strong: true},
		} {
			for _, most := range []int{0, 4} {
				limits := r.IntN(2) == 0
				o.Options = engine.Options{Workers: 1}
				want, err := temporal.Run(context.Background(), sys, props, o)
				if err != nil {
					t.Fatal(err)
				}
				limit, states := uint64(0), 0
				for _, w := range want {
					states = max(states, w.States)
				}
				c := resumetest.Chain{R: r, Options: o.Options, Workers: most,
					Limit: func(e *engine.Options) {
						limit += 1 + r.Uint64N(1+uint64(states)/2)
						if limits {
							e.MaxStates = limit
						}
					}}
				var got []*temporal.Result
				c.Run = func(ctx context.Context, e engine.Options) (*engine.Result, error) {
					o := o
					o.Options = e
					if got, err = temporal.Run(ctx, sys, props, o); err != nil {
						return nil, fmt.Errorf("%w\n%s", err, text)
					}
					out := &engine.Result{Verdict: engine.Incomplete}
					for _, g := range got {
						if strings.Contains(g.Reason, "limit") || strings.Contains(g.Reason,
							"interrupted") || strings.Contains(g.Reason, "time-out") {
							out.Reason = g.Reason
						}
					}
					return out, nil
				}
				interrupted += c.Explore(t)
				exact := most == 0 || o.Reduction == temporal.None
				if g, w := summary(got, exact, most == 0 && !limits),
					summary(want, exact, most == 0 && !limits); g != w {
					t.Errorf("seed %d, %v, fair %v, strongly %v, %d workers: "+
						"interrupted:\n%swant\n%s", seed, o.Reduction, o.Fair, o.Strong, most, g, w)
				}
				if g, w := vacuous(got, want); !slices.Equal(g, w) {
					t.Errorf("seed %d: interrupted, %v are vacuous, want %v", seed, g, w)
				}
			}
		}
	}
	t.Logf("%d programs, %d interruptions", checked, interrupted)
	if checked < int(seeds)/4 || interrupted < 8*checked {
		t.Errorf("%d programs and %d interruptions are too few", checked, interrupted)
	}
}

// TestResumeDamage gives a check what was cut off: it refuses it.
func TestResumeDamage(t *testing.T) {
	m := knownModels[0].load(t)
	for _, strong := range []bool{false, true} {
		o := temporal.Options{Options: engine.Options{Workers: 1, MaxStates: 10}, Strong: strong}
		var file []byte
		o.Checkpoint = resumetest.Last(t, &file)
		props := properties(m)[:1]
		if _, err := temporal.Run(context.Background(), m.System(), props, o); err != nil ||
			file == nil {
			t.Fatal(err)
		}
		o.MaxStates = 0
		resume := func(from io.Reader) error {
			o.Checkpoint.From = from
			_, err := temporal.Run(context.Background(), m.System(), props, o)
			return err
		}
		resumetest.Refuses(t, file, resume)
		props = properties(m)[1:2]
		var wrong *engine.OptionError
		if err := resume(bytes.NewReader(file)); !errors.As(err, &wrong) {
			t.Errorf("another formula: %v", err)
		}
	}
}

// TestReason demands that no limit leaves a result incomplete without a reason, even if a further
// search for the same property is complete.
func TestReason(t *testing.T) {
	incomplete := 0
	for seed := range sample.Of[uint64](4, 4, 32) {
		text := oracle.Generate(seed, configs[seed%4])
		r := rand.New(rand.NewPCG(seed, 6))
		atoms := atomsFor(text)
		for i := range 3 {
			text += fmt.Sprintf("\nltl prop%d { %s }\n", i, randomFormula(r, atoms, 1+r.IntN(3)))
		}
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil {
			continue
		}
		for limit := uint64(1); limit < 12; limit++ {
			o := temporal.Options{Reduction: temporal.Transparent,
				Options: engine.Options{Workers: 1, MaxStates: limit}}
			rs, err := temporal.Run(t.Context(), m.System(), properties(m), o)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rs {
				if r.Verdict == engine.Incomplete {
					incomplete++
				}
				if (r.Verdict == engine.Incomplete) != (r.Reason != "") {
					t.Errorf("seed %d, at most %d states: %v (%q)", seed, limit, r.Verdict,
						r.Reason)
				}
			}
		}
	}
	if incomplete == 0 {
		t.Error("no limit was reached")
	}
}
