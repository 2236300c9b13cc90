package syntax

import (
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"cpor/frontend/source"
)

// Format returns the text of a model file in the layout of cpor fmt, which is gofmt's where the
// languages agree: tabs, one blank between tokens where gofmt has one, columns for trailing
// comments and in groups of declarations, no two empty lines. Line breaks stay where they are;
// what gofmt breaks is broken, except that a block on one line may stay there: atomic {
// await(free > 0); free--; used++ }. Formatting is idempotent, and preserves the tree except for
// places and empty statements.
//
// The error is that of [Parse]; then there is no text.
//
// It lays out the tokens and comments, not the tree, so nothing can get lost. The tree only
// distinguishes what looks alike: operators with one operand and with two, literals and blocks.
func Format(f *source.File) (string, error) {
	file, err := Parse(f)
	if err != nil {
		return "", err
	}
	ft := &formatter{text: f.Text}
	ft.scan(file)
	ft.pairs()
	ft.learn(file)
	ft.groups()
	ft.breakLines(file)
	return ft.print(), nil
}

// item is a token or a comment.
type item struct {
	tok      token // tBad: a comment
	from, to int
	ends     bool // a statement ends behind it, by a semicolon that is not written

	// From the tree:
	unary   bool // an operator with one operand, or the * of a pointer's type
	prefix  bool // the end of [] or <>
	marked  bool // an operator of which the printer has told
	tight   bool // no blanks around it
	gap     bool // a blank behind an operator that would have none
	literal bool // { of a literal
	array   bool // [ of an array's type, or of []
	elem    bool // the first of the elements' type
	word    bool // a name that is none: U, W, R, in
	header  bool // a semicolon in the head of a for, if or switch
	label   bool // the colon of a label
	clause  bool // the colon of a case
	results bool // ( of a function's results

	pair     int  // the other bracket, or -1
	within   int  // the innermost bracket that is open before it, or -1
	clauseOf int  // the colon of the case that it belongs to, or -1
	inline   bool // of such a colon: what follows is on its line
	group    bool // a bracket around statements, declarations, fields, or what a property says

	// The layout.
	skip   bool // a semicolon that is not printed
	breaks int  // line breaks before it: 0, 1, or 2 for an empty line
}

func (it *item) comment() bool { return it.tok == tBad }
func (it *item) opens() bool {
	return it.tok == tLparen || it.tok == tLbrack ||
		it.tok == tLbrace
}
func (it *item) closes() bool {
	return it.tok == tRparen || it.tok == tRbrack ||
		it.tok == tRbrace
}

type formatter struct {
	text  string
	items []item
}

// scan reads tokens and comments. As the parser does it tells the scanner where formulas are.
func (f *formatter) scan(file *File) {
	s := scanner{text: f.text, errorf: func(int, int, string, ...any) {}}
	formulas := file.Decls
	last := -1 // the last token
	for s.tok != tEOF {
		for len(formulas) > 0 && int(formulas[0].End()) <= s.off {
			formulas = formulas[1:]
		}
		s.ltl = false
		if len(formulas) > 0 {
			_, is := formulas[0].(*LTLDecl)
			s.ltl = is && int(formulas[0].Pos()) < s.off
		}
		at := s.off
		s.next()
		f.comments(at, s.from)
		switch {
		case s.tok == tEOF:
		case s.autoSemi:
			f.items[last].ends = true
		default:
			last = len(f.items)
			f.items = append(f.items, item{tok: s.tok, from: s.from, to: s.to, pair: -1,
				within: -1})
		}
	}
}

// comments adds those between two offsets.
func (f *formatter) comments(from, to int) {
	for from < to {
		rest := f.text[from:to]
		n := 1
		switch {
		case strings.HasPrefix(rest, "//"):
			if n = strings.IndexByte(rest, '\n'); n < 0 {
				n = len(rest)
			}
		case strings.HasPrefix(rest, "/*"):
			n = strings.Index(rest[2:], "*/") + 4
		default:
			from++
			continue
		}
		f.items = append(f.items, item{tok: tBad, from: from, to: from + n, pair: -1, within: -1})
		from += n
	}
}

// at returns the index of the first item at or after a place.
func (f *formatter) at(pos source.Pos) int {
	i, _ := slices.BinarySearchFunc(f.items, int(pos), func(it item, pos int) int {
		return it.from - pos
	})
	return i
}

// find returns the first token of a kind at or after a place.
func (f *formatter) find(t token, pos source.Pos) *item {
	i := f.at(pos)
	for f.items[i].tok != t {
		i++
	}
	return &f.items[i]
}

// pairs finds for each bracket the other one.
func (f *formatter) pairs() {
	open := -1
	for i := range f.items {
		it := &f.items[i]
		if it.closes() && open >= 0 {
			it.pair, f.items[open].pair = open, i
			open = f.items[open].within
		}
		it.within = open
		if it.opens() {
			open = i
		}
	}
}

// learn takes from the tree what tokens alone do not show.
func (f *formatter) learn(file *File) {
	p := printer{mark: func(at source.Pos, tight, gap bool) {
		it := &f.items[f.at(at)]
		it.marked, it.tight, it.gap = true, tight, gap
	}}
	visit := func(n Node) bool {
		switch n := n.(type) {
		case Decl:
			p.node(n)
			if d, ok := n.(*FuncDecl); ok && len(d.Results) > 0 {
				it := &f.items[f.at(d.Results[0].Pos())-1]
				it.results = it.tok == tLparen
			}
		case Stmt:
			p.node(n)
			f.learnStmt(n)
		case *SelectCase:
			if n.Each != nil {
				f.items[f.at(n.Each.Var.End())].word = true
				p.expr(n.Each.Lo, 0, 2)
				p.expr(n.Each.Hi, 0, 2)
			}
		case *ArrayType:
			f.items[f.at(n.From)].array = true
			f.items[f.at(n.Elem.Pos())].elem = true
		case *PointerType:
			f.items[f.at(n.From)].unary = true
		case *UnaryExpr:
			f.items[f.at(n.From)].unary = true
			f.expr(&p, n)
		case *CompositeLit:
			from := n.From
			if n.Type != nil {
				from = n.Type.End()
			}
			f.find(tLbrace, from).literal = true
		case *QuantExpr:
			f.items[f.at(n.Var.End())].word = true
		case *FoldExpr:
			f.items[f.at(n.Var.End())].word = true
		case *BinaryExpr:
			f.expr(&p, n)
		case *TemporalExpr:
			f.learnTemporal(n)
		}
		return true
	}
	for _, d := range file.Decls {
		Walk(d, visit)
	}
}

// head makes the semicolons between two places the ends of parts of a statement's head.
func (f *formatter) head(from, to source.Pos) {
	for i := f.at(from); i < len(f.items) && f.items[i].from < int(to); i++ {
		f.items[i].header = f.items[i].header || f.items[i].tok == tSemi
	}
}

func (f *formatter) learnStmt(s Stmt) {
	switch n := s.(type) {
	case *LabeledStmt:
		f.find(tColon, n.Label.End()).label = true
	case *IfStmt:
		f.head(n.From, n.Then.From)
	case *ForStmt:
		f.head(n.From, n.Body.From)
	case *SwitchStmt:
		if n.Init != nil {
			f.find(tSemi, n.Init.End()).header = true
		}
	}
}

func (f *formatter) learnTemporal(n *TemporalExpr) {
	i := f.at(n.From)
	switch {
	case n.Y != nil:
		for i = f.at(n.X.End()); f.items[i].closes() || f.items[i].comment(); i++ {
		}
		f.items[i].word = true
	case n.Op == Always:
		f.items[i].array = true
		f.items[f.items[i].pair].prefix = true
	default:
		f.items[i].prefix = true
	}
}

// expr has an operator printed that was not printed with a statement: in a case, say.
func (f *formatter) expr(p *printer, x Expr) {
	at := x.Pos()
	if b, ok := x.(*BinaryExpr); ok {
		at = b.OpPos
	}
	if !f.items[f.at(at)].marked {
		p.expr(x, 0, 1)
	}
}

// groups finds the brackets around statements and the like: all braces except those of literals,
// and the parentheses of a group of declarations.
func (f *formatter) groups() {
	before := tEOF // the token before
	of := map[int]int{}
	for i := range f.items {
		it := &f.items[i]
		it.clauseOf = -1 // of a case the one before it
		if c, ok := of[it.within]; ok {
			it.clauseOf = c
		}
		if it.tok == tLbrace && !it.literal || it.tok == tLparen &&
			(before == tConst || before == tType || before == tVar) {
			it.group, f.items[it.pair].group = true, true
		}
		if it.pair > i {
			f.items[it.pair].literal = it.literal
		}
		if !it.comment() {
			before = it.tok
		}
		if it.tok == tCase || it.tok == tDefault {
			for k := i + 1; ; k++ {
				if c := &f.items[k]; c.tok == tColon && c.within == it.within {
					c.clause = true
					of[it.within] = k
					break
				}
			}
		}
	}
}

// oneLine reports whether there is no line break between an item and another one.
func (f *formatter) oneLine(i, j int) bool {
	return strings.IndexByte(f.text[f.items[i].from:f.items[j].from], '\n') < 0
}

// lines reports whether the statements directly within a bracket (-1: the file) are on lines of
// their own.
func (f *formatter) lines(group int) bool {
	return group < 0 || f.items[group].group && !f.oneLine(group, f.items[group].pair)
}

// breakBehind ends a line after an item, or after the comments that follow on its line, with at
// most one empty line, or none.
func (f *formatter) breakBehind(i int, empty bool) {
	for i++; i < len(f.items); i++ {
		it := &f.items[i]
		if it.comment() && it.breaks == 0 || it.skip {
			continue
		}
		it.breaks = max(it.breaks, 1)
		if !empty {
			it.breaks = 1
		}
		return
	}
}

// breakLines decides where lines end.
func (f *formatter) breakLines(file *File) {
	f.readBreaks()
	for i := range f.items {
		f.items[i].inline = f.items[i].clause && f.oneLineClause(i)
	}
	for i := range f.items {
		it := &f.items[i]
		own := f.lines(it.within)
		switch {
		case it.tok == tSemi && !it.header:
			f.semicolon(i, own)
		case (it.tok == tCase || it.tok == tDefault) && own:
			it.breaks = max(it.breaks, 1)
		case it.clause && own && !it.inline:
			f.breakBehind(i, false)
		case it.group && it.opens() && f.lines(i):
			f.breakBehind(i, false)
		case it.group && it.closes() && f.lines(it.pair):
			it.breaks = 1
		}
	}
	f.separate(file)
}

// readBreaks takes the ends of lines from the text, but for those before a brace that opens a
// body.
func (f *formatter) readBreaks() {
	for i := range f.items {
		it := &f.items[i]
		if i > 0 {
			it.breaks = min(strings.Count(f.text[f.items[i-1].to:it.from], "\n"), 2)
		}
	}
	for i := range f.items {
		it := &f.items[i]
		if begins, _ := f.statement(i); it.tok == tLbrace && it.group && it.breaks > 0 && !begins &&
			!f.items[i-1].comment() {
			it.breaks = 0 // the body of an else, say
		}
	}
}

// separate puts empty lines around functions and threads of several lines.
func (f *formatter) separate(file *File) {
	for _, d := range file.Decls {
		switch d.(type) {
		case *FuncDecl, *ThreadDecl, *InitDecl:
		default:
			continue
		}
		first, last := f.at(d.Pos()), f.at(d.End())-1
		if f.oneLine(first, last) {
			continue
		}
		for first > 0 && f.items[first].breaks == 1 && f.items[first-1].comment() &&
			f.items[first-1].breaks > 0 {
			first--
		}
		f.items[first].breaks = 2
		f.breakBehind(last, true)
		for last++; last < len(f.items); last++ {
			if f.items[last].breaks > 0 && !f.items[last].skip {
				f.items[last].breaks = 2
				break
			}
		}
	}
}

// semicolon decides what becomes of one between statements; own says whether these are on lines
// of their own.
func (f *formatter) semicolon(i int, own bool) {
	it := &f.items[i]
	empty, label := f.before(i)
	next := i + 1
	for next < len(f.items) && f.items[next].tok == tSemi {
		next++
	}
	last := next == len(f.items) || f.items[next].closes()
	clause := it.clauseOf >= 0 && f.items[it.clauseOf].inline
	switch {
	case label && own && !clause:
		f.breakBehind(i, true)
	case label:
	case own && !clause:
		it.skip = true
		if i+1 < len(f.items) {
			f.items[i+1].breaks = max(f.items[i+1].breaks, it.breaks)
		}
		f.breakBehind(i, true)
	case empty || last:
		it.skip = true
	case i+1 < len(f.items) && f.items[i+1].breaks > 0: // at the end of a case on one line
		it.skip = true
	}
}

// before tells of the semicolon i whether there is no statement before it, and whether it is what
// is labeled.
func (f *formatter) before(i int) (empty, label bool) {
	before := i - 1
	for before >= 0 && (f.items[before].comment() || f.items[before].skip) {
		before--
	}
	if before < 0 {
		return true, false
	}
	it := &f.items[before]
	return it.opens() || it.tok == tSemi || it.clause, it.label
}

// clauseEnd returns the item after the clause of a case.
func (f *formatter) clauseEnd(colon int) int {
	within := f.items[colon].within
	for i := colon + 1; ; i++ {
		it := &f.items[i]
		if it.pair == within || it.within == within && (it.tok == tCase || it.tok == tDefault) {
			return i
		}
	}
}

// oneLineClause reports whether the statements of a case are on its line.
func (f *formatter) oneLineClause(colon int) bool {
	end := f.clauseEnd(colon)
	for end--; f.items[end].comment(); end-- {
	}
	if end == colon {
		return true // nothing to break
	}
	return f.oneLine(colon, end) && strings.IndexByte(f.text[f.items[end].from:f.items[end].to],
		'\n') < 0
}

// blank reports whether there is one between two items on a line, by their numbers.
func (f *formatter) blank(i, j int) bool {
	a, b := &f.items[i], &f.items[j]
	switch {
	case a.comment() || b.comment():
		return true
	case b.tok == tSemi:
		return slices.Contains(blankBeforeSemi, a.tok)
	case slices.Contains(noBlankBefore, b.tok), slices.Contains(noBlankAfter, a.tok):
		return false
	case a.prefix:
		return !b.prefix && b.tok != tLbrack
	case a.unary:
		return a.gap
	case a.tok == tLbrace, slices.Contains(braces, b.tok):
		return f.blankAtBrace(i, j)
	case a.tok == tOp:
		return !a.tight || a.gap
	case b.tok == tOp && !b.unary:
		return !b.tight
	case b.elem:
		return false
	case b.tok == tLparen && slices.Contains(callable, a.tok):
		return b.results || a.word
	case b.tok == tLbrack && !b.array:
		return a.word
	}
	return true
}

var (
	noBlankBefore = []token{tComma, tColon, tDot, tAt, tDotDot, tInc, tDec, tRparen, tRbrack}
	noBlankAfter  = []token{tLparen, tLbrack, tDot, tAt, tDotDot, tEllipsis}
	braces        = []token{tLbrace, tRbrace}
	// blankBeforeSemi are those in the head of a for whose first part is empty.
	blankBeforeSemi = []token{tFor, tSemi}
	// callable tokens stand before the parenthesis of arguments or the like.
	callable = []token{tName, tRparen, tRbrack, tAwait, tAssert, tChoose, tChan}
)

// blankAtBrace is blank for a brace: behind an opening one, or before one.
func (f *formatter) blankAtBrace(i, j int) bool {
	a, b := &f.items[i], &f.items[j]
	switch {
	case b.tok == tLbrace && b.literal:
		return a.tok == tComma || a.tok == tColon
	case b.tok == tLbrace:
		return a.tok != tStruct || f.lines(j)
	case a.tok == tLbrace:
		return !a.literal && a.pair != j
	}
	return !b.literal
}

// line is a line of the output.
type line struct {
	from, to int // its items
	indent   int
	empty    bool // an empty line is before it
	row      int  // the group of declarations or fields of which it is a row, or -1
	whole    bool // nothing of it is on other lines: it can be put into columns
}

// print returns the text.
func (f *formatter) print() string {
	var lines []line
	for i := range f.items {
		it := &f.items[i]
		if it.skip {
			continue
		}
		if len(lines) == 0 || it.breaks > 0 {
			lines = append(lines, line{from: i, row: -1, whole: true, empty: len(lines) > 0 &&
				it.breaks > 1})
		}
		lines[len(lines)-1].to = i + 1
	}
	of := make([]int, len(f.items)) // the line of each item
	for n := range lines {
		for i := lines[n].from; i < lines[n].to; i++ {
			of[i] = n
		}
	}
	for n := range lines {
		f.measure(lines, of, n)
	}
	var b strings.Builder
	for n := 0; n < len(lines); {
		if lines[n].empty {
			b.WriteByte('\n')
		}
		end := n + 1
		for end < len(lines) && f.together(&lines[n], &lines[end]) {
			end++
		}
		f.section(&b, lines[n:end])
		n = end
	}
	return b.String()
}

// statement reports whether an item begins a statement, a declaration or the like, and if not
// whether it begins an element of a list in brackets.
func (f *formatter) statement(i int) (begins, element bool) {
	within := f.items[i].within
	for i--; i >= 0; i-- {
		it := &f.items[i]
		if it.comment() {
			continue
		}
		switch {
		case it.ends || it.tok == tSemi || it.label || it.clause || it.opens() && it.group:
			return true, false
		}
		return false, it.opens() || it.tok == tComma && within >= 0 && !f.items[within].group
	}
	return true, false
}

// measure finds the indentation of a line and whether it is a row of a group.
func (f *formatter) measure(lines []line, of []int, n int) {
	l := &lines[n]
	first := &f.items[l.from]
	begins, element := f.statement(l.from)
	group := first.within
	if first.closes() {
		group = first.pair
	}
	if group >= 0 {
		l.indent = lines[of[group]].indent
	}
	l.indent = max(l.indent+f.indentation(l, group >= 0, begins, element), 0)
	l.whole = l.whole && f.whole(l)
	if !begins || first.comment() || first.closes() {
		l.whole = l.whole && !first.comment()
		return
	}
	if group >= 0 && f.items[group].group && f.isTable(group) {
		l.row = group
	}
	for i := l.from; i < l.to; i++ {
		if p := f.items[i].pair; p >= l.to && l.row >= 0 {
			l.whole = false
		}
	}
	if l.row >= 0 && n+1 < len(lines) {
		next := lines[n+1].from
		if begins, _ := f.statement(next); !begins && f.items[next].pair != group {
			l.whole = false
		}
	}
}

// indentation returns how much further a line begins than the group that it is in.
func (f *formatter) indentation(l *line, grouped, begins, element bool) int {
	first := &f.items[l.from]
	inside := 0
	if grouped {
		inside = 1
	}
	switch {
	case first.closes():
		return 0
	case first.comment():
		if !begins && !element {
			inside++
		} else if f.leadsCase(l.from) {
			inside--
		}
	case (first.tok == tCase || first.tok == tDefault) && begins:
		inside--
	case !begins && !element:
		inside++
	case l.from+1 < l.to && f.items[l.from+1].label &&
		(l.from+2 == l.to || f.items[l.from+2].comment() && l.from+3 == l.to):
		inside-- // a label on a line of its own
	}
	return inside
}

// whole tells whether all tokens of a line are on it to their end.
func (f *formatter) whole(l *line) bool {
	for i := l.from; i < l.to; i++ {
		if it := &f.items[i]; strings.IndexByte(f.text[it.from:it.to], '\n') >= 0 {
			return false
		}
	}
	return true
}

// isTable reports whether the lines in a bracket have columns: fields, or declarations of one
// group.
func (f *formatter) isTable(group int) bool {
	return f.items[group].tok == tLparen || group > 0 && f.items[group-1].tok == tStruct
}

// leadsCase reports whether a comment on a line of its own is before the first case, or before
// another one and not deeper than it in the source.
func (f *formatter) leadsCase(i int) bool {
	column := func(i int) int {
		at := f.items[i].from
		return at - strings.LastIndexByte(f.text[:at], '\n')
	}
	for k := i + 1; k < len(f.items); k++ {
		it := &f.items[k]
		if it.comment() || it.skip {
			continue
		}
		return (it.tok == tCase || it.tok == tDefault) &&
			(it.clauseOf < 0 || column(i) <= column(k))
	}
	return false
}

// together reports whether a line shares its columns with one before it.
func (f *formatter) together(a, b *line) bool {
	return a.whole && b.whole && !b.empty && a.indent == b.indent && a.row == b.row
}

// cells are the parts of a line that are in columns: a trailing comment, and before it
// the statement, or in a row the names, the type and the value, as ranges of items.
type cells struct{ code, typ, value, comment int }

func (f *formatter) cells(l *line) cells {
	c := cells{code: l.to, typ: l.to, value: l.to, comment: l.to}
	if l.to-1 > l.from && f.items[l.to-1].comment() {
		c = cells{l.to - 1, l.to - 1, l.to - 1, l.to - 1}
	}
	if l.row < 0 {
		return c
	}
	names := l.from
	for names+2 < c.comment && f.items[names+1].tok == tComma {
		names += 2
	}
	c.code = min(names+1, c.comment)
	c.typ = c.code
	for c.value = c.code; c.value < c.comment; c.value++ {
		if it := &f.items[c.value]; it.tok == tAssign && it.within == l.row {
			break
		}
	}
	return c
}

// section writes lines whose cells are in columns.
func (f *formatter) section(b *strings.Builder, lines []line) {
	typed, valued := false, false // a row has a type, a value
	all := make([]cells, len(lines))
	for i := range lines {
		all[i] = f.cells(&lines[i])
		typed = typed || all[i].typ < all[i].value
		valued = valued || all[i].value < all[i].comment
	}
	var columns strings.Builder
	w := tabwriter.NewWriter(&columns, 0, 8, 1, ' ', tabwriter.StripEscape)
	cell := func(tab string, from, to int) {
		text := f.render(from, to)
		if strings.ContainsAny(text, "\t\v\f") {
			text = "\xff" + text + "\xff" // these are not ends of cells
		}
		io.WriteString(w, tab+text) // to a Builder
	}
	for i := range lines {
		l, c := &lines[i], all[i]
		cell("", l.from, c.code)
		if l.row >= 0 {
			// Cells without a text are before those with one only.
			if typed && c.code < l.to {
				cell("\t", c.typ, c.value)
			}
			if c.value < c.comment || valued && c.comment < l.to {
				cell("\t", c.value, c.comment)
			}
		}
		if c.comment < l.to {
			cell("\t", c.comment, l.to)
		}
		io.WriteString(w, "\n")
	}
	w.Flush()
	if len(lines) == 1 { // what is in it may be of several lines
		b.WriteString(strings.Repeat("\t", lines[0].indent))
		b.WriteString(f.render(lines[0].from, lines[0].to))
		b.WriteByte('\n')
		return
	}
	for i, text := range strings.Split(strings.TrimSuffix(columns.String(), "\n"), "\n") {
		b.WriteString(strings.Repeat("\t", lines[i].indent))
		b.WriteString(strings.TrimRight(text, " "))
		b.WriteByte('\n')
	}
}

// render returns the text of some items of a line.
func (f *formatter) render(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		it := &f.items[i]
		if it.skip {
			continue
		}
		before := i - 1
		for before >= from && f.items[before].skip {
			before--
		}
		if before >= from && f.blank(before, i) {
			b.WriteByte(' ')
		}
		text := f.text[it.from:it.to]
		if it.comment() {
			text = strings.ReplaceAll(text, "\r", "")
			if strings.HasPrefix(text, "//") {
				text = strings.TrimRight(text, " \t\v\f")
			}
		}
		b.WriteString(text)
	}
	return b.String()
}
