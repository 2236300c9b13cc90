package ltl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting of parentheses and operators that Parse accepts.
const MaxDepth = 10000

// A SyntaxError says where and why Parse stopped.
type SyntaxError struct {
	Input  string
	Offset int // in bytes, from the start of Input
	Msg    string
}

// Error gives the column in characters, counted from 1, and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("ltl: column %d: %s", utf8.RuneCountInString(e.Input[:e.Offset])+1, e.Msg)
}

// Parse reads a formula. From the weakest to the strongest:
//
//	<->            equivalence, associates to the right
//	->             implication, associates to the right
//	|| |           or
//	&& &           and
//	U W R V M      binary temporal operators, one level, associate to the right; V is R
//	! [] G <> F X  prefix operators
//
// The operands are true, false, 1, 0, parenthesised formulas and atoms. An
// atom is an identifier (letters, digits, '_', '.', '@'; not starting with a
// digit; not one of U W R V M G F X true false), or any string in double
// quotes with Go's escapes. "GFp" is one atom: write "G F p" or "[]<>p".
//
// Note that SPIN binds U and V to the left; put parentheses in formulas that
// both should read. Errors are of type *SyntaxError.
func Parse(input string) (Formula, error) {
	p := &parser{input: input}
	p.next()
	f := p.equivalence()
	if p.err == nil && p.tok != tokEOF {
		p.fail("unexpected %s", p.describe())
	}
	if p.err != nil {
		return Formula{}, p.err
	}
	return f, nil
}

type token uint8

const (
	tokEOF token = iota
	tokAtom
	tokTrue
	tokFalse
	tokLeft
	tokRight
	tokNot
	tokAnd
	tokOr
	tokImplies
	tokIff
	tokNext
	tokEventually
	tokAlways
	tokUntil
	tokRelease
	tokWeakUntil
	tokStrongRelease
)

var words = map[string]token{
	"true": tokTrue, "false": tokFalse, "X": tokNext, "F": tokEventually, "G": tokAlways,
	"U": tokUntil, "R": tokRelease, "V": tokRelease, "W": tokWeakUntil, "M": tokStrongRelease,
}

// symbols is searched in order: longer ones come first.
var symbols = []struct {
	text string
	tok  token
}{
	{"<->", tokIff}, {"->", tokImplies}, {"<>", tokEventually}, {"[]", tokAlways},
	{"&&", tokAnd}, {"||", tokOr}, {"&", tokAnd}, {"|", tokOr}, {"!", tokNot},
	{"(", tokLeft}, {")", tokRight}, {"1", tokTrue}, {"0", tokFalse},
}

type parser struct {
	input      string
	start, end int // of the current token
	tok        token
	name       string // of an atom
	depth      int
	err        *SyntaxError
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = &SyntaxError{Input: p.input, Offset: p.start, Msg: fmt.Sprintf(format, args...)}
	}
	p.tok = tokEOF
}

func (p *parser) describe() string {
	if p.tok == tokEOF {
		return "end of formula"
	}
	return strconv.Quote(p.input[p.start:p.end])
}

func identifierRune(r rune, first bool) bool {
	return r == '_' || r == '@' || unicode.IsLetter(r) || !first && (r == '.' || unicode.IsDigit(r))
}

func (p *parser) next() {
	if p.err != nil {
		return
	}
	rest := strings.TrimLeft(p.input[p.end:], " \t\r\n")
	p.start = len(p.input) - len(rest)
	p.end = p.start
	if rest == "" {
		p.tok = tokEOF
		return
	}
	if rest[0] == '"' {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			p.fail("quoted atom without a closing quote or with a bad escape")
			return
		}
		p.name, _ = strconv.Unquote(quoted)
		p.tok = tokAtom
		p.end += len(quoted)
		return
	}
	n := 0
	for i, r := range rest {
		if r == utf8.RuneError || !identifierRune(r, i == 0) {
			break
		}
		n = i + utf8.RuneLen(r)
	}
	if n > 0 {
		p.end += n
		p.name = rest[:n]
		p.tok = tokAtom
		if tok, ok := words[p.name]; ok {
			p.tok = tok
		}
		return
	}
	for _, s := range symbols {
		if strings.HasPrefix(rest, s.text) {
			p.tok = s.tok
			p.end += len(s.text)
			if s.text == "1" || s.text == "0" {
				if r, _ := utf8.DecodeRuneInString(rest[1:]); identifierRune(r, false) {
					p.fail("the only numbers are 0 and 1, for false and true")
				}
			}
			return
		}
	}
	r, size := utf8.DecodeRuneInString(rest)
	p.end += size
	p.fail("unexpected character %q", r)
}

// nested calls a production that can contain itself, and counts how deep that goes.
func (p *parser) nested(production func() Formula) Formula {
	if p.depth >= MaxDepth {
		p.fail("nested deeper than %d", MaxDepth)
		return Formula{}
	}
	p.depth++
	f := production()
	p.depth--
	return f
}

func (p *parser) equivalence() Formula {
	f := p.implication()
	if p.tok == tokIff {
		p.next()
		f = Iff(f, p.nested(p.equivalence))
	}
	return f
}

func (p *parser) implication() Formula {
	f := p.disjunction()
	if p.tok == tokImplies {
		p.next()
		f = Implies(f, p.nested(p.implication))
	}
	return f
}

func (p *parser) disjunction() Formula {
	fs := []Formula{p.conjunction()}
	for p.tok == tokOr {
		p.next()
		fs = append(fs, p.conjunction())
	}
	if len(fs) == 1 {
		return fs[0]
	}
	return Or(fs...)
}

func (p *parser) conjunction() Formula {
	fs := []Formula{p.temporal()}
	for p.tok == tokAnd {
		p.next()
		fs = append(fs, p.temporal())
	}
	if len(fs) == 1 {
		return fs[0]
	}
	return And(fs...)
}

func (p *parser) temporal() Formula {
	f := p.prefix()
	op := map[token]Op{
		tokUntil: OpUntil, tokRelease: OpRelease, tokWeakUntil: OpWeakUntil, tokStrongRelease: OpStrongRelease,
	}[p.tok]
	if op == OpFalse {
		return f
	}
	p.next()
	return binary(op, f, p.nested(p.temporal))
}

func (p *parser) prefix() Formula {
	tok, name := p.tok, p.name
	switch tok {
	case tokAtom, tokTrue, tokFalse, tokNot, tokNext, tokEventually, tokAlways, tokLeft:
		p.next()
	default:
		p.fail("expected an operand, found %s", p.describe())
		return Formula{}
	}
	switch tok {
	case tokAtom:
		return Atom(name)
	case tokTrue:
		return True()
	case tokFalse:
		return False()
	case tokNot:
		return Not(p.nested(p.prefix))
	case tokNext:
		return Next(p.nested(p.prefix))
	case tokEventually:
		return Eventually(p.nested(p.prefix))
	case tokAlways:
		return Always(p.nested(p.prefix))
	}
	f := p.nested(p.equivalence)
	if p.err == nil && p.tok != tokRight {
		p.fail("expected \")\", found %s", p.describe())
	}
	p.next()
	return f
}
