package gotest

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/testkit/gogen"
)

var (
	generated = flag.Int("generated", 0, "number of random tests that all engines explore")
	seed      = flag.Uint64("first", 0, "the first seed")
)

// TestEnginesAgree explores random concurrent tests with every engine that covers every
// schedule: the verdict must be that of the full search, and that of the brute force of
// package gogen where that knows it (of leaks it knows nothing).
func TestEnginesAgree(t *testing.T) {
	n := cmp.Or(*generated, sample.Of(6, 8, 120))
	var src strings.Builder
	src.WriteString(
		"package m\n\nimport (\n\t\"sync\"\n\t\"sync/atomic\"\n\t\"testing\"\n)\n\nvar _ " +
			"atomic.Int64\n")
	brutes := map[string]gogen.Brute{}
	var names []string
	for i := range uint64(n) {
		s := *seed + i
		r := rand.New(rand.NewPCG(s, 5))
		p := gogen.NewConcurrent(r, gogen.Shape{Goroutines: 1 + int(s%3)/2, Steps: 4,
			Vars: s%5 == 0, Polls: s%3 == 0, RW: s%4 < 2})
		b, ok := p.BruteForce(20_000)
		if !ok {
			continue
		}
		name := fmt.Sprint("Test", s)
		names = append(names, name)
		brutes[name] = b
		_, body, _ := strings.Cut(p.Source(), "func main()")
		fmt.Fprintf(&src, "\nfunc %s(*testing.T)%s", name, body)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module m\n\ngo 1.24\n",
		"a_test.go": src.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Dir: dir, Tests: true})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, name := range names {
		verdicts := map[Engine]engine.Verdict{}
		for _, e := range []Engine{Full, Cartesian, DPOR, Auto} {
			p, err := c.Test(name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Run(t.Context(), p, Options{Engine: e, Timeout: time.Minute, Workers: 1})
			if err != nil {
				t.Fatalf("%s, %s: %v", name, e, err)
			}
			verdicts[e] = res.Verdict
			count[fmt.Sprint(e, " ", res.Verdict)]++
			if res.Verdict == engine.Incomplete {
				continue // too many executions for the time
			}
			if v := verdicts[Full]; v != engine.Incomplete && res.Verdict != v {
				t.Errorf("%s: %s says %s, the full search %s", name, e, res.Verdict, v)
			}
			if brutes[name].Race && res.Verdict == engine.Pass {
				t.Errorf("%s: %s passes; there is a race", name, e)
			}
			for o := range brutes[name].Outcomes {
				if o.Ending != "" && res.Verdict == engine.Pass {
					t.Errorf("%s: %s passes; the brute force ends with %q", name, e, o)
				}
			}
		}
	}
	t.Log(count)
	if t.Failed() {
		t.Log(src.String())
	}
}
