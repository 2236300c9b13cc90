package lockset

import (
	"fmt"

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

// Explain returns the message of a violation of kind [Discipline], completed
// with the earlier access that does not go together with the one at the end of
// the trace: its thread, place and locks. Without such a violation at the end
// of the trace, or if the message is complete as it is, it returns the trace's
// own message.
func Explain(s *System, t *trace.Trace) string {
	if t == nil || t.Violation == nil {
		return ""
	}
	message := t.Violation.Message
	if t.Violation.Kind != Discipline || len(t.Steps) == 0 || t.Initial >= len(s.initial) {
		return message
	}
	m := s.newMachine()
	m.Load(s.initial[t.Initial])
	var seen []past
	step, stepping := -1, 0
	at := make([]system.Pos, 0, 8)
	m.record = func(a access, guard bool) {
		p := past{access: a, guard: guard, step: step}
		if guard || a.thread != stepping {
			p.pos, _, _ = m.inner.Next(a.thread)
		} else {
			p.pos = at[a.thread]
		}
		seen = append(seen, p)
	}
	m.words = make([]uint64, s.words) // so that the initial guards are seen
	m.pending()
	var last system.Outcome
	for i, st := range t.Steps {
		for len(at) < m.NumThreads() {
			at = append(at, system.Pos{})
		}
		at[st.Thread], _, _ = m.inner.Next(st.Thread)
		step, stepping = i, st.Thread
		m.finding.problem = fine
		last = m.Step(st.Thread, st.Alt)
	}
	if last.Violation == nil || m.finding.problem == fine {
		return message
	}
	f := m.finding
	message = m.describe(&f)
	if f.problem == wrongInit {
		return message
	}
	// The other side: best an access of another thread that conflicts and
	// has no lock in common, as late as possible.
	best, score := -1, 0
	for i, p := range seen {
		if p.loc != f.loc || p.step == step && p.thread == f.thread && p.guard == f.guard {
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
			best, score = i, n
		}
	}
	if best < 0 {
		return message
	}
	p := seen[best]
	verb := "read"
	if p.write {
		verb = "wrote"
	}
	return fmt.Sprintf("%s; before, %s %s it at %s, %s", message, m.inner.ThreadName(p.thread),
		verb, place(p.pos), m.lockNames(p.held))
}
