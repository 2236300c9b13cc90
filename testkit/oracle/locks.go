package oracle

import (
	"fmt"
	"math/rand/v2"
)

// LockConfig says what the models of [GenerateLocks] may contain.
type LockConfig struct {
	Threads    int // at most; at least 2
	Statements int // of a thread, at most
	Loops      bool
	Conditions bool // wait, notify, notifyAll
	Semaphores bool
	Awaits     bool // on communication variables, and now and then on data
	Choices    bool
	Creation   bool
	Atomic     bool
	Counts     bool // x++ and the like, in one statement
	// Breach is how often something breaks the locking discipline: one in
	// Breach accesses is made without its lock, 0 means none.
	Breach int
}

// locker writes one lock-based model.
type locker struct {
	generator
	c    LockConfig
	held []bool // by index into guards
	id   string // what the unshared variable of the thread is called
}

// guards are the locks of the generated models, with the data they protect.
var guards = []struct {
	name    string
	monitor bool
	data    []string
}{
	{"m", true, []string{"x", "y"}},
	{"k", true, []string{"z", "A[0]"}},
	{"q", false, []string{"A[1]", "w"}},
}

// GenerateLocks returns the text of a random model whose threads protect data
// by monitors and mutexes, and communicate by semaphores and variables declared
// for it; if c.Breach says so, not always correctly. The same seed and
// configuration give the same model.
func GenerateLocks(seed uint64, c LockConfig) string {
	g := &locker{c: c}
	g.r = rand.New(rand.NewPCG(seed, 0x2545f4914f6cdd1d))
	g.line("monitor m, k")
	g.line("mutex q")
	g.line("semaphore s = %d", g.r.IntN(2))
	g.line("var x, y, z, w uint2")
	g.line("var A [2]uint2")
	g.line("var ro uint2 = %d", g.r.IntN(4))
	g.line("comm var c, d uint2")
	g.line("unshared var u0, u1, u2, u3 uint2")
	n := 2 + g.r.IntN(max(1, c.Threads-1))
	g.child = c.Creation && n > 2 && g.one(2)
	for i := range n {
		g.thread(i, n-1)
	}
	g.line("init {")
	g.indent++
	if g.one(3) {
		g.line("x = %d", g.r.IntN(4))
	}
	if g.child {
		n-- // the first one creates the last one
	}
	for i := range n {
		g.line("go T%d()", i)
	}
	g.indent--
	g.line("}")
	return g.b.String()
}

func (g *locker) thread(i, last int) {
	g.line("thread T%d() {", i)
	g.indent++
	g.held = make([]bool, len(guards))
	g.id = fmt.Sprintf("u%d", i)
	g.locals = nil
	g.line("v := uint2(0)")
	g.locals = append(g.locals, "v")
	creator := g.child && i == 0
	if g.c.Loops && g.one(4) && !creator {
		g.line("for {")
		g.indent++
		g.statements(1 + g.r.IntN(g.c.Statements))
		g.indent--
		g.line("}")
	} else {
		g.statements(1 + g.r.IntN(g.c.Statements))
	}
	if creator {
		g.line("go T%d()", last)
		if g.one(2) {
			g.statements(1)
		}
	}
	g.indent--
	g.line("}")
}

func (g *locker) statements(n int) {
	for range n {
		g.statement()
	}
}

// breach reports whether the next access is to be made without its lock.
func (g *locker) breach() bool { return g.c.Breach > 0 && g.one(g.c.Breach) }

// place is a variable that the thread may access as it is, to read or write.
func (g *locker) place() string {
	if g.breach() {
		return pick(&g.generator, []string{"x", "z", "w", "A[0]", "u0", "ro"})
	}
	var ps []string
	for i, held := range g.held {
		if held {
			ps = append(ps, guards[i].data...)
			ps = append(ps, guards[i].data...)
		}
	}
	ps = append(ps, g.id)
	if g.one(4) {
		ps = append(ps, "c", "d")
	}
	return pick(&g.generator, ps)
}

func (g *locker) value() string {
	switch g.r.IntN(5) {
	case 0:
		return "v"
	case 1:
		return "ro"
	case 2:
		return g.place()
	}
	return fmt.Sprint(g.r.IntN(4))
}

func (g *locker) body(n int) {
	g.indent++
	g.statements(1 + g.r.IntN(n))
	g.indent--
}

// assignment writes an access to what is shared.
func (g *locker) assignment() {
	p := g.place()
	switch g.r.IntN(4) {
	case 0:
		if g.c.Counts {
			g.line("%s %s", p, pick(&g.generator, []string{"++", "++", "+= 2", "--", "-= v"}))
			return
		}
		g.line("%s = (%s + 1) & 3", p, p)
	case 1:
		g.line("v = %s", p)
	default:
		g.line("%s = %s", p, g.value())
	}
}

func (g *locker) statement() {
	switch k := g.r.IntN(20); {
	case k < 6:
		g.assignment()
	case k < 12:
		g.region()
	case k == 12 && g.c.Semaphores:
		g.line("%s(s)", pick(&g.generator, []string{"up", "down"}))
	case k == 13 && g.c.Awaits:
		what := pick(&g.generator, []string{"c", "d"})
		if g.breach() {
			what = g.place()
		}
		g.line("await(%s %s %d)", what, pick(&g.generator, []string{"==", "!="}), g.r.IntN(4))
	case k == 14 && g.c.Choices:
		if g.one(2) {
			g.line("v = uint2(choose(0, %d))", g.r.IntN(3))
			return
		}
		g.line("choose {")
		for range 2 {
			g.line("case:")
			g.body(1)
		}
		g.line("}")
	case k == 15 && g.c.Loops:
		g.names++
		g.line("for i%d := range 2 {", g.names)
		g.body(2)
		g.line("}")
	case k == 16:
		g.line("if %s != %s {", g.value(), g.value())
		g.body(2)
		g.line("}")
	case k == 17:
		g.line("assert(%s != %d)", g.place(), g.r.IntN(4))
	case k == 18 && g.c.Atomic:
		g.line("atomic {")
		g.indent++
		for range 1 + g.r.IntN(2) {
			g.line("%s = %s", g.place(), g.value())
		}
		g.indent--
		g.line("}")
	default:
		g.line("%s = %s", pick(&g.generator, []string{"c", "d"}), g.value())
	}
}

// region is a critical region, or an operation on a monitor within one.
func (g *locker) region() {
	i := g.r.IntN(len(guards))
	l := guards[i]
	if g.held[i] && l.monitor && g.c.Conditions && g.one(2) {
		op := pick(&g.generator, []string{"wait", "notify", "notifyAll", "notifyAll"})
		g.line("%s(%s)", op, l.name)
		return
	}
	was := g.held[i]
	if was && !l.monitor {
		return
	}
	if l.monitor {
		g.line("synchronized (%s) {", l.name)
		g.held[i] = true
		g.body(3)
		g.held[i] = was
		g.line("}")
		return
	}
	g.line("lock(%s)", l.name)
	g.held[i] = true
	g.statements(1 + g.r.IntN(2))
	g.held[i] = was
	if !g.one(10) {
		g.line("unlock(%s)", l.name)
	}
}
