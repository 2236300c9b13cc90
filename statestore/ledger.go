package statestore

import (
	"math"
	"sync/atomic"
	"unsafe"

	"github.com/puzpuzpuz/xsync/v3"

	"cpor/internal/probe"
)

// ledger counts what the tables of a store do: the bytes they hold, which it keeps
// under a limit, and events. The events are counted when workers are in each
// other's way, so with striped counters, which do not put them there again.
type ledger struct {
	max  int64 // 0: no limit
	used atomic.Int64

	grows     *xsync.Counter // tables, or shards of them, that have grown
	failedCAS *xsync.Counter
	waits     *xsync.Counter // for a table to grow
}

func newLedger(o Options) *ledger {
	return &ledger{
		max:       int64(min(o.MaxBytes, math.MaxInt64)),
		grows:     xsync.NewCounter(),
		failedCAS: xsync.NewCounter(),
		waits:     xsync.NewCounter(),
	}
}

// take reserves n bytes. It returns false, and reserves nothing, if that would
// pass the limit; unless force is set, for what must not fail half-way.
func (l *ledger) take(n int, force bool) bool {
	probe.Write(probe.Ledger, unsafe.Pointer(&l.used))
	if l.used.Add(int64(n)) > l.max && l.max > 0 && !force {
		l.used.Add(-int64(n))
		return false
	}
	return true
}

// give returns n bytes.
func (l *ledger) give(n int) {
	probe.Write(probe.Ledger, unsafe.Pointer(&l.used))
	l.used.Add(-int64(n))
}

// allow reports whether n more bytes would be within the limit.
func (l *ledger) allow(n int) bool {
	return l.max == 0 || l.used.Load()+int64(n) <= l.max
}

// events adds the events to a store's figures.
func (l *ledger) events(s *Stats) {
	s.Grows = uint64(l.grows.Value())
	s.FailedCAS = uint64(l.failedCAS.Value())
	s.Waits = uint64(l.waits.Value())
}
