package treewalk

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// run is one execution of a thread's body: the past from its history, then one
// live transition.
type run struct {
	p       *Program
	s       *State // the live world; it is this execution's own
	self    int    // the thread, or -1: init or a property
	history []any
	skip    int  // the points before the live transition
	live    bool // the past is over
	log     []any
	choices []choice
	made    int // choices made
	quiet   int // > 0: in an atomic block, a condition, init
	vars    []variable
	held    []string   // statements around, and values that are held
	labels  []label    // of the next point
	passes  int        // of labels
	inlined int        // functions being executed
	where   string     // set when the thread stops at a point
	stopped []variable // likewise
	access  Access
	timeout func() bool    // of the state in which the transition begins
	laps    map[string]int // the ends of loops' passes in the live transition, by what was then
	passed  []pass         // the same in their order
	loops   int            // around
}

type label struct {
	name string
	own  bool // not of a function
	pass int  // tells the passes of a label apart
}

// choice is a decision among n.
type choice struct{ digit, n int }

// choose decides among n possibilities; it counts as an observation.
func (r *run) choose(n int) int {
	return r.world(func() any {
		if r.made == len(r.choices) {
			r.choices = append(slices.Clone(r.choices), choice{0, n})
		}
		r.made++
		return r.choices[r.made-1].digit
	}).(int)
}

// next returns the choices of the next alternative, nil if there is none.
func (r *run) next() []choice {
	for i := len(r.choices) - 1; i >= 0; i-- {
		if c := r.choices[i]; c.digit+1 < c.n {
			next := slices.Clone(r.choices[:i+1])
			next[i].digit++
			return next
		}
	}
	return nil
}

// world does something with the shared world, or remembers what came of it.
func (r *run) world(f func() any) any {
	if !r.live {
		v := r.history[0]
		r.history = r.history[1:]
		return v
	}
	v := f()
	r.log = append(r.log, v)
	return v
}

// point is the place before an access: here one transition ends and the next
// one begins.
func (r *run) point(n syntax.Node, part int) {
	if r.quiet > 0 {
		return
	}
	if r.skip > 0 {
		r.skip--
		r.live = r.skip == 0
		r.labels = nil
		return
	}
	var b strings.Builder
	fmt.Fprintf(&b, "at %d.%d in %s:", n.Pos(), part, strings.Join(r.held, ","))
	for _, v := range r.vars {
		fmt.Fprintf(&b, " %s@%d=%s", v.obj.Name, v.obj.Pos, Text(v.value))
	}
	r.where, r.stopped = b.String(), slices.Clone(r.vars)
	panic(suspended{})
}

// hold notes a value that is needed later.
func (r *run) hold(v Value) { r.held = append(r.held, Text(v)) }

func (r *run) pos(p source.Pos) system.Pos {
	f := r.p.r.File.Source
	name, line, col := f.Place(p)
	return system.Pos{File: name, Line: line, Col: col}
}

func (r *run) fail(kind system.ViolationKind, n syntax.Node) {
	panic(failure{system.Violation{Kind: kind, Pos: r.pos(n.Pos())}})
}

func (r *run) fault(n syntax.Node) { r.fail(system.Runtime, n) }

// touch notes an access to a scalar or a mutex.
func (r *run) touch(name string, write bool) {
	if r.access != nil {
		r.access[name] = r.access[name] || write
	}
}

func (r *run) read(name string) Value {
	return r.world(func() any {
		r.touch(name, false)
		return r.s.shared[name]
	})
}

func (r *run) write(name string, v Value) {
	r.world(func() any {
		r.touch(name, true)
		r.s.shared[name] = v
		return nil
	})
}

// local returns a variable in scope, the innermost if there are several.
func (r *run) local(obj *resolve.Object) *variable {
	for i := len(r.vars) - 1; i >= 0; i-- {
		if r.vars[i].obj == obj {
			return &r.vars[i]
		}
	}
	return nil
}

// maxThreads is the language's limit.
const maxThreads = 1023

// create starts a thread, which executes its local computation up to its first
// point at once. If that violates a property, it has not begun, and its first
// transition is the violation.
func (r *run) create(n syntax.Node, kind *resolve.Object, args []Value) {
	r.world(func() any {
		if len(r.s.threads) == maxThreads {
			r.fault(n)
		}
		t := thread{kind: kind, args: args}
		r.s.threads = append(r.s.threads, t)
		c := &run{p: r.p, s: r.s, self: len(r.s.threads) - 1, live: true}
		if _, failed := c.body(&t).(failure); failed {
			t.at = fmt.Sprint("start ", Text(aggregate(args)))
			for i, prm := range kind.Params {
				t.vars = append(t.vars, variable{prm, args[i]})
			}
			r.s.threads[c.self] = t
		}
		return nil
	})
}

// lap is the end of a pass of a loop, or a jump by goto. If everything is as it
// was at an earlier one in the same transition, the loop has no end, which is a
// violation, at the outermost of the loops that are passed again and again.
func (r *run) lap(loop syntax.Node) {
	if !r.live {
		return
	}
	var b strings.Builder
	fmt.Fprint(&b, loop.Pos(), r.held, r.made)
	for _, v := range r.vars {
		fmt.Fprintf(&b, " %d=%s", v.obj.Pos, Text(v.value))
	}
	if r.quiet > 0 {
		b.WriteString(r.p.Key(r.s))
	}
	if r.laps == nil {
		r.laps = map[string]int{}
	}
	// The loop is around its own passes; a goto is outside of what it repeats.
	here := pass{loop, 2*r.loops - 1}
	if _, jump := loop.(*syntax.BranchStmt); jump {
		here.rank++
	}
	r.passed = append(r.passed, here)
	i, ok := r.laps[b.String()]
	if !ok && r.p.Patience > 0 && len(r.passed) > r.p.Patience {
		panic(ErrPatience)
	}
	if !ok {
		i = max(0, len(r.passed)-lastPasses)
	}
	if ok || len(r.passed) > maxPasses {
		outer := here
		for _, p := range r.passed[i:] {
			if p.rank < outer.rank || p.rank == outer.rank && p.loop.Pos() < outer.loop.Pos() {
				outer = p
			}
		}
		r.fault(outer.loop)
	}
	r.laps[b.String()] = len(r.passed)
}

// ErrPatience is what Initial and Step panic with if a transition has more passes
// of loops than [Program.Patience].
var ErrPatience = errors.New("more passes of loops in one transition than the walker has " +
	"patience for")

const (
	maxPasses  = 4_194_304 // is the language's limit
	lastPasses = 65_536    // decide about the place then
)

// pass is a pass of a loop; the smaller the rank, the further out it is.
type pass struct {
	loop syntax.Node
	rank int
}

// again begins a pass of a loop: if the loop's first transition is the first
// one of a labeled statement, it is so in each pass.
func (r *run) again(first []label) {
	for _, l := range first {
		if !slices.Contains(r.labels, l) {
			r.labels = append(r.labels, l)
		}
	}
}
