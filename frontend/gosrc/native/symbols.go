package native

import (
	"context"
	"debug/elf"
	"debug/gosym"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"cpor/system"
)

// symbols tells functions and lines by addresses.
type symbols struct {
	table  *gosym.Table
	goroot string
	mu     sync.Mutex
	frames map[uint64]Frame
}

func readSymbols(file, goroot string) (*symbols, error) {
	f, err := elf.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	section, text := f.Section(".gopclntab"), f.Section(".text")
	if section == nil || text == nil {
		return nil, fmt.Errorf("%s has no table of lines", file)
	}
	data, err := section.Data()
	if err != nil {
		return nil, err
	}
	table, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, err
	}
	return &symbols{table: table, goroot: filepath.Join(goroot, "src") + "/",
		frames: map[uint64]Frame{}}, nil
}

// frame returns the call that returns to pc.
func (s *symbols) frame(pc uint64) Frame {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.frames[pc]
	if !ok {
		file, line, fn := s.table.PCToLine(pc - 1)
		if fn != nil {
			f = Frame{fn.Name, system.Pos{File: file, Line: line}}
		}
		s.frames[pc] = f
	}
	return f
}

// function returns the function that begins at pc.
func (s *symbols) function(pc uint64) Frame { return s.frame(pc + 1) }

// users tells whether a frame is not of Go's own library.
func (s *symbols) users(f Frame) bool {
	return f.Pos.Line > 0 && !strings.HasPrefix(f.Pos.File, s.goroot)
}

// inTest tells whether a stack is that of a test function.
func (s *symbols) inTest(pcs []uint64) bool {
	return slices.ContainsFunc(pcs, func(pc uint64) bool {
		return s.frame(pc).Func == "testing.tRunner"
	})
}

// pos returns the innermost place of a stack that is not of Go's own library.
func (s *symbols) pos(pcs []uint64) system.Pos {
	for _, pc := range pcs {
		if f := s.frame(pc); s.users(f) {
			return f.Pos
		}
	}
	return system.Pos{}
}

// stack returns the frames of a stack that are not of Go's own library, or, if there are none,
// those that are not of the run-time.
func (s *symbols) stack(pcs []uint64) []Frame {
	var own, others []Frame
	for _, pc := range pcs {
		f := s.frame(pc)
		switch {
		case s.users(f):
			own = append(own, f)
		case f.Pos.Line > 0 && !strings.HasPrefix(f.Func, "runtime.") && !strings.Contains(f.Func,
			".cpor"):
			others = append(others, f)
		}
	}
	if own == nil {
		return others
	}
	return own
}

// polls tells whether a package outside of Go's library has a select with a default: then it
// matters whether somebody waits at a channel without a buffer, or is about to.
func polls(ctx context.Context, o BuildOptions) (bool, error) {
	out, err := goCommand(ctx, o, "list", "-test", "-deps", "-f",
		`{{if not .Standard}}{{$d := .Dir}}{{range .GoFiles}}{{$d}}{{"\t"}}{{.}}{{"\n"}}{{end}}{{range .CgoFiles}}{{$d}}{{"\t"}}{{.}}{{"\n"}}{{end}}{{end}}`, o.Package)
	if err != nil {
		return false, err
	}
	found := false
	for file := range strings.Lines(string(out)) {
		dir, file, ok := strings.Cut(strings.TrimSpace(file), "\t")
		if !ok || filepath.IsAbs(file) { // the main package of the tests
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, file), nil,
			parser.SkipObjectResolution)
		if err != nil {
			return false, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectStmt); ok && len(s.Body.List) > 1 {
				for _, c := range s.Body.List {
					found = found || c.(*ast.CommClause).Comm == nil
				}
			}
			return !found
		})
		if found {
			return true, nil
		}
	}
	return false, nil
}
