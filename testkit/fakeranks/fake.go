// Package fakeranks is a message-passing system within one process, for tests of
// what runs on a cluster. It keeps the one promise that MPI makes, the order of
// messages between two ranks, and otherwise is as unkind as MPI may be: messages
// are delayed at random, overtake those of other senders, and a sender may use
// its memory again only when the message was received.
package fakeranks

import (
	"math/rand/v2"
	"sync"
	"time"

	"cpor/engine"

	"golang.org/x/sync/errgroup"
)

// Options say how unkind the system is.
type Options struct {
	Seed uint64
	// MaxDelay is how long a message may be held up at most.
	MaxDelay time.Duration
}

// New returns the connections of n ranks.
func New(n int, o Options) []engine.Comm {
	net := &network{queues: make([][][]*message, n)}
	comms := make([]engine.Comm, n)
	for r := range n {
		net.queues[r] = make([][]*message, n)
		comms[r] = &comm{net: net, rank: r, o: o, rnd: rand.New(rand.NewPCG(o.Seed, uint64(r)))}
	}
	return comms
}

// Run calls do on n ranks at once, and returns the first error.
func Run(n int, o Options, do func(rank int, c engine.Comm) error) error {
	var g errgroup.Group
	for rank, c := range New(n, o) {
		g.Go(func() error { return do(rank, c) })
	}
	return g.Wait()
}

// network holds the messages under way: for each receiver and sender a queue.
type network struct {
	mu     sync.Mutex
	queues [][][]*message
}

// message is one under way, or received.
type message struct {
	net  *network
	m    []byte
	due  time.Time
	done bool
}

type comm struct {
	net  *network
	rank int
	o    Options
	rnd  *rand.Rand
	buf  []byte
}

func (c *comm) Rank() int { return c.rank }
func (c *comm) Size() int { return len(c.net.queues) }

func (c *comm) Send(to int, m []byte) (engine.Sending, error) {
	msg := &message{net: c.net, m: m, due: time.Now()}
	if c.o.MaxDelay > 0 {
		msg.due = msg.due.Add(time.Duration(c.rnd.Int64N(int64(c.o.MaxDelay))))
	}
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	c.net.queues[to][c.rank] = append(c.net.queues[to][c.rank], msg)
	return msg, nil
}

// Done implements engine.Sending.
func (m *message) Done() (bool, error) {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	return m.done, nil
}

func (c *comm) Receive() (from int, m []byte, err error) {
	now := time.Now()
	c.net.mu.Lock()
	defer c.net.mu.Unlock()
	in := c.net.queues[c.rank]
	first := c.rnd.IntN(len(in))
	for i := range in {
		from := (first + i) % len(in)
		if q := in[from]; len(q) > 0 && !q[0].due.After(now) {
			c.buf = append(c.buf[:0], q[0].m...)
			// What the sender does to its memory from now on must not matter.
			clear(q[0].m)
			q[0].done = true
			in[from] = q[1:]
			return from, c.buf, nil
		}
	}
	return 0, nil, nil
}
