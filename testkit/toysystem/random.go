package toysystem

import (
	"fmt"
	"math/rand/v2"
)

// Config bounds the programs that [Random] makes. The zero value of a number
// represents the default that its comment gives.
type Config struct {
	Threads int // at most so many instances at the start, at least 2 (3)
	Nodes   int // at most so many nodes a thread (5)
	Cells   int // at most so many plain shared cells (3)
	Values  int // plain cells and registers hold values below this (3)

	NoLoops    bool // no node jumps backwards
	NoChoices  bool // no choose, no select with more than one case
	NoBlocking bool // no await, no lock, no select that can block
	NoSpawns   bool // no creation of threads
	NoAsserts  bool // no assertion; unlocking a lock that is not held still fails
	Observer   bool // an invariant and its observer
}

func (c Config) withDefaults() Config {
	def := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	def(&c.Threads, 3)
	def(&c.Nodes, 5)
	def(&c.Cells, 3)
	def(&c.Values, 3)
	return c
}

// Random makes a program with every construct in the mix that the
// configuration allows: scalars and an array, atomic groups, assertions,
// branches and loops, awaits (alone, with a body, and at a place where
// blocking is not a deadlock), locks, choose, select with and without a default,
// and the creation of threads. Its state space is finite and mostly small.
func Random(r *rand.Rand, c Config) *Program {
	g := &generator{Rand: r, c: c.withDefaults(), p: NewProgram()}
	for i := range 1 + g.IntN(g.c.Cells) {
		g.scalars = append(g.scalars, g.p.Scalar(fmt.Sprintf("x%d", i), g.value()))
	}
	g.array = g.p.Array("a", make([]int64, 1+g.IntN(3))...)
	g.locks = g.p.Array("lock", make([]int64, 1+g.IntN(2))...)
	if !c.NoSpawns && g.IntN(3) == 0 {
		g.spawns = true
	}
	n := 2 + g.IntN(max(1, g.c.Threads-1))
	if g.spawns {
		g.p.Thread("Child", registers, g.code(1+g.IntN(3), false)...)
	}
	for i := range n {
		// A thread may be an instance of an earlier one's code.
		if i > 0 && g.IntN(4) == 0 {
			g.p.Start(fmt.Sprintf("T%d", g.IntN(i)), g.value(), g.value())
			g.p.Thread(fmt.Sprintf("T%d", i), registers)
			continue
		}
		g.p.Thread(fmt.Sprintf("T%d", i), registers, g.code(1+g.IntN(g.c.Nodes), g.spawns)...)
		g.p.Start(fmt.Sprintf("T%d", i), g.value(), g.value())
	}
	if c.Observer {
		cond := g.property()
		if g.IntN(2) == 0 {
			cond = Bin("||", cond, g.property())
		}
		g.p.Invariant("inv", cond)
		g.p.Start("inv")
		n++
	}
	if g.spawns {
		g.p.MaxThreads = n + 2
	}
	return g.p
}

// registers is the number of registers of each generated thread.
const registers = 2

type generator struct {
	*rand.Rand
	c       Config
	p       *Program
	scalars []*Var
	array   *Var
	locks   *Var
	spawns  bool
}

func (g *generator) value() int64 { return int64(g.IntN(g.c.Values)) }
func (g *generator) reg() int     { return g.IntN(registers) }

// cell returns a random cell: a scalar, or an element of the array, often with
// an index that is known only when the transition is taken.
func (g *generator) cell() (*Var, Expr) {
	if g.IntN(3) > 0 {
		return g.scalars[g.IntN(len(g.scalars))], nil
	}
	if g.IntN(16) == 0 {
		return g.array, Reg(g.reg()) // may be out of range
	}
	n := int64(len(g.array.init))
	if g.IntN(2) == 0 {
		return g.array, Const(int64(g.IntN(int(n))))
	}
	return g.array, Bin("%", Reg(g.reg()), Const(n))
}

func (g *generator) load() Expr {
	v, idx := g.cell()
	return Load(v, idx)
}

// expr is a value without a shared read.
func (g *generator) expr() Expr {
	switch g.IntN(4) {
	case 0:
		return Reg(g.reg())
	case 1:
		return Bin("%", Bin("+", Reg(g.reg()), Const(1)), Const(int64(g.c.Values)))
	default:
		return Const(g.value())
	}
}

func (g *generator) store(e Expr) Stmt {
	v, idx := g.cell()
	return Store(v, idx, e)
}

func (g *generator) cond() Expr {
	op := []string{"==", "!=", "<=", "<"}[g.IntN(4)]
	return Bin(op, g.load(), g.expr())
}

// group is one to three statements of an atomic group.
func (g *generator) group() []Stmt {
	var body []Stmt
	for range 1 + g.IntN(3) {
		switch g.IntN(5) {
		case 0:
			body = append(body, Set(g.reg(), g.load()))
		case 1:
			body = append(body, Set(g.reg(), g.expr()))
		case 2:
			body = append(body, If(g.cond(), g.store(g.expr())))
		case 3:
			v, idx := g.cell()
			body = append(body, Store(v, idx, Bin("%", Bin("+", Load(v, idx), Const(1)),
				Const(int64(g.c.Values)))))
		default:
			body = append(body, g.store(g.expr()))
		}
	}
	return body
}

// property is a condition over the shared cells alone.
func (g *generator) property() Expr {
	if g.IntN(3) == 0 {
		return Bin("!=", Load(g.array, Const(int64(g.IntN(len(g.array.init))))), Const(g.value()))
	}
	return Bin("!=", Load(g.scalars[g.IntN(len(g.scalars))], nil), Const(g.value()))
}

func (g *generator) assertion() Stmt {
	return Assert(g.cond(), "assertion")
}

// jump returns nothing, or a jump, conditional or not.
func (g *generator) jump(at, nodes int) []Stmt {
	if g.IntN(3) > 0 {
		return nil
	}
	lo := 0
	if g.c.NoLoops {
		lo = at + 1
	}
	to := Goto(lo + g.IntN(nodes+1-lo))
	if g.IntN(3) == 0 {
		return []Stmt{to}
	}
	return []Stmt{If(Bin("==", Reg(g.reg()), Const(g.value())), to)}
}

func (g *generator) code(nodes int, spawns bool) []Node {
	code := make([]Node, nodes)
	for i := range code {
		code[i] = g.node(spawns)
		for c := range code[i].Cases {
			code[i].Cases[c].Body = append(code[i].Cases[c].Body, g.jump(i, nodes)...)
		}
	}
	return code
}

func (g *generator) node(spawns bool) Node {
	for {
		k := g.IntN(14)
		switch {
		case k < 2:
			return Atomic(g.store(g.expr()))
		case k < 4:
			return Atomic(Set(g.reg(), g.load()))
		case k < 6:
			return Atomic(g.group()...)
		case k == 6:
			return Atomic()
		case k == 7 && !g.c.NoAsserts:
			if g.IntN(2) == 0 {
				return Atomic(append(g.group(), g.assertion())...)
			}
			return Atomic(g.assertion())
		case k >= 8 && k <= 10 && !g.c.NoBlocking:
			return g.blocking(k - 8)
		case k == 11 && !g.c.NoChoices:
			return Choose(g.reg(), 0, 1+int64(g.IntN(g.c.Values-1)), g.maybeGroup()...)
		case k == 12 && !g.c.NoChoices:
			return g.selectNode()
		case k > 12 && spawns:
			if g.IntN(2) == 0 {
				return Atomic(append(g.group(), Spawn("Child", g.expr()))...)
			}
			return Atomic(Spawn("Child", g.expr()))
		}
	}
}

// blocking makes a node that can block: an await, a lock or an unlock.
func (g *generator) blocking(kind int) Node {
	switch kind {
	case 0:
		n := AwaitDo(g.cond(), g.maybeGroup()...)
		n.AtEnd = g.IntN(4) == 0
		return n
	case 1:
		return Lock(g.locks, g.lock())
	}
	return Unlock(g.locks, g.lock())
}

func (g *generator) maybeGroup() []Stmt {
	if g.IntN(2) == 0 {
		return nil
	}
	return g.group()
}

func (g *generator) lock() Expr {
	return Const(int64(g.IntN(len(g.locks.init))))
}

// selectNode has two or three cases, and a default where it may not block.
func (g *generator) selectNode() Node {
	var n Node
	none := Const(1)
	for range 2 + g.IntN(2) {
		guard := g.cond()
		none = Bin("&&", none, Not(guard))
		n.Cases = append(n.Cases, Case{Guard: guard, Body: g.maybeGroup()})
	}
	if g.c.NoBlocking || g.IntN(2) == 0 {
		n.Cases = append(n.Cases, Case{Guard: none, Body: g.maybeGroup()})
	}
	return n
}
