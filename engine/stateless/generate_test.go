package stateless

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes small models without loops in which everything that makes a
// dynamic reduction hard comes together: atomic blocks whose accesses depend on
// what was read, conditions over several variables that come and go, choices
// and selects inside atomic blocks, locks inside choices, channels that are
// closed, monitors, rendezvous, creation.
type generator struct {
	r          *rand.Rand
	b          strings.Builder
	depth      int
	statements int // that a thread may still have
	chans      []string
	rendezvous bool
	monitor    bool
	mutexes    int
	child      bool
}

// generate returns the text of a model; equal seeds give equal models.
func generate(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 9))
	g := &generator{r: r, mutexes: r.IntN(3), monitor: r.IntN(4) == 0}
	class := "comm "
	g.line("%svar x, y, z uint2", class)
	g.line("%svar f, g bool", class)
	for i := range g.mutexes {
		g.line("mutex m%d", i)
	}
	if g.monitor {
		g.line("monitor mo")
	}
	for i := range r.IntN(3) {
		g.chans = append(g.chans, fmt.Sprintf("c%d", i))
		g.line("var c%d chan(%d) uint2", i, 1+r.IntN(2))
	}
	if r.IntN(4) == 0 {
		g.rendezvous = true
		g.line("var r chan(0) uint2")
	}
	if r.IntN(4) == 0 {
		g.thread("Child", 1+r.IntN(2))
		g.child = true
	}
	threads := 2 + r.IntN(3)
	size := 5 - threads + r.IntN(3)
	types := 1 + r.IntN(threads)
	for i := range types {
		g.thread(fmt.Sprintf("T%d", i), 1+r.IntN(size))
	}
	g.line("init {")
	for i := range threads {
		if i < types {
			g.line("\tgo T%d(%d)", i, r.IntN(3))
		} else {
			g.line("\tgo T%d(%d)", r.IntN(types), r.IntN(3))
		}
	}
	g.line("}")
	if r.IntN(6) == 0 {
		g.line("invariant inv { %s || %s }", g.cond(), g.cond())
	}
	return g.b.String()
}

func (g *generator) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *generator) thread(name string, n int) {
	g.line("thread %s(n uint2) {", name)
	g.depth++
	g.line("var v uint2")
	g.statements = 3 * n
	for range n {
		g.statement(false, false)
	}
	g.depth--
	g.line("}")
}

func (g *generator) pick(xs ...string) string { return xs[g.r.IntN(len(xs))] }

func (g *generator) value() string {
	return g.pick("0", "1", "2", "n", "v", "x", "y", "z")
}

// cond is a condition over one to three variables.
func (g *generator) cond() string {
	one := func() string {
		switch g.r.IntN(5) {
		case 0:
			return g.pick("f", "g")
		case 1:
			return "!" + g.pick("f", "g")
		case 2:
			if len(g.chans) > 0 {
				return fmt.Sprintf("%s(%s)", g.pick("empty", "full", "!empty", "!full"),
					g.pick(g.chans...))
			}
		case 3:
			return fmt.Sprintf("%s == %s", g.pick("x", "y", "z"), g.pick("x", "y", "0", "1"))
		}
		return fmt.Sprintf("%s %s %d", g.pick("x", "y", "z"), g.pick("==", "!=", "<"), g.r.IntN(3))
	}
	switch g.r.IntN(4) {
	case 0:
		return one()
	case 1:
		return fmt.Sprintf("(%s && %s)", one(), one())
	case 2:
		return fmt.Sprintf("(%s || %s && %s)", one(), one(), one())
	}
	return fmt.Sprintf("(%s || %s)", one(), one())
}

func (g *generator) block(atomic, choice bool, most int) {
	g.depth++
	for range 1 + g.r.IntN(most) {
		g.statement(atomic, choice)
	}
	g.depth--
}

// statement writes one statement. In an atomic block a choice may follow
// another only in part of the models, so that there are not too many
// alternatives.
func (g *generator) statement(atomic, choice bool) {
	if g.statements--; g.statements < 0 {
		g.line("%s = %s", g.pick("x", "y", "z"), g.pick("0", "1", "n"))
		return
	}
	for !g.try(g.r.IntN(22), atomic, choice) {
	}
}

func (g *generator) try(kind int, atomic, choice bool) bool {
	switch kind {
	case 0, 1, 2:
		g.line("%s = %s", g.pick("x", "y", "z"), g.value())
	case 3:
		g.line("%s = %s", g.pick("f", "g"), g.pick("true", "false"))
	case 4:
		g.line("v = %s", g.pick("x", "y", "z"))
	case 5:
		g.line("%s = (%s + 1) & 3", g.pick("x", "y"), g.pick("x", "y", "z"))
	case 6, 7:
		g.line("await(%s)", g.cond())
	case 8:
		g.line("assert(%s)", g.cond())
	case 9, 10:
		g.line("if %s {", g.cond())
		g.block(atomic, choice, 2)
		if g.r.IntN(3) == 0 {
			g.line("} else {")
			g.block(atomic, choice, 1)
		}
		g.line("}")
	case 11, 12, 13:
		if atomic {
			return false
		}
		g.line("atomic {")
		g.block(true, false, 3)
		g.line("}")
	case 14:
		if choice && g.r.IntN(3) > 0 {
			return false
		}
		g.line("choose {")
		for range 2 {
			g.line("case:")
			if g.r.IntN(4) > 0 {
				g.block(atomic, true, 2)
			}
		}
		g.line("}")
	case 15:
		if g.mutexes == 0 {
			return false
		}
		m := fmt.Sprintf("m%d", g.r.IntN(g.mutexes))
		switch g.r.IntN(4) {
		case 0:
			g.line("lock(%s)", m)
		default:
			g.line("lock(%s)", m)
			g.block(atomic, choice, 1)
			g.line("unlock(%s)", m)
		}
	case 16:
		if len(g.chans) == 0 && (atomic || !g.rendezvous) {
			return false
		}
		c := g.channel(atomic)
		if g.r.IntN(2) == 0 {
			g.line("%s <- %s", c, g.pick("n", "1", "v"))
		} else {
			g.line("v = <-%s", c)
		}
	case 17:
		if len(g.chans) == 0 || g.r.IntN(2) == 0 {
			return false
		}
		g.line("close(%s)", g.pick(g.chans...))
	case 18:
		if len(g.chans) == 0 && (atomic || !g.rendezvous) || choice && g.r.IntN(3) > 0 {
			return false
		}
		g.line("select {")
		for range 1 + g.r.IntN(2) {
			if g.r.IntN(2) == 0 {
				g.line("case %s <- %s:", g.channel(atomic), g.pick("n", "2"))
			} else {
				g.line("case v = <-%s:", g.channel(atomic))
			}
			if g.r.IntN(2) == 0 {
				g.block(atomic, true, 1)
			}
		}
		if g.r.IntN(3) == 0 {
			g.line("default:")
			g.block(atomic, true, 1)
		}
		g.line("}")
	case 19:
		if !g.child {
			return false
		}
		g.line("go Child(%s)", g.pick("0", "1", "v"))
	case 20:
		if !g.monitor || atomic {
			return false
		}
		g.line("synchronized (mo) {")
		g.block(false, choice, 1)
		if g.r.IntN(2) == 0 {
			g.line("\t%s(mo)", g.pick("wait", "notify", "notifyAll", "notify"))
		}
		g.line("}")
	default:
		if !choice || g.r.IntN(2) == 0 {
			g.line("v = uint2(choose(0, 1))")
			return true
		}
		return false
	}
	return true
}

func (g *generator) channel(atomic bool) string {
	if g.rendezvous && !atomic && (len(g.chans) == 0 || g.r.IntN(2) == 0) {
		return "r"
	}
	return g.pick(g.chans...)
}
