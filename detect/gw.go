package detect

// Garg and Waldecker's algorithms for conjunctions of 1-local predicates.
//
// gwPoss is the one for weak conjunctive predicates (1994): each process has a
// candidate, its first local state that satisfies its predicate and was not
// ruled out; a candidate that happened before another one is ruled out. O(N^2 S).
//
// gwDef is the one for strong conjunctive predicates (1996), on intervals of
// local states that satisfy the process's predicate: Def holds exactly when
// there is an interval of each process such that every one begins before (in the
// happened-before order) every one ends. Here it also finds the observation that
// avoids the predicate, which their paper's algorithm does not:
//
// The search has come to a consistent state in which the processes of a set F,
// not empty, are in no interval. If for some a of F the next interval of some
// process b can be left before a enters its own, then b leaves it: the state
// becomes the join with b's first local state after the interval. On the way a
// stays outside, so the predicate is false, and now b is outside. If there is no
// such pair then the next intervals of all processes overlap. For those that
// begin in F this is immediate. Suppose that an interval of some process c, not
// in F, began after another one, of b, ends. We are in c's interval only because
// something left its interval after c entered it; take the last chain of these:
// its end x is in F, and c's entry happened before x's next entry, which happened
// before b's exit. A contradiction. (An interval that a process is in at the
// start was begun before everything, one that it never leaves ends after
// everything.) So no choice is ever taken back, each step leaves an interval
// behind, and a step costs O(N^2) in the worst case.

// localTrue returns, for a problem of 1-local clauses (one for each process),
// whether local state k of process i satisfies its clause; a process without
// one satisfies it always.
func localTrue(p *problem) func(i int, k int32) bool {
	clauseOf := make([]int, p.n)
	for i := range clauseOf {
		clauseOf[i] = -1
	}
	for x := range p.clauses {
		if len(p.clauses[x].support) == 1 {
			clauseOf[p.clauses[x].support[0]] = x
		}
	}
	return func(i int, k int32) bool {
		x := clauseOf[i]
		if x < 0 {
			return true
		}
		pr := &p.procs[i]
		return pr.mask[int(pr.class[k])*p.words+x/64]>>(x%64)&1 != 0
	}
}

// impossible reports whether some clause has no support: it is false everywhere.
func (p *problem) impossible() bool {
	for x := range p.clauses {
		if len(p.clauses[x].support) == 0 {
			return true
		}
	}
	return false
}

func (r *run) gwPoss(p *problem) {
	var t tally
	defer func() { r.add(&t) }()
	if p.impossible() {
		t.states++
		return
	}
	isTrue := localTrue(p)
	s := make([]int32, p.n)
	// todo holds the processes whose candidate is new and has to be compared.
	todo := make([]int, p.n)
	for i := range todo {
		todo[i] = i
	}
	t.states++
	advance := func(i int, k int32) bool {
		last := p.procs[i].last
		for k <= last && !isTrue(i, k) {
			k++
		}
		if k > last {
			return false
		}
		if k > s[i] {
			t.states++
			t.transitions++
			t.events += int64(k - s[i])
			s[i] = k
		}
		return true
	}
	for i := range s {
		if !advance(i, 0) {
			return
		}
	}
	for len(todo) > 0 {
		if r.tick(&t) {
			return
		}
		j := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for i := range s {
			// i's candidate happened before j's: it is ruled out. (The other way
			// round is found when i is compared.)
			if need := p.row(j, s[j])[i]; need > s[i] {
				if !advance(i, need) {
					return
				}
				todo = append(todo, i)
			}
		}
	}
	r.found(p, s)
}

func (r *run) gwDef(p *problem) {
	var t tally
	defer func() { r.add(&t) }()
	t.states++
	if p.impossible() {
		r.avoided(p, p.complete(nil))
		return
	}
	isTrue := localTrue(p)
	type heads struct{ lo, hi int32 } // the next interval, or the one that the process is in
	next := make([]heads, p.n)
	s := make([]int32, p.n)
	var path []int
	// find sets next[i] for the current s[i]; it reports whether there is one.
	find := func(i int) bool {
		last := p.procs[i].last
		k := s[i]
		if next[i].lo <= k && k <= next[i].hi {
			return true // still in it
		}
		for k <= last && !isTrue(i, k) {
			k++
		}
		if k > last {
			return false
		}
		next[i].lo = k
		for k < last && isTrue(i, k+1) {
			k++
		}
		next[i].hi = k
		return true
	}
	for i := range next {
		next[i] = heads{-1, -1}
		if !find(i) {
			// It is never true: nothing can happen.
			r.avoided(p, p.complete(nil))
			return
		}
	}
	for {
		if r.tick(&t) {
			return
		}
		b := before(len(s), func(a int) bool { return s[a] >= next[a].lo },
			func(a, x int) bool {
				exit := next[x].hi + 1
				return exit <= p.procs[x].last && p.row(x, exit)[a] < next[a].lo
			})
		if b < 0 {
			return // the intervals overlap: no observation avoids the predicate
		}
		target := s[:0:0]
		target = append(target, s...)
		for j, k := range p.row(b, next[b].hi+1) {
			target[j] = max(target[j], k)
		}
		t.states++
		t.transitions++
		path = p.extend(path, s, target, &t)
		for i := range s {
			if !find(i) {
				r.avoided(p, p.complete(path))
				return
			}
		}
	}
}

// before returns a process that can leave its interval before another one that is not in its own
// enters that; -1 if there is none.
func before(n int, in func(a int) bool, leaves func(a, x int) bool) int {
	for a := range n {
		if in(a) {
			continue
		}
		for x := range n {
			if x != a && leaves(a, x) {
				return x
			}
		}
	}
	return -1
}

// extend appends to the path the transitions that lead from s to target, and
// makes s the target.
func (p *problem) extend(path []int, s, target []int32, t *tally) []int {
	for done := false; !done; {
		done = true
		for i := range s {
		run:
			for s[i] < target[i] {
				for j, x := range p.row(i, s[i]+1) {
					if j != i && x > s[j] {
						done = false
						break run
					}
				}
				s[i]++
				t.events++
				path = append(path, i)
			}
		}
	}
	return path
}

// complete extends a path to the final state.
func (p *problem) complete(path []int) []int {
	s := make([]int32, p.n)
	for _, i := range path {
		s[i]++
	}
	return p.extend(path, s, p.lastState(), &tally{})
}
