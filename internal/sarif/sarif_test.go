package sarif

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema is the schema of the format, published by the editors of the standard; testdata/README.md
// has where it is from.
const schema = "testdata/sarif-2.1.0-rtm.5.json"

// valid reports what the schema has against a text.
func valid(t *testing.T, text []byte) error {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schema)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(v)
}

func TestSchema(t *testing.T) {
	long := make([]Step, 3*mostSteps)
	for i := range long {
		long[i] = Step{Thread: []string{"A", "B"}[i%2], Text: "x++", At: Place{"a.model", i + 1, 0}}
	}
	for name, log := range map[string]Log{
		"pass":       {Version: "v1", Done: true},
		"incomplete": {Notes: []string{"TestX: time-out"}},
		"findings": {findings: []Finding{
			{Rule: "deadlock", Message: "A waits forever"},
			{Rule: "race", Message: "on \"x\"", At: Place{"dir/a b.go", 3, 7}, Warning: true},
			{Rule: "deadlock", Message: "B\nwaits", At: Place{"<stdin>", 1, 1}, Steps: []Step{
				{"A", "lock(m)", Place{"a.go", 1, 0}}, {"B", "", Place{}}}},
			{Rule: "assertion", Message: "no", At: Place{File: "a.model"}, Steps: long},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := json.Marshal(&log)
			if err != nil {
				t.Fatal(err)
			}
			if err := valid(t, text); err != nil {
				t.Errorf("%v\n%.2000s", err, text)
			}
			if n := strings.Count(string(text), `"executionOrder"`); n > mostSteps+2 {
				t.Errorf("%d steps", n)
			}
		})
	}
	if valid(t, []byte(`{"version": "2.1.0", "runs": [{"tool": {}}]}`)) == nil {
		t.Error("the schema accepts a tool without a name")
	}
}

// TestURI shortens paths below the working directory, and escapes the others.
func TestURI(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"a.go":                              "a.go",
		"./x/../a b.go":                     "a%20b.go",
		filepath.Join(here, "sub", "a.go"):  "sub/a.go",
		filepath.Join(here, "..", "x#y.go"): "file://" + filepath.Dir(here) + "/x%23y.go",
		"../up.go":                          "../up.go",
	} {
		if got := uri(file); got != want {
			t.Errorf("%s: %s, want %s", file, got, want)
		}
	}
}

// TestWriteFile writes a log to a file.
func TestWriteFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "found.sarif")
	log := Log{Version: "v1", Done: true}
	log.Add(Finding{Rule: "panic", Message: "nil", At: Place{"a.go", 1, 2}})
	log.Note("TestB was not covered")
	if err := log.WriteFile(name); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := valid(t, text); err != nil {
		t.Error(err)
	}
	if log.Done || log.WriteFile(t.TempDir()) == nil {
		t.Error("a note leaves the run done, or a directory was written")
	}
}
