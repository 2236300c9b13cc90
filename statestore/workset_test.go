package statestore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBatch(t *testing.T) {
	w := NewWorkSet(1)
	b := w.Get(0)
	if b.Len() != 0 || b.Full() || b.Depth != 0 {
		t.Fatalf("a new batch: %+v", b)
	}
	root := &Trail{Ref: 1}
	states := [][]uint64{{1, 2, 3}, {}, {4}, {5, 6}}
	for i, s := range states {
		b.AddState(Ref(i+1), s, &Trail{Parent: root, Ref: Ref(i + 1)})
	}
	for i, s := range states {
		if got := b.State(i); !slices.Equal(got, s) || got == nil {
			t.Errorf("state %d: %v, want %v", i, got, s)
		}
		if tr := b.Trail(i); tr.Ref != Ref(i+1) || tr.Parent != root {
			t.Errorf("trail %d: %v", i, tr)
		}
	}
	w.Put(0, b)
	b = w.Get(0)
	b.Add(7)
	if b.State(0) != nil || b.Trail(0) != nil || b.Len() != 1 || b.Refs[0] != 7 {
		t.Errorf("a batch of Refs: %+v", b)
	}
	for !b.Full() {
		b.Add(8)
	}
	if b.Len() != BatchSize {
		t.Errorf("full with %d items", b.Len())
	}
}

// TestQueueOrder compares queues with slices: own batches first in, first out,
// stealing the oldest of the next worker.
func TestQueueOrder(t *testing.T) {
	const workers = 3
	w := NewWorkSet(workers)
	var model [workers][]int
	rng := rand.New(rand.NewPCG(1, 2))
	next, items := 0, 0
	check := func(what string, b *Batch, from int) {
		if from < 0 {
			if b != nil {
				t.Fatalf("%s: batch %d of an empty work set", what, b.Depth)
			}
			return
		}
		if b == nil || b.Depth != model[from][0] {
			t.Fatalf("%s: %+v, want batch %d", what, b, model[from][0])
		}
		model[from] = model[from][1:]
		items -= b.Len()
		w.Put(rng.IntN(workers), b)
	}
	for range 20000 {
		i := rng.IntN(workers)
		switch rng.IntN(5) {
		case 0, 1:
			next++
			b := w.Get(i)
			b.Depth = next
			for range rng.IntN(3) + 1 {
				b.Add(Ref(next))
				items++
			}
			w.Push(i, b)
			model[i] = append(model[i], next)
		case 2, 3:
			from := -1
			if len(model[i]) > 0 {
				from = i
			}
			check("Pop", w.Pop(i), from)
		case 4:
			from := -1
			for j := 1; j < workers && from < 0; j++ {
				if len(model[(i+j)%workers]) > 0 {
					from = (i + j) % workers
				}
			}
			check("Steal", w.Steal(i), from)
		}
		if w.Len() != items {
			t.Fatalf("Len() = %d, want %d", w.Len(), items)
		}
	}
	w.Push(0, w.Get(0)) // an empty batch is not queued
	if w.Len() != items {
		t.Fatalf("Len() = %d, want %d", w.Len(), items)
	}
}

// TestWorkSetOnce passes items through the queues of many workers that push, pop
// and steal at the same time; each must come out once.
func TestWorkSetOnce(t *testing.T) {
	const workers = 48
	n := 400_000 / slow
	w := NewWorkSet(workers)
	var taken, given atomic.Int64
	seen := make([]atomic.Int32, n)
	var wg sync.WaitGroup
	for i := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for int(taken.Load()) < n {
				if g := given.Add(20); int(g) <= n && rng.IntN(3) > 0 {
					b := w.Get(i)
					for r := g - 20; r < g; r++ {
						b.Add(Ref(r))
					}
					w.Push(rng.IntN(workers), b)
				} else if int(g) <= n {
					b := w.Get(i)
					for r := g - 20; r < g; r++ {
						b.AddState(Ref(r), []uint64{uint64(r), 1}, nil)
					}
					w.Push(i, b)
				}
				b := w.Pop(i)
				if b == nil {
					b = w.Steal(i)
				}
				if b == nil {
					runtime.Gosched()
					continue
				}
				for k, r := range b.Refs {
					seen[r].Add(1)
					if s := b.State(k); s != nil && s[0] != uint64(r) {
						t.Errorf("item %d has state %v", r, s)
					}
				}
				taken.Add(int64(b.Len()))
				w.Put(i, b)
			}
		}()
	}
	wg.Wait()
	for r := range seen {
		if c := seen[r].Load(); c != 1 {
			t.Fatalf("item %d came out %d times", r, c)
		}
	}
	if w.Len() != 0 {
		t.Errorf("Len() = %d at the end", w.Len())
	}
}

// TestWorkSetMemory lets a frontier grow and shrink: what is free at the end must
// not be kept, and in steady state nothing is allocated.
func TestWorkSetMemory(t *testing.T) {
	w := NewWorkSet(2)
	push := func(n int) {
		for range n {
			b := w.Get(0)
			for !b.Full() {
				b.Add(1)
			}
			w.Push(0, b)
		}
	}
	push(5000)
	if b := w.Bytes(); b < 5000*BatchSize*8 || b > 6000*BatchSize*8 {
		t.Errorf("%d bytes for 5000 batches", b)
	}
	for b := w.Pop(0); b != nil; b = w.Pop(0) {
		w.Put(1, b)
	}
	if b := w.Bytes(); b > 600*BatchSize*8 {
		t.Errorf("%d bytes when empty", b)
	}
	if allocs := testing.AllocsPerRun(1000, func() {
		push(10)
		for range 10 {
			w.Put(1, w.Steal(1))
		}
	}); allocs > 0 {
		t.Errorf("%v allocations for ten batches", allocs)
	}
}

func BenchmarkWorkSet(b *testing.B) {
	for _, workers := range []int{1, 2, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			w := NewWorkSet(workers)
			var wg sync.WaitGroup
			for i := range workers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for range b.N / workers / BatchSize {
						out := w.Get(i)
						for !out.Full() {
							out.Add(1)
						}
						w.Push(i, out)
						if in := w.Pop(i); in != nil {
							w.Put(i, in)
						} else if in := w.Steal(i); in != nil {
							w.Put(i, in)
						}
					}
				}()
			}
			wg.Wait()
		})
	}
}
