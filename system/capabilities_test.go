package system

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// fieldsOf returns the names of the fields of the two kinds of capabilities.
func fieldsOf() map[string][]string {
	all := map[string][]string{}
	for _, t := range []reflect.Type{reflect.TypeFor[Capabilities](),
		reflect.TypeFor[MachineCapabilities]()} {
		for i := range t.NumField() {
			all[t.Name()] = append(all[t.Name()], t.Field(i).Name)
		}
	}
	return all
}

// TestCapabilities holds that nobody forgets a capability. A type that wraps a system or
// a machine says itself what it offers, and does not get the method by embedding; and
// outside tests whoever says it names every field. So who adds a field finds
// out which wrappers have to decide.
func TestCapabilities(t *testing.T) {
	wrappers, all := 0, 0
	embeds := map[[2]string]token.Position{} // by folder and type
	says := map[[2]string]bool{}
	fields := fieldsOf()
	set := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") &&
				name != ".." {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), `"cpor/system"`) {
			return err
		}
		f, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder := filepath.Dir(path)
		test := strings.HasSuffix(name, "_test.go") || strings.Contains(filepath.ToSlash(path),
			"/testkit/")
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if s, ok := s.(*ast.TypeSpec); ok && embedsCore(s.Type) {
						wrappers++
						embeds[[2]string{folder, s.Name.Name}] = set.Position(s.Pos())
					}
				}
			case *ast.FuncDecl:
				whole := false
				ast.Inspect(d, func(n ast.Node) bool {
					switch n := n.(type) {
					case *ast.StructType:
						if embedsCore(n) {
							t.Errorf("%v: a type in a function embeds a system or a machine: it "+
								"cannot say what it offers", set.Position(n.Pos()))
						}
					case *ast.CompositeLit:
						kind := inSystem(n.Type)
						want, ok := fields[kind]
						if !ok || len(n.Elts) == 0 {
							return true
						}
						whole = true
						all++
						var have []string
						for _, e := range n.Elts {
							if e, ok := e.(*ast.KeyValueExpr); ok {
								have = append(have, e.Key.(*ast.Ident).Name)
							}
						}
						for _, w := range want {
							if !slices.Contains(have, w) {
								t.Errorf("%v: the system.%s do not say what becomes of %s; if it "+
									"is not offered, write nil", set.Position(n.Pos()), kind, w)
							}
						}
					}
					return true
				})
				if d.Recv == nil || d.Name.Name != "Capabilities" {
					continue
				}
				says[[2]string{folder, receiver(d.Recv.List[0].Type)}] = true
				if !whole && !test {
					t.Errorf("%v: the method must name each capability in one literal",
						set.Position(d.Pos()))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for k, at := range embeds {
		if !says[k] {
			t.Errorf(
				"%v: %s embeds a system or a machine and has no method Capabilities of its own", at,
				k[1])
		}
	}
	if wrappers < 10 || all < 10 {
		t.Errorf("only %d wrappers and %d literals were found", wrappers, all)
	}
}

// TestCapabilitiesHaveAll holds that every interface beside the core is a capability.
func TestCapabilitiesHaveAll(t *testing.T) {
	var have []string
	for _, fs := range fieldsOf() {
		have = append(have, fs...)
	}
	for _, name := range interfaces(t) {
		if name != "System" && name != "Machine" && !slices.Contains(have, name) {
			t.Errorf("%s is no field of Capabilities or MachineCapabilities", name)
		}
	}
}

// inSystem returns X for the expression system.X.
func inSystem(x ast.Expr) string {
	if s, ok := x.(*ast.SelectorExpr); ok {
		if p, ok := s.X.(*ast.Ident); ok && p.Name == "system" {
			return s.Sel.Name
		}
	}
	return ""
}

// embedsCore reports whether a type is a struct that embeds a System or a Machine.
func embedsCore(x ast.Expr) bool {
	s, ok := x.(*ast.StructType)
	return ok && slices.ContainsFunc(s.Fields.List, func(f *ast.Field) bool {
		name := inSystem(f.Type)
		return len(f.Names) == 0 && (name == "System" || name == "Machine")
	})
}

// receiver returns the name of a receiver's type.
func receiver(x ast.Expr) string {
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	id, _ := x.(*ast.Ident)
	if id == nil {
		return ""
	}
	return id.Name
}
