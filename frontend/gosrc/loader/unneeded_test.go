package loader

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"
)

const unneeded = `package p

import (
	"os"
	"strings"
	"testing"
)

var (
	dropLong   = strings.Repeat("x", 1000)
	dropMade   = build(7)
	dropTable  = []struct{ s string }{{dropLong}}
	dropChain  = len(dropLong) + fromChain
	fromChain  = 3 // of what TestA uses, too
	dropByVar  = []string{dropFunc()}
	dropFunc   = func() string { return letters(3) }
	dropFuzzed = func() int { n := 0; n++; return n }()

	keptByVar    = keptFunc() // it may be another function
	keptFunc     = func() string { return keptNeeded }
	keptNeeded   = build(5) // keptByVar stays
	keptUsed     = strings.Repeat("y", 10)
	keptBelow    = 4 + 1
	keptWrites   = bump()
	keptPart     = fill()
	keptSees     = counters[0] // somebody may have changed it
	keptAlias    = alias()
	keptSends    = send()
	keptReceives = <-ch
	keptPanics   = fail()
	keptCalls    = os.Getenv("X")
	keptMethod   = itf.M()
	KeptExported = build(2)
	_            = build(3)

	counter  int
	counters = []int{1}
	ch       = make(chan int, 1)
	itf      interface{ M() int } = nil
)

func build(n int) string {
	var b []byte
	for i := range n {
		b = append(b, letter(i))
	}
	return string(b)
}
func letters(n int) string { return build(n) }
func other()               { keptFunc = nil }
func letter(i int) byte {
	if i > 25 {
		return build(1)[0]
	}
	return byte('a' + i)
}
func bump() int   { counter++; return counter }
func fill() int   { counters[0] = 1; return 0 }
func alias() *int { return &counter }
func send() int   { ch <- 1; return 0 }
func fail() int   { panic("no") }
func below() int  { return keptBelow }

func TestA(t *testing.T) { _ = keptUsed; below(); BenchmarkCalled(nil); _ = fromChain }

func BenchmarkCalled(b *testing.B) { _ = keptPassed }

var keptPassed = build(4) // TestA calls the benchmark

func BenchmarkB(b *testing.B) {
	_, _, _, _ = dropLong, dropMade, dropTable, dropChain
	_, _ = dropByVar, keptByVar
	_, _, _, _ = keptWrites, keptPart, keptSees, keptAlias
	_, _, _, _, _ = keptSends, keptReceives, keptPanics, keptCalls, keptMethod
}

func FuzzF(f *testing.F) { _ = dropFuzzed }

func Example() { _ = dropLong }
`

// TestUnneeded looks which initializers are left: the names say what has to happen.
func TestUnneeded(t *testing.T) {
	fset := token.NewFileSet()
	sizes := types.SizesFor("gc", "amd64")
	imports := map[string]*unit{}
	for path, text := range map[string]string{
		"os":      "package os; func Getenv(string) string { return \"\" }",
		"strings": "package strings; func Repeat(string, int) string { return \"\" }",
		"testing": "package testing; type T struct{}; type B struct{}; type F struct{}",
	} {
		f, err := parser.ParseFile(fset, path+".go", text, 0)
		if err != nil {
			t.Fatal(err)
		}
		u := &unit{path: path, standard: true, files: []*ast.File{f}}
		u.check(fset, sizes)
		imports[path] = u
	}
	f, err := parser.ParseFile(fset, "p_test.go", unneeded, 0)
	if err != nil {
		t.Fatal(err)
	}
	x := &unit{path: "p", files: []*ast.File{f}, imports: imports}
	x.check(fset, sizes)
	if len(x.errs) > 0 {
		t.Fatal(x.errs)
	}
	var left []string
	for _, i := range x.info.InitOrder {
		left = append(left, i.Lhs[0].Name())
	}
	for name, o := range x.info.Defs {
		v, ok := o.(*types.Var)
		if !ok || v.Parent() != x.types.Scope() {
			continue
		}
		switch there := slices.Contains(left, name.Name); {
		case strings.HasPrefix(name.Name, "drop") && there:
			t.Errorf("%s is initialised, and only what is never run uses it", name.Name)
		case strings.HasPrefix(strings.ToLower(name.Name), "kept") && !there:
			t.Errorf("%s is not initialised", name.Name)
		}
	}
	if !slices.Contains(left, "_") || !slices.Contains(left, "fromChain") {
		t.Errorf("not all are left: %v", left)
	}
}
