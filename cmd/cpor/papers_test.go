package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

// paperRow is a row of the table in docs/papers.md.
type paperRow struct {
	line    int
	cells   []string
	command string   // "" if there is none that starts with cpor
	slow    bool     // a duration follows the command
	figures []string // that the command prints
}

var (
	papersCode = regexp.MustCompile("`([^`]*)`")
	papersSlow = regexp.MustCompile(`^ \(\d+ (s|min|h)\)`)
)

// paperRows reads the table of a page whose rows have six cells.
func paperRows(text string) []paperRow {
	var rows []paperRow
	for i, line := range strings.Split(text, "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 6 || strings.Contains(line, "|---|") ||
			strings.TrimSpace(cells[0]) == "" {
			continue
		}
		r := paperRow{line: i + 1, cells: cells}
		if m := papersCode.FindStringSubmatchIndex(cells[3]); m != nil {
			r.command = cells[3][m[2]:m[3]]
			r.slow = papersSlow.MatchString(cells[3][m[1]:])
		}
		if !strings.HasPrefix(r.command, "cpor ") {
			r.command = ""
		}
		for _, m := range papersCode.FindAllStringSubmatch(cells[5], -1) {
			r.figures = append(r.figures, m[1])
		}
		rows = append(rows, r)
	}
	return rows
}

// printed reports whether a figure is in an output, as a whole word.
func printed(output, figure string) bool {
	output = strings.Join(strings.Fields(output), " ")
	re := regexp.MustCompile(`(^|[^\w.,])` + regexp.QuoteMeta(figure) + `($|[^\w,]|,[^\d])`)
	return re.MatchString(output)
}

// TestPapers runs the commands in docs/papers.md that take less than ten seconds, a sample of
// them by default, and compares their figures. A command that takes longer has a duration.
func TestPapers(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := paperRows(string(text))
	if len(rows) < 60 {
		t.Fatalf("docs/papers.md has %d rows", len(rows))
	}
	dir := mirror(t)
	outputs := map[string]string{}
	for i, r := range rows {
		switch {
		case r.command == "" || r.slow:
			if len(r.figures) > 0 && r.command == "" {
				t.Errorf("line %d: no command prints %q", r.line, r.figures)
			}
			continue
		case i%sample.Of(12, 4, 1) != 0:
			continue
		case !strings.Contains(r.command, "-workers "):
			t.Errorf("line %d: %s has no -workers, so figures may differ between machines", r.line,
				r.command)
		}
		out, ok := outputs[r.command]
		if !ok {
			out, _ = runCpor(t, dir, words(r.command)[1:])
			outputs[r.command] = out
		}
		if len(r.figures) == 0 {
			t.Errorf("line %d: the row has no figure of %s", r.line, r.command)
		}
		for _, f := range r.figures {
			if !printed(out, f) {
				t.Errorf("line %d: %s does not print %s:\n%s", r.line, r.command, f, out)
			}
		}
	}
}

// TestPaperRows: the test of the table sees wrong figures.
func TestPaperRows(t *testing.T) {
	rows := paperRows("| C | x | y | `cpor run a` (3 min) | 1 | `2` |\n" +
		"| C | x | y | `cpor run b` | 1 | `1,234` states, 5 |\n| a | b |\n" +
		"| C | x | y | `go test` | 1 | 3 |\n|---|---|---|---|---|---|\n")
	if len(rows) != 3 || !rows[0].slow || rows[1].slow || rows[1].command != "cpor run b" ||
		rows[2].command != "" || len(rows[1].figures) != 1 {
		t.Fatalf("rows: %+v", rows)
	}
	for _, c := range []struct {
		output, figure string
		want           bool
	}{
		{"states 1,234 5/s", "1,234", true},
		{"states  11,234", "1,234", false},
		{"states 1,234,567", "1,234", false},
		{"12.9 and 9, or more", "9", true},
		{"p1  holds", "p1 holds", true},
		{"12 states", "2", false},
	} {
		if got := printed(c.output, c.figure); got != c.want {
			t.Errorf("%q in %q: %v", c.figure, c.output, got)
		}
	}
}

// TestPaperTests: the go tests that docs/papers.md names exist.
func TestPaperTests(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs", "papers.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`go test \\./([\\w/]+) -run (\\w+)`").FindAllStringSubmatch(
		string(text), -1)
	if len(named) == 0 {
		t.Fatal("docs/papers.md names no test")
	}
	for _, m := range named {
		files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			code, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || regexp.MustCompile(`func (Test|Fuzz)\w*`+m[2]).Match(code)
		}
		if !found {
			t.Errorf("%s: that test does not exist", m[0])
		}
	}
}
