package statestore

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestMix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Uint64Range(0, keyMask).Draw(t, "key")
		if h := mix(key); h > keyMask || unmix(h) != key {
			t.Fatalf("unmix(mix(%#x)) = %#x", key, unmix(h))
		}
	})
}

// TestMixScatters looks at how keys that are made of small numbers, as keys are,
// spread over the shards and over a shard's lines.
func TestMixScatters(t *testing.T) {
	for _, width := range []uint{6, 8, 13, 20, 26} {
		counts := make([]int, 1<<16)
		n := 0
		for a := range uint64(1 << 10) {
			for b := range uint64(1 << 10) {
				key := 3<<idsBits | a | b<<width
				if width < 10 {
					key = 3<<idsBits | a&(1<<width-1) | b<<width | a>>width<<(width+10)
				}
				counts[mix(key)>>(keyBits-16)]++
				n++
			}
		}
		mean := float64(n) / float64(len(counts))
		chi := 0.0
		for _, c := range counts {
			d := float64(c) - mean
			chi += d * d / mean
		}
		// The expected value is the number of counts, its deviation the root of
		// twice that, 0.6 %. Less is a more even spread than a random one.
		if ratio := chi / float64(len(counts)); ratio > 1.1 {
			t.Errorf("width %d: chi square is %.2f times that of random keys", width, ratio)
		}
	}
}

func TestPlace(t *testing.T) {
	next := map[uint32]uint32{}
	last := uint32(0)
	for id := range uint32(1 << 20) {
		c, o := place(id)
		if o != next[c] || c < last || c >= chunkCount {
			t.Fatalf("place(%d) = %d, %d; expected offset %d", id, c, o, next[c])
		}
		next[c]++
		last = c
	}
	if c, _ := place(maxNode); c != chunkCount-1 {
		t.Errorf("the last number is in chunk %d of %d", c, chunkCount)
	}
}

// fill inserts states and checks what the store says about each, at once and at
// the end.
func fill(t *testing.T, st Store, states [][]uint64) {
	t.Helper()
	x := st.NewSession()
	refs := make([]Ref, len(states))
	seen := map[Ref]bool{}
	for i, s := range states {
		parent := Ref(0)
		if i > 0 {
			parent = refs[i/2]
		}
		ref, added, err := x.Insert(s, parent)
		if err != nil || !added || ref == 0 || seen[ref] {
			t.Fatalf("Insert of state %d, %x: %#x (seen: %v), %v, %v", i, s, ref, seen[ref], added,
				err)
		}
		refs[i] = ref
		seen[ref] = true
	}
	x = st.NewSession()
	var buf []uint64
	for i, s := range states {
		if buf = x.Load(refs[i], buf); !slices.Equal(buf, s) {
			t.Fatalf("Load of state %d: %x, want %x", i, buf, s)
		}
		if ref, added, err := x.Insert(s, 0); ref != refs[i] || added || err != nil {
			t.Fatalf("second Insert of state %d: %#x, %v, %v; want %#x", i, ref, added, err,
				refs[i])
		}
		if ref, ok := x.Find(s); !ok || ref != refs[i] {
			t.Fatalf("Find of state %d: %#x, %v; want %#x", i, ref, ok, refs[i])
		}
		if i > 0 {
			checkParent(t, x, refs[i], refs[i/2])
		} else {
			checkParent(t, x, refs[i], 0)
		}
	}
	if st.Len() != uint64(len(states)) {
		t.Fatalf("Len() = %d, want %d", st.Len(), len(states))
	}
}

// TestAllVariation inserts random words, in which nothing can be shared: the
// numbers get too big for a key and have to be merged, to the last.
func TestAllVariation(t *testing.T) {
	count := 40000 / slow
	if testing.Short() {
		count = 10000 / slow
	}
	for _, n := range []int{1, 2, 3, 5, 9} {
		rng := rand.New(rand.NewPCG(1, uint64(n)))
		states := make([][]uint64, count)
		for i := range states {
			states[i] = make([]uint64, n)
			for j := range states[i] {
				states[i][j] = rng.Uint64()
			}
		}
		st := mustNew(t, Options{})
		fill(t, st, states)
		t.Logf("%d words: %.1f bytes a state", n, float64(st.Bytes())/float64(len(states)))
	}
}

// TestManyLengths uses more lengths than there are classes left.
func TestManyLengths(t *testing.T) {
	var states [][]uint64
	for n := range 12 {
		for i := range sampleStates + 400/slow {
			s := make([]uint64, n)
			if n == 0 && i > 0 {
				break
			}
			for j := range s {
				s[j] = uint64(i*j) ^ uint64(i)<<40
			}
			if n > 0 {
				s[0] = uint64(i)
			}
			states = append(states, s)
		}
	}
	st := mustNew(t, Options{}).(*treeStore)
	st.nextClass = classWhole - 5
	fill(t, st, states)
	if st.whole == nil {
		t.Error("no profile was left without a class: the test does not test")
	}
}

// TestLateVariation inserts states whose first thousands do not show what varies
// later.
func TestLateVariation(t *testing.T) {
	var states [][]uint64
	for i := range uint64(60000 / slow) {
		s := make([]uint64, 6)
		s[0] = i & 0xfff
		s[5] = i >> 12 << 33
		s[3] = i >> 12 * 0x123456789
		states = append(states, s)
	}
	fill(t, mustNew(t, Options{}), states)
}

// TestLearn checks the cuts for a state whose variation is at known places.
func TestLearn(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var examples [][]uint64
	values := []uint64{0x00, 0xff, 0x81, 0x7e, 0x18, 0xe7, 0x3c, 0xc3}
	for range 4000 {
		// Two independent fields of eight values each, side by side in one
		// word, and another in a word of its own.
		a, b, c := rng.Uint64()%8, rng.Uint64()%8, rng.Uint64()%8
		examples = append(examples, []uint64{0, values[a] | values[b]<<8, 0, values[c], 7})
	}
	cuts, distinct := learn(5, examples, func(int) int { return -1 }, inTurn)
	if cuts[0] != 0 || cuts[len(cuts)-1] != 5*64 || !slices.IsSorted(cuts) ||
		len(cuts) > maxParts+1 {
		t.Fatalf("cuts %v", cuts)
	}
	for _, cut := range []int{64 + 8, 3 * 64} {
		if !slices.Contains(cuts, cut) {
			t.Errorf("no cut at %d: %v", cut, cuts)
		}
	}
	if d := distinct[0][slices.Index(cuts, 3*64)]; d != 64 {
		t.Errorf("%v different values of two fields, want 64", d)
	}
}

// TestLearnAnything cuts random examples at random lengths and checks that the
// vertices cover each bit once.
func TestLearnAnything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 40).Draw(t, "n")
		var examples [][]uint64
		for range rapid.IntRange(0, 30).Draw(t, "examples") {
			examples = append(examples,
				rapid.SliceOfN(rapid.OneOf(rapid.Just(uint64(0)), rapid.Uint64()), n, n).Draw(t,
					"s"))
		}
		cuts, distinct := learn(n, examples, func(i int) int { return i - 1 - i%3 }, inTurn)
		for a := range distinct {
			for b := a + 1; b < len(cuts) && len(examples) > 0; b++ {
				values := map[string]bool{}
				for _, s := range examples {
					var v []byte
					for i := cuts[a]; i < cuts[b]; i++ {
						v = append(v, byte(s[i/64]>>(i%64)&1))
					}
					values[string(v)] = true
				}
				if distinct[a][b] != float64(len(values)) {
					t.Fatalf("%v different values from bit %d to %d, want %d", distinct[a][b],
						cuts[a], cuts[b], len(values))
				}
			}
		}
		sh := &shape{n: n}
		sh.build(cuts, func(leaves []vertex) (weights []int) {
			for _, l := range leaves {
				weights = append(weights, int(l.word*l.word)%7)
			}
			return weights
		})
		covered := make([]uint64, n)
		for v, vx := range sh.vertex {
			if v < sh.leaves {
				if covered[vx.word]&vx.mask != 0 || vx.mask == 0 {
					t.Fatalf("leaf %d: %+v", v, vx)
				}
				covered[vx.word] |= vx.mask
				if int(vx.shift) != bits.TrailingZeros64(vx.mask) {
					t.Fatalf("leaf %d: shift %d, mask %#x", v, vx.shift, vx.mask)
				}
				if v < int(sh.leafOf[vx.word]) || v >= int(sh.leafOf[vx.word+1]) {
					t.Fatalf("leaf %d of word %d: leafOf is %v", v, vx.word, sh.leafOf)
				}
			}
			if vx.parent >= 0 && int(vx.parent) <= v || vx.parent < 0 &&
				int(sh.parts[vx.part].top) != v {
				t.Fatalf("vertex %d: %+v", v, vx)
			}
		}
		for i, c := range covered {
			if c != ^uint64(0) {
				t.Fatalf("word %d: %#x is covered", i, c)
			}
		}
	})
}

// TestOrphans inserts states with a parent of another length whose shape is not learned.
func TestOrphans(t *testing.T) {
	st := mustNew(t, Options{})
	x := st.NewSession()
	parent, _, _ := x.Insert([]uint64{1, 2, 3}, 0)
	var refs []Ref
	for i := range uint64(3 * sampleStates) {
		ref, added, err := x.Insert([]uint64{i, 1}, parent)
		if err != nil || !added {
			t.Fatal(added, err)
		}
		refs = append(refs, ref)
	}
	for _, r := range refs {
		checkParent(t, x, r, parent)
	}
}

// TestLongStates stores states of thousands of words.
func TestLongStates(t *testing.T) {
	for _, kind := range loadable {
		c := counters{words: 3000, threads: 6, bits: 20}
		st := mustNew(t, Options{Kind: kind})
		added, _ := search(t, st, c, 3, 3000)
		x := st.NewSession()
		for _, list := range added {
			for _, r := range list {
				s := x.Load(r, nil)
				if ref, ok := x.Find(s); len(s) != c.words || !ok || ref != r {
					t.Fatalf("Find(Load(%#x)) = %#x, %v", r, ref, ok)
				}
			}
		}
	}
}

func TestTooLong(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 128 MB")
	}
	x := mustNew(t, Options{}).NewSession()
	if _, _, err := x.Insert(make([]uint64, maxLength+1), 0); err == nil {
		t.Error("no error for a state that is too long")
	}
}

// TestParts holds that the parts of a bit are those whose numbers change with it.
func TestParts(t *testing.T) {
	const words = 5
	rng := rand.New(rand.NewPCG(3, 4))
	x := mustNew(t, Options{Samples: 16}).NewSession().(*treeSession)
	var ref Ref
	for range 200 {
		s := make([]uint64, words)
		for i := range s {
			s[i] = rng.Uint64() & rng.Uint64()
		}
		r, _, err := x.Insert(s, ref)
		if err != nil {
			t.Fatal(err)
		}
		ref = r
	}
	s := x.Load(ref, nil)
	all := uint32(0)
	for bit := range 64 * words {
		before := slices.Clone(x.Numbers(ref, words))
		end := slices.Clone(s)
		end[bit/64] ^= 1 << (bit % 64)
		if ok, err := x.Defer(end, ref, nil); !ok || err != nil {
			t.Fatal(ok, err)
		}
		changed := uint32(0)
		for p, n := range x.Deferred(words) {
			if n != before[p] {
				changed |= 1 << p
			}
		}
		if parts := x.Parts(words, int32(bit/64), 1<<(bit%64)); parts != changed {
			t.Errorf("bit %d is in the parts %b, and its change changes %b", bit, parts, changed)
		}
		all |= changed
		if err := x.Settle(func(Ref) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if bits.OnesCount32(all) < 2 {
		t.Errorf("only %b of the parts have changed", all)
	}
	if parts := x.Parts(words+1, 0, 1); parts != 0 {
		t.Errorf("parts %b of a state of another length", parts)
	}
}
