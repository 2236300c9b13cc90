package resolve_test

import (
	"flag"
	"path/filepath"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
	"cpor/testkit/chunktest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.model")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, file := range files {
		for _, ch := range chunktest.Read(t, file) {
			t.Run(ch.Name, func(t *testing.T) {
				f := source.New(ch.Name, ch.Text)
				prog, err := resolve.Check(f, resolve.Options{Params: ch.Params})
				ch.Check(t, f, err)
				if (prog == nil) != (err != nil) {
					t.Fatalf("a program and an error, or neither: %v, %v", prog, err)
				}
				if prog != nil {
					checkProgram(t, prog)
				}
			})
		}
	}
}
