package model

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cpor/system"
)

// Process is a process while it is built: its methods add steps, in their order. Some methods are
// for use in a step: Choose, Await, Assert, Print, Goto and Stop.
type Process struct {
	m      *machine
	name   string
	thread int
	pos    system.Pos

	nodes  []node
	steps  []int // by the value of the program counter minus 1: the node
	labels []label
	locals []local
	scope  *scope
	mayEnd bool // the next step may wait forever
	widths []int

	place int // its end; its steps have the next ones
	// existence is the location that says whether it was started; it only counts for those that
	// are spawned.
	spawned   bool
	existence system.Loc
	done      system.Loc // which case the other side of a channel has completed, plus 1
	offers    []cell     // by the number of a channel: it offers there
	pc        cell
	cells     []cell // of the locals
	fail      int32  // the word that says which violation ended it
	// slot are the bits of the state that are the process's own.
	slot []cell
}

// node is a place in a process. The program counter only stands at steps and ends; others are
// passed when they are reached.
type node struct {
	kind   nodeKind
	pos    system.Pos
	number uint64 // of a step: the program counter's value; 0 for the end
	cases  []Case
	cond   func() bool // of a branch
	next   int         // of a jump; of a branch whose condition is false
	leave  *scope      // of a jump: its variables get their first values
	dead   []int       // of a step: the variables that are not in its blocks
	scope  *scope
	labels []int
	mayEnd bool
}

type nodeKind uint8

const (
	stepNode nodeKind = iota
	branchNode
	jumpNode
	endNode
)

// label names a node.
type label struct {
	name string
	node int
	loc  system.Loc
}

type local struct {
	name  string
	scope *scope
	reset func()
	show  func() string
}

// scope is a block of a process.
type scope struct{ outer *scope }

func (s *scope) within(o *scope) bool {
	for ; s != o; s = s.outer {
		if s == nil {
			return false
		}
	}
	return true
}

// Case is one of the things that a step can do ([Process.Select]).
type Case struct {
	guard func() bool
	body  func()
	then  func()
	next  int // node
	pos   system.Pos
	count int // the number of its counter

	learned bool
	first   blocker // what the body begins with, if that can block
}

// Do is a case that is enabled unless it blocks.
func Do(body func()) Case { return Case{body: body, pos: callerOf()} }

// When is a case that is enabled if the guard holds and body does not block.
func When(guard func() bool, body func()) Case {
	return Case{guard: guard, body: body, pos: callerOf()}
}

// Then returns the case with more steps behind it, which f adds. The process continues behind the
// Select afterwards.
func (c Case) Then(f func()) Case {
	c.then = f
	return c
}

// Name returns the name of the process.
func (p *Process) Name() string { return p.name }

func (p *Process) building(what string) *machine {
	if p.m.mode != building {
		panic(p.m.misuse("%s in a step: a process gets its steps and variables when the model is "+
			"built", what))
	}
	return p.m
}

// Step adds a step. It is blocked while a Send, Receive, Lock or Await in it is, and has no effect
// then.
func (p *Process) Step(body func()) {
	p.building("Step")
	p.add(Case{body: body, pos: callerOf()})
}

// When adds a step that is blocked while the guard does not hold.
func (p *Process) When(guard func() bool, body func()) {
	p.building("When")
	p.add(Case{guard: guard, body: body, pos: callerOf()})
}

// Wait adds a step that is blocked while the guard does not hold and does nothing else.
func (p *Process) Wait(guard func() bool) {
	p.building("Wait")
	p.add(Case{guard: guard, body: func() {}, pos: callerOf()})
}

// Select adds a step that does one of several things: any one that is not blocked.
func (p *Process) Select(cases ...Case) {
	p.building("Select")
	if len(cases) == 0 || len(cases) > maxCases {
		panic(p.m.mistake("a Select with %d cases; it must have 1 to %d", len(cases), maxCases))
	}
	p.add(cases...)
}

const (
	caseBits = 8
	maxCases = 1 << caseBits
)

func (p *Process) add(cases ...Case) {
	at := len(p.nodes)
	p.nodes = append(p.nodes, node{kind: stepNode, cases: slices.Clone(cases), pos: cases[0].pos,
		scope: p.scope, mayEnd: p.mayEnd})
	if len(cases) > 1 {
		p.nodes[at].pos = callerOf()
	}
	p.mayEnd = false
	var ends []int
	for i := range cases {
		p.nodes[at].cases[i].next = len(p.nodes)
		if cases[i].then != nil {
			p.block(cases[i].then)
			ends = append(ends, p.jump(0))
		}
	}
	end := len(p.nodes)
	for i := range cases {
		if cases[i].then == nil {
			p.nodes[at].cases[i].next = end
		}
	}
	for _, e := range ends {
		p.nodes[e].next = end
	}
}

func (p *Process) jump(to int) int {
	p.nodes = append(p.nodes, node{kind: jumpNode, next: to, scope: p.scope})
	return len(p.nodes) - 1
}

func (p *Process) branch(cond func() bool) int {
	p.nodes = append(p.nodes, node{kind: branchNode, cond: cond, pos: callerOf(), scope: p.scope})
	return len(p.nodes) - 1
}

// block lets f add steps in a scope of their own, and returns that.
func (p *Process) block(f func()) *scope {
	outer, inner := p.scope, &scope{p.scope}
	p.scope = inner
	f()
	p.scope = outer
	return inner
}

// Loop repeats the steps that body adds forever.
func (p *Process) Loop(body func()) {
	p.building("Loop")
	head := len(p.nodes)
	inner := p.block(body)
	p.nodes[p.jump(head)].leave = inner
}

// While repeats the steps that body adds while the condition holds. It may only use variables of
// the process: deciding belongs to the step before.
func (p *Process) While(cond func() bool, body func()) {
	p.building("While")
	head := p.branch(cond)
	inner := p.block(body)
	p.nodes[p.jump(head)].leave = inner
	p.nodes[head].next = len(p.nodes)
}

// If chooses between the steps that then adds and those that otherwise adds, which may be nil. The
// condition may only use variables of the process: deciding belongs to the step before.
func (p *Process) If(cond func() bool, then, otherwise func()) {
	p.building("If")
	at := p.branch(cond)
	p.block(then)
	if otherwise == nil {
		p.nodes[at].next = len(p.nodes)
		return
	}
	end := p.jump(0)
	p.nodes[at].next = len(p.nodes)
	p.block(otherwise)
	p.nodes[end].next = len(p.nodes)
}

// Label names the next step: a step can go there ([Process.Goto]), and a property can ask
// whether the process is there ([Process.At]).
func (p *Process) Label(name string) {
	m := p.building("Label")
	if p.find(name) >= 0 {
		panic(m.mistake("%s has two labels %s", p.name, name))
	}
	p.labels = append(p.labels, label{name: name, node: len(p.nodes),
		loc: m.virtual(p.name+" at "+name, p.thread, len(p.labels))})
}

// MayEnd says that the process may wait at the next step forever: that is not a deadlock.
func (p *Process) MayEnd() {
	p.building("MayEnd")
	p.mayEnd = true
}

func (p *Process) find(name string) int {
	return slices.IndexFunc(p.labels, func(l label) bool { return l.name == name })
}

// At reports, in a property, whether the next step of the process is the one with the label.
func (p *Process) At(label string) bool {
	m := p.m
	i := p.find(label)
	if i < 0 {
		panic(m.misuse("%s has no label %s", p.name, label))
	}
	if m.mode != asking {
		panic(m.misuse("At is for properties; let the process write a variable for the others"))
	}
	l := &p.labels[i]
	if m.watching {
		m.access(l.loc, false)
		if m.ask != nil {
			return m.asked[l.loc] != 0
		}
	}
	return m.isAt(p, i)
}

// Choose returns each number from 0 to n-1: the step has an alternative for each.
func (p *Process) Choose(n int) int { return p.m.choose(n) }

// Await blocks the step while the condition does not hold.
func (p *Process) Await(cond bool) {
	p.m.stepping()
	p.m.decide()
	if !cond {
		panic(blockedStep)
	}
}

// Assert violates an assertion unless the condition holds. The process has ended then.
func (p *Process) Assert(cond bool, message string) {
	p.m.stepping()
	if !cond {
		panic(&failure{kind: system.Assertion, message: message})
	}
}

// Print tells what a step does, with blanks between the operands. Traces show it, and cpor conform
// compares it with a log. It is part of the step, and reads no variables.
func (p *Process) Print(operands ...any) {
	p.m.stepping()
	if p.m.narrate {
		line := fmt.Sprintln(operands...)
		p.m.tell(system.Deed{Kind: system.Print, Value: line,
			Text: fmt.Sprintf("print %q", strings.TrimSuffix(line, "\n"))})
	}
}

// Goto lets the process continue at a label when the step is over.
func (p *Process) Goto(label string) {
	p.m.own(p, "Goto")
	i := p.find(label)
	if i < 0 {
		panic(p.m.misuse("%s has no label %s", p.name, label))
	}
	p.m.jump = p.labels[i].node
}

// Stop ends the process when the step is over.
func (p *Process) Stop() {
	p.m.own(p, "Stop")
	p.m.jump = len(p.nodes) - 1
}

// finish numbers the steps when all are there.
func (p *Process) finish() {
	p.nodes = append(p.nodes, node{kind: endNode})
	for i := range p.nodes {
		n := &p.nodes[i]
		if n.kind == stepNode {
			p.steps = append(p.steps, i)
			n.number = uint64(len(p.steps))
		}
		for k := range p.locals {
			if n.kind != branchNode && !n.scope.within(p.locals[k].scope) {
				n.dead = append(n.dead, k)
			}
		}
	}
	for i := range p.labels {
		// A label in front of a jump means the step where that leads.
		at := p.labels[i].node
		for range p.nodes {
			if p.nodes[at].kind != jumpNode {
				break
			}
			at = p.nodes[at].next
		}
		if p.nodes[at].kind == stepNode {
			p.nodes[at].labels = append(p.nodes[at].labels, i)
		}
	}
}

// reserve makes room for a local variable, and returns the number of its first cell.
func (p *Process) reserve(widths []int) int {
	at := len(p.widths)
	p.widths = append(p.widths, widths...)
	return at
}

func (p *Process) cellsOf(first, n int) []cell { return p.cells[first : first+n] }

func (p *Process) pcBits() int { return bits.Len(uint(len(p.steps))) }

// Go starts a process that [Builder.Spawned] has declared, when the step is over. To start it twice
// is a violation.
func (p *Process) Go(q *Process) {
	m := p.m
	m.own(p, "Go")
	if !q.spawned {
		panic(m.misuse("%s runs from the beginning: only what Spawned declares can be started",
			q.name))
	}
	m.readOne(q.existence)
	c := m.locs[q.existence].cell
	if c.get(m.words) != 0 {
		panic(m.misuse("%s was started before", q.name))
	}
	m.write(q.existence, c, 1)
	if m.bound != nil {
		m.does(going, q.place+m.sys.first[q.thread])
	}
	if m.narrate {
		m.act("start %s", q.name)
	}
}

// exists reports whether a process was started.
func (m *machine) exists(p *Process) bool {
	return !p.spawned || m.locs[p.existence].cell.get(m.words) != 0
}

// started is exists for a step of the process.
func (m *machine) started(p *Process) bool {
	if p.spawned && m.watching {
		m.access(p.existence, false)
	}
	return m.exists(p)
}
