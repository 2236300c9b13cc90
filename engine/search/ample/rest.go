package ample

// Rest decides where ample sets are looked for: where there are hardly any, that is seldom. It
// belongs to one expander. The zero value is ready.
type Rest struct {
	tried, found int // attempts, and those that saved something
	rests, rest  int // for so many states there is none; for how many the last time
}

const (
	// After this many attempts, an expander rests unless at least fewest of them succeeded.
	attempts = 64
	fewest   = 3
	// It rests for this many states at most.
	longest = 16 * attempts
	// A search for ample sets alone begins with so many attempts: small models get all there are.
	patient = 1024
)

// Due tells whether an ample set is looked for in the next state.
func (r *Rest) Due() bool {
	if r.rests > 0 {
		r.rests--
		return false
	}
	if r.tried >= attempts {
		enough := r.found >= fewest
		r.tried, r.found = 0, 0
		if !enough {
			r.rest = min(max(attempts, 2*r.rest), longest)
			r.rests = r.rest
			return false
		}
		r.rest = 0
	}
	return true
}

// Told takes whether an attempt has succeeded.
func (r *Rest) Told(success bool) {
	r.tried++
	if success {
		r.found++
	}
}
