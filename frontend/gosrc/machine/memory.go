package machine

import (
	"math"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// read records that the running function reads n words at a pointer.
func (m *Machine) read(g *goroutine, p uint64, n int) {
	if o := &m.objs[p>>32]; o.shared && (o.poisoned || !g.top().fn.Untracked && !m.setup) {
		m.access(g, p, n, false)
	}
}

// write records that the running function writes n words at a pointer.
func (m *Machine) write(g *goroutine, p uint64, n int) {
	if o := &m.objs[p>>32]; o.shared && (o.poisoned || !g.top().fn.Untracked && !m.setup) {
		m.access(g, p, n, true)
	}
}

// storeValue writes a value of a type and publishes what it refers to if the object is
// shared.
func (m *Machine) storeValue(p uint64, t *compile.Type, v []uint64) {
	a := m.addr(p)
	if a < m.fresh {
		for i := range t.Size {
			m.set(a+uint32(i), v[i])
		}
	} else {
		copy(m.mem[a:], v[:t.Size])
	}
	if len(t.Refs) > 0 && m.objs[p>>32].shared {
		m.publishValue(t, v)
	}
	m.ownLocks(p, t, 1)
}

// boxed returns the word of an interface for a value.
func (m *Machine) boxed(g *goroutine, t *compile.Type, v []uint64) uint64 {
	switch t.Size {
	case 0:
		return 0
	case 1:
		return v[0]
	}
	p := m.newObject(g, plainObj, t, t.Size)
	copy(m.mem[m.addr(p):], v[:t.Size])
	return p
}

// unboxed returns the value of an interface's word; it must not be changed.
func (m *Machine) unboxed(t *compile.Type, w *uint64) []uint64 {
	switch t.Size {
	case 0:
		return nil
	case 1:
		return words1(w)
	}
	a := m.addr(*w)
	return m.mem[a : a+uint32(t.Size)]
}

func words1(w *uint64) []uint64 { return []uint64{*w} }

// numberOf returns the address of what p points to as a number: the object, and how many bytes
// Go places before it.
func (m *Machine) numberOf(p uint64) (uint64, bool) {
	o := &m.objs[p>>32]
	w := int(uint32(p))
	if w == 0 || p>>32 == 0 || o.typ == nil || o.kind != plainObj || o.typ.Size == 0 {
		return p, w == 0 || p>>32 == 0
	}
	b, ok := o.typ.ByteAt(w % o.typ.Size)
	b += w / o.typ.Size * o.typ.Bytes()
	return p&^math.MaxUint32 + uint64(b), ok
}

// pointerAt is the inverse of numberOf, also with an offset in bytes within the same variable.
func (m *Machine) pointerAt(n uint64) (uint64, bool) {
	id, b := n>>32, int(uint32(n))
	if id == 0 || b == 0 {
		return n, id < uint64(len(m.objs))
	}
	if id >= uint64(len(m.objs)) {
		return 0, false
	}
	o := &m.objs[id]
	if o.kind != plainObj || o.typ == nil || o.typ.Size == 0 || o.typ.Bytes() == 0 {
		return 0, false
	}
	size := o.typ.Bytes()
	w, ok := o.typ.WordAt(b % size)
	w += b / size * o.typ.Size
	return id<<32 + uint64(w), ok && w <= int(o.size)
}

// bytes returns the bytes of a []byte.
func (m *Machine) bytes(s []uint64) []byte {
	n := int(s[1])
	b := make([]byte, n)
	if n > 0 {
		a := m.addr(s[0])
		for i := range b {
			b[i] = byte(m.mem[int(a)+i])
		}
	}
	return b
}

// text returns a string.
func (m *Machine) text(s uint64) string { return m.p.Text(s) }

// str returns the number of a string. It charges the cost of making it to the budget of the
// step.
func (m *Machine) str(s string) uint64 {
	m.budget -= int64(len(s) / 16)
	return m.p.String(s)
}

// exists is the location that says whether a goroutine exists.
func (m *Machine) exists(n int32) system.Loc { return m.loc(locName{kind: existLoc, a: n}) }
