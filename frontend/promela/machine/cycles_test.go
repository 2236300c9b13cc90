package machine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// spinCycles runs SPIN's verifier for cycles; ok is false if it did not finish.
func spinCycles(t *testing.T, dir, text string, np, fair bool) (stored, errors int, ok bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	cc, run := "-DNOREDUCE", "-a"
	if np {
		cc, run = "-DNOREDUCE -DNP", "-l"
	}
	if fair {
		cc += " -DNFAIR=3"
		run += " -f"
	}
	script := fmt.Sprintf("rm -f pan pan.*; spin -o1 -o2 -o3 -a m.pml >/dev/null && { tcc %s "+
		"-DMEMLIM=500 -w -o pan pan.c || cc %s -DMEMLIM=500 -w -o pan pan.c; } >/dev/null 2>&1 "+
		"&& timeout %g ./pan %s -E -n -m50000 -w18", cc, cc, spinTime.Seconds(), run)
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	n, s := reErrors.FindStringSubmatch(string(out)), reStored.FindStringSubmatch(string(out))
	if n == nil || s == nil || strings.Contains(string(out), "max search depth") ||
		strings.Contains(string(out), "depth reached 49999") {
		return 0, 0, false
	}
	for _, fatal := range []string{"d_step", "bad queue", "rv-attempt", "too many", "out of memory",
		"blocking sel", "event-trace", "event_trace"} {
		if strings.Contains(string(out), fatal) {
			return 0, 0, false
		}
	}
	if n[1] == "0" && strings.Contains(string(out), "Search not completed") {
		return 0, 0, false // it ran out of time
	}
	stored, _ = strconv.Atoi(s[1])
	errors, _ = strconv.Atoi(n[1])
	return stored, errors, true
}

// standsStill reports whether there is a state in which the claim continues alone. SPIN's
// verifier does not store where it comes to with its first move then.
func standsStill(s *System) bool {
	m := s.newMachine()
	seen := map[string]bool{}
	for work := []system.State{s.initial[0]}; len(work) > 0; {
		st := work[len(work)-1]
		work = work[:len(work)-1]
		if k := fmt.Sprint(st); seen[k] {
			continue
		} else {
			seen[k] = true
		}
		m.Load(st)
		mark := m.Mark()
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind == system.Moved {
					work = append(work, m.Encode(nil))
				}
				m.Rewind(mark)
				if out.Kind == system.Moved && t == m.alone() {
					return true
				}
				alt, more = out.Next, out.Next != 0
			}
		}
	}
	return false
}

// TestSpinCycles compares verdicts on never claims, acceptance and non-progress cycles,
// with and without weak fairness, and states where there is no error.
func TestSpinCycles(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles SPIN's verifiers")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so nothing is compared with it here")
	}
	kinds, compared, wrong, states := []string{"claim", "acceptance", "progress"}, map[string]int{},
		map[string]int{}, 0
	dir := t.TempDir()
	bad, left := 0, map[string]int{}
	for i := range uint64(*spinModels) {
		seed := *spinFirst + i
		g := &generator{r: rand.New(rand.NewPCG(seed, 5)), whole: true, calm: true}
		text := g.model()
		kind, fair := kinds[g.n(3)], g.n(3) == 0
		if kind == "claim" {
			text += g.claim()
		}
		m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
		if err != nil {
			continue
		}
		p, err := program.Resolve(m)
		if err != nil || intrudes(p) || p.Trace != nil {
			continue
		}
		// SPIN's verifier stops at an assertion that fails; where, depends on the order.
		plain, err := New(p, Options{Watched: kind != "acceptance"})
		if err != nil {
			continue
		}
		if why := unfit(plain, 2000); why != "" {
			left[why]++
			continue
		}
		var o Options
		switch kind {
		case "claim":
			o.Claim = p.Claims[0]
		case "progress":
			o.Claim = NonProgress(p)
		}
		s, err := New(p, o)
		if err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, text)
			continue
		}
		if s.claimChanges && p.UsesTimeout {
			// Whether timeout is true depends on the move of the claim; SPIN's verifier asks
			// it for all moves together.
			left["a claim that changes, and timeout"]++
			continue
		}
		if p.UsesNonProgress && standsStill(s) {
			// SPIN's verifier matches a state that a claim has reached alone, where np_ is false,
			// with one that it has reached beside processes: its verdict depends on the order.
			left["a claim that asks for np_ where no process can move"]++
			continue
		}
		stored, errors, ok := spinCycles(t, dir, text, kind == "progress", fair)
		if !ok {
			left["SPIN does not finish"]++
			continue
		}
		got, ends := cycles(t, s, fair)
		if fair && ends && errors == 0 {
			left["the end of an execution, which SPIN misses with fairness"]++
			continue
		}
		name := kind
		if fair {
			name += ", fair"
		}
		compared[name]++
		if errors > 0 {
			wrong[name]++
		}
		if got != (errors > 0) {
			t.Errorf("seed %d: %s: an error: %v, SPIN %d", seed, name, got, errors)
			keep(seed, text)
			bad++
		} else if !got && !fair && !p.UsesLast && !(s.claimChanges && standsStill(s)) {
			states++
			if c := count(s); c.stored != stored {
				t.Errorf("seed %d: %s: %d states, SPIN %d", seed, name, c.stored, stored)
				keep(seed, text)
				bad++
			}
		}
		if bad > 15 {
			break
		}
	}
	t.Logf("compared %v, of which wrong %v; states compared of %d; left out: %v", compared, wrong,
		states, left)
	if len(compared) < 3 && *spinModels > 50 {
		t.Errorf("not everything could be compared: %v", compared)
	}
}
