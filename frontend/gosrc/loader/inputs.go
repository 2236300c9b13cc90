package loader

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

// largestInputs bounds the bytes that Inputs reads.
const largestInputs = 512 << 20

// Inputs writes to w whatever the meaning of the package and its tests depends on: the packages
// that the go command has found, with their modules; the content of all files in their folders,
// and below them where files are embedded; size and time of all files of the standard library,
// and of modules in the module cache, which do not change. Newest is when a file of them was
// last changed.
func (p *Package) Inputs(w io.Writer) (newest time.Time, err error) {
	in := &inputs{w: w, folders: map[string]bool{}, reached: map[string]*packages.Package{}}
	src := filepath.Join(p.goroot, "src")
	for _, f := range []*packages.Package{p.plain, p.inTest, p.xTest} {
		in.reach(f)
	}
	for _, id := range slices.Sorted(maps.Keys(in.reached)) {
		in.packageOf(in.reached[id], src)
	}
	if version := filepath.Join(p.goroot, "VERSION"); exists(version) {
		in.file(version)
	}
	in.states(src, true)
	return in.newest, in.err
}

type inputs struct {
	w       io.Writer
	newest  time.Time
	err     error
	size    int64
	folders map[string]bool // that were written
	reached map[string]*packages.Package
}

func (in *inputs) reach(f *packages.Package) {
	if f == nil || in.reached[f.ID] != nil {
		return
	}
	in.reached[f.ID] = f
	for _, g := range f.Imports {
		in.reach(g)
	}
}

func (in *inputs) printf(format string, args ...any) {
	_, err := fmt.Fprintf(in.w, format, args...)
	in.fail(err)
}

// fail keeps the first error; err may be nil.
func (in *inputs) fail(err error) {
	if in.err == nil {
		in.err = err
	}
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

// packageOf writes a package and the folders of its files.
func (in *inputs) packageOf(f *packages.Package, src string) {
	in.printf("package %q %q %q\n", f.ID, f.PkgPath, f.Errors)
	files := slices.Concat(f.GoFiles, f.OtherFiles, f.IgnoredFiles)
	in.printf("files %q\n", files)
	for _, path := range slices.Sorted(maps.Keys(f.Imports)) {
		in.printf("imports %q %q\n", path, f.Imports[path].ID)
	}
	fixed := false // the module is in the cache
	for m := f.Module; m != nil; m = m.Replace {
		in.printf("module %q %q %q %q\n", m.Path, m.Version, m.GoVersion, m.Dir)
		fixed = m.Version != "" && strings.Contains(m.Dir, "@"+m.Version)
		if m.GoMod != "" && exists(m.GoMod) {
			in.file(m.GoMod)
		}
	}
	for _, name := range files {
		dir := filepath.Dir(name)
		switch {
		case strings.HasSuffix(f.ID, ".test"), in.folders[dir]: // the first are generated
		case strings.HasPrefix(dir+string(filepath.Separator), src+string(filepath.Separator)):
			// states has the standard library
		case fixed:
			in.folders[dir] = true
			in.states(dir, false)
		default:
			in.folders[dir] = true
			in.folder(dir)
		}
	}
}

// folder writes the files of a folder, and those below it if one of them may be embedded.
func (in *inputs) folder(dir string) {
	entries, err := os.ReadDir(dir)
	in.fail(err)
	embeds := false
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			in.printf("entry %q\n", name)
			continue
		}
		text := in.file(name)
		embeds = embeds || strings.HasSuffix(name, ".go") && bytes.Contains(text,
			[]byte("//go:embed"))
	}
	if !embeds {
		return
	}
	in.fail(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Dir(name) != dir {
			if in.printf("embeds %q %v\n", name, d.Type()); d.Type().IsRegular() {
				in.file(name)
			}
		}
		return errors.Join(err, in.err)
	}))
}

// file writes a file and returns its content.
func (in *inputs) file(name string) []byte {
	info, err := os.Stat(name)
	if err == nil {
		in.since(info.ModTime())
		if in.size += info.Size(); in.size > largestInputs {
			err = fmt.Errorf("more than %d bytes of sources", largestInputs)
		}
	}
	var text []byte
	if err == nil && in.err == nil {
		text, err = os.ReadFile(name)
	}
	in.fail(err)
	in.printf("file %q %d\n%s\n", name, len(text), text)
	return text
}

// states writes name, size and time of the files in a folder or, deep, also below it.
func (in *inputs) states(dir string, deep bool) {
	in.fail(filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != dir && (!deep || d.Name() == "testdata" || name ==
			filepath.Join(dir, "cmd")):
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		in.since(info.ModTime())
		in.printf("state %q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
		return nil
	}))
}

func (in *inputs) since(t time.Time) {
	if t.After(in.newest) {
		in.newest = t
	}
}
