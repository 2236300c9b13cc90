package corpus

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend"
	"cpor/testkit/trailtest"
)

// replayed loads a model with a trail.
func replayed(r *Run, file string) (*frontend.Program, error) {
	params := map[string]string{}
	for _, d := range r.Defines {
		name, value, _ := strings.Cut(d, "=")
		params[name] = value
	}
	return frontend.Load(
		r.Model+".pml",
		frontend.Options{Params: params, Flags: map[string]string{"replay": file}},
	)
}

// TestTrails exchanges trails with SPIN for each run that violates something: what cpor has
// found is replayed by spin -t, and what SPIN's verifier has found, with and without its
// optimizations, is shown as the same.
func TestTrails(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles SPIN's verifiers")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so no trails are exchanged with it here")
	}
	all := runs(t)
	wrote, replays, read, right := 0, 0, 0, 0
	for i := range all {
		r := &all[i]
		if !r.Violated || weight(all, r) > bound() || !*large && *only == "" && i%80 != 0 {
			continue
		}
		text, err := Text(r.Model)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "m.pml"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		defines := ""
		for _, d := range r.Defines {
			defines += " -D" + d
		}
		what, fair := strings.CutSuffix(r.Check, " fair")
		name := strings.TrimPrefix(what, "ltl ")
		cc, pan := "", "-a"
		switch what {
		case Safety:
			cc, pan, name = "-DSAFETY -DNOCLAIM", "", ""
		case "progress":
			cc, pan = "-DNP -DNOCLAIM", "-l"
		case "acceptance":
			cc, name = "-DNOCLAIM", "no-acceptance"
		default:
			pan += " -N " + name
		}
		if fair {
			cc, pan = cc+" -DNFAIR=4", pan+" -f"
		}

		p, err := load(r)
		if err != nil {
			t.Fatal(err)
		}
		x, err := trailtest.Find(p, name, fair)
		if err != nil {
			t.Errorf("%s: %v", r.Name(), err)
		} else if x != nil {
			wrote++
			var b bytes.Buffer
			file := filepath.Join(dir, "x.trail")
			if err := p.WriteTrail(&b, x); err != nil {
				t.Errorf("%s: %v", r.Name(), err)
			} else if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			} else if wrong := trailtest.Replay(dir, defines, "m.pml", "x.trail", b.Bytes(), x,
				true); wrong != "" {
				t.Errorf("%s: spin -t: %s", r.Name(), wrong)
			} else if shown, err := show(r, file, fair); err != nil || shown.Kind == "" &&
				(shown.Property == nil || shown.Property.Name != name) {
				t.Errorf("%s: cpor's own trail is shown as %v, %v", r.Name(), shown, err)
			} else {
				replays++
			}
		}

		for _, o := range []string{"-o1 -o2 -o3", "", "-o3"} {
			cc := cc + " -DVECTORSZ=8192 -w -o pan pan.c"
			out := trailtest.Shell(
				dir,
				fmt.Sprintf(
					"rm -f pan m.pml.trail; timeout 10 spin %s %s -a m.pml >/dev/null; { timeout 20 tcc %s || cc %s; } >/dev/null 2>&1; timeout 20 ./pan %s -m200000 -w20",
					o,
					defines,
					cc,
					cc,
					pan,
				),
			)
			first := trailtest.FirstError(out)
			if first == "" {
				continue // it has not come so far in the time that it has
			}
			read++
			shown, err := show(r, filepath.Join(dir, "m.pml.trail"), fair)
			if err != nil || !trailtest.Agrees(first, shown) {
				t.Errorf("%s, spin %s: %s is shown as %v, %v", r.Name(), o, first, shown, err)
				continue
			}
			right++
		}
	}
	t.Logf(
		"%d of %d trails are replayed by SPIN, %d of %d of SPIN's are shown as what it has found",
		replays,
		wrote,
		right,
		read,
	)
	least := 1 // of the sample
	if *large {
		least = 50
	}
	if *only == "" && (wrote < least || read < 3*least) {
		t.Errorf("only %d trails were written, and %d read", wrote, read)
	}
}

// show says what a trail of a model shows.
func show(r *Run, file string, fair bool) (trailtest.Shown, error) {
	p, err := replayed(r, file)
	if err != nil {
		return trailtest.Shown{}, err
	}
	return trailtest.Show(p, fair)
}
