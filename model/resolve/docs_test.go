package resolve_test

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"cpor/model/resolve"
	"cpor/model/source"
)

// example is a fenced block of the language reference.
type example struct {
	kind    string // model, model-prelude, model-fragment, model-error
	verdict string // of a model: pass, assertion, deadlock, invariant, runtime
	text    string
	line    int // of the first line of text
}

var fence = regexp.MustCompile("^```(model[a-z-]*)(?: verdict=([a-z]+))?$")

// examples returns the models in docs/language.md.
func examples(t *testing.T) []example {
	t.Helper()
	data, err := os.ReadFile("../../docs/language.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []example
	var cur *example
	for i, l := range strings.Split(string(data), "\n") {
		switch {
		case cur != nil && l == "```":
			list = append(list, *cur)
			cur = nil
		case cur != nil:
			cur.text += l + "\n"
		case strings.HasPrefix(l, "```model"):
			m := fence.FindStringSubmatch(l)
			if m == nil {
				t.Fatalf("line %d: bad fence %q", i+1, l)
			}
			cur = &example{kind: m[1], verdict: m[2], line: i + 2}
		}
	}
	if len(list) < 20 {
		t.Fatalf("only %d examples", len(list))
	}
	return list
}

// TestDocs checks the examples of the language reference. A fragment is put into
// the body of a thread of the prelude; of a model-error each comment "// error:
// text" is a message about its line that must come, and no other may.
func TestDocs(t *testing.T) {
	prelude := ""
	for _, ex := range examples(t) {
		text := ex.text
		before := 0
		switch ex.kind {
		case "model":
			switch ex.verdict {
			case "pass", "assertion", "deadlock", "invariant", "runtime":
			default:
				t.Errorf("line %d: unknown verdict %q", ex.line, ex.verdict)
			}
		case "model-prelude":
			prelude = text
			text += "init { go Helper(1) }\n"
		case "model-fragment":
			head := prelude + "init { go Example() }\nthread Example() {\n"
			before = strings.Count(head, "\n")
			text = head + text + "}\n"
		case "model-error":
		default:
			t.Errorf("line %d: unknown kind of block %s", ex.line, ex.kind)
		}
		f := source.New("language.md", strings.Repeat("\n", max(ex.line-1-before, 0))+text)
		_, err := resolve.Check(f, resolve.Options{})
		if ex.kind != "model-error" {
			if err != nil {
				t.Errorf("%v", err)
			}
			continue
		}
		var list *source.List
		if !errors.As(err, &list) {
			t.Errorf("line %d: no error: %v", ex.line, err)
			continue
		}
		for _, m := range list.Messages {
			line, _ := f.Position(m.Pos)
			_, want, ok := strings.Cut(f.Line(line), "// error: ")
			if !ok || !strings.Contains(m.Text, want) {
				t.Errorf("unexpected message:\n%s", f.Render(m))
			}
		}
		if n := strings.Count(ex.text, "// error: "); n != len(list.Messages) {
			t.Errorf("line %d: %d messages, want %d", ex.line, len(list.Messages), n)
		}
	}
}
