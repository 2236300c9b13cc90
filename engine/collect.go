package engine

import (
	"encoding/binary"
	"iter"
	"slices"
	"sync"

	"github.com/cespare/xxhash/v2"

	"cpor/system"
)

// defaultMaxViolations is Options.MaxViolations if that is 0.
const defaultMaxViolations = 100

// Collector collects the violations of an exploration: the first one, or with
// Options.All the distinct ones up to a number. Violations are the same if kind,
// place and object are, deadlocks if also the state is. Kinds and places come first,
// then objects: where there is no room, a further object or state of a place that
// has another gives way, so that a model's many deadlocks do not hide an
// assertion. T is what an engine keeps of a violation. It is safe for concurrent
// use, but for All and More, which are for the time after.
type Collector[T any] struct {
	// More counts what was left out. Each violation counts once, but beyond maxLeftOut different
	// ones, and over a checkpoint, one can count again.
	More uint64

	all, ignoreDeadlocks bool

	mu    sync.Mutex
	max   int
	found map[key]T
	order []key
	// How many are kept of each object at a place, and of each place.
	objects, places map[key]int
	out             map[[2]uint64]struct{} // hashes of what was left out
	digest          xxhash.Digest
	numbers         [5 * 8]byte
}

// maxLeftOut is how many different violations that are left out a collector can tell apart.
const maxLeftOut = 1 << 18

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

// NewCollector returns a collector for an exploration with these options.
func NewCollector[T any](o *Options) *Collector[T] {
	most := o.MaxViolations
	if most <= 0 {
		most = defaultMaxViolations
	}
	return &Collector[T]{all: o.All, ignoreDeadlocks: o.IgnoreDeadlocks, max: most,
		found: map[key]T{}, objects: map[key]int{}, places: map[key]int{},
		out: map[[2]uint64]struct{}{}}
}

// Len returns how many violations are kept.
func (c *Collector[T]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found)
}

// All iterates over what is kept, in the order in which it was found.
func (c *Collector[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, k := range c.order {
			if !yield(c.found[k]) {
				return
			}
		}
	}
}

// Ignores reports whether a violation is not to be collected.
func (c *Collector[T]) Ignores(v *system.Violation) bool {
	return c.ignoreDeadlocks && v.Kind == system.Deadlock
}

// Add adds a violation, without the others of its transition, unless it is known
// already or ignored. state is the [StateKey] of a deadlock, "" otherwise; keep
// makes what is kept of the violation, only if it is. It returns false if the
// exploration is to end: [AtViolation].
func (c *Collector[T]) Add(v *system.Violation, state string,
	keep func(system.Violation) T) (goOn bool) {
	if c.Ignores(v) {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all || len(c.found) == 0 { // else another worker was faster
		alone := *v
		alone.Also = nil
		c.add(key{v.Kind, v.Pos, v.Object, state}, func() T { return keep(alone) })
	}
	return c.all
}

func (c *Collector[T]) add(k key, keep func() T) {
	if _, ok := c.found[k]; ok {
		return
	}
	object, place := k.levels()
	if len(c.found) >= c.max {
		// Who gives way: to a new place what has another of its place, to a
		// new object what has another state.
		victim := -1
		newObject, newPlace := c.objects[object] == 0, c.places[place] == 0
		for i := len(c.order) - 1; i >= 0 && victim < 0 && (newObject || newPlace); i-- {
			o, p := c.order[i].levels()
			if newObject && c.objects[o] > 1 || newPlace && c.places[p] > 1 {
				victim = i
			}
		}
		if victim < 0 {
			c.leaveOut(k)
			return
		}
		o, p := c.order[victim].levels()
		c.objects[o]--
		c.places[p]--
		delete(c.found, c.order[victim])
		c.leaveOut(c.order[victim])
		c.order = slices.Delete(c.order, victim, victim+1)
	}
	c.found[k] = keep()
	c.order = append(c.order, k)
	c.objects[object]++
	c.places[place]++
}

// leaveOut counts a violation that is not kept, unless it was counted before: two paths can end
// in the same deadlock.
func (c *Collector[T]) leaveOut(k key) {
	h := [2]uint64{c.hash(k, 0), c.hash(k, 1)}
	if _, known := c.out[h]; known {
		return
	}
	if len(c.out) < maxLeftOut {
		c.out[h] = struct{}{}
	}
	c.More++
}

// hash returns a hash of a key. There are models with a hundred thousand deadlocks.
func (c *Collector[T]) hash(k key, seed uint64) uint64 {
	d := &c.digest
	d.ResetWithSeed(seed)
	n := binary.LittleEndian.AppendUint64(c.numbers[:0], uint64(len(k.kind)))
	n = binary.LittleEndian.AppendUint64(n, uint64(k.pos.Line))
	n = binary.LittleEndian.AppendUint64(n, uint64(k.pos.Col))
	n = binary.LittleEndian.AppendUint64(n, uint64(len(k.pos.File)))
	n = binary.LittleEndian.AppendUint64(n, uint64(len(k.object)))
	d.Write(n)
	d.WriteString(string(k.kind))
	d.WriteString(k.pos.File)
	d.WriteString(k.object)
	d.WriteString(k.state)
	return d.Sum64()
}

// StateKey returns the live state of m, a machine of sys, as a string. What became
// of the observers is left out of it: they take no part in a deadlock. The live
// state stays as it is.
func StateKey(sys system.System, obs *system.Observers, m system.Machine) string {
	mark := m.Mark()
	obs.Reset(m)
	s := m.Encode(nil)
	m.Rewind(mark)
	return StateString(system.Bare(sys, s))
}

// StateString returns an encoded state as a string, as the key of a map.
func StateString(s system.State) string {
	b := make([]byte, 0, 8*len(s))
	for _, x := range s {
		for i := 0; i < 64; i += 8 {
			b = append(b, byte(x>>i))
		}
	}
	return string(b)
}
