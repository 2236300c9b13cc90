package oracle

import (
	"fmt"
	"math/rand/v2"
)

// counter writes one model of threads that count.
type counter struct {
	generator
	kinds    int
	creating bool // threads of kind 0 may create some of the last kind
}

// GenerateCounts returns the text of a random model whose threads do what commutes: they add
// numbers of both signs to variables, waitgroups and semaphores, with room and without, and store
// equal numbers; others wait for a number or read it. Threads are created in one alternative of a
// choice and not in others, beside invariants. [Program] has all this too, but rarely together. The
// same seed gives the same model.
func GenerateCounts(seed uint64) string {
	g := &counter{}
	g.r = rand.New(rand.NewPCG(seed, 0x9fb21c651e98df25))
	g.kinds = 1 + g.r.IntN(3)
	g.creating = g.kinds > 1 && g.one(2)
	g.line("var x uint2 = %d", g.r.IntN(3))
	g.line("var y int")
	g.line("var z uint2")
	g.line("waitgroup wg")
	g.line("semaphore s = %d", g.r.IntN(3))
	for k := range g.kinds {
		g.line("thread T%d(n uint2) {", k)
		g.indent++
		for range 1 + g.r.IntN(2) {
			g.statement(k == 0, 2)
		}
		g.indent--
		g.line("}")
	}
	g.line("init {")
	g.indent++
	if n := g.r.IntN(4); n > 0 {
		g.line("add(wg, %d)", n)
	}
	for range 2 + g.r.IntN(2) {
		g.create(g.r.IntN(g.kinds))
	}
	if g.one(2) {
		g.line("choose {")
		g.line("case:")
		g.indent++
		g.create(g.r.IntN(g.kinds))
		g.indent--
		g.line("case:")
		if g.one(2) {
			g.line("\tz = %d", 1+g.r.IntN(2))
		}
		g.line("}")
	}
	g.indent--
	g.line("}")
	for i := range g.r.IntN(3) {
		g.line("invariant i%d { %s != %d }", i, []string{"x", "y", "z"}[g.r.IntN(3)], 1+g.r.IntN(3))
	}
	return g.b.String()
}

func (g *counter) create(kind int) { g.line("go T%d(%d)", kind, g.r.IntN(3)) }

// condition is one about what is counted.
func (g *counter) condition() string {
	v := []string{"x", "x", "y", "z"}[g.r.IntN(4)]
	return fmt.Sprintf("%s %s %d", v, []string{"==", "!=", "<", ">="}[g.r.IntN(4)], g.r.IntN(4))
}

// addition is what commutes with its like.
func (g *counter) addition() string {
	return []string{"x++", "x++", "x--", "x += 2", "y++", "y += 2", "y -= 3", "z++", "z--",
		"up(s)", "down(s)"}[g.r.IntN(11)]
}

func (g *counter) statement(creates bool, depth int) {
	switch k := g.r.IntN(16); {
	case k < 4:
		g.line("atomic { %s }", g.addition())
	case k < 6:
		g.line("done(wg)")
	case k < 7:
		g.line("wait(wg)")
	case k < 8:
		g.line("await(%s)", g.condition())
	case k < 9:
		g.line("%s", []string{"z = x", "z = 1", "z = n", "x = 1"}[g.r.IntN(4)])
	case k < 10:
		g.line("assert(%s)", g.condition())
	case k > 13:
		g.line("%s(s)", []string{"up", "down"}[g.r.IntN(2)])
	case k > 12:
		g.line("%s", []string{"add(wg, 1)", "add(wg, 2)", "add(wg, -2)"}[g.r.IntN(3)])
	case k < 12 && depth > 0:
		g.line("choose {")
		g.line("case:")
		g.indent++
		if creates && g.creating && g.one(2) {
			g.create(g.kinds - 1)
		} else {
			g.statement(creates, depth-1)
		}
		g.indent--
		g.line("case:")
		if g.one(2) {
			g.line("\tatomic { %s }", g.addition())
		}
		g.line("}")
	case g.one(2):
		g.line("atomic { %s; %s }", g.addition(), g.addition())
	default:
		g.line("if %s { atomic { %s } }", g.condition(), g.addition())
	}
}

// GenerateFailures returns the text of a random model whose threads fail, and leave a monitor
// by that: where the monitor is free depends on what an assertion reads. The same seed gives
// the same model.
func GenerateFailures(seed uint64) string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 0x5851f42d4c957f2d))}
	g.line("var x, y uint2")
	g.line("monitor mo")
	claim := func() {
		g.line("assert(%s %s %d)", []string{"x", "y"}[g.r.IntN(2)],
			[]string{"!=", "=="}[g.r.IntN(2)], g.r.IntN(2))
	}
	statement := func() {
		switch k := g.r.IntN(6); k {
		case 0:
			claim()
		default:
			g.line("%s", []string{"x = 0", "x = 1", "y = 1", "x = y", "y = x"}[k-1])
		}
	}
	threads := 2 + g.r.IntN(2)
	for i := range threads {
		g.line("thread T%d() {", i)
		g.indent++
		for range 1 + g.r.IntN(2) {
			if g.one(2) {
				statement()
				continue
			}
			g.line("synchronized (mo) {")
			g.indent++
			for range 1 + g.r.IntN(2) {
				if g.one(2) {
					claim()
				} else {
					statement()
				}
			}
			g.indent--
			g.line("}")
		}
		g.indent--
		g.line("}")
	}
	g.line("init {")
	for i := range threads {
		g.line("\tgo T%d()", i)
	}
	g.line("}")
	return g.b.String()
}
