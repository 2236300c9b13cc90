package monitor

import (
	"fmt"
	"math"
	"sort"

	"cpor/detect/computation"
)

// The clocks of the events that have arrived have to be those of one run. For
// every two known events e = (i, k) with clock V, and f = (j, m) with clock C:
//
//   - i = j and k < m: V <= C. Clocks do not fall.
//   - V[j] >= m: C <= V and C[i] < k. A clock contains the clocks of the events
//     that it contains, and no event depends on itself.
//
// It is enough to compare an event with its neighbors, because the clocks of a
// host do not fall: with the known event of its own host just before it and the
// one just after it; with the last known event of each other host that it
// contains; and with the first known event of each other host that contains it.
//
// An event that keeps to these rules can always be completed to a run: give each
// event that has not arrived the clock of the one before it. So an event is
// refused only if it contradicts one that arrived before, and a set of
// acknowledged events never gets stuck.
//
// To remember every clock would take as much memory as the log. Kept are the
// rows in which more changes than the own entry, of these only from the first
// one on that a later event of another host may still have to be compared with.

// row is the clock of the event number at of its host, and of the known events
// after it up to the next row, but for their own entries.
type row struct {
	at    int32
	clock computation.Cut
}

// before returns the index of the last row at or before event k of the host.
func (h *host) before(k int32) int {
	if n := len(h.rows); n > 0 && h.rows[n-1].at <= k {
		return n - 1
	}
	return sort.Search(len(h.rows), func(x int) bool { return h.rows[x].at > k }) - 1
}

// fits compares the event with those that are known, and returns what it
// contradicts.
func (m *Monitor) fits(e *event) error {
	i, k := int(e.host), e.own
	h := m.hosts[i]
	r := h.before(k - 1)
	lower := h.rows[r]
	for j, x := range e.clock {
		if j != i && x < lower.clock[j] {
			return fmt.Errorf("the clock's entry for host %s falls from %d to %d", m.hosts[j].name,
				lower.clock[j], x)
		}
	}
	if r+1 < len(h.rows) {
		upper := h.rows[r+1]
		for j, x := range e.clock {
			if j != i && x > upper.clock[j] {
				return fmt.Errorf("the clock's entry for host %s is %d, but event %d of host %s, "+
					"which has arrived, has %d", m.hosts[j].name, x, upper.at, h.name,
					upper.clock[j])
			}
		}
	}
	for j := range m.hosts {
		if j == i {
			continue
		}
		if err := m.contained(e, j); err != nil {
			return err
		}
		if err := m.containing(e, j); err != nil {
			return err
		}
	}
	return nil
}

// contained compares the event with the last event of host j that it contains.
func (m *Monitor) contained(e *event, j int) error {
	i, k, g := int(e.host), e.own, m.hosts[j]
	h := m.hosts[i]
	x := e.clock[j]
	if x <= h.rows[h.before(k-1)].clock[j] {
		return nil // h's event before has it, too
	}
	f := g.rows[g.before(x)]
	for l, y := range f.clock {
		switch {
		case l == i && y >= k:
			return fmt.Errorf("cyclic: the clock contains event %d of host %s, which "+
				"contains event %d of host %s", f.at, g.name, y, h.name)
		case l != j && l != i && y > e.clock[l]:
			return fmt.Errorf("not transitive: the clock contains event %d of host %s, "+
				"whose clock has %d for host %s, but its own entry is %d", f.at, g.name, y,
				m.hosts[l].name, e.clock[l])
		}
	}
	return nil
}

// containing compares the event with the first event of host j that contains it.
func (m *Monitor) containing(e *event, j int) error {
	i, k, g := int(e.host), e.own, m.hosts[j]
	if top := g.rows[len(g.rows)-1]; top.clock[i] < k {
		return nil
	}
	f := g.rows[sort.Search(len(g.rows), func(x int) bool { return g.rows[x].clock[i] >= k })]
	for l, x := range e.clock {
		switch {
		case l == j && x >= f.at:
			return fmt.Errorf("cyclic: event %d of host %s contains this event, whose "+
				"clock contains event %d of host %s", f.at, g.name, x, g.name)
		case l != j && l != i && x > f.clock[l]:
			return fmt.Errorf("not transitive: event %d of host %s, which has arrived, "+
				"contains this event, whose clock has %d for host %s, but its own entry "+
				"is %d", f.at, g.name, x, m.hosts[l].name, f.clock[l])
		}
	}
	return nil
}

// learn adds the event's clock to the rows. That of an early event is added even
// if it changes nothing: an event before it must not have a larger one.
func (m *Monitor) learn(e *event, early bool) {
	h := m.hosts[e.host]
	r := h.before(e.own)
	if !early && h.rows[r].at == e.own {
		return // it was early
	}
	if !early {
		same := true
		for j, x := range h.rows[r].clock {
			same = same && (x == e.clock[j] || j == int(e.host))
		}
		if same {
			return
		}
	}
	h.rows = append(h.rows, row{})
	copy(h.rows[r+2:], h.rows[r+1:])
	h.rows[r+1] = row{e.own, e.kept()}
	if m.rows++; m.rows >= m.pruneAt {
		m.prune()
		m.pruneAt = 2*m.rows + minPrune
	}
}

// minPrune is the least number of rows at which prune looks at all of them.
const minPrune = 256

// prune drops the rows that no event to come has to be compared with.
func (m *Monitor) prune() {
	m.rows = 0
	for i, h := range m.hosts {
		// An event of another host to come is compared with a row only if it contains
		// more of this host's events than its predecessor, or is contained in the row.
		least := min(int32(math.MaxInt32), h.arrived)
		for j, g := range m.hosts {
			if j != i {
				least = min(least, g.last[i])
			}
		}
		n := 0
		for n+1 < len(h.rows) && h.rows[n+1].at <= least && m.hasArrived(h.rows[n].clock, i) {
			n++
		}
		if n > 0 {
			h.rows = append(h.rows[:0:0], h.rows[n:]...)
		}
		m.rows += len(h.rows)
	}
}

// hasArrived reports whether all that a clock of host i contains has arrived.
func (m *Monitor) hasArrived(clock computation.Cut, i int) bool {
	for j, x := range clock {
		if j != i && x > m.hosts[j].arrived {
			return false
		}
	}
	return true
}
