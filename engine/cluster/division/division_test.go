package division

import (
	"encoding/json"
	"math/bits"
	"math/rand/v2"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"

	"cpor/statestore"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// random returns a division into n parts, and one state after the other.
func random(r *rand.Rand, n int) (*Division, func() []uint64) {
	d := &Division{}
	if r.IntN(4) > 0 {
		d.Parts, d.Table = n, make([]uint16, 1<<(1+r.IntN(8)))
		for i := range d.Table {
			d.Table[i] = uint16(r.IntN(n))
		}
		for w := range 8 {
			if r.IntN(3) == 0 {
				d.Fields = append(d.Fields, Field{w, r.Uint64() | 1<<r.IntN(64)})
			}
		}
		if len(d.Fields) > 0 && r.IntN(4) == 0 {
			d.Table = nil
		}
	}
	return d, func() []uint64 {
		s := make([]uint64, r.IntN(10))
		for i := range s {
			s[i] = r.Uint64() >> r.IntN(64)
		}
		return s
	}
}

// TestPart holds random divisions to what checkpoints and ranks rest on: the part is one of
// those there are, a part is divided further when there are more, the words that are named
// decide alone, and a division that was written and read is the same one.
func TestPart(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 31))
		n := 1 + r.IntN(9)
		d, next := random(r, n)
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var again Division
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(&again, d) ||
			!again.Valid(n) || !again.Valid(3*n) {
			t.Fatalf("seed %d: %s: %v, %+v", seed, text, err, again)
		}
		if d.ByFields(n) != (d.Parts > 0) || d.ByFields(2*n) {
			t.Fatalf("seed %d: the fields alone say which of %d parts", seed, n)
		}
		words := d.Words(n)
		if (words == nil) != (d.Parts == 0) || d.Parts > 0 && d.Words(2*n) != nil {
			t.Fatalf("seed %d: the words %v of a division into %d parts", seed, words, d.Parts)
		}
		for range 50 {
			s := next()
			p := d.Part(s, n)
			if p < 0 || p >= n || again.Part(s, n) != p {
				t.Fatalf("seed %d: part %d of %d, %d", seed, p, n, again.Part(s, n))
			}
			if d.ByFields(n) {
				sum := uint64(0)
				for i, f := range d.Fields {
					sum += d.Term(i, word(s, f.Word))
				}
				if q := d.PartOf(sum); q != p {
					t.Fatalf("seed %d: part %d by the sum of the terms, not %d", seed, q, p)
				}
			}
			for _, more := range []int{2, 3, 12} {
				if q := d.Part(s, more*n); q%n != p || q >= more*n {
					t.Fatalf("seed %d: part %d of %d, but %d of %d", seed, q, more*n, p, n)
				}
			}
			if q := d.Part(s, 12*n); q%(4*n) != d.Part(s, 4*n) {
				t.Fatalf("seed %d: a part that was divided is divided in another way", seed)
			}
			if words == nil {
				continue
			}
			for i := range s {
				if i >= len(words) || !words[i] {
					s[i] = r.Uint64()
				}
			}
			if d.Part(s, n) != p {
				t.Fatalf("seed %d: a word that is not named decides", seed)
			}
		}
	}
}

// TestValid has divisions that no search has written.
func TestValid(t *testing.T) {
	for _, d := range []Division{
		{Parts: 2},
		{Parts: 2, Table: []uint16{0, 1, 1}},
		{Parts: 2, Table: []uint16{0, 2}},
		{Parts: 3, Table: []uint16{0, 2}},
		{Parts: -1, Table: []uint16{0}},
		{Parts: 2, Table: []uint16{0, 1}, Fields: []Field{{Word: -1}}},
		{Fields: []Field{{Word: 1}}},
		{Table: []uint16{0}},
	} {
		if d.Valid(4) {
			t.Errorf("%+v is taken for good", d)
		}
	}
}

// TestByAll holds the division that goes by all bits to what it is for: it knows by the numbers
// of parts who has a state, also among more ranks than a sample can say anything about, and the
// parts have about the size that a hash of the whole state gives them.
func TestByAll(t *testing.T) {
	for _, m := range [][2]string{{"robots.model", "R=2"}, {"indexer.model", "N=4"},
		{"filesystem.model", "N=3"}, {"philosophers.model", "N=7"}} {
		sys := load(t, m[0], m[1])
		const n = 300
		d, c := Choose(sys, n, Options{Examples: 64})
		if !d.Valid(n) || !d.ByFields(n) || len(d.Shapes) == 0 || c.Leave < 0.99 {
			t.Fatalf("%v: %d parts, %d shapes: %+v", m, d.Parts, len(d.Shapes), c)
		}
		d.Parts = 32
		states := 0
		var has, hashed [32]int
		explore(sys, func(s system.State) {
			states++
			has[d.Part(s, 32)]++
			hashed[Hash(s)%32]++
		}, func(s, end system.State) {})
		if got, want := slices.Max(has[:]), slices.Max(hashed[:]); got > want+want/4 {
			t.Errorf("%v: the largest of 32 parts of %d states has %d, with a hash of the whole "+
				"state %d", m, states, got, want)
		}
	}
}

func never() bool { return false }

// TestSplit cuts fields where shapes have cuts: they have the same bits together, and none has
// bits of two parts.
func TestSplit(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 33))
		var fields []Field
		for w := range 4 {
			if r.IntN(2) == 0 {
				fields = append(fields, Field{w, r.Uint64() | 1<<r.IntN(64)})
			}
		}
		var shapes []statestore.Shape
		for range r.IntN(3) {
			sh := statestore.Shape{Length: 2 + r.IntN(4), Cuts: []int{0}}
			for range r.IntN(5) {
				sh.Cuts = append(sh.Cuts, r.IntN(64*sh.Length))
			}
			sh.Cuts = append(sh.Cuts, 64*sh.Length)
			slices.Sort(sh.Cuts)
			sh.Cuts = slices.Compact(sh.Cuts)
			shapes = append(shapes, sh)
		}
		var together [4]uint64
		all := split(fields, shapes)
		for _, f := range all {
			if f.Bits == 0 || together[f.Word]&f.Bits != 0 {
				t.Fatalf("seed %d: %v of %v", seed, all, fields)
			}
			together[f.Word] |= f.Bits
			for _, sh := range shapes {
				for _, cut := range sh.Cuts {
					lowest, highest := 64*f.Word+bits.TrailingZeros64(f.Bits),
						64*f.Word+bits.Len64(f.Bits)-1
					if f.Word < sh.Length && lowest < cut && highest >= cut {
						t.Fatalf("seed %d: %+v has bits of both sides of %d", seed, f, cut)
					}
				}
			}
		}
		for _, f := range fields {
			if together[f.Word] != f.Bits {
				t.Fatalf("seed %d: %v of %v", seed, all, fields)
			}
		}
		if len(shapes) == 0 && !slices.Equal(all, fields) {
			t.Fatalf("seed %d: %v of %v without a shape", seed, all, fields)
		}
	}
}

// TestChoose counts, over all states of some models, what leaves and how large the parts are: a
// division that is chosen must be much better than the hash of the whole state, of which a
// transition leaves with the probability 1-1/n. The choice is the same each time.
func TestChoose(t *testing.T) {
	for _, tt := range []struct {
		file, params  string
		n             int
		leave, uneven float64 // at most
	}{
		{"robots.model", "", 2, 0.25, 1.3},
		{"indexer.model", "N=4", 2, 0.25, 1.3},
		{"filesystem.model", "N=3", 2, 0.25, 1.3},
		{"philosophers.model", "N=7", 2, 0.25, 1.3},
		{"philosophers.model", "N=7", 8, 0.6, 1.7},
		{"cmis.model", "", 2, 0.25, 1.3},
		{"cmis.pml", "", 2, 0.25, 1.3},
	} {
		sys := load(t, tt.file, tt.params)
		d, said := Choose(sys, tt.n, Options{})
		if len(d.Shapes) == 0 {
			t.Errorf("%s: no shape of states", tt.file)
		}
		if text, err := json.Marshal(d); err != nil || !sameText(text, d) {
			t.Errorf("%s: %s is read as another division (%v)", tt.file, text, err)
		}
		if d.Parts != tt.n || !d.Valid(tt.n) {
			t.Errorf("%s: a division into %d parts, not %d", tt.file, d.Parts, tt.n)
			continue
		}
		if again, _ := Choose(sys, tt.n, Options{}); !reflect.DeepEqual(again, d) {
			t.Errorf("%s: another choice the second time", tt.file)
		}
		has := make([]int, tt.n)
		states, moves, left := 0, 0, 0
		explore(sys, func(s system.State) {
			has[d.Part(s, tt.n)]++
			states++
		}, func(s, end system.State) {
			moves++
			if d.Part(s, tt.n) != d.Part(end, tt.n) {
				left++
			}
		})
		leave, uneven := float64(left)/float64(moves), float64(slices.Max(has)*tt.n)/float64(states)
		t.Logf("%s %s, %d parts, %d states: leave %.3f (said %.3f), largest %.3f (said %.3f)",
			tt.file, tt.params, tt.n, states, leave, said.Leave, uneven, said.Largest)
		if leave > tt.leave || uneven > tt.uneven {
			t.Errorf("%s: %.3f of the transitions leave, the largest part is %.3f times the mean",
				tt.file, leave, uneven)
		}
	}
}

// sameText reports whether a text is that of d.
func sameText(text []byte, d *Division) bool {
	var again Division
	return json.Unmarshal(text, &again) == nil && reflect.DeepEqual(&again, d)
}

// TestChooseNothing has systems with nothing to choose, states as they are exported, and
// samples that are broken off.
func TestChooseNothing(t *testing.T) {
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 32))
		sys, err := toy.New(toy.Random(r, toy.Config{}))
		if seed%2 == 0 { // states of several lengths
			sys, err = toy.NewHeap(toy.RandomHeap(r, false))
		}
		if err != nil {
			t.Fatal(err)
		}
		export := func(dst, s system.State) system.State { return append(append(dst, 7), s...) }
		var left atomic.Int64
		left.Store(r.Int64N(200))
		for _, stopped := range []func() bool{never, func() bool { return left.Add(-1) < 0 }} {
			for _, n := range []int{1, 2, 5, 1000} {
				if d, _ := Choose(sys, n, Options{Export: export, Stopped: stopped}); !d.Valid(n) {
					t.Fatalf("seed %d: %+v", seed, d)
				}
			}
		}
	}
	one := load(t, "robots.model", "")
	if d, said := Choose(one, 1, Options{}); d.Parts != 0 || said.Leave != 0 {
		t.Errorf("one part: %+v, %+v", d, said)
	}
	// A counter that counts alone: every level has one state.
	p := toy.NewProgram()
	x := p.Array("x", 0)
	var code []toy.Node
	for range 30 {
		code = append(code,
			toy.Atomic(toy.Store(x, toy.Const(0), toy.Bin("+", toy.Load(x, toy.Const(0)),
				toy.Const(1)))))
	}
	p.Thread("Counter", 0, code...)
	p.Start("Counter")
	line, err := toy.New(p)
	if err != nil {
		t.Fatal(err)
	}
	if d, _ := Choose(line, 2, Options{}); d.Parts != 0 {
		t.Errorf("a line of states: %+v", d)
	}
	// Transitions with more alternatives than anybody can wait for.
	if d, _ := Choose(toy.Endless{System: line}, 2, Options{}); !d.Valid(2) {
		t.Errorf("endless alternatives: %+v", d)
	}
}

// BenchmarkChoose says how long it takes to choose a division.
func BenchmarkChoose(b *testing.B) {
	for _, m := range [][2]string{{"robots.model", "R=3"}, {"indexer.model", "N=8"},
		{"filesystem.model", "N=7"}, {"philosophers.model", "N=12"}} {
		sys := load(b, m[0], m[1])
		b.Run(m[0], func(b *testing.B) {
			for b.Loop() {
				_, c := Choose(sys, 2, Options{})
				b.ReportMetric(c.Leave, "leave")
				b.ReportMetric(c.Largest, "largest")
			}
		})
	}
}
