// Package limit admits a limited number of visitors.
package limit

import "sync/atomic"

// Limiter admits Max visitors.
type Limiter struct {
	Max     int64
	visitor atomic.Int64
}

// Admit tells whether one more may enter. Each operation is atomic, the two
// together are not.
func (l *Limiter) Admit() bool {
	if l.visitor.Load() >= l.Max {
		return false
	}
	l.visitor.Add(1)
	return true
}

// Leave makes room.
func (l *Limiter) Leave() { l.visitor.Add(-1) }

// Inside returns how many are inside.
func (l *Limiter) Inside() int64 { return l.visitor.Load() }
