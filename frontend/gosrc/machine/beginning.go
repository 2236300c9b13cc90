package machine

import "slices"

// The initial memory consists of all global variables and what the initializers have made:
// megabytes, if a program imports much, of which an execution changes little. So a machine
// records the pages written since a state was loaded: only these are restored to load another
// one, and only these are searched for differences from the initial memory. Recording a page
// without need is harmless, so undone steps leave theirs.

// pageBits is the size of a page: 1 << pageBits words.
const pageBits = 6

// beginning is what a machine knows about the initial memory.
type beginning struct {
	end    uint32   // of that memory; 0: the machine has none yet
	pages  []uint32 // in which something was written, or a shadow was
	listed []bool   // by page: it is in pages
}

// soil records that a word, or its shadow, is about to be written.
func (m *Machine) soil(a uint32) {
	if a >= m.end {
		return
	}
	if p := a >> pageBits; !m.listed[p] {
		m.listed[p] = true
		m.pages = append(m.pages, p)
	}
}

// span returns the addresses of a page.
func (m *Machine) span(p uint32) (from, to uint32) {
	return p << pageBits, min((p+1)<<pageBits, m.end)
}

// clean restores the memory of f, the machine in the initial state. The initial objects keep
// their identity throughout an execution, and the numbers of locations, which are beside the
// shadows, are the same in all states.
func (m *Machine) clean(f *Machine) {
	if m.end == 0 {
		m.mem = append(m.mem[:0], f.mem...)
		m.shadow = append(m.shadow[:0], f.shadow...)
		m.objs = append(m.objs[:0], f.objs...)
		m.naming.forget(0)
		m.end = uint32(len(f.mem))
		m.listed = make([]bool, m.end>>pageBits+1)
		return
	}
	if m.roomy() { // for the next execution, one that is not as long as the longest so far
		m.mem, m.shadow = slices.Clone(m.mem[:m.end]), slices.Clone(m.shadow[:m.end])
	}
	m.mem, m.shadow, m.objs = m.mem[:m.end], m.shadow[:m.end], m.objs[:len(f.objs)]
	m.naming.forget(len(f.objs))
	for _, p := range m.pages {
		from, to := m.span(p)
		copy(m.mem[from:to], f.mem[from:to])
		copy(m.shadow[from:to], f.shadow[from:to])
		m.listed[p] = false
	}
	m.pages = m.pages[:0]
}

// owners returns, for each object with the entries of a map, the map.
func (m *Machine) owners() map[uint32]uint32 {
	owner := map[uint32]uint32{}
	for id := range m.objs {
		if o := &m.objs[id]; o.kind == mapObj && o.typ != nil {
			owner[uint32(m.mem[o.base+mapEntries]>>32)] = uint32(id)
		}
	}
	return owner
}

// soiled returns the initial objects that may differ from f, sorted: a map has its entries in an
// object of their own.
func (m *Machine) soiled(f *Machine) []uint32 {
	var ids []uint32
	for _, p := range m.pages {
		from, to := m.span(p)
		if slices.Equal(f.mem[from:to], m.mem[from:to]) {
			continue
		}
		k, _ := slices.BinarySearchFunc(f.objs[1:], from, func(o object, a uint32) int {
			if o.base+o.size <= a {
				return -1
			}
			return 1
		})
		for id := k + 1; id < len(f.objs) && f.objs[id].base < to; id++ {
			o := &f.objs[id]
			if o.kind != mapObj || o.typ != nil {
				ids = append(ids, uint32(id))
			} else if x, ok := m.sys.owners[uint32(id)]; ok {
				ids = append(ids, x)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}
