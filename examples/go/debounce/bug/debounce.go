// Package debounce passes on an event when no other one follows for a while.
package debounce

import (
	"sync"
	"time"
)

// Debouncer sends on C.
type Debouncer struct {
	C     chan string
	mu    sync.Mutex
	timer *time.Timer
}

// New returns a debouncer.
func New() *Debouncer { return &Debouncer{C: make(chan string, 1)} }

// Event passes s on after a while.
func (d *Debouncer) Event(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.timer = time.AfterFunc(time.Millisecond, func() { d.C <- s })
}

// Close ends the debouncer. A timer that has fired is not stopped: its function
// may send after C was closed.
func (d *Debouncer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	close(d.C)
}
