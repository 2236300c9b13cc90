package toysystem

import (
	"fmt"
	"strings"

	"cpor/system"
)

// Program is a concurrent program under construction. Its methods add
// variables, threads and instances; [New] checks it and makes a system of it.
type Program struct {
	// MaxThreads bounds the number of threads that exist at once or have
	// existed; a Spawn beyond it is a runtime violation. 0 means that no
	// thread can be created.
	MaxThreads int

	vars    []*Var
	cells   int
	threads []*thread
	starts  []start
}

// Var is a shared variable: a scalar or an array of cells.
type Var struct {
	name string
	base int // the first cell's location
	init []int64
}

type thread struct {
	name     string
	regs     int
	observer bool
	code     []Node
	failures []*system.Violation // in the order of the code
}

type start struct {
	thread string
	args   []int64
}

// NewProgram returns an empty program.
func NewProgram() *Program { return &Program{} }

// Scalar declares a shared variable of one cell.
func (p *Program) Scalar(name string, init int64) *Var { return p.Array(name, init) }

// Array declares a shared array with a cell for each initial value.
func (p *Program) Array(name string, init ...int64) *Var {
	v := &Var{name: name, base: p.cells, init: append([]int64(nil), init...)}
	p.cells += len(init)
	p.vars = append(p.vars, v)
	return v
}

// Thread declares a thread's code and the number of its registers.
func (p *Program) Thread(name string, regs int, code ...Node) {
	p.threads = append(p.threads, &thread{name: name, regs: regs, code: code})
}

// Invariant declares an observer: a thread of one transition that is blocked
// while the condition holds and violates the invariant when it does not. It
// must still be started.
func (p *Program) Invariant(name string, holds Expr) {
	p.threads = append(p.threads, &thread{name: name, observer: true, code: []Node{
		AwaitDo(Not(holds), &assertStmt{cond: Const(0), message: "invariant " + name,
			kind: system.Invariant}),
	}})
}

// Start lets an instance of a thread exist from the beginning, with the first
// registers set to the arguments. Instances are numbered in the order of
// their starts.
func (p *Program) Start(thread string, args ...int64) {
	p.starts = append(p.starts, start{thread, append([]int64(nil), args...)})
}

// Node is a control point: the thread's next transition.
type Node struct {
	Cases []Case
	// AtEnd means that blocking here forever is not a deadlock.
	AtEnd bool
}

// Case is one alternative of a node.
type Case struct {
	Guard Expr // nil: always enabled
	Body  []Stmt
}

// Atomic is a transition that is always enabled and executes its statements
// at once. Without statements it is a skip.
func Atomic(body ...Stmt) Node { return Node{Cases: []Case{{Body: body}}} }

// Await is blocked until the condition holds.
func Await(cond Expr) Node { return AwaitDo(cond) }

// AwaitDo is blocked until the condition holds and then executes its
// statements in the same transition.
func AwaitDo(cond Expr, body ...Stmt) Node {
	return Node{Cases: []Case{{Guard: cond, Body: body}}}
}

// Lock takes the lock in cell idx of v (nil: its first), or is blocked.
func Lock(v *Var, idx Expr) Node {
	return AwaitDo(Bin("==", Load(v, idx), Const(0)), Store(v, idx, Bin("+", Self(), Const(1))))
}

// Unlock releases a lock; it is a violation if the thread does not hold it.
func Unlock(v *Var, idx Expr) Node {
	return Atomic(
		&assertStmt{cond: Bin("==", Load(v, idx), Bin("+", Self(), Const(1))),
			message: "unlock of a lock that is not held", kind: system.Runtime},
		Store(v, idx, Const(0)))
}

// Choose sets a register to any value from lo to hi, and then executes the
// statements in the same transition. Each value is an alternative.
func Choose(reg int, lo, hi int64, body ...Stmt) Node {
	var n Node
	for v := lo; v <= hi; v++ {
		n.Cases = append(n.Cases, Case{Body: append([]Stmt{Set(reg, Const(v))}, body...)})
	}
	return n
}

// Stmt is a statement of a body.
type Stmt interface {
	fmt.Stringer
	// exec executes the statement of thread t and reports whether the body
	// continues.
	exec(m *machine, t int) bool
	// each calls visit for the statement, its parts and its expressions.
	each(visit func(any))
}

type setStmt struct {
	reg int
	e   Expr
}

// Set assigns to a register.
func Set(reg int, e Expr) Stmt { return &setStmt{reg, e} }

type storeStmt struct {
	v   *Var
	idx Expr // nil: the first cell
	e   Expr
}

// Store assigns to a shared cell. An index that is nil means the first cell.
func Store(v *Var, idx, e Expr) Stmt { return &storeStmt{v, idx, e} }

type ifStmt struct {
	cond Expr
	then []Stmt
}

// If executes the statements if the condition holds (is not 0).
func If(cond Expr, then ...Stmt) Stmt { return &ifStmt{cond, then} }

type gotoStmt struct{ node int }

// Goto lets the thread continue at a node after this transition; one past the
// last node ends it. The rest of the body is still executed.
func Goto(node int) Stmt { return &gotoStmt{node} }

type assertStmt struct {
	cond    Expr
	message string
	kind    system.ViolationKind
	failure int // the index in thread.failures
}

// Assert is violated if the condition does not hold.
func Assert(cond Expr, message string) Stmt {
	return &assertStmt{cond: cond, message: message, kind: system.Assertion}
}

type spawnStmt struct {
	name string
	args []Expr
	code int // the index in Program.threads
}

// Spawn creates an instance of a thread.
func Spawn(thread string, args ...Expr) Stmt { return &spawnStmt{name: thread, args: args} }

// Expr is an expression over registers and shared cells. Reading a cell is an
// access of the transition.
type Expr interface {
	fmt.Stringer
	eval(m *machine, t int) int64
	each(visit func(any))
}

type constExpr int64

// Const is a constant.
func Const(v int64) Expr { return constExpr(v) }

type regExpr int

// Reg is the value of a register.
func Reg(i int) Expr { return regExpr(i) }

type selfExpr struct{}

// Self is the number of the thread that executes the transition.
func Self() Expr { return selfExpr{} }

type loadExpr struct {
	v   *Var
	idx Expr
}

// Load reads a shared cell. An index that is nil means the first cell.
func Load(v *Var, idx Expr) Expr { return &loadExpr{v, idx} }

type binExpr struct {
	op   string
	a, b Expr
}

// Bin applies one of + - * % == != < <= && || to two expressions. Both are
// always evaluated, except that && and || stop as in Go. Comparisons yield 0
// or 1. A remainder by 0 is a runtime violation.
func Bin(op string, a, b Expr) Expr { return &binExpr{op, a, b} }

// Not is 1 if the expression is 0, and else 0.
func Not(e Expr) Expr { return Bin("==", e, Const(0)) }

func (s *setStmt) each(visit func(any))   { visit(s); s.e.each(visit) }
func (s *gotoStmt) each(visit func(any))  { visit(s) }
func (s *storeStmt) each(visit func(any)) { visit(s); eachOf(visit, s.idx, s.e) }
func (s *ifStmt) each(visit func(any)) {
	visit(s)
	s.cond.each(visit)
	for _, t := range s.then {
		t.each(visit)
	}
}
func (s *assertStmt) each(visit func(any)) { visit(s); s.cond.each(visit) }
func (s *spawnStmt) each(visit func(any))  { visit(s); eachOf(visit, s.args...) }
func (e constExpr) each(visit func(any))   { visit(e) }
func (e regExpr) each(visit func(any))     { visit(e) }
func (e selfExpr) each(visit func(any))    { visit(e) }
func (e *loadExpr) each(visit func(any))   { visit(e); eachOf(visit, e.idx) }
func (e *binExpr) each(visit func(any))    { visit(e); eachOf(visit, e.a, e.b) }

func eachOf(visit func(any), es ...Expr) {
	for _, e := range es {
		if e != nil {
			e.each(visit)
		}
	}
}

func cellString(v *Var, idx Expr) string {
	if idx == nil {
		return v.name
	}
	return fmt.Sprintf("%s[%v]", v.name, idx)
}

func (s *setStmt) String() string   { return fmt.Sprintf("r%d = %v", s.reg, s.e) }
func (s *storeStmt) String() string { return fmt.Sprintf("%s = %v", cellString(s.v, s.idx), s.e) }
func (s *ifStmt) String() string {
	return fmt.Sprintf("if %v { %s }", s.cond,
		bodyString(s.then))
}
func (s *gotoStmt) String() string { return fmt.Sprintf("goto %d", s.node) }
func (s *assertStmt) String() string {
	return fmt.Sprintf("assert(%v, %q)", s.cond, s.message)
}
func (s *spawnStmt) String() string {
	return fmt.Sprintf("go %s(%s)", s.name, strings.Trim(fmt.Sprint(s.args), "[]"))
}
func (e constExpr) String() string { return fmt.Sprint(int64(e)) }
func (e regExpr) String() string   { return fmt.Sprintf("r%d", int(e)) }
func (e selfExpr) String() string  { return "self" }
func (e *loadExpr) String() string { return cellString(e.v, e.idx) }
func (e *binExpr) String() string  { return fmt.Sprintf("(%v %s %v)", e.a, e.op, e.b) }

func bodyString(body []Stmt) string {
	parts := make([]string, len(body))
	for i, s := range body {
		parts[i] = s.String()
	}
	return strings.Join(parts, "; ")
}

func (n Node) String() string {
	parts := make([]string, len(n.Cases))
	for i, c := range n.Cases {
		if c.Guard != nil {
			parts[i] = fmt.Sprintf("when %v ", c.Guard)
		}
		parts[i] += "{ " + bodyString(c.Body) + " }"
	}
	text := strings.Join(parts, " [] ")
	if n.AtEnd {
		text = "end: " + text
	}
	return text
}

// String prints the program, one node a line.
func (p *Program) String() string {
	var b strings.Builder
	for _, v := range p.vars {
		fmt.Fprintf(&b, "var %s = %v\n", v.name, v.init)
	}
	for _, t := range p.threads {
		word := "thread"
		if t.observer {
			word = "observer"
		}
		fmt.Fprintf(&b, "%s %s(%d registers)\n", word, t.name, t.regs)
		for i, n := range t.code {
			fmt.Fprintf(&b, "  %d: %v\n", i, n)
		}
	}
	for _, s := range p.starts {
		fmt.Fprintf(&b, "start %s%v\n", s.thread, s.args)
	}
	if p.MaxThreads > 0 {
		fmt.Fprintf(&b, "at most %d threads\n", p.MaxThreads)
	}
	return b.String()
}
