package frontend_test

import (
	"context"
	"go/format"
	"os"
	"regexp"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend"
	_ "cpor/frontend/model" // the languages
	_ "cpor/frontend/promela"
	"cpor/testkit/chunktest"
)

// TestPagesForNewcomers runs the examples of the pages for those who come from
// elsewhere: models in both languages have the verdict that their fences claim. What
// stands there in Go is at least Go; TLA+ nobody here reads.
func TestPagesForNewcomers(t *testing.T) {
	for page, least := range map[string]int{"from-go": 3, "from-spin": 4, "from-tla": 2} {
		path := "../docs/" + page + ".md"
		languages := map[string]bool{}
		all := chunktest.Examples(t, path)
		if len(all) < least {
			t.Errorf("%s: only %d examples", page, len(all))
		}
		for _, ex := range all {
			name := "x.model"
			if ex.Kind == "promela" {
				name = "x.pml"
			}
			languages[name] = true
			p, err := frontend.Read(name, strings.NewReader(ex.Text), frontend.Options{})
			if err != nil {
				t.Errorf("%s:%d: %v", page, ex.Line, err)
				continue
			}
			res, err := search.Run(context.Background(), p.System, full.Factory(p.System),
				search.Options{Options: engine.Options{MaxStates: 100_000}})
			if err != nil {
				t.Errorf("%s:%d: %v", page, ex.Line, err)
				continue
			}
			got := string(res.Verdict)
			if len(res.Violations) > 0 {
				got = string(res.Violations[0].Kind)
			}
			if got != ex.Verdict {
				t.Errorf("%s:%d: %s, the fence says %s", page, ex.Line, got, ex.Verdict)
			}
		}
		if page == "from-spin" && len(languages) != 2 {
			t.Error("from-spin: nothing stands side by side")
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1) {
			if _, err := format.Source(m[1]); err != nil {
				t.Errorf("%s: %v in\n%s", page, err, m[1])
			}
		}
	}
}
