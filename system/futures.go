package system

import "slices"

// Futures is implemented by machines that can bound what a thread may access
// from now on. Reductions that choose persistent sets need it (Stoller 2002,
// section 6: ops(θ), an upper bound on the operations of thread θ).
type Futures interface {
	// Future returns a bound on the accesses of all transitions that thread t of the live state,
	// and all threads that it creates from now on, may ever take, whatever the other threads do. It
	// includes what blocked transitions read. The result is shared and must not be changed; it
	// stays valid. Nil means no bound.
	Future(t int) *Footprint
}

// LocRange is the locations from First to Last, both included.
type LocRange struct{ First, Last Loc }

// Footprint is a set of locations that may be read, and one of locations that
// may be written, each as ranges in ascending order that do not touch.
type Footprint struct {
	Reads, Writes []LocRange
}

// MayRead reports whether location l may be read.
func (f *Footprint) MayRead(l Loc) bool { return f == nil || contains(f.Reads, l) }

// MayWrite reports whether location l may be written.
func (f *Footprint) MayWrite(l Loc) bool { return f == nil || contains(f.Writes, l) }

func contains(rs []LocRange, l Loc) bool {
	if len(rs) <= 8 {
		for _, r := range rs {
			if l <= r.Last {
				return l >= r.First
			}
		}
		return false
	}
	i, _ := slices.BinarySearchFunc(rs, l, func(r LocRange, l Loc) int {
		if r.Last < l {
			return -1
		}
		return 1
	})
	return i < len(rs) && rs[i].First <= l
}

// JoinRanges returns the union of ranges in the form that [Footprint] wants.
// It may reorder its argument.
func JoinRanges(rs []LocRange) []LocRange {
	slices.SortFunc(rs, func(a, b LocRange) int {
		switch {
		case a.First < b.First:
			return -1
		case a.First > b.First:
			return 1
		}
		return 0
	})
	var out []LocRange
	for _, r := range rs {
		if n := len(out); n > 0 && r.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, r.Last)
			continue
		}
		out = append(out, r)
	}
	return out
}
