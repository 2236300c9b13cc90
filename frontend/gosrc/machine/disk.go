package machine

import (
	"errors"
	"io/fs"
	"os"
	"sync"
	"syscall"
)

// disk is what programs have seen of the disk. Each file is read once, so all executions see the
// same.
type disk struct {
	mu    sync.Mutex
	stats map[string]stat // of what links lead to
	links map[string]stat // of links themselves
	texts map[string]text
	lists map[string]string
	goals map[string]string // where links lead
	seen  *Seen
}

type stat struct {
	mode fs.FileMode
	size int64
	ok   bool
}

type text struct {
	text  string
	errno syscall.Errno
}

// once returns f's cached result for a path.
func once[T any](d *disk, m *map[string]T, path string, f func() T) T {
	d.mu.Lock()
	defer d.mu.Unlock()
	if x, ok := (*m)[path]; ok {
		return x
	}
	x := f()
	if *m == nil {
		*m = map[string]T{}
	}
	(*m)[path] = x
	return x
}

func (d *disk) stat(path string, follow bool) stat {
	m, look := &d.stats, os.Stat
	if !follow {
		m, look = &d.links, os.Lstat
	}
	return once(d, m, path, func() stat {
		var s stat
		if i, err := look(path); err == nil {
			s = stat{i.Mode(), i.Size(), true}
		}
		how := seenFile
		if !follow {
			how = seenLink
		}
		d.seen.add(Fact{How: how, Path: path, Sum: sum(s)})
		return s
	})
}

// list returns the names in a directory, each followed by a zero.
func (d *disk) list(path string) string {
	return once(d, &d.lists, path, func() (all string) {
		entries, err := os.ReadDir(path)
		for _, e := range entries {
			if err == nil {
				all += e.Name() + "\x00"
			}
		}
		d.seen.add(Fact{How: seenList, Path: path, Sum: sum(all)})
		return all
	})
}

// read returns the content of a file.
func (d *disk) read(path string) text {
	return once(d, &d.texts, path, func() (t text) {
		b, err := os.ReadFile(path)
		if err != nil && !errors.As(err, &t.errno) {
			t.errno = syscall.EIO
		}
		t.text = string(b)
		d.seen.add(Fact{How: seenText, Path: path, Sum: sum(t.text, int(t.errno))})
		return t
	})
}

// goal returns where a link leads; empty if it is not a link.
func (d *disk) goal(path string) string {
	return once(d, &d.goals, path, func() string {
		to, _ := os.Readlink(path) // empty if it fails
		d.seen.add(Fact{How: seenGoal, Path: path, Sum: sum(to)})
		return to
	})
}

// diskNatives adds what package os reads from the disk.
func diskNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	plain("internal/cpor.Dir", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = m.str(m.sys.o.Dir)
	})
	plain("internal/cpor.DiskStat", func(m *Machine, g *goroutine, r []uint64) {
		s := m.sys.disk.stat(m.text(r[0]), r[1] == 1)
		r[2], r[3], r[4] = uint64(s.mode), uint64(s.size), flag(s.ok)
	})
	plain("internal/cpor.DiskRead", func(m *Machine, g *goroutine, r []uint64) {
		if s := m.sys.disk.stat(m.text(r[0]), true); s.size > maxLen {
			m.refuse(g, "reads a file of more than 67 million bytes")
			return
		}
		t := m.sys.disk.read(m.text(r[0]))
		r[1], r[2] = m.str(t.text), uint64(t.errno)
	})
	plain("internal/cpor.DiskList", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(m.sys.disk.list(m.text(r[0])))
	})
	plain("internal/cpor.DiskLink", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.str(m.sys.disk.goal(m.text(r[0])))
	})
}
