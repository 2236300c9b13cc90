package resolve_test

import (
	"fmt"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

const typesModel = `
type Color uint2
type Flag bool
type Node struct { next *Node; v int8; a [2]uint4 }
type Ptr *int
const N = 10
const Big = 1 << 40
const T8 int8 = 5
const Red Color = 2
var node Node
var p *Node = &node
var g int
var arr [3][4]bool
type Msg struct { n *Node; v int }
var c chan(2) Msg
var u chan int
var done chan struct{}
var ms [2]mutex
func one(x int) int8 { return 1 }
func ptr() *Node { return p }
thread Body(x int, y int8, u64 uint64, f Flag, col Color, pp Ptr, r chan int) {
	loc := node
	i := 3
	b := true
	_, _, _, _ = loc, i, b, r
	_ = %s
}
init { go Body(1, 2, 3, true, Red, &g, u) }
`

// TestTypes checks the type and, of constants, the value of expressions.
func TestTypes(t *testing.T) {
	tests := []struct {
		expr, typ string
		val       string // "" if it is not constant
	}{
		{"1", "int", "1"},
		{"'a'", "int", "97"},
		{"'\\x7f'", "int", "127"},
		{"true", "bool", "1"},
		{"N", "int", "10"},
		{"N + 1", "int", "11"},
		{"T8", "int8", "5"},
		{"T8 + 1", "int8", "6"},
		{"1 + T8", "int8", "6"},
		{"Red", "Color", "2"},
		{"Red | 1", "Color", "3"},
		{"Big >> 38", "int", "4"},
		{"int64(Big)", "int64", "1099511627776"},
		{"Big == 1<<40", "bool", "1"},
		{"Big * Big / Big / 1024 / 1024 / 1024", "int", "1024"},
		{"uint64(1<<64 - 1)", "uint64", "-1"},
		{"uint64(1<<64 - 1) > 5", "bool", "1"},
		{"-7 / 2", "int", "-3"},
		{"-7 % 2", "int", "-1"},
		{"7 &^ 2", "int", "5"},
		{"6 ^ 3", "int", "5"},
		{"^5", "int", "-6"},
		{"^uint4(5)", "uint4", "10"},
		{"-(3)", "int", "-3"},
		{"+3", "int", "3"},
		{"!true", "bool", "0"},
		{"!(1 < 2) || 3 >= 3 && 4 != 5", "bool", "1"},
		{"1 <= 0 || 2 > 3", "bool", "0"},
		{"1 << 3 >> 1", "int", "4"},
		{"int8(1) << 6", "int8", "64"},
		{"min(3, 1, 2)", "int", "1"},
		{"max(3, T8, 2)", "int8", "5"},
		{"min(N, 11)", "int", "10"},
		{"len(arr)", "int", "3"},
		{"len(arr[0])", "int", "4"},
		{"cap(arr[x])", "int", "4"},
		{"len(p.a)", "int", "2"},
		{"Flag(true)", "Flag", "1"},
		{"Flag(1 < 2) && true", "Flag", "1"},
		{"Color(1)", "Color", "1"},
		{"byte(3)", "uint8", "3"},
		{"uint(3)", "uint", "3"},
		{"017 + 0o17 + 0x11 + 0b11 + 1_0", "int", "60"},

		{"x", "int", ""},
		{"(x)", "int", ""},
		{"x + 1", "int", ""},
		{"1 + x*2", "int", ""},
		{"y + T8", "int8", ""},
		{"y << x", "int8", ""},
		{"1 << x", "int", ""},
		{"uint8(1 << x)", "uint8", ""},
		{"y + 1<<x", "int8", ""},
		{"1<<x == 2<<x", "bool", ""},
		{"-y", "int8", ""},
		{"^col", "Color", ""},
		{"u64 + 1<<63", "uint64", ""},
		{"x < 3", "bool", ""},
		{"f && x < 3", "Flag", ""},
		{"f == (x < 3)", "bool", ""},
		{"!f", "Flag", ""},
		{"b && true", "bool", ""},
		{"x == N && !b", "bool", ""},
		{"p == nil", "bool", ""},
		{"nil != p", "bool", ""},
		{"p", "*Node", ""},
		{"*p", "Node", ""},
		{"p.next.next.v", "int8", ""},
		{"(*p).v", "int8", ""},
		{"node.a[x]", "uint4", ""},
		{"loc.a[1]", "uint4", ""},
		{"loc.next.v", "int8", ""},
		{"&node", "*Node", ""},
		{"&node.v", "*int8", ""},
		{"&p.a[1]", "*uint4", ""},
		{"&p.a", "*[2]uint4", ""},
		{"&ms[1]", "*mutex", ""},
		{"pp", "Ptr", ""},
		{"*pp", "int", ""},
		{"Ptr(&g) == pp", "bool", ""},
		{"(&p.a)[1]", "uint4", ""},
		{"arr", "[3][4]bool", ""},
		{"arr[i]", "[4]bool", ""},
		{"arr[0][y]", "bool", ""},
		{"[2]int{1, 2}", "[2]int", ""},
		{"[...]bool{3: true}", "[4]bool", ""},
		{"Node{}", "Node", ""},
		{"Node{p, 1, [2]uint4{}}", "Node", ""},
		{"Node{a: {1, 2}}", "Node", ""},
		{"struct { a int }{1}", "struct{ a int }", ""},
		{"struct{}{}", "struct{}", ""},
		{"<-c", "Msg", ""},
		{"<-done", "struct{}", ""},
		{"c", "chan(2) Msg", ""},
		{"r", "chan int", ""},
		{"<-r + 1", "int", ""},
		{"len(c)", "int", ""},
		{"cap(r) - 1", "int", ""},
		{"empty(c) || full(r)", "bool", ""},
		{"one(3) + 1", "int8", ""},
		{"ptr().next", "*Node", ""},
		{"ptr().a[1] + 1", "uint4", ""},
		{"cas(g, 1, 2)", "bool", ""},
		{"choose(0, x)", "int", ""},
		{"int8(x)", "int8", ""},
		{"Color(y) + 1", "Color", ""},
		{"Flag(b)", "Flag", ""},
		{"bool(f) && b", "bool", ""},
		{"Node(loc)", "Node", ""},
		{"min(x, 3)", "int", ""},
		{"max(1, y, 2)", "int8", ""},
		{"min(1<<x, y)", "int8", ""},
		{"max(1<<x, 2)", "int", ""},
		{"forall k in 0..N-1 { k < x }", "bool", ""},
		{"exists k in -1..1 { forall l in k_..2 { l > k } }", "bool", ""},
	}
	for _, test := range tests {
		test.expr = strings.ReplaceAll(test.expr, "k_", "0")
		f := source.New("types.model", fmt.Sprintf(typesModel, test.expr))
		prog, err := resolve.Check(f, resolve.Options{})
		if err != nil {
			t.Errorf("%s:\n%v", test.expr, err)
			continue
		}
		checkProgram(t, prog)
		body := prog.Threads[0].Body.Stmts
		e := body[len(body)-1].(*syntax.AssignStmt).Rhs[0]
		if got := prog.Types[e].String(); got != test.typ {
			t.Errorf("%s has the type %s, want %s", test.expr, got, test.typ)
		}
		val := ""
		if v, ok := prog.Const[e]; ok {
			val = fmt.Sprint(v)
		}
		if val != test.val {
			t.Errorf("%s has the value %q, want %q", test.expr, val, test.val)
		}
	}
}

// TestInnerTypes checks the types that untyped operands take over.
func TestInnerTypes(t *testing.T) {
	f := source.New("types.model", fmt.Sprintf(typesModel, "y + (1<<x - -2) &^ max(3, 4<<x)"))
	prog, err := resolve.Check(f, resolve.Options{})
	if err != nil {
		t.Fatal(err)
	}
	body := prog.Threads[0].Body.Stmts
	e := body[len(body)-1].(*syntax.AssignStmt).Rhs[0]
	n := 0
	var walk func(e syntax.Expr, shift bool)
	walk = func(e syntax.Expr, shift bool) {
		n++
		want := "int8"
		if shift {
			want = "int"
		}
		if got := prog.Types[e].String(); got != want {
			t.Errorf("%s has the type %s, want %s", syntax.String(e), got, want)
		}
		switch e := e.(type) {
		case *syntax.ParenExpr:
			walk(e.X, shift)
		case *syntax.UnaryExpr:
			walk(e.X, shift)
		case *syntax.BinaryExpr:
			walk(e.X, shift)
			walk(e.Y, shift || e.Op == syntax.Shl)
		case *syntax.CallExpr:
			for _, a := range e.Args {
				walk(a, shift)
			}
		}
	}
	walk(e, false)
	if n != 15 {
		t.Errorf("%d expressions", n)
	}
}

// TestProgram checks the tables of a program that the later stages use.
func TestProgram(t *testing.T) {
	const text = `
const N = 2
type P struct { x int; y bool }
var s [N]P
var c chan int
var q chan(N+1) P
func f(a int) (int, bool) {
	b := a
l:	return b, true
}
thread W(id int, r chan int) {
	n, ok := f(id)
	for i := range n { k := i; _ = k }
	top: s[0].x = n
	other: _ = ok
}
invariant inv { forall i in 0..1 { W[i]@top || W[i].n == W[1].id } }
init { x := 1; go W(x, c) }
`
	prog, err := resolve.Check(source.New("p.model", text), resolve.Options{
		Params: map[string]string{"N": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	names := func(list []*resolve.Object) string {
		var s []string
		for _, o := range list {
			s = append(s, o.Name+" "+o.Type.String())
		}
		return strings.Join(s, ", ")
	}
	w, fn := prog.Threads[0], prog.Funcs[0]
	var labels []string
	for _, l := range w.Labels {
		labels = append(labels, l.Name)
	}
	used := map[string]bool{}
	for k := range w.Used {
		used[k] = true
	}
	for _, test := range []struct{ what, got, want string }{
		{"constants", fmt.Sprint(prog.Consts[0].Name, prog.Consts[0].Value), "N3"},
		{"shared", names(prog.Shared), "s [3]P, c chan int, q chan(4) P"},
		{"capacity", fmt.Sprint(prog.Shared[1].Type.Cap, prog.Shared[2].Type.Cap,
			w.Params[1].Type.Cap), "0 4 -1"},
		{"parameters", names(w.Params), "id int, r chan int"},
		{"locals", names(w.Locals), "n int, ok bool, i int, k int"},
		{"function's locals", names(fn.Locals), "b int"},
		{"function's result", fn.Result.String(), "(int, bool)"},
		{"init's locals", names(prog.InitLocals), "x int"},
		{"labels", strings.Join(labels, " "), "top other"},
		{"used", fmt.Sprint(used), "map[@top:true id:true n:true]"},
		{"refs", fmt.Sprint(len(prog.Refs)), "3"},
		{"invariants", prog.Invariants[0].Name, "inv"},
	} {
		if test.got != test.want {
			t.Errorf("%s: got %s, want %s", test.what, test.got, test.want)
		}
	}
	if s := prog.Shared[0].Type; s.Elem.Underlying() == s.Elem ||
		s.Elem.Underlying().String() != "struct{ x int; y bool }" {
		t.Errorf("underlying type of P: %s", s.Elem.Underlying())
	}
}
