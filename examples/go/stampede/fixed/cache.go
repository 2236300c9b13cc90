// Package cache keeps what is expensive to load.
package cache

import "sync"

// Cache loads each key once.
type Cache struct {
	mu   sync.Mutex
	vals map[string]*entry
	load func(key string) string
}

type entry struct {
	ready chan struct{} // closed when val is there
	val   string
}

// New returns an empty cache.
func New(load func(string) string) *Cache {
	return &Cache{vals: map[string]*entry{}, load: load}
}

// Get returns the value of key. The first one who asks loads it, the others
// wait for it.
func (c *Cache) Get(key string) string {
	c.mu.Lock()
	e, ok := c.vals[key]
	if !ok {
		e = &entry{ready: make(chan struct{})}
		c.vals[key] = e
	}
	c.mu.Unlock()
	if ok {
		<-e.ready
		return e.val
	}
	e.val = c.load(key)
	close(e.ready)
	return e.val
}
