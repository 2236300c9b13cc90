package compile

import (
	"slices"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
)

// view is the operand of a receive or a poll: a channel, and which of its messages.
type view struct {
	c       syntax.Expr // the channel
	ref     value
	keep    bool
	pattern syntax.Expr // nil if there is none
	parts   []part
}

// part is a value in a pattern, of the scalars that begin with the one of number leaf.
type part struct {
	leaf  int
	e     syntax.Expr
	vals  []value
	later bool // evaluated behind the point
}

// view evaluates what has effects or is shared; [gen.viewed] evaluates the rest, after the
// point.
func (g *gen) view(e syntax.Expr) *view {
	v := &view{}
	for {
		call, ok := unparen(e).(*syntax.CallExpr)
		if !ok || g.r.Calls[call] != resolve.CallBuiltin {
			break
		}
		e = call.Args[0]
		if g.builtin(call) == "peek" {
			v.keep = true
		} else {
			v.pattern = call.Args[1]
		}
	}
	v.c, v.ref = e, g.valueUnlessPure(e)
	if v.pattern != nil {
		g.pattern(v, v.pattern, g.typeOf(e).Elem, 0)
	}
	for i := range v.parts {
		p := &v.parts[i]
		p.vals, p.later = g.pureLeaves(p.e)
	}
	return v
}

// pattern collects the values in a pattern of messages of type t, whose scalars begin
// with the one of number leaf.
func (g *gen) pattern(v *view, e syntax.Expr, t *resolve.Type, leaf int) {
	e = unparen(e)
	if id, ok := e.(*syntax.Ident); ok && id.Name == "_" {
		return
	}
	lit, ok := e.(*syntax.CompositeLit)
	if !ok {
		v.parts = append(v.parts, part{leaf: leaf, e: e})
		return
	}
	for i, x := range lit.Values {
		f := i
		if k, ok := lit.Keys[i].(*syntax.Ident); ok {
			f = slices.IndexFunc(t.Fields, func(f resolve.Field) bool { return f.Name == k.Name })
		}
		g.pattern(v, x, t.Fields[f].Type, leaf+fieldOffset(t, f, leafCount))
	}
}

// viewed completes the case of a select that receives.
func (g *gen) viewed(v *view, c SelectCase) SelectCase {
	v.ref = g.now(v.ref, v.c)
	c.Chan, c.Keep, c.Bag = v.ref.reg, v.keep, g.maybeBag(g.typeOf(v.c))
	if v.pattern != nil {
		c.Pattern = g.source(v.pattern)
	}
	for i := range v.parts {
		p := &v.parts[i]
		if p.later {
			p.vals = g.leaves(p.e)
		}
		for k, x := range p.vals {
			c.Match = append(c.Match, LeafMatch{Leaf: p.leaf + k, Reg: x.reg})
		}
	}
	return c
}

func (g *gen) freeView(v *view) {
	for _, p := range v.parts {
		g.free(p.vals...)
	}
	g.free(v.ref)
}

// maybeBag reports whether a channel, or what a reference of this type refers to, may be a bag.
func (g *gen) maybeBag(t *resolve.Type) bool { return t.Bag || t.Cap < 0 && g.bags[t.Elem] }
