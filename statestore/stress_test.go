package statestore

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"cpor/testkit/sample"
)

// TestContention lets many workers insert the same states in nearly the same order
// while the store grows from nothing: each state must be added exactly once, and
// all workers must get the same Ref for it.
func TestContention(t *testing.T) {
	const workers = 64
	n := max(20_000/slow, 6000)
	if sample.Long() {
		n = 200_000
	}
	for _, kind := range []Kind{Tree, Plain, Compact} {
		st := mustNew(t, Options{Kind: kind, Workers: workers})
		refs := make([][]Ref, workers)
		var added atomic.Int64
		var wg sync.WaitGroup
		for w := range workers {
			refs[w] = make([]Ref, n)
			wg.Add(1)
			go func() {
				defer wg.Done()
				x := st.NewSession()
				s := make([]uint64, 4)
				for k := range n {
					i := (k + w*w) % n
					s[0], s[1], s[3] = uint64(i), uint64(i%7)<<60, uint64(i/1000)
					ref, ok, err := x.Insert(s[:3+i%2], 0)
					if err != nil {
						t.Error(err)
						return
					}
					if ok {
						added.Add(1)
					}
					refs[w][i] = ref
				}
			}()
		}
		wg.Wait()
		if added.Load() != int64(n) || st.Len() != uint64(n) {
			t.Errorf("%v: %d states added, Len() = %d, want %d", kind, added.Load(), st.Len(), n)
		}
		for w := range refs {
			if !slices.Equal(refs[w], refs[0]) {
				t.Errorf("%v: workers have different Refs for equal states", kind)
				break
			}
		}
		if s := st.Stats(); s.Grows == 0 && kind != Compact {
			t.Errorf("%v: the store did not grow: %+v", kind, s)
		}
	}
}

// TestStoppedWorker leaves slabs as a worker leaves them that is stopped in the
// middle of making them grow, and checks that the others get on.
func TestStoppedWorker(t *testing.T) {
	t.Run("table", func(t *testing.T) {
		l := newLedger(Options{})
		tab := newTable(2, 4, l)
		for i := range uint64(5) {
			tab.insert(1, mix(i)<<6|1, false, nil)
		}
		s := tab.dir[1].Load()
		for i := range s.slots {
			if s.slots[i] == 0 && i%3 != 0 {
				s.slots[i] = tab.low + 1 // frozen
			}
		}
		for i := range uint64(300) {
			old, full := tab.insert(1, mix(i)<<6|1, false, nil)
			if full || (old != 0) != (i < 5) {
				t.Fatalf("insert %d: %#x, %v", i, old, full)
			}
		}
		for i := range uint64(300) {
			if _, ok := tab.find(1, mix(i)<<6|1, nil); !ok {
				t.Fatalf("%d is not found", i)
			}
		}
		if got, want := l.used.Load(), int64(tab.bytes()); got != want {
			t.Errorf("%d bytes in the ledger, %d in the table", got, want)
		}
	})
	t.Run("nodes", func(t *testing.T) {
		l := newLedger(Options{})
		n := newNodes(l)
		var spare uint32
		ids := map[uint64]uint32{}
		intern := func(v uint64) {
			id := n.intern(v, hashNode(v), &spare)
			if old, ok := ids[v]; id == 0 || ok && old != id {
				t.Fatalf("the number of %d is %d, was %d", v, id, old)
			}
			ids[v] = id
		}
		for v := range uint64(100) {
			intern(v)
		}
		for i := range n.index {
			x := n.index[i].Load()
			for j := range x.slots {
				if x.slots[j] == 0 && j%3 != 0 {
					x.slots[j] = 1 << x.idBits // frozen
				}
			}
		}
		for v := range uint64(5000) {
			intern(v)
		}
		for v, id := range ids {
			if n.find(v, hashNode(v)) != id || n.value(id) != v {
				t.Fatalf("number %d of %d is lost", id, v)
			}
		}
		if len(ids) != int(n.count()) {
			t.Errorf("%d numbers for %d values", n.count(), len(ids))
		}
	})
	t.Run("compact", func(t *testing.T) {
		c := newCompact(Options{})
		for i := range uint32(5) {
			c.insert(1, i<<20|5)
		}
		s := c.dir[1].Load()
		for i := range s.slots {
			if s.slots[i] == 0 && i%3 != 0 {
				s.slots[i] = shortFrozen
			}
		}
		for i := range uint32(300) {
			if added, full := c.insert(1, i<<20|5); full || added != (i >= 5) {
				t.Fatalf("insert %d: %v, %v", i, added, full)
			}
		}
		for i := range uint32(300) {
			if !c.find(1, i<<20|5) {
				t.Fatalf("%d is not found", i)
			}
		}
	})
}

// TestManyGrow lets many workers make the same slab grow at once.
func TestManyGrow(t *testing.T) {
	for range 200 / slow {
		l := newLedger(Options{})
		tab := newTable(0, 4, l)
		for i := range uint64(7) {
			tab.insert(0, mix(i)<<6|1, false, nil)
		}
		var wg sync.WaitGroup
		var added atomic.Int64
		for w := range 8 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				tab.enlarge(0, tab.dir[0].Load(), true)
				for i := range uint64(100) {
					if old, _ := tab.insert(0, mix(i+uint64(w)*50)<<6|1, false, nil); old == 0 {
						added.Add(1)
					}
				}
			}()
		}
		wg.Wait()
		if added.Load() != 450-7 {
			t.Fatalf("%d entries added, want %d", added.Load(), 450-7)
		}
		if got, want := l.used.Load(), int64(tab.bytes()); got != want {
			t.Fatalf("%d bytes in the ledger, %d in the table", got, want)
		}
	}
}

// TestTinyStates keeps what a store for a small model takes in check, and
// TestBytesPerState what a big one takes for each state, at every moment.
func TestTinyStates(t *testing.T) {
	for _, kind := range loadable {
		st := mustNew(t, Options{Kind: kind, Workers: 64})
		x := st.NewSession()
		for i := range uint64(96) {
			x.Insert([]uint64{i, i * i, 7, 8}, 0)
		}
		if b := st.Bytes(); b > 64<<10 {
			t.Errorf("%v: %d bytes for 96 states", kind, b)
		}
	}
}

func TestBytesPerState(t *testing.T) {
	const limit = 16
	n := uint64(110_000)
	if sample.Long() && slow == 1 {
		n = 250_000
	}
	for _, c := range systems {
		st := mustNew(t, Options{})
		x := st.NewSession()
		root, _, _ := x.Insert(c.initial(), 0)
		queue := []Ref{root}
		var s, u []uint64
		worst := 0.0
		for len(queue) > 0 && st.Len() < n {
			p := queue[0]
			queue = queue[1:]
			s = x.Load(p, s)
			for i := range c.threads {
				u = append(u[:0], s...)
				c.step(u, i)
				if ref, added, _ := x.Insert(u, p); added {
					queue = append(queue, ref)
					if len(queue)%50 == 0 && st.Len() > 100_000 {
						worst = max(worst, float64(st.Bytes())/float64(st.Len()))
					}
				}
			}
		}
		if worst > limit {
			t.Errorf("%+v: up to %.2f bytes a state, want at most %d", c, worst, limit)
		}
		stats := st.Stats()
		if stats.OtherBytes > 150_000 ||
			stats.Bytes < stats.RootBytes+stats.NodeBytes+stats.IndexBytes {
			t.Errorf("the parts do not sum up: %+v", stats)
		}
		t.Logf("%+v: at most %.2f bytes a state over 100,000 states", c, worst)
	}
}

// TestNoAllocation checks that in steady state an Insert and a Load allocate
// nothing.
func TestNoAllocation(t *testing.T) {
	for _, kind := range everyKind() {
		c := counters{words: 6, threads: 4, bits: 12}
		st := mustNew(t, Options{Kind: kind})
		x := st.NewSession()
		rng := rand.New(rand.NewPCG(1, 1))
		var refs []Ref
		s := c.initial()
		states := [][]uint64{}
		for range 10_000 {
			ref, _, _ := x.Insert(s, 0)
			refs = append(refs, ref)
			states = append(states, slices.Clone(s))
			c.step(s, rng.IntN(c.threads))
		}
		buf := make([]uint64, 0, 10)
		i := 0
		expand := func() {
			i = (i + 77) % len(refs)
			if st.Loadable() {
				buf = x.Load(refs[i], buf)
			} else {
				buf = append(buf[:0], states[i]...)
			}
			ref := refs[i]
			for j := range c.threads {
				c.step(buf, j)
				x.Insert(buf, ref)
				x.Find(buf)
			}
		}
		for range refs {
			expand() // now all are covered, and the store does not grow
		}
		if allocs := testing.AllocsPerRun(2000, expand); allocs > 0 {
			t.Errorf("%v: %v allocations for an expansion", kind, allocs)
		}
	}
}
