package resolve

import (
	"cpor/frontend/model/syntax"
	"cpor/internal/human"
	"cpor/internal/spell"
)

// view checks the operand of a receive or a poll: a channel; match(c, pattern), its messages
// that match a pattern; or peek(c), the next message, which stays there. It returns the
// channel's type, nil after an error.
func (c *checker) view(e syntax.Expr, what string) *Type {
	call, name := c.viewCall(e)
	if call == nil {
		return c.channel(e, what)
	}
	if want := builtins[name].min; len(call.Args) != want {
		c.arguments(call)
		c.errorf(call, "%s has %s, but got %d", name, human.Plural(want, "operand"), len(call.Args))
		return nil
	}
	inner, within := c.viewCall(call.Args[0])
	if inner != nil && (name == within || name == "match") {
		c.errorf(call, "%s is allowed within %s only as in <-peek(match(c, pattern))", within, name)
		return nil
	}
	t := c.view(call.Args[0], name)
	if t == nil {
		c.arguments(&syntax.CallExpr{Args: call.Args[1:]})
		return nil
	}
	c.prog.Types[call] = t
	if x := syntax.Unparen(e); x != e {
		c.prog.Types[e] = t
	}
	if t.Cap == 0 {
		c.errorf(call, "%s needs a channel with a buffer: %s never holds a message", name,
			text(call.Args[0]))
		return nil
	}
	if name == "match" {
		c.pattern(call.Args[1], t.Elem)
	}
	return t
}

// viewCall returns the expression as a call of match or peek, nil if it is something else.
func (c *checker) viewCall(e syntax.Expr) (call *syntax.CallExpr, name string) {
	call, ok := syntax.Unparen(e).(*syntax.CallExpr)
	if !ok {
		return nil, ""
	}
	id, ok := syntax.Unparen(call.Fun).(*syntax.Ident)
	if !ok || id.Name != "match" && id.Name != "peek" {
		return nil, ""
	}
	obj := c.scope.find(id.Name)
	if obj == nil || obj.Kind != BuiltinObj {
		return nil, ""
	}
	c.prog.Uses[id], c.prog.Calls[call] = obj, CallBuiltin
	return call, id.Name
}

// pattern checks a pattern of messages: a value, _ for any, or a literal of a struct
// whose fields are patterns, and any where it names none.
func (c *checker) pattern(e syntax.Expr, t *Type) {
	e = syntax.Unparen(e)
	if id, ok := e.(*syntax.Ident); ok && id.Name == "_" || t.Kind == Invalid {
		return
	}
	lit, ok := e.(*syntax.CompositeLit)
	if !ok || t.Kind != Struct {
		x := c.expr(e, t)
		if x.mode != mInvalid && t.Kind == Chan {
			c.errorf(e, "references to channels cannot be compared; write _ for any")
			return
		}
		c.assign(&x, t, "the pattern")
		if _, ref := t.reference(); ref && x.mode != mInvalid {
			c.errorf(e, "references to channels cannot be compared: write a literal of %s that "+
				"leaves them out", t)
		}
		return
	}
	c.structPattern(lit, t)
}

// structPattern checks a pattern that is a literal of a struct.
func (c *checker) structPattern(lit *syntax.CompositeLit, t *Type) {
	if lit.Type != nil {
		if lt := c.typ(lit.Type, fieldPlace); lt != t {
			if lt.Kind != Invalid {
				c.errorf(lit.Type, "the messages are of type %s, not %s", t, lt)
			}
			return
		}
	}
	c.prog.Types[lit] = t
	keyed := 0
	for _, k := range lit.Keys {
		if k != nil {
			keyed++
		}
	}
	switch {
	case keyed == 0 && len(lit.Values) > 0 && len(lit.Values) != len(t.Fields):
		c.errorf(lit, "%s has %s, and the pattern has %d; name the fields that matter, or write "+
			"_ for any", t, human.Plural(len(t.Fields), "field"), len(lit.Values))
		return
	case keyed > 0 && keyed < len(lit.Values):
		c.errorf(lit, "either all fields of a pattern have names or none")
		return
	}
	seen := map[string]bool{}
	for i, v := range lit.Values {
		f := i
		if k := lit.Keys[i]; k != nil {
			if f = c.fieldOf(k, t); f < 0 {
				continue
			}
		}
		if seen[t.Fields[f].Name] {
			c.errorf(v, "the field %s is given twice", t.Fields[f].Name)
		}
		seen[t.Fields[f].Name] = true
		c.pattern(v, t.Fields[f].Type)
	}
}

// fieldOf returns the number of the field that a key of a literal names, -1 if there
// is none.
func (c *checker) fieldOf(k syntax.Expr, t *Type) int {
	id, ok := k.(*syntax.Ident)
	if !ok {
		c.errorf(k, "expected the name of a field")
		return -1
	}
	names := make([]string, len(t.Fields))
	for i, f := range t.Fields {
		if names[i] = f.Name; f.Name == id.Name {
			return i
		}
	}
	if s := spell.Nearest(id.Name, names); s != "" {
		c.errorf(id, "%s has no field %s; did you mean %s?", t, id.Name, s)
	} else {
		c.errorf(id, "%s has no field %s", t, id.Name)
	}
	return -1
}

// poll checks poll(c), whether a receive would get a message.
func (c *checker) poll(e *syntax.CallExpr) operand {
	t := c.view(e.Args[0], "poll")
	if t == nil {
		return bad()
	}
	if t.Cap == 0 {
		c.errorf(e, "poll needs a channel with a buffer: %s never holds a message", text(e.Args[0]))
		return bad()
	}
	return value(boolType)
}
