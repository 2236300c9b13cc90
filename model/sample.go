package model

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cpor/internal/human"
	"cpor/system"
)

// sampled is how many steps of random executions a model is tried on before it is explored.
const sampled = 400

// settled executes some steps, each of them twice and on a second machine, and says which one does
// not do the same each time. It also finds out what properties read.
func (s *System) settled(m *machine) error {
	other, err := s.build()
	if err != nil {
		return err
	}
	m.number()
	other.number()
	m.Track(true)
	other.Track(true)
	r := rand.New(rand.NewPCG(1, 1))
	var use usage
	m.Load(s.initial[0])
	for range sampled {
		state := m.Encode(nil)
		var enabled []system.Step
		for t := range m.threads() {
			for alt, more := uint64(0), true; more; {
				m.Load(state)
				out := m.Step(t, alt)
				use.add(m, t)
				if m.done > maxAccesses {
					return &Mistake{m.viol.Pos, m.viol.Message}
				}
				step := system.Step{Thread: t, Alt: alt}
				if err := s.alike(m, other, state, step, out); err != nil {
					return err
				}
				if out.Kind == system.Moved && t < len(m.procs) {
					enabled = append(enabled, step)
				}
				alt, more = out.Next, out.Next != 0 && len(enabled) < 64
			}
		}
		if m.Load(state); len(enabled) == 0 {
			m.Load(s.initial[r.IntN(len(s.initial))])
			continue
		}
		if m.alike != nil {
			if err := m.exchanged(state, r); err != nil {
				return err
			}
			m.Load(state)
		}
		e := enabled[r.IntN(len(enabled))]
		m.Step(e.Thread, e.Alt)
	}
	s.warnings = use.warnings(m)
	return nil
}

// alike executes a step that m has executed once more, and on another machine.
func (s *System) alike(m, other *machine, state system.State, step system.Step,
	out system.Outcome) error {
	m.Rewind(0)
	pos, text, _ := m.Next(step.Thread)
	m.Step(step.Thread, step.Alt)
	first, accesses := m.Encode(nil), slices.Clone(m.acc)
	for _, n := range []*machine{m, other} {
		n.Load(state)
		again := n.Step(step.Thread, step.Alt)
		if again.Kind != out.Kind || again.Next != out.Next ||
			!slices.Equal(n.Encode(nil), first) || !slices.Equal(n.acc, accesses) {
			return &Mistake{pos, fmt.Sprintf("%s: the step does not do the same each time: %s\n"+
				"it may depend only on variables of the model, which local variables of the "+
				"build function hold: not on Go variables that change, the order of a map, "+
				"time or chance",
				m.ThreadName(step.Thread), text)}
		}
	}
	return nil
}

// usage is what processes have written and properties have read.
type usage struct {
	writes map[system.Loc]map[int]bool // by which processes
	reads  map[int]map[system.Loc]bool // by observers
}

func (u *usage) add(m *machine, t int) {
	if u.writes == nil {
		u.writes, u.reads = map[system.Loc]map[int]bool{}, map[int]map[system.Loc]bool{}
	}
	for _, a := range m.acc {
		switch {
		case t >= len(m.procs):
			if u.reads[t] == nil {
				u.reads[t] = map[system.Loc]bool{}
			}
			u.reads[t][a.Loc] = true
		case a.Write && m.locs[a.Loc].thread < 0:
			if u.writes[a.Loc] == nil {
				u.writes[a.Loc] = map[int]bool{}
			}
			u.writes[a.Loc][t] = true
		}
	}
}

// warnings says which invariants read all that is written. Then every step depends on the
// invariant, and in effect on every other step.
func (u *usage) warnings(m *machine) string {
	writers := map[int]bool{}
	for _, by := range u.writes {
		for t := range by {
			writers[t] = true
		}
	}
	if len(u.writes) < 2 || len(writers) < 2 {
		return ""
	}
	var ws []string
	for i, o := range m.observers {
		read := 0
		for l := range u.writes {
			if u.reads[len(m.procs)+i][l] {
				read++
			}
		}
		if read == len(u.writes) {
			p := &m.properties[o]
			ws = append(ws, fmt.Sprintf("%s:%d: invariant %s reads everything that processes "+
				"write (%s): every step depends on it, and reductions have little effect; let it "+
				"read less, or check it where it matters (Assert)", p.pos.File, p.pos.Line, p.name,
				human.Plural(uint64(read), "location")))
		}
	}
	return strings.Join(ws, "\n")
}
