package predicate

import (
	"fmt"
	"strconv"
	"strings"
)

var temporalOps = map[string]Op{"EF": EF, "AF": AF, "EG": EG, "AG": AG, "->": LeadsTo,
	";": Sequence}

// temporalName returns the name of a host that may be meant as a temporal operator, "" for none.
func (x *expr) temporalName() string {
	if x.op == "host" {
		return x.host.name
	}
	return ""
}

// body parses the whole predicate, or what is in parentheses or behind a quantifier: in a
// pattern, it may be p -> q.
func (p *parser) body() (*expr, error) {
	left, err := p.expr(0)
	if err != nil || !p.pattern || !p.isOp("->") {
		return left, err
	}
	arrow := p.next()
	right, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	bound, err := p.within()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); p.isOp("->") {
		return nil, p.errorf(t.off, "-> does not chain: write p -> (q -> r)")
	}
	return &expr{op: "->", off: arrow.off, kids: []*expr{left, right}, bounds: []int64{bound}}, nil
}

// within parses `within N`, or `within N events`; without it, it returns -1.
func (p *parser) within() (int64, error) {
	if t := p.peek(); t.kind != tokIdent || t.text != "within" {
		return -1, nil
	}
	p.next()
	t := p.next()
	n, err := strconv.ParseInt(t.text, 10, 31)
	if t.kind != tokInt || err != nil {
		return 0, p.errorf(t.off, "expected a number of events after within, found %s",
			t.describe())
	}
	if t := p.peek(); t.kind == tokIdent && (t.text == "events" || t.text == "event") {
		p.next()
	}
	return n, nil
}

// temporal parses EF, AF, EG or AG and its operand.
func (p *parser) temporal() (*expr, error) {
	t := p.next()
	x := &expr{op: t.text, off: t.off, bounds: []int64{-1}}
	eventually := t.text == "EF" || t.text == "AF"
	var kid *expr
	var err error
	if eventually && p.sequenceAhead() {
		kid, err = p.sequence()
	} else {
		kid, err = p.expr(precNot - 1)
	}
	if err != nil {
		return nil, err
	}
	x.kids = []*expr{kid}
	if eventually && kid.op != ";" {
		x.bounds[0], err = p.within()
	}
	return x, err
}

// sequenceAhead reports whether what comes is a parenthesis with a semicolon in it.
func (p *parser) sequenceAhead() bool {
	if !p.isOp("(") {
		return false
	}
	depth := 0
	for _, t := range p.toks[p.pos:] {
		switch {
		case t.kind != tokOp:
		case t.text == "(":
			depth++
		case t.text == ")":
			if depth--; depth == 0 {
				return false
			}
		case t.text == ";" && depth == 1:
			return true
		}
	}
	return false
}

// sequence parses (p; q within N; ...).
func (p *parser) sequence() (*expr, error) {
	x := &expr{op: ";", off: p.next().off}
	for {
		kid, err := p.body()
		if err != nil {
			return nil, err
		}
		at := p.peek().off
		bound, err := p.within()
		if err != nil {
			return nil, err
		}
		if bound >= 0 && len(x.kids) == 0 {
			return nil, p.errorf(at, "within counts from the part before, and this is the first")
		}
		x.kids, x.bounds = append(x.kids, kid), append(x.bounds, bound)
		if !p.accept(";") {
			return x, p.expect(")", "to close the sequence")
		}
	}
}

// misplaced reports a temporal operator inside an expression that has a value in a state.
func (p *Predicate) misplaced(n *Node) error {
	var err error
	var walk func(n *Node)
	walk = func(n *Node) {
		for _, k := range n.Kids {
			walk(k)
			inside := n.Op < EF && n.Op != Not && n.Op != And && n.Op != Or && n.Op != Iff
			if inside && k.Temporal() && err == nil {
				err = p.errorf(k.off, "%s is about states to come, and %s takes values of one "+
					"state", opText[k.Op], opText[n.Op])
			}
		}
	}
	walk(n)
	return err
}

// Temporal reports whether the node has a temporal operator.
func (n *Node) Temporal() bool {
	if n.Op >= EF {
		return true
	}
	for _, k := range n.Kids {
		if k.Temporal() {
			return true
		}
	}
	return false
}

// Negation returns !n, which is undefined where n is.
func Negation(n *Node) *Node {
	if n.Op == Not {
		return n.Kids[0]
	}
	return newNode(Node{Op: Not, Kids: []*Node{n}})
}

// NotFalse returns the predicate that holds where n is true or undefined.
func NotFalse(n *Node) *Node {
	return Negation(newNode(Node{Op: IsTrue, Kids: []*Node{Negation(n)}}))
}

func (n *Node) printTemporal() string {
	bound := func(i int) string {
		if i < len(n.Bounds) && n.Bounds[i] >= 0 {
			return fmt.Sprintf(" within %d", n.Bounds[i])
		}
		return ""
	}
	switch n.Op {
	case LeadsTo:
		return n.Kids[0].operand() + " -> " + n.Kids[1].operand() + bound(0)
	case Sequence:
		parts := make([]string, len(n.Kids))
		for i, k := range n.Kids {
			parts[i] = k.text + bound(i)
		}
		return "(" + strings.Join(parts, "; ") + ")"
	}
	kid := n.Kids[0].operand()
	if n.Kids[0].Op == Sequence {
		kid = n.Kids[0].text
	}
	return opText[n.Op] + " " + kid + bound(0)
}
