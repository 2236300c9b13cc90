package syntax_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/testkit/chunktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestErrors(t *testing.T) {
	for _, ch := range chunktest.Read(t, "testdata/errors.model") {
		t.Run(ch.Name, func(t *testing.T) {
			f := source.New(ch.Name, ch.Text)
			_, err := syntax.Parse(f)
			ch.Check(t, f, err)
		})
	}
}

// TestRendering compares the whole text that the user sees.
func TestRendering(t *testing.T) {
	long := "const A = " + strings.Repeat("1 + ", 100) + "# + " + strings.Repeat("2 + ", 100) +
		"3\n"
	tests := []struct{ name, text string }{
		{"simple", "var x []int\n"},
		{"tabs", "thread T() {\n\tif x {\n\t\ty\t=\t= 3\n\t}\n}\n"},
		{"unicode", "const größe = \"ä\" + 'ö' + ? + \"ß\"\n"},
		{"note", "thread T() {\n\tskip\n"},
		{"lastline", "const A = "},
		{"crlf", "var x int\r\nvar y []int\r\nvar z map[int]int\r\n"},
		{"bom", "\ufeffvar x []int\n"},
		{"long line", long},
		{"long mark", "const A = \"" + strings.Repeat("a", 300) + "\n"},
		{"control", "var x \x1b[31m\n"},
		{"sorted", "var b map[int]int\nvar a []int\n"},
		{"many", strings.Repeat("var x []int\n", 60)},
		{"too many", strings.Repeat("var x []int\n", 5000)},
		{"empty", ""},
		{"zero byte", "var x int\x00\n"},
		{"not utf-8", "var x int\xff\n"},
		{"too large", strings.Repeat(" ", source.MaxSize+1)},
		{"nested", "const A = " + strings.Repeat("(", 2000) + "1" + strings.Repeat(")", 2000)},
		{"chain", "const A = 1" + strings.Repeat("+1", 20_000)},
	}
	var b strings.Builder
	for _, test := range tests {
		b.WriteString("--- " + test.name + "\n")
		_, err := syntax.Parse(source.New("f.model", test.text))
		if err == nil {
			b.WriteString("no error\n")
			continue
		}
		b.WriteString(err.Error() + "\n")
	}
	golden(t, "testdata/rendering.golden", b.String())
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (go test -update rewrites it); got:\n%s", name, got)
	}
}

// deep are inputs whose nesting or length would exhaust the stack or the time
// of a careless parser.
var deep = map[string]func(n int) string{
	"parens":    func(n int) string { return "const A = " + strings.Repeat("(", n) },
	"unary":     func(n int) string { return "const A = " + strings.Repeat("- ", n) + "1" },
	"not":       func(n int) string { return "const A = " + strings.Repeat("!", n) + "x" },
	"deref":     func(n int) string { return "const A = " + strings.Repeat("*", n) + "x" },
	"binary":    func(n int) string { return "const A = 1" + strings.Repeat("+1", n) },
	"mixed":     func(n int) string { return "const A = " + strings.Repeat("(1+1+1+1+", n) },
	"right":     func(n int) string { return "const A = 1" + strings.Repeat("||(1", n) },
	"index":     func(n int) string { return "const A = a" + strings.Repeat("[0]", n) },
	"nestindex": func(n int) string { return "const A = a" + strings.Repeat("[a", n) },
	"selector":  func(n int) string { return "const A = a" + strings.Repeat(".b", n) },
	"at":        func(n int) string { return "const A = a" + strings.Repeat("@b", n) },
	"calls":     func(n int) string { return "const A = a" + strings.Repeat("()", n) },
	"nestcall":  func(n int) string { return "const A = " + strings.Repeat("f(", n) },
	"literal":   func(n int) string { return "const A = T" + strings.Repeat("{", n) },
	"literals":  func(n int) string { return "const A = T" + strings.Repeat("{}", n) },
	"quant": func(n int) string {
		return "const A = " + strings.Repeat("forall i in 0..1 {",
			n)
	},
	"types":   func(n int) string { return "var a " + strings.Repeat("*", n) + "int" },
	"arrays":  func(n int) string { return "var a " + strings.Repeat("[1]", n) + "int" },
	"chans":   func(n int) string { return "var a " + strings.Repeat("chan ", n) + "int" },
	"structs": func(n int) string { return "var a " + strings.Repeat("struct { a ", n) },
	"blocks":  func(n int) string { return "thread T() " + strings.Repeat("{", n) },
	"ifs":     func(n int) string { return "thread T() {" + strings.Repeat("if x {", n) },
	"elseifs": func(n int) string {
		return "thread T() { if x {}" + strings.Repeat(" else if x {}", n) + "}"
	},
	"fors":   func(n int) string { return "thread T() {" + strings.Repeat("for {", n) },
	"labels": func(n int) string { return "thread T() {" + strings.Repeat("a: ", n) + "}" },
	"switches": func(n int) string {
		return "thread T() {" + strings.Repeat("switch { case x: ",
			n)
	},
	"chooses": func(n int) string {
		return "thread T() {" + strings.Repeat("choose { case: ",
			n)
	},
	"atomics":  func(n int) string { return "thread T() {" + strings.Repeat("atomic { ", n) },
	"errors":   func(n int) string { return strings.Repeat("var x = = \n", n) },
	"stmts":    func(n int) string { return "thread T() {" + strings.Repeat("x = = \n", n) },
	"braces":   func(n int) string { return strings.Repeat("}\n", n) },
	"comments": func(n int) string { return strings.Repeat("/* */", n) },
	"opens":    func(n int) string { return strings.Repeat("/*", n) },
	"digits":   func(n int) string { return "const A = " + strings.Repeat("1", n) },
	"name":     func(n int) string { return "const " + strings.Repeat("a", n) + " = 1" },
	"quotes":   func(n int) string { return strings.Repeat("'", n) },
	"semis":    func(n int) string { return "thread T() {" + strings.Repeat(";", n) + "}" },
	"group":    func(n int) string { return "const (" + strings.Repeat("a, ", n) },
}

func TestDeep(t *testing.T) {
	for name, f := range deep {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{500, 100_000} {
				file, err := syntax.Parse(source.New("deep.model", f(n)))
				if err != nil && err.Error() == "" {
					t.Error("an error without text")
				}
				for _, d := range file.Decls {
					syntax.String(d) // must not exhaust the stack either
				}
			}
		})
	}
}

// TestPrint checks that String returns what is written in gofmt's layout, and
// that its result parses as the same tree.
func TestPrint(t *testing.T) {
	data, err := os.ReadFile("testdata/print.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(data)), "\n") {
		wide := strings.ReplaceAll(line, " ", "  ")
		if strings.Contains(line, `"`) {
			wide = line // its blanks are part of a string
		}
		for _, src := range []string{line, wide} {
			stmt := parseStmt(t, src)
			if got := syntax.String(stmt); got != line {
				t.Errorf("String of\n\t%s\nis\n\t%s", line, got)
			}
		}
	}
}

func parseStmt(t *testing.T, src string) syntax.Stmt {
	t.Helper()
	f, err := syntax.Parse(source.New("print.model", "thread T() { "+src+" }"))
	if err != nil {
		t.Fatal(err)
	}
	return f.Decls[0].(*syntax.ThreadDecl).Body.Stmts[0]
}

func TestPrintDecls(t *testing.T) {
	for _, want := range []string{
		"const A uint8 = 1 << 3",
		"type T struct{ a int; b [2]bool; c *T; d chan int; e chan(2) bool }",
		"type E struct{}",
		"var x, y [N]int = a, b",
		"func f(a int, b *T) (int, bool)",
		"func f() int",
		"thread T(x int)",
		"init",
		"invariant i { x > 3 }",
	} {
		src := want
		if strings.HasPrefix(src, "func") || strings.HasPrefix(src, "thread") || src == "init" {
			src += " { }"
		}
		f, err := syntax.Parse(source.New("print.model", src))
		if err != nil {
			t.Fatal(err)
		}
		if got := syntax.String(f.Decls[0]); got != want {
			t.Errorf("String of\n\t%s\nis\n\t%s", want, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("../../../benchmarks/*.model")
	more, _ := filepath.Glob("../*/testdata/*.model")
	for _, name := range append(files, more...) {
		if data, err := os.ReadFile(name); err == nil {
			f.Add(string(data))
			for _, part := range strings.Split(string(data), "\n---") {
				f.Add(part)
			}
		}
	}
	for _, d := range deep {
		f.Add(d(20))
	}
	f.Fuzz(func(t *testing.T, text string) {
		src := source.New("fuzz.model", text)
		file, err := syntax.Parse(src)
		if file == nil {
			t.Fatal("no file")
		}
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without text")
			}
			return
		}
		if len(file.Broken) > 0 || file.Lost {
			t.Fatal("broken declarations without an error")
		}
		for _, d := range file.Decls {
			if d.Pos() < 0 || d.End() < d.Pos() || int(d.End()) > len(text) {
				t.Fatalf("%s spans %d to %d", syntax.String(d), d.Pos(), d.End())
			}
		}
	})
}

// TestPrintHeads checks what String makes of statements with a body: the head.
func TestPrintHeads(t *testing.T) {
	for src, want := range map[string]string{
		"if x > 0 { } else { }":             "if x > 0",
		"if x := f(); x > 0 { }":            "if x := f(); x > 0",
		"for { }":                           "for",
		"for x > 0 { }":                     "for x > 0",
		"for i := 0; i < n; i++ { }":        "for i := 0; i < n; i++",
		"for ; ; i++ { }":                   "for ; ; i++",
		"for ; ; { }":                       "for",
		"for range n { }":                   "for range n",
		"for i := range n { }":              "for i := range n",
		"for i, a[0] = range n { }":         "for i, a[0] = range n",
		"switch { case x: }":                "switch",
		"switch x { case 1: }":              "switch x",
		"switch x := 3; x { case 1: }":      "switch x := 3; x",
		"select { default: }":               "select",
		"choose { case: skip }":             "choose",
		"atomic { skip }":                   "atomic",
		"{ skip; skip }":                    "{ ... }",
		"l: for { }":                        "l: for",
		";":                                 "",
		"const a = 3":                       "const a = 3",
		"type t [2]int":                     "type t [2]int",
		"x = f(y)(z)[1].a":                  "x = f(y)(z)[1].a",
		"x = make(chan int)":                "x = make(chan int)",
		"x = [...]chan int{}":               "x = [...]chan int{}",
		"assert(x, \"a\\n\\x00ä\")":         "assert(x, \"a\\n\\x00ä\")",
		"x = aaaa.bbbb   . cccc [ 1+2*3 ] ": "x = aaaa.bbbb.cccc[1+2*3]",
	} {
		if got := syntax.String(parseStmt(t, src)); got != want {
			t.Errorf("String of\n\t%s\nis\n\t%s\nwant\n\t%s", src, got, want)
		}
	}
	if got := syntax.String(nil); got != "" {
		t.Errorf("String of nil is %q", got)
	}
	// A tree without the parentheses that its text needs, as a program may make one.
	x := &syntax.Ident{Name: "x"}
	sum := &syntax.BinaryExpr{Op: syntax.Add, X: x, Y: x}
	for _, test := range []struct {
		e    syntax.Expr
		want string
	}{
		{&syntax.BinaryExpr{Op: syntax.Mul, X: sum, Y: x}, "(x + x) * x"},
		{&syntax.BinaryExpr{Op: syntax.Sub, X: x, Y: sum}, "x - (x + x)"},
		{&syntax.UnaryExpr{Op: syntax.Sub, X: sum}, "-(x + x)"},
		{&syntax.IndexExpr{X: &syntax.UnaryExpr{Op: syntax.Mul, X: x}, Index: x}, "(*x)[x]"},
	} {
		if got := syntax.String(test.e); got != test.want {
			t.Errorf("String is %s, want %s", got, test.want)
		}
	}
}
