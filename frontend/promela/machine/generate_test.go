package machine

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
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
	first  bool     // of a block or an option: no label may be there
	guard  bool     // of an option
	whole  bool     // with what is rare, too
	marks  []string // labels of the process that a goto may lead back to
	pids   []int    // of the processes P0, P1, ...: the first
	twice  int      // 1 if the last process is there twice
	prio   bool     // with priorities
	calm   bool     // without assertions, and without an index that can be out of range
	stored bool     // rv stores a message, so that enabled can be asked
}

// whole writes a model with every construct of the language.
func whole(seed uint64) string {
	g := &generator{r: rand.New(rand.NewPCG(seed, 3)), whole: true}
	return g.model()
}

// claim writes a never claim over a generated model.
func (g *generator) claim() string {
	cond := func() string {
		if g.whole && g.n(12) == 0 {
			return g.pick("np_", "_last == 1", "P1[1]@S1", "_nr_pr > 2", "enabled(0)",
				"P0[0]:a > 0")
		}
		return g.pick("x == 1", "x < 2", "y", "m == red", "arr[1] > 0", "len(q) == 0", "z >= x",
			"t.a != 1", "true", "!y", "q?[1]", "arr[0] == arr[1]")
	}
	if g.whole && g.n(5) == 0 {
		// It changes what it looks at, which SPIN only warns of. When np_ is asked then is
		// not said anywhere.
		look := cond
		cond := func() string {
			c := look()
			for c == "np_" || c == "_last == 1" {
				c = look()
			}
			return c
		}
		act := func() string {
			return g.pick("x = 1", "y = 1 - y", "arr[y] = x", "t.a++", "z = len(q)", "m = blue",
				"u = x", "run C(1)", "a0 = 1; skip")
		}
		text := fmt.Sprintf([]string{
			"never { do :: %s -> %s :: %s -> %s; break od; accept: do :: %s od }\n",
			"never { T0: if :: %s -> %s; goto T0 :: atomic { %s -> %s; y = x } :: else fi; " +
				"accept_1: do :: %s od }\n",
			"never { do :: %s; %s :: d_step { %s -> %s } :: %s -> progress1: skip od }\n",
		}[g.n(3)], cond(), act(), cond(), act(), cond())
		return "byte a0;\n" + text
	}
	switch g.n(6) {
	case 0:
		return fmt.Sprintf("never { do :: true :: %s -> break od; accept: do :: %s od }\n", cond(),
			cond())
	case 1:
		return fmt.Sprintf("never { do :: %s :: %s -> break od }\n", cond(), cond())
	case 2:
		return fmt.Sprintf("never c { T0: if :: %s -> goto T0 :: %s -> goto accept_1 :: else -> "+
			"%s fi; accept_1: if :: %s -> goto T0 :: atomic { %s -> assert(%s) } fi }\n", cond(),
			cond(), cond(), cond(), cond(), cond())
	case 3:
		return fmt.Sprintf("never { do :: %s od unless { %s }; accept_all: skip }\n", cond(),
			cond())
	case 4:
		return fmt.Sprintf("never { do :: skip :: %s -> if :: %s -> break :: else fi od; "+
			"accept2: do :: d_step { %s; skip } :: %s -> progress1: skip od }\n", cond(), cond(),
			cond(), cond())
	}
	return fmt.Sprintf("never { T0: do :: (%s) -> accept_x: (%s) :: (%s) -> end1: (%s) :: true "+
		"od }\n", cond(), cond(), cond(), cond())
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
	g.f("byte x = %d; bit y; int z; byte arr[3]; mtype m = green; T t; short s; unsigned u : 3;\n",
		g.n(3))
	g.f("chan q = [%d] of { byte };\n", 1+g.n(2))
	g.stored = g.whole && g.n(4) == 0
	if g.stored {
		g.f("chan rv = [1] of { byte, bit };\n")
	} else {
		g.f("chan rv = [0] of { byte, bit };\n")
	}
	g.f("chan qm = [%d] of { mtype, byte };\n", 1+g.n(2))
	g.f("chan qa[2] = [1] of { byte };\n")
	if g.whole {
		g.f("mtype:fruit = { apple, pear }; mtype:fruit fr = apple; chan qt = [1] of { T }; T " +
			"tt; chan cc = [1] of { chan }; chan ch; local byte lo; show byte sh; byte w_x;\n")
		// Globals are initialized in an order of types, so that one can be 0 when another asks for
		// it.
		known := []string{"x", "u", "fr", "s", "arr[1]"}
		for i, k := range g.r.Perm(5) {
			g.f("%s g%d = %s + %d; ", []string{"byte", "int", "short", "bit", "mtype"}[k], i,
				g.pick(known...), g.n(4))
			known = append(known, fmt.Sprintf("g%d", i))
		}
		g.f("\ntypedef E { byte e = 7; T t; short f }; typedef F { byte e = 7; mtype m; short f " +
			"}; F ff; E ee; E es[2] = 3;\n")
	}
	if g.whole && g.n(3) == 0 {
		g.f("inline inc(v) { v++; %s: v = v + 1; if :: %s :: %s fi }\n",
			g.pick("LI", "LI", "endx: LI", "acceptx: LI"),
			g.pick("v < 4 -> goto LI", "{ v < 4; v = v; goto LI }"),
			g.pick("else", "v > 2 -> LJ: v = 0", "else -> skip"))
	} else if g.n(2) == 0 {
		g.f("inline inc(v) { v++; %s }\n",
			g.pick("skip", "y = 1 - y", "if :: v > 2 -> v = 0 :: else fi"))
	} else {
		g.f("inline inc(v) { byte tmp = 1; v = v + tmp }\n")
	}
	g.procs = 2 + g.n(2)
	g.prio = g.whole && g.n(8) == 0
	g.budget = 14
	for p := range g.procs {
		g.proc = p
		pid := 0
		if p > 0 {
			pid = g.pids[p-1] + 1 + g.twice
		}
		g.pids, g.twice = append(g.pids, pid), 0
		priority := ""
		if g.prio {
			priority = g.pick("", "", " priority 2", " priority 3")
		}
		switch {
		case p == 0 && g.n(3) == 0 && !g.whole:
			g.f("init%s", priority)
		case p > 0 && g.n(6) == 0:
			g.f("active [2] proctype P%d()%s", p, priority)
			g.twice = 1
		case g.whole && g.n(15) == 0:
			g.f("active D_proctype P%d()", p)
		default:
			g.f("active proctype P%d()%s", p, priority)
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
		g.open, g.marks = nil, nil
		g.labels = 0
		if g.whole && p > 0 {
			g.f("\tS%d: skip;\n", p)
		}
		g.seq(2+g.n(3), "\t")
		for _, l := range g.open {
			g.f("\t;%s: skip\n", l)
		}
		g.f("}\n")
	}
	if g.whole {
		// SPIN's verifier goes wrong with a trace that is before all processes:
		// it takes process 0 for it.
		switch g.n(8) {
		case 0:
			g.f("trace { do :: qa[0]!_ ; qa[0]?_ od }\n")
		case 1:
			g.f("notrace { qm!red,_ ; end: do :: qm?_,0 :: qm?_,1 ; qm!green,0 od }\n")
		case 2:
			g.f("trace { if :: qm!red,_ :: qm!green,1; end: do :: qm?_,1 :: qm!_,_ od fi; " +
				"qm?red,_ }\n")
		}
	}
	if g.whole {
		g.f("proctype D(F p; byte k) { byte a = p.e + g1; %s }\n",
			g.pick("z = p.f + k", "p.e++; y = p.e", "ff.m = p.m; a = k", "assert(p.f < 3)"))
	}
	g.f("proctype C(byte k) { byte a; %s }\n", g.pick("x = k", "a = k; y = 1", "q!k",
		"atomic { a = k; arr[1] = a }", "skip"))
	return g.b.String()
}

func (g *generator) v() string {
	if g.whole && g.n(12) == 0 {
		return g.pick("g0", "g1", "g2", "g3", "g4", "ff.f", "es[1].t.b[y]")
	}
	return g.pick("x", "y", "z", "arr[0]", "arr[1]", "arr[y]", "m", "t.a", "t.b[1]", "a", "a", "s",
		"u")
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
		return g.pick("len(q)", "_pid", "red", "_nr_pr", "(x & 3)", "(x | 1)", "(z << 1)",
			"(~y & 1)", "-y", "(x % 3)", "(x / 2)", "len(qa[y])")
	}
	return g.v()
}

func (g *generator) cond() string {
	if g.whole && g.n(10) == 0 {
		other := g.n(g.procs)
		switch k := g.n(8); {
		case g.inDStep:
		case k == 0 && other > 0 && other != g.proc && other < len(g.pids):
			return fmt.Sprintf("P%d[%d]@S%d", other, g.pids[other], other)
		case k == 1 && other != g.proc && other < len(g.pids):
			return fmt.Sprintf("P%d[%d]:a %s 1", other, g.pids[other], g.pick("==", "<"))
		case k == 2 && other != g.proc && other < len(g.pids) && !g.prio && g.stored:
			return fmt.Sprintf("enabled(%d)", g.pids[other])
		case k == 3:
			return fmt.Sprintf("_last == %d", g.n(2))
		case k == 4 && g.prio:
			return "get_priority(_pid) > 1"
		}
		return g.pick("fr == pear", "tt.a == 1", "len(cc) == 0", "lo == sh", "qt?[1,0,0]",
			"(x == 1 -> y : lo)")
	}
	switch g.n(12) {
	case 0:
		return g.pick("empty(q)", "nempty(q)", "full(q)", "nfull(q)", "q?[1]", "qm?[red,_]",
			"qm??[green,1]", "empty(qa[1])")
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
	if g.whole && g.n(8) == 0 {
		switch k := g.n(12); {
		case k == 0 && g.prio && !g.inDStep:
			g.f("set_priority(_pid, %d)", 1+g.n(3))
		case k == 1 && g.prio && !g.inDStep && g.loops == 0:
			g.f("run C(1) priority %d", 1+g.n(3))
		case k == 2:
			g.f("%s", g.pick("qt!tt", "qt?tt", "qt?_,_,_"))
		case k == 3:
			g.f("%s", g.pick("cc!q", "cc!qa[1]", "cc?ch", "cc?eval(q)"))
		case k == 4:
			g.f("printm(m)")
		case k == 5:
			g.f("%s", g.pick("_ = x", "skip"))
		case k == 6:
			g.f("fr = %s", g.pick("apple", "pear"))
		case k == 7 && len(g.marks) > 0 && !g.inDStep:
			g.f("if :: lo < 2 -> lo++; goto %s :: else fi", g.marks[g.n(len(g.marks))])
		case k == 8 && g.loops == 0:
			g.loops++
			g.f("for (%s) { %s }", g.pick("a in arr", "a in arr", "w_x in arr", "tt in qt"),
				g.pick("skip", "arr[a] = 1", "x = arr[a]", "x = w_x"))
			g.loops--
		case k == 9 && g.inDStep:
			g.f("if :: x = 1 :: y = 1 :: x > 0 -> sh = 2 fi")
		default:
			g.f("%s", g.pick("lo++", "sh = lo", "tt.a = x", "tt.b[y] = 1", "lo = (fr == apple)"))
		}
		return
	}
	switch g.n(17) {
	case 0, 1, 2, 3:
		g.f("%s = %s", g.lhs(), g.expr())
	case 4:
		g.f("%s%s", g.lhs(), g.pick("++", "--"))
	case 5:
		g.f("skip")
	case 6:
		if g.calm {
			g.f("skip")
			return
		}
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
		g.f("%s", g.pick("qm?red,a", "qm?m,x", "qm??green,a", "qm?<m,a>", "qm??<red,a>",
			"qm?eval(m),_", "qa[y]?a", "qa[0]?x", "q?<a>", "q??1"))
	case 12:
		if !g.inDStep {
			g.f("%s", g.pick("rv!1,0", "rv!x,y", "rv?a,y", "rv?1,_", "rv?x,0", "rv!2,1",
				"rv?eval(x),y"))
			return
		}
		g.f("x = 1")
	case 13:
		if !g.inDStep && g.loops == 0 {
			runs := []string{"run C(x)", "a = run C(1)", "run C(a)"}
			if g.whole {
				runs = append(runs, "run D(ff, x)", "a = run D(x, green, z, 2)")
			}
			g.f("%s", g.pick(runs...))
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
		if g.inDStep && !(g.whole && !guard) {
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
		if g.inDStep && !g.whole || g.unless > 0 && !(g.whole && g.unless < 2) || guard ||
			g.inDStep && first {
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
		if g.inDStep && g.whole && !guard {
			// A label of the d_step's own.
			l := fmt.Sprintf("D%d", g.labels)
			g.labels++
			g.f("if :: %s -> goto %s :: else fi; ", g.cond(), l)
			g.simple()
			g.f("; %s: ", l)
			g.simple()
			return
		}
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
		counter := "a"
		if g.whole {
			counter = g.pick("a", "a", "w_x")
		}
		g.f("select(%s : %d .. %d)", counter, g.n(2), 1+g.n(3))
	case 12:
		// Only that of a for may be at the beginning of a block.
		loop := g.loops == 0 && !guard && (first || g.n(3) == 0)
		if first && !loop {
			g.simple()
			return
		}
		l := fmt.Sprintf("%sK%d", g.pick("", "", "end", "progress"), g.labels)
		if g.whole && g.n(3) == 0 {
			l = fmt.Sprintf("acceptK%d", g.labels)
		}
		if g.whole && g.depth > 1 && g.n(4) == 0 {
			l = "K" // maybe that of another block
		}
		if !g.inDStep && g.unless == 0 {
			g.marks = append(g.marks, l)
		}
		g.labels++
		g.f("%s: ", l)
		if !loop {
			g.simple()
			return
		}
		g.loops++
		g.f("for (a : %d .. %d) {\n", g.n(2), 1+g.n(2))
		g.seq(1, in)
		g.f("%s}", ind)
		g.loops--
	case 13:
		if g.whole && g.n(3) == 0 {
			// One that is used behind its declaration.
			d := fmt.Sprintf("d%d", g.labels)
			g.labels++
			g.f("%s", strings.ReplaceAll(g.pick("byte D[2]; D[1] = x; y = D[0]; D[0] = 1",
				"T D; x = D.a; D.a = a; D.b[1] = 1", "mtype D = m; m = D",
				"short D = x - 1; D--; z = D", "E D; D.e++; x = D.e + D.t.a",
				"unsigned D : 2 = x; D++; y = D"), "D", d))
			return
		}
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
		} else if !g.inDStep {
			g.f("%s:: d_step { else -> x = 2 }\n", ind)
		}
	}
}

// constructs are what the generator has to write, each in some model.
var constructs = []string{
	`trace \{`, `notrace \{`, `priority \d`, `set_priority`, `get_priority`, `D_proctype`,
	`provided`, `P\d\[\d\]@S\d`, `P\d\[\d\]:a`,
	`enabled\(`, `_last`, `\n\t\t+\} unless`, `accept`, `progress`, `endK`, `goto .*K`,
	`for \(a in arr\)`, `for \(a :`, `K\d+: for`, `goto K`, `inline.*goto LI`, `\bK: `,
	`\{\n\t*\w*K\d+: for`, `select`,
	`cc!q`, `qt!tt`, `qa\[y\]`, `d_step \{`, `atomic \{`, `timeout`, `run C\(`, `run D\(ff`,
	`run D\(x`, `E es\[2\] = 3`, `int g\d = g`, `\?\?`, `!!`, `\?<`, `\?\[`, `eval\(`,
	`mtype:fruit`,
	`in qt`, `goto D\d`, `select\(w_x`, `T d\d+;`, `rv = \[1\]`, `d_step \{ else`,
	`d_step \{[^}]*\{[^}]*\} unless`, `d_step \{[^}]*atomic`,
	`inline`, `printm`, `printf`, `else`, `_ = x`, `rv!`, `rv\?`, `unsigned`, `short`, `_pid`,
	`_nr_pr`, `active \[2\]`, `->.*:.*\)`,
	`do\n`, `break`, `byte d\d+ =`, `nempty|nfull`, `full|empty`, `len\(`,
}

func TestGeneratorWritesEverything(t *testing.T) {
	var all strings.Builder
	for seed := range uint64(1000) {
		all.WriteString(whole(seed))
	}
	text := all.String()
	for _, c := range constructs {
		if !regexp.MustCompile(c).MatchString(text) {
			t.Errorf("no model has %s", c)
		}
	}
	g := &generator{r: rand.New(rand.NewPCG(1, 4)), whole: true}
	var claims strings.Builder
	for range 500 {
		claims.WriteString(g.claim())
	}
	for _, c := range []string{"never c", "never \\{", "accept_", "assert", "atomic", "d_step",
		"unless", "end1", "np_", "_last", "@S1", ":a > 0", "enabled", "break", "goto", "else",
		"x = 1", "run C", "arr\\[y\\] = x"} {
		if !regexp.MustCompile(c).MatchString(claims.String()) {
			t.Errorf("no claim has %s", c)
		}
	}
}
