package machine

import (
	"errors"
	"fmt"
	"slices"

	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Apart implements [system.Merging]. It returns nil if the system merges nothing.
func (s *System) Apart() system.System { return s.apart }

// Separate implements [system.Merging]. What is merged has no choices of its own. So a transition
// is the step of pure semantics with the same number, and then steps that are the only ones of
// their processes.
func (s *System) Separate(initial int, steps []system.Step) ([]system.Step, error) {
	if initial != 0 {
		return nil, fmt.Errorf("there is no initial state number %d", initial)
	}
	joined, plain := s.newMachine(), s.apart.newMachine()
	joined.Track(true)
	plain.Track(true)
	var out []system.Step
	for i, st := range steps {
		if joined.Step(st.Thread, st.Alt).Kind != system.Moved {
			return nil, fmt.Errorf("step %d cannot be taken", i+1)
		}
		last := i == len(steps)-1 && joined.viol != nil
		for parts := partsOf(joined); ; st = (system.Step{Thread: parts[0].t}) {
			o := plain.Step(st.Thread, st.Alt)
			got := partsOf(plain)
			if o.Kind != system.Moved || len(got) > len(parts) ||
				!slices.Equal(got, parts[:len(got)]) || len(got) == 0 && len(parts) > 0 {
				return nil, fmt.Errorf("step %d: %w", i+1, errDiffer)
			}
			out = append(out, st)
			parts = parts[len(got):]
			if len(parts) == 0 || last && plain.viol != nil || sabotage.Is("merged/separate") {
				break
			}
		}
	}
	return out, nil
}

var errDiffer = errors.New("its statements are not those of steps of pure semantics")

// part is a statement of a transition: a step of process t, nil for the end of the process.
type part struct {
	t   int
	src *program.Edge
}

// partsOf returns the statements of the last step.
func partsOf(m *Machine) []part {
	var all []part
	for _, d := range m.told {
		all = append(all, part{d.t, d.e.src})
	}
	return all
}
