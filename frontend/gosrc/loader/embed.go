package loader

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// embed gives variables with a go:embed directive the values that the compiler gives them: a
// call or a conversion replaces the missing value.
func embed(f *ast.File, dir string) error {
	name := importedAs(f, "embed")
	if name == "" {
		return nil // then the directive means nothing
	}
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			doc := v.Doc
			if doc == nil && !g.Lparen.IsValid() {
				doc = g.Doc
			}
			patterns, err := embedPatterns(doc)
			if err != nil {
				return err
			}
			if len(patterns) == 0 || len(v.Names) != 1 || v.Type == nil || len(v.Values) > 0 {
				continue
			}
			files, err := embedded(dir, patterns)
			if err != nil {
				return err
			}
			text := func(s string) ast.Expr {
				return &ast.BasicLit{ValuePos: v.Type.Pos(), Kind: token.STRING,
					Value: strconv.Quote(s)}
			}
			call := &ast.CallExpr{Fun: v.Type, Lparen: v.Type.End(), Rparen: v.Type.End()}
			if x, ok := v.Type.(*ast.SelectorExpr); ok && x.Sel.Name == "FS" {
				call.Fun = &ast.SelectorExpr{X: x.X, Sel: &ast.Ident{NamePos: x.Sel.NamePos,
					Name: "Embedded"}}
				for _, f := range files {
					call.Args = append(call.Args, text(f.name), text(f.data))
				}
			} else {
				files = slices.DeleteFunc(files, func(f embeddedFile) bool {
					return strings.HasSuffix(f.name, "/")
				})
				if len(files) != 1 {
					return fmt.Errorf("%s: go:embed finds %d files for one variable",
						v.Names[0].Name, len(files))
				}
				call.Args = []ast.Expr{text(files[0].data)}
			}
			v.Values = []ast.Expr{call}
		}
	}
	return nil
}

// importedAs returns the name by which a file imports a package of one word, "" if it does not.
func importedAs(f *ast.File, pkg string) string {
	for _, s := range f.Imports {
		if s.Path.Value != strconv.Quote(pkg) {
			continue
		}
		if s.Name != nil {
			return s.Name.Name
		}
		return pkg
	}
	return ""
}

// embedPatterns returns the patterns of go:embed directives.
func embedPatterns(doc *ast.CommentGroup) (patterns []string, err error) {
	if doc == nil {
		return nil, nil
	}
	for _, c := range doc.List {
		rest, ok := strings.CutPrefix(c.Text, "//go:embed")
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '\t' {
			continue
		}
		for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
			p := rest
			if rest[0] == '"' || rest[0] == '`' {
				quoted, err := strconv.QuotedPrefix(rest)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.Text, err)
				}
				p, _ = strconv.Unquote(quoted)
				rest = rest[len(quoted):]
			} else {
				if i := strings.IndexAny(rest, " \t"); i >= 0 {
					p = rest[:i]
				}
				rest = rest[len(p):]
			}
			patterns = append(patterns, p)
		}
	}
	return patterns, nil
}

type embeddedFile struct{ name, data string }

// embedded returns the files that match patterns, and their directories, whose names end in a
// slash, as the compiler sorts them.
func embedded(dir string, patterns []string) ([]embeddedFile, error) {
	found := map[string]string{}
	add := func(name string) error {
		b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		found[name] = string(b)
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			found[up+"/"] = ""
		}
		return err
	}
	root := os.DirFS(dir)
	for _, p := range patterns {
		p, all := strings.CutPrefix(p, "all:")
		names, err := fs.Glob(root, p)
		if err != nil {
			return nil, fmt.Errorf("go:embed %s: %w", p, err)
		}
		if len(names) == 0 {
			return nil, fmt.Errorf("go:embed %s: no matching files found", p)
		}
		for _, top := range names {
			err := fs.WalkDir(root, top, func(name string, d fs.DirEntry, err error) error {
				switch base := path.Base(name); {
				case err != nil:
					return err
				case name != top && !all && (base[0] == '.' || base[0] == '_'):
					if d.IsDir() {
						return fs.SkipDir
					}
					return nil
				case d.IsDir():
					if _, err := fs.Stat(root, path.Join(name, "go.mod")); err == nil &&
						name != top {
						return fs.SkipDir
					}
					return nil
				case !d.Type().IsRegular():
					return nil
				}
				return add(name)
			})
			if err != nil {
				return nil, fmt.Errorf("go:embed %s: %w", p, err)
			}
		}
	}
	names := slices.SortedFunc(maps.Keys(found), func(a, b string) int {
		d, e := path.Split(strings.TrimSuffix(a, "/"))
		x, y := path.Split(strings.TrimSuffix(b, "/"))
		dirOf := func(d string) string { return cmp.Or(strings.TrimSuffix(d, "/"), ".") }
		return cmp.Or(strings.Compare(dirOf(d), dirOf(x)), strings.Compare(e, y))
	})
	var files []embeddedFile
	for _, n := range names {
		files = append(files, embeddedFile{n, found[n]})
	}
	return files, nil
}
