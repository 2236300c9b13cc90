package machine_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/engine/temporal"
	"cpor/frontend"
	_ "cpor/frontend/promela"
	"cpor/frontend/promela/machine"
	"cpor/system"
)

// kinds are what SPIN's verifier looks for, with its flags.
var kinds = []struct {
	name, cc, run string
	property      string // what cpor checks; none: assertions and end states
}{
	{"safety", "-DSAFETY", "", ""},
	{"claim", "", "-a", "never"},
	{"acceptance", "", "-a", "no-acceptance"},
	{"progress", "-DNP", "-l", "progress"},
	{"ltl", "", "-a", "p"},
}

// shell runs a script, which ends in time.
func shell(t *testing.T, dir, script string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	out, _ := cmd.CombinedOutput() // what went wrong is in it
	return string(out)
}

// loaded loads a model, and a trail if it is not empty.
func loaded(text, trail string) (*frontend.Program, error) {
	flags := map[string]string{}
	if trail != "" {
		flags["replay"] = "m.trail"
	}
	return frontend.Load("m.pml", frontend.Options{Flags: flags, Files: map[string]string{"m.pml": text, "m.trail": trail}})
}

// flags are the values of the flags of checks of temporal properties.
func flags(t *testing.T, fair bool) *engine.Values {
	t.Helper()
	v := new(engine.Values)
	e, err := engine.Lookup(temporal.Mode, "none")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range e.Flags {
		if fair && f.About().Name == "fair" {
			if err := v.Set(f, "true"); err != nil {
				t.Fatal(err)
			}
		}
	}
	return v
}

// told says what the trail of a program shows: the kind of its violation or the name of the property,
// and why if that is nothing.
func told(t *testing.T, p *frontend.Program, fair bool) (what, why string) {
	t.Helper()
	x := p.Replay
	if x.Violation != nil {
		if err := x.Replay(x.System); err != nil {
			t.Fatalf("%v", err)
		}
		return string(x.Violation.Kind), ""
	}
	why = x.Open
	for _, q := range x.Properties {
		prop := engine.Property{Name: q.Name, Formula: q.Formula, Text: q.Text, Kind: q.Kind, System: q.System}
		_, no, err := temporal.Judge(&engine.Task{System: x.System, Properties: []engine.Property{prop}, Flags: flags(t, fair)}, x.Trace, x.Loop)
		if err != nil {
			t.Fatal(err)
		}
		if no == "" {
			return q.Name, ""
		}
		if why == "" {
			why = no
		}
	}
	return "", why
}

// expected tells whether what cpor says of a trail is what SPIN's verifier has stopped at.
func expected(pan, what string) bool {
	switch {
	case strings.Contains(pan, "invalid end state"):
		return what == string(system.Deadlock)
	case strings.Contains(pan, "accept stutter"), strings.Contains(pan, "acceptance cycle"):
		return what == "p" || strings.HasPrefix(what, "never") || what == "c" || what == "no-acceptance"
	case strings.Contains(pan, "non-progress cycle"):
		return what == "progress"
	case strings.Contains(pan, "end state in claim"):
		return what == string(system.Invariant) || what == "p"
	}
	return what != "" && what != string(system.Deadlock) && what != "no-acceptance" && what != "progress"
}

// TestSpinTrails lets SPIN's verifier write trails of generated models and reads them, with and
// without merged statements, hidden variables and fairness.
func TestSpinTrails(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles SPIN's verifiers")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so none of its trails is read here")
	}
	dir := t.TempDir()
	read, right, bad := map[string]int{}, map[string]int{}, 0
	left := map[string]int{}
	for i := range uint64(*machine.SpinModels) {
		seed := *machine.SpinFirst + i
		k := kinds[seed%uint64(len(kinds))]
		text := machine.Generated(seed, k.name)
		if _, err := loaded(text, ""); err != nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		for _, v := range []struct {
			spin, cc, run string
			fair          bool
		}{
			{"-o1 -o2 -o3", "", "", false}, {"", "", "", false}, {"-o3", "-DNOREDUCE", "-f", true}, {"", "-DPERMUTED", "-p_reverse", false}, {"-o1", "", "", false},
		} {
			if v.fair && k.name == "safety" {
				continue
			}
			cc := fmt.Sprintf("%s %s -DMEMLIM=500 -w -o pan pan.c", k.cc, v.cc)
			out := shell(t, dir, fmt.Sprintf("rm -f pan *.trail; timeout 5 spin %s -a m.pml >/dev/null && { timeout 10 tcc %s || timeout 20 cc %s; } >/dev/null 2>&1 && timeout %g ./pan %s %s -m50000 -w18", v.spin, cc, cc, machine.SpinTime.Seconds(), k.run, v.run))
			trail, err := os.ReadFile(filepath.Join(dir, "m.pml.trail"))
			if err != nil || len(trail) == 0 || bytes.Contains(trail, []byte("-4:-4:-4\n")) && len(trail) < 10 {
				continue
			}
			pan, _, _ := strings.Cut(strings.TrimPrefix(out[max(0, strings.Index(out, "pan:")):], "pan: "), "\n")
			name := strings.Join(strings.Fields(k.name+" "+v.spin+" "+v.cc+" "+v.run), " ")
			read[name]++
			p, err := loaded(text, string(trail))
			var what, why string
			if err != nil {
				why = err.Error()
			} else {
				what, why = told(t, p, v.fair)
			}
			if expected(pan, what) {
				right[name]++
				continue
			}
			apart := ""
			switch {
			case strings.Contains(why, "changes variables or starts"):
				apart = "a claim that changes variables"
			case strings.Contains(why, "has no number here"):
				apart = "an atomic sequence with more choices than numbers"
			case strings.Contains(pan, "event_trace error") && strings.Contains(text, "rv!"):
				// SPIN's verifier asks a trace assertion about a rendezvous send that nobody receives.
				apart = "a send that nobody receives"
			}
			if apart != "" {
				left[apart]++
				read[name]--
				continue
			}
			bad++
			t.Errorf("seed %d, %s: %s; told as %q %s", seed, name, pan, what, why)
			machine.Keep(seed, text+"/* "+name+"\n"+string(trail)+"*/\n")
			if bad > 30 {
				t.Fatal("too many")
			}
		}
	}
	n, m := 0, 0
	for name := range read {
		n, m = n+read[name], m+right[name]
	}
	t.Logf("%d of %d trails shown as what SPIN has found; read %v, right %v, left out %v", m, n, read, right, left)
}

var (
	reEnds = regexp.MustCompile(`trail ends after (-?\d+) steps`)
	reVar  = regexp.MustCompile(`(?m)^\t\t([a-z_]\w*) = (-?\d+)$`)
)

// lost is what spin -t says where it cannot follow a trail.
var lost = []string{"transition failed", "invalid statement", "no matching stmnt", "stop error", "(?)", "couldn't find claim"}

// TestSpinReplays writes trails of what cpor finds in generated models, and lets SPIN replay them.
func TestSpinReplays(t *testing.T) {
	if testing.Short() {
		t.Skip("runs SPIN")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so no trail is replayed by it here")
	}
	dir := t.TempDir()
	written, replayed, endless := map[string]int{}, map[string]int{}, 0
	for i := range uint64(*machine.SpinModels) {
		seed := *machine.SpinFirst + i
		k := kinds[seed%uint64(len(kinds))]
		text := machine.Generated(seed, k.name)
		p, err := loaded(text, "")
		if err != nil {
			continue
		}
		if !machine.Small(p.System) {
			continue
		}
		x, ok := found(t, p, k.property)
		if !ok {
			continue
		}
		var b bytes.Buffer
		if err := p.WriteTrail(&b, x); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.trail"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if out := shell(t, dir, "timeout 5 spin -a m.pml"); strings.Contains(out, "Error") {
			continue // SPIN does not take the model
		}
		if b.Len() > 1<<16 {
			continue // an atomic sequence that does not end
		}
		written[k.name]++
		out := shell(t, dir, "timeout 10 spin -t -k x.trail -p m.pml | head -c 1000000")
		if len(out) == 1000000 {
			endless++ // spin -t does not come to the end of a d_step that its verifier leaves
			continue
		}
		var wrong []string
		for _, l := range lost {
			if strings.Contains(out, l) && (k.name != "progress" || l != "couldn't find claim") {
				wrong = append(wrong, l)
			}
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		last, _, _ := strings.Cut(lines[len(lines)-1], ":")
		if m := reEnds.FindStringSubmatch(out); m == nil || m[1] != last && len(lines) > 1 {
			wrong = append(wrong, "the end is not there: "+fmt.Sprint(m))
		}
		if cycle := strings.Contains(b.String(), "-1:-1:-1"); cycle != strings.Contains(out, "START OF CYCLE") {
			wrong = append(wrong, "the cycle is not there")
		}
		if x.Violation != nil && x.Violation.Kind == system.Assertion && !strings.Contains(out, "assertion violated") {
			wrong = append(wrong, "no assertion is violated")
		}
		if !strings.Contains(text, " g0 = ") {
			// Globals that are initialised with others have other values in spin -t than in SPIN's
			// verifier.
			wrong = append(wrong, differ(x, out)...)
		}
		if len(wrong) == 0 {
			replayed[k.name]++
			// What is written is read as the same.
			q, err := loaded(text, b.String()+"\n")
			if err != nil {
				t.Errorf("seed %d: %v\n%s", seed, err, b.String())
			} else if what, why := told(t, q, false); what == "" {
				t.Errorf("seed %d: it is read as nothing: %s", seed, why)
			}
			continue
		}
		t.Errorf("seed %d, %s: %v", seed, k.name, wrong)
		machine.Keep(seed, text+"/*\n"+b.String()+"*/\n")
	}
	t.Logf("written %v, of which SPIN replays %v, and does not end with %d", written, replayed, endless)
}

// found searches a program for a violation of a property, or of safety if there is none.
func found(t *testing.T, p *frontend.Program, property string) (*frontend.Execution, bool) {
	t.Helper()
	task := &engine.Task{System: p.System, Flags: flags(t, false)}
	task.Workers, task.MaxStates, task.Timeout = 1, 20000, 5*time.Second
	mode := ""
	if property == "" {
		for _, m := range engine.Modes() {
			if m.Default {
				mode = m.Name
			}
		}
	} else {
		mode = temporal.Mode
		for _, q := range p.Properties {
			if q.Name == property || property == "never" && q.Kind == "never claim" {
				task.Properties = append(task.Properties, engine.Property{Name: q.Name, Formula: q.Formula, Text: q.Text, Kind: q.Kind, System: q.System, Pos: q.Pos})
			}
		}
		if len(task.Properties) == 0 {
			return nil, false
		}
	}
	e, err := engine.Lookup(mode, "none")
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Run(context.Background(), task)
	if err != nil || len(res.Violations) == 0 {
		return nil, false
	}
	v := res.Violations[0]
	x := &frontend.Execution{Trace: v.Trace, System: p.System, Loop: -1}
	if res.System != nil {
		x.System = res.System
	}
	if l, ok := v.Account.(engine.Looping); ok {
		_, x.Trace, x.Loop = l.Lasso()
	} else if x.Trace == nil {
		return nil, false
	} else if x.Violation == nil {
		return nil, false // a proposition that cannot be evaluated
	}
	for _, q := range p.Properties {
		if len(task.Properties) > 0 && q.Name == task.Properties[0].Name && (x.Loop >= 0 || q.System != nil) {
			x.Properties = []frontend.Property{q}
			if q.System != nil {
				x.System = q.System
			}
		}
	}
	return x, true
}

// differ compares the variables that SPIN prints at the end with those of the execution.
func differ(x *frontend.Execution, out string) (wrong []string) {
	m := x.System.NewMachine()
	m.Load(x.System.Initial()[0])
	for _, s := range x.Steps {
		m.Step(s.Thread, s.Alt)
	}
	show, ok := system.As[system.Showing](m)
	if !ok {
		return []string{"nothing is shown"}
	}
	values := map[string]string{}
	for _, b := range show.Variables() {
		values[b.Name] = b.Value
	}
	end := out[max(0, strings.LastIndex(out, "#processes")):]
	for _, v := range reVar.FindAllStringSubmatch(end, -1) {
		if got, ok := values[v[1]]; ok {
			if _, err := strconv.Atoi(got); err == nil && got != v[2] {
				wrong = append(wrong, fmt.Sprintf("%s is %s, SPIN has %s", v[1], got, v[2]))
			}
		}
	}
	return wrong
}
