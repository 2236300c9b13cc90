package oracle_test

import (
	"fmt"
	"slices"
	"testing"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/testkit/oracle"
)

// TestFormatGenerated: formatting does not change the meaning of a generated program, and formatted
// text stays as it is.
func TestFormatGenerated(t *testing.T) {
	n := models(80, 200, 1000)
	for seed := *first; seed < *first+n; seed++ {
		text := program(seed, oracle.Sizes)
		before := nodes(t, text)
		once, err := syntax.Format(source.New("generated.model", text))
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if after := nodes(t, once); !slices.Equal(before, after) {
			t.Errorf("seed %d: another tree\n%s\nformatted:\n%s", seed, text, once)
		}
		if twice, err := syntax.Format(source.New("generated.model", once)); err != nil ||
			twice != once {
			t.Errorf("seed %d: formatted again it differs: %v\n%s\n%s", seed, err, once, twice)
		}
	}
}

// nodes returns what the tree of a text is made of, without empty statements.
func nodes(t *testing.T, text string) []string {
	t.Helper()
	f, err := syntax.Parse(source.New("generated.model", text))
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, d := range f.Decls {
		syntax.Walk(d, func(n syntax.Node) bool {
			if _, empty := n.(*syntax.EmptyStmt); !empty {
				list = append(list, fmt.Sprintf("%T %s", n, syntax.String(n)))
			}
			return true
		})
	}
	return list
}
