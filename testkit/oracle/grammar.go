package oracle

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
)

// Size says how large the programs of [Program] are.
type Size struct {
	Threads    int // started by init, at most; at least 1
	Statements int // of a body, at most; at least 1
	Depth      int // of blocks in blocks
}

// Sizes are sizes from tiny to a million interleavings, and by name: tiny ones,
// of which a million is soon compared, and large ones, whose searches take long.
var (
	Sizes = []Size{{2, 2, 1}, {2, 3, 2}, {3, 2, 1}, {2, 5, 2}, {2, 4, 3}, {3, 3, 2}, {3, 4, 3},
		{2, 3, 4}, {1, 6, 3}}
	SizesNamed = map[string][]Size{
		"tiny":  {{1, 2, 1}, {2, 1, 2}, {1, 3, 2}, {2, 1, 3}, {1, 2, 3}, {2, 2, 1}},
		"mixed": Sizes,
		"large": {{3, 3, 2}, {3, 4, 3}, {2, 6, 3}, {3, 5, 2}, {2, 5, 4}},
	}
)

// Program returns the text of a random model over the whole grammar of the
// language: every construct inside every context that allows it. [Pairs] tells
// which pairs a program has. The same seed and size give the same model.
//
// Unlike [Generate], which mixes constructs that [Config] names, it draws every
// statement from one table with the same chances in every context, and declares
// what its threads turn out to use. Two things it leaves out on purpose: threads
// that create threads without bound, and loops in one transition without end,
// which take millions of iterations to be found.
func Program(seed uint64, size Size) string {
	g := &writer{r: rand.New(rand.NewPCG(seed, 0xda942042e4dd58b5)), size: size,
		timeouts: seed%16 == 5, symmetric: seed%4 == 3, named: seed%16 == 11 || seed%32 == 20}
	return g.program()
}

// writer writes one program.
type writer struct {
	r     *rand.Rand
	size  Size
	b     strings.Builder
	names int
	// timeouts: some conditions ask whether any thread can move.
	timeouts bool
	// symmetric: threads can be exchanged, and properties speak of all alike.
	symmetric bool
	// named: there is a type of names that can be exchanged, and threads have some.
	named bool
	here  bool // functions begin with this label, of which a property speaks
	c     surroundings
}

// surroundings is where a statement stands.
type surroundings struct {
	depth           int
	function        string // "" in a thread or init
	init, atomic    bool
	meets           bool // operations that need another thread's step are allowed
	loops           int  // around; -1: the loop around must be left at once
	breakable       bool
	each            bool // in a case of a select that represents several: no labels
	endless         bool // in a loop that may not end: nothing is created
	loopLabel       string
	ints, bools     []string
	arrays, structs []string
	pids            []string
	held            bool // in synchronized (mo)
	still           bool // in a function without effects
	property        bool // in an invariant or a formula
	formula         bool // in a formula
	results         int
}

func (g *writer) n(n int) int    { return g.r.IntN(n) }
func (g *writer) one(n int) bool { return g.r.IntN(n) == 0 }

func (g *writer) f(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.c.depth+1))
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

func (g *writer) fresh(prefix string) string {
	g.names++
	return fmt.Sprintf("%s%d", prefix, g.names)
}

func of[T any](g *writer, xs ...T) T { return xs[g.r.IntN(len(xs))] }

// declarations are what programs may use, by the name that shows the use.
var declarations = []struct {
	name string
	text []string // one of them is drawn
}{
	{"Pid", []string{"type Pid symmetric(3)", "type Pid symmetric(2)"}},
	{"pair", []string{"type pair struct { a uint2; f bool }"}},
	{"x", []string{"var x uint2", "var x uint2 = 1"}},
	{"y", []string{"var y uint2", "comm var y uint2 = 2"}},
	{"z", []string{"var z int2", "unshared var z int2 = -1"}},
	{"b", []string{"var b bool", "var b bool = true"}},
	{"A", []string{"var A [2]uint2", "var A = [2]uint2{1, 0}"}},
	{"D", []string{"var D [2]uint2"}},
	{"s", []string{"var s pair", "var s = pair{a: 1}"}},
	{"S", []string{"var S [2]pair"}},
	{"p", []string{"var p *uint2 = &x", "var p *uint2 = &A[1]", "var p *uint2"}},
	{"q", []string{"var q *pair = &S[1]", "var q *pair"}},
	{"pa", []string{"var pa *[2]uint2 = &A", "var pa *[2]uint2"}},
	{"m", []string{"var m [2]mutex"}},
	{"mo", []string{"monitor mo"}},
	{"rw", []string{"rwmutex rw", "var rw rwmutex"}},
	{"wg", []string{"waitgroup wg"}},
	{"cv", []string{"cond cv", "var cv cond"}},
	{"sem", []string{"semaphore sem", "semaphore sem = 1", "semaphore sem = 2"}},
	{"c", []string{"var c chan(1) uint2", "var c = make(chan uint2, 2)", "var c chan(3) uint2"}},
	{"C", []string{"var C [2]chan(1) uint2"}},
	{"bg", []string{"var bg bag(1) uint2", "var bg bag(2) uint2", "var bg bag(3) uint2"}},
	{"cp", []string{"var cp chan(2) pair", "var cp = make(chan pair, 3)", "var cp bag(3) pair"}},
	{"bp", []string{"var bp [2]bag(2) pair"}},
	{"u", []string{"var u chan uint2"}},
	{"U", []string{"var U [2]chan(0) uint2"}},
	{"op", []string{"var op Pid"}},
	{"Nx", []string{"var Nx [Pid]uint2"}},
	{"Nf", []string{"var Nf [Pid]Pid"}},
	{"Nr", []string{"var Nr [Pid][Pid]bool"}},
	{"Nc", []string{"var Nc [Pid]chan(1) Pid", "var Nc [Pid]chan(0) Pid",
		"var Nc [Pid]bag(2) Pid"}},
	{"cn", []string{"var cn chan(2) Pid", "var cn bag(2) Pid", "var cn bag(3) Pid"}},
	{"np", []string{"var np *uint2"}},
	{"nf", []string{"var nf *Pid = &op"}},
	{"K", []string{"const K = 1", "const K = 2"}},
}

// words returns the names and keywords in a text.
func words(text string) map[string]bool {
	found := map[string]bool{}
	letter := func(b byte) bool { return b == '_' || b|0x20 >= 'a' && b|0x20 <= 'z' }
	for i := 0; i < len(text); i++ {
		if !letter(text[i]) {
			continue
		}
		from := i
		for i < len(text) && (letter(text[i]) || text[i] >= '0' && text[i] <= '9') {
			i++
		}
		found[text[from:i]] = true
	}
	return found
}

func (g *writer) program() string {
	var parts []string
	part := func(f func()) {
		g.b.Reset()
		g.c = surroundings{}
		f()
		parts = append(parts, g.b.String())
	}
	kinds := 1 + g.n(2)
	for i := range kinds {
		part(func() {
			fmt.Fprintf(&g.b, "%sthread T%d(n uint2%s) {\n", map[bool]string{
				true: "symmetric "}[g.symmetric], i, map[bool]string{true: ", me Pid"}[g.named])
			g.c.ints, g.c.meets = []string{"n"}, true
			if g.named {
				g.c.pids = []string{"me"}
			}
			g.body(g.size.Statements)
			g.b.WriteString("}\n")
		})
	}
	calls := slices.ContainsFunc([]string{"meet", "act", "two", "f"}, func(f string) bool {
		return words(parts[0])[f]
	})
	part(func() { g.initial(kinds) })
	if calls && g.one(4) {
		g.here = true
		at := "!T0[0]@here"
		if g.symmetric {
			at = of(g, "count k in T0 { T0[k]@here } <= 1",
				"forall k in T0 { forall l in T0 { k == l || !(T0[k]@here && T0[l]@here) } }")
		}
		part(func() { fmt.Fprintf(&g.b, "invariant at { %s || %s }\n", at, g.property()) })
	}
	if g.one(4) {
		part(func() { fmt.Fprintf(&g.b, "invariant inv { %s }\n", g.property()) })
	}
	if g.one(4) {
		part(func() { fmt.Fprintf(&g.b, "ltl live { %s }\n", g.formula(2)) })
	}
	// What is called may use more.
	for _, fn := range []struct{ name, head string }{
		{"child", map[bool]string{true: "symmetric "}[g.symmetric] + "thread child(n uint2) {\n"},
		{"meet", "func meet(n uint2) uint2 {\n"}, {"act", "func act(n uint2) {\n"},
		{"mk", "func mk(n uint2) pair {\n"},
		{"two", "func two(n uint2) (uint2, bool) {\n"}, {"f", "func f(n uint2) uint2 {\n"},
		{"look", "func look(n uint2) uint2 {\n"}, {"see", "func see(n uint2) bool {\n"},
	} {
		if !words(strings.Join(parts, ""))[fn.name] {
			continue
		}
		part(func() { g.called(fn.head, fn.name) })
	}
	text := strings.Join(parts, "")
	return strings.Join(g.declared(text), "\n") + "\n" + text
}

// initial writes init, which starts threads of that many kinds.
func (g *writer) initial(kinds int) {
	g.b.WriteString("init {\n")
	g.c.init = true
	if g.one(4) {
		g.body(1 + g.n(2))
	}
	me := func() string { return "" }
	if g.named {
		g.f("var w0, w1 Pid")
		g.f("for w := range Pid {")
		g.f("\tif w0 == nil { w0 = w } else { w1 = w }")
		g.f("}")
		g.c.pids = []string{"w0", "w1"}
		me = func() string { return ", " + of(g, "w0", "w1") }
	}
	for i := range 1 + g.n(g.size.Threads) {
		g.f("go T%d(%d%s)", i%kinds, g.n(3), me())
	}
	switch {
	case g.size.Threads <= 1 || !g.one(2):
	case g.one(8): // again and again: what counts the threads of a kind has to see it
		g.f("laps := 0")
		g.f("back: go T0(1%s)", me())
		g.f("laps++")
		g.f("if laps < 2 { goto back }")
	default:
		g.f("go T0(1%s)", me())
	}
	g.b.WriteString("}\n")
}

// called writes a function, or a thread, that others name.
func (g *writer) called(head, name string) {
	g.b.WriteString(head)
	g.c.ints, g.c.function = []string{"n"}, name
	switch name {
	case "meet":
		g.c.meets, g.c.results = true, 1
	case "two":
		g.c.results = 2
	case "f", "look", "see", "mk":
		g.c.results = 1
	}
	g.c.still = name == "look" || name == "see"
	if g.here && !g.c.still {
		g.f("here:")
		g.plain()
	}
	g.body(2)
	if g.c.results > 0 {
		g.giveBack()
	}
	g.b.WriteString("}\n")
}

// declared returns the declarations of what a text names, and of what these name.
func (g *writer) declared(text string) (decls []string) {
	used := words(text)
	for i := len(declarations) - 1; i >= 0; i-- {
		if d := declarations[i]; used[d.name] {
			decls = append(decls, of(g, d.text...))
			maps.Copy(used, words(decls[len(decls)-1]))
		}
	}
	slices.Reverse(decls)
	return decls
}

// body writes up to n statements.
func (g *writer) body(n int) {
	for range 1 + g.n(n) {
		g.statement()
	}
}

// inside writes a body one level down, in a context that change makes of the
// present one.
func (g *writer) inside(change func(c *surroundings)) {
	old := g.c
	g.c.ints, g.c.bools = slices.Clip(g.c.ints), slices.Clip(g.c.bools)
	g.c.pids = slices.Clip(g.c.pids)
	g.c.arrays, g.c.structs = slices.Clip(g.c.arrays), slices.Clip(g.c.structs)
	if change != nil {
		change(&g.c)
	}
	g.c.depth++
	g.body(2)
	g.c = old
}

// integer is an expression of type uint2. With effects, it may be one that does
// more than read.
func (g *writer) integer(depth int, effects bool) string {
	effects = effects && !g.c.still
	e := func() string { return g.integer(depth-1, effects) }
	k := g.n(30)
	if depth <= 0 {
		k = g.n(8)
	}
	switch {
	case k == 0:
		return fmt.Sprint(g.n(4))
	case k <= 3 && len(g.c.ints) > 0:
		return of(g, g.c.ints...)
	case k == 4:
		return of(g, "A[0]", "A[1]", "D[1]", "s.a", "S[0].a")
	case k == 5 && len(g.c.arrays) > 0:
		return fmt.Sprintf("%s[%d]", of(g, g.c.arrays...), g.n(2))
	case k == 6 && len(g.c.structs) > 0:
		return of(g, g.c.structs...) + ".a"
	case k <= 7:
		return of(g, "x", "y", "q.a")
	case k == 8:
		return fmt.Sprintf("(%s %s %s)", e(), of(g, "&", "|", "^", "&^"), e())
	case k == 9:
		return fmt.Sprintf("(%s %s %s)", g.reading(), of(g, "+", "-", "*", "/", "%"),
			of(g, e(), g.reading()))
	case k == 10:
		return fmt.Sprintf("(%s %s %s)", g.reading(), of(g, "<<", ">>"), e())
	case k == 11:
		return fmt.Sprintf("%s[%s & 1]", of(g, "A", "D"), e())
	case k == 12:
		return fmt.Sprintf("A[%s]", of(g, g.reading(), "("+e()+") | y")) // perhaps out of bounds
	case k == 13:
		return of(g, "*p", "q.a", "pa[1]")
	case k == 14:
		return fmt.Sprintf("%s(%s, %s)", of(g, "min", "max"), e(), e())
	case k == 15:
		return fmt.Sprintf("uint2(%s)", of(g, "z", "z", "len(c)", "cap(c)", "cap(c)", "len(c)",
			"len(c)", "int(x) + 1", "-z", "-z", "-z", "K", "-z", "+z", "^z", "len(C[0])"))
	case k == 16:
		return "^" + g.reading()
	case k == 17 && effects:
		return fmt.Sprintf("uint2(choose(0, %d))", 1+g.n(2))
	case k == 18 && effects && g.c.function != "f":
		return fmt.Sprintf("f(%s)", e())
	case k == 19 && effects:
		return "<-" + g.view()
	case k == 20 && effects && g.c.meets && g.c.function == "":
		return fmt.Sprintf("meet(%s)", e())
	case k == 21 && effects:
		return fmt.Sprintf("uint2(choose(int(%s), 3))", g.integer(0, false))
	case k == 22 && g.c.function != "look" && g.c.function != "see":
		return fmt.Sprintf("look(%s)", e())
	case k <= 25:
		return g.fold()
	}
	return fmt.Sprintf("%s & 3", g.integer(0, effects))
}

// reading is an expression of type uint2 that is not constant.
func (g *writer) reading() string {
	if len(g.c.ints) > 0 && g.one(2) {
		return of(g, g.c.ints...)
	}
	return of(g, "x", "y", "A[1]")
}

// channel is a channel that can be used here.
func (g *writer) channel() string {
	if g.c.meets && !g.c.atomic && g.one(3) {
		return of(g, "u", "U[0]", fmt.Sprintf("U[%s & 1]", g.integer(0, false)))
	}
	return of(g, "c", "c", "bg", "C[0]", fmt.Sprintf("C[%s & 1]", g.integer(0, false)))
}

// view is what can be received from: a channel, or some of its messages.
func (g *writer) view() string {
	c := g.channel()
	if g.one(2) || strings.HasPrefix(c, "u") || strings.HasPrefix(c, "U") {
		return c
	}
	return g.part(c, g.integer(1, !g.c.still && !g.c.property))
}

// part is a receive of messages of a channel that match a pattern, or that stay.
func (g *writer) part(c, pattern string) string {
	switch g.n(5) {
	case 0:
		return fmt.Sprintf("peek(%s)", c)
	case 1:
		return fmt.Sprintf("peek(match(%s, %s))", c, of(g, pattern, "_"))
	}
	return fmt.Sprintf("match(%s, %s)", c, of(g, pattern, pattern, pattern, "_"))
}

// pairs returns a channel of pairs, a value to send to it, and a pattern.
func (g *writer) pairs(effects bool) (c, value, pattern string) {
	c = of(g, "cp", "cp", "bp[0]", fmt.Sprintf("bp[%s & 1]", g.integer(0, false)))
	value = of(g, "s", "S[1]", fmt.Sprintf("pair{%s & 3, %s}", g.integer(0, effects),
		g.condition(2, effects)), "pair{a: x}")
	pattern = of(g, "s", "S[0]", fmt.Sprintf("pair{a: %s & 3}", g.integer(1, effects)),
		fmt.Sprintf("pair{_, %s}", g.condition(2, effects)),
		fmt.Sprintf("pair{%s & 3, _}", g.integer(0, effects)), "pair{f: b, a: x}", "pair{}", "_")
	if effects && g.one(8) {
		value = fmt.Sprintf("pair{f: %s}", of(g, "trylock(m[1])", "tryrlock(rw)"))
	}
	if effects && g.one(8) {
		pattern = fmt.Sprintf("pair{f: %s}", of(g, "trylock(m[0])", "trylock(rw)", "tryrlock(rw)"))
	}
	return c, value, pattern
}

// polled is a condition on what is in a channel.
func (g *writer) polled() string {
	if g.one(3) {
		c, _, pattern := g.pairs(false)
		return fmt.Sprintf("poll(%s)", of(g, c, g.part(c, pattern), g.part(c, pattern)))
	}
	c := of(g, "c", "bg", "C[1]", "C[x & 1]")
	return fmt.Sprintf("poll(%s)", of(g, c, g.part(c, g.integer(1, false)),
		g.part(c, g.integer(0, false))))
}

func (g *writer) condition(depth int, effects bool) string {
	effects = effects && !g.c.still
	e := func() string { return g.integer(1, effects) }
	k := g.n(24)
	if depth <= 0 {
		k = g.n(7)
	}
	switch {
	case k >= 22:
		return g.polled()
	case k <= 2:
		return fmt.Sprintf("%s %s %d", e(), of(g, "==", "!="), g.n(3))
	case k == 3:
		return fmt.Sprintf("%s %s %s", e(), of(g, "<", "<=", ">", ">="), e())
	case k == 4:
		return of(g, "b", "s.f", "S[1].f")
	case k == 5 && len(g.c.bools) > 0:
		return of(g, g.c.bools...)
	case k <= 7:
		return fmt.Sprintf("%s %s %s", e(), of(g, "==", "!=", "<"), e())
	case k == 8:
		return fmt.Sprintf("(%s && %s)", g.condition(depth-1, effects),
			g.condition(depth-1, effects))
	case k == 9:
		return fmt.Sprintf("(%s || %s)", g.condition(depth-1, effects),
			g.condition(depth-1, effects))
	case k == 10:
		return fmt.Sprintf("!(%s)", g.condition(depth-1, effects))
	case k == 11:
		return fmt.Sprintf("%s(%s)", of(g, "empty", "full"), of(g, "c", "C[1]", "u"))
	case k == 12:
		return fmt.Sprintf("len(%s) %s %d", of(g, "c", "C[0]"), of(g, "==", "<", ">"), g.n(3))
	case k == 13:
		return g.quantified()
	case k == 14:
		return of(g, "p == nil", "q != nil", "p != &x", "q == &S[0]", "pa == nil || pa[0] == 1",
			"p != nil && *p == 1")
	case k == 15:
		return fmt.Sprintf("z %s %d", of(g, "<", "==", "!="), g.n(3)-1)
	case k == 16 && effects:
		if g.one(3) {
			return fmt.Sprintf("cas(%s)", of(g, "s, S[1], pair{a: x}", "S[y & 1], s, *q",
				"A, D, [2]uint2{1, x}", "*pa, A, D", fmt.Sprintf("s, pair{a: %s & 3}, S[0]",
					g.integer(depth-1, effects))))
		}
		return fmt.Sprintf("cas(%s, %s, %s)", of(g, "x", "A[0]", "*p", "s.a"),
			g.integer(0, effects), g.integer(0, effects))
	case k == 17:
		return fmt.Sprintf("b == (%s)", g.condition(depth-1, effects))
	case k == 18:
		return "cap(c) == 2"
	case k == 19 && g.c.function != "see":
		return fmt.Sprintf("see(%s)", g.integer(depth-1, effects))
	case k == 20 && effects:
		return of(g, "trylock(m[0])", "trylock(rw)", "tryrlock(rw)",
			fmt.Sprintf("trylock(m[%s & 1])", g.integer(depth-1, effects)))
	}
	return fmt.Sprintf("%s != %d", of(g, "x", "y", "A[1]"), g.n(4))
}

// pid is an expression of type Pid.
func (g *writer) pid() string {
	if len(g.c.pids) > 0 && !g.one(4) {
		return of(g, g.c.pids...)
	}
	return of(g, "op", "Nf[op]", "*nf", "op")
}

// naming writes a statement about names.
func (g *writer) naming() {
	p := g.pid()
	switch k := g.n(18); {
	case k <= 1:
		v := g.fresh("v")
		g.f("%s := %s", v, of(g, "choose(Pid)", p))
		g.c.pids = append(g.c.pids, v)
	case k <= 3:
		g.f("%s = %s", of(g, "op", "Nf["+p+"]", "*nf"), of(g, g.pid(), "nil", "choose(Pid)"))
	case k == 4:
		g.f("Nx[%s] = %s", p, g.integer(1, true))
	case k == 5:
		g.f("Nr[%s][%s] = %s", p, g.pid(), g.condition(1, true))
	case k == 6:
		g.f("%s", of(g, "np = &Nx["+p+"]", "nf = &Nf["+p+"]", "nf = &op", "np = nil"))
	case k == 7:
		g.f("if np != nil { *np = %s }", g.integer(0, true))
	case k == 8:
		v := g.fresh("Nv")
		g.f("var %s [Pid]uint2", v)
		g.f("%s[%s] = %s", v, p, g.integer(0, true))
		g.f("x = %s[%s]", v, g.pid())
	case k == 9:
		g.f("atomic { %s }", of(g, "Nx = [Pid]uint2{}", "Nf = [Pid]Pid{}", "Nr["+p+"] = Nr["+
			g.pid()+"]"))
	case k == 10:
		g.f("assert(%s != %s || Nx[%s] == %s)", p, g.pid(), g.pid(), g.integer(0, true))
	case k == 11:
		g.f("if cas(op, %s, %s) { %s = 1 }", of(g, "nil", p), g.pid(), g.place())
	case k == 12 && !g.c.init:
		g.f("await(%s)", g.ofNames())
	case k <= 14:
		g.f("if len(cn) < 2 { cn <- %s }", p)
	case k == 15:
		v := g.fresh("v")
		g.f("%s := %s", v, of(g, "nf == nil", p+" == "+g.pid(), "Nr["+p+"]["+g.pid()+"]"))
		g.c.bools = append(g.c.bools, v)
	case k == 16 && g.c.meets && !g.c.init && !g.c.atomic:
		g.f("select { case Nc[%s] <- %s: op = nil; case %s <-Nc[%s]: skip; case await(%s): x = 1 }",
			p, g.pid(), of(g, "", "op ="), g.pid(), g.ofNames())
	default:
		g.f("atomic { b = %s }", g.ofNames())
	}
}

// ofNames is a condition about all names.
func (g *writer) ofNames() string {
	v, w := g.fresh("i"), g.fresh("j")
	over := func(v string) string { return of(g, "forall", "exists") + " " + v + " in Pid " }
	switch g.n(7) {
	case 0:
		return fmt.Sprintf("(%s{ Nf[%s] == op || Nx[%s] == %d })", over(v), v, v, g.n(3))
	case 1:
		return fmt.Sprintf("(%s{ %s{ %s == %s || Nr[%s][%s] || !Nr[%s][%s] && b } })", over(v),
			over(w), v, w, v, w, w, v)
	case 2:
		return fmt.Sprintf("(count %s in Pid { Nx[%s] != %d && %s != op }) %s 1", v, v, g.n(3), v,
			of(g, "==", "<", ">"))
	case 3:
		return fmt.Sprintf("(%s %s in Pid { Nx[%s] }) %s %d", of(g, "min", "max"), v, v,
			of(g, "==", "<"), g.n(3))
	case 4, 5: // an index that is evaluated before
		p := of(g, append([]string{"op"}, g.c.pids...)...)
		guard := of(g, p+" == nil ||", p+" != nil &&", "b &&")
		cond := of(g, "("+over(v)+"{ Nr[%[2]s][%[1]s] || Nx[%[2]s] == 1 })",
			"("+over(v)+"{ %[1]s == %[2]s || "+over(w)+"{ Nr[%[2]s][%[3]s] && Nf[%[1]s] != "+
				"Nf[%[2]s] } })",
			"(count %[1]s in Pid { Nr[%[2]s][%[1]s] || Nr[op][%[2]s] }) < 2",
			"(max %[1]s in Pid { Nx[%[2]s] }) != 1")
		return fmt.Sprintf("(%s %s)", guard, fmt.Sprintf(cond, v, p, w))
	}
	return fmt.Sprintf("(%s{ len(cn) > 0 || Nf[%s] != nil && op != %s })", over(v), v, v)
}

// awaited is the condition of an await.
func (g *writer) awaited(depth int) string {
	cond := g.condition(depth, false)
	if g.named && g.one(3) {
		cond = g.ofNames()
	}
	if !g.timeouts || g.c.init || !g.one(2) {
		return cond
	}
	return of(g, "timeout()", "timeout()", "timeout() && "+cond, "timeout() || "+cond, "!timeout()",
		"("+cond+") == timeout()")
}

// quantified is a condition with a quantifier.
func (g *writer) quantified() string {
	head := of(g, "forall", "exists")
	if g.one(2) {
		return fmt.Sprintf("(%s i in 0..1 { A[i] %s %s })", head, of(g, "==", "!="),
			g.integer(0, false))
	}
	v, over := g.over()
	return fmt.Sprintf("(%s %s { %s })", head, over, g.with(v, func() string {
		return g.condition(1, false)
	}))
}

// over is the variable of a quantifier, as an expression of type uint2, and what it
// represents.
func (g *writer) over() (v, over string) {
	name := g.fresh("i")
	over = name + " in " + of(g, "0..1", "0..1", "1..3", "2..1")
	if g.c.property && !g.symmetric && g.one(2) {
		over = name + " in T0"
	}
	return "uint2(" + name + ")", over
}

// with writes something in which another expression of type uint2 is known.
func (g *writer) with(v string, write func() string) string {
	old := g.c.ints
	g.c.ints = append(slices.Clip(old), v)
	text := write()
	g.c.ints = old
	return text
}

// fold is a number of type uint2 that is counted or found among several.
func (g *writer) fold() string {
	v, over := g.over()
	if g.one(3) {
		return fmt.Sprintf("uint2(count %s { %s })", over, g.with(v, func() string {
			return g.condition(1, false)
		}))
	}
	op := of(g, "sum", "min", "max")
	if op != "sum" {
		over = strings.ReplaceAll(over, "2..1", "0..0")
	}
	return fmt.Sprintf("(%s %s { uint2(%s) & 3 })", op, over, g.with(v, func() string {
		return g.integer(1, false)
	}))
}

// property is a condition of an invariant.
func (g *writer) property() string {
	if g.named && g.one(2) {
		return g.ofNames()
	}
	g.c.property = true
	kinds := 8
	if g.c.formula {
		kinds = 6 // how many threads there are must be known
	}
	switch g.n(kinds) {
	case 7: // how many there are is known in the state only
		v := g.fresh("i")
		return fmt.Sprintf("count %s in child { child[%s].n %s %d } %s %d", v, v,
			of(g, "==", "!=", "<"), g.n(3), of(g, "<=", "!="), g.n(3))
	case 6:
		v := g.fresh("i")
		return fmt.Sprintf("(%s %s in child { child[%s].n != x || %s })", of(g, "forall", "exists"),
			v, v, of(g, "b", "s.f", "y == 1"))
	case 5:
		v := g.fresh("i")
		return fmt.Sprintf("count %s in T0 { T0[%s].n %s %d } %s %d", v, v, of(g, "==", "!=", "<"),
			g.n(3), of(g, "<=", "!="), g.n(3))
	case 0:
		if g.symmetric {
			v := g.fresh("i")
			return fmt.Sprintf("(%s %s in T0 { T0[%s].n != %d || b || x == T0[%s].n }) || %s",
				of(g, "forall", "exists"), v, v, g.n(3), v, g.condition(0, false))
		}
		return fmt.Sprintf("T0[0].n != %d || %s", g.n(3), g.condition(0, false))
	case 1:
		if g.symmetric {
			return fmt.Sprintf("%s i in T0 { T0[i].n } %s %d || b", of(g, "sum", "min", "max"),
				of(g, "<=", "!="), g.n(3))
		}
		return "forall i in 0..1 { T0[0].n + A[i & 1] <= 3 || b }"
	}
	return g.condition(2, false)
}

func (g *writer) formula(depth int) string {
	g.c.formula = true
	if depth == 0 {
		return "(" + g.property() + ")"
	}
	switch g.n(6) {
	case 0:
		return "[] " + g.formula(depth-1)
	case 1:
		return "<> " + g.formula(depth-1)
	case 2:
		return fmt.Sprintf("(%s %s %s)", g.formula(depth-1), of(g, "U", "W", "R", "->", "<->"),
			g.formula(depth-1))
	case 3:
		return fmt.Sprintf("(%s %s %s)", g.formula(depth-1), of(g, "&&", "||"), g.formula(depth-1))
	case 4:
		return "! " + g.formula(depth-1)
	}
	return fmt.Sprintf("(forall i in 0..1 { [] (A[i] != %d) })", g.n(3))
}

// place is a variable of type uint2.
func (g *writer) place() string {
	k := g.n(9)
	if g.c.still {
		k %= 3
	}
	switch k {
	case 0:
		if len(g.c.ints) > 0 {
			return of(g, g.c.ints...)
		}
	case 1:
		if len(g.c.arrays) > 0 {
			return fmt.Sprintf("%s[%s & 1]", of(g, g.c.arrays...), g.integer(0, false))
		}
	case 2:
		if len(g.c.structs) > 0 {
			return of(g, g.c.structs...) + ".a"
		}
	case 3:
		return fmt.Sprintf("A[%s & 1]", g.integer(2, true))
	case 4:
		return of(g, "*p", "q.a", "pa[0]", "s.a", "S[1].a", "S[x & 1].a")
	}
	if g.c.still {
		return "n"
	}
	return of(g, "x", "y", "A[0]", "A[1]", "D[0]")
}

func (g *writer) giveBack() {
	switch g.c.results {
	case 0:
		g.f("return")
	case 1:
		switch g.c.function {
		case "see":
			g.f("return %s", g.condition(2, true))
			return
		case "mk":
			g.f("return %s",
				of(g, append([]string{"s", "S[1]", "*q", fmt.Sprintf("pair{%s & 3, %s}",
					g.integer(1, true), g.condition(1, true))}, g.c.structs...)...))
			return
		}
		g.f("return %s & 3", g.integer(2, true))
	default:
		g.f("return %s, %s", g.integer(1, true), g.condition(2, true))
	}
}

func (g *writer) statement() {
	if g.named && !g.c.still && g.one(3) {
		g.naming()
		return
	}
	for {
		c := constructs[g.n(len(constructs))]
		if c.allowed != nil && !c.allowed(&g.c) {
			continue
		}
		if c.nests && g.c.depth >= g.size.Depth || g.c.still && !c.still {
			continue
		}
		c.write(g)
		return
	}
}

// construct is a row of the table of statements.
type construct struct {
	nests   bool // it contains statements
	still   bool // it can be in a function without effects
	allowed func(c *surroundings) bool
	write   func(g *writer)
}

var constructs []construct

func init() {
	add := func(write func(g *writer)) { constructs = append(constructs, construct{write: write}) }
	when := func(allowed func(c *surroundings) bool, write func(g *writer)) {
		constructs = append(constructs, construct{allowed: allowed, write: write})
	}
	still := func() { constructs[len(constructs)-1].still = true } // the last one
	nests := func(write func(g *writer)) {
		constructs = append(constructs, construct{nests: true, write: write})
	}
	thread := func(c *surroundings) bool { return c.meets && !c.atomic && !c.init }
	loop := func(c *surroundings) bool { return c.loops > 0 }

	// Assignments.
	add(func(g *writer) { g.f("%s = %s", g.place(), g.integer(2, true)) })
	still()
	add(func(g *writer) { g.f("%s = %s", g.place(), g.integer(1, true)) })
	still()
	add(func(g *writer) {
		g.f("%s, %s = %s, %s", g.place(), g.place(), g.integer(1, true),
			g.integer(1, true))
	})
	still()
	add(func(g *writer) {
		g.f("%s %s= %s", g.place(), of(g, "+", "-", "^", "|", "&", "<<"),
			g.integer(1, true))
	})
	still()
	add(func(g *writer) { g.f("%s%s", g.place(), of(g, "++", "--")) })
	still()
	add(func(g *writer) { g.f("%s = %s", of(g, "b", "s.f", "S[0].f"), g.condition(1, true)) })
	add(func(g *writer) { g.f("z = int2(%s)", g.integer(1, true)) })
	add(func(g *writer) {
		g.f("%s", of(g, "p = &x", "p = &A[y & 1]", "q = &s", "q = &S[x & 1]", "pa = &D", "p = nil",
			"q, p = &S[0], &s.a"))
	})
	add(func(g *writer) {
		g.f("%s", of(g, "A = D", "s = S[1]", "S[0] = s", "D = [2]uint2{x, 1}", "s = pair{f: b}",
			"s = *q", "A = *pa"))
	})
	add(func(g *writer) { g.f("_ = %s", g.integer(1, true)) })
	still()
	// Declarations.
	add(func(g *writer) {
		v := g.fresh("v")
		g.f("%s := %s", v, g.integer(2, true)+" & 3")
		g.c.ints = append(g.c.ints, v)
	})
	still()
	add(func(g *writer) {
		v := g.fresh("v")
		g.f("var %s uint2 = %s", v, g.integer(1, true))
		g.c.ints = append(g.c.ints, v)
	})
	still()
	add(func(g *writer) {
		v := g.fresh("v")
		g.f("%s := %s", v, g.condition(1, true))
		g.c.bools = append(g.c.bools, v)
	})
	still()
	add(func(g *writer) {
		v := g.fresh("v")
		g.f("%s := %s", v, of(g, "A", "[2]uint2{1, x}", "D"))
		g.c.arrays = append(g.c.arrays, v)
	})
	still()
	add(func(g *writer) {
		v := g.fresh("v")
		g.f("%s := %s", v, of(g, "s", "pair{a: x}", "S[y & 1]"))
		g.c.structs = append(g.c.structs, v)
	})
	still()
	add(func(g *writer) {
		k, v := g.fresh("k"), g.fresh("v")
		g.f("const %s = %d", k, g.n(4))
		g.f("type %s uint2", g.fresh("t"))
		g.f("var %s uint2 = %s", v, k)
		g.c.ints = append(g.c.ints, v)
	})
	still()
	when(func(c *surroundings) bool { return c.function != "two" && c.function != "f" },
		func(g *writer) {
			v, w := g.fresh("v"), g.fresh("v")
			g.f("%s, %s := two(%s)", v, w, g.integer(0, true))
			g.c.ints, g.c.bools = append(g.c.ints, v), append(g.c.bools, w)
		})
	makes := func(c *surroundings) bool {
		return c.function == "" || c.function == "meet" || c.function == "act"
	}
	when(makes, func(g *writer) {
		g.f("%s = mk(%s)", of(g, append([]string{"s", "S[0]", "S[x & 1]"}, g.c.structs...)...),
			g.integer(1, true))
	})
	when(makes, func(g *writer) {
		v := g.fresh("v")
		g.f("%s := mk(%s)", v, g.integer(1, true))
		g.c.structs = append(g.c.structs, v)
	})
	when(func(c *surroundings) bool { return c.function == "" || c.function == "meet" },
		func(g *writer) { g.f("act(%s)", g.integer(1, true)) })
	// Control.
	nests(func(g *writer) {
		if g.one(2) {
			v := g.fresh("v")
			g.f("if %s := %s; %s != %d {", v, g.integer(1, true), v, g.n(3))
		} else {
			g.f("if %s {", g.condition(2, true))
		}
		g.inside(nil)
		if g.one(3) {
			g.f("} else if %s {", g.condition(1, true))
			g.inside(nil)
		}
		if !g.one(3) {
			g.f("} else {")
			g.inside(nil)
		}
		g.f("}")
	})
	still()
	nests(func(g *writer) { g.loop() })
	still()
	nests(func(g *writer) { g.loop() })
	for range 3 {
		nests(func(g *writer) { g.ranges() })
		still()
		nests(func(g *writer) { g.switches() })
		still()
	}
	for range 3 {
		nests(func(g *writer) { g.selects() })
	}
	nests(func(g *writer) {
		g.f("choose {")
		for range 1 + g.n(3) {
			g.f("case:")
			g.inside(nil)
		}
		g.f("}")
	})
	for range 2 {
		nests(func(g *writer) {
			g.f("{")
			g.inside(nil)
			g.f("}")
		})
		still()
	}
	for range 2 {
		nests(func(g *writer) {
			g.f("atomic {")
			if g.one(2) && !g.c.still {
				g.f("\tawait(%s)", g.awaited(1))
			}
			g.inside(func(c *surroundings) { c.atomic, c.endless = true, true })
			g.f("}")
		})
		still()
		nests(func(g *writer) {
			g.f("synchronized (%s) {", of(g, "mo", "mo", "mo"))
			g.inside(func(c *surroundings) { c.held = true })
			g.f("}")
		})
	}
	for range 5 {
		when(loop, func(g *writer) { g.f("%s", of(g, "break", "continue")) })
		still()
	}
	when(loop, func(g *writer) {
		g.f("if %s { %s }", g.condition(0, true), of(g, "break", "continue"))
	})
	still()
	when(func(c *surroundings) bool { return c.breakable }, func(g *writer) { g.f("break") })
	still()
	for range 24 {
		when(func(c *surroundings) bool { return c.loopLabel != "" }, func(g *writer) {
			g.f("%s %s", of(g, "break", "continue"), g.c.loopLabel)
		})
		still()
	}
	when(func(c *surroundings) bool { return !c.each }, func(g *writer) {
		l := g.fresh("l")
		g.f("goto %s", l)
		g.plain()
		g.f("%s:", l)
		g.plain()
	})
	still()
	when(func(c *surroundings) bool { return !c.init }, func(g *writer) { g.giveBack() })
	still()
	when(func(c *surroundings) bool { return !c.each }, func(g *writer) {
		l := g.fresh("l")
		g.f("if %s { goto %s }", g.condition(0, true), l)
		g.plain()
		g.f("%s:", l)
		g.plain()
	})
	still()
	when(func(c *surroundings) bool { return !c.each && !c.atomic && !c.init }, func(g *writer) {
		g.f("%s:", g.fresh(of(g, "end_", "l")))
		g.f("%s", of(g, "await("+g.awaited(1)+")", "lock(m[0])", "c <- 1", "<-c", "skip",
			"down(sem)"))
	})
	when(func(c *surroundings) bool { return !c.each && !c.atomic && !c.init && !c.endless },
		func(g *writer) {
			l := g.fresh("l")
			v := g.fresh("v")
			g.f("var %s uint2", v)
			g.f("%s:", l)
			g.f("%s++", v)
			g.plain()
			g.f("if %s < 2 && %s { goto %s }", v, g.condition(0, true), l)
		})
	still()
	// Synchronization.
	when(func(c *surroundings) bool { return !c.init }, func(g *writer) {
		g.f("await(%s)", g.awaited(2))
	})
	add(func(g *writer) { g.f("await(%s)", of(g, "x == x", "y <= 3", "b || !b")) })
	add(func(g *writer) { g.f("assert(%s)", g.condition(2, true)) })
	still()
	add(func(g *writer) { g.f("assert(%s, \"said\")", g.condition(1, true)) })
	still()
	for range 5 {
		when(func(c *surroundings) bool { return c.init }, func(g *writer) {
			g.f("assume(%s)", of(g, g.condition(2, false), g.condition(1, false),
				fmt.Sprintf("%s(x, %s) != 3", of(g, "min", "max"), g.integer(1, false))))
		})
	}
	add(func(g *writer) { g.f("skip") })
	for range 2 {
		add(func(g *writer) {
			g.f("print(%s)", of(g, "\"said\"", "\"x is\", x", g.integer(1, true)+", "+
				g.integer(1, true), "A, s", "q, \"and\", p", "trylock(m[1]), tryrlock(rw)",
				g.condition(1, true)+", "+g.integer(1, true), g.quantified()))
		})
		still()
	}
	for range 2 {
		when(func(c *surroundings) bool { return !c.init }, func(g *writer) {
			m := g.n(2)
			g.f("lock(m[%d])", m)
			if !g.one(8) {
				g.plain()
				g.f("unlock(m[%d])", m)
			}
		})
	}
	add(func(g *writer) { g.f("unlock(m[%s & 1])", g.integer(0, false)) })
	when(func(c *surroundings) bool { return c.init }, func(g *writer) {
		g.f("lock(m[%d])", g.n(2))
	})
	for range 2 {
		add(func(g *writer) { g.f("%s(sem)", of(g, "up", "down")) })
	}
	add(func(g *writer) { g.f("up(sem)") })
	for range 2 {
		when(func(c *surroundings) bool { return !c.init }, func(g *writer) {
			kind := of(g, "", "r", "r")
			g.f("%slock(rw)", kind)
			if !g.one(8) {
				g.plain()
				g.f("%sunlock(rw)", kind)
			}
		})
	}
	add(func(g *writer) {
		g.f("%s(%s)", of(g, "lock", "rlock", "unlock", "runlock", "runlock"),
			of(g, "rw", "rw", "&rw"))
	})
	add(func(g *writer) {
		g.f("add(wg, %s)", of(g, "1", "1", "2", fmt.Sprintf("int(%s)", g.integer(1, true))))
	})
	add(func(g *writer) { g.f("done(wg)") })
	add(func(g *writer) { g.f("wait(wg)") })
	for range 2 {
		when(thread, func(g *writer) {
			m := g.n(2)
			g.f("lock(m[%d])", m)
			g.f("%s %s { wait(cv, m[%d]) }", of(g, "if", "for"), g.condition(0, false), m)
			if !g.one(8) {
				g.f("unlock(m[%d])", m)
			}
		})
	}
	when(thread, func(g *writer) {
		m := fmt.Sprintf("m[%s & 1]", g.integer(0, false))
		g.f("wait(%s, %s)", of(g, "cv", "cv", "&cv"), of(g, m, "&"+m))
	})
	for range 2 {
		add(func(g *writer) {
			g.f("%s(%s)", of(g, "signal", "broadcast"), of(g, "cv", "cv", "&cv"))
		})
		when(func(c *surroundings) bool { return !c.init }, func(g *writer) {
			m := g.n(2)
			g.f("if %s { unlock(m[%d]) }", of(g, fmt.Sprintf("trylock(m[%d])", m),
				fmt.Sprintf("trylock(m[%s & 1])", g.integer(0, false))), m)
			g.f("if %s { %sunlock(rw) }", of(g, "trylock(rw)", "tryrlock(rw)", "tryrlock(&rw)"),
				of(g, "", "r", "r"))
		})
	}
	add(func(g *writer) { g.f("%s", of(g, "trylock(m[1])", "trylock(rw)", "tryrlock(rw)")) })
	when(func(c *surroundings) bool { return c.held }, func(g *writer) {
		g.f("%s(mo)", of(g, "notify", "notifyAll"))
	})
	when(func(c *surroundings) bool { return thread(c) && c.held }, func(g *writer) {
		g.f("wait(mo)")
	})
	when(func(c *surroundings) bool { return thread(c) && c.held }, func(g *writer) {
		g.f("if %s { wait(mo) }", g.condition(0, false))
	})
	add(func(g *writer) { g.f("%s(mo)", of(g, "notify", "notifyAll")) })
	when(thread, func(g *writer) { g.f("wait(mo)") })
	// Channels.
	for range 2 {
		add(func(g *writer) { g.f("%s <- %s", g.channel(), g.integer(1, true)) })
		add(func(g *writer) { g.f("%s = <-%s", g.place(), g.view()) })
	}
	add(func(g *writer) { g.f("<-%s", g.view()) })
	add(func(g *writer) {
		c, value, pattern := g.pairs(true)
		g.f("%s <- %s", c, value)
		if g.one(2) {
			g.f("%s", of(g, "s = ", "S[1] = ", "")+"<-"+g.part(c, pattern))
		}
	})
	add(func(g *writer) {
		c, _, pattern := g.pairs(true)
		v := g.fresh("v")
		g.f("%s := <-%s", v, of(g, c, g.part(c, pattern), g.part(c, pattern)))
		g.c.structs = append(g.c.structs, v)
	})
	add(func(g *writer) {
		v, w := g.fresh("v"), g.fresh("v")
		g.f("%s, %s := <-%s", v, w, g.view())
		g.c.ints, g.c.bools = append(g.c.ints, v), append(g.c.bools, w)
	})
	add(func(g *writer) { g.f("close(%s)", g.channel()) })
	add(func(g *writer) {
		v := g.fresh("r")
		g.f("%s := %s", v, g.channel())
		if g.one(2) {
			g.f("%s = %s", v, g.channel())
		}
		g.f("%s", of(g, v+" <- x", "<-"+v, "y = <-"+v, "<-"+g.part(v, "x"),
			fmt.Sprintf("if poll(%s) { y = 1 }", of(g, v, g.part(v, "1")))))
	})
	when(func(c *surroundings) bool { return !c.endless && c.function == "" }, func(g *writer) {
		g.f("go child(%s)", g.integer(1, true))
	})
	add(func(g *writer) {
		g.f("cas(%s, %s, %s)", of(g, "x", "A[0]", "*p"), g.integer(0, true), g.integer(0, true))
	})
	add(func(g *writer) {
		g.f("cas(%s)", of(g, "s, S[1], pair{a: x}", "S[y & 1], s, *q", "A, D, [2]uint2{1, x}",
			"*pa, A, D"))
	})
}

// plain writes a statement that declares nothing.
func (g *writer) plain() {
	switch g.n(4) {
	case 0:
		g.f("assert(%s)", g.condition(1, true))
	case 1:
		if g.c.still {
			g.f("%s++", g.place())
			return
		}
		g.f("%s++", of(g, "x", "y"))
	default:
		g.f("%s = %s", g.place(), g.integer(1, true))
	}
}

// loop writes a for statement.
func (g *writer) loop() {
	label := ""
	if !g.c.each && g.one(2) {
		label = g.fresh("l")
		g.f("%s:", label)
	}
	enter := func(endless bool) func(c *surroundings) {
		return func(c *surroundings) {
			c.loops++
			c.breakable, c.loopLabel = true, label
			c.endless = c.endless || endless
		}
	}
	i := g.fresh("i")
	once := g.c.atomic || g.c.init || g.c.still
	switch k := g.n(4); {
	case k == 0 && !once:
		g.f("for {")
		g.inside(enter(true))
		if !g.one(3) {
			g.f("\tif %s { break }", g.condition(0, true))
		}
		g.f("\tskip")
	case k == 1 && !once:
		g.f("for %s {", g.condition(2, true))
		g.inside(enter(true))
		g.f("\tskip")
	case k == 2:
		g.f("for {")
		g.inside(func(c *surroundings) {
			enter(false)(c)
			c.loops, c.loopLabel = 0, "" // no continue: it is left at once
		})
		g.f("\tbreak")
	default:
		g.f("for %s := uint2(0); %s < 2 && %s; %s++ {", i, i, g.condition(0, true), i)
		g.inside(enter(false))
	}
	g.f("}")
}

func (g *writer) ranges() {
	label := ""
	if !g.c.each && g.one(2) {
		label = g.fresh("l")
	}
	enter := func(c *surroundings) {
		c.loops++
		c.breakable, c.loopLabel = true, label
	}
	if label != "" {
		g.f("%s:", label)
	}
	v := g.fresh("v")
	k := g.n(6)
	if g.c.still {
		k %= 4
	}
	switch k {
	case 0:
		g.f("for range %d {", 1+g.n(2))
		g.inside(enter)
	case 1:
		g.f("for %s := range uint2(2) {", v)
		g.inside(func(c *surroundings) { enter(c); c.ints = append(c.ints, v) })
	case 2:
		g.f("for _, %s := range %s {", v, of(g, "A", "D", "pa", "pa"))
		g.inside(func(c *surroundings) { enter(c); c.ints = append(c.ints, v) })
	case 3:
		g.f("for _, %s := range S {", v)
		g.inside(func(c *surroundings) { enter(c); c.structs = append(c.structs, v) })
	case 4:
		w := "D"
		if len(g.c.arrays) > 0 {
			w = of(g, g.c.arrays...)
		}
		g.f("for _, %s = range %s {", of(g, "x", "s.a"), w)
		g.inside(enter)
	default:
		g.f("for %s := range %s {", v, of(g, "c", g.channel()))
		g.inside(func(c *surroundings) { enter(c); c.ints = append(c.ints, v); c.endless = true })
	}
	g.f("}")
}

func (g *writer) switches() {
	enter := func(c *surroundings) { c.breakable = true }
	tag := g.one(2)
	head := "switch "
	if g.one(3) {
		head += "v := " + g.integer(0, true) + "; "
		if tag {
			head += of(g, "v ", "v ", g.integer(1, true)+" ")
		}
	} else if tag {
		head += g.integer(2, true) + " "
	}
	g.f("%s{", head)
	for i := range 1 + g.n(2) {
		if tag {
			g.f("case %s:", of(g, fmt.Sprint(i), fmt.Sprintf("%d, %d", 2*i, 2*i+1), "x & 1",
				g.integer(2, true)+" & 3", g.integer(1, true)+" & 3"))
		} else {
			g.f("case %s:", g.condition(1, true))
		}
		g.inside(enter)
		if g.one(4) {
			g.f("\tfallthrough")
			g.f("case %s:", map[bool]string{true: fmt.Sprintf("y | %d", 1+i), false: "b"}[tag])
			g.inside(enter)
		}
	}
	if g.one(2) {
		g.f("default:")
		g.inside(enter)
	}
	g.f("}")
}

func (g *writer) selects() {
	g.f("select {")
	enter := func(c *surroundings) { c.breakable = true }
	for range 1 + g.n(3) {
		v, ok := g.fresh("v"), g.fresh("v")
		switch g.n(8) {
		case 0, 1:
			g.f("case %s <- %s:", g.channel(), g.integer(1, true))
			g.inside(enter)
		case 2:
			g.f("case %s = <-%s:", g.place(), g.view())
			g.inside(enter)
		case 3:
			view := g.view()
			if g.one(2) {
				c, _, pattern := g.pairs(true)
				view = g.part(c, pattern)
			}
			g.f("case <-%s:", view)
			g.inside(enter)
		case 4:
			g.f("case %s, %s := <-%s:", v, ok, g.view())
			g.inside(func(c *surroundings) {
				enter(c)
				c.ints = append(c.ints, v)
				c.bools = append(c.bools, ok)
			})
		case 5:
			g.f("case exists %s in 0..1 { %s }:", g.fresh("e"), of(g, "x = <-C[e]", "C[e] <- x",
				"await(A[e] == 1)", "<-C[e]", "x = <-match(C[e], A[e])",
				"<-match(bp[e], pair{a: x})"))
			s := g.b.String() // the variable's name
			e := fmt.Sprintf("e%d", g.names)
			g.b.Reset()
			g.b.WriteString(strings.ReplaceAll(s, "[e]", "["+e+"]"))
			g.inside(func(c *surroundings) { enter(c); c.each = true })
		default:
			g.f("case await(%s):", g.awaited(1))
			g.inside(enter)
		}
	}
	if g.one(3) || g.c.init {
		g.f("default:")
		g.inside(enter)
	}
	g.f("}")
}
