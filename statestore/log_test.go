package statestore

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"unsafe"

	"cpor/testkit/sample"
)

// TestLog saves stores again and again while several sessions fill them, each time only what is
// new, and restores them from the log at some of these times, to continue with what was
// restored: the states, their names and parents are those of the store that was never saved.
// Some of the times saving fails.
func TestLog(t *testing.T) {
	seeds, most := sample.Of[uint64](3, 3, 9), sample.Of(6000, 10_000, 20_000)
	if slow > 1 {
		seeds, most = 4, 6000
	}
	for seed := range seeds {
		for _, kind := range everyKind() {
			r := rand.New(rand.NewPCG(seed, 31))
			n := most
			if seed%3 == 0 {
				n = 3000
			}
			states, parents := someStates(n, seed)
			o := Options{Kind: kind, Workers: 4, Samples: 1 + r.IntN(200)}
			if kind == Bitstate {
				o.MaxBytes = 1 << 20
			}
			st := mustNew(t, o)
			refs := make([]Ref, n)
			added := uint64(0)
			var file, log []byte
			for done := 0; done < n; {
				next := min(n, done+1+r.IntN(1+n/10))
				added += insertTogether(t, st, states[:next], parents, refs, done)
				done = next
				var head, more bytes.Buffer
				all := log == nil || r.IntN(8) == 0
				if err := Save(st, &head); err != nil {
					t.Fatal(err)
				}
				if r.IntN(4) == 0 {
					broken := &brokenWriter{r.IntN(1000)}
					if err := SaveStates(st, broken, all); err != nil &&
						!errors.Is(err, errBroken) {
						t.Fatal(err)
					}
					continue // as if the log had never been written to
				}
				if err := SaveStates(st, &more, all); err != nil {
					t.Fatal(err)
				}
				Keep(st)
				if all {
					log = []byte{}
				}
				file, log = head.Bytes(), append(log, more.Bytes()...)
				more.Reset()
				if err := SaveStates(st, &more, false); err != nil || more.Len() > 0 {
					t.Fatalf("%v: nothing is new, and %d bytes are written, %v", kind, more.Len(),
						err)
				}
				if r.IntN(4) > 0 {
					continue
				}
				back, err := Restore(bytes.NewReader(file), o)
				if err == nil {
					err = RestoreStates(back, bytes.NewReader(log))
				}
				if err != nil {
					t.Fatalf("seed %d, %v, %d states: %v", seed, kind, done, err)
				}
				if back.Len() != st.Len() {
					t.Fatalf("seed %d, %v: %d states, want %d", seed, kind, back.Len(), st.Len())
				}
				sameStates(t, st, back, states[:done])
				st = back
			}
			if st.Len() != added {
				t.Errorf("seed %d, %v: %d states, and %d were added", seed, kind, st.Len(), added)
			}
			x := st.NewSession()
			for i, s := range states {
				ref, ok := x.Find(s)
				if !ok || ref != refs[i] {
					t.Fatalf("seed %d, %v: state %d is %#x, %v, and was %#x", seed, kind, i, ref,
						ok, refs[i])
				}
			}
		}
	}
}

// insertTogether inserts the states from the first one on with several sessions at a time,
// several of them each. It returns how many were new.
func insertTogether(t *testing.T, st Store, states [][]uint64, parents []int, refs []Ref,
	first int) uint64 {
	const workers = 4
	before := st.Len()
	given := slices.Clone(refs) // states whose parents are inserted just now have none
	var wg sync.WaitGroup
	got := make([][]Ref, workers)
	for w := range workers {
		x := st.NewSession()
		got[w] = make([]Ref, len(states))
		wg.Go(func() {
			for i := first; i < len(states); i++ {
				var parent Ref
				if parents[i] >= 0 && parents[i] < first {
					parent = given[parents[i]]
				}
				ref, _, err := x.Insert(states[i], parent)
				if err != nil {
					t.Error(err)
					return
				}
				got[w][i] = ref
			}
		})
	}
	wg.Wait()
	for i := first; i < len(states); i++ {
		for w := range workers {
			if got[w][i] != got[0][i] {
				t.Fatalf("state %d is %#x and %#x", i, got[0][i], got[w][i])
			}
		}
		refs[i] = got[0][i]
	}
	return st.Len() - before
}

// sameStates compares what two stores know of states.
func sameStates(t *testing.T, a, b Store, states [][]uint64) {
	t.Helper()
	x, y := a.NewSession(), b.NewSession()
	for i, s := range states {
		r1, ok1 := x.Find(s)
		r2, ok2 := y.Find(s)
		if !ok1 || !ok2 || r1 != r2 {
			t.Fatalf("state %d is %#x, %v; restored %#x, %v", i, r1, ok1, r2, ok2)
		}
		if !a.Loadable() {
			continue
		}
		if got := y.Load(r2, nil); !slices.Equal(got, s) {
			t.Fatalf("state %d is %x, restored %x", i, s, got)
		}
		var p1, p2 []Ref
		x.Parents(r1, func(r Ref) bool { p1 = append(p1, r); return true })
		y.Parents(r2, func(r Ref) bool { p2 = append(p2, r); return true })
		slices.Sort(p1)
		slices.Sort(p2)
		if !slices.Equal(p1, p2) {
			t.Fatalf("state %d has the parents %x, restored %x", i, p1, p2)
		}
	}
}

var errBroken = errors.New("broken")

// brokenWriter breaks after some bytes.
type brokenWriter struct{ left int }

func (w *brokenWriter) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, errBroken
	}
	return len(b), nil
}

// TestLogLostNumbers has a number that a session took for a node which another one was faster to
// number: it stands for no value, also when the node's table is built anew.
func TestLogLostNumbers(t *testing.T) {
	st := newTree(Options{Samples: 1})
	x := st.NewSession().(*treeSession)
	for i := range uint64(50) {
		if _, _, err := x.Insert([]uint64{i, i * i, 7}, 0); err != nil {
			t.Fatal(err)
		}
	}
	n := st.partNodes[0]
	v := n.value(3)
	y := st.NewSession().(*treeSession)
	y.spare[n.number] = n.take()
	n.each(n.last.Load(), n.last.Load(), func(_ uint32, values []uint64) { values[0] = v })
	var file, log bytes.Buffer
	if err := Save(st, &file); err != nil {
		t.Fatal(err)
	}
	if err := SaveStates(st, &log, false); err != nil {
		t.Fatal(err)
	}
	if y.spare[n.number] != 0 {
		t.Error("a session can still give a number that is in the log")
	}
	back, err := Restore(&file, Options{})
	if err == nil {
		err = RestoreStates(back, &log)
	}
	if err != nil {
		t.Fatal(err)
	}
	if id := back.(*treeStore).partNodes[0].find(v, hashNode(v)); id != 3 {
		t.Errorf("the value of number 3 has the number %d", id)
	}
	sameStates(t, st, back, [][]uint64{{3, 9, 7}, {49, 49 * 49, 7}})
}

// TestLogForeign reads logs that are not of the store.
func TestLogForeign(t *testing.T) {
	var files, logs [][]byte
	for i, kind := range []Kind{Tree, Tree, Plain, Plain, Compact, Compact} {
		st := mustNew(t, Options{Kind: kind, Samples: 10})
		x := st.NewSession()
		states, _ := someStates(300+100*i, uint64(i))
		for _, s := range states {
			if _, _, err := x.Insert(s, 0); err != nil {
				t.Fatal(err)
			}
		}
		var file, log bytes.Buffer
		if err := errors.Join(Save(st, &file), SaveStates(st, &log, true)); err != nil {
			t.Fatal(err)
		}
		files, logs = append(files, file.Bytes()), append(logs, log.Bytes())
	}
	for i, file := range files {
		kind := []Kind{Tree, Plain, Compact}[i/2]
		for k, log := range logs {
			st, err := Restore(bytes.NewReader(file), Options{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			if err := RestoreStates(st, bytes.NewReader(log)); (err == nil) != (i == k) {
				t.Errorf("store %d with the log of store %d: %v", i, k, err)
			}
			st, err = Restore(bytes.NewReader(file), Options{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			if err := RestoreStates(st, bytes.NewReader(slices.Concat(log, log))); err == nil {
				t.Errorf("store %d with the log of store %d twice is taken", i, k)
			}
		}
	}
}

// TestSlabSize holds slab to a cache line.
func TestSlabSize(t *testing.T) {
	if size := unsafe.Sizeof(slab[uint64]{}); size != 64 {
		t.Errorf("%d bytes", size)
	}
}

// FuzzRestoreStates reads logs that nobody has written: an error, and nothing worse, and memory
// only for what the store has.
func FuzzRestoreStates(f *testing.F) {
	var file bytes.Buffer
	for _, kind := range []Kind{Tree, Plain, Compact} {
		st, err := New(Options{Kind: kind, Samples: 4})
		if err != nil {
			f.Fatal(err)
		}
		x := st.NewSession()
		states, _ := someStates(40, 1)
		for _, s := range states {
			if _, _, err := x.Insert(s, 0); err != nil {
				f.Fatal(err)
			}
		}
		var log bytes.Buffer
		if err := SaveStates(st, &log, true); err != nil {
			f.Fatal(err)
		}
		f.Add(log.Bytes())
		if kind == Tree {
			if err := Save(st, &file); err != nil {
				f.Fatal(err)
			}
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		for _, kind := range []Kind{Tree, Plain, Compact} {
			st, err := New(Options{Kind: kind})
			if kind == Tree {
				st, err = Restore(bytes.NewReader(file.Bytes()), Options{})
			}
			if err != nil {
				t.Fatal(err)
			}
			RestoreStates(st, bytes.NewReader(log))
		}
	})
}
