package prefetch

import "unsafe"

// Line asks for the cache line of p and does not wait for it. Go has no way to say that, and
// a load holds up what comes after it once the processor's window is full.
//
//go:noescape
func Line(p unsafe.Pointer)
