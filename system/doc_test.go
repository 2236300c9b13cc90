package system

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
	var doc string
	for _, f := range ownFiles(t) {
		doc += f.Doc.Text()
	}
	for _, name := range interfaces(t) {
		if !strings.Contains(doc, "["+name+"]") {
			t.Errorf("the package comment does not name [%s]", name)
		}
	}
}

// ownFiles parses the files of the package.
func ownFiles(t *testing.T) (files []*ast.File) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(name, "_test.go") {
			files = append(files, f)
		}
	}
	return files
}

// interfaces returns the names of the exported interfaces of the package.
func interfaces(t *testing.T) (names []string) {
	for _, f := range ownFiles(t) {
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
	return names
}
