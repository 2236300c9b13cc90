package lockset

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/system"
)

// flagGroup is the heading of the flags about locks.
const flagGroup = "Locks and races:"

// Races is the flag that chooses the rule.
var Races = &engine.FlagOf[Rule]{
	FlagInfo: engine.FlagInfo{Name: "races", Group: flagGroup,
		Usage: "the `rule` for races: ld' (a lock protects what several threads write; the " +
			"default of -por locks), ld (Eraser's, which lets the first thread initialize), hb " +
			"(happens-before: no synchronization orders two accesses) or none (the default " +
			"otherwise). With stored states ld and hb need -por none, the default then; with " +
			"-search stateless every reduction checks every rule"},
	Parse: func(_ Rule, s string) (Rule, error) { return ParseRule(s) },
}

// InitThread is the flag that names the threads that initialize variables.
var InitThread = &engine.FlagOf[map[string]string]{
	FlagInfo: engine.FlagInfo{Name: "init-thread", Group: flagGroup,
		Usage: "`VAR=THREAD` exempts the first access to each location of a variable, which must " +
			"be that thread's, from -races ld' or ld; may be repeated"},
	Parse: func(old map[string]string, s string) (map[string]string, error) {
		v, t, ok := strings.Cut(s, "=")
		if !ok || v == "" || t == "" {
			return nil, errors.New("want VAR=THREAD, such as -init-thread table=Main[0]")
		}
		if old == nil {
			old = map[string]string{}
		}
		old[v] = t
		return old, nil
	},
}

// Given returns what the flags say.
func Given(v *engine.Values) Options {
	return Options{Rule: Races.Of(v), InitThread: InitThread.Of(v)}
}

// CheckInitThread refuses -init-thread where no rule knows it.
func CheckInitThread(v *engine.Values) error {
	if r := Races.Of(v); len(InitThread.Of(v)) > 0 && r != LDPrime && r != LD {
		return errors.New("-init-thread needs -races ld' or ld")
	}
	return nil
}

// Report says in a result by which rule races were checked, and completes the
// messages of what broke it. s is the system that was explored, nil if no rule was
// checked.
func Report(res *engine.Result, v *engine.Values, s *System) {
	rule := Races.Of(v)
	text := ""
	if rule != None {
		text = "checked by " + rule.String()
	}
	res.How = append(res.How, engine.Figure{Key: "races", Value: rule.String(), Label: "races",
		Text: text})
	if s == nil {
		return
	}
	res.System = s
	for _, f := range res.Violations {
		if (f.Kind == Discipline || f.Kind == Race) && f.Trace != nil {
			f.Violation.Message = Explain(s, f.Trace)
			f.Trace.Violation.Message = f.Violation.Message
		}
	}
}

// Doubt takes away a result's claim to be exhaustive if it rests on a discipline
// that was violated or not checked. rests names the flag that makes it rest on
// it.
func Doubt(res *engine.Result, v *engine.Values, rests string) {
	switch {
	case Races.Of(v) == None:
		res.Doubt(fmt.Sprintf("the locking discipline, on which %s rests, was assumed and not "+
			"checked (-races none)", rests))
	case slices.ContainsFunc(res.Violations, func(f engine.Finding) bool {
		return f.Kind == Discipline
	}):
		res.Doubt(fmt.Sprintf("the locking discipline is violated, so %s may have missed other "+
			"violations", rests))
	}
}

// Wrap returns the system that an engine without stored states checks a rule on,
// and the one to show its traces with, whose steps access what they really do. Both
// are sys and nil if there is no rule. The error is an *engine.Refusal.
func Wrap(sys system.System, v *engine.Values) (explored system.System, shown *System, err error) {
	o := Given(v)
	if o.Rule == None {
		return sys, nil, nil
	}
	if shown, err = New(sys, o); err != nil {
		return nil, nil, &engine.Refusal{Err: err}
	}
	o.Dependences = true
	wrapped, err := New(sys, o)
	if err != nil {
		return nil, nil, &engine.Refusal{Err: err}
	}
	return wrapped, shown, nil
}
