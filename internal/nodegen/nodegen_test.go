package main

import (
	"bufio"
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files")

// TestUpToDate compares the files in the repository with what would be generated now.
func TestUpToDate(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		args, err := generated(path)
		if err != nil || args == nil {
			return err
		}
		found++
		dir := filepath.Dir(path)
		want, err := generate(dir, args[1:])
		if err != nil {
			t.Errorf("%s: %v", path, err)
			return nil
		}
		got, err := os.ReadFile(filepath.Join(dir, args[0]))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf(
				"%s is not what nodegen writes now; run make generate (%v)",
				filepath.Join(dir, args[0]),
				err,
			)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 3 {
		t.Errorf("found only %d lines go:generate with nodegen", found)
	}
}

// generated returns what follows nodegen in the line go:generate of a file; nil if it has none.
func generated(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if command, ok := strings.CutPrefix(lines.Text(), "//go:generate go run "); ok {
			if program, args, _ := strings.Cut(command, " "); filepath.Base(program) == "nodegen" {
				return strings.Fields(args), nil
			}
		}
	}
	return nil, nil
}

// TestGolden generates the methods of a small tree with everything that nodegen knows.
func TestGolden(t *testing.T) {
	got, err := generate("testdata", []string{"tree.go"})
	if err != nil {
		t.Fatal(err)
	}
	golden := filepath.Join("testdata", "nodes.go")
	if *update {
		if err := os.WriteFile(golden, got, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("generated\n%s\nwant\n%s", got, want)
	}
}

// TestMistakes generates from declarations that are wrong.
func TestMistakes(t *testing.T) {
	const node = "type Node interface {\n\teach(f func(Node))\n\tprint(p *printer)\n}\n"
	for _, test := range []struct{ name, source, want string }{
		{"no Go", "type", "expected 'IDENT'"},
		{"no interface", "//node:stmt\ntype A struct{}", "A: no interface is called stmt"},
		{"a map", node + "//node:node \"\"\ntype A struct{ X map[string]Node }", "A.X: nodes in a map[string]Node are not supported"},
		{"lists of lists", node + "//node:node \"\"\ntype A struct{ X [][]Node }",
			"A.X: nodes in a [][]Node are not supported"},
		{"a node by value", node + "//node:node \"\"\ntype A struct{ X B }\n//node:node \"\"\ntype B struct{ Y Node }", "A.X: nodes in a B are not supported"},
		{"no template", node + "//node:node\ntype A struct{ X Node }",
			"A: the node has no template"},
		{"no such field", node + "//node:node \"a\" Y\ntype A struct{ X Node }",
			"there is no field Y"},
		{"an open bracket", node + "//node:node [X\ntype A struct{ X Node }", "expected ]"},
		{"nothing decides", node + "//node:node [\"x\"]\ntype A struct{ X Node }",
			"brackets need a field that decides"},
		{"an open string", node + "//node:node \"x\ntype A struct{ X Node }",
			"literal not terminated"},
		{"no separator", node + "//node:node X/y\ntype A struct{ X []Node }",
			"expected q or a string after /"},
		{"a part", node + "//node:node X\ntype A struct{ X P }\n//node:part\ntype P struct{ Y Node }", "X is a part of a node, and cannot be printed"},
		{"a bracket too many", node + "//node:node X]\ntype A struct{ X Node }", "unexpected ]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "tree.go"),
				[]byte("package tree\n\n"+test.source+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			text, err := generate(dir, []string{"tree.go"})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q; generated\n%s", err, test.want, text)
			}
		})
	}
}
