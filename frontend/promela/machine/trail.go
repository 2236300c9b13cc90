package machine

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/trace"
)

// SPIN's trail is a text with a line depth:process:element for each statement that was executed,
// the receiver's after the sender's. Elements are numbered over the whole model, statements and
// what they are nested in, as SPIN's parser makes them ([program.Edge.Seq]). Lines with a
// negative depth say how to read the others:
//
//	-1:-1:-1  here a cycle begins, and the last line ends it
//	-2:T:-2   there is a claim, the process type number T ([program.Program.ClaimType]). It is
//	          process 0 in this trail, and the others have a number that is greater by one.
//	          It moves first, and then one of them; alone where none can.
//	-4:-4:-4  statements were merged: a line can stand for further ones of its process behind it
//	-5 to -8  from a verifier that was compiled with -DPERMUTED: the order in which it tries
//	          things. The lines are in the order in which they were executed all the same. If
//	          the last number of -5 is not 0, the processes of the initial state were made from
//	          the last to the first.
//
// The format is not documented; it is that of SPIN 6.5.2, of what its verifier writes and
// spin -t replays.

// Trail is a parsed trail, which may not be one of the model.
type Trail struct {
	// Claim is the number of the claim's process type; -1 if there is no claim.
	Claim int
	// Follows reports whether there are moves of the claim, and Moved is the first one's
	// statement.
	Follows bool
	Moved   int
	// Reversed reports whether the processes of the initial state are those of the model from
	// the last to the first, as the verifier's -p_... makes them.
	Reversed bool
	merged   bool
	lines    []line // of processes, the claim aside
	loop     int    // the index of the first line of the cycle, -1 if there is none
}

// line is a step of a trail.
type line struct{ number, depth, process, element int }

// maxElement bounds the numbers of elements.
const maxElement = math.MaxInt32

// ParseTrail reads a trail. The error names the line.
func ParseTrail(r io.Reader) (*Trail, error) {
	t := &Trail{Claim: -1, loop: -1}
	in := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := in.ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		if len(text) > 100 {
			text = text[:100]
		}
		if trimmed := strings.TrimSpace(text); trimmed != "" {
			if wrong := t.add(n, trimmed); wrong != nil {
				return nil, fmt.Errorf("line %d: %w", n, wrong)
			}
			if err != nil {
				return nil, fmt.Errorf("line %d: there is no end of line after %q: the trail is "+
					"cut off", n, trimmed)
			}
		}
		if err != nil {
			return t, nil
		}
	}
}

// add reads a line.
func (t *Trail) add(n int, text string) error {
	parts := strings.Split(text, ":")
	var v [3]int
	for i := range parts {
		k, err := strconv.ParseInt(parts[i], 10, 64)
		if len(parts) != 3 || err != nil || k != int64(int(k)) {
			return fmt.Errorf("this is not a step of a trail, depth:process:statement, but %q",
				text)
		}
		v[i] = int(k)
	}
	l := line{n, v[0], v[1], v[2]}
	switch {
	case l.depth < 0:
		return t.mark(l)
	case l.process < 0 || l.element < 0 || l.element > maxElement:
		return errors.New("processes and statements have numbers from 0 on")
	case t.Claim >= 0 && l.process == 0:
		if !t.Follows {
			t.Follows, t.Moved = true, l.element
		}
	default:
		if t.Claim >= 0 {
			l.process--
		}
		if l.process >= program.MaxProcesses {
			return fmt.Errorf("there is no process with the number %d: a model has at most %d",
				l.process, program.MaxProcesses)
		}
		t.lines = append(t.lines, l)
	}
	return nil
}

// mark reads a line that is not a step: its depth says what it means.
func (t *Trail) mark(l line) error {
	switch {
	case l.depth == -1 && t.loop >= 0:
		return errors.New("a second cycle begins here, and a trail has one at most")
	case l.depth == -1:
		t.loop = len(t.lines)
	case l.depth == -2 && t.Claim >= 0:
		return errors.New("a second claim, and a trail has one at most")
	case l.depth == -2 && (len(t.lines) > 0 || t.loop >= 0):
		return errors.New("the claim is named after the first step and must come before it")
	case l.depth == -2 && (l.process < 0 || l.process > math.MaxUint8):
		return fmt.Errorf("there is no process type with the number %d", l.process)
	case l.depth == -2:
		t.Claim = l.process
	case l.depth == -4:
		t.merged = true
	case l.depth == -5:
		t.Reversed = l.element != 0
	case l.depth <= -6 && l.depth >= -8: // which order was taken
	default:
		return fmt.Errorf("a mark with the number %d is not known", l.depth)
	}
	return nil
}

// HasCycle reports whether the trail is one of an execution that continues forever.
func (t *Trail) HasCycle() bool { return t.loop >= 0 }

// WriteTrail writes the steps of an execution from the initial state in a form that spin -t
// replays. Those from loop on repeat forever, the last state if loop is len(steps); if it is
// negative, the execution is finite. claim is the number of the claim's process type that the
// trail names, -1 for none; its moves are written if it is part of the system. v is what the
// execution violates, nil for nothing. The error says why a trail is impossible, or is the
// writer's.
func (s *System) WriteTrail(w io.Writer, steps []trace.Step, loop, claim int,
	v *system.Violation) error {
	out := bufio.NewWriter(w)
	shift := 0
	if claim >= 0 {
		fmt.Fprintf(out, "-2:%d:-2\n", claim)
		shift = 1
	}
	m := s.newMachine()
	m.Track(true)
	depth := 0
	write := func(process, element int) {
		depth++
		fmt.Fprintf(out, "%d:%d:%d\n", depth, process, element)
	}
	for i, st := range steps {
		if i == loop {
			fmt.Fprintln(out, "-1:-1:-1")
		}
		o := m.Step(st.Thread, st.Alt)
		if o.Kind != system.Moved {
			return fmt.Errorf("step %d of the trace cannot be taken", i+1)
		}
		if s.claim != nil {
			for _, e := range m.claimed {
				if e.src.Seq > 0 {
					write(0, s.claim.First+e.src.Seq-1)
				}
			}
			if v != nil && i == len(steps)-1 && v.Object == s.claim.Name {
				break // the claim's move is what is wrong, not what comes after it
			}
		}
		for _, d := range m.told {
			if d.element() >= 0 {
				write(d.t+shift, d.element())
			}
		}
	}
	if loop == len(steps) {
		fmt.Fprintln(out, "-1:-1:-1")
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

// elements returns the numbers of all statements that are steps.
func (s *System) elements() map[int]bool {
	out := map[int]bool{}
	for _, p := range s.procs {
		out[p.First+p.Elements-1] = true
		for _, st := range p.States {
			for _, e := range edgesOf(st) {
				if e.Seq > 0 {
					out[p.First+e.Seq-1] = true
				}
			}
		}
	}
	return out
}
