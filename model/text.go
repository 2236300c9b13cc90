package model

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"

	"cpor/system"
)

// text is the source of steps, by the line where they are added.
type text struct {
	source string
	steps  map[int]string
}

// textAt returns the statements of the step that is added at a place; its line if the sources are
// not there.
func (s *System) textAt(pos system.Pos) string {
	s.sources.Do(s.read)
	if t := s.texts[pos.File]; t != nil {
		if x := t.steps[pos.Line]; x != "" {
			return x
		}
	}
	return "step"
}

// read reads the sources, which are where they were when the program was compiled.
func (s *System) read() {
	s.texts = map[string]*text{}
	for _, short := range s.made.files {
		path, ok := sourcePaths.Load(short)
		if !ok {
			continue
		}
		b, err := os.ReadFile(path.(string))
		if err != nil {
			continue
		}
		t := &text{source: string(b), steps: map[int]string{}}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, short, b, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok && adds(c) {
				line := fset.Position(c.Rparen).Line
				if first := fset.Position(c.Pos()).Line; t.steps[first] == "" {
					line = first
				}
				if x := t.statements(fset, c); x != "" {
					t.steps[line] = x
				}
			}
			return true
		})
		s.texts[short] = t
	}
}

// adds reports whether a call adds a step, by its name.
func adds(c *ast.CallExpr) bool {
	switch f := c.Fun.(type) {
	case *ast.SelectorExpr:
		switch f.Sel.Name {
		case "Step", "When", "Wait", "Do":
			return true
		}
	case *ast.Ident:
		return f.Name == "Do" || f.Name == "When"
	}
	return false
}

// statements returns the arguments of a call, in one line; of functions, what is in their braces.
func (t *text) statements(fset *token.FileSet, c *ast.CallExpr) string {
	var parts []string
	for _, a := range c.Args {
		switch a := a.(type) {
		case *ast.FuncLit:
			body := t.source[fset.Position(a.Body.Lbrace).Offset+1 : fset.Position(
				a.Body.Rbrace).Offset]
			var lines []string
			for line := range strings.Lines(body) {
				line, _, _ = strings.Cut(line, "//")
				if line = strings.TrimSpace(line); line != "" {
					lines = append(lines, line)
				}
			}
			if x := strings.Join(lines, "; "); x != "" {
				x = strings.TrimPrefix(x, "return ")
				parts = append(parts, strings.ReplaceAll(strings.ReplaceAll(x, "{; ", "{ "), "; }",
					" }"))
			}
		default:
			parts = append(parts, t.source[fset.Position(a.Pos()).Offset:fset.Position(
				a.End()).Offset])
		}
	}
	return strings.Join(parts, ": ")
}

// Sources returns the texts of the files in which the model is built, by the names that places
// have, as far as they are where they were when the program was compiled.
func (s *System) Sources() map[string]string {
	s.sources.Do(s.read)
	all := map[string]string{}
	for name, t := range s.texts {
		all[name] = t.source
	}
	return all
}

// Executed is how often the steps of a place were executed.
type Executed struct {
	Process string // one of those that have the steps
	Pos     system.Pos
	Text    string
	N       uint64
}

// Steps returns the steps by their places, in the order of the processes. counts are those of
// [system.Counting].
func (s *System) Steps(counts []uint64) []Executed {
	var all []Executed
	at := map[system.Pos]int{}
	n := 0
	for _, p := range s.made.procs {
		for i := range p.nodes {
			for _, c := range p.nodes[i].cases {
				k, ok := at[c.pos]
				if !ok {
					k = len(all)
					at[c.pos] = k
					all = append(all, Executed{Process: p.name, Pos: c.pos, Text: s.textAt(c.pos)})
				}
				all[k].N += counts[n]
				n++
			}
		}
	}
	return all
}

// Warnings says which invariants leave no room for a reduction; it may be empty.
func (s *System) Warnings() string { return s.warnings }
