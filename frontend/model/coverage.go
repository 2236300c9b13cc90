package model

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cpor/frontend"
	"cpor/frontend/model/compile"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// Coverage returns what explorations of the model have executed so far, and what not. Code that
// constants rule out is omitted: it is for other values of them.
func (m *Model) Coverage() *frontend.Coverage { return m.coverage(m.sys.Places()) }

// CoverageSoFar is Coverage while explorations are running. It returns the state at the previous
// call. What has no count yet may get one.
func (m *Model) CoverageSoFar() *frontend.Coverage { return m.coverage(m.sys.PlacesSoFar()) }

func (m *Model) coverage(cover *compile.Cover, counts []uint64) *frontend.Coverage {
	c := &frontend.Coverage{Means: "the first statement of the line was executed"}
	order := make([]int, len(cover.Spots))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		x, y := &cover.Spots[a], &cover.Spots[b]
		return cmp.Or(cmp.Compare(x.Pos, y.Pos), cmp.Compare(x.Kind, y.Kind))
	})
	// by region: the statement before the last ones
	group, behind := map[int]int{}, map[int]int{}
	for _, i := range order {
		s := &cover.Spots[i]
		at := m.position(s)
		if s.Counted() {
			c.Counts = append(c.Counts, frontend.Count{Pos: at, N: counts[i]})
		}
		executed, fixed := around(cover, counts, i)
		if counts[i] > 0 {
			delete(group, s.In)
		}
		if counts[i] > 0 || fixed || !executed && s.Kind != compile.SpotAssert && !s.Named {
			continue
		}
		n := frontend.Never{Of: m.owner(cover, i), Pos: at, Text: m.text(s)}
		switch s.Kind {
		case compile.SpotThread:
			n.Of, n.Text, n.What = "", "thread "+s.Name, "is never started"
		case compile.SpotFunc:
			n.Of, n.Text, n.What = "", "function "+s.Name, "is never called"
		case compile.SpotBranch:
			n.What = s.Name
		case compile.SpotAssert:
			n.What, n.Property = "is never reached", true
		case compile.SpotStatement:
			if k, ok := group[s.In]; ok {
				behind[k]++
				c.Never[k].What = neverWith(behind[k])
				continue
			}
			n.What = "is never executed"
			group[s.In] = len(c.Never)
		case compile.SpotLabel:
			if !s.Named {
				continue // what stands behind it is in the list
			}
			n.Text, n.What, n.Property, n.Label = "label "+s.Name,
				"is never reached, and a property names it", true, true
		case compile.SpotOperand:
			n.What, n.Property, n.Waiting = "is never evaluated: the part before it always decides",
				true, true
		case compile.SpotThreadOf:
			n.Text, n.What, n.Property, n.Waiting = s.Name, "never exists", true, true
		default: // init and the invariants are always executed
			continue
		}
		c.Never = append(c.Never, n)
	}
	c.Never = append(c.Never, m.empty()...)
	return c
}

// neverWith says that a statement, and that many after it, are never executed.
func neverWith(more int) string {
	if more == 1 {
		return "is never executed, nor is the statement after it"
	}
	return fmt.Sprintf("is never executed, nor are the %d statements after it", more)
}

// around reports whether everything around a spot was executed, and whether that depends on
// constants.
func around(cover *compile.Cover, counts []uint64, spot int) (executed, fixed bool) {
	executed = true
	fixed = cover.Spots[spot].Fixed
	for in := cover.Spots[spot].In; in >= 0; in = cover.Spots[in].In {
		executed = executed && counts[in] > 0
		fixed = fixed || cover.Spots[in].Fixed
	}
	return executed, fixed
}

// empty returns the quantifiers of invariants that range over nothing with these constants.
func (m *Model) empty() []frontend.Never {
	var out []frontend.Never
	for e, b := range m.resolved.Bounds {
		if _, ok := e.(*syntax.QuantExpr); !ok || b.Hi >= b.Lo {
			continue
		}
		for _, inv := range m.resolved.Invariants {
			if e.Pos() >= inv.Cond.Pos() && e.End() <= inv.Cond.End() {
				s := &compile.Spot{Pos: e.Pos(), End: e.End()}
				out = append(out, frontend.Never{Of: "invariant " + inv.Name, Pos: m.position(s),
					Text: m.text(s), What: "ranges over nothing", Property: true})
			}
		}
	}
	slices.SortFunc(out, func(a, b frontend.Never) int {
		return cmp.Or(cmp.Compare(a.Pos.Line, b.Pos.Line), cmp.Compare(a.Pos.Col, b.Pos.Col))
	})
	return out
}

// owner names what a spot belongs to.
func (m *Model) owner(c *compile.Cover, i int) string {
	for in := c.Spots[i].In; in >= 0; in = c.Spots[in].In {
		switch s := &c.Spots[in]; s.Kind {
		case compile.SpotThread:
			return "thread " + s.Name
		case compile.SpotFunc:
			return "function " + s.Name
		case compile.SpotInvariant:
			return "invariant " + s.Name
		case compile.SpotInit:
			return "init"
		}
	}
	return ""
}

func (m *Model) position(s *compile.Spot) system.Pos {
	f := m.resolved.File.Source
	name, line, col := f.Place(s.Pos)
	return system.Pos{File: name, Line: line, Col: col}
}

// text returns the source of a spot, as one line.
func (m *Model) text(s *compile.Spot) string {
	text := compile.Shorten(m.resolved.File.Source.Text[s.Pos:s.End])
	return strings.TrimRight(strings.TrimSuffix(text, "{"), " ;")
}
