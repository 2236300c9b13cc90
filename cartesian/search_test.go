package cartesian

import (
	"cpor/engine/search"
	"cpor/system"
)

// stateSet is a set of encoded states.
type stateSet map[string]bool

func key(s []uint64) string {
	b := make([]byte, 0, 8*len(s))
	for _, w := range s {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return string(b)
}

// full is a full search: every enabled transition is a move.
type full struct {
	obs system.Observers
	m   system.Machine
	buf system.State
	c   search.Counters
}

func newFull(sys system.System) *full {
	return &full{obs: system.ObserversOf(sys), m: sys.NewMachine()}
}

func (f *full) Counters() search.Counters { return f.c }

func (f *full) Expand(s system.State, v search.Visitor) {
	f.m.Load(s)
	moved, stuck := false, false
	for t := range f.m.NumThreads() {
		for alt, more := uint64(0), true; more; {
			out := f.m.Step(t, alt)
			switch {
			case out.Kind == system.Ended:
				f.c.EndedLoops++
			case out.Kind == system.Blocked && f.obs.Has(t):
			default:
				f.c.Transitions++
			}
			if !f.obs.Has(t) {
				moved = moved || out.Kind == system.Moved
				stuck = stuck || out.Kind == system.Blocked && !out.AtEnd
			}
			if out.Violation != nil {
				v.Violation(out.Violation, []search.Step{{Thread: t, Alt: alt}})
			}
			if out.Kind == system.Moved {
				f.buf = f.m.Encode(f.buf)
				v.Move(&search.Move{Thread: t, Alt: alt, Len: 1, End: f.buf})
				f.m.Rewind(0)
			}
			alt, more = out.Next, out.Next != 0
		}
	}
	if !moved && stuck {
		v.Violation(&deadlock, nil)
	}
}

// explorer is a sequential search that keeps all that it finds.
type explorer struct {
	covered    stateSet
	work       []system.State
	now        system.State
	violations map[system.Violation]bool
	onDeadlock func(from system.State, tail []search.Step)
	onMove     func(from system.State, m *search.Move)
	limit      int // states; 0 for none
}

// run searches and reports whether it came to an end within the limit.
func (x *explorer) run(sys system.System, e search.Expander) bool {
	x.covered = stateSet{}
	x.work = nil
	x.violations = map[system.Violation]bool{}
	for _, s := range sys.Initial() {
		x.add(s)
	}
	for len(x.work) > 0 {
		if x.limit > 0 && len(x.covered) > x.limit {
			return false
		}
		x.now = x.work[len(x.work)-1]
		x.work = x.work[:len(x.work)-1]
		e.Expand(x.now, x)
	}
	return true
}

func (x *explorer) add(s system.State) {
	k := key(s)
	if !x.covered[k] {
		x.covered[k] = true
		x.work = append(x.work, append(system.State(nil), s...))
	}
}

func (x *explorer) Move(m *search.Move) {
	if x.onMove != nil {
		x.onMove(x.now, m)
	}
	if !m.Infinite {
		x.add(m.End)
	}
}

func (x *explorer) Violation(v *system.Violation, tail []search.Step) {
	if v.Kind == system.Deadlock {
		if x.onDeadlock != nil {
			x.onDeadlock(x.now, tail)
		}
		return
	}
	x.violations[*v] = true
}
