// Package syntax parses Promela: a preprocessor sufficient for models, a scanner, and a parser
// that builds the syntax tree of a whole model.
//
//	f, err := source.Read("model.pml")
//	m, err := syntax.Parse(f, map[string]string{"N": "3"})
//
// The language is that of SPIN 6.5.2 without embedded C, which is refused with
// its place. A newline separates statements where SPIN's scanner says so (the
// rule of version 6.3), and inline definitions are expanded as texts, as SPIN
// does, before anything is resolved.
//
// The preprocessor is our own although SPIN runs the C compiler's: a model must load on a
// machine without one, and a message must name the place in the model, not in the expanded text.
package syntax

import (
	"fmt"
	"strings"

	"cpor/frontend/source"
)

// Pos is a place in one of the files of a model. The zero value is invalid.
type Pos struct {
	File *source.File
	Off  source.Pos
}

// IsValid reports whether p is a place.
func (p Pos) IsValid() bool { return p.File != nil }

// Line returns the line and the column, both from 1; 0 if p is invalid.
func (p Pos) Line() (line, col int) {
	if p.File == nil {
		return 0, 0
	}
	return p.File.Position(p.Off)
}

// Error is one mistake in a model.
type Error struct {
	Pos  Pos
	Len  int // bytes to underline
	Text string
}

// Errors are all mistakes found in a model, in the order in which they were found. Its text
// shows each with its line and a caret.
type Errors []*Error

// Error renders the messages, without a final newline.
func (l Errors) Error() string {
	var b strings.Builder
	seen := map[string]bool{}
	for i, e := range l {
		if i == source.Shown {
			fmt.Fprintf(&b, "and %d more\n", len(l)-i)
			break
		}
		s := e.Text
		if e.Pos.File != nil {
			s = e.Pos.File.Render(&source.Message{Pos: e.Pos.Off,
				End: e.Pos.Off + source.Pos(e.Len), Text: e.Text})
		}
		if !seen[s] {
			seen[s] = true
			b.WriteString(s + "\n")
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// Kind is the kind of a token.
type Kind uint8

// The kinds of tokens.
const (
	EOF    Kind = iota
	Ident       // a name or a keyword
	Num         // a decimal number
	Char        // 'a'
	String      // "...", with the quotes
	Op          // an operator or a delimiter
	other       // a byte that begins no token
)

// Token is one token of a model.
type Token struct {
	Kind    Kind
	Newline bool // it is the first of its line
	fresh   bool // and no comment goes on to that line, so that a directive may begin here
	Space   bool // white space or a comment is before it
	noMacro bool // it came from the expansion of a macro of this name
	given   bool // it came from the argument of an inline
	implied bool // a semicolon that is the end of a line
	param   Pos  // where the parameter stands that it was put in for, if given
	Text    string
	Pos     Pos
	use     *use // the innermost one that it came from; nil if it is in the text
}

// use is a macro that is expanded at one place.
type use struct {
	text   string // as it is written there, with its arguments
	tokens int    // that it expands to
	outer  *use   // in whose expansion it stands
}

// outermost returns the use whose expansion contains all others that the token came from.
func (t *Token) outermost() *use {
	u := t.use
	for u != nil && u.outer != nil {
		u = u.outer
	}
	return u
}

// from reports whether the token came from the expansion of a use.
func (t *Token) from(o *use) bool {
	for u := t.use; u != nil; u = u.outer {
		if u == o {
			return true
		}
	}
	return false
}

func (t *Token) is(op string) bool { return t.Kind == Op && t.Text == op }

func (t *Token) isIdent(name string) bool { return t.Kind == Ident && t.Text == name }

// operators, longest first.
var operators = []string{
	"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "++", "--", "!!", "??", "..", "::", "##",
}

// scanner splits a file into tokens, without expanding anything.
type scanner struct {
	file    *source.File
	off     int
	newline bool
	fresh   bool
	space   bool
	errs    *Errors
}

func (s *scanner) fail(off, n int, format string, args ...any) {
	*s.errs = append(*s.errs, &Error{Pos{s.file, source.Pos(off)}, n, fmt.Sprintf(format, args...)})
}

func isLetter(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return c >= '0' && c <= '9' }

// splice returns the length of a line continuation if text begins with one: a backslash,
// optional white space and the end of the line, as for the C preprocessor. Otherwise it is 0.
func splice(text string) int {
	if text == "" || text[0] != '\\' {
		return 0
	}
	n := 1
	for n < len(text) && strings.IndexByte(" \t\r\f\v", text[n]) >= 0 {
		n++
	}
	if n == len(text) || text[n] != '\n' {
		return 0
	}
	return n + 1
}

// next returns the next token. Lines that a backslash ends continue.
func (s *scanner) next() Token {
	text := s.file.Text
	for s.off < len(text) {
		c := text[s.off]
		switch {
		case c == '\n':
			s.newline, s.fresh, s.space = true, true, true
			s.off++
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v':
			s.space = true
			s.off++
			continue
		case splice(text[s.off:]) > 0:
			s.space = true
			s.off += splice(text[s.off:])
			continue
		case c == '/' && strings.HasPrefix(text[s.off:], "//"):
			for s.off < len(text) && text[s.off] != '\n' {
				s.off += max(1, splice(text[s.off:]))
			}
			s.space = true
			continue
		case c == '/' && strings.HasPrefix(text[s.off:], "/*"):
			end := strings.Index(text[s.off+2:], "*/")
			if end < 0 {
				s.fail(s.off, 2, "this comment does not end")
				s.off = len(text)
				continue
			}
			// A comment over several lines is white space for the
			// preprocessor, but its newlines remain.
			if strings.Contains(text[s.off:s.off+2+end], "\n") {
				s.newline = true
			}
			s.off += end + 4
			s.space = true
			continue
		}
		break
	}
	t := Token{Newline: s.newline, fresh: s.fresh, Space: s.space,
		Pos: Pos{s.file, source.Pos(s.off)}}
	s.newline, s.fresh, s.space = false, false, false
	start := s.off
	if start >= len(text) {
		t.Kind, t.Newline = EOF, true
		return t
	}
	c := text[start]
	switch {
	case isLetter(c):
		for s.off < len(text) && (isLetter(text[s.off]) || isDigit(text[s.off])) {
			s.off++
		}
		t.Kind = Ident
	case isDigit(c):
		for s.off < len(text) && isDigit(text[s.off]) {
			s.off++
		}
		t.Kind = Num
	case c == '"':
		s.off++
		for s.off < len(text) && text[s.off] != '"' && text[s.off] != '\n' {
			n := splice(text[s.off:])
			if n == 0 && text[s.off] == '\\' && s.off+1 < len(text) {
				n = 2
			}
			s.off += max(1, n)
		}
		t.Kind = String
		if s.off >= len(text) || text[s.off] != '"' {
			t.Kind = other
		} else {
			s.off++
		}
	case c == '\'':
		// 'a' or '\n'
		n := 1
		if strings.HasPrefix(text[start+1:], "\\") {
			n = 2
		}
		if start+n+1 < len(text) && text[start+n+1] == '\'' && text[start+n] != '\n' {
			s.off = start + n + 2
			t.Kind = Char
		} else {
			s.off++
			t.Kind = other
		}
	default:
		t.Kind = Op
		s.off++
		for _, o := range operators {
			if strings.HasPrefix(text[start:], o) {
				s.off = start + len(o)
				break
			}
		}
		if s.off == start+1 && !strings.ContainsRune("{}()[];:,.=<>!?@+-*/%&|^~#", rune(c)) {
			t.Kind = other
		}
	}
	t.Text = text[start:s.off]
	return t
}
