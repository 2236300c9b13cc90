package temporal

import (
	"fmt"
	"slices"

	"cpor/system"
)

// validator checks C1 by brute force.
type validator struct {
	obs *system.Observers
	m   system.Machine
}

// maxValidated bounds the states that the check of one ample set looks at.
const maxValidated = 20000

// C1Error says that an ample set violates C1.
type C1Error struct{ Message string }

func (e *C1Error) Error() string {
	return "internal error: the reduction does not satisfy C1: " + e.Message
}

// effect is what a thread can do in a state.
type effect struct {
	alts []uint64
	ends []system.State
}

// check explores the executions from s in which thread t does not move. In each
// state the thread must have as many alternatives as in s, and each transition
// of another thread must commute with each of them.
func (v *validator) check(s system.State, t int) error {
	base := v.effect(s, t)
	seen := map[string]bool{}
	queue := []system.State{slices.Clone(s)}
	seen[fmt.Sprint(s)] = true
	for i := 0; i < len(queue) && i < maxValidated; i++ {
		at := queue[i]
		mine := v.effect(at, t)
		if len(mine.alts) != len(base.alts) {
			return &C1Error{fmt.Sprintf("thread %d has %d alternatives, after steps of others %d",
				t, len(base.alts), len(mine.alts))}
		}
		v.m.Load(at)
		n := v.m.NumThreads()
		for u := range n {
			if u == t || v.obs.Has(u) {
				continue
			}
			theirs := v.effect(at, u)
			for k, end := range theirs.ends {
				// Both orders lead to the same states.
				after := v.effect(end, t)
				if len(after.ends) != len(mine.ends) {
					return &C1Error{fmt.Sprintf("a step of thread %d changes what thread %d can do",
						u, t)}
				}
				for j := range mine.ends {
					v.m.Load(mine.ends[j])
					out := v.m.Step(u, theirs.alts[k])
					if out.Kind != system.Moved || !slices.Equal(v.m.Encode(nil), after.ends[j]) {
						return &C1Error{fmt.Sprintf("steps of the threads %d and %d do not commute",
							u, t)}
					}
				}
				if key := fmt.Sprint(end); !seen[key] {
					seen[key] = true
					queue = append(queue, end)
				}
			}
		}
	}
	return nil
}

// effect executes all enabled alternatives of a thread.
func (v *validator) effect(s system.State, t int) effect {
	var e effect
	v.m.Load(s)
	mark := v.m.Mark()
	for alt := uint64(0); ; {
		out := v.m.Step(t, alt)
		if out.Kind != system.Moved {
			return e
		}
		e.alts = append(e.alts, alt)
		e.ends = append(e.ends, v.m.Encode(nil))
		v.m.Rewind(mark)
		if out.Next == 0 {
			return e
		}
		alt = out.Next
	}
}
