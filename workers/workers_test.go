package workers

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/statestore"
)

// dag is a workload that is known only by walking it: node n has children
// n*fan+1 ... with a random fan; every node is reached once.
type dag struct {
	children [][]statestore.Ref
	spin     int // work for each item
	done     []atomic.Int32
}

func randomDAG(r *rand.Rand, size int) *dag {
	d := &dag{children: make([][]statestore.Ref, size), done: make([]atomic.Int32, size)}
	// Every node but 0 hangs below an earlier one. The window decides on the
	// shape: 1 is a chain, size a bush.
	window := 1 + r.IntN(size)
	if r.IntN(3) == 0 {
		window = 1 + r.IntN(3)
	}
	for n := 1; n < size; n++ {
		p := n - 1 - r.IntN(min(n, window))
		d.children[p] = append(d.children[p], statestore.Ref(n))
	}
	return d
}

type dagWorker struct {
	d     *dag
	items *atomic.Int64
	sink  int
}

func (w *dagWorker) Process(b *statestore.Batch, i int, out *Out) error {
	n := b.Refs[i]
	if got := w.d.done[n].Add(1); got != 1 {
		return fmt.Errorf("node %d processed %d times", n, got)
	}
	for range w.d.spin {
		w.sink = w.sink*31 + 1
	}
	for _, c := range w.d.children[n] {
		out.Add(b.Depth+1, c)
	}
	w.items.Add(1)
	return nil
}

func (d *dag) run(t *testing.T, workers, cpus int, depthFirst bool) Stats {
	t.Helper()
	ws := statestore.NewWorkSet(workers)
	seed := ws.Get(0)
	seed.Add(0)
	ws.Push(0, seed)
	var items atomic.Int64
	stats, err := Run(context.Background(), ws, Options{Workers: workers, CPUs: cpus,
		DepthFirst: depthFirst},
		func(int) Worker { return &dagWorker{d: d, items: &items} })
	if err != nil {
		t.Fatal(err)
	}
	if got := int(items.Load()); got != len(d.children) || ws.Len() != 0 {
		t.Fatalf("%d workers: %d of %d items processed, %d left in the work set", workers, got,
			len(d.children), ws.Len())
	}
	if stats.Items != uint64(len(d.children)) {
		t.Fatalf("stats count %d items of %d", stats.Items, len(d.children))
	}
	return stats
}

// TestTermination runs random workloads of every shape with fewer, as many and
// more workers than CPUs: each item is processed exactly once, and the pool
// ends. A pool that ends too early loses items, one that does not end hangs.
func TestTermination(t *testing.T) {
	runs := sample.Of(500, 2000, 20_000)
	if testing.Short() {
		runs = 200
	}
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 7))
		d := randomDAG(r, 1+r.IntN(1+r.IntN(2000)))
		d.spin = r.IntN(3) * r.IntN(500)
		workers := 1 + r.IntN(1+r.IntN(64))
		cpus := 1 + r.IntN(workers)
		d.run(t, workers, cpus, r.IntN(2) == 0)
	}
}

// TestManyWorkers has 64 workers all active at once.
func TestManyWorkers(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 6 {
		d := randomDAG(r, 50_000)
		d.run(t, 64, 64, i%2 == 0)
	}
}

// TestManyInitial begins with the work in queues of several workers, also of
// those that start asleep.
func TestManyInitial(t *testing.T) {
	const n, workers = 10_000, 16
	d := &dag{children: make([][]statestore.Ref, n), done: make([]atomic.Int32, n)}
	ws := statestore.NewWorkSet(workers)
	b := ws.Get(0)
	for i := range n {
		if b.Full() {
			ws.Push(i%workers, b)
			b = ws.Get(0)
		}
		b.Add(statestore.Ref(i))
	}
	ws.Push(workers-1, b)
	var items atomic.Int64
	_, err := Run(context.Background(), ws, Options{Workers: workers, CPUs: 2},
		func(int) Worker { return &dagWorker{d: d, items: &items} })
	if err != nil || items.Load() != n {
		t.Fatalf("processed %d of %d: %v", items.Load(), n, err)
	}
}

// counter is a worker on an endless chain.
type counter struct {
	n       *atomic.Int64
	process func(n int) error
}

func (c *counter) Process(b *statestore.Batch, i int, out *Out) error {
	n := int(c.n.Add(1))
	if err := c.process(n); err != nil {
		return err
	}
	out.Add(b.Depth+1, b.Refs[i]+1)
	out.Add(b.Depth+1, b.Refs[i]+1)
	return nil
}

func endless(ctx context.Context, o Options, process func(n int) error) (*statestore.WorkSet, int,
	error) {
	ws := statestore.NewWorkSet(o.Workers)
	b := ws.Get(0)
	b.Add(1)
	ws.Push(0, b)
	var n atomic.Int64
	_, err := Run(ctx, ws, o, func(int) Worker { return &counter{n: &n, process: process} })
	return ws, int(n.Load()), err
}

func TestErrors(t *testing.T) {
	boom := errors.New("boom")
	for _, workers := range []int{1, 2, 8} {
		t.Run(fmt.Sprint(workers), func(t *testing.T) {
			ws, n, err := endless(context.Background(), Options{Workers: workers, DepthFirst: true},
				func(n int) error {
					if n == 1000 {
						return boom
					}
					return nil
				})
			if err != boom {
				t.Errorf("error %v, want boom", err)
			}
			// Every item makes two; the one that failed is still there.
			if want := n - 1 + 1; ws.Len() != want {
				t.Errorf("%d items left in the work set, want %d", ws.Len(), want)
			}

			_, _, err = endless(context.Background(), Options{Workers: workers}, func(n int) error {
				if n == 1000 {
					var nothing []int
					_ = nothing[n]
				}
				return nil
			})
			var pe *PanicError
			if !errors.As(err, &pe) || !strings.Contains(pe.Error(), "out of range") ||
				len(pe.Stack) == 0 {
				t.Errorf("error %v, want a PanicError", err)
			}

			_, _, err = endless(context.Background(),
				Options{Workers: workers, CheckEvery: time.Millisecond, Check: func() error {
					return boom
				}},
				func(int) error { return nil })
			if err != boom {
				t.Errorf("error of Check: %v, want boom", err)
			}

			ctx, cancel := context.WithCancel(context.Background())
			_, _, err = endless(ctx, Options{Workers: workers}, func(n int) error {
				if n == 1000 {
					cancel()
				}
				return nil
			})
			if err != context.Canceled {
				t.Errorf("error %v, want context.Canceled", err)
			}

			ctx, cancel = context.WithTimeout(context.Background(), 5*time.Millisecond)
			defer cancel()
			_, _, err = endless(ctx, Options{Workers: workers}, func(int) error { return nil })
			if err != context.DeadlineExceeded {
				t.Errorf("error %v, want context.DeadlineExceeded", err)
			}
		})
	}
	if _, err := Run(context.Background(), statestore.NewWorkSet(1), Options{}, nil); err == nil {
		t.Error("a pool without workers: no error")
	}
}

// TestCancelWhileAsleep cancels while all workers but one sleep.
func TestCancelWhileAsleep(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	ws := statestore.NewWorkSet(8)
	b := ws.Get(0)
	b.Add(1)
	ws.Push(0, b)
	_, err := Run(ctx, ws, Options{Workers: 8}, func(int) Worker {
		return workerFunc(func(b *statestore.Batch, i int, out *Out) error {
			time.Sleep(20 * time.Millisecond)
			cancel()
			for !out.Stopped() {
				runtime.Gosched()
			}
			return ErrStopped
		})
	})
	if err != context.Canceled || ws.Len() != 1 {
		t.Fatalf("error %v, %d items left", err, ws.Len())
	}
}

type workerFunc func(b *statestore.Batch, i int, out *Out) error

func (f workerFunc) Process(b *statestore.Batch, i int, out *Out) error { return f(b, i, out) }

// TestDepthFirst walks a tree of fan-out 8 and checks that the frontier stays
// small depth-first, and does not otherwise.
func TestDepthFirst(t *testing.T) {
	for _, workers := range []int{1, 4} {
		var most [2]int64
		for i, depthFirst := range []bool{false, true} {
			ws := statestore.NewWorkSet(workers)
			b := ws.Get(0)
			b.Add(1)
			ws.Push(0, b)
			var queued, highest atomic.Int64
			_, err := Run(context.Background(), ws,
				Options{Workers: workers, DepthFirst: depthFirst}, func(int) Worker {
					return workerFunc(func(b *statestore.Batch, i int, out *Out) error {
						n := queued.Add(-1)
						if b.Depth < 6 {
							for range 8 {
								out.Add(b.Depth+1, 1)
							}
							n = queued.Add(8)
						}
						for m := highest.Load(); n > m && !highest.CompareAndSwap(m, n); m =
							highest.Load() {
						}
						return nil
					})
				})
			if err != nil {
				t.Fatal(err)
			}
			most[i] = highest.Load()
		}
		if most[1]*int64(max(2, 8/workers)) > most[0] {
			t.Errorf("%d workers: at most %d items were queued depth-first, %d breadth-first",
				workers, most[1], most[0])
		}
	}
}

// TestShare gives one worker a batch of slow items: the others must get some
// although nothing is ever stolen from a queue at first.
func TestShare(t *testing.T) {
	const workers = 4
	ws := statestore.NewWorkSet(workers)
	b := ws.Get(0)
	for i := range 64 {
		b.AddState(statestore.Ref(i), []uint64{uint64(i), 7}, &statestore.Trail{
			Ref: statestore.Ref(i)})
	}
	ws.Push(0, b)
	var by [workers]atomic.Int64
	stats, err := Run(context.Background(), ws, Options{Workers: workers, CPUs: workers},
		func(id int) Worker {
			return workerFunc(func(b *statestore.Batch, i int, out *Out) error {
				if s := b.State(i); len(s) != 2 || s[0] != uint64(b.Refs[i]) ||
					b.Trail(i).Ref != b.Refs[i] {
					return fmt.Errorf("item %d came with state %v", b.Refs[i], s)
				}
				by[id].Add(1)
				time.Sleep(time.Millisecond)
				return nil
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	total := int64(0)
	for id := range by {
		n := by[id].Load()
		total += n
		if n == 0 {
			t.Errorf("worker %d got nothing: %+v", id, stats)
		}
	}
	if total != 64 {
		t.Errorf("%d items of 64", total)
	}
}

func TestReport(t *testing.T) {
	var reports, checks atomic.Int64
	_, _, err := endless(context.Background(),
		Options{Workers: 2, ReportEvery: 2 * time.Millisecond, CheckEvery: time.Millisecond,
			Report: func(queued int) {
				if queued < 0 {
					panic("fewer than no items are queued")
				}
				reports.Add(1)
			},
			Check: func() error {
				if checks.Add(1); reports.Load() >= 3 {
					return errors.New("enough")
				}
				return nil
			}}, func(int) error { time.Sleep(10 * time.Microsecond); return nil })
	if err == nil || reports.Load() < 3 || checks.Load() < 3 {
		t.Errorf("%d reports, %d checks, error %v", reports.Load(), checks.Load(), err)
	}
}

// BenchmarkShape measures the cost of the pool for an item on a chain, where
// nothing can be shared, and on a bush, where everything can:
//
//	go test ./workers -bench Shape -cpu 2
func BenchmarkShape(b *testing.B) {
	for _, shape := range []string{"chain", "bush"} {
		for _, workers := range []int{1, 2, 64} {
			b.Run(fmt.Sprintf("%s/workers=%d", shape, workers), func(b *testing.B) {
				d := &dag{children: make([][]statestore.Ref, b.N), done: make([]atomic.Int32, b.N),
					spin: 100}
				for n := 1; n < b.N; n++ {
					p := n - 1
					if shape == "bush" {
						p = (n - 1) / 3
					}
					d.children[p] = append(d.children[p], statestore.Ref(n))
				}
				ws := statestore.NewWorkSet(workers)
				seed := ws.Get(0)
				seed.Add(0)
				ws.Push(0, seed)
				b.ResetTimer()
				_, err := Run(context.Background(), ws, Options{Workers: workers},
					func(int) Worker {
						return workerFunc(func(b *statestore.Batch, i int, out *Out) error {
							s := 0
							for range d.spin {
								s = s*31 + 1
							}
							d.done[b.Refs[i]].Store(int32(s))
							for _, c := range d.children[b.Refs[i]] {
								out.Add(b.Depth+1, c)
							}
							return nil
						})
					})
				if err != nil {
					b.Fatal(err)
				}
			})
		}
	}
}
