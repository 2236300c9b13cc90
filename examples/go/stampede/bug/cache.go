// Package cache keeps what is expensive to load.
package cache

import "sync"

// Cache loads each key once.
type Cache struct {
	mu   sync.Mutex
	vals map[string]string
	load func(key string) string
}

// New returns an empty cache.
func New(load func(string) string) *Cache {
	return &Cache{vals: map[string]string{}, load: load}
}

// Get returns the value of key. Everybody who asks before the first one has
// loaded it loads it again.
func (c *Cache) Get(key string) string {
	c.mu.Lock()
	v, ok := c.vals[key]
	c.mu.Unlock()
	if ok {
		return v
	}
	v = c.load(key)
	c.mu.Lock()
	c.vals[key] = v
	c.mu.Unlock()
	return v
}
