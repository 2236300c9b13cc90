package statestore

import "sync/atomic"

// budget counts the bytes that a store holds and keeps them under a limit.
type budget struct {
	max  int64 // 0: no limit
	used atomic.Int64
}

// take reserves n bytes. It returns false, and reserves nothing, if that would
// pass the limit; unless force is set, for what must not fail half-way.
func (b *budget) take(n int, force bool) bool {
	if b.used.Add(int64(n)) > b.max && b.max > 0 && !force {
		b.used.Add(-int64(n))
		return false
	}
	return true
}

// give returns n bytes.
func (b *budget) give(n int) { b.used.Add(-int64(n)) }

// allow reports whether n more bytes would be within the limit.
func (b *budget) allow(n int) bool {
	return b.max == 0 || b.used.Load()+int64(n) <= b.max
}
