package gogen

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Sequential makes a random sequential program. Its output is determined by the
// language: an expression calls at most pure functions, and no statement has two
// operations that may panic (the specification leaves their order open). Values
// are printed by println, and composite ones by fmt if useFmt.
func Sequential(r *rand.Rand, useFmt bool) string {
	g := &gen{r: r, fmt: useFmt}
	return g.program()
}

var (
	intTypes = []string{"int", "int8", "int16", "int32", "int64", "uint", "uint8", "uint16",
		"uint32", "uint64"}
	floatTypes = []string{"float64", "float32"}
	basicTypes = append(append([]string{"bool", "string"}, intTypes...), floatTypes...)
)

type variable struct{ name, typ string }

type function struct {
	name   string
	params []string
	result string
}

type gen struct {
	r      *rand.Rand
	b      strings.Builder
	indent int
	fmt    bool
	n      int // of names
	funcs  []function
	vars   []variable // in scope
	fixed  []variable // in scope, not to be assigned: loop counters
	loops  []string   // labels of the loops around, in the same function
	depth  int
	result string // of the function that is generated
	named  bool   // its result is called res
	size   int    // statements so far
}

func (g *gen) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.indent))
	fmt.Fprintf(&g.b, format+"\n", args...)
}

func (g *gen) name(prefix string) string { g.n++; return fmt.Sprintf("%s%d", prefix, g.n) }

func pick[T any](g *gen, xs []T) T { return xs[g.r.IntN(len(xs))] }

func (g *gen) chance(percent int) bool { return g.r.IntN(100) < percent }

func isInt(t string) bool   { return strings.HasPrefix(t, "int") || strings.HasPrefix(t, "uint") }
func isFloat(t string) bool { return strings.HasPrefix(t, "float") }

// composite types that every program declares; see prelude.
var composites = []string{"[]int", "[]string", "[4]int16", "map[string]int", "map[int8]string",
	"point", "*point", "shape", "any", "func(int) int", "[]point", "stack[int]", "node"}

func (g *gen) typ() string {
	if g.chance(60) {
		return pick(g, basicTypes)
	}
	return pick(g, composites)
}

const prelude = `
var fuel = 3000

type point struct {
	x int32
	y uint8
	s string
}

func (p point) sum() int          { return int(p.x) + int(p.y) + len(p.s) }
func (p *point) move(d int32) int { p.x += d; p.y++; return int(p.x) }

type shape interface {
	area() int
	name() string
}
type square int16
type rect struct {
	point
	w, h int8
}

func (s square) area() int   { return int(s) * int(s) }
func (s square) name() string { return "square" }
func (r *rect) area() int    { return int(r.w)*int(r.h) + r.sum() }
func (r *rect) name() string { return "rect" + r.s }

type stack[T any] struct{ items []T }

func (s *stack[T]) push(x T) int { s.items = append(s.items, x); return len(s.items) }
func (s *stack[T]) pop() (x T, ok bool) {
	if n := len(s.items); n > 0 {
		x, ok = s.items[n-1], true
		s.items = s.items[:n-1]
	}
	return
}

type node struct {
	v    int
	next *node
}

func (n *node) add(v int) *node { return &node{v, n} }
func (n *node) total() (t int) {
	for ; n != nil; n = n.next {
		t = t*31 + n.v
	}
	return
}
func mapTo[T, U any](xs []T, f func(T) U) (out []U) {
	for _, x := range xs {
		out = append(out, f(x))
	}
	return
}
func fold[T, A any](xs []T, a A, f func(A, T) A) A {
	for _, x := range xs {
		a = f(a, x)
	}
	return a
}
func largest[T int | int8 | uint64 | float64 | string](a, b T) T {
	if a > b {
		return a
	}
	return b
}
func upto(n int) func(func(int) bool) {
	return func(yield func(int) bool) {
		for i := 0; i < n; i++ {
			if !yield(i) {
				println("stopped", i)
				return
			}
		}
	}
}
func id[T any](x T) T { return x }
func kind(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case int:
		return "int"
	case string:
		return "string" + v
	case shape:
		return v.name()
	case point, *point:
		return "point"
	case func(int) int:
		return "func"
	case error:
		return v.Error()
	}
	return "other"
}
func showInts(xs []int) {
	print("[")
	for _, x := range xs {
		print(x, " ")
	}
	println("]", len(xs), xs == nil)
}
func showMap(m map[string]int) {
	sum := 0
	for k, v := range m {
		sum += v*7 + len(k)
	}
	println("map", len(m), sum)
}
func failure(r any) string {
	switch r := r.(type) {
	case error:
		return r.Error()
	case string:
		return r
	case int:
		return "int"
	}
	return "?"
}
`

func (g *gen) program() string {
	for range 2 + g.r.IntN(4) {
		g.function()
	}
	g.line("func main() {")
	g.indent++
	g.vars, g.result = nil, ""
	for range 3 {
		g.declare()
	}
	for _, f := range g.funcs {
		for range 1 + g.r.IntN(2) {
			g.call(f)
		}
	}
	for range 4 + g.r.IntN(10) {
		g.statement()
	}
	g.showAll()
	g.indent--
	g.line("}")
	head := "package main\n\n"
	if g.fmt {
		head += "import \"fmt\"\n\nvar _ = fmt.Sprint\n"
	}
	return head + prelude + "\n" + g.b.String()
}

func (g *gen) function() {
	f := function{name: g.name("f"), result: pick(g, []string{"int", "string", "uint8", "float64",
		"[]int", "bool", "int64"})}
	var params []string
	g.vars, g.fixed, g.loops, g.size = nil, nil, nil, 0
	for i := range g.r.IntN(4) {
		t := g.typ()
		f.params = append(f.params, t)
		params = append(params, fmt.Sprintf("p%d %s", i, t))
		g.vars = append(g.vars, variable{fmt.Sprintf("p%d", i), t})
	}
	g.named = g.chance(50)
	g.result = f.result
	res := f.result
	if g.named {
		res = "(res " + res + ")"
	}
	g.line("func %s(%s) %s {", f.name, strings.Join(params, ", "), res)
	g.indent++
	g.line("if fuel--; fuel < 0 {\n\t\treturn %s\n\t}", g.zero(f.result))
	if g.named {
		g.vars = append(g.vars, variable{"res", f.result})
	}
	for range 2 + g.r.IntN(8) {
		g.statement()
	}
	g.line("return %s", g.expr(f.result, 2))
	g.indent--
	g.line("}\n")
	g.funcs = append(g.funcs, f)
}

// call calls a function, catching what it panics with.
func (g *gen) call(f function) {
	args := make([]string, len(f.params))
	for i, t := range f.params {
		args[i] = g.atom(t)
	}
	g.line("func() {")
	g.indent++
	g.line("defer func() {\n\t\tif r := recover(); r != nil {\n\t\t\tprintln(\"failed:\", " +
		"failure(r))\n\t\t}\n\t}()")
	v := g.name("v")
	g.line("%s := %s(%s)", v, f.name, strings.Join(args, ", "))
	g.show(v, f.result)
	g.indent--
	g.line("}()")
}

func (g *gen) scoped(f func()) {
	v, x := len(g.vars), len(g.fixed)
	g.indent++
	g.depth++
	f()
	g.depth--
	g.indent--
	g.vars, g.fixed = g.vars[:v], g.fixed[:x]
}

func (g *gen) block(n int) {
	g.scoped(func() {
		for range n {
			g.statement()
		}
	})
}

func (g *gen) declare() variable {
	v := variable{g.name("v"), g.typ()}
	switch {
	case g.chance(20):
		g.line("var %s %s", v.name, v.typ)
	case g.chance(50):
		g.line("var %s %s = %s", v.name, v.typ, g.expr(v.typ, 2))
	default:
		g.line("%s := %s", v.name, g.typed(v.typ))
	}
	g.line("_ = %s", v.name)
	g.vars = append(g.vars, v)
	return v
}

// typed returns an expression that has the type even where nothing asks for it.
func (g *gen) typed(t string) string {
	switch {
	case strings.HasPrefix(t, "*"), strings.HasPrefix(t, "func"), strings.HasPrefix(t, "["),
		strings.HasPrefix(t, "map"):
		return "(" + t + ")(" + g.expr(t, 2) + ")"
	}
	return t + "(" + g.expr(t, 2) + ")"
}

func (g *gen) of(t string) (string, bool) {
	var names []string
	for _, v := range g.vars {
		if v.typ == t {
			names = append(names, v.name)
		}
	}
	for _, v := range g.fixed {
		if v.typ == t {
			names = append(names, v.name)
		}
	}
	if len(names) == 0 {
		return "", false
	}
	return pick(g, names), true
}

// assignable returns a variable of a type that may be assigned to, declaring one
// if there is none.
func (g *gen) assignable(t string) string {
	var names []string
	for _, v := range g.vars {
		if v.typ == t {
			names = append(names, v.name)
		}
	}
	if len(names) > 0 && g.chance(90) {
		return pick(g, names)
	}
	n := g.name("v")
	g.line("var %s %s = %s", n, t, g.expr(t, 1))
	g.line("_ = %s", n)
	g.vars = append(g.vars, variable{n, t})
	return n
}

func (g *gen) statement() {
	g.size++
	if g.depth > 4 || g.size > 120 {
		g.show(g.mustVar("int"), "int")
		return
	}
	switch k := g.r.IntN(36); {
	case k < 5:
		g.declare()
	case k < 9:
		t := pick(g, basicTypes)
		g.line("%s = %s", g.assignable(t), g.expr(t, 3))
	case k < 11:
		t := pick(g, composites)
		g.line("%s = %s", g.assignable(t), g.expr(t, 2))
	case k < 13:
		t := pick(g, intTypes)
		op := pick(g, []string{"+", "-", "*", "&", "|", "^", "&^", "<<", ">>"})
		e := g.expr(t, 2)
		if strings.HasSuffix(op, "<") || strings.HasSuffix(op, ">") {
			e = fmt.Sprintf("(%s & 31)", g.expr("uint", 1))
		}
		g.line("%s %s= %s", g.assignable(t), op, e)
	case k < 15:
		v, w := g.assignable("int"), g.assignable("int")
		g.line("%s, %s = %s, %s", v, w, g.expr("int", 2), g.expr("int", 2))
		g.show(v, "int")
	case k < 18:
		g.line("if %s {", g.expr("bool", 3))
		g.block(1 + g.r.IntN(3))
		if g.chance(50) {
			g.line("} else if %s {", g.expr("bool", 2))
			g.block(1)
		}
		if g.chance(50) {
			g.line("} else {")
			g.block(1 + g.r.IntN(2))
		}
		g.line("}")
	case k < 21:
		g.loop()
	case k < 23:
		g.switching()
	case k < 25:
		g.mayPanic()
	case k < 26:
		g.line("defer func() {")
		named, result := g.named && g.result != "", g.result
		g.inFunction(func() {
			if named && g.chance(60) {
				g.line("res = %s", g.expr(result, 1))
			}
			g.block(1)
			if g.chance(30) {
				g.line("\tif r := recover(); r != nil {\n\tprintln(\"recovered\", failure(r))\n}")
			}
		})
		g.line("}()")
	case k < 27:
		g.closure()
	case k < 29:
		g.containers()
	case k < 30:
		g.line("func() {")
		g.inFunction(func() { g.block(2) })
		g.line("}()")
	case k < 31:
		v := g.assignable("stack[int]")
		g.line("%s.push(%s)", v, g.expr("int", 1))
		n := g.name("v")
		g.line("%s, ok%s := %s.pop()", n, n, v)
		g.line("println(%s, ok%s)", n, n)
		g.vars = append(g.vars, variable{n, "int"})
	case k < 32:
		label, v := g.name("L"), g.assignable("int")
		g.line("%s = 0", v)
		g.line("%s:", label)
		g.line("if %s++; %s < 3 {", v, v)
		g.scoped(func() { g.show(v, "int"); g.line("goto %s", label) })
		g.line("}")
	case k < 33 && len(g.loops) > 0:
		g.line("if %s {\n%s %s\n}", g.expr("bool", 2), pick(g, []string{"break", "continue"}),
			pick(g, g.loops))
	case k < 34 && g.result != "":
		g.line("if %s {\nreturn %s\n}", g.expr("bool", 3), g.expr(g.result, 2))
	default:
		t := g.typ()
		g.show(g.mustVar(t), t)
	}
}

// inFunction generates a function literal's body: what is around is visible, but
// its loops and its result are not reachable.
func (g *gen) inFunction(f func()) {
	loops, result := g.loops, g.result
	g.loops, g.result = nil, ""
	g.scoped(f)
	g.loops, g.result = loops, result
}

func (g *gen) loop() {
	label := g.name("L")
	n := 1 + g.r.IntN(4)
	i := variable{g.name("i"), "int"}
	body := func(extra ...variable) {
		g.scoped(func() {
			g.line("if fuel--; fuel < 0 {\n\tbreak %s\n}", label)
			g.loops = append(g.loops, label)
			for _, v := range extra {
				g.line("_ = %s", v.name)
			}
			g.fixed = append(g.fixed, extra...)
			for range 1 + g.r.IntN(3) {
				g.statement()
			}
			g.loops = g.loops[:len(g.loops)-1]
		})
		g.line("}")
	}
	x := variable{g.name("x"), ""}
	switch g.r.IntN(7) {
	case 0:
		g.line("%s:\nfor %s := 0; %s < %d; %s++ {", label, i.name, i.name, n, i.name)
		body(i)
	case 1:
		g.line("%s:\nfor %s := range %d {", label, i.name, n)
		body(i)
	case 2:
		s := g.name("s")
		g.line("%s := %s", s, g.expr("[]int", 1))
		x.typ = "int"
		g.line("if len(%s) > 5 {\n\t%s = %s[:5]\n}", s, s, s)
		g.line("%s:\nfor %s, %s := range %s {", label, i.name, x.name, s)
		body(i, x)
	case 3:
		x.typ = "int32"
		g.line("%s:\nfor %s, %s := range %q {", label, i.name, x.name,
			pick(g, []string{"héy", "a\xffb", "", "日本"}))
		body(i, x)
	case 4:
		g.line("%s:\nfor %s := range upto(%d) {", label, i.name, n)
		body(i)
	case 5:
		a := g.name("a")
		g.line("%s := %s", a, g.expr("[4]int16", 1))
		x.typ = "int16"
		g.line("%s:\nfor %s, %s := range %s {", label, i.name, x.name, a)
		body(i, x)
	case 6:
		g.line("%s := %d", i.name, n)
		g.line("%s:\nfor %s > 0 {", label, i.name)
		g.scoped(func() { g.line("%s--", i.name) })
		body(i)
	}
}

func (g *gen) switching() {
	switch g.r.IntN(3) {
	case 0:
		g.line("switch %s {", g.expr("int8", 2)+" % 4")
		for i := range 3 {
			g.line("case %d, %d:", i, -1-i)
			g.block(1)
			if g.chance(25) && i < 2 {
				g.line("\tfallthrough")
			}
		}
		g.line("default:")
		g.block(1)
		g.line("}")
	case 1:
		g.line("switch {")
		for range 2 {
			g.line("case %s:", g.expr("bool", 2))
			g.block(1)
		}
		g.line("}")
	case 2:
		v := g.name("v")
		g.line("switch %s := any(%s).(type) {", v, g.atom("any"))
		g.line("case int:")
		g.scoped(func() {
			g.vars = append(g.vars, variable{v, "int"})
			g.show(v, "int")
			g.statement()
		})
		g.line("case string, nil:\n\tprintln(\"string or nil\", %s == nil)", v)
		g.line("case shape:\n\tprintln(%s.name(), %s.area())", v, v)
		g.line("default:\n\tprintln(kind(%s))", v)
		g.line("}")
	}
}

// mayPanic makes a statement with one operation that may panic, mostly with a
// recover around.
func (g *gen) mayPanic() {
	caught := g.chance(80)
	if caught {
		g.line("func() {")
		g.line("defer func() { println(\"caught\", failure(recover())) }()")
	}
	emit := func() {
		switch g.r.IntN(12) {
		case 0:
			g.line("%s = %s[%s&7]", g.assignable("int"), g.mustVar("[]int"), g.expr("int", 1))
		case 1:
			t := pick(g, intTypes)
			a, b := g.mustVar(t), g.mustVar(t)
			g.line("println(%s %s %s)", a, pick(g, []string{"/", "%"}), b)
		case 2:
			s := g.mustVar("[]int")
			i := g.mustVar("int")
			g.line("showInts(%s[%s&3:])", s, i)
		case 3:
			g.line("println(any(%s).(%s))", g.mustVar("any"), pick(g, []string{"int", "string"}))
		case 4:
			g.line("println(%s.x)", g.mustVar("*point"))
		case 5:
			g.line("println(%s.area())", g.mustVar("shape"))
		case 6:
			g.line("{\nvar m map[string]int\nm[\"a\"] = 1\n}")
		case 7:
			g.line("panic(%s)", pick(g, []string{g.atom("string"), g.atom("int")}))
		case 8:
			s := g.mustVar("string")
			i := g.mustVar("int")
			g.line("println(%s[%s&3])", s, i)
		case 9:
			f := g.mustVar("func(int) int")
			g.line("println(%s(%s))", f, g.atom("int"))
		case 10:
			s, i := g.mustVar("[]string"), g.mustVar("int")
			g.line("%s[%s&1] = %s", s, i, g.atom("string"))
		case 11:
			n := g.mustVar("int8")
			g.line("println(len(make([]int, %s)))", n)
		}
	}
	if caught {
		g.inFunction(emit)
		g.line("}()")
	} else {
		emit()
	}
}

// mustVar returns a variable of a type, declaring one if there is none, so that
// operands of an operation that panics are plain.
func (g *gen) mustVar(t string) string {
	if v, ok := g.of(t); ok {
		return v
	}
	return g.assignable(t)
}

func (g *gen) closure() {
	f, captured := g.name("f"), g.assignable("int")
	g.line("%s := func(k int) int {", f)
	g.inFunction(func() {
		g.vars = append(g.vars, variable{"k", "int"})
		g.line("%s += k", captured)
		if g.chance(50) {
			g.statement()
		}
		g.line("return %s", g.expr("int", 2))
	})
	g.line("}")
	g.vars = append(g.vars, variable{f, "func(int) int"})
	v := g.name("v")
	g.line("%s := %s(%s)", v, f, g.atom("int"))
	g.line("println(%s, %s)", v, captured)
	g.vars = append(g.vars, variable{v, "int"})
}

func (g *gen) containers() {
	switch g.r.IntN(12) {
	case 0:
		s := g.assignable("[]int")
		g.line("%s = append(%s, %s, %s)", s, s, g.expr("int", 2), g.expr("int", 1))
		g.show(s, "[]int")
	case 1:
		a, b := g.assignable("[]int"), g.assignable("[]int")
		g.line("%s = append(%s[:len(%s)/2], %s...)", a, a, a, b)
		g.show(a, "[]int")
		g.show(b, "[]int")
	case 2:
		a, b := g.mustVar("[]int"), g.mustVar("[]int")
		g.line("println(copy(%s, %s))", a, b)
		g.show(a, "[]int")
	case 3:
		m := g.assignable("map[string]int")
		g.line("if %s == nil {\n\t%s = map[string]int{}\n}", m, m)
		g.line("%s[%s] %s= %s", m, g.expr("string", 1), pick(g, []string{"", "+", "-", "^"}),
			g.expr("int", 1))
		g.show(m, "map[string]int")
	case 4:
		m, k := g.mustVar("map[string]int"), g.mustVar("string")
		v := g.name("v")
		g.line("%s, ok%s := %s[%s]", v, v, m, k)
		g.line("delete(%s, %s)", m, k)
		g.line("println(%s, ok%s, len(%s))", v, v, m)
		g.vars = append(g.vars, variable{v, "int"})
	case 5:
		a := g.assignable("[4]int16")
		b := g.name("v")
		g.line("%s := %s", b, a)
		g.line("%s[%s&3] %s= %s", a, g.expr("int", 1), pick(g, []string{"", "+", "*"}),
			g.expr("int16", 1))
		g.line("println(%s == %s, len(%s))", a, b, b)
		g.vars = append(g.vars, variable{b, "[4]int16"})
	case 6:
		p := g.assignable("point")
		q := g.name("v")
		g.line("%s := &%s", q, p)
		g.line("println(%s.move(%s))", q, g.atom("int32"))
		g.line("%s.s += %s", p, g.atom("string"))
		g.show(p, "point")
		g.vars = append(g.vars, variable{q, "*point"})
	case 7:
		s := g.assignable("[]point")
		g.line("%s = append(%s, %s)", s, s, g.expr("point", 1))
		g.line("%s[0].x++", s)
		g.line("println(len(%s), %s[0].sum())", s, s)
	case 8:
		f := g.name("f")
		g.line("%s := func(x int) string { return kind(any(x)) + %s }", f, g.atom("string"))
		g.line("println(len(mapTo(%s, %s)))", g.atom("[]int"), f)
	case 9:
		g.line("println(fold(%s, %s, func(a int, x int) int { return a*3 + x }))", g.atom("[]int"),
			g.atom("int"))
	case 10:
		g.line("println(largest(%s, %s), largest(%s, %s))", g.expr("int8", 2), g.atom("int8"),
			g.atom("string"), g.expr("string", 1))
	case 11:
		s := g.assignable("[]int")
		b := g.name("v")
		g.line("%s := %s[:min(1, len(%s)):min(2, cap(%s))]", b, s, s, s)
		g.line("%s = append(%s, %s)", b, b, g.atom("int"))
		g.show(s, "[]int")
		g.show(b, "[]int")
		g.vars = append(g.vars, variable{b, "[]int"})
	}
}

func (g *gen) showAll() {
	for _, v := range g.vars {
		g.show(v.name, v.typ)
	}
}

// show prints a value so that all of it is seen and nothing else (no addresses,
// nothing that depends on the order in maps).
func (g *gen) show(v, t string) {
	switch {
	case g.fmt && (t == "point" || t == "[4]int16" || t == "[]string" || t == "map[int8]string" ||
		t == "[]point" || t == "stack[int]" || isFloat(t)):
		g.line("fmt.Println(%q, %s)", t, v)
	case g.fmt && t != "bool" && (isInt(t) || t == "string") && g.chance(30):
		g.line("fmt.Printf(\"%%v %%T %%x %%5v|%%-6v|\\n\", %s, %s, %s, %s, %s)", v, v, v, v, v)
	case t == "float64":
		g.line("println(%s == %s, %s > 0, %s)", v, v, v, "int64(max(-1e9, min(1e9, "+v+"))) == 0")
	case t == "float32":
		g.line("println(%s == %s, %s < 1)", v, v, v)
	case isInt(t), t == "bool", t == "string":
		g.line("println(%s)", v)
	case t == "[]int":
		g.line("showInts(%s)", v)
	case t == "map[string]int":
		g.line("showMap(%s)", v)
	case t == "point":
		g.line("println(%s.x, %s.y, %s.s)", v, v, v)
	case t == "*point":
		g.line("if %s != nil {\n\tprintln(%s.sum())\n}", v, v)
	case t == "shape":
		g.line("if %s != nil {\n\tprintln(%s.name(), %s.area())\n}", v, v, v)
	case t == "any":
		g.line("println(kind(%s))", v)
	case t == "func(int) int":
		g.line("println(%s == nil)", v)
	case t == "node":
		g.line("println(%s.total())", v)
	case t == "stack[int]":
		g.line("showInts(%s.items)", v)
	case t == "[4]int16":
		g.line("println(%s[0], %s[1], %s[2], %s[3])", v, v, v, v)
	default:
		g.line("println(len(%s))", v)
	}
}

func (g *gen) zero(t string) string {
	switch {
	case isInt(t), isFloat(t):
		return "0"
	case t == "bool":
		return "false"
	case t == "string":
		return `""`
	}
	return "nil"
}

// atom returns a variable or a literal.
func (g *gen) atom(t string) string {
	if v, ok := g.of(t); ok && g.chance(75) {
		return v
	}
	if isInt(t) || isFloat(t) || t == "string" || t == "bool" {
		return g.nonConst(t)
	}
	return g.literal(t)
}

// literal returns a value of a type, in parentheses where it would end a
// statement's head.
func (g *gen) literal(t string) string {
	l := g.bare(t)
	switch {
	case l == "nil":
		return "(" + t + ")(nil)"
	case strings.Contains(l, "{"):
		return "(" + l + ")"
	}
	return l
}

func (g *gen) bare(t string) string {
	n := g.r.IntN(7)
	switch t {
	case "bool":
		return pick(g, []string{"true", "false"})
	case "string":
		return pick(g, []string{`""`, `"a"`, `"hé"`, `"xyz"`, `"\x00\xff"`, "`raw`", `"日"`})
	case "int8":
		return pick(g, []string{"0", "1", "-1", "127", "-128", "5"})
	case "uint8":
		return pick(g, []string{"0", "1", "255", "128", "'x'"})
	case "int16":
		return pick(g, []string{"0", "3", "-32768", "32767", "-7"})
	case "uint16":
		return pick(g, []string{"0", "65535", "9", "32768"})
	case "int32":
		return pick(g, []string{"0", "2", "-2147483648", "2147483647", "'é'", "-3"})
	case "uint32":
		return pick(g, []string{"0", "4294967295", "11", "1 << 31"})
	case "int", "int64":
		return pick(g, []string{"0", "1", "-1", "7", "-9223372036854775808", "9223372036854775807",
			"1 << 33", "100"})
	case "uint", "uint64":
		return pick(g, []string{"0", "1", "18446744073709551615", "1 << 63", "6"})
	case "float64":
		return pick(g, []string{"0", "1.5", "-2.25", "1e300", "0.1", "3"})
	case "float32":
		return pick(g, []string{"0", "0.5", "-7.25", "1e30", "0.1"})
	case "[]int":
		return pick(g, []string{"nil", "[]int{}", "[]int{1, 2, 3}", "[]int{5, 4: 9}",
			"make([]int, 2, 4)"})
	case "[]string":
		return pick(g, []string{"nil", `[]string{"p", "q"}`, `[]string{2: "z"}`})
	case "[4]int16":
		return pick(g, []string{"[4]int16{}", "[4]int16{1, -2, 3}", "[...]int16{3: 4}"})
	case "map[string]int":
		return pick(g, []string{"nil", `map[string]int{}`, `map[string]int{"a": 1, "hé": -2}`})
	case "map[int8]string":
		return pick(g, []string{"nil", `map[int8]string{-1: "m", 7: "s"}`})
	case "point":
		return pick(g, []string{"point{}", fmt.Sprintf(`point{%d, %d, "p"}`, n-3, n),
			`point{s: "only"}`})
	case "*point":
		return pick(g, []string{"nil", "new(point)", fmt.Sprintf("&point{x: %d}", n)})
	case "shape":
		return pick(g, []string{"nil", fmt.Sprintf("square(%d)", n-3),
			fmt.Sprintf(`&rect{point{s: "r"}, %d, 2}`, n)})
	case "any":
		return pick(g, []string{"nil", "1", `"s"`, "1.5", "point{x: 1}", "square(2)", "[]int{1}",
			"uint8(3)"})
	case "func(int) int":
		return pick(g, []string{"nil", "func(a int) int { return a + 1 }",
			"func(int) int { return -5 }"})
	case "[]point":
		return pick(g, []string{"nil", `[]point{{x: 1}, {2, 3, "k"}}`})
	case "stack[int]":
		return pick(g, []string{"stack[int]{}", "stack[int]{[]int{4, 5}}"})
	case "node":
		return pick(g, []string{"node{}", "*(&node{v: 3}).add(4).add(5)"})
	}
	panic("gogen: no literal of type " + t)
}

// expr returns an expression that cannot panic and changes nothing.
func (g *gen) expr(t string, depth int) string {
	if depth == 0 {
		return g.atom(t)
	}
	d := depth - 1
	sub := func(t string) string { return g.expr(t, d) }
	switch {
	case isInt(t):
		switch g.r.IntN(12) {
		case 0, 1, 2, 3:
			return fmt.Sprintf("(%s(%s) %s %s)", t, sub(t),
				pick(g, []string{"+", "-", "*", "&", "|", "^", "&^"}), g.operand(t, d))
		case 4:
			return fmt.Sprintf("(%s(%s) %s (%s & 15))", t, g.operand(t, d),
				pick(g, []string{"<<", ">>"}), g.operand("uint8", d))
		case 5:
			return fmt.Sprintf("%s(%s)", t, g.operand(pick(g, intTypes), d))
		case 6:
			return fmt.Sprintf("(%s%s)", pick(g, []string{"-", "^", "+"}), g.operand(t, d))
		case 7:
			if s, ok := g.of(pick(g, []string{"[]int", "string", "[]string", "map[string]int",
				"[]point"})); ok {
				return fmt.Sprintf("%s(len(%s))", t, s)
			}
		case 8:
			if a, ok := g.of("[4]int16"); ok {
				return fmt.Sprintf("%s(%s[%s&3])", t, a, g.operand("uint8", d))
			}
		case 9:
			if m, ok := g.of("map[string]int"); ok {
				return fmt.Sprintf("%s(%s[%s])", t, m, sub("string"))
			}
		case 10:
			if p, ok := g.of("point"); ok {
				return fmt.Sprintf("%s(%s.%s)", t, p, pick(g, []string{"x", "y", "sum()"}))
			}
		case 11:
			return fmt.Sprintf("%s(%s, %s(%s))", pick(g, []string{"min", "max"}), g.operand(t, d),
				t, g.operand(t, d))
		}
	case isFloat(t):
		switch g.r.IntN(5) {
		case 0, 1, 2:
			// The conversion keeps the compiler from fusing a product with a sum.
			return fmt.Sprintf("%s(%s(%s) %s %s)", t, t, sub(t),
				pick(g, []string{"+", "-", "*", "/"}), g.operand(t, d))
		case 3:
			return fmt.Sprintf("%s(%s)", t,
				g.operand(pick(g, []string{"int8", "uint16", "int32", "float32", "float64"}), d))
		}
	case t == "bool":
		switch g.r.IntN(8) {
		case 0, 1, 2:
			u := pick(g, []string{"int", "uint8", "int16", "float64", "string", "uint64"})
			return fmt.Sprintf("(%s(%s) %s %s)", u, sub(u),
				pick(g, []string{"==", "!=", "<", "<=", ">", ">="}), g.operand(u, d))
		case 3:
			return fmt.Sprintf("(%s && %s)", sub("bool"), sub("bool"))
		case 4:
			return fmt.Sprintf("(%s || %s)", sub("bool"), sub("bool"))
		case 5:
			return "!" + g.atom("bool")
		case 6:
			u := pick(g, []string{"point", "[4]int16"})
			return fmt.Sprintf("(%s == %s)", g.mustOr(u), g.mustOr(u))
		case 7:
			u := pick(g, []string{"*point", "shape", "any", "[]int"})
			if v, ok := g.of(u); ok {
				return fmt.Sprintf("(%s == nil)", v)
			}
		}
	case t == "string":
		switch g.r.IntN(6) {
		case 0, 1:
			return fmt.Sprintf("(%s + %s)", g.atom("string"), g.atom("string"))
		case 2:
			s := g.mustOr("string")
			if strings.ContainsAny(s, "`\"") {
				return s
			}
			return fmt.Sprintf("%s[:len(%s)/2]", s, s)
		case 3:
			return fmt.Sprintf("string(rune(%s))", g.operand("int32", d))
		case 4:
			return fmt.Sprintf("kind(%s)", g.atom("any"))
		case 5:
			return fmt.Sprintf("string([]rune(%s))", g.atom("string"))
		}
	case t == "point" && g.chance(50):
		return fmt.Sprintf("(point{x: %s, y: %s, s: %s})", g.expr("int32", d), g.expr("uint8", d),
			g.atom("string"))
	case t == "[]int" && g.chance(60):
		return fmt.Sprintf("([]int{%s, %s})", g.expr("int", d), g.atom("int"))
	case t == "any" && g.chance(60):
		u := pick(g, []string{"int", "string", "point", "square"})
		if u == "square" {
			return fmt.Sprintf("square(%s)", g.atom("int16"))
		}
		return g.typedAtom(u)
	case t == "shape" && g.chance(50):
		return fmt.Sprintf("(&rect{w: %s, h: %s})", g.expr("int8", d), g.atom("int8"))
	}
	return g.atom(t)
}

// operand is an expression that is not a constant, so that the compiler does not
// refuse what overflows.
func (g *gen) operand(t string, depth int) string {
	if v, ok := g.of(t); ok && (depth == 0 || g.chance(50)) {
		return v
	}
	if isInt(t) {
		return fmt.Sprintf("%s(%s)", t, g.nonConst(t))
	}
	if isFloat(t) {
		return fmt.Sprintf("%s(%s)", t, g.nonConst(t))
	}
	return g.atom(t)
}

func (g *gen) nonConst(t string) string {
	return fmt.Sprintf("id(%s(%s))", t, g.literal(t))
}

func (g *gen) typedAtom(t string) string { return t + "(" + g.atom(t) + ")" }

// mustOr returns a variable or a literal in parentheses.
func (g *gen) mustOr(t string) string {
	if v, ok := g.of(t); ok {
		return v
	}
	return "(" + g.literal(t) + ")"
}
