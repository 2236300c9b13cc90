package syntax

import (
	"slices"
	"strings"

	"cpor/frontend/source"
)

// separated inserts the semicolons that SPIN's scanner adds at ends of lines, and removes those
// that it ignores. Both follow from the tokens alone: the end of a line counts in the body of a
// process type, a claim, an inline or a typedef, outside parentheses, and after what can end a
// statement. A semicolon or an arrow is ignored before a closing brace and before another one.
func separated(in []Token) []Token {
	out := make([]Token, 0, len(in)+len(in)/4)
	names := map[string]bool{} // of types, process types and inlines, which end no statement
	braces, parens := 0, 0
	body, inBody := false, false
	for i := 0; i < len(in); i++ {
		t := in[i]
		if inBody && parens == 0 && endsLine(in, i, names) {
			at := in[i-1].Pos
			at.Off += source.Pos(len(in[i-1].Text))
			out = append(out, Token{Kind: Op, Text: ";", Pos: at, implied: true})
		}
		switch {
		case t.Kind == Ident && braces == 0:
			switch t.Text {
			case "ltl": // has arrows of its own
				end := closing(in, i)
				out = append(out, in[i:end]...)
				i = end - 1
				continue
			case "proctype", "D_proctype", "typedef", "inline":
				body = true
				if i+1 < len(in) {
					names[in[i+1].Text] = true
				}
			case "init", "never", "trace", "notrace":
				body = true
			}
		case t.is("("):
			parens++
		case t.is(")"):
			parens--
		case t.is("{"):
			if braces == 0 {
				inBody, body, parens = body, false, 0
			}
			braces++
		case t.is("}"):
			if braces--; braces <= 0 {
				braces, inBody = 0, false
			}
		}
		out = append(out, t)
	}
	return overlook(out)
}

// endsLine reports whether the token before i ends a statement because a line ends there.
func endsLine(in []Token, i int, names map[string]bool) bool {
	return in[i].Newline && i > 0 && endsStatement(in, i-1, names) &&
		!(in[i-1].is("}") && strings.HasPrefix(in[i].Text, "u"))
}

// overlook removes semicolons and arrows before closing braces, and the first of two.
func overlook(in []Token) []Token {
	out := in[:0]
	for i := 0; i < len(in); i++ {
		t := in[i]
		if t.isIdent("ltl") {
			end := closing(in, i)
			out = append(out, in[i:end]...)
			i = end - 1
			continue
		}
		if (t.is(";") || t.is("->")) && i+1 < len(in) {
			if n := in[i+1]; n.is("}") || n.is(";") || n.is("->") {
				i++
				t = n
			}
		}
		out = append(out, t)
	}
	return out
}

// closing returns the index after the brace that closes the first one from the i-th token on.
func closing(in []Token, i int) int {
	for depth := 0; i < len(in); i++ {
		switch {
		case in[i].is("{"):
			depth++
		case in[i].is("}"):
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return len(in)
}

// endsStatement reports whether the end of a line after the i-th token ends a statement.
func endsStatement(in []Token, i int, names map[string]bool) bool {
	t := in[i]
	switch t.Kind {
	case Num, Char:
		return true
	case Op:
		return slices.Contains([]string{"}", ")", "]", "++", "--"}, t.Text)
	case Ident:
		switch t.Text {
		case "fi", "od", "else", "break", "true", "false", "skip":
			return true
		case "timeout": // SPIN puts it in parentheses
			return i == 0 || !in[i-1].is("(")
		}
		return !keywords[t.Text] && !names[t.Text]
	}
	return false
}
