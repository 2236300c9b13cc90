// Package trailtest is for tests: what a trail shows, and whether SPIN says the same of it.
package trailtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/engine/temporal"
	"cpor/frontend"
	"cpor/system"
)

// Shell runs a script in a directory for at most a minute, and returns what it prints.
func Shell(dir, script string) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, _ := cmd.CombinedOutput() // what went wrong is in it
	return string(out)
}

// flags are the values of the flags of checks of temporal properties.
func flags(fair bool) (*engine.Values, error) {
	v := new(engine.Values)
	e, err := engine.Lookup(temporal.Mode, "none")
	if err != nil {
		return nil, err
	}
	for _, f := range e.Flags {
		if fair && f.About().Name == "fair" {
			return v, v.Set(f, "true")
		}
	}
	return v, nil
}

func property(q *frontend.Property) engine.Property {
	return engine.Property{Name: q.Name, Formula: q.Formula, Text: q.Text, Kind: q.Kind,
		System: q.System, Pos: q.Pos}
}

// Shown is what a trail shows: a violation of an assertion and its like, or a property that does
// not hold; or why neither.
type Shown struct {
	Kind     system.ViolationKind
	Property *frontend.Property
	Why      string
}

func (s Shown) String() string {
	switch {
	case s.Kind != "":
		return string(s.Kind)
	case s.Property != nil:
		return s.Property.Name
	}
	return "nothing: " + s.Why
}

// Show executes and judges the trail that a program was loaded with, as the command does.
func Show(p *frontend.Program, fair bool) (Shown, error) {
	x := p.Replay
	if x.Violation != nil {
		return Shown{Kind: x.Violation.Kind}, x.Replay(x.System)
	}
	v, err := flags(fair)
	if err != nil {
		return Shown{}, err
	}
	s := Shown{Why: x.Open}
	for i := range x.Properties {
		q := &x.Properties[i]
		_, no, fault, err := temporal.Judge(&engine.Task{System: x.System,
			Properties: []engine.Property{property(q)}, Flags: v}, x.Trace, x.Loop)
		if err != nil {
			return Shown{}, err
		}
		switch {
		case fault != nil:
			return Shown{Kind: fault.Kind}, nil
		case no == "":
			return Shown{Property: q}, nil
		}
		if s.Why == "" {
			s.Why = no
		}
	}
	return s, nil
}

// Agrees reports whether a trail shows what SPIN's verifier says, in the first line that it
// prints of an error.
func Agrees(pan string, s Shown) bool {
	formula := s.Property != nil && s.Property.Kind == ""
	claim := s.Property != nil && s.Property.Kind == "never claim"
	accept := s.Property != nil && s.Property.Name == "no-acceptance"
	switch {
	case strings.Contains(pan, "invalid end state"):
		return s.Kind == system.Deadlock
	case strings.Contains(pan, "accept stutter") && s.Kind == system.Deadlock:
		return true // the state is an invalid end state, too
	case strings.Contains(pan, "accept stutter"), strings.Contains(pan, "acceptance cycle"):
		return formula || claim || accept
	case strings.Contains(pan, "non-progress cycle"):
		return s.Property != nil && s.Property.Name == "progress"
	case strings.Contains(pan, "end state in claim"):
		return s.Kind == system.Invariant || formula
	}
	return s.Kind != "" && s.Kind != system.Deadlock || formula
}

// FirstError returns the line in which SPIN's verifier names its first error; empty if there is
// none.
func FirstError(out string) string {
	for line := range strings.Lines(out) {
		if rest, ok := strings.CutPrefix(line, "pan:1: "); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// Find searches a program for a violation of the named property, or of assertions and end states
// if the name is empty; nil if none was found.
func Find(p *frontend.Program, name string, fair bool) (*frontend.Execution, error) {
	v, err := flags(fair)
	if err != nil {
		return nil, err
	}
	task := &engine.Task{System: p.System, Flags: v}
	task.Workers, task.MaxStates, task.Timeout = 1, 50000, 10*time.Second
	mode := temporal.Mode
	var q *frontend.Property
	if name == "" {
		for _, m := range engine.Modes() {
			if m.Default {
				mode = m.Name
			}
		}
	} else {
		for i := range p.Properties {
			if p.Properties[i].Name == name {
				q = &p.Properties[i]
				task.Properties = []engine.Property{property(q)}
			}
		}
		if q == nil {
			return nil, fmt.Errorf("there is no property %s", name)
		}
	}
	e, err := engine.Lookup(mode, "none")
	if err != nil {
		return nil, err
	}
	res, err := e.Run(context.Background(), task)
	if err != nil || len(res.Violations) == 0 {
		return nil, err
	}
	found := res.Violations[0]
	x := &frontend.Execution{Trace: found.Trace, System: p.System, Loop: -1}
	if res.System != nil {
		x.System = res.System
	}
	if l, ok := found.Account.(engine.Looping); ok {
		_, x.Trace, x.Loop = l.Lasso()
	} else if x.Trace == nil || x.Violation == nil {
		return nil, errors.New("there is no trace")
	}
	if q != nil && (x.Loop >= 0 || q.System != nil) {
		x.Properties = []frontend.Property{*q}
		if q.System != nil {
			x.System = q.System
		}
	}
	return x, nil
}

var (
	reEnds = regexp.MustCompile(`trail ends after (-?\d+) steps`)
	reVar  = regexp.MustCompile(`(?m)^\t\t([a-z_]\w*) = (-?\d+)$`)
)

// lost is what spin -t says where it cannot follow a trail.
var lost = []string{"transition failed", "invalid statement", "no matching stmnt", "stop error",
	"(?)"}

// Endless is what Replay returns where spin -t does not come to the end of a d_step that its
// verifier leaves.
const Endless = "spin -t does not end"

// Replay lets spin -t replay a trail of a model, both files in a directory, and returns in which
// way that is not the execution that was written; empty if it is. Variables are compared if
// values.
func Replay(dir, options, model, file string, trail []byte, x *frontend.Execution,
	values bool) string {
	const most = 1 << 20
	out := Shell(dir, fmt.Sprintf("timeout 10 spin %s -t -k %s -p %s | head -c %d", options, file,
		filepath.Base(model), most))
	if len(out) >= most {
		return Endless
	}
	for _, l := range lost {
		if strings.Contains(out, l) {
			return l
		}
	}
	lines := strings.Split(strings.TrimSpace(string(trail)), "\n")
	last, _, _ := strings.Cut(lines[len(lines)-1], ":")
	if m := reEnds.FindStringSubmatch(out); m == nil || m[1] != last && len(lines) > 1 {
		return fmt.Sprintf("the end is not there: %v", m)
	}
	if bytes.Contains(trail, []byte("-1:-1:-1")) != strings.Contains(out, "START OF CYCLE") {
		return "the cycle is not there"
	}
	if x.Violation != nil && x.Violation.Kind == system.Assertion && !strings.Contains(out,
		"assertion violated") {
		return "no assertion is violated"
	}
	// Where a claim has come to its end, the trail is over before the last step's process.
	if values && (x.Violation == nil || x.Violation.Object == "") {
		return differ(x, out)
	}
	return ""
}

// differ compares the variables that SPIN prints at the end with those of the execution.
func differ(x *frontend.Execution, out string) string {
	m := x.System.NewMachine()
	m.Load(x.System.Initial()[x.Initial])
	for _, s := range x.Steps {
		m.Step(s.Thread, s.Alt)
	}
	show := m.Capabilities().Showing
	if show == nil {
		return "no variables are shown"
	}
	have := map[string]string{}
	for _, b := range show.Variables() {
		have[b.Name] = b.Value
	}
	end := out[max(0, strings.LastIndex(out, "#processes")):]
	for _, v := range reVar.FindAllStringSubmatch(end, -1) {
		if _, err := strconv.Atoi(have[v[1]]); err == nil && have[v[1]] != v[2] {
			return fmt.Sprintf("%s is %s, SPIN has %s", v[1], have[v[1]], v[2])
		}
	}
	return ""
}
