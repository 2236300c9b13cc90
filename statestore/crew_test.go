package statestore

import (
	"sync"
	"sync/atomic"
	"testing"
)

// TestCrew does tasks with helpers. Each task is done once, whoever does it, and the helpers return
// when the leader has ended.
func TestCrew(t *testing.T) {
	tree := newTree(Options{})
	sh := tree.shapeOf(3)
	c := &crew{}
	sh.crew.Store(c)
	var wg sync.WaitGroup
	for range 4 {
		x := tree.NewSession().(*treeSession)
		wg.Go(func() { x.help(sh, c) })
	}
	leader := tree.NewSession().(*treeSession)
	for _, tasks := range []int{0, 1, 3, 100, 1000} {
		done := make([]atomic.Int32, tasks)
		c.all(leader, tasks, func(_ *treeSession, task int) { done[task].Add(1) })
		for i := range done {
			if n := done[i].Load(); n != 1 {
				t.Errorf("task %d of %d was done %d times", i, tasks, n)
			}
		}
	}
	sh.crew.Store(nil)
	wg.Wait()
}

// TestLearnTogether lets sessions insert the same states at the same time, of which the first are
// samples. Exactly one session adds each, and all get the same Ref for it, before the shape is
// learned and afterwards.
func TestLearnTogether(t *testing.T) {
	const states, workers = 1000, 4
	for _, samples := range []int{1, 70, 300, 999, 1000} {
		tree := newTree(Options{Samples: samples, Workers: workers})
		var refs [workers][states]Ref
		var added [states]atomic.Int32
		var wg sync.WaitGroup
		for w := range workers {
			x := tree.NewSession().(*treeSession)
			wg.Go(func() {
				for k := range states {
					i := (k + w*7) % states
					ref, fresh, err := x.Insert(numberedState(i), 0)
					if err != nil {
						t.Error(err)
						return
					}
					if refs[w][i] = ref; fresh {
						added[i].Add(1)
					}
					if got := x.Load(ref, nil); got[0] != uint64(i) {
						t.Errorf("state %d became %v", i, got)
					}
				}
			})
		}
		wg.Wait()
		x := tree.NewSession().(*treeSession)
		for i := range states {
			ref, ok := x.Find(numberedState(i))
			if !ok || added[i].Load() != 1 {
				t.Fatalf("%d samples: state %d is found: %v; added %d times", samples, i, ok,
					added[i].Load())
			}
			for w := range workers {
				if refs[w][i] != ref {
					t.Fatalf("%d samples: state %d is %d for session %d, and %d later", samples, i,
						refs[w][i], w, ref)
				}
			}
		}
		if n := tree.Len(); n != states {
			t.Errorf("%d samples: %d states, want %d", samples, n, states)
		}
	}
}

func numberedState(i int) []uint64 {
	return []uint64{uint64(i), uint64(i * i), 5, uint64(i%3) << 40}
}
