package lockset

import (
	"encoding/binary"
	"slices"
	"sync"

	"cpor/system"
)

// Set is an interned set of locks. Equal sets are equal numbers; 0 is the empty
// set.
type Set uint32

// Table interns sets of locks. It is safe for concurrent use. The zero value is
// not ready; NewTable makes one.
type Table struct {
	sets   interned[string, []system.Loc]
	owners interned[owner, owner]

	mu    sync.Mutex
	meets map[[2]Set]Set
}

// owner is the only thread that has accessed a location yet, and the locks that
// it held each time.
type owner struct {
	thread int
	held   Set
}

// NewTable returns a table with the empty set.
func NewTable() *Table {
	t := &Table{meets: map[[2]Set]Set{}}
	t.Of(nil)
	return t
}

// key encodes a set in increasing order over buf.
func key(buf []byte, locks []system.Loc) []byte {
	buf = buf[:0]
	for _, l := range locks {
		buf = binary.LittleEndian.AppendUint32(buf, uint32(l))
	}
	return buf
}

// Of returns the set of these locks, which are in increasing order.
func (t *Table) Of(locks []system.Loc) Set {
	return Set(
		t.sets.of(string(key(nil, locks)), func() []system.Loc { return slices.Clone(locks) }),
	)
}

// Locks returns the locks of a set in increasing order. They must not be
// changed.
func (t *Table) Locks(s Set) []system.Loc { return t.sets.all()[s] }

// Intersect returns the intersection of two sets.
func (t *Table) Intersect(a, b Set) Set {
	switch {
	case a == b:
		return a
	case a > b:
		a, b = b, a
	}
	if a == 0 {
		return 0
	}
	t.mu.Lock()
	s, ok := t.meets[[2]Set{a, b}]
	t.mu.Unlock()
	if ok {
		return s
	}
	var both []system.Loc
	for _, l := range t.Locks(a) {
		if _, ok := slices.BinarySearch(t.Locks(b), l); ok {
			both = append(both, l)
		}
	}
	s = t.Of(both)
	t.mu.Lock()
	t.meets[[2]Set{a, b}] = s
	t.mu.Unlock()
	return s
}

// ownerNumber interns an owner.
func (t *Table) ownerNumber(o owner) uint32 { return t.owners.of(o, func() owner { return o }) }

// ownerOf returns the owner of a number.
func (t *Table) ownerOf(n uint32) owner { return t.owners.all()[n] }

// cache is a machine's view of a table, without locking for what it has seen.
type cache struct {
	table  *Table
	single []Set // by location: the set of that lock alone, plus one
	index  map[string]Set
	meets  map[[2]Set]Set
	buf    []byte
	owned  map[owner]uint32
	owners []owner // a prefix of the table's
}

func newCache(t *Table) *cache {
	return &cache{table: t, index: map[string]Set{}, meets: map[[2]Set]Set{},
		owned: map[owner]uint32{}}
}

// owner returns the number of an owner.
func (c *cache) owner(o owner) uint32 {
	n, ok := c.owned[o]
	if !ok {
		n = c.table.ownerNumber(o)
		c.owned[o] = n
	}
	return n
}

// ownerOf returns the owner in a word.
func (c *cache) ownerOf(w word) owner {
	n := int(w & payload)
	if n >= len(c.owners) {
		c.owners = c.table.owners.all()
	}
	return c.owners[n]
}

func (c *cache) of(locks []system.Loc) Set {
	switch len(locks) {
	case 0:
		return 0
	case 1:
		l := int(locks[0])
		for l >= len(c.single) {
			c.single = append(c.single, 0)
		}
		if c.single[l] == 0 {
			c.single[l] = c.table.Of(locks) + 1
		}
		return c.single[l] - 1
	}
	c.buf = key(c.buf, locks)
	s, ok := c.index[string(c.buf)]
	if !ok {
		s = c.table.Of(locks)
		c.index[string(c.buf)] = s
	}
	return s
}

func (c *cache) intersect(a, b Set) Set {
	switch {
	case a == b:
		return a
	case a == 0 || b == 0:
		return 0
	}
	k := [2]Set{min(a, b), max(a, b)}
	s, ok := c.meets[k]
	if !ok {
		s = c.table.Intersect(a, b)
		c.meets[k] = s
	}
	return s
}
