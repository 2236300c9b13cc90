package composed

import "cpor/system"

// Visibility tells visible transitions from invisible ones for searches that are not expanders.
// One serves one worker.
type Visibility struct{ x *Expander }

// NewVisibility returns a Visibility for a system. The error is ErrObservers or
// ErrNoLocks.
func NewVisibility(sys system.System) (*Visibility, error) {
	x, err := newExpander(sys, Options{}, nil)
	if err != nil {
		return nil, err
	}
	return &Visibility{x}, nil
}

// InvisibleNext reports whether the next transition of thread t in the live state of m, a
// machine of the same system, is enabled and invisible. The live state stays as it is. Tracking
// must be on.
func (v *Visibility) InvisibleNext(m system.Machine, t int) bool {
	v.x.use(m)
	return v.x.invisibleNext(t)
}
