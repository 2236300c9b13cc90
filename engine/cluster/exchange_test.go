package cluster_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/engine"
	"cpor/testkit/sample"

	"golang.org/x/sync/errgroup"

	"cpor/engine/cluster"
	"cpor/statestore"
	"cpor/testkit/fakeranks"
	"cpor/workers"
)

// graph is a random graph to be searched: state n has up to three successors.
type graph struct {
	nodes uint64
	seed  uint64
}

func (g graph) successors(n uint64) []uint64 {
	rnd := rand.New(rand.NewPCG(g.seed, n))
	var out []uint64
	for range rnd.IntN(4) {
		out = append(out, rnd.Uint64N(g.nodes))
	}
	return out
}

// reachable is the number of nodes that can be reached from node 0.
func (g graph) reachable() int {
	seen := map[uint64]bool{0: true}
	todo := []uint64{0}
	for len(todo) > 0 {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, m := range g.successors(n) {
			if !seen[m] {
				seen[m] = true
				todo = append(todo, m)
			}
		}
	}
	return len(seen)
}

// rank searches one rank's part of a graph, with the real pool.
type rank struct {
	g      graph
	x      *cluster.Exchange
	ws     *statestore.WorkSet
	gate   *workers.Gate
	cancel context.CancelCauseFunc
	done   chan struct{}
	pause  chan struct{}
	seen   sync.Map
	states atomic.Int64
	stopAt int64 // ask for a stop after so many states, 0 for never
}

func (r *rank) insert(n uint64) bool {
	_, old := r.seen.LoadOrStore(n, true)
	if !old {
		if k := r.states.Add(1); k == r.stopAt {
			r.x.RequestStop("enough")
		}
	}
	return !old
}

type worker struct {
	r   *rank
	box *cluster.Outbox
	me  int
}

func (w *worker) Idle() { w.box.Flush() }

func (w *worker) Process(b *statestore.Batch, i int, out *workers.Out) error {
	n := uint64(b.Refs[i])
	if s := b.State(i); s != nil {
		n = s[0]
		if !w.r.insert(n) {
			return nil
		}
	} else {
		n-- // a Ref is not 0
	}
	for _, m := range w.r.g.successors(n) {
		s := []uint64{m}
		if to := w.box.Owner(s); to != w.me {
			w.box.Send(to, b.Depth+1, n, s)
		} else if w.r.insert(m) {
			out.Add(b.Depth+1, statestore.Ref(m+1))
		}
	}
	return nil
}

func (r *rank) Arrive(a *cluster.Arrival) error {
	b := r.gate.Get()
	b.Depth = a.Depth
	b.AddState(1, a.State, nil)
	r.gate.Push(b)
	return nil
}
func (r *rank) Means(from, length, part int, number uint32, value []uint64) error {
	panic("nothing is sent by numbers")
}

func (r *rank) Arrived()      {}
func (r *rank) Passive() bool { return r.gate.Passive() }
func (r *rank) Progress() cluster.Progress {
	return cluster.Progress{
		States: uint64(r.states.Load())}
}
func (r *rank) End()                  { r.gate.Close() }
func (r *rank) Stop()                 { r.cancel(fmt.Errorf("stopped")) }
func (r *rank) Pause()                { close(r.pause) }
func (r *rank) Done() <-chan struct{} { return r.done }

// search searches g on the ranks of comms and returns the number of states and
// the outcome, which has to be the same on all.
func search(t *testing.T, g graph, comms []engine.Comm, perRank int, stopAt int64,
	o cluster.Options) (states int, outcome cluster.Outcome) {
	t.Helper()
	var eg errgroup.Group
	outcomes := make([]cluster.Outcome, len(comms))
	var total atomic.Int64
	for i, c := range comms {
		eg.Go(func() error {
			n, out, err := searchRank(g, c, i, perRank, stopAt, o)
			outcomes[i] = out
			total.Add(int64(n))
			return err
		})
	}
	if err := eg.Wait(); err != nil {
		t.Fatal(err)
	}
	for i, o := range outcomes {
		if o != outcomes[0] {
			t.Fatalf("rank %d ended with %+v, rank 0 with %+v", i, o, outcomes[0])
		}
	}
	return int(total.Load()), outcomes[0]
}

// pauses counts the pauses of all ranks.
var pauses atomic.Int64

// round searches until the end, a stop or a pause.
func (r *rank) round(perRank, i int) (cluster.Outcome, error) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r.cancel, r.gate, r.done, r.pause = cancel, workers.NewGate(), make(chan struct{}),
		make(chan struct{})
	go func() {
		defer close(r.done)
		_, err := workers.Run(ctx, r.ws, workers.Options{Workers: perRank, CPUs: 2, Gate: r.gate,
			Pause: r.pause}, func(id int) workers.Worker {
			return &worker{r: r, box: r.x.Outbox(id), me: i}
		})
		if err != nil && ctx.Err() == nil && !errors.Is(err, workers.ErrPaused) {
			panic(err)
		}
	}()
	<-r.gate.Ready()
	return r.x.Run(r)
}

// searchRank is search for one rank; it returns the rank's own number of states.
func searchRank(g graph, c engine.Comm, i, perRank int, stopAt int64, o cluster.Options) (int,
	cluster.Outcome, error) {
	o.Workers = perRank
	r := &rank{g: g, x: cluster.NewExchange(c, o), ws: statestore.NewWorkSet(perRank + 1)}
	if i == 0 {
		r.stopAt = stopAt
	}
	if r.x.Outbox(0).Owner([]uint64{0}) == i {
		r.insert(0)
		b := r.ws.Get(0)
		b.Add(1)
		r.ws.Push(0, b)
	}
	out, err := r.round(perRank, i)
	for err == nil && out.Paused {
		pauses.Add(1)
		// What ranks have to agree about in a pause is said in the exchange that pauses.
		if _, err = r.x.Gather([]byte{byte(i)}); err == nil {
			r.x = r.x.Next()
			out, err = r.round(perRank, i)
		}
	}
	if err != nil {
		return 0, out, err
	}
	all, err := r.x.Gather(binary.AppendUvarint(nil, uint64(r.states.Load())))
	if err != nil {
		return 0, out, err
	}
	sum := uint64(0)
	for _, m := range all {
		n, _ := binary.Uvarint(m)
		sum += n
	}
	m, err := r.x.Broadcast(binary.AppendUvarint(nil, sum))
	if err != nil {
		return 0, out, err
	}
	if n, _ := binary.Uvarint(m); n < uint64(r.states.Load()) {
		return 0, out, fmt.Errorf("rank %d has %d states, and heard of %d", i, r.states.Load(), n)
	}
	return int(r.states.Load()), out, nil
}

// TestExchange searches random graphs on several ranks over an unkind network:
// every reachable state is found, and nobody ends before that.
func TestExchange(t *testing.T) {
	n := sample.Of(12, 15, 60)
	for seed := range uint64(n) {
		g := graph{nodes: 20 << (seed % 8), seed: seed}
		comms := fakeranks.New(1+int(seed%5), fakeranks.Options{
			Seed: seed, MaxDelay: time.Duration(seed%4) * 300 * time.Microsecond})
		o := cluster.Options{BufferBytes: 1 + int(seed%3)*100, ReportEvery: time.Millisecond}
		got, out := search(t, g, comms, 1+int(seed%3), 0, o)
		if want := g.reachable(); got != want || !out.Ended {
			t.Errorf("seed %d: %d states on %d ranks, want %d; %+v", seed, got, len(comms), want,
				out)
		}
	}
}

// TestPause lets searches pause again and again, each time with a new exchange on the
// same connections: nothing is lost on the way from one to the next, and stops that are
// asked for meanwhile hold.
func TestPause(t *testing.T) {
	n := sample.Of(12, 15, 60)
	pauses.Store(0)
	for seed := range uint64(n) {
		g := graph{nodes: 200 << (seed % 6), seed: seed + 5000}
		comms := fakeranks.New(1+int(seed%5), fakeranks.Options{
			Seed: seed, MaxDelay: time.Duration(seed%4) * 300 * time.Microsecond})
		for i := range comms {
			comms[i] = cluster.Connect(comms[i])
		}
		o := cluster.Options{BufferBytes: 1 + int(seed%3)*100, ReportEvery: time.Millisecond,
			PauseAfter: time.Duration(1+seed%7*100) * time.Microsecond}
		if seed%4 == 3 {
			o.Parts = 2*len(comms) + 1
		}
		stopAt := int64(0)
		if seed%5 == 4 {
			stopAt = 5
		}
		got, out := search(t, g, comms, 1+int(seed%3), stopAt, o)
		switch want := g.reachable(); {
		case stopAt > 0 && !out.Ended && out.Reason != "enough", stopAt == 0 && !out.Ended:
			t.Errorf("seed %d: %+v", seed, out)
		case out.Ended && got != want:
			t.Errorf("seed %d: %d states on %d ranks, want %d", seed, got, len(comms), want)
		}
	}
	if pauses.Load() < int64(n) {
		t.Errorf("only %d pauses of ranks", pauses.Load())
	}
}

// TestStop stops a search from within: all ranks end, with the same reason, and
// nothing is left under way.
func TestStop(t *testing.T) {
	for seed := range uint64(20) {
		g := graph{nodes: 1 << 40, seed: seed + 1000}
		if g.atLeast(2000) < 2000 {
			continue
		}
		comms := fakeranks.New(2+int(seed%3), fakeranks.Options{
			Seed: seed, MaxDelay: 200 * time.Microsecond})
		_, out := search(t, g, comms, 2, 50, cluster.Options{BufferBytes: 64})
		if out.Ended || out.Reason != "enough" {
			t.Errorf("seed %d: %+v", seed, out)
		}
	}
}

// atLeast is reachable that gives up at a number of nodes.
func (g graph) atLeast(most int) int {
	seen := map[uint64]bool{0: true}
	todo := []uint64{0}
	for len(todo) > 0 && len(seen) < most {
		n := todo[0]
		todo = todo[1:]
		for _, m := range g.successors(n) {
			if !seen[m] {
				seen[m] = true
				todo = append(todo, m)
			}
		}
	}
	return len(seen)
}
