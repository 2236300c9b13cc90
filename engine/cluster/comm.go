// Package cluster lets a search run on many machines: every rank of a job has
// its part of the covered set, and sends on what belongs to others. For example, with two ranks:
//
//	Rank 0 expands a state and reaches s and t. It owns s: s goes into its own store. Rank 1 owns
//	t: t goes into a buffer for rank 1, is sent when the buffer is full or the worker has nothing
//	else to do, and goes into the store of rank 1. Rank 1 has t already: nothing follows.
//	Both ranks have no work. Rank 0 asks both, and then once more: one message was sent by all and
//	one received by all, both times, and both were passive. So the search has ended.
//
// # Parts
//
// An [engine.Comm] is what is needed of a message-passing system; package cluster/mpi has
// it from MPI, and package testkit/fakeranks from channels, with delays, for tests.
// Who owns a state is for package cluster/division to say.
// Exchange is one rank's side of the traffic: outgoing states are collected in
// a buffer for each worker and destination, handed over when full, received
// by their owner, and at the end everybody knows that it is the end. A state is sent as its
// words, or as the numbers of its parts, see [Outbox].
//
// # Back-pressure
//
// Nothing here grows without a bound, and nothing can wait for itself. The buffers of the
// workers and of the queue between them and the speaking goroutine are bounded, as are the
// messages under way to each rank: a worker that finds the queue full waits. The speaking
// goroutine never waits: it receives whatever arrives, hands it to the search, which stores it
// (the store is the one thing that has to grow), and so every message under way is received in
// the end, its buffer is free again, and every worker that waits continues.
//
// # Termination
//
// By the four counters of Mattern (Algorithms for distributed termination
// detection, Distributed Computing 2, 1987, section 4). A rank is passive if
// none of its workers holds a state, its work set is empty, and all that its
// workers had for others has been sent; only a message of states can make it
// active again. Rank 0 asks all ranks, in waves, whether they are passive and how
// many messages of states they have sent and received since the start. The
// search has ended if in two waves, the second begun after the first was
// complete, every rank was passive when it was asked, and the number received
// in the first wave equals the number sent in the second.
//
// Proof. Let t be a moment between the two waves, R(t) and S(t) the numbers
// received and sent by all until then. The counters only grow, each rank was
// asked before t in the first wave and after t in the second, so R1 <= R(t) and
// S(t) <= S2. What is received has been sent: R(t) <= S(t). With R1 = S2 all
// four are equal: at t no message was under way. And since R1 = R(t), no rank
// received anything between its answer in the first wave and t; it was passive
// then and nothing made it active, so at t all are passive. Nothing under way and
// all passive: that stays so. The model benchmarks/mattern.model checks the same,
// and that one wave is not enough.
//
// # Pauses
//
// A rank that needs a pause asks rank 0, which tells all. Each rank lets its workers finish what
// they do, sends what is left, and says that it was the last. When all have said so, nothing is
// under way: messages between two ranks keep their order. The exchange that continues is a new
// one, with counters that begin at 0.
package cluster

import "cpor/engine"

// Left is the error of a rank that has left what all ranks do together, while the others
// may still wait for it: the job has to be aborted.
type Left struct{ Err error }

func (e *Left) Error() string { return e.Err.Error() }

// Unwrap returns what went wrong.
func (e *Left) Unwrap() error { return e.Err }

// Conn is a connection that several exchanges use one after the other. A rank may
// begin the next one while another rank is in the one before: what comes too early
// is kept for it.
type Conn struct {
	engine.Comm
	early []data // for the next exchange
	ready []data // for this one
}

// Connect returns a connection for several exchanges.
func Connect(c engine.Comm) *Conn { return &Conn{Comm: c} }

// Receive implements [engine.Comm].
func (c *Conn) Receive() (from int, m []byte, err error) {
	if len(c.ready) > 0 {
		d := c.ready[0]
		c.ready = c.ready[1:]
		return d.from, d.m, nil
	}
	return c.Comm.Receive()
}

// keep keeps a message for the next exchange.
func (c *Conn) keep(from int, m []byte) {
	c.early = append(c.early, data{from, append([]byte(nil), m...)})
}

// next begins the next exchange.
func (c *Conn) next() {
	c.ready, c.early = append(c.ready, c.early...), nil
}
