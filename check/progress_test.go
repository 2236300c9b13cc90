package check_test

import (
	"sync/atomic"
	"testing"

	"cpor/check"
)

func TestLockFree(t *testing.T) {
	check.LockFree(t, func() *atomic.Int64 { return new(atomic.Int64) },
		check.Op("Swap", (*atomic.Int64).Swap), check.Bounds{Concurrent: 2, Prefix: -1})
}

// spinning waits until it is set by nobody.
type spinning struct{ set atomic.Bool }

func (s *spinning) Wait() {
	for !s.set.Load() {
	}
}

func TestSpinning(t *testing.T) {
	onPurpose(t)
	check.ObstructionFree(t, func() *spinning { return new(spinning) },
		check.Op("Wait", (*spinning).Wait))
}
