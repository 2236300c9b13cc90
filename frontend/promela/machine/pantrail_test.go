package machine_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpor/frontend"
	_ "cpor/frontend/promela"
	"cpor/frontend/promela/machine"
	"cpor/testkit/sample"
	"cpor/testkit/trailtest"
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

// loaded loads a model, and a trail if it is not empty.
func loaded(text, trail string) (*frontend.Program, error) {
	flags := map[string]string{}
	if trail != "" {
		flags["replay"] = "m.trail"
	}
	return frontend.Load("m.pml", frontend.Options{Flags: flags, Files: map[string]string{
		"m.pml": text, "m.trail": trail}})
}

// remote is a claim's look at a process.
var remote = regexp.MustCompile(`^never.*P\d\[\d\]`)

// needTrails skips a test that needs SPIN, and a C compiler.
func needTrails(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("runs SPIN")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so no trail is exchanged with it here")
	}
}

// TestSpinTrails lets SPIN's verifier write trails of generated models and reads them, with and
// without merged statements, hidden variables and fairness, and in another order.
func TestSpinTrails(t *testing.T) {
	needTrails(t)
	dir := t.TempDir()
	read, right, left := map[string]int{}, map[string]int{}, map[string]int{}
	bad := 0
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
		for n, v := range []struct {
			spin, cc, run string
			fair          bool
		}{
			{spin: "-o1 -o2 -o3"}, {}, {spin: "-o3", cc: "-DNOREDUCE", run: "-f", fair: true},
			{cc: "-DPERMUTED", run: "-p_reverse"}, {spin: "-o1"},
		} {
			if v.fair && k.name == "safety" || !sample.Long() && n > 1 {
				continue // compilers take seconds
			}
			cc := fmt.Sprintf("%s %s -DMEMLIM=500 -w -o pan pan.c", k.cc, v.cc)
			out := trailtest.Shell(dir,
				fmt.Sprintf("rm -f pan *.trail; timeout 5 spin %s -a m.pml >/dev/null && { "+
					"timeout 10 tcc %s || timeout 20 cc %s; } >/dev/null 2>&1 && timeout %g "+
					"./pan %s %s -m50000 -w18", v.spin, cc, cc, machine.SpinTime.Seconds(), k.run,
					v.run))
			pan := trailtest.FirstError(out)
			trail, err := os.ReadFile(filepath.Join(dir, "m.pml.trail"))
			if err != nil || pan == "" {
				continue
			}
			name := strings.Join(strings.Fields(k.name+" "+v.spin+" "+v.cc+" "+v.run), " ")
			p, err := loaded(text, string(trail)+"\n") // an empty one is a trail, too
			shown := trailtest.Shown{Why: fmt.Sprint(err)}
			if err == nil {
				if shown, err = trailtest.Show(p, v.fair); err != nil {
					t.Errorf("seed %d, %s: %v", seed, name, err)
				}
			}
			switch {
			case trailtest.Agrees(pan, shown):
				right[name]++
			case strings.Contains(shown.Why, "changes variables or starts"):
				left["a claim that changes variables"]++
				continue
			case strings.Contains(shown.Why, "has no number here"):
				left["an atomic sequence with more choices than numbers"]++
				continue
			case strings.Contains(pan, "event_trace error") && strings.Contains(text, "rv!"):
				// SPIN's verifier asks a trace assertion about a rendezvous send that nobody
				// receives.
				left["a send that nobody receives"]++
				continue
			case strings.Contains(pan, "block in d_step") && strings.Contains(text, "rv!"):
				// SPIN's verifier lets some d_steps go off in the middle of a rendezvous.
				left["a d_step in the middle of a rendezvous"]++
				continue
			case v.cc == "-DPERMUTED" &&
				remote.MatchString(text[max(0, strings.LastIndex(text, "never")):]):
				// SPIN's verifier takes the process with the number for one of the type that is
				// named.
				left["a look at a process that has another type in this order"]++
				continue
			default:
				t.Errorf("seed %d, %s: %s; shown as %v", seed, name, pan, shown)
				machine.Keep(seed, text+"/* "+name+"\n"+string(trail)+"*/\n")
				if bad++; bad > 30 {
					t.Fatal("too many")
				}
			}
			read[name]++
		}
	}
	n, m := 0, 0
	for name := range read {
		n, m = n+read[name], m+right[name]
	}
	t.Logf("%d of %d trails shown as what SPIN has found; read %v, right %v, left out %v", m, n,
		read, right, left)
	if n < *machine.SpinModels/3 {
		t.Errorf("only %d trails of %d models", n, *machine.SpinModels)
	}
}

// TestSpinReplays writes trails of what cpor finds in generated models, and lets SPIN replay them.
func TestSpinReplays(t *testing.T) {
	needTrails(t)
	dir := t.TempDir()
	written, replayed, endless := map[string]int{}, map[string]int{}, 0
	for i := range uint64(*machine.SpinModels) {
		seed := *machine.SpinFirst + i
		k := kinds[seed%uint64(len(kinds))]
		text := machine.Generated(seed, k.name)
		p, err := loaded(text, "")
		if err != nil || !machine.Small(p.System) {
			continue
		}
		name := k.property
		for _, q := range p.Properties {
			if q.Kind == "never claim" && k.name == "claim" {
				name = q.Name
			}
		}
		x, err := trailtest.Find(p, name, false)
		if err != nil || x == nil {
			continue
		}
		var b bytes.Buffer
		if err := p.WriteTrail(&b, x); err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		if b.Len() > 1<<16 {
			continue // an atomic sequence that does not end
		}
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "x.trail"), b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		if out := trailtest.Shell(dir, "timeout 5 spin -a m.pml"); strings.Contains(out, "Error") {
			continue // SPIN does not take the model
		}
		// Globals that are initialized with others have other values in spin -t than in SPIN's
		// verifier.
		values := !strings.Contains(text, " g0 = ")
		switch wrong := trailtest.Replay(dir, "", "m.pml", "x.trail", b.Bytes(), x, values); wrong {
		case "":
			replayed[k.name]++
		case trailtest.Endless:
			endless++
			continue
		default:
			t.Errorf("seed %d, %s: %s", seed, k.name, wrong)
			machine.Keep(seed, text+"/*\n"+b.String()+"*/\n")
		}
		written[k.name]++
		// What is written is read as the same.
		q, err := loaded(text, b.String()+"\n")
		if err != nil {
			if !strings.Contains(err.Error(), "changes variables or starts") {
				t.Errorf("seed %d: %v\n%s", seed, err, b.String())
			}
			continue
		}
		shown, err := trailtest.Show(q, false)
		if err != nil || shown.Kind == "" && shown.Property == nil || x.Loop >= 0 &&
			(shown.Property == nil || shown.Property.Name != name) {
			t.Errorf("seed %d: it is read as %v, %v", seed, shown, err)
		}
	}
	t.Logf("written %v, of which SPIN replays %v, and does not end with %d more", written, replayed,
		endless)
}
