// Package fork lets philosophers take two forks.
package fork

import "sync"

// Fork is held by one at a time. The forks of a table have different numbers.
type Fork struct {
	Number int
	mu     sync.Mutex
}

// Dine holds both forks while it calls eat. It takes the one with the smaller
// number first and waits for the other.
func Dine(left, right *Fork, eat func()) {
	if right.Number < left.Number {
		left, right = right, left
	}
	left.mu.Lock()
	right.mu.Lock()
	eat()
	right.mu.Unlock()
	left.mu.Unlock()
}
