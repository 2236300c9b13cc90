package temporal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"cpor/engine"
	"cpor/internal/human"
	"cpor/ltl"
	"cpor/ltl/buchi"
	"cpor/system"
	"cpor/trace"
)

// Mode is the name of the checks of temporal properties.
const Mode = "ltl"

var fair = &engine.FlagOf[bool]{
	FlagInfo: engine.FlagInfo{Name: "fair", Bool: true, Group: "What is searched:",
		Usage: "with -ltl: only weakly fair executions count, in which no thread that stays " +
			"enabled is ignored forever"},
	Parse: engine.ParseBool,
}

var strong = &engine.FlagOf[bool]{
	FlagInfo: engine.FlagInfo{Name: "strong-fair", Bool: true, Group: "What is searched:",
		Usage: "with -ltl: only strongly fair executions count, in which no thread that is " +
			"enabled infinitely often is ignored forever"},
	Parse: engine.ParseBool,
}

func init() {
	engine.RegisterMode(engine.Mode{
		Name: Mode, Asked: "-ltl", Temporal: true, Rank: 3,
		Of: "a check of ltl properties", Lacks: "does not preserve temporal properties",
		Label: "check",
	})
	for i, r := range []struct {
		reduction Reduction
		summary   string
		takes     engine.OptionSet
	}{
		{Transparent, "with -ltl, the default there: ample sets whose transitions change the " +
			"formula's propositions in harmless directions only", engine.TakesValidate},
		{Invisible, "with -ltl: ample sets whose transitions change no proposition of the formula",
			engine.TakesValidate},
		{None, "with -ltl: every transition", 0},
	} {
		engine.Register(engine.Entry{
			Name: r.reduction.String(), Mode: Mode, Rank: i, Default: i == 0, Summary: r.summary,
			Preserves: engine.Formulas,
			Reduces:   r.reduction != None,
			Bounds:    r.reduction != None,
			Needs:     []engine.Need{engine.Propositions},
			Counts:    engine.CountStates | engine.CountTransitions | engine.CountStore,
			Takes:     engine.TakesMaxStates | engine.TakesCheckpoint | r.takes,
			Flags:     []engine.Flag{fair, strong},
			Check: func(v *engine.Values, _ *engine.Options) error {
				if fair.Of(v) && strong.Of(v) {
					return errors.New("-fair and -strong-fair cannot be combined: strongly fair " +
						"executions are weakly fair; remove -fair")
				}
				return nil
			},
			Run: r.reduction.run,
		})
	}
}

// run is Entry.Run.
func (r Reduction) run(ctx context.Context, t *engine.Task) (*engine.Result, error) {
	start := time.Now()
	var before time.Duration
	o := Options{Options: t.Options, Reduction: r, Fair: fair.Of(t.Flags),
		Strong: strong.Of(t.Flags), before: &before}
	results, err := Run(ctx, t.System, t.Properties, o)
	var fe *FormulaError
	var ae *buchi.AtomsError
	switch {
	case errors.As(err, &fe):
		return nil, &engine.Refusal{Err: err, Located: true}
	case errors.As(err, &ae):
		return nil, &engine.OptionError{Message: err.Error()}
	case err != nil:
		return nil, err
	}
	out := &engine.Result{Verdict: engine.Pass, Exhaustive: true,
		Workers: cmp.Or(o.Workers, runtime.GOMAXPROCS(0)), Duration: before + time.Since(start)}
	out.How = append(out.How, engine.Figure{Key: "fair", Value: o.Fair}, engine.Figure{
		Key: "strongly_fair", Value: o.Strong})
	among := ""
	if o.Fair {
		among = " on weakly fair executions"
		out.How[0].Text = "weakly fair executions only"
	}
	if o.Strong {
		among = " on strongly fair executions"
		out.How[1].Text = "strongly fair executions only"
	}
	var fault *Fault
	told := false // the fault is that its property does not hold
	for _, p := range results {
		out.States, out.Transitions = max(out.States, uint64(p.States)),
			max(out.Transitions, uint64(p.Transitions))
		out.StoreBytes = max(out.StoreBytes, p.StoreBytes)
		if p.Reason != "" {
			out.Exhaustive, out.Reason = false, p.Reason
		}
		if p.Verdict == engine.Incomplete && out.Verdict == engine.Pass {
			out.Verdict = engine.Incomplete
		}
		if x := p.Counterexample; x != nil {
			out.Verdict = engine.Violated
			out.Violations = append(out.Violations, engine.Finding{
				Violation: &system.Violation{Kind: "ltl", Pos: p.Property.Pos,
					Object: p.Property.Name, Message: p.Property.Name + " does not hold"},
				Account: x,
			})
		}
		own := p.Fault != nil && p.Fault.Violation.Object == p.Property.Name
		if own {
			p.Verdict = engine.Violated
		}
		if fault == nil && p.Fault != nil {
			told = own
			fault, out.System = p.Fault, p.Property.System
		}
		if p.Trivial != 0 {
			what := "holds whatever the model does: the formula is a tautology"
			if p.Trivial < 0 {
				what = "cannot hold whatever the model does: the formula is a contradiction"
			}
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: warning: %s %s",
				trace.PosString(p.Property.Pos), p.Property.Called(), what))
		}
		out.Properties = append(out.Properties, p.tell(r, among))
	}
	if fault != nil {
		out.Verdict = engine.Violated
		out.Violations = append(out.Violations, engine.Finding{Violation: &fault.Violation,
			Trace: fault.Trace})
		note := "An execution runs into an error outside the formula, shown above."
		if fault.Trace.Violation == nil {
			note = "Part of the formula has no value in a reachable state, shown above. " +
				"Each part without temporal operators is evaluated in every state, && and || " +
				"from left to right, so guard it in place, as in <> (p != nil && p.v == 1)."
		}
		if !told {
			out.Notes = append(out.Notes, note)
		}
	}
	return out, nil
}

// tell translates a result to package engine.
func (r *Result) tell(reduction Reduction, among string) engine.PropertyResult {
	if r.Property.Whole || r.Property.Modality != ltl.Linear {
		reduction = None
	}
	fs := []engine.Figure{
		{Key: "states", Value: r.States, Text: human.Plural(r.States, "state")},
		{Key: "transitions", Value: r.Transitions, Text: fmt.Sprintf("%s (-por %s)",
			human.Plural(r.Transitions, "transition"), reduction)},
		{Key: "reduced_states", Value: r.Reduced},
		{Key: "automaton_states", Value: r.Automaton, Text: "automaton " + human.Plural(r.Automaton,
			"state")},
		{Key: "search_ms", Value: float64(r.Time) / float64(time.Millisecond),
			Text: r.Time.Round(time.Millisecond).String()},
	}
	if r.Property.Modality != ltl.Linear {
		fs[3] = engine.Figure{Key: "farthest", Value: r.Farthest}
		if r.Verdict == engine.Pass {
			from := ""
			if r.Property.Modality == ltl.AlwaysPossible {
				from = "at most "
			}
			fs[3].Text = from + human.Plural(r.Farthest, "step") + " away"
		}
	}
	if r.Trivial != 0 {
		fs = append([]engine.Figure{{Key: "trivial", Value: r.Trivial}}, fs...)
	}
	return engine.PropertyResult{Property: r.Property, Verdict: r.Verdict, Reason: r.Reason,
		Among: among, Figures: fs, Vacuous: r.Vacuous, Empty: r.Empty}
}
