package gotest

import (
	"math/rand/v2"
	"slices"

	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// uniform chooses who runs next by SURW (Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform
// concurrency testing", ASPLOS 2025, algorithm 2), which draws all orders of the selected steps
// with the same probability. native.Selection says why, and what limits it.
type uniform struct {
	rand *rand.Rand
	// What is selected: all steps, or those that touch an object.
	all    bool
	object machine.Object
	// profile has the counts of an execution; weights is how many selected steps each thread, with
	// those that it will start, has left.
	profile profile
	weights []int
	alive   []bool // who has existed in this execution
	held    []bool // by thread: it stands before a selected step, and it is not its turn
	turn    int    // who takes the next selected step; -1: not drawn yet
	turnAt  int    // the number of the step at which that was drawn
}

// profile counts the steps of an execution.
type profile struct {
	steps   []int // by thread
	objects []objectSteps
	parents []int // by thread, from 1 on, of all executions; see adopt
}

// objectSteps counts the steps that touch an object.
type objectSteps struct {
	object machine.Object
	steps  []int // by thread
}

// patience is after how many steps it is somebody else's turn: those who run may spin until one
// moves that is held.
const patience = 1000

// begin prepares for the n-th execution by SURW, and tells whether it is one that only counts
// steps. Every other one selects all steps, the others those of one object in turns.
func (u *uniform) begin(n int) (counts bool) {
	u.turn, u.alive, u.held = -1, append(u.alive[:0], true), u.held[:0]
	p := &u.profile
	if n%profileEvery == 0 || len(p.steps) == 0 {
		p.steps, p.objects = p.steps[:0], p.objects[:0]
		return true
	}
	u.all = true
	steps := p.steps
	if n%2 == 0 && len(p.objects) > 0 {
		o := p.objects[n/2%len(p.objects)]
		u.all, u.object, steps = false, o.object, o.steps
	}
	u.weigh(steps)
	return false
}

// weigh makes the weights of what each thread takes itself.
func (u *uniform) weigh(steps []int) {
	u.weights = append(u.weights[:0], make([]int, max(len(steps), len(u.profile.parents)))...)
	for t, n := range steps {
		for u.weights[t] += n; t > 0; {
			t = u.profile.parent(t)
			u.weights[t] += n
		}
	}
}

// parent returns who started a thread, 0 if that is not known.
func (p *profile) parent(t int) int {
	if t < len(p.parents) {
		return p.parents[t]
	}
	return 0
}

// adopt notes that t has started x. The number of a thread that has ended is given to another one,
// so in one execution x may have started t, and in another one t starts x. The parents must have
// no such circle: then the first thread counts as the parent.
func (p *profile) adopt(t, x int) {
	for x >= len(p.parents) {
		p.parents = append(p.parents, 0)
	}
	for a := t; a > 0; a = p.parent(a) {
		if a == x {
			t = 0
		}
	}
	p.parents[x] = t
}

// count notes a step of an execution that only counts them.
func (u *uniform) count(t int, accesses []system.Access, m *machine.Machine) {
	p := &u.profile
	p.steps = add(p.steps, t, 1)
	var touched []machine.Object
	for _, a := range accesses {
		o, ok := m.Object(a.Loc)
		if !ok || slices.Contains(touched, o) {
			continue
		}
		touched = append(touched, o)
		i := slices.IndexFunc(p.objects, func(s objectSteps) bool { return s.object == o })
		if i < 0 {
			i = len(p.objects)
			p.objects = append(p.objects, objectSteps{object: o})
		}
		p.objects[i].steps = add(p.objects[i].steps, t, 1)
	}
}

// counted ends an execution that only counts: what one thread alone touches has one order.
func (u *uniform) counted() {
	u.profile.objects = slices.DeleteFunc(u.profile.objects, func(s objectSteps) bool {
		alone := 0
		for _, n := range s.steps {
			if n > 0 {
				alone++
			}
		}
		return alone < 2
	})
}

func add(list []int, i, n int) []int {
	for i >= len(list) {
		list = append(list, 0)
	}
	list[i] += n
	return list
}

// started notes the threads that a step of t has started, among those that exist.
func (u *uniform) started(t int, living []int) {
	for _, x := range living {
		for x >= len(u.alive) {
			u.alive = append(u.alive, false)
		}
		if u.alive[x] {
			continue
		}
		u.alive[x] = true
		u.profile.adopt(t, x)
		u.weights = add(add(u.weights, x, 0), t, 0)
		if sabotage.Is("surw/started") {
			continue
		}
		if w := u.weights[t]; u.turn == t && w > 0 && u.rand.IntN(w) < u.weights[x] {
			u.turn = x
		}
		u.weights[t] -= min(u.weights[t], u.weights[x])
	}
}

// selected tells whether a step is selected.
func (u *uniform) selected(accesses []system.Access, m *machine.Machine) bool {
	return u.all || slices.ContainsFunc(accesses, func(a system.Access) bool {
		o, ok := m.Object(a.Loc)
		return ok && o == u.object
	})
}

// isHeld tells whether a thread waits for its turn.
func (u *uniform) isHeld(t int) bool { return t < len(u.held) && u.held[t] }

// goes tells whether a thread may take a selected step, which is the n-th of the execution. If not,
// it is held. Enabled are those who can run.
func (u *uniform) goes(t, n int, enabled func() []int) bool {
	u.weights = add(u.weights, t, 0)
	if u.weights[t] == 0 {
		u.weights[t] = 1
	}
	if u.turn < 0 {
		u.turn, u.turnAt = u.draw(enabled()), n
	}
	if u.turn == t {
		u.weights[t]--
		u.release()
		return true
	}
	for t >= len(u.held) {
		u.held = append(u.held, false)
	}
	u.held[t] = true
	return false
}

// draw draws whose turn it is among those who can run, by what they have left.
func (u *uniform) draw(enabled []int) int {
	weight := func(t int) int {
		if w := 0; t < len(u.weights) {
			if w = u.weights[t]; w > 0 && sabotage.Is("surw/weights") {
				w = 1
			}
			return w
		}
		return 0
	}
	total := 0
	for _, t := range enabled {
		total += weight(t)
	}
	k := u.rand.IntN(total)
	for _, t := range enabled {
		if k -= weight(t); k < 0 {
			return t
		}
	}
	panic("no turn")
}

// release lets all go on that are held, and draws the next turn later. It tells whether any was.
func (u *uniform) release() (any bool) {
	any = slices.Contains(u.held, true)
	u.turn = -1
	clear(u.held)
	return any
}

// pass makes it the turn of one that is held, if the turn was drawn long before the n-th step.
func (u *uniform) pass(n int) {
	if u.turn < 0 || n-u.turnAt < patience {
		return
	}
	seen := 0
	for t, held := range u.held {
		if held {
			if seen++; u.rand.IntN(seen) == 0 {
				u.turn = t
			}
		}
	}
	if seen > 0 {
		u.held[u.turn], u.turnAt = false, n
	}
}
