package testcmd

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"
)

// TestMain keeps no passes, unless a test asks for it.
func TestMain(m *testing.M) {
	os.Setenv(cacheVariable, "off")
	os.Exit(m.Run())
}

// edited is a module whose test depends on whatever a pass may depend on. It passes if each of
// switches is off.
type edited struct {
	t   *testing.T
	dir string
	on  map[string]bool
	// comments makes sources differ that mean the same.
	comments int
}

// switches are what an edit can turn on, which makes the test fail, and off.
var switches = []string{"import", "library", "replace", "test", "embedded", "embedded-more", "text",
	"list", "exists", "link", "file", "test-file", "tagged", "GOFLAGS", "-tags", "-short", "-args",
	"go.mod"}

func (x *edited) write(name, text string) {
	x.t.Helper()
	name = filepath.Join(x.dir, name)
	if old, err := os.ReadFile(name); err == nil && string(old) == text {
		return
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		x.t.Fatal(err)
	}
	info, statErr := os.Stat(name)
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		x.t.Fatal(err)
	}
	if statErr == nil { // a change need not show in the time
		if err := os.Chtimes(name, info.ModTime(), info.ModTime()); err != nil {
			x.t.Fatal(err)
		}
	}
}

// file makes a file exist or not.
func (x *edited) file(is bool, name, text string) {
	if is {
		x.write(name, text)
	} else {
		os.Remove(filepath.Join(x.dir, name))
	}
}

func (x *edited) pick(name, on, off string) string {
	if x.on[name] {
		return on
	}
	return off
}

// lay makes the files what the switches say.
func (x *edited) lay() {
	x.write("other.mod", "module edits\n\ngo 1.22\n\nrequire lib v0.0.0\n\n"+
		"replace lib => ./lib2\n")
	x.write("other.sum", "")
	x.write("go.mod", "module edits\n\ngo "+x.pick("go.mod", "1.21", "1.22")+
		"\n\nrequire lib v0.0.0\n\nreplace lib => ./"+x.pick("replace", "lib2", "lib1")+"\n")
	x.write("lib1/go.mod", "module lib\n\ngo 1.21\n")
	x.write("lib2/go.mod", "module lib\n\ngo 1.21\n")
	x.write("lib1/lib.go", "package lib\n\nconst Bad = "+x.pick("library", "true ", "false")+"\n")
	x.write("lib2/lib.go", "package lib\n\nconst Bad = true\n")
	x.write("b/b.go", fmt.Sprintf("package b // %d\n\nfunc Bad() bool { return %s }\n", x.comments,
		x.pick("import", "true ", "false")))
	x.write("a/a.go", `package a

import (
	"embed"

	"edits/b"
	"lib"
)

//go:embed data
var data embed.FS

var extra []string

func bad() bool { return b.Bad() || lib.Bad }
`)
	x.write("a/data/x.txt", x.pick("embedded", "bad!", "good"))
	x.file(x.on["embedded-more"], "a/data/y.txt", "more")
	x.file(x.on["file"], "a/more.go",
		"package a\n\nfunc init() { extra = append(extra, \"file\") }\n")
	x.file(x.on["test-file"], "a/more_test.go",
		"package a\n\nfunc init() { extra = append(extra, \"test file\") }\n")
	tagged := "package a\n\nfunc init() { extra = append(extra, \"tagged\") }\n"
	x.write("a/tagged.go", "//go:build never"+x.pick("tagged", " || linux || !linux", "")+"\n\n"+
		tagged)
	x.write("a/flagged.go", "//go:build wrong\n\n"+tagged)
	x.write("a/testdata/text", x.pick("text", "bad!", "good"))
	x.write("a/testdata/list/1", "")
	x.file(x.on["list"], "a/testdata/list/2", "")
	x.file(x.on["exists"], "a/testdata/exists", "")
	x.write("a/testdata/good", "good")
	x.write("a/testdata/bad!", "bad!")
	link := filepath.Join(x.dir, "a/testdata/link")
	os.Remove(link)
	if err := os.Symlink(x.pick("link", "bad!", "good"), link); err != nil {
		x.t.Fatal(err)
	}
	x.write("a/a_test.go", `package a

import (
	"os"
	"slices"
	"sync"
	"testing"
)

func TestA(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var fs []func() int
	for i := 0; i < 2; i++ {
		fs = append(fs, func() int { return i })
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			defer mu.Unlock()
		}()
	}
	wg.Wait()
	if fs[0]() != 0 {
		t.Error("one variable for all rounds")
	}
	if bad() || len(extra) > 0 || testing.Short() || slices.Contains(os.Args, "wrong") || `+
		x.pick("test", "true ", "false")+` {
		t.Error("bad", extra, os.Args)
	}
	if b, err := data.ReadFile("data/x.txt"); err != nil || string(b) != "good" {
		t.Error(string(b), err)
	}
	if l, err := data.ReadDir("data"); err != nil || len(l) != 1 {
		t.Error(l, err)
	}
	for _, name := range []string{"testdata/text", "testdata/link"} {
		if b, err := os.ReadFile(name); err != nil || string(b) != "good" {
			t.Error(name, string(b), err)
		}
	}
	if l, err := os.ReadDir("testdata/list"); err != nil || len(l) != 1 {
		t.Error(l, err)
	}
	if _, err := os.Stat("testdata/exists"); err == nil {
		t.Error("exists")
	}
}
`)
}

// run explores the module with the flags that the switches say, by the interpreter and without a
// limit of time, so that the load of the machine changes nothing.
func (x *edited) run(more ...string) (code int, out string) {
	args := append([]string{"-C", x.dir, "-machine=interpreted", "-timeout=0"}, more...)
	if x.on["-tags"] {
		args = append(args, "-tags", "wrong")
	}
	if x.on["-short"] {
		args = append(args, "-short")
	}
	x.t.Setenv("GOFLAGS", x.pick("GOFLAGS", "-modfile="+filepath.Join(x.dir, "other.mod"), ""))
	args = append(args, "./a")
	if x.on["-args"] {
		args = append(args, "-args", "wrong")
	}
	var b bytes.Buffer
	code = Test(x.t.Context(), args, &b, &b)
	return code, b.String()
}

func edit(t *testing.T) *edited {
	t.Setenv(cacheVariable, t.TempDir())
	x := &edited{t: t, dir: t.TempDir(), on: map[string]bool{}}
	x.lay()
	return x
}

// TestNeverStale edits a module at random: its test passes exactly if it should, whether it was
// explored or has passed before, and the latter if nothing has changed since.
func TestNeverStale(t *testing.T) {
	x := edit(t)
	r := rand.New(rand.NewPCG(1, uint64(sample.Of(1, 1, 2))))
	hits := 0
	passed := map[int]bool{} // the comments with which all was good
	steps := sample.Of(3, 3, 1000)
	// Each switch is tried in turn, where there is time.
	order := slices.Concat(slices.Clone(switches), switches)
	r.Shuffle(len(order), func(i, k int) { order[i], order[k] = order[k], order[i] })
	for i := range steps {
		var what string
		if i > 0 {
			switch {
			case len(x.on) > 0 && r.IntN(3) > 0: // more often good than not
				for _, s := range slices.Backward(switches) {
					if x.on[s] {
						what = s
					}
				}
				delete(x.on, what)
			case r.IntN(8) == 0:
				what = "comments"
				x.comments = r.IntN(20)
			default:
				what = order[i%len(order)]
				x.on[what] = true
			}
		}
		x.lay()
		code, out := x.run()
		cached := strings.Contains(out, "(cached)")
		switch good := len(x.on) == 0; {
		case good != (code == exitPass), cached && !good:
			t.Fatalf("edit %d, %s: exit code %d with %v\n%s", i, what, code, x.on, out)
		case good && passed[x.comments] && !cached:
			t.Errorf("edit %d, %s: explored again, though nothing has changed\n%s", i, what, out)
		case good:
			passed[x.comments] = true
		}
		if cached {
			hits++
		}
	}
	if hits == 0 && steps > 20 {
		t.Errorf("%d edits, and nothing was unchanged", steps)
	}
}

// TestEachSwitch turns each switch on after a pass, and off again.
func TestEachSwitch(t *testing.T) {
	x := edit(t)
	if code, out := x.run(); code != exitPass || strings.Contains(out, "cached") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	step := len(switches) / sample.Of(1, 2, len(switches))
	for i := 0; i < len(switches); i += step {
		s := switches[i]
		x.on[s] = true
		x.lay()
		if code, out := x.run(); code != exitFailure || strings.Contains(out, "cached") {
			t.Errorf("%s on: exit code %d\n%s", s, code, out)
		}
		delete(x.on, s)
		x.lay()
		if code, out := x.run(); code != exitPass || !strings.Contains(out, "(cached)") {
			t.Errorf("%s off again: exit code %d\n%s", s, code, out)
		}
	}
}

// TestPasses reports kept passes as fresh ones, and keeps only those.
func TestPasses(t *testing.T) {
	x := edit(t)
	times := regexp.MustCompile(`[0-9.]+s|\(cached\)|"Time":"[^"]*"|"Elapsed":[0-9.e-]+|` +
		`, [0-9]+ random schedules?|,"Samples":[0-9]+`)
	for _, flags := range [][]string{{"-json"}, {"-v"}}[:sample.Of(1, 1, 2)] {
		_, fresh := x.run(append(flags, "-count=1")...)
		x.run(flags...)
		_, kept := x.run(flags...)
		if strings.Contains(fresh, "(cached)") || !strings.Contains(kept, "(cached)") {
			t.Errorf("%v: -count=1 %q, without %q", flags, fresh, kept)
		}
		if a, b := times.ReplaceAllString(fresh, ""), times.ReplaceAllString(kept, ""); a != b {
			t.Errorf("%v: fresh %q, kept %q", flags, a, b)
		}
	}
	again := func(what string, want bool) {
		t.Helper()
		code, out := x.run()
		if got := strings.Contains(out, "(cached)"); code != exitPass || got != want {
			t.Errorf("%s: exit code %d, kept: %v, want %v\n%s", what, code, got, want, out)
		}
	}
	again("as before", true)
	for range 2 {
		if code, out := x.run("-timeout", "1ns"); code != exitIncomplete {
			t.Errorf("-timeout 1ns: exit code %d\n%s", code, out)
		}
	}
	// What is damaged is explored again.
	dir := os.Getenv(cacheVariable)
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no passes in %s: %v", dir, err)
	}
	for _, f := range files {
		if err := os.WriteFile(f, []byte(`{"Facts": [{"How"`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	again("damaged", false)
	again("repaired", true)
	// A file that was changed during the search is not kept: here, one from the future.
	future := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(x.dir, "b", "b.go"), future, future); err != nil {
		t.Fatal(err)
	}
	x.comments++
	x.lay()
	again("changed meanwhile", false)
	again("changed meanwhile", false)
	// Without a folder that can be written, everything is explored.
	t.Setenv(cacheVariable, filepath.Join(x.dir, "go.mod", "below"))
	x.comments = 0
	again("no folder", false)
	again("no folder", false)
}

// TestTrim removes what nobody has asked for in a long time, once a day, and no file of others.
func TestTrim(t *testing.T) {
	k := &passes{dir: t.TempDir()}
	fresh, old, third := strings.Repeat("a", 64), strings.Repeat("b", 64), strings.Repeat("c", 64)
	k.store(fresh, &keptPass{})
	k.store(old, &keptPass{})
	others := []string{"notes.json", filepath.Join("below", old+".json")}
	if err := os.Mkdir(filepath.Join(k.dir, "below"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if err := os.WriteFile(filepath.Join(k.dir, name), nil, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-2 * keptFor)
	for _, name := range append(others, old+".json", "trimmed") {
		if err := os.Chtimes(filepath.Join(k.dir, name), long, long); err != nil {
			t.Fatal(err)
		}
	}
	k.store(third, &keptPass{})
	if k.load(old) != nil || k.load(fresh) == nil || k.load(third) == nil {
		t.Error("the old one is there, or a new one is not")
	}
	for _, name := range others {
		if _, err := os.Stat(filepath.Join(k.dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// TestDecisive sets each flag to another value: a pass depends on it, or it is among those on which
// no pass depends, or it is ignored.
func TestDecisive(t *testing.T) {
	fresh := func() *config {
		c := &config{command: "test"}
		c.define()
		return c
	}
	idle := slices.Clone(besideVerdict)
	for _, g := range ignored {
		idle = append(idle, g.name)
	}
	for _, name := range besideVerdict {
		if fresh().Lookup(name) == nil {
			t.Errorf("there is no flag -%s", name)
		}
	}
	before := fresh().decisive()
	fresh().VisitAll(func(f *flag.Flag) {
		c := fresh()
		values := []string{"7s", "7", "7GB", "false", "true"}
		set := slices.ContainsFunc(values, func(v string) bool {
			return v != f.DefValue && c.Set.Set(f.Name, v) == nil
		})
		if !set && !slices.Contains(idle, f.Name) {
			t.Errorf("-%s takes no value of this test", f.Name)
		}
		if same := slices.Equal(c.decisive(), before); same != slices.Contains(idle, f.Name) {
			t.Errorf("-%s: the key stays the same: %v", f.Name, same)
		}
	})
}
