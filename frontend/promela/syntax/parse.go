package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"cpor/frontend/source"
)

// maxErrors is the number of messages after which the parser gives up.
const maxErrors = 20

// maxDepth is how deep statements and expressions may be nested.
const maxDepth = 1000

// maxInline is how deep inline calls may be nested.
const maxInline = 200

type parser struct {
	noValue *Error // of the formula that is parsed
	in      []Token
	i       int
	errs    Errors
	model   *Model
	types   map[string]bool // typedefs so far
	procs   map[string]bool // all process types
	// named are the symbolic constants, types and process types so far, which are no longer
	// plain names.
	named map[string]named
	// property: an ltl block is being parsed. That is done last, as in SPIN.
	property bool
	ltls     []int // where these blocks begin
	depth    int
	runs     int      // run operators so far
	inlines  []string // that are being expanded
	calls    []int    // their numbers among all calls
	count    int      // of calls
	called   *Token   // the ) of the last one
	results  []*Ref   // what their values are assigned to; nil for one that is called for nothing
	used     int      // tokens of inline bodies that were expanded
	eof      Pos
}

// named is the meaning of a name that is not plain.
type named struct {
	what string
	pos  Pos
}

// What a name can mean.
const (
	aConstant = "a symbolic constant"
	aType     = "a type"
	aProcess  = "a process type"
	anInline  = "an inline"
)

// giveUp ends the parser from wherever it is.
type giveUp struct{}

// Parse parses a model whose text has been read, and reads the files that it
// includes. defines are those of the command line; more are files that are appended to
// it, as spin -N appends one with a never claim.
func Parse(f *source.File, defines map[string]string, more ...*source.File) (*Model, error) {
	return ParseWith(f, defines, nil, source.Read, more...)
}

// ParseWith is Parse with a function that reads the files that the model includes, and
// directories to search for those that are not beside the including file.
func ParseWith(f *source.File, defines map[string]string, dirs []string,
	read func(name string) (*source.File, error), more ...*source.File) (m *Model, err error) {
	in, files, err := expandFile(f, defines, dirs, read, more)
	if err != nil {
		return nil, err
	}
	in = separated(in)
	p := &parser{in: in, types: map[string]bool{}, procs: map[string]bool{},
		named: map[string]named{}, eof: Pos{f, source.Pos(len(f.Text))}}
	for i := range len(in) - 1 {
		if in[i].isIdent("proctype") || in[i].isIdent("D_proctype") {
			p.procs[in[i+1].Text] = true
		}
	}
	p.model = &Model{Files: files, Inlines: map[string]*Inline{}, Watched: map[string]bool{},
		ends: map[Pos]source.Pos{}, texts: map[Stmt]string{}}
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(giveUp); !ok {
				panic(r)
			}
		}
		if len(p.errs) > 0 {
			m, err = nil, p.errs
		}
	}()
	p.file()
	return p.model, nil
}

func (p *parser) tok() *Token {
	if p.i < len(p.in) {
		return &p.in[p.i]
	}
	return &Token{Kind: EOF, Newline: true, Pos: p.eof}
}

func (p *parser) peek(n int) *Token {
	if p.i+n < len(p.in) {
		return &p.in[p.i+n]
	}
	return &Token{Kind: EOF, Newline: true, Pos: p.eof}
}

func (p *parser) next() Token {
	t := *p.tok()
	if p.i < len(p.in) {
		p.i++
	}
	return t
}

// fail records a message at a token and gives up on the construct.
func (p *parser) fail(t *Token, format string, args ...any) {
	p.errorAt(t.Pos, max(1, len(t.Text)), format+p.broken(), args...)
	panic(giveUp{})
}

// broken is the hint for a mistake at the beginning of a line where SPIN ends the statement at
// the end of the previous line; empty elsewhere.
func (p *parser) broken() string {
	if p.i == 0 || p.i > len(p.in) || !p.in[p.i-1].implied && !p.tok().implied {
		return ""
	}
	return "; the end of a line ends a statement, as in SPIN, unless it is in parentheses or an " +
		"operator or a comma is the last of the line"
}

func (p *parser) errorAt(pos Pos, n int, format string, args ...any) {
	p.errs = append(p.errs, &Error{pos, n, fmt.Sprintf(format, args...)})
	if len(p.errs) >= maxErrors {
		panic(giveUp{})
	}
}

func (t *Token) describe() string {
	if t.implied {
		return "the end of the line"
	}
	switch t.Kind {
	case EOF:
		return "the end of the file"
	case String:
		return "a string"
	}
	return strconv.Quote(t.Text)
}

func (p *parser) accept(op string) bool {
	if p.tok().is(op) {
		p.i++
		return true
	}
	return false
}

func (p *parser) acceptWord(name string) bool {
	if p.tok().isIdent(name) {
		p.i++
		return true
	}
	return false
}

func (p *parser) want(op, where string) Token {
	if !p.tok().is(op) {
		p.fail(p.tok(), "found %s where %s needs %q", p.tok().describe(), where, op)
	}
	return p.next()
}

func (p *parser) name(what string) Name {
	t := p.tok()
	if t.Kind != Ident {
		p.fail(t, "found %s where the name of %s should be", t.describe(), what)
	}
	if keywords[t.Text] {
		p.fail(t, "%s is a word of the language and cannot be the name of %s", t.Text, what)
	}
	if p.property && temporalWords[t.Text] != "" {
		p.fail(t, "%s is an operator in an ltl block, as in SPIN, and cannot be the name of %s "+
			"there", t.Text, what)
	}
	p.plain(t, what)
	p.i++
	return Name{t.Pos, t.Text}
}

// plain refuses a name that already has a meaning, which SPIN's scanner distinguishes from all
// others.
func (p *parser) plain(t *Token, what string) {
	m := p.meaning(t.Text)
	switch {
	case predefined[t.Text] && what != "a variable":
		p.fail(t, "%s already exists and cannot be %s", t.Text, what)
	case m == "":
	case m == what:
		line, _ := p.named[t.Text].pos.Line()
		p.fail(t, "%s is redeclared; it was declared in line %d", t.Text, line)
	default:
		p.fail(t, "%s is %s and cannot be %s, too", t.Text, m, what)
	}
}

// meaning returns the meaning of a name that was declared above as more than a plain name;
// otherwise it is empty.
func (p *parser) meaning(name string) string {
	if n, ok := p.named[name]; ok {
		return n.what
	}
	if p.model.Inlines[name] != nil {
		return anInline
	}
	return ""
}

// predefined are the predefined names.
var predefined = map[string]bool{"_": true, "_p": true, "_pid": true, "_nr_pr": true, "_last": true,
	"_priority": true}

var keywords = map[string]bool{}

func init() {
	for _, w := range strings.Fields(
		`active assert atomic bit bool break byte chan d_step D_proctype do
		else empty enabled fi full hidden if inline init int len mtype nempty never nfull notrace od of
		pc_value pid printf printm priority proctype provided run short show skip timeout trace typedef
		unless unsigned xr xs goto eval select for true false ltl c_code c_expr c_decl c_track c_state
		get_priority set_priority np_ local return`) {
		keywords[w] = true
	}
}

var basicTypes = map[string]bool{"bit": true, "bool": true, "byte": true, "short": true,
	"int": true, "unsigned": true, "pid": true, "chan": true, "mtype": true}

// file parses all top-level units; after a mistake it continues with the next.
func (p *parser) file() {
	for p.tok().Kind != EOF {
		if p.accept(";") || p.accept("->") {
			continue
		}
		start := p.i
		if !p.guarded(p.unit) {
			// Skip to what begins a unit.
			if p.i == start {
				p.i++
			}
			depth := 0
			for p.tok().Kind != EOF {
				t := p.tok()
				switch {
				case t.is("{"):
					depth++
				case t.is("}"):
					depth--
				case depth <= 0 && t.Newline && t.Kind == Ident && unitWords[t.Text]:
					depth = -1 << 20
				}
				if depth <= -1<<19 {
					break
				}
				p.i++
			}
		}
	}
	for _, at := range p.ltls {
		p.i = at
		p.guarded(p.ltl)
	}
}

var unitWords = map[string]bool{"proctype": true, "active": true, "init": true, "never": true,
	"ltl": true, "inline": true, "typedef": true, "D_proctype": true, "trace": true,
	"notrace": true}

// guarded calls a function that may give up, and reports whether it did not.
func (p *parser) guarded(f func()) (ok bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, is := r.(giveUp); !is || len(p.errs) >= maxErrors {
				panic(r)
			}
			ok = false
		}
	}()
	p.depth, p.inlines = 0, nil
	f()
	return true
}

func (p *parser) unit() {
	t := p.tok()
	if t.Kind != Ident {
		p.fail(t, "found %s where a declaration should begin", t.describe())
	}
	switch t.Text {
	case "active", "proctype", "D_proctype":
		p.proctype()
	case "init":
		p.init(t.Pos)
	case "never":
		p.never(t.Pos)
	case "trace", "notrace":
		p.i++
		x := &Proctype{Pos: t.Pos, Name: Name{t.Pos, t.Text}, Known: p.declared()}
		p.body(x)
		if p.model.Trace != nil {
			p.errorAt(t.Pos, len(t.Text), "a second event trace; a model has at most one trace "+
				"or notrace")
		}
		p.model.Trace, p.model.NotTrace = x, t.Text == "notrace"
	case "inline":
		p.inline()
	case "ltl":
		p.ltls = append(p.ltls, p.i)
		p.i = closing(p.in, p.i)
	case "typedef":
		p.typedef()
	case "c_code", "c_expr", "c_decl", "c_track", "c_state":
		p.fail(t, "%s: C code in a model is not supported, because a model is explored without a "+
			"C compiler; write it in Promela", t.Text)
	case "mtype":
		p.mtype(t)
	default:
		if p.atDecl() {
			p.model.Decls = append(p.model.Decls, p.varDecl())
			return
		}
		p.fail(t, "found %s where a declaration should begin%s", t.describe(),
			nearUnit(t.Text, p.types))
	}
}

func (p *parser) init(pos Pos) {
	p.i++
	x := &Proctype{Pos: pos, Name: Name{pos, "init"}, Init: true, Known: p.declared()}
	if p.acceptWord("priority") {
		x.Priority = p.priority()
	}
	p.body(x)
	p.model.Decls = append(p.model.Decls, x)
}

// never parses a never claim.
func (p *parser) never(pos Pos) {
	p.i++
	x := &Proctype{Pos: pos, Name: Name{pos, fmt.Sprintf("never_%d", len(p.model.Nevers))},
		Never: true, Known: p.declared()}
	if p.tok().Kind == Ident {
		x.Name = p.name("a claim")
	}
	p.body(x)
	p.model.Nevers = append(p.model.Nevers, x)
}

func (p *parser) typedef() {
	p.i++
	td := &Typedef{Name: p.name(aType)}
	p.want("{", "typedef")
	if t := p.tok(); t.is("}") {
		p.errorAt(td.Name.Pos, len(td.Name.Text), "typedef %s has no fields", td.Name.Text)
	}
	for !p.accept("}") {
		f := p.varDecl()
		if f.Hidden {
			p.errorAt(f.Pos, len("hidden"), "only a global variable can be hidden, not a field")
		}
		td.Fields = append(td.Fields, f)
		if t := p.tok(); !t.is("}") && !p.accept(";") && !p.in[p.i-1].is("}") {
			p.fail(t, "found %s where a \";\" or a new line should separate two fields",
				t.describe())
		}
	}
	p.types[td.Name.Text] = true
	p.named[td.Name.Text] = named{aType, td.Name.Pos}
	p.model.Decls = append(p.model.Decls, td)
}

// mtype parses a declaration of constants, or of variables.
func (p *parser) mtype(t *Token) {
	save := p.i
	p.i++
	kind := ""
	if p.accept(":") {
		kind = p.name("an mtype").Text
	}
	if p.accept("=") || p.tok().is("{") && kind == "" {
		m := &Mtype{Pos: t.Pos, Kind: kind}
		p.want("{", "mtype")
		if p.tok().is("}") {
			p.fail(t, "this mtype has no symbolic constants")
		}
		for !p.accept("}") {
			if len(m.Names) > 0 && p.accept(",") {
				continue
			}
			m.Names = append(m.Names, p.name(aConstant))
		}
		for _, n := range m.Names {
			p.named[n.Text] = named{aConstant, n.Pos}
		}
		p.model.Decls = append(p.model.Decls, m)
		return
	}
	p.i = save
	p.model.Decls = append(p.model.Decls, p.varDecl())
}

// declared returns the number of declarations above.
func (p *parser) declared() int { return len(p.model.Decls) }

func (p *parser) ltl() {
	t := p.next()
	l := &LTL{Pos: t.Pos}
	if p.tok().Kind == Ident {
		l.Name = p.name("a property")
	}
	p.want("{", "ltl")
	p.property = true
	defer func() { p.property = false }()
	l.Formula = p.possibility()
	l.NoValue, p.noValue = p.noValue, nil
	for p.accept(";") {
	}
	p.want("}", "an ltl block")
	p.model.LTLs = append(p.model.LTLs, l)
}

func (p *parser) inline() {
	p.i++
	t := p.tok()
	if old := p.model.Inlines[t.Text]; t.Kind == Ident && old != nil {
		line, _ := old.Name.Pos.Line()
		p.fail(t, "inline %s is redeclared; it was declared in line %d", t.Text, line)
	}
	d := &Inline{Name: p.name(anInline)}
	p.want("(", "inline")
	for !p.accept(")") {
		if len(d.Params) > 0 {
			p.want(",", "the list of parameters")
		}
		d.Params = append(d.Params, p.name("a parameter").Text)
	}
	if !p.tok().is("{") {
		p.fail(p.tok(), "the inline %s needs a body in braces", d.Name.Text)
	}
	for depth := 0; ; {
		t := p.tok()
		if t.Kind == EOF {
			p.fail(t, "the inline %s needs a }", d.Name.Text)
		}
		if t.is("{") {
			depth++
		}
		if t.is("}") {
			depth--
		}
		d.Body = append(d.Body, p.next())
		if depth == 0 {
			break
		}
	}
	p.model.Inlines[d.Name.Text] = d
}

func (p *parser) proctype() {
	x := &Proctype{Pos: p.tok().Pos}
	if t := p.tok(); p.acceptWord("active") {
		x.Active = &Const{t.Pos, 1}
		if p.accept("[") {
			x.Active = p.size()
			p.want("]", "active")
		}
	}
	switch {
	case p.acceptWord("proctype"):
	case p.acceptWord("D_proctype"):
		x.Deterministic = true
	default:
		p.fail(p.tok(), "found %s where proctype should be", p.tok().describe())
	}
	x.Name = p.name(aProcess)
	x.Known = p.declared()
	p.named[x.Name.Text] = named{aProcess, x.Name.Pos}
	p.want("(", "proctype")
	for first := true; !p.accept(")"); first = false {
		t := p.tok()
		for p.accept(";") {
		}
		switch {
		case !first && !t.is(";") && !t.is(","):
			p.fail(t, "found %s where a \";\" should separate two parameters", t.describe())
		case first && t.is(";"), !first && p.tok().is(")"):
			p.errorAt(t.Pos, 1, "nothing stands on one side of this \";\", which SPIN refuses; "+
				"leave it out")
			if p.accept(")") {
				p.i--
				continue
			}
		case t.is(","):
			p.errorAt(t.Pos, 1, "parameters of several types are separated by \";\", as in (byte "+
				"a; int b)")
			p.i++
		}
		x.Params = append(x.Params, p.params())
	}
	for {
		switch {
		case p.tok().isIdent("priority") && x.Provided != nil:
			p.fail(p.tok(), "priority stands before provided")
		case p.acceptWord("priority"):
			x.Priority = p.priority()
			continue
		case p.acceptWord("provided"):
			p.want("(", "provided")
			x.Provided = p.expr()
			p.want(")", "provided")
			continue
		}
		break
	}
	p.body(x)
	p.model.Decls = append(p.model.Decls, x)
}

// params parses the parameters of one type: byte a, b
func (p *parser) params() *VarDecl {
	d := p.declHead()
	if d.Hidden {
		p.errorAt(d.Pos, len("hidden"), "only a global variable can be hidden, not a parameter")
	}
	for {
		v := &Var{Name: p.name("a parameter")}
		if p.tok().is("[") {
			p.fail(p.tok(), "a parameter cannot be an array")
		}
		if p.accept(":") {
			v.Width = p.width()
		}
		d.Vars = append(d.Vars, v)
		// "byte a, b; int c" and "byte a, int c" both occur.
		if p.tok().is(",") && p.peek(1).Kind == Ident && !p.typeName(p.peek(1).Text) {
			p.i++
			continue
		}
		return d
	}
}

func (p *parser) typeName(s string) bool {
	return basicTypes[s] || p.types[s] || s == "hidden" || s == "show"
}

func (p *parser) body(x *Proctype) {
	if !p.tok().is("{") {
		p.fail(p.tok(), "found %s where the body of %s needs \"{\"", p.tok().describe(),
			x.Name.Text)
	}
	x.Body = p.block()
	x.End = p.in[p.i-1].Pos
}

// atDecl reports whether a declaration of variables begins here.
func (p *parser) atDecl() bool {
	t := p.tok()
	if t.Kind != Ident {
		return false
	}
	switch t.Text {
	case "hidden", "show", "local":
		return true
	}
	if basicTypes[t.Text] {
		return true
	}
	return p.types[t.Text] && p.peek(1).Kind == Ident
}

func (p *parser) declHead() *VarDecl {
	d := &VarDecl{Pos: p.tok().Pos, Hidden: p.tok().isIdent("hidden")}
	if t := p.tok(); t.isIdent("hidden") || t.isIdent("show") || t.isIdent("local") {
		p.i++
	}
	t := p.tok()
	if t.Kind != Ident || !basicTypes[t.Text] && !p.types[t.Text] {
		if t.Kind == Ident {
			p.fail(t, "%s is not a type%s", t.Text, nearType(t.Text, p.types))
		}
		p.fail(t, "found %s where a type should be", t.describe())
	}
	d.Type = t.Text
	p.i++
	if d.Type == "mtype" && p.tok().is(":") {
		p.i++
		d.Kind = p.name("an mtype").Text
	}
	return d
}

func (p *parser) width() int {
	t := p.tok()
	n, err := strconv.Atoi(t.Text)
	if t.Kind != Num || err != nil || n < 1 || n > 31 {
		p.fail(t, "the width of an unsigned is a number from 1 to 31")
	}
	p.i++
	return n
}

// priority parses the priority of a process: a number, as in SPIN.
func (p *parser) priority() Expr {
	t := p.tok()
	if t.Kind != Num && t.Kind != Char && p.meaning(t.Text) != aConstant {
		p.fail(t, "found %s where a priority needs a number, as in SPIN", t.describe())
	}
	x := p.primary()
	if c, ok := x.(*Const); ok && (c.Value < 1 || c.Value > 255) {
		p.errorAt(t.Pos, len(t.Text), "priority %d: it can be from 1 to 255", c.Value)
	}
	return x
}

// size parses the length of an array, the capacity of a channel and the number of processes: a name
// alone, or numbers with + - * / %, as in SPIN.
func (p *parser) size() Expr {
	t := p.tok()
	if t.Kind == Ident && p.peek(1).is("]") {
		return p.expr()
	}
	first := p.i
	x := p.expr()
	for _, t := range p.in[first:p.i] {
		switch {
		case t.Kind == Num, t.Kind == Char, t.isIdent("true"), t.isIdent("false"),
			t.isIdent("skip"), p.meaning(t.Text) == aConstant:
		case t.Kind == Op && strings.Contains("()+-*/%", t.Text):
		case t.Kind == Ident:
			p.fail(&t, "%s is not allowed in a size, which SPIN computes from numbers "+
				"only; use a #define", t.Text)
		default:
			p.fail(&t, "%s is not allowed in a size, where SPIN only has + - * / %%; "+
				"use a #define with the value", t.Text)
		}
	}
	return x
}

// varDecl parses byte a, b[3] = 1, ...
func (p *parser) varDecl() *VarDecl {
	d := p.declHead()
	for {
		v := &Var{Name: p.name("a variable")}
		if predefined[v.Name.Text] {
			p.errorAt(v.Name.Pos, len(v.Name.Text), "%s already exists and cannot be declared",
				v.Name.Text)
		}
		if p.accept(":") {
			if d.Type != "unsigned" {
				p.fail(p.tok(), "only an unsigned has a width")
			}
			v.Width = p.width()
		}
		if p.accept("[") {
			v.Array = p.size()
			p.want("]", "the length of an array")
		}
		if p.accept("=") {
			switch {
			case d.Type == "chan" && p.tok().is("["):
				v.Chan = p.chanInit()
			case p.tok().is("{"):
				if v.Array == nil {
					p.errorAt(v.Name.Pos, len(v.Name.Text),
						"%s is not an array, so that { ... } cannot initialize it", v.Name.Text)
				}
				v.List = p.constants()
			default:
				n := p.runs
				v.Init = p.expr()
				if p.runs > n {
					p.errorAt(v.Name.Pos, len(v.Name.Text),
						"run is not allowed in the initializer of %s, as in SPIN; assign it in a "+
							"statement after the declaration", v.Name.Text)
				}
			}
		}
		if d.Type == "unsigned" && v.Width == 0 {
			p.errorAt(v.Name.Pos, len(v.Name.Text),
				"unsigned %s needs its width in bits, such as unsigned %s : 4", v.Name.Text,
				v.Name.Text)
			v.Width = 8
		}
		d.Vars = append(d.Vars, v)
		if t := p.tok(); !p.accept(",") {
			return d
		} else if v.Chan != nil || v.List != nil {
			// To SPIN, the closing brace ends the declaration.
			p.errorAt(t.Pos, 1, "nothing can follow the { ... } of %s in its declaration, as in "+
				"SPIN; make two declarations of this one", v.Name.Text)
		}
	}
}

// constants parses { 1, 2 }. SPIN accepts nothing else there that must be computed, not even a
// sign.
func (p *parser) constants() []Expr {
	p.want("{", "a list of values")
	var list []Expr
	for {
		t := p.tok()
		n := p.peek(1)
		switch {
		case t.Kind == Num, t.Kind == Char, t.Kind == Ident && !keywords[t.Text], t.isIdent("true"),
			t.isIdent("false"), t.isIdent("skip"):
			list = append(list, p.primary())
		default:
			p.fail(t, "found %s where a list of values needs a constant; SPIN computes nothing "+
				"here, so assign the value in a statement", t.describe())
		}
		if !p.accept(",") {
			if !p.tok().is("}") {
				p.fail(n, "found %s where a \",\" or the \"}\" of a list of values should be: it "+
					"has constants only, and what is to be computed is assigned in a statement",
					n.describe())
			}
			p.i++
			return list
		}
	}
}

func (p *parser) chanInit() *ChanInit {
	c := &ChanInit{Pos: p.tok().Pos}
	p.want("[", "a channel")
	c.Cap = p.size()
	p.want("]", "the capacity of a channel")
	if !p.acceptWord("of") {
		p.fail(p.tok(), "found %s where a channel needs: of { types of the message }",
			p.tok().describe())
	}
	p.want("{", "the types of a message")
	for !p.accept("}") {
		if len(c.Fields) > 0 {
			p.want(",", "the list of the types of a message")
		}
		d := p.declHead()
		if d.Type == "unsigned" {
			p.fail(p.tok(), "a field of a message cannot be unsigned; use byte, short or int")
		}
		c.Fields = append(c.Fields, Field{d.Pos, d.Type, d.Kind})
	}
	return c
}

func (p *parser) enter() {
	if p.depth++; p.depth > maxDepth {
		p.fail(p.tok(), "statements or expressions are nested more than %d deep", maxDepth)
	}
}

// block parses { statements }.
func (p *parser) block() *Block {
	p.enter()
	defer func() { p.depth-- }()
	b := &Block{Pos: p.tok().Pos}
	p.want("{", "a block")
	b.Stmts = p.sequence("}")
	if t := p.tok(); t.is("}") && len(b.Stmts) == 0 {
		p.errorAt(t.Pos, 1, "there is no statement between these braces; write skip")
	}
	p.want("}", "a block")
	return b
}

// sequence parses statements up to a token that ends them: } fi od or ::.
func (p *parser) sequence(end string) []Stmt {
	var list []Stmt
	if t := p.tok(); t.is(";") || t.is("->") {
		p.errorAt(t.Pos, len(t.Text), "there is no statement before this %q, which SPIN refuses; "+
			"leave it out or write skip", t.Text)
	}
	for {
		for p.accept(";") || p.accept("->") {
		}
		t := p.tok()
		if t.is("}") || t.is("::") || t.isIdent("fi") || t.isIdent("od") {
			return list
		}
		if t.Kind == EOF {
			p.fail(t, "found the end of the file where %q should be", end)
		}
		if len(list) > 0 && !p.separated() {
			p.fail(t, "found %s where a \";\" or a new line should separate two statements",
				t.describe())
		}
		list = append(list, p.statement())
	}
}

// separated reports whether a new statement may begin here: after ; or -> or }, or after the
// call of an inline.
func (p *parser) separated() bool {
	if p.i == 0 {
		return true
	}
	prev := &p.in[p.i-1]
	return prev == p.called || prev.is(";") || prev.is("->") || prev.is("}") || prev.isIdent("else")
}

// statement parses one step, with its labels and its unless.
func (p *parser) statement() Stmt {
	p.enter()
	defer func() { p.depth-- }()
	start := p.i
	s := p.simple()
	p.ends(start, s)
	if p.tok().implied && p.peek(1).isIdent("unless") && &p.in[p.i-1] == p.called {
		p.i++ // the body of the inline ends with a brace, behind which a line may end
	}
	for n := 0; ; n++ {
		t := p.tok()
		if !t.isIdent("unless") {
			return s
		}
		if n > 0 {
			p.fail(t, "a second unless; put braces around one of the two: { ... unless ... } "+
				"unless ...")
		}
		p.i++
		if l, ok := s.(*Labeled); ok && !labelled(l.Stmt) {
			p.errorAt(l.Label.Pos, len(l.Label.Text),
				"this label would stand within the unless, which SPIN refuses; write %s: { ... "+
					"unless ... }", l.Label.Text)
		}
		escape := p.simple()
		if l, ok := escape.(*Labeled); ok {
			p.errorAt(l.Label.Pos, len(l.Label.Text),
				"a label is not allowed before the statement behind unless")
		}
		s = &Unless{t.Pos, s, escape}
	}
}

// labelled reports whether the label of a statement before unless belongs to the whole.
func labelled(s Stmt) bool {
	switch s := s.(type) {
	case *Block, *For:
		return true
	case *Atomic:
		return !s.DStep
	case *If:
		return s.Loop
	}
	return false
}

// ends records the text of a statement that begins with token from and ends here.
func (p *parser) ends(from int, s Stmt) {
	if p.i == 0 || p.i <= from {
		return
	}
	in := p.in[from:p.i]
	switch s.(type) {
	case *Assign, *ExprStmt, *Send, *Recv, *Assert, *Print, *SetPriority:
		if _, ok := p.model.texts[s]; !ok && slices.ContainsFunc(in, func(t Token) bool {
			return t.use != nil || t.given
		}) {
			p.model.texts[s] = written(in)
			return
		}
	}
	start, last := in[0].Pos, in[len(in)-1]
	if _, ok := p.model.ends[start]; !ok && last.Pos.File == start.File {
		p.model.ends[start] = last.Pos.Off + source.Pos(len(last.Text))
	}
}

// written returns tokens as text, with the macros that are wholly among them as they are written.
func written(in []Token) string {
	var out []Token
	for i := 0; i < len(in); {
		t := in[i]
		n := 1
		for u := t.use; u != nil; u = u.outer {
			end := i + u.tokens
			if end <= len(in) && !slices.ContainsFunc(in[i:end], func(t Token) bool {
				return !t.from(u)
			}) {
				t.Text, n = u.text, u.tokens
			}
		}
		out = append(out, t)
		i += n
	}
	return joined(out)
}

func (p *parser) simple() Stmt {
	t := p.tok()
	if t.Kind == other {
		p.fail(t, "%s is not allowed in a model", t.describe())
	}
	if p.atDecl() && !(t.Text == "mtype" && p.peek(1).is("=")) {
		return &DeclStmt{p.varDecl()}
	}
	if t.is("{") {
		return p.unlabeled(p.block(), "{ ... }")
	}
	if t.Kind != Ident {
		return p.exprStmt()
	}
	switch t.Text {
	case "if", "do":
		p.i++
		s := &If{Pos: t.Pos, Loop: t.Text == "do"}
		end := "fi"
		if s.Loop {
			end = "od"
		}
		if !p.tok().is("::") {
			p.fail(p.tok(), "found %s where the first option (::) of %s should begin",
				p.tok().describe(), t.Text)
		}
		for p.accept("::") {
			b := &Block{Pos: p.tok().Pos}
			b.Stmts = p.sequence(end)
			if len(b.Stmts) == 0 {
				p.fail(p.tok(), "this option of %s is empty; write skip", t.Text)
			}
			s.Options = append(s.Options, b)
		}
		if !p.acceptWord(end) {
			p.fail(p.tok(), "found %s where %s should end this %s", p.tok().describe(), end, t.Text)
		}
		return s
	case "for":
		return p.forStmt()
	case "select":
		p.i++
		p.want("(", "select")
		first := p.i
		s := &Select{Pos: t.Pos, Var: p.ref(), inline: len(p.inlines) > 0}
		p.want(":", "select")
		// SPIN's scanner expands one like select(x : 1 .. 3), on one line and with a name of
		// letters and digits only.
		s.Literal = p.tok().Kind == Num && p.peek(1).is("..") && !strings.Contains(s.Var.Name, "_")
		s.From = p.expr()
		p.want("..", "select")
		s.Literal = s.Literal && p.tok().Kind == Num && p.peek(1).is(")")
		s.To = p.expr()
		p.want(")", "select")
		for _, t := range p.in[first:p.i] {
			s.Literal = s.Literal && !t.Newline
		}
		return s
	case "goto":
		p.i++
		return &Goto{t.Pos, p.name("a label")}
	case "break":
		p.i++
		return &Break{t.Pos}
	case "else":
		p.i++
		return &Else{t.Pos}
	case "atomic", "d_step":
		p.i++
		if !p.tok().is("{") {
			p.fail(p.tok(), "found %s where %s needs \"{\"", p.tok().describe(), t.Text)
		}
		return &Atomic{t.Pos, t.Text == "d_step", p.unlabeled(p.block(), t.Text),
			len(p.inlines) > 0}
	case "assert":
		p.i++
		return &Assert{t.Pos, p.expr()}
	case "printf":
		return p.printf()
	case "printm":
		p.i++
		p.want("(", "printm")
		s := &Print{Pos: t.Pos, Mtype: true}
		switch x := p.tok(); {
		case x.Kind == Ident && p.meaning(x.Text) == aConstant && !x.given:
			s.Args = []Expr{p.primary()}
		case x.Kind == Ident && p.meaning(x.Text) == "":
			s.Args = []Expr{p.ref()}
		default:
			p.fail(x, "found %s where printm needs a variable, or a symbolic constant that is "+
				"written there, as in SPIN", x.describe())
		}
		p.want(")", "printm")
		return s
	case "xr", "xs":
		p.i++
		s := &Exclusive{Pos: t.Pos, Send: t.Text == "xs", Refs: []*Ref{p.ref()}}
		for p.accept(",") {
			s.Refs = append(s.Refs, p.ref())
		}
		return s
	case "set_priority":
		p.i++
		p.want("(", "set_priority")
		s := &SetPriority{Pos: t.Pos, Pid: p.expr()}
		p.want(",", "set_priority")
		s.X = p.expr()
		p.want(")", "set_priority")
		return s
	case "_priority":
		me := &Special{t.Pos, "_pid"}
		switch op := p.peek(1); {
		case op.is("="):
			p.i += 2
			return &SetPriority{Pos: t.Pos, Pid: me, X: p.expr(), Own: true}
		case op.is("++"), op.is("--"):
			p.i += 2
			return &SetPriority{Pos: t.Pos, Pid: me, X: &Binary{op.Pos, op.Text[:1],
				&Call{t.Pos, "get_priority", me}, &Const{op.Pos, 1}}, Own: true}
		}
	case "c_code", "c_expr", "c_decl", "c_track", "c_state":
		p.fail(t, "%s: C code in a model is not supported, because a model is explored without a "+
			"C compiler; write it in Promela", t.Text)
	case "return":
		n := len(p.results)
		if n == 0 || p.results[n-1] == nil {
			p.fail(t, "return gives the value of an inline that is called on the right of an "+
				"assignment, as in x = f(a), and is not allowed elsewhere")
		}
		p.i++
		return &Assign{t.Pos, p.results[n-1], p.expr()}
	case "unless":
		p.fail(t, "there is no statement before this unless on the same line; only behind a } it "+
			"may begin a line, as in SPIN")
	case "inline", "proctype", "init", "active", "never", "typedef":
		p.fail(t, "%s is not allowed here; is a \"}\" missing above?", t.Text)
	}
	if !keywords[t.Text] && p.peek(1).is(":") && !(p.peek(2).is(":")) {
		// A label; P:x is a remote reference, and begins an expression.
		if l, ok := p.label(); ok {
			return l
		}
	}
	if d := p.model.Inlines[t.Text]; d != nil && p.peek(1).is("(") {
		return p.expandInline(d, nil)
	}
	return p.exprStmt()
}

// unlabeled refuses a label at the beginning of a block, which is not a place of its own. That
// of a for is, because its first assignment precedes the label.
func (p *parser) unlabeled(b *Block, what string) *Block {
	if len(b.Stmts) > 0 {
		if l, ok := b.Stmts[0].(*Labeled); ok && !beginsFor(l) {
			p.errorAt(l.Label.Pos, len(l.Label.Text),
				"a label is not allowed before the first statement of %s; put it before the whole",
				what)
		}
	}
	return b
}

func beginsFor(s Stmt) bool {
	switch s := s.(type) {
	case *Labeled:
		return beginsFor(s.Stmt)
	case *For:
		return true
	}
	return false
}

// label parses Name: statement, and reports whether it is one.
func (p *parser) label() (Stmt, bool) {
	t := p.tok()
	if p.meaning(t.Text) == aProcess && p.peek(2).Kind == Ident {
		return nil, false // P:var
	}
	p.plain(t, "a label")
	p.i += 2
	l := &Labeled{Label: Name{t.Pos, t.Text}}
	if n := len(p.calls); n > 0 {
		l.Inline = p.calls[n-1]
	}
	n := p.tok()
	if n.is("}") || n.is("::") || n.isIdent("fi") || n.isIdent("od") || n.is(";") || n.is("->") {
		// A label without a statement precedes a skip.
		l.Stmt = &ExprStmt{t.Pos, &Const{t.Pos, 1}}
		return l, true
	}
	if p.atDecl() {
		p.fail(n, "a label is not allowed before a declaration")
	}
	from := p.i
	l.Stmt = p.simple()
	p.ends(from, l.Stmt)
	return l, true
}

func (p *parser) forStmt() Stmt {
	t := p.next()
	s := &For{Pos: t.Pos}
	p.want("(", "for")
	s.Var = p.ref()
	switch {
	case p.accept(":"):
		s.From = p.expr()
		p.want("..", "for")
		s.To = p.expr()
	case p.acceptWord("in"):
		s.In = p.ref()
	default:
		p.fail(p.tok(), "found %s where for needs \":\" or \"in\"", p.tok().describe())
	}
	p.want(")", "for")
	p.accept(";")
	if !p.tok().is("{") {
		p.fail(p.tok(), "found %s where for needs \"{\"", p.tok().describe())
	}
	s.Body = p.block()
	return s
}

func (p *parser) printf() Stmt {
	t := p.next()
	p.want("(", "printf")
	f := p.tok()
	if f.Kind != String {
		p.fail(f, "printf needs a format in quotes")
	}
	p.i++
	s := &Print{Pos: t.Pos, Format: unquote(f.Text)}
	if n := p.tok(); n.Kind == String {
		p.fail(n, "a second string; they are not joined in Promela, write one")
	}
	for p.accept(",") {
		s.Args = append(s.Args, p.expr())
	}
	p.want(")", "printf")
	return s
}

func unquote(s string) string {
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return strings.Trim(s, "\"")
}

// expandInline parses the body of an inline with the arguments put in. A return in it is an
// assignment to result.
func (p *parser) expandInline(d *Inline, result *Ref) Stmt {
	t := p.next()
	if len(p.inlines) >= maxInline {
		p.fail(&t, "inline definitions call each other more than %d deep", maxInline)
	}
	for _, name := range p.inlines {
		if name == d.Name.Text {
			p.fail(&t, "inline %s calls itself", name)
		}
	}
	args := p.arguments(d, &t)
	body := substituted(d, args, func(name string) bool { return p.meaning(name) == aConstant })
	if p.used += len(body); p.used > maxTokens {
		p.fail(&t, "the model is too large when its inline definitions are expanded")
	}
	in, i := p.in, p.i
	p.in, p.i = body, 0
	p.count++
	p.calls = append(p.calls, p.count)
	p.inlines, p.results = append(p.inlines, d.Name.Text), append(p.results, result)
	b := p.unlabeled(p.block(), "the inline "+d.Name.Text)
	p.inlines, p.results, p.calls = p.inlines[:len(p.inlines)-1], p.results[:len(p.results)-1],
		p.calls[:len(p.calls)-1]
	p.in, p.i = in, i
	p.called = &in[i-1]
	return b
}

// arguments parses the arguments of the call of an inline at t.
func (p *parser) arguments(d *Inline, t *Token) [][]Token {
	p.i++ // (
	var args [][]Token
	for !p.accept(")") {
		if len(args) > 0 {
			p.want(",", "the call of inline "+d.Name.Text)
		}
		from := p.i
		p.expr() // that it is one is all that matters: what is put in are its tokens
		if x := p.tok(); !x.is(",") && !x.is(")") {
			p.fail(x, "found %s after an argument of inline %s; arguments are expressions, and "+
				"a #define takes statements, too", x.describe(), d.Name.Text)
		}
		p.argument(d, p.in[from:p.i])
		args = append(args, p.in[from:p.i])
	}
	if len(args) != len(d.Params) {
		p.fail(t, "inline %s has %d parameters, and here %d arguments", d.Name.Text, len(d.Params),
			len(args))
	}
	for k, name := range d.Params {
		if slices.ContainsFunc(d.Body, func(b Token) bool { return b.isIdent(name) }) {
			p.replaces(d, k, args[k])
		}
	}
	return args
}

// substituted returns the body of an inline with its arguments; constants keep their names.
func substituted(d *Inline, args [][]Token, constant func(name string) bool) []Token {
	var body []Token
	for _, b := range d.Body {
		k := -1
		if b.Kind == Ident && !constant(b.Text) {
			k = slices.Index(d.Params, b.Text)
		}
		if k < 0 {
			body = append(body, b)
			continue
		}
		for i, a := range args[k] {
			a.Newline, a.given, a.param = i == 0 && b.Newline, true, b.Pos
			a.Space = i > 0 && a.Space || i == 0 && b.Space
			body = append(body, a)
		}
	}
	return body
}

// argument refuses an argument that SPIN changes, because it joins the tokens and scans them
// again.
func (p *parser) argument(d *Inline, arg []Token) {
	for i, t := range arg {
		var n Token
		if i+1 < len(arg) {
			n = arg[i+1]
		}
		switch {
		case t.isIdent("run"):
			p.fail(&t, "run is not allowed in an argument of inline %s, as in SPIN; assign the "+
				"number of the process to a variable first", d.Name.Text)
		case t.is(","):
			p.fail(&t, "an argument of inline %s cannot have a comma in it, as in SPIN; assign "+
				"the value to a variable first", d.Name.Text)
		case t.is("!") && n.is("!"), t.is("-") && n.is("-"):
			p.fail(&t, "%s %s is %s%s to SPIN in an argument of inline %s; put the operand in "+
				"parentheses", t.Text, t.Text, t.Text, t.Text, d.Name.Text)
		}
	}
}

// replaces refuses an argument that SPIN does not substitute for the k-th parameter: the name of
// another parameter, or its own name before or after a dot.
func (p *parser) replaces(d *Inline, k int, arg []Token) {
	var b strings.Builder
	for _, t := range arg {
		b.WriteString(t.Text)
	}
	text, name := b.String(), d.Params[k]
	if text == name {
		return
	}
	if slices.Contains(d.Params, text) {
		p.fail(&arg[0], "%s is the name of another parameter of inline %s, for which SPIN would "+
			"take it; give one of the two another name", text, d.Name.Text)
	}
	for i := range text {
		rest, found := strings.CutPrefix(text[i:], name)
		if found && (i > 0 && text[i-1] == '.' || strings.HasPrefix(rest, ".")) {
			p.fail(&arg[0], "%s has %s beside a dot, the name of the parameter of inline %s that "+
				"it stands for, which SPIN refuses; give the parameter another name", text, name,
				d.Name.Text)
		}
	}
}

// exprStmt parses what begins with an expression: an assignment, a send, a
// receive, or a condition.
func (p *parser) exprStmt() Stmt {
	t := p.tok()
	pos := t.Pos
	if t.given {
		pos = t.param // the statement is in the inline, whatever it begins with
	}
	if t.Kind == Ident && !keywords[t.Text] && p.meaning(t.Text) == "" {
		save := p.i
		ref := p.ref()
		op := p.tok()
		sameLine := !op.Newline
		switch {
		case op.is("="):
			p.i++
			if d := p.model.Inlines[p.tok().Text]; d != nil && p.tok().Kind == Ident &&
				p.peek(1).is("(") {
				return p.expandInline(d, ref)
			}
			return &Assign{pos, ref, p.expr()}
		case op.is("++"), op.is("--"):
			p.i++
			return &Assign{pos, ref, &Binary{op.Pos, op.Text[:1], ref, &Const{op.Pos, 1}}}
		case sameLine && (op.is("!") || op.is("!!")):
			p.i++
			s := &Send{Pos: pos, Ch: ref, Sorted: op.is("!!")}
			s.Args = p.sendArgs()
			return s
		case sameLine && (op.is("?") || op.is("??")) && !p.peek(1).is("["):
			p.i++
			s := &Recv{Pos: pos, Ch: ref, Random: op.Text == "??"}
			s.Peek = p.accept("<")
			s.Args = p.recvArgs()
			if s.Peek {
				p.want(">", "a receive that leaves the message")
			}
			return s
		}
		p.i = save
	}
	return &ExprStmt{pos, p.expr()}
}

// sendArgs parses a, b, c or a(b, c).
func (p *parser) sendArgs() []Expr {
	args := []Expr{p.sendArg()}
	if p.tok().is("(") && !p.tok().Newline {
		p.i++
		args = append(args, p.sendArg())
		for p.accept(",") {
			args = append(args, p.sendArg())
		}
		p.want(")", "a send")
		return args
	}
	for p.accept(",") {
		args = append(args, p.sendArg())
	}
	return args
}

func (p *parser) sendArg() Expr { return p.expr() }

// recvArgs parses the arguments of a receive. After the first of a group, and around any of
// them, there may be parentheses without meaning: a,b is a(b) and (a,b).
func (p *parser) recvArgs() []RecvArg {
	p.enter()
	defer func() { p.depth-- }()
	group := func() []RecvArg {
		p.want("(", "a receive")
		args := p.recvArgs()
		p.want(")", "a receive")
		return args
	}
	if p.tok().is("(") {
		return group()
	}
	args := []RecvArg{p.recvArg()}
	switch {
	case p.tok().is("(") && !p.tok().Newline:
		args = append(args, group()...)
	case p.accept(","):
		args = append(args, p.recvArgs()...)
	}
	return args
}

func (p *parser) recvArg() RecvArg {
	t := p.tok()
	switch {
	case t.isIdent("_"):
		p.i++
		return RecvArg{}
	case t.isIdent("eval"):
		p.i++
		p.want("(", "eval")
		x := p.expr()
		p.want(")", "eval")
		return RecvArg{X: x, Eval: true}
	case t.Kind == Num, t.Kind == Char, t.isIdent("true"), t.isIdent("false"), t.isIdent("skip"):
		return RecvArg{X: p.primary()}
	case t.is("-"):
		p.i++
		n := p.tok()
		c, ok := p.primary().(*Const)
		if !ok {
			p.fail(n, "a receive matches a number, a name, or eval(...) of an expression")
		}
		return RecvArg{X: &Const{t.Pos, -c.Value}}
	case t.Kind == Ident && p.meaning(t.Text) == aConstant:
		return RecvArg{X: p.primary()}
	case t.Kind == Ident && !keywords[t.Text]:
		return RecvArg{X: p.ref()}
	}
	p.fail(t, "found %s where a receive needs a variable, a constant, eval(...) or _", t.describe())
	return RecvArg{}
}

// ref parses Name[Index].Field.
func (p *parser) ref() *Ref {
	p.enter()
	defer func() { p.depth-- }()
	switch t := p.tok(); p.meaning(t.Text) {
	case aProcess:
		p.fail(t, "%s is a process type: a process is looked at with %s[pid]@label or "+
			"%s[pid]:variable", t.Text, t.Text, t.Text)
	case anInline:
		p.fail(t, "%s is an inline, and a call of it is a statement", t.Text)
	}
	n := p.name("a variable")
	r := &Ref{Pos: n.Pos, Name: n.Text, Known: p.declared()}
	if p.tok().is("[") {
		p.i++
		r.Index = p.expr()
		p.want("]", "an index")
	}
	if p.tok().is(".") {
		p.i++
		r.Field = p.ref()
	}
	return r
}

var precedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

func (p *parser) expr() Expr { return p.binary(0) }

func (p *parser) binary(min int) Expr {
	x := p.unary()
	for {
		op := p.tok()
		prec := precedence[op.Text]
		if op.Kind != Op || prec == 0 || prec <= min {
			return x
		}
		p.i++
		x = &Binary{op.Pos, op.Text, x, p.binary(prec)}
	}
}

func (p *parser) unary() Expr {
	t := p.tok()
	if t.is("!") || t.is("-") || t.is("~") {
		p.enter()
		defer func() { p.depth-- }()
		p.i++
		x := p.unary()
		if c, ok := x.(*Const); ok && t.is("-") {
			return &Const{t.Pos, -c.Value}
		}
		return &Unary{t.Pos, t.Text, x}
	}
	if t.is("!!") {
		p.fail(t, "!! is a sorted send; a double negation is written ! !")
	}
	return p.primary()
}

// character returns the value of 'a' or '\n'. After a backslash, other characters are
// themselves, as in SPIN: '\0' is '0'.
func character(text string) int32 {
	text = text[1 : len(text)-1]
	c := text[len(text)-1]
	if len(text) > 1 {
		if at := strings.IndexByte("nrtf", c); at >= 0 {
			c = "\n\r\t\f"[at]
		}
	}
	return int32(c)
}

func (p *parser) primary() Expr {
	p.enter()
	defer func() { p.depth-- }()
	t := p.tok()
	switch t.Kind {
	case Num:
		p.i++
		v, err := strconv.ParseInt(t.Text, 10, 64)
		if err != nil {
			v = -1 // as SPIN reads it, which cuts off what is beyond an int otherwise
		}
		return &Const{t.Pos, int32(v)}
	case Char:
		p.i++
		return &Const{t.Pos, character(t.Text)}
	case Op:
		if t.is("(") {
			return p.parenthesized()
		}
	case Ident:
		if x := p.word(t); x != nil {
			return x
		}
	}
	p.fail(t, "found %s where an expression should be", t.describe())
	return nil
}

// parenthesized parses an expression in parentheses, or a conditional one.
func (p *parser) parenthesized() Expr {
	pos := p.tok().Pos
	p.i++
	x := p.expr()
	if !p.property && p.accept("->") { // in an ltl block, that is an implication
		c := &Cond{Pos: pos, If: x, Then: p.expr()}
		p.want(":", "the conditional expression (c -> a : b)")
		c.Else = p.expr()
		x = c
	}
	p.want(")", "an expression in parentheses")
	return x
}

// word parses an operand that begins with a word; nil if no operand does.
func (p *parser) word(t *Token) Expr {
	switch t.Text {
	case "true", "skip":
		p.i++
		return &Const{t.Pos, 1}
	case "false":
		p.i++
		return &Const{t.Pos, 0}
	case "run":
		return p.run()
	case "len", "empty", "nempty", "full", "nfull":
		p.i++
		p.want("(", t.Text)
		x := &ChanOp{t.Pos, t.Text, p.ref()}
		p.want(")", t.Text)
		return x
	case "enabled", "pc_value", "get_priority":
		p.i++
		p.want("(", t.Text)
		x := &Call{t.Pos, t.Text, p.expr()}
		p.want(")", t.Text)
		return x
	case "timeout", "np_", "_last", "_pid", "_nr_pr":
		p.i++
		return &Special{t.Pos, t.Text}
	case "_priority":
		p.i++
		return &Call{t.Pos, "get_priority", &Special{t.Pos, "_pid"}}
	case "c_expr":
		p.fail(t, "c_expr: C code in a model is not supported, because a model is explored "+
			"without a C compiler; write it in Promela")
	}
	if keywords[t.Text] {
		return nil
	}
	if p.meaning(t.Text) == aConstant {
		p.i++
		return &Ref{Pos: t.Pos, Name: t.Text, Symbolic: true, Number: t.given}
	}
	if r := p.remote(); r != nil {
		return r
	}
	ref := p.ref()
	if op := p.tok(); (op.is("?") || op.is("??")) && p.peek(1).is("[") && !op.Newline {
		p.i += 2
		x := &Poll{Pos: ref.Pos, Ch: ref, Random: op.Text == "??"}
		x.Args = p.recvArgs()
		p.want("]", "a poll of a channel")
		return x
	}
	return ref
}

// remote parses Proc[pid]@label, Proc@label, Proc[pid]:var and Proc:var.
func (p *parser) remote() Expr {
	t := p.tok()
	i := 1
	if p.peek(1).is("[") {
		depth := 0
		for i = 1; p.peek(i).Kind != EOF; i++ {
			if p.peek(i).is("[") {
				depth++
			}
			if p.peek(i).is("]") {
				if depth--; depth == 0 {
					i++
					break
				}
			}
		}
	}
	sep := p.peek(i)
	if !sep.is("@") && !(sep.is(":") && p.peek(i+1).Kind == Ident && !keywords[p.peek(i+1).Text] &&
		p.isProc(t.Text)) {
		return nil
	}
	r := &Remote{Pos: t.Pos, Proc: p.processName()}
	if p.isProc(t.Text) && p.meaning(t.Text) != aProcess {
		p.errorAt(t.Pos, len(t.Text), "%s is declared only below, and a process can be looked at "+
			"only behind its declaration, as in SPIN; move that up", t.Text)
	}
	if p.accept("[") {
		r.Pid = p.expr()
		p.want("]", "the number of a process")
	}
	if p.next().Text == "@" {
		r.Label = p.name("a label").Text
		p.model.Watched[r.Proc.Text+"@"+r.Label] = true
		return r
	}
	r.Var = p.ref()
	return r
}

// processName parses the name of a process type, which may be declared below.
func (p *parser) processName() Name {
	if t := p.tok(); t.Kind == Ident && p.meaning(t.Text) == aProcess {
		p.i++
		return Name{t.Pos, t.Text}
	}
	return p.name("another process type")
}

// isProc reports whether a process type of that name is declared somewhere.
func (p *parser) isProc(name string) bool { return p.procs[name] }

func (p *parser) run() Expr {
	p.runs++
	t := p.next()
	x := &Run{Pos: t.Pos, Name: p.processName()}
	p.want("(", "run")
	for !p.accept(")") {
		if len(x.Args) > 0 {
			p.want(",", "the arguments of a process")
		}
		x.Args = append(x.Args, p.expr())
	}
	if p.acceptWord("priority") {
		x.Priority = p.priority()
	}
	return x
}
