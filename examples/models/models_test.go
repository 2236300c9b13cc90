package models_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/examples/models"
	frontend "cpor/frontend/model"
	"cpor/model"
	"cpor/system"
	"cpor/testkit/systemtest"
)

// twins loads the model with a name and its twin. set are constants, as NAME=VALUE.
func twins(t *testing.T, m *model.Model, set string) (inGo, twin system.System) {
	t.Helper()
	text, err := os.ReadFile(m.Name() + ".model")
	if err != nil {
		t.Fatal(err)
	}
	params := map[string]string{}
	for _, s := range strings.Fields(set) {
		name, value, _ := strings.Cut(s, "=")
		params[name] = value
		m = m.With(name, value)
	}
	s, err := m.System()
	if err != nil {
		t.Fatal(err)
	}
	p, err := frontend.Parse(m.Name()+".model", string(text), frontend.Options{Params: params})
	if err != nil {
		t.Fatal(err)
	}
	return s, p.System()
}

// TestTwins compares each model with its twin: the states, transitions, violations and deadlocks
// that the search without reduction and the Cartesian one find.
func TestTwins(t *testing.T) {
	for _, m := range models.All {
		for _, set := range []string{"", "BUG=true"} {
			t.Run(m.Name()+" "+set, func(t *testing.T) {
				inGo, twin := twins(t, m, set)
				for _, e := range systemtest.Engines() {
					if e.Name != "stateful none" && e.Name != "stateful cartesian" {
						continue
					}
					a, err := e.Run(inGo, 2, 1e6)
					if err != nil {
						t.Fatal(err)
					}
					b, err := e.Run(twin, 2, 1e6)
					if err != nil {
						t.Fatal(err)
					}
					if a.Verdict != b.Verdict || len(a.Violations) != len(b.Violations) ||
						a.Deadlocks != b.Deadlocks || a.Counts["states"] != b.Counts["states"] ||
						a.Counts["transitions"] != b.Counts["transitions"] {
						t.Errorf("%s: %+v, the twin %+v", e.Name, a, b)
					}
					if bug := a.Verdict == engine.Violated; bug != (set != "") {
						t.Errorf("%s: %s", e.Name, a.Verdict)
					}
				}
			})
		}
	}
}

// TestConform holds the models to the contract of package system, and every engine to the others.
func TestConform(t *testing.T) {
	for _, m := range models.All {
		for _, set := range []string{"", "BUG=true"} {
			t.Run(m.Name()+" "+set, func(t *testing.T) {
				s, _ := twins(t, m, set)
				systemtest.Conform(t, s, systemtest.Options{MaxStates: 60, Walks: 4})
				engines := slices.DeleteFunc(systemtest.Engines(), func(e systemtest.Engine) bool {
					return e.Finite
				})
				if n := systemtest.Agree(t, s, engines, false, 5000, 2); n < 8 {
					t.Errorf("only %d runs were compared", n)
				}
			})
		}
	}
}
