//go:build !amd64

package prefetch

import (
	"sync/atomic"
	"unsafe"
)

// Line asks for the cache line of p. Without an instruction for it, a load whose value nobody
// waits for comes near.
func Line(p unsafe.Pointer) { atomic.LoadUint32((*uint32)(p)) }
