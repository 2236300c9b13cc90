// Package conn is a connection that both sides may close.
package conn

import "sync"

// Conn is open until Close.
type Conn struct {
	once sync.Once
	done chan struct{}
}

// New returns an open connection.
func New() *Conn { return &Conn{done: make(chan struct{})} }

// Close closes the connection.
func (c *Conn) Close() {
	c.once.Do(func() { close(c.done) })
}

// Done is closed when the connection is.
func (c *Conn) Done() <-chan struct{} { return c.done }
