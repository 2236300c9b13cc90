package system

import (
	"hash/maphash"
	"sync"
	"sync/atomic"
)

// Names numbers names: the same name always gets the same small number. Systems whose locations and
// threads are created at run time need it. Number and Name may be called from many goroutines at
// once; only a new name takes a lock. The zero value is ready to use.
//
// The available concurrent maps (sync.Map, xsync) box their keys or cannot map a number back to its
// name.
type Names[N comparable] struct {
	mu    sync.Mutex
	table atomic.Pointer[namesTable[N]]
}

// namesTable is a hash table with open addressing. Entries are only added; a
// full table is replaced by a larger one.
type namesTable[N comparable] struct {
	seed  maphash.Seed
	slots []atomic.Uint32 // a number plus one, 0 if free
	names []N             // by number; as many as count are valid
	count atomic.Uint32
}

// Number returns the number of a name.
func (n *Names[N]) Number(name N) uint32 {
	if t := n.table.Load(); t != nil {
		if k, ok, _ := t.find(name); ok {
			return k
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t := n.table.Load()
	if t == nil {
		t = newNamesTable[N](maphash.MakeSeed(), 64)
		n.table.Store(t)
	}
	k, ok, at := t.find(name)
	if ok {
		return k
	}
	if k = t.count.Load(); int(k) == len(t.names) {
		larger := newNamesTable[N](t.seed, 2*len(t.slots))
		for _, old := range t.names {
			_, _, free := larger.find(old)
			larger.add(free, old)
		}
		_, _, at = larger.find(name)
		t = larger
		t.add(at, name)
		n.table.Store(t)
		return k
	}
	t.add(at, name)
	return k
}

// Name returns the name of a number that Number returned.
func (n *Names[N]) Name(k uint32) N { return n.table.Load().names[k] }

// Len returns how many names have numbers: all numbers are smaller.
func (n *Names[N]) Len() int {
	if t := n.table.Load(); t != nil {
		return int(t.count.Load())
	}
	return 0
}

func newNamesTable[N comparable](seed maphash.Seed, slots int) *namesTable[N] {
	return &namesTable[N]{seed: seed, slots: make([]atomic.Uint32, slots),
		names: make([]N, slots/2)}
}

// find returns the number of a name, or the free slot where it belongs.
func (t *namesTable[N]) find(name N) (number uint32, ok bool, free int) {
	mask := len(t.slots) - 1
	for i := int(maphash.Comparable(t.seed, name)) & mask; ; i = (i + 1) & mask {
		k := t.slots[i].Load()
		if k == 0 {
			return 0, false, i
		}
		if t.names[k-1] == name {
			return k - 1, true, 0
		}
	}
}

// add publishes a name after it was written.
func (t *namesTable[N]) add(slot int, name N) {
	k := t.count.Load()
	t.names[k] = name
	t.count.Store(k + 1)
	t.slots[slot].Store(k + 1)
}
