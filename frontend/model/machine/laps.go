package machine

import (
	"slices"

	"cpor/frontend/model/compile"
)

// Budget is the number of passes of loops that one transition may take; more
// are a violation.
const Budget = 1 << 22

const (
	// sampled are the bits of the budget that are 0 when lap examines an iteration: one in 64.
	sampled = 1<<6 - 1
	// tour is the number of iterations at the end of the budget that are examined one by one, to
	// find the outermost loop.
	tour = 1 << 16
)

// laps looks for endless loops: a transition that returns to a place with everything unchanged
// does so forever, since no other thread can step in between. It compares with one earlier
// iteration, which is replaced whenever their number has doubled (Brent, An improved Monte Carlo
// factorization algorithm, BIT 20, 1980, section 2), so a cycle is found after a small multiple
// of its length. Then it runs the cycle once more, to place the violation at its outermost loop.
type laps struct {
	regs    []int64
	words   []uint64
	at      int
	threads int
	choices int

	circle bool           // the earlier pass is known to come again
	outer  *compile.Instr // on the tour, the outermost loop so far
}

// keep remembers a pass.
func (l *laps) keep(m *Machine, at int, regs []int64) {
	l.regs = append(l.regs[:0], regs...)
	l.words = append(append(l.words[:0], m.words...), m.scratch...)
	l.at, l.threads, l.choices = at, m.n, len(m.choices)
}

// same reports whether an iteration equals the one remembered.
func (l *laps) same(m *Machine, at int, regs []int64) bool {
	n := len(m.words)
	return at == l.at && m.n == l.threads && len(m.choices) == l.choices &&
		slices.Equal(regs, l.regs) &&
		len(l.words) == n+len(m.scratch) && slices.Equal(m.words, l.words[:n]) &&
		slices.Equal(m.scratch, l.words[n:])
}

// lap is called at the beginning of some iterations of loops, by the jump to at. The status is
// reached unless the loop is endless or the budget is exhausted.
func (m *Machine) lap(in *compile.Instr, at int, regs []int64) (status, int) {
	if m.laps == nil {
		m.laps = &laps{}
	}
	l := m.laps
	if m.sample == sampled {
		passes := (Budget - m.budget) / (sampled + 1)
		l.circle = passes > 1 && l.same(m, at, regs)
		switch {
		case l.circle || m.budget <= tour:
			m.sample, l.outer = 0, nil
		case passes&(passes-1) == 0:
			l.keep(m, at, regs)
		}
		return reached, 0
	}
	if l.outer == nil || in.D < l.outer.D || in.D == l.outer.D &&
		m.p.Sites[in.Site].Pos < m.p.Sites[l.outer.Site].Pos {
		l.outer = in
	}
	if l.circle && l.same(m, at, regs) {
		return m.fault(l.outer, "an endless loop: the state repeats, and no other thread can run "+
			"in between")
	}
	if m.budget < 0 {
		return m.fault(l.outer, "more than %d loop iterations in one transition: an endless "+
			"loop, or too much computation for one transition", Budget)
	}
	return reached, 0
}
