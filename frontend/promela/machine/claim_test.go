package machine

import (
	"context"
	"encoding/csv"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/temporal"
	"cpor/frontend/promela/program"
	"cpor/ltl"
)

// cycles reports whether a system has an accepting cycle, or fails an assertion; ends, whether
// the cycle that was found is that of an execution that ends.
func cycles(t *testing.T, s *System, fair bool) (is, ends bool) {
	t.Helper()
	f := ltl.Not(ltl.Always(ltl.Eventually(ltl.Atom(s.Accepting()))))
	rs, err := temporal.Run(context.Background(), s, []engine.Property{
		{Name: "acceptance", Formula: f}}, temporal.Options{Options: engine.Options{Workers: 2},
		Reduction: temporal.None, Fair: fair})
	if err != nil {
		t.Fatal(err)
	}
	if x := rs[0].Counterexample; x != nil {
		m := s.newMachine()
		for _, st := range x.Stem {
			m.Step(st.Thread, st.Alt)
		}
		ends = len(x.Loop) == 0 || s.claim != nil && x.Loop[0].Thread == m.alone()
	}
	return rs[0].Verdict == engine.Violated || rs[0].Fault != nil, ends
}

// TestSpinClaims compares runs of pan -a and pan -l with the counts that SPIN printed.
func TestSpinClaims(t *testing.T) {
	f, err := os.Open(filepath.Join(micro, "index.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, r := range rows[1:] {
		name, flags := r[0], strings.Fields(r[3])
		b, err := os.ReadFile(filepath.Join(micro, name))
		if err != nil || r[4] != "ok" {
			continue
		}
		cycle := strings.Contains(r[3], "-a") || strings.Contains(r[3], "-l")
		if !cycle && !strings.Contains(string(b), "never") || strings.Contains(string(b), "ltl ") {
			continue
		}
		m, err := parseFile(filepath.Join(micro, name), nil)
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Resolve(m)
		if err != nil {
			t.Fatal(err)
		}
		o := Options{}
		if len(p.Claims) > 0 {
			o.Claim = p.Claims[0]
		}
		fair := false
		for _, x := range flags {
			if x == "-l" {
				o.Claim = NonProgress(p)
			}
			fair = fair || x == "-f"
		}
		s, err := New(p, o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		compared++
		stored, _ := strconv.Atoi(r[5])
		errors, _ := strconv.Atoi(r[10])
		c, cycling := count(s), false
		if cycle {
			cycling, _ = cycles(t, s, fair)
		}
		// With an error, pan -a counts some of the states of its second search.
		if c.stored != stored && !fair && (!cycle || errors == 0) {
			t.Errorf("%s: %d states, SPIN %d", name, c.stored, stored)
		}
		if got := c.errors > 0 || cycling; got != (errors > 0) {
			t.Errorf("%s: an error: %v, SPIN %d (%s)", name, got, errors, r[11])
		}
	}
	if compared != 23 {
		t.Errorf("%d runs compared", compared)
	}
	t.Logf("%d runs compared", compared)
}

// TestClaimChanges holds claims that change what they look at to the states that SPIN
// stores.
func TestClaimChanges(t *testing.T) {
	for _, c := range []struct {
		text   string
		stored int
	}{
		{"byte x; active proctype P() { do :: x < 3 -> x++ :: x == 3 -> x = 0 od } byte y; never " +
			"{ do :: y < 2 -> y++ :: x == 2 -> y = 0 od }", 11},
		{"byte x, y; active proctype P() { do :: x < 3 -> x++ :: y > 2 -> x = y :: else -> x = 0 " +
			"od } never { T0: do :: x < 2 -> y = x + 1 :: x == 2 -> y++; goto T1 :: atomic { y " +
			"== 1 -> y = 9; y = 2 } :: d_step { x == 3; y = 0 } od; T1: do :: y > 0 -> y-- :: " +
			"else -> goto T0 od }", 31},
		{"byte x; active proctype P() { do :: x = 1 - x od } proctype Q(byte k) { x = k; x == 7 " +
			"} byte y; never { do :: true :: x == 1 -> y = run Q(0); break od; do :: true od }", 7},
		{"byte x; active proctype P() { do :: x = 1 - x od } proctype Q() { x = 2; x = 3 } never " +
			"{ do :: true :: x == 1 -> run Q(); break od; do :: true od }", 11},
		{"byte x, y; active [2] proctype P() { do :: x < 2 -> x++ :: y > 0 -> y--; x = 0 :: else " +
			"od } never { do :: x == 2 && y < 2 -> y++ :: else od }", 14352},
	} {
		p, err := parseText(c.text)
		if err != nil {
			t.Fatal(err)
		}
		s, err := New(p, Options{Claim: p.Claims[0]})
		if err != nil {
			t.Fatal(err)
		}
		if got := count(s); got.stored != c.stored || got.errors != 0 {
			t.Errorf("%s: %+v, SPIN %d", c.text, got, c.stored)
		}
	}
}
