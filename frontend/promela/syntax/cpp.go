package syntax

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cpor/frontend/source"
)

// macro is a #define.
type macro struct {
	name   string
	params []string
	fn     bool // it has parameters, perhaps none
	more   bool // the last parameter is all further arguments
	body   []Token
}

const (
	maxIncludes = 100     // nested files
	maxTokens   = 1 << 20 // of an expanded model
)

// preprocessor expands a model into the tokens that the parser sees.
type preprocessor struct {
	read   func(name string) (*source.File, error)
	dirs   []string // where files are looked for that are not beside the one that includes them
	errs   *Errors
	macros map[string]*macro
	out    []Token
	depth  int
	full   bool // more than maxTokens was found
	files  []*source.File
	spare  [][]Token // buffers for bodies of macros
}

// frame is one nested #if.
type frame struct {
	pos    Pos
	live   bool // what follows counts
	taken  bool // a branch has counted
	outer  bool // what is around counts
	inElse bool
}

func (p *preprocessor) fail(t Token, format string, args ...any) {
	*p.errs = append(*p.errs, &Error{t.Pos, len(t.Text), fmt.Sprintf(format, args...)})
}

// file appends the tokens of one file.
func (p *preprocessor) file(f *source.File) {
	p.files = append(p.files, f)
	s := &scanner{file: f, newline: true, fresh: true, errs: p.errs}
	var ifs []frame
	live := true
	var line []Token // tokens of live lines that wait for expansion
	t := s.next()
	flush := func() {
		p.out = p.expand(p.out, line, nil)
		line = line[:0]
	}
	for t.Kind != EOF {
		if !(t.fresh && t.is("#")) {
			if live {
				line = append(line, t)
			}
			t = s.next()
			continue
		}
		hash := t
		var dir []Token
		for t = s.next(); t.Kind != EOF && !t.fresh; t = s.next() {
			dir = append(dir, t)
		}
		if !p.inCall(line) { // arguments of a macro may have an #if in them
			flush()
		}
		p.directive(hash, dir, &ifs)
		live = len(ifs) == 0 || ifs[len(ifs)-1].live
	}
	flush()
	for _, fr := range ifs {
		*p.errs = append(*p.errs, &Error{fr.pos, 1, "this #if has no #endif"})
	}
}

// inCall reports whether tokens end within the arguments of a macro.
func (p *preprocessor) inCall(line []Token) bool {
	depth := 0 // of the call that is open
	for i, t := range line {
		switch {
		case depth > 0 && t.is("("):
			depth++
		case depth > 0 && t.is(")"):
			depth--
		case depth == 0 && t.is("(") && i > 0 && line[i-1].Kind == Ident:
			if m := p.macros[line[i-1].Text]; m != nil && m.fn {
				depth = 1
			}
		}
	}
	return depth > 0
}

// directive executes one line that begins with #.
func (p *preprocessor) directive(hash Token, line []Token, ifs *[]frame) {
	if len(line) == 0 {
		return
	}
	name, rest := line[0], line[1:]
	switch name.Text {
	case "ifdef", "ifndef", "if", "elif", "else", "endif":
		p.conditional(hash, name, rest, ifs)
	default:
		if len(*ifs) == 0 || (*ifs)[len(*ifs)-1].live {
			p.command(name, rest)
		}
	}
}

// conditional executes a directive that decides which lines are read.
func (p *preprocessor) conditional(hash, name Token, rest []Token, ifs *[]frame) {
	live := len(*ifs) == 0 || (*ifs)[len(*ifs)-1].live
	push := func(cond bool) {
		*ifs = append(*ifs, frame{pos: hash.Pos, live: live && cond, taken: cond, outer: live})
	}
	switch name.Text {
	case "ifdef", "ifndef":
		if len(rest) == 0 || rest[0].Kind != Ident {
			p.fail(name, "#%s needs the name of a macro", name.Text)
			push(false)
			return
		}
		push(p.defined(rest[0].Text) == (name.Text == "ifdef"))
	case "if":
		push(live && p.condition(name, rest))
	case "elif":
		if f := p.innermost(name, *ifs); f != nil {
			if f.inElse {
				p.fail(name, "#elif after #else")
			}
			f.live = f.outer && !f.taken && p.condition(name, rest)
			f.taken = f.taken || f.live
		}
	case "else":
		if f := p.innermost(name, *ifs); f != nil {
			if f.inElse {
				p.fail(name, "a second #else")
			}
			f.live, f.inElse = f.outer && !f.taken, true
			f.taken = true
		}
	case "endif":
		if p.innermost(name, *ifs) != nil {
			*ifs = (*ifs)[:len(*ifs)-1]
		}
	}
}

// innermost returns the conditional that a directive belongs to, nil if there is none.
func (p *preprocessor) innermost(name Token, ifs []frame) *frame {
	if len(ifs) == 0 {
		p.fail(name, "#%s without #if", name.Text)
		return nil
	}
	return &ifs[len(ifs)-1]
}

// command executes another directive, in lines that are read.
func (p *preprocessor) command(name Token, rest []Token) {
	switch name.Text {
	case "define":
		p.define(name, rest)
	case "undef":
		if len(rest) != 1 || rest[0].Kind != Ident {
			p.fail(name, "#undef needs the name of a macro")
			return
		}
		delete(p.macros, rest[0].Text)
	case "include":
		p.include(name, rest)
	case "error":
		var words []string
		for _, t := range rest {
			words = append(words, t.Text)
		}
		p.fail(name, "#error: %s", strings.Join(words, " "))
	case "line", "pragma", "warning", "ident":
	default:
		if name.Kind != Num { // # 1 "file": a line marker
			p.fail(name, "unknown preprocessor directive #%s", name.Text)
		}
	}
}

func (p *preprocessor) include(name Token, rest []Token) {
	text := joined(rest)
	system := len(text) > 2 && text[0] == '<' && text[len(text)-1] == '>'
	if !system && (len(rest) != 1 || rest[0].Kind != String) {
		p.fail(name, "#include needs a file, such as #include \"defs.h\"")
		return
	}
	if p.depth >= maxIncludes {
		p.fail(rest[0], "files include each other more than %d deep", maxIncludes)
		return
	}
	path := text[1 : len(text)-1]
	dirs := p.dirs
	switch {
	case filepath.IsAbs(path):
		dirs = []string{""}
	case !system:
		dirs = append([]string{filepath.Dir(rest[0].Pos.File.Name)}, dirs...)
	case len(dirs) == 0:
		p.fail(rest[0], "%s is not in a known directory: name it with -I", text)
		return
	}
	var f *source.File
	var first error
	for _, d := range dirs {
		var err error
		if f, err = p.read(filepath.Join(d, path)); err == nil {
			break
		}
		if first == nil {
			first = err
		}
	}
	if f == nil {
		p.fail(rest[0], "%s", first)
		return
	}
	p.depth++
	p.file(f)
	p.depth--
}

func (p *preprocessor) define(name Token, rest []Token) {
	if len(rest) == 0 || rest[0].Kind != Ident {
		p.fail(name, "#define needs a name")
		return
	}
	m := &macro{name: rest[0].Text}
	rest = rest[1:]
	if len(rest) > 0 && rest[0].is("(") && !rest[0].Space {
		m.fn = true
		rest = rest[1:]
		for {
			if len(rest) == 0 {
				p.fail(name, "the parameters of #define %s want a )", m.name)
				return
			}
			t := rest[0]
			rest = rest[1:]
			if t.is(")") {
				break
			}
			if t.is(",") && len(m.params) > 0 {
				continue
			}
			if t.is("..") || t.is("...") { // the rest of the arguments
				for len(rest) > 0 && rest[0].is(".") {
					rest = rest[1:]
				}
				m.params, m.more = append(m.params, "__VA_ARGS__"), true
				continue
			}
			if t.Kind != Ident {
				p.fail(t, "a parameter of #define %s must be a name", m.name)
				return
			}
			m.params = append(m.params, t.Text)
			// and this one is the rest of the arguments, as in GNU C
			if len(rest) > 0 && rest[0].is("..") {
				m.more = true
				for rest = rest[1:]; len(rest) > 0 && rest[0].is("."); rest = rest[1:] {
				}
			}
		}
	}
	m.body = append([]Token(nil), rest...)
	p.macros[m.name] = m
}

// buffer returns an empty slice, with room if one was given back to spare.
func (p *preprocessor) buffer() []Token {
	n := len(p.spare) - 1
	if n < 0 {
		return nil
	}
	b := p.spare[n]
	p.spare = p.spare[:n]
	return b[:0]
}

// expand appends tokens with all macros expanded, except those being expanded.
func (p *preprocessor) expand(out, in []Token, active []string) []Token {
	var held Token // is in the place of the next one
	holds := false
	for i := 0; i < len(in); i++ {
		t := in[i]
		if holds {
			t, holds = held, false
		}
		m := p.macros[t.Text]
		if t.Kind == Ident && m == nil && t.Text == "__LINE__" {
			line, _ := t.Pos.Line()
			t.Kind, t.Text = Num, strconv.Itoa(line)
		}
		if t.Kind == Ident && m == nil && t.Text == "__STDC__" {
			t.Kind, t.Text = Num, "1"
		}
		if t.Kind == Ident && m == nil && t.Text == "__FILE__" {
			t.Kind, t.Text = String, strconv.Quote(t.Pos.File.Name)
		}
		if t.Kind != Ident || m == nil || t.noMacro || p.full {
			out = append(out, t)
			continue
		}
		busy := false
		for _, a := range active {
			busy = busy || a == m.name
		}
		if busy {
			t.noMacro = true
			out = append(out, t)
			continue
		}
		var args [][]Token
		written := t.Text
		if m.fn {
			j := i + 1
			if j >= len(in) || !in[j].is("(") {
				out = append(out, t)
				continue
			}
			depth, arg := 0, j+1 // where an argument begins
			for ; j < len(in); j++ {
				x := &in[j]
				if x.is("(") {
					if depth++; depth == 1 {
						continue
					}
				}
				if x.is(")") {
					if depth--; depth == 0 {
						break
					}
				}
				if x.is(",") && depth == 1 && !(m.more && len(args) == len(m.params)-1) {
					args = append(args, in[arg:j:j])
					arg = j + 1
				}
			}
			if j >= len(in) {
				p.fail(t, "the arguments of macro %s want a )", m.name)
				out = append(out, t)
				continue
			}
			args = append(args, in[arg:j:j])
			if len(m.params) == 0 && len(args) == 1 && len(args[0]) == 0 {
				args = nil
			}
			if m.more && len(args) == len(m.params)-1 {
				args = append(args, nil)
			}
			written = joined(in[i : j+1])
			if len(args) != len(m.params) {
				p.fail(t, "macro %s has %d parameters, and here %d arguments", m.name,
					len(m.params), len(args))
				i = j
				continue
			}
			if len(active) == 0 && j+1 < len(in) && slices.ContainsFunc(in[i+1:j+1],
				func(x Token) bool { return x.Newline }) {
				in[j+1].Newline = true // as the C preprocessor writes it
			}
			for k := i + 1; k < j; k++ {
				in[k].Newline = false
			}
			i = j
		}
		start := len(out)
		text := p.substitute(p.buffer(), m, args, t, active)
		out = p.expand(out, text, append(active[:len(active):len(active)], m.name))
		p.spare = append(p.spare, text)
		body := out[start:]
		here := &use{text: written, tokens: len(body)}
		for k := range body {
			body[k].Pos = t.Pos
			body[k].Newline = false
			if u := body[k].outermost(); u == nil {
				body[k].use = here
			} else if u != here {
				u.outer = here
			}
		}
		if len(body) > 0 {
			body[0].Newline, body[0].Space = t.Newline, t.Space
		} else if t.Newline && i+1 < len(in) {
			in[i+1].Newline = true
		}
		if last := len(body) - 1; last >= 0 && i+1 < len(in) && in[i+1].is("(") {
			// The rest of the body may take its arguments from the text after it.
			if n := p.macros[body[last].Text]; n != nil && n.fn && body[last].Kind == Ident &&
				!body[last].noMacro {
				held, holds, out = body[last], true, out[:start+last]
				i--
			}
		}
		if len(out) > maxTokens && !p.full {
			p.full = true
			p.fail(t, "the model is too large when its macros are expanded")
		}
	}
	return out
}

// joined returns tokens as text, on one line.
func joined(in []Token) string {
	var b strings.Builder
	for i, t := range in {
		if i > 0 && t.Space {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// substitute appends the body of a macro with its arguments put in.
func (p *preprocessor) substitute(out []Token, m *macro, args [][]Token, at Token,
	active []string) []Token {
	for i := 0; i < len(m.body); i++ {
		t := m.body[i]
		if m.fn && t.is("#") && i+1 < len(m.body) {
			if k := m.param(m.body[i+1]); k >= 0 {
				out = append(out, Token{Kind: String, Text: quoted(args[k]), Pos: at.Pos})
				i++
				continue
			}
		}
		if i+2 < len(m.body) && m.body[i+1].is("##") {
			var joined []Token
			joined, i = p.joined(m, args, i, active)
			out = append(out, joined...)
			continue
		}
		if k := m.param(t); k >= 0 {
			start := len(out)
			if out = p.expand(out, args[k], active); len(out) > start {
				out[start].Space = t.Space
			}
			continue
		}
		out = append(out, t)
	}
	return out
}

// param returns which parameter of the macro a token is, -1 if it is none.
func (m *macro) param(t Token) int {
	if t.Kind != Ident || !m.fn {
		return -1
	}
	return slices.Index(m.params, t.Text)
}

// value returns the argument for a token of the body, or the token itself if it is not a parameter.
func (m *macro) value(t Token, args [][]Token) []Token {
	if k := m.param(t); k >= 0 {
		return args[k]
	}
	return []Token{t}
}

// quoted returns an argument as a string literal, for the operator #.
func quoted(arg []Token) string {
	var b strings.Builder
	for k, a := range arg {
		if k > 0 && a.Space {
			b.WriteByte(' ')
		}
		b.WriteString(a.Text)
	}
	return strconv.Quote(b.String())
}

// joined returns what the operator ## makes of the tokens from i on, and the last of them.
func (p *preprocessor) joined(m *macro, args [][]Token, i int, active []string) ([]Token, int) {
	t, right := m.body[i], m.value(m.body[i+2], args)
	if k := m.param(m.body[i+2]); t.is(",") && m.more && k == len(m.params)-1 {
		// As in GNU C, the comma is kept only if something follows it.
		if len(right) == 0 {
			return nil, i + 2
		}
		return p.expand([]Token{t}, right, active), i + 2
	}
	out := paste(m.value(t, args), right)
	for i += 2; i+2 < len(m.body) && m.body[i+1].is("##"); i += 2 {
		right = m.value(m.body[i+2], args)
		if n := len(out); n == 0 {
			out = slices.Clone(right)
		} else {
			out = append(out[:n-1:n-1], paste([]Token{out[n-1]}, right)...)
		}
	}
	return out, i
}

// paste joins the last token of left with the first of right.
func paste(left, right []Token) []Token {
	if len(left) == 0 {
		return append([]Token(nil), right...)
	}
	out := append([]Token(nil), left...)
	if len(right) == 0 {
		return out
	}
	t := &out[len(out)-1]
	var errs Errors
	s := &scanner{file: source.New("", t.Text+right[0].Text), errs: &errs}
	joined := s.next()
	if rest := s.next(); rest.Kind == EOF && len(errs) == 0 {
		t.Kind, t.Text = joined.Kind, joined.Text
		return append(out, right[1:]...)
	}
	return append(out, right...)
}

// defined reports whether a name is that of a macro.
func (p *preprocessor) defined(name string) bool {
	return p.macros[name] != nil || name == "__LINE__" || name == "__FILE__" || name == "__STDC__"
}

// condition evaluates the expression of an #if.
func (p *preprocessor) condition(at Token, line []Token) bool {
	var in []Token
	for i := 0; i < len(line); i++ {
		t := line[i]
		if !t.isIdent("defined") {
			in = append(in, t)
			continue
		}
		name := ""
		switch {
		case i+1 < len(line) && line[i+1].Kind == Ident:
			name = line[i+1].Text
			i++
		case i+3 < len(line) && line[i+1].is("(") && line[i+2].Kind == Ident && line[i+3].is(")"):
			name = line[i+2].Text
			i += 3
		default:
			p.fail(t, "defined needs the name of a macro")
			return false
		}
		v := "0"
		if p.defined(name) {
			v = "1"
		}
		in = append(in, Token{Kind: Num, Text: v, Pos: t.Pos})
	}
	in = p.expand(nil, in, nil)
	e := &ifExpr{p: p, in: in, at: at}
	v := e.choice()
	if !e.bad && e.i < len(e.in) {
		p.fail(e.in[e.i], "this is not part of an expression")
	}
	return v != 0
}

// ifExpr evaluates the integer expression of an #if.
type ifExpr struct {
	p   *preprocessor
	in  []Token
	i   int
	at  Token
	bad bool
}

var ifPrecedence = map[string]int{
	"||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, ">": 7, "<=": 7, ">=": 7,
	"<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}

// choice evaluates c ? x : y, or what c is.
func (e *ifExpr) choice() int64 {
	c := e.binary(0)
	if e.i >= len(e.in) || !e.in[e.i].is("?") {
		return c
	}
	e.i++
	x := e.choice()
	if e.i >= len(e.in) || !e.in[e.i].is(":") {
		if !e.bad {
			e.p.fail(e.at, "a ? in the expression of #%s needs a : behind it", e.at.Text)
		}
		e.bad = true
		return 0
	}
	e.i++
	y := e.choice()
	if c != 0 {
		return x
	}
	return y
}

func (e *ifExpr) binary(min int) int64 {
	x := e.unary()
	for e.i < len(e.in) && e.in[e.i].Kind == Op {
		op := e.in[e.i]
		prec := ifPrecedence[op.Text]
		if prec == 0 || prec <= min {
			break
		}
		e.i++
		y := e.binary(prec)
		if (op.Text == "/" || op.Text == "%") && y == 0 {
			if !e.bad {
				e.p.fail(op, "division by zero")
			}
			e.bad = true
			return 0
		}
		x = fold(op.Text, x, y)
	}
	return x
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

func fold(op string, x, y int64) int64 {
	switch op {
	case "||":
		return b2i(x != 0 || y != 0)
	case "&&":
		return b2i(x != 0 && y != 0)
	case "|":
		return x | y
	case "^":
		return x ^ y
	case "&":
		return x & y
	case "==":
		return b2i(x == y)
	case "!=":
		return b2i(x != y)
	case "<":
		return b2i(x < y)
	case ">":
		return b2i(x > y)
	case "<=":
		return b2i(x <= y)
	case ">=":
		return b2i(x >= y)
	case "<<":
		return x << uint(y&63)
	case ">>":
		return x >> uint(y&63)
	case "+":
		return x + y
	case "-":
		return x - y
	case "*":
		return x * y
	case "/":
		return x / y
	}
	return x % y
}

func (e *ifExpr) unary() int64 {
	if e.i >= len(e.in) {
		if !e.bad {
			e.p.fail(e.at, "the expression of #%s is not complete", e.at.Text)
		}
		e.bad = true
		return 0
	}
	t := e.in[e.i]
	e.i++
	switch {
	case t.Kind == Num:
		// C's numbers: 0x1f, 017, 10UL.
		if e.i < len(e.in) && e.in[e.i].Kind == Ident && !e.in[e.i].Space {
			t.Text += e.in[e.i].Text
			e.i++
		}
		v, err := strconv.ParseUint(strings.TrimRight(t.Text, "uUlL"), 0, 64)
		if err != nil {
			if !e.bad {
				e.p.fail(t, "%s is not a number, or too large", t.Text)
			}
			e.bad = true
		}
		return int64(v)
	case t.Kind == Char:
		return int64(character(t.Text))
	case t.Kind == Ident:
		return 0
	case t.is("!"):
		return b2i(e.unary() == 0)
	case t.is("-"):
		return -e.unary()
	case t.is("+"):
		return e.unary()
	case t.is("~"):
		return ^e.unary()
	case t.is("("):
		v := e.choice()
		if e.i < len(e.in) && e.in[e.i].is(")") {
			e.i++
			return v
		}
	}
	if !e.bad {
		e.p.fail(t, "%q is not allowed in the expression of #%s", t.Text, e.at.Text)
	}
	e.bad = true
	return 0
}

// expandFile returns the tokens of a model with the preprocessor's work done, and the files that
// they came from. defines are those of the command line, NAME to VALUE, dirs the directories to
// search for included files besides that of the file.
func expandFile(f *source.File, defines map[string]string, dirs []string,
	read func(string) (*source.File, error), more []*source.File) ([]Token, []*source.File, error) {
	var errs Errors
	p := &preprocessor{read: read, dirs: dirs, errs: &errs, macros: map[string]*macro{}}
	for name, value := range defines {
		s := &scanner{file: source.New("-D "+name, value), errs: &errs}
		m := &macro{name: name}
		for t := s.next(); t.Kind != EOF; t = s.next() {
			t.Newline = false
			m.body = append(m.body, t)
		}
		p.macros[name] = m
	}
	for _, f := range append([]*source.File{f}, more...) {
		p.file(f)
	}
	if len(errs) > 0 {
		return nil, p.files, errs
	}
	return p.out, p.files, nil
}
