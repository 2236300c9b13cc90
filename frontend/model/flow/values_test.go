package flow

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// random returns a value and the numbers that it represents, all small.
func random(r *rand.Rand) (value, []int64) {
	lo := r.Int64N(20) - 10
	hi := lo + r.Int64N(8)
	switch r.IntN(4) {
	case 0:
		return nobody, nil
	case 1:
		v := between(lo, hi)
		return v, *v.list().set
	case 2:
		return exactly(lo), []int64{lo}
	}
	var vs []int64
	for range 1 + r.IntN(5) {
		vs = append(vs, lo+r.Int64N(8))
	}
	v := setOf(vs)
	return v, *v.set
}

// TestValues compares what is computed with values against the numbers one by
// one: a result may be too large where it is an interval, and never too small.
func TestValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	exact := 0
	for range 20000 {
		x, xs := random(r)
		y, ys := random(r)
		covered := func(what string, v value, want []int64) {
			t.Helper()
			for _, w := range want {
				if !v.has(w) {
					t.Fatalf("%s of %v and %v misses %d: %v", what, xs, ys, w, v)
				}
			}
			if got, ok := v.numbers(); ok &&
				len(got) <= len(slices.Compact(slices.Sorted(slices.Values(want)))) {
				exact++
			}
		}
		covered("join", x.join(y), append(slices.Clone(xs), ys...))
		if len(xs) > 0 && len(ys) > 0 && x.covers(y) != !slices.ContainsFunc(ys,
			func(v int64) bool { return !slices.Contains(xs, v) }) {
			t.Fatalf("%v covers %v: %v", xs, ys, x.covers(y))
		}
		for _, op := range []struct {
			name  string
			value func() value
			f     func(a, b int64) int64
		}{
			{"sum", func() value { return x.plus(y) }, func(a, b int64) int64 { return a + b }},
			{"difference", func() value { return x.minus(y) }, func(a, b int64) int64 {
				return a - b
			}},
			{"product", func() value { return x.times(y) }, func(a, b int64) int64 {
				return a * b
			}},
		} {
			if x.empty() || y.empty() {
				continue
			}
			var want []int64
			for _, a := range xs {
				for _, b := range ys {
					want = append(want, op.f(a, b))
				}
			}
			covered(op.name, op.value(), want)
			covered(op.name, each(x, y, func(a, b int64) (int64, bool) { return op.f(a, b), true },
				op.value), want)
		}
		for _, rel := range []struct {
			name   string
			narrow func(x, y value) (value, value)
			holds  func(a, b int64) bool
		}{
			{"==", equal, func(a, b int64) bool { return a == b }},
			{"!=", unequal, func(a, b int64) bool { return a != b }},
			{"<", less, func(a, b int64) bool { return a < b }},
			{">=", notLess, func(a, b int64) bool { return a >= b }},
		} {
			var us, vs []int64
			for _, a := range xs {
				for _, b := range ys {
					if rel.holds(a, b) {
						us, vs = append(us, a), append(vs, b)
					}
				}
			}
			u, v := rel.narrow(x, y)
			covered("left of "+rel.name, u, us)
			covered("right of "+rel.name, v, vs)
			if !x.covers(u) || !y.covers(v) {
				t.Fatalf("%v %s %v leaves %v and %v, which is more", xs, rel.name, ys, u, v)
			}
		}
	}
	if exact < 20000 {
		t.Errorf("only %d results are exact", exact)
	}
}

// TestLimits tries the ends of 64 bits, where intervals must not wrap around,
// and sets that grow too large.
func TestLimits(t *testing.T) {
	most, least := exactly(math.MaxInt64), exactly(math.MinInt64)
	for what, v := range map[string]value{
		"max + 1": most.plus(exactly(1)), "min - 1": least.minus(exactly(1)),
		"0 - min": exactly(0).minus(least),
		"max * 2": most.times(exactly(2)), "min * -1": least.times(exactly(-1)),
	} {
		if v != top {
			t.Errorf("%s is %v", what, v)
		}
	}
	if u, v := less(most, most); !u.empty() || !v.empty() {
		t.Errorf("max < max leaves %v, %v", u, v)
	}
	if u, v := less(top, least); !u.empty() || !v.empty() {
		t.Errorf("x < min leaves %v, %v", u, v)
	}
	var vs []int64
	for i := range int64(maxSet + 1) {
		vs = append(vs, 2*i)
	}
	if v := setOf(slices.Clone(vs)); v.set != nil || !v.has(3) {
		t.Errorf("a set of %d numbers: %v", len(vs), v)
	}
	if v := setOf(slices.Clone(vs[1:])); v.set == nil || v.has(3) {
		t.Errorf("a set of %d numbers: %v", len(vs)-1, v)
	}
	if v := top.list(); v != top {
		t.Errorf("everything in a list: %v", v)
	}
}

// TestBits compares the set of locations with a map.
func TestBits(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		b, want := make(Bits, 4), map[int]bool{}
		for range r.IntN(5) {
			first := r.IntN(256)
			last := min(255, first+r.IntN(140))
			b.add(int64(first), int64(last))
			for i := first; i <= last; i++ {
				want[i] = true
			}
		}
		got := 0
		for i, x := range b.ranges() {
			if i > 0 && x.First <= b.ranges()[i-1].Last+1 {
				t.Fatalf("ranges touch: %v", b.ranges())
			}
			got += int(x.Last-x.First) + 1
		}
		for i := range 256 {
			if b.Has(i) != want[i] {
				t.Fatalf("%d: %v", i, !want[i])
			}
		}
		if got != len(want) {
			t.Fatalf("ranges %v have %d locations, not %d", b.ranges(), got, len(want))
		}
	}
}
