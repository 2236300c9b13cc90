package models_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cpor/cmd/cpor/command"
	"cpor/examples/models"
	"cpor/model/cli"
)

var update = flag.Bool("update", false, "rewrite the outputs in docs/models-in-go.md")

func init() {
	for _, m := range models.All {
		cli.Provide(m)
	}
}

// TestDocs holds docs/models-in-go.md to the examples: its Go code is theirs, and its commands
// print what it says.
func TestDocs(t *testing.T) {
	const page = "../../docs/models-in-go.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	var sources strings.Builder
	for _, pattern := range []string{"*.go", "cmd/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			sources.Write(b)
		}
	}
	parts := strings.Split(string(text), "```")
	for i := 1; i < len(parts); i += 2 {
		if code, ok := strings.CutPrefix(parts[i], "go\n"); ok {
			if !strings.Contains(sources.String(), code) {
				t.Errorf("this is not code of the examples:\n%s", code)
			}
		}
		if block, ok := strings.CutPrefix(parts[i], "console\n"); ok {
			got := run(t, block)
			if *update {
				parts[i] = "console\n" + got
			} else if got != block {
				t.Error(cmp.Diff(block, got))
			}
		}
	}
	if *update {
		if err := os.WriteFile(page, []byte(strings.Join(parts, "```")), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// run returns the commands of a block with what they print.
func run(t *testing.T, block string) string {
	var out bytes.Buffer
	for line := range strings.Lines(block) {
		args, ok := strings.CutPrefix(line, "$ go run ./examples/models/cmd ")
		if !ok {
			continue
		}
		out.WriteString(line)
		command.Run(t.Context(), strings.Fields(args), strings.NewReader(""), &out, &out)
	}
	return out.String()
}
