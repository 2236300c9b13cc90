package predicate

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"cpor/detect/computation"
	"cpor/internal/spell"
)

// Predicate is a parsed predicate, independent of any computation.
type Predicate struct {
	text string
	root *expr
}

// Text returns the source of the predicate.
func (p *Predicate) Text() string { return p.text }

// expr is a node of the syntax tree.
type expr struct {
	op   string // see below
	off  int
	kids []*expr
	val  computation.Value // "const"
	host *hostRef          // "var", "host"
	name string            // "var": the variable; "call": the function
	head *head             // "forall", "exists", "agg"
	// bounds has, for EF, AF, -> and each later part of a sequence, the events
	// within which it has to happen, -1 for any number.
	bounds []int64
}

// hostRef is a host's name or a bound variable; which it is, Expand decides.
type hostRef struct {
	name   string
	quoted bool
	off    int
}

type head struct {
	vars []headVar
}

type headVar struct {
	name string
	off  int
	rel  string         // to the variable before it: ",", "!=" or "<"
	set  []hostRef      // in {a, b}
	re   *regexp.Regexp // in ~"regexp"
	all  bool           // neither: all hosts
}

// The operators of binary expressions with their precedence, 1 the lowest.
var precedence = map[string]int{
	"<=>": 1, "=>": 2, "||": 3, "&&": 4,
	"==": 6, "=": 6, "!=": 6, "<": 6, "<=": 6, ">": 6, ">=": 6, "in": 6, "not in": 6, "subset": 6,
	"=~": 6, "!~": 6,
	"+": 7, "-": 7, "*": 8, "/": 8, "%": 8,
}

const precNot = 5

// maxDepth bounds the nesting of expressions.
const maxDepth = 1000

// The functions with their least and greatest number of arguments, -1 for any.
var functions = map[string][2]int{
	"len": {1, 1}, "abs": {1, 1}, "defined": {1, 1}, "string": {1, 1}, "min": {1, -1},
	"max":   {1, -1},
	"union": {1, -1}, "intersection": {1, -1},
}

var aggregates = map[string]bool{"count": true, "sum": true, "set": true, "min": true, "max": true}

type parser struct {
	src     string
	toks    []token
	pos     int
	depth   int
	pattern bool // with temporal operators
}

// Parse reads a predicate. The error is an *Error.
func Parse(text string) (*Predicate, error) { return parse(text, false) }

// ParsePattern reads a pattern: a predicate that may have temporal operators.
func ParsePattern(text string) (*Predicate, error) { return parse(text, true) }

func parse(text string, pattern bool) (*Predicate, error) {
	toks, err := lex(text)
	if err != nil {
		return nil, err
	}
	p := &parser{src: text, toks: toks, pattern: pattern}
	e, err := p.body()
	if err != nil {
		return nil, err
	}
	if t := p.peek(); t.kind != tokEOF {
		if _, ok := temporalOps[e.temporalName()]; !pattern && (ok || t.text == "->") {
			return nil, p.errorf(e.off, "EF, AF, EG, AG and -> need -pattern")
		}
		return nil, p.errorf(t.off, "unexpected %s after the end of the predicate", t.describe())
	}
	return &Predicate{text, e}, nil
}

func (t token) describe() string {
	switch t.kind {
	case tokEOF:
		return "end"
	case tokString:
		return strconv.Quote(t.text)
	}
	return "'" + t.text + "'"
}

func (p *parser) errorf(off int, format string, args ...any) error {
	return &Error{Text: p.src, Offset: off, Msg: fmt.Sprintf(format, args...)}
}

func (p *parser) peek() token { return p.toks[p.pos] }

func (p *parser) next() token {
	t := p.toks[p.pos]
	if t.kind != tokEOF {
		p.pos++
	}
	return t
}

func (p *parser) isOp(op string) bool {
	t := p.peek()
	return t.kind == tokOp && t.text == op
}

func (p *parser) accept(op string) bool {
	if p.isOp(op) {
		p.pos++
		return true
	}
	return false
}

func (p *parser) expect(op, where string) error {
	if !p.accept(op) {
		t := p.peek()
		return p.errorf(t.off, "expected '%s' %s, found %s", op, where, t.describe())
	}
	return nil
}

// expr parses operators that bind tighter than min.
func (p *parser) expr(min int) (*expr, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, p.errorf(p.peek().off, "the predicate is nested too deeply")
	}
	defer func() { p.depth-- }()
	left, err := p.prefix()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		if t.kind != tokOp {
			return left, nil
		}
		op := t.text
		if op == "!" && p.toks[p.pos+1].kind == tokOp && p.toks[p.pos+1].text == "in" {
			op = "not in"
		}
		prec, ok := precedence[op]
		if !ok || prec <= min {
			return left, nil
		}
		p.next()
		if op == "not in" {
			p.next()
		}
		rightMin := prec
		if op == "=>" {
			rightMin = prec - 1 // associates to the right
		}
		right, err := p.expr(rightMin)
		if err != nil {
			return nil, err
		}
		if prec == 6 {
			if n := p.peek(); n.kind == tokOp && precedence[n.text] == 6 {
				return nil, p.errorf(n.off, "comparisons do not chain: write a < b && b < c")
			}
		}
		if op == "=" {
			op = "=="
		}
		left = &expr{op: op, off: t.off, kids: []*expr{left, right}}
	}
}

func (p *parser) prefix() (*expr, error) {
	t := p.peek()
	if t.kind == tokOp {
		switch t.text {
		case "!":
			p.next()
			x, err := p.expr(precNot - 1)
			if err != nil {
				return nil, err
			}
			return &expr{op: "!", off: t.off, kids: []*expr{x}}, nil
		case "-":
			p.next()
			x, err := p.expr(8)
			if err != nil {
				return nil, err
			}
			return &expr{op: "neg", off: t.off, kids: []*expr{x}}, nil
		case "forall", "exists":
			p.next()
			h, err := p.head()
			if err != nil {
				return nil, err
			}
			body, err := p.body()
			if err != nil {
				return nil, err
			}
			return &expr{op: t.text, off: t.off, head: h, kids: []*expr{body}}, nil
		}
	}
	if _, ok := temporalOps[t.text]; p.pattern && ok && t.kind == tokIdent {
		if after := p.toks[p.pos+1]; after.kind != tokOp || after.text != "." {
			return p.temporal()
		}
	}
	return p.primary()
}

// head parses the variables of a quantifier and the colon after them.
func (p *parser) head() (*head, error) {
	h := &head{}
	rel := ""
	for {
		t := p.next()
		if t.kind != tokIdent {
			return nil, p.errorf(t.off, "expected a variable for hosts, found %s", t.describe())
		}
		for _, v := range h.vars {
			if v.name == t.text {
				return nil, p.errorf(t.off, "%s is bound twice", t.text)
			}
		}
		v := headVar{name: t.text, off: t.off, rel: rel, all: true}
		if p.accept("in") {
			v.all = false
			if p.accept("~") {
				s := p.next()
				if s.kind != tokString {
					return nil, p.errorf(s.off, "expected a regular expression in quotes after "+
						"~, found %s", s.describe())
				}
				re, err := regexp.Compile(s.text)
				if err != nil {
					return nil, p.errorf(s.off, "%v", err)
				}
				v.re = re
			} else {
				if err := p.expect("{", "and hosts, or ~\"regexp\", after in"); err != nil {
					return nil, err
				}
				for {
					n := p.next()
					if n.kind != tokIdent && n.kind != tokString {
						return nil, p.errorf(n.off, "expected the name of a host, found %s",
							n.describe())
					}
					v.set = append(v.set, hostRef{n.text, true, n.off})
					if !p.accept(",") {
						break
					}
				}
				if err := p.expect("}", "after the hosts"); err != nil {
					return nil, err
				}
			}
		}
		h.vars = append(h.vars, v)
		switch {
		case p.accept(","):
			rel = ","
		case p.accept("!="):
			rel = "!="
		case p.accept("<"):
			rel = "<"
		default:
			return h, p.expect(":", "after the variables of the quantifier")
		}
	}
}

func (p *parser) args(end string) ([]*expr, error) {
	var args []*expr
	if p.accept(end) {
		return nil, nil
	}
	for {
		e, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		args = append(args, e)
		if p.accept(end) {
			return args, nil
		}
		if err := p.expect(",", "or '"+end+"'"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) primary() (*expr, error) {
	t := p.next()
	switch t.kind {
	case tokInt:
		n, err := strconv.ParseInt(t.text, 10, 64)
		if err != nil {
			return nil, p.errorf(t.off, "the integer does not fit in 64 bits")
		}
		return &expr{op: "const", off: t.off, val: computation.IntValue(n)}, nil
	case tokFloat:
		x, err := strconv.ParseFloat(t.text, 64)
		if err != nil {
			return nil, p.errorf(t.off, "the number is out of range")
		}
		return &expr{op: "const", off: t.off, val: computation.FloatValue(x)}, nil
	case tokString:
		if p.isOp(".") {
			return p.variable(hostRef{t.text, true, t.off})
		}
		return &expr{op: "const", off: t.off, val: computation.StringValue(t.text)}, nil
	case tokIdent:
		if p.isOp(".") {
			return p.variable(hostRef{t.text, false, t.off})
		}
		if p.isOp("(") {
			return p.call(t)
		}
		return &expr{op: "host", off: t.off, host: &hostRef{t.text, false, t.off}}, nil
	case tokOp:
		switch t.text {
		case "true", "false":
			return &expr{op: "const", off: t.off, val: computation.BoolValue(t.text == "true")}, nil
		case "(":
			e, err := p.body()
			if err != nil {
				return nil, err
			}
			return e, p.expect(")", "to close the parenthesis")
		case "[":
			kids, err := p.args("]")
			return &expr{op: "list", off: t.off, kids: kids}, err
		case "{":
			return p.set(t)
		}
	}
	return nil, p.errorf(t.off, "expected an expression, found %s", t.describe())
}

func (p *parser) set(t token) (*expr, error) {
	if p.accept("}") {
		return &expr{op: "set", off: t.off}, nil
	}
	first, err := p.expr(0)
	if err != nil {
		return nil, err
	}
	if p.accept("..") {
		last, err := p.expr(0)
		if err != nil {
			return nil, err
		}
		return &expr{op: "range", off: t.off, kids: []*expr{first, last}},
			p.expect("}", "to close the range")
	}
	if p.accept("}") {
		return &expr{op: "set", off: t.off, kids: []*expr{first}}, nil
	}
	if err := p.expect(",", "or '}'"); err != nil {
		return nil, err
	}
	rest, err := p.args("}")
	return &expr{op: "set", off: t.off, kids: append([]*expr{first}, rest...)}, err
}

// variable parses .name.name after a host.
func (p *parser) variable(h hostRef) (*expr, error) {
	var names []string
	for p.accept(".") {
		t := p.next()
		if t.kind != tokIdent && t.kind != tokString {
			return nil, p.errorf(t.off, "expected the name of a variable after %s., found %s",
				h.name, t.describe())
		}
		names = append(names, t.text)
	}
	return &expr{op: "var", off: h.off, host: &h, name: strings.Join(names, ".")}, nil
}

func (p *parser) call(t token) (*expr, error) {
	p.next() // the parenthesis
	if aggregates[t.text] {
		start := p.pos
		h, err := p.head()
		if err == nil {
			body, err := p.expr(0)
			if err != nil {
				return nil, err
			}
			return &expr{op: "agg", off: t.off, name: t.text, head: h, kids: []*expr{body}},
				p.expect(")", "to close "+t.text)
		}
		if _, fn := functions[t.text]; !fn {
			return nil, err
		}
		p.pos = start
	}
	arity, ok := functions[t.text]
	if !ok {
		return nil, p.errorf(t.off, "unknown function %s%s", t.text,
			spell.DidYouMean(t.text, functionNames(), ""))
	}
	args, err := p.args(")")
	if err != nil {
		return nil, err
	}
	if len(args) < arity[0] || arity[1] >= 0 && len(args) > arity[1] {
		return nil, p.errorf(t.off, "%s has %d arguments, not %d", t.text, arity[0], len(args))
	}
	return &expr{op: "call", off: t.off, name: t.text, kids: args}, nil
}

func functionNames() []string {
	var names []string
	for n := range functions {
		names = append(names, n)
	}
	for n := range aggregates {
		names = append(names, n)
	}
	return names
}
