//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package search

// peakRSS returns the present resident set, in bytes: this operating system's
// peak cannot be asked through package syscall.
func peakRSS() uint64 { return residentSet() }
