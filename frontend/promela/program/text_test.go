package program

import (
	"slices"
	"testing"

	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
)

// TestText: steps are named by the text of the model. Macros that are wholly in a step keep
// their names, of the others that part is shown that the step has, and inlines are shown with
// their arguments.
func TestText(t *testing.T) {
	const text = `#define N 3
#define LAST (N - 1)
#define SET if :: x != N -> x = LAST :: else -> skip fi
#define MAX(a, b) ((a) > (b) -> (a) : (b))
#define BOTH(p, q) p = q; q = N
#define DO SET
byte x, y[N]; chan c = [1] of { byte };
inline put(ch, v) { ch!v; x = v }
init {
	y[0] = LAST;
	SET;
	x = MAX(y[0],  N) + 1;
	BOTH(x, y[1]);
	DO;
	put(c, MAX(x, 2) + N);
	x  =
	   2
}
`
	m, err := syntax.Parse(source.New("m.pml", text), nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Resolve(m)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range p.Procs[0].States {
		for _, e := range s.Edges {
			if !slices.Contains(got, e.Text) {
				got = append(got, e.Text)
			}
		}
	}
	for _, want := range []string{
		"y[0] = LAST", "x != N", "x = LAST", "else", "skip", "x = MAX(y[0], N) + 1", "x = y[1]",
		"y[1] = N",
		"c!MAX(x, 2) + N", "x = MAX(x, 2) + N", "x = 2",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no step is named %q", want)
		}
	}
	if len(got) != 11 {
		t.Errorf("%d steps: %q", len(got), got)
	}
}
