package machine

import (
	"slices"

	"cpor/frontend/promela/program"
	"cpor/testkit/sabotage"
)

// Some constructs ask about all processes. Their accesses say what they have seen, so that two
// steps that do not conflict commute as elsewhere:
//
//   - timeout. A process that waits because another one can move reads where the first such process
//     and those before it are, and what their guards read: as long as nobody changes these, it
//     waits. It would wait as long as the first such process can move, whatever those before it do.
//     But if one of these could move later, the accesses would be different ones, although nothing
//     that was read has changed. Where no process can move, a step that needs timeout reads that of
//     all processes. The same holds for enabled(p) and process p.
//   - Priorities, if none changes. A process that waits because one of higher priority can move
//     reads that of the first such process and of those before it. Another one reads that of all
//     processes of higher priority, and a location that births and deaths of processes write, but
//     for those of the lowest priority.
//   - trace and notrace. An event, a send or receive of a channel that the assertion names, writes
//     the place of the assertion's automaton. A process that is blocked at its end or at an end
//     label reads it, because it may stay there only if the automaton may.
//   - -empty-channels. Such a process reads the channels, too.
//
// # Ample sets
//
// That would leave few ample sets, because a process that waits for timeout looks at a process that
// moves. But let T be a set of processes of which one can move in s, and w an execution from s in
// which none of T takes a step. If all steps that processes outside T take in such a w are
// independent of those of T in s, that one stays enabled, so in no state of w is timeout true. (A
// process whose only step is to find that a guard cannot be evaluated does not count as one that
// can move, for timeout. But its step does not change the state, so it justifies no ample set.) So
// the bounds on what others may do omit steps that need timeout, and what comes only after them. A
// step of T may make timeout true afterwards. That adds to what w can do and takes nothing away: a
// step of w has not needed timeout, and else beside timeout asks only for steps that do not need
// it. Where timeout is true, a step that needs it reads where all processes are. So it is an ample
// set only with all of them, and each such step is explored.
//
// In the same way, processes with a lower priority than one of T that can move take no step in w.
//
// Which of the blocked processes may stay where they are, by the end of a trace assertion or by
// empty channels, matters only in a deadlock. Deadlocks are reached as states, with the automaton
// and the channels. So the bounds omit these reads.
//
// # Numbers of processes
//
// A process that has ended and can die keeps timeout false. So timeout is true only in states
// without such processes; up to numbers, these are reached as deadlocks are (numbers.go).
//
// # What is left
//
// Never claims, np_ and _last see every step. set_priority, timeout in a provided clause or in
// the arguments of a receive, and timeout together with priorities or with enabled are refused,
// because nobody has proved anything about them. A process that may still ask enabled depends on
// each step of the others. Temporal properties are checked without a reduction where any of these
// constructs is used.

// waitsForTimeout reports whether an edge can be taken only if timeout is true.
func waitsForTimeout(e *program.Edge) bool {
	if sabotage.Is("timeout/never") && e.Kind == program.Else {
		return true
	}
	if e.Kind == program.DStep {
		other := func(g *program.Edge) bool { return !waitsForTimeout(g) }
		return !e.Always && !e.Otherwise && len(e.Guards) > 0 &&
			!slices.ContainsFunc(e.Guards, other)
	}
	return e.Kind == program.Cond && needsTimeout(e.X)
}

// needsTimeout reports whether a condition is false whenever timeout is.
func needsTimeout(x program.Expr) bool {
	switch x := x.(type) {
	case *program.Special:
		return x.Name == "timeout"
	case *program.Binary:
		if x.Op == "||" && sabotage.Is("timeout/or") {
			return needsTimeout(x.X) || needsTimeout(x.Y)
		}
		return x.Op == "&&" && (needsTimeout(x.X) || needsTimeout(x.Y))
	}
	return false
}

// below reports whether process u, whose priority is lower than that of t, cannot move as long as t
// does not, because t can.
func (m *Machine) below(u, t int) bool {
	if m.sys.sets {
		return false
	}
	// These questions are not part of a step.
	track, learn, watch := m.track, m.learn, m.watch
	at, fb, proc, was := m.t, m.fb, m.proc, m.at
	opts, viol, fatal, failed := m.opts, m.viol, m.fatal, m.failed
	m.track, m.learn, m.watch, m.opts = false, false, false, nil
	can := m.enabled(t)
	m.track, m.learn, m.watch, m.opts = track, learn, watch, opts
	m.t, m.fb, m.proc, m.at = at, fb, proc, was
	m.viol, m.fatal, m.failed = viol, fatal, failed
	return can
}

// events reports whether an edge may be an event of the trace assertion.
func (s *System) events(e *program.Edge) bool {
	if s.trace == nil || e.Kind != program.Send && e.Kind != program.Recv ||
		sabotage.Is("trace/events") {
		return false
	}
	known := func(x program.Expr) *program.Sym {
		if l, ok := x.(*program.Load); ok && l.Place.Global && l.Place.Sym.Chans != nil &&
			!s.stored[l.Place.Sym] {
			return l.Place.Sym
		}
		return nil
	}
	of := known(e.Ch)
	for _, st := range s.trace.proc.States {
		for _, x := range st.Edges {
			if x.Ch != nil && (of == nil || known(x.Ch) == nil || known(x.Ch) == of) {
				return true
			}
		}
	}
	return false
}

// looksAround records that a process asks what others can do.
func (a *accessor) looksAround() {
	for k := range a.f.first + 1 {
		a.out.read(k)
	}
	for p := range a.s.procs {
		a.out.read(a.f.first + bitLooks + p)
	}
	a.out.write(a.f.first + bitChannels)
}

// outranked records that a process asks what those of higher priority can do.
func (a *accessor) outranked() {
	for k := range int(a.s.locTrace()) {
		a.out.read(k)
	}
	a.out.read(int(a.s.locAbove()))
	a.out.write(a.f.first + bitChannels)
	if !a.quiet {
		a.looksAround()
	}
}

// ending records what decides whether a process may stay where it is.
func (a *accessor) ending() {
	if a.s.trace != nil {
		a.out.read(int(a.s.locTrace()))
	}
	if a.s.strict {
		a.out.read(a.f.first)
		a.out.write(a.f.first + bitChannels)
		for k, n := range a.f.number {
			if n > 0 {
				a.out.read(k)
			}
		}
	}
}
