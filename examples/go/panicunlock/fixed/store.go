// Package store applies updates one at a time.
package store

import (
	"fmt"
	"sync"
)

// Store keeps numbers by name.
type Store struct {
	mu   sync.Mutex
	vals map[string]int
}

// New returns an empty store.
func New() *Store { return &Store{vals: map[string]int{}} }

// Update replaces a value by f of it. A panic in f becomes an error.
func (s *Store) Update(name string, f func(int) int) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("store: update of %s: %v", name, r)
		}
	}()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vals[name] = f(s.vals[name])
	return nil
}
