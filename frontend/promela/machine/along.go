package machine

import (
	"fmt"
	"maps"
	"math/bits"
	"slices"

	"cpor/system"
	"cpor/trace"
)

// along looks for moves of the claim beside an execution of the processes, with which the claim
// reaches its end, or accept labels infinitely often. What the claim can do from a step on
// depends on the step and the claim's state.
type along struct {
	m     *Machine
	x     *Followed
	moves []map[int32][]claimed // by step and place of the claim
	good  []map[int32]bool      // likewise: the proposition Accepting
}

// claimed is a move of the claim beside a step.
type claimed struct {
	to   int32
	k, c int // the move is number k of c
	viol *system.Violation
}

// steps is the number of steps to move along with: those of the execution, and one in which the
// last state repeats, or of which only the claim's move counts.
func (a *along) steps() int {
	if n := len(a.x.Steps); a.x.Loop >= 0 && a.x.Loop < n {
		return n
	}
	return len(a.x.Steps) + 1
}

// claimAlong adds moves of the claim to an execution of the processes.
func (s *System) claimAlong(x *Followed) (*Followed, error) {
	a := &along{m: s.newMachine(), x: x}
	for range a.steps() {
		a.moves, a.good = append(a.moves, map[int32][]claimed{}), append(a.good, map[int32]bool{})
	}
	start := map[int32]bool{int32(s.claim.Start): true}
	finite := x.Loop < 0
	if finite {
		y := *x
		x, a.x = &y, &y
		if x.Violation != nil && x.Violation.Kind == system.Deadlock {
			// With a claim, an execution may end. Then the claim continues alone.
			t := *x.Trace
			t.Violation = nil
			x.Trace = &t
		}
		if s.Stays(x.Trace) {
			x.Loop = len(x.Steps)
		}
	}
	at := a.round(0, start)
	for len(at) > 0 {
		at = a.round(x.Loop, at)
	}
	if finite {
		x.Loop = -1
		return a.finite(int32(s.claim.Start))
	}
	return a.lasso(int32(s.claim.Start))
}

// round finds the moves from a step to the end of the execution, of a claim that is in one of
// some places. It returns the places after the last step that are new at the beginning of the
// loop.
func (a *along) round(from int, at map[int32]bool) map[int32]bool {
	m := a.m
	m.Load(m.sys.initial[0])
	for _, s := range a.x.Steps[:from] {
		m.step(s.Thread, s.Alt)
	}
	for i := from; i < a.steps(); i++ {
		mark := m.Mark()
		alone := i == len(a.x.Steps) && m.stuck()
		next := map[int32]bool{}
		for q := range at {
			if _, known := a.moves[i][q]; known {
				continue
			}
			m.setBits(0, claimShift, 16, uint64(q))
			a.good[i][q] = m.accepting()
			m.viol, m.fatal, m.failed = nil, false, 0
			m.stutter = alone
			list := m.claimMoves()
			m.stutter = false
			a.moves[i][q] = []claimed{}
			for k, mv := range list {
				a.moves[i][q] = append(a.moves[i][q], claimed{mv.to, k, len(list), mv.viol})
				next[mv.to] = true
			}
			m.Rewind(mark)
		}
		at = next
		if i < len(a.x.Steps) {
			m.step(a.x.Steps[i].Thread, a.x.Steps[i].Alt)
		}
	}
	fresh := map[int32]bool{}
	if a.x.Loop >= 0 {
		for q := range at {
			if _, known := a.moves[a.x.Loop][q]; !known {
				fresh[q] = true
			}
		}
	}
	return fresh
}

// node is the claim's state on a path, and whether the path has an accept label.
type node struct {
	q    int32
	good bool
}

// hop is the move that led to a node, and from where.
type hop struct {
	from node
	by   claimed
}

// ways finds the nodes after each step from one to the one before to, beginning at a place of
// the claim.
func (a *along) ways(from, to int, start int32) []map[node]hop {
	layers := []map[node]hop{{node{q: start}: {}}}
	for i := from; i < to; i++ {
		next := map[node]hop{}
		for _, nd := range sorted(layers[len(layers)-1]) {
			good := nd.good || a.good[i][nd.q]
			for _, mv := range a.moves[i][nd.q] {
				to := node{mv.to, good}
				if _, ok := next[to]; !ok {
					next[to] = hop{nd, mv}
				}
			}
		}
		layers = append(layers, next)
	}
	return layers
}

// sorted returns the nodes in an order that does not depend on chance, good ones first.
func sorted(layer map[node]hop) []node {
	return slices.SortedFunc(maps.Keys(layer), func(a, b node) int {
		if a.good != b.good {
			if a.good {
				return -1
			}
			return 1
		}
		return int(a.q - b.q)
	})
}

// back returns the moves on the path to a node of the last layer.
func back(layers []map[node]hop, to node) []claimed {
	out := make([]claimed, len(layers)-1)
	for i := len(layers) - 1; i > 0; i-- {
		h := layers[i][to]
		out[i-1] = h.by
		to = h.from
	}
	return out
}

// finite adds the moves to an execution that ends, and further steps if the claim then reaches
// its end.
func (a *along) finite(start int32) (*Followed, error) {
	n := len(a.x.Steps)
	layers := a.ways(0, n, start)
	if len(layers[n]) == 0 {
		return a.aside("cannot move beside all of its steps")
	}
	x := *a.x
	x.Trace = &trace.Trace{Violation: a.x.Violation}
	moves := back(layers, sorted(layers[n])[0])
	if x.Violation == nil {
		if m := a.last(layers); m != nil {
			moves, x.Violation = m, m[len(m)-1].viol
		}
	}
	steps := a.x.Steps[:n:n]
	for len(steps) < len(moves) {
		steps = append(steps, a.any())
	}
	if err := a.join(&x, steps, moves); err != nil || x.Violation == nil {
		return &x, err
	}
	// What a process violates in the same step comes first.
	m := a.m
	m.Load(m.sys.initial[0])
	for _, st := range x.Steps {
		x.Violation = m.Step(st.Thread, st.Alt).Violation
	}
	return &x, nil
}

// last returns moves along ways whose last one violates something: that beside the last step, one
// more, or, where no process can move, some more; nil if there are none.
func (a *along) last(layers []map[node]hop) []claimed {
	n := len(a.x.Steps)
	if n > 0 {
		for _, nd := range sorted(layers[n-1]) {
			for _, mv := range a.moves[n-1][nd.q] {
				if mv.viol != nil {
					return append(back(layers[:n], nd), mv)
				}
			}
		}
	}
	type place struct {
		nd   node
		tail []claimed
	}
	var queue []place
	seen := map[int32]bool{}
	for _, nd := range sorted(layers[n]) {
		queue = append(queue, place{nd: nd})
		seen[nd.q] = true
	}
	q := func(p place) int32 {
		if k := len(p.tail); k > 0 {
			return p.tail[k-1].to
		}
		return p.nd.q
	}
	alone := a.m.sys.Stays(a.x.Trace)
	for i := 0; i < len(queue); i++ {
		p := queue[i]
		for _, mv := range a.moves[n][q(p)] {
			if mv.viol != nil {
				return append(append(back(layers, p.nd), p.tail...), mv)
			}
			if alone && !seen[mv.to] {
				seen[mv.to] = true
				queue = append(queue, place{p.nd, append(p.tail[:len(p.tail):len(p.tail)], mv)})
			}
		}
	}
	return nil
}

// any returns a step in the state at the end, one that violates nothing if there is one.
func (a *along) any() trace.Step {
	m := a.m
	m.Load(m.sys.initial[0])
	for _, s := range a.x.Steps {
		m.step(s.Thread, s.Alt)
	}
	mark := m.Mark()
	found := trace.Step{Thread: m.alone()}
	for t := range m.n {
		out := m.step(t, 0)
		m.Rewind(mark)
		if out.Kind == system.Moved {
			found = trace.Step{Thread: t}
			if out.Violation == nil {
				break
			}
		}
	}
	return found
}

// lasso adds the moves to an infinite execution: the claim repeats the loop until its state
// repeats.
func (a *along) lasso(start int32) (*Followed, error) {
	loop, n := a.x.Loop, a.steps()
	type edge struct {
		to     int32
		good   bool
		layers []map[node]hop
	}
	rounds := map[int32][]edge{}
	// A breadth-first search from the places at the beginning of the loop.
	stem := a.ways(0, loop, start)
	type from struct {
		q  int32
		by *edge
	}
	search := func(starts []int32, to int32) (before map[int32]from, order []int32) {
		before = map[int32]from{}
		for _, q := range starts {
			if _, ok := before[q]; !ok {
				before[q] = from{q: -1}
				order = append(order, q)
			}
		}
		for i := 0; i < len(order); i++ {
			q := order[i]
			if q == to {
				break
			}
			if _, ok := rounds[q]; !ok {
				layers := a.ways(loop, n, q)
				rounds[q] = []edge{}
				for _, nd := range sorted(layers[len(layers)-1]) {
					rounds[q] = append(rounds[q], edge{nd.q, nd.good, layers})
				}
			}
			for k := range rounds[q] {
				e := &rounds[q][k]
				if _, ok := before[e.to]; !ok {
					before[e.to] = from{q, e}
					order = append(order, e.to)
				}
			}
		}
		return before, order
	}
	way := func(before map[int32]from, to int32) (edges []*edge) {
		for f := before[to]; f.by != nil; f = before[f.q] {
			edges = append([]*edge{f.by}, edges...)
		}
		return edges
	}
	var starts []int32
	for _, nd := range sorted(stem[len(stem)-1]) {
		starts = append(starts, nd.q)
	}
	before, order := search(starts, -1)
	for _, q := range order {
		for k := range rounds[q] {
			e := &rounds[q][k]
			if !e.good {
				continue
			}
			home, _ := search([]int32{e.to}, q)
			if _, ok := home[q]; !ok {
				continue
			}
			leads := way(before, q)
			first := q
			for f := before[q]; f.by != nil; f = before[f.q] {
				first = f.q
			}
			var moves []claimed
			last := stem[len(stem)-1]
			nd := node{first, true}
			if _, ok := last[nd]; !ok {
				nd.good = false
			}
			moves = append(moves, back(stem, nd)...)
			x := *a.x
			x.Trace = &trace.Trace{}
			steps := append([]trace.Step(nil), a.x.Steps[:loop]...)
			add := func(e *edge) {
				moves = append(moves, back(e.layers, node{e.to, e.good})...)
				if loop == len(a.x.Steps) {
					steps = append(steps, a.any())
				} else {
					steps = append(steps, a.x.Steps[loop:]...)
				}
			}
			for _, e := range leads {
				add(e)
			}
			x.Loop = len(steps)
			add(e)
			for _, e := range way(home, q) {
				add(e)
			}
			return &x, a.join(&x, steps, moves)
		}
	}
	return a.aside("has no run beside it that comes to accept labels again and again")
}

// aside returns the execution without the claim.
func (a *along) aside(why string) (*Followed, error) {
	x := *a.x
	x.Aside, x.Open = true, fmt.Sprintf("the claim %s %s", a.m.sys.claim.Name, why)
	return &x, nil
}

// join numbers steps of processes with moves of the claim as one, as Step does.
func (a *along) join(x *Followed, steps []trace.Step, moves []claimed) error {
	for i, s := range steps {
		hi, alt := bits.Mul64(s.Alt&^deep, uint64(moves[i].c))
		if hi != 0 || alt >= 1<<62 {
			return fmt.Errorf("so many choices lead through step %d that it has no number beside "+
				"the claim", i+1)
		}
		x.Steps = append(x.Steps, trace.Step{Thread: s.Thread,
			Alt: s.Alt&deep | (alt + uint64(moves[i].k))})
	}
	return nil
}
