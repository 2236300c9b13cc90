package statestore

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
)

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{{Kind: -1}, {Kind: Kind(len(kindNames))}, {Workers: -1}} {
		if st, err := New(o); err == nil {
			t.Errorf("New(%+v) = %v", o, st)
		}
	}
	for k, name := range kindNames {
		if got, err := ParseKind(name); err != nil || got != Kind(k) || got.String() != name {
			t.Errorf("ParseKind(%q) = %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "Tree", "trees"} {
		if k, err := ParseKind(name); err == nil {
			t.Errorf("ParseKind(%q) = %v", name, k)
		}
	}
	if s := Kind(9).String(); s != "Kind(9)" {
		t.Error(s)
	}
}

// TestFull fills stores of all kinds with a limit, with many workers, and checks
// that they keep to it, continue finding what they have, and say ErrFull.
func TestFull(t *testing.T) {
	for _, kind := range []Kind{Tree, Plain, Compact} {
		for _, limit := range []uint64{1, 10_000, 100_000, 3_000_000} {
			if limit > 2_000_000 {
				limit /= slow
				if testing.Short() {
					limit = 1_000_000 / slow
				}
			}
			if kind == Compact {
				limit += 1 << 20
			}
			st := mustNew(t, Options{Kind: kind, MaxBytes: limit})
			start := st.Bytes()
			var wg sync.WaitGroup
			var next, full atomic.Uint64
			kept := make([][]uint64, 16)
			for w := range kept {
				wg.Add(1)
				go func() {
					defer wg.Done()
					x := st.NewSession()
					rng := rand.New(rand.NewPCG(7, uint64(w)))
					for full.Load() < 100 {
						i := next.Add(1)
						s := []uint64{i, i * i, rng.Uint64() & 0xffffff, 0}
						_, added, err := x.Insert(s[:3+i%2], 0)
						if err != nil {
							if !errors.Is(err, ErrFull) || added {
								t.Errorf("%v, %v", added, err)
							}
							full.Add(1)
							continue
						}
						if !added {
							t.Errorf("%x was not added", s)
						}
						kept[w] = append(kept[w], s[0], s[1], s[2])
					}
				}()
			}
			wg.Wait()
			x := st.NewSession()
			n := 0
			for _, words := range kept {
				for i := 0; i < len(words); i += 3 {
					s := append(words[i:i+3:i+3], 0)
					s = s[:3+s[0]%2]
					if _, ok := x.Find(s); !ok {
						t.Fatalf("%v: %x is not found in the full store", kind, s)
					}
					if _, added, err := x.Insert(s, 0); added || err != nil {
						t.Fatalf("%v: Insert of %x, which is covered, into the full store: %v, %v",
							kind, s, added, err)
					}
					n++
				}
			}
			// Sessions and what a shape needs to begin are not refused.
			slack := uint64(200_000)
			if b := st.Bytes(); b > max(limit, start)+slack {
				t.Errorf("%v: %d bytes, limit %d, at the start %d", kind, b, limit, start)
			}
			if uint64(n) != st.Len() {
				t.Errorf("%v: %d states, Len() = %d", kind, n, st.Len())
			}
			if limit > 2_000_000 && kind != Compact && float64(st.Bytes()) < 0.7*float64(limit) {
				t.Errorf("%v: full with %d bytes of %d", kind, st.Bytes(), limit)
			}
			t.Logf("%v, limit %d: %d states, %d bytes (%d at the start)", kind, limit, n,
				st.Bytes(), start)
		}
	}
}

// omitted inserts n different random states and returns how many were not added.
func omitted(t *testing.T, st Store, n int) int {
	x := st.NewSession()
	rng := rand.New(rand.NewPCG(3, 4))
	lost := 0
	s := make([]uint64, 5)
	for i := range n {
		s[0], s[3] = uint64(i), rng.Uint64()
		ref, added, err := x.Insert(s, 0)
		if err != nil || ref == 0 {
			t.Fatal(ref, err)
		}
		if !added {
			lost++
		}
		if got, ok := x.Find(s); !ok || got != ref {
			t.Fatalf("Find after Insert: %#x, %v; want %#x", got, ok, ref)
		}
	}
	if st.Exact() || st.Loadable() || x.Load(1, s) != nil {
		t.Error("exact or loadable")
	}
	x.Parents(1, func(Ref) bool { t.Error("a parent"); return false })
	if st.Len() != uint64(n-lost) {
		t.Errorf("Len() = %d, want %d", st.Len(), n-lost)
	}
	return lost
}

// TestBitstateOmissions compares the estimate with what is really omitted, at
// several fillings.
func TestBitstateOmissions(t *testing.T) {
	const n = 200_000
	for _, bytes := range []uint64{1, 1 << 16, 1 << 18, 1 << 19, 1 << 20, 1 << 22} {
		st := mustNew(t, Options{Kind: Bitstate, MaxBytes: bytes})
		got := float64(omitted(t, st, n))
		want := st.Stats().ExpectedOmissions
		// Five deviations of a binomial. A filter of one word is not a case
		// for statistics.
		if math.Abs(got-want) > 5*math.Sqrt(want+1) && bytes > 1 {
			t.Errorf("%d bytes: %v of %d states omitted, estimated %.0f", bytes, got, n, want)
		}
		if st.Bytes() > max(bytes, 8) {
			t.Errorf("%d bytes instead of %d", st.Bytes(), bytes)
		}
		t.Logf("%d bytes: %v of %d states omitted, estimated %.0f, probability %.2g", bytes, got, n,
			want, st.OmissionProbability())
	}
}

// TestCompactOmissions: with this few states none is omitted, with near certainty.
// That the estimate is right for more is tested with shorter hashes, on the same
// formula.
func TestCompactOmissions(t *testing.T) {
	const n = 300_000 / slow
	st := mustNew(t, Options{Kind: Compact})
	if lost := omitted(t, st, n); lost > 0 {
		t.Errorf("%d states omitted, expected %.2g", lost, st.Stats().ExpectedOmissions)
	}
	if e := st.Stats().ExpectedOmissions; e > 0.01 || e <= 0 {
		t.Errorf("expected omissions %v", e)
	}
	// Hashes cut to 32 bits.
	seen := map[uint64]bool{}
	lost := 0
	for i := range uint64(n) {
		_, _, ref := compactEntry([]uint64{i, 1})
		if h := uint64(ref) >> (compactBits - 32); seen[h] {
			lost++
		} else {
			seen[h] = true
		}
	}
	want := expectedOmissions(n, float64(n)/2/math.Exp2(32))
	if math.Abs(float64(lost)-want) > 5*math.Sqrt(want) {
		t.Errorf("%d of %d hashes of 32 bits met, expected %.1f", lost, n, want)
	}
}

// TestInexactOnce: of workers that insert equal states into an inexact store, one
// is told that it added it.
func TestInexactOnce(t *testing.T) {
	for _, kind := range []Kind{Compact, Bitstate} {
		const n, workers = 20_000 / slow, 32
		st := mustNew(t, Options{Kind: kind})
		var wg sync.WaitGroup
		var added atomic.Int64
		for w := range workers {
			wg.Add(1)
			go func() {
				defer wg.Done()
				x := st.NewSession()
				for i := range uint64(n) {
					s := []uint64{(i*7 + uint64(w)) % n, 5}
					if _, ok, _ := x.Insert(s, 0); ok {
						added.Add(1)
					}
				}
			}()
		}
		wg.Wait()
		if added.Load() != int64(st.Len()) || st.Len() > n || st.Len() < n-20/slow-1 {
			t.Errorf("%v: added %d times, Len() = %d, %d states", kind, added.Load(), st.Len(), n)
		}
		t.Logf("%v: %.1f bytes a state", kind, float64(st.Bytes())/n)
	}
}
