package resolve_test

import (
	"errors"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
	"cpor/testkit/chunktest"
)

// TestDocs checks the examples of the language reference. A fragment is put into
// the body of a thread of the prelude; of a model-error each comment "// error:
// text" is a message about its line that must come, and no other may.
func TestDocs(t *testing.T) {
	prelude := ""
	all := chunktest.Examples(t, "../../../docs/language.md")
	if len(all) < 20 {
		t.Fatalf("only %d examples", len(all))
	}
	for _, ex := range all {
		text := ex.Text
		before := 0
		switch ex.Kind {
		case "model":
			switch ex.Verdict {
			case "pass", "assertion", "deadlock", "invariant", "runtime":
			default:
				t.Errorf("line %d: unknown verdict %q", ex.Line, ex.Verdict)
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
			t.Errorf("line %d: unknown kind of block %s", ex.Line, ex.Kind)
		}
		f := source.New("language.md", strings.Repeat("\n", max(ex.Line-1-before, 0))+text)
		_, err := resolve.Check(f, resolve.Options{})
		if ex.Kind != "model-error" {
			if err != nil {
				t.Errorf("%v", err)
			}
			continue
		}
		var list *source.List
		if !errors.As(err, &list) {
			t.Errorf("line %d: no error: %v", ex.Line, err)
			continue
		}
		for _, m := range list.Messages {
			line, _ := f.Position(m.Pos)
			_, want, ok := strings.Cut(f.Line(line), "// error: ")
			if !ok || !strings.Contains(m.Text, want) {
				t.Errorf("unexpected message:\n%s", f.Render(m))
			}
		}
		if n := strings.Count(ex.Text, "// error: "); n != len(list.Messages) {
			t.Errorf("line %d: %d messages, want %d", ex.Line, len(list.Messages), n)
		}
	}
}
