package syntax

import (
	"slices"
	"strings"

	"cpor/frontend/source"
	"cpor/internal/human"
)

// maxNesting bounds how deeply constructs may be inside each other, and maxHeight how high the
// tree of an expression may be (a + b + c is a tree of height 3). They keep every recursion over
// the tree far from the end of the stack. No reasonable model comes near them.
const (
	maxNesting = 1000
	maxHeight  = 10_000
)

// maxErrors is the number of syntax errors after which the parser gives up.
const maxErrors = 200

// Parse parses a model file. If there are syntax errors the error is a
// *[source.List] with all of them, and the file holds what could be read (it is
// never nil).
func Parse(f *source.File) (*File, error) {
	file := &File{Source: f, Broken: map[Decl]bool{}, Partial: map[Decl]bool{}}
	p := &parser{file: file, list: source.List{File: f}, lastLine: -1}
	if m := checkText(f.Text); m != nil {
		p.list.Messages = append(p.list.Messages, m)
		file.Lost = true
		return file, p.list.Err()
	}
	p.s.errorf = func(from, to int, format string, args ...any) {
		p.errorAt(source.Pos(from), source.Pos(to), format, args...)
	}
	f.Parts(func(from, to source.Pos) {
		p.s = scanner{errorf: p.s.errorf, text: f.Text[:to], off: int(from), begin: int(from),
			lineStart: int(from)}
		p.prevEnd, p.lastLine = from, -1
		p.parseFile()
	})
	return file, p.list.Err()
}

// What a panic of the parser carries; none leaves Parse.
type (
	bailStmt  struct{} // continue after the statement or declaration
	bailDecl  struct{} // continue with the next top-level declaration
	bailParse struct{} // give up
)

type parser struct {
	file *File
	list source.List
	s    scanner

	prevEnd  source.Pos // the end of the token before the current one
	braces   int        // open braces before the current token
	exprLev  int        // < 0: in a control clause, where T { is no literal
	nesting  int
	height   int  // of the expression parsed last
	lastLine int  // the line of the last error, to report one per line
	errors   int  // with the ones that were left out
	ltl      bool // in the formula of an ltl property
	cur      Decl
	bodyOnly int // p.errors behind the body of cur, if there was none before it; -1 if not
}

func (p *parser) pos() source.Pos { return source.Pos(p.s.from) }

// next goes to the next token.
func (p *parser) next() {
	switch p.s.tok {
	case tLbrace:
		p.braces++
	case tRbrace:
		p.braces--
	}
	p.prevEnd = source.Pos(p.s.to)
	p.s.next()
}

// span returns the extent of a node that began at from and ends before the
// current token.
func (p *parser) span(from source.Pos) Span {
	return Span{From: from, To: max(from, p.prevEnd)}
}

// errorAt reports an error. A second one on the same line is usually a consequence of the first,
// and is dropped.
func (p *parser) errorAt(from, to source.Pos, format string, args ...any) *source.Message {
	p.errors++
	line, _ := p.file.Source.Position(from)
	if line == p.lastLine {
		return &source.Message{}
	}
	p.lastLine = line
	m := p.list.Add(from, to, format, args...)
	if p.list.Len() >= maxErrors {
		panic(bailParse{})
	}
	return m
}

// fail reports an error at the current token and leaves the statement.
func (p *parser) fail(format string, args ...any) {
	from, to := p.here()
	p.failAt(from, to, format, args...)
}

// here returns the place of the current token for a message. The end of a line or of the file is
// placed after the last token, before any comment.
func (p *parser) here() (from, to source.Pos) {
	if p.s.autoSemi || p.s.tok == tEOF {
		return p.prevEnd, p.prevEnd
	}
	return p.pos(), source.Pos(p.s.to)
}

// failAt reports an error and leaves the statement.
func (p *parser) failAt(from, to source.Pos, format string, args ...any) {
	if p.s.tok != tBad || from != p.pos() { // tBad was reported by the scanner
		p.errorAt(from, to, format, args...)
	}
	panic(bailStmt{})
}

// expected reports that something other than the current token should be here.
func (p *parser) expected(what string) {
	p.fail("expected %s, found %s", what, p.s.describe())
}

func (p *parser) expect(t token, what string) source.Pos {
	if p.s.tok != t {
		if p.s.tok == tAssign { // behind a condition
			p.fail("expected %s, found '='; did you mean '=='?", what)
		}
		p.expected(what)
	}
	pos := p.pos()
	p.next()
	return pos
}

func (p *parser) got(t token) bool {
	if p.s.tok == t {
		p.next()
		return true
	}
	return false
}

// enter counts a level of nesting; leave with defer p.leave().
func (p *parser) enter() {
	p.nesting++
	if p.nesting > maxNesting {
		p.errorAt(p.pos(), source.Pos(p.s.to), "nested too deeply: more than %d levels", maxNesting)
		panic(bailParse{})
	}
}

func (p *parser) leave() { p.nesting-- }

// grow sets the height of the current expression, whose highest part has height h.
func (p *parser) grow(h int) {
	p.height = h + 1
	if p.height > maxHeight {
		p.errorAt(p.pos(), source.Pos(p.s.to),
			"this expression is too long: more than %d operators in a row", maxHeight)
		panic(bailParse{})
	}
}

// ---------------------------------------------------------------- top level

// declStart are the keywords that begin a declaration at the top level; own
// are those that begin nothing else.
func declStart(t token) bool {
	return t == tConst || t == tType || t == tVar || ownDecl(t)
}

// declNames begin declarations, too, but are not keywords.
var declNames = []string{"unshared", "comm", "mutex", "rwmutex", "monitor", "semaphore",
	"waitgroup", "cond", "include", "ltl", "symmetric"}

func ownDecl(t token) bool {
	return t == tFunc || t == tThread || t == tInit || t == tInvariant
}

// atMargin reports whether the current token is a keyword of a top-level declaration in the
// first column: the place to continue after an error.
func (p *parser) atMargin() bool {
	return p.s.newLine && p.s.from == p.s.lineStart && ownDecl(p.s.tok)
}

func (p *parser) parseFile() {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case bailParse:
			p.file.Lost = true
		default:
			panic(r)
		}
	}()
	p.next()
	for p.s.tok != tEOF {
		if p.got(tSemi) {
			continue
		}
		p.topDecl()
	}
}

// topDecl parses one top-level declaration, or group of them, and skips to the
// next one after an error that nothing below could handle.
func (p *parser) topDecl() {
	errs := p.errors
	start := len(p.file.Decls)
	p.cur, p.braces, p.exprLev, p.nesting, p.bodyOnly = nil, 0, 0, 0, -1
	begin := p.s.from
	defer p.endTopDecl(errs, start, begin)

	pos := p.pos()
	switch p.s.tok {
	case tConst, tType, tVar:
		p.decls(func(d Decl) { p.file.Decls = append(p.file.Decls, d) })
	case tFunc:
		p.funcDecl()
	case tThread:
		p.threadDecl(pos, false)
	case tInit:
		p.initDecl(pos, errs)
	case tInvariant:
		p.invariantDecl(pos)
	case tImport:
		p.fail("there are no imports: write include \"file.model\"")
	case tChan:
		p.fail("a channel is a variable: var c chan int, or var c chan(4) int with a buffer")
	case tPackage:
		p.fail("there are no packages: leave the package clause out")
	case tRbrace:
		p.endedEarly()
		p.fail("this '}' has no matching '{'")
	case tName:
		if p.namedDecl(pos) {
			return
		}
		p.noDecl()
	default:
		p.noDecl()
	}
	switch d := p.cur.(type) {
	case *FuncDecl, *ThreadDecl, *InitDecl, *InvariantDecl:
		p.file.Decls = append(p.file.Decls, d)
	}
	p.cur = nil
	p.endDecl()
}

// namedDecl parses a declaration that begins with a name which only there has a meaning, and
// tells whether it is one.
func (p *parser) namedDecl(pos source.Pos) bool {
	switch p.s.lit {
	case "unshared", "comm":
		p.classDecl()
	case "mutex", "rwmutex", "monitor", "semaphore", "waitgroup", "cond":
		p.objectDecl()
	case "include":
		p.include()
	case "symmetric":
		p.next()
		if p.s.tok != tThread {
			p.expected("thread after symmetric")
		}
		p.threadDecl(pos, true)
		p.file.Decls = append(p.file.Decls, p.cur)
		p.cur = nil
		p.endDecl()
	case "ltl":
		p.ltlDecl()
		p.file.Decls = append(p.file.Decls, p.cur)
		p.cur = nil
		p.endDecl()
	case "proctype", "active", "process":
		p.fail("a kind of thread is declared with thread: thread %s(x int) { ... }", "Name")
	case "mtype":
		p.fail("an enumeration is a group of constants: const ( A = iota; B; C )")
	default:
		return false
	}
	p.cur = nil
	return true
}

// noDecl fails because there is no declaration.
func (p *parser) noDecl() {
	if p.s.newLine && p.s.from != p.s.lineStart {
		p.endedEarly()
	}
	p.fail("expected a declaration (const, type, var, func, thread, init or invariant), "+
		"found %s", p.s.describe())
}

// endTopDecl is deferred by topDecl. After an error it skips to the next declaration; begin is
// where this one began, and it is one of those from start on.
func (p *parser) endTopDecl(errs, start, begin int) {
	r := recover()
	switch r.(type) {
	case nil, bailStmt, bailDecl:
	default:
		panic(r)
	}
	if r != nil {
		if p.cur != nil {
			p.file.Decls = append(p.file.Decls, p.cur)
		} else {
			p.file.Lost = true
		}
		if p.s.from == begin {
			p.next()
		}
		for p.s.tok != tEOF && !(p.s.newLine && p.s.from == p.s.lineStart &&
			(declStart(p.s.tok) || p.s.tok == tName && slices.Contains(declNames, p.s.lit))) {
			p.next()
		}
		if p.cur == nil {
			lost := &BadStmt{}
			p.mentioned(lost, begin, int(p.prevEnd))
			p.file.LostNames = append(p.file.LostNames, lost.Declared...)
		}
	}
	if p.errors > errs {
		for _, d := range p.file.Decls[start:] {
			p.file.Broken[d] = true
			p.file.Partial[d] = r == nil && p.bodyOnly == p.errors
		}
	}
}

func (p *parser) initDecl(pos source.Pos, errs int) {
	p.next()
	d := &InitDecl{Span: Span{pos, pos}}
	p.cur = d
	if p.s.tok == tLparen {
		p.fail("init has no parameters: write init { ... }")
	}
	d.Body = p.body(errs, "the body of init")
	d.Span = p.span(pos)
}

func (p *parser) invariantDecl(pos source.Pos) {
	p.next()
	if p.s.tok == tLbrace {
		p.fail("an invariant needs a name: invariant name { condition }")
	}
	d := &InvariantDecl{Span: Span{pos, pos}, Name: p.ident("the invariant's name")}
	p.cur = d
	p.expect(tLbrace, "'{'")
	d.Cond = p.expr()
	p.got(tSemi)
	p.expect(tRbrace, "'}' after the invariant's condition")
	d.Span = p.span(pos)
}

// threadDecl parses a thread.
func (p *parser) threadDecl(pos source.Pos, symmetric bool) {
	errs := p.errors
	p.next()
	d := &ThreadDecl{Span: Span{pos, pos}, Symmetric: symmetric, Name: p.ident("the thread's name")}
	p.cur = d
	d.Params = p.params()
	d.Body = p.body(errs, "the thread's body")
	d.Span = p.span(pos)
}

// endedEarly notes that the declaration before this place has probably ended too early: what was
// parsed as its body is unreliable.
func (p *parser) endedEarly() {
	if n := len(p.file.Decls); n > 0 {
		p.file.Broken[p.file.Decls[n-1]] = true
		p.file.Partial[p.file.Decls[n-1]] = false
	}
}

// classDecl parses shared variables with their class: comm var x, y int.
func (p *parser) classDecl() {
	class := Unshared
	if p.s.lit == "comm" {
		class = Communication
	}
	word := p.s.lit
	p.next()
	if p.s.tok != tVar {
		p.expected("var after " + word)
	}
	p.decls(func(d Decl) {
		d.(*VarDecl).Class = class
		p.file.Decls = append(p.file.Decls, d)
	})
	p.endDecl()
}

// include parses include "file".
func (p *parser) include() {
	pos := p.pos()
	p.next()
	if p.s.tok != tString {
		p.expected("the name of the file, as a string")
	}
	d := &IncludeDecl{Path: &StringLit{Span{p.pos(), source.Pos(p.s.to)}, p.s.lit}}
	p.next()
	d.Span = p.span(pos)
	p.file.Decls = append(p.file.Decls, d)
	p.endDecl()
}

// objectDecl parses monitor m, n, which represents var m, n monitor.
func (p *parser) objectDecl() {
	pos := p.pos()
	t := &Ident{Span{pos, source.Pos(p.s.to)}, p.s.lit}
	p.next()
	d := &VarDecl{Span: Span{pos, pos}, Names: p.idents("the " + t.Name + "'s name"),
		Type: &NamedType{t.Span, t}}
	if p.s.tok == tLbrack {
		p.fail("an array is declared with var: var %s [n]%s", d.Names[len(d.Names)-1].Name, t.Name)
	}
	if p.got(tAssign) {
		d.Values = p.exprs()
		if len(d.Values) != len(d.Names) {
			p.failAt(d.Names[0].Pos(), p.prevEnd, "%s for %s", human.Plural(len(d.Values), "value"),
				human.Plural(len(d.Names), "variable"))
		}
	}
	d.Span = p.span(pos)
	p.file.Decls = append(p.file.Decls, d)
	p.endDecl()
}

// body parses the block of a declaration, before which there were errs errors.
func (p *parser) body(errs int, what string) *Block {
	whole := p.errors == errs
	b := p.block(what)
	if whole {
		p.bodyOnly = p.errors
	}
	return b
}

func (p *parser) endDecl() {
	if p.s.tok != tEOF && p.s.tok != tSemi {
		p.expected("the end of the declaration")
	}
}

func (p *parser) funcDecl() {
	errs := p.errors
	pos := p.pos()
	p.next()
	if p.s.tok == tLparen {
		p.fail("there are no methods: write a function with the receiver as a parameter")
	}
	d := &FuncDecl{Span: Span{pos, pos}, Name: p.ident("the function's name")}
	p.cur = d
	if p.s.tok == tLbrack {
		p.fail("there are no type parameters")
	}
	d.Params = p.params()
	if p.s.tok == tLparen {
		p.next()
		for p.s.tok != tRparen {
			at := p.pos()
			d.Results = append(d.Results, p.typ())
			if p.s.tok == tName {
				p.failAt(at, p.prevEnd, "results have no names: write the types only")
			}
			if !p.got(tComma) {
				break
			}
		}
		p.expect(tRparen, "')' after the results")
	} else if p.s.tok != tLbrace && p.s.tok != tSemi {
		d.Results = []TypeExpr{p.typ()}
	}
	d.Body = p.body(errs, "the function's body")
	d.Span = p.span(pos)
}

// decls parses a const, type or var declaration or a group of them.
func (p *parser) decls(add func(Decl)) {
	key := p.s.tok
	pos := p.pos()
	p.next()
	one := func(pos source.Pos) { p.typeOrVar(key, pos, add) }
	if key == tConst {
		var group constGroup
		one = func(pos source.Pos) { p.constSpec(&group, pos, add) }
	}
	if p.s.tok != tLparen {
		one(pos)
		return
	}
	p.next()
	for p.s.tok != tRparen && p.s.tok != tEOF {
		one(p.pos())
		if p.s.tok != tRparen {
			if p.s.tok != tSemi {
				p.expected("the end of the line")
			}
			p.next()
		}
	}
	p.expect(tRparen, "')' after the group")
}

// constGroup is what a constant declaration inherits from the previous one.
type constGroup struct {
	iota   int
	typ    TypeExpr
	values []Expr
}

func (p *parser) constSpec(g *constGroup, pos source.Pos, add func(Decl)) {
	names := p.idents("the constant's name")
	var typ TypeExpr
	if p.s.tok != tAssign && p.s.tok != tSemi && p.s.tok != tRparen && p.s.tok != tEOF {
		typ = p.typ()
	}
	if p.got(tAssign) {
		g.typ, g.values = typ, p.exprs()
	} else if typ != nil || g.values == nil {
		p.failAt(names[0].Pos(), names[len(names)-1].End(), "the constant %s has no value",
			names[0].Name)
	}
	switch {
	case len(g.values) < len(names):
		p.failAt(names[0].Pos(), p.prevEnd, "%d constants, but only %s", len(names),
			human.Plural(len(g.values), "value"))
	case len(g.values) > len(names):
		p.failAt(names[0].Pos(), p.prevEnd, "%d values for %s", len(g.values),
			human.Plural(len(names), "constant"))
	}
	for i, n := range names {
		add(&ConstDecl{Span: p.span(pos), Name: n, Type: g.typ, Value: g.values[i], Iota: g.iota})
	}
	g.iota++
}

func (p *parser) typeOrVar(key token, pos source.Pos, add func(Decl)) {
	if key == tType {
		d := &TypeDecl{Span: Span{pos, pos}, Name: p.ident("the type's name")}
		if p.s.tok == tAssign {
			p.fail("there are no type aliases: type %s ... without '=' declares a new type",
				d.Name.Name)
		}
		d.Type = p.typ()
		d.Span = p.span(pos)
		add(d)
		return
	}
	d := &VarDecl{Span: Span{pos, pos}, Names: p.idents("the variable's name")}
	if p.s.tok == tDefine {
		p.fail("':=' declares without var: write var x = ..., or x := ... in a body")
	}
	if p.s.tok != tAssign {
		d.Type = p.typ()
	}
	if p.got(tAssign) {
		d.Values = p.exprs()
	}
	if n := len(d.Values); n != 0 && n != len(d.Names) {
		_, call := Unparen(d.Values[0]).(*CallExpr)
		u, ok := Unparen(d.Values[0]).(*UnaryExpr)
		recv := ok && u.Op == Arrow && len(d.Names) == 2
		if n > 1 || !call && !recv {
			p.failAt(d.Names[0].Pos(), p.prevEnd, "%s for %s", human.Plural(n, "value"),
				human.Plural(len(d.Names), "variable"))
		}
	}
	d.Span = p.span(pos)
	add(d)
}

func (p *parser) params() []*Param {
	p.expect(tLparen, "'('")
	list := p.fieldList(tRparen, tComma)
	p.expect(tRparen, "')' after the parameters")
	return list
}

// fieldList parses a, b T separated by sep, up to the token end.
func (p *parser) fieldList(end, sep token) []*Param {
	var list []*Param
	for p.s.tok != end && p.s.tok != tEOF {
		if p.s.tok == tEllipsis || p.s.tok == tOp && p.s.op == Mul || p.s.tok == tLbrack {
			p.expected("a name and its type")
		}
		names := p.idents("a name")
		switch {
		case p.s.tok == end || p.s.tok == tSemi || p.s.tok == tComma:
			last := names[len(names)-1]
			p.failAt(last.Pos(), last.End(), "%s has no type: write name and type, as in %s int",
				last.Name, last.Name)
		case p.s.tok == tEllipsis:
			p.fail("there are no variable numbers of parameters: use an array")
		case p.s.tok == tDot:
			p.fail("there are no packages")
		}
		t := p.typ()
		for _, n := range names {
			list = append(list, &Param{Span: Span{n.From, t.End()}, Name: n, Type: t})
		}
		if p.s.tok == tString {
			p.fail("fields have no tags")
		}
		if !p.got(sep) {
			break
		}
	}
	return list
}

// ---------------------------------------------------------------- names and types

func (p *parser) ident(what string) *Ident {
	if p.s.tok != tName {
		if p.s.tok >= tAssert {
			p.fail("expected %s, but %s is a keyword", what, p.s.lit)
		}
		p.expected(what)
	}
	n := &Ident{Span{p.pos(), source.Pos(p.s.to)}, p.s.lit}
	if reserved[n.Name] {
		p.errorAt(n.From, n.To, "%s is reserved for future use; choose another name",
			n.Name)
	}
	p.next()
	return n
}

func (p *parser) idents(what string) []*Ident {
	list := []*Ident{p.ident(what)}
	for p.got(tComma) {
		list = append(list, p.ident(what))
	}
	return list
}

// chanType parses what follows chan or bag.
func (p *parser) chanType(pos source.Pos, bag bool) TypeExpr {
	var size Expr
	if p.s.tok == tLparen {
		p.next()
		size = p.inner(p.expr)
		p.expect(tRparen, "')' after the channel's capacity")
	}
	elem := p.typ()
	return &ChanType{p.span(pos), size, elem, bag}
}

func (p *parser) typ() TypeExpr {
	p.enter()
	defer p.leave()
	pos := p.pos()
	switch p.s.tok {
	case tName:
		n := p.ident("a type")
		if p.s.tok == tDot {
			p.packageType(n)
		}
		if n.Name == "bag" && p.s.tok == tLparen { // a name everywhere else
			return p.chanType(pos, true)
		}
		if n.Name == "bag" && p.s.tok == tName {
			p.fail("a bag has a capacity: bag(4) T")
		}
		if n.Name == "symmetric" && p.s.tok == tLparen {
			p.next()
			size := p.inner(p.expr)
			p.expect(tRparen, "')' after the number of names")
			return &SymmetricType{p.span(pos), size}
		}
		return &NamedType{n.Span, n}
	case tLbrack:
		p.next()
		if p.s.tok == tEllipsis {
			p.fail("[...] is allowed only in a literal: [...]int{1, 2, 3}")
		}
		return p.arrayType(pos)
	case tStruct:
		p.next()
		p.expect(tLbrace, "'{' after struct")
		fields := p.fieldList(tRbrace, tSemi)
		p.expect(tRbrace, "'}' after the fields")
		return &StructType{p.span(pos), fields}
	case tChan:
		p.next()
		if p.s.tok == tArrow {
			p.fail("a channel has no direction: write chan T")
		}
		return p.chanType(pos, false)
	case tAtomic:
		p.next()
		if p.s.tok == tDot {
			p.atomicPackage()
		}
		elem := p.typ()
		return &AtomicType{p.span(pos), elem}
	case tOp:
		if p.s.op == Mul {
			p.next()
			elem := p.typ()
			return &PointerType{p.span(pos), elem}
		}
	case tLparen:
		p.next()
		t := p.typ()
		p.expect(tRparen, "')' after the type")
		return t
	}
	if why, ok := noType[p.s.tok]; ok {
		p.fail("%s", why)
	}
	p.expected("a type")
	return nil
}

// noType says of tokens that begin a type in Go what to write.
var noType = map[token]string{
	tArrow:     "a channel has no direction: write chan T",
	tMap:       "there are no maps: use an array, indexed by a small integer",
	tFunc:      "there are no function values: declare a function and call it",
	tInterface: "there are no interfaces: use a struct with a field that tells the kinds apart",
}

// packageType refuses a type of a package, whose name is n, and says what to write.
func (p *parser) packageType(n *Ident) {
	switch n.Name {
	case "sync":
		from, to := p.here()
		p.next()
		switch p.ident("a type").Name {
		case "RWMutex":
			p.failAt(from, to, "there are no packages: a lock for many readers is a "+
				"variable of type rwmutex")
		case "WaitGroup":
			p.failAt(from, to, "there are no packages: a WaitGroup is a variable "+
				"of type waitgroup")
		case "Cond":
			p.failAt(from, to, "there are no packages: a condition is a variable of type "+
				"cond; or just await(cond)")
		case "Once":
			p.failAt(from, to, "there are no packages: do something once with a variable: "+
				"if cas(done, false, true) { ... }")
		}
		p.failAt(from, to, "there are no packages: a lock is a variable of type mutex")
	}
	if n.Name == "context" {
		p.fail("there are no packages: a context is a channel that is closed when it ends")
	}
	p.fail("there are no packages")
}

// makeArray refuses make([2]chan int, n), and says what to write: an array is there without make.
func (p *parser) makeArray(n *Ident, t TypeExpr) {
	elem := t
	for a, ok := elem.(*ArrayType); ok; a, ok = elem.(*ArrayType) {
		elem = a.Elem
	}
	what := "an array needs no make: declare var a %s"
	if c, ok := elem.(*ChanType); ok {
		what = "make makes one channel: for an array of them, declare the shared variable var c %s"
		if c.Cap == nil && p.got(tComma) && p.s.tok != tRparen {
			c.Cap = p.expr()
		}
	}
	p.failAt(n.From, source.Pos(p.s.from), what, String(t))
}

// arrayType parses an array type after its '['; [...] leaves Len nil.
func (p *parser) arrayType(pos source.Pos) TypeExpr {
	var n Expr
	if p.s.tok == tRbrack {
		p.failAt(pos, source.Pos(p.s.to), "there are no slices: use an array, [N]T with a "+
			"constant N")
	}
	if !p.got(tEllipsis) {
		n = p.inner(p.expr)
	}
	p.expect(tRbrack, "']' after the array's length")
	elem := p.typ()
	return &ArrayType{p.span(pos), n, elem}
}

// ---------------------------------------------------------------- statements

func (p *parser) block(what string) *Block {
	pos := p.pos()
	if p.s.tok != tLbrace {
		p.noBrace(what)
	}
	p.enter()
	defer p.leave()
	lev := p.exprLev
	p.exprLev = 0
	p.next()
	b := &Block{Stmts: p.stmts()}
	for p.s.tok == tCase || p.s.tok == tDefault {
		p.tryStmt(func(Stmt) {}) // reports it
		b.Stmts = append(b.Stmts, p.stmts()...)
	}
	p.closeBrace(pos)
	p.exprLev = lev
	b.Span = p.span(pos)
	return b
}

// noBrace reports that a block does not begin here.
func (p *parser) noBrace(what string) {
	if p.s.autoSemi {
		line, _ := p.file.Source.Position(p.pos())
		if part, _ := p.file.Source.Part(p.pos()); strings.HasPrefix(
			strings.TrimSpace(part.Line(line+1)), "{") {
			p.fail("the '{' of %s must be on this line, not on the next one", what)
		}
	}
	p.expected("'{' and " + what)
}

// closeBrace expects the brace that closes the one at open.
func (p *parser) closeBrace(open source.Pos) {
	if p.got(tRbrace) {
		return
	}
	if p.s.tok == tEOF || p.atMargin() {
		at, _ := p.here()
		p.errorAt(open, open+1, "this '{' has no matching '}'").
			Note(at, "a '}' is missing before %s", p.s.describe())
		panic(bailDecl{})
	}
	p.expected("'}'")
}

// stmts parses statements up to a closing brace or the next case.
func (p *parser) stmts() []Stmt {
	var list []Stmt
	for p.s.tok != tRbrace && p.s.tok != tEOF && p.s.tok != tCase && p.s.tok != tDefault &&
		!p.atMargin() {
		p.tryStmt(func(s Stmt) { list = append(list, s) })
	}
	return list
}

// tryStmt parses a statement and its end. After an error it skips the statement, and adds what
// is left of it.
func (p *parser) tryStmt(add func(Stmt)) {
	braces, nesting, begin, first := p.braces, p.nesting, p.s.from, p.s.tok
	var list []Stmt
	ended := p.attempt(func() {
		switch p.s.tok {
		case tConst, tType, tVar:
			p.decls(func(d Decl) { list = append(list, &DeclStmt{Span{d.Pos(), d.End()}, d}) })
		default:
			st := p.stmt()
			list = append(list, st)
			p.foreign(st)
			if l, ok := st.(*LabeledStmt); ok && (p.s.tok == tCase || p.s.tok == tDefault) {
				if _, ok := l.Stmt.(*EmptyStmt); ok {
					return // a label at the end of a case
				}
			}
		}
		p.endStmt()
	})
	if ended {
		for _, s := range list {
			add(s)
		}
		return
	}
	p.exprLev, p.nesting = 0, nesting
	bad := &BadStmt{Loop: first == tFor}
	from := begin
	for _, s := range list { // the error is behind it
		switch s.(type) {
		case *IfStmt, *ForStmt, *RangeStmt, *SwitchStmt, *SelectStmt, *ChooseStmt, *AtomicStmt,
			*SyncStmt, *Block:
			add(s)
			from = int(s.End())
		}
	}
	bad.From = source.Pos(from)
	switch first {
	case tIf, tFor, tAtomic, tSynchronized:
		bad.Blocks = p.bodies(braces)
	}
	p.sync(braces, begin)
	bad.To = max(bad.From, p.prevEnd)
	for _, b := range bad.Blocks {
		p.mentioned(bad, from, int(b.From))
		from = int(b.To)
	}
	p.mentioned(bad, from, int(bad.To))
	add(bad)
}

// attempt runs a part of the parser, and reports whether it succeeded.
func (p *parser) attempt(f func()) (ended bool) {
	defer func() {
		switch r := recover().(type) {
		case nil, bailStmt:
		default:
			panic(r)
		}
	}()
	f()
	return true
}

// bodies parses the blocks of a statement that failed before them, inside the given number
// of braces: those whose brace ends its line, which are not literals.
func (p *parser) bodies(braces int) []*Block {
	var list []*Block
	for p.braces == braces {
		for p.s.tok != tEOF && p.s.tok != tRbrace && !p.s.autoSemi && !p.atMargin() &&
			!p.opensLine() {
			if p.s.tok == tLbrace {
				return list
			}
			p.next()
		}
		if p.s.tok != tLbrace {
			break
		}
		var b *Block
		if !p.attempt(func() { b = p.block("a block") }) {
			break
		}
		list = append(list, b)
		if !p.got(tElse) {
			break
		}
	}
	return list
}

// opensLine reports whether the current token is an open brace at the end of its line.
func (p *parser) opensLine() bool {
	if p.s.tok != tLbrace {
		return false
	}
	line, _, _ := strings.Cut(p.s.text[p.s.to:], "\n")
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "//")
}

// mentioned records the names in a part of a statement that could not be parsed, and which of
// them are declared there: those before := and in, and all names of a declaration.
func (p *parser) mentioned(bad *BadStmt, from, to int) {
	if from >= to {
		return
	}
	add := func(list *[]string, names ...string) {
		for _, n := range names {
			if !slices.Contains(*list, n) {
				*list = append(*list, n)
			}
		}
	}
	s := scanner{errorf: func(int, int, string, ...any) {}, text: p.s.text[:to], off: from,
		begin: from, lineStart: from}
	var row []string // a, b, c
	all, clean := false, true
	before := tEOF
	step := func() { before = s.tok; s.next() }
	for s.next(); s.tok != tEOF; step() {
		switch s.tok {
		case tName:
			add(&bad.Names, s.lit)
			if all {
				add(&bad.Declared, s.lit)
			}
			row = append(row, s.lit)
			continue
		case tComma:
			clean = clean && before == tName
			continue
		case tDefine:
			add(&bad.Declared, row...)
			bad.Unnamed = bad.Unnamed || !clean || before != tName
		case tVar, tConst, tType:
			all = true
		}
		bad.Unnamed = bad.Unnamed || all && before == tComma || before == tVar ||
			before == tConst || before == tType
		row = nil
		switch s.tok {
		case tSemi, tLbrace, tFor, tIf, tSwitch, tCase, tColon:
			clean = true
		default:
			clean = false
		}
	}
}

// foreign explains statements of other languages that begin like a name.
func (p *parser) foreign(s Stmt) {
	x, ok := s.(*ExprStmt)
	if !ok || p.s.tok == tSemi || p.s.tok == tRbrace {
		return
	}
	e := x.X
	if call, ok := e.(*CallExpr); ok {
		e = call.Fun
	}
	if id, ok := e.(*Ident); ok && id.Name == "while" {
		p.failAt(id.From, id.To, "there is no while: a loop is written for condition { ... }")
	}
}

func (p *parser) endStmt() {
	switch p.s.tok {
	case tSemi:
		p.next()
	case tRbrace:
	default:
		if p.atMargin() {
			return
		}
		p.expected("the end of the statement")
	}
}

// sync skips the statement that began at begin, inside the given number of braces.
func (p *parser) sync(braces, begin int) {
	for p.s.tok != tEOF && !p.atMargin() {
		if p.braces <= braces {
			if p.s.tok == tSemi {
				p.next()
				return
			}
			if p.s.tok == tRbrace {
				return
			}
			if (p.s.tok == tCase || p.s.tok == tDefault) && p.s.from > begin {
				return // of the switch, select or choose around
			}
		}
		p.next()
	}
}

func (p *parser) stmt() Stmt {
	p.enter()
	defer p.leave()
	pos := p.pos()
	switch p.s.tok {
	case tSemi:
		return &EmptyStmt{Span{pos, pos}}
	case tLbrace:
		return p.block("a block")
	case tIf:
		return p.ifStmt()
	case tFor:
		return p.forStmt()
	case tSwitch:
		return p.switchStmt()
	case tSelect:
		return p.selectStmt()
	case tSynchronized:
		p.next()
		p.expect(tLparen, "'('")
		m := p.inner(p.expr)
		p.expect(tRparen, "')'")
		body := p.block("the synchronized block")
		return &SyncStmt{p.span(pos), m, body}
	case tAtomic:
		p.next()
		if p.s.tok == tDot {
			p.atomicPackage()
		}
		body := p.block("the atomic block")
		return &AtomicStmt{p.span(pos), body}
	case tGo:
		return p.goStmt()
	case tReturn:
		return p.returnStmt()
	case tBreak, tContinue, tGoto, tFallthrough:
		return p.branchStmt()
	case tAwait:
		return p.awaitStmt()
	case tAssert:
		return p.assertStmt()
	case tSkip:
		return p.skipStmt()
	case tCase, tDefault:
		p.fail("%s outside of switch, select and choose", p.s.lit)
	case tThread, tInit, tInvariant:
		p.fail("%s is only allowed at the top level of a file", p.s.lit)
	case tChoose:
		return p.chooseStmt()
	}
	if why, ok := noStatement[p.s.tok]; ok {
		p.fail("%s", why)
	}
	return p.simpleStmt(labelOK)
}

// noStatement says of tokens that begin a statement in other languages what to write.
var noStatement = map[token]string{
	tElse:    "else must be on the line of the '}' before it",
	tDefer:   "there is no defer: write the statement where the function returns",
	tImport:  "there are no packages",
	tPackage: "there are no packages",
	tFunc: "there are no closures and no nested functions: declare the function at " +
		"the top level",
}

func (p *parser) skipStmt() Stmt {
	pos := p.pos()
	p.next()
	if p.s.tok == tLparen {
		p.fail("skip takes no parentheses")
	}
	return &SkipStmt{p.span(pos)}
}

func (p *parser) returnStmt() Stmt {
	pos := p.pos()
	p.next()
	s := &ReturnStmt{}
	if p.s.tok != tSemi && p.s.tok != tRbrace {
		s.Results = p.exprs()
	}
	s.Span = p.span(pos)
	return s
}

// branchStmt parses break, continue, goto and fallthrough.
func (p *parser) branchStmt() Stmt {
	pos := p.pos()
	s := &BranchStmt{}
	switch p.s.tok {
	case tContinue:
		s.Tok = Continue
	case tGoto:
		s.Tok = Goto
	case tFallthrough:
		s.Tok = Fallthrough
	}
	p.next()
	if s.Tok == Goto || s.Tok != Fallthrough && p.s.tok == tName {
		s.Label = p.ident("a label")
	}
	s.Span = p.span(pos)
	return s
}

type simpleMode int

const (
	basic simpleMode = iota
	labelOK
	rangeOK
)

// simpleStmt parses an expression, send, assignment, ++ or --; with labelOK a
// labeled statement, with rangeOK the clause of a for with range, as a
// *RangeStmt without body.
func (p *parser) simpleStmt(mode simpleMode) Stmt {
	pos := p.pos()
	if mode == rangeOK && p.s.tok == tRange {
		p.next()
		return &RangeStmt{X: p.expr(), Span: Span{pos, pos}}
	}
	lhs := p.exprs()
	switch p.s.tok {
	case tDefine, tAssign, tOpAssign:
		return p.assignment(pos, lhs, mode)
	}
	if len(lhs) > 1 {
		p.expected("'=' or ':='")
	}
	x := lhs[0]
	switch p.s.tok {
	case tColon:
		if n, ok := x.(*Ident); ok && mode == labelOK {
			p.next()
			if p.s.tok == tRbrace { // a label at the end of a block
				return &LabeledStmt{Span{pos, n.To}, n, &EmptyStmt{Span{p.prevEnd, p.prevEnd}}}
			}
			switch p.s.tok {
			case tConst, tType, tVar:
				p.fail("a label is not allowed before a declaration: put it before a statement")
			case tCase, tDefault, tEOF:
				return &LabeledStmt{Span{pos, n.To}, n, &EmptyStmt{Span{p.prevEnd, p.prevEnd}}}
			}
			s := p.stmt()
			return &LabeledStmt{p.span(pos), n, s}
		}
	case tArrow:
		p.next()
		v := p.expr()
		return &SendStmt{p.span(pos), x, v}
	case tInc, tDec:
		dec := p.s.tok == tDec
		p.next()
		return &IncDecStmt{p.span(pos), x, dec}
	}
	return &ExprStmt{p.span(pos), x}
}

// assignment parses what comes after the left side of an assignment, or of the clause of a for with
// range.
func (p *parser) assignment(pos source.Pos, lhs []Expr, mode simpleMode) Stmt {
	s := &AssignStmt{Lhs: lhs, Op: Assign}
	switch p.s.tok {
	case tDefine:
		s.Op = Define
	case tOpAssign:
		s.Op = p.s.op
	}
	opText := p.s.text[p.s.from:p.s.to]
	p.next()
	if mode == rangeOK && p.s.tok == tRange && (s.Op == Define || s.Op == Assign) {
		p.next()
		r := &RangeStmt{Define: s.Op == Define, Span: Span{pos, pos}}
		if len(lhs) > 2 {
			p.failAt(lhs[2].Pos(), lhs[2].End(), "range has at most two variables")
		}
		r.Key = lhs[0]
		if len(lhs) == 2 {
			r.Value = lhs[1]
		}
		r.X = p.expr()
		p.defineNames(s)
		return r
	}
	s.Rhs = p.exprs()
	s.Span = p.span(pos)
	p.defineNames(s)
	if s.Op != Assign && s.Op != Define && (len(lhs) > 1 || len(s.Rhs) > 1) {
		p.failAt(s.From, s.To, "%s has one operand on each side", opText)
	}
	return s
}

// defineNames checks that there are only names on the left of :=.
func (p *parser) defineNames(s *AssignStmt) {
	if s.Op != Define {
		return
	}
	for _, x := range s.Lhs {
		if _, ok := x.(*Ident); !ok {
			p.failAt(x.Pos(), x.End(), "':=' declares variables, and %s is not a name: use '='",
				String(x))
		}
	}
}

// header parses [init ;] cond of an if or a switch.
func (p *parser) header(what string) (init Stmt, cond Expr) {
	lev := p.exprLev
	p.exprLev = -1
	defer func() { p.exprLev = lev }()
	if p.s.tok == tLbrace {
		return nil, nil
	}
	if p.s.tok != tSemi {
		init = p.simpleStmt(basic)
	}
	if p.s.tok == tSemi {
		if p.s.autoSemi && what != "" {
			p.noBrace("the body of " + what)
		}
		p.next()
		if p.s.tok == tLbrace {
			return init, nil
		}
		s := p.simpleStmt(basic)
		return init, p.condition(s)
	}
	return nil, p.condition(init)
}

// condition takes the expression out of a statement in a header.
func (p *parser) condition(s Stmt) Expr {
	switch s := s.(type) {
	case *ExprStmt:
		return s.X
	case *AssignStmt:
		if s.Op == Assign && len(s.Lhs) == 1 {
			p.failAt(s.From, s.To, "expected a condition, found the assignment %s: use '==' to "+
				"compare", String(s))
		}
	}
	p.failAt(s.Pos(), s.End(), "expected a condition, found the statement %s", String(s))
	return nil
}

func (p *parser) ifStmt() Stmt {
	pos := p.pos()
	p.next()
	s := &IfStmt{}
	if p.s.tok == tLbrace {
		p.fail("this if has no condition")
	}
	s.Init, s.Cond = p.header("the if")
	if s.Cond == nil {
		p.fail("this if has no condition")
	}
	s.Then = p.block("the body of the if")
	if p.got(tElse) {
		switch p.s.tok {
		case tIf:
			p.enter()
			s.Else = p.ifStmt()
			p.leave()
		case tLbrace:
			s.Else = p.block("the body of else")
		default:
			p.noBrace("the body of else (or another if)")
		}
	}
	s.Span = p.span(pos)
	return s
}

func (p *parser) forStmt() Stmt {
	pos := p.pos()
	p.next()
	lev := p.exprLev
	p.exprLev = -1
	s := &ForStmt{}
	if p.s.tok != tLbrace {
		var first Stmt
		if p.s.tok != tSemi {
			first = p.simpleStmt(rangeOK)
		}
		if r, ok := first.(*RangeStmt); ok {
			p.exprLev = lev
			r.Body = p.block("the body of the for")
			r.Span = p.span(pos)
			return r
		}
		if p.s.tok == tSemi {
			if p.s.autoSemi {
				p.noBrace("the body of the for")
			}
			p.next()
			s.Init = first
			if p.s.tok != tSemi {
				if p.s.tok == tLbrace {
					p.fail("expected 'for init; condition; post', found '{'")
				}
				s.Cond = p.condition(p.simpleStmt(basic))
			}
			if p.s.tok != tSemi || p.s.autoSemi {
				p.expected("';' and the last part of the for")
			}
			p.next()
			if p.s.tok != tLbrace {
				at := p.pos()
				s.Post = p.simpleStmt(basic)
				if a, ok := s.Post.(*AssignStmt); ok && a.Op == Define {
					p.failAt(at, p.prevEnd, "the last part of a for cannot declare a variable")
				}
			}
		} else {
			s.Cond = p.condition(first)
		}
	}
	p.exprLev = lev
	s.Body = p.block("the body of the for")
	s.Span = p.span(pos)
	return s
}

// caseEnd parses the colon and the body of a case.
func (p *parser) caseEnd(what string) []Stmt {
	p.expect(tColon, "':' after "+what)
	lev := p.exprLev
	p.exprLev = 0
	list := p.stmts()
	p.exprLev = lev
	return list
}

// cases parses { ... }, calling one for each case; each begins with case or default.
func (p *parser) cases(what string, one func(isDefault bool, pos source.Pos)) {
	open := p.pos()
	if p.s.tok != tLbrace {
		p.noBrace("the cases of the " + what)
	}
	p.enter()
	defer p.leave()
	p.next()
	for p.s.tok == tCase || p.s.tok == tDefault {
		pos := p.pos()
		d := p.s.tok == tDefault
		p.next()
		one(d, pos)
	}
	if p.s.tok != tRbrace && p.s.tok != tEOF && !p.atMargin() {
		p.fail("expected a case of the %s, found %s", what, p.s.describe())
	}
	p.closeBrace(open)
}

func (p *parser) switchStmt() Stmt {
	pos := p.pos()
	p.next()
	s := &SwitchStmt{}
	s.Init, s.Tag = p.header("the switch")
	var dflt *SwitchCase
	p.cases("switch", func(isDefault bool, pos source.Pos) {
		c := &SwitchCase{Default: isDefault}
		if isDefault {
			if dflt != nil {
				p.errorAt(pos, p.prevEnd, "a second default in this switch").Note(dflt.From,
					"the first one")
			}
			dflt = c
			c.From = pos
		} else {
			c.Values = p.inner2(p.exprs)
		}
		c.Body = p.caseEnd("the case")
		c.Span = p.span(pos)
		s.Cases = append(s.Cases, c)
	})
	s.Span = p.span(pos)
	return s
}

func (p *parser) selectStmt() Stmt {
	pos := p.pos()
	p.next()
	s := &SelectStmt{}
	var dflt *SelectCase
	p.cases("select", func(isDefault bool, pos source.Pos) {
		c := &SelectCase{}
		if isDefault {
			if dflt != nil {
				p.errorAt(pos, p.prevEnd, "a second default in this select").Note(dflt.From,
					"the first one")
			}
			dflt = c
			c.From = pos
		} else if p.s.tok == tExists || p.s.tok == tForall {
			p.eachCase(c)
		} else {
			c.Comm = p.comm()
		}
		c.Body = p.caseEnd("the case")
		c.Span = p.span(pos)
		s.Cases = append(s.Cases, c)
	})
	s.Span = p.span(pos)
	return s
}

// comm parses what a select waits for.
func (p *parser) comm() Stmt {
	if p.s.tok == tAwait {
		return p.awaitStmt()
	}
	if p.s.tok == tColon {
		p.fail("a case of a select waits for a channel operation or for await(condition)")
	}
	s := p.simpleStmt(basic)
	var x Expr
	switch s := s.(type) {
	case *SendStmt:
		return s
	case *ExprStmt:
		x = s.X
	case *AssignStmt:
		if len(s.Rhs) == 1 && (s.Op == Assign || s.Op == Define) {
			if len(s.Lhs) > 2 {
				p.failAt(s.Lhs[2].Pos(), s.Lhs[2].End(), "a receive gives at most two values")
			}
			x = s.Rhs[0]
		}
	}
	if u, ok := Unparen(x).(*UnaryExpr); !ok || u.Op != Arrow {
		p.failAt(s.Pos(), s.End(), "a case of a select is a send, a receive or await(condition), "+
			"not %s", String(s))
	}
	return s
}

func (p *parser) chooseStmt() Stmt {
	pos := p.pos()
	if p.peekChoose() {
		return p.simpleStmt(basic)
	}
	p.next()
	s := &ChooseStmt{}
	p.cases("choose", func(isDefault bool, pos source.Pos) {
		if isDefault {
			p.failAt(pos, p.prevEnd, "choose has no default: each of its cases is always possible")
		}
		if p.s.tok != tColon {
			p.fail("a case of a choose has no condition: write case: and begin " +
				"it with await(condition), or use select")
		}
		c := &ChooseCase{Body: p.caseEnd("the case"), Span: Span{pos, pos}}
		c.Span = p.span(pos)
		s.Cases = append(s.Cases, c)
	})
	if len(s.Cases) == 0 {
		p.failAt(pos, p.prevEnd, "this choose has no cases")
	}
	s.Span = p.span(pos)
	return s
}

// peekChoose reports whether the current choose is the function choose(lo, hi).
func (p *parser) peekChoose() bool {
	ahead := p.s
	ahead.errorf = func(int, int, string, ...any) {}
	ahead.next()
	return ahead.tok == tLparen
}

// atomicPackage says what to write instead of Go's sync/atomic; the current token is the dot
// after the package's name.
func (p *parser) atomicPackage() {
	from, _ := p.here()
	p.next()
	name := p.ident("a name").Name
	to := p.prevEnd
	x, v := "x", "1"
	if p.s.tok == tLparen {
		args := p.args()
		if len(args) > 0 {
			if u, ok := args[0].(*UnaryExpr); ok && u.Op == And {
				x = String(u.X)
			}
		}
		if len(args) > 1 {
			v = String(args[1])
		}
	}
	write := ""
	switch {
	case strings.HasPrefix(name, "Load"):
		write = "write " + x + ", with var " + x + " atomic T: reading it is one step"
	case strings.HasPrefix(name, "Store"):
		write = "write " + x + " = " + v + ", with var " + x + " atomic T: writing it is one step"
	case strings.HasPrefix(name, "Add"):
		write = "write the statement as atomic { " + x + " += " + v +
			" }, with its result as atomic { " + x + " += " + v + "; y = " + x + " }"
	case strings.HasPrefix(name, "Swap"):
		write = "write atomic { y = " + x + "; " + x + " = " + v + " }"
	case strings.HasPrefix(name, "CompareAndSwap"):
		write = "write cas(" + x + ", old, new)"
	case strings.HasPrefix(name, "Int") || strings.HasPrefix(name, "Uint") || name == "Bool":
		write = "write atomic " + strings.ToLower(name)
	case name == "Pointer":
		write = "write atomic *T"
	default:
		write = "use atomic { ... } or cas(x, old, new)"
	}
	p.failAt(from, to, "there are no packages: %s", write)
}

func (p *parser) goStmt() Stmt {
	pos := p.pos()
	p.next()
	if p.s.tok == tFunc {
		p.fail("there are no closures: declare a thread at the top level and start it with go " +
			"Name(arguments)")
	}
	s := &GoStmt{Thread: p.ident("the name of a thread")}
	if p.s.tok != tLparen {
		p.expected("'(' and the arguments of the thread")
	}
	s.Args = p.args()
	s.Span = p.span(pos)
	return s
}

func (p *parser) awaitStmt() Stmt {
	pos := p.pos()
	p.next()
	p.expect(tLparen, "'(' and the condition to wait for")
	s := &AwaitStmt{Cond: p.inner(p.expr)}
	p.expect(tRparen, "')' after the condition")
	s.Span = p.span(pos)
	return s
}

func (p *parser) assertStmt() Stmt {
	pos := p.pos()
	p.next()
	p.expect(tLparen, "'(' and the condition to check")
	s := &AssertStmt{Cond: p.inner(p.expr)}
	if p.got(tComma) {
		if p.s.tok != tString {
			p.expected("the message of the assertion, a string")
		}
		s.Message = p.s.lit
		p.next()
		if p.s.tok == tComma {
			p.fail("the message of an assertion is a single string, without arguments")
		}
	}
	p.expect(tRparen, "')' after the assertion")
	s.Span = p.span(pos)
	return s
}

// ---------------------------------------------------------------- expressions

// inner parses inside parentheses or brackets, where T{...} is a literal again.
func (p *parser) inner(f func() Expr) Expr {
	lev := p.exprLev
	p.exprLev = max(lev, 0) + 1
	x := f()
	p.exprLev = lev
	return x
}

func (p *parser) inner2(f func() []Expr) []Expr {
	lev := p.exprLev
	p.exprLev = max(lev, 0) + 1
	list := f()
	p.exprLev = lev
	return list
}

func (p *parser) exprs() []Expr {
	list := []Expr{p.expr()}
	for p.got(tComma) {
		list = append(list, p.expr())
	}
	return list
}

func (p *parser) expr() Expr {
	p.enter()
	defer p.leave()
	return p.binary(1)
}

// Prec returns the precedence of a binary operator, 1 (||) to 5 (*), and 0 for
// other operators.
func (op Op) Prec() int {
	switch op {
	case LOr:
		return 1
	case LAnd:
		return 2
	case Eq, Ne, Lt, Le, Gt, Ge:
		return 3
	case Add, Sub, Or, Xor:
		return 4
	case Mul, Div, Rem, Shl, Shr, And, AndNot:
		return 5
	}
	return 0
}

func (p *parser) binary(prec int) Expr {
	pos := p.pos()
	if !p.ltl {
		return p.binaryRest(pos, p.unary(), prec)
	}
	// U, W and R are between && and the comparisons.
	x := p.binaryTemporal(pos, p.binaryNoTemporal(max(prec, Eq.Prec())))
	return p.binaryRest(pos, x, prec)
}

// binaryNoTemporal is binary for operands in which U, W and R are not allowed outside
// parentheses.
func (p *parser) binaryNoTemporal(prec int) Expr {
	pos := p.pos()
	return p.binaryRest(pos, p.unary(), prec)
}

// binaryRest parses the operators of at least precedence prec that follow x.
func (p *parser) binaryRest(pos source.Pos, x Expr, prec int) Expr {
	for p.s.tok == tOp {
		op := p.s.op
		q := op.Prec()
		if q < prec {
			break
		}
		opPos := p.pos()
		p.next()
		h := p.height
		var y Expr
		if p.ltl && q >= Eq.Prec() {
			y = p.binaryNoTemporal(q + 1)
		} else {
			y = p.binary(q + 1)
		}
		p.grow(max(h, p.height))
		x = &BinaryExpr{p.span(pos), op, opPos, x, y}
	}
	return x
}

func (p *parser) unary() Expr {
	p.enter()
	defer p.leave()
	pos := p.pos()
	if p.ltl {
		switch {
		case p.s.tok == tLbrack && p.s.to < len(p.s.text) && p.s.text[p.s.to] == ']':
			return p.prefixTemporal(Always)
		case p.s.tok == tTemporal && p.s.temporal == Eventually:
			return p.prefixTemporal(Eventually)
		}
	}
	op := NoOp
	switch p.s.tok {
	case tOp:
		switch p.s.op {
		case Add, Sub, Not, Xor, And, Mul:
			op = p.s.op
		}
	case tArrow:
		op = Arrow
	}
	if op == NoOp {
		return p.primary()
	}
	p.next()
	x := p.unary()
	p.grow(p.height)
	return &UnaryExpr{p.span(pos), op, x}
}

func (p *parser) primary() Expr {
	pos := p.pos()
	x := p.operand()
	if n, ok := x.(*Ident); ok && p.ltl {
		p.temporalWord(n)
	}
	for {
		switch p.s.tok {
		case tDot:
			p.next()
			if p.s.tok == tLparen {
				p.fail("there are no interfaces, and so no type assertions")
			}
			p.grow(p.height)
			to := source.Pos(p.s.to)
			x = &SelectorExpr{Span{pos, to}, x, p.ident("the name of a field")}
		case tAt:
			p.next()
			p.grow(p.height)
			to := source.Pos(p.s.to)
			x = &AtExpr{Span{pos, to}, x, p.ident("a label")}
		case tLbrack:
			p.next()
			if p.s.tok == tColon {
				p.fail("there are no slices: use the array and indices")
			}
			h := p.height
			i := p.inner(p.expr)
			if p.s.tok == tColon {
				p.fail("there are no slices: use the array and indices")
			}
			p.expect(tRbrack, "']' after the index")
			p.grow(max(h, p.height))
			x = &IndexExpr{p.span(pos), x, i}
		case tLparen:
			h := p.height
			if n, ok := x.(*Ident); ok && n.Name == "make" {
				x = p.makeExpr(n)
			} else {
				args := p.args()
				x = &CallExpr{p.span(pos), x, args}
			}
			p.grow(max(h, p.height))
		case tLbrace:
			n, ok := x.(*Ident)
			if !ok || p.exprLev < 0 {
				return x
			}
			x = p.literal(pos, &NamedType{n.Span, n})
		default:
			return x
		}
	}
}

func (p *parser) args() []Expr {
	p.expect(tLparen, "'('")
	lev := p.exprLev
	p.exprLev = max(lev, 0) + 1
	var list []Expr
	h := 0
	for p.s.tok != tRparen {
		list = append(list, p.expr())
		h = max(h, p.height)
		if p.s.tok == tEllipsis {
			p.fail("there are no variable numbers of arguments")
		}
		if !p.got(tComma) {
			break
		}
	}
	p.expect(tRparen, "',' or ')' after the argument")
	p.exprLev = lev
	p.height = h
	return list
}

func (p *parser) makeExpr(n *Ident) Expr {
	p.next()
	x := &MakeExpr{}
	lev := p.exprLev
	p.exprLev = max(lev, 0) + 1
	if p.s.tok == tLbrack || p.s.tok == tMap {
		p.makeArray(n, p.typ()) // slices and maps are refused by typ, with advice
	}
	x.Type = p.typ()
	if p.got(tComma) && p.s.tok != tRparen {
		x.Cap = p.expr()
		p.got(tComma)
	}
	p.expect(tRparen, "')' after make")
	p.exprLev = lev
	x.Span = p.span(n.From)
	return x
}

func (p *parser) operand() Expr {
	pos := p.pos()
	p.height = 1
	switch p.s.tok {
	case tName:
		n := p.ident("a name")
		if op := slices.Index(foldNames[:], n.Name); op >= 0 && p.s.tok == tName &&
			inFollows(p.s.text[p.s.to:]) {
			return p.fold(n, FoldOp(op))
		}
		return n
	case tChoose:
		n := &Ident{Span{pos, source.Pos(p.s.to)}, "choose"}
		p.next()
		if p.s.tok != tLparen {
			p.fail("choose { ... } is a statement; as an expression it is choose(lo, hi)")
		}
		return n
	case tInt:
		x := &IntLit{Span{pos, source.Pos(p.s.to)}, p.s.lit}
		p.next()
		return x
	case tString:
		x := &StringLit{Span{pos, source.Pos(p.s.to)}, p.s.lit}
		p.next()
		return x
	case tLparen:
		p.next()
		x := p.inner(p.formula)
		p.expect(tRparen, "')'")
		p.grow(p.height)
		return &ParenExpr{p.span(pos), x}
	case tLbrack, tStruct:
		var t TypeExpr
		if p.s.tok == tLbrack {
			p.next()
			t = p.arrayType(pos)
		} else {
			t = p.typ()
		}
		if p.s.tok != tLbrace {
			p.expected("'{' and the elements of the literal")
		}
		return p.literal(pos, t)
	case tForall, tExists:
		return p.quantifier()
	case tAwait, tAssert:
		p.fail("%s is a statement, not an expression", p.s.lit)
	case tAtomic:
		p.next()
		if p.s.tok == tDot {
			p.atomicPackage()
		}
		p.failAt(pos, p.prevEnd, "atomic { ... } is a statement, not an expression")
	}
	if why, ok := noOperand[p.s.tok]; ok {
		p.fail("%s", why)
	}
	p.expected("an expression")
	return nil
}

// noOperand says of tokens that begin an expression in Go what to write.
var noOperand = map[token]string{
	tFunc:      "there are no closures: declare a function at the top level",
	tMap:       noType[tMap],
	tInterface: noType[tInterface],
	tChan: "a channel type is not a value: make(chan T, n) is one, as a shared variable's " +
		"initial value",
}

func (p *parser) quantifier() Expr {
	pos := p.pos()
	q := &QuantExpr{Exists: p.s.tok == tExists}
	word := p.s.lit
	p.next()
	q.Var, q.Domain, q.Cond = p.over(word, "condition", p.formula)
	q.Span = p.span(pos)
	return q
}

// fold parses count i in lo..hi { cond } and the like after the first name: their words are
// names everywhere else.
func (p *parser) fold(name *Ident, op FoldOp) Expr {
	f := &FoldExpr{Op: op}
	what := "value"
	if op == Count {
		what = "condition"
	}
	f.Var, f.Domain, f.X = p.over(name.Name, what, p.formula)
	f.Span = p.span(name.From)
	return f
}

// inFollows reports whether a text continues with the word in.
func inFollows(text string) bool {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t"), "in")
	return ok && rest != "" && strings.ContainsRune(" \t\n\r(/-+^", rune(rest[0]))
}

// over parses i in lo..hi { x } or i in Thread { x } after a word.
func (p *parser) over(word, what string, inside func() Expr) (v *Ident, d Domain, x Expr) {
	v = p.ident("a variable after " + word)
	if p.s.tok != tName || p.s.lit != "in" {
		p.expected("'in' (as in " + word + " " + v.Name + " in 0..N-1 { " + what + " })")
	}
	p.next()
	lev := p.exprLev
	p.exprLev = -1
	d.Lo = p.binary(1)
	h := p.height
	if n, ok := d.Lo.(*Ident); ok && p.s.tok == tLbrace {
		d.Lo, d.Of = nil, n
	} else {
		p.expect(tDotDot, "'..' and the upper bound")
		d.Hi = p.binary(1)
		h = max(h, p.height)
	}
	p.exprLev = 1
	p.expect(tLbrace, "'{' and the "+what)
	x = inside()
	p.got(tSemi)
	p.expect(tRbrace, "'}' after the "+what)
	p.exprLev = lev
	p.grow(max(h, p.height))
	return v, d, x
}

// literal parses { ... } of a composite literal.
func (p *parser) literal(pos source.Pos, t TypeExpr) Expr {
	p.enter()
	defer p.leave()
	x := &CompositeLit{Type: t}
	lev := p.exprLev
	p.exprLev = max(lev, 0) + 1
	p.expect(tLbrace, "'{'")
	h := 0
	element := func() Expr {
		var e Expr
		if p.s.tok == tLbrace {
			e = p.literal(p.pos(), nil)
		} else {
			e = p.expr()
		}
		h = max(h, p.height)
		return e
	}
	for p.s.tok != tRbrace && p.s.tok != tEOF {
		e := element()
		var key Expr
		if p.got(tColon) {
			key, e = e, element()
		}
		x.Keys = append(x.Keys, key)
		x.Values = append(x.Values, e)
		if !p.got(tComma) {
			break
		}
	}
	if p.s.autoSemi {
		p.fail("expected ',' before the end of the line (after the last element, too)")
	}
	p.expect(tRbrace, "',' or '}' after the element")
	p.exprLev = lev
	p.grow(h)
	x.Span = p.span(pos)
	return x
}

// Unparen returns the expression without the parentheses around it.
func Unparen(x Expr) Expr {
	for {
		q, ok := x.(*ParenExpr)
		if !ok {
			return x
		}
		x = q.X
	}
}
