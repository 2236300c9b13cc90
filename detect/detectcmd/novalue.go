package detectcmd

import (
	"fmt"
	"slices"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// withoutValue finds the operands of the predicate that have no value in some local state
// although their variables have: divisions by zero, and ranges whose bounds are too far apart
// or no integers. There the predicate is neither true nor false, which the answer alone
// would hide. Of each operand the first such state is described. Operands whose divisor or
// bounds depend on several processes are not looked at.
func withoutValue(c *computation.Computation, n *predicate.Node) []string {
	var notes []string
	var walk func(n *predicate.Node)
	walk = func(n *predicate.Node) {
		for _, k := range n.Kids {
			walk(k)
		}
		switch n.Op {
		case predicate.Div, predicate.Mod:
			zero := func(v computation.Value) bool { return v.IsNumber() && v.Float() == 0 }
			if where, ok := firstState(c, n.Kids[1], zero); ok {
				notes = append(notes,
					fmt.Sprintf("%v has no value where %v is 0: first %s", n, n.Kids[1], where))
			}
		case predicate.MakeRange:
			none := func(v computation.Value) bool { return !v.Defined() }
			if where, ok := firstState(c, n, none); ok {
				notes = append(notes, fmt.Sprintf("%v has no value: first %s", n, where))
			}
		}
	}
	walk(n)
	slices.Sort(notes)
	return slices.Compact(notes)
}

// firstState describes the first local state in which all variables of a node of one
// process have a value and the node's value is one of those looked for.
func firstState(
	c *computation.Computation, n *predicate.Node, is func(computation.Value) bool,
) (string, bool) {
	if len(n.Support()) != 1 {
		return "", false
	}
	process := n.Support()[0]
	var vars []*computation.Variable
	var states []int32 // in which a variable changes
	var collect func(n *predicate.Node)
	collect = func(n *predicate.Node) {
		if n.Op == predicate.Var {
			if v := c.Variable(process, n.Name); v != nil && !slices.Contains(vars, v) {
				vars = append(vars, v)
				for _, change := range v.Changes {
					states = append(states, change.State)
				}
			}
		}
		for _, k := range n.Kids {
			collect(k)
		}
	}
	collect(n)
	slices.Sort(states)
	for _, k := range slices.Compact(states) {
		defined := true
		v := n.Eval(func(n *predicate.Node) computation.Value {
			x := c.Value(process, k, n.Name)
			defined = defined && x.Defined()
			return x
		})
		if !defined || !is(v) {
			continue
		}
		if k == 0 {
			return "in the initial state of " + c.Name(process), true
		}
		return "at " + c.Pos(process, k).String(), true
	}
	return "", false
}
