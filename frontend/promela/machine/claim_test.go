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

// cycles tells whether a system has an accepting cycle, or fails an assertion.
func cycles(t *testing.T, s *System, fair bool) bool {
	t.Helper()
	f := ltl.Not(ltl.Always(ltl.Eventually(ltl.Atom(s.Accepting()))))
	rs, err := temporal.Run(context.Background(), s, []engine.Property{{Name: "acceptance", Formula: f}}, temporal.Options{Options: engine.Options{Workers: 2}, Reduction: temporal.None, Fair: fair})
	if err != nil {
		t.Fatal(err)
	}
	return rs[0].Verdict == engine.Violated || rs[0].Fault != nil
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
		c := count(s)
		// With an error, pan -a counts some of the states of its second search.
		if c.stored != stored && !fair && (!cycle || errors == 0) {
			t.Errorf("%s: %d states, SPIN %d", name, c.stored, stored)
		}
		if got := c.errors > 0 || cycle && cycles(t, s, fair); got != (errors > 0) {
			t.Errorf("%s: an error: %v, SPIN %d (%s)", name, got, errors, r[11])
		}
	}
	if compared != 23 {
		t.Errorf("%d runs compared", compared)
	}
	t.Logf("%d runs compared", compared)
}
