package compile_test

import (
	"slices"
	"testing"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
)

// TestPropositions looks at the propositions of formulas: those that differ in the values of
// variables of quantifiers are different ones, wherever these variables stand.
func TestPropositions(t *testing.T) {
	for _, test := range []struct {
		formula string
		want    []string
	}{
		{"forall i in 0..1 { [] a[i] == 1 }", []string{"a[0] == 1", "a[1] == 1"}},
		{"forall i in 0..1 { [] b == exists j in 0..1 { a[j] == i } }", []string{
			"b == exists j in 0..1 { a[j] == 0 }", "b == exists j in 0..1 { a[j] == 1 }",
		}},
		{"forall i in 0..1 { <> count j in 0..1 { a[j] == i } == 2 }", []string{
			"count j in 0..1 { a[j] == 0 } == 2", "count j in 0..1 { a[j] == 1 } == 2",
		}},
		{"forall i in T { <> sum j in T { T[j].n + T[i].n } > i }", []string{
			"sum j in T { T[j].n + T[0].n } > 0", "sum j in T { T[j].n + T[1].n } > 1",
		}},
		{"forall i in 0..1 { [] f(i) }", []string{"f(0)", "f(1)"}},
	} {
		r, err := resolve.Check(source.New("test.model", `
var a [2]int
var b bool
func f(n int) bool { return a[n] == 0 }
thread T(n int) { a[0] = n; b = true }
init { go T(1); go T(2) }
ltl p { `+test.formula+` }`), resolve.Options{})
		if err != nil {
			t.Fatal(err)
		}
		p, err := compile.Compile(r)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, q := range p.Props {
			names = append(names, q.Name)
		}
		slices.Sort(names)
		if !slices.Equal(names, test.want) {
			t.Errorf("%s: propositions %q, want %q", test.formula, names, test.want)
		}
	}
}
