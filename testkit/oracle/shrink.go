package oracle

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// edit replaces a piece of a text.
type edit struct {
	from, to int
	by       string
}

func (e edit) saved() int { return e.to - e.from - len(e.by) }

// Shrink makes a model smaller as long as it still fails, whatever that means:
// it leaves out declarations, statements, cases and branches, puts the body of a
// statement in its place, and parts of expressions in the place of the whole.
// The result is minimal in the sense that none of these steps alone leads to a
// smaller model that fails. It is made by editing the text along the syntax
// tree, so that it stays what its author, or the generator, wrote.
func Shrink(text string, fails func(text string) bool) string {
	for {
		f, err := syntax.Parse(source.New("shrink.model", text))
		if err != nil {
			return text
		}
		edits := candidates(f, text)
		// Large pieces first: most of a model has nothing to do with it.
		slices.SortStableFunc(edits, func(a, b edit) int { return b.saved() - a.saved() })
		smaller := ""
		for _, e := range edits {
			if e.saved() <= 0 {
				break
			}
			if s := text[:e.from] + e.by + text[e.to:]; fails(s) {
				smaller = s
				break
			}
		}
		if smaller == "" {
			return tidy(text)
		}
		text = smaller
	}
}

// tidy removes the empty lines that are left.
func tidy(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// Report shrinks a model that fails and writes it into a file in a directory,
// ready to be run. It returns the model's text with the file's name, or why it
// could not be written.
func Report(dir, name, text string, fails func(text string) bool) string {
	small := Shrink(text, fails)
	file := filepath.Join(dir, name)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return small + "// not written: " + err.Error() + "\n"
	}
	if err := os.WriteFile(file, []byte(small), 0o666); err != nil {
		return small + "// not written: " + err.Error() + "\n"
	}
	return small + "// " + file + "\n"
}

// candidates returns the ways to make a model smaller by one step.
func candidates(f *syntax.File, text string) []edit {
	c := &shrinker{text: text}
	for _, d := range f.Decls {
		c.drop(d)
		switch d := d.(type) {
		case *syntax.ThreadDecl:
			c.list(d.Body.Stmts)
		case *syntax.FuncDecl:
			c.list(d.Body.Stmts)
		case *syntax.InitDecl:
			c.list(d.Body.Stmts)
		case *syntax.InvariantDecl:
			c.expr(d.Cond)
		case *syntax.LTLDecl:
			c.expr(d.Formula)
		case *syntax.VarDecl:
			for _, v := range d.Values {
				if i := strings.LastIndex(text[:v.Pos()], "="); i > 0 {
					c.edits = append(c.edits, edit{i, int(v.End()), ""})
				}
			}
		}
	}
	return c.edits
}

type shrinker struct {
	text  string
	edits []edit
}

func (c *shrinker) drop(n syntax.Node) {
	c.edits = append(c.edits, edit{int(n.Pos()), int(n.End()), ""})
}

// by puts a piece of the text in the place of a node.
func (c *shrinker) by(n syntax.Node, from, to source.Pos) {
	c.edits = append(c.edits, edit{int(n.Pos()), int(n.End()), c.text[from:to]})
}

func (c *shrinker) list(list []syntax.Stmt) {
	for i, s := range list {
		c.drop(s)
		for _, size := range []int{2, 4, 8} { // several at once
			if i%size == 0 && i+size <= len(list) {
				c.edits = append(c.edits, edit{int(s.Pos()), int(list[i+size-1].End()), ""})
			}
		}
		c.stmt(s)
	}
}

// body offers the body of a statement in its place, and shrinks it.
func (c *shrinker) body(s syntax.Stmt, list []syntax.Stmt) {
	if len(list) > 0 {
		c.by(s, list[0].Pos(), list[len(list)-1].End())
	}
	c.list(list)
}

func (c *shrinker) stmt(s syntax.Stmt) {
	switch s := s.(type) {
	case *syntax.Block:
		c.body(s, s.Stmts)
	case *syntax.IfStmt:
		c.body(s, s.Then.Stmts)
		c.expr(s.Cond)
		if s.Init != nil {
			c.edits = append(c.edits, edit{int(s.Init.Pos()), int(s.Cond.Pos()), ""})
		}
		if s.Else != nil {
			c.edits = append(c.edits, edit{int(s.Then.End()), int(s.Else.End()), ""})
			c.by(s, s.Else.Pos(), s.Else.End())
			c.stmt(s.Else)
		}
	case *syntax.ForStmt:
		c.body(s, s.Body.Stmts)
		if s.Cond != nil {
			c.expr(s.Cond)
		}
	case *syntax.RangeStmt:
		c.body(s, s.Body.Stmts)
	case *syntax.AtomicStmt:
		c.body(s, s.Body.Stmts)
	case *syntax.SyncStmt:
		c.body(s, s.Body.Stmts)
	case *syntax.LabeledStmt:
		c.by(s, s.Stmt.Pos(), s.Stmt.End())
		c.stmt(s.Stmt)
	case *syntax.SwitchStmt:
		for _, k := range s.Cases {
			c.drop(k)
			c.body(s, k.Body)
		}
	case *syntax.SelectStmt:
		for _, k := range s.Cases {
			c.drop(k)
			c.body(s, k.Body)
			if k.Comm != nil {
				c.stmt(k.Comm)
				if k.Each == nil {
					c.by(s, k.Comm.Pos(), k.Comm.End())
				}
			}
		}
	case *syntax.ChooseStmt:
		for _, k := range s.Cases {
			c.drop(k)
			c.body(s, k.Body)
		}
	default:
		c.exprs(s)
	}
}

// exprs shrinks the expressions directly below a node.
func (c *shrinker) exprs(n syntax.Node) {
	for _, child := range syntax.Children(n) {
		switch child := child.(type) {
		case syntax.Expr:
			c.expr(child)
		case *syntax.VarDecl:
			c.exprs(child)
		}
	}
}

// expr offers parts of an expression, and constants, in its place.
func (c *shrinker) expr(e syntax.Expr) {
	part := func(x syntax.Expr) {
		c.by(e, x.Pos(), x.End())
		c.expr(x)
	}
	if e.End()-e.Pos() > 1 {
		for _, s := range []string{"0", "1"} {
			c.edits = append(c.edits, edit{int(e.Pos()), int(e.End()), s})
		}
		for _, s := range []string{"true", "false"} {
			c.edits = append(c.edits, edit{int(e.Pos()), int(e.End()), s})
		}
	}
	for _, child := range syntax.Children(e) {
		if x, ok := child.(syntax.Expr); ok {
			part(x)
		}
	}
}
