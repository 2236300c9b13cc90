// Package bdd has reduced ordered binary decision diagrams (Bryant 1986), as many
// as the translation of formulas to automata needs and no more: Boolean operations, comparison of functions
// by ==, and irredundant sums of products (Minato 1992).
//
// It is our own because the diagrams here are tiny, and what matters is elsewhere: node
// numbers that depend on nothing but the sequence of operations, so that a
// translation is reproducible; variables that are added at any time; and a limit that turns a blow-up into
// an error. Go's BDD libraries have none of the three and collect garbage that we do not produce.
package bdd

import "errors"

// ErrTooManyNodes is what Manager.Err returns after the limit on nodes was hit.
var ErrTooManyNodes = errors.New("bdd: too many nodes")

// Node is a Boolean function, as an index into its Manager. Equal functions of
// one manager are equal nodes.
type Node uint32

// The constant functions of every manager.
const (
	False Node = 0
	True  Node = 1
)

type node struct {
	level     int32 // the variable; constants have the largest level
	low, high Node
}

type iteKey struct{ f, g, h Node }

type isopKey struct{ low, up Node }

type cover struct {
	f     Node
	cubes []Cube
}

// A Cube is a conjunction of literals: variable -> value.
type Cube []Literal

// A Literal is a variable, negated or not.
type Literal struct {
	Var int
	Neg bool
}

// Manager holds the nodes. It is not safe for concurrent use.
type Manager struct {
	nodes  []node
	unique map[node]Node
	ite    map[iteKey]Node
	isop   map[isopKey]cover
	limit  int
	full   bool
}

const constLevel = 1<<31 - 1

// New returns a manager that makes at most limit nodes, and at most as many cubes for a function.
func New(limit int) *Manager {
	return &Manager{
		nodes:  []node{{level: constLevel}, {level: constLevel, low: 1, high: 1}},
		unique: map[node]Node{},
		ite:    map[iteKey]Node{},
		isop:   map[isopKey]cover{},
		limit:  limit,
	}
}

// Err returns ErrTooManyNodes if the limit was hit. All results from then on
// are meaningless, so callers ask at the end of each stage.
func (m *Manager) Err() error {
	if m.full {
		return ErrTooManyNodes
	}
	return nil
}

// Size returns the number of nodes.
func (m *Manager) Size() int { return len(m.nodes) }

func (m *Manager) mk(level int32, low, high Node) Node {
	if low == high {
		return low
	}
	n := node{level, low, high}
	if id, ok := m.unique[n]; ok {
		return id
	}
	if len(m.nodes) >= m.limit {
		m.full = true
		return False
	}
	id := Node(len(m.nodes))
	m.nodes = append(m.nodes, n)
	m.unique[n] = id
	return id
}

// Var returns the function of variable v, which may be any non-negative number. The
// order of the variables is that of their numbers.
func (m *Manager) Var(v int) Node { return m.mk(int32(v), False, True) }

// Level returns the first variable that f depends on, and a number larger
// than that of any variable for a constant.
func (m *Manager) Level(f Node) int { return int(m.nodes[f].level) }

// Low returns f with its first variable false.
func (m *Manager) Low(f Node) Node { return m.nodes[f].low }

// High returns f with its first variable true.
func (m *Manager) High(f Node) Node { return m.nodes[f].high }

func (m *Manager) cofactors(f Node, level int32) (low, high Node) {
	if n := m.nodes[f]; n.level == level {
		return n.low, n.high
	}
	return f, f
}

// ITE returns f && g || !f && h.
func (m *Manager) ITE(f, g, h Node) Node {
	switch {
	case m.full:
		return False
	case f == True:
		return g
	case f == False:
		return h
	case g == h:
		return g
	case g == True && h == False:
		return f
	}
	key := iteKey{f, g, h}
	if r, ok := m.ite[key]; ok {
		return r
	}
	level := min(m.nodes[f].level, m.nodes[g].level, m.nodes[h].level)
	f0, f1 := m.cofactors(f, level)
	g0, g1 := m.cofactors(g, level)
	h0, h1 := m.cofactors(h, level)
	low := m.ITE(f0, g0, h0)
	r := m.mk(level, low, m.ITE(f1, g1, h1))
	m.ite[key] = r
	return r
}

// Not returns !f.
func (m *Manager) Not(f Node) Node { return m.ITE(f, False, True) }

// And returns f && g.
func (m *Manager) And(f, g Node) Node {
	if f > g {
		f, g = g, f
	}
	return m.ITE(f, g, False)
}

// Or returns f || g.
func (m *Manager) Or(f, g Node) Node {
	if f > g {
		f, g = g, f
	}
	return m.ITE(f, True, g)
}

// Diff returns f && !g.
func (m *Manager) Diff(f, g Node) Node { return m.ITE(g, False, f) }

// Implies reports whether f implies g.
func (m *Manager) Implies(f, g Node) bool {
	return f == False || g == True || f == g || m.ITE(f, g, True) == True
}

// SumOfProducts returns an irredundant sum of products of f: no cube and no
// literal can be left out. A function that is monotone in a variable gets no
// negation of that variable. The result belongs to the manager.
func (m *Manager) SumOfProducts(f Node) []Cube { return m.minato(f, f).cubes }

// minato covers at least low and at most up.
func (m *Manager) minato(low, up Node) cover {
	switch {
	case m.full || low == False:
		return cover{f: False}
	case up == True:
		return cover{f: True, cubes: []Cube{nil}}
	}
	key := isopKey{low, up}
	if c, ok := m.isop[key]; ok {
		return c
	}
	level := min(m.nodes[low].level, m.nodes[up].level)
	l0, l1 := m.cofactors(low, level)
	u0, u1 := m.cofactors(up, level)
	c0 := m.minato(m.Diff(l0, u1), u0)
	c1 := m.minato(m.Diff(l1, u0), u1)
	c := m.minato(m.Or(m.Diff(l0, c0.f), m.Diff(l1, c1.f)), m.And(u0, u1))
	out := cover{f: m.Or(c.f, m.mk(level, c0.f, c1.f))}
	for _, part := range []struct {
		cubes []Cube
		neg   bool
	}{{c0.cubes, true}, {c1.cubes, false}} {
		for _, cube := range part.cubes {
			out.cubes = append(out.cubes, append(Cube{{int(level), part.neg}}, cube...))
		}
	}
	out.cubes = append(out.cubes, c.cubes...)
	if len(out.cubes) > m.limit {
		m.full = true
	}
	m.isop[key] = out
	return out
}

// Eval returns the value of f under the assignment.
func (m *Manager) Eval(f Node, assignment func(v int) bool) bool {
	for f > True {
		n := m.nodes[f]
		if assignment(int(n.level)) {
			f = n.high
		} else {
			f = n.low
		}
	}
	return f == True
}

// Witness returns an assignment under which f, which is not False, is true.
func (m *Manager) Witness(f Node) func(v int) bool {
	set := map[int]bool{}
	for f > True {
		n := m.nodes[f]
		if n.low != False {
			f = n.low
		} else {
			set[int(n.level)] = true
			f = n.high
		}
	}
	return func(v int) bool { return set[v] }
}
