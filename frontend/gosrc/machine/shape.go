package machine

import (
	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

var _ system.Shaped = (*Machine)(nil)

// Shape implements [system.Shaped] for operations on one word that nothing can block: atomic
// operations, and the points where the library synchronises. Such a transition has the same
// accesses everywhere (CompareAndSwap writes only if it swaps), and one alternative, if the
// computation after the operation touches nothing on any path (package compile examines all of
// them), does not reach a channel where others see it waiting, and runs no deferred call because
// of a run-time error. The general case handles goroutines that end where the program reads
// their number, time that passes only when no goroutine can run, and programs that can end
// meanwhile.
func (m *Machine) Shape(t int) system.Shape {
	if t >= len(m.gors) {
		return system.AnyShape
	}
	g := m.gors[t]
	i := g.pending()
	if i == nil || i.Op != compile.Sync || g.unstarted || g.words > 0 ||
		m.sys.attentive() || !natives[i.N].oneWord {
		return system.AnyShape
	}
	if r := g.regs(); r[0]>>32 == 0 {
		return system.AnyShape // it panics
	}
	var shape system.Shape
	if natives[i.N].varies {
		shape = system.MayVary
	}
	for k := len(g.frames) - 1; k >= 0; k-- {
		f := &g.frames[k]
		c := m.p.CalmFrom(f.fn, f.pc+1)
		switch {
		case f.fn.Defers >= 0, c&compile.Touches != 0, c&compile.Waits != 0 && !m.sys.polls:
			return system.AnyShape
		case c&compile.Throws != 0:
			for _, x := range g.frames[:k] {
				if x.fn.Defers >= 0 {
					return system.AnyShape
				}
			}
		}
		if c&compile.Returns == 0 {
			return shape
		}
	}
	if m.sys.counts {
		return system.AnyShape
	}
	return shape
}

// attentive reports whether goroutines can depend on the status of others: whether they wait, or
// live, or must run before time passes.
func (s *System) attentive() bool {
	return s.o.Idle || s.o.Patient || s.bubbles || s.ends || s.o.NoFailed
}
