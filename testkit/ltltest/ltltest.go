// Package ltltest is for tests: it parses formulas with the parser of Promela's ltl blocks, so that
// the repository needs no parser that only tests use.
package ltltest

import (
	"fmt"
	"strings"
	"testing"

	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/ltl"
)

// Parse reads a formula in the syntax of SPIN, the binary temporal operators associate to the
// right. The atoms are the names of variables. R is read as V, its name in SPIN. Errors say
// where the text is wrong, or that an atom is not a name.
func Parse(text string) (f ltl.Formula, err error) {
	text = strings.ReplaceAll(text, " R ", " V ")
	m, err := syntax.Parse(source.New("formula", "ltl {"+text+"}\n"), nil)
	if err != nil {
		return ltl.Formula{}, err
	}
	if len(m.LTLs) != 1 {
		return ltl.Formula{}, fmt.Errorf("%q is %d formulas", text, len(m.LTLs))
	}
	return formula(m.LTLs[0].Formula)
}

// MustParse fails the test where Parse has an error.
func MustParse(t testing.TB, text string) ltl.Formula {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

func formula(f *syntax.Formula) (ltl.Formula, error) {
	if f.Op == "" {
		switch p := f.Prop.(type) {
		case *syntax.Ref:
			if p.Index == nil && p.Field == nil {
				return ltl.Atom(p.Name), nil
			}
		case *syntax.Const:
			if p.Value == 0 {
				return ltl.False(), nil
			}
			return ltl.True(), nil
		}
		return ltl.Formula{}, fmt.Errorf("%s is not a name", f.Text)
	}
	x, err := formula(f.X)
	if err != nil {
		return ltl.Formula{}, err
	}
	if unary, ok := unaries[f.Op]; ok {
		return unary(x), nil
	}
	y, err := formula(f.Y)
	if err != nil {
		return ltl.Formula{}, err
	}
	return binaries[f.Op](x, y), nil
}

var unaries = map[string]func(ltl.Formula) ltl.Formula{
	"!": ltl.Not, "[]": ltl.Always, "<>": ltl.Eventually, "X": ltl.Next,
}

var binaries = map[string]func(x, y ltl.Formula) ltl.Formula{
	"&&": func(x, y ltl.Formula) ltl.Formula { return ltl.And(x, y) },
	"||": func(x, y ltl.Formula) ltl.Formula { return ltl.Or(x, y) },
	"->": ltl.Implies, "<->": ltl.Iff, "U": ltl.Until, "W": ltl.WeakUntil, "V": ltl.Release,
}
