// Package oracle compares every reduction with the full search, over generated models (Gueta et al.
// 2007, theorem 1, as a test).
//
// [Generate] writes random models in cpor's language that mix all constructs: loops, locks, awaits,
// atomic blocks, choices, selects, channels with and without buffers, pointers, functions, creation
// of threads, invariants. [Explore] computes what a reduction must preserve: the reachable local
// states of each thread, the violated properties, and the deadlocked states. A test of a reduction
// compares these sets with those of the full search.
//
// The generator is our own because no library knows the language. It draws from math/rand/v2, so a
// failing seed reproduces the failure.
package oracle

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Config says what generated models may contain. The zero value has none of
// the optional constructs.
type Config struct {
	Threads    int // at most; at least 2
	Statements int // of a thread, at most
	Loops      bool
	Locks      bool
	Awaits     bool
	Atomic     bool
	Choices    bool
	Selects    bool
	Channels   bool
	Rendezvous bool
	Creation   bool
	Pointers   bool
	Functions  bool
	Invariants bool
	Monitors   bool // monitors and semaphores
	Data       bool // switch, range, local arrays and structs, several values
}

// Everything has every construct.
var Everything = Config{
	Threads: 3, Statements: 5, Loops: true, Locks: true, Awaits: true, Atomic: true, Choices: true,
	Selects: true, Channels: true, Rendezvous: true, Creation: true, Pointers: true,
	Functions: true, Invariants: true,
	Monitors: true, Data: true,
}

// generator writes one model.
type generator struct {
	Config
	r      *rand.Rand
	b      strings.Builder
	indent int
	locals []string // integer local variables in scope
	names  int
	loop   int // depth of loops
	mutex  int
	chans  []string
	shared []string // scalar places
	inFunc bool
	child  bool
	labels int
}

// LabelRefused reports whether a generated model is refused for the label that its invariant
// names: no transition is the label's, or local values decide which is.
func LabelRefused(err error) bool {
	return strings.Contains(err.Error(), "is ever at") || strings.Contains(err.Error(),
		"whether a thread is at")
}

// Generate returns the text of a random model. The same seed and configuration
// give the same model.
func Generate(seed uint64, c Config) string {
	g := &generator{Config: c, r: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
	g.model()
	return g.b.String()
}

func (g *generator) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func pick[T any](g *generator, xs []T) T { return xs[g.r.IntN(len(xs))] }

func (g *generator) model() {
	g.line("var x, y, z uint2")
	g.line("var A [2]uint2")
	g.shared = []string{"x", "y", "z", "A[0]", "A[1]"}
	if g.one(2) {
		g.line("type pair struct { a uint2; b bool }")
		g.line("var s pair")
		g.shared = append(g.shared, "s.a")
	}
	if g.Pointers {
		g.line("var p *uint2 = &%s", pick(g, []string{"x", "y", "A[1]"}))
	}
	if g.Locks {
		g.mutex = 1 + g.r.IntN(2)
		g.line("var m [%d]mutex", g.mutex)
	}
	if g.Channels {
		g.channels()
	}
	if g.Monitors {
		g.line("monitor mo")
		g.line("semaphore sem = %d", g.r.IntN(3))
	}
	if g.Functions {
		g.line("func f(a uint2) uint2 {")
		g.indent++
		g.inFunc = true
		g.locals = []string{"a"}
		g.block(2)
		g.line("return (a + 1) & 3")
		g.inFunc = false
		g.locals = nil
		g.indent--
		g.line("}")
	}
	if g.Creation && g.one(2) {
		g.child = true
		g.thread("Child", 2)
	}
	types := 1 + g.r.IntN(2)
	for i := range types {
		g.thread(fmt.Sprintf("T%d", i), g.Statements)
	}
	own := g.initial(types)
	if g.Invariants && g.one(3) {
		g.line("invariant inv { %s }", g.invariant())
		if own.IntN(2) == 0 {
			g.line("invariant too { %s != %d || x < 3 }", pick(g, g.shared), own.IntN(4))
		}
	}
}

// channels declares channels.
func (g *generator) channels() {
	for i := range 1 + g.r.IntN(2) {
		lo := 1
		if g.Rendezvous {
			lo = 0
		}
		n := lo + g.r.IntN(3-lo)
		if n == 0 {
			g.line("var c%d chan uint2", i)
		} else {
			g.line("var c%d = make(chan uint2, %d)", i, n)
		}
		g.chans = append(g.chans, fmt.Sprintf("c%d", i))
	}
}

// initial writes init, which starts threads of that many types. It returns a source of random
// numbers for what was added later.
func (g *generator) initial(types int) (own *rand.Rand) {
	g.line("init {")
	g.indent++
	if g.one(3) {
		g.line("x = %d", g.r.IntN(4))
	}
	if g.Choices && g.one(6) {
		g.line("y = uint2(choose(0, 1))")
	}
	for range 2 + g.r.IntN(max(1, g.Threads-1)) {
		g.line("go T%d(%d)", g.r.IntN(types), g.r.IntN(3))
	}
	// From a source of its own, so that all else of a seed's model stays as it is.
	own = rand.New(rand.NewPCG(uint64(g.b.Len()), 77))
	if g.Choices && own.IntN(4) == 0 {
		g.line("choose {")
		g.line("case:")
		g.line("\tgo T%d(%d)", own.IntN(types), own.IntN(3))
		g.line("case:")
		g.line("}")
	}
	g.indent--
	g.line("}")
	return own
}

func (g *generator) invariant() string {
	switch g.r.IntN(5) {
	case 0:
		return fmt.Sprintf("!(T0[0]@here && %s == %d)", pick(g, g.shared), g.r.IntN(4))
	case 1:
		return fmt.Sprintf("T0[0].n != %d || %s < 3", g.r.IntN(3), pick(g, g.shared))
	case 2:
		return "forall i in 0..1 { A[i] != 3 }"
	case 3:
		if len(g.chans) > 0 {
			return fmt.Sprintf("len(%s) < 2 || %s != 2", pick(g, g.chans), pick(g, g.shared))
		}
	}
	return fmt.Sprintf("%s + 0 != 3 || %s == %d", pick(g, g.shared), pick(g, g.shared), g.r.IntN(4))
}

func (g *generator) thread(name string, n int) {
	g.line("thread %s(n uint2) {", name)
	g.indent++
	g.locals = []string{"n"}
	child := g.child
	if name == "Child" {
		g.child = false
	}
	g.labels = 0
	if name == "T0" {
		g.line("skip")
		g.line("here:")
	}
	if g.Loops && g.one(3) {
		g.line("for {")
		g.indent++
		g.loop++
		c := g.child
		g.child = false // creation without bound
		g.block(1 + g.r.IntN(n))
		g.child = c
		g.loop--
		g.indent--
		g.line("}")
	} else {
		g.block(1 + g.r.IntN(n))
		if g.child && name != "Child" {
			g.line("go Child(%s)", g.expr(1))
			if g.one(2) {
				g.block(1)
			}
		}
	}
	g.child = child
	g.locals = nil
	g.indent--
	g.line("}")
}

func (g *generator) block(n int) {
	k := len(g.locals)
	for range n {
		g.statement()
	}
	g.locals = g.locals[:k]
}

func (g *generator) nested(n int) {
	g.indent++
	g.block(1 + g.r.IntN(n))
	g.indent--
}

// expr is an expression of type uint2; depth bounds the operators.
func (g *generator) expr(depth int) string {
	switch k := g.r.IntN(9); {
	case k < 2:
		return fmt.Sprint(g.r.IntN(4))
	case k < 4 && len(g.locals) > 0:
		return pick(g, g.locals)
	case k < 6:
		return pick(g, g.shared)
	case k == 6 && depth > 0:
		return fmt.Sprintf("(%s ^ %s)", g.expr(depth-1), g.expr(depth-1))
	case k == 7 && depth > 0:
		return fmt.Sprintf("A[%s & 1]", g.expr(depth-1))
	case k == 8 && g.Pointers && g.one(3):
		return "*p"
	}
	return fmt.Sprint(g.r.IntN(3))
}

// simple is an expression without shared accesses.
func (g *generator) simple() string {
	if len(g.locals) > 0 && g.one(2) {
		return pick(g, g.locals)
	}
	return fmt.Sprint(g.r.IntN(4))
}

func (g *generator) cond() string {
	switch g.r.IntN(6) {
	case 0:
		return fmt.Sprintf("%s == %s", pick(g, g.shared), g.simple())
	case 1:
		return fmt.Sprintf("%s != %s", g.expr(1), g.simple())
	case 2:
		return fmt.Sprintf("%s < %s && %s != 0", g.expr(0), g.expr(0), pick(g, g.shared))
	case 3:
		return fmt.Sprintf("%s >= %s || %s == 1", g.expr(0), g.simple(), pick(g, g.shared))
	}
	return fmt.Sprintf("%s != %d", pick(g, g.shared), g.r.IntN(4))
}

// assignment writes something simple.
func (g *generator) assignment() {
	switch g.r.IntN(7) {
	case 0:
		g.line("A[%s & 1] = %s", g.expr(0), g.expr(1))
	case 1:
		if len(g.locals) > 0 {
			g.line("%s = %s", pick(g, g.locals), g.expr(1))
			return
		}
		fallthrough
	case 2:
		g.line("%s = (%s + 1) & 3", pick(g, g.shared), g.simple())
	case 3:
		if g.Pointers {
			g.line("*p = %s", g.expr(0))
			return
		}
		fallthrough
	case 4:
		g.line("%s ^= %s", pick(g, g.shared), g.expr(0))
	default:
		g.line("%s = %s", pick(g, g.shared), g.expr(0))
	}
}

func (g *generator) statement() {
	for {
		if g.tryStatement(g.r.IntN(28)) {
			return
		}
	}
}

func (g *generator) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func (g *generator) tryStatement(k int) bool {
	switch k {
	case 0, 1, 2, 3:
		g.assignment()
	case 4:
		v := g.fresh("v")
		g.line("%s := %s", v, pick(g, g.shared))
		g.locals = append(g.locals, v)
	case 5, 6:
		g.line("if %s {", g.cond())
		g.nested(2)
		if g.one(2) {
			g.line("} else {")
			g.nested(2)
		}
		g.line("}")
	case 7:
		if !g.Loops {
			return false
		}
		i := g.fresh("i")
		switch g.r.IntN(3) {
		case 0:
			g.line("for %s := 0; %s < 2; %s++ {", i, i, i)
		case 1:
			g.line("for %s := range 2 {", i)
		default:
			g.line("for %s {", g.cond())
		}
		g.loop++
		c := g.child
		g.child = false
		g.nested(2)
		g.child = c
		g.loop--
		g.line("}")
	case 8:
		if g.loop == 0 || !g.one(3) {
			return false
		}
		g.line("if %s { %s }", g.cond(), pick(g, []string{"break", "continue"}))
	case 9, 10:
		if !g.Awaits {
			return false
		}
		g.line("await(%s)", g.cond())
	case 11, 12:
		if g.mutex == 0 {
			return false
		}
		i := g.r.IntN(g.mutex)
		g.line("lock(m[%d])", i)
		g.block(1 + g.r.IntN(2))
		if !g.one(8) {
			g.line("unlock(m[%d])", i)
		}
	case 13, 14:
		if !g.Atomic {
			return false
		}
		g.line("atomic {")
		g.indent++
		if g.Awaits && g.one(2) {
			g.line("await(%s)", g.cond())
		}
		for range 1 + g.r.IntN(2) {
			g.assignment()
		}
		if g.Choices && g.one(4) {
			g.line("choose {")
			g.line("case:")
			g.indent++
			g.assignment()
			if g.Awaits && g.one(2) {
				g.line("await(%s)", g.cond())
			}
			g.indent--
			g.line("case:")
			g.indent++
			if g.Awaits && g.one(2) {
				g.line("await(%s)", g.cond())
			}
			g.assignment()
			g.indent--
			g.line("}")
		}
		g.indent--
		g.line("}")
	case 15:
		if !g.Choices {
			return false
		}
		if g.one(2) {
			v := g.fresh("v")
			g.line("%s := uint2(choose(0, %d))", v, 1+g.r.IntN(2))
			g.locals = append(g.locals, v)
			return true
		}
		g.line("choose {")
		for range 2 + g.r.IntN(2) {
			g.line("case:")
			g.nested(1)
		}
		g.line("}")
	case 16, 17:
		if !g.Selects {
			return false
		}
		g.selectStatement()
	case 18, 19:
		if len(g.chans) == 0 {
			return false
		}
		c := pick(g, g.chans)
		switch g.r.IntN(5) {
		case 0, 1:
			g.line("%s <- %s", c, g.expr(0))
		case 2:
			v := g.fresh("v")
			g.line("%s := <-%s", v, c)
			g.locals = append(g.locals, v)
		case 3:
			g.line("%s = <-%s", pick(g, g.shared), c)
		default:
			if g.one(4) {
				g.line("close(%s)", c)
			} else {
				g.line("<-%s", c)
			}
		}
	case 20:
		g.line("assert(%s)", g.cond())
	case 21:
		g.line("skip")
	case 22:
		if g.Functions && !g.inFunc {
			g.line("%s = f(%s)", pick(g, append(g.locals, g.shared...)), g.expr(0))
			return true
		}
		g.line("if cas(%s, %d, %s) {", pick(g, g.shared), g.r.IntN(3), g.simple())
		g.nested(1)
		g.line("}")
	case 23, 24:
		if !g.Monitors {
			return false
		}
		g.monitorStatement()
	case 25, 26:
		if !g.Data {
			return false
		}
		g.dataStatement()
	default:
		if g.one(3) && g.labels < 3 && !g.inFunc {
			g.labels++
			if g.Awaits {
				g.line("%s%d:", pick(g, []string{"end_", "l"}), g.labels)
				g.line("await(%s)", g.cond())
				return true
			}
		}
		return false
	}
	return true
}

func (g *generator) selectStatement() {
	g.line("select {")
	n := 1 + g.r.IntN(3)
	for range n {
		switch {
		case len(g.chans) > 0 && g.one(2):
			c := pick(g, g.chans)
			if g.one(2) {
				g.line("case %s <- %s:", c, g.expr(0))
			} else {
				g.line("case %s = <-%s:", pick(g, g.shared), c)
			}
		case len(g.chans) > 0 && g.one(3):
			g.line("case <-%s:", pick(g, g.chans))
		default:
			g.line("case await(%s):", g.cond())
		}
		g.nested(1)
	}
	if g.one(4) {
		g.line("default:")
		g.nested(1)
	}
	g.line("}")
}

func (g *generator) monitorStatement() {
	if g.one(3) {
		g.line("%s(sem)", pick(g, []string{"up", "down"}))
		return
	}
	g.line("synchronized (mo) {")
	g.indent++
	switch g.r.IntN(5) {
	case 0:
		g.line("if %s { wait(mo) }", g.cond())
	case 1:
		g.line("notify(mo)")
	case 2:
		g.line("notifyAll(mo)")
	}
	g.indent--
	g.nested(2)
	if g.one(3) {
		g.line("notifyAll(mo)")
	}
	g.line("}")
}

func (g *generator) dataStatement() {
	v := g.fresh("v")
	switch g.r.IntN(7) {
	case 0:
		g.line("switch %s {", pick(g, g.shared))
		g.line("case 0, %d:", 1+g.r.IntN(2))
		g.nested(1)
		if g.one(3) {
			g.line("fallthrough")
		}
		g.line("case 3:")
		g.nested(1)
		if g.one(2) {
			g.line("default:")
			g.nested(1)
		}
		g.line("}")
	case 1:
		g.line("for _, %s := range A {", v)
		g.locals = append(g.locals, v)
		g.nested(1)
		g.locals = g.locals[:len(g.locals)-1]
		g.line("}")
	case 2:
		g.line("%s := [2]uint2{%s, %s}", v, g.expr(0), g.expr(0))
		g.line("%s[%s & 1] = %s", v, g.simple(), g.expr(1))
		g.line("%s = %s[1]", pick(g, g.shared), v)
	case 3:
		g.line("%s, %s = %s, %s", pick(g, g.shared), pick(g, g.shared), pick(g, g.shared),
			pick(g, g.shared))
	case 4:
		g.line("%s := min(%s, %s)", v, pick(g, g.shared), g.expr(0))
		g.locals = append(g.locals, v)
	case 5:
		if len(g.chans) == 0 {
			g.line("A = [2]uint2{%s, %s}", g.expr(0), g.simple())
			return
		}
		ok := g.fresh("ok")
		g.line("%s, %s := <-%s", v, ok, pick(g, g.chans))
		g.line("if %s { %s = %s }", ok, pick(g, g.shared), v)
	default:
		g.line("%s := struct{ a, b uint2 }{a: %s}", v, g.expr(0))
		g.line("%s.b = %s", v, g.expr(0))
		g.line("%s = %s.a ^ %s.b", pick(g, g.shared), v, v)
	}
}
