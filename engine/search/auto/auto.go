// Package auto is the expander that chooses between cartesian vectors (package
// cartesian) and plain expansion (package full) while the search runs, so that a
// search is hardly slower than the better of both.
//
// # Why any mixture is sound
//
// What Theorem 1 of Gueta, Flanagan, Yahav, Sagiv ("Cartesian Partial-Order
// Reduction", SPIN 2007) asks of a search is that it continues from the ends of some
// cartesian vector of each state that it expands; which vector that is may differ
// from state to state, and may depend on anything. The transitions of a plain
// expansion are such a vector: every thread has the prefixes of length 1 that begin
// with its alternatives. Each transition is the last of its prefix, so that
// definition 2 asks nothing of them, and of the self-loops of blocked and ended
// threads only that nothing is explored from their ends, which is the state itself.
//
// The other promises are kept for the same reason: the arguments for deadlocks and for
// what is executed (package cartesian, deadlock.go and doc.go) look at one state s
// that is expanded, and at a shortest path w from s to what is to be found. They show
// that it is found at s, or that some state that s sends to the covered set has a
// shorter path to it; by induction on the length of w it is found. Each such
// step speaks of the vector of s alone. For a plain expansion it is this: if w is
// empty, the deadlock, the violation or the transition is seen at s, whose threads' next
// transitions are all executed; if not, the state behind the first transition of w is
// sent, and the rest of w is shorter. Nothing is assumed about how that state
// will be expanded. Infinite prefixes, the second place where a state is left out, are
// left out because of a state on the same prefix: their argument, too, is about s.
//
// What a mixture must not do is to expand a state by a part of one and a part of the
// other, or to show a state's moves to the covered set and then forget it. Here each
// state is expanded once, by one of the two, as a whole. Whoever rebuilds a trace does not
// know by which of them; such a visitor is shown the moves of both.
//
// The covered set of a mixture is a part of all reachable states. That is why plain
// expansion, if it is chosen for good, costs no more than the full search: what the
// vectors have covered it does not cover again.
//
// # How it is chosen
//
// Let F be all reachable states and C those that vectors reach. A search by vectors
// takes the sum of the vectors' costs over C, the full search the sum of
// the states' costs over F. The first sum is what the search does anyway. And each
// vector knows what the plain expansion of its state would cost: its
// first transitions. What has to be found out is how many states of F the vectors leave
// out. So a sample is taken: plain expansions, breadth first, from the initial states,
// in a covered set of their own, for less than a twentieth of what the search itself
// takes. As that is far behind the search, the states of the sample that the search has not
// covered are most likely those that it leaves out. Each time the work has doubled,
//
//	(cost of the vectors) / (of plain expansions of the same states)
//	  * (plain cost of the sample's covered states) / (of all of the sample)
//
// estimates how the two sums are to each other. Small samples make it too large where vectors
// save much, for the vicinity of a state is where they save least; so it counts only when it
// falls no more. If it is then above 1, three times in succession, the search continues with plain
// expansions; if it is far below 1, sampling rests for a while. A sample that is large enough is
// replaced by another, from a state that was expanded in the meantime, so that phases of a
// system are seen.
//
// A search by plain expansions asks again, each time the work has doubled, with a
// sample of vectors and one of plain expansions from the state that is expanded then;
// if vectors promise to take well below the time, it goes back to them. From then on
// such a pair of samples decides in both directions, because the covered set has states by then
// that vectors would have left out.
//
// Nothing is decided by the clock. Cost is counted in executed transitions, copied
// states and covered ends, with the weights of cost.go. So a search by one worker
// chooses the same each time, and its counts are the same. With several workers, on
// several ranks, and after a checkpoint (which does not keep the samples: the search
// samples again, from its initial states), the moment of a choice, and by it the numbers of
// states and transitions, can differ; what is found cannot.
package auto

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/system"
)

// Choice says how it is chosen by what a state is expanded.
type Choice uint64

// The choices; every other number draws by a hash of the state and that number, for
// tests of what no measurement would choose.
const (
	// Measured is what this package is for.
	Measured Choice = 0
	// Early is the same with estimates after a few transitions, which say little: for
	// tests, too.
	Early Choice = 1<<64 - 1
)

// ParseChoice reads measured, early, mixed and mixed:N.
func ParseChoice(s string) (Choice, error) {
	kind, number, numbered := strings.Cut(s, ":")
	switch {
	case s == "measured":
		return Measured, nil
	case s == "early":
		return Early, nil
	case s == "mixed":
		return 1, nil
	case kind == "mixed" && numbered:
		if n, err := strconv.ParseUint(number, 10, 32); err == nil && n > 0 {
			return Choice(n), nil
		}
	}
	return 0, errors.New("want measured, early, mixed, or mixed:N with a number above 0")
}

// String returns what ParseChoice reads.
func (c Choice) String() string {
	switch c {
	case Measured:
		return "measured"
	case Early:
		return "early"
	}
	return fmt.Sprintf("mixed:%d", uint64(c))
}

// vector tells for a choice that draws whether a state gets a vector.
func (c Choice) vector(s system.State) bool {
	d := xxhash.NewWithSeed(uint64(c))
	var b [8]byte
	for _, w := range s {
		binary.LittleEndian.PutUint64(b[:], w)
		d.Write(b[:])
	}
	return d.Sum64()&1 == 0
}

// Options say how it is chosen.
type Options struct {
	Vectors cartesian.Options
	Choice  Choice
}

// Expander expands a state by one of two ways. It is made by [Policy.Factory].
type Expander struct {
	policy  *policy
	vectors *cartesian.Expander
	full    *full.Expander

	// What was done since it was told to the policy.
	spent   spent
	pending int
}

// Factory returns the factory of a search's expanders, which choose together, and what
// tells how they have chosen.
func Factory(sys system.System, o Options) (search.Factory, func() Report) {
	p := newPolicy(sys, o)
	return func() search.Expander {
		e := &Expander{policy: p, vectors: cartesian.New(sys, o.Vectors), full: full.New(sys)}
		p.expanders = append(p.expanders, e)
		return e
	}, p.report
}

// Counters returns the counts so far, those of the samples left out.
func (e *Expander) Counters() search.Counters {
	c, f := e.vectors.Counters(), e.full.Counters()
	return search.Counters{
		Transitions: c.Transitions + f.Transitions, Attempts: c.Attempts + f.Attempts,
		EndedLoops: c.EndedLoops + f.EndedLoops, BlockedLoops: c.BlockedLoops + f.BlockedLoops,
	}
}

// tellEvery is how many states an expander expands before it tells the policy.
const tellEvery = 32

// Expand expands s by a cartesian vector or plainly.
func (e *Expander) Expand(s system.State, v search.Visitor) {
	if _, searches := v.(search.Coverer); !searches {
		// A trace is rebuilt, and nobody knows how s was expanded.
		e.vectors.Expand(s, v)
		e.full.Expand(s, v)
		return
	}
	way := plainly
	switch c := e.policy.o.Choice; {
	case c == Measured || c == Early:
		if e.pending == tellEvery || c == Early {
			e.policy.add(&e.spent)
			e.spent, e.pending = spent{}, 0
			e.policy.look(s, v)
		}
		e.pending++
		way = e.policy.way()
	case c.vector(s):
		way = byVectors
	}
	if way == plainly {
		before := e.full.Counters()
		e.full.Expand(s, v)
		e.spent.plain(&e.policy.costs, e.full.Counters(), before)
		return
	}
	e.vectors.Expand(s, v)
	e.spent.vector(&e.policy.costs, e.vectors.Effort())
}
