package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"cpor/engine"
	"cpor/frontend"
	"cpor/internal/human"
	"cpor/trace"
)

// executesAll reports whether the engine, if it covers everything, executes all that can be
// executed.
func (c *runConfig) executesAll() bool {
	if c.mode.Temporal || c.entry.Preserves&engine.Steps == 0 {
		return false
	}
	// With -invisible, an engine rests on the locking discipline of ld', and leaves
	// accesses out that it says nothing about.
	return !c.values.Given("invisible")
}

// whyNotAll says why a search that has covered everything need not have executed all that
// can be executed.
func (c *runConfig) whyNotAll() string {
	if c.values.Given("invisible") {
		return "with -invisible, accesses that the locking discipline makes redundant are skipped"
	}
	return fmt.Sprintf("%s%s does not always execute everything; use -por cartesian, -search "+
		"stateless or -search unfolding", c.mode.Prefix, c.entry.Name)
}

// vacuous says, behind the verdict that there is no violation, which properties say
// nothing; empty if each says something, or that is not known.
func (r *report) vacuous() string {
	assertions, labels, rest := 0, 0, 0
	for _, n := range r.unreached {
		switch {
		case n.Label:
			labels++
		case n.Property && strings.HasPrefix(n.Of, "invariant "):
			rest++
		case n.Property:
			assertions++
		}
	}
	var parts []string
	switch {
	case assertions == 1:
		parts = append(parts, "1 assertion was never reached")
	case assertions > 1:
		parts = append(parts, fmt.Sprintf("%d assertions were never reached", assertions))
	}
	switch {
	case labels == 1:
		parts = append(parts, "1 label that a property names was never reached")
	case labels > 1:
		parts = append(parts, fmt.Sprintf("%d labels that properties name were never reached",
			labels))
	}
	switch {
	case rest == 1:
		parts = append(parts, "1 part of an invariant is vacuous")
	case rest > 1:
		parts = append(parts, fmt.Sprintf("%d parts of invariants are vacuous", rest))
	}
	if parts == nil {
		return ""
	}
	return ", but " + strings.Join(parts, ", and ")
}

// writeUnreached prints what is never executed, one line each.
func (r *report) writeUnreached(p *printer) {
	of := ""
	for i, n := range r.unreached {
		head := "never executed:"
		if n.What == "" {
			head = "unreached in " + n.Of + ":"
		}
		if i == 0 || head != of {
			p.printf("\n%s\n", head)
		}
		of = head
		line := trace.PosString(n.Pos) + ": " + n.Text
		if n.What != "" {
			line = trace.PosString(n.Pos) + ": "
			if strings.HasPrefix(n.Of, "invariant ") {
				line += n.Of + ": "
			}
			line += n.Text + " " + n.What
		}
		p.printf("  %s\n", p.wrap(line, 4))
	}
}

// openCoverage makes sure, before a search that may take long, that the coverage can be
// written afterwards.
func (c *runConfig) openCoverage(m *frontend.Program) error {
	if m.Coverage == nil {
		return fmt.Errorf("cannot record what was executed in %s", c.file)
	}
	if c.coverage == "-" {
		return nil
	}
	_, err := openTrace(c.coverage, c.file)
	return err
}

// writeCoverage writes the sources with how often each line was executed.
func (r *report) writeCoverage(e *env) error {
	var b bytes.Buffer
	r.annotate(&b)
	if r.c.coverage == "-" {
		_, err := io.WriteString(e.stdout, "\n"+printable(b.String()))
		return err
	}
	if err := os.WriteFile(r.c.coverage, b.Bytes(), 0o666); err != nil {
		return pathError(err)
	}
	return nil
}

// annotate writes the sources with how often each line was executed.
func (r *report) annotate(b *bytes.Buffer) {
	zero := "never means: not by this search, which did not cover everything"
	switch {
	case r.unreached != nil:
		zero = "never means: it cannot be, with these constants"
	case r.res.Exhaustive:
		zero = "never means: not by this search, which does not always execute everything"
	}
	fmt.Fprintf(b, "# A count says how often %s, by %s%s.\n# %s.\n", r.coverage.Means,
		r.c.mode.Prefix, r.c.entry.Name, zero)
	type line struct {
		col     int
		n       uint64
		partial bool
	}
	files := map[string]map[int]line{}
	for _, c := range r.coverage.Counts {
		lines := files[c.Pos.File]
		if lines == nil {
			lines = map[int]line{}
			files[c.Pos.File] = lines
		}
		l, ok := lines[c.Pos.Line]
		switch {
		case !ok || c.Pos.Col < l.col:
			l = line{c.Pos.Col, c.N, l.partial || ok && (l.n == 0) != (c.N == 0)}
		case c.Pos.Col == l.col:
			l.n += c.N
		case (c.N == 0) != (l.n == 0):
			l.partial = true
		}
		lines[c.Pos.Line] = l
	}
	partial := false
	for _, f := range r.program.Sources {
		lines := files[f.Name]
		fmt.Fprintf(b, "\n%s\n", f.Name)
		k := 0
		for text := range strings.Lines(f.Text) {
			k++
			count := ""
			if l, ok := lines[k]; ok {
				if count = human.Count(l.n); l.n == 0 {
					count = "never"
				}
				if l.partial {
					count += "*"
					partial = true
				}
			}
			fmt.Fprintf(b, "%s\n", strings.TrimRight(fmt.Sprintf("%14s  %4d  %s", count, k,
				strings.TrimRight(text, "\r\n")), " \t"))
		}
	}
	if partial {
		fmt.Fprintf(b, "\n* Some statements in this line were executed and some were not.\n")
	}
	for i, n := range r.unreached {
		if i == 0 {
			fmt.Fprintf(b, "\n")
		}
		fmt.Fprintf(b, "%s: %s %s\n", trace.PosString(n.Pos), n.Text, strings.TrimSpace(n.What))
	}
}

// checkCoverage says what is wrong with -coverage; nil if nothing is.
func (c *runConfig) checkCoverage(given bool) error {
	switch {
	case !given:
		return nil
	case c.coverage == "":
		return errors.New("-coverage needs a file name, or - for the terminal")
	case c.coverage == "-" && c.json:
		return errors.New("-coverage - and -json both write to standard output: give -coverage a " +
			"file")
	case c.coverage == c.trace && c.coverage != "-":
		return fmt.Errorf("-coverage and -trace would both write to %s", c.coverage)
	}
	return nil
}
