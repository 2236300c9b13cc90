package toysystem

import (
	"errors"
	"fmt"

	"cpor/system"
)

// toy is a checked program. Its methods are those of [system.System].
//
// The live state is an array of words of a fixed layout: the number of
// threads, the shared cells, and a record for each thread that can exist: its
// existence, its control word, its registers. An encoding leaves out the
// records of threads that do not exist, so its length varies.
//
// Locations are numbered in this order: the cells, the number of threads, the
// existence of each thread. A creation reads and writes the number and writes
// the existence of its child, which the child's first transition reads.
type toy struct {
	*Program
	regs    int // registers of a record: the most that any thread has
	records int // the number of records
	initial system.State
}

// The control word of a thread: the index of its code, whether it must still
// make its first transition after a creation, and the program counter. A
// program counter behind the code means that the thread has ended; one past
// that tells which failure ended it.
const (
	codeShift  = 32
	unstarted  = 1 << 31
	counterBit = unstarted - 1
)

// The run-time failures that each node can have, besides its assertions.
const (
	badIndex = iota
	zeroModulus
	tooManyThreads
	numFaults
)

var faultMessages = [numFaults]string{
	"index out of range", "remainder by zero", "too many threads",
}

// New checks a program and makes a system of it. The program must not be
// changed afterwards. The error lists everything that is wrong with it.
func New(p *Program) (system.System, error) {
	c := &checking{p: p, index: map[string]int{}}
	s := &toy{Program: p}
	for i, t := range p.threads {
		if _, twice := c.index[t.name]; twice {
			c.bad("thread %s is declared twice", t.name)
		}
		c.index[t.name] = i
		s.regs = max(s.regs, t.regs)
	}
	for _, v := range p.vars {
		if len(v.init) == 0 {
			c.bad("variable %s has no cell", v.name)
		}
	}
	for _, t := range p.threads {
		c.thread(t)
	}
	c.starts()
	if len(c.errs) > 0 {
		return nil, errors.Join(c.errs...)
	}

	s.records = max(len(p.starts), p.MaxThreads)
	s.initial = append(s.initial, uint64(len(p.starts)))
	for _, v := range p.vars {
		for _, c := range v.init {
			s.initial = append(s.initial, uint64(c))
		}
	}
	for _, st := range p.starts {
		rec := make([]uint64, s.recordLen())
		rec[0] = 1
		rec[1] = uint64(c.index[st.thread]) << codeShift
		for i, a := range st.args {
			rec[2+i] = uint64(a)
		}
		s.initial = append(s.initial, rec...)
	}
	return s, nil
}

// checking is a program that is checked, and what is wrong with it.
type checking struct {
	p     *Program
	index map[string]int // of the threads
	errs  []error
}

func (c *checking) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// thread checks a thread, resolves the names in it, and makes its violations.
func (c *checking) thread(t *thread) {
	t.failures = nil
	for n, node := range t.code {
		if len(node.Cases) == 0 {
			c.bad("%s:%d: a node without a case", t.name, n)
		}
		col := 1
		check := func(part any) {
			if a, ok := part.(*assertStmt); ok {
				a.failure = len(t.failures)
				t.failures = append(t.failures, &system.Violation{Kind: a.kind,
					Message: a.message, Pos: system.Pos{File: t.name, Line: n + 1, Col: col}})
				col++
				return
			}
			if err := c.part(t, part); err != nil {
				c.bad("%s:%d: %w", t.name, n, err)
			}
		}
		for _, c := range node.Cases {
			if c.Guard != nil {
				c.Guard.each(check)
			}
			for _, st := range c.Body {
				st.each(check)
			}
		}
	}
	for n := range t.code {
		for f := range numFaults {
			t.failures = append(t.failures, &system.Violation{Kind: system.Runtime,
				Message: faultMessages[f], Pos: system.Pos{File: t.name, Line: n + 1}})
		}
	}
}

// part checks a part of a statement.
func (c *checking) part(t *thread, part any) error {
	switch part := part.(type) {
	case *setStmt:
		if part.reg < 0 || part.reg >= t.regs {
			return fmt.Errorf("no register %d", part.reg)
		}
	case regExpr:
		if part < 0 || int(part) >= t.regs {
			return fmt.Errorf("no register %d", part)
		}
	case *gotoStmt:
		if part.node < 0 || part.node > len(t.code) {
			return fmt.Errorf("no node %d", part.node)
		}
	case *spawnStmt:
		code, ok := c.index[part.name]
		part.code = code
		if !ok {
			return fmt.Errorf("no thread %s", part.name)
		}
		if len(part.args) > c.p.threads[code].regs {
			return fmt.Errorf("too many arguments for %s", part.name)
		}
	case *binExpr:
		switch part.op {
		case "+", "-", "*", "%", "==", "!=", "<", "<=", "&&", "||":
		default:
			return fmt.Errorf("no operator %s", part.op)
		}
	}
	return nil
}

// starts checks the threads that run from the beginning.
func (c *checking) starts() {
	if len(c.p.starts) == 0 {
		c.bad("no thread is started")
	}
	for _, st := range c.p.starts {
		code, ok := c.index[st.thread]
		if !ok {
			c.bad("start of %s: no such thread", st.thread)
		} else if len(st.args) > c.p.threads[code].regs {
			c.bad("start of %s: too many arguments", st.thread)
		}
	}
}

func (s *toy) recordLen() int       { return 2 + s.regs }
func (s *toy) record(t int) int     { return 1 + s.cells + t*s.recordLen() }
func (s *toy) countLoc() system.Loc { return system.Loc(s.cells) }

func (s *toy) existLoc(t int) system.Loc { return system.Loc(s.cells + 1 + t) }

// word is the place of a location's value in the live state.
func (s *toy) word(l system.Loc) int {
	switch n := int(l); {
	case n < s.cells:
		return 1 + n
	case n == s.cells:
		return 0
	default:
		return s.record(n - s.cells - 1)
	}
}

func (s *toy) Initial() []system.State {
	return []system.State{append(system.State(nil), s.initial...)}
}

func (s *toy) Observer(t int) bool {
	if t >= len(s.starts) {
		return false
	}
	return s.threads[s.initial[s.record(t)+1]>>codeShift].observer
}

func (m *machine) ThreadName(t int) string {
	same := 0
	name := m.code(t).name
	for u := range t {
		if m.code(u).name == name {
			same++
		}
	}
	return fmt.Sprintf("%s[%d]", name, same)
}

func (s *toy) LocName(l system.Loc) string {
	if int(l) == s.cells {
		return "threads"
	}
	if int(l) > s.cells {
		return fmt.Sprintf("thread %d", int(l)-s.cells-1)
	}
	for _, v := range s.vars {
		if i := int(l) - v.base; i >= 0 && i < len(v.init) {
			if len(v.init) == 1 {
				return v.name
			}
			return fmt.Sprintf("%s[%d]", v.name, i)
		}
	}
	return ""
}
