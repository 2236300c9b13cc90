// Package composed is the expander of the lock-based reduction: the system
// C(M) with composed transitions of Stoller ("Model-Checking Multi-Threaded
// Distributed Java Programs", FMSD 2002, section 5.2).
//
// A move of a thread is one visible transition and all invisible ones that
// follow it. Between these, no other thread gets a turn. docs/locks.md has the
// whole story; in short, a transition is visible if
//
//   - it may block: acquiring a lock, waking from wait, down, await, channels
//     (entering a monitor again that the thread is in already cannot block, and
//     is invisible),
//   - it is a choice between several alternatives, which a notify is while
//     more than one thread waits,
//   - it accesses a communication object: a variable declared comm, a
//     channel, a semaphore, the number of threads.
//
// Everything else is invisible: accesses to unshared and lock-protected
// variables, releasing a lock, the first half of wait, notifyAll, skip, local
// computation. A thread's beginning counts as visible.
//
// # Invisible first
//
// Options.InvisibleFirst is the other way to use the same classes (section
// 5.1): transitions stay single, and in a state in which a thread's next
// transition is invisible it is the only move, for it alone is a persistent
// set. That stores the states between visible ones, too, so it is slower; it
// is there because it makes no use of composition, and so checks it. A thread
// is preferred only if its invisible transitions come to an end within
// MaxInvisible, so that nobody is put off for ever.
//
// # What is preserved
//
// If the system satisfies the locking discipline LD', which package lockset
// checks in the same search, then the full and the composed search reach the
// same visible states (theorem 4), the same deadlocks and the same control
// points (theorem 5), and so find the same violated assertions and run-time
// errors at the same places. If the system violates LD', the composed search
// finds a violation of LD' (theorem 9); what else it has found then is true, but
// may not be all. Not preserved are invariants and other properties of global
// states; [New] refuses systems with observers.
//
// # Why states between are not lost
//
// After its visible transition, a thread's next, invisible transition alone is
// a persistent set (theorem 2), so nothing is lost by executing it at once. The
// only danger is a chain of invisible transitions without end, which would put
// all others off for ever. The chain is therefore cut after MaxInvisible
// transitions: the state there is treated as a visible one, in which every
// thread has a move, as it is always sound to take a transition for visible.
// The cuts are counted, for they may be a violation of the paper's condition
// BoundedInvis. Finally, the expander never looks at what kind of transition
// begins a move: a state in which a thread's next transition is invisible
// (its first one, or after a cut) is one where every thread has a move.
package composed

import (
	"errors"
	"sync/atomic"

	"cpor/search"
	"cpor/system"
)

// DefaultMaxInvisible is Options.MaxInvisible if that is 0.
const DefaultMaxInvisible = 10_000

// Options say how transitions are composed.
type Options struct {
	// MaxInvisible bounds the invisible transitions of a move; 0 means
	// DefaultMaxInvisible.
	MaxInvisible int
	// InvisibleFirst keeps transitions single: in a state in which a thread
	// has an invisible transition, that is the only move.
	InvisibleFirst bool
	// Cuts, if not nil, counts the moves that the bound cut off, from all
	// workers. A search that ends has counted each state's moves once, and
	// those that were executed again for a trace once more.
	Cuts *atomic.Uint64
}

// ErrObservers refuses systems with invariants.
var ErrObservers = errors.New("the lock-based reduction keeps deadlocks, assertions and run-time errors, but no invariants: they speak of states between the visible ones, which it leaves out; use -por cartesian or -por none")

// ErrNoLocks refuses systems that do not implement [system.Locking].
var ErrNoLocks = errors.New("the lock-based reduction needs a system that tells what its locks protect")

// Expander composes transitions. It implements [search.Expander].
type Expander struct {
	o        Options
	m        system.Machine
	locks    system.Locking // what m knows about locks
	class    []system.Class // of the classified locations
	end      system.State
	move     search.Move
	tail     []search.Step
	deadlock system.Violation
	counters search.Counters
}

var _ search.Expander = (*Expander)(nil)

// Factory returns the factory of the expanders of a search of sys. The error is
// ErrObservers or ErrNoLocks.
func Factory(sys system.System, o Options) (search.Factory, error) {
	if _, err := New(sys, o); err != nil {
		return nil, err
	}
	return func() search.Expander {
		x, _ := New(sys, o) // the same system is as good as before
		return x
	}, nil
}

// New returns an expander for one worker. The error is ErrObservers or
// ErrNoLocks.
func New(sys system.System, o Options) (*Expander, error) {
	m := sys.NewMachine()
	l, ok := system.As[system.Locking](m)
	if !ok {
		return nil, ErrNoLocks
	}
	if obs := system.ObserversOf(sys); obs.Any() {
		return nil, ErrObservers
	}
	if o.MaxInvisible <= 0 {
		o.MaxInvisible = DefaultMaxInvisible
	}
	m.Track(true)
	x := &Expander{o: o, m: m, locks: l}
	for i := range system.Loc(l.NumClassified()) {
		x.class = append(x.class, l.Class(i))
	}
	return x, nil
}

// Counters returns the counts since the expander was made. Transitions are
// those on the paths, the self-loops of blocked threads included; an attempt
// more is a transition that was executed to find it visible, and taken back.
func (x *Expander) Counters() search.Counters { return x.counters }

// chain returns the number of invisible transitions that thread t takes next if
// nobody else gets a turn, up to one more than MaxInvisible.
func (x *Expander) chain(t int) int {
	start := x.m.Mark()
	n := 0
	for n <= x.o.MaxInvisible {
		how := x.locks.Blocking(t)
		if how >= system.BlocksOnObject {
			break
		}
		out := x.m.Step(t, 0)
		if out.Kind != system.Moved || x.visible(how, out) {
			break
		}
		n++
	}
	x.m.Rewind(start)
	return n
}

// invisible sends v the invisible transition of the first thread that has one,
// and tells whether there is one.
func (x *Expander) invisible(v search.Visitor) bool {
	m := x.m
	for t, n := 0, m.NumThreads(); t < n; t++ {
		switch k := x.chain(t); {
		case k == 0:
			continue
		case k > x.o.MaxInvisible:
			// Postponing the others for it could be for ever.
			if x.o.Cuts != nil {
				x.o.Cuts.Add(1)
			}
			continue
		}
		x.single(t, 0, m.Step(t, 0), v)
		return true
	}
	return false
}

// single sends v one transition, which has been taken, as a move.
func (x *Expander) single(t int, alt uint64, out system.Outcome, v search.Visitor) {
	x.counters.Transitions++
	x.counters.Attempts++
	x.tail = append(x.tail[:0], search.Step{Thread: t, Alt: alt})
	if out.Violation != nil {
		v.Violation(out.Violation, x.tail)
	}
	x.end = x.m.Encode(x.end)
	x.move = search.Move{Thread: t, Alt: alt, Len: 1, End: x.end}
	v.Move(&x.move)
}

// Expand sends v the composed transitions from s, the violations on their
// paths, and a deadlock if s is one.
func (x *Expander) Expand(s system.State, v search.Visitor) {
	m := x.m
	m.Load(s)
	if x.o.InvisibleFirst && x.invisible(v) {
		return
	}
	start := m.Mark()
	enabled, stuck := false, false
	for t, n := 0, m.NumThreads(); t < n; t++ {
		for alt := uint64(0); ; {
			out := m.Step(t, alt)
			if out.Kind != system.Moved {
				if out.Kind == system.Ended {
					x.counters.EndedLoops++
				} else {
					x.counters.Transitions++
					x.counters.Attempts++
					stuck = stuck || !out.AtEnd
				}
				break
			}
			enabled = true
			if x.o.InvisibleFirst {
				x.single(t, alt, out, v)
			} else {
				x.path(t, alt, out, v)
			}
			m.Rewind(start)
			if out.Next == 0 {
				break
			}
			alt = out.Next
		}
	}
	if stuck && !enabled {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
}

// path follows the invisible transitions behind the first transition of thread
// t, which has been taken, and sends v the move.
func (x *Expander) path(t int, alt uint64, out system.Outcome, v search.Visitor) {
	m := x.m
	x.tail = append(x.tail[:0], search.Step{Thread: t, Alt: alt})
	x.counters.Transitions++
	x.counters.Attempts++
	for {
		if out.Violation != nil {
			v.Violation(out.Violation, x.tail)
		}
		if len(x.tail) > x.o.MaxInvisible {
			if x.o.Cuts != nil && x.invisibleNext(t) {
				x.o.Cuts.Add(1)
			}
			break
		}
		how := x.locks.Blocking(t)
		if how >= system.BlocksOnObject {
			break
		}
		mark := m.Mark()
		out = m.Step(t, 0)
		if out.Kind != system.Moved {
			break
		}
		x.counters.Attempts++
		if x.visible(how, out) {
			m.Rewind(mark)
			break
		}
		x.counters.Transitions++
		x.tail = append(x.tail, search.Step{Thread: t})
	}
	x.end = m.Encode(x.end)
	x.move = search.Move{Thread: t, Alt: alt, Len: len(x.tail), End: x.end}
	v.Move(&x.move)
}

// invisibleNext tells whether the next transition of thread t is enabled and
// invisible.
func (x *Expander) invisibleNext(t int) bool {
	m := x.m
	how := x.locks.Blocking(t)
	if how >= system.BlocksOnObject {
		return false
	}
	mark := m.Mark()
	out := m.Step(t, 0)
	invisible := out.Kind == system.Moved && !x.visible(how, out)
	m.Rewind(mark)
	return invisible
}

// visible tells whether the transition that the machine has just taken, which
// blocks in this way, is visible.
func (x *Expander) visible(how system.Blocking, out system.Outcome) bool {
	if out.Next != 0 || out.Created || how >= system.BlocksOnObject {
		return true
	}
	for _, a := range x.m.Accesses() {
		class := system.Communication
		if int(a.Loc) < len(x.class) {
			class = x.class[a.Loc]
		} else {
			class = x.locks.Class(a.Loc)
		}
		switch class {
		case system.Communication:
			return true
		case system.Existence:
			// The thread's own: whoever runs has been created.
			if a.Write {
				return true
			}
		case system.Lock:
			// It takes the lock unless it had it already.
			if how == system.BlocksEntering && a.Write {
				return true
			}
		}
	}
	return false
}
