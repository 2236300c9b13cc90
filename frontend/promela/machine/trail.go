package machine

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/trace"
)

// SPIN's trail is a text with a line depth:process:element for each statement that
// was executed, the receiver's behind the sender's. Elements are numbered over the
// whole model, statements and what they are nested in, as SPIN's parser makes
// them ([program.Edge.Seq]). Lines with a negative depth say how to read the others:
// -4 that statements were merged, -2 that there is a claim, -1 that a cycle begins.
// The format is not documented; it is that of spin -t of SPIN 6.5.2.

// WriteTrail writes the steps of an execution from the initial state so that spin -t
// replays it. The error says why that cannot be, or is the writer's.
func (s *System) WriteTrail(w io.Writer, steps []trace.Step) error {
	if s.claim != nil || s.trace != nil {
		return fmt.Errorf("a trail of a model with a claim or a trace assertion cannot be written")
	}
	out := bufio.NewWriter(w)
	m := s.newMachine()
	m.Track(true)
	depth := 0
	for i, st := range steps {
		if o := m.Step(st.Thread, st.Alt); o.Kind != system.Moved {
			return fmt.Errorf("step %d of the trace cannot be taken", i+1)
		}
		for _, d := range m.told {
			if d.element() < 0 {
				continue
			}
			depth++
			fmt.Fprintf(out, "%d:%d:%d\n", depth, d.t, d.element())
		}
	}
	return out.Flush()
}

// element returns SPIN's number of a step that was taken, -1 if it is a jump.
func (d told) element() int {
	if d.e == death {
		return d.proc.First + d.proc.Elements - 1
	}
	if d.e.src.Seq == 0 {
		return -1
	}
	return d.proc.First + d.e.src.Seq - 1
}

// line is a step of a trail.
type line struct{ depth, process, element int }

// ReadTrail reads a trail that SPIN's verifier or WriteTrail has written for the model,
// and returns the execution. It ends where the trail ends, or before if the trail ends
// inside of an atomic sequence.
func (s *System) ReadTrail(r io.Reader) (*trace.Trace, error) {
	if s.claim != nil || s.trace != nil {
		return nil, fmt.Errorf("a trail of a model with a claim or a trace assertion cannot be read")
	}
	var lines []line
	merged := false
	in := bufio.NewScanner(r)
	for n := 1; in.Scan(); n++ {
		text := strings.TrimSpace(in.Text())
		if text == "" {
			continue
		}
		var l line
		if k, err := fmt.Sscanf(text, "%d:%d:%d", &l.depth, &l.process, &l.element); k != 3 || err != nil {
			return nil, fmt.Errorf("line %d is no step of a trail, depth:process:statement, but %q", n, text)
		}
		switch {
		case l.depth == -4:
			merged = true
		case l.depth == -2:
			return nil, fmt.Errorf("line %d: the trail is one with a claim, which cannot be read", n)
		case l.depth == -1:
			return nil, fmt.Errorf("line %d: the trail is one of a cycle, which cannot be read", n)
		case l.depth < 0:
			return nil, fmt.Errorf("line %d: the trail comes from a search in another order (pan -p_...), which cannot be read", n)
		case l.process < 0 || l.process >= program.MaxProcesses || l.element < 0:
			return nil, fmt.Errorf("line %d: there is no process or statement with a number below 0", n)
		default:
			lines = append(lines, l)
		}
	}
	if err := in.Err(); err != nil {
		return nil, err
	}
	f := &follower{m: s.newMachine(), lines: lines, merged: merged, steps: s.elements()}
	f.m.Track(true)
	return f.follow()
}

// elements returns the numbers of all statements that are steps.
func (s *System) elements() map[int]bool {
	out := map[int]bool{}
	for _, p := range s.procs {
		out[p.First+p.Elements-1] = true
		add := func(e *program.Edge) {
			if e.Seq > 0 {
				out[p.First+e.Seq-1] = true
			}
		}
		for _, st := range p.States {
			for _, e := range st.Edges {
				add(e)
			}
			for _, x := range st.Escapes {
				add(x.Edge)
			}
		}
	}
	return out
}

// follower finds the execution of a trail.
type follower struct {
	m      *Machine
	lines  []line
	merged bool         // a line may stand for further statements behind it
	steps  map[int]bool // the elements that are steps here, too
}

// maxSilent bounds how many steps without a line are taken one after the other.
const maxSilent = 1 << 16

func (f *follower) follow() (*trace.Trace, error) {
	t := &trace.Trace{}
	var last system.Outcome
	at, silent := f.skip(0), 0
	for at < len(f.lines) {
		l := f.lines[at]
		alt, n, ok := f.choose(l.process, at)
		if !ok {
			name := "there is no such process then"
			if l.process < f.m.n {
				_, text, _ := f.m.Next(l.process)
				name = f.m.ThreadName(l.process) + " is at: " + text
			}
			return nil, fmt.Errorf("step %d of the trail, statement %d of process %d, cannot be taken, so it is of another model: %s", l.depth, l.element, l.process, name)
		}
		if silent++; n > at {
			silent = 0
		} else if silent > maxSilent {
			return nil, fmt.Errorf("step %d of the trail is never reached", l.depth)
		}
		last = f.m.Step(l.process, alt)
		t.Steps = append(t.Steps, trace.Step{Thread: l.process, Alt: alt})
		at = f.skip(n)
	}
	t.Violation = last.Violation
	if t.Violation == nil && f.stuck() {
		t.Violation = &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
	}
	return t, nil
}

// skip passes over lines that are no steps here: jumps.
func (f *follower) skip(at int) int {
	for at < len(f.lines) && !f.steps[f.lines[at].element] {
		at++
	}
	return at
}

// choose finds the alternative of a process that the trail goes on with from line at,
// and the line behind it. If statements were merged, and none fits, it is the only
// alternative.
func (f *follower) choose(t, at int) (best uint64, next int, ok bool) {
	m := f.m
	mark := m.Mark()
	count := 0
	for alt, more := uint64(0), true; more; {
		out := m.Step(t, alt)
		if out.Kind != system.Moved {
			return 0, 0, false
		}
		count++
		n, fits := f.match(at)
		m.Rewind(mark)
		if fits && (!ok || n > next) {
			best, next, ok = alt, n, true
		}
		alt, more = out.Next, out.Next != 0
	}
	if !ok && f.merged && count == 1 {
		return 0, at, true
	}
	return best, next, ok
}

// match compares what the last step did with the lines from at on. The trail of a
// violation ends in the middle of an atomic sequence.
func (f *follower) match(at int) (int, bool) {
	for i, d := range f.m.told {
		at = f.skip(at)
		switch {
		case d.element() < 0:
		case at == len(f.lines):
			return at, i > 0
		case f.lines[at].process == d.t && f.lines[at].element == d.element():
			at++
		case f.merged && i > 0:
		default:
			return 0, false
		}
	}
	return at, true
}

// stuck tells whether the state is an invalid end state.
func (f *follower) stuck() bool {
	is := false
	mark := f.m.Mark()
	for t := range f.m.n {
		out := f.m.Step(t, 0)
		f.m.Rewind(mark)
		if out.Kind == system.Moved {
			return false
		}
		is = is || out.Kind == system.Blocked && !out.AtEnd
	}
	return is
}
