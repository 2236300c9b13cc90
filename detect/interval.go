package detect

import (
	"sync"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// The interval search is PSPoss with everything that its proof allows.
//
// A node is an interval [s, ub) of the lattice of consistent global states: the
// search looks for a state t that satisfies the predicate, with s <= t and
// t[i] < ub[i] for all i.
//
//   - As in PSPoss, some false clause is chosen, and one of the processes of its
//     support has to advance before it can become true. But not by one
//     transition: process i has to reach next(i), the first local state that
//     satisfies its literal, or differs in a variable of a joint literal. The
//     least consistent state that contains it is the join of s with its clock, so
//     a whole sequence of transitions is one step, of cost O(N) (section 5 of the
//     paper, carried on as far as it goes).
//   - The branches for the processes i1, i2, ... of the support are made disjoint:
//     the second one looks only at states with t[i1] < next(i1), and so on. That
//     is what a sleep set says: all transitions but t0 commute, so a transition
//     once put to sleep stays asleep, and with it everything that depends on it.
//     Disjoint intervals never meet in a state: nothing has to be stored.
//   - A branch whose join leaves the interval is not a branch. A clause without a
//     branch ends the node; a clause with one branch is a step without choice, so
//     among the false clauses the one with the fewest branches is chosen.
//   - Before it is looked at, a node is narrowed by the literals that are linear:
//     see narrow. For these, next(i) is the first local state that brings the sum
//     nearer.
//   - When only one process of a joint literal can still move within the
//     interval, the literal is as good as 1-local, and its next true state is
//     looked up.
//
// For a conjunction of 1-local predicates there is never a choice, and the
// search is Garg and Waldecker's algorithm. With jump and choose unset, it is
// the algorithm of sections 4 and 5 with sleep sets: the first false clause, and
// minimum-length sequences that advance one process of the support by one
// transition.
type intervalSearch struct {
	r        *run
	problems []*problem
	jump     bool // to next(i); else by one transition
	choose   bool // the clause with the fewest branches; else the first false one

	mu      sync.Mutex // of visited
	visited []*keySet  // with Options.Check, by problem
	packers []*packer
}

// check reports a state that was visited before.
func (is *intervalSearch) check(x int, s []int32) bool {
	k := is.packers[x]
	key := make([]uint64, k.words)
	k.pack(s, key)
	is.mu.Lock()
	defer is.mu.Unlock()
	return is.visited[x].insert(key)
}

// interval is a node of the search: s and ub one behind the other.
type interval struct {
	problem int
	bounds  []int32
}

// branch is what one process of a clause's support could do.
type branch struct {
	process int32
	to      int32
	viable  bool
}

func (r *run) interval(c *computation.Computation, parts []*predicate.Conjunction) {
	is := &intervalSearch{r: r, problems: make([]*problem, len(parts)),
		jump: r.opt.Algorithm == Interval, choose: r.opt.Algorithm == Interval}
	items := make([]interval, len(parts))
	for x, part := range parts {
		p := compile(c, part, !r.opt.Full, r.stopped.Load)
		if p == nil {
			return
		}
		is.problems[x] = p
		if r.opt.Check {
			is.packers = append(is.packers, newPacker(p))
			is.visited = append(is.visited, newKeySet(is.packers[x].words))
		}
		r.res.SearchedBound += p.size()
		bounds := make([]int32, 2*p.n)
		for i := range p.procs {
			bounds[p.n+i] = p.procs[i].last + 1
		}
		items[len(parts)-1-x] = interval{x, bounds} // the pool takes the last first
	}
	workers := make([]intervalWorker, r.opt.Workers)
	runPool(r.opt.Workers, items, r.stopped.Load, func(w *worker[interval], item interval) {
		workers[w.id].explore(is, w, item)
	})
	for i := range workers {
		r.add(&workers[i].tally)
	}
}

// intervalWorker is the scratch space of one goroutine.
type intervalWorker struct {
	tally
	acc        []uint64
	ub         []int32
	cand, best []branch
	ranges     [][2]int64
	_          [64]byte
}

// explore follows a node as long as there is one way to go, and pushes the
// branches where there are several.
func (w *intervalWorker) explore(is *intervalSearch, pool *worker[interval], node interval) {
	p := is.problems[node.problem]
	s, ub := node.bounds[:p.n], node.bounds[p.n:]
	if len(w.acc) < p.words {
		w.acc = make([]uint64, p.words)
	}
	for {
		w.states++
		if is.r.tick(&w.tally) {
			return
		}
		if is.visited != nil && !is.check(node.problem, s) {
			is.r.fail(errMatch)
			return
		}
		if is.jump && !w.narrow(p, s, ub, is.r.stopped.Load) {
			return
		}
		x, ok := w.chooseClause(is, p, s, ub)
		if !ok {
			return // no state of the interval satisfies the predicate
		}
		if x < 0 {
			is.r.add(&w.tally)
			is.r.found(p, s)
			return
		}
		viable := 0
		for _, b := range w.best {
			if b.viable {
				viable++
			}
		}
		if viable == 1 {
			for _, b := range w.best {
				if b.viable {
					w.step(p, s, int(b.process), b.to)
					break // what follows was judged with this branch closed
				}
				ub[b.process] = min(ub[b.process], b.to)
			}
			continue
		}
		// The children in reverse order, so that the first is on top of the stack.
		children := make([]int32, 0, viable*2*p.n)
		for _, b := range w.best {
			if b.viable {
				at := len(children)
				children = append(children, s...)
				children = append(children, ub...)
				w.step(p, children[at:at+p.n], int(b.process), b.to)
			}
			ub[b.process] = min(ub[b.process], b.to)
		}
		for at := len(children) - 2*p.n; at > 0; at -= 2 * p.n {
			pool.push(interval{node.problem, children[at : at+2*p.n : at+2*p.n]})
		}
		s, ub = children[:p.n:p.n], children[p.n:2*p.n:2*p.n]
	}
}

// step executes the sequence that brings process i to local state k.
func (w *intervalWorker) step(p *problem, s []int32, i int, k int32) {
	w.transitions++
	w.join(s, p.row(i, k))
}

// join joins s with the clock.
func (w *intervalWorker) join(s, row []int32) {
	for j, x := range row {
		if x > s[j] {
			w.events += int64(x - s[j])
			s[j] = x
		}
	}
}

// chooseClause returns a false clause, with its branches in w.best, or -1 if
// the predicate holds in s; ok is false if some clause is false in the whole
// interval.
func (w *intervalWorker) chooseClause(is *intervalSearch, p *problem, s, ub []int32) (x int,
	ok bool) {
	acc := w.acc[:p.words]
	p.truth(s, acc)
	chosen, fewest := -1, 0
	for x := range p.clauses {
		if acc[x/64]>>(x%64)&1 != 0 {
			continue
		}
		if p.joint[x/64]>>(x%64)&1 != 0 && p.jointHolds(x, s) {
			continue
		}
		viable := w.branches(is, p, x, s, ub)
		if viable == 0 {
			return 0, false
		}
		if chosen < 0 || viable < fewest {
			chosen, fewest = x, viable
			w.best, w.cand = w.cand, w.best
			if viable == 1 || !is.choose {
				break
			}
		}
	}
	return chosen, true
}

// branches fills w.cand with the branches of the false clause x and returns how
// many are viable.
func (w *intervalWorker) branches(is *intervalSearch, p *problem, x int, s, ub []int32) int {
	c := &p.clauses[x]
	w.cand = w.cand[:0]
	bounds := ub
	if len(c.support) > 1 {
		w.ub = append(w.ub[:0], ub...)
		bounds = w.ub
	}
	viable := 0
	for y, i := range c.support {
		var k int32
		switch {
		case !is.jump:
			if k = s[i] + 1; k < bounds[i] {
				i, k = w.minimal(p, c, s, i)
			}
		case c.linear != nil:
			k = c.linear.nextLinear(y, s, bounds)
		default:
			k = p.next(x, y, s[i])
			if c.sub != nil && k < bounds[i] && w.othersFrozen(p, x, y, s, bounds) {
				// Only process i can change anything: find where that helps.
				old := s[i]
				for n := 1; k < bounds[i]; n++ {
					s[i] = k
					if p.clauseHolds(x, s) || n%stopEvery == 0 && is.r.stopped.Load() {
						break
					}
					k = p.next(x, y, k)
				}
				s[i] = old
			}
		}
		b := branch{int32(i), k, k < bounds[i]}
		if b.viable {
			for j, m := range p.row(i, k) {
				if m >= bounds[j] {
					b.viable = false
					break
				}
			}
		}
		if b.viable {
			viable++
		}
		bounds2 := min(bounds[i], k)
		w.cand = append(w.cand, b)
		if len(c.support) > 1 {
			bounds[i] = bounds2
		}
	}
	return viable
}

// minimal returns the end of a minimum-length sequence of transitions that ends
// with a transition of some process of the clause's support and has no other
// one of the support; it advances process i if the support allows that.
func (w *intervalWorker) minimal(p *problem, c *clause, s []int32, i int) (int, int32) {
again:
	k := s[i] + 1
	row := p.row(i, k)
	for _, j := range c.support {
		if j != i && row[j] > s[j] {
			i = j
			goto again
		}
	}
	return i, k
}

// othersFrozen reports whether no process of clause x's support but the y'th
// can change anything about the clause within the bounds.
func (w *intervalWorker) othersFrozen(p *problem, x, y int, s, bounds []int32) bool {
	for z, j := range p.clauses[x].support {
		if z != y && p.next(x, z, s[j]) < bounds[j] {
			return false
		}
	}
	return true
}
