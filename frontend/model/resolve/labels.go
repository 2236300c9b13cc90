package resolve

import (
	"slices"
	"strings"

	"cpor/frontend/model/syntax"
	"cpor/internal/spell"
)

// label is a label of a function, thread or init.
type label struct {
	obj   *Object
	stmt  *syntax.LabeledStmt
	block *blockScope
}

// blockScope is a block of statements, for the rules of goto.
type blockScope struct {
	outer  *blockScope
	atomic bool
	sync   bool            // the body of a synchronized block
	vars   []*syntax.Ident // the variables declared directly in it
}

// isEnd reports whether a label marks a place where a thread may block forever.
func isEnd(name string) bool { return name == "end" || strings.HasPrefix(name, "end_") }

// collectLabels declares the labels of the current body and checks its gotos: as in Go, one can
// neither jump into a block nor over the declaration of a variable.
func (c *checker) collectLabels(block *syntax.Block) {
	b := c.body
	b.labels = map[string]*label{}
	var gotos []func()

	var walk func(n syntax.Node, in *blockScope)
	below := func(n syntax.Node, in *blockScope) {
		for _, child := range syntax.Children(n) {
			walk(child, in)
		}
	}
	walk = func(n syntax.Node, in *blockScope) {
		sub := &blockScope{outer: in, atomic: in.atomic}
		switch n := n.(type) {
		case *syntax.LabeledStmt:
			c.declareLabel(n, in)
			sub = in
		case *syntax.VarDecl:
			in.vars = append(in.vars, n.Names...)
		case *syntax.AssignStmt:
			if n.Op == syntax.Define {
				if id, ok := n.Lhs[0].(*syntax.Ident); ok {
					in.vars = append(in.vars, id)
				}
			}
		case *syntax.BranchStmt:
			if n.Tok == syntax.Goto {
				gotos = append(gotos, func() { c.gotoStmt(n, in) })
			}
		case *syntax.DeclStmt:
			sub = in
		case *syntax.SyncStmt:
			sub.sync = true
		case *syntax.AtomicStmt:
			sub.atomic = true
		case syntax.Expr:
			return // no statements in it
		}
		below(n, sub)
	}
	below(block, &blockScope{})
	for _, check := range gotos {
		check()
	}
}

func (c *checker) declareLabel(s *syntax.LabeledStmt, in *blockScope) {
	b := c.body
	id := s.Label
	if old := b.labels[id.Name]; old != nil {
		c.errorf(id, "the label %s is declared twice", id.Name).Note(old.obj.Pos,
			"the other declaration")
		return
	}
	obj := &Object{Kind: LabelObj, Name: id.Name, Pos: id.Pos(), Decl: s, Owner: b.obj}
	b.labels[id.Name] = &label{obj, s, in}
	c.prog.Uses[id] = obj
	if b.obj != nil {
		b.obj.Labels = append(b.obj.Labels, obj)
	}
	if in.atomic {
		c.atomics[obj] = true
		if isEnd(id.Name) {
			c.errorf(id, "put an end label before the atomic block: a thread that blocks "+
				"inside waits before the block")
		}
	}
}

func (c *checker) gotoStmt(s *syntax.BranchStmt, in *blockScope) {
	l := c.body.labels[s.Label.Name]
	if l == nil {
		c.noLabel(s.Label)
		return
	}
	c.prog.Uses[s.Label] = l.obj
	around, leaves := false, false
	for b := in; b != nil; b = b.outer {
		around = around || b == l.block
		leaves = leaves || b.sync && !around
	}
	if !around {
		c.errorf(s, "goto %s jumps into a block", s.Label.Name).Note(l.obj.Pos, "the label")
		return
	}
	if leaves {
		c.errorf(s, "goto %s leaves a synchronized block; leave it with break, continue or return",
			s.Label.Name).Note(l.obj.Pos, "the label")
		return
	}
	if l.obj.Pos < s.Pos() {
		return
	}
	for _, v := range l.block.vars {
		if v.Pos() > s.Pos() && v.Pos() < l.obj.Pos {
			c.errorf(s, "goto %s jumps over the declaration of %s", s.Label.Name, v.Name).Note(
				v.Pos(), "the declaration")
			return
		}
	}
}

// noLabel reports an unknown label.
func (c *checker) noLabel(id *syntax.Ident) {
	if c.body.bad {
		return // it may be in what could not be read
	}
	var names []string
	for n := range c.body.labels {
		names = append(names, n)
	}
	slices.Sort(names)
	if s := spell.Nearest(id.Name, names); s != "" {
		c.errorf(id, "there is no label %s; did you mean %s?", id.Name, s)
		return
	}
	c.errorf(id, "there is no label %s", id.Name)
}
