package syntax

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend/source"
)

// TestPreprocessor compares the tokens behind the preprocessor, one blank
// between two, a new line as /.
func TestPreprocessor(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"plain", "a b\nc", "a b/c"},
		{"object", "#define N 3\nx = N + N", "x = 3 + 3"},
		{"function", "#define max(a,b) ((a) > (b) -> (a) : (b))\nmax(x, y+1)",
			"( ( x ) > ( y + 1 ) -> ( x ) : ( y + 1 ) )"},
		{"not called", "#define f(a) a\nf + f (2)", "f + 2"},
		{"nested", "#define a b\n#define b c\na", "c"},
		{"itself", "#define a a + 1\na", "a + 1"},
		{"each other", "#define a b\n#define b a\na b", "a b"},
		{"paste", "#define l(n) lab ## n\nl(3)", "lab3"},
		{"string", "#define s(x) printf(#x)\ns(a b)", `printf ( "a b" )`},
		{"several lines", "#define two x = 1; \\\n\ty = 2\ntwo\nz", "x = 1 ; y = 2/z"},
		{"white space behind a backslash", "#define two x = 1; \\ \t\n\ty = 2 \\\r\n;\ntwo\nz",
			"x = 1 ; y = 2 ;/z"},
		{"a comment and a string that go on", "// a \\\r\n b\nc \"d\\ \ne\"", "c \"d\\ \ne\""},
		{"if", "#define N 2\n#if N > 1 && defined(N)\na\n#else\nb\n#endif", "a"},
		{"elif", "#if 0\na\n#elif 1\nb\n#elif 1\nc\n#else\nd\n#endif", "b"},
		{"ifndef", "#ifndef X\na\n#endif\n#ifdef X\nb\n#endif", "a"},
		{"dead text", "#if 0\ndon't look\n#endif\na", "a"},
		{"nested if", "#if 0\n#if 1\na\n#endif\n#else\nb\n#endif", "b"},
		{"undef", "#define N 1\n#undef N\nN", "N"},
		{"comments do not nest", "/* a /* b */ c // d /* e\nf", "c/f"},
		{"comments", "a /* x\n y */ b // c\nd", "a/b/d"},
		{"empty", "#define nothing\nnothing a", "a"},
		{"arguments over lines", "#define f(a,b) a b\nf(1,\n2)\nc", "1 2/c"},
		{"called behind its body", "#define F(x) (x+1)\n#define G F\nG(3) G (4) G",
			"( 3 + 1 ) ( 4 + 1 ) F"},
		{"a name that calls", "#define call(f, x) f(x)\n#define inc(v) v++\ncall(inc, a)", "a ++"},
		{"an argument that is called", "#define q(x) x\n#define e() skip\nq(e)() q(q(e()))",
			"skip skip"},
		{"the rest has a name", "#define L(f, args...) p(f, ##args)\nL(a) L(a, b, c)",
			"p ( a ) p ( a , b , c )"},
		{"the rest may be missing", "#define L(f, ...) p(f, ##__VA_ARGS__)\nL(a) L(a, b)",
			"p ( a ) p ( a , b )"},
		{"a comment goes on in a directive", "#define two x = 1; /* a\nb */ y = 2\ntwo\n#if 1 /* " +
			"a\n b */ == 1\nz\n#endif", "x = 1 ; y = 2/z"},
		{"a comment before a directive", "/* a\n b */ #define N 1\nN", "1"},
		{"numbers as in C", "#if 0x10 == 16 && 10UL == 10 && 010 == 8 && 'a' == 97 && (0 ? 0 : " +
			"1)\na\n#endif", "a"},
		{"the file", "__FILE__", "\"t.pml\""},
		{"division", "#if 7/2 == 3 && 7%2 == 1\na\n#endif", "a"},
	} {
		out, _, err := expandFile(source.New("t.pml", c.text), nil, nil, source.Read, nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		var b strings.Builder
		for i, x := range out {
			if i > 0 && x.Newline {
				b.WriteByte('/')
			} else if i > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(x.Text)
		}
		if b.String() != c.want {
			t.Errorf("%s: %q, want %q", c.name, b.String(), c.want)
		}
	}
}

func TestInclude(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"m.pml":   "#include \"sub/a.h\"\nbyte x = N;\ninit { skip }\n",
		"sub/a.h": "#include \"b.h\"\n",
		"sub/b.h": "#define N 7\n",
		"loop.h":  "#include \"loop.h\"\n",
		"bad.pml": "#include \"loop.h\"\n",
		"no.pml":  "#include \"absent.h\"\n",
	} {
		os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o777)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	parse := func(name string) (*Model, error) {
		f, err := source.Read(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return Parse(f, nil)
	}
	if m, err := parse("m.pml"); err != nil || len(m.Files) != 3 {
		t.Errorf("%v", err)
	}
	if _, err := parse("bad.pml"); err == nil || !strings.Contains(err.Error(),
		"include each other") {
		t.Errorf("%v", err)
	}
}

// TestMistakes compares the first line of the message.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"init { x = }":           `t.pml:1:12: found "}" where an expression should be`,
		"init { x = 1 y = 2 }":   `t.pml:1:14: found "y" where a ";" or a new line should separate two statements`,
		"init { if fi }":         `t.pml:1:11: found "fi" where the first option (::) of if should begin`,
		"init { if :: fi }":      "t.pml:1:14: this option of if is empty; write skip",
		"init { do :: skip fi }": `t.pml:1:19: found "fi" where od should end this do`,
		"init { skip":            `t.pml:1:12: found the end of the file where "}" should be`,
		"bite x;\ninit { skip }": `t.pml:1:1: found "bite" where a declaration should begin; did you mean bit?`,
		"unsigned u; init { skip }": "t.pml:1:10: unsigned u needs its width in bits, " +
			"such as unsigned u : 4",
		"inline f() { f() } init { f() }": "t.pml:1:14: inline f calls itself",
		"inline f(a) { a } init { f(1, 2) }": "t.pml:1:26: inline f has 1 parameters, and here " +
			"2 arguments",
		"init { c_code { } }": "t.pml:1:8: c_code: C code in a model is not " +
			"supported, because a model is explored without a C compiler; write it in Promela",
		"#if 1\ninit { skip }": "t.pml:1:1: this #if has no #endif",
		"#if 1/0\n#endif":      "t.pml:1:6: division by zero",
		"#foo\ninit { skip }":  "t.pml:1:2: unknown preprocessor directive #foo",
		"/* init":              "t.pml:1:1: this comment does not end",
		"init { " + strings.Repeat("(", 2000): "t.pml:1:1006: statements or expressions are " +
			"nested more than 1000 deep",
		"proctype A(byte x[3]) { skip }":       "t.pml:1:18: a parameter cannot be an array",
		"chan c = [1] { byte }; init { skip }": `t.pml:1:14: found "{" where a channel needs: of { types of the message }`,
	} {
		_, err := Parse(source.New("t.pml", text), nil)
		if err == nil {
			t.Errorf("%.40s: taken", text)
			continue
		}
		if got, _, _ := strings.Cut(err.Error(), "\n"); got != want {
			t.Errorf("%.40s:\n\t%s\nwant\t%s", text, got, want)
		}
	}
}

// An operator of formulas ends an expression, <-> too, though an expression may have a < there.
func TestFormulaOperators(t *testing.T) {
	for text, want := range map[string]string{
		"a <-> b": "<->", "a < 1 <-> b": "<->", "(a <-> b) && c": "&&", "a -> b <-> c": "<->",
		"a < -1": "", "a U b -> c": "->",
	} {
		m, err := Parse(source.New("t.pml", "ltl {"+text+"}\n"), nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if f := m.LTLs[0].Formula; f.Op != want || f.Text != text {
			t.Errorf("%s is read as %q of %q", text, f.Op, f.Text)
		}
	}
}

// Parentheses in a formula that turn out to be those of an expression must not be
// tried again at each level.
func TestNestedParentheses(t *testing.T) {
	const n = 300
	text := "byte x; init { skip } ltl p { " + strings.Repeat("(", n) + "x" + strings.Repeat("+1)",
		n) + " > 0 }"
	if _, err := Parse(source.New("m.pml", text), nil); err != nil {
		t.Fatal(err)
	}
}
