package machine

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// generator writes random Promela models: small, with every construct in
// every context that SPIN allows.
type generator struct {
	r      *rand.Rand
	b      strings.Builder
	depth  int
	labels int
	inDStep,
	inAtomic bool
	loops  int // around the place
	procs  int
	proc   int
	unless int
	budget int
	open   []string // labels to jump to, forward
	locals []string
	first  bool // of a block or an option: no label may stand there
	guard  bool // of an option
}

func generate(seed uint64) string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 1))}
	return g.model()
}

func (g *generator) n(k int) int { return g.r.IntN(k) }

func (g *generator) pick(list ...string) string { return list[g.n(len(list))] }

func (g *generator) f(format string, args ...any) { fmt.Fprintf(&g.b, format, args...) }

func (g *generator) model() string {
	g.f("mtype = { red, green, blue };\n")
	g.f("typedef T { byte a; bit b[2] };\n")
	g.f("byte x = %d; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;\n", g.n(3))
	g.f("chan q = [%d] of { byte };\n", 1+g.n(2))
	g.f("chan rv = [0] of { byte, bit };\n")
	g.f("chan qm = [%d] of { mtype, byte };\n", 1+g.n(2))
	g.f("chan qa[2] = [1] of { byte };\n")
	if g.n(2) == 0 {
		g.f("inline inc(v) { v++; %s }\n", g.pick("skip", "y = 1 - y", "if :: v > 2 -> v = 0 :: else fi"))
	} else {
		g.f("inline inc(v) { byte tmp = 1; v = v + tmp }\n")
	}
	g.procs = 2 + g.n(2)
	g.budget = 14
	for p := range g.procs {
		g.proc = p
		switch {
		case p == 0 && g.n(3) == 0:
			g.f("init")
		case p > 0 && g.n(6) == 0:
			g.f("active [2] proctype P%d()", p)
		default:
			g.f("active proctype P%d()", p)
			if g.n(12) == 0 {
				g.f(" provided (%s)", g.pick("x < 3", "y == 0", "x != 2 || y"))
			}
		}
		g.f(" {\n")
		g.locals = []string{"a"}
		if g.n(3) == 0 {
			g.f("\tbyte a = x; ")
		} else {
			g.f("\tbyte a; ")
		}
		if g.n(3) == 0 {
			g.f("chan lq = [1] of { byte }; ")
			g.locals = append(g.locals, "lq")
		}
		g.f("\n")
		g.open = nil
		g.labels = 0
		g.seq(2+g.n(3), "\t")
		for _, l := range g.open {
			g.f("\t;%s: skip\n", l)
		}
		g.f("}\n")
	}
	g.f("proctype C(byte k) { byte a; %s }\n", g.pick("x = k", "a = k; y = 1", "q!k", "atomic { a = k; arr[1] = a }", "skip"))
	return g.b.String()
}

func (g *generator) v() string {
	return g.pick("x", "y", "z", "arr[0]", "arr[1]", "arr[y]", "m", "t.a", "t.b[1]", "a", "a", "s", "u")
}

func (g *generator) lhs() string {
	return g.pick("x", "y", "z", "arr[0]", "arr[y]", "t.a", "t.b[1]", "a", "a", "s", "u")
}

func (g *generator) expr() string {
	switch g.n(14) {
	case 0, 1, 2:
		return fmt.Sprint(g.n(4))
	case 3:
		return fmt.Sprintf("(%s + %s)", g.v(), g.expr())
	case 4:
		return fmt.Sprintf("(%s - 1)", g.v())
	case 5:
		return "(" + g.compare() + ")"
	case 6:
		return fmt.Sprintf("(%s -> %s : %s)", g.compare(), g.v(), g.expr())
	case 7:
		return g.pick("len(q)", "_pid", "red", "_nr_pr", "(x & 3)", "(x | 1)", "(z << 1)", "(~y & 1)", "-y", "(x % 3)", "(x / 2)", "len(qa[y])")
	}
	return g.v()
}

func (g *generator) cond() string {
	switch g.n(12) {
	case 0:
		return g.pick("empty(q)", "nempty(q)", "full(q)", "nfull(q)", "q?[1]", "qm?[red,_]", "qm??[green,1]", "empty(qa[1])")
	case 1:
		return "!(" + g.compare() + ")"
	case 2:
		return fmt.Sprintf("(%s && %s)", g.cond(), g.cond())
	case 3:
		return fmt.Sprintf("(%s || %s)", g.cond(), g.cond())
	case 4:
		return g.pick("y", "true", "x", "_nr_pr < 4", "m == green")
	}
	return g.compare()
}

func (g *generator) compare() string {
	return fmt.Sprintf("%s %s %s", g.v(), g.pick("==", "!=", "<", ">", "<=", ">="), g.expr())
}

func (g *generator) seq(n int, ind string) {
	for i := range n {
		if i > 0 {
			g.b.WriteString(g.pick(";", ";", " ->"))
			g.f("\n")
		}
		g.f("%s", ind)
		g.first = i == 0
		g.stmt(ind)
	}
	g.f("\n")
}

func (g *generator) simple() {
	switch g.n(17) {
	case 0, 1, 2, 3:
		g.f("%s = %s", g.lhs(), g.expr())
	case 4:
		g.f("%s%s", g.lhs(), g.pick("++", "--"))
	case 5:
		g.f("skip")
	case 6:
		g.f("assert(%s)", g.cond())
	case 7:
		g.f("(%s)", g.cond())
	case 8:
		g.f("q!%s", g.expr())
	case 9:
		g.f("q?%s", g.pick("a", "x", "1", "_", "eval(x)"))
	case 10:
		g.f("%s", g.pick("qm!red,x", "qm!green(1)", "qm!!m,y", "qm!blue,a", "qa[y]!x", "qa[0]!1"))
	case 11:
		g.f("%s", g.pick("qm?red,a", "qm?m,x", "qm??green,a", "qm?<m,a>", "qm??<red,a>", "qm?eval(m),_", "qa[y]?a", "qa[0]?x", "q?<a>", "q??1"))
	case 12:
		if !g.inDStep {
			g.f("%s", g.pick("rv!1,0", "rv!x,y", "rv?a,y", "rv?1,_", "rv?x,0", "rv!2,1", "rv?eval(x),y"))
			return
		}
		g.f("x = 1")
	case 13:
		if !g.inDStep && g.loops == 0 {
			g.f("%s", g.pick("run C(x)", "a = run C(1)", "run C(a)"))
			return
		}
		g.f("y = 0")
	case 14:
		if len(g.locals) > 1 {
			g.f("%s", g.pick("lq!x", "lq?a", "nempty(lq)"))
			return
		}
		g.f("a = 2")
	case 15:
		g.f("%s", g.pick("printf(\"%d\\n\", x)", "m = blue", "m = red"))
	default:
		g.f("inc(%s)", g.pick("x", "a", "arr[2]"))
	}
}

func (g *generator) stmt(ind string) {
	first, guard := g.first, g.guard
	g.first, g.guard = false, false
	g.budget--
	if g.depth >= 3 || g.budget < 0 {
		g.simple()
		return
	}
	g.depth++
	defer func() { g.depth-- }()
	in := ind + "\t"
	switch g.n(22) {
	case 0, 1, 2:
		g.f("if\n")
		g.options(in, false)
		g.f("%sfi", ind)
	case 3:
		g.loops++
		g.f("do\n")
		g.options(in, true)
		g.f("%sod", ind)
		g.loops--
	case 4, 5:
		if g.inDStep {
			g.simple()
			return
		}
		was := g.inAtomic
		g.inAtomic = true
		g.f("atomic {\n")
		g.seq(1+g.n(3), in)
		g.f("%s}", ind)
		g.inAtomic = was
	case 6:
		if g.inDStep {
			g.simple()
			return
		}
		g.inDStep = true
		open := g.open
		g.f("d_step {\n")
		g.seq(1+g.n(3), in)
		g.f("%s}", ind)
		g.inDStep = false
		g.open = open
	case 7:
		if g.inDStep || g.unless > 0 || guard {
			g.simple()
			return
		}
		g.unless++
		g.f("{\n")
		g.seq(1+g.n(2), in)
		g.f("%s} unless {\n", ind)
		g.seq(1+g.n(2), in)
		g.f("%s}", ind)
		g.unless--
	case 8:
		g.f("{\n")
		g.seq(1+g.n(2), in)
		g.f("%s}", ind)
	case 9:
		if g.inDStep {
			g.simple()
			return
		}
		l := fmt.Sprintf("L%d", g.labels)
		g.labels++
		g.open = append(g.open, l)
		g.f("if :: %s -> goto %s :: else fi", g.cond(), l)
	case 10:
		if g.loops > 0 {
			g.simple()
			return
		}
		g.loops++
		g.f("for (a : 0 .. %d) {\n", 1+g.n(2))
		g.seq(1, in)
		g.f("%s}", ind)
		g.loops--
	case 11:
		if g.inDStep {
			g.simple()
			return
		}
		g.f("select(a : %d .. %d)", g.n(2), 1+g.n(3))
	case 12:
		if first {
			g.simple()
			return
		}
		l := fmt.Sprintf("%sK%d", g.pick("", "", "end", "progress"), g.labels)
		g.labels++
		g.f("%s: ", l)
		g.simple()
	case 13:
		g.f("byte d%d", g.labels)
		if g.n(2) == 0 {
			g.f(" = %s", g.expr())
		}
		g.labels++
	case 14:
		if g.inDStep {
			g.simple()
			return
		}
		g.f("timeout")
	default:
		g.simple()
	}
}

func (g *generator) options(ind string, loop bool) {
	n := 1 + g.n(3)
	for range n {
		g.f("%s:: ", ind)
		switch {
		case loop && g.n(2) == 0:
			g.f("%s -> ", g.pick("x < 2", "a < 2", "arr[2] < 2"))
			g.f("%s", g.pick("x++", "a++", "arr[2]++", "x = x + 1; a = x"))
		default:
			g.first, g.guard = true, true
			g.stmt(ind + "\t")
			if g.n(2) == 0 {
				g.b.WriteString(g.pick("; ", " -> "))
				g.stmt(ind + "\t")
			}
		}
		if loop && g.n(3) == 0 {
			g.f("; break")
		}
		g.f("\n")
	}
	switch g.n(4) {
	case 0, 1:
		g.f("%s:: else", ind)
		if loop {
			g.f(" -> break")
		} else if g.n(2) == 0 {
			g.f(" -> ")
			g.simple()
		}
		g.f("\n")
	case 2:
		if loop {
			g.f("%s:: break\n", ind)
		}
	}
}
