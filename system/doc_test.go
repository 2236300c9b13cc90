package system_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestOptionalInterfaces wants each interface beside the core in the package comment,
// where whoever writes an engine looks for what can be asked.
func TestOptionalInterfaces(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var doc string
	var names []string
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if f.Name.Name != "system" {
			continue
		}
		doc += f.Doc.Text()
		for _, d := range f.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.TYPE {
				continue
			}
			for _, s := range g.Specs {
				s := s.(*ast.TypeSpec)
				if _, ok := s.Type.(*ast.InterfaceType); ok && s.Name.IsExported() {
					names = append(names, s.Name.Name)
				}
			}
		}
	}
	if len(names) < 3 {
		t.Fatalf("only the interfaces %v", names)
	}
	for _, name := range names {
		if !strings.Contains(doc, "["+name+"]") {
			t.Errorf("the package comment does not name [%s]", name)
		}
	}
}
