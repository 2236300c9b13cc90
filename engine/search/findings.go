package search

import (
	"iter"
	"slices"

	"cpor/system"
)

// Findings collects the distinct violations of a search that goes on after the
// first (Options.All), up to a number. Violations are the same if kind, place and
// object are, deadlocks if also the state is. Kinds and places come first, then
// objects: where there is no room, a further object or state of a place that
// has another gives way, so that a model's many deadlocks do not hide an
// assertion. T is what a search
// keeps of a violation. The methods are for one goroutine at a time.
type Findings[T any] struct {
	// More counts what was left out.
	More uint64

	max   int
	found map[key]T
	order []key
	// How many are kept of each object at a place, and of each place.
	objects, places map[key]int
	out             map[key]bool // objects that were left out
}

// key tells distinct violations apart: by kind, place and object, deadlocks by
// state.
type key struct {
	kind   system.ViolationKind
	pos    system.Pos
	object string
	state  string
}

// levels are the key without its state, and without its object, too. With an
// object of no name, they are the same.
func (k key) levels() (object, place key) {
	k.state = ""
	place = k
	place.object = ""
	return k, place
}

// NewFindings returns a collection of at most so many violations, 100 for 0.
func NewFindings[T any](most int) *Findings[T] {
	if most <= 0 {
		most = defaultMaxViolations
	}
	return &Findings[T]{max: most, found: map[key]T{}, objects: map[key]int{}, places: map[key]int{}, out: map[key]bool{}}
}

// Len returns how many violations are kept.
func (f *Findings[T]) Len() int { return len(f.found) }

// All iterates over what is kept, in the order in which it was found.
func (f *Findings[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, k := range f.order {
			if !yield(f.found[k]) {
				return
			}
		}
	}
}

// Add adds a violation unless it is known already. state is the encoded state
// of a deadlock, "" otherwise; keep makes what is kept, only if it is.
func (f *Findings[T]) Add(v *system.Violation, state string, keep func() T) {
	k := key{v.Kind, v.Pos, v.Object, state}
	if _, ok := f.found[k]; ok {
		return
	}
	object, place := k.levels()
	if len(f.found) >= f.max {
		// Who gives way: to a new place what has another of its place, to a
		// new object what has another state.
		victim := -1
		for i := len(f.order) - 1; i >= 0 && victim < 0; i-- {
			o, p := f.order[i].levels()
			if f.objects[object] == 0 && f.objects[o] > 1 || f.places[place] == 0 && f.places[p] > 1 {
				victim = i
			}
		}
		if victim < 0 {
			if f.objects[object] > 0 || !f.out[object] {
				f.More++
			}
			f.out[object] = true
			return
		}
		o, p := f.order[victim].levels()
		f.objects[o]--
		f.places[p]--
		delete(f.found, f.order[victim])
		f.order = slices.Delete(f.order, victim, victim+1)
		f.More++
	}
	f.found[k] = keep()
	f.order = append(f.order, k)
	f.objects[object]++
	f.places[place]++
}
