package native

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cpor/frontend/gosrc/std"
)

//go:embed overlay/*.txt
var ours embed.FS

// tamper, if not nil, changes a file of the overlay: tests build faults in.
var tamper func(name string, text []byte) []byte

// ourFile returns a file of the overlay.
func ourFile(name string) ([]byte, error) {
	text, err := ours.ReadFile("overlay/" + name)
	if err == nil && tamper != nil {
		text = tamper(name, text)
	}
	return text, err
}

// Unsupported is the error if there is no native machine for a program: for this platform, or
// for this version of Go.
type Unsupported struct{ Why string }

func (u *Unsupported) Error() string { return "no native machine: " + u.Why }

// scheme counts the ways in which the functions below change files.
const scheme = 4

// makeOverlay returns the overlay for the Go distribution at goroot, and makes it in cache if it
// is not there.
func makeOverlay(goroot, version, goarch, cache string) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, scheme, goroot, version, goarch, rules, added, emptied)
	entries, err := ours.ReadDir("overlay")
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		b, err := ourFile(e.Name())
		if err != nil {
			return "", err
		}
		h.Write(b)
	}
	h.Write(loopback())
	dir := filepath.Join(cache, fmt.Sprintf("overlay-%s-%x", version, h.Sum(nil)[:8]))
	file := filepath.Join(dir, "overlay.json")
	if _, err := os.Stat(file); err == nil {
		return file, nil
	}
	files, err := patched(filepath.Join(goroot, "src"), goarch)
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(cache, 0o777); err != nil {
		return "", err
	}
	// Made beside and renamed, so that nobody sees half of it.
	tmp, err := os.MkdirTemp(cache, "new-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	replace := map[string]string{}
	for path, text := range files {
		name := strings.ReplaceAll(path, "/", "_")
		if err := os.WriteFile(filepath.Join(tmp, name), text, 0o666); err != nil {
			return "", err
		}
		replace[filepath.Join(goroot, "src", filepath.FromSlash(path))] = filepath.Join(dir, name)
	}
	b, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t")
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(tmp, "overlay.json"), b, 0o666); err != nil {
		return "", err
	}
	if err := os.Rename(tmp, dir); err != nil {
		if _, there := os.Stat(file); there != nil {
			return "", err
		}
	}
	return file, nil
}

// withCheck returns an overlay in dir that also replaces package check, if the tests import it:
// under our scheduler they need nothing that explores.
func withCheck(deps []dependency, overlay, dir string) (string, error) {
	i := slices.IndexFunc(deps, func(d dependency) bool { return d.path == std.Check })
	if i < 0 {
		return overlay, nil
	}
	check := deps[i]
	text, err := os.ReadFile(overlay)
	if err != nil {
		return "", err
	}
	var all struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &all); err != nil {
		return "", err
	}
	text, err = ourFile("check_cpor.go.txt")
	if err != nil {
		return "", err
	}
	light := filepath.Join(dir, "check.go")
	if err := os.WriteFile(light, text, 0o666); err != nil {
		return "", err
	}
	for _, name := range check.files {
		if !std.Shared(name) {
			all.Replace[filepath.Join(check.dir, name)] = "" // as if it did not exist
		}
	}
	// Under another name, so that nobody looks for its lines in the file that is there.
	all.Replace[filepath.Join(check.dir, "cpor_native.go")] = light
	if text, err = json.MarshalIndent(all, "", "\t"); err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o666)
}

// patched returns the files of the overlay, by their paths below src.
func patched(src, goarch string) (map[string][]byte, error) {
	files := map[string][]byte{}
	byFile := map[string][]rule{}
	for _, r := range rules {
		byFile[r.file] = append(byFile[r.file], r)
	}
	for file, rs := range byFile {
		text, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(file)))
		if errors.Is(err, os.ErrNotExist) && !slices.ContainsFunc(rs, func(r rule) bool {
			return !r.optional
		}) {
			continue
		}
		if err != nil {
			return nil, &Unsupported{fmt.Sprintf("this version of Go has no %s", file)}
		}
		if files[file], err = apply(file, text, rs); err != nil {
			return nil, err
		}
	}
	for _, a := range added {
		text, err := ourFile(a[1])
		if err != nil {
			return nil, err
		}
		pkg := filepath.Base(filepath.Dir(a[0]))
		files[a[0]] = bytes.Replace(text, []byte("package PACKAGE"), []byte("package "+pkg), 1)
	}
	files["net/cpor_loopback.go"] = loopback()
	for _, e := range emptied {
		if _, err := os.Stat(filepath.Join(src, filepath.FromSlash(e))); err == nil {
			files[e] = []byte("//go:build race\n\n#include \"textflag.h\"\n")
		}
	}
	if err := hashes(src, files); err != nil {
		return nil, err
	}
	return files, atomics(src, files)
}

// hashes makes maps hash their keys with our function.
func hashes(src string, files map[string][]byte) error {
	const dir, theirs = "internal/runtime/maps", "typ.Hasher("
	const ours = "cporKeyHash(typ.Key, typ.Hasher, "
	names, err := filepath.Glob(filepath.Join(src, filepath.FromSlash(dir), "*.go"))
	found := false
	for _, name := range names {
		path := dir + "/" + filepath.Base(name)
		text := files[path]
		if text == nil {
			if text, err = os.ReadFile(name); err != nil {
				return err
			}
		}
		if !strings.HasSuffix(name, "_test.go") && bytes.Contains(text, []byte(theirs)) {
			files[path] = bytes.ReplaceAll(text, []byte(theirs), []byte(ours))
			found = true
		}
	}
	if err == nil && !found {
		err = &Unsupported{"this version of Go has no " + theirs + " in " + dir}
	}
	return err
}

// loopback is the interpreter's network, without what that has instead of our run-time. What it
// does at one point is not looked at for data races.
func loopback() []byte {
	for _, f := range std.Files("net") {
		if f.Name == "net/loopback.go" {
			s := strings.Replace(f.Text, "\t\"internal/cpor\"\n", "", 1)
			s = strings.ReplaceAll(s, "netFD", "loopback")
			return []byte(strings.ReplaceAll(s, "\nfunc ", "\n//go:norace\nfunc "))
		}
	}
	panic("package std has no net/loopback.go") // it is a part of the binary
}

// splice is a piece of text that takes the place of bytes.
type splice struct {
	from, to int
	text     string
}

func splices(text []byte, all []splice) []byte {
	slices.SortStableFunc(all, func(a, b splice) int { return b.from - a.from })
	for _, s := range all {
		text = slices.Concat(text[:s.from], []byte(s.text), text[s.to:])
	}
	return text
}

// apply applies the rules of a file. What is added stands on a line that is there, so that
// places in the file stay the same.
func apply(file string, text []byte, rs []rule) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	var all []splice
	for _, r := range rs {
		found := changes(f, r, at)
		all = append(all, found...)
		if len(found) == 0 && !r.optional {
			return nil, &Unsupported{fmt.Sprintf("this version of Go has no %s in %s", r.name,
				file)}
		}
	}
	text = splices(text, all)
	// What needs package unsafe has it.
	if !slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
		return i.Path.Value == `"unsafe"`
	}) &&
		slices.ContainsFunc(rs, func(r rule) bool { return strings.Contains(r.code, "unsafe.") }) {
		i := at(f.Name.End())
		text = slices.Concat(text[:i], []byte(`; import "unsafe"`), text[i:])
	}
	if _, err := parser.ParseFile(token.NewFileSet(), file, text, 0); err != nil {
		return nil, &Unsupported{fmt.Sprintf("%s cannot be changed: %v", file, err)}
	}
	return text, nil
}

// changes are what a rule does to a file; at is the offset of a place.
func changes(f *ast.File, r rule, at func(token.Pos) int) (all []splice) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if r.kind == atHead && funcName(d) == r.name && d.Body != nil {
				head := at(d.Body.Lbrace) + 1
				all = append(all, splice{head, head, " " + r.code + "; "})
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					x, ok := s.Type.(*ast.StructType)
					if ok && r.kind == inType && s.Name.Name == r.name {
						begin := at(x.Fields.Opening) + 1
						all = append(all, splice{begin, begin, " " + r.code + ";"})
					}
				case *ast.ValueSpec:
					if r.kind == toValue && len(s.Values) == 1 && s.Names[0].Name == r.name {
						all = append(all, splice{at(s.Values[0].Pos()), at(s.Values[0].End()),
							r.code})
					}
				}
			}
		}
	}
	return all
}

func funcName(d *ast.FuncDecl) string {
	if d.Recv == nil || len(d.Recv.List) != 1 {
		return d.Name.Name
	}
	switch t := d.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := t.X.(*ast.Ident); ok {
			return "(*" + id.Name + ")." + d.Name.Name
		}
	case *ast.Ident:
		return t.Name + "." + d.Name.Name
	}
	return ""
}

var pointerFunc = regexp.MustCompile(`(?m)^(//go:linkname \w+ sync/atomic\.)(\w+)`)

var asmFunc = regexp.MustCompile(`(?m)^TEXT ·(\w+)\(SB\)`)

// atomics gives the functions of sync/atomic, which are written in assembly, a point each: the
// assembly gets other names, and the functions call it.
func atomics(src string, files map[string][]byte) error {
	const dir = "sync/atomic/"
	asm, err := os.ReadFile(filepath.Join(src, "sync", "atomic", "asm.s"))
	if err != nil {
		return &Unsupported{"this version of Go has no sync/atomic/asm.s"}
	}
	names := map[string]bool{}
	for _, m := range asmFunc.FindAllSubmatch(asm, -1) {
		names[string(m[1])] = true
	}
	asm = asmFunc.ReplaceAll(asm, []byte("TEXT ·cpor${1}(SB)"))
	asm = bytes.Replace(asm, []byte("//go:build !race"), nil, 1)
	files[dir+"asm.s"] = asm
	// Those of pointers stand in package runtime, because of write barriers.
	const pointers = "runtime/atomic_pointer.go"
	text, err := os.ReadFile(filepath.Join(src, filepath.FromSlash(pointers)))
	if err != nil {
		return &Unsupported{"this version of Go has no " + pointers}
	}
	for _, m := range pointerFunc.FindAllSubmatch(text, -1) {
		names[string(m[2])] = true
	}
	files[pointers] = pointerFunc.ReplaceAll(text, []byte("${1}cpor${2}"))
	for _, name := range []string{"doc.go", "doc_64.go", "doc_32.go"} {
		text, err := os.ReadFile(filepath.Join(src, "sync", "atomic", name))
		if errors.Is(err, os.ErrNotExist) && name != "doc.go" {
			continue
		}
		if err != nil {
			return &Unsupported{"this version of Go has no sync/atomic/" + name}
		}
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		if err != nil {
			return err
		}
		at := func(p token.Pos) int { return fset.Position(p).Offset }
		var all []splice
		var also strings.Builder
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Body != nil || d.Recv != nil || !names[d.Name.Name] {
				continue
			}
			delete(names, d.Name.Name)
			directive := ""
			if d.Doc != nil {
				for _, c := range d.Doc.List {
					if c.Text == "//go:noescape" {
						all = append(all, splice{at(c.Pos()), at(c.End()), "//"})
						directive = c.Text + "\n"
					}
				}
			}
			var params []string
			for _, p := range d.Type.Params.List {
				for _, n := range p.Names {
					params = append(params, n.Name)
				}
			}
			op, size, old := "cporOpUpdate", "0", "0"
			switch {
			case strings.HasPrefix(d.Name.Name, "Load"):
				op = "cporOpLoad"
			case strings.HasPrefix(d.Name.Name, "Store"):
				op = "cporOpStore"
			case strings.HasPrefix(d.Name.Name, "CompareAndSwap"):
				size, old = "unsafe.Sizeof(*"+params[0]+")", "uintptr("+params[1]+")"
			}
			ret := "return "
			if d.Type.Results == nil {
				ret = ""
			}
			all = append(all, splice{at(d.End()), at(d.End()),
				fmt.Sprintf(" { cporAtomic(%s, unsafe.Pointer(%s), %s, %s); %scpor%s(%s) }",
					op, params[0], size, old, ret, d.Name.Name, strings.Join(params, ", "))})
			fmt.Fprintf(&also, "\n%sfunc cpor%s%s\n", directive, d.Name.Name,
				text[at(d.Type.Params.Pos()):at(d.Type.End())])
		}
		text = splices(text, all)
		if !slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool {
			return i.Path.Value == `"unsafe"`
		}) {
			i := at(f.Name.End())
			text = slices.Concat(text[:i], []byte(`; import "unsafe"`), text[i:])
		}
		files[dir+name] = slices.Concat(text, []byte(also.String()))
	}
	for n := range names {
		if strings.HasPrefix(n, "Load") || strings.HasPrefix(n, "Store") ||
			strings.HasPrefix(n, "Add") {
			return &Unsupported{"this version of Go has no declaration of sync/atomic." + n}
		}
	}
	return nil
}
