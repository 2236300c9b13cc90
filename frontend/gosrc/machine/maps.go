package machine

import (
	"go/types"
	"math"

	"cpor/frontend/gosrc/compile"
)

// A map's object is a header; its entries are in another object in the order in which they were
// inserted, and a third one is a hash table of their places. So the order in which a loop ranges
// over a map is a function of the operations on it.
//
// Maps are one location, as they are for Go's own race detector.
const (
	mapLen     = 0 // entries that are there
	mapUsed    = 1 // entries and holes
	mapEntries = 2 // pointer
	mapIndex   = 3 // pointer, 0 while there are few
	mapSeq     = 4 // the number of the next insertion
	mapHeader  = 5
)

// An entry is its number of insertion plus one (0 is a hole), the key, the value.

const fewEntries = 8

func entrySize(t *compile.Type) int { return 1 + t.Key.Size + t.Elem.Size }

func (m *Machine) newMap(g *goroutine, t *compile.Type) uint64 {
	return m.newObject(g, mapObj, t, mapHeader)
}

func (m *Machine) mapRefs(id uint32, f func(uint64)) {
	o := m.objs[id]
	if o.typ == nil { // entries or an index: reached by way of the header
		return
	}
	for _, at := range []uint32{mapEntries, mapIndex} {
		if p := m.mem[o.base+at]; p != 0 {
			f(p)
		}
	}
	m.eachEntry(uint64(id)<<32, func(e []uint64) {
		m.refsOf(o.typ.Key, e[1:], f)
		m.refsOf(o.typ.Elem, e[1+o.typ.Key.Size:], f)
	})
}

// eachEntry calls f for the entries in the order of insertion.
func (m *Machine) eachEntry(mp uint64, f func(e []uint64)) {
	o := m.objs[mp>>32]
	n := entrySize(o.typ)
	h := m.mem[o.base:]
	used, entries := int(h[mapUsed]), h[mapEntries]
	if used == 0 {
		return
	}
	a := int(m.addr(entries))
	for i := range used {
		if e := m.mem[a+i*n : a+(i+1)*n]; e[0] != 0 {
			f(e)
		}
	}
}

// hash returns a hash of a value; ok is false if its dynamic type has none.
func (m *Machine) hash(t *compile.Type, v []uint64) (h uint64, bad *compile.Type) {
	if t.Plain {
		for _, w := range v[:t.Size] {
			h = mix(h, w)
		}
		return h, nil
	}
	switch t.Kind {
	case compile.Float32:
		if f := math.Float32frombits(uint32(v[0])); f == 0 {
			return mix(0, 0), nil
		}
		return mix(0, v[0]), nil
	case compile.Float64:
		if f := math.Float64frombits(v[0]); f == 0 {
			return mix(0, 0), nil
		}
		return mix(0, v[0]), nil
	case compile.Complex64, compile.Complex128:
		return 0, nil
	case compile.Interface:
		if v[0] == 0 {
			return 0, nil
		}
		d := m.p.TypeByID(v[0])
		if incomparable(d) {
			return 0, d
		}
		h, bad = m.hash(d, m.unboxed(d, &v[1]))
		return mix(h, v[0]), bad
	case compile.Struct:
		if t.Reflect {
			for _, w := range m.reflected(v) {
				h = mix(h, w)
			}
			return h, nil
		}
		for _, f := range t.Fields {
			if f.Name == "_" {
				continue
			}
			x, bad := m.hash(f.Type, v[f.Off:])
			if bad != nil {
				return 0, bad
			}
			h = mix(h, x)
		}
		return h, nil
	case compile.Array:
		for i := range t.Len {
			x, bad := m.hash(t.Elem, v[i*t.Elem.Size:])
			if bad != nil {
				return 0, bad
			}
			h = mix(h, x)
		}
		return h, nil
	}
	return 0, t
}

// incomparable reports whether values of a type cannot be compared. If a part is the reason, the
// run-time names the whole type.
func incomparable(t *compile.Type) bool {
	switch t.Kind {
	case compile.Map, compile.Function, compile.Slice:
		return true
	case compile.Struct, compile.Array:
		return !types.Comparable(t.T)
	}
	return false
}

func mix(h, w uint64) uint64 {
	h = (h ^ w) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// equal compares two values; bad is a type that cannot be compared.
func (m *Machine) equal(t *compile.Type, a, b []uint64) (eq bool, bad *compile.Type) {
	if t.Plain {
		for i := range t.Size {
			if a[i] != b[i] {
				return false, nil
			}
		}
		return true, nil
	}
	switch t.Kind {
	case compile.Float32:
		return math.Float32frombits(uint32(a[0])) == math.Float32frombits(uint32(b[0])), nil
	case compile.Float64:
		return math.Float64frombits(a[0]) == math.Float64frombits(b[0]), nil
	case compile.Complex64:
		return math.Float32frombits(uint32(a[0])) == math.Float32frombits(uint32(b[0])) &&
			math.Float32frombits(uint32(a[1])) == math.Float32frombits(uint32(b[1])), nil
	case compile.Complex128:
		return math.Float64frombits(a[0]) == math.Float64frombits(b[0]) &&
			math.Float64frombits(a[1]) == math.Float64frombits(b[1]), nil
	case compile.Interface:
		if a[0] != b[0] {
			return false, nil
		}
		if a[0] == 0 {
			return true, nil
		}
		d := m.p.TypeByID(a[0])
		if incomparable(d) {
			return false, d
		}
		return m.equal(d, m.unboxed(d, &a[1]), m.unboxed(d, &b[1]))
	case compile.Struct:
		if t.Reflect {
			return m.reflected(a) == m.reflected(b), nil
		}
		for _, f := range t.Fields {
			if f.Name == "_" {
				continue
			}
			if eq, bad := m.equal(f.Type, a[f.Off:], b[f.Off:]); !eq || bad != nil {
				return false, bad
			}
		}
		return true, nil
	case compile.Array:
		for i := range t.Len {
			if eq, bad := m.equal(t.Elem, a[i*t.Elem.Size:], b[i*t.Elem.Size:]); !eq || bad != nil {
				return false, bad
			}
		}
		return true, nil
	}
	return false, t
}

// find returns the address of a key's entry, -1 if there is none.
func (m *Machine) find(mp uint64, key []uint64) (at int, bad *compile.Type) {
	o := m.objs[mp>>32]
	t := o.typ
	n := entrySize(t)
	h := m.mem[o.base : o.base+mapHeader]
	if h[mapLen] == 0 {
		if !t.Key.Plain {
			_, bad = m.hash(t.Key, key)
		}
		return -1, bad
	}
	a := int(m.addr(h[mapEntries]))
	if h[mapIndex] == 0 {
		if !t.Key.Plain {
			if _, bad = m.hash(t.Key, key); bad != nil {
				return -1, bad
			}
		}
		for i := range int(h[mapUsed]) {
			e := m.mem[a+i*n : a+(i+1)*n]
			if e[0] == 0 {
				continue
			}
			if eq, _ := m.equal(t.Key, e[1:], key); eq {
				return a + i*n, nil
			}
		}
		return -1, nil
	}
	hash, bad := m.hash(t.Key, key)
	if bad != nil {
		return -1, bad
	}
	x := m.objs[h[mapIndex]>>32]
	mask := uint64(x.size - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		k := m.mem[uint64(x.base)+i]
		if k == 0 {
			return -1, nil
		}
		e := m.mem[a+int(k-1)*n:]
		if e[0] == 0 {
			continue
		}
		if eq, _ := m.equal(t.Key, e[1:], key); eq {
			return a + int(k-1)*n, nil
		}
	}
}

// mapSet inserts or replaces.
func (m *Machine) mapSet(g *goroutine, mp uint64, key, val []uint64) *compile.Type {
	at, bad := m.find(mp, key)
	if bad != nil {
		return bad
	}
	t := m.objs[mp>>32].typ
	shared := m.objs[mp>>32].shared
	if at < 0 {
		at = m.addEntry(g, mp, key)
		for i := range t.Key.Size {
			m.set(uint32(at+1+i), key[i])
		}
		if shared {
			m.publishValue(t.Key, key)
		}
	}
	for i := range t.Elem.Size {
		m.set(uint32(at+1+t.Key.Size+i), val[i])
	}
	if shared {
		m.publishValue(t.Elem, val)
	}
	return nil
}

// addEntry makes room for a new key.
func (m *Machine) addEntry(g *goroutine, mp uint64, key []uint64) int {
	id := mp >> 32
	t := m.objs[id].typ
	n := entrySize(t)
	base := m.objs[id].base
	room := 0
	if p := m.mem[base+mapEntries]; p != 0 {
		room = int(m.objs[p>>32].size) / n
	}
	if int(m.mem[base+mapUsed]) == room {
		m.growMap(g, mp)
	}
	used := m.mem[base+mapUsed]
	at := int(m.addr(m.mem[base+mapEntries])) + int(used)*n
	m.set(base+mapSeq, m.mem[base+mapSeq]+1)
	m.set(uint32(at), m.mem[base+mapSeq])
	m.set(base+mapUsed, used+1)
	m.set(base+mapLen, m.mem[base+mapLen]+1)
	if x := m.mem[base+mapIndex]; x != 0 {
		hash, _ := m.hash(t.Key, key)
		m.index(x, hash, used+1)
	}
	return at
}

func (m *Machine) index(x, hash, place uint64) {
	o := m.objs[x>>32]
	mask := uint64(o.size - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		if m.mem[uint64(o.base)+i] == 0 {
			m.set(o.base+uint32(i), place)
			return
		}
	}
}

// growMap copies the entries to a larger object, without the holes.
func (m *Machine) growMap(g *goroutine, mp uint64) {
	id := mp >> 32
	t := m.objs[id].typ
	n := entrySize(t)
	base := m.objs[id].base
	room := max(4, 2*int(m.mem[base+mapLen]))
	entries := m.newObject(g, mapObj, nil, room*n)
	index := uint64(0)
	if room > fewEntries {
		size := 16
		for size < 2*room {
			size *= 2
		}
		index = m.newObject(g, mapObj, nil, size)
	}
	to := int(m.addr(entries))
	k := 0
	m.eachEntry(mp, func(e []uint64) {
		copy(m.mem[to+k*n:], e)
		k++
		if index != 0 {
			hash, _ := m.hash(t.Key, e[1:])
			m.index(index, hash, uint64(k))
		}
	})
	m.set(base+mapEntries, entries)
	m.set(base+mapIndex, index)
	m.set(base+mapUsed, uint64(k))
	if m.objs[id].shared {
		m.publish(entries)
		m.publish(index)
	}
}

// throwKey panics because a key that is looked up or deleted cannot be hashed: Go's message
// differs if the map is empty.
func (m *Machine) throwKey(g *goroutine, mp uint64, bad *compile.Type) {
	if mp == 0 || m.mem[m.addr(mp)+mapLen] == 0 {
		m.throwPlain(g, "hash of unhashable type: "+typeString(bad))
	} else {
		m.throw(g, "hash of unhashable type "+typeString(bad))
	}
}

func (m *Machine) mapDelete(mp uint64, key []uint64) *compile.Type {
	at, bad := m.find(mp, key)
	if bad != nil || at < 0 {
		return bad
	}
	o := m.objs[mp>>32]
	for i := range entrySize(o.typ) {
		m.set(uint32(at+i), 0)
	}
	m.set(o.base+mapLen, m.mem[o.base+mapLen]-1)
	if m.mem[o.base+mapLen] == 0 {
		m.mapClear(mp)
	}
	return nil
}

func (m *Machine) mapClear(mp uint64) {
	o := m.objs[mp>>32]
	for _, at := range []uint32{mapLen, mapUsed, mapEntries, mapIndex} {
		m.set(o.base+at, 0)
	}
}

// nextEntry returns the first entry that was inserted after number seq; nil if
// there is none.
func (m *Machine) nextEntry(mp uint64, seq uint64) []uint64 {
	o := m.objs[mp>>32]
	h := m.mem[o.base : o.base+mapHeader]
	used := int(h[mapUsed])
	if used == 0 {
		return nil
	}
	n := entrySize(o.typ)
	a := int(m.addr(h[mapEntries]))
	// Entries are in the order of their numbers; holes have none, so look from
	// the place where seq would be if there were none.
	lo := 0
	if first := m.mem[a]; first != 0 && seq >= first && h[mapUsed] == h[mapLen] &&
		int(h[mapSeq]-first)+1 == used {
		lo = int(seq - first)
	}
	for i := lo; i < used; i++ {
		if e := m.mem[a+i*n : a+(i+1)*n]; e[0] > seq {
			return e
		}
	}
	return nil
}
