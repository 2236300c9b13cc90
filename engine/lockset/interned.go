package lockset

import (
	"sync"
	"sync/atomic"
)

// interned numbers values by their keys, from 0 on. It is safe for concurrent use. The zero
// value is empty.
type interned[K comparable, V any] struct {
	mu     sync.RWMutex
	number map[K]uint32
	// list has the values by their numbers, for those who only read. A value is there before
	// anybody has its number.
	list atomic.Pointer[[]V]
}

// all returns the values by their numbers. They must not be changed.
func (n *interned[K, V]) all() []V {
	if l := n.list.Load(); l != nil {
		return *l
	}
	return nil
}

// of returns the number of the value with a key. If there is none yet, value makes it.
func (n *interned[K, V]) of(k K, value func() V) uint32 {
	n.mu.RLock()
	i, ok := n.number[k]
	n.mu.RUnlock()
	if ok {
		return i
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if i, ok := n.number[k]; ok {
		return i
	}
	if n.number == nil {
		n.number = map[K]uint32{}
	}
	list := n.all()
	i = uint32(len(list))
	list = append(list, value())
	n.list.Store(&list)
	n.number[k] = i
	return i
}
