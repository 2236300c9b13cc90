package gotest

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
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
// files that declare TestK, by name.
func agreeOn(t *testing.T, names []string, texts map[string]string) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is no native machine here")
	}
	only := regexp.MustCompile(*agreeOnly)
	names = slices.DeleteFunc(names, func(n string) bool { return !only.MatchString(n) })
	seen := map[string]int{}
	for some := range slices.Chunk(names, atOnce) {
		agreeOnSome(t, some, texts, seen)
		t.Logf("so far: %v", seen)
	}
}

// agreeOnSome is agreeOn for programs of which one binary is made. It adds to seen what became of
// them.
func agreeOnSome(t *testing.T, names []string, texts map[string]string, seen map[string]int) {
	plain, compiled := t.TempDir(), t.TempDir()
	write := func(dir string) func(name, text string) { return writer(t, dir) }
	writeModule(t, write(plain))
	writeModule(t, write(compiled))
	named := map[string]string{} // by package
	for i, name := range names {
		pkg := fmt.Sprintf("p%d", i)
		named[pkg] = name
		write(plain)(pkg+"/k_test.go", texts[name])
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"./..."}, gosrc.Options{Dir: plain, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	// One binary has many of them: linking takes longer than exploring. Programs that look
	// whether somebody waits are apart, because then that matters in the whole binary.
	packageClause := regexp.MustCompile(`(?m)^package \w+`)
	polling := regexp.MustCompile(`(?m)^\s*default:|x/sync/(errgroup|semaphore)`)
	var good []*gosrc.Package
	imports, tests := map[bool]string{}, map[bool]string{}
	polls := map[string]bool{}
	for _, p := range pkgs {
		pkg := strings.TrimPrefix(p.Path, "k/")
		if _, err := p.Compile(); err != nil || len(p.Errors) > 0 {
			continue // a mutant
		}
		good = append(good, p)
		text := texts[named[pkg]]
		is := polling.MatchString(text)
		polls[pkg] = is
		write(compiled)(pkg+"/k.go", packageClause.ReplaceAllString(text, "package "+pkg))
		imports[is] += fmt.Sprintf("\t%q\n", "k/"+pkg)
		tests[is] += fmt.Sprintf("func Test_%s(t *testing.T) { %s.TestK(t) }\n", pkg, pkg)
	}
	binaries := map[bool]*native.Binary{}
	for is := range tests {
		dir := fmt.Sprintf("all%v", is)
		write(
			compiled,
		)(
			dir+"/all_test.go",
			"package all\n\nimport (\n\t\"testing\"\n"+imports[is]+")\n"+tests[is],
		)
		b, err := native.Build(t.Context(), native.BuildOptions{Dir: compiled, Package: "./" + dir})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		binaries[is] = b
	}
	for _, p := range good {
		pkg := strings.TrimPrefix(p.Path, "k/")
		t.Run(named[pkg], func(t *testing.T) {
			seen[agree(t, p, binaries[polls[pkg]], "Test_"+pkg, texts[named[pkg]])]++
		})
	}
}

// adds matches programs in which additions to an atomic may commute. Whether the sum is used is
// not known natively, so that there are more executions.
var adds = regexp.MustCompile(`atomic\.(Add|Int|Uint)`)

// agree explores a program on both machines. It returns what became of it.
func agree(t *testing.T, p *gosrc.Package, b *native.Binary, test, text string) string {
	c, err := p.Compile()
	if err != nil {
		return "refused"
	}
	o := Options{Engine: DPOR, Timeout: *agreeLimit, Workers: 1, MaxMemory: 2 << 30}
	var no *gosrc.Unsupported
	prog, err := c.Test("TestK", gosrc.Explore{Time: gosrc.AnyTime})
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
	agreeOn(t, names, texts)
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
			network.MatchString(text) {
			continue
		}
		name := fmt.Sprint(seed)
		texts[name] = text
		names = append(names, name)
	}
	agreeOn(t, names, texts)
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
	agreeOn(t, names, texts)
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
		texts[name] = testOf(p)
		names = append(names, name)
	}
	agreeOn(t, names, texts)
}

// testOf returns a generated program as a file of package k with a test.
func testOf(p *gogen.Concurrent) string {
	return strings.NewReplacer("func main() {", "func TestK(t *testing.T) {",
		"package main", "package k", "import (", "import (\n\t\"testing\"").Replace(p.Source())
}
