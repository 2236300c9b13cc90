package machine_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// typed returns a generated model of all integer types, with fields and elements that cross bytes
// and words, pointers, arrays within threads, buffers of structs, and operations that fail now and
// then.
func typed(seed uint64) string {
	g := &typer{r: rand.New(rand.NewPCG(seed, 35))}
	widths := []int{2, 3, 5, 8, 11, 16, 17, 31, 32, 33, 47, 63, 64}
	for range 3 + g.r.IntN(3) {
		t := fmt.Sprintf("int%d", widths[g.r.IntN(len(widths))])
		if g.r.IntN(2) == 0 {
			t = "u" + t
		}
		g.types = append(g.types, t)
	}
	for i, t := range g.types {
		g.line("var g%d %s = %s", i, t, g.number(t))
		g.line("var a%d [%d]%s", i, 3+g.r.IntN(8), t)
		g.line("type s%d struct { v %s; b bool; w [2]%s }", i, t, g.types[g.r.IntN(len(g.types))])
		g.line("var r%d s%d", i, i)
		g.line("var p%d *%s = &%s", i, t, []string{fmt.Sprintf("a%d[1]", i),
			fmt.Sprintf("g%d", i)}[g.r.IntN(2)])
		g.line("var c%d = make(chan %s, %d)", i, t, 1+g.r.IntN(3))
	}
	g.line("var m [2]mutex")
	g.line("semaphore sem = 1")
	threads := 1 + g.r.IntN(3)
	for k := range threads {
		g.line("thread T%d(n %s) {", k, g.types[0])
		for i, t := range g.types {
			g.line("var l%d %s = %s", i, t, g.number(t))
		}
		if g.r.IntN(2) == 0 {
			g.line("var q [3]%s", g.types[1])
			g.array = true
		}
		g.line("for range 2 {")
		for range 3 + g.r.IntN(4) {
			g.statement(2)
		}
		g.line("}")
		g.line("g0 = n")
		g.line("}")
		g.array = false
	}
	g.line("init {")
	for k := range threads {
		g.line("go T%d(%s)", k, g.number(g.types[0]))
	}
	g.line("}")
	return g.b.String()
}

type typer struct {
	r     *rand.Rand
	b     strings.Builder
	types []string
	array bool // there is a q
}

func (g *typer) line(format string, args ...any) {
	fmt.Fprintf(&g.b, format, args...)
	g.b.WriteByte('\n')
}

// number is a constant of a type, often at its ends.
func (g *typer) number(t string) string {
	signed := t[0] == 'i'
	bits := 0
	fmt.Sscanf(strings.TrimLeft(t, "uint"), "%d", &bits)
	small := g.r.Uint64N(min(4, uint64(1)<<(bits-1)))
	switch g.r.IntN(6) {
	case 0:
		if signed {
			return fmt.Sprint(uint64(1)<<(bits-1) - 1)
		}
		return fmt.Sprint(^uint64(0) >> (64 - bits))
	case 1:
		if signed {
			return "-" + fmt.Sprint(uint64(1)<<(bits-1))
		}
	case 2:
		if signed {
			return fmt.Sprint(-1)
		}
	}
	return fmt.Sprint(min(small, uint64(1)<<(bits-1)-1))
}

// variable is something of the type with a number that can be assigned.
func (g *typer) variable(i int) string {
	switch g.r.IntN(8) {
	case 0:
		return fmt.Sprintf("a%d[%d]", i, g.r.IntN(3))
	case 1:
		return fmt.Sprintf("a%d[uint8(%s) %% 3]", i, g.variable(g.r.IntN(len(g.types))))
	case 2:
		return fmt.Sprintf("r%d.v", i)
	case 3:
		return fmt.Sprintf("*p%d", i)
	case 4:
		if g.array && i == 1 {
			return fmt.Sprintf("q[uint8(l0) %% 3]")
		}
		fallthrough
	case 5:
		return fmt.Sprintf("l%d", i)
	}
	return fmt.Sprintf("g%d", i)
}

func (g *typer) expr(i, depth int) string {
	t := g.types[i]
	if depth == 0 || g.r.IntN(4) == 0 {
		if g.r.IntN(3) == 0 {
			return g.number(t)
		}
		return g.variable(i)
	}
	switch g.r.IntN(12) {
	case 0, 1:
		return fmt.Sprintf("%s(%s)", t, g.typedExpr(g.r.IntN(len(g.types)), depth-1))
	case 2:
		return fmt.Sprintf("(-%s)", g.variable(i))
	case 3:
		return fmt.Sprintf("(^%s)", g.variable(i))
	case 4:
		return fmt.Sprintf("(%s %s uint8(%d))", g.variable(i), []string{"<<", ">>"}[g.r.IntN(2)],
			[]int{0, 1, 2, 7, 31, 63, 64}[g.r.IntN(7)])
	}
	op := []string{"+", "-", "*", "/", "%", "&", "|", "^", "&^"}[g.r.IntN(9)]
	return fmt.Sprintf("(%s %s %s)", g.variable(i), op, g.expr(i, depth-1))
}

// typedExpr is an expression that is not a constant, which would have no type of its own.
func (g *typer) typedExpr(i, depth int) string {
	return fmt.Sprintf("(%s %s %s)", g.variable(i), []string{"&", "|", "^"}[g.r.IntN(3)],
		g.expr(i, depth))
}

func (g *typer) cond() string {
	i := g.r.IntN(len(g.types))
	a, b := g.variable(i), g.expr(i, 1)
	if g.r.IntN(3) == 0 {
		a, b = g.number(g.types[i]), a
	}
	c := fmt.Sprintf("%s %s %s", a, []string{"<", "<=", ">", ">=", "==", "!="}[g.r.IntN(6)], b)
	switch g.r.IntN(5) {
	case 0:
		return fmt.Sprintf("%s && r%d.b", c, i)
	case 1:
		return fmt.Sprintf("!(%s) || len(c%d) == 1", c, i)
	}
	return c
}

func (g *typer) statement(depth int) {
	i := g.r.IntN(len(g.types))
	switch k := g.r.IntN(16); {
	case k < 5:
		g.line("%s = %s", g.variable(i), g.expr(i, 2))
	case k == 5:
		g.line("%s++", g.variable(i))
	case k == 6:
		g.line("%s -= %s", g.variable(i), g.variable(i))
	case k == 7 && depth > 0:
		g.line("atomic {")
		g.statement(depth - 1)
		g.statement(depth - 1)
		g.line("}")
	case k == 8 && depth > 0:
		g.line("if %s {", g.cond())
		g.statement(depth - 1)
		g.line("} else {")
		g.statement(depth - 1)
		g.line("}")
	case k == 9:
		g.line("p%d = &%s", i, []string{fmt.Sprintf("a%d[%d]", i, g.r.IntN(3)),
			fmt.Sprintf("g%d", i), fmt.Sprintf("r%d.v", i)}[g.r.IntN(3)])
	case k == 10:
		g.line("select { case c%d <- %s: r%d.b = !r%d.b; default: %s = %s }", i, g.variable(i), i, i,
			g.variable(i), g.number(g.types[i]))
	case k == 11:
		j := g.r.IntN(len(g.types))
		g.line("select { case %s = <-c%d: skip; case c%d <- %s: skip; case await(%s): skip }",
			g.variable(i), i, j, g.variable(j), g.cond())
	case k == 12:
		g.line("lock(m[%d]); %s = %s; unlock(m[%d])", i%2, g.variable(i), g.expr(i, 1), i%2)
	case k == 13:
		g.line("if cas(g%d, %s, %s) { down(sem) } else { if len(c%d) < 2 { up(sem) } }", i,
			g.number(g.types[i]), g.number(g.types[i]), i)
	case k == 14:
		g.line("l%d = %s(choose(0, %d))", i, g.types[i], 1+g.r.IntN(2))
	default:
		g.line("await(%s)", g.cond())
	}
}
