package cartesian

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cpor/system"
)

// Order is the order in which CalcCV extends the prefixes of a vector. Any
// order yields a cartesian vector; how long its prefixes are differs (the
// paper used round robin and did not test others, section 5).
//
// Round robin is the default because it is the best or close to it wherever
// the orders differ: threads that go on at the same pace stop at the same
// conflict, and few states lie between. On Indexer with 14 threads it stores
// 729 states, reverse and patient 1000, depth first 1728, random 4205; on File
// System with 16 threads 125, patient 343, random 1336. Depth first lets the
// first thread run into what the others are about to write; on SharedPtr it
// stores 413 states for 418 but executes almost twice the transitions.
type Order uint8

const (
	// RoundRobin extends each prefix by one transition in turn, in the order
	// of the threads.
	RoundRobin Order = iota
	// Reverse is round robin from the last thread to the first.
	Reverse
	// DepthFirst extends each prefix as far as it goes, then the next one.
	DepthFirst
	// ReverseDepthFirst is depth first from the last thread to the first.
	ReverseDepthFirst
	// Random picks one of the extendable prefixes each time, by a generator
	// that is seeded by Options.Seed and the state.
	Random
	// Patient extends each prefix until its next transition would end another
	// prefix that can still grow; only when all prefixes wait for each other
	// so, one of them goes on.
	Patient

	numOrders
)

var orderNames = [numOrders]string{
	"round-robin", "reverse", "depth-first", "reverse-depth-first", "random", "patient",
}

// OrderNames returns the names of all orders, the default first.
func OrderNames() []string { return orderNames[:] }

// ParseOrder returns the order of that name. The error lists the names.
func ParseOrder(name string) (Order, error) {
	for o, n := range orderNames {
		if n == name {
			return Order(o), nil
		}
	}
	return 0, fmt.Errorf("unknown order %q: the orders are %s", name,
		strings.Join(orderNames[:], ", "))
}

// String returns the order's name.
func (o Order) String() string {
	if o >= numOrders {
		return fmt.Sprintf("order(%d)", uint8(o))
	}
	return orderNames[o]
}

// extendAll extends the prefixes until none is extendable.
func (e *Expander) extendAll(s system.State) {
	e.active = e.active[:0]
	for i, p := range e.prefixes {
		if p.extendable {
			e.active = append(e.active, int32(i))
		}
	}
	if e.o.Order == Reverse || e.o.Order == ReverseDepthFirst {
		slices.Reverse(e.active)
	}
	switch e.o.Order {
	case DepthFirst, ReverseDepthFirst:
		for _, i := range e.active {
			for e.prefixes[i].extendable {
				e.extend(i, s, false)
			}
		}
	case Random:
		fold := uint64(len(s))
		for _, w := range s {
			fold = (bits.RotateLeft64(fold, 29) ^ w) * 0x9e3779b97f4a7c15
		}
		e.pcg.Seed(e.o.Seed, fold)
		for len(e.active) > 0 {
			k := e.rng.IntN(len(e.active))
			i := e.active[k]
			if e.prefixes[i].extendable {
				e.extend(i, s, false)
			}
			if !e.prefixes[i].extendable {
				e.active[k] = e.active[len(e.active)-1]
				e.active = e.active[:len(e.active)-1]
			}
		}
	case Patient:
		for len(e.active) > 0 {
			progress := false
			for _, i := range e.active {
				for e.prefixes[i].extendable && e.extend(i, s, true) {
					progress = true
				}
			}
			e.dropEnded()
			if len(e.active) > 0 && !progress {
				e.extend(e.active[0], s, false)
			}
		}
		for _, p := range e.prefixes {
			if p.waiting { // ended by another one while it waited
				p.machine.Rewind(p.mark)
			}
		}
	default:
		for len(e.active) > 0 {
			for _, i := range e.active {
				if e.prefixes[i].extendable {
					e.extend(i, s, false)
				}
			}
			e.dropEnded()
		}
	}
}

// dropEnded removes the prefixes that are not extendable from e.active.
func (e *Expander) dropEnded() {
	kept := e.active[:0]
	for _, i := range e.active {
		if e.prefixes[i].extendable {
			kept = append(kept, i)
		}
	}
	e.active = kept
}
