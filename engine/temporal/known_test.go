package temporal_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/trace"
)

// known is a model with properties whose verdicts are known, and its twin for
// SPIN, which has the same names.
type known struct {
	name, text, promela string
	props               []knownProp
}

type knownProp struct {
	name, formula string
	holds, fair   bool // on all executions, on weakly fair ones
}

var knownModels = []known{
	{
		name: "peterson",
		text: `
var want, cs [2]bool
var turn uint1
thread P(i int) {
	for {
		want[i] = true
		turn = uint1(1 - i)
		await(!want[1-i] || turn == uint1(i))
		cs[i] = true
		cs[i] = false
		want[i] = false
	}
}
init { go P(0); go P(1) }
`,
		promela: `
bool want[2], cs[2]; bit turn
active [2] proctype P() {
	do :: want[_pid] = 1; turn = 1 - _pid; (!want[1-_pid] || turn == _pid);
		cs[_pid] = 1; cs[_pid] = 0; want[_pid] = 0
	od
}
`,
		props: []knownProp{
			{"safety", "[] !(cs[0] && cs[1])", true, true},
			{"response", "[] (want[0] -> <> cs[0])", false, true},
			{"recurrence", "[]<> cs[0]", false, true},
			{"precedence", "!cs[0] W want[0]", true, true},
			{"progress", "[]<> (cs[0] || cs[1])", true, true},
			{"persistence", "<>[] !cs[1]", false, false},
			{"bypass", "[] (want[0] -> (!cs[1] U cs[0]))", false, false},
		},
	},
	{
		name: "handover",
		text: `
var c = make(chan uint2, 2)
var got, sent uint2
thread S() {
	for i := uint2(1); i < 3; i++ { c <- i; sent = i }
}
thread R() {
	for { x := <-c; got = x }
}
init { go S(); go R() }
`,
		promela: `
chan c = [2] of { byte }; byte got, sent
active proctype S() { byte i = 1; do :: i < 3 -> c!i; sent = i; i++ :: else -> break od }
active proctype R() { byte x; end: do :: c?x; got = x od }
`,
		props: []knownProp{
			{"arrives", "<> (got == 2)", true, true},
			{"stays", "<>[] (got == 2 && sent == 2)", true, true},
			{"order", "!(got == 2) U (got == 1)", true, true},
			{"full", "<> full(c)", false, false},
			{"drained", "<>[] empty(c)", true, true},
			{"again", "[]<> !empty(c)", false, false},
			{"bounded", "[] (len(c) <= 2)", true, true},
		},
	},
	{
		name: "flags",
		text: `
var x, y bool
thread T() { for { x = true; x = false } }
thread U() { y = true }
init { go T(); go U() }
`,
		promela: `
bool x, y
active proctype T() { do :: x = 1; x = 0 od }
active proctype U() { y = 1 }
`,
		props: []knownProp{
			{"eventually", "<> y", false, true},
			{"both", "<> (x && y)", false, true},
			{"toggles", "[]<> x && []<> !x", true, true},
			{"once", "[] (y -> [] y)", true, true},
			{"weak", "(!y) W y", true, true},
			{"release", "y R (!y || x || !x)", true, true},
		},
	},
	{
		// What a transition could do otherwise: a case that another thread's
		// send would enable, a look at a channel in an atomic block.
		name: "looks",
		text: `
var x, y uint2
var c, d, e = make(chan bool, 1), make(chan bool, 1), make(chan bool, 2)
thread T() { select { case <-c: x = 1; case <-d: x = 2 } }
thread U() { d <- true }
thread V() { atomic { <-e; if empty(e) { y = 1 } else { y = 2 } } }
thread W() { e <- true }
init { c <- true; e <- true; go T(); go U(); go V(); go W() }
`,
		promela: `
byte x, y
chan c = [1] of { bit }; chan d = [1] of { bit }; chan e = [2] of { bit }
proctype T() { bit v; if :: c?v -> x = 1 :: d?v -> x = 2 fi }
proctype U() { d!1 }
proctype V() { bit v; d_step { e?v; if :: empty(e) -> y = 1 :: else -> y = 2 fi } }
proctype W() { e!1 }
init { atomic { c!1; e!1; run T(); run U(); run V(); run W() } }
`,
		props: []knownProp{
			{"first", "[] (x != 1)", false, false},
			{"second", "[] (x != 2)", false, false},
			{"alone", "[] (y != 1)", false, false},
			{"more", "[] (y != 2)", false, false},
			{"ends", "<> (x >= 1 && y >= 1)", true, true},
		},
	},
	{
		// Threads that turn in circles of invisible steps: without C3 no one else would ever move
		// (the problem of ignoring).
		name: "circles",
		text: `
var x, y, z bool
var c = make(chan bool, 2)
thread Idle() { for { skip } }
thread Pump() { for { c <- true; skip } }
thread Drain() { for { <-c; skip } }
thread U() { y = true; z = true }
init { go Idle(); go Pump(); go Drain(); go U() }
`,
		promela: `
bool x, y, z
chan c = [2] of { bit }
active proctype Idle() { bit i; do :: i = 1 - i od }
active proctype Pump() { do :: c!1 od }
active proctype Drain() { bit v; do :: c?v od }
active proctype U() { y = 1; z = 1 }
`,
		props: []knownProp{
			{"never", "[] !y", false, false},
			{"late", "[] (y -> <> z)", false, true},
			{"order", "!z W y", true, true},
			{"all", "<> z", false, true},
			{"x", "[] !x", true, true},
		},
	},
}

// load compiles a known model with its properties.
func (k *known) load(t *testing.T) *model.Model {
	text := k.text
	for _, p := range k.props {
		text += fmt.Sprintf("ltl %s_ { %s }\n", p.name, p.formula)
	}
	m, err := model.Parse(k.name+".model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func properties(m *model.Model) []engine.Property {
	var ps []engine.Property
	for _, p := range m.Properties() {
		q := engine.Property{Name: p.Name, Formula: p.Formula, Pos: p.Pos, Text: p.Text,
			Modality: p.Modality}
		for _, x := range p.Predicates {
			q.Predicates = append(q.Predicates, engine.Predicate(x))
		}
		ps = append(ps, q)
	}
	return ps
}

func TestKnownModels(t *testing.T) {
	for _, k := range knownModels {
		t.Run(k.name, func(t *testing.T) {
			m := k.load(t)
			sys := m.System()
			for _, o := range []temporal.Options{
				{Options: engine.Options{Workers: 1}}, {Options: engine.Options{Workers: 3}},
				{Options: engine.Options{Workers: 1}, Reduction: temporal.Invisible},
				{Options: engine.Options{Workers: 3}, Reduction: temporal.Invisible},
				{Options: engine.Options{Workers: 1, Validate: true},
					Reduction: temporal.Transparent}, {Options: engine.Options{Workers: 3},
					Reduction: temporal.Transparent}, {Options: engine.Options{Workers: 1},
					Fair: true}, {Options: engine.Options{Workers: 3}, Fair: true},
			} {
				rs, err := temporal.Run(context.Background(), sys, properties(m), o)
				if err != nil {
					t.Fatal(err)
				}
				for i, r := range rs {
					want := k.props[i].holds
					if o.Fair {
						want = k.props[i].fair
					}
					if (r.Verdict == engine.Pass) != want || r.Reason != "" {
						t.Errorf("%s, %v, fair %v, %d workers: %s %s, want holds %v",
							k.props[i].name, o.Reduction, o.Fair, o.Workers, r.Verdict, r.Reason,
							want)
					}
					if (r.Counterexample != nil) == want {
						t.Errorf("%s: counterexample %v", k.props[i].name, r.Counterexample)
					}
				}
			}
		})
	}
}

// TestSPIN asks SPIN the same questions.
func TestSPIN(t *testing.T) {
	if testing.Short() {
		t.Skip("a verifier takes seconds to compile")
	}
	spin, err := exec.LookPath("spin")
	if err != nil {
		t.Skip("spin is not on the PATH")
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("gcc is not on the PATH")
	}
	models := knownModels
	if !sample.Long() {
		models = models[:1]
	}
	for _, k := range models {
		dir := t.TempDir()
		text := k.promela
		for _, p := range k.props {
			// SPIN calls R V, and does not take full and empty in a formula.
			f := strings.NewReplacer(" R ", " V ", "full(c)", "(len(c) == 2)", "empty(c)",
				"(len(c) == 0)").Replace(p.formula)
			text += fmt.Sprintf("ltl %s_ { %s }\n", p.name, f)
		}
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		run := func(name string, args ...string) string {
			cmd := exec.Command(name, args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if err != nil && name != "./pan" {
				t.Fatalf("%s %v: %v\n%s", name, args, err, out)
			}
			return string(out)
		}
		run(spin, "-a", "m.pml")
		run(gcc, "-w", "-O1", "-DNOREDUCE", "-DNFAIR=5", "-o", "pan", "pan.c")
		for _, p := range k.props {
			for _, fair := range []bool{false, true} {
				args := []string{"-a", "-N", p.name + "_"}
				want := p.holds
				if fair {
					args, want = append(args, "-f"), p.fair
				}
				out := run("./pan", args...)
				if !strings.Contains(out, "errors: ") {
					t.Fatalf("%s %s: %s", k.name, p.name, out)
				}
				if got := strings.Contains(out, "errors: 0"); got != want {
					t.Errorf("%s %s, fair %v: SPIN says %v, we say %v\n%s", k.name, p.name, fair,
						got, want, out)
				}
			}
		}
	}
}

// TestOutputs looks at the text, the JSON and the ITF of a counterexample.
func TestOutputs(t *testing.T) {
	k := knownModels[0]
	m := k.load(t)
	ps := properties(m)
	rs, err := temporal.Run(context.Background(), m.System(), ps[1:2], temporal.Options{
		Options: engine.Options{Workers: 1}})
	if err != nil {
		t.Fatal(err)
	}
	c := rs[0].Counterexample
	if len(c.Loop) == 0 {
		t.Fatalf("the counterexample of %s has no loop", ps[1].Name)
	}
	var text strings.Builder
	if err := c.WriteText(&text, trace.TableOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"ltl response_ { [] (want[0] -> <> cs[0]) } does not hold",
		"p1: cs[0]", "(repeated forever:)", "want[i] = true"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q:\n%s", want, text.String())
		}
	}
	b, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var j struct {
		Kind   string
		Loop   int
		Trace  []json.RawMessage
		Values [][]bool
	}
	if err := json.Unmarshal(b, &j); err != nil || j.Kind != "ltl" || j.Loop != len(c.Stem) ||
		len(j.Trace) != len(c.Stem)+len(c.Loop) || len(j.Values) != len(j.Trace)+1 {
		t.Errorf("JSON: %v %s", err, b)
	}
	name := filepath.Join(t.TempDir(), "x.itf.json")
	if err := c.WriteFile(name); err != nil {
		t.Fatal(err)
	}
	b, err = os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var itf struct {
		Vars   []string
		States []map[string]any
		Loop   int
	}
	if err := json.Unmarshal(b, &itf); err != nil || itf.Loop != len(c.Stem) ||
		len(itf.States) != len(c.Stem)+len(c.Loop) {
		t.Errorf("ITF: %v %s", err, b)
	}
	for _, s := range itf.States {
		for _, v := range itf.Vars {
			if _, ok := s[v]; !ok {
				t.Fatalf("a state of the ITF lacks %s", v)
			}
		}
	}
}

// TestSiegelPrograms pins what the paper states of its experiments, in small.
func TestSiegelPrograms(t *testing.T) {
	transitions := func(name, prop string, n int, red temporal.Reduction) int {
		text, err := benchmarks.Siegel(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Parse(name+".model", string(text), model.Options{
			Params: map[string]string{"N": fmt.Sprint(n)}})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range properties(m) {
			if p.Name == prop {
				rs, err := temporal.Run(context.Background(), m.System(), []engine.Property{p},
					temporal.Options{Options: engine.Options{Workers: 1}, Reduction: red})
				if err != nil {
					t.Fatal(err)
				}
				if rs[0].Verdict != engine.Pass {
					t.Fatalf("%s %s, N=%d, %v: %s", name, prop, n, red, rs[0].Verdict)
				}
				return rs[0].Transitions
			}
		}
		t.Fatalf("%s has no property %s", name, prop)
		return 0
	}
	// Multiple producers: transparent is linear.
	d := transitions("mpsc", "unblocked", 4, temporal.Transparent) - transitions("mpsc",
		"unblocked", 3, temporal.Transparent)
	for n := 5; n < 9; n++ {
		if e := transitions("mpsc", "unblocked", n, temporal.Transparent) - transitions("mpsc",
			"unblocked", n-1, temporal.Transparent); e != d {
			t.Errorf("mpsc, N=%d: %d more transitions, before %d", n, e, d)
		}
	}
	// Everywhere: transparent has no more than invisible, and that has fewer than none.
	for _, c := range []struct {
		name, prop string
		n          int
	}{{"coordbarrier", "p1", 4}, {"coordbarrier", "p2", 4}, {"coordbarrier", "p3", 4},
		{"dissbarrier", "p3", 4}, {"mpsc", "unblocked", 3}, {"prodcons", "read", 2}} {
		f, i, tr := transitions(c.name, c.prop, c.n, temporal.None),
			transitions(c.name, c.prop, c.n, temporal.Invisible), transitions(c.name, c.prop, c.n,
				temporal.Transparent)
		if !(tr <= i && i < f) {
			t.Errorf("%s %s: %d, %d, %d transitions", c.name, c.prop, f, i, tr)
		}
	}
	// Coordinator barrier: transparent has the smaller exponent.
	gi := float64(transitions("coordbarrier", "p1", 6, temporal.Invisible)) / float64(
		transitions("coordbarrier", "p1", 5, temporal.Invisible))
	gt := float64(transitions("coordbarrier", "p1", 6, temporal.Transparent)) / float64(
		transitions("coordbarrier", "p1", 5, temporal.Transparent))
	if gt >= gi {
		t.Errorf("coordbarrier p1 grows by %.2f with transparent ample sets, by %.2f with "+
			"invisible ones", gt, gi)
	}
}
