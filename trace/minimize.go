package trace

import (
	"math"
	"slices"

	"cpor/system"
)

// The budgets keep minimizing from taking longer than the search that found
// the trace. They are counted in executed transitions, not in time, so that the
// result is the same on every machine.
const (
	// DefaultBudget bounds the transitions executed while steps are left out.
	DefaultBudget = 4_000_000
	// cutBudget bounds the consistent cuts that the exact search for the
	// fewest context switches visits; above it greedy schedules have to do.
	cutBudget = 1 << 18
	// orderBudget bounds the number of dependent pairs that are kept.
	orderBudget = 1 << 24
	// cycleBudget bounds the words of the states kept to find cycles.
	cycleBudget = 1 << 25
)

// Minimize returns a trace that shows the same violation (a deadlock: the same
// deadlocked state) with no more steps and no more context switches than t. It
//
//  1. leaves out what happened between two visits of the same state,
//  2. leaves out the steps on which the last one does not depend, directly or
//     not (the causal past of the violation is an execution of its own), and
//     then any other steps of a thread whose absence the replay survives
//     (delta debugging, Zeller and Hildebrandt 2002, thread by thread),
//  3. reorders independent steps of different threads so that there are as few
//     context switches as possible: exactly so if the lattice of the
//     consistent cuts of the trace is small, otherwise the best of several
//     greedy schedules.
//
// Each stage's result is replayed and thrown away if it does not show the
// violation, so that the returned trace replays whenever t does. A trace
// without a claim keeps its last state. If t does not replay, Minimize returns
// t itself. Budget is how many transitions the second half of stage 2 may
// execute; without it the other stages still take place.
func (t *Trace) Minimize(sys system.System, budget int) *Trace {
	return t.minimize(sys, budget, func() bool { return false })
}

// minimize is Minimize; it returns what it has when expired returns true.
func (t *Trace) minimize(sys system.System, budget int, expired func() bool) *Trace {
	p, err := newPlayer(sys, t.Initial)
	if err != nil || p.replay(t) != nil {
		return t
	}
	p.expired = expired
	z := &minimizer{player: p, claim: t.Violation, initial: t.Initial, budget: budget}
	if z.claim == nil || z.claim.Kind == system.Deadlock {
		z.final = p.m.Encode(nil)
	}
	steps := slices.Clone(t.Steps)
	for {
		before := steps
		steps = z.cutCycles(steps)
		steps = z.causalPast(steps)
		steps = z.reduce(steps)
		steps = z.schedule(steps)
		// In another order the steps can have cycles of their own. The loop
		// ends, because there are fewer steps or fewer switches every time.
		if slices.Equal(steps, before) {
			break
		}
	}
	return &Trace{Initial: t.Initial, Steps: steps, Violation: t.Violation}
}

// Switches returns the number of context switches of the trace: how often a
// step is taken by another thread than the step before.
func (t *Trace) Switches() int { return switches(t.Steps) }

func switches(steps []Step) int {
	n := 0
	for i := 1; i < len(steps); i++ {
		if steps[i].Thread != steps[i-1].Thread {
			n++
		}
	}
	return n
}

type minimizer struct {
	*player
	claim   *system.Violation
	initial int
	final   system.State // the last state, if it must stay; else nil
	budget  int
	buf     system.State
}

// shows reports whether steps show the claim, and reach the last state if that must stay.
func (z *minimizer) shows(steps []Step) bool {
	z.budget -= len(steps) + 1
	if z.expired() {
		z.budget = 0
	}
	if z.replay(&Trace{Initial: z.initial, Steps: steps, Violation: z.claim}) != nil {
		return false
	}
	if z.final == nil {
		return true
	}
	z.buf = z.m.Encode(z.buf)
	return slices.Equal(z.buf, z.final)
}

// cutCycles leaves out what happened between two visits of the same state.
func (z *minimizer) cutCycles(steps []Step) []Step {
	z.m.Load(z.player.initial)
	at := map[string]int{} // the state after so many of the kept steps
	var keys []string
	var key []byte
	visit := func() int {
		z.buf = z.m.Encode(z.buf)
		key = appendKey(key[:0], z.buf)
		if i, ok := at[string(key)]; ok {
			return i
		}
		k := string(key)
		at[k] = len(keys)
		keys = append(keys, k)
		return -1
	}
	visit()
	if len(z.buf)*len(steps) > cycleBudget {
		return steps
	}
	kept := make([]Step, 0, len(steps))
	for i, s := range steps {
		if _, err := z.step(i, s); err != nil {
			return steps
		}
		if i == len(steps)-1 && z.final == nil {
			// The last step shows the violation, wherever it leads.
			kept = append(kept, s)
			break
		}
		if back := visit(); back >= 0 {
			for _, k := range keys[back+1:] {
				delete(at, k)
			}
			keys = keys[:back+1]
			kept = kept[:back]
			continue
		}
		kept = append(kept, s)
	}
	return z.accept(steps, kept)
}

func appendKey(dst []byte, s system.State) []byte {
	for _, w := range s {
		for i := 0; i < 64; i += 8 {
			dst = append(dst, byte(w>>i))
		}
	}
	return dst
}

// accept returns the shorter sequence if it shows the claim, else the old one.
func (z *minimizer) accept(old, shorter []Step) []Step {
	if len(shorter) < len(old) && z.shows(shorter) {
		return shorter
	}
	return old
}

// order is the dependency order of a sequence of steps, as the direct
// predecessors of each step. It is the trace of Mazurkiewicz: every linear
// extension is an execution that ends in the same state.
type order [][]int32

// dependencies executes steps and returns their order. Two steps are dependent
// if they are of the same thread, if they touch a common location and one
// writes, or if one creates a thread and the other creates one too (the
// numbers of the threads depend on the order) or is that thread's.
func (z *minimizer) dependencies(steps []Step) order {
	type loc struct {
		write int32   // the last writer, or -1
		reads []int32 // the readers since
	}
	z.m.Track(true)
	defer z.m.Track(false)
	z.m.Load(z.player.initial)
	locs := map[system.Loc]*loc{}
	preds := make(order, len(steps))
	lastOf := map[int]int32{}
	creator := map[int]int32{}
	lastCreation := int32(-1)
	edges := 0
	for i, s := range steps {
		n := z.m.NumThreads()
		out, err := z.step(i, s)
		if err != nil {
			return nil
		}
		var ps []int32
		if p, ok := lastOf[s.Thread]; ok {
			ps = append(ps, p)
		} else if p, ok := creator[s.Thread]; ok {
			ps = append(ps, p)
		}
		lastOf[s.Thread] = int32(i)
		if now := z.m.NumThreads(); out.Created || now != n {
			if lastCreation >= 0 {
				ps = append(ps, lastCreation)
			}
			lastCreation = int32(i)
			for t := n; t < now; t++ {
				creator[t] = int32(i)
			}
		}
		for _, a := range z.m.Accesses() {
			l := locs[a.Loc]
			if l == nil {
				l = &loc{write: -1}
				locs[a.Loc] = l
			}
			if a.Write && len(l.reads) > 0 {
				// The readers come after the last writer.
				ps = append(ps, l.reads...)
			} else if l.write >= 0 {
				ps = append(ps, l.write)
			}
			if a.Write {
				l.write, l.reads = int32(i), l.reads[:0]
			} else {
				l.reads = append(l.reads, int32(i))
			}
		}
		slices.Sort(ps)
		ps = slices.Compact(ps)
		if len(ps) > 0 && ps[len(ps)-1] == int32(i) {
			ps = ps[:len(ps)-1]
		}
		preds[i] = ps
		if edges += len(ps); edges > orderBudget {
			return nil
		}
	}
	return preds
}

// causalPast keeps the steps on which the last one depends. For a deadlock
// every step counts, because every thread has to arrive where it is. Threads
// keep their numbers: a creation depends on all earlier ones, so that with a
// thread's steps all creations up to its own stay.
func (z *minimizer) causalPast(steps []Step) []Step {
	if z.final != nil || len(steps) == 0 {
		return steps
	}
	preds := z.dependencies(steps)
	if preds == nil {
		return steps
	}
	needed := make([]bool, len(steps))
	needed[len(steps)-1] = true
	var kept []Step
	for i := len(steps) - 1; i >= 0; i-- {
		if !needed[i] {
			continue
		}
		kept = append(kept, steps[i])
		for _, p := range preds[i] {
			needed[p] = true
		}
	}
	slices.Reverse(kept)
	return z.accept(steps, kept)
}

// reduce leaves out runs of a thread's steps, longer ones first, as long as
// the claim is still shown and the budget lasts.
func (z *minimizer) reduce(steps []Step) []Step {
	for progress := true; progress; {
		progress = false
		for _, t := range threadsOf(steps) {
			for size := countOf(steps, t); size >= 1; size /= 2 {
				for from := 0; ; {
					if z.budget < len(steps) {
						return steps
					}
					without, ok := leaveOut(steps, t, from, size)
					if !ok {
						break
					}
					if z.shows(without) {
						steps = without
						progress = true
					} else {
						from += size
					}
				}
			}
		}
	}
	return steps
}

// leaveOut returns steps without size steps of thread t, counted from the
// from-th one on; ok is false if there are not so many. The last step of all
// stays.
func leaveOut(steps []Step, t, from, size int) ([]Step, bool) {
	kept := make([]Step, 0, len(steps))
	k, left := 0, size
	for _, s := range steps {
		if s.Thread == t {
			if k >= from && left > 0 {
				left--
				k++
				continue
			}
			k++
		}
		kept = append(kept, s)
	}
	return kept, left == 0
}

func threadsOf(steps []Step) []int {
	var ts []int
	for _, s := range steps {
		if !slices.Contains(ts, s.Thread) {
			ts = append(ts, s.Thread)
		}
	}
	return ts
}

func countOf(steps []Step, t int) int {
	n := 0
	for _, s := range steps {
		if s.Thread == t {
			n++
		}
	}
	return n
}

// schedule reorders the steps within their dependency order so that there are
// few context switches.
func (z *minimizer) schedule(steps []Step) []Step {
	preds := z.dependencies(steps)
	if preds == nil {
		return steps
	}
	if z.final == nil && len(steps) > 0 {
		// The violating step stays the last one.
		last := len(steps) - 1
		preds[last] = preds[last][:0]
		for i := range last {
			preds[last] = append(preds[last], int32(i))
		}
	}
	best := steps
	try := func(perm []int32) {
		if perm == nil {
			return
		}
		c := make([]Step, len(perm))
		for i, j := range perm {
			c[i] = steps[j]
		}
		if switches(c) < switches(best) && z.shows(c) {
			best = c
		}
	}
	g := newGrid(steps, preds)
	if perm := g.exact(); perm != nil {
		try(perm)
		return best
	}
	for _, back := range []bool{false, true} {
		for _, longest := range []bool{false, true} {
			for first := range g.rows {
				if first > 0 && (first >= 8 || len(steps) > 10_000) {
					break
				}
				if z.expired() {
					return best
				}
				try(g.greedy(first, back, longest))
			}
		}
	}
	return best
}

// grid is a partial order of steps, laid out by thread.
type grid struct {
	rows [][]int32 // for each thread that takes part: its steps in order
	row  []int32   // of each step
	col  []int32   // of each step, within its row
	// need[i] lists what step i waits for: of which other row how many steps.
	need [][]cut
	// hold[i] lists the reverse: how many steps of other rows have to be
	// taken back before step i can be.
	hold [][]cut
}

type cut struct{ row, count int32 }

func newGrid(steps []Step, preds order) *grid {
	g := &grid{
		row:  make([]int32, len(steps)),
		col:  make([]int32, len(steps)),
		need: make([][]cut, len(steps)),
		hold: make([][]cut, len(steps)),
	}
	rowOf := map[int]int32{}
	for i, s := range steps {
		r, ok := rowOf[s.Thread]
		if !ok {
			r = int32(len(g.rows))
			rowOf[s.Thread] = r
			g.rows = append(g.rows, nil)
		}
		g.row[i], g.col[i] = r, int32(len(g.rows[r]))
		g.rows[r] = append(g.rows[r], int32(i))
	}
	for i, ps := range preds {
		for _, p := range ps {
			if g.row[p] == g.row[i] {
				continue
			}
			g.need[i] = atLeast(g.need[i], cut{g.row[p], g.col[p] + 1})
			rest := int32(len(g.rows[g.row[i]])) - g.col[i]
			g.hold[p] = atLeast(g.hold[p], cut{g.row[i], rest})
		}
	}
	return g
}

// atLeast adds c to cs, keeping one cut for each row, the largest.
func atLeast(cs []cut, c cut) []cut {
	for i := range cs {
		if cs[i].row == c.row {
			cs[i].count = max(cs[i].count, c.count)
			return cs
		}
	}
	return append(cs, c)
}

// exact returns the linear extension with the fewest context switches, or nil if it costs too much
// to find. It is a shortest path through the lattice of the consistent cuts in which an edge runs
// one thread as far as it can go. To stop a thread earlier does not help: steps only wait for
// others to be done, so moving a step forward into an earlier run of its thread delays nothing and
// can only make the later run that it came from disappear.
func (g *grid) exact() []int32 {
	stride := make([]int, len(g.rows))
	goal := 0
	size := 1
	for r, row := range g.rows {
		if size > math.MaxInt/(len(row)+1) {
			return nil
		}
		stride[r] = size
		goal += size * len(row)
		size *= len(row) + 1
	}
	from := map[int]int{0: -1} // the cut before the run that first led here
	layer := []int{0}
search:
	for len(layer) > 0 {
		var next []int
		for _, c := range layer {
			if len(from) > cutBudget { // with many threads a layer is large
				return nil
			}
			for r := range g.rows {
				d := g.run(c, r, stride)
				if _, seen := from[d]; seen {
					continue
				}
				from[d] = c
				if d == goal {
					break search
				}
				next = append(next, d)
			}
		}
		layer = next
	}
	if _, ok := from[goal]; !ok {
		return nil
	}
	var cuts []int
	for c := goal; c >= 0; c = from[c] {
		cuts = append(cuts, c)
	}
	perm := make([]int32, 0, len(g.row))
	for i := len(cuts) - 1; i > 0; i-- {
		c, d := cuts[i], cuts[i-1]
		for r, row := range g.rows {
			perm = append(perm, row[c/stride[r]%(len(row)+1):d/stride[r]%(len(row)+1)]...)
		}
	}
	return perm
}

// run runs row r from cut c as far as it goes and returns the cut there.
func (g *grid) run(c, r int, stride []int) int {
	row := g.rows[r]
	for at := c / stride[r] % (len(row) + 1); at < len(row); at++ {
		for _, n := range g.need[row[at]] {
			if c/stride[n.row]%(len(g.rows[n.row])+1) < int(n.count) {
				return c
			}
		}
		c += stride[r]
	}
	return c
}

// greedy returns a linear extension that continues with the same thread as long as it can. It
// starts with row first if it can. At a switch it takes the row with the longest run ahead, or the
// next row that can run at all. If back is set, the schedule is built from its end.
func (g *grid) greedy(first int, back, longest bool) []int32 {
	done := make([]int32, len(g.rows))
	total := len(g.row)
	at := func(r int, k int32) int32 {
		if back {
			return g.rows[r][len(g.rows[r])-1-int(k)]
		}
		return g.rows[r][k]
	}
	waits := g.need
	if back {
		waits = g.hold
	}
	ahead := func(r int) int32 {
		k := done[r]
	run:
		for ; int(k) < len(g.rows[r]); k++ {
			for _, n := range waits[at(r, k)] {
				if done[n.row] < n.count {
					break run
				}
			}
		}
		return k - done[r]
	}
	perm := make([]int32, 0, total)
	r := first
	for len(perm) < total {
		n := ahead(r)
		if n == 0 {
			var most int32
			start := r
			for i := 1; i <= len(g.rows); i++ {
				q := (start + i) % len(g.rows)
				if k := ahead(q); k > most {
					most, r = k, q
					if !longest {
						break
					}
				}
			}
			if most == 0 {
				return nil
			}
			n = most
		}
		for range n {
			perm = append(perm, at(r, done[r]))
			done[r]++
		}
	}
	if back {
		slices.Reverse(perm)
	}
	return perm
}
