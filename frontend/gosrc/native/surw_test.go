package native_test

import (
	"fmt"
	"slices"
	"testing"

	"cpor/frontend/gosrc/native"
	"cpor/system"
	"cpor/testkit/gogen"
)

// TestSURW: where the weights are right and nobody who has selected steps left is blocked, all
// orders of them are equally likely, by the chi-squared statistic; where they are not, all are
// possible. An even choice among those who can run is far from that.
func TestSURW(t *testing.T) {
	needLong(t)
	b := build(t, native.BuildOptions{Dir: module(t, "1.25", map[string]string{
		"a_test.go": gogen.Uneven}), Package: "."})
	const runs = 3000
	for _, c := range []struct {
		test   string
		all    bool
		even   bool
		orders int
	}{
		{"TestObject", false, true, 10},
		{"TestAll", true, true, 0},
		{"TestBlocked", false, false, 6},
		{"TestSpins", false, false, 0},
	} {
		t.Run(c.test, func(t *testing.T) {
			p := start(t, b, c.test, native.Auto)
			x, err := p.Run(t.Context(), nil, native.Policy{Kind: native.Random, Seed: 1})
			if err != nil || x.End != native.Passed {
				t.Fatalf("end %d, %v", x.End, err)
			}
			first, want := selection(t, b, x, c.all), c.orders
			if c.all {
				want = extensions(x)
			}
			for _, kind := range []native.PolicyKind{native.SURW, native.Random} {
				seen := map[string]int{}
				for seed := range uint64(runs) {
					x, err := p.Run(t.Context(), nil, native.Policy{Kind: kind, Seed: seed,
						Select: first, MaxSteps: 5000})
					if err != nil || x.End != native.Passed {
						t.Fatalf("end %d, %v", x.End, err)
					}
					seen[order(x, b, first)]++
				}
				if want == 0 {
					continue
				}
				chi, bound := gogen.ChiSquared(seen, want)
				t.Logf("%d: %d of %d orders, statistic %.1f, bound %.1f", kind, len(seen), want,
					chi, bound)
				switch {
				case kind == native.Random:
					if c.even && chi < 2*bound {
						t.Error("the test cannot tell uneven from even")
					}
				case c.even && chi > bound:
					t.Error("the orders are not equally likely")
				case len(seen) > want || !c.even && len(seen) != want:
					t.Errorf("%d orders, not %d", len(seen), want)
				}
			}
		})
	}
}

// selection returns the selection of all steps, or the one of an object that is only loaded.
func selection(t *testing.T, b *native.Binary, x *native.Execution, all bool) native.Selection {
	for _, s := range b.Selections(x) {
		if s.All == all && (all || loads(x, s.Object) > 0) {
			return s
		}
	}
	t.Fatal("there is no such selection")
	return native.Selection{}
}

// loads returns how many steps touch a location; 0 if not all of them load it.
func loads(x *native.Execution, l system.Loc) (n int) {
	for _, s := range x.Steps {
		if touches(s, l) {
			if n++; s.Op != native.OpLoad {
				return 0
			}
		}
	}
	return n
}

func touches(s native.Step, l system.Loc) bool {
	return slices.ContainsFunc(s.Accesses, func(a system.Access) bool { return a.Loc == l })
}

// order returns who takes the selected steps of an execution.
func order(x *native.Execution, b *native.Binary, s native.Selection) string {
	var who []string
	for _, st := range x.Steps {
		if s.All || touches(st, s.Object) {
			who = append(who, b.ThreadName(st.Thread)+fmt.Sprint(st.Thread))
		}
	}
	return fmt.Sprint(who)
}

// extensions returns how many orders the steps of an execution have.
func extensions(x *native.Execution) int {
	before := make([]int, len(x.Steps)) // the one that led to a step
	last := map[int32]int{0: -1}
	for i, s := range x.Steps {
		before[i] = last[s.Thread]
		last[s.Thread] = i
		for _, q := range s.After {
			if _, ok := last[q.Thread]; !ok {
				last[q.Thread] = i
			}
		}
	}
	return gogen.Extensions(before)
}
