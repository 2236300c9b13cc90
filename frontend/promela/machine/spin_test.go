package machine

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

var (
	spinModels = flag.Int("spin", 3, "how many generated models are compared with SPIN's verifier")
	spinFirst  = flag.Uint64("first", 1, "the first seed")
	spinTime   = flag.Duration("spintime", 5*time.Second,
		"how long SPIN's verifier may take for a model")
	spinKeep = flag.String("keep", "", "a folder for the models that differ")
)

var (
	reStored  = regexp.MustCompile(`(\d+) states, stored`)
	reMatched = regexp.MustCompile(`(\d+) states, matched`)
	reErrors  = regexp.MustCompile(`errors: (\d+)`)
)

// spin runs SPIN's verifier without reduction on a model. fatal tells that it
// gave up, and no counts can be compared.
func spin(t *testing.T, dir, text string) (c counts, fatal string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	run := func(name string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(context.Background(), *spinTime)
		defer cancel()
		cmd := exec.CommandContext(ctx, name, args...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	os.Remove(filepath.Join(dir, "pan.c"))
	os.Remove(filepath.Join(dir, "pan"))
	if out, err := run("spin", "-o1", "-o2", "-o3", "-a", "m.pml"); err != nil {
		return c, "spin: " + out
	}
	cc := "gcc"
	if _, err := exec.LookPath("tcc"); err == nil {
		cc = "tcc"
	}
	if out, err := run(cc, "-O0", "-DSAFETY", "-DNOREDUCE", "-DMEMLIM=500", "-w", "-o", "pan",
		"pan.c"); err != nil {
		return c, cc + ": " + out
	}
	out, err := run("./pan", "-n", "-c0", "-m20000", "-w18")
	if strings.Contains(out, "max search depth") {
		out, err = run("./pan", "-n", "-c0", "-m500000", "-w20")
	}
	get := func(re *regexp.Regexp) int {
		if m := re.FindStringSubmatch(out); m != nil {
			n, _ := strconv.Atoi(m[1])
			return n
		}
		return -1
	}
	c = counts{get(reStored), get(reMatched), get(reErrors)}
	for _, bad := range []string{"aborting", "max search depth", "block in d_step", "blocking sel",
		"too many", "bad queue", "rv-attempt", "out of memory", "memory limit", "pan: reached"} {
		if strings.Contains(out, bad) {
			return c, bad
		}
	}
	if err != nil && c.stored < 0 || c.stored < 0 {
		return c, "pan: " + out
	}
	return c, ""
}

// intrudes reports whether a model has what SPIN's verifier gets wrong: a d_step that begins
// with an assertion, with printf, or with a selection without a guard, and is not kept from
// going off between the two halves of a rendezvous.
func intrudes(p *program.Program) bool {
	rendezvous := false
	regions := []*program.Region{&p.Globals}
	for _, pr := range p.Procs {
		regions = append(regions, &pr.Region)
	}
	for _, r := range regions {
		for _, c := range r.Chans {
			rendezvous = rendezvous || c.Cap == 0
		}
	}
	if !rendezvous {
		return false
	}
	for _, pr := range p.Procs {
		for _, s := range pr.States {
			for _, e := range s.Edges {
				if e.Kind != program.DStep {
					continue
				}
				guarded := !e.Always
				if _, choice := e.Stmt.(*syntax.Atomic).Body.Stmts[0].(*syntax.If); !choice {
					guarded = guarded || e.Inner.Edges[0].Kind == program.Assign
				}
				if !guarded {
					return true
				}
			}
		}
	}
	return false
}

// keep writes a model that differs where -keep says.
func keep(seed uint64, text string) {
	if *spinKeep != "" {
		os.WriteFile(filepath.Join(*spinKeep, fmt.Sprintf("%d.pml", seed)), []byte(text), 0o666)
	}
}

func TestSpinGenerated(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles SPIN's verifiers")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so nothing is compared with it here")
	}
	compared, skipped := 0, map[string]int{}
	dir := t.TempDir()
	bad := 0
	for i := range uint64(*spinModels) {
		seed := *spinFirst + i
		text := generate(seed)
		if seed%2 == 0 {
			text = whole(seed)
		}
		m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
		var p *program.Program
		if err == nil {
			p, err = program.Resolve(m)
		}
		var s *System
		if err == nil {
			s, err = New(p, Options{})
		}
		want, fatal := spin(t, dir, text)
		if err != nil {
			if !strings.HasPrefix(fatal, "spin:") && !strings.HasPrefix(fatal, "tcc:") &&
				!strings.HasPrefix(fatal, "gcc:") && !strings.Contains(fatal, "pan: error") {
				t.Errorf("seed %d: %v, but spin takes it (%+v %s)", seed, err, want, fatal)
				keep(seed, text)
				bad++
			} else {
				skipped["both refuse"]++
			}
			continue
		}
		if fatal != "" {
			// SPIN's grammar is narrower in places (channel predicates inside
			// of arithmetic, jumps that its d_step cannot take).
			why, _, _ := strings.Cut(fatal, "\n")
			if k := strings.Index(why, "Error:"); k >= 0 {
				why = why[k:]
			}
			skipped[why]++
			continue
		}
		if intrudes(p) {
			skipped["a d_step that goes off in the middle of a rendezvous"]++
			continue
		}
		compared++
		c := count(s)
		if strings.Contains(text, "D_proctype") && ((c.errors > 0) == (want.errors > 0) ||
			c.errors == 0 && strings.Contains(text, "rv!")) {
			// SPIN's verifier takes a rendezvous that nobody answers for a step, too, and so
			// for a choice.
			c.errors = want.errors
		}
		if c != want {
			bad++
			t.Errorf("seed %d: %+v, SPIN %+v", seed, c, want)
			keep(seed, text)
		}
		if i%1000 == 999 {
			t.Logf("%d models so far, up to seed %d: %d compared, %d differ", i+1, seed, compared,
				bad)
		}
		if bad > 15 {
			break
		}
	}
	if compared < *spinModels/3 {
		t.Errorf("only %d of %d models could be compared", compared, *spinModels)
	}
	t.Logf("%d models compared, left out: %v", compared, skipped)
}

var spinFile = flag.String("file", "", "a model that is compared with SPIN")

func TestSpinFile(t *testing.T) {
	if *spinFile == "" {
		t.Skip("no -file")
	}
	b, err := os.ReadFile(*spinFile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := parseText(string(b))
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(p, Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, fatal := spin(t, t.TempDir(), string(b))
	t.Logf("%+v, SPIN %+v %s", count(s), want, fatal)
}

// formula writes a random formula over a generated model.
func (g *generator) formula(depth int) string {
	if depth == 0 || g.n(4) == 0 {
		return "(" + g.pick("x == 1", "x < 2", "y", "m == red", "arr[1] > 0", "len(q) == 0",
			"z >= x", "t.a != 1", "arr[0] == arr[1]") + ")"
	}
	switch g.n(9) {
	case 0, 1:
		return "[] " + g.formula(depth-1)
	case 2, 3:
		return "<> " + g.formula(depth-1)
	case 4:
		return "! " + g.formula(depth-1)
	case 5:
		return "(" + g.formula(depth-1) + " U " + g.formula(depth-1) + ")"
	case 6:
		return "(" + g.formula(depth-1) + " -> " + g.formula(depth-1) + ")"
	case 7:
		return "(" + g.formula(depth-1) + " && " + g.formula(depth-1) + ")"
	}
	return "(" + g.formula(depth-1) + " || " + g.formula(depth-1) + ")"
}

// TestSpinFormulas compares the verdicts on temporal properties with SPIN's.
func TestSpinFormulas(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles SPIN's verifiers")
	}
	if _, err := exec.LookPath("spin"); err != nil {
		t.Skip("LEFT OUT: spin is not installed, so nothing is compared with it here")
	}
	compared, holds, ends, bad, left := 0, 0, 0, 0, map[string]int{}
	dir := t.TempDir()
	for i := range uint64(*spinModels) {
		seed := *spinFirst + i
		g := &generator{r: rand.New(rand.NewPCG(seed, 2)), calm: true, whole: seed%2 == 0}
		text := g.model() + "ltl p { " + g.formula(3) + " }\n"
		p, err := parseText(text)
		if err != nil {
			continue
		}
		s, err := New(p, Options{Watched: true}) // to SPIN, a formula is a claim
		if err != nil {
			continue
		}
		// SPIN makes an assertion of a claim's violation, so the model must
		// have none that fails.
		if why := unfit(s, 3000); why != "" {
			left[why]++
			continue
		}
		fair := seed%3 == 0
		want, ok := spinFormula(t, dir, text, fair)
		if !ok {
			left["SPIN does not finish"]++
			continue
		}
		l := p.LTLs[0]
		rs, err := temporal.Run(context.Background(), s, []engine.Property{
			{Name: "p", Formula: l.Formula, Text: l.Text}}, temporal.Options{
			Options: engine.Options{Workers: 2, MaxStates: 200000}, Reduction: temporal.None,
			Fair: fair})
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, text)
		}
		if rs[0].Fault != nil {
			left["a proposition fails"]++
			continue
		}
		if rs[0].Verdict == engine.Incomplete {
			left["too large with the formula"]++
			continue
		}
		if x := rs[0].Counterexample; fair && want && x != nil && len(x.Loop) == 0 {
			// With -f, SPIN's verifier can miss that an execution ends in a state
			// where no process can move.
			ends++
			continue
		}
		compared++
		got := rs[0].Verdict == engine.Pass
		if got {
			holds++
		}
		if got != want {
			t.Errorf("seed %d: fair %v: holds %v, SPIN %v: %s\n%s", seed, fair, got, want, l.Text,
				text)
			if bad++; bad > 3 {
				break
			}
		}
	}
	if compared < *spinModels/10 {
		t.Errorf("only %d of %d formulas could be compared", compared, *spinModels)
	}
	t.Logf("%d formulas compared, %d hold; of %d more SPIN misses the end; left out: %v", compared,
		holds, ends, left)
}

// spinFormula reports whether SPIN finds that the property holds; ok is false if it did not
// finish.
func spinFormula(t *testing.T, dir, text string, fair bool) (holds, ok bool) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "m.pml"), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	flags, run := "-DNOREDUCE -DMEMLIM=500 -w -o pan pan.c",
		fmt.Sprintf("timeout %g ./pan -a -E -n -m50000 -w18", spinTime.Seconds())
	if fair {
		flags, run = "-DNFAIR=3 "+flags, run+" -f"
	}
	script := "rm -f pan; spin -o1 -o2 -o3 -a m.pml >/dev/null && { tcc " + flags + " || cc " +
		flags + "; } >/dev/null 2>&1 && " + run
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, _ := cmd.CombinedOutput()
	n := reErrors.FindStringSubmatch(string(out))
	if n == nil || strings.Contains(string(out), "max search depth") ||
		strings.Contains(string(out), "depth reached 49999") {
		return false, false
	}
	for _, fatal := range []string{"d_step", "bad queue", "rv-attempt", "too many", "out of memory",
		"invalid array index"} {
		if strings.Contains(string(out), fatal) {
			return false, false
		}
	}
	if n[1] == "0" && strings.Contains(string(out), "Search not completed") {
		return false, false // it ran out of time
	}
	return n[1] == "0", true
}
