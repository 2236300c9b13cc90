package auto

import (
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/statestore"
	"cpor/system"
)

// sample is a search of its own, breadth first, that finds nothing: it measures.
type sample struct {
	plain *full.Expander // or
	by    *reducer       // the other is nil

	store   statestore.Store
	session statestore.Session
	refs    []statestore.Ref // in the order in which they were covered
	weights costs
	costs   []uint64       // of plain expansions of those that were expanded
	from    statestore.Ref // the state that is expanded
	work    uint64
	instead uint64      // what plain expansions would have cost
	broken  bool        // the store is full
	stopped func() bool // the search is to end
	state   system.State
}

// newSample returns an empty sample, without what expands its states.
func newSample(sys system.System) (*sample, error) {
	store, err := statestore.New(statestore.Options{Kind: statestore.Tree, Workers: 1})
	if err != nil {
		return nil, err
	}
	return &sample{store: store, session: store.NewSession(), weights: costsOf(sys)}, nil
}

// put covers a state.
func (s *sample) put(state system.State) (ref statestore.Ref, added bool) {
	ref, added, err := s.session.Insert(state, s.from)
	if err != nil {
		s.broken = true
	} else if added {
		s.refs = append(s.refs, ref)
	}
	return ref, added
}

// Expanded implements search.Coverer.
func (s *sample) Expanded() (ref statestore.Ref, initial bool) { return s.from, false }

// Cover implements search.Coverer.
func (s *sample) Cover(m *search.Move, arrive func(ref statestore.Ref, fresh bool) bool) {
	arrive(s.put(m.End))
}

// Move implements search.Visitor.
func (s *sample) Move(m *search.Move) {
	if !m.Infinite {
		s.put(m.End)
	}
}

// Violation implements search.Visitor. What a sample meets the search meets, too.
func (s *sample) Violation(*system.Violation, []search.Step) {}

// Stopped implements search.Stopper: a transition can have more alternatives than anybody
// can wait for, in a sample as well.
func (s *sample) Stopped() bool { return s.stopped() }

// done tells whether all states were expanded.
func (s *sample) done() bool { return len(s.costs) == len(s.refs) || s.broken }

// growth returns how many states were covered for each that was expanded.
func (s *sample) growth() float64 { return float64(len(s.refs)) / float64(max(1, len(s.costs))) }

// grow expands states until the sample has cost so much or stopped says so.
func (s *sample) grow(work uint64, stopped func() bool) {
	s.stopped = stopped
	for s.work < work && !s.done() && !stopped() {
		s.from = s.refs[len(s.costs)]
		s.state = s.session.Load(s.from, s.state)
		var sp spent
		if s.by != nil {
			if !s.by.due() || !s.by.set(s.state, s, &sp, &s.weights) {
				s.by.vectors.Expand(s.state, s)
				sp.vector(&s.weights, s.by.vectors.Effort())
			}
			s.instead += sp.instead
			s.costs = append(s.costs, sp.instead)
		} else {
			before := s.plain.Counters()
			s.plain.Expand(s.state, s)
			sp.plain(&s.weights, s.plain.Counters(), before)
			s.costs = append(s.costs, sp.work)
		}
		s.work += sp.work
	}
}

// share returns the part of the sample's cost that represents states of which covered
// says that they are covered. A state that it does not know about counts for neither.
func (s *sample) share(covered func(system.State) (is, known bool)) float64 {
	var all, in uint64
	for i, c := range s.costs {
		s.state = s.session.Load(s.refs[i], s.state)
		is, known := covered(s.state)
		if !known {
			continue
		}
		all += c
		if is {
			in += c
		}
	}
	if all == 0 {
		return 0
	}
	return float64(in) / float64(all)
}

// covers tells whether the sample covers a state.
func (s *sample) covers(state system.State) (is, known bool) {
	_, is = s.session.Find(state)
	return is, true
}
