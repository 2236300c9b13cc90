package scenario_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
)

var published = flag.Bool("published", false,
	"explore types of other modules; needs the module proxy")

// versions are the modules of testdata/published, and fixed those with a fault mended.
const (
	versions = `
	github.com/Workiva/go-datastructures v1.1.5
	github.com/alphadose/haxmap v1.4.0
	github.com/bytedance/gg v1.1.0
	github.com/deckarep/golang-set/v2 v2.6.0
	github.com/enriquebris/goconcurrentqueue v0.6.0
	github.com/orcaman/concurrent-map/v2 v2.0.1
	github.com/puzpuzpuz/xsync v1.5.2
	github.com/scrapli/scrapligo v1.3.3
	github.com/zhangyunhao116/skipmap v0.10.1
`
	fixed = `
	github.com/Workiva/go-datastructures v1.1.5
	github.com/alphadose/haxmap v1.4.0
	github.com/bytedance/gg v1.1.0
	github.com/deckarep/golang-set/v2 v2.9.0
	github.com/enriquebris/goconcurrentqueue v0.7.0
	github.com/orcaman/concurrent-map/v2 v2.0.1
	github.com/puzpuzpuz/xsync v1.5.2
	github.com/scrapli/scrapligo v1.4.0
	github.com/zhangyunhao116/skipmap v0.10.1
`
)

// publishedWith compiles the tests of testdata/published with these versions.
func publishedWith(t *testing.T, versions string) *gosrc.Compiled {
	t.Helper()
	dir := t.TempDir()
	command := func(args ...string) string {
		c := exec.CommandContext(t.Context(), "go", args...)
		if args[0] == "mod" {
			c.Dir = dir
		}
		out, err := c.CombinedOutput()
		if err != nil {
			t.Skipf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	source, err := os.ReadFile(filepath.Join("testdata", "published", "published_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	write("published_test.go", string(source))
	here := command("list", "-m", "-f", "{{.Path}} => {{.Dir}}")
	path, _, _ := strings.Cut(here, " ")
	write("go.mod", "module example.com/published\n\ngo "+command("list", "-m", "-f",
		"{{.GoVersion}}")+"\n\nrequire (\n\t"+path+" v0.0.0"+versions+")\n\nreplace "+here+"\n")
	command("mod", "tidy")

	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Tests: true, Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestPublished finds what docs/linearizability.md says about published types.
func TestPublished(t *testing.T) {
	if !*published {
		t.Skip("with -published only")
	}
	run := func(c *gosrc.Compiled, name string) *gotest.Result {
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := gotest.Run(t.Context(), p, gotest.Options{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return res
	}
	c := publishedWith(t, versions)
	for name, want := range map[string]string{
		"TestCount":        "cmap.ConcurrentMap[int,int] is not linearizable",
		"TestOffer":        "check.Only(`Offer(1) || Offer(1)`)",
		"TestFixedFIFO":    "DequeueOrWait() waits (it does not have to here)",
		"TestFIFO":         "data race on ret.isLocked",
		"TestMPMC":         "TryDequeue() = nil, false (here: 1, true)",
		"TestScrapli":      "index out of range [0] with length 0",
		"TestSetJSON":      "data race on threadUnsafeSet[int]",
		"TestSkipmapStore": "LoadAndDelete() = 0, false (here: 1, true)",
		"TestSkipmapLoad":  "Load() = 0, false (here: 1, true)",
		"TestGGStore":      "LoadAndDelete() = 0, false (here: ",
	} {
		if res := run(c, name); res.Failure == nil ||
			!strings.Contains(res.Failure.Message, want) {
			t.Errorf("%s: %+v, want %s", name, res, want)
		}
	}
	c = publishedWith(t, fixed)
	for _, name := range []string{"TestFixedFIFO", "TestScrapli", "TestSetJSON"} {
		if res := run(c, name); res.Verdict != engine.Pass {
			t.Errorf("%s is fixed: %v, %s, %+v", name, res.Verdict, res.Reason, res.Failure)
		}
	}
}
