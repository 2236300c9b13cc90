package resolve_test

import (
	"errors"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// ltlPrelude has names for formulas; the formula begins in line 10.
const ltlPrelude = `const N = 2
const R = true
type flag bool
var x, y int
var U, W [N]bool
var f flag
var c [N]chan(2) int
thread T(n int) { here: x = 1; for { skip } }
init { go T(1) }
`

func TestLTLErrors(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"ltl p { [] z == 1 }", "10:12: undefined: z"},
		{"ltl p { [] T[0]@hero }", "did you mean here?"},
		{"ltl p { [] T[0].m == 1 }", "no local variable m"},
		{"ltl p { [] x }", "must be a bool"},
		{"ltl p { x U y == 1 }", "the operand of U must be a bool"},
		{"ltl p { [] (x + 1) }", "must be a bool"},
		{"ltl p { X x == 1 }", "there is no next operator"},
		{"ltl p { [] (x == 1 -> X (y == 1)) }", "there is no next operator"},
		{"ltl p { next (x == 1) }", "there is no next operator"},
		{"ltl p { X [] (x == 1) }", "there is no next operator"},
		{"ltl p { G (x == 1) }", "is written []"},
		{"ltl p { F !(x == 1) }", "is written <>"},
		{"ltl p { x == 1 V y == 1 }", "is written R"},
		{"ltl p { x == 1 M y == 1 }", "no strong release"},
		{"ltl p { x == 1 until y == 1 }", "the binary temporal operators are"},
		{"ltl p { x == 1 and y == 1 }", "the operators are"},
		{"ltl p { ([] x == 1) == true }", "not an operand of =="},
		{"ltl p { cas(x, 0, 1) }", "ltl property"},
		{"ltl p { [] }", "expected an expression"},
		{"ltl p { }", "expected an expression"},
		{"ltl { x == 1 }", "needs a name"},
		{"ltl p { x == 1", "'}' after the formula"},
		{"ltl p { x == 1 }\nltl p { x == 2 }", "declared twice"},
		{"ltl p { forall i in 0..y { [] x == i } }", "constant"},
		{"ltl p { <> T@here }", "any number of instances"},
		{"ltl p { [] p }", "p"},
		{"invariant i { [] x == 1 }", "no slices"},
		{"thread V() { <> }", ""},
		{"ltl p { [] <-c[0] == 1 }", "ltl property"},
		{"ltl p { [] (x == 1 -> ) }", "expected an expression"},
		{"ltl p { x == 1 -> }", "expected an expression"},
		{"ltl p { [] U U W }", "no"},
		{"thread V() { select { case forall i in 0..1 { <-c[i] }: } }", "case exists i"},
		{"thread V() { select { case exists i in 0..x { <-c[i] }: } }", "must be constant"},
		{"thread V() { select { case exists i in 0..999 { <-c[0] }: } }", "at most 250"},
		{
			"thread V() { select { case exists i in 0..1 { <-c[i] }: if x == 1 { a: skip; goto a " +
				"} } }", "a label is not allowed"},
		{"thread V() { select { case exists i in 0..1 { x = 1 }: } }", "a case of a select is"},
		{"thread V() { select { case exists i in 0..2 { <-c[j] }: } }", "undefined: j"},
		{"thread V() { select { case exists i in 0..1 { <-c[i] }: i = 2 } }", "i"},
	} {
		_, err := resolve.Check(source.New("m.model", ltlPrelude+c.formula+"\n"), resolve.Options{})
		var list *source.List
		if !errors.As(err, &list) {
			t.Errorf("%s: %v", c.formula, err)
			continue
		}
		if !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "m.model:1") {
			t.Errorf("%s: %v, want %q", c.formula, err, c.want)
		}
	}
}

// TestLTLPrecedence compares formulas as they are written with the parse,
// printed with all parentheses.
func TestLTLPrecedence(t *testing.T) {
	for _, c := range []struct{ formula, want string }{
		{"[] x == 1 -> <> y == 1", "[] x == 1 -> <> y == 1"},
		{"[]<> x == 1", "[] <> x == 1"},
		{"U[0] U W[0] U U[1]", "U[0] U (W[0] U U[1])"},
		{"U[0] && W[0] U U[1]", "U[0] && (W[0] U U[1])"},
		{"U[0] U W[0] && U[1]", "(U[0] U W[0]) && U[1]"},
		{"x < 1 U y+1 > 2", "x < 1 U y+1 > 2"},
		{"R R R", "R R R"},
		{"!U[0] W W[0]", "!U[0] W W[0]"},
		{"U[0] <-> W[0] -> U[1]", "U[0] <-> (W[0] -> U[1])"},
		{"U[0] -> W[0] -> U[1]", "U[0] -> (W[0] -> U[1])"},
		{"forall i in 0..N-1 { []<> U[i] -> <> full(c[i]) }",
			"forall i in 0..N-1 { [] <> U[i] -> <> full(c[i]) }"},
		{"bool(f) U U[0]", "bool(f) U U[0]"},
	} {
		text := ltlPrelude + "ltl p {\n" + c.formula + "\n}\n"
		p, err := resolve.Check(source.New("m.model", text), resolve.Options{})
		if err != nil {
			t.Errorf("%s: %v", c.formula, err)
			continue
		}
		got := syntax.String(p.LTL[0].Formula)
		if strip(got) != strip(c.want) {
			t.Errorf("%s: %s, want %s", c.formula, got, c.want)
		}
		// What is printed reads as the same.
		q, err := resolve.Check(source.New("m.model", ltlPrelude+"ltl p { "+got+" }\n"),
			resolve.Options{})
		if err != nil {
			t.Errorf("%s: %v", got, err)
		} else if again := syntax.String(q.LTL[0].Formula); again != got {
			t.Errorf("%s is read as %s", got, again)
		}
	}
}

func strip(s string) string { return strings.ReplaceAll(s, " ", "") }
