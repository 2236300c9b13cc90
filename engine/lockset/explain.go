package lockset

import (
	"fmt"
	"strings"

	"cpor/system"
	"cpor/trace"
)

// past is an access on the way to a violation.
type past struct {
	access
	guard bool
	step  int // in the trace; -1 for a guard that blocks initially
	pos   system.Pos
}

// Explain returns the message of a violation of kind [Discipline] or [Race],
// completed with the earlier access that does not go together with the one at
// the end of the trace: its thread, place and locks. Without such a violation
// at the end of the trace, or if the message is complete as it is, it returns
// the trace's own message.
func Explain(s *System, t *trace.Trace) string {
	if t == nil || t.Violation == nil {
		return ""
	}
	message := t.Violation.Message
	if t.Violation.Kind != Discipline && t.Violation.Kind != Race || len(t.Steps) == 0 ||
		t.Initial >= len(s.initial) {
		return message
	}
	// The location is known when the trace has been replayed.
	f := s.newMachine().replay(t, nil)
	if f == nil {
		return message
	}
	m := s.newMachine()
	var seen []past
	if f.problem == unordered {
		seen = m.unordered(t, f)
	} else {
		m.replay(t, func(p past) { seen = append(seen, p) })
	}
	message = m.describe(f)
	if f.problem == wrongInit {
		return message
	}
	p := s.otherSide(seen, f, len(t.Steps)-1)
	if p == nil {
		return message
	}
	verb := "read"
	if p.write {
		verb = "wrote"
	}
	if f.problem == unordered {
		// What is known of the access need not be said in general.
		if what, ok := strings.CutSuffix(message, anyOther); ok {
			return fmt.Sprintf("%s%s, which %s it at %s, %s", what, m.inner.ThreadName(p.thread),
				verb, place(p.pos), m.lockNames(p.held))
		}
	}
	return fmt.Sprintf("%s; before, %s %s it at %s, %s", message, m.inner.ThreadName(p.thread),
		verb, place(p.pos), m.lockNames(p.held))
}

// otherSide chooses what a finding at step last is reported with: best an access of another thread
// that conflicts and has no lock in common, as late as possible. It returns nil if there is none.
func (s *System) otherSide(seen []past, f *finding, last int) *past {
	var best *past
	score := 0
	for i := range seen {
		p := &seen[i]
		if p.loc != f.loc || p.step == last && p.thread == f.thread && p.guard == f.guard {
			continue
		}
		n := 1
		if p.thread != f.thread {
			n += 4
		}
		if s.table.Intersect(p.held, f.held) == 0 {
			n += 2
		}
		if p.write || f.write {
			n++
		}
		if n >= score {
			best, score = p, n
		}
	}
	return best
}

// replay executes a trace and returns the finding at its end that the trace
// claims, or nil. See is called for each access that the rule looks at.
func (m *Machine) replay(t *trace.Trace, see func(past)) *finding {
	m.Load(m.sys.initial[t.Initial])
	step, stepping := -1, 0
	at := make([]system.Pos, 0, 8)
	if see != nil {
		m.record = func(a access, guard bool) {
			p := past{access: a, guard: guard, step: step}
			if guard || a.thread != stepping {
				p.pos, _, _ = m.inner.Next(a.thread)
			} else {
				p.pos = at[a.thread]
			}
			see(p)
		}
		if m.sys.rule != HB {
			clear(m.words) // so that the initial guards are seen
			m.pending()
		}
	}
	var last system.Outcome
	for i, st := range t.Steps {
		for len(at) < m.NumThreads() {
			at = append(at, system.Pos{})
		}
		at[st.Thread], _, _ = m.inner.Next(st.Thread)
		step, stepping = i, st.Thread
		last = m.Step(st.Thread, st.Alt)
	}
	if last.Violation.Find(t.Violation) == nil {
		return nil
	}
	for i := range m.findings {
		f := m.findings[i]
		kind := Discipline
		if f.problem == unordered {
			kind = Race
		}
		if kind == t.Violation.Kind && variable(m.inner.LocName(f.loc)) == t.Violation.Object {
			return &f
		}
	}
	return nil
}

// unordered executes a trace that ends with a race and returns the accesses that
// are in a race with the last one.
func (m *Machine) unordered(t *trace.Trace, f *finding) []past {
	m.hb.watch, m.hb.watching = f.loc, true
	m.replay(t, func(p past) {
		if p.loc == f.loc {
			m.hb.pasts = append(m.hb.pasts, pastOrder{past: p})
		}
	})
	var seen []past
	for _, p := range m.hb.pasts {
		if p.step < len(t.Steps)-1 && m.hb.apply(p.o, op{kind: test, a: uint32(f.how),
			b: uint32(f.thread)}) == raced {
			seen = append(seen, p.past)
		}
	}
	return seen
}
