package model

import (
	"path/filepath"
	"strings"

	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// included returns a file and those that it includes, each once, in the order in which they
// are mentioned. Names are relative to the file that includes, unless they are those of libraries.
func included(f *source.File, read func(name string) (*source.File, error)) ([]*source.File,
	error) {
	var all []*source.File
	seen := map[string]bool{}
	size := 0
	var add func(f *source.File, chain []string) error
	add = func(f *source.File, chain []string) error {
		all = append(all, f)
		seen[filepath.Clean(f.Name)] = true
		chain = append(chain[:len(chain):len(chain)], filepath.Clean(f.Name))
		size += len(f.Text)
		file, _ := syntax.Parse(f) // what is wrong is told when all have been read
		for _, d := range file.Decls {
			d, ok := d.(*syntax.IncludeDecl)
			if !ok {
				continue
			}
			wrong := func(format string, args ...any) error {
				l := &source.List{File: f}
				l.Add(d.Path.Pos(), d.Path.End(), format, args...)
				return l.Err()
			}
			name := filepath.FromSlash(d.Path.Value)
			if name == "" {
				return wrong("the name of the file is empty")
			}
			lib := library(d.Path.Value)
			if lib == nil && !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(f.Name), name)
			}
			name = filepath.Clean(name)
			for i, c := range chain {
				if c == name {
					return wrong("%s includes itself: %s", name,
						strings.Join(append(chain[i:], name), " -> "))
				}
			}
			if seen[name] {
				continue
			}
			g := lib
			if g == nil {
				if read == nil {
					return wrong("include needs a model that is a file")
				}
				var err error
				if g, err = read(name); err != nil {
					return wrong("%v", err)
				}
			}
			if size+len(g.Text) > source.MaxSize {
				return wrong("with %s the model is larger than %d MiB", name, source.MaxSize>>20)
			}
			if err := add(g, chain); err != nil {
				return err
			}
		}
		return nil
	}
	return all, add(f, nil)
}
