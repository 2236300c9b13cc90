package command

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestSARIF writes files with -sarif, and checks them against the schema of the format.
func TestSARIF(t *testing.T) {
	t.Setenv("CPORCACHE", "off")
	root := filepath.Join("..", "..", "..")
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(root, "internal", "sarif",
		"testdata", "sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	gotest := "test -machine=interpreted -timeout=0 -C " +
		filepath.Join(root, "examples", "go") + " "
	tutorial := filepath.Join(root, "docs", "tutorial") + "/"
	for _, test := range []struct{ name, args, want string }{
		{"assertion", "run -q " + tutorial + "counter.model",
			`assertion .*/counter.model:20 an update was lost`},
		{"deadlock", "run -q " + tutorial + "first.model",
			`deadlock .*/first.model:12 deadlock: Ask\[1\] is blocked`},
		{"does not compile", "run -q -all -por none " + tutorial + "mistakes.model", ``},
		{"pass", "run -q " + tutorial + "peterson.model", `^$`},
		{"incomplete", "run -q -por none -max-states 10 " + tutorial + "peterson.model",
			`^note .*peterson.model: incomplete: limit of 10 states$`},
		{"lasso", "run -q -ltl all lasso.model", `ltl lasso.model:3 ltl p is violated`},
		{"go panic", gotest + "./closetwice/bug", `panic file:.*/bug/conn.go:15 panic: close of`},
		{"go deadlock", gotest + "./lostwakeup/bug",
			`deadlock file:.*gate.go:35 deadlock: TestWait`},
		{"go pass", gotest + "./closetwice/fixed", `^$`},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "found.sarif")
			args := strings.Fields(test.args)
			if last := len(args) - 1; args[last] == "lasso.model" {
				// a name without a folder, so the places are relative to the working directory
				model := "var x bool\nthread T() { for { x = !x } }\nltl p { <>[] x }\n" +
					"init { go T() }\n"
				t.Chdir(dir)
				if err := os.WriteFile(args[last], []byte(model), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			args = append(args[:1:1], append([]string{"-sarif", file}, args[1:]...)...)
			stdout, stderr, code := inProcess(t, args...)
			b, err := os.ReadFile(file)
			if test.name == "does not compile" { // there is no result
				if err == nil || code != ExitMistake {
					t.Errorf("exit code %d, and a file", code)
				}
				return
			}
			if err != nil {
				t.Fatalf("exit code %d: %v\n%s%s", code, err, stdout, stderr)
			}
			var v any
			if err := json.Unmarshal(b, &v); err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(v); err != nil {
				t.Errorf("%v\n%s", err, b)
			}
			if got := summarySARIF(t, b); !regexp.MustCompile(test.want).MatchString(got) {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// summarySARIF lists results and notes, a line each.
func summarySARIF(t *testing.T, b []byte) string {
	var log struct {
		Runs []struct {
			Results []struct {
				RuleID    string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine json.Number }
					}
				}
				CodeFlows []struct{ ThreadFlows []any }
			}
			Invocations []struct {
				ToolExecutionNotifications []struct{ Message struct{ Text string } }
			}
		}
	}
	if err := json.Unmarshal(b, &log); err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range log.Runs[0].Results {
		if len(r.Locations) != 1 || len(r.CodeFlows) != 1 {
			t.Errorf("%d places, %d executions", len(r.Locations), len(r.CodeFlows))
			continue
		}
		at := r.Locations[0].PhysicalLocation
		lines = append(lines, r.RuleID+" "+at.ArtifactLocation.URI+":"+
			string(at.Region.StartLine)+" "+r.Message.Text)
	}
	for _, n := range log.Runs[0].Invocations[0].ToolExecutionNotifications {
		lines = append(lines, "note "+n.Message.Text)
	}
	return strings.Join(lines, "\n")
}
