// Package loader finds Go packages as the go command does, type-checks them from
// their sources and makes their SSA form.
//
// Packages of the user and of modules are found by go/packages. Packages of the standard library
// are read from GOROOT, with changes that package std lists: some declarations are replaced by
// ours, so that the machine provides locks, time and output; and packages that cannot be
// explored keep their declarations but lose their function bodies, so that their users compile
// and are refused only where they call them.
//
// It does its own type-checking, because go/packages cannot change a declaration of the standard
// library, or omit the bodies of some packages.
package loader

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/go/packages"
	"golang.org/x/tools/go/ssa"

	"cpor/frontend/gosrc/std"
)

// Options say what to load.
type Options struct {
	Dir   string   // where patterns are relative to
	Tags  []string // build tags
	Flags []string // further ones of the go command
	Tests bool     // with the packages' tests
	// Overlay replaces or adds files of the user, by absolute path.
	Overlay map[string][]byte
}

// Package is a package of the user with its tests.
type Package struct {
	Path, Name, Dir string
	// Errors say why it does not compile, in the words of the go command and the type checker.
	Errors []error

	plain, inTest, xTest *packages.Package
	overlay              map[string][]byte
	goroot               string
	withC                func() ([]*packages.Package, error) // finds the packages with cgo
}

// TestFiles returns the names of the package's test files: those of the package
// itself, or those of the external test package.
func (p *Package) TestFiles(external bool) []string {
	f := p.inTest
	if external {
		f = p.xTest
	}
	if f == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(f.GoFiles), func(n string) bool {
		return !strings.HasSuffix(n, "_test.go")
	})
}

// Overlay returns the text that replaces a file, nil if none does. Its type is
// what parser.ParseFile takes.
func (p *Package) Overlay(name string) any {
	if text, ok := p.overlay[name]; ok {
		return text
	}
	return nil
}

// HasTests reports whether there are test files.
func (p *Package) HasTests() bool { return p.inTest != nil || p.xTest != nil }

// goroot asks the go command for the standard library that it builds with. This program may have
// been built with another one, or on another machine.
func goroot(ctx context.Context, dir string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOROOT")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// takeModfile makes a build flag of -modfile in GOFLAGS. Package packages also asks the go command
// something outside modules, which refuses that flag. There it omits build flags, but not GOFLAGS.
func takeModfile(cfg *packages.Config) {
	flags := strings.Fields(os.Getenv("GOFLAGS"))
	i := slices.IndexFunc(flags, func(flag string) bool {
		return strings.HasPrefix(strings.TrimLeft(flag, "-"), "modfile=")
	})
	if i < 0 {
		return
	}
	cfg.BuildFlags = append(cfg.BuildFlags, flags[i])
	cfg.Env = append(cfg.Env, "GOFLAGS="+strings.Join(slices.Delete(flags, i, i+1), " "))
}

// Load finds packages. An error means that the go command cannot be used or does not understand
// the patterns; errors of one package are in the package.
func Load(ctx context.Context, patterns []string, o Options) ([]*Package, error) {
	cfg := &packages.Config{
		Context: ctx,
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedModule | packages.NeedForTest,
		Dir:     o.Dir,
		Tests:   o.Tests,
		Env:     append(os.Environ(), "CGO_ENABLED=0"),
		Overlay: o.Overlay,
	}
	cfg.BuildFlags = []string{"-tags=" + strings.Join(append(slices.Clone(std.UserTags), o.Tags...),
		",")}
	cfg.BuildFlags = append(cfg.BuildFlags, o.Flags...)
	takeModfile(cfg)
	found, err := packages.Load(cfg, patterns...)
	if err != nil {
		return nil, plain(err)
	}
	withC := sync.OnceValues(func() ([]*packages.Package, error) {
		cfg := *cfg
		cfg.Env = append(slices.Clone(cfg.Env), "CGO_ENABLED=1")
		return packages.Load(&cfg, patterns...)
	})
	if only := onlyC(found); len(only) > 0 {
		with, err := withC()
		if err != nil {
			return nil, err
		}
		takeC(only, found, with)
	}
	goroot, err := goroot(ctx, o.Dir)
	if err != nil {
		return nil, err
	}
	byPath := map[string]*Package{}
	var order []*Package
	get := func(path string) *Package {
		if p := byPath[path]; p != nil {
			return p
		}
		p := &Package{Path: path, overlay: o.Overlay, goroot: goroot, withC: withC}
		byPath[path] = p
		order = append(order, p)
		return p
	}
	for _, f := range found {
		switch {
		case strings.HasSuffix(f.ID, ".test"): // the generated main
		case f.ForTest == "":
			p := get(f.PkgPath)
			p.Name, p.plain = f.Name, f
			if len(f.GoFiles) > 0 {
				p.Dir = filepath.Dir(f.GoFiles[0])
			}
			p.Errors = append(p.Errors, placed(f.Errors)...)
		case strings.HasSuffix(f.PkgPath, "_test") && f.PkgPath != f.ForTest:
			get(f.ForTest).xTest = f
		default:
			get(f.ForTest).inTest = f
		}
	}
	for _, p := range order {
		p.takeTests()
	}
	return order, nil
}

// plain is an error of the go command as it prints it itself, without how it was started.
func plain(err error) error {
	if _, text, ok := strings.Cut(err.Error(), "stderr: "); ok && strings.TrimSpace(text) != "" {
		return errors.New(strings.TrimSpace(text))
	}
	return err
}

// takeTests adopts what only the tests of a package show.
func (p *Package) takeTests() {
	for _, f := range []*packages.Package{p.inTest, p.xTest} {
		if f == nil {
			continue
		}
		if p.Dir == "" && len(f.GoFiles) > 0 {
			p.Dir = filepath.Dir(f.GoFiles[0])
		}
		if p.Name == "" {
			p.Name = strings.TrimSuffix(f.Name, "_test")
		}
		if len(p.Errors) == 0 {
			p.Errors = placed(f.Errors)
		}
	}
}

// placed are the errors of a package, without the hyphen before those that have no place.
func placed(found []packages.Error) []error {
	var errs []error
	for _, e := range found {
		if e.Pos == "" || e.Pos == "-" {
			errs = append(errs, errors.New(e.Msg))
		} else {
			errs = append(errs, e)
		}
	}
	return errs
}

// Program is the SSA form of a package and everything it imports. Functions are built when
// [Program.Build] asks for their package.
type Program struct {
	SSA  *ssa.Program
	Fset *token.FileSet
	// Tests are the packages that hold the tests: the package with its test
	// files, and the external test package; without tests the package itself.
	Roots []*ssa.Package
	// All are all packages, imported ones before those that import them.
	All []*ssa.Package
	// GOROOT is the folder of the Go installation.
	GOROOT string

	units map[*types.Package]*unit

	once sync.Once // for used, see Uses
	used map[[2]string]bool
}

// Mode returns how a package is treated.
func (p *Program) Mode(pkg *types.Package) std.Mode {
	if u := p.units[pkg]; u != nil {
		return u.mode
	}
	return std.Full
}

// Ours reports whether a declaration of a package of the standard library comes from package
// std.
func (p *Program) Ours(pos token.Pos) bool {
	return pos.IsValid() && strings.HasPrefix(p.Fset.Position(pos).Filename, std.Prefix)
}

// Standard reports whether a package belongs to the standard library.
func (p *Program) Standard(pkg *types.Package) bool {
	u := p.units[pkg]
	return u != nil && u.standard
}

// Replaced reports whether a package of the standard library is loaded with its tests, and with
// our replacements.
func (p *Program) Replaced(pkg *types.Package) bool {
	u := p.units[pkg]
	return u != nil && u.replaced
}

// unit is a package being checked.
type unit struct {
	id, path string
	standard bool
	tested   bool // tests of a package of the standard library
	replaced bool // and the package itself, with our replacements
	found    *packages.Package
	cgo      bool            // some of its files import "C"
	lost     map[string]bool // names of what C computes, which are not there
	mode     std.Mode
	version  string // of Go, for the type checker
	filename []string
	files    []*ast.File
	imports  map[string]*unit
	types    *types.Package
	info     *types.Info
	errs     []error
	parseErr error
	visited  bool
	ours     map[string]bool // names that package std replaces
}

// universe is a set of packages that are checked together.
type universe struct {
	fset  *token.FileSet
	build build.Context
	units map[string]*unit
	order []*unit

	overlay map[string][]byte
	// twin: package testing needs the package whose tests these are. The go command makes
	// another testing for that; we keep ours, and with it the package as testing sees it.
	twin bool
}

// Compile type-checks the package with its tests and what they import. If it does
// not compile, the error lists why.
func (p *Package) Compile(tests bool) (*Program, error) {
	for {
		u, prog, err := p.compile(tests)
		if err == nil || u == nil || !p.retake(u) {
			return prog, err
		}
	}
}

// compile is Compile with the files as they are. It returns the universe even if packages do not
// compile.
func (p *Package) compile(tests bool) (*universe, *Program, error) {
	if len(p.Errors) > 0 {
		return nil, nil, errors.Join(p.Errors...)
	}
	u := &universe{fset: token.NewFileSet(), build: build.Default, units: map[string]*unit{},
		overlay: p.overlay}
	u.build.CgoEnabled = false
	u.build.GOROOT = p.goroot
	u.build.BuildTags = std.Tags
	var roots []*unit
	if tests {
		for _, f := range []*packages.Package{p.inTest, p.xTest} {
			if f != nil {
				if g := f.Imports["testing"]; g != nil && g.ForTest != "" {
					u.twin = true
				}
				roots = append(roots, u.user(f))
			}
		}
	}
	if len(roots) == 0 && p.plain != nil {
		roots = append(roots, u.user(p.plain))
	}
	if len(roots) == 0 {
		return nil, nil, fmt.Errorf("%s: no Go files", p.Path)
	}
	for _, path := range std.Always {
		roots = append(roots, u.std(path))
	}
	if err := u.parse(roots); err != nil {
		return nil, nil, err
	}
	for _, r := range roots {
		u.visit(r)
	}
	if err := u.check(); err != nil {
		return u, nil, err
	}
	return nil, u.program(roots[:len(roots)-len(std.Always)]), nil
}

// user returns the unit of a package that go/packages has found.
func (u *universe) user(f *packages.Package) *unit {
	own := f.ForTest != "" && (!u.twin || f.PkgPath == f.ForTest || f.PkgPath == f.ForTest+"_test")
	if len(f.GoFiles) > 0 && strings.HasPrefix(f.GoFiles[0], filepath.Join(u.build.GOROOT,
		"src")+string(filepath.Separator)) && !own || f.PkgPath == "unsafe" ||
		f.PkgPath == std.Check {
		x := u.std(f.PkgPath)
		if f.PkgPath == std.Check {
			x.filename = f.GoFiles
		}
		return x
	}
	if x := u.units[f.ID]; x != nil {
		return x
	}
	x := &unit{
		id:       f.ID,
		path:     f.PkgPath,
		filename: f.GoFiles,
		found:    f,
		imports:  map[string]*unit{},
	}
	if f.Module != nil && f.Module.GoVersion != "" {
		x.version = "go" + f.Module.GoVersion
	}
	x.errs = placed(f.Errors)
	if own && std.Testable(f.ForTest) {
		x.tested = true
		x.replaced = slices.ContainsFunc(f.GoFiles, func(n string) bool {
			return strings.HasPrefix(n, filepath.Join(u.build.GOROOT, "src")+string(
				filepath.Separator)) && !strings.HasSuffix(n, "_test.go")
		})
		if x.replaced {
			x.mode = std.ModeOf(f.PkgPath)
		}
	}
	u.units[f.ID] = x
	for path, g := range f.Imports {
		x.imports[path] = u.user(g)
	}
	return x
}

// std returns the unit of a package of the standard library; its imports are known when it is
// parsed.
func (u *universe) std(path string) *unit {
	if x := u.units[path]; x != nil {
		return x
	}
	x := &unit{id: path, path: path, standard: true, mode: std.ModeOf(path),
		imports: map[string]*unit{}}
	u.units[path] = x
	return x
}

// parse parses the packages and, in rounds, everything they import.
func (u *universe) parse(roots []*unit) error {
	var todo []*unit
	seen := map[*unit]bool{}
	var add func(x *unit)
	add = func(x *unit) {
		if !seen[x] {
			seen[x] = true
			todo = append(todo, x)
			for _, path := range slices.Sorted(maps.Keys(x.imports)) {
				add(x.imports[path])
			}
		}
	}
	for _, r := range roots {
		add(r)
	}
	for len(todo) > 0 {
		round := todo
		todo = nil
		var g errgroup.Group
		g.SetLimit(runtime.GOMAXPROCS(0))
		for _, x := range round {
			g.Go(func() error { x.parse(u); return nil })
		}
		_ = g.Wait() // the errors are in the units
		for _, x := range round {
			if x.parseErr != nil {
				return x.parseErr
			}
			if !x.standard && !x.replaced {
				continue
			}
			for _, f := range x.files {
				for _, s := range f.Imports {
					path := strings.Trim(s.Path.Value, "`\"")
					if x.imports[path] == nil {
						real := path
						if _, err := os.Stat(filepath.Join(u.build.GOROOT, "src", "vendor",
							path)); err == nil && strings.Contains(path, ".") {
							real = "vendor/" + path
						}
						x.imports[path] = u.std(real)
					}
				}
			}
			for _, path := range slices.Sorted(maps.Keys(x.imports)) {
				add(x.imports[path])
			}
		}
	}
	return nil
}

// parse reads the files of one package.
func (x *unit) parse(u *universe) {
	if x.path == "unsafe" {
		return
	}
	if x.standard {
		x.parseStd(u)
		return
	}
	if x.replaced {
		x.parseStd(u)
	}
	for _, name := range x.filename {
		if x.replaced && !strings.HasSuffix(name, "_test.go") {
			continue
		}
		var text any
		if t, ok := u.overlay[name]; ok {
			text = t
		}
		// with //go:linkname
		f, err := parser.ParseFile(u.fset, name, text,
			parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			x.parseErr = err
			return
		}
		if importsC(f) {
			x.cgo = true
			withoutC(f)
		}
		if err := embed(f, filepath.Dir(name)); err != nil {
			x.parseErr = fmt.Errorf("%s: %w", name, err)
			return
		}
		x.files = append(x.files, f)
	}
	if x.cgo {
		x.loseC()
	}
}

func (x *unit) parseStd(u *universe) {
	var ours []*ast.File
	for _, s := range std.Files(x.path) {
		// with //go:linkname
		f, err := parser.ParseFile(u.fset, std.Prefix+s.Name, s.Text,
			parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			x.parseErr = fmt.Errorf("internal error: %w", err)
			return
		}
		ours = append(ours, f)
	}
	x.ours = map[string]bool{}
	for _, f := range ours {
		for _, d := range f.Decls {
			for _, n := range declared(d) {
				x.ours[n] = true
			}
		}
	}
	for _, name := range x.filename { // of package check
		if !std.Shared(filepath.Base(name)) {
			continue
		}
		f, err := parser.ParseFile(u.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			x.parseErr = err
			return
		}
		x.files = append(x.files, f)
	}
	if x.mode != std.Whole {
		p, err := u.build.ImportDir(filepath.Join(u.build.GOROOT, "src",
			filepath.FromSlash(x.path)), 0)
		if err != nil && p == nil || p != nil && len(p.GoFiles) == 0 {
			x.parseErr = fmt.Errorf("package %s of the standard library: %w", x.path, err)
			return
		}
		for _, name := range p.GoFiles {
			if std.Dropped(x.path, name) {
				continue
			}
			f, err := parser.ParseFile(u.fset, filepath.Join(p.Dir, name), nil,
				parser.SkipObjectResolution)
			if err != nil {
				x.parseErr = err
				return
			}
			x.strip(f, std.Kept(x.path, name))
			x.change(f)
			x.files = append(x.files, f)
		}
	}
	x.files = append(x.files, ours...)
}

// declared returns the names that a declaration declares, methods as T.m.
func declared(d ast.Decl) []string {
	var names []string
	switch d := d.(type) {
	case *ast.FuncDecl:
		names = append(names, funcName(d))
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, n := range s.Names {
					names = append(names, n.Name)
				}
			}
		}
	}
	return slices.DeleteFunc(names, func(n string) bool { return n == "_" || n == "init" })
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) == 0 {
		return d.Name.Name
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
			continue
		case *ast.IndexExpr:
			t = x.X
			continue
		case *ast.IndexListExpr:
			t = x.X
			continue
		case *ast.Ident:
			return x.Name + "." + d.Name.Name
		}
		return d.Name.Name
	}
}

// strip removes from a file of the standard library what package std replaces and, unless the
// package is interpreted, the bodies of functions.
func (x *unit) strip(f *ast.File, kept bool) {
	keep := f.Decls[:0]
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if x.ours[funcName(d)] {
				continue
			}
			if !kept {
				if d.Name.Name == "init" && d.Recv == nil {
					continue
				}
				d.Body = nil
			}
			// Methods of a type that is replaced entirely.
			if n, _, ok := strings.Cut(funcName(d), "."); ok && x.ours[n] {
				d.Body = nil
			}
		case *ast.GenDecl:
			if d.Tok == token.IMPORT {
				break
			}
			specs := d.Specs[:0]
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if x.ours[s.Name.Name] {
						continue
					}
				case *ast.ValueSpec:
					all := true
					for i, n := range s.Names {
						if x.ours[n.Name] {
							s.Names[i] = ast.NewIdent("_")
						} else {
							all = false
						}
					}
					if all && d.Tok == token.VAR {
						continue
					}
				}
				specs = append(specs, s)
			}
			if d.Specs = specs; len(specs) == 0 {
				continue
			}
		}
		keep = append(keep, d)
	}
	f.Decls = keep
}

// change removes from a file of the standard library the imports that package std names, and
// replaces some names, see [std.Instead].
func (x *unit) change(f *ast.File) {
	if x.mode == std.Stub {
		return
	}
	out := func(path string) bool { return std.Unimported(x.path, strings.Trim(path, "`\"")) }
	f.Imports = slices.DeleteFunc(f.Imports, func(s *ast.ImportSpec) bool {
		return out(s.Path.Value)
	})
	for _, d := range f.Decls {
		if g, ok := d.(*ast.GenDecl); ok && g.Tok == token.IMPORT {
			g.Specs = slices.DeleteFunc(g.Specs, func(s ast.Spec) bool {
				return out(s.(*ast.ImportSpec).Path.Value)
			})
		}
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if p, ok := s.X.(*ast.Ident); ok {
				if name := std.Instead(x.path, p.Name, s.Sel.Name); name != "" {
					s.Sel.Name = name
				}
			}
		}
		return true
	})
}

// visit orders the units, imported ones first.
func (u *universe) visit(x *unit) {
	if x.visited {
		return
	}
	x.visited = true
	for _, path := range slices.Sorted(maps.Keys(x.imports)) {
		u.visit(x.imports[path])
	}
	u.order = append(u.order, x)
}

// check type-checks all units, each as soon as those are done that it imports.
func (u *universe) check() error {
	done := map[*unit]chan struct{}{}
	for _, x := range u.order {
		done[x] = make(chan struct{})
	}
	sizes := sizes{types.SizesFor("gc", u.build.GOARCH)}
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	var wg sync.WaitGroup
	for _, x := range u.order {
		wg.Go(func() {
			defer close(done[x])
			for _, y := range x.imports {
				<-done[y]
			}
			slots <- struct{}{}
			x.check(u.fset, sizes)
			<-slots
		})
	}
	wg.Wait()
	var errs []error
	for _, x := range u.order {
		if !x.standard && !x.tested {
			errs = append(errs, x.errs...)
		}
	}
	return errors.Join(errs...)
}

type importer map[string]*unit

func (m importer) Import(path string) (*types.Package, error) {
	if x := m[path]; x != nil && x.types != nil {
		return x.types, nil
	}
	return nil, fmt.Errorf("package %s does not exist", path)
}

func (x *unit) check(fset *token.FileSet, sizes types.Sizes) {
	if x.path == "unsafe" {
		x.types = types.Unsafe
		return
	}
	x.info = &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Instances:    map[*ast.Ident]types.Instance{},
		Scopes:       map[ast.Node]*types.Scope{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		FileVersions: map[*ast.File]string{},
	}
	cfg := types.Config{
		GoVersion:        x.version,
		Importer:         importer(x.imports),
		Sizes:            sizes,
		IgnoreFuncBodies: false,
		FakeImportC:      true,
		Error: func(err error) {
			// Stripping the standard library leaves imports unused and names unknown, which
			// matters only where they are reached.
			x.errs = append(x.errs, err)
		},
	}
	x.types, _ = cfg.Check(x.path, fset, x.files, x.info)
	if x.standard || x.tested {
		x.dropBroken()
	}
	x.dropC()
	if x.mode == std.Stub {
		x.info.InitOrder = slices.DeleteFunc(x.info.InitOrder, func(i *types.Initializer) bool {
			return !strings.HasPrefix(fset.Position(i.Lhs[0].Pos()).Filename, std.Prefix)
		})
	}
}

// dropUntyped removes the bodies of functions that use something without a type, because its
// declaration does not compile: the type checker does not report such uses.
func (x *unit) dropUntyped() {
	untyped := func(n ast.Node) bool {
		found := false
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				switch o := x.info.Uses[id].(type) {
				case *types.Var, *types.Const, *types.Func, *types.TypeName:
					found = found || o.Type() == types.Typ[types.Invalid]
				}
			}
			return !found
		})
		return found
	}
	x.info.InitOrder = slices.DeleteFunc(x.info.InitOrder, func(i *types.Initializer) bool {
		return untyped(i.Rhs)
	})
	for _, f := range x.files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && untyped(fn.Body) {
				fn.Body = nil
			}
		}
	}
}

// dropBroken removes the bodies of functions of the standard library, and of its tests, that do
// not compile with the replacements of package std: they are refused where they are called.
func (x *unit) dropBroken() {
	if x.tested {
		x.dropUntyped()
	}
	for _, err := range x.errs {
		var te types.Error
		if !errors.As(err, &te) {
			continue
		}
		x.info.InitOrder = slices.DeleteFunc(x.info.InitOrder, func(i *types.Initializer) bool {
			return i.Rhs.Pos() <= te.Pos && te.Pos < i.Rhs.End()
		})
		if fn := x.funcAt(te.Pos); fn != nil {
			fn.Body = nil
		}
	}
}

// program makes the SSA packages.
func (u *universe) program(roots []*unit) *Program {
	p := &Program{Fset: u.fset, GOROOT: u.build.GOROOT, units: map[*types.Package]*unit{}}
	p.SSA = ssa.NewProgram(u.fset, ssa.InstantiateGenerics|ssa.GlobalDebug)
	for _, x := range u.order {
		p.units[x.types] = x
		if x.path == "unsafe" {
			p.SSA.CreatePackage(types.Unsafe, nil, nil, true)
			continue
		}
		pkg := p.SSA.CreatePackage(x.types, x.files, x.info, true)
		p.All = append(p.All, pkg)
	}
	for _, r := range roots {
		p.Roots = append(p.Roots, p.SSA.Package(r.types))
	}
	return p
}

// Uses reports whether a package outside the standard library names a function of it.
func (p *Program) Uses(path, name string) bool {
	p.once.Do(func() {
		p.used = map[[2]string]bool{}
		for _, u := range p.units {
			if u.standard || u.info == nil {
				continue
			}
			for _, o := range u.info.Uses {
				if f, ok := o.(*types.Func); ok && f.Pkg() != nil {
					p.used[[2]string{f.Pkg().Path(), f.Name()}] = true
				}
			}
		}
	})
	return p.used[[2]string{path, name}]
}

// Links reports whether a package outside the standard library links to a function of that name.
func (p *Program) Links(name string) bool {
	for _, u := range p.units {
		if u.standard {
			continue
		}
		for _, f := range u.files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil && fn.Doc != nil {
					for _, c := range fn.Doc.List {
						if w := strings.Fields(c.Text); len(w) == 3 && w[0] == "//go:linkname" &&
							w[2] == name {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

// Polls reports whether a package outside the standard library has a select with a default, or
// may have one through package reflect.
func (p *Program) Polls() bool {
	found := p.Uses("reflect", "Select") || p.Uses("reflect", "TrySend") ||
		p.Uses("reflect", "TryRecv")
	for _, u := range p.units {
		if u.standard {
			continue
		}
		for _, f := range u.files {
			ast.Inspect(f, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectStmt); ok {
					for _, c := range s.Body.List {
						found = found || c.(*ast.CommClause).Comm == nil
					}
				}
				return !found
			})
		}
	}
	return found
}

// Before reports whether the module of the first root asks for a Go before version.
func (p *Program) Before(goVersion string) bool {
	if len(p.Roots) == 0 {
		return false
	}
	u := p.units[p.Roots[0].Pkg]
	return u != nil && u.version != "" && version.Compare(u.version, goVersion) < 0
}
