package model_test

import (
	"context"
	"fmt"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
)

// TestTemporaries compares a statement, in three threads that never end beside
// one that writes, with the same statement whose temporary values are variables
// of a block, dead behind it. A temporary value that outlives its last use tells
// equal states apart.
func TestTemporaries(t *testing.T) {
	for _, tt := range []struct{ statement, blocks string }{
		{"x = y", "v := y; x = v"},
		{"x = y + z", "v := y; w := z; x = v + w"},
		{"a[y & 1] = z", "v := y; w := z; a[v & 1] = w"},
		{"x = (x & 1) + y", "u := x; v := y; x = (u & 1) + v"},
		{"x = a[y & 1]", "v := y; w := a[v & 1]; x = w"},
		{"if y > z { x = 1 }", "{ b := true; { v := y; w := z; b = v > w }; if b { x = 1 } }"},
		{"switch y { case 1: x = 1; case 2: x = 3 }",
			"{ k := 0; { v := y; if v == 1 { k = 1 } else if v == 2 { k = 3 } }; if k > 0 { x = " +
				"k } }"},
	} {
		count := func(body string) uint64 {
			m, err := model.Parse("test.model", fmt.Sprintf(`
var x, y, z int
var a [2]int
thread T() { for { %s } }
thread W() { y = 1; z = 1; y = 2 }
init { go T(); go T(); go T(); go W() }`, body), model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := search.Run(context.Background(), m.System(), full.Factory(m.System()),
				search.Options{Options: engine.Options{Workers: 1, MaxStates: 1e6}})
			if err != nil || res.Verdict != engine.Pass {
				t.Fatal(res, err)
			}
			return res.States
		}
		if got, want := count(tt.statement), count(tt.blocks); got > want {
			t.Errorf("%s: %d states; with variables, %s: %d", tt.statement, got, tt.blocks, want)
		} else {
			t.Logf("%s: %d states; with variables: %d", tt.statement, got, want)
		}
	}
}
