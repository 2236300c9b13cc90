package native

import (
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
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

// writeBounds writes what the process needs to know of an executable file, as words of 64 bits in
// little endian: whether it has assembly that may write to the program's memory; how many global
// variables there are, and where they begin, because a write to one of them reports its address,
// but not its size; and from where to where lie those that are not of Go's own library.
func writeBounds(file, to string, deps []dependency) error {
	f, err := elf.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if errors.Is(err, elf.ErrNoSymbols) {
		return &Unsupported{"the linker has left out the symbols of variables, without which " +
			"nobody knows what an execution overwrites: remove -s from -ldflags in GOFLAGS"}
	}
	if err != nil {
		return err
	}
	symbols = slices.DeleteFunc(symbols, func(s elf.Symbol) bool {
		return elf.ST_TYPE(s.Info) != elf.STT_OBJECT
	})
	slices.SortStableFunc(symbols, func(a, b elf.Symbol) int {
		return cmp.Compare(a.Value, b.Value)
	})
	out := []uint64{0, uint64(len(symbols))}
	if writesUnseen(deps) {
		out[0] = 1
	}
	for _, s := range symbols {
		out = append(out, s.Value)
	}
	own := map[string]bool{}
	for _, d := range deps {
		path, _, _ := strings.Cut(d.path, " [") // compiled for the tests
		own[path] = !d.standard
	}
	joined := false // with the variable before
	for _, s := range symbols {
		is := own[packageOf(s.Name)] && s.Size > 0 && int(s.Section) < len(f.Sections) &&
			f.Sections[s.Section].Flags&elf.SHF_WRITE != 0
		switch {
		case is && joined:
			out[len(out)-1] = max(out[len(out)-1], s.Value+s.Size)
		case is:
			out = append(out, s.Value, s.Value+s.Size)
		}
		joined = is
	}
	b, err := binary.Append(nil, binary.LittleEndian, out)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, 0o666)
}

// packageOf returns the import path of the package that declares a symbol.
func packageOf(symbol string) string {
	symbol, _, _ = strings.Cut(symbol, "[") // type arguments
	slash := strings.LastIndexByte(symbol, '/') + 1
	name, _, _ := strings.Cut(symbol[slash:], ".")
	path, err := url.PathUnescape(symbol[:slash] + name) // a dot behind the last slash is %2e
	if err != nil {
		return ""
	}
	return path
}

// bare are packages with assembly that every program has. It writes nothing of the program's memory
// that is not reported.
var bare = regexp.MustCompile(`^(runtime|internal/(abi|cpu|bytealg|chacha8rand|runtime)|reflect|` +
	`internal/reflectlite|sync/atomic|syscall|math|os/signal)(/|$)`)

// writesUnseen tells whether the program has functions that may write to its memory without saying
// so: functions in assembly, and system calls of its own. What only the main package of tests needs
// does not count.
func writesUnseen(deps []dependency) bool {
	byPath := map[string]dependency{}
	for _, d := range deps {
		byPath[d.path] = d
	}
	var unseen func(path string) bool
	unseen = func(path string) bool {
		d := byPath[path]
		delete(byPath, path) // it is known
		return d.assembly && !(d.standard && bare.MatchString(path)) ||
			!d.standard && slices.Contains(d.imports, "syscall") ||
			slices.ContainsFunc(d.imports, unseen)
	}
	return slices.ContainsFunc(deps, func(d dependency) bool {
		return d.named && !strings.HasSuffix(d.path, ".test") && unseen(d.path)
	})
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

// faulted changes a stack such that all of it are returns: below a run-time panic that a signal has
// raised is the instruction at fault.
func (s *symbols) faulted(pcs []uint64) []uint64 {
	for i := 1; i < len(pcs); i++ {
		if s.frame(pcs[i-1]).Func == "runtime.sigpanic" {
			pcs[i]++
		}
	}
	return pcs
}

// users tells whether a frame is not of Go's own library.
func (s *symbols) users(f Frame) bool {
	return f.Pos.Line > 0 && f.Pos.File != "<autogenerated>" &&
		!strings.HasPrefix(f.Pos.File, s.goroot)
}

// inTest tells whether a stack is that of a test function.
func (s *symbols) inTest(pcs []uint64) bool {
	return slices.ContainsFunc(pcs, func(pc uint64) bool {
		return s.frame(pc).Func == "testing.tRunner"
	})
}

// setsTimeout tells whether a stack at which a timer is made is that of a test, and the timer is a
// time-out: a context's, a connection's deadline, or one with a channel.
func (s *symbols) setsTimeout(pcs []uint64) bool {
	return s.inTest(pcs) && slices.ContainsFunc(pcs, func(pc uint64) bool {
		name := s.frame(pc).Func
		return name == "time.NewTimer" || name == "net.(*netFD).setDeadline" ||
			strings.HasPrefix(name, "context.")
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

// polls tells whether a package outside of Go's library has a select with a default, or may have
// one through package reflect: then it matters whether somebody waits at a channel without a
// buffer, or is about to.
func polls(deps []dependency) (bool, error) {
	for _, d := range deps {
		if d.standard {
			continue
		}
		for _, file := range d.files {
			if filepath.IsAbs(file) { // the main package of the tests
				continue
			}
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(d.dir, file), nil,
				parser.SkipObjectResolution)
			if err != nil {
				return false, err
			}
			found := false
			ast.Inspect(f, func(n ast.Node) bool {
				found = found || pollsIn(n)
				return !found
			})
			if found {
				return true, nil
			}
		}
	}
	return false, nil
}

// pollsIn tells whether a node is a select with a default, or names what is one in package reflect.
func pollsIn(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.SelectStmt:
		return len(n.Body.List) > 1 && slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool {
			return c.(*ast.CommClause).Comm == nil
		})
	case *ast.SelectorExpr:
		return slices.Contains([]string{"TrySend", "TryRecv", "SelectCase"}, n.Sel.Name)
	}
	return false
}
