package monitor

import (
	"fmt"
	"slices"

	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// An event that gives a variable of the predicate a value of the wrong type is
// refused, like one that contradicts the clocks: if it counted as an event after
// which the predicate does not hold, a detection would be missed. Which types a
// variable has had is kept for as long as the monitor runs, so that the event
// that makes a comparison one of two types is refused, however much came between.

// typed reports, as an *predicate.Error, that the predicate does not fit the
// types of the values that have arrived and those of the event; e may be nil.
func (m *Monitor) typed(e *event) error {
	if m.detected != nil || m.follow != nil {
		return nil // the answer is known, or types do not matter
	}
	if e != nil && !slices.ContainsFunc(e.vars, func(v logs.Var) bool { return m.isNew(e, v) }) {
		return nil // as nearly always
	}
	return m.cfg.Predicate.Check(m.node, func(process int, name string) []predicate.Sighting {
		h := m.hosts[process]
		x, _ := slices.BinarySearch(h.vars, name)
		seen := h.seen[x]
		if e == nil || int(e.host) != process {
			return seen
		}
		for _, v := range e.vars {
			if v.Name == name && m.isNew(e, v) {
				seen = append(slices.Clip(seen), predicate.NewSighting(v.Value, e.where(h)))
			}
		}
		return seen
	})
}

// isNew reports whether a variable of the predicate has its first value of a type
// by the event.
func (m *Monitor) isNew(e *event, v logs.Var) bool {
	h := m.hosts[e.host]
	x, ok := slices.BinarySearch(h.vars, v.Name)
	return ok && h.isNew(x, v.Value)
}

func (h *host) isNew(x int, v computation.Value) bool {
	same := func(s predicate.Sighting) bool { return s.Same(v) }
	return v.Defined() && !slices.ContainsFunc(h.seen[x], same)
}

// sights notes the types of the values that the event assigns.
func (m *Monitor) sights(e *event) {
	h := m.hosts[e.host]
	for _, v := range e.vars {
		if m.isNew(e, v) {
			x, _ := slices.BinarySearch(h.vars, v.Name)
			h.sight(x, v.Value, e.where(h))
		}
	}
}

// sight notes the type of a value of variable x.
func (h *host) sight(x int, v computation.Value, where string) {
	if h.isNew(x, v) {
		h.seen[x] = append(h.seen[x], predicate.NewSighting(v, where))
	}
}

func (e *event) where(h *host) string {
	return fmt.Sprintf("in event %d of host %s", e.own, h.name)
}

// neverAssigned returns the hosts that never gave a variable of the predicate a
// value, by variable. The error is that of predicate.Expand about a variable
// that the predicate cannot do without.
func (m *Monitor) neverAssigned() (map[string][]string, error) {
	if m.follow != nil {
		return nil, nil
	}
	none := map[string][]string{}
	assigned := func(i int) []string {
		var names []string
		h := m.hosts[i]
		for x, name := range h.vars {
			if len(h.seen[x]) > 0 {
				names = append(names, name)
			} else {
				none[name] = append(none[name], h.name)
			}
		}
		return names
	}
	names := predicate.Names{Hosts: m.cfg.Hosts, Variables: assigned}
	_, err := m.cfg.Predicate.Expand(names)
	return none, err
}
