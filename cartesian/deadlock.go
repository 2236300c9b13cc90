package cartesian

import (
	"cpor/engine/search"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// The deadlocks of a vector. Choose for each thread one of its prefixes that ends in the self-loop
// of a blocked or an ended thread. Executed one after another, they lead to a state in which each
// thread is blocked or has ended: two prefixes of a vector are dependent at most in their last
// transitions, and these are self-loops, which write nothing. So any such choice is independent
// throughout, and nothing has to be compared. It is a deadlock if at least one thread is blocked at
// a place where that is not its proper end.
//
// All deadlocks are found. Let w be a shortest path of real transitions from a
// state s that the search expands to a deadlocked state d, and look at the
// vector of s, of each thread the prefix that begins with the alternative that
// w takes. Either w executes the last transition of some prefix p; let p be the
// first for which it does. Until then the others have executed transitions that
// are not their prefixes' last, which are independent of all of p, so p can be
// moved to the front of w, and the rest leads from p's end to d and is shorter
// than w. (p is not marked infinite, else its end would be a state on p, and w
// would not be a shortest path.) Or w executes the last transition of no
// prefix. Then all that w executes is independent of all prefixes, so what each
// thread meets at d as its next transition, a self-loop, it meets in its own
// run, too: it is the next and therefore the last transition of its prefix, and
// the deadlock is the composition of the prefixes.
//
// Observers take no part. An observer writes nothing; leaving its transitions
// out of w leaves a path to a state that differs only in the observer's own
// local part, so in the argument w has no transition of an observer, and the
// first prefix that is completed, or the composition, is one of the other
// threads. An observer's reads do make the prefixes of writers shorter, like
// every read in the vector. But they must not veto a composition: a choice of
// the other threads' prefixes is executable whatever an observer read before,
// and its prefix may well not end in a self-loop (when the invariant is
// violated in s itself, or by a writer that has not come to its end), while the
// other threads are deadlocked all the same.

// choice is one thread's part in the search for deadlocks.
type choice struct {
	from, to int32 // its prefixes that end in self-loops are in e.active[from:to]
	pick     int32 // the one that is chosen
	// Whether this thread or one after it can be blocked other than at an end.
	blocks bool
}

// deadlocks reports the deadlocks of the vector of s.
func (e *Expander) deadlocks(s system.State, v search.Visitor) {
	e.threads = e.threads[:0]
	e.active = e.active[:0]
	for i := 0; i < len(e.prefixes); {
		thread := e.prefixes[i].thread
		c := choice{from: int32(len(e.active))}
		for ; i < len(e.prefixes) && e.prefixes[i].thread == thread; i++ {
			if p := e.prefixes[i]; p.kind != system.Moved {
				e.active = append(e.active, int32(i))
				c.blocks = c.blocks || p.stuck()
			}
		}
		if e.obs.Has(int(thread)) {
			e.active = e.active[:c.from]
			continue
		}
		c.to = int32(len(e.active))
		if c.from == c.to {
			return
		}
		e.threads = append(e.threads, c)
	}
	for t := len(e.threads) - 2; t >= 0; t-- {
		e.threads[t].blocks = e.threads[t].blocks || e.threads[t+1].blocks
	}
	left := e.o.MaxDeadlocks
	if left == 0 {
		left = -1
	}
	e.choose(s, 0, false, &left, v)
}

// stuck reports whether the prefix ends blocked at a place that is not a proper end.
func (p *prefix) stuck() bool { return p.kind == system.Blocked && !p.atEnd }

// choose picks prefixes for the threads from t on and reports the deadlocks.
// It goes only where a deadlock will be found: every thread has a prefix to
// pick, and some thread is stuck or can still be. So the time is that of the
// deadlocks that are reported.
func (e *Expander) choose(s system.State, t int, stuck bool, left *int, v search.Visitor) {
	if t == len(e.threads) {
		if stuck && *left != 0 {
			*left--
			e.reportDeadlock(s, v)
		}
		return
	}
	if !stuck && !e.threads[t].blocks || *left == 0 {
		return
	}
	for k := e.threads[t].from; k < e.threads[t].to; k++ {
		if sabotage.Is("cartesian/one combination") && k > e.threads[t].from {
			break
		}
		e.threads[t].pick = e.active[k]
		e.choose(s, t+1, stuck || e.prefixes[e.active[k]].stuck(), left, v)
	}
}

var deadlock = system.Violation{Kind: system.Deadlock, Message: "deadlock"}

func (e *Expander) reportDeadlock(s system.State, v search.Visitor) {
	e.tail = e.tail[:0]
	for _, c := range e.threads {
		e.tail = e.prefixes[c.pick].appendSteps(e.tail)
	}
	if e.o.Check != nil {
		e.checkDeadlock(s, e.tail)
	}
	v.Violation(&deadlock, e.tail)
}
