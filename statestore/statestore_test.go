package statestore

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

func mustNew(t testing.TB, o Options) Store {
	t.Helper()
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var loadable = []Kind{Tree, Plain}

// TestMatchesMap runs random sequences of operations on a store and on a map.
func TestMatchesMap(t *testing.T) {
	for _, kind := range loadable {
		t.Run(kind.String(), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				st, err := New(Options{Kind: kind})
				if err != nil {
					t.Fatal(err)
				}
				x := st.NewSession()
				type stored struct {
					ref    Ref
					parent Ref
					words  []uint64
				}
				model := map[string]*stored{}
				var all []*stored
				n := rapid.IntRange(1, 300).Draw(t, "operations")
				word := rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64Range(0, 3), rapid.Uint64())
				var buf []uint64
				for range n {
					// A state near one that is stored, or a new one.
					var s []uint64
					var parent Ref
					if len(all) > 0 && rapid.IntRange(0, 3).Draw(t, "near") > 0 {
						p := all[rapid.IntRange(0, len(all)-1).Draw(t, "parent")]
						buf = x.Load(p.ref, buf)
						if !slices.Equal(buf, p.words) {
							t.Fatalf("Load(%#x) = %x, want %x", p.ref, buf, p.words)
						}
						parent = p.ref
						s = slices.Clone(buf)
						for range rapid.IntRange(0, 3).Draw(t, "changes") {
							if len(s) > 0 {
								s[rapid.IntRange(0, len(s)-1).Draw(t, "i")] = word.Draw(t, "w")
							}
						}
						if rapid.IntRange(0, 20).Draw(t, "longer") == 0 {
							s = append(s, 0)
						}
					} else {
						s = rapid.SliceOfN(word, 0, 12).Draw(t, "s")
					}
					key := fmt.Sprint(s)
					if ref, ok := x.Find(s); ok != (model[key] != nil) || ok &&
						ref != model[key].ref {
						t.Fatalf("Find(%x) = %#x, %v", s, ref, ok)
					}
					ref, added, err := x.Insert(s, parent)
					if err != nil {
						t.Fatal(err)
					}
					if m := model[key]; m != nil {
						if added || ref != m.ref {
							t.Fatalf("Insert(%x) again = %#x, %v; first was %#x", s, ref, added,
								m.ref)
						}
						continue
					}
					if !added || ref == 0 {
						t.Fatalf("first Insert(%x) = %#x, %v", s, ref, added)
					}
					m := &stored{ref, parent, slices.Clone(s)}
					model[key] = m
					all = append(all, m)
				}
				if got := st.Len(); got != uint64(len(all)) {
					t.Fatalf("Len() = %d, want %d", got, len(all))
				}
				for _, m := range all {
					checkParent(t, x, m.ref, m.parent)
				}
			})
		})
	}
}

type fataler interface{ Fatalf(string, ...any) }

// checkParent checks that the true parent is among the candidates.
func checkParent(t fataler, x Session, ref, parent Ref) {
	found := false
	x.Parents(ref, func(p Ref) bool {
		if p == 0 {
			t.Fatalf("Parents(%#x) yields 0", ref)
		}
		found = found || p == parent
		return true
	})
	if found != (parent != 0) {
		t.Fatalf("Parents(%#x): parent %#x among them: %v", ref, parent, found)
	}
}

// counters is a system of threads that count, some bits each at their place in
// the state, with a few words of shared memory which they leave traces in.
type counters struct {
	words, threads, bits int
}

func (c counters) initial() []uint64 { return make([]uint64, c.words) }

// step makes thread i's move in s.
func (c counters) step(s []uint64, i int) {
	at := i * c.bits
	w, sh := at/64, at%64
	if sh+c.bits > 64 {
		sh = 64 - c.bits
	}
	mask := uint64(1)<<c.bits - 1
	v := s[w] >> sh & mask
	s[w] = s[w]&^(mask<<sh) | (v*5+1)&mask<<sh
	if v%3 == 0 && c.words > 4 {
		s[c.words-1-int(v)%2] ^= 1 << ((v + uint64(i)) % 64)
	}
}

// search explores a system breadth-first with many workers and returns the
// states that were added, by worker.
func search(t testing.TB, st Store, c counters, workers, max int) (added [][]Ref, inserts int64) {
	work := NewWorkSet(workers)
	added = make([][]Ref, workers)
	x := st.NewSession()
	ref, ok, err := x.Insert(c.initial(), 0)
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	added[0] = append(added[0], ref)
	b := work.Get(0)
	b.Add(ref)
	work.Push(0, b)
	var wg sync.WaitGroup
	var total, busy, moves atomic.Int64
	for w := range workers {
		wg.Add(1)
		busy.Add(1)
		go func() {
			defer wg.Done()
			x := st.NewSession()
			var s, u []uint64
			idle := false
			for {
				b := work.Pop(w)
				if b == nil {
					b = work.Steal(w)
				}
				if b == nil {
					if !idle {
						idle = true
						busy.Add(-1)
					}
					if busy.Load() == 0 && work.Len() == 0 || total.Load() > int64(max) {
						return
					}
					runtime.Gosched()
					continue
				}
				if idle {
					idle = false
					busy.Add(1)
				}
				out := work.Get(w)
				for _, p := range b.Refs {
					s = x.Load(p, s)
					for i := range c.threads {
						u = append(u[:0], s...)
						c.step(u, i)
						ref, ok, err := x.Insert(u, p)
						if err != nil {
							t.Error(err)
							return
						}
						if ok {
							total.Add(1)
							added[w] = append(added[w], ref)
							out.Add(ref)
							if out.Full() {
								work.Push(w, out)
								out = work.Get(w)
							}
						}
					}
				}
				moves.Add(int64(b.Len() * c.threads))
				work.Put(w, b)
				if out.Len() > 0 {
					work.Push(w, out)
				} else {
					work.Put(w, out)
				}
				if total.Load() > int64(max) {
					if !idle {
						busy.Add(-1)
					}
					return
				}
			}
		}()
	}
	wg.Wait()
	return added, moves.Load()
}

// TestSearch explores with far more workers than cores while the store grows from
// nothing, and compares the result with a map's.
func TestSearch(t *testing.T) {
	tests := []counters{
		{words: 1, threads: 8, bits: 2},
		{words: 1, threads: 16, bits: 4},
		{words: 3, threads: 4, bits: 4},
		{words: 8, threads: 5, bits: 16},
		{words: 40, threads: 6, bits: 20},
	}
	max := 10000/slow + 5000
	if testing.Short() {
		max = 6000
	}
	for _, kind := range loadable {
		for _, c := range tests {
			t.Run(fmt.Sprint(kind, c), func(t *testing.T) {
				st := mustNew(t, Options{Kind: kind, Workers: 64})
				added, _ := search(t, st, c, 64, max)
				refs := map[Ref]bool{}
				states := map[string]bool{}
				x := st.NewSession()
				n := 0
				for _, list := range added {
					for _, r := range list {
						n++
						if refs[r] {
							t.Fatalf("%#x was added twice", r)
						}
						refs[r] = true
						s := x.Load(r, nil)
						states[fmt.Sprint(s)] = true
						if got, ok := x.Find(s); !ok || got != r {
							t.Fatalf("Find(Load(%#x)) = %#x, %v", r, got, ok)
						}
					}
				}
				if len(states) != n || st.Len() != uint64(n) {
					t.Fatalf("%d states added, %d different, Len() = %d", n, len(states), st.Len())
				}
				// Each state but the first has a stored parent from which one
				// step leads to it.
				initial := 0
				for r := range refs {
					if rand.IntN(10) > 0 {
						continue
					}
					s := x.Load(r, nil)
					found, any := false, false
					var p []uint64
					x.Parents(r, func(c2 Ref) bool {
						any = true
						if !refs[c2] {
							t.Fatalf("Parents yields %#x, which was never added", c2)
						}
						p = x.Load(c2, p)
						for i := range c.threads {
							u := slices.Clone(p)
							c.step(u, i)
							found = found || slices.Equal(u, s)
						}
						return !found
					})
					if !any {
						initial++
					} else if !found {
						t.Fatalf("no parent of %#x leads to it", r)
					}
				}
				if initial > 1 {
					t.Fatalf("%d states without parents", initial)
				}
				if n < max && len(added) > 1 {
					one, _ := search(t, mustNew(t, Options{Kind: kind}), c, 1, 1<<30)
					if len(one[0]) != n {
						t.Fatalf("64 workers found %d states, one finds %d", n, len(one[0]))
					}
				}
				t.Logf("%d states, %.1f bytes each, %+v", n, float64(st.Bytes())/float64(n),
					st.Stats())
			})
		}
	}
}
