package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
)

// tree is what the files declare.
type tree struct {
	pkg        string
	interfaces map[string]*contract // by their names in lower case
	nodes      []*node
	parts      map[string]bool // the structs that are parts of nodes
	known      map[string]bool // the structs that are nodes
}

// contract is an interface that nodes implement.
type contract struct {
	name     string
	embedded []string // names in lower case
	methods  []method
	template string // of the nodes that have none
}

// method is a method of an interface, with the parameter or the result as it is written.
type method struct {
	name, param, result string
}

// node is a struct that is a node, or a part of one.
type node struct {
	name     string
	contract string // the interface, in lower case; "" for a part
	template string
	at       string    // the path of fields to its place
	zip      [2]string // lists whose elements come in turns
	fields   []field
}

// shape is how a field holds nodes.
type shape int

const (
	other     shape = iota // it holds none
	single                 // a node: a pointer or an interface
	several                // a list of nodes
	part                   // a part, by value
	partRef                // a part, by reference
	partsList              // a list of parts
)

type field struct {
	name  string
	typ   string
	shape shape
}

// read parses the files of a folder.
func read(dir string, files []string) (*tree, error) {
	t := &tree{
		interfaces: map[string]*contract{},
		parts:      map[string]bool{},
		known:      map[string]bool{},
	}
	fset := token.NewFileSet()
	structs := map[string]*ast.StructType{}
	for _, name := range files {
		f, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		t.pkg = f.Name.Name
		for _, d := range f.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range decl.Specs {
				if spec, ok := s.(*ast.TypeSpec); ok {
					t.declare(decl, spec, structs)
				}
			}
		}
	}
	for _, n := range t.nodes {
		if n.contract != "" && t.interfaces[n.contract] == nil {
			return nil, fmt.Errorf("%s: no interface is called %s", n.name, n.contract)
		}
		for _, f := range structs[n.name].Fields.List {
			if err := t.addFields(n, f); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// declare enters a type that is an interface or has a line //node:.
func (t *tree) declare(decl *ast.GenDecl, spec *ast.TypeSpec, structs map[string]*ast.StructType) {
	doc := spec.Doc
	if doc == nil && len(decl.Specs) == 1 {
		doc = decl.Doc
	}
	kind, rest := directive(doc)
	switch typ := spec.Type.(type) {
	case *ast.InterfaceType:
		t.interfaces[strings.ToLower(spec.Name.Name)] = newContract(spec.Name.Name, typ, rest)
	case *ast.StructType:
		if kind == "" {
			return
		}
		structs[spec.Name.Name] = typ
		n := &node{name: spec.Name.Name, at: "Pos"}
		if kind == "part" {
			t.parts[n.name] = true
		} else {
			t.known[n.name] = true
			n.contract = kind
		}
		n.options(rest)
		t.nodes = append(t.nodes, n)
	}
}

// directive returns the two parts of a line //node:KIND REST.
func directive(doc *ast.CommentGroup) (kind, rest string) {
	if doc == nil {
		return "", ""
	}
	for _, c := range doc.List {
		if line, ok := strings.CutPrefix(c.Text, "//node:"); ok {
			kind, rest, _ = strings.Cut(line, " ")
			return kind, strings.TrimSpace(rest)
		}
	}
	return "", ""
}

// options takes at=FIELD and zip=FIELD,FIELD, and leaves the template.
func (n *node) options(rest string) {
	for {
		word, after, _ := strings.Cut(rest, " ")
		if at, ok := strings.CutPrefix(word, "at="); ok {
			n.at = at
		} else if lists, ok := strings.CutPrefix(word, "zip="); ok {
			n.zip[0], n.zip[1], _ = strings.Cut(lists, ",")
		} else {
			n.template = rest
			return
		}
		rest = strings.TrimSpace(after)
	}
}

func newContract(name string, typ *ast.InterfaceType, template string) *contract {
	c := &contract{name: name, template: template}
	for _, m := range typ.Methods.List {
		switch f := m.Type.(type) {
		case *ast.Ident:
			c.embedded = append(c.embedded, strings.ToLower(f.Name))
		case *ast.FuncType:
			m := method{name: m.Names[0].Name}
			if len(f.Params.List) == 1 {
				m.param = text(f.Params.List[0].Type)
			}
			if f.Results != nil && len(f.Results.List) == 1 {
				m.result = text(f.Results.List[0].Type)
			}
			c.methods = append(c.methods, m)
		}
	}
	return c
}

// methods returns the methods of an interface and of those that it embeds.
func (t *tree) methods(name string) []method {
	c := t.interfaces[name]
	if c == nil {
		return nil
	}
	all := c.methods
	for _, e := range c.embedded {
		all = append(all[:len(all):len(all)], t.methods(e)...)
	}
	return all
}

// addFields enters the names that one line of a struct declares.
func (t *tree) addFields(n *node, f *ast.Field) error {
	names := f.Names
	if names == nil { // embedded
		typ := f.Type
		if star, ok := typ.(*ast.StarExpr); ok {
			typ = star.X
		}
		names = []*ast.Ident{{Name: text(typ)}}
	}
	s, ok := t.shapeOf(f.Type)
	if !ok {
		return fmt.Errorf(
			"%s.%s: nodes in a %s are not supported",
			n.name,
			names[0].Name,
			text(f.Type),
		)
	}
	for _, name := range names {
		n.fields = append(n.fields, field{name.Name, text(f.Type), s})
	}
	return nil
}

// shapeOf returns how a type holds nodes; false if it does in a way that is not supported.
func (t *tree) shapeOf(typ ast.Expr) (shape, bool) {
	switch typ := typ.(type) {
	case *ast.Ident:
		switch {
		case t.isInterface(typ.Name):
			return single, true
		case t.parts[typ.Name]:
			return part, true
		}
		return other, !t.known[typ.Name]
	case *ast.StarExpr:
		if name, ok := typ.X.(*ast.Ident); ok {
			switch {
			case t.known[name.Name]:
				return single, true
			case t.parts[name.Name]:
				return partRef, true
			}
		}
	case *ast.ArrayType:
		switch s, ok := t.shapeOf(typ.Elt); {
		case typ.Len != nil || !ok:
		case s == single:
			return several, true
		case s == part:
			return partsList, true
		}
	}
	mentioned := false
	ast.Inspect(typ, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		mentioned = mentioned ||
			ok && (t.known[id.Name] || t.parts[id.Name] || t.isInterface(id.Name))
		return true
	})
	return other, !mentioned
}

// isInterface reports whether a type is an interface of nodes: one with a method each.
func (t *tree) isInterface(name string) bool {
	lower := strings.ToLower(name)
	if c := t.interfaces[lower]; c == nil || c.name != name {
		return false
	}
	for _, m := range t.methods(lower) {
		if m.name == "each" {
			return true
		}
	}
	return false
}
