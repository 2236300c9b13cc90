// Package composed is the expander of the lock-based reduction: the system
// C(M) with composed transitions of Stoller ("Model-Checking Multi-Threaded
// Distributed Java Programs", FMSD 2002, section 5.2).
//
// A move of a thread is one visible transition and all invisible ones that follow it. Between
// these, no other thread gets a turn (docs/locks.md has the details). A transition is visible if
//
//   - it may block: acquiring a lock, waking from wait, down, await, channels (entering a
//     monitor again cannot block, and is invisible),
//   - it is a choice between several alternatives, such as a notify while more than one thread
//     waits,
//   - it accesses a communication object: a variable declared comm, a
//     channel, a semaphore, the number of threads.
//
// Everything else is invisible: accesses to unshared and lock-protected
// variables, releasing a lock, the first half of wait, notifyAll, skip, local
// computation. A thread's beginning counts as visible.
//
// # Invisible first
//
// Options.InvisibleFirst is the other way to use the same classes (section 5.1): transitions
// stay single, and a thread's next transition, if invisible, is the only move, because it alone
// is a persistent set. This also stores the states between visible ones, so it is slower. It
// does not use composition, and so checks it. A thread is preferred only if its invisible
// transitions end within MaxInvisible, so that no thread is postponed forever.
//
// # What is preserved
//
// If the system satisfies the locking discipline LD', which package lockset checks in the same
// search, then the full and the composed search reach the same visible states (theorem 4), the
// same deadlocks and the same control points (theorem 5), and so find the same violated
// assertions and run-time errors at the same places. If the system violates LD', the composed
// search finds a violation of LD' (theorem 9). Its other violations are then real, but there may
// be more. Invariants and other properties of global states are not preserved; [Factory] refuses
// systems with observers.
//
// # Why states between are not lost
//
// After its visible transition, a thread's next, invisible transition alone is a persistent set
// (theorem 2), so nothing is lost by executing it at once. The only danger is an endless chain
// of invisible transitions, which would postpone all others forever. So the chain is cut after
// MaxInvisible transitions. The state there is treated as a visible one, in which every thread
// has a move; treating a transition as visible is always sound. A chain that returns to one of
// its states never ends, and is cut there, before it costs MaxInvisible transitions at every
// move. The cuts are counted, because they may violate the paper's condition BoundedInvis.
// Finally, the kind of a move's first transition does not matter: where a thread's next
// transition is invisible (its first one, or after a cut), every thread has a move.
//
// # Persistent and sleep sets
//
// Options.Persistent and Options.Sleep explore only some of a state's composed transitions: the
// paper's selective search of C(M) with stored states (section 5.2, after Godefroid 1996, figure
// 6.2). A persistent set (package persistent) is chosen when a state is expanded first. A
// sleeping thread is skipped because its next transition is explored elsewhere. A state's sleep
// set is stored with it, for threads, all alternatives together; arriving with a smaller one
// wakes threads, which are then explored from there, in the persistent set or not.
//
// Two transitions are dependent if they access a common location and one of them writes it. What
// a composed transition writes is its net effect: acquiring and releasing a lock leaves the lock
// as it was, and so only reads it. Hence two threads that read what one lock protects are
// independent (section 5.3). That is sound because independence refers to one state: if a
// transition changes none of the locations that the other accesses, the other does the same
// after it.
//
// The driver does not search depth-first, and it has many workers, so the usual proofs do not
// apply. Here is another. For a state s let Z be its sleep set at the end, and X the threads
// explored from it. Claim: for each execution w from s that no thread in Z can begin (so that
// its first transition in w commutes with all before it), some explored path from s contains all
// transitions of w, in an order equivalent to w as far as they go. By induction on the length of
// w. Let S be the threads of X that can begin w.
//
//   - S is not empty: of those explored in the last expansion of s that explored
//     one of S, take the first, q. What sleeps behind q at the end slept at s when
//     that expansion began, or was explored before q in it. Were it a thread z
//     that can begin the rest of w, it could begin w, so it is not in Z; so it has
//     been explored, in this expansion before q or in a later one, although q was
//     the first and the expansion the last. So the claim holds for the rest
//     of w behind q.
//   - S is empty: no thread of the persistent set P can begin w, since each that
//     is not in Z has been explored. As P is persistent, all of w is independent of
//     P and none of P is in w. P has an explored q that leads to a state which
//     began to be expanded later than s (if there is none, all threads are
//     explored, and S is not empty unless w is). By the same argument no thread
//     that sleeps there can begin w. Later and later states are reached in this
//     way, and they are finitely many.
//
// Nobody sleeps in the initial states, so all transitions of each execution are
// explored, with the local states and violations on their way. If w leads to a
// deadlock, q in the second case would still be enabled there: so only the first
// case applies, and the deadlock itself is reached. Without persistent sets the
// same holds for every state: sleep sets alone save transitions and no states.
//
// The discipline is checked on the way as before, since what breaks LD' is a set of accesses and
// not their order. But what a failing guard reads can depend on the order, and so can which
// thread accesses a location first, if that is prescribed. lockset.Options.Dependences makes
// such transitions dependent, and a selective search uses it. The paper excludes both (PureVis).
package composed

import (
	"errors"
	"slices"
	"sync/atomic"

	"cpor/engine/search"
	"cpor/system"
)

// DefaultMaxInvisible is Options.MaxInvisible if that is 0.
const DefaultMaxInvisible = 10_000

// Options say how transitions are composed.
type Options struct {
	// MaxInvisible bounds the invisible transitions of a move; 0 means
	// DefaultMaxInvisible. A move that goes round in circles is cut off earlier.
	MaxInvisible int
	// InvisibleFirst keeps transitions single: in a state in which a thread
	// has an invisible transition, that is the only move.
	InvisibleFirst bool
	// Persistent explores a persistent set of each state's composed
	// transitions, Sleep keeps sleep sets. Not with InvisibleFirst.
	Persistent, Sleep bool
	// Cuts, if not nil, counts the moves that the bound cut off, from all workers. A finished
	// search has counted each state's moves once, and those executed again for a trace twice.
	Cuts *atomic.Uint64
}

// ErrObservers refuses systems with invariants.
var ErrObservers = errors.New("the lock-based reduction preserves deadlocks, assertions and " +
	"run-time errors, but not invariants, because it skips states between the visible ones; use " +
	"-por cartesian or -por none")

// ErrNoLocks refuses systems that do not implement [system.Locking].
var ErrNoLocks = errors.New("the lock-based reduction needs locks in the language, which the " +
	"model language has, Promela and Go have not: use -por auto")

// Expander composes transitions. It implements [search.Expander].
type Expander struct {
	o     Options
	m     system.Machine
	locks system.Locking // what m knows about locks
	// of m, to see what composed transitions write in the end; nil if none are needed
	pieces   system.Pieces
	adding   system.Adding  // of m; nil if it adds nothing to what transitions access
	class    []system.Class // of the classified locations
	end      system.State
	move     search.Move
	tail     []search.Step
	earlier  system.State    // of the chain that is followed; see repeats
	decided  []system.Access // see visible
	deadlock system.Violation
	counters search.Counters
	choice   *choice // nil unless only some transitions are explored
}

var _ search.Expander = (*Expander)(nil)

// Factory returns the factory of the expanders of one search of sys. The error
// is ErrObservers, ErrNoLocks, ErrDependences or ErrSingle.
func Factory(sys system.System, o Options) (search.Factory, error) {
	memory := newMemory()
	if _, err := newExpander(sys, o, memory); err != nil {
		return nil, err
	}
	return func() search.Expander {
		x, _ := newExpander(sys, o, memory) // the same system is as good as before
		return x
	}, nil
}

func newExpander(sys system.System, o Options, memory *memory) (*Expander, error) {
	m := sys.NewMachine()
	x := &Expander{}
	x.use(m)
	l := x.locks
	if l == nil {
		return nil, ErrNoLocks
	}
	if obs := system.ObserversOf(sys); obs.Any() {
		return nil, ErrObservers
	}
	if o.MaxInvisible <= 0 {
		o.MaxInvisible = DefaultMaxInvisible
	}
	m.Track(true)
	x.o = o
	if o.Persistent || o.Sleep {
		if err := x.choose(sys, memory); err != nil {
			return nil, err
		}
	}
	for i := range system.Loc(max(0, l.NumClassified())) {
		x.class = append(x.class, l.Class(i))
	}
	return x, nil
}

// use makes m the machine that takes the transitions.
func (x *Expander) use(m system.Machine) {
	if x.m == m {
		return
	}
	can := m.Capabilities()
	x.m, x.locks, x.pieces, x.adding = m, can.Locking, can.Pieces, can.Adding
}

// ownAccesses returns what the last step accessed by itself, without what wrappers added.
func (x *Expander) ownAccesses() []system.Access {
	if x.adding != nil {
		return x.adding.OwnAccesses()
	}
	return x.m.Accesses()
}

// Counters returns the counts since the expander was made. Transitions are those on the paths,
// the self-loops of blocked threads included; the other attempts are transitions that turned out
// to be visible, and were undone.
func (x *Expander) Counters() search.Counters { return x.counters }

// chain returns the number of invisible transitions that thread t takes next without
// interruption, at most MaxInvisible+1.
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
		if n++; x.repeats(n) {
			n = x.o.MaxInvisible + 1
		}
	}
	x.m.Rewind(start)
	return n
}

// patience is how many transitions of a chain are taken before its states are compared, which
// costs more than most transitions. It is a power of two.
const patience = 64

// repeats reports whether the live state, after n transitions of a chain, has been seen to occur
// in it before. It must be called for each n from 1 on. The state at the latest power of two is
// kept (Brent, "An improved Monte Carlo factorization algorithm", BIT 1980): an endless chain is
// detected after at most three times the length of its cycle, or of the path to it, unless
// patience is more.
func (x *Expander) repeats(n int) bool {
	if n < patience {
		return false
	}
	x.end = x.m.Encode(x.end)
	if n > patience && slices.Equal(x.end, x.earlier) {
		return true
	}
	if n&(n-1) == 0 {
		x.earlier = append(x.earlier[:0], x.end...)
	}
	return false
}

// invisible sends v the invisible transition of the first thread that has one, and reports
// whether there is one.
func (x *Expander) invisible(v search.Visitor) bool {
	m := x.m
	for t, n := 0, m.NumThreads(); t < n; t++ {
		switch k := x.chain(t); {
		case k == 0:
			continue
		case k > x.o.MaxInvisible:
			// It could postpone the others forever.
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

// single sends v one transition, which has just been taken, as a move.
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
	if c, ok := v.(search.Coverer); ok && x.choice != nil {
		x.choice.expand(x, v, c)
		return
	}
	if x.o.InvisibleFirst && x.invisible(v) {
		return
	}
	start := m.Mark()
	stopper, _ := v.(search.Stopper)
	enabled, stuck := false, false
	for t, n := 0, m.NumThreads(); t < n; t++ {
		for alt := uint64(0); ; {
			out := m.Step(t, alt)
			if out.Kind != system.Moved {
				stuck = stuck || out.Kind == system.Blocked && !out.AtEnd
				x.countLoop(out, true)
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
			if stopper != nil && stopper.Stopped() {
				return // there can be more alternatives than anybody can wait for
			}
			alt = out.Next
		}
	}
	if stuck && !enabled {
		x.deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}
		v.Violation(&x.deadlock, nil)
	}
}

// path follows the invisible transitions after the first transition of thread t, which has been
// taken, and sends v the move.
func (x *Expander) path(t int, alt uint64, out system.Outcome, v search.Visitor) {
	x.follow(t, alt, out, func(v0 *system.Violation) { v.Violation(v0, x.tail) },
		func([]system.Access) {})
	x.counters.Transitions += uint64(len(x.tail))
	x.end = x.m.Encode(x.end)
	x.move = search.Move{Thread: t, Alt: alt, Len: len(x.tail), End: x.end}
	v.Move(&x.move)
}

// follow takes the invisible transitions after the first transition of thread t, which has been
// taken, and writes all of them to x.tail. It calls step with the accesses of each, and finally
// with those that the end of the composed transition depends on. It calls violation if a
// transition violated a property. The result is false if a limit or a cycle ended it.
func (x *Expander) follow(t int, alt uint64, out system.Outcome, violation func(*system.Violation),
	step func([]system.Access)) (whole bool) {
	m := x.m
	x.tail = append(x.tail[:0], search.Step{Thread: t, Alt: alt})
	x.counters.Attempts++
	for {
		step(m.Accesses())
		if out.Violation != nil {
			violation(out.Violation)
		}
		if len(x.tail) > x.o.MaxInvisible || x.repeats(len(x.tail)) {
			if x.o.Cuts != nil && x.invisibleNext(t) {
				x.o.Cuts.Add(1)
			}
			return false
		}
		how := x.locks.Blocking(t)
		if how >= system.BlocksOnObject {
			return true
		}
		mark := m.Mark()
		out = m.Step(t, 0)
		if out.Kind != system.Moved {
			return true
		}
		x.counters.Attempts++
		if x.visible(how, out) {
			step(x.decided)
			m.Rewind(mark)
			return true
		}
		x.tail = append(x.tail, search.Step{Thread: t})
	}
}

// invisibleNext reports whether the next transition of thread t is enabled and invisible.
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

// visible reports whether the transition that the machine has just taken, which blocks in this
// way, is visible. The answer must not depend on what a wrapper adds to its accesses, because it
// decides where a composed transition ends, and what it reads is not among that transition's
// accesses.
//
// If so, x.decided is what it has read before that was clear. If threads keep to the discipline,
// no other thread can write that meanwhile. If they do not, what others did can end a composed
// transition earlier or later, for example before an increment that would fail. What decides
// that must be among its accesses, or a search that compares executions mistakes it for another
// transition.
func (x *Expander) visible(how system.Blocking, out system.Outcome) bool {
	x.decided = x.decided[:0]
	visible := out.Next != 0 || out.Created || how >= system.BlocksOnObject
	for _, a := range x.ownAccesses() {
		class := system.Communication
		if int(a.Loc) < len(x.class) {
			class = x.class[a.Loc]
		} else {
			class = x.locks.Class(a.Loc)
		}
		switch class {
		case system.Communication, system.TriedLock:
			return true // whatever its value
		case system.Existence:
			// The thread's own existence: a running thread has been created.
			if a.Write {
				return true
			}
		case system.Lock:
			// It takes the lock unless it already holds it.
			if how == system.BlocksEntering && a.Write {
				return true
			}
		}
		x.decided = append(x.decided, system.Access{Loc: a.Loc})
	}
	return visible
}
