//go:build !amd64

package statestore

import "sync/atomic"

// prefetch asks for the cache line of *p. Without an instruction for it, a load
// whose value nobody waits for comes near.
func prefetch(p *uint64) { atomic.LoadUint64(p) }
