package stateless

import (
	"fmt"
	"slices"

	"cpor/system"
	"cpor/trace"
)

// traces is what the plain semantics say of a system: the Mazurkiewicz traces
// of all its executions, computed without any of the reductions' code.
type traces struct {
	maximal       map[string][]trace.Step // by name; with an execution
	violations    map[string]bool
	deadlocks     map[string]bool
	interleavings float64
	prefixes      int
}

// move is what a thread can do next.
type move struct {
	thread int
	alts   []uint64
	accs   [][]system.Access // of each alternative; of the blocked transition if there is none
	stuck  bool              // blocked where that is a deadlock
}

// prefix is a trace that may continue.
type prefix struct {
	steps []trace.Step
	state string
	ways  float64 // linearizations
	moves []move
}

// depend is the dependence of accesses, a second time.
func depend(a, b []system.Access) bool {
	for _, x := range a {
		if slices.ContainsFunc(b, x.Orders) {
			return true
		}
	}
	return false
}

// bruteForce computes the traces of a system by their prefixes, shorter ones
// first: each is known by its Foata normal form, so that all interleavings are
// covered, each prefix once. It gives up beyond so many prefixes.
//
// On the way it checks what the contract of accesses promises: executions of
// one trace end in one state, and dependence is symmetrical.
func bruteForce(sys system.System, most int) (r *traces, ok bool, broken string) {
	r = &traces{maximal: map[string][]trace.Step{}, violations: map[string]bool{},
		deadlocks: map[string]bool{}}
	z := newMazurkiewicz(sys)
	m := sys.NewMachine()
	m.Track(true)
	obs := system.ObserversOf(sys)
	for _, initial := range sys.Initial() {
		level := map[string]*prefix{z.name(initial, nil): {ways: 1}}
		for len(level) > 0 {
			next := map[string]*prefix{}
			for name, p := range level {
				if r.prefixes++; r.prefixes > most || len(p.steps) > 100 {
					return nil, false, ""
				}
				m.Load(initial)
				for _, s := range p.steps {
					m.Step(s.Thread, s.Alt)
				}
				p.moves = moves(&obs, m)
				moved, stuck := false, false
				for i := range p.moves {
					mv := &p.moves[i]
					stuck = stuck || mv.stuck
					for k, alt := range mv.alts {
						moved = true
						mark := m.Mark()
						for v := m.Step(mv.thread, alt).Violation; v != nil; v = v.Also {
							r.violations[fmt.Sprint(v.Kind, v.Pos, v.Object)] = true
						}
						if d := symmetrical(p.moves, moves(&obs, m), mv.thread,
							mv.accs[k]); d != "" {
							return nil, true, fmt.Sprintf("%s, after %v %d:%d", d, p.steps,
								mv.thread, alt)
						}
						state := fmt.Sprint(m.Encode(nil))
						m.Rewind(mark)
						steps := append(slices.Clone(p.steps), trace.Step{Thread: mv.thread,
							Alt: alt})
						id := z.name(initial, steps)
						if q := next[id]; q == nil {
							next[id] = &prefix{steps: steps, state: state, ways: p.ways}
						} else if q.ways += p.ways; q.state != state {
							return nil, true, fmt.Sprintf("one trace and two states: %v and %v",
								q.steps, steps)
						}
					}
				}
				if !moved {
					r.maximal[name] = p.steps
					r.interleavings += p.ways
					if stuck {
						r.deadlocks[deadlockKey(sys, m)] = true
					}
				}
			}
			level = next
		}
	}
	return r, true, ""
}

// moves returns what each thread can do next.
func moves(obs *system.Observers, m system.Machine) []move {
	var all []move
	for t := range m.NumThreads() {
		mv := move{thread: t}
		for alt, more := uint64(0), true; more; {
			mark := m.Mark()
			out := m.Step(t, alt)
			mv.accs = append(mv.accs, slices.Clone(m.Accesses()))
			m.Rewind(mark)
			switch out.Kind {
			case system.Moved:
				mv.alts = append(mv.alts, alt)
			case system.Blocked:
				mv.stuck = !out.AtEnd && !obs.Has(t)
			}
			alt, more = out.Next, out.Next != 0
		}
		all = append(all, mv)
	}
	return all
}

// symmetrical checks that a transition of thread t with accesses acc leaves the
// other threads as they were if it is independent of what they do next, and
// that they depend on it still if it is not.
func symmetrical(before, after []move, t int, acc []system.Access) string {
	for i := range before {
		if i == t {
			continue
		}
		a, b := &before[i], &after[i]
		// The alternatives are one by one what they were, or all depend on acc.
		for k := range a.accs {
			if depend(a.accs[k], acc) {
				continue
			}
			same := len(a.alts) == 0 && len(b.alts) == 0 && sameAccesses(a.accs[k], b.accs[k])
			for j := range b.alts {
				same = same || len(a.alts) > 0 && b.alts[j] == a.alts[k] && sameAccesses(a.accs[k],
					b.accs[j])
			}
			if !same {
				return fmt.Sprintf("thread %d does something else because of an independent "+
					"transition: %+v and %+v", i, *a, *b)
			}
		}
		for k := range b.accs {
			if depend(b.accs[k], acc) {
				continue
			}
			same := len(a.alts) == 0 && len(b.alts) == 0
			for j := range a.alts {
				same = same || len(b.alts) > 0 && a.alts[j] == b.alts[k]
			}
			if !same {
				return fmt.Sprintf("what thread %d does after a transition does not depend on "+
					"it, and was not there before: %+v and %+v", i, *a, *b)
			}
		}
	}
	return ""
}

func sameAccesses(a, b []system.Access) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(x system.Access) bool {
		return !slices.Contains(b, x)
	})
}
