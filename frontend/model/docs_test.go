package model_test

import (
	"context"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/testkit/chunktest"
)

// TestLanguageReference runs the examples of the language reference. A model
// has the verdict that its fence claims, under both searches; a fragment runs
// in a thread of the prelude without a violation of its own making: it may
// block there, where nobody answers it.
func TestLanguageReference(t *testing.T) {
	prelude := ""
	all := chunktest.Examples(t, "../../docs/language.md")
	if len(all) < 20 {
		t.Fatalf("only %d examples", len(all))
	}
	for _, ex := range all {
		text := ex.Text
		switch ex.Kind {
		case "model-prelude":
			prelude = text
			continue
		case "model-fragment":
			text = prelude + "init { go Example() }\nthread Example() {\n" + text + "}\n"
		case "model-error":
			continue
		}
		m, err := model.Parse("language.md", text, model.Options{})
		if err != nil {
			t.Errorf("line %d: %v", ex.Line, err)
			continue
		}
		sys := m.System()
		for por, f := range map[string]search.Factory{"none": full.Factory(sys),
			"cartesian": cartesianFactory(sys)} {
			res, err := search.Run(context.Background(), sys, f, search.Options{
				Options: engine.Options{All: true, MaxStates: 100_000}})
			if err != nil {
				t.Errorf("line %d: %s: %v", ex.Line, por, err)
				continue
			}
			got := "pass"
			if len(res.Violations) > 0 {
				got = string(res.Violations[0].Kind)
			}
			if ex.Kind == "model" && got != ex.Verdict {
				t.Errorf("line %d: %s: %s, the fence says %s: %v", ex.Line, por, got, ex.Verdict,
					describe(res))
			}
			if ex.Kind == "model-fragment" && res.Verdict == engine.Incomplete &&
				!strings.Contains(res.Reason, "state") {
				t.Errorf("line %d: %s: %s", ex.Line, por, res.Reason)
			}
		}
	}
}
