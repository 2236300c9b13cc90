package machine

import (
	gotoken "go/token"
	"go/types"

	"cpor/frontend/gosrc/compile"
)

// Loops over maps in any order. The iterator is a pointer to the map with a copy of its keys at
// the beginning of the loop, and how many remain. Each step of the loop is a transition with an
// alternative for each remaining key that is still in the map. Entries added meanwhile do not
// appear, as the language allows.

// keysType returns the type of a map with n keys.
func (m *Machine) keysType(t *compile.Type, n int) *compile.Type {
	field := func(name string, t types.Type) *types.Var {
		return types.NewField(gotoken.NoPos, nil, name, t, false)
	}
	return m.p.TypeOf(
		types.NewStruct([]*types.Var{field("m", t.T),
			field("keys", types.NewArray(t.Key.T, int64(n)))}, nil))
}

// rangeAny begins a loop.
func (m *Machine) rangeAny(g *goroutine, t *compile.Type, mp uint64) (keys, left uint64) {
	if mp == 0 {
		return 0, 0
	}
	m.read(g, mp, 1)
	n := m.mem[m.addr(mp)+mapLen]
	kt := m.keysType(t, int(n))
	p := m.newObject(g, plainObj, kt, kt.Size)
	a := int(m.addr(p))
	m.mem[a] = mp
	at := a + 1
	m.eachEntry(mp, func(e []uint64) {
		copy(m.mem[at:], e[1:1+t.Key.Size])
		at += t.Key.Size
	})
	return p, n
}

// eachLeft calls f for the remaining keys that are in the map, with their entries, until it
// returns false.
func (m *Machine) eachLeft(t *compile.Type, it []uint64, f func(place, entry int) bool) {
	if it[0] == 0 {
		return
	}
	a := int(m.addr(it[0]))
	mp := m.mem[a]
	m.touchWord(mp, false)
	for i := range int(it[1]) {
		at := a + 1 + i*t.Key.Size
		if e, _ := m.find(mp, m.mem[at:at+t.Key.Size]); e >= 0 && !f(i, e) {
			return
		}
	}
}

// keysLeft counts these keys.
func (m *Machine) keysLeft(t *compile.Type, it []uint64) (n int) {
	m.eachLeft(t, it, func(int, int) bool { n++; return true })
	return n
}

// pickKey continues with one of these keys, or ends the loop if there is none.
func (m *Machine) pickKey(g *goroutine, t *compile.Type, it, to []uint64, which int) {
	to[0] = 0
	if it[0] == 0 {
		return
	}
	a := int(m.addr(it[0]))
	m.read(g, m.mem[a], 1)
	place := -1
	m.eachLeft(t, it, func(i, e int) bool {
		if which > 0 {
			which--
			return true
		}
		place = i
		to[0] = 1
		copy(to[1:], m.mem[e+1:e+1+t.Key.Size+t.Elem.Size])
		return false
	})
	if place < 0 {
		return
	}
	n := t.Key.Size
	for k := place * n; k < (int(it[1])-1)*n; k++ { // the others move up
		m.set(uint32(a+1+k), m.mem[a+1+k+n])
	}
	for k := range n {
		m.set(uint32(a+1+(int(it[1])-1)*n+k), 0)
	}
	it[1]--
}
