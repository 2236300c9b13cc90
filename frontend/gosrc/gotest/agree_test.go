package gotest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"math/rand/v2"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/native"
	"cpor/testkit/gogen"
	"cpor/testkit/sample"
)

var (
	agreeOnly = flag.String(
		"agree",
		"",
		"compare the machines only on programs whose name matches this `regexp`",
	)
	agreeFirst = flag.Uint64(
		"agree-first",
		0,
		"the first seed of generated programs on which the machines are compared",
	)
	agreeLimit = flag.Duration(
		"agree-limit",
		3*time.Second,
		"how long each machine explores a program on which they are compared",
	)
)

// atOnce is how many programs are compiled into one binary.
const atOnce = 150

// agreeOn explores programs on both machines. They must come to the same verdict and, if it is a
// pass, to the same number of executions, but for additions that commute. Programs are source
// files that declare TestK, by name. If they all compile and declare nothing else, they may be one
// package, for the interpreter, too: to compile them takes longer than to explore them. It returns
// what became of each.
func agreeOn(t *testing.T, names []string, texts map[string]string, together bool,
) map[string]string {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is no native machine here")
	}
	only := regexp.MustCompile(*agreeOnly)
	names = slices.DeleteFunc(names, func(n string) bool { return !only.MatchString(n) })
	results, seen := map[string]string{}, map[string]int{}
	for some := range slices.Chunk(names, atOnce) {
		agreeOnSome(t, some, texts, together, results)
		for _, name := range some {
			seen[results[name]]++
		}
		t.Logf("so far: %v", seen)
	}
	return results
}

// interpretedTest is a test for the interpreter.
type interpretedTest struct {
	// compile returns the program of the test. Programs of their own are compiled when they are
	// explored, and not kept: a hundred of them fill the memory.
	compile func() (*gosrc.Compiled, error)
	test    string
}

// agreeOnSome is agreeOn for programs of which one binary is made.
func agreeOnSome(t *testing.T, names []string, texts map[string]string, together bool,
	results map[string]string,
) {
	packages := map[string]string{} // by name
	for i, name := range names {
		packages[name] = fmt.Sprintf("p%d", i)
	}
	apart := map[string]interpretedTest{}
	if !together {
		apart = compileApart(t, packages, texts)
		names = slices.DeleteFunc(slices.Clone(names), func(n string) bool {
			return apart[n].compile == nil // a mutant
		})
	}
	dir := t.TempDir()
	write := writer(t, dir)
	writeModule(t, write)
	// One binary has many of them. Programs that look whether somebody waits are apart, because
	// then that matters in the whole binary. So is one with initializers: what they start is a
	// goroutine of every test. And where one program counts goroutines, each that begins or ends
	// is a step on the interpreter.
	packageClause := regexp.MustCompile(`(?m)^package \w+`)
	polling := regexp.MustCompile(
		`(?m)^\s*default:|x/sync/(errgroup|semaphore)|SelectCase|Try(Send|Recv)\(`)
	starts := regexp.MustCompile(`(?m)^func init\(|runtime\.NumGoroutine`)
	imports, tests, binaryOf := map[string]string{}, map[string]string{}, map[string]string{}
	for _, name := range names {
		pkg := packages[name]
		in := "all"
		switch text := texts[name]; {
		case starts.MatchString(text):
			in = "only" + pkg
		case polling.MatchString(text):
			in = "polling"
		}
		binaryOf[name] = in
		if together {
			text := packageClause.ReplaceAllString(texts[name], "package "+in)
			write(fmt.Sprintf("%s/%s_test.go", in, pkg),
				strings.Replace(text, "func TestK(", "func Test_"+pkg+"(", 1))
			tests[in] = ""
			continue
		}
		write(pkg+"/k.go", packageClause.ReplaceAllString(texts[name], "package "+pkg))
		imports[in] += fmt.Sprintf("\t%q\n", "k/"+pkg)
		tests[in] += fmt.Sprintf("func Test_%s(t *testing.T) { %s.TestK(t) }\n", pkg, pkg)
	}
	binaries := map[string]*native.Binary{}
	compiled := map[string]*gosrc.Compiled{}
	for in := range tests {
		if !together {
			write(in+"/all_test.go",
				"package "+in+"\n\nimport (\n\t\"testing\"\n"+imports[in]+")\n"+tests[in])
		}
		b, err := native.Build(t.Context(), native.BuildOptions{Dir: dir, Package: "./" + in})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		binaries[in] = b
		if !together {
			continue
		}
		pkgs, err := gosrc.Load(t.Context(), []string{"./" + in},
			gosrc.Options{Dir: dir, Tests: true})
		if err != nil {
			t.Fatal(err)
		}
		if compiled[in], err = pkgs[0].Compile(); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range names {
		in, test := binaryOf[name], "Test_"+packages[name]
		c := apart[name]
		if together {
			all := compiled[in]
			c = interpretedTest{func() (*gosrc.Compiled, error) { return all, nil }, test}
		}
		t.Run(name, func(t *testing.T) {
			results[name] = agree(t, c, binaries[in], test, texts[name])
		})
	}
}

// compileApart loads each program for itself, without those that do not compile.
func compileApart(t *testing.T, packages, texts map[string]string) map[string]interpretedTest {
	dir := t.TempDir()
	write := writer(t, dir)
	writeModule(t, write)
	named := map[string]string{}
	for name, pkg := range packages {
		named["k/"+pkg] = name
		write(pkg+"/k_test.go", texts[name])
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]interpretedTest{}
	for _, p := range pkgs {
		if _, err := p.Compile(); err == nil && len(p.Errors) == 0 {
			out[named[p.Path]] = interpretedTest{p.Compile, "TestK"}
		}
	}
	return out
}

// adds matches programs in which additions to an atomic may commute. Whether the sum is used is
// not known natively, so that there are more executions.
var adds = regexp.MustCompile(`atomic\.(Add|Int|Uint)`)

// agree explores a program on both machines. It returns what became of it.
func agree(t *testing.T, p interpretedTest, b *native.Binary, test, text string) string {
	c, err := p.compile()
	if err != nil {
		return "refused"
	}
	o := Options{Engine: DPOR, Timeout: *agreeLimit, Workers: 1, MaxMemory: 2 << 30}
	var no *gosrc.Unsupported
	prog, err := c.Test(p.test, gosrc.Explore{Time: gosrc.AnyTime})
	var want *Result
	if err == nil {
		want, err = Run(t.Context(), prog, o)
	}
	if errors.As(err, &no) {
		return "refused"
	}
	if err != nil {
		return "error"
	}
	got, err := RunNative(t.Context(), Native{Test: test, Names: b, Time: gosrc.AnyTime,
		Open: func() (native.Process, error) {
			return b.Start(test, native.Auto,
				native.Limits{Memory: 1 << 30})
		}}, o)
	if errors.As(err, new(*NeedsInterpreter)) {
		return "endless"
	}
	if err != nil {
		t.Errorf("natively: %v", err)
		return "error"
	}
	if got.Release != nil {
		defer got.Release()
	}
	kind := func(r *Result) string {
		if r.Failure == nil {
			return fmt.Sprint(r.Verdict)
		}
		return string(r.Failure.Kind)
	}
	detail := func(r *Result) string {
		s := fmt.Sprintf("%s, %d executions, %s", kind(r), r.Executions, r.Reason)
		if r.Failure != nil {
			s += ": " + r.Failure.Message
		}
		return s
	}
	diverged := strings.Contains(got.Reason, "equal choices")
	switch {
	case diverged:
		t.Errorf("natively %s; interpreted %s", detail(got), detail(want))
		return "diverged"
	case want.Verdict == engine.Incomplete || got.Verdict == engine.Incomplete:
		if want.Verdict == engine.Pass && got.Verdict == engine.Incomplete {
			t.Logf("natively %s; interpreted %s", detail(got), detail(want))
		}
		return fmt.Sprintf("%s/%s", kind(got), kind(want))
	case got.Verdict == engine.Pass && want.Verdict == engine.Pass &&
		got.Executions > want.Executions && adds.MatchString(text):
		return "pass, additions commute"
	case got.Verdict != want.Verdict || got.Verdict == engine.Pass &&
		got.Executions != want.Executions:
		t.Errorf("natively %s; interpreted %s", detail(got), detail(want))
		return "different"
	case kind(got) != kind(want):
		t.Logf("natively %s; interpreted %s", detail(got), detail(want))
	}
	if got.Verdict == engine.Pass {
		return "pass"
	}
	return "failure"
}

// draws matches programs that draw random numbers, which each machine fixes in its own way; network
// those that use the loopback, whose executions are long.
var (
	draws   = regexp.MustCompile(`"math/rand(/[a-z0-9/]+)?"`)
	network = regexp.MustCompile(`"net(/[a-z0-9/]+)?"`)
)

// TestAgreeOnKernels: the native machine and the interpreter agree on the kernels, faulty and
// mended.
func TestAgreeOnKernels(t *testing.T) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
	step := cmp.Or(*everyKernel, 10)
	texts, names := map[string]string{}, []string{}
	for i, text := range kernels(t) {
		if i/2%step == 0 && !draws.MatchString(text) &&
			!strings.Contains(text, "func TestMain(") && // which compiled packages do not run
			(step == 1 || !network.MatchString(text)) {
			name := fmt.Sprintf("%d-%s", i/2, []string{"bug", "fix"}[i%2])
			texts[name] = text
			names = append(names, name)
		}
	}
	agreeOn(t, names, texts, false)
}

// joinable takes apart those of the programs that can be files of one package, with names of their
// own for all that they declare but TestK, and the others. Programs that do not compile are in
// neither.
func joinable(t *testing.T, names []string, texts map[string]string) (joined, apart []string) {
	t.Helper()
	fset := token.NewFileSet()
	library := importer.ForCompiler(fset, "source", nil)
	for _, name := range names {
		file, err := parser.ParseFile(fset, name+".go", texts[name], parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		if slices.ContainsFunc(file.Imports, func(i *ast.ImportSpec) bool {
			return strings.Contains(i.Path.Value, ".")
		}) {
			apart = append(apart, name) // of another module
			continue
		}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{},
			Uses: map[*ast.Ident]types.Object{}}
		conf := types.Config{Importer: library}
		pkg, err := conf.Check("k", fset, []*ast.File{file}, info)
		if err != nil {
			continue
		}
		if runsAtStart(file) {
			apart = append(apart, name)
			continue
		}
		texts[name] = renamed(fset, texts[name], pkg, info, "_"+name)
		joined = append(joined, name)
	}
	return joined, apart
}

// runsAtStart reports whether a program calls a function, other than one of another package or one
// of the language, before its test: that would happen before the tests of the others, too.
func runsAtStart(file *ast.File) (runs bool) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			runs = runs || d.Recv == nil && d.Name.Name == "init"
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if ok {
					id, named := call.Fun.(*ast.Ident)
					_, selected := call.Fun.(*ast.SelectorExpr)
					runs = runs || !selected && !(named && types.Universe.Lookup(id.Name) != nil)
				}
				return true
			})
		}
	}
	return runs
}

// renamed adds an ending to the names of a program's declarations, and to those of the fields that
// have them from an embedded type.
func renamed(fset *token.FileSet, text string, pkg *types.Package, info *types.Info, end string,
) string {
	declared := func(o types.Object) bool {
		v, isVar := o.(*types.Var)
		if isVar && v.Embedded() {
			o = pkg.Scope().Lookup(v.Name())
		}
		return o != nil && o.Pkg() == pkg && o.Parent() == pkg.Scope() && o.Name() != "TestK"
	}
	var at []int
	for _, of := range []map[*ast.Ident]types.Object{info.Defs, info.Uses} {
		for id, o := range of {
			if o != nil && id.Name != "_" && declared(o) {
				at = append(at, fset.Position(id.End()).Offset)
			}
		}
	}
	slices.Sort(at)
	for _, i := range slices.Backward(slices.Compact(at)) {
		text = text[:i] + end + text[i:]
	}
	return text
}

// TestAgreeOnMutants: and on mutants of them.
func TestAgreeOnMutants(t *testing.T) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
	all := kernels(t)
	texts, names := map[string]string{}, []string{}
	for i := range cmp.Or(*mutants, 100) {
		seed := *firstMutant + uint64(i)
		r := rand.New(rand.NewPCG(seed, 8))
		text, err := mutate(r, all[r.IntN(len(all))])
		if err != nil || !strings.Contains(text, "func TestK(") || draws.MatchString(text) ||
			network.MatchString(text) || strings.Contains(text, "func TestMain(") {
			continue
		}
		name := fmt.Sprint(seed)
		texts[name] = text
		names = append(names, name)
	}
	joined, apart := joinable(t, names, texts)
	t.Logf("%d in one package, %d apart, %d do not compile", len(joined), len(apart),
		len(names)-len(joined)-len(apart))
	agreeOn(t, joined, texts, true)
	agreeOn(t, apart, texts, false)
}

// TestAgreeOnTimed: and on generated programs that sleep, start timers and wait with time-outs,
// every other one in a bubble of testing/synctest.
func TestAgreeOnTimed(t *testing.T) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
	const head = "package k\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n" +
		"\t\"testing/synctest\"\n\t\"time\"\n)\n\nvar _ = synctest.Wait\n\n"
	texts, names := map[string]string{}, []string{}
	for i := range sample.Of(uint64(1), 1, 60) {
		seed := *agreeFirst + i
		p := gogen.NewTimed(rand.New(rand.NewPCG(seed, 8)), seed%2 == 0, 1+int(seed%5)/2, 3)
		name := fmt.Sprint(seed)
		texts[name] = head + p.Source("TestK")
		names = append(names, name)
	}
	agreeOn(t, names, texts, true)
}

// TestAgreeOnGenerated: and on generated concurrent programs.
func TestAgreeOnGenerated(t *testing.T) {
	if !sample.Long() {
		t.Skip("compiles Go's library once: -long")
	}
	texts, names := map[string]string{}, []string{}
	for i := range sample.Of(uint64(1), 1, 200) {
		seed := *agreeFirst + i
		p := gogen.NewConcurrent(
			rand.New(rand.NewPCG(seed, 271)),
			gogen.Shape{
				Goroutines: 1 + int(seed%3)/2,
				Steps:      3,
				Vars:       seed%5 == 0,
				Polls:      seed%3 == 0,
				RW:         seed%4 < 2,
			},
		)
		name := fmt.Sprint(seed)
		if texts[name] = testOf(p); seed%2 == 1 {
			texts[name] = withGlobals(texts[name])
		}
		names = append(names, name)
	}
	joined, apart := joinable(t, names, texts)
	if len(joined) < len(names) {
		t.Fatalf("%v are apart, and %d of %d do not compile", apart,
			len(names)-len(joined)-len(apart), len(names))
	}
	agreeOn(t, joined, texts, true)
}

// local matches a declaration at the beginning of a generated program.
var local = regexp.MustCompile(`(?m)^\t(?:var (.+)|(\w+) := (.+))\n`)

// withGlobals makes the variables of a generated program global: an execution finds what the one
// before it has left there, unless that is given back.
func withGlobals(text string) string {
	globals := ""
	for _, m := range local.FindAllStringSubmatch(text, -1) {
		if globals += "var " + m[1]; m[1] == "" {
			globals += m[2] + " = " + m[3]
		}
		globals += "\n"
	}
	return local.ReplaceAllString(text, "") + globals
}

// testOf returns a generated program as a file of package k with a test.
func testOf(p *gogen.Concurrent) string {
	return strings.NewReplacer("func main() {", "func TestK(t *testing.T) {",
		"package main", "package k", "import (", "import (\n\t\"testing\"").Replace(p.Source())
}

// TestAgreeOnBubbles: and on bubbles of testing/synctest whose goroutines wait for locks, go on
// when the function has returned, or wait for what is cleaned up.
func TestAgreeOnBubbles(t *testing.T) {
	sample.Skip(t)
	const head = "package k\n\nimport (\n\t\"sync\"\n\t\"testing\"\n" +
		"\t\"testing/synctest\"\n\t\"time\"\n)\n\nvar _ sync.Mutex\n\nfunc TestK(t *testing.T) {\n" +
		"\tsynctest.Test(t, func(t *testing.T) {\n"
	texts, names := map[string]string{}, []string{}
	for name, body := range map[string]string{
		"lock": "var mu sync.Mutex\nfor range 2 {\ngo func() { mu.Lock(); " +
			"time.Sleep(time.Second); mu.Unlock() }()\n}\ntime.Sleep(3*time.Second)",
		"short lock": "var mu sync.Mutex\nfor range 2 {\ngo func() { time.Sleep(time.Second); " +
			"mu.Lock(); mu.Unlock() }()\n}\ntime.Sleep(3*time.Second)",
		"left": "go func() { time.Sleep(2*time.Second) }()\ntime.Sleep(time.Second)",
		"context": "for range 2 {\ngo func() { <-t.Context().Done() }()\n}\n" +
			"time.AfterFunc(time.Hour, func() { t.Error() })",
		"cleanup": "c := make(chan int)\ngo func() { <-c }()\nt.Cleanup(func() { close(c) })",
	} {
		texts[name] = head + body + "\n})\ntime.Sleep(2*time.Hour)\n}\n"
		names = append(names, name)
	}
	slices.Sort(names)
	agreeOn(t, names, texts, true)
}

// TestAgreeOnLogs: and on goroutines that log when their test has ended, which fails if all tests
// around it have, too.
func TestAgreeOnLogs(t *testing.T) {
	sample.Skip(t)
	const sub = "t.Run(\"a\", func(t *testing.T) { go func() { t.Log(\"late\"); c <- 0 }() })\n"
	texts, names := map[string]string{}, []string{}
	want := map[string]string{}
	for _, tt := range []struct{ name, body, want string }{
		{"late", "go func() { t.Log(\"late\") }()", "failure"},
		{"locked", "var mu sync.Mutex\ngo func() { mu.Lock(); mu.Unlock(); t.Log() }()\n" +
			"mu.Lock(); mu.Unlock()", "failure"},
		{"late writer", "w := t.Output()\ngo func() { w.Write([]byte(\"late\")) }()", "failure"},
		{"waits", "c := make(chan int)\ngo func() { t.Log(); close(c) }()\n<-c", "pass"},
		{"subtest", "c := make(chan int)\n" + sub + "<-c", "pass"},
		{"two of a subtest", "c := make(chan int, 2)\n" + sub + sub + "<-c\n<-c", "pass"},
		{"late subtest", "c := make(chan int, 1)\n" + sub, "failure"},
		{"parallel", "for range 2 {\nt.Run(\"a\", func(t *testing.T) {\nt.Parallel()\n" +
			"c := make(chan int)\ngo func() { t.Log(); close(c) }()\n<-c\n})\n}", "pass"},
		{"skips", "c := make(chan int)\nt.Run(\"a\", func(t *testing.T) {\n" +
			"go func() { defer close(c); t.Skip() }()\n})\n<-c", "pass"},
	} {
		texts[tt.name] = "package k\n\nimport (\n\t\"sync\"\n\t\"testing\"\n)\n\n" +
			"var _ sync.Mutex\n\nfunc TestK(t *testing.T) {\n" + tt.body + "\n}\n"
		names = append(names, tt.name)
		want[tt.name] = tt.want
	}
	if got := agreeOn(t, names, texts, true); !maps.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestReflectionIsEqual: what reflection keeps for all goroutines does not change how objects are
// named.
func TestReflectionIsEqual(t *testing.T) {
	sample.Skip(t)
	dir := t.TempDir()
	write := writer(t, dir)
	writeModule(t, write)
	write("a/a_test.go", `package a

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
)

func TestCalls(t *testing.T) {
	var wg sync.WaitGroup
	call := func(f any, args ...any) {
		var in []reflect.Value
		for _, a := range args {
			in = append(in, reflect.ValueOf(a))
		}
		reflect.ValueOf(f).Call(in)
		new(atomic.Pointer[int]).Store(new(int))
		wg.Done()
	}
	wg.Add(2)
	go call(func(*int) {}, new(int))
	go call(func(*int, string) {}, new(int), "")
	wg.Wait()
}
`)
	b, err := native.Build(t.Context(), native.BuildOptions{Dir: dir, Package: "./a"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	res, err := RunNative(t.Context(), Native{Test: "TestCalls", Names: b,
		Open: func() (native.Process, error) {
			return b.Start("TestCalls", native.Auto, native.Limits{})
		}}, Options{Engine: DPOR, Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	if res.Verdict != engine.Pass {
		t.Errorf("%v: %s", res.Verdict, res.Reason)
	}
}
