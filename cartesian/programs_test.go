package cartesian

import (
	"fmt"
	"testing"

	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// The paper's benchmarks as toy programs, at the granularity of the reference
// counts.

func build(tb testing.TB, p *toy.Program) system.System {
	tb.Helper()
	s, err := toy.New(p)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func add(a, b toy.Expr) toy.Expr { return toy.Bin("+", a, b) }
func mul(a, b toy.Expr) toy.Expr { return toy.Bin("*", a, b) }
func mod(a, b toy.Expr) toy.Expr { return toy.Bin("%", a, b) }
func eq(a, b toy.Expr) toy.Expr  { return toy.Bin("==", a, b) }
func or(a, b toy.Expr) toy.Expr  { return toy.Bin("||", a, b) }

var (
	reg = toy.Reg
	num = toy.Const
)

// robots: three transitions an iteration.
func robots(robots int) *toy.Program {
	const n = 12
	p := toy.NewProgram()
	a := p.Array("A", make([]int64, n*n)...)
	x, y, dx, dy := 0, 1, 2, 3
	cell := add(mul(reg(x), num(n)), reg(y))
	p.Thread("Robot", 4,
		toy.Atomic(
			toy.Store(a, cell, num(0)),
			toy.Set(x, add(reg(x), reg(dx))),
			toy.Set(y, add(reg(y), reg(dy))),
			toy.If(or(eq(reg(x), num(n-1)), eq(reg(x), num(0))),
				toy.Set(dx, mul(reg(dx), num(-1)))),
			toy.If(or(eq(reg(y), num(n-1)), eq(reg(y), num(0))),
				toy.Set(dy, mul(reg(dy), num(-1)))),
		),
		toy.Atomic(toy.Assert(or(toy.Not(toy.Load(a, cell)),
			or(eq(reg(x), num(9)), eq(reg(x), num(2)))), "robots meet off their rows")),
		toy.Atomic(toy.Store(a, cell, num(1)), toy.Goto(0)),
	)
	for _, x := range []int64{0, 4, 7}[:robots] {
		p.Start("Robot", x, 0, 1, 1)
	}
	return p
}

// sharedArray: the paper's atomic blocks.
func sharedArray(n int64) *toy.Program {
	p := toy.NewProgram()
	a := p.Array("A", make([]int64, n)...)
	idx := p.Array("idx", 0, 1)
	counter := p.Scalar("counter", 1)
	self := toy.Reg(0)
	own := toy.Load(idx, self)
	p.Thread("T", 2,
		toy.Atomic(
			toy.Store(a, own, add(toy.Load(counter, nil), own)),
			toy.Store(idx, self, add(own, num(2))),
			toy.If(toy.Bin("<", own, num(n)), toy.Goto(0)),
		),
		toy.Atomic(
			toy.Store(counter, nil, add(add(toy.Load(counter, nil), num(1)),
				toy.Load(idx, toy.Bin("-", num(1), self)))),
			toy.Assert(toy.Bin("<=", toy.Load(counter, nil), num(2*n+4)), "counter"),
		),
	)
	p.Start("T", 0)
	p.Start("T", 1)
	return p
}

// sharedPtr: `c += x; i++` is one transition, leaving the loop is one.
func sharedPtr(n int64) *toy.Program {
	p := toy.NewProgram()
	v := p.Array("v", 3, 4) // x, y
	c := p.Array("c", 0, 0)
	ptr := p.Scalar("p", 0)
	i := 0
	for t := range int64(2) {
		other := num(1 - t)
		target := toy.Load(ptr, nil)
		xy := func(k int64) toy.Expr {
			return toy.Bin("&&", toy.Bin("<=", num(3), toy.Load(v, num(k))),
				toy.Bin("<=", toy.Load(v, num(k)), num(9)))
		}
		p.Thread(fmt.Sprintf("T%d", t+1), 1,
			toy.Atomic(toy.Store(ptr, nil, other)),
			toy.Atomic(
				toy.Store(c, num(t), add(toy.Load(c, num(t)), toy.Load(v, num(t)))),
				toy.Set(i, add(reg(i), num(1))),
				toy.If(toy.Bin("<", reg(i), num(n)), toy.Goto(1)),
			),
			toy.Atomic(), // leaves the loop
			toy.Atomic(
				toy.Store(v, target, add(toy.Load(v, target), num(3-t))),
				toy.Assert(toy.Bin("&&", xy(0), xy(1)), "3 <= x, y <= 9"),
			),
		)
		p.Start(fmt.Sprintf("T%d", t+1))
	}
	return p
}

// indexer: one transition for each compare-and-swap.
func indexer(threads int64) *toy.Program {
	const size, most = 128, 4
	p := toy.NewProgram()
	table := p.Array("table", make([]int64, size)...)
	tid, m, w, h := 0, 1, 2, 3
	get := []toy.Stmt{
		toy.Set(m, add(reg(m), num(1))),
		toy.Set(w, add(mul(reg(m), num(11)), reg(tid))),
		toy.Set(h, mod(mul(reg(w), num(7)), num(size))),
	}
	busy := 4
	p.Thread("T", 5,
		toy.Atomic(
			toy.Set(busy, toy.Load(table, reg(h))),
			toy.If(reg(busy), toy.Set(h, mod(add(reg(h), num(1)), num(size))), toy.Goto(0)),
			toy.If(toy.Not(reg(busy)),
				toy.Store(table, reg(h), reg(w)),
				toy.If(toy.Bin("<", reg(m), num(most)), append(get, toy.Goto(0))...)),
			toy.Set(busy, num(0)),
		),
	)
	for t := range threads {
		w := int64(11) + t
		p.Start("T", t, 1, w, w*7%size)
	}
	return p
}

// philosophers: four transitions a meal, one location a fork.
func philosophers(n int64) *toy.Program {
	p := toy.NewProgram()
	fork := p.Array("fork", make([]int64, n)...)
	left := reg(0)
	right := mod(add(reg(0), num(1)), num(n))
	p.Thread("Philosopher", 1,
		toy.AwaitDo(toy.Not(toy.Load(fork, left)), toy.Store(fork, left, num(1))),
		toy.AwaitDo(toy.Not(toy.Load(fork, right)), toy.Store(fork, right, num(1))),
		toy.Atomic(toy.Store(fork, right, num(0))),
		toy.Atomic(toy.Store(fork, left, num(0)), toy.Goto(0)),
	)
	for i := range n {
		p.Start("Philosopher", i)
	}
	return p
}

// fileSystem: eight transitions without contention.
func fileSystem(threads int64) *toy.Program {
	const inodes, blocks = 32, 26
	p := toy.NewProgram()
	locki := p.Array("locki", make([]int64, inodes)...)
	inode := p.Array("inode", make([]int64, inodes)...)
	lockb := p.Array("lockb", make([]int64, blocks)...)
	busy := p.Array("busy", make([]int64, blocks)...)
	i, b, v := reg(0), reg(1), 2
	p.Thread("T", 3,
		toy.Lock(locki, i), // 0
		toy.Atomic(
			toy.Set(v, toy.Load(inode, i)),
			toy.If(reg(v), toy.Goto(8)),
			toy.Set(1, mod(mul(i, num(2)), num(blocks))),
			toy.Set(v, num(0)),
		),
		toy.Lock(lockb, b), // 2
		toy.Atomic(
			toy.Set(v, toy.Load(busy, b)),
			toy.If(reg(v), toy.Goto(9)),
			toy.Set(v, num(0)),
		),
		toy.Atomic(toy.Store(busy, b, num(1))), // 4
		toy.Atomic(toy.Store(inode, i, add(b, num(1)))),
		toy.Unlock(lockb, b),
		toy.Atomic(toy.Store(locki, i, num(0)), toy.Goto(10)), // 7
		toy.Unlock(locki, i),                                  // 8: an inode that has its block
		toy.Atomic( // 9: the next block
			toy.Store(lockb, b, num(0)),
			toy.Set(1, mod(add(b, num(1)), num(blocks))),
			toy.Goto(2),
		),
	)
	for t := range threads {
		p.Start("T", t%inodes, 0, 0)
	}
	return p
}
