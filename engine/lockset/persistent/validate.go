package persistent

import (
	"fmt"
	"slices"

	"cpor/system"
)

// Validator checks by brute force that sets of threads are persistent. It serves one worker.
type Validator struct {
	// Ignore are threads that are taken for ones without transitions.
	Ignore system.Observers
	// Waking asks for more: no transition of the set may enable a thread outside of it.
	Waking bool
	m      system.Machine
}

// NewValidator returns a validator for states of sys.
func NewValidator(sys system.System) *Validator { return &Validator{m: sys.NewMachine()} }

// maxValidated bounds the states that the check of one set looks at.
const maxValidated = 20000

// Error says that a set is not persistent.
type Error struct{ Message string }

func (e *Error) Error() string {
	return "internal error: the reduction is unsound, its set of threads is not persistent: " +
		e.Message
}

// Check explores the executions from s in which no thread of the set moves. In each state these
// threads must have as many alternatives as in s, and each transition of another thread must
// commute with each of them. The error is an *Error.
func (v *Validator) Check(s system.State, in func(t int) bool) error {
	base := map[int]int{}
	seen := map[string]bool{fmt.Sprint(s): true}
	queue := []system.State{slices.Clone(s)}
	for i := 0; i < len(queue) && i < maxValidated; i++ {
		at := queue[i]
		v.m.Load(at)
		n := v.m.NumThreads()
		for t := range n {
			if !in(t) {
				continue
			}
			mine := v.next(at, t)
			if i == 0 {
				base[t] = len(mine)
			}
			if len(mine) != base[t] {
				return &Error{fmt.Sprintf("thread %d has %d alternatives, after steps of others %d",
					t, base[t], len(mine))}
			}
			if err := v.commutes(at, t, mine, n, in); err != nil {
				return err
			}
		}
		for u := range n {
			if in(u) || v.Ignore.Has(u) {
				continue
			}
			for _, end := range v.next(at, u) {
				if key := fmt.Sprint(end); !seen[key] {
					seen[key] = true
					queue = append(queue, end)
				}
			}
		}
	}
	return nil
}

// commutes checks that what thread t does in a state leads to the same before and after each
// transition of a thread outside of the set.
func (v *Validator) commutes(at system.State, t int, mine []system.State, n int,
	in func(int) bool) error {
	for u := range n {
		if in(u) || v.Ignore.Has(u) {
			continue
		}
		theirs := v.next(at, u)
		if v.Waking && len(theirs) == 0 {
			for _, end := range mine {
				if len(v.next(end, u)) > 0 {
					return &Error{fmt.Sprintf("a step of thread %d enables thread %d", t, u)}
				}
			}
		}
		for _, end := range theirs {
			after := v.next(end, t)
			if len(after) != len(mine) {
				return &Error{fmt.Sprintf("a step of thread %d changes what thread %d can do", u,
					t)}
			}
			for j := range mine {
				// Where t enables a case of a select, the others have other numbers.
				both := func(s system.State) bool { return slices.Equal(s, after[j]) }
				if !slices.ContainsFunc(v.next(mine[j], u), both) {
					return &Error{fmt.Sprintf("steps of the threads %d and %d do not commute", u,
						t)}
				}
			}
		}
	}
	return nil
}

// next returns where the enabled alternatives of a thread lead.
func (v *Validator) next(s system.State, t int) (ends []system.State) {
	v.m.Load(s)
	mark := v.m.Mark()
	for alt := uint64(0); t < v.m.NumThreads(); {
		out := v.m.Step(t, alt)
		if out.Kind != system.Moved {
			break
		}
		ends = append(ends, v.m.Encode(nil))
		v.m.Rewind(mark)
		if out.Next == 0 {
			break
		}
		alt = out.Next
	}
	return ends
}
