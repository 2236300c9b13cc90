package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"github.com/google/go-cmp/cmp"

	"cpor/engine"
)

// TestDocs runs the command lines in the documentation, README.md and docs/, and
// compares what they print. They are in blocks
//
//	```console
//	$ cpor run robots.model
//	the output, standard error included
//	```
//
// and run in a directory that has the same entries as the root of the
// repository, so that what they write does not stay. A line "..." represents any lines of
// output. Figures that differ from run to run (times, rates, sizes) are not
// compared. "$ echo $?" shows the exit code of the command before. After
// "```console long" the block runs with -long only. Of other programs than
// cpor only those in elsewherePrograms may be shown; they are not run here.
//
// With -update the outputs that differ are rewritten, those with "..." excepted.
func TestDocs(t *testing.T) {
	var files []string
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry,
		err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Parallel()
	for _, file := range append(files, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "```console") {
			continue
		}
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			updated := runDoc(t, mirror(t), string(text))
			if *update && updated != string(text) {
				if err := os.WriteFile(file, []byte(updated), 0o666); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// mirror makes a directory with links to all entries of the root, or returns
// the root where there are no links. examples is copied, because the go command
// reports the places in a linked package by their absolute paths.
func mirror(t *testing.T) string {
	t.Helper()
	from, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, e := range entries {
		if e.Name() == "examples" {
			if err := os.CopyFS(filepath.Join(dir, "examples"),
				os.DirFS(filepath.Join(from, "examples"))); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.Symlink(filepath.Join(from, e.Name()),
			filepath.Join(dir, e.Name())); err != nil {
			t.Logf("no links here: %v", err)
			return from
		}
	}
	return dir
}

// elsewherePrograms are the programs that the documentation may show besides
// cpor. The continuous integration runs the go commands of the README.
var elsewherePrograms = []string{"go", "git", "make", "cat", "diff", "benchstat", "spin"}

// runDoc runs the blocks of a page in dir and returns it with the actual outputs.
func runDoc(t *testing.T, dir, text string) string {
	lines := strings.SplitAfter(text, "\n")
	var out strings.Builder
	for i := 0; i < len(lines); {
		line := strings.TrimSpace(lines[i])
		out.WriteString(lines[i])
		i++
		if line != "```console" && line != "```console long" {
			continue
		}
		start := i
		for i < len(lines) && strings.TrimSpace(lines[i]) != "```" {
			i++
		}
		block := strings.Join(lines[start:i], "")
		if line == "```console long" && !sample.Long() {
			out.WriteString(block)
			continue
		}
		out.WriteString(runBlock(t, dir, start+1, block))
	}
	return out.String()
}

// runBlock runs the commands of one block, whose first line has the number
// line, and returns it with the actual outputs.
func runBlock(t *testing.T, dir string, line int, block string) string {
	var out strings.Builder
	code := 0
	lines := strings.SplitAfter(block, "\n")
	for i := 0; i < len(lines); {
		head := lines[i]
		command, ok := strings.CutPrefix(strings.TrimRight(head, "\n"), "$ ")
		at := line + i
		i++
		if !ok {
			if strings.TrimSpace(head) != "" {
				t.Errorf("line %d: a block begins with a command: %q", at, head)
			}
			out.WriteString(head)
			continue
		}
		start := i
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") {
			i++
		}
		want := strings.Join(lines[start:i], "")
		out.WriteString(head)
		command, _, _ = strings.Cut(command, " #")
		args := words(command)
		got := ""
		switch {
		case len(args) == 0:
			t.Errorf("line %d: no command", at)
		case command == "echo $?":
			got = fmt.Sprintln(code)
		case args[0] == "cpor":
			got, code = runCpor(t, dir, args[1:])
		case len(args) > 2 && args[0] == "go" && args[1] == "run" && args[2] == "./cmd/cpor":
			got, code = runCpor(t, dir, args[3:])
		default:
			known := false
			for _, p := range elsewherePrograms {
				known = known || args[0] == p
			}
			if !known {
				t.Errorf("line %d: %s is a command that the tests cannot run", at, args[0])
			}
			out.WriteString(want)
			continue
		}
		same := matches(want, got)
		if *update && !same && !strings.Contains(want, "...\n") {
			out.WriteString(got)
			continue
		}
		out.WriteString(want)
		if !same {
			t.Errorf("line %d: $ %s\n(- documented, + printed)\n%s\nprinted:\n%s", at, command,
				cmp.Diff(strings.Split(normalise(want), "\n"), strings.Split(normalise(got), "\n")),
				got)
		}
	}
	return out.String()
}

var word = regexp.MustCompile(`'[^']*'|\S+`)

// words splits a command line at blanks outside of single quotes.
func words(command string) []string {
	args := word.FindAllString(command, -1)
	for i, a := range args {
		args[i] = strings.Trim(a, "'")
	}
	return args
}

// runCpor runs cpor in dir and returns what it printed and its exit code.
func runCpor(t *testing.T, dir string, args []string) (string, int) {
	t.Helper()
	c := exec.Command("cpor", args...)
	c.Dir = dir
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	err := c.Run()
	var ee *exec.ExitError
	if err != nil && !errors.As(err, &ee) {
		t.Fatal(err)
	}
	return b.String(), c.ProcessState.ExitCode()
}

// matches reports whether an output is as documented.
func matches(want, got string) bool {
	want, got = normalise(want), normalise(got)
	if !strings.Contains("\n"+want, "\n...\n") {
		return want == got
	}
	var re strings.Builder
	re.WriteString(`^`)
	for _, l := range strings.SplitAfter(want, "\n") {
		if l == "...\n" {
			re.WriteString(`(?s:.*\n)?`)
		} else {
			re.WriteString(regexp.QuoteMeta(l))
		}
	}
	re.WriteString(`$`)
	return regexp.MustCompile(re.String()).MatchString(got)
}

// volatile are the figures that differ from run to run and between machines.
var volatile = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`\b[\d.,]+ ?[kMG]?/s\b`), "RATE"},
	{regexp.MustCompile(`\b(\d+h)?(\d+m)?[\d.,]+ ?(ns|µs|us|ms|s)\b`), "TIME"},
	{regexp.MustCompile(`\b[\d.,]+ ?([KMGT]i?)?B\b`), "SIZE"},
	{regexp.MustCompile(`\b[\d.,]+ bytes a state`), "SIZE a state"},
	{regexp.MustCompile(
		`"(duration_ms|[a-z_]+_per_second|store_bytes|bytes_per_state|peak_rss_bytes|idle_share|steals|failed_cas)": [\d.e+-]+`), `"$1": NUMBER`},
	{regexp.MustCompile(`cpor \S+ \(go[\d.]+, [^)]*\)`), "cpor VERSION"},
	{regexp.MustCompile(`[ \t]+`), " "},
	{regexp.MustCompile(` \n`), "\n"},
}

// normalise replaces the volatile figures.
func normalise(s string) string {
	for _, v := range volatile {
		s = v.re.ReplaceAllString(s, v.by)
	}
	return s
}

// TestPackageTable holds the table of packages in docs/architecture.md to the
// packages that there are: each has one row, and each row a package and files.
func TestPackageTable(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(imports(t)))
	var got []string
	for _, row := range regexp.MustCompile(
		"(?m)^\\| `([^`]*)` \\| .+ \\| (`.*`) \\|$").FindAllStringSubmatch(string(text), -1) {
		got = append(got, row[1])
		for file := range strings.SplitSeq(strings.ReplaceAll(row[2], "`", ""), ", ") {
			if _, err := os.Stat(filepath.Join(root, row[1], file)); err != nil {
				t.Errorf("begin reading %s at %s: %v", row[1], file, err)
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("packages without a row (-), rows without a package or doubled (+):\n%s", diff)
	}
}

// TestRacePackages holds .ci/race-packages to the packages that there are: each
// line is one, and each package that starts goroutines or has atomic operations
// has a line. The word behind it is the only flag that is known.
func TestRacePackages(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, ".ci", "race-packages"))
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		pkg, flags, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(pkg, "#") {
			continue
		}
		if files, _ := filepath.Glob(filepath.Join(root, strings.TrimSuffix(pkg, "/..."),
			"*")); len(files) == 0 || listed[pkg] || flags != "" && flags != "-short" {
			t.Errorf("%q: no package, or a second line, or a flag that is not -short", line)
		}
		listed[pkg] = true
	}
	concurrent := regexp.MustCompile(
		`(?m)^\s*go (func\b|[\w.]+\()|^\s*"(sync/atomic|golang.org/x/sync/errgroup)"`)
	for _, p := range packages(t) {
		pkg := "." + strings.TrimPrefix(p.ImportPath, p.Module.Path)
		known := p.Name == "main" || listed[pkg]
		for l := range listed {
			below, pattern := strings.CutSuffix(l, "...")
			known = known || pattern && strings.HasPrefix(pkg, below)
		}
		if known {
			continue
		}
		for _, name := range p.GoFiles {
			src, err := os.ReadFile(filepath.Join(root, pkg, name))
			if err != nil {
				t.Fatal(err)
			}
			if m := concurrent.Find(src); m != nil {
				t.Errorf("%s is concurrent (%s: %s) and not in .ci/race-packages", pkg, name,
					bytes.TrimSpace(m))
			}
		}
	}
}

// TestEnginesAreDocumented: docs/features.md names every mode, engine and
// reduction, and some page of the documentation names each of their flags.
func TestEnginesAreDocumented(t *testing.T) {
	pages := map[string]string{}
	names, err := filepath.Glob("../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	all := ""
	for _, name := range append(names, "../../README.md") {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		pages[name] = string(b)
		all += string(b)
	}
	features := pages["../../docs/features.md"]
	for _, e := range engine.Entries("") {
		if m := engine.LookupMode(e.Mode); !m.Default && !strings.Contains(features, m.Asked) {
			t.Errorf("docs/features.md does not name %s", m.Asked)
		}
		if !strings.Contains(features, "`"+e.Name+"`") && !strings.Contains(features,
			"-por "+e.Name) {
			t.Errorf("docs/features.md does not name %s (%s)", e.Name, e.Mode)
		}
		for _, f := range e.Flags {
			if name := "-" + f.About().Name; !strings.Contains(all, name) {
				t.Errorf("no page names %s", name)
			}
		}
	}
}

// TestNormalise makes sure that the comparison of the documentation's examples
// sees differences, and only those that count.
func TestNormalise(t *testing.T) {
	for _, tt := range []struct {
		want, got string
		same      bool
	}{
		{"states 96   50.1k/s\n", "states 96 3,123/s\n", true},
		{"states 96\n", "states 97\n", false},
		{"time  1.2ms\n", "time 3.1s\n", true},
		{"store 12 KiB, 8.1 bytes a state\n", "store 1.5 MiB, 12.3 bytes a state\n", true},
		{"a\n...\nd\n", "a\nb\nc\nd\n", true},
		{"a\n...\nd\n", "a\nd\n", true},
		{"a\n...\nd\n", "a\nb\nc\n", false},
		{"exit 1\n", "exit 2\n", false},
		{`  "duration_ms": 1.5,`, `  "duration_ms": 2e-05,`, true},
	} {
		if got := matches(tt.want, tt.got); got != tt.same {
			t.Errorf("%q and %q: %v", tt.want, tt.got, got)
		}
	}
}
