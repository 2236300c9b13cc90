package temporal

import (
	"context"
	"reflect"
	"testing"

	"cpor/engine"
	"cpor/frontend/model"
)

// TestShortest: the lasso among the first vertices is the one among all of them, where the search
// for it ends early.
func TestShortest(t *testing.T) {
	const text = `
const N = 6
var fork [N]bool
var last int
thread Phil(i int) {
	for {
		atomic { await(!fork[i] && !fork[(i+1)%N]); fork[i] = true; fork[(i+1)%N] = true; last = i }
		skip
		fork[i] = false
		fork[(i+1)%N] = false
	}
}
ltl fed { [] <> last == 3 }
ltl later { <> last == 2 }
ltl never { [] (last == 5 -> <> [] last != 5) }
init { for i := range N { go Phil(i) } }
`
	m, err := model.Parse("phil.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	run := func(first int) []*Result {
		defer func(was int) { firstVertices = was }(firstVertices)
		firstVertices = first
		var ps []engine.Property
		for _, p := range m.Properties() {
			ps = append(ps, engine.Property{Name: p.Name, Formula: p.Formula, Text: p.Text})
		}
		rs, err := Run(context.Background(), m.System(), ps,
			Options{Options: engine.Options{Workers: 1}, Reduction: Transparent})
		if err != nil {
			t.Fatal(err)
		}
		return rs
	}
	early, all := run(30), run(shortVertices)
	for i, r := range early {
		a, b := r.Counterexample, all[i].Counterexample
		if a == nil || b == nil {
			t.Fatalf("%s is not violated: %v, %v", r.Property.Name, a, b)
		}
		if !reflect.DeepEqual(a.Stem, b.Stem) || !reflect.DeepEqual(a.Loop, b.Loop) {
			t.Errorf("%s: %v and %v, and among all vertices %v and %v", r.Property.Name, a.Stem,
				a.Loop, b.Stem, b.Loop)
		}
	}
}
