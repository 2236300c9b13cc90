package syntax

import (
	"go/ast"
	goparser "go/parser"
	gotoken "go/token"
	"reflect"
	"slices"
	"testing"

	"cpor/frontend/source"
)

// nodes has every type of node.
var nodes = []Node{
	&ConstDecl{}, &TypeDecl{}, &VarDecl{}, &FuncDecl{}, &ThreadDecl{}, &InitDecl{}, &InvariantDecl{}, &IncludeDecl{}, &LTLDecl{}, &Param{},
	&NamedType{}, &ArrayType{}, &StructType{}, &PointerType{}, &AtomicType{}, &ChanType{},
	&SymmetricType{},
	&Block{}, &DeclStmt{}, &EmptyStmt{}, &ExprStmt{}, &SendStmt{}, &AssignStmt{}, &IncDecStmt{},
	&IfStmt{}, &ForStmt{}, &RangeStmt{},
	&SwitchStmt{}, &SwitchCase{}, &SelectStmt{}, &SelectCase{}, &ChooseStmt{}, &ChooseCase{},
	&AtomicStmt{}, &SyncStmt{}, &GoStmt{},
	&ReturnStmt{}, &BranchStmt{}, &LabeledStmt{}, &AwaitStmt{}, &AssertStmt{}, &SkipStmt{},
	&BadStmt{},
	&Ident{}, &IntLit{}, &StringLit{}, &ParenExpr{}, &UnaryExpr{}, &BinaryExpr{}, &IndexExpr{},
	&SelectorExpr{}, &AtExpr{},
	&CallExpr{}, &CompositeLit{}, &MakeExpr{}, &QuantExpr{}, &FoldExpr{}, &TemporalExpr{},
}

// TestNodes makes sure that nodes has them all: every struct of the package that
// embeds Span.
func TestNodes(t *testing.T) {
	var known, want []string
	for _, n := range nodes {
		known = append(known, reflect.TypeOf(n).Elem().Name())
	}
	for _, name := range []string{"ast.go", "ltl.go"} {
		f, err := goparser.ParseFile(gotoken.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok && slices.ContainsFunc(s.Fields.List,
				func(f *ast.Field) bool {
					id, ok := f.Type.(*ast.Ident)
					return ok && id.Name == "Span" && f.Names == nil
				}) {
				want = append(want, spec.Name.Name)
			}
			return true
		})
	}
	slices.Sort(known)
	slices.Sort(want)
	if !slices.Equal(known, want) {
		t.Errorf("nodes %v, want %v", known, want)
	}
}

// TestChildren fills every field of every node, so that Children can forget none.
func TestChildren(t *testing.T) {
	node := reflect.TypeFor[Node]()
	for _, n := range nodes {
		want := map[Node]bool{}
		var fill func(v reflect.Value)
		fill = func(v reflect.Value) {
			for i := range v.NumField() {
				f := v.Field(i)
				typ := f.Type()
				list := typ.Kind() == reflect.Slice
				if list {
					typ = typ.Elem()
				}
				if typ == reflect.TypeFor[*EachCase]() {
					f.Set(reflect.ValueOf(&EachCase{}))
					fill(f.Elem())
					continue
				}
				if typ == reflect.TypeFor[Domain]() {
					fill(f)
					continue
				}
				if !typ.Implements(node) || typ == reflect.TypeFor[Span]() {
					continue
				}
				child := func() reflect.Value {
					for _, o := range nodes {
						if o := reflect.TypeOf(o); o.AssignableTo(typ) &&
							o.Elem().Size() > reflect.TypeFor[Span]().Size() {
							c := reflect.New(o.Elem())
							want[c.Interface().(Node)] = true
							return c
						}
					}
					t.Fatalf("%T: nothing fits %v", n, typ)
					return reflect.Value{}
				}
				if list {
					f.Set(reflect.Append(reflect.Append(f, child()), child()))
				} else {
					f.Set(child())
				}
			}
		}
		full := reflect.New(reflect.TypeOf(n).Elem())
		fill(full.Elem())
		for _, c := range Children(full.Interface().(Node)) {
			if !want[c] {
				t.Errorf("%T: Children returns a %T twice, or one that is not below", n, c)
			}
			delete(want, c)
		}
		for c := range want {
			t.Errorf("%T: Children forgets a %T", n, c)
		}
		if got := Children(reflect.New(reflect.TypeOf(n).Elem()).Interface().(Node)); len(got) > 0 {
			t.Errorf("%T with nothing has children %v", n, got)
		}
	}
}

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
