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
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

// twins loads the model with a name and its twin. set are constants, as NAME=VALUE.
func twins(t testing.TB, m *model.Model, set string) (inGo, twin system.System) {
	t.Helper()
	text, err := os.ReadFile(m.Name() + ".model")
	if err != nil { // the example outside of this folder has the same steps
		if text, err = os.ReadFile("../" + m.Name() + ".model"); err != nil {
			t.Fatal(err)
		}
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

// TestTwins compares each model with its twin: the states, transitions, violations and deadlocks of
// the search without reduction are the same. The Cartesian search finds the same violations and
// deadlocks in no more states; the conditions are written in other words and may read less.
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
					same := a.Counts["states"] == b.Counts["states"] &&
						a.Counts["transitions"] == b.Counts["transitions"]
					if e.Name == "stateful cartesian" {
						same = a.Counts["states"] <= b.Counts["states"]
					}
					if a.Verdict != b.Verdict || len(a.Violations) != len(b.Violations) ||
						a.Deadlocks != b.Deadlocks || !same {
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

// small are constants with which every engine ends soon.
var small = map[string]string{"raft": "N=2", "changroberts": "N=3", "mesi": "N=2", "dining": "N=3",
	"termination": "N=2"}

// TestConform holds the models to the contract of package system, and every engine to the others.
func TestConform(t *testing.T) {
	for _, m := range models.All {
		for _, set := range []string{"", " BUG=true"} {
			t.Run(m.Name()+set, func(t *testing.T) {
				if set != "" && !sample.Long() {
					t.Skip("only with -long")
				}
				s, _ := twins(t, m, small[m.Name()]+set)
				o := systemtest.Options{MaxStates: 30, Walks: 3}
				if sample.Long() {
					o = systemtest.Options{}
				}
				systemtest.Conform(t, s, o)
				engines := slices.DeleteFunc(systemtest.Engines(), func(e systemtest.Engine) bool {
					return e.Finite || !sample.Long() && strings.Contains(e.Name, " -")
				})
				if n := systemtest.Agree(t, s, engines, false, 20000, 2); n < 5 {
					t.Errorf("only %d runs were compared", n)
				}
			})
		}
	}
}

// TestTemporal checks the models that have temporal properties.
func TestTemporal(t *testing.T) {
	for _, m := range []*model.Model{models.Peterson, models.ChangRoberts.With("N", 3),
		models.Termination} {
		model.Check(t, m, model.Options{Fair: true})
	}
}

// BenchmarkTwins compares the time of models with that of their twins.
func BenchmarkTwins(b *testing.B) {
	for _, m := range []*model.Model{models.Raft, models.ChangRoberts, models.MESI} {
		inGo, twin := twins(b, m, "BUG=true")
		for _, e := range systemtest.Engines() {
			if e.Name != "stateful none" && e.Name != "stateful cartesian" {
				continue
			}
			for name, s := range map[string]system.System{"go": inGo, "twin": twin} {
				b.Run(m.Name()+"/"+e.Name+"/"+name, func(b *testing.B) {
					for range b.N {
						if _, err := e.Run(s, 1, 1e6); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
