// Package gate lets goroutines wait until a gate opens.
package gate

import (
	"sync"
	"sync/atomic"
)

// Gate is closed until Open is called.
type Gate struct {
	mu   sync.Mutex
	cond *sync.Cond
	open atomic.Bool
}

// New returns a closed gate.
func New() *Gate {
	g := &Gate{}
	g.cond = sync.NewCond(&g.mu)
	return g
}

// Open opens the gate. It does not hold the lock: between the look at open in
// Wait and the Wait on the condition it finds nobody to wake.
func (g *Gate) Open() {
	g.open.Store(true)
	g.cond.Broadcast()
}

// Wait returns when the gate is open.
func (g *Gate) Wait() {
	g.mu.Lock()
	defer g.mu.Unlock()
	for !g.open.Load() {
		g.cond.Wait()
	}
}
