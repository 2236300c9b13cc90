package composed_test

import (
	"strings"
	"testing"

	"cpor/benchmarks"
	"cpor/cartesian"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

// suite are the lock-based models of the project, with constants that keep them
// small.
var suite = []struct {
	name   string
	text   func(string) ([]byte, error)
	params string
	states uint64 // of C(M), where the paper says so or the documentation has them
	full   uint64 // of the full search, where the documentation has them
	times  uint64 // at least so many times fewer states than the full search
}{
	{"m_ex", benchmarks.LockModel, "", 9, 0, 5}, // the paper: exactly 9
	{"haltexception", benchmarks.LockModel, "", 174, 37_072, 213},
	{"haltexception", benchmarks.LockModel, "LOCAL=false", 163, 2_010, 12},
	{"haltexception", benchmarks.LockModel, "LINE=true", 0, 0, 8},
	{"clean", benchmarks.LockModel, "", 42, 2_547, 60},
	{"clean", benchmarks.LockModel, "LOCAL=false", 36, 192, 5},
	{"philosophers", benchmarks.LockModel, "N=3", 0, 0, 9},
	{"philosophers", benchmarks.LockModel, "N=3 ORDERED=false", 0, 0, 8},
	{"philosophers", benchmarks.Model, "N=6", 0, 0, 1},
	{"filesystem", benchmarks.Model, "N=3", 0, 0, 1},
}

// TestModels compares the composed search with the full one on each lock-based
// model, and with the cartesian one, which keeps the same.
func TestModels(t *testing.T) {
	for _, tt := range suite {
		t.Run(strings.TrimSpace(tt.name+" "+tt.params), func(t *testing.T) {
			text, err := tt.text(tt.name)
			if err != nil {
				t.Fatal(err)
			}
			ps, err := benchmarks.ParseParams(tt.params)
			if err != nil {
				t.Fatal(err)
			}
			m, err := model.Parse(tt.name+".model", string(text), model.Options{Params: ps.Map()})
			if err != nil {
				t.Fatal(err)
			}
			plain := m.System()
			checked, err := lockset.New(plain, lockset.Options{Rule: lockset.LDPrime,
				Merge: func(system.Loc) bool { return true }, Suspect: func(l system.Loc) {
					t.Errorf("%s is not protected", plain.NewMachine().LocName(l))
				}})
			if err != nil {
				t.Fatal(err)
			}
			explore := func(sys system.System, f search.Factory) (*oracle.Reach, *search.Result) {
				reach, r, err := oracle.Explore(sys, f, 2, 0)
				if err != nil || !r.Exhaustive {
					t.Fatal(err, r.Reason)
				}
				return reach, r
			}
			want, fullResult := explore(plain, full.Factory(plain))
			f, err := composed.Factory(checked, composed.Options{})
			if err != nil {
				t.Fatal(err)
			}
			got, r := explore(checked, f)
			if d := oracle.Diff(want, got); d != "" {
				t.Errorf("composed:\n%s", d)
			}
			cart, c := explore(plain, func() search.Expander {
				return cartesian.New(plain, cartesian.Options{})
			})
			if d := oracle.Diff(cart, got); d != "" {
				t.Errorf("cartesian and composed:\n%s", d)
			}
			t.Logf("states: full %d, composed %d, cartesian %d", fullResult.States, r.States,
				c.States)
			if tt.states != 0 && r.States != tt.states {
				t.Errorf("%d states, want %d", r.States, tt.states)
			}
			if tt.full != 0 && fullResult.States != tt.full {
				t.Errorf("%d states in the full search, want %d", fullResult.States, tt.full)
			}
			if fullResult.States < tt.times*r.States {
				t.Errorf("%d states, and %d in the full search: less than %d times fewer", r.States,
					fullResult.States, tt.times)
			}
		})
	}
}
