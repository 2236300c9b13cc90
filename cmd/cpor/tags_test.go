package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

// TestTags checks that the parts of cpor that a tag selects depend on little, so that they compile
// quickly. Each has a command that works, and refuses the others with a reason.
func TestTags(t *testing.T) {
	const web, ssa, wasm, plot, mcp = "net/http", "golang.org/x/tools/go/ssa",
		"github.com/tetratelabs/wazero", "gonum.org/v1/plot",
		"github.com/modelcontextprotocol/go-sdk/mcp"
	for tag, without := range map[string][]string{
		"":        {plot, mcp, "github.com/chromedp/chromedp"},
		"models":  {web, ssa, "go/types", plot, mcp},
		"gotests": {web, wasm, plot, mcp, "cpor/frontend/model/machine"},
	} {
		t.Run("tag "+tag, func(t *testing.T) {
			out, err := exec.Command("go", "list", "-deps", "-tags", tag, ".").Output()
			if err != nil {
				t.Fatal(err)
			}
			deps := strings.Fields(string(out))
			if len(deps) < 100 {
				t.Fatalf("go list -deps lists %d packages only", len(deps))
			}
			for _, d := range without {
				if slices.Contains(deps, d) {
					t.Errorf("imports %s", d)
				}
			}
		})
	}
	sample.Skip(t) // the parts take long to link
	for _, test := range []struct{ tag, args, want string }{
		{"models", "run -q ../../docs/tutorial/peterson.model", ""},
		{"models", "test .", "cpor test: this cpor was built with -tags models, without"},
		{"models", "run .", "does not read Go packages"},
		{"models", "explore x.model", "cpor explore: this cpor was built with -tags models"},
		{"gotests", "run ../../docs/tutorial/peterson.model",
			"built without the languages of models"},
		{"gotests", "detect x", "cpor detect: this cpor was built with -tags gotests"},
	} {
		args := append([]string{"run", "-tags", test.tag, "."}, strings.Fields(test.args)...)
		out, err := exec.Command("go", args...).CombinedOutput()
		if (err != nil) != (test.want != "") || !strings.Contains(string(out), test.want) {
			t.Errorf("-tags %s, cpor %s: %v\n%s", test.tag, test.args, err, out)
		}
	}
}
