package buchi

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/ltl"
	"cpor/testkit/ltltest"
)

var (
	update = flag.Bool("update", false, "rewrite the golden files")
	each   = flag.Bool("each", false, "log the size of each automaton in the comparison with Spot")
)

func mustTranslate(t testing.TB, f ltl.Formula, o Options) *Automaton {
	t.Helper()
	a, err := Translate(f, o)
	if err != nil {
		t.Fatalf("%s: %v", f, err)
	}
	return a
}

// patterns reads the formulas of testdata/patterns.ltl, by section.
func patterns(t testing.TB) (sections []string, formulas map[string][]ltl.Formula) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "patterns.ltl"))
	if err != nil {
		t.Fatal(err)
	}
	formulas = map[string][]ltl.Formula{}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok && !strings.ContainsAny(line, " ()") {
			sections = append(sections, strings.TrimSuffix(name, "]"))
		} else if line != "" && !strings.HasPrefix(line, "#") {
			last := sections[len(sections)-1]
			formulas[last] = append(formulas[last], ltltest.MustParse(t, line))
		}
	}
	return sections, formulas
}

// Spot's totals of Büchi states (state-based, degeneralised) are over the 178 formulas that
// remain of 94 formulas and their negations when repetitions are left out, as the
// README of Spot's benchmark says: 55, 12 and 26 formulas, then 55, 12 and 18 negations.
var spotTotals = []struct {
	section          string
	negated          bool
	formulas, states int
}{
	{"dac", false, 55, 214}, {"eh", false, 12, 43}, {"sb", false, 26, 81},
	{"dac", true, 55, 221}, {"eh", true, 12, 51}, {"sb", true, 18, 48},
}

// shape is equal for formulas that differ in the names of atoms only. The atoms are
// renamed in the order of their occurrence.
func shape(t testing.TB, f ltl.Formula) ltl.Formula {
	names := map[string]string{}
	var rename func(ltl.Formula) string
	rename = func(f ltl.Formula) string {
		ops := f.Operands()
		switch len(ops) {
		case 0:
			if f.Op() != ltl.OpAtom {
				return f.String()
			}
			if _, ok := names[f.Name()]; !ok {
				names[f.Name()] = fmt.Sprintf("a%d", len(names))
			}
			return names[f.Name()]
		case 1:
			return map[ltl.Op]string{ltl.OpNot: "!", ltl.OpNext: "X ", ltl.OpEventually: "<>",
				ltl.OpAlways: "[]"}[f.Op()] +
				"(" + rename(ops[0]) + ")"
		}
		symbol := map[ltl.Op]string{ltl.OpAnd: " && ", ltl.OpOr: " || ", ltl.OpUntil: " U ",
			ltl.OpRelease:   " R ",
			ltl.OpWeakUntil: " W ", ltl.OpImplies: " -> ", ltl.OpIff: " <-> "}[f.Op()]
		var parts []string
		for _, g := range ops {
			parts = append(parts, "("+rename(g)+")")
		}
		return strings.Join(parts, symbol)
	}
	return ltltest.MustParse(t, rename(f))
}

func TestSizesBesideSpot(t *testing.T) {
	_, formulas := patterns(t)
	if len(formulas["dac"]) != 55 || len(formulas["eh"]) != 12 || len(formulas["sb"]) != 27 {
		t.Fatalf("%d, %d and %d formulas", len(formulas["dac"]), len(formulas["eh"]),
			len(formulas["sb"]))
	}
	var table strings.Builder
	fmt.Fprintf(&table, "%-6s%9s%9s%9s%9s%13s%16s\n", "", "formulas", "states", "Spot", "ratio",
		"transitions", "deterministic")
	seen := map[ltl.Formula]bool{}
	for _, spot := range spotTotals {
		count, states, transitions, deterministic := 0, 0, 0, 0
		name := map[bool]string{true: "!"}[spot.negated] + spot.section
		for i, f := range formulas[spot.section] {
			if spot.negated {
				f = ltl.Not(f)
			}
			if s := shape(t, f); seen[s] {
				continue
			} else {
				seen[s] = true
			}
			start := time.Now()
			a := mustTranslate(t, f, Options{})
			count++
			states += a.States()
			transitions += a.Transitions()
			if a.Deterministic() {
				deterministic++
			}
			if *each {
				t.Logf("%s %d: %d states, %d transitions, %v: %s", name, i+1, a.States(),
					a.Transitions(),
					time.Since(start).Round(time.Millisecond), f)
			}
		}
		fmt.Fprintf(&table, "%-6s%9d%9d%9d%9.2f%13d%16d\n", name, count, states, spot.states,
			float64(states)/float64(spot.states), transitions, deterministic)
		if count != spot.formulas {
			t.Errorf("%s: %d different formulas, Spot counts %d", name, count, spot.formulas)
		}
		if 4*states > 5*spot.states {
			t.Errorf("%s: %d states, more than 25%% above Spot's %d", name, states, spot.states)
		}
	}
	t.Log("\n" + table.String())
}
