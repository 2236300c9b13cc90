package classic

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
	"cpor/testkit/sample"
)

// name identifies a violation.
func name(v *system.Violation) string {
	return fmt.Sprint(v.Pos.Line, ":", v.Pos.Col, ": ", v.Message)
}

// ends are the final states and the violations of a search.
func ends(final map[string]bool, violations map[string]bool) string {
	var lines []string
	for s := range final {
		lines = append(lines, s)
	}
	for v := range violations {
		lines = append(lines, v)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestAgainstEveryInterleaving: on random acyclic programs, both searches come to all final
// states, deadlocks included, and to all violations.
func TestAgainstEveryInterleaving(t *testing.T) {
	n := sample.Of[uint64](60, 120, 10_000)
	compared, reduced, violated := 0, 0, 0
	for seed := range n {
		c := oracle.Config{Threads: 3, Statements: 3, Locks: seed%2 == 0, Awaits: seed%3 == 0,
			Atomic: true, Choices: seed%4 == 0, Channels: seed%5 == 0, Selects: seed%5 == 0}
		text := oracle.Generate(seed, c)
		m, err := model.Parse("random.model", text, model.Options{})
		if err != nil || len(m.System().Initial()) > 1 {
			continue
		}
		sys := m.System()
		final := map[string]bool{}
		o := stateless.Options{Options: engine.Options{Workers: 1, All: true,
			MaxTransitions: 200_000}, Reduction: stateless.None}
		o.Executed = func(m system.Machine) { final[fmt.Sprint(m.Encode(nil))] = true }
		all, err := stateless.Run(context.Background(), sys, o)
		if err != nil {
			t.Fatal(err)
		}
		if !all.Exhaustive {
			continue
		}
		violations := map[string]bool{}
		for _, v := range all.Violations {
			if v.Violation.Kind != system.Deadlock {
				violations[name(v.Violation)] = true
			}
		}
		want := ends(final, violations)
		if len(violations) > 0 {
			violated++
		}
		for _, sleep := range []bool{false, true} {
			final, violations := map[string]bool{}, map[string]bool{}
			res, err := Explore(context.Background(), sys, Options{Sleep: sleep,
				Final: func(m system.Machine) { final[fmt.Sprint(m.Encode(nil))] = true },
				Violation: func(v *system.Violation) {
					violations[name(v)] = true
				}})
			if err != nil {
				t.Fatalf("seed %d: %v\n%s", seed, err, text)
			}
			if got := ends(final, violations); got != want {
				t.Fatalf("seed %d, sleep sets %v:\n%s\nwant\n%s\n%s", seed, sleep, got, want, text)
			}
			if res.Transitions > all.Transitions {
				t.Fatalf("seed %d, sleep sets %v: %d transitions, of %d\n%s", seed, sleep,
					res.Transitions, all.Transitions, text)
			}
			if res.Transitions < all.Transitions {
				reduced++
			}
			compared++
		}
	}
	t.Logf("%d compared, %d reduced, %d violated", compared, reduced, violated)
	if compared < int(n)/4 || reduced < compared/4 || violated == 0 {
		t.Error("the programs test too little")
	}
}

// TestKnown: threads that do not meet have one execution; N threads that add to one variable have
// N! of them.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		text       string
		executions uint64
	}{
		{"var a [3]int\nthread T(i int) { a[i] = 1\na[i] = 2 }\n" +
			"init { for i := range 3 { go T(i) } }", 1},
		{"var x int\nthread T() { atomic { x++ } }\ninit { for range 4 { go T() } }", 24},
		{"var x int\nthread T() { x = choose(0, 2) }\ninit { go T() }", 3},
	} {
		m, err := model.Parse("m.model", c.text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, sleep := range []bool{false, true} {
			res, err := Explore(context.Background(), m.System(), Options{Sleep: sleep})
			if err != nil || res.Executions != c.executions {
				t.Errorf("%s, sleep sets %v: %+v, %v, want %d", c.text, sleep, res, err,
					c.executions)
			}
		}
	}
}

func TestRefused(t *testing.T) {
	for text, want := range map[string]string{
		"var x bool\nthread T() { for { x = !x } }\ninit { go T() }": "cyclic",
		"var x bool\nthread T() { x = true }\ninvariant i { x || !x }\n" +
			"init { go T() }": "invariants",
	} {
		m, err := model.Parse("m.model", text, model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = Explore(context.Background(), m.System(), Options{MaxDepth: 100})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
