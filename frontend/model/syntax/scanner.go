package syntax

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cpor/frontend/source"
)

// token is a lexical token's kind.
type token uint8

const (
	tBad token = iota // an error that was already reported
	tEOF
	tName
	tInt
	tString

	// Punctuation and operators.
	tLparen
	tRparen
	tLbrack
	tRbrack
	tLbrace
	tRbrace
	tComma
	tSemi
	tColon
	tDot
	tDotDot
	tEllipsis
	tAt
	tAssign
	tDefine
	tOpAssign // op= ; the operator is in scanner.op
	tInc
	tDec
	tOp // a binary or unary operator; which one is in scanner.op
	tArrow
	// an operator of formulas only; scanner.temporal says which one
	tTemporal

	// Keywords.
	tAssert
	tAtomic
	tAwait
	tBreak
	tCase
	tChan
	tChoose
	tConst
	tContinue
	tDefault
	tDefer
	tElse
	tExists
	tFallthrough
	tFor
	tForall
	tFunc
	tGo
	tGoto
	tIf
	tImport
	tInit
	tInterface
	tInvariant
	tMap
	tPackage
	tRange
	tReturn
	tSelect
	tSkip
	tStruct
	tSwitch
	tSynchronized
	tThread
	tType
	tVar
)

var keywords = map[string]token{
	"assert": tAssert, "atomic": tAtomic, "await": tAwait, "break": tBreak, "case": tCase,
	"chan": tChan, "choose": tChoose, "const": tConst, "continue": tContinue, "default": tDefault,
	"defer": tDefer, "else": tElse, "exists": tExists, "fallthrough": tFallthrough, "for": tFor,
	"forall": tForall, "func": tFunc, "go": tGo, "goto": tGoto, "if": tIf, "import": tImport,
	"init": tInit, "interface": tInterface, "invariant": tInvariant, "map": tMap,
	"package": tPackage, "range": tRange, "return": tReturn, "select": tSelect, "skip": tSkip,
	"struct": tStruct, "switch": tSwitch, "synchronized": tSynchronized, "thread": tThread,
	"type": tType, "var": tVar,
}

// reserved are words that begin a declaration and are not names.
var reserved = map[string]bool{
	"ltl": true,
}

// scanner splits a text into tokens by Go's lexical rules.
type scanner struct {
	text   string
	errorf func(from, to int, format string, args ...any)

	begin    int  // where the text of the file begins
	off      int  // the next byte to read
	needSemi bool // a newline here ends a statement
	ltl      bool // <>, -> and <-> are tokens

	// The current token.
	tok       token
	from, to  int
	op        Op // of tOp and tOpAssign
	temporal  TemporalOp
	lit       string // of tName, tInt; the unquoted text of tString
	autoSemi  bool   // of tSemi: a newline or the end of the file
	newLine   bool   // the token is the first one on its line
	lineStart int    // the offset of the token's line
}

// next reads the next token.
func (s *scanner) next() {
	needSemi := s.needSemi
	s.needSemi = false
	s.newLine = s.off == s.begin
	s.op, s.lit, s.autoSemi = NoOp, "", false

	// White space and comments; a comment with a newline counts as a newline.
	for s.off < len(s.text) {
		c := s.text[s.off]
		switch {
		case c == '\n':
			if needSemi {
				s.semi()
				return
			}
			s.off++
			s.newLine, s.lineStart = true, s.off
			continue
		case c == ' ' || c == '\t' || c == '\r':
			s.off++
			continue
		case strings.HasPrefix(s.text[s.off:], "//"):
			if i := strings.IndexByte(s.text[s.off:], '\n'); i >= 0 {
				s.off += i
			} else {
				s.off = len(s.text)
			}
			continue
		case strings.HasPrefix(s.text[s.off:], "/*"):
			i := strings.Index(s.text[s.off+2:], "*/")
			if i < 0 {
				s.errorf(s.off, s.off+2, "this comment is not closed: */ is missing")
				s.off = len(s.text)
				continue
			}
			comment := s.text[s.off : s.off+2+i+2]
			if nl := strings.LastIndexByte(comment, '\n'); nl >= 0 {
				if needSemi {
					s.semi() // the comment is read again, as white space
					return
				}
				s.newLine, s.lineStart = true, s.off+nl+1
			}
			s.off += len(comment)
			continue
		}
		break
	}

	s.from = s.off
	if s.off == len(s.text) {
		if needSemi {
			s.semi()
			return
		}
		s.tok, s.to = tEOF, s.off
		return
	}
	s.scan()
	s.to = s.off
	switch s.tok {
	case tName, tInt, tString, tRparen, tRbrack, tRbrace, tInc, tDec,
		tBreak, tContinue, tFallthrough, tReturn, tSkip, tBad:
		s.needSemi = true
	}
}

// semi makes the current token an automatic semicolon, at the newline.
func (s *scanner) semi() {
	s.tok, s.from, s.to, s.autoSemi = tSemi, s.off, s.off, true
}

func (s *scanner) scan() {
	r, size := utf8.DecodeRuneInString(s.text[s.off:])
	switch {
	case r == '_' || unicode.IsLetter(r):
		s.name()
		return
	case '0' <= r && r <= '9' || r == '.' && s.digitAt(s.off+1):
		s.number()
		return
	case r == '\'':
		s.char()
		return
	case r == '"' || r == '`':
		s.string(byte(r))
		return
	}
	if s.ltl {
		for op, text := range map[TemporalOp]string{Iff: "<->", Implies: "->", Eventually: "<>"} {
			if strings.HasPrefix(s.text[s.off:], text) {
				s.off += len(text)
				s.tok, s.temporal = tTemporal, op
				return
			}
		}
	}
	for _, p := range punctuation {
		if strings.HasPrefix(s.text[s.off:], p.text) {
			s.off += len(p.text)
			s.tok, s.op = p.tok, p.op
			return
		}
	}
	s.off += size
	s.tok = tBad
	if unicode.IsPrint(r) {
		s.errorf(s.from, s.off, "unexpected character %q", r)
	} else {
		s.errorf(s.from, s.off, "unexpected character %U", r)
	}
}

// punctuation, the longer ones before their prefixes.
var punctuation = []struct {
	text string
	tok  token
	op   Op
}{
	{"<<=", tOpAssign, Shl}, {">>=", tOpAssign, Shr}, {"&^=", tOpAssign, AndNot},
	{"...", tEllipsis, 0},
	{"..", tDotDot, 0}, {"+=", tOpAssign, Add}, {"-=", tOpAssign, Sub}, {"*=", tOpAssign, Mul},
	{"/=", tOpAssign, Div}, {"%=", tOpAssign, Rem}, {"&=", tOpAssign, And}, {"|=", tOpAssign, Or},
	{"^=", tOpAssign, Xor}, {":=", tDefine, 0}, {"==", tOp, Eq}, {"!=", tOp, Ne}, {"<=", tOp, Le},
	{">=", tOp, Ge}, {"<<", tOp, Shl}, {">>", tOp, Shr}, {"&^", tOp, AndNot}, {"&&", tOp, LAnd},
	{"||", tOp, LOr}, {"++", tInc, 0}, {"--", tDec, 0}, {"<-", tArrow, Arrow},
	{"(", tLparen, 0}, {")", tRparen, 0}, {"[", tLbrack, 0}, {"]", tRbrack, 0}, {"{", tLbrace, 0},
	{"}", tRbrace, 0}, {",", tComma, 0}, {";", tSemi, 0}, {":", tColon, 0}, {".", tDot, 0},
	{"@", tAt, 0}, {"=", tAssign, 0}, {"+", tOp, Add}, {"-", tOp, Sub}, {"*", tOp, Mul},
	{"/", tOp, Div}, {"%", tOp, Rem}, {"&", tOp, And}, {"|", tOp, Or}, {"^", tOp, Xor},
	{"<", tOp, Lt}, {">", tOp, Gt}, {"!", tOp, Not},
}

func (s *scanner) name() {
	for s.off < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.off:])
		if r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			break
		}
		s.off += size
	}
	s.lit = s.text[s.from:s.off]
	s.tok = tName
	if k, ok := keywords[s.lit]; ok {
		s.tok = k
	}
}

func (s *scanner) digitAt(i int) bool {
	return i < len(s.text) && '0' <= s.text[i] && s.text[i] <= '9'
}

// number reads an integer; lo..hi is two of them. A number with a fraction or an
// exponent is read whole and refused.
func (s *scanner) number() {
	t := s.text
	hex := s.off+1 < len(t) && t[s.off] == '0' && t[s.off+1]|0x20 == 'x'
	float := false
	for s.off < len(t) {
		c := t[s.off]
		switch {
		case c == '.':
			if strings.HasPrefix(t[s.off:], "..") {
				goto done
			}
			float = true
		case !hex && c|0x20 == 'e':
			float = true
			if s.off+1 < len(t) && (t[s.off+1] == '+' || t[s.off+1] == '-') {
				s.off++
			}
		case c == '_' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z':
		default:
			goto done
		}
		s.off++
	}
done:
	s.tok, s.lit = tInt, t[s.from:s.off]
	if float {
		s.tok = tBad
		s.errorf(s.from, s.off, "there are no floating-point numbers: use integers, scaled if "+
			"need be")
		return
	}
	if why := badInt(s.lit); why != "" {
		s.tok = tBad
		s.errorf(s.from, s.off, "%s", why)
	}
}

// badInt says what is wrong with an integer literal, "" if nothing.
func badInt(lit string) string {
	// A literal of this length fits no type, and big.Int would need quadratic time for it.
	if len(lit) > 200 {
		return "this number is too long"
	}
	base, digits, name := 10, lit, "decimal"
	if len(lit) > 1 && lit[0] == '0' {
		switch lit[1] | 0x20 {
		case 'x':
			base, digits, name = 16, lit[2:], "hexadecimal"
		case 'b':
			base, digits, name = 2, lit[2:], "binary"
		case 'o':
			base, digits, name = 8, lit[2:], "octal"
		default:
			base, digits, name = 8, lit[1:], "octal"
		}
	}
	if strings.Trim(digits, "_") == "" {
		return "the " + name + " number " + lit + " has no digits"
	}
	prev := byte('0')
	if digits != lit && lit[1]|0x20 >= 'a' {
		prev = 'x' // 0x_1 is fine
	}
	for i := 0; i < len(digits); i++ {
		c := digits[i]
		if c == '_' {
			if prev == '_' || i == len(digits)-1 {
				return "an underscore in a number must be between two digits"
			}
		} else if v, err := strconv.ParseUint(string(c), base, 8); err != nil || int(v) >= base {
			if c|0x20 >= 'a' && base == 10 {
				return "a number is followed by a letter: " + lit
			}
			return "invalid digit '" + string(c) + "' in the " + name + " number " + lit
		}
		prev = c
	}
	return ""
}

// char reads a character literal: an integer constant.
func (s *scanner) char() {
	s.off++
	_, _, tail, err := strconv.UnquoteChar(s.text[s.off:min(s.off+16, len(s.text))], '\'')
	end := min(s.off+16, len(s.text)) - len(tail)
	if err != nil || s.text[s.off] == '\n' || end >= len(s.text) || s.text[end] != '\'' {
		s.tok = tBad
		// Continue after the closing quote, if it is near.
		for s.off < len(s.text) && s.text[s.off] != '\n' {
			s.off++
			if s.text[s.off-1] == '\'' {
				break
			}
		}
		s.errorf(s.from, s.off, "invalid character literal: it is one character between single "+
			"quotes")
		return
	}
	s.off = end + 1
	s.tok, s.lit = tInt, s.text[s.from:s.off]
}

// string reads a string literal.
func (s *scanner) string(quote byte) {
	s.off++
	for s.off < len(s.text) && s.text[s.off] != quote && (quote == '`' || s.text[s.off] != '\n') {
		if quote == '"' && s.text[s.off] == '\\' && s.off+1 < len(s.text) &&
			s.text[s.off+1] != '\n' {
			s.off++
		}
		s.off++
	}
	s.tok = tBad
	if s.off >= len(s.text) || s.text[s.off] != quote {
		s.off = min(s.off, len(s.text))
		s.errorf(s.from, s.off, "this string is not closed: %c is missing", quote)
		return
	}
	s.off++
	lit, err := strconv.Unquote(s.text[s.from:s.off])
	if err != nil {
		s.errorf(s.from, s.off, "invalid escape sequence in a string")
		return
	}
	s.tok, s.lit = tString, lit
}

// describe names the current token for "expected ..., found ...".
func (s *scanner) describe() string {
	switch {
	case s.tok == tEOF || s.autoSemi && s.from == len(s.text):
		return "the end of the file"
	case s.autoSemi:
		return "the end of the line"
	case s.tok == tName:
		return "name " + s.lit
	case s.tok == tInt:
		return "number " + s.text[s.from:s.to]
	case s.tok == tString:
		return "a string"
	case s.tok >= tAssert:
		return "keyword " + s.lit
	}
	return "'" + s.text[s.from:s.to] + "'"
}

// checkText returns a message about a text that cannot be a model file, or nil.
func checkText(text string) *source.Message {
	if len(text) > source.MaxSize {
		return &source.Message{Pos: source.NoPos, End: source.NoPos,
			Text: "the file is larger than " + strconv.Itoa(source.MaxSize>>20) +
				" MiB, which no model file should be"}
	}
	if i := strings.IndexByte(text, 0); i >= 0 {
		return &source.Message{Pos: source.NoPos, End: source.NoPos,
			Text: "is this a binary file? Byte " + strconv.Itoa(i) + " is zero"}
	}
	for i, r := range text {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				return &source.Message{Pos: source.NoPos, End: source.NoPos,
					Text: "is this a binary file? Byte " + strconv.Itoa(i) +
						" is not part of valid UTF-8 text"}
			}
		}
	}
	return nil
}
