package syntax

import (
	"os"
	"path/filepath"
	"testing"

	"cpor/frontend/source"
)

// seeds are models to begin with.
func seeds(f *testing.F) {
	files, _ := filepath.Glob("../machine/testdata/micro/*.pml")
	for _, name := range files {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	for _, s := range []string{
		"#define f(a, b) a##b #a\n#if f(1,2) > 3\nx\n#elif defined(Y) && !Z\n#else\n#endif\nf(x,)",
		"#define A B\n#define B A\nA B\n#undef A\nA", "/* */ // \\\n x\n'a' '\\n' \"s\\\"t\" 12 ..",
		"#include \"nothing.h\"\n#ifdef\n#endif",
		"ltl p { [] (x -> <> y) U ! z }", "inline f(a) { a = a } init { f(x) f(y); f() }",
		"never { T0: if :: x -> goto T0 fi }",
	} {
		f.Add(s)
	}
}

// FuzzScanner: every byte of a text is passed once, and each token is a part of it.
func FuzzScanner(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		var errs Errors
		s := &scanner{file: source.New("fuzz.pml", text), newline: true, errs: &errs}
		last := -1
		for {
			tok := s.next()
			if tok.Kind == EOF {
				return
			}
			at := int(tok.Pos.Off)
			if at <= last || tok.Text == "" || at+len(tok.Text) > len(text) ||
				text[at:at+len(tok.Text)] != tok.Text {
				t.Fatalf("token %q at %d after %d", tok.Text, at, last)
			}
			last = at
		}
	})
}

// FuzzPreprocessor: a text is expanded to a bounded number of tokens, or refused with
// messages.
func FuzzPreprocessor(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<13 {
			return
		}
		out, files, err := expandFile(source.New("fuzz.pml", text), map[string]string{
			"N": "3", "F": "f(x)"}, nil, source.Read, nil)
		if err != nil && err.Error() == "" {
			t.Error("refused without a message")
		}
		if len(out) > 2*maxTokens || len(files) == 0 {
			t.Errorf("%d tokens of %d files", len(out), len(files))
		}
	})
}

// FuzzParser: a text is parsed, or refused with messages that have places in it.
func FuzzParser(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 1<<13 {
			return
		}
		m, err := Parse(source.New("fuzz.pml", text), nil)
		if (m == nil) == (err == nil) {
			t.Fatalf("a model %v and an error %v", m != nil, err)
		}
		if list, ok := err.(Errors); ok {
			for _, e := range list {
				if e.Text == "" || e.Pos.File == nil || int(e.Pos.Off) > len(e.Pos.File.Text) {
					t.Errorf("a message without a place: %q", e.Text)
				}
			}
		}
	})
}
