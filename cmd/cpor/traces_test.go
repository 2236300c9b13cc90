package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/cmd/cpor/command"
	"cpor/examples/promela/corpus"
	"cpor/testkit/sample"
)

// violating are command lines that find a violation: the models of the tutorial and
// of the benchmarks, and the corpus.
func violating(t *testing.T) [][]string {
	args := [][]string{
		{"../../docs/tutorial/peterson-wrong.model"},
		{"../../docs/tutorial/counter.model"},
		{"../../docs/tutorial/votes.model"},
		{"../../benchmarks/philosophers.model", "-D", "N=5"},
		{"../../docs/tutorial/counter.model", "-D", "THREADS=3", "-search", "stateless"},
		{"../../benchmarks/philosophers.model", "-D", "N=5", "-search", "unfolding"},
		{"../../docs/tutorial/counter.model", "-search", "stateless", "-por", "sleep"},
		{"../../docs/tutorial/counter.model", "-races", "hb", "-all"},
		{"../../docs/tutorial/counter.model", "-D", "THREADS=3", "-all"},
		{"../../docs/tutorial/votes.model", "-all"},
	}
	dir := t.TempDir()
	rs, err := corpus.Runs()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rs {
		if !r.Violated || r.Check != corpus.Safety || r.States > 30_000 {
			continue
		}
		body, err := corpus.FS.ReadFile(r.Model + ".pml")
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(dir, r.Model+".pml")
		if err := os.WriteFile(name, body, 0o666); err != nil {
			t.Fatal(err)
		}
		a := []string{name}
		for _, d := range r.Defines {
			a = append(a, "-D", d)
		}
		args = append(args, a)
	}
	if len(args) < 40 {
		t.Fatalf("only %d command lines", len(args))
	}
	every := sample.Of(len(args)/4, 3, 1) // of the corpus
	for i := 10; i < len(args); i++ {
		if (i-10)%every == 0 {
			args[10+(i-10)/every] = args[i]
		}
	}
	return args[:10+(len(args)-10+every-1)/every]
}

// TestSameTrace runs searches with several numbers of workers, and again: what they
// print of the violation must be the same, byte for byte, and no line of it is wider than
// 80 columns.
func TestSameTrace(t *testing.T) {
	workers := []int{1, 8, 64, 2, 8}[:sample.Of(2, 3, 5)]
	local := 0
	all := violating(t)
	for _, args := range all {
		args = append([]string{"run", "-minimize", "10m"}, args...)
		want := ""
		for i, w := range workers {
			out, stderr, code := inProcess(t, append(args, "-q", "-workers", fmt.Sprint(w))...)
			if code != command.ExitViolation {
				t.Fatalf("%v: exit code %d\n%s%s", args, code, out, stderr)
			}
			if i == 0 {
				want = out
				for line := range strings.Lines(out) {
					// not the source and messages
					if n := text.StringWidthWithoutEscSequences(
						strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")); n > 80 &&
						line[0] != '\t' && !strings.Contains(line, ".pml:") &&
						!strings.Contains(line, ".model:") {
						t.Errorf("%v: %d columns: %s", args, n, line)
					}
				}
			}
			if out != want {
				t.Errorf("%v: with %d workers\n%s\nwith 1\n%s", args, w, out, want)
				break
			}
		}
		if out, _, _ := inProcess(t, append(args, "-workers", "1")...); strings.Contains(out,
			"there may be shorter ones") {
			local++
			t.Logf("%v: not known to be the shortest", args)
		}
	}
	t.Logf("%d command lines, %d of them with traces that are not known to be the shortest",
		len(all), local)
	if local > len(all)/5 {
		t.Errorf("of %d traces %d are not known to be the shortest, or those with the fewest "+
			"context switches", len(all), local)
	}
}
