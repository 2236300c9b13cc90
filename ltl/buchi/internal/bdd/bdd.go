// Package bdd has reduced ordered binary decision diagrams (Bryant 1986), as many as the
// translation of formulas to automata needs and no more: Boolean operations, comparison of
// functions by ==, and irredundant sums of products (Minato 1992).
//
// It is our own because the diagrams here are tiny, and what matters is elsewhere: node numbers
// that depend on nothing but the sequence of operations, so that a translation is reproducible;
// variables that are added at any time; and a limit that turns a blow-up into an error. Go's BDD
// libraries have none of the three and collect garbage that we do not produce.
package bdd

import "errors"

// ErrTooLarge is what Manager.Err returns after the limit on nodes or steps was hit.
var ErrTooLarge = errors.New("the Boolean functions have too many cases")

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

// operation is an entry of the cache of ITE.
type operation struct{ f, g, h, result Node }

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
	nodes []node
	// unique is a hash table with linear probing of the nodes; 0 is a free slot. At
	// most half of it is used.
	unique []Node
	// cache forgets an entry when another one needs its place.
	cache []operation
	isop  map[isopKey]cover
	limit int // on nodes
	steps int // that are left
	full  bool
}

const constLevel = 1<<31 - 1

// stepsPerNode relates the two limits: a step is one recursive call of ITE
// that the cache does not answer.
const stepsPerNode = 10

// New returns a manager that makes at most limit nodes, and at most as many cubes for a
// function, in time proportional to that.
func New(limit int) *Manager {
	m := &Manager{
		nodes:  []node{{level: constLevel}, {level: constLevel, low: 1, high: 1}},
		unique: make([]Node, 1<<8),
		cache:  make([]operation, 1<<8),
		isop:   map[isopKey]cover{},
	}
	m.Allow(limit)
	return m
}

// Err returns ErrTooLarge if the limit was hit. All results from then on
// are meaningless, so callers ask at the end of each stage. Earlier ones stay valid.
func (m *Manager) Err() error {
	if m.full {
		return ErrTooLarge
	}
	return nil
}

// Allow lets the manager make up to n more nodes from now on, and forgets
// that an earlier limit was hit.
func (m *Manager) Allow(n int) {
	m.limit = len(m.nodes) + n
	m.steps = stepsPerNode * n
	m.full = false
}

// Size returns the number of nodes.
func (m *Manager) Size() int { return len(m.nodes) }

func hash(a, b, c uint32) uint32 {
	h := a*0x9E3779B1 ^ b*0x85EBCA77 ^ c*0xC2B2AE3D
	h ^= h >> 15
	h *= 0x2C1B3C6D
	return h ^ h>>13
}

// slot finds n in the unique table, or the free place for it.
func (m *Manager) slot(n node) int {
	mask := len(m.unique) - 1
	i := int(hash(uint32(n.level), uint32(n.low), uint32(n.high))) & mask
	for m.unique[i] != 0 && m.nodes[m.unique[i]] != n {
		i = (i + 1) & mask
	}
	return i
}

func (m *Manager) mk(level int32, low, high Node) Node {
	if low == high {
		return low
	}
	n := node{level, low, high}
	i := m.slot(n)
	if m.unique[i] != 0 {
		return m.unique[i]
	}
	if len(m.nodes) >= m.limit {
		m.full = true
		return False
	}
	id := Node(len(m.nodes))
	m.nodes = append(m.nodes, n)
	m.unique[i] = id
	if 2*len(m.nodes) > len(m.unique) {
		m.unique = make([]Node, 4*len(m.unique))
		for id := 2; id < len(m.nodes); id++ {
			m.unique[m.slot(m.nodes[id])] = Node(id)
		}
		m.cache = make([]operation, len(m.unique))
	}
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
	// No entry has f == 0, so a fresh one is never taken for an answer.
	i := hash(uint32(f), uint32(g), uint32(h))
	if e := &m.cache[int(i)&(len(m.cache)-1)]; e.f == f && e.g == g && e.h == h {
		return e.result
	}
	if m.steps--; m.steps < 0 {
		m.full = true
		return False
	}
	level := min(m.nodes[f].level, m.nodes[g].level, m.nodes[h].level)
	f0, f1 := m.cofactors(f, level)
	g0, g1 := m.cofactors(g, level)
	h0, h1 := m.cofactors(h, level)
	low := m.ITE(f0, g0, h0)
	r := m.mk(level, low, m.ITE(f1, g1, h1))
	if m.full { // r is meaningless, and must not be found after Allow
		return False
	}
	m.cache[int(i)&(len(m.cache)-1)] = operation{f, g, h, r}
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
	if m.full {
		return cover{f: False}
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
