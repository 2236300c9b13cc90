// Package cache has a cache that several goroutines may use.
package cache

import "sync"

// Cache is a cache.
type Cache struct {
	mu sync.RWMutex
	m  map[string]int
}

// New returns an empty cache.
func New() *Cache { return &Cache{m: map[string]int{}} }

// Get returns the value of a key, and whether there is one.
func (c *Cache) Get(key string) (int, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	v, ok := c.m[key]
	return v, ok
}

// Put sets the value of a key.
func (c *Cache) Put(key string, v int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m[key] = v
}

// PutIfAbsent sets the value of a key if it has none, and reports whether it has done so.
func (c *Cache) PutIfAbsent(key string, v int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.m[key]; ok {
		return false
	}
	c.m[key] = v
	return true
}
