package predicate

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Error is a mistake in a predicate.
type Error struct {
	Text   string // the whole predicate
	Offset int    // of the mistake, in bytes
	Msg    string
	// IllTyped is set when a value in the log, or a constant, has the wrong type.
	IllTyped bool
}

// Error prints the message with the predicate and a caret under the mistake.
func (e *Error) Error() string {
	line := e.Text
	start := strings.LastIndexByte(line[:e.Offset], '\n') + 1
	row := strings.Count(line[:start], "\n") + 1
	line = line[start:]
	if i := strings.IndexByte(line, '\n'); i >= 0 {
		line = line[:i]
	}
	col := e.Offset - start
	var pad strings.Builder
	for _, r := range line[:min(col, len(line))] {
		if r == '\t' {
			pad.WriteByte('\t')
		} else {
			pad.WriteByte(' ')
		}
	}
	return fmt.Sprintf("predicate:%d:%d: %s\n\t%s\n\t%s^", row, col+1, e.Msg, line, pad.String())
}

type tokenKind uint8

const (
	tokEOF tokenKind = iota
	tokIdent
	tokString
	tokInt
	tokFloat
	tokOp // operators, punctuation and keywords
)

type token struct {
	kind tokenKind
	text string // tokString: the value; else the source text, keywords as operators
	off  int
}

// The words that are operators, with the operator that they represent.
var words = map[string]string{
	"and": "&&", "or": "||", "not": "!", "implies": "=>", "iff": "<=>",
	"in": "in", "subset": "subset", "forall": "forall", "exists": "exists", "true": "true",
	"false": "false",
}

var operators = []string{
	"<=>", "&&", "||", "==", "!=", "<=", ">=", "=>", "=~", "!~", "..", "->",
	";", "=", "<", ">",
	"!", "+", "-", "*", "/", "%", "(", ")", "{", "}", "[", "]", ",", ":", ".", "~",
}

func lex(src string) ([]token, error) {
	var toks []token
	fail := func(off int, format string, args ...any) ([]token, error) {
		return nil, &Error{Text: src, Offset: off, Msg: fmt.Sprintf(format, args...)}
	}
	for i := 0; i < len(src); {
		r, w := utf8.DecodeRuneInString(src[i:])
		switch {
		case unicode.IsSpace(r):
			i += w
		case r == '_' || unicode.IsLetter(r):
			j := len(src)
			if k := strings.IndexFunc(src[i:], endsName); k >= 0 {
				j = i + k
			}
			t := token{tokIdent, src[i:j], i}
			if op, ok := words[t.text]; ok {
				t.kind, t.text = tokOp, op
			}
			toks = append(toks, t)
			i = j
		case r >= '0' && r <= '9':
			kind, j := numberToken(src, i)
			toks = append(toks, token{kind, src[i:j], i})
			i = j
		case r == '"' || r == '\'':
			j := i + 1
			for j < len(src) && src[j] != byte(r) {
				if src[j] == '\\' {
					j++
				}
				j++
			}
			if j >= len(src) {
				return fail(i, "the string is not closed")
			}
			s, err := unquote(src[i+1:j], byte(r))
			if err != nil {
				return fail(i, "the string has a bad escape")
			}
			toks = append(toks, token{tokString, s, i})
			i = j + 1
		default:
			op := ""
			for _, o := range operators {
				if strings.HasPrefix(src[i:], o) {
					op = o
					break
				}
			}
			if op == "" {
				return fail(i, "unexpected character %q", r)
			}
			toks = append(toks, token{tokOp, op, i})
			i += len(op)
		}
	}
	return append(toks, token{tokEOF, "", len(src)}), nil
}

func endsName(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }

// numberToken returns the kind of the number that begins at i, and where it ends.
func numberToken(src string, i int) (kind tokenKind, j int) {
	digit := func(k int) bool { return k < len(src) && src[k] >= '0' && src[k] <= '9' }
	digits := func(k int) int {
		for digit(k) {
			k++
		}
		return k
	}
	kind, j = tokInt, digits(i)
	if j < len(src) && src[j] == '.' && digit(j+1) {
		kind, j = tokFloat, digits(j+1)
	}
	if j < len(src) && (src[j] == 'e' || src[j] == 'E') {
		k := j + 1
		if k < len(src) && (src[k] == '+' || src[k] == '-') {
			k++
		}
		if digit(k) {
			kind, j = tokFloat, digits(k)
		}
	}
	return kind, j
}

func unquote(s string, quote byte) (string, error) {
	var out []byte
	for s != "" {
		r, multibyte, rest, err := strconv.UnquoteChar(s, quote)
		if err != nil {
			return "", err
		}
		if r < utf8.RuneSelf || !multibyte {
			out = append(out, byte(r))
		} else {
			out = utf8.AppendRune(out, r)
		}
		s = rest
	}
	return string(out), nil
}
