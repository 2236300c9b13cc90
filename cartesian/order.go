package cartesian

import "cpor/system"

// extendAll extends the prefixes until none is extendable: each by one transition in turn, in
// the order of the threads. Any order yields a Cartesian vector; how long its prefixes are
// differs. Threads that continue at the same pace stop at the same conflict, and few states lie
// between (docs/design/reductions.md compares this order with five others).
func (e *Expander) extendAll(s system.State) {
	e.active = e.active[:0]
	for i, p := range e.prefixes {
		if p.extendable {
			e.active = append(e.active, int32(i))
		}
	}
	for len(e.active) > 0 {
		for _, i := range e.active {
			if e.prefixes[i].extendable { // no other prefix of this round has ended it
				e.extend(i, s)
			}
		}
		e.dropEnded()
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
