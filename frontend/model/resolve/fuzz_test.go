package resolve_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
)

// FuzzCheck looks for texts that make Check panic or hang, or accept what its
// users cannot use.
func FuzzCheck(f *testing.F) {
	files, _ := filepath.Glob("../../../benchmarks/*.model")
	more, _ := filepath.Glob("../*/testdata/*.model")
	for _, name := range append(files, more...) {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for _, part := range strings.Split(string(data), "\n---") {
			f.Add(part)
			f.Add("thread Body() {\n" + part + "}\ninit { go Body() }\n")
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		prog, err := resolve.Check(source.New("fuzz.model", text), resolve.Options{})
		if (prog == nil) != (err != nil) {
			t.Fatal("a program and an error, or neither")
		}
		if err != nil && err.Error() == "" {
			t.Fatal("an error without text")
		}
		if prog != nil {
			checkProgram(t, prog)
		}
	})
}

// FuzzParams looks for values of -D that make Check panic, or that it takes and
// then has a constant which its type cannot hold.
func FuzzParams(f *testing.F) {
	for _, v := range []string{"0", "3", "-1", "0x1f", "0b1", "0o17", "1_000", "true", "false",
		" 7 ", "99999999999999999999", "1e3", "", "'a'", "--1"} {
		f.Add("N", v)
		f.Add("B", v)
		f.Add("S", v)
		f.Add("n", v)
	}
	src := source.New("params.model", "const N = 2\nconst S uint4 = 3\nconst B = true\nconst D = "+
		"N * 2\nvar A [N]int\nthread T() { assert(B || S < 15) }\ninit { go T() }\n")
	f.Fuzz(func(t *testing.T, name, value string) {
		prog, err := resolve.Check(src, resolve.Options{Params: map[string]string{name: value}})
		if (prog == nil) != (err != nil) {
			t.Fatal("a program and an error, or neither")
		}
		if prog == nil {
			return
		}
		checkProgram(t, prog)
		for _, c := range prog.Consts {
			if c.Name == "S" && (c.Value < 0 || c.Value > 15) || c.Name == "B" && c.Value&^1 != 0 {
				t.Fatalf("%s=%q: %s is %d", name, value, c.Name, c.Value)
			}
		}
	})
}

// TestDeep checks trees as high as the parser lets them be.
func TestDeep(t *testing.T) {
	const n = 9_000
	for name, text := range map[string]string{
		"sum":  "const A = 1" + strings.Repeat("+1", n),
		"sum2": "var x int\nfunc f() { x = x" + strings.Repeat("+x", n) + " }",
		"and":  "var x bool\nfunc f() { x = x" + strings.Repeat("&&x", n) + " }",
		"fields": "type N struct { p *N }\nvar x N\nfunc f() { x.p" + strings.Repeat(".p", n) +
			" = nil }",
		"nested":   "const A = " + strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400),
		"blocks":   "func f() " + strings.Repeat("{", 400) + strings.Repeat("}", 400),
		"types":    "var x " + strings.Repeat("*", 400) + "int",
		"arrays":   "var x " + strings.Repeat("[2]", 15) + "int",
		"shifts":   "const A = 1" + strings.Repeat("<<1>>1", n/4),
		"products": "const A = 1" + strings.Repeat("*1", n),
	} {
		t.Run(name, func(t *testing.T) {
			text += "\nthread T() { skip }\ninit { go T() }\n"
			if _, err := resolve.Check(source.New("deep.model", text),
				resolve.Options{}); err != nil {
				t.Error(err)
			}
		})
	}
	bad := map[string]string{
		"doubling": "const A0 = 2\n",
		"structs":  "type T0 [1024]int\n",
	}
	for i := 1; i < 60; i++ {
		p, q := string(rune('0'+i/10))+string(rune('0'+i%10)), string(rune('0'+(i-1)/10))+string(
			rune('0'+(i-1)%10))
		if i == 1 {
			q = "0"
		}
		bad["doubling"] += "const A" + p + " = A" + q + " * A" + q + "\n"
		bad["structs"] += "type T" + p + " struct { a, b T" + q + " }\nvar x" + p + " T" + p + "\n"
	}
	for name, text := range bad {
		t.Run(name, func(t *testing.T) {
			text += "\nthread T() { skip }\ninit { go T() }\n"
			if _, err := resolve.Check(source.New("deep.model", text),
				resolve.Options{}); err == nil {
				t.Error("no error")
			}
		})
	}
}
