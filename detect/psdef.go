package detect

import (
	"errors"
	"slices"
	"sync"
)

var errMatch = errors.New("internal error: a search with sleep sets reached a state twice")

// psdef is persistent-set selective search with PSDef (paper, section 6 and
// figure 5): it looks for a path from the initial to the final state on which
// the predicate is false. States where it holds (h would become true) are not
// entered.
//
// Two things are added to the figure. If no process of the support of a false
// clause can move any more, the clause, and the predicate, is false forever: any
// continuation is a violation (the figure would return the empty set, which is
// not persistent). And, unless switched off, a dominating run of a single
// process is explored alone, see dominating.
//
// Each worker searches depth-first with a state of its own that is changed in
// place. When another one is idle, it gives away what is left to explore at its
// shallowest state, as the path that leads there. The visited states are shared.
type psdef struct {
	*psposs
	shared   *sharedSet
	base     []int32   // the path to the state that this worker began with
	nextTrue [][]int32 // of 1-local clauses, by clause: first true local state from k on
	tryT     []int32
	bestT    []int32
}

// defItem is work that was given away: a path from the initial state.
type defItem []int32

// sharedSet is a keySet in parts, each with its lock.
type sharedSet struct {
	parts [64]struct {
		mu  sync.Mutex
		set *keySet
		_   [40]byte // each on a cache line of its own
	}
}

func newSharedSet(words int) *sharedSet {
	s := &sharedSet{}
	for i := range s.parts {
		s.parts[i].set = newKeySet(words)
	}
	return s
}

// insert adds the key and reports whether it was new, and by how many bytes the
// set grew.
func (s *sharedSet) insert(key []uint64) (fresh bool, grown int64) {
	p := &s.parts[hashKey(key)>>58]
	p.mu.Lock()
	before := p.set.bytes()
	fresh = p.set.insert(key)
	grown = p.set.bytes() - before
	p.mu.Unlock()
	return fresh, grown
}

func (r *run) psdef(p *problem) {
	nextTrue := make([][]int32, len(p.clauses))
	for x := range p.clauses {
		c := &p.clauses[x]
		if len(c.support) != 1 {
			continue
		}
		pr := &p.procs[c.support[0]]
		next := make([]int32, pr.last+2)
		next[pr.last+1] = pr.last + 1
		for k := pr.last; k >= 0; k-- {
			next[k] = next[k+1]
			if pr.mask[int(pr.class[k])*p.words+x/64]>>(x%64)&1 != 0 {
				next[k] = k
			}
		}
		nextTrue[x] = next
	}
	pack := newPacker(p)
	shared := newSharedSet(pack.words)
	workers := make([]*psdef, r.opt.Workers)
	runPool(r.opt.Workers, []defItem{nil}, r.stopped.Load, func(w *worker[defItem], item defItem) {
		d := workers[w.id]
		if d == nil {
			d = &psdef{psposs: newPSPoss(r, p), shared: shared, nextTrue: nextTrue}
			d.pack, d.key = pack, make([]uint64, pack.words)
			workers[w.id] = d
		}
		d.searchDef(w, item)
	})
	for _, d := range workers {
		if d != nil {
			r.add(&d.tally)
		}
	}
}

// holds reports whether the predicate holds in the current state.
func (d *psdef) holds() bool { return d.falseClause() < 0 }

// enterDef is entered with a state that does not satisfy the predicate.
func (d *psdef) enterDef(moved int32) (done bool) {
	d.pack.pack(d.s, d.key)
	empty := frame{from: len(d.todo), to: len(d.todo), at: len(d.todo), moved: moved}
	fresh, grown := d.shared.insert(d.key)
	if !fresh {
		d.frames = append(d.frames, empty)
		return false
	}
	if grown > 0 {
		d.r.bytes.Add(grown)
	}
	d.states++
	if d.r.tick(&d.tally) {
		return true
	}
	from := len(d.todo)
	if d.r.opt.NoPersistent {
		final := true
		for i, w := range d.wait {
			if w == 0 {
				d.todo = append(d.todo, int32(i))
			}
			final = final && w < 0
		}
		if final {
			d.violation(moved)
			return true
		}
	} else if d.persistent() {
		d.violation(moved)
		return true
	}
	d.frames = append(d.frames, frame{from: from, to: len(d.todo), at: from, moved: moved})
	return false
}

// persistent appends PSDef(s) to todo; forever is set when some clause stays
// false whatever happens.
func (d *psdef) persistent() (forever bool) {
	if !d.r.opt.NoDominance {
		if i := d.dominating(); i >= 0 {
			d.todo = append(d.todo, int32(i))
			return false
		}
	}
	p := d.p
	// The choices of the figure are ours: take the smallest set.
	have := false
	from := len(d.todo)
	keep := func() {
		t := d.todo[from:]
		if !have || len(t) < len(d.bestT) {
			d.bestT = append(d.bestT[:0], t...)
			have = true
		}
		d.todo = d.todo[:from]
	}
	falseClauses := d.falseClauses()
	for _, x := range falseClauses {
		d.todo = d.todo[:from]
		d.followWF(p.clauses[x].support)
		t := d.todo[from:]
		if len(t) == 0 {
			return true
		}
		if d.staysFalse(x, t) { // (c)
			keep()
			if len(d.bestT) == 1 {
				break
			}
			continue
		}
		for _, y := range falseClauses {
			if !disjoint(p.clauses[x].support, p.clauses[y].support) {
				continue
			}
			if d.nextTrue[y] != nil && d.falseUntilEnd(y, d.todo[from:]) { // (d)
				keep()
				break
			}
			n := len(d.todo)
			d.followWF(p.clauses[y].support) // (e)
			if len(d.todo) == n {
				return true
			}
			d.dedupe(from)
			d.tryT = append(d.tryT[:0], d.todo[from:n]...)
			keep()
			d.todo = append(d.todo, d.tryT...)
		}
	}
	d.todo = d.todo[:from]
	if have {
		d.todo = append(d.todo, d.bestT...)
		return false
	}
	for i, w := range d.wait { // (f)
		if w == 0 {
			d.todo = append(d.todo, int32(i))
		}
	}
	return false
}

func (d *psdef) dedupe(from int) {
	kept := d.todo[:from]
	for _, i := range d.todo[from:] {
		if !d.seen[i] {
			d.seen[i] = true
			kept = append(kept, i)
		}
	}
	d.todo = kept
	for _, i := range kept[from:] {
		d.seen[i] = false
	}
}

// falseClauses returns the clauses that are false in the state.
func (d *psdef) falseClauses() []int {
	var out []int
	p := d.p
	p.truth(d.s, d.acc)
	for x := range p.clauses {
		if d.acc[x/64]>>(x%64)&1 == 0 && !p.jointHolds(x, d.s) {
			out = append(out, x)
		}
	}
	return out
}

// staysFalse reports whether clause x is still false after each of the
// transitions.
func (d *psdef) staysFalse(x int, t []int32) bool {
	for _, i := range t {
		d.s[i]++
		holds := d.p.clauseHolds(x, d.s)
		d.s[i]--
		if holds {
			return false
		}
	}
	return true
}

func disjoint(a, b []int) bool {
	for _, x := range a {
		for _, y := range b {
			if x == y {
				return false
			}
		}
	}
	return true
}

// falseUntilEnd is formula (5) of the paper for the 1-local clause y: staying
// outside T, it remains false except perhaps in the last state.
func (d *psdef) falseUntilEnd(y int, t []int32) bool {
	p := d.p
	j := p.clauses[y].support[0]
	active := make([]bool, p.n)
	for _, i := range t {
		active[i] = true
	}
	// Process j cannot go past its next true local state before some process
	// of T has moved: c[i][s(i)] happened before the local state after that one.
	beyond := d.nextTrue[y][d.s[j]] + 1
	if beyond <= p.procs[j].last {
		row := p.row(j, beyond)
		bound := false
		for _, i := range t {
			if int(i) != j && row[i] > d.s[i] || int(i) == j {
				bound = true
				break
			}
		}
		if !bound {
			return false
		}
	}
	// Every other process is at its end or waits, perhaps through others, for
	// one of T.
	for i := range p.procs {
		if i == j || active[i] || d.next[i] == nil {
			continue
		}
		if !d.waitsFor(i, active) {
			return false
		}
	}
	return true
}

// waitsFor reports whether a process of the set is reachable from i in the
// wait-for graph. The transitive closure of the graph is in the clocks: whatever
// the next transition of i depends on, directly or not, is in its clock.
func (d *psdef) waitsFor(i int, set []bool) bool {
	for j, x := range d.next[i] {
		if j != i && set[j] && x > d.s[j] {
			return true
		}
	}
	return false
}

// maxRun bounds the length of the runs that dominating looks at.
const maxRun = 64

// dominating looks for a process i that can run alone from its local state to a
// later one, k, such that the predicate stays false on the way and the class of
// k is dominated by the classes of all local states that it leaves: it makes no
// literal true that one of them did not, and changes no variable of a joint
// literal. It returns i, or -1.
//
// Exploring only the first transition of this run is enough. Take a path from s
// to the final state on which the predicate is false, and let i do the run
// first: the global states on the way are false by choice. In those after it,
// process i is where it was or, if it was still short of k, in k, where no
// clause is true that was false: they are false, too.
//
// (That the first transition alone is explored, and the rest of the run found
// again in the next state, is only a matter of where the loop stands: the next
// state has a dominating run, too, namely the rest.)
func (d *psdef) dominating() int {
	p := d.p
	for i := range p.procs {
		if d.wait[i] != 0 {
			continue
		}
		pr := &p.procs[i]
		k0 := d.s[i]
		found := false
		for k := k0 + 1; k <= pr.last && k <= k0+maxRun; k++ {
			if pr.tuple[pr.class[k]] != pr.tuple[pr.class[k0]] || k > k0+1 && !d.enabledTo(i, k) {
				break
			}
			if d.dominated(pr, k0, k) {
				found = true // no clause is true in it that was not before
				break
			}
			d.s[i] = k
			if d.holds() {
				break
			}
		}
		d.s[i] = k0
		if found {
			return i
		}
	}
	return -1
}

// enabledTo reports whether process i can go to local state k without the
// others.
func (d *psdef) enabledTo(i int, k int32) bool {
	for j, x := range d.p.row(i, k) {
		if j != i && x > d.s[j] {
			return false
		}
	}
	return true
}

// dominated reports whether the class of local state k makes no literal true
// that one of those of from..k-1 does not.
func (d *psdef) dominated(pr *proc, from, k int32) bool {
	end := int(pr.class[k])
	for ; from < k; from++ {
		x := int(pr.class[from])
		for w := range d.p.words {
			if pr.mask[end*d.p.words+w]&^pr.mask[x*d.p.words+w] != 0 {
				return false
			}
		}
	}
	return true
}

// violation reports the path on the stack and the last transition, moved,
// completed to the final state. The predicate is false from here on.
func (d *psdef) violation(moved int32) {
	path := d.path()
	if moved >= 0 {
		path = append(path, int(moved))
	}
	for {
		progress := false
		for i := range d.wait {
			for d.wait[i] == 0 {
				d.move(i)
				path = append(path, i)
				progress = true
			}
		}
		if !progress {
			break
		}
	}
	d.r.add(&d.tally)
	d.r.avoided(d.p, path)
}

func (d *psdef) path() []int {
	var path []int
	for _, i := range d.base {
		path = append(path, int(i))
	}
	for _, f := range d.frames {
		if f.moved >= 0 {
			path = append(path, int(f.moved))
		}
	}
	return path
}

// share gives away what is left to explore at the shallowest state of the stack
// that has something.
func (d *psdef) share(w *worker[defItem]) {
	prefix := slices.Clone(d.base)
	for x := range d.frames {
		f := &d.frames[x]
		if f.moved >= 0 {
			prefix = append(prefix, f.moved)
		}
		if f.at == f.to || x == len(d.frames)-1 && f.at+1 == f.to {
			continue // nothing to give, or nothing would be left
		}
		var items []defItem
		for _, i := range d.todo[f.at:f.to] {
			items = append(items, append(slices.Clone(prefix), i))
		}
		f.to = f.at
		w.give(items)
		return
	}
}

// searchDef explores what can be reached by the path.
func (d *psdef) searchDef(w *worker[defItem], path defItem) {
	// To the initial state and along the path: that is cheap compared with what
	// comes.
	clear(d.s)
	for i := range d.s {
		d.arm(i)
	}
	d.frames, d.todo, d.base = d.frames[:0], d.todo[:0], path
	for _, i := range path {
		d.move(int(i))
	}
	if len(path) > 0 {
		d.transitions++
		d.events++
	}
	// The initial state is in every history.
	if d.holds() || d.enterDef(-1) {
		return
	}
	for len(d.frames) > 0 {
		f := &d.frames[len(d.frames)-1]
		if f.at == f.to {
			d.todo = d.todo[:f.from]
			moved := f.moved
			d.frames = d.frames[:len(d.frames)-1]
			if moved >= 0 {
				d.undo(int(moved))
			}
			continue
		}
		if len(w.pool.hungry) > 0 {
			d.share(w)
			if f.at == f.to {
				continue
			}
		}
		i := d.todo[f.at]
		f.at++
		d.transitions++
		d.events++
		d.move(int(i))
		if d.holds() {
			d.undo(int(i))
			continue
		}
		if d.enterDef(i) {
			return
		}
	}
}
