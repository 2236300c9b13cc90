// Package hits counts requests by path.
package hits

import "sync"

// Counter counts. It is safe for concurrent use.
type Counter struct {
	mu   sync.Mutex
	hits map[string]int
}

// New returns a counter.
func New() *Counter { return &Counter{hits: map[string]int{}} }

// Add counts a hit.
func (c *Counter) Add(path string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hits[path]++
}

// Count returns the hits of a path.
func (c *Counter) Count(path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hits[path]
}
