package syntax

import (
	"testing"

	"cpor/frontend/source"
)

// TestWalk goes through the examples of the parser: children lie within their
// parents, and come in the order of the text.
func TestWalk(t *testing.T) {
	f, err := Parse(source.New("test.model", `
const N = 3
var a, b [N]int = [N]int{1, 2, 3}, [N]int{0: 1}
thread T(x int) {
	for i := 0; i < N; i++ { if y := a[i]; y > x { a[i] += y } else if x == 0 { break } }
	select { case exists i in 0..N-1 { v := <-c[i] }: skip; case await(b[0] == 1): goto done }
	done: switch x { case 1, 2: assert(x > 0, "x"); default: return }
}
ltl p { [] (a[0] > 0 -> <> forall i in 0..2 { b[i] == 1 }) }
ltl q { <> sum i in T { a[i] } == count i in 0..1 { b[i] == 1 } }
init { go T(1) }`))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, d := range f.Decls {
		var stack []Node
		last := Node(nil)
		Walk(d, func(n Node) bool {
			seen++
			for len(stack) > 0 && n.Pos() >= stack[len(stack)-1].End() {
				stack = stack[:len(stack)-1]
			}
			if len(stack) > 0 && n.End() > stack[len(stack)-1].End() {
				t.Errorf("%s is not within %s", String(n), String(stack[len(stack)-1]))
			}
			if last != nil && n.Pos() < last.Pos() {
				t.Errorf("%s comes behind %s", String(n), String(last))
			}
			stack, last = append(stack, n), n
			return true
		})
	}
	if seen < 60 {
		t.Errorf("only %d nodes", seen)
	}
	if _, ok := Find(f.Decls[1], func(x *IndexExpr) bool { return true }); ok {
		t.Error("found an index where there is none")
	}
	if x, ok := Find(f.Decls[1], func(x *CompositeLit) bool { return x.Keys[0] != nil }); !ok ||
		len(x.Values) != 1 {
		t.Errorf("found %v", x)
	}
}
