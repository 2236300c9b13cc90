package gotest

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/native"
	"cpor/testkit/gogen"
	"cpor/testkit/sample"
	"cpor/trace"
)

// racy is a program whose races two detectors look for.
type racy struct {
	name, pkg, text string
	sanitizer       string // what go test -race reports; empty: nothing
	res             *Result
	record          *trace.Record // of the execution in which cpor found a race
}

// TestRacesAgree compares races with those of go test -race, on kernels and generated programs.
// What ThreadSanitizer reports in an ordinary execution, cpor has to report as well. The schedule
// in which cpor found a race is repeated under ThreadSanitizer, by sleeps before each operation;
// how often that reports the race is logged only, because such a schedule can be missed.
func TestRacesAgree(t *testing.T) {
	sample.Skip(t)
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		t.Skip("there is no native machine here")
	}
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("NOT COMPARED: go test -race needs cgo, and there is no gcc")
	}
	programs := racyPrograms(t)
	dir := t.TempDir()
	write := writer(t, dir)
	writeModule(t, write)
	for _, p := range programs {
		write(p.pkg+"/k.go", p.text)
	}
	write("all/all_test.go", runsAll(programs))
	b, err := native.Build(t.Context(), native.BuildOptions{Dir: dir, Package: "./all"})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	sanitized := sanitize(t, dir, "./all")
	var found []*racy
	counts := map[string]int{}
	for _, p := range programs {
		p.sanitizer = sanitizer(t, sanitized, p.pkg)
		if p.explore(t, b); p.res == nil {
			continue
		}
		if p.record != nil {
			found = append(found, p)
		}
		counts[p.compare(t)]++
	}
	t.Logf("%d programs: %v", len(programs), counts)
	for _, p := range found {
		text, err := gated(p)
		if err != nil {
			t.Fatal(p.name, err)
		}
		write("g"+p.pkg+"/k.go", strings.Replace(text, "package "+p.pkg, "package g"+p.pkg, 1))
	}
	if len(found) > 0 {
		repeatRaces(t, write, dir, found)
	}
}

// writer returns what writes files of a directory.
func writer(t *testing.T, dir string) func(name, text string) {
	return func(name, text string) {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// racyPrograms returns kernels, faulty and mended, and generated programs whose goroutines access
// variables with and without locks.
func racyPrograms(t *testing.T) (programs []*racy) {
	clause := regexp.MustCompile(`(?m)^package \w+`)
	add := func(name, text string) {
		pkg := fmt.Sprintf("p%d", len(programs))
		programs = append(programs, &racy{name: name, pkg: pkg,
			text: clause.ReplaceAllString(text, "package "+pkg)})
	}
	step := cmp.Or(*everyKernel, 30)
	for i, text := range kernels(t) {
		if i/2%step == 0 && !draws.MatchString(text) && !network.MatchString(text) &&
			!strings.Contains(text, "func TestMain(") {
			add(fmt.Sprintf("%d-%s", i/2, []string{"bug", "fix"}[i%2]), text)
		}
	}
	for i := range sample.Of(uint64(1), 1, 20) {
		seed := *agreeFirst + i
		p := gogen.NewConcurrent(rand.New(rand.NewPCG(seed, 272)), gogen.Shape{
			Goroutines: 1 + int(seed%2), Steps: 3, Vars: true, Plain: seed%4 == 0,
			Polls: seed%3 == 0, RW: seed%4 < 2})
		add(fmt.Sprintf("generated %d", seed), testOf(p))
	}
	return programs
}

// runsAll returns the source of a test file that runs programs which are packages beside it.
func runsAll(programs []*racy) string {
	var b, tests strings.Builder
	b.WriteString("package all\n\nimport (\n\t\"testing\"\n\n")
	for _, p := range programs {
		fmt.Fprintf(&b, "\t%q\n", "k/"+p.pkg)
		fmt.Fprintf(&tests, "func Test_%s(t *testing.T) { %[1]s.TestK(t) }\n", p.pkg)
	}
	return b.String() + ")\n\n" + tests.String()
}

// sanitize compiles a test with the race detector of Go, and returns the name of the binary.
func sanitize(t *testing.T, dir, pkg string) string {
	name := filepath.Join(dir, filepath.Base(pkg)+".race")
	c := exec.CommandContext(t.Context(), "go", "test", "-c", "-race", "-vet=off", "-o", name, pkg)
	c.Dir = dir
	c.Env = append(os.Environ(), "CGO_ENABLED=1")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go test -race: %v\n%s", err, out)
	}
	return name
}

// raceExit is the exit code of a process in which ThreadSanitizer reported something.
const raceExit = 66

// sanitizer runs a program under ThreadSanitizer 30 times, or until it fails, or for five seconds,
// and returns its first report.
func sanitizer(t *testing.T, binary, pkg string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c := exec.CommandContext(ctx, binary, "-test.run", "^Test_"+pkg+"$", "-test.count", "30")
	c.Dir = filepath.Dir(binary)
	c.Env = append(os.Environ(), fmt.Sprintf("GORACE=halt_on_error=1 exitcode=%d", raceExit))
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == raceExit {
		_, report, _ := bytes.Cut(out, []byte("WARNING: DATA RACE"))
		return string(report)
	}
	return ""
}

// explore explores a program natively. Result is nil if that cannot be done.
func (p *racy) explore(t *testing.T, b *native.Binary) {
	test := "Test_" + p.pkg
	res, err := RunNative(t.Context(), Native{Test: test, Names: b, Time: gosrc.AnyTime,
		Open: func() (native.Process, error) {
			return b.Start(test, native.Auto, native.Limits{Memory: 1 << 30})
		}}, Options{Engine: DPOR, Timeout: *agreeLimit, Workers: 1, MaxMemory: 2 << 30})
	if errors.As(err, new(*NeedsInterpreter)) {
		return
	}
	if err != nil {
		t.Errorf("%s: %v", p.name, err)
		return
	}
	if res.Release != nil {
		defer res.Release()
	}
	p.res = res
	if res.Failure != nil && res.Failure.Kind == Race {
		if p.record, err = Record(res.Native, res.Failure.Trace, nil); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// compare compares what both have found, and says what that is.
func (p *racy) compare(t *testing.T) string {
	f := p.res.Failure
	switch {
	case p.sanitizer == "" && p.record != nil:
		return "race found by cpor only"
	case p.sanitizer == "":
		return "no race"
	case p.record != nil:
		return "race found by both"
	case p.res.Verdict == engine.Incomplete:
		return "race missed by cpor in a search that is incomplete"
	case f != nil:
		return "race, and cpor reports another failure"
	}
	t.Errorf("%s: cpor says %v, but go test -race reports\n%s\n%s", p.name, p.res.Verdict,
		p.sanitizer, p.text)
	return "race missed by cpor"
}

// gate sleeps until it is a line's turn: its n-th visit is that of a step of the schedule, and
// further ones come when the schedule is over. It is not instrumented, so that it orders nothing.
const gate = `

var (
	cporTurns   = map[int][]int{%s}
	cporVisits  = map[int]int{}
	cporBegan   time.Time
	cporStep, _ = time.ParseDuration(os.Getenv("CPORSTEP"))
)

//go:norace
func cporAt(line int) {
	if cporBegan.IsZero() {
		cporBegan = time.Now()
	}
	n, turns := cporVisits[line], cporTurns[line]
	cporVisits[line]++
	turn := %d
	if n < len(turns) {
		turn = turns[n]
	}
	time.Sleep(time.Until(cporBegan.Add(time.Duration(turn) * cporStep)))
}
`

// gated returns the source of a program whose statements wait for their turn in the execution in
// which cpor found a race.
func gated(p *racy) (string, error) {
	turns := map[int][]int{}
	in := func(file string) bool { return filepath.Base(filepath.Dir(file)) == p.pkg }
	for i, e := range p.record.Events {
		if in(e.Pos.File) && !e.Within && !strings.HasPrefix(e.Text, "begins") {
			turns[e.Pos.Line] = append(turns[e.Pos.Line], i)
		}
	}
	for _, th := range p.record.Final {
		if in(th.Pos.File) && turns[th.Pos.Line] == nil {
			turns[th.Pos.Line] = []int{}
		}
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "k.go", p.text, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	puts := map[int]int{} // by offset: the line
	ast.Inspect(f, func(n ast.Node) bool {
		var list []ast.Stmt
		switch n := n.(type) {
		case *ast.BlockStmt:
			list = n.List
		case *ast.CaseClause:
			list = n.Body
		case *ast.CommClause:
			list = n.Body
		}
		for _, s := range list {
			at := fset.Position(s.Pos())
			if _, ok := s.(*ast.LabeledStmt); !ok && turns[at.Line] != nil {
				puts[at.Offset] = at.Line
			}
		}
		return true
	})
	text := p.text
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(puts))) {
		text = text[:at] + fmt.Sprintf("cporAt(%d); ", puts[at]) + text[at:]
	}
	var table strings.Builder
	for _, line := range slices.Sorted(maps.Keys(turns)) {
		fmt.Fprintf(&table, "%d: {%s}, ", line,
			strings.Trim(strings.Join(strings.Fields(fmt.Sprint(turns[line])), ", "), "[]"))
	}
	text += fmt.Sprintf(gate, table.String(), len(p.record.Events)+1)
	return imported(text), nil
}

// imported adds what a gate needs to the imports of a program.
func imported(text string) string {
	add := ""
	for _, name := range []string{"os", "time"} {
		if !regexp.MustCompile(`(?m)^\s*(import )?"` + name + `"$`).MatchString(text) {
			add += fmt.Sprintf("\nimport %q\n", name)
		}
	}
	head, rest, _ := strings.Cut(text, "\n") // the package clause, or a comment before it
	for !strings.HasPrefix(head[strings.LastIndex(head, "\n")+1:], "package ") {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		head += "\n" + line
	}
	return head + "\n" + add + rest
}

// repeatRaces repeats the executions in which cpor found races under ThreadSanitizer.
func repeatRaces(t *testing.T, write func(name, text string), dir string, found []*racy) {
	var gatedOnes []*racy
	for _, p := range found {
		gatedOnes = append(gatedOnes, &racy{name: p.name, pkg: "g" + p.pkg})
	}
	write("gated/all_test.go", runsAll(gatedOnes))
	binary := sanitize(t, dir, "./gated")
	var mu sync.Mutex
	var missed []string
	var g sync.WaitGroup
	some := make(chan bool, 4) // they sleep most of the time
	for _, p := range gatedOnes {
		g.Go(func() {
			some <- true
			defer func() { <-some }()
			for _, step := range []string{"5ms", "20ms", "80ms"} {
				c := exec.CommandContext(t.Context(), binary, "-test.run", "^Test_"+p.pkg+"$",
					"-test.timeout", "20s")
				c.Dir = dir
				c.Env = append(os.Environ(), "CPORSTEP="+step,
					fmt.Sprintf("GORACE=halt_on_error=1 exitcode=%d", raceExit))
				var exit *exec.ExitError
				if errors.As(c.Run(), &exit) && exit.ExitCode() == raceExit {
					return
				}
			}
			mu.Lock()
			defer mu.Unlock()
			missed = append(missed, p.name)
		})
	}
	g.Wait()
	slices.Sort(missed)
	t.Logf("ThreadSanitizer reports %d of %d races of cpor in the same schedule; not those of %v",
		len(found)-len(missed), len(found), missed)
}
