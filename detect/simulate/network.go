package simulate

import (
	"container/heap"
	"math/rand/v2"
)

// network is a discrete-event simulation of processes that exchange messages.
type network struct {
	rng   *rand.Rand
	rec   *Recorder
	now   float64
	queue eventQueue
	seq   int
	limit int // a run ends when some process has executed so many events
	last  map[[2]int]float64
}

func newNetwork(n, s int, seed uint64) *network {
	return &network{rng: rand.New(rand.NewPCG(seed, 2000)), rec: NewRecorder(Names("p", n)),
		limit: s - 1, last: map[[2]int]float64{}}
}

// delay draws from 1 + exp(1), the paper's distribution of all delays.
func (w *network) delay() float64 { return 1 + w.rng.ExpFloat64() }

type scheduled struct {
	at  float64
	seq int // order of equal times, so that a run is determined by its seed
	do  func()
}

type eventQueue []scheduled

func (q eventQueue) Len() int { return len(q) }
func (q eventQueue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q eventQueue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *eventQueue) Push(x any)   { *q = append(*q, x.(scheduled)) }
func (q *eventQueue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// after calls do a random delay from now.
func (w *network) after(do func()) { w.at(w.now+w.delay(), do) }

func (w *network) at(time float64, do func()) {
	w.seq++
	heap.Push(&w.queue, scheduled{time, w.seq, do})
}

// run executes what is scheduled until some process has executed its events.
func (w *network) run() {
	for len(w.queue) > 0 && !w.full() {
		x := heap.Pop(&w.queue).(scheduled)
		w.now = x.at
		x.do()
	}
}

// full reports whether some process has executed S-1 events.
func (w *network) full() bool {
	for i := range w.rec.n {
		if w.rec.Events(i) >= w.limit {
			return true
		}
	}
	return false
}

// message is one that an event sends.
type message struct {
	to      []int
	receive func(j int, m Message)
}

// event records an event of process i and what it sends; nothing happens any
// more when the run has ended. A receiver gets the message after a delay of its
// own, and the messages from one process to another in the order they were sent.
// The handler of a message is called when it arrives.
func (w *network) event(i int, text string, sends []message, assigns ...Assign) {
	if w.full() {
		return
	}
	w.deliver(i, w.rec.Send(i, text, assigns...), sends)
}

// receive records an event of process j that receives a message, and what that
// event sends.
func (w *network) receive(j int, m Message, text string, sends []message, assigns ...Assign) {
	if w.full() {
		return
	}
	w.rec.Receive(j, m, text, assigns...)
	w.deliver(j, Message(w.rec.clocks[j].Clone()), sends)
}

func (w *network) deliver(i int, m Message, sends []message) {
	for _, s := range sends {
		for _, j := range s.to {
			at := max(w.now+w.delay(), w.last[[2]int{i, j}])
			w.last[[2]int{i, j}] = at
			w.at(at, func() { s.receive(j, m) })
		}
	}
}

func send(receive func(j int, m Message), to ...int) []message {
	return []message{{to, receive}}
}
