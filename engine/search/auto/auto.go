// Package auto is the expander that chooses, before and while the search runs, among ample sets
// (package ample), cartesian vectors (package cartesian) and plain expansion (package full). It
// takes an ample set where there is one, and a vector elsewhere: in the geometric mean over the
// Promela corpus that has fewer states than either alone. Where vectors alone promise to be better,
// it leaves ample sets out, and where reduction costs more than it saves, it expands plainly.
//
// # Why any mixture is sound
//
// Which of the three a state is expanded by may depend on anything. The proofs of all three look at
// one state s that is expanded, and at a path w from s to what is to be found: a transition with
// the values that it reads, a local state, or a deadlock. They show for the expansion of s alone
// that it is found at s, or that some state that s sends to the covered set is nearer to it.
// Nearer means:
//
//   - For a plain expansion of s, the state behind the first transition of w is sent. The rest of w
//     is shorter.
//   - For a cartesian vector of s, the end of some prefix is sent, from which a shorter path leads
//     there (package cartesian, "What is executed" and deadlock.go; theorem 1 of Gueta, Flanagan,
//     Yahav, Sagiv, "Cartesian Partial-Order Reduction", SPIN 2007). A prefix that is infinite is
//     left out because of a state on the same prefix, which is about s alone, too.
//   - For an ample set T of s, w either has a transition of a thread in T, and the state behind the
//     first of them is sent, from which a shorter path leads there. Or w has none; then w is
//     possible from the justification of s, too, and that is nearer in the number of justifications
//     that lead to a state without one (package ample, "What is preserved").
//
// So the pairs (length of w, number of justifications) decrease in lexicographic order, and the
// search ends where it is found. Justifications form no circles, whatever the states without one
// are expanded by: states that are expanded by a vector or plainly have none. It does not matter
// that the search does not write down of these that they have been expanded. Justifications that
// lead there end there.
//
// With an ample set, too, every blocked transition is tried with all values that an observer reads,
// because whoever may write what an observer reads is dependent on it.
//
// What a mixture must not do is to expand a state by a part of one and a part of the other. Here
// each state is expanded by one of the three as a whole. (An attempt at an ample set that finds no
// justification may have sent ends of moves already. They are reachable, so they do no harm.)
// Whoever rebuilds a trace does not know by which of them a state was expanded; such a visitor is
// shown the moves of all.
//
// # Where ample sets are looked for
//
// They need the references of covered states at once. So there are none with a disk, on several
// ranks, and for orbits of states, for which nobody has proved them. Where fewer than 3 of 64
// attempts find a set, each worker makes fewer attempts.
//
// # When vectors are taken alone
//
// The threads of a vector stop at the same conflict, and few states lie between. An ample set moves
// one thread and leaves the others, and vectors from there end elsewhere: a few sets at the
// beginning can make a search several times larger (systolic in the corpus: 4,711 states, 1,390
// with vectors alone). That cannot be mended later, so it is decided before the search: two trials
// from the initial states, in covered sets of their own, one with sets and vectors and one with
// vectors alone. If one of them covers everything, it is taken, the cheaper one if both do. If not,
// the one that grows more slowly: it has fewer covered states for each expanded one. A trial takes
// as much as 4,000 transitions, and 16,000 if that is close, a few milliseconds. On 74 runs of the
// corpus, the choice has 1.02 times the states of the better one, sets and vectors have 1.12 times
// as many, and 1.03 times its time, instead of 1.21 (docs/design/reductions.md).
//
// # When it expands plainly
//
// The covered set of a mixture is a part of all reachable states. That is why plain
// expansion, if it is chosen for good, costs no more than the full search: what the
// reduction has covered it does not cover again.
//
// Let F be all reachable states and C those that a search reaches that reduces. It takes the sum of
// the reduced expansions' costs over C, the full search the sum of the states' costs over F. The
// first sum is what the search does anyway. And each reduced expansion knows what the plain one
// would cost: its first transitions. What has to be found out is how many states of F are left out.
// So a sample is taken: plain expansions, breadth first, from the initial states,
// in a covered set of their own, for less than a twentieth of what the search itself
// takes. As that is far behind the search, the states of the sample that the search has not
// covered are most likely those that it leaves out. Each time the work has doubled,
//
//	(cost of reduced expansions) / (of plain expansions of the same states)
//	  * (plain cost of the sample's covered states) / (of all of the sample)
//
// estimates the ratio of the two sums, with the second part squared: the vicinity of a
// state is where reduction saves least ([far]). Small samples still make it too large where
// reduction saves much; so it counts only when it falls no more. If it is then above 1, three times
// in succession, the search continues with plain expansions. It must be above 3.2 if the plain
// expansions have at least twice the states, which take memory, too. If it is
// far below 1, sampling rests for a while. A sample that is large enough is replaced by another,
// from a state that was expanded in the meantime, so that phases of a system are seen.
//
// A search by plain expansions asks again, each time the work has doubled, with a
// sample of reduced expansions and one of plain ones from the state that is expanded then;
// if reduction promises to take well below the time, it goes back to it. From then on
// such a pair of samples decides in both directions, because the covered set has states by then
// that reduction would have left out.
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
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/cespare/xxhash/v2"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/ample"
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

// draw tells for a choice that draws by what a state is expanded.
func (c Choice) draw(s system.State) (to way, sets bool) {
	d := xxhash.NewWithSeed(uint64(c))
	var b [8]byte
	for _, w := range s {
		binary.LittleEndian.PutUint64(b[:], w)
		d.Write(b[:])
	}
	sum := d.Sum64()
	return way(sum & 1), sum&2 == 0
}

// Options say how it is chosen.
type Options struct {
	Vectors cartesian.Options
	Choice  Choice
	// NoSets does without ample sets, which need all covered states in the memory of this
	// process. They are not used either if the system does not bound what its threads may still
	// do, or if its states are orbits.
	NoSets bool
}

// Expander expands a state by one of three ways. It is made by [Factory].
type Expander struct {
	policy *policy
	by     reducer
	full   *full.Expander

	// What was done since it was told to the policy.
	spent   spent
	pending int
}

// Factory returns the factory of a search's expanders, which choose together, and what
// tells how they have chosen.
func Factory(sys system.System, o Options) (search.Factory, func() Report) {
	p := newPolicy(sys, o)
	return func() search.Expander {
		e := &Expander{policy: p, by: p.reducer(o.Vectors), full: full.New(sys)}
		p.expanders = append(p.expanders, e)
		return e
	}, p.report
}

// Counters returns the counts so far, those of the samples left out.
func (e *Expander) Counters() search.Counters {
	c, f := e.by.vectors.Counters(), e.full.Counters()
	c.Add(f)
	if e.by.sets != nil {
		c.Add(e.by.sets.Counters())
	}
	return c
}

// CountCode implements [reduction.Compiling].
func (e *Expander) CountCode(states *atomic.Uint64) {
	e.full.CountCode(states)
	e.by.vectors.CountCode(states)
	if e.by.sets != nil {
		e.by.sets.CountCode(states)
	}
}

// SaveMemory implements [search.Remembering].
func (e *Expander) SaveMemory(w io.Writer) error {
	if e.by.sets == nil {
		return nil
	}
	return e.by.sets.SaveMemory(w)
}

// RestoreMemory implements [search.Remembering].
func (e *Expander) RestoreMemory(r io.Reader) error {
	if e.by.sets == nil {
		return nil
	}
	return e.by.sets.RestoreMemory(r)
}

// tellEvery is how many states an expander expands before it tells the policy.
const tellEvery = 32

// Expand expands s by an ample set, by a cartesian vector, or plainly.
func (e *Expander) Expand(s system.State, v search.Visitor) {
	if _, searches := v.(search.Coverer); !searches {
		// A trace is rebuilt, and nobody knows how s was expanded.
		e.by.vectors.Expand(s, v)
		if e.by.sets != nil {
			e.by.sets.Expand(s, v)
		}
		e.full.Expand(s, v)
		return
	}
	way, sets := reduced, false
	switch c := e.policy.o.Choice; c {
	case Measured, Early:
		e.policy.try(v)
		if e.pending == tellEvery || c == Early {
			e.policy.add(&e.spent)
			e.spent, e.pending = spent{}, 0
			e.policy.look(s, v)
		}
		e.pending++
		way = e.policy.way()
		sets = way == reduced && !e.policy.alone && e.by.due()
	default:
		way, sets = c.draw(s)
	}
	if sets && e.by.set(s, v, &e.spent, &e.policy.costs) {
		return
	}
	if way == plainly {
		before := e.full.Counters()
		e.full.Expand(s, v)
		e.spent.plain(&e.policy.costs, e.full.Counters(), before)
		return
	}
	e.by.vectors.Expand(s, v)
	e.spent.vector(&e.policy.costs, e.by.vectors.Effort())
}

// reducer expands states by ample sets and by vectors.
type reducer struct {
	sets    *ample.Expander // nil if there are none
	vectors *cartesian.Expander
	rest    ample.Rest // for sets
}

// due tells whether an ample set is looked for.
func (r *reducer) due() bool { return r.sets != nil && r.rest.Due() }

// set expands s by an ample set, if there is one.
func (r *reducer) set(s system.State, v search.Visitor, spent *spent, costs *costs) bool {
	if r.sets == nil {
		return false
	}
	found := r.sets.Reduce(s, v)
	r.rest.Told(found)
	spent.set(costs, r.sets.Effort(), found)
	return found
}
