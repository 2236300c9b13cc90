// Package examples_test runs the models of this directory as their comments say, and
// writes and checks the table of README.md.
//
// The comment at the beginning of a model says what it is, where it comes from, what the
// bug is, and under "Run:" which commands to try. Behind each command stands what a
// search finds that goes on after violations: "no violation", or the kinds of the
// violations, invariants and temporal properties with their names. counts.csv has the states
// and transitions of each of these runs. With -update it and the table are written anew;
// what is found is written by hand.
package examples_test

import (
	"cmp"
	"context"
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all" // the engines
	"cpor/frontend"
	_ "cpor/frontend/model" // the language
)

var update = flag.Bool("update", false, "write counts.csv and the table of README.md anew")

// example is a model with what its comment says.
type example struct {
	file, title, bug string
	runs             []run
}

// run is a command of a comment.
type run struct {
	args  []string // between "cpor run" and the file
	finds string
}

var (
	title   = regexp.MustCompile(`^// (\w+\.model): (.+)\.\n//\n// Source: `)
	model   = regexp.MustCompile(`(?m)^// What it models: `)
	bug     = regexp.MustCompile(`(?m)^// Bug \((-D \w+=\w+)\): ((?:.+\n)+)//\n`)
	command = regexp.MustCompile(`(?m)^//\tcpor run (.*?) *examples/(\w+\.model) +# (.+)$`)
)

// examples reads the comments of all models.
func examples(t *testing.T) []example {
	t.Helper()
	files, err := filepath.Glob("*.model")
	if err != nil || len(files) < 20 {
		t.Fatalf("%d models, %v", len(files), err)
	}
	var list []example
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s := string(text)
		head := title.FindStringSubmatch(s)
		flaw := bug.FindStringSubmatch(s)
		if head == nil || head[1] != file || flaw == nil || !model.MatchString(s) {
			t.Fatalf(
				"%s: the comment does not say what it is, its source, what it models, or the bug",
				file,
			)
		}
		ex := example{file: file, title: head[2], bug: flaw[1]}
		fixed, wrong := false, false
		for _, m := range command.FindAllStringSubmatch(s, -1) {
			r := run{strings.Fields(m[1]), m[3]}
			fixed = fixed || len(r.args) == 0 && r.finds == "no violation"
			wrong = wrong || strings.Contains(m[1], flaw[1]) && r.finds != "no violation"
			if m[2] != file {
				t.Errorf("%s: runs %s", file, m[2])
			}
			ex.runs = append(ex.runs, r)
		}
		if !fixed || !wrong || len(ex.runs) != strings.Count(s, "//\tcpor run ") {
			t.Errorf("%s: the commands do not show the algorithm as it is and with its bug", file)
		}
		list = append(list, ex)
	}
	return list
}

// result is what a run found and counted.
type result struct {
	finds               string
	states, transitions uint64
}

// explore runs a command with a reduction, to the end.
func explore(file string, args []string, por string) (*result, error) {
	params := map[string]string{}
	var ltl string
	flags := map[string]string{}
	for i := 0; i < len(args); i++ {
		name := strings.TrimPrefix(args[i], "-")
		if name == "fair" {
			flags[name] = "true"
			continue
		}
		i++
		switch name {
		case "D":
			k, v, _ := strings.Cut(args[i], "=")
			params[k] = v
		case "ltl":
			ltl = args[i]
		case "por":
		default:
			flags[name] = args[i]
		}
	}
	p, err := frontend.Load(file, frontend.Options{Params: params})
	if err != nil {
		return nil, err
	}
	task := engine.Task{System: p.System, Flags: &engine.Values{}}
	task.Workers, task.All, task.MaxViolations, task.KeepTraces = 2, ltl == "", 100_000, true
	if ltl != "" {
		task.Workers = 1 // where several meet depends on time, and with it what is counted
	}
	mode := ""
	for _, m := range engine.Modes() {
		if m.Temporal && ltl != "" || m.Default && ltl == "" {
			mode = m.Name
		}
	}
	for _, q := range p.Properties {
		if ltl == "all" || ltl == q.Name {
			prop := engine.Property{
				Name:    q.Name,
				Formula: q.Formula,
				Pos:     q.Pos,
				Text:    q.Text,
				Kind:    q.Kind,
				System:  q.System,
			}
			for _, x := range q.Predicates {
				prop.Predicates = append(prop.Predicates, engine.Predicate(x))
			}
			task.Properties = append(task.Properties, prop)
		}
	}
	e, err := engine.Lookup(mode, por)
	if err != nil {
		return nil, err
	}
	for name, value := range flags {
		i := slices.IndexFunc(e.Flags, func(f engine.Flag) bool { return f.About().Name == name })
		if i < 0 {
			return nil, fmt.Errorf("-por %s has no flag -%s", por, name)
		}
		if err := task.Flags.Set(e.Flags[i], value); err != nil {
			return nil, err
		}
	}
	res, err := e.Run(context.Background(), &task)
	if err != nil {
		return nil, err
	}
	if res.Verdict == engine.Incomplete || ltl != "" && len(res.Properties) == 0 {
		return nil, fmt.Errorf("incomplete: %s", res.Reason)
	}
	found := map[string]bool{}
	for _, v := range res.Violations {
		what := string(v.Kind)
		if f := strings.Fields(v.Message); what == "invariant" {
			what += " " + f[1]
		}
		found[what] = true
	}
	for _, q := range res.Properties {
		clear(found) // the violation is that of the property
		if q.Verdict == engine.Violated {
			found["ltl "+q.Property.Name] = true
		}
	}
	r := &result{"no violation", res.States, res.Transitions}
	if len(found) > 0 {
		var list []string
		for what := range found {
			list = append(list, what)
		}
		slices.Sort(list)
		r.finds = strings.Join(list, ", ")
	}
	return r, nil
}

// reductions returns those that a command is run with: the one that it names, or both that
// -por auto chooses from; for temporal properties the default.
func (r *run) reductions() []string {
	if i := slices.Index(r.args, "-por"); i >= 0 {
		return []string{r.args[i+1]}
	}
	if slices.Contains(r.args, "-ltl") {
		return []string{"transparent"}
	}
	return []string{"none", "cartesian"}
}

// TestExamples runs all commands, and compares what they find with the comments and what they
// count with counts.csv.
func TestExamples(t *testing.T) {
	all := examples(t)
	header := []string{"model", "flags", "reduction", "states", "transitions"}
	got := [][]string{header}
	var rows strings.Builder
	rows.WriteString(
		"| model | what it is | states | with `-por cartesian` | the bug | is found as |\n|---|---|---|---|---|---|\n",
	)
	for _, ex := range all {
		counts := map[string]uint64{}
		finds := ""
		for _, r := range ex.runs {
			flags := strings.Join(r.args, " ")
			for _, por := range r.reductions() {
				res, err := explore(ex.file, r.args, por)
				if err != nil {
					t.Fatalf("%s %s: %v", ex.file, flags, err)
				}
				if res.finds != r.finds {
					t.Errorf(
						"%s %s, -por %s finds %s; the comment says %s",
						ex.file,
						flags,
						por,
						res.finds,
						r.finds,
					)
				}
				if len(r.args) == 0 {
					counts[por] = res.states
				}
				got = append(
					got,
					[]string{
						ex.file,
						flags,
						por,
						strconv.FormatUint(res.states, 10),
						strconv.FormatUint(res.transitions, 10),
					},
				)
			}
			if strings.Contains(flags, ex.bug) {
				finds = cmp.Or(finds, r.finds)
			}
		}
		fmt.Fprintf(
			&rows,
			"| [%s](%s) | %s | %d | %d | `%s` | %s |\n",
			ex.file,
			ex.file,
			ex.title,
			counts["none"],
			counts["cartesian"],
			ex.bug,
			finds,
		)
	}
	compareCounts(t, got)
	compareTable(t, rows.String())
}

// compareCounts holds counts.csv to what was counted.
func compareCounts(t *testing.T, got [][]string) {
	t.Helper()
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("counts.csv", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("counts.csv")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(want), "\n")
	for i, l := range strings.Split(b.String(), "\n") {
		if i >= len(lines) || l != lines[i] {
			t.Fatalf("counts.csv:%d differs (go test -update writes it anew); counted:\n%s", i+1, l)
		}
	}
}

// compareTable holds the table of README.md, between its two comments, to what was found.
func compareTable(t *testing.T, rows string) {
	t.Helper()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	table := regexp.MustCompile(`(?s)(<!-- the table.*?-->\n\n).*(\n<!-- its end -->)`)
	if !table.Match(text) {
		t.Fatal("README.md has no place for the table")
	}
	now := table.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(rows, "$", "$$")+"${2}")
	if *update {
		if err := os.WriteFile("README.md", []byte(now), 0o666); err != nil {
			t.Fatal(err)
		}
	} else if now != string(text) {
		t.Errorf("the table of README.md differs (go test -update writes it anew); now:\n%s", rows)
	}
}
