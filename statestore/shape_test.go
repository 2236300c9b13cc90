package statestore

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// walk returns states like those that a search begins with, and from which one each was reached: it
// differs from that in two fields. Every tenth has no such state.
func walk(n, words int) (examples [][]uint64, parent func(i int) int) {
	r := rand.New(rand.NewPCG(1, 2))
	parents := []int{-1}
	examples = append(examples, make([]uint64, words))
	for len(examples) < n {
		p := r.IntN(len(examples))
		s := slices.Clone(examples[p])
		for range 2 {
			w, f := r.IntN(words), 8*r.IntN(4)
			s[w] = s[w]&^(0xff<<f) | uint64(r.IntN(20))<<f
		}
		if len(examples)%10 == 0 {
			p = -1
		}
		examples, parents = append(examples, s), append(parents, p)
	}
	return examples, func(i int) int { return parents[i] }
}

// TestCount compares the numbers of values, and of moves across places, with plain ones.
func TestCount(t *testing.T) {
	examples, parent := walk(300, 7)
	vary := varyingBits(7, examples)
	crossing := crossings(vary, examples, parent)
	for k := range crossing {
		want := 0.0
		for i, s := range examples {
			last := -100
			for at, bit := range vary {
				if p := parent(i); p >= 0 && (s[bit/64]^examples[p][bit/64])>>(bit%64)&1 != 0 {
					if at-last <= 16 && last < k && k <= at {
						want++
					}
					last = at
				}
			}
		}
		if crossing[k] != want {
			t.Fatalf("%v moves cross place %d, want %v", crossing[k], k, want)
		}
	}
	at, _ := candidates(vary, crossing, 64*7)
	v := newValueCounter(at, examples, parent, inTurn)
	limit := 150.0
	table := v.table(limit, inTurn)
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			values := map[string]bool{}
			for _, s := range examples {
				var bits []byte
				for b := at[i]; b < at[j]; b++ {
					bits = append(bits, byte(s[b/64]>>(b%64)&1))
				}
				values[string(bits)] = true
			}
			want := float64(len(values))
			if got := v.count(i, j); got != want {
				t.Fatalf("%v values between %d and %d, want %v", got, i, j, want)
			}
			if got := table[i][j]; got != want && (got <= limit || want <= limit) {
				t.Fatalf("the table has %v values between %d and %d, want %v", got, i, j, want)
			}
		}
	}
}

func BenchmarkLearn(b *testing.B) {
	examples, parent := walk(sampleStates, 31)
	for b.Loop() {
		learn(31, examples, parent, inTurn)
	}
}
