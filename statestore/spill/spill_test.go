package spill

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"cpor/testkit/sample"

	"cpor/statestore"
)

func open(t testing.TB) *Dir {
	t.Helper()
	d, err := Open(filepath.Join(t.TempDir(), "spilled"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// empty closes a directory and fails if something is left of it.
func empty(t testing.TB, d *Dir) {
	t.Helper()
	if s := d.Stats(); s.Bytes != 0 {
		t.Errorf("%d bytes are counted that are not there", s.Bytes)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(d.path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%s is still there: %v", d.path, err)
	}
}

// randomState returns a state of few or many words, small or large ones.
func randomState(r *rand.Rand, kinds int) []uint64 {
	s := make([]uint64, r.IntN(4))
	if r.IntN(200) == 0 {
		s = make([]uint64, 300)
	}
	for i := range s {
		if s[i] = r.Uint64N(uint64(kinds)); r.IntN(9) == 0 {
			s[i] = ^s[i]
		}
	}
	return s
}

// TestSet compares a set with a map. The hashes are bad on purpose: many states have
// the same, so that everything rests on comparing states.
func TestSet(t *testing.T) {
	seeds := sample.Of[uint64](3, 4, 18)
	for seed := range seeds {
		r := rand.New(rand.NewPCG(seed, 3))
		d := open(t)
		s := NewSet(d)
		kinds := []int{2, 20, 1000}[seed%3]
		mask := []uint64{0xf, 0xff, ^uint64(0)}[seed/3%3]
		hash := func(s []uint64) uint64 { h := Hash(s); return h&mask | h<<56 }
		type known struct{ from, hash uint64 }
		want := map[string]known{}
		merges := 0
		for range 20 {
			var states [][]uint64
			var shards [Shards][]Entry
			asked := map[string]bool{}
			for range r.IntN(800) {
				x := randomState(r, kinds)
				if asked[fmt.Sprint(x)] {
					continue
				}
				asked[fmt.Sprint(x)] = true
				h := hash(x)
				shards[Shard(h)] = append(shards[Shard(h)],
					Entry{Hash: h, Ref: statestore.Ref(len(states)), From: r.Uint64()})
				states = append(states, x)
			}
			state := func(e Entry) []uint64 { return states[e.Ref] }
			for i, es := range shards {
				Sort(es)
				var left []Entry
				gone := make([]bool, len(es))
				if err := s.Sift(t.Context(), i, es, state, func(k int) {
					if gone[k] {
						t.Errorf("seed %d: a state is covered twice", seed)
					}
					gone[k] = true
				}); err != nil {
					t.Fatal(err)
				}
				for k, e := range es {
					if _, ok := want[fmt.Sprint(state(e))]; ok != gone[k] {
						t.Fatalf("seed %d: state %v: covered %v, want %v", seed, state(e), gone[k],
							ok)
					}
					if !gone[k] {
						left = append(left, e)
					}
				}
				if err := s.Add(i, left, state); err != nil {
					t.Fatal(err)
				}
				for _, e := range left {
					want[fmt.Sprint(state(e))] = known{e.From, e.Hash}
				}
				before := len(s.shards[i].runs)
				if err := s.Merge(i); err != nil {
					t.Fatal(err)
				}
				if len(s.shards[i].runs) < before {
					merges++
				}
			}
			if int(s.len()) != len(want) {
				t.Fatalf("seed %d: %d states, want %d", seed, s.len(), len(want))
			}
		}
		if merges == 0 || s.numRuns() > 12 || s.memory() == 0 {
			t.Errorf("seed %d: %d merges, %d runs, %d bytes of memory", seed, merges, s.numRuns(),
				s.memory())
		}
		all := 0
		const fromMask = ^uint64(1<<(64-8*fromBytes) - 1)
		for i := range Shards {
			if err := s.all(i, func(x []uint64, from uint64) error {
				all++
				if k, ok := want[fmt.Sprint(x)]; !ok || from != k.from&fromMask {
					return fmt.Errorf("%v: from %x, want %x, %v", x, from, k.from, ok)
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if all != len(want) {
			t.Errorf("seed %d: %d of %d states are there", seed, all, len(want))
		}
		n := 0
		for name, k := range want {
			if n++; n > 100 {
				break
			}
			found := false
			if err := s.Lookup(k.hash, func(x []uint64, from uint64) bool {
				if hash(x)>>(64-FromBits) != k.hash>>(64-FromBits) {
					t.Errorf("seed %d: looked for %x, got %x", seed, k.hash, hash(x))
				}
				found = fmt.Sprint(x) == name && from == k.from&fromMask
				return !found
			}); err != nil || !found {
				t.Fatalf("seed %d: %v is not found: %v", seed, name, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		empty(t, d)
	}
}

// TestQueue compares a queue with a slice.
func TestQueue(t *testing.T) {
	defer func(n int64) { segmentBytes = n }(segmentBytes)
	segmentBytes = 40_000
	for seed := range uint64(10) {
		r := rand.New(rand.NewPCG(seed, 4))
		d := open(t)
		q := NewQueue(d)
		type item struct {
			depth int
			s     []uint64
		}
		var want []item
		var s []uint64
		for range 20 {
			for range r.IntN(4000) {
				i := item{r.IntN(1 << 20), randomState(r, 100)}
				want = append(want, i)
				if err := q.Push(i.depth, i.s); err != nil {
					t.Fatal(err)
				}
			}
			for range r.IntN(4000) {
				if q.Len() != uint64(len(want)) {
					t.Fatalf("%d states, want %d", q.Len(), len(want))
				}
				depth, got, ok, err := q.Pop(s)
				if err != nil || ok != (len(want) > 0) {
					t.Fatalf("%v, %v with %d states", err, ok, len(want))
				}
				if !ok {
					break
				}
				if s = got; depth != want[0].depth || !slices.Equal(s, want[0].s) {
					t.Fatalf("seed %d: %d %v, want %v", seed, depth, s, want[0])
				}
				want = want[1:]
			}
		}
		if err := q.Close(); err != nil {
			t.Error(err)
		}
		empty(t, d)
	}
}

// fill adds n states to one shard, and pushes them.
func fill(t *testing.T, s *Set, q *Queue, first, n int) error {
	t.Helper()
	var es []Entry
	for i := range n {
		es = append(es, Entry{Hash: uint64(first + i), Ref: statestore.Ref(first + i)})
		if err := q.Push(i, []uint64{uint64(first + i), 7}); err != nil {
			return err
		}
	}
	return s.Add(0, es, func(e Entry) []uint64 { return []uint64{uint64(e.Ref), 7} })
}

// TestDamage changes bytes of the files, and cuts them off: it is found, whatever it is,
// and told with the name of the file.
func TestDamage(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 5))
	for round := range 60 {
		d := open(t)
		s, q := NewSet(d), NewQueue(d)
		for i := range 3 {
			if err := fill(t, s, q, 10_000*i, 5000); err != nil {
				t.Fatal(err)
			}
		}
		if err := q.segments[0].w.flush(); err != nil {
			t.Fatal(err)
		}
		files, err := filepath.Glob(filepath.Join(d.path, "*.spill"))
		if err != nil || len(files) != 4 {
			t.Fatal(files, err)
		}
		name := files[round%len(files)]
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		what := "a byte"
		switch round / len(files) % 3 {
		case 0:
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		case 1:
			b = b[:r.IntN(len(b))]
			what = "the end"
		case 2:
			other, err := os.ReadFile(files[(round+1)%len(files)])
			if err != nil {
				t.Fatal(err)
			}
			copy(b, other)
			what = "another file's bytes"
		}
		if err := os.WriteFile(name, b, 0o666); err != nil {
			t.Fatal(err)
		}
		err = s.all(0, func([]uint64, uint64) error { return nil })
		for more := true; more && err == nil; {
			_, _, more, err = q.Pop(nil)
		}
		var damaged *Damaged
		if !errors.As(err, &damaged) || damaged.Path != name || !strings.Contains(err.Error(),
			name) {
			t.Errorf("%s of %s: %v", what, name, err)
		}
		s.Close()
		q.Close()
		empty(t, d)
	}
}

// TestFull lets the disk be full after some bytes: the error says so, and all is
// removed.
func TestFull(t *testing.T) {
	for room := 0; room < 400_000; room += 30_000 {
		d := open(t)
		left := room
		d.write = func(f *os.File, b []byte) (int, error) {
			if left -= len(b); left < 0 {
				n, _ := f.Write(b[:len(b)+max(left, -len(b))])
				return n, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return f.Write(b)
		}
		s, q := NewSet(d), NewQueue(d)
		var err error
		for i := 0; i < 20 && err == nil; i++ {
			if err = fill(t, s, q, 10_000*i, 3000); err == nil {
				err = s.Merge(0)
			}
		}
		if !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), d.path) {
			t.Errorf("%d bytes: %v", room, err)
		}
		s.Close()
		q.Close()
		empty(t, d)
	}
}

// TestDir: one search has a directory; what it left is removed, what is somebody
// else's stays.
func TestDir(t *testing.T) {
	path := t.TempDir()
	for _, name := range []string{"cpor-1.spill", "cpor-77.spill", "mine.spill", "cpor-x.spill"} {
		if err := os.WriteFile(filepath.Join(path, name), []byte("x"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	d, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); err == nil || !strings.Contains(err.Error(), "another search") {
		t.Errorf("taken twice: %v", err)
	}
	s, q := NewSet(d), NewQueue(d)
	if err := fill(t, s, q, 0, 5000); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil { // as after an interruption
		t.Fatal(err)
	}
	files, err := os.ReadDir(path)
	if err != nil || len(files) != 2 || files[0].Name() != "cpor-x.spill" ||
		files[1].Name() != "mine.spill" {
		t.Errorf("left: %v, %v", files, err)
	}
	if _, err := Open(filepath.Join(path, "mine.spill")); err == nil {
		t.Error("a file is taken for a directory")
	}
}

// TestSiftEnds: a look ends when it is told to.
func TestSiftEnds(t *testing.T) {
	d := open(t)
	s, q := NewSet(d), NewQueue(d)
	if err := fill(t, s, q, 0, 5000); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("no more")
	cancel(reason)
	if err := s.Sift(ctx, 0, []Entry{{Hash: 4000}}, func(Entry) []uint64 { return nil }, func(int) {
	}); err != reason {
		t.Errorf("%v", err)
	}
	s.Close()
	q.Close()
	empty(t, d)
}

// BenchmarkSet asks for and adds states in the proportion of a search: two of three are
// covered.
func BenchmarkSet(b *testing.B) {
	const batch = 100_000
	d := open(b)
	s := NewSet(d)
	defer func() { s.Close(); d.Close() }()
	r := rand.New(rand.NewPCG(1, 1))
	next := uint64(0)
	state := func(e Entry) []uint64 { return []uint64{uint64(e.Ref), 12345, 678910, 5, 1 << 40} }
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		var shards [Shards][]Entry
		for range batch {
			x := next
			if r.IntN(3) > 0 && next > 0 {
				x = r.Uint64N(next)
			} else {
				next++
			}
			h := Hash(state(Entry{Ref: statestore.Ref(x)}))
			shards[Shard(h)] = append(shards[Shard(h)], Entry{Hash: h, Ref: statestore.Ref(x)})
		}
		for i := range shards {
			Sort(shards[i])
			shards[i] = slices.CompactFunc(shards[i], func(a, b Entry) bool {
				return a.Ref == b.Ref
			})
		}
		b.StartTimer()
		for i, es := range shards {
			gone := make([]bool, len(es))
			if err := s.Sift(context.Background(), i, es, state, func(k int) {
				gone[k] = true
			}); err != nil {
				b.Fatal(err)
			}
			left := es[:0]
			for k, e := range es {
				if !gone[k] {
					left = append(left, e)
				}
			}
			if err := s.Add(i, left, state); err != nil {
				b.Fatal(err)
			}
			if err := s.Merge(i); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/state")
	b.ReportMetric(float64(d.Stats().Bytes)/float64(s.len()), "bytes/state")
}
