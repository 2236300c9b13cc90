package engine

// Comm is a rank's connection to the others. Messages between two ranks arrive
// in the order in which they were sent; there is no order between messages of
// different senders. Its methods are called from one goroutine.
type Comm interface {
	// Rank returns this rank's number, from 0, and Size how many there are.
	Rank() int
	Size() int
	// Send starts to send m to a rank. m must not change until the sending
	// is done.
	Send(to int, m []byte) (Sending, error)
	// Receive returns the next message that has arrived and who sent it, nil if
	// there is none. The message is valid until the next call.
	Receive() (from int, m []byte, err error)
}

// Sending is a message that is under way.
type Sending interface {
	// Done reports whether the message's memory may be used again.
	Done() (bool, error)
}
