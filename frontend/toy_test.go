package frontend_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"cpor/frontend"
	"cpor/frontend/source"
	"cpor/testkit/systemtest"
	"cpor/testkit/toysystem"
)

// A front end is one package, and one line where it registers. This one is all of
// it for a toy: each line of a file is a thread, and each word a transition of it:
//
//	x=3   x becomes 3, or the value of the constant that stands there
//	x+    x is read, and then, one transition later, written with one more
//	x?    waits until x is not 0
//	x!3   asserts that x is 3
//
// A line "const N 3" declares a constant, which -D N=4 changes.
func init() {
	frontend.Register(frontend.FrontEnd{Name: "toys", Extensions: []string{".toy"}, Load: loadToy})
}

func loadToy(f *source.File, o frontend.Options) (*frontend.Program, error) {
	var mistakes source.List
	mistakes.File = f
	p := toysystem.NewProgram()
	vars := map[string]*toysystem.Var{}
	params := map[string]any{}
	number := func(at source.Pos, text string) int64 {
		if v, ok := params[text].(int64); ok {
			return v
		}
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			mistakes.Add(at, at+source.Pos(len(text)), "%s is neither a number nor a constant",
				text)
		}
		return v
	}
	start := source.Pos(0)
	for line := range strings.Lines(f.Text) {
		words := strings.Fields(line)
		if len(words) == 3 && words[0] == "const" {
			value := words[2]
			if d, ok := o.Params[words[1]]; ok {
				value = d
			}
			params[words[1]] = number(start, value)
			words = nil
		}
		var code []toysystem.Node
		for _, w := range words {
			at := start + source.Pos(strings.Index(line, w))
			i := strings.IndexAny(w, "=+?!")
			if i < 1 || strings.ContainsRune("+?", rune(w[i])) != (i+1 == len(w)) {
				mistakes.Add(at, at+source.Pos(len(w)), "want x=3, x+, x? or x!3, not %s", w)
				continue
			}
			v := vars[w[:i]]
			if v == nil {
				v = p.Scalar(w[:i], 0)
				vars[w[:i]] = v
			}
			switch load := toysystem.Load(v, nil); w[i] {
			case '=':
				code = append(code,
					toysystem.Atomic(toysystem.Store(v, nil,
						toysystem.Const(number(at+source.Pos(i+1), w[i+1:])))))
			case '+':
				code = append(code, toysystem.Atomic(toysystem.Set(0, load)),
					toysystem.Atomic(toysystem.Store(v, nil, toysystem.Bin("+", toysystem.Reg(0),
						toysystem.Const(1)))))
			case '?':
				code = append(code, toysystem.Await(load))
			case '!':
				code = append(code,
					toysystem.Atomic(
						toysystem.Assert(toysystem.Bin("==", load,
							toysystem.Const(number(at+source.Pos(i+1), w[i+1:]))), w)))
			}
		}
		if len(code) > 0 {
			name := "T" + strconv.Itoa(len(params)+int(start))
			p.Thread(name, 1, code...)
			p.Start(name)
		}
		start += source.Pos(len(line))
	}
	if err := mistakes.Err(); err != nil {
		return nil, err
	}
	sys, err := toysystem.New(p)
	if err != nil {
		return nil, err
	}
	return &frontend.Program{System: sys, Params: params, Sources: []*source.File{f}}, nil
}

// TestToy loads toys by their names, and hands what comes out to every engine.
func TestToy(t *testing.T) {
	const text = "const N 2\nx+ done=1\nx+ end=1\ndone? end? x!N\n"
	file := filepath.Join(t.TempDir(), "lost-update.toy")
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		params   map[string]string
		violated bool
	}{
		{nil, true}, // an update is lost
		{map[string]string{"N": "1"}, true},
	} {
		p, err := frontend.Load(file, frontend.Options{Params: tt.params})
		if err != nil {
			t.Fatal(err)
		}
		systemtest.Conform(t, p.System, systemtest.Options{})
		engines := systemtest.Engines()
		if n := systemtest.Agree(t, p.System, engines, true, 10000, 1, 8); n < len(engines) {
			t.Errorf("only %d runs of %d engines were compared", n, len(engines))
		}
		out, err := engines[0].Run(p.System, 1, 10000)
		if err != nil || (len(out.Violations) > 0) != tt.violated {
			t.Errorf("%v: %+v, %v", tt.params, out, err)
		}
	}
	p, err := frontend.Read("safe.toy", strings.NewReader("const N 2\nx+ done=1\ndone? x+ x!N\n"),
		frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := systemtest.Engines()[0].Run(p.System, 1, 10000); err != nil ||
		len(out.Violations) > 0 || p.Params["N"] != int64(2) {
		t.Errorf("%+v, %v, constants %v", out, err, p.Params)
	}
}

// TestToyMistakes shows that messages with places come for nothing.
func TestToyMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"x=1 y%\n":  "bad.toy:1:5: want x=3, x+, x? or x!3, not y%",
		"y+\nx=M\n": "bad.toy:2:3: M is neither a number nor a constant",
	} {
		_, err := frontend.Read("bad.toy", strings.NewReader(text), frontend.Options{})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}
