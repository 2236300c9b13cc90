// Package debounce passes on an event when no other one follows for a while.
package debounce

import (
	"sync"
	"time"
)

// Debouncer sends on C.
type Debouncer struct {
	C      chan string
	mu     sync.Mutex
	timer  *time.Timer
	closed bool
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
	d.timer = time.AfterFunc(time.Millisecond, func() { d.send(s) })
}

func (d *Debouncer) send(s string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return
	}
	select {
	case d.C <- s:
	default: // the last event has not been taken yet
	}
}

// Close ends the debouncer.
func (d *Debouncer) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	d.closed = true
	close(d.C)
}
