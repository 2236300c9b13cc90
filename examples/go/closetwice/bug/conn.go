// Package conn is a connection that both sides may close.
package conn

// Conn is open until Close.
type Conn struct{ done chan struct{} }

// New returns an open connection.
func New() *Conn { return &Conn{done: make(chan struct{})} }

// Close closes the connection. Two that look at once both see it open.
func (c *Conn) Close() {
	select {
	case <-c.done: // already closed
	default:
		close(c.done)
	}
}

// Done is closed when the connection is.
func (c *Conn) Done() <-chan struct{} { return c.done }
