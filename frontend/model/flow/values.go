package flow

import (
	"math"
	"slices"
)

// maxSet is the largest set of numbers. It is above the number of elements of
// the arrays that models index by loops.
const maxSet = 128

// value is what is known about a register: one of the numbers from lo to hi, both included, and,
// if set is not nil, one of those in set, which ascends from lo to hi. If hi < lo there is none:
// control does not get here.
type value struct {
	lo, hi int64
	set    *[]int64
}

var (
	top    = value{lo: math.MinInt64, hi: math.MaxInt64}
	nobody = value{lo: 1, hi: 0}
	truth  = value{lo: 0, hi: 1}
)

// between returns the interval from lo to hi.
func between(lo, hi int64) value { return value{lo: lo, hi: hi} }

func exactly(v int64) value { return value{lo: v, hi: v} }

// setOf returns the set of the numbers, whose slice it keeps, or, if they are too many, the
// interval around them.
func setOf(vs []int64) value {
	if len(vs) == 0 {
		return nobody
	}
	slices.Sort(vs)
	vs = slices.Compact(vs)
	v := value{lo: vs[0], hi: vs[len(vs)-1]}
	if len(vs) <= maxSet {
		v.set = &vs
	}
	return v
}

func (x value) empty() bool { return x.hi < x.lo }

// single reports whether x is one number.
func (x value) single() bool { return x.lo == x.hi }

// numbers returns the numbers of a set; ok is false if they are not known individually.
func (x value) numbers() (vs []int64, ok bool) {
	switch {
	case x.set != nil:
		return *x.set, true
	case x.single():
		return []int64{x.lo}, true
	}
	return nil, x.empty()
}

// list returns x with its individual numbers if they are few enough.
func (x value) list() value {
	if x.set != nil || x.empty() || uint64(x.hi)-uint64(x.lo) >= maxSet {
		return x
	}
	vs := make([]int64, 0, x.hi-x.lo+1)
	for v := x.lo; ; v++ {
		vs = append(vs, v)
		if v == x.hi {
			break
		}
	}
	x.set = &vs
	return x
}

// same reports whether x and y are the same numbers, represented in the same way.
func (x value) same(y value) bool {
	return x.lo == y.lo && x.hi == y.hi &&
		(x.set == y.set || x.set != nil && y.set != nil && slices.Equal(*x.set, *y.set))
}

// covers reports whether all numbers of y are among those of x.
func (x value) covers(y value) bool {
	switch {
	case y.empty():
		return true
	case x.lo > y.lo || y.hi > x.hi:
		return false
	case x.set == nil || x.set == y.set:
		return true
	}
	vs, ok := y.list().numbers()
	if !ok {
		return false
	}
	i := 0
	for _, v := range vs {
		for i < len(*x.set) && (*x.set)[i] < v {
			i++
		}
		if i == len(*x.set) || (*x.set)[i] != v {
			return false
		}
	}
	return true
}

// join returns the numbers of both.
func (x value) join(y value) value {
	switch {
	case x.covers(y):
		return x
	case y.covers(x):
		return y
	}
	if x.set != nil || y.set != nil {
		u, ok1 := x.numbers()
		v, ok2 := y.numbers()
		if ok1 && ok2 {
			return setOf(append(slices.Clone(u), v...))
		}
	}
	return between(min(x.lo, y.lo), max(x.hi, y.hi))
}

// meet returns the numbers that are in both.
func (x value) meet(y value) value {
	lo, hi := max(x.lo, y.lo), min(x.hi, y.hi)
	switch {
	case lo > hi:
		return nobody
	case x.set != nil:
		return x.filter(func(v int64) bool { return y.has(v) })
	case y.set != nil:
		return y.filter(func(v int64) bool { return x.has(v) })
	}
	return between(lo, hi)
}

func (x value) has(v int64) bool {
	if v < x.lo || v > x.hi || x.set == nil {
		return v >= x.lo && v <= x.hi
	}
	_, found := slices.BinarySearch(*x.set, v)
	return found
}

// filter returns the numbers of a set that satisfy a condition.
func (x value) filter(f func(int64) bool) value {
	if !slices.ContainsFunc(*x.set, func(v int64) bool { return !f(v) }) {
		return x
	}
	var vs []int64
	for _, v := range *x.set {
		if f(v) {
			vs = append(vs, v)
		}
	}
	return setOf(vs)
}

// without returns x without a number, if that is in a set or at an end.
func (x value) without(v int64) value {
	switch {
	case x.set != nil:
		return x.filter(func(w int64) bool { return w != v })
	case x.lo == v && x.hi == v:
		return nobody
	case x.lo == v:
		x.lo++
	case x.hi == v:
		x.hi--
	}
	return x
}

// atMost and atLeast return the numbers of x up to, or from, a bound.
func (x value) atMost(v int64) value  { return x.meet(between(math.MinInt64, v)) }
func (x value) atLeast(v int64) value { return x.meet(between(v, math.MaxInt64)) }

// each applies f to all pairs of numbers, if they are known individually; a result with ok false
// has no value (an error). Otherwise it returns the value of otherwise.
func each(x, y value, f func(a, b int64) (v int64, ok bool), otherwise func() value) value {
	if x.empty() || y.empty() {
		return nobody
	}
	if x.set == nil && y.set == nil {
		if !x.single() || !y.single() {
			return otherwise()
		}
		if v, ok := f(x.lo, y.lo); ok {
			return exactly(v)
		}
		return nobody
	}
	us, ok1 := x.numbers()
	vs, ok2 := y.numbers()
	if !ok1 || !ok2 {
		return otherwise()
	}
	out := make([]int64, 0, min(len(us)*len(vs), maxSet))
	for _, a := range us {
		for _, b := range vs {
			if v, ok := f(a, b); ok {
				out = append(out, v)
			}
		}
	}
	return setOf(out)
}

// plus, minus and times bound sums, differences and products of intervals; they
// return top where the result can leave 64 bits.
func (x value) plus(y value) value {
	lo, ok1 := addTo(x.lo, y.lo)
	hi, ok2 := addTo(x.hi, y.hi)
	if !ok1 || !ok2 {
		return top
	}
	return between(lo, hi)
}

func addTo(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func (x value) minus(y value) value {
	if y.lo == math.MinInt64 {
		return top
	}
	return x.plus(between(-y.hi, -y.lo))
}

// small is a bound below which products of two numbers fit 64 bits.
const small = 1 << 31

func (x value) times(y value) value {
	for _, v := range []int64{x.lo, x.hi, y.lo, y.hi} {
		if v < -small || v > small {
			return top
		}
	}
	p := [...]int64{x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi}
	return between(slices.Min(p[:]), slices.Max(p[:]))
}

// width returns the numbers of that many bits; 0 bits represent an unknown width.
func width(bits int, signed bool) value {
	switch {
	case bits == 0 || bits >= 64:
		return top
	case signed:
		return between(-1<<(bits-1), 1<<(bits-1)-1)
	case bits == 63:
		return between(0, math.MaxInt64)
	}
	return between(0, 1<<bits-1)
}
