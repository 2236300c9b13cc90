package model

import (
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cpor/ltl"
	"cpor/system"
)

// Model is a model: a name and the function that builds it.
type Model struct {
	name  string
	build func(b *Builder)
	set   map[string]string // the constants that were set, as text
}

// New returns a model. It does not call build yet.
func New(name string, build func(b *Builder)) *Model { return &Model{name: name, build: build} }

// Name returns the name of the model.
func (m *Model) Name() string { return m.name }

// With returns the model with another value for a constant, which the build function asks for by
// [Builder.Int] or [Builder.Bool]. The value is an integer or a Boolean.
func (m *Model) With(constant string, value any) *Model {
	c := *m
	c.set = map[string]string{constant: fmt.Sprint(value)}
	for k, v := range m.set {
		if k != constant {
			c.set[k] = v
		}
	}
	return &c
}

// Builder builds a model: it declares constants, variables ([NewVar], [NewChan], [NewMutex]),
// processes and properties.
type Builder struct {
	m      *machine
	set    map[string]string
	consts map[string]any // that the model has asked for
}

// Mistake is something wrong in how a model is built.
type Mistake struct {
	Pos     system.Pos
	Message string
}

// Error returns the message with its place.
func (e *Mistake) Error() string {
	if e.Pos.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.Pos.File, e.Pos.Line, e.Message)
}

func (b *Builder) building(what string) *machine {
	if b.m.mode != building {
		panic(b.m.misuse("%s in a step: everything is declared when the model is built", what))
	}
	return b.m
}

// Int returns the value of a constant of the model: value, or what [Model.With] or -D says.
func (b *Builder) Int(name string, value int) int {
	if s, ok := b.set[name]; ok {
		n, err := strconv.Atoi(s)
		if err != nil {
			panic(b.m.mistake("the constant %s is an integer, and cannot be %s", name, s))
		}
		value = n
	}
	b.consts[name] = int64(value)
	return value
}

// Bool returns the value of a constant of the model: value, or what [Model.With] or -D says.
func (b *Builder) Bool(name string, value bool) bool {
	if s, ok := b.set[name]; ok {
		v, err := strconv.ParseBool(s)
		if err != nil {
			panic(b.m.mistake("the constant %s is true or false, and cannot be %s", name, s))
		}
		value = v
	}
	b.consts[name] = value
	return value
}

// Init lets f change the variables before the processes begin. Each outcome of its choices
// ([Builder.Choose]) makes an initial state, unless [Builder.Require] drops it.
func (b *Builder) Init(f func()) {
	m := b.building("Init")
	m.inits = append(m.inits, f)
}

// Choose returns, in the function given to Init, each number from 0 to n-1.
func (b *Builder) Choose(n int) int { return b.m.choose(n) }

// Require drops, in the function given to Init, the initial state if the condition does not hold.
func (b *Builder) Require(cond bool) {
	b.m.stepping()
	if !cond {
		panic(blockedStep)
	}
}

// Process declares a process. body adds its steps.
func (b *Builder) Process(name string, body func(p *Process)) *Process {
	m := b.building("Process")
	if len(m.procs) >= maxProcesses {
		panic(m.mistake("more than %d processes", maxProcesses))
	}
	p := &Process{m: m, name: name, thread: len(m.procs), pos: callerOf()}
	m.procs = append(m.procs, p)
	body(p)
	p.finish()
	return p
}

// Processes declares n processes of one kind: name[0], name[1], ... body gets the number of each.
func (b *Builder) Processes(name string, n int, body func(p *Process, me int)) []*Process {
	ps := make([]*Process, n)
	for i := range ps {
		ps[i] = b.Process(element(name, i), func(p *Process) { body(p, i) })
	}
	return ps
}

// Spawned declares n processes of one kind that run only when a step has started them:
//
//	workers := b.Spawned("Worker", 3, func(p *model.Process, me int) { ... })
//	b.Process("Main", func(p *model.Process) {
//		for _, w := range workers {
//			p.Step(func() { p.Go(w) })
//		}
//	})
//
// One that is never started is not a deadlock.
func (b *Builder) Spawned(name string, n int, body func(p *Process, me int)) []*Process {
	ps := b.Processes(name, n, body)
	for _, p := range ps {
		p.spawned = true
		p.existence = b.m.declare("", []int{1}, nil)
	}
	return ps
}

// property is an invariant or a temporal property.
type property struct {
	name     string
	pos      system.Pos
	holds    func() bool // of an invariant
	formula  ltl.Formula
	modality ltl.Modality
	temporal bool
}

func (b *Builder) add(p property) {
	m := b.building("a property")
	p.pos = callerOf()
	m.properties = append(m.properties, p)
	if !p.temporal {
		m.observers = append(m.observers, len(m.properties)-1)
	}
}

// Invariant says that a condition holds in every reachable state. It is checked by an observer: a
// process that reads what the condition reads. So only steps that write something it reads depend
// on it, and the reduction keeps its effect if the condition reads little.
func (b *Builder) Invariant(name string, holds func() bool) {
	b.add(property{name: name, holds: holds})
}

// Never says that a condition holds in no reachable state.
func (b *Builder) Never(name string, holds func() bool) {
	b.Invariant(name, func() bool { return !holds() })
}

// Reachable says that some reachable state satisfies a condition: it guards a model against
// being too narrow.
func (b *Builder) Reachable(name string, holds func() bool) {
	b.add(property{name: name, temporal: true, formula: b.Prop(name, holds),
		modality: ltl.Possible})
}

// AlwaysReachable says that a state that satisfies a condition can be reached from every
// reachable state.
func (b *Builder) AlwaysReachable(name string, holds func() bool) {
	b.add(property{name: name, temporal: true, formula: b.Prop(name, holds),
		modality: ltl.AlwaysPossible})
}

// Eventually says that every execution comes to a state that satisfies a condition. Executions in
// which a process that could move is ignored forever count, unless [Options.Fair] is set.
func (b *Builder) Eventually(name string, holds func() bool) {
	b.Temporal(name, ltl.Eventually(b.Prop(name, holds)))
}

// Temporal says that every execution satisfies a formula. Its atoms are made by [Builder.Prop]:
//
//	waits, in := b.Prop("waits", ...), b.Prop("in", ...)
//	b.Temporal("served", ltl.Always(ltl.Implies(waits, ltl.Eventually(in))))
func (b *Builder) Temporal(name string, f ltl.Formula) {
	b.add(property{name: name, temporal: true, formula: f})
}

// Prop makes an atom of formulas from a condition.
func (b *Builder) Prop(name string, holds func() bool) ltl.Formula {
	m := b.building("Prop")
	for _, p := range m.props {
		if p.name == name {
			panic(m.mistake("two propositions are called %s", name))
		}
	}
	m.props = append(m.props, proposition{name, holds, callerOf()})
	return ltl.Atom(name)
}

type proposition struct {
	name  string
	holds func() bool
	pos   system.Pos
}

// Count returns how many conditions hold.
func Count(conditions ...bool) int {
	n := 0
	for _, c := range conditions {
		if c {
			n++
		}
	}
	return n
}

// here is how the names of this package's functions begin.
var here = reflect.TypeFor[Builder]().PkgPath() + "."

// sourcePaths has the path of each file that a place names.
var sourcePaths sync.Map

// callerOf returns the place of the innermost frame outside of this package.
func callerOf() system.Pos { return frameIn(nil) }

// frameIn returns the place of the innermost frame that is in one of the files, in any if files is
// nil, and neither in this package nor in the runtime. In a step or a property, it does not look
// beyond their functions: what called the search is not their place.
func frameIn(files []string) system.Pos {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs[:])])
	for {
		f, more := frames.Next()
		name, ours := strings.CutPrefix(f.Function, here)
		switch {
		case ours && slices.Contains(callers, name):
			return system.Pos{}
		case !ours && f.Function != "" && !strings.HasPrefix(f.Function, "runtime."):
			file := fileName(f.File)
			if files == nil || slices.Contains(files, file) {
				sourcePaths.Store(file, f.File)
				return system.Pos{File: file, Line: f.Line, Col: 1}
			}
		}
		if !more {
			return system.Pos{}
		}
	}
}

// callers are the functions that call those of steps, properties and Init.
var callers = []string{"(*machine).execute", "(*machine).evaluate", "(*machine).initialize"}

// fileName shortens the path of a source to its last two elements: the rest differs from
// one machine to the next.
func fileName(path string) string {
	path = filepath.ToSlash(path)
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		if j := strings.LastIndexByte(path[:i], '/'); j >= 0 {
			return path[j+1:]
		}
	}
	return path
}
