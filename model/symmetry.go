package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cpor/internal/human"
	"cpor/system"
)

// ID names one of the processes that [Builder.Symmetric] declares to be alike: the number of its
// place among them. Values have it as any number type; in exchanged states it changes along.
// Numbers from the number of processes on name nobody and stay.
type ID uint8

// maxAlike bounds how many processes can be exchanged: the search looks at every permutation.
const maxAlike = 6

// symmetry is what can be exchanged.
type symmetry struct {
	procs  []*Process
	arrays []Indexed
	perms  []permutation // without the identity
}

// permutation exchanges processes. to is the new number of each.
type permutation struct {
	to    []int
	moves []move
}

// idCell is where a process is named, if what is at in is not 0.
type idCell struct {
	at cell
	in *cell
}

// move copies a cell.
type move struct{ from, to cell }

// Indexed is an array with an element for each of the processes that are alike.
type Indexed struct {
	locs [][]system.Loc
}

// By says that the elements of an array belong to the processes of the same numbers.
func By[E interface{ locations() []system.Loc }](elements []E) Indexed {
	var x Indexed
	for _, e := range elements {
		x.locs = append(x.locs, e.locations())
	}
	return x
}

func span(first system.Loc, n int) []system.Loc {
	ls := make([]system.Loc, n)
	for i := range ls {
		ls[i] = first + system.Loc(i)
	}
	return ls
}

func (v *Var[T]) locations() []system.Loc { return span(v.first, len(v.widths)) }

func (c *Chan[T]) locations() []system.Loc {
	ls := span(c.slot, c.n*c.per)
	if c.n > 1 {
		ls = append(ls, c.head, c.tail)
	}
	return ls
}

func (mu *Mutex) locations() []system.Loc { return span(mu.loc, 1) }

// Symmetric says that exchanging processes, with the elements of the arrays that belong to them,
// changes nothing but names: searches with stored states then store one state for all that differ
// only by that. The processes must run the same code, which must treat the others alike: a loop
// that adds a step for each of them does not, and one inside of a step does. Variables name
// processes by type [ID]; one that names nobody has a number above theirs, also at first.
//
//	b.Symmetric(caches, model.By(line), model.By(data))
//
// Some hundred steps are tried in exchanged states, and a difference is a mistake in the model.
// That does not prove the claim.
func (b *Builder) Symmetric(ps []*Process, arrays ...Indexed) {
	m := b.building("Symmetric")
	switch {
	case m.alike != nil:
		panic(m.mistake("Symmetric is called twice; only processes of one kind can be exchanged"))
	case len(ps) < 2 || len(ps) > maxAlike:
		panic(m.mistake("Symmetric with %s; it takes 2 to %d", human.Plural(uint64(len(ps)),
			"process"), maxAlike))
	}
	for _, p := range ps {
		if p.shape() != ps[0].shape() {
			panic(m.mistake("Symmetric: %s has other steps than %s", p.name, ps[0].name))
		}
	}
	if len(m.meetings) > 0 {
		panic(m.mistake("Symmetric in a model with a channel without a buffer; give it one, or " +
			"leave the call away"))
	}
	for _, a := range arrays {
		if len(a.locs) != len(ps) {
			panic(m.mistake("Symmetric: an array of %d for %d processes", len(a.locs), len(ps)))
		}
	}
	m.alike = &symmetry{procs: ps, arrays: arrays}
	m.lay = append(m.lay, m.permute)
}

// shape says what steps a process has.
func (p *Process) shape() string {
	s := fmt.Sprint(p.widths)
	for i := range p.nodes {
		n := &p.nodes[i]
		s += fmt.Sprintln(n.kind, n.pos, n.next, len(n.cases), n.labels, n.mayEnd)
	}
	return s
}

// permute computes the permutations when everything has its place.
func (m *machine) permute() {
	s := m.alike
	var all func(to []int)
	all = func(to []int) {
		if len(to) == len(s.procs) {
			if !slices.IsSorted(to) {
				s.perms = append(s.perms, m.permutation(slices.Clone(to)))
			}
			return
		}
		for k := range s.procs {
			if !slices.Contains(to, k) {
				all(append(to, k))
			}
		}
	}
	all(nil)
}

func (m *machine) permutation(to []int) permutation {
	x := permutation{to: to}
	for i, k := range to {
		if i == k {
			continue
		}
		p, q := m.alike.procs[i], m.alike.procs[k]
		for c := range p.slot {
			x.moves = append(x.moves, move{p.slot[c], q.slot[c]})
		}
		if p.spawned {
			x.moves = append(x.moves, move{m.locs[p.existence].cell, m.locs[q.existence].cell})
		}
		x.moves = append(x.moves, move{cell{p.fail, 0, ones(64)}, cell{q.fail, 0, ones(64)}})
		for _, a := range m.alike.arrays {
			for c := range a.locs[i] {
				x.moves = append(x.moves, move{m.locs[a.locs[i][c]].cell,
					m.locs[a.locs[k][c]].cell})
			}
		}
	}
	return x
}

// apply writes the state that src becomes over dst, which has its length.
func (m *machine) apply(x *permutation, dst, src system.State) {
	copy(dst, src)
	for i := range x.moves {
		v := &x.moves[i]
		v.to.put(dst, v.from.get(src))
	}
	for i := range m.ids {
		c := &m.ids[i]
		if c.in != nil && c.in.get(dst) == 0 {
			continue
		}
		if k := c.at.get(dst); k < uint64(len(x.to)) {
			c.at.put(dst, uint64(x.to[k]))
		}
	}
	for _, mu := range m.mutexes {
		owner := int(mu.cell.get(dst)) - 1
		for k, p := range m.alike.procs {
			if p.thread == owner {
				mu.cell.put(dst, uint64(m.alike.procs[x.to[k]].thread+1))
				break
			}
		}
	}
}

// Symmetry implements [system.Symmetric].
func (s *System) Symmetry() string {
	if s.made.alike == nil {
		return ""
	}
	var names []string
	for _, p := range s.made.alike.procs {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// Representatives implements [system.Symmetric]: the least state of an orbit.
func (s *System) Representatives() func(state system.State) {
	m := s.made
	var best, next system.State
	return func(state system.State) {
		best = append(best[:0], state...)
		next = append(next[:0], state...)
		for i := range m.alike.perms {
			m.apply(&m.alike.perms[i], next, state)
			if slices.Compare(next, best) < 0 {
				best, next = next, best
			}
		}
		copy(state, best)
	}
}

// exchanged tries the steps of a state in another one of its orbit, and says what differs.
func (m *machine) exchanged(state system.State, r *rand.Rand) error {
	x := &m.alike.perms[r.IntN(len(m.alike.perms))]
	other := make(system.State, len(state))
	m.apply(x, other, state)
	for t := range m.threads() {
		u := t
		for k, p := range m.alike.procs {
			if p.thread == t {
				u = m.alike.procs[x.to[k]].thread
			}
		}
		here, there := m.ends(state, t, x), m.ends(other, u, nil)
		if !slices.Equal(here, there) {
			m.Load(state)
			pos, text, _ := m.Next(t)
			return &Mistake{pos, fmt.Sprintf("Symmetric: %s and %s cannot be exchanged: in "+
				"exchanged states, this step does not do the same: %s", m.ThreadName(t),
				m.ThreadName(u), text)}
		}
	}
	return nil
}

// ends returns where the steps of a thread lead, exchanged by x if that is not nil, in order.
func (m *machine) ends(state system.State, t int, x *permutation) []string {
	var all []string
	for alt, more := uint64(0), true; more; {
		m.Load(state)
		out := m.Step(t, alt)
		end := m.Encode(nil)
		if x != nil {
			to := make(system.State, len(end))
			m.apply(x, to, end)
			end = to
		}
		all = append(all, fmt.Sprint(out.Kind, out.AtEnd, out.Violation != nil, end))
		alt, more = out.Next, out.Next != 0
	}
	slices.Sort(all)
	return all
}
