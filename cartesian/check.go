package cartesian

import (
	"slices"

	"cpor/engine/search"
	"cpor/engine/search/validate"
	"cpor/system"
)

// maxCells bounds the pairs of transitions that are executed in both orders
// for one pair of prefixes. Of longer prefixes a part of the pairs is executed,
// spread evenly.
const maxCells = 1 << 16

// checker verifies one vector. It ends at the first difference.
type checker struct {
	e      *Expander
	v      *Vector
	m, n   system.Machine
	buf    [2]system.State
	report error
}

// check verifies the vector that calc has left:
//
//   - each prefix is a run of its thread alone, with the outcomes and the
//     accesses that were recorded, and it ends where it claims to; a self-loop
//     changes nothing and is the last; the end of an infinite one stands on it;
//   - two orders of independent transitions lead to equal hashes (a state that a
//     prefix comes back to may have another one, see system.Machine.Hash);
//   - two transitions of different threads' prefixes conflict only if both are
//     the last (definition 2), by comparing all pairs;
//   - two transitions that are not both the last lead to the same state in both
//     orders, with the same outcomes, executed in every state that the two
//     prefixes can reach together (definition 1 in the states at hand).
func (e *Expander) check(s system.State) {
	c := &checker{e: e, v: e.vector(s), m: e.sys.NewMachine(), n: e.sys.NewMachine()}
	c.m.Track(true)
	c.n.Track(true)
	for i := range c.v.Prefixes {
		c.alone(&c.v.Prefixes[i])
	}
	for i := range c.v.Prefixes {
		for j := range i {
			if p, q := &c.v.Prefixes[i], &c.v.Prefixes[j]; p.Thread != q.Thread {
				c.conflicts(p, q)
				c.commute(p, q)
			}
		}
	}
	if c.report != nil {
		e.o.Check(c.report)
	}
}

func (c *checker) ok() bool { return c.report == nil }

// step is the k-th step of a prefix.
func (p *Prefix) step(k int) search.Step {
	if k == 0 {
		return search.Step{Thread: p.Thread, Alt: p.Alt}
	}
	return search.Step{Thread: p.Thread}
}

// fail reports a difference in the state after some steps of p and then q.
func (c *checker) fail(p *Prefix, a int, q *Prefix, b int, format string, args ...any) {
	if !c.ok() {
		return
	}
	var steps []search.Step
	for k := range a {
		steps = append(steps, p.step(k))
	}
	for k := range b {
		steps = append(steps, q.step(k))
	}
	c.report = validate.NewDifference(c.e.sys, c.v.Start, steps, "cartesian: "+format, args...)
}

// take executes the k-th step of a prefix on machine m and reports whether it does what was
// recorded. One alternative of several may read more than it did: what keeps another alternative
// from being enabled now, which was enabled and had a prefix of its own then.
func (p *Prefix) take(m system.Machine, k int) bool {
	s := p.step(k)
	t := p.Transitions[k]
	if !validate.Same(m.Step(s.Thread, s.Alt), t.Outcome) {
		return false
	}
	got := m.Accesses()
	if k == 0 && (p.Alt != 0 || t.Outcome.Next != 0) {
		got = slices.DeleteFunc(slices.Clone(got), func(a system.Access) bool {
			return !a.Write && !slices.ContainsFunc(t.Accesses, a.Same)
		})
	}
	return validate.SameAccesses(got, t.Accesses)
}

func (c *checker) alone(p *Prefix) {
	c.m.Load(c.v.Start)
	last := len(p.Transitions) - 1
	var states []system.State
	for k, t := range p.Transitions {
		states = append(states, c.m.Encode(nil))
		before := states[k]
		if !p.take(c.m, k) {
			c.fail(p, k, nil, 0, "a transition does not repeat: %v", t)
		}
		after := c.m.Encode(nil)
		if t.Outcome.Kind != system.Moved && (k != last || !slices.Equal(before, after)) {
			c.fail(p, k, nil, 0, "a self-loop (%v) changes the state or is not the last transition",
				t.Outcome.Kind)
		}
		if k > 0 && t.Outcome.Next != 0 {
			c.fail(p, k, nil, 0, "a choice inside a prefix")
		}
		c.n.Load(after)
		if !slices.Equal(c.n.Encode(nil), after) {
			c.fail(p, k+1, nil, 0, "the state has a different encoding after it was reloaded")
		}
		if k == last {
			if !slices.Equal(after, p.End) {
				c.fail(p, k+1, nil, 0, "the prefix does not end where it claims to")
			}
			if p.Infinite && !slices.ContainsFunc(states, func(s system.State) bool {
				return slices.Equal(s, after)
			}) {
				c.fail(p, k+1, nil, 0, "the prefix is not infinite")
			}
		}
		if !c.ok() {
			return
		}
	}
}

func (c *checker) conflicts(p, q *Prefix) {
	at := map[system.Loc][]int{} // the transitions of q by location
	for b, t := range q.Transitions {
		for _, x := range t.Accesses {
			at[x.Loc] = append(at[x.Loc], b)
		}
	}
	for a, t := range p.Transitions {
		for _, x := range t.Accesses {
			for _, b := range at[x.Loc] {
				y := q.Transitions[b].Accesses
				if a == len(p.Transitions)-1 && b == len(q.Transitions)-1 ||
					!slices.ContainsFunc(y, x.Conflicts) {
					continue
				}
				c.fail(p, a, q, b, "transitions conflict at %s, and are not both the last",
					c.e.base.LocName(x.Loc))
				return
			}
		}
	}
}

func (c *checker) commute(p, q *Prefix) {
	stride := 1 + len(p.Transitions)*len(q.Transitions)/maxCells
	for a := 0; a < len(p.Transitions) && c.ok(); a += stride {
		c.m.Load(c.v.Start)
		for k := range a {
			p.take(c.m, k)
		}
		for b := 0; b < len(q.Transitions); b++ {
			mark := c.m.Mark()
			if a < len(p.Transitions)-1 || b < len(q.Transitions)-1 {
				one, two := p.take(c.m, a), q.take(c.m, b)
				c.buf[0] = c.m.Encode(c.buf[0])
				hash := c.m.Hash()
				c.m.Rewind(mark)
				three, four := q.take(c.m, b), p.take(c.m, a)
				c.buf[1] = c.m.Encode(c.buf[1])
				other := c.m.Hash()
				c.m.Rewind(mark)
				if !one || !two || !three || !four || !slices.Equal(c.buf[0], c.buf[1]) {
					c.fail(p, a, q, b, "transitions %v and %v of threads %d and %d are not "+
						"independent", p.Transitions[a], q.Transitions[b], p.Thread, q.Thread)
					return
				}
				if hash != other {
					c.fail(p, a, q, b, "the next transitions of threads %d and %d lead to one "+
						"state with two hashes", p.Thread, q.Thread)
					return
				}
			}
			q.take(c.m, b)
		}
	}
}

// checkDeadlock executes the steps to a deadlock.
func (e *Expander) checkDeadlock(s system.State, tail []search.Step) {
	m := e.sys.NewMachine()
	m.Load(s)
	for _, step := range tail {
		m.Step(step.Thread, step.Alt)
	}
	if enabled, blocked := e.obs.Deadlock(m); enabled >= 0 || len(blocked) == 0 {
		e.o.Check(validate.NewDifference(e.sys, s, tail,
			"cartesian: the composed state is not a deadlock"))
	}
}
