package temporal

import (
	"math/rand/v2"
	"slices"

	"cpor/statestore"
	"cpor/system"
)

// A depth-first search that takes a wrong turn early may see everything else before it finds an
// accepting cycle that is near. So each worker spends a small share of its work on random walks
// through the product. They are independent of the search and mark nothing, and what they find
// is a lasso like any other.
//
// The threads of a walk move in any order at first. From some step on only some of them move,
// because most cycles that violate a property involve few threads. A walk ignores fairness, so
// there are none with it.

const (
	// walkShare is the number of transitions per step of a walk, once a worker walks, and
	// lateShare after lateTurns turns. Small searches have no walks.
	walkShare, lateShare, lateTurns = 32, 128, 8
	// walkTurn is the number of steps of a turn, and walkLength the most that a walk takes. The
	// first turn has walkFirst steps: if a cycle is near, that saves most of the search.
	walkTurn, walkFirst, walkLength = 256, 1 << 10, 1 << 12
)

// walker takes random walks, for one worker.
type walker struct {
	s   *exploration
	x   *expander
	rng *rand.Rand

	due uint64 // the worker's transitions when it walks again
	on  bool   // a walk is under way

	turns int

	// Of the walk:
	words  []uint64 // its states, one behind the other
	ends   []int    // where each ends there
	at     []uint32 // the states of the automaton
	seen   map[uint64]int
	accept int // the last vertex that is accepting; -1: none
	some   int // from which vertex on only some threads move
	moves  []bool
	order  []int
}

func newWalker(w *worker) *walker {
	return &walker{s: w.s, rng: rand.New(rand.NewPCG(uint64(w.id), 1)), due: pace.walk,
		seen: map[uint64]int{}}
}

// walk takes some steps of a walk if it is time for that, of as many transitions that the worker
// has executed. It returns false if the search is over.
func (r *walker) walk(executed uint64) bool {
	if executed < r.due {
		return true
	}
	r.due = executed + walkShare*walkTurn
	if r.turns++; r.turns > lateTurns {
		r.due = executed + lateShare*walkTurn
	}
	turn := walkTurn
	if r.x == nil {
		r.x = newExpander(r.s)
		r.x.m.Track(false)
		if r.turns == 1 {
			turn = walkFirst
		}
	}
	for range turn {
		if !r.on && !r.begin() {
			continue
		}
		if !r.step() {
			return false
		}
	}
	return true
}

// begin begins a walk at some initial state.
func (r *walker) begin() bool {
	initial := r.s.sys.Initial()
	if len(initial) == 0 {
		return false
	}
	r.words, r.ends, r.at = r.words[:0], r.ends[:0], r.at[:0]
	clear(r.seen)
	r.accept, r.some = -1, r.rng.IntN(1<<r.rng.IntN(12))
	r.on = true
	r.add(initial[r.rng.IntN(len(initial))], uint32(r.s.a.Init))
	return true
}

// add appends a vertex that is not on the walk.
func (r *walker) add(state system.State, q uint32) {
	if r.s.a.Accepting[q] {
		r.accept = len(r.at)
	}
	r.seen[r.hash(state, q)] = len(r.at)
	r.words = append(r.words, state...)
	r.ends = append(r.ends, len(r.words))
	r.at = append(r.at, q)
}

// hash returns a hash of a vertex.
func (r *walker) hash(state system.State, q uint32) uint64 {
	h := uint64(q)
	for _, w := range state {
		h = (h ^ w) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// state returns the state of a vertex of the walk.
func (r *walker) state(i int) system.State {
	from := 0
	if i > 0 {
		from = r.ends[i-1]
	}
	return r.words[from:r.ends[i]]
}

// step takes one step. It returns false if the search is over.
func (r *walker) step() bool {
	s, x := r.s, r.x
	last := len(r.at) - 1
	from := r.state(last)
	if last == walkLength || x.load(from, true) != nil {
		r.on = false
		return true
	}
	// The automaton reads the letter of the state it leaves.
	q, arcs := uint32(0), 0
	for _, t := range s.a.Out[r.at[last]] {
		if t.Label.Matches(x.letter) {
			if arcs++; r.rng.IntN(arcs) == 0 {
				q = uint32(t.Dst)
			}
		}
	}
	if arcs == 0 || !r.move(last >= r.some) {
		r.on = false
		return true
	}
	x.end = x.m.Encode(x.end)
	i, known := r.seen[r.hash(x.end, q)]
	if known = known && r.at[i] == q && slices.Equal(r.state(i), x.end); !known {
		r.add(x.end, q)
		return true
	}
	if r.accept < i {
		// The walk continues after the cycle, which is forgotten.
		for k := i + 1; k < len(r.at); k++ {
			delete(r.seen, r.hash(r.state(k), r.at[k]))
		}
		r.words, r.ends, r.at = r.words[:r.ends[i]], r.ends[:i+1], r.at[:i+1]
		r.some = min(r.some, r.rng.IntN(walkLength))
		return true
	}
	return r.found()
}

// move takes a transition of the live state, of some threads only if there is one. Where no
// thread is enabled the state is repeated. It returns false if the transition has a violation.
func (r *walker) move(some bool) bool {
	s, m := r.s, r.x.m
	n := m.NumThreads()
	if len(r.order) != n || r.rng.IntN(64) == 0 {
		r.order, r.moves = r.order[:0], r.moves[:0]
		for t := range n {
			r.order = append(r.order, t)
			r.moves = append(r.moves, r.rng.IntN(2) == 0)
		}
	}
	r.rng.Shuffle(n, func(i, j int) { r.order[i], r.order[j] = r.order[j], r.order[i] })
	for pass := range 2 {
		for _, t := range r.order {
			if s.obs.Has(t) || (some && !r.moves[t]) != (pass == 1) {
				continue
			}
			mark := m.Mark()
			out := m.Step(t, 0)
			if out.Kind != system.Moved {
				continue
			}
			for k := 2; out.Next != 0 && k <= 64 && r.rng.IntN(k) > 0; k++ {
				m.Rewind(mark)
				out = m.Step(t, out.Next)
			}
			return out.Violation == nil
		}
	}
	return true
}

// found ends the search with the walk, whose last vertex has a transition to one before it.
func (r *walker) found() bool {
	s := r.s
	l := &lasso{}
	var parent statestore.Ref
	for k := range r.at {
		ref, _, err := r.x.session.Insert(r.state(k), parent)
		if err != nil {
			r.on = false
			return true // there is no room for it
		}
		l.path = append(l.path, vertex{ref, r.at[k] * s.levels})
		parent = ref
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lasso == nil && s.err == nil {
		s.lasso = l
	}
	s.stop.Store(true)
	s.pool.close()
	return false
}
