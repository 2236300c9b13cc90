package bdd

import (
	"errors"
	"testing"

	"pgregory.net/rapid"
)

const vars = 5

// draw builds a random function as a diagram and as a truth table of 32 bits.
func draw(t *rapid.T, m *Manager, depth int) (Node, uint32) {
	if depth == 0 {
		v := rapid.IntRange(0, vars-1).Draw(t, "var")
		var table uint32
		for i := range 32 {
			table |= uint32(i>>v&1) << i
		}
		return m.Var(v), table
	}
	f, tf := draw(t, m, depth-1)
	g, tg := draw(t, m, depth-1)
	switch rapid.IntRange(0, 4).Draw(t, "op") {
	case 0:
		return m.And(f, g), tf & tg
	case 1:
		return m.Or(f, g), tf | tg
	case 2:
		return m.Diff(f, g), tf &^ tg
	case 3:
		return m.Not(f), ^tf
	default:
		h, th := draw(t, m, depth-1)
		return m.ITE(f, g, h), tf&tg | ^tf&th
	}
}

func TestOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(1 << 20)
		f, table := draw(t, m, 3)
		g, other := draw(t, m, 3)
		if (f == g) != (table == other) || m.Implies(f, g) != (table&^other == 0) {
			t.Fatal("comparison differs from the truth tables")
		}
		cubes := m.SumOfProducts(f)
		for i := range 32 {
			value := func(v int) bool { return i>>v&1 == 1 }
			want := table>>i&1 == 1
			if m.Eval(f, value) != want {
				t.Fatalf("value at %05b", i)
			}
			if covered(cubes, i) != want {
				t.Fatalf("sum of products at %05b", i)
			}
		}
		for skip := range cubes {
			rest := append(append([]Cube(nil), cubes[:skip]...), cubes[skip+1:]...)
			same := true
			for i := range 32 {
				same = same && covered(rest, i) == (table>>i&1 == 1)
			}
			if same {
				t.Fatalf("cube %v of %v is redundant", cubes[skip], cubes)
			}
		}
	})
}

func covered(cubes []Cube, i int) bool {
	for _, c := range cubes {
		all := true
		for _, l := range c {
			all = all && (i>>l.Var&1 == 0) == l.Neg
		}
		if all {
			return true
		}
	}
	return false
}

func TestMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := New(1 << 20)
		f := False
		for range rapid.IntRange(1, 6).Draw(t, "cubes") {
			c := True
			for range rapid.IntRange(1, 4).Draw(t, "literals") {
				c = m.And(c, m.Var(rapid.IntRange(0, 9).Draw(t, "var")))
			}
			f = m.Or(f, c)
		}
		for _, c := range m.SumOfProducts(f) {
			for _, l := range c {
				if l.Neg {
					t.Fatalf("a negated literal in the sum of products of a monotone function")
				}
			}
		}
	})
}

func TestLimit(t *testing.T) {
	m := New(100)
	f := False
	for v := range 100 {
		f = m.Or(f, m.And(m.Var(v), m.Var(200-v)))
	}
	if !errors.Is(m.Err(), ErrTooLarge) || m.Size() > 102 {
		t.Fatalf("error %v with %d nodes", m.Err(), m.Size())
	}
	m.SumOfProducts(f)
	m.Allow(1000000)
	f = m.Or(m.And(m.Var(0), m.Var(1)), m.Var(2))
	if m.Err() != nil || m.And(f, m.Not(m.Var(2))) != m.And(m.And(m.Var(0), m.Var(1)),
		m.Not(m.Var(2))) {
		t.Fatal("wrong after Allow")
	}
	for v := range 100 { // what failed before must not be remembered wrongly
		g := m.And(m.Var(v), m.Var(200-v))
		if m.Or(g, m.Not(g)) != True || g == False {
			t.Fatalf("variable %d: wrong after Allow", v)
		}
	}
}
