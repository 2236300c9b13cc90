package workers

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/statestore"
)

// TestPause pauses pools at random moments and lets them continue: every item is
// still processed exactly once.
func TestPause(t *testing.T) {
	runs := sample.Of(60, 125, 500)
	paused := 0
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 8))
		d := randomDAG(r, 1+r.IntN(3000))
		d.spin = r.IntN(1000)
		n := 1 + r.IntN(8)
		ws := statestore.NewWorkSet(n)
		b := ws.Get(0)
		b.Add(0)
		ws.Push(0, b)
		var items atomic.Int64
		for {
			pause := make(chan struct{})
			timer := time.AfterFunc(time.Duration(r.IntN(400))*time.Microsecond, func() {
				close(pause)
			})
			_, err := Run(context.Background(), ws, Options{Workers: n, CPUs: 1 + r.IntN(n),
				Pause: pause, DepthFirst: r.IntN(2) == 0},
				func(int) Worker { return &dagWorker{d: d, items: &items} })
			timer.Stop()
			if err == nil {
				break
			}
			if err != ErrPaused {
				t.Fatal(err)
			}
			paused++
		}
		if got := int(items.Load()); got != len(d.children) || ws.Len() != 0 {
			t.Fatalf("seed %d: %d of %d items processed, %d left in the work set", seed, got,
				len(d.children), ws.Len())
		}
	}
	if paused == 0 {
		t.Error("no pool was paused")
	}
}

// idler flushes what it was told to keep: an item that is for the gate.
type idler struct {
	dagWorker
	kept []statestore.Ref
	out  chan []statestore.Ref
}

func (w *idler) Idle() {
	if len(w.kept) > 0 {
		w.out <- w.kept
		w.kept = nil
	}
}

func (w *idler) Process(b *statestore.Batch, i int, out *Out) error {
	n := b.Refs[i]
	w.d.done[n].Add(1)
	for _, c := range w.d.children[n] {
		if c%3 == 0 {
			w.kept = append(w.kept, c)
		} else {
			out.Add(b.Depth+1, c)
		}
	}
	w.items.Add(1)
	return nil
}

// TestGate sends every third item out of the pool and in again through the gate,
// and closes it when the pool is passive and nothing is outside: every item is
// processed.
func TestGate(t *testing.T) {
	runs := sample.Of(40, 75, 300)
	for seed := range runs {
		r := rand.New(rand.NewPCG(uint64(seed), 9))
		d := randomDAG(r, 1+r.IntN(2000))
		n := 1 + r.IntN(8)
		ws := statestore.NewWorkSet(n + 1)
		b := ws.Get(0)
		b.Add(0)
		ws.Push(0, b)
		var items atomic.Int64
		out := make(chan []statestore.Ref, 1)
		gate := NewGate()
		ended := make(chan error)
		go func() {
			_, err := Run(context.Background(), ws, Options{Workers: n, CPUs: 1 + r.IntN(n),
				Gate: gate},
				func(int) Worker {
					return &idler{dagWorker: dagWorker{d: d, items: &items},
						out: out}
				})
			ended <- err
		}()
		<-gate.Ready()
		for {
			select {
			case refs := <-out:
				b := gate.Get()
				b.Depth = 1
				for _, c := range refs {
					b.Add(c)
				}
				gate.Push(b)
				continue
			default:
			}
			if gate.Passive() && len(out) == 0 {
				break
			}
			time.Sleep(10 * time.Microsecond)
		}
		select {
		case err := <-ended:
			t.Fatalf("the pool ended before its gate was closed: %v", err)
		default:
		}
		gate.Close()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		if got := int(items.Load()); got != len(d.children) {
			t.Fatalf("seed %d: %d of %d items processed", seed, got, len(d.children))
		}
	}
}
