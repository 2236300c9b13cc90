// Package drain receives from a queue until it is told to stop.
package drain

// Queue collects what was put into it.
type Queue struct {
	in      chan int
	stop    chan struct{}
	stopped chan struct{}
	got     []int
}

// New starts a queue.
func New() *Queue {
	q := &Queue{in: make(chan int, 4), stop: make(chan struct{}), stopped: make(chan struct{})}
	go q.run()
	return q
}

// run ends when stop is closed, after it took what is there.
func (q *Queue) run() {
	defer close(q.stopped)
	for {
		select {
		case v := <-q.in:
			q.got = append(q.got, v)
		case <-q.stop:
			for len(q.in) > 0 {
				q.got = append(q.got, <-q.in)
			}
			return
		}
	}
}

// Put hands over a value.
func (q *Queue) Put(v int) { q.in <- v }

// Stop ends the queue and returns what was put.
func (q *Queue) Stop() []int {
	close(q.stop)
	<-q.stopped
	return q.got
}
