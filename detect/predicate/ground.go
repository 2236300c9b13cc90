package predicate

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"cpor/detect/computation"
	"cpor/internal/spell"
)

// Op is the operation of a Node.
type Op uint8

// The operations. All but Const and Var have operands.
const (
	Const        Op = iota
	Var             // the variable Name of process Process
	Not             // !
	And             // any number of operands
	Or              // any number of operands
	Iff             // <=>
	IsTrue          // true or false, never undefined
	Eq              // ==
	Ne              // !=
	Lt              // <
	Le              // <=
	Gt              // >
	Ge              // >=
	In              // membership in a list or set
	NotIn           // its complement
	Subset          // of sets or lists
	Match           // =~ with the constant pattern Re
	NoMatch         // !~
	Add             // of numbers, of strings, of lists
	Sub             // -
	Mul             // *
	Div             // / (of integers: towards zero)
	Mod             // %
	Neg             // unary -
	Len             // of a string, list or set
	Abs             // |x|
	Min             // any number of operands
	Max             // any number of operands
	Sum             // any number of operands
	Count           // how many of the operands are true
	MakeSet         // {..}
	MakeList        // [..]
	MakeRange       // {a..b}
	Union           // of sets
	Intersection    // of sets
	Defined         // whether the operand has a value
	Text            // the operand's text, whatever its type

	// Of patterns only (ParsePattern):

	EF       // on some path, at some time
	AF       // on every path, at some time
	EG       // on some path, always
	AG       // on every path, always
	LeadsTo  // ->: whenever the first operand holds, on every path the second does, then or later
	Sequence // operands that hold one after the other; the operand of EF or AF
)

var opText = map[Op]string{
	And: "&&", Or: "||", Iff: "<=>", Eq: "==", Ne: "!=", Lt: "<", Le: "<=", Gt: ">", Ge: ">=",
	In: "in", NotIn: "not in",
	Subset: "subset", Match: "=~", NoMatch: "!~", Add: "+", Sub: "-", Mul: "*", Div: "/", Mod: "%",
	Len: "len", Abs: "abs", Min: "min", Max: "max", Sum: "sum", Count: "count", Union: "union",
	Intersection: "intersection",
	Defined:      "defined", IsTrue: "istrue", Text: "string",
	EF: "EF", AF: "AF", EG: "EG", AG: "AG", LeadsTo: "->", Sequence: ";",
}

var binaryOps = map[string]Op{
	"<=>": Iff, "==": Eq, "!=": Ne, "<": Lt, "<=": Le, ">": Gt, ">=": Ge, "in": In, "not in": NotIn,
	"subset": Subset,
	"=~":     Match, "!~": NoMatch, "+": Add, "-": Sub, "*": Mul, "/": Div, "%": Mod,
}

var callOps = map[string]Op{"len": Len, "abs": Abs, "defined": Defined, "string": Text, "min": Min,
	"max": Max, "union": Union,
	"intersection": Intersection, "count": Count, "sum": Sum, "set": MakeSet}

// Node is a predicate or a part of it for the processes of one computation:
// without quantifiers, with processes by number. Nodes are immutable.
type Node struct {
	Op      Op
	Kids    []*Node
	Val     computation.Value // Const
	Process int               // Var
	Host    string            // Var: the name of the process
	Name    string            // Var
	Re      *regexp.Regexp    // Match, NoMatch
	Bounds  []int64           // EF, AF, LeadsTo: one; Sequence: one for each operand; -1: none
	support []int             // ascending
	text    string
	off     int // where it is in the predicate
}

// Support returns the processes on whose local states the node depends, in
// ascending order: the paper's supp.
func (n *Node) Support() []int { return n.support }

// String prints the node in the language of the package.
func (n *Node) String() string { return n.text }

// newNode returns a node with its support and text, or a constant if all its
// operands are constants and it has a value: what has none stays as it was
// written, so that Expand can report it.
func newNode(n Node) *Node {
	constant := n.Op != Var && n.Op < EF && n.Op != Const
	for _, k := range n.Kids {
		constant = constant && k.Op == Const
	}
	if constant && wellTyped(&n) {
		if v := (&n).Eval(nil); v.Defined() {
			n = Node{Op: Const, Val: v, off: n.off}
		}
	}
	switch n.Op {
	case Var:
		n.support = []int{n.Process}
	default:
		for _, k := range n.Kids {
			n.support = mergeSupport(n.support, k.support)
		}
	}
	n.text = n.print()
	return &n
}

func mergeSupport(a, b []int) []int {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := append(append([]int(nil), a...), b...)
	slices.Sort(out)
	return slices.Compact(out)
}

var identRE = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)
})

func quoteName(s string) string {
	if _, word := words[s]; identRE().MatchString(s) && !word {
		return s
	}
	return strconv.Quote(s)
}

func (n *Node) print() string {
	join := func(sep string) string {
		parts := make([]string, len(n.Kids))
		for i, k := range n.Kids {
			parts[i] = k.operand()
		}
		return strings.Join(parts, sep)
	}
	list := func() string {
		parts := make([]string, len(n.Kids))
		for i, k := range n.Kids {
			parts[i] = k.text
		}
		return strings.Join(parts, ", ")
	}
	switch n.Op {
	case Const:
		return n.Val.String()
	case Var:
		parts := strings.Split(n.Name, ".")
		for i := range parts {
			parts[i] = quoteName(parts[i])
		}
		return quoteName(n.Host) + "." + strings.Join(parts, ".")
	case Not:
		return "!" + n.Kids[0].operand()
	case Neg:
		return "-" + n.Kids[0].operand()
	case And, Or:
		if len(n.Kids) == 0 {
			return strconv.FormatBool(n.Op == And)
		}
		return join(" " + opText[n.Op] + " ")
	case MakeSet:
		return "{" + list() + "}"
	case MakeList:
		return "[" + list() + "]"
	case MakeRange:
		return "{" + n.Kids[0].operand() + ".." + n.Kids[1].operand() + "}"
	case Len, Abs, Min, Max, Sum, Count, Union, Intersection, Defined, IsTrue, Text:
		return opText[n.Op] + "(" + list() + ")"
	case EF, AF, EG, AG, LeadsTo, Sequence:
		return n.printTemporal()
	}
	return join(" " + opText[n.Op] + " ")
}

// operand prints n as an operand of an operator.
func (n *Node) operand() string {
	switch n.Op {
	case Const:
		if n.Val.IsNumber() && strings.HasPrefix(n.text, "-") {
			return "(" + n.text + ")"
		}
		return n.text
	case Var, MakeSet, MakeList, MakeRange, Len, Abs, Min, Max, Sum, Count, Union, Intersection,
		Defined, IsTrue, Text:
		return n.text
	case Not:
		return n.text
	}
	return "(" + n.text + ")"
}

var (
	vTrue  = computation.BoolValue(true)
	vFalse = computation.BoolValue(false)
)

// Eval returns the value of the node when get returns the values of its
// variables; get is called with nodes whose Op is Var.
func (n *Node) Eval(get func(*Node) computation.Value) computation.Value {
	switch n.Op {
	case Const:
		return n.Val
	case Var:
		return get(n)
	case Not:
		switch v := n.Kids[0].Eval(get); {
		case v.Kind() != computation.Bool:
			return computation.Value{}
		default:
			return computation.BoolValue(!v.IsTrue())
		}
	case And, Or:
		// Kleene: one false decides a conjunction, one true a disjunction.
		decides := n.Op == Or
		result := computation.BoolValue(!decides)
		for _, k := range n.Kids {
			v := k.Eval(get)
			if v.Kind() != computation.Bool {
				result = computation.Value{}
			} else if v.IsTrue() == decides {
				return computation.BoolValue(decides)
			}
		}
		return result
	case Iff:
		a, b := n.Kids[0].Eval(get), n.Kids[1].Eval(get)
		if a.Kind() != computation.Bool || b.Kind() != computation.Bool {
			return computation.Value{}
		}
		return computation.BoolValue(a.IsTrue() == b.IsTrue())
	case IsTrue:
		return computation.BoolValue(n.Kids[0].Eval(get).IsTrue())
	case Defined:
		return computation.BoolValue(n.Kids[0].Eval(get).Defined())
	case Count:
		return n.count(get)
	}
	var buf [8]computation.Value
	v := buf[:0]
	for _, k := range n.Kids {
		x := k.Eval(get)
		if !x.Defined() && n.Op != MakeSet {
			return computation.Value{}
		}
		if x.Defined() { // a set simply has no element where a host has no value yet
			v = append(v, x)
		}
	}
	return n.apply(v)
}

// count counts the operands that are true.
func (n *Node) count(get func(*Node) computation.Value) computation.Value {
	count := int64(0)
	for _, k := range n.Kids {
		if k.Eval(get).IsTrue() {
			count++
		}
	}
	return computation.IntValue(count)
}

// apply computes the operations that are strict: all operands are defined.
func (n *Node) apply(v []computation.Value) computation.Value {
	var none computation.Value
	switch n.Op {
	case Eq, Ne:
		if !comparable(typeOf(v[0]), typeOf(v[1])) {
			return none
		}
		return computation.BoolValue(same(v[0], v[1]) == (n.Op == Eq))
	case Lt, Le, Gt, Ge:
		return ordered(n.Op, v[0], v[1])
	case In, NotIn:
		if !isCollection(v[1]) {
			return none
		}
		return computation.BoolValue(contains(v[1], v[0]) == (n.Op == In))
	case Subset:
		return subset(v[0], v[1])
	case Match, NoMatch:
		if v[0].Kind() != computation.String {
			return none
		}
		return computation.BoolValue(n.Re.MatchString(v[0].Text()) == (n.Op == Match))
	case Text:
		if v[0].Kind() == computation.String {
			return v[0]
		}
		return computation.StringValue(v[0].String())
	case Len:
		return length(v[0])
	case Abs, Neg:
		return negated(n.Op, v[0])
	case Min, Max:
		return extreme(n.Op, v)
	case Sum:
		return sum(v)
	case MakeSet:
		return computation.SetValue(v)
	case MakeList:
		return computation.ListValue(append([]computation.Value(nil), v...))
	case MakeRange:
		return makeRange(v[0], v[1])
	case Union:
		return unionOf(v)
	case Intersection:
		return intersectionOf(v)
	}
	return arith(n.Op, v[0], v[1])
}

// ordered computes a comparison by order.
func ordered(op Op, a, b computation.Value) computation.Value {
	c, ok := compare(a, b)
	if !ok {
		return computation.Value{}
	}
	return computation.BoolValue(op == Lt && c < 0 || op == Le && c <= 0 || op == Gt && c > 0 ||
		op == Ge && c >= 0)
}

func subset(a, b computation.Value) computation.Value {
	if !isCollection(a) || !isCollection(b) {
		return computation.Value{}
	}
	for _, e := range a.Elems() {
		if !contains(b, e) {
			return vFalse
		}
	}
	return vTrue
}

// length returns the bytes of a string, or the elements of a collection.
func length(x computation.Value) computation.Value {
	switch x.Kind() {
	case computation.String:
		return computation.IntValue(int64(len(x.Text())))
	case computation.List, computation.Set:
		return computation.IntValue(int64(len(x.Elems())))
	}
	return computation.Value{}
}

// negated computes -x or abs(x).
func negated(op Op, x computation.Value) computation.Value {
	if x.Kind() == computation.Int && x.Int() != math.MinInt64 {
		if op == Neg || x.Int() < 0 {
			return computation.IntValue(-x.Int())
		}
		return x
	}
	if !x.IsNumber() {
		return computation.Value{}
	}
	if op == Abs {
		return computation.FloatValue(math.Abs(x.Float()))
	}
	return computation.FloatValue(-x.Float())
}

// extreme returns the least or the greatest value, none of no values or if two cannot be compared.
func extreme(op Op, v []computation.Value) computation.Value {
	if len(v) == 0 {
		return computation.Value{}
	}
	best := v[0]
	for _, x := range v[1:] {
		c, ok := compare(x, best)
		if !ok {
			return computation.Value{}
		}
		if c < 0 == (op == Min) && c != 0 {
			best = x
		}
	}
	return best
}

func sum(v []computation.Value) computation.Value {
	total := computation.IntValue(0)
	for _, x := range v {
		if total = arith(Add, total, x); !total.Defined() {
			return computation.Value{}
		}
	}
	return total
}

func unionOf(v []computation.Value) computation.Value {
	var out []computation.Value
	for _, x := range v {
		if !isCollection(x) {
			return computation.Value{}
		}
		out = append(out, x.Elems()...)
	}
	return computation.SetValue(out)
}

func intersectionOf(v []computation.Value) computation.Value {
	for _, x := range v {
		if !isCollection(x) {
			return computation.Value{}
		}
	}
	if len(v) == 0 {
		return computation.SetValue(nil)
	}
	var out []computation.Value
	for _, e := range v[0].Elems() {
		inAll := true
		for _, y := range v[1:] {
			inAll = inAll && contains(y, e)
		}
		if inAll {
			out = append(out, e)
		}
	}
	return computation.SetValue(out)
}

// maxRange bounds the size of a set that a range makes.
const maxRange = 1 << 16

func makeRange(a, b computation.Value) computation.Value {
	if a.Kind() != computation.Int || b.Kind() != computation.Int || b.Int()-a.Int() >= maxRange ||
		(a.Int() < 0) != (b.Int() < 0) && b.Int() > maxRange {
		return computation.Value{}
	}
	var out []computation.Value
	for x := a.Int(); x <= b.Int(); x++ {
		out = append(out, computation.IntValue(x))
	}
	return computation.SetValue(out)
}

func isCollection(v computation.Value) bool {
	return v.Kind() == computation.List || v.Kind() == computation.Set
}

func contains(set, e computation.Value) bool {
	for _, x := range set.Elems() {
		if same(x, e) {
			return true
		}
	}
	return false
}

// same is equality; a list equals a set when it has the same elements, because
// logs have only lists.
func same(a, b computation.Value) bool {
	if a.Kind() != b.Kind() && isCollection(a) && isCollection(b) {
		return computation.SetValue(a.Elems()).Equal(computation.SetValue(b.Elems()))
	}
	return a.Equal(b)
}

// compare orders two numbers or two strings; ok is false for other kinds.
func compare(a, b computation.Value) (c int, ok bool) {
	switch {
	case a.Kind() == computation.Int && b.Kind() == computation.Int:
		switch {
		case a.Int() < b.Int():
			return -1, true
		case a.Int() > b.Int():
			return 1, true
		}
		return 0, true
	case a.IsNumber() && b.IsNumber():
		x, y := a.Float(), b.Float()
		switch {
		case x < y:
			return -1, true
		case x > y:
			return 1, true
		}
		return 0, true
	case a.Kind() == computation.String && b.Kind() == computation.String:
		return strings.Compare(a.Text(), b.Text()), true
	}
	return 0, false
}

// arith computes a binary arithmetic operation. Integers that overflow become
// numbers; a division by zero has no value.
func arith(op Op, a, b computation.Value) computation.Value {
	var none computation.Value
	if op == Add {
		if a.Kind() == computation.String && b.Kind() == computation.String {
			return computation.StringValue(a.Text() + b.Text())
		}
		if a.Kind() == computation.List && b.Kind() == computation.List {
			return computation.ListValue(append(append([]computation.Value(nil), a.Elems()...),
				b.Elems()...))
		}
	}
	if !a.IsNumber() || !b.IsNumber() {
		return none
	}
	if a.Kind() == computation.Int && b.Kind() == computation.Int {
		if v, ok := integers(op, a.Int(), b.Int()); ok {
			return v
		}
	}
	x, y := a.Float(), b.Float()
	switch op {
	case Add:
		return computation.FloatValue(x + y)
	case Sub:
		return computation.FloatValue(x - y)
	case Mul:
		return computation.FloatValue(x * y)
	case Div:
		if y == 0 {
			return none
		}
		return computation.FloatValue(x / y)
	}
	if y == 0 {
		return none
	}
	return computation.FloatValue(math.Mod(x, y))
}

// integers computes an operation on integers; false if the result is none.
func integers(op Op, x, y int64) (computation.Value, bool) {
	switch op {
	case Add:
		s := x + y
		return computation.IntValue(s), (s > x) == (y > 0)
	case Sub:
		s := x - y
		return computation.IntValue(s), (s < x) == (y > 0)
	case Mul:
		return product(x, y)
	}
	switch { // Div, Mod
	case y == 0:
		return computation.Value{}, true
	case y != -1 && op == Div:
		return computation.IntValue(x / y), true
	case op == Div: // MinInt64 / -1 overflows
		return integers(Sub, 0, x)
	case y == -1:
		return computation.IntValue(0), true
	}
	return computation.IntValue(x % y), true
}

func product(x, y int64) (computation.Value, bool) {
	if x == 0 || y == 0 {
		return computation.IntValue(0), true
	}
	p := x * y
	return computation.IntValue(p), p/y == x && !(x == -1 && y == math.MinInt64) &&
		!(y == -1 && x == math.MinInt64)
}

// Names tells Expand which processes there are and what they assign.
type Names struct {
	Hosts []string // by process number
	// Variables returns the names of the variables of a process. A nil function
	// switches off the check of the variables' names, for events still to come.
	Variables func(process int) []string
	// Values returns a value of each type that a variable of a process takes. With
	// a nil function, variables may have any type; see Check.
	Values func(process int, name string) []Sighting
}

// NamesOf returns the names of a computation.
func NamesOf(c *computation.Computation) Names {
	variables := func(i int) []string {
		vars := c.Variables(i)
		names := make([]string, len(vars))
		for k := range vars {
			names[k] = vars[k].Name
		}
		return names
	}
	return Names{c.Names(), variables, func(i int, name string) []Sighting {
		return sightings(c, i, name)
	}}
}

// MaxNodes bounds the size of an expanded predicate.
const MaxNodes = 300_000

type expander struct {
	p       *Predicate
	names   Names
	index   map[string]int
	known   []map[string]bool
	bound   map[string]int
	nodes   int
	vars    map[string]*Node
	checked map[*expr]bool
}

// Expand replaces the quantifiers of the predicate by what they mean for the
// processes. The error is an *Error: an unknown host, a pattern that matches no
// host, a variable that no process assigns (or that the one named does not), a
// value of the wrong type (see Check), a constant expression without a value, or
// a result of more than MaxNodes nodes.
func (p *Predicate) Expand(names Names) (*Node, error) {
	e := &expander{p: p, names: names, index: map[string]int{}, bound: map[string]int{},
		vars: map[string]*Node{}, checked: map[*expr]bool{}}
	for i, h := range names.Hosts {
		e.index[h] = i
		if names.Variables != nil {
			known := map[string]bool{}
			for _, v := range names.Variables(i) {
				known[v] = true
			}
			e.known = append(e.known, known)
		}
	}
	n, err := e.expand(p.root)
	if err != nil {
		return nil, err
	}
	if err := p.Check(n, names.Values); err != nil {
		return nil, err
	}
	return n, p.misplaced(n)
}

// UsesAllHosts reports whether the predicate's meaning depends on the set of
// hosts, because it has a quantifier that is not restricted to listed hosts.
func (p *Predicate) UsesAllHosts() bool { return usesAll(p.root) }

func usesAll(x *expr) bool {
	if x.head != nil {
		for _, v := range x.head.vars {
			if v.all || v.re != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(x.kids, usesAll)
}

// Hosts returns the names that the predicate uses as those of hosts.
func (p *Predicate) Hosts() []string {
	set := map[string]bool{}
	var walk func(x *expr, bound []string)
	walk = func(x *expr, bound []string) {
		if x.head != nil {
			for _, v := range x.head.vars {
				bound = append(bound, v.name)
				for _, h := range v.set {
					set[h.name] = true
				}
			}
		}
		if x.host != nil && (x.host.quoted || !slices.Contains(bound, x.host.name)) {
			set[x.host.name] = true
		}
		for _, k := range x.kids {
			walk(k, bound)
		}
	}
	walk(p.root, nil)
	hosts := make([]string, 0, len(set))
	for h := range set {
		hosts = append(hosts, h)
	}
	sort.Strings(hosts)
	return hosts
}

func (e *expander) errorf(off int, format string, args ...any) error {
	return e.p.errorf(off, format, args...)
}

func (p *Predicate) errorf(off int, format string, args ...any) error {
	return &Error{Text: p.text, Offset: off, Msg: fmt.Sprintf(format, args...)}
}

func (e *expander) host(h *hostRef) (int, error) {
	if !h.quoted {
		if i, ok := e.bound[h.name]; ok {
			return i, nil
		}
	}
	i, ok := e.index[h.name]
	if !ok {
		names := slices.Clone(e.names.Hosts)
		if !h.quoted {
			for b := range e.bound {
				names = append(names, b)
			}
		}
		return 0, e.errorf(h.off, "unknown host %s%s", h.name, spell.DidYouMean(h.name, names, ""))
	}
	return i, nil
}

func (e *expander) expand(x *expr) (*Node, error) {
	if e.nodes++; e.nodes > MaxNodes {
		return nil, e.errorf(x.off, "the predicate is too large for %d hosts", len(e.names.Hosts))
	}
	switch x.op {
	case "const":
		return newNode(Node{Op: Const, Val: x.val, off: x.off}), nil
	case "host":
		i, err := e.host(x.host)
		if err != nil {
			return nil, err
		}
		return newNode(Node{Op: Const, Val: computation.StringValue(e.names.Hosts[i]), off: x.off}),
			nil
	case "var":
		return e.variable(x)
	case "forall", "exists", "agg":
		return e.quantifier(x)
	}
	kids := make([]*Node, len(x.kids))
	for i, k := range x.kids {
		n, err := e.expand(k)
		if err != nil {
			return nil, err
		}
		kids[i] = n
	}
	switch x.op {
	case "!":
		return newNode(Node{Op: Not, Kids: kids, off: x.off}), nil
	case "&&":
		return newNode(Node{Op: And, Kids: flatten(And, kids), off: x.off}), nil
	case "||":
		return newNode(Node{Op: Or, Kids: flatten(Or, kids), off: x.off}), nil
	case "=>":
		not := newNode(Node{Op: Not, Kids: kids[:1], off: x.off})
		return newNode(Node{Op: Or, Kids: flatten(Or, []*Node{not, kids[1]}), off: x.off}), nil
	case "EF", "AF", "EG", "AG", "->", ";":
		return newNode(Node{Op: temporalOps[x.op], Kids: kids, Bounds: x.bounds, off: x.off}), nil
	case "neg":
		return newNode(Node{Op: Neg, Kids: kids, off: x.off}), nil
	case "list":
		return newNode(Node{Op: MakeList, Kids: kids, off: x.off}), nil
	case "set":
		return newNode(Node{Op: MakeSet, Kids: kids, off: x.off}), nil
	case "range":
		return newNode(Node{Op: MakeRange, Kids: kids, off: x.off}), nil
	case "call":
		return newNode(Node{Op: callOps[x.name], Kids: kids, off: x.off}), nil
	case "=~", "!~":
		return e.match(x, kids)
	}
	return newNode(Node{Op: binaryOps[x.op], Kids: kids, off: x.off}), nil
}

// match makes a comparison with a regular expression.
func (e *expander) match(x *expr, kids []*Node) (*Node, error) {
	if kids[1].Op != Const || kids[1].Val.Kind() != computation.String {
		return nil, e.errorf(x.kids[1].off, "the pattern of %s must be a constant string",
			x.op)
	}
	re, err := regexp.Compile(kids[1].Val.Text())
	if err != nil {
		return nil, e.errorf(x.kids[1].off, "%v", err)
	}
	return newNode(Node{Op: binaryOps[x.op], Kids: kids, Re: re, off: x.off}), nil
}

func flatten(op Op, kids []*Node) []*Node {
	var out []*Node
	for _, k := range kids {
		if k.Op == op {
			out = append(out, k.Kids...)
		} else {
			out = append(out, k)
		}
	}
	return out
}

func (e *expander) variable(x *expr) (*Node, error) {
	i, err := e.host(x.host)
	if err != nil {
		return nil, err
	}
	if e.known != nil && !e.known[i][x.name] && !e.checked[x] {
		_, isBound := e.bound[x.host.name]
		isBound = isBound && !x.host.quoted
		var names []string
		found := false
		for j, k := range e.known {
			found = found || isBound && k[x.name]
			if isBound || j == i {
				for name := range k {
					if !slices.Contains(names, name) {
						names = append(names, name)
					}
				}
			}
		}
		if !found {
			who := "host " + e.names.Hosts[i] + " never assigns"
			if isBound {
				who = "no host assigns"
			}
			return nil, e.errorf(x.off, "%s a variable %s%s", who, x.name,
				spell.DidYouMean(x.name, names, ""))
		}
		e.checked[x] = true
	}
	key := strconv.Itoa(i) + "." + x.name + "@" + strconv.Itoa(x.off)
	if n, ok := e.vars[key]; ok {
		return n, nil
	}
	n := newNode(Node{Op: Var, Process: i, Host: e.names.Hosts[i], Name: x.name, off: x.off})
	e.vars[key] = n
	return n, nil
}

func (e *expander) quantifier(x *expr) (*Node, error) {
	var kids []*Node
	var bind func(k int) error
	vars := x.head.vars
	chosen := make([]int, len(vars))
	bind = func(k int) error {
		if k == len(vars) {
			n, err := e.expand(x.kids[0])
			if err == nil {
				kids = append(kids, n)
			}
			return err
		}
		v := &vars[k]
		hosts, err := e.domain(v)
		if err != nil {
			return err
		}
		outer, shadowed := e.bound[v.name]
	candidates:
		for _, h := range hosts {
			if v.rel == "<" && h <= chosen[k-1] {
				continue
			}
			// "!=" keeps the variables of an unbroken chain pairwise apart.
			for j := k; j > 0 && vars[j].rel == "!="; j-- {
				if chosen[j-1] == h {
					continue candidates
				}
			}
			chosen[k] = h
			e.bound[v.name] = h
			if err := bind(k + 1); err != nil {
				return err
			}
		}
		if shadowed {
			e.bound[v.name] = outer
		} else {
			delete(e.bound, v.name)
		}
		return nil
	}
	if err := bind(0); err != nil {
		return nil, err
	}
	switch x.op {
	case "forall":
		return newNode(Node{Op: And, Kids: flatten(And, kids), off: x.off}), nil
	case "exists":
		return newNode(Node{Op: Or, Kids: flatten(Or, kids), off: x.off}), nil
	}
	return newNode(Node{Op: callOps[x.name], Kids: kids, off: x.off}), nil
}

func (e *expander) domain(v *headVar) ([]int, error) {
	var hosts []int
	for i, h := range e.names.Hosts {
		if v.all || v.re != nil && v.re.MatchString(h) {
			hosts = append(hosts, i)
		}
	}
	if v.re != nil && len(hosts) == 0 {
		return nil, e.errorf(v.off, "no host matches %q", v.re)
	}
	for k := range v.set {
		i, err := e.host(&v.set[k])
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, i)
	}
	return hosts, nil
}
