package predicate

import (
	"fmt"
	"slices"
	"strings"

	"cpor/detect/computation"
)

// class is a set of the types that matter: an integer and a number with a
// fraction are one type, and so are a list and a set where they are elements.
type class uint8

const (
	boolean class = 1 << iota
	number
	text
	list
	set
)

const collection = list | set

// valueType is the type of a value.
type valueType struct {
	of    class // one bit
	elems class // of a list or a set: the types of its elements
}

var classNames = map[class]string{
	boolean: "a boolean", number: "a number", text: "a string", list: "a list", set: "a set",
}

// String names the type with its article.
func (t valueType) String() string {
	s := classNames[t.of]
	of := map[class]string{
		boolean: " of booleans", number: " of numbers", text: " of strings", list: " of lists",
	}
	return s + of[t.elems]
}

func classOf(k computation.Kind) class {
	switch k {
	case computation.Bool:
		return boolean
	case computation.Int, computation.Float:
		return number
	case computation.String:
		return text
	case computation.List:
		return list
	case computation.Set:
		return set
	}
	return 0
}

// typeOf returns the type of a value; that of an undefined one is zero.
func typeOf(v computation.Value) valueType {
	t := valueType{of: classOf(v.Kind())}
	if t.of&collection != 0 {
		for _, e := range v.Elems() {
			t.elems |= element(classOf(e.Kind()))
		}
	}
	return t
}

// element is what a list or a set records about an element of the class.
func element(c class) class {
	if c&collection != 0 {
		return list
	}
	return c
}

// comparable reports whether == means something for values of the two types.
// Lists and sets are compared by their elements: if both have some, these have
// to have a type in common.
func comparable(a, b valueType) bool {
	if a.of&collection != 0 && b.of&collection != 0 {
		return a.elems == 0 || b.elems == 0 || a.elems&b.elems != 0
	}
	return a.of == b.of
}

// Sighting is a value that a variable has in a log, and where.
type Sighting struct {
	Value computation.Value `json:"value"`
	Where string            `json:"where"` // for messages: "at run.log:7"
}

// Same reports whether the values are of the same type. One Sighting of each
// type is all that Check needs.
func (s Sighting) Same(v computation.Value) bool { return typeOf(s.Value) == typeOf(v) }

// NewSighting returns a Sighting that keeps no more of a long value than its
// type and its beginning.
func NewSighting(v computation.Value, where string) Sighting { return Sighting{sample(v), where} }

func sample(v computation.Value) computation.Value {
	const most = 16
	var kept []computation.Value
	switch v.Kind() {
	case computation.String:
		return computation.StringValue(strings.ToValidUTF8(v.Text()[:min(most*4, len(v.Text()))],
			""))
	case computation.List, computation.Set:
		have := class(0)
		for x, e := range v.Elems() {
			if c := element(classOf(e.Kind())); x < most || have|c != have {
				have |= c
				kept = append(kept, sample(e))
			}
		}
		if v.Kind() == computation.Set {
			return computation.SetValue(kept)
		}
		return computation.ListValue(kept)
	}
	return v
}

// sightings returns the first value of each type that the variable has.
func sightings(c *computation.Computation, process int, name string) []Sighting {
	v := c.Variable(process, name)
	if v == nil {
		return nil
	}
	var out []Sighting
next:
	for _, change := range v.Changes {
		x := c.Values().Value(change.Value)
		if !x.Defined() {
			continue
		}
		for _, s := range out {
			if s.Same(x) {
				continue next
			}
		}
		pos := v.Init
		if change.State > 0 {
			pos = c.Pos(process, change.State)
		}
		where := "at " + pos.String()
		if pos == (computation.Pos{}) {
			where = "in the initial state"
			if change.State > 0 {
				where = fmt.Sprintf("in event %d of host %s", change.State, c.Name(process))
			}
		}
		out = append(out, NewSighting(x, where))
	}
	return out
}

// operandType is a type that an operand can have.
type operandType struct {
	valueType
	// from is the variable, in the operand, whose value seen shows that it can;
	// nil for constants and for operators that always have the type.
	from *Node
	seen Sighting
}

// evidence says which variable has which value where; "" if none shows the type.
func (t operandType) evidence() string {
	if t.from == nil {
		return ""
	}
	return fmt.Sprintf("%s is %s %s", t.from.text, short(t.seen.Value), t.seen.Where)
}

// checker finds the types of nodes, and operators that these do not fit.
type checker struct {
	values func(process int, name string) []Sighting
	cache  map[string][]operandType // of variables
}

// wrong is a mistake in the types of a node.
type wrong struct {
	at      *Node
	msg     string
	noValue bool // no operand has the wrong type, but there is no value
}

// wellTyped reports whether the operator fits its operands, which are constants.
func wellTyped(n *Node) bool {
	_, err := (&checker{}).types(n)
	return err == nil
}

// Check reports, as an *Error, a condition that is not a boolean, a comparison of
// two types, an order of what has none, and an operator whose operands have the
// wrong type, for any of the values that the variables take: a value of the
// wrong type would otherwise count as one for which the predicate does not
// hold. The message names the value and its place. Every operand of an operator
// may have each of its types, whatever the others have, and whether or not a
// state with them can be reached. Undefined fits everywhere. With a nil function,
// a variable may have any type.
func (p *Predicate) Check(n *Node, values func(process int, name string) []Sighting) error {
	c := &checker{values: values, cache: map[string][]operandType{}}
	types, err := c.types(n)
	if err == nil {
		err = needs(n, types, boolean, "a boolean")
		if err != nil && n.Op != Var {
			err.msg = fmt.Sprintf("the predicate is %v, not a condition", types[0])
		}
	}
	if err == nil {
		return nil
	}
	return &Error{Text: p.text, Offset: err.at.off, Msg: err.msg, IllTyped: !err.noValue}
}

// types returns the types that the node can have.
func (c *checker) types(n *Node) ([]operandType, *wrong) {
	switch n.Op {
	case Const:
		return []operandType{{valueType: typeOf(n.Val)}}, nil
	case Var:
		return c.variable(n), nil
	}
	kids := make([][]operandType, len(n.Kids))
	for x, k := range n.Kids {
		var err *wrong
		if kids[x], err = c.types(k); err != nil {
			return nil, err
		}
	}
	types, err := c.operator(n, kids)
	if err == nil && c.cache != nil && len(n.support) == 0 {
		// Constants with a value were folded.
		return nil, &wrong{n, n.text + " has no value", true}
	}
	return types, err
}

// operator returns the types that the value of an operator can have.
func (c *checker) operator(n *Node, kids [][]operandType) ([]operandType, *wrong) {
	of := func(cl class) []operandType { return []operandType{{valueType: valueType{of: cl}}} }
	each := func(need class, what string) *wrong {
		for x, k := range n.Kids {
			if err := needs(k, kids[x], need, what); err != nil {
				return err
			}
		}
		return nil
	}
	switch n.Op {
	case Not, And, Or, Iff, EF, AF, EG, AG, LeadsTo, Sequence:
		return of(boolean), each(boolean, "a boolean")
	case Count:
		return of(number), each(boolean, "a boolean")
	case IsTrue, Defined:
		return of(boolean), nil
	case Text:
		return of(text), nil
	case Eq, Ne, Lt, Le, Gt, Ge:
		return of(boolean), compared(n, kids)
	case In, NotIn:
		if err := needs(n.Kids[1], kids[1], collection, "a list or a set"); err != nil {
			return nil, err
		}
		return of(boolean), member(n, kids)
	case Subset:
		if err := each(collection, "a list or a set"); err != nil {
			return nil, err
		}
		return of(boolean), compared(n, kids)
	case Match, NoMatch:
		return of(boolean), needs(n.Kids[0], kids[0], text, "a string")
	case Len:
		return of(number), each(text|collection, "a string, a list or a set")
	case Min, Max:
		var out []operandType
		for _, t := range distinct(n, kids) {
			out = append(out, t.operandType)
		}
		return out, compared(n, kids)
	case MakeSet, MakeList:
		return []operandType{{valueType: made(n, kids)}}, nil
	case MakeRange:
		return []operandType{{valueType: valueType{set, number}}}, each(number, "a number")
	case Union, Intersection:
		t := valueType{of: set}
		for _, k := range distinct(n, kids) {
			t.elems |= k.elems
		}
		return []operandType{{valueType: t}}, each(collection, "a list or a set")
	case Add:
		return added(n, kids)
	}
	// Arithmetic.
	return []operandType{evident(of(number)[0], kids)}, each(number, "a number")
}

func (c *checker) variable(n *Node) []operandType {
	if c.values == nil {
		return nil
	}
	types, ok := c.cache[n.text]
	if !ok {
		for _, s := range c.values(n.Process, n.Name) {
			types = append(types, operandType{typeOf(s.Value), n, s})
		}
		c.cache[n.text] = types
	}
	return types
}

// short prints a value, shortened if it is long.
func short(v computation.Value) string {
	const most = 60
	s := v.String()
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}

// evident gives the type the evidence of the first operand that has one.
func evident(t operandType, kids [][]operandType) operandType {
	for _, k := range kids {
		for _, o := range k {
			if o.from != nil {
				t.from, t.seen = o.from, o.seen
				return t
			}
		}
	}
	return t
}

// typed is a type with an operand that can have it.
type typed struct {
	operand *Node
	operandType
}

// distinct are the types of all operands, each once.
func distinct(n *Node, kids [][]operandType) []typed {
	var out []typed
	seen := map[valueType]bool{}
	for x, k := range kids {
		for _, t := range k {
			if t.of != 0 && !seen[t.valueType] {
				seen[t.valueType] = true
				out = append(out, typed{n.Kids[x], t})
			}
		}
	}
	return out
}

// made is the type of a list or a set with these elements.
func made(n *Node, kids [][]operandType) valueType {
	t := valueType{of: list}
	if n.Op == MakeSet {
		t.of = set
	}
	for _, k := range kids {
		for _, e := range k {
			t.elems |= element(e.of)
		}
	}
	return t
}

// String says which type the operand has, and why.
func (t typed) String() string {
	switch {
	case t.from == nil:
		return fmt.Sprintf("%s is %v", t.operand.text, t.valueType)
	case t.operand.Op == Var:
		return t.evidence()
	}
	return fmt.Sprintf("%s is %v (%s)", t.operand.text, t.valueType, t.evidence())
}

// needs reports an operand that can have a type other than those needed.
func needs(n *Node, types []operandType, need class, what string) *wrong {
	for _, t := range types {
		if t.of == 0 || t.of&need != 0 {
			continue
		}
		msg := fmt.Sprintf("%s is %v where %s is needed", n.text, t.valueType, what)
		if t.from != nil {
			msg += ": " + t.evidence()
		}
		switch {
		case need == boolean && n.Op == Var && t.of&collection == 0:
			msg += fmt.Sprintf("; compare it, as in %s == %s", n.text, short(t.seen.Value))
		case need == text:
			msg += fmt.Sprintf("; string(%s) is its text", n.text)
		}
		return &wrong{at: n, msg: msg}
	}
	return nil
}

// compared reports operands of a comparison that can have two types, or a type without the
// required order.
func compared(n *Node, kids [][]operandType) *wrong {
	types := distinct(n, kids)
	switch n.Op {
	case Lt, Le, Gt, Ge, Min, Max:
		for _, t := range types {
			if t.of&(number|text) == 0 {
				kind := strings.TrimPrefix(classNames[t.of], "a ")
				return &wrong{at: n, msg: fmt.Sprintf("%ss have no order for %s: %v", kind,
					opText[n.Op], t)}
			}
		}
	}
	if n.Op != Min && n.Op != Max {
		return pairs(n, kids)
	}
	for x, a := range types {
		for _, b := range types[:x] {
			if !comparable(a.valueType, b.valueType) {
				return twoTypes(n, b, a)
			}
		}
	}
	return nil
}

// pairs reports types of the first and the second operand that do not compare.
func pairs(n *Node, kids [][]operandType) *wrong {
	for _, a := range kids[0] {
		for _, b := range kids[1] {
			if !comparable(a.valueType, b.valueType) {
				return twoTypes(n, typed{n.Kids[0], a}, typed{n.Kids[1], b})
			}
		}
	}
	return nil
}

// twoTypes is the mistake of an operator that compares or adds a and b.
func twoTypes(n *Node, a, b typed) *wrong {
	msg := fmt.Sprintf("%s of %v and %v: %v, and %v", opText[n.Op], a.valueType, b.valueType, a, b)
	if (a.of == text || b.of == text) && (a.of|b.of)&collection == 0 {
		x := a // what is not a string yet, unless it is a constant
		if x.of == text && b.operand.Op != Const || x.operand.Op == Const {
			x = b
		}
		if x.operand.Op != Const {
			msg += fmt.Sprintf("; string(%s) is its text", x.operand.text)
		}
	}
	return &wrong{at: n, msg: msg}
}

// member reports an operand of in that cannot be an element of the other.
func member(n *Node, kids [][]operandType) *wrong {
	for _, a := range kids[0] {
		for _, b := range kids[1] {
			if a.of != 0 && b.elems != 0 && b.elems&element(a.of) == 0 {
				return twoTypes(n, typed{n.Kids[0], a}, typed{n.Kids[1], b})
			}
		}
	}
	return nil
}

// added returns the types of a sum: numbers, strings and lists have one.
func added(n *Node, kids [][]operandType) ([]operandType, *wrong) {
	const summands = number | text | list
	for x, k := range n.Kids {
		if err := needs(k, kids[x], summands, "a number, a string or a list"); err != nil {
			return nil, err
		}
	}
	// A sum has the type of an operand even if nothing is known of the other.
	if len(kids[0]) == 0 || len(kids[1]) == 0 {
		return slices.Concat(kids[0], kids[1]), nil
	}
	var out []operandType
	seen := map[valueType]bool{}
	for _, a := range kids[0] {
		for _, b := range kids[1] {
			if a.of != b.of {
				return nil, twoTypes(n, typed{n.Kids[0], a}, typed{n.Kids[1], b})
			}
			t := valueType{a.of, a.elems | b.elems}
			if !seen[t] {
				seen[t] = true
				out = append(out, evident(operandType{valueType: t}, [][]operandType{{a, b}}))
			}
		}
	}
	return out, nil
}
