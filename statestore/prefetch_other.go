//go:build !amd64

package statestore

import (
	"sync/atomic"
	"unsafe"
)

// prefetch asks for the cache line of p. Without an instruction for it, a load
// whose value nobody waits for comes near.
func prefetch(p unsafe.Pointer) { atomic.LoadUint64((*uint64)(p)) }
