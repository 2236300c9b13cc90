package cluster

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/statestore"
)

// TestSent writes states of any kind into a message and reads them: they are the same, in the same
// order. A message that is cut off is not read.
func TestSent(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
		var all []record
		for range r.IntN(12) {
			s := record{depth: r.IntN(1 << 20), parent: r.Uint64() >> r.IntN(64)}
			if len(all) > 0 && r.IntN(3) > 0 {
				s = all[len(all)-1]
				s.state = slices.Clone(s.state)
			}
			if n := r.IntN(6); r.IntN(4) == 0 {
				s.state = slices.Grow(s.state[:min(n, len(s.state))], n)
			}
			for range r.IntN(3) {
				s.state = append(s.state, r.Uint64()>>r.IntN(64))
			}
			if len(s.state) > 0 {
				s.state[r.IntN(len(s.state))] ^= 0xff << r.IntN(64) * uint64(r.IntN(2))
			}
			all = append(all, s)
		}
		var m []byte
		var ends []int
		var to, from record
		for _, s := range all {
			m = to.append(m, s.depth, s.parent, s.state)
			ends = append(ends, len(m))
		}
		cut, reader := m[:r.IntN(len(m)+1)], record{}
		for n := 0; len(cut) > 0; n++ {
			var ok bool
			if cut, ok = reader.next(cut); !ok {
				break
			}
			if n == len(all) || reader.depth != all[n].depth || !slices.Equal(reader.state,
				all[n].state) {
				t.Fatalf("seed %d: state %d of a message that was cut off is another one", seed, n)
			}
		}
		rest := m
		for i, s := range all {
			var ok bool
			if rest, ok = from.next(rest); !ok || len(m)-len(rest) != ends[i] {
				t.Fatalf("seed %d: state %d ends at byte %d, not %d: %v", seed, i, len(m)-len(rest),
					ends[i], ok)
			}
			if from.depth != s.depth || from.parent != s.parent || !slices.Equal(from.state,
				s.state) {
				t.Fatalf("seed %d: state %d: %+v, want %+v", seed, i, from, s)
			}
		}
	}
}

// TestSentNumbers has states by numbers among others, and what the numbers mean.
func TestSentNumbers(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 15))
		var m []byte
		var to, from record
		type item struct {
			record
			value []uint64
		}
		var all []item
		now := record{length: 3}
		for range 1 + r.IntN(12) {
			now.kind = [...]byte{0, byNumbers, meaning}[r.IntN(3)]
			if r.IntN(2) == 0 {
				now.depth, now.parent = r.IntN(1<<20), r.Uint64()
			}
			x := item{}
			switch now.kind {
			case 0:
				now.state = []uint64{r.Uint64(), 7, r.Uint64() >> r.IntN(64)}
				m = to.append(m, now.depth, now.parent, now.state)
			case byNumbers:
				now.numbers[r.IntN(len(now.numbers))] = r.Uint32() >> r.IntN(32)
				if r.IntN(4) == 0 {
					now.length = r.IntN(100)
				}
				m = to.appendNumbers(m, now.depth, now.parent, now.length, &now.numbers)
			default:
				now.of, now.part, now.number = r.IntN(1000), r.IntN(6), r.Uint32N(MostNumbers)
				for range r.IntN(4) {
					x.value = append(x.value, r.Uint64()>>r.IntN(64))
				}
				m = appendPart(m, now.of, now.part, now.number, x.value)
			}
			x.record = now
			all = append(all, x)
		}
		rest := m
		for i, x := range all {
			var ok bool
			if rest, ok = from.next(rest); !ok || from.kind != x.kind {
				t.Fatalf("seed %d: record %d is read as %+v (%v), not %+v", seed, i, from, ok, x)
			}
			same := from.depth == x.depth && from.parent == x.parent
			switch x.kind {
			case 0:
				same = same && slices.Equal(from.state, x.state)
			case byNumbers:
				same = same && from.numbers == x.numbers && from.length == x.length
			default:
				same = from.of == x.of && from.part == x.part && from.number == x.number &&
					slices.Equal(from.value, x.value)
			}
			if !same {
				t.Fatalf("seed %d: record %d: %+v, want %+v", seed, i, from, x)
			}
		}
		if len(rest) > 0 {
			t.Fatalf("seed %d: %d bytes are left", seed, len(rest))
		}
	}
}

// TestSentTooMany has a number for which a table would be too large.
func TestSentTooMany(t *testing.T) {
	for number, want := range map[uint32]bool{MostNumbers - 1: true, MostNumbers: false,
		1 << 31: false} {
		var s record
		if _, ok := s.next(appendPart(nil, 3, 0, number, []uint64{1})); ok != want {
			t.Errorf("the number %d is read: %v", number, ok)
		}
	}
}

// FuzzSent reads what nobody has written: it ends, without a panic.
func FuzzSent(f *testing.F) {
	var s record
	f.Add(s.append(nil, 3, 77, []uint64{1, 0, 1 << 63}))
	f.Add([]byte{otherParent | otherLength, 0, 0xff})
	f.Add([]byte{otherLength, 200, 200, 1})
	f.Add(appendPart(nil, 7, 1, 1000, []uint64{5, 1 << 40}))
	f.Add(s.appendNumbers(nil, 4, 78, 7, &[statestore.MaxNumbers]uint32{1, 2, 1 << 31}))
	f.Add([]byte{meaning, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff})
	f.Add([]byte{byNumbers | otherLength, 3, 0xff})
	f.Fuzz(func(t *testing.T, m []byte) {
		var s record
		for len(m) > 0 {
			rest, ok := s.next(m)
			if !ok {
				return
			}
			if len(rest) >= len(m) {
				t.Fatal("nothing was taken")
			}
			m = rest
		}
	})
}
