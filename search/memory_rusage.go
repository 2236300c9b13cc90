//go:build linux || darwin || freebsd || netbsd || openbsd

package search

import (
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident set that the process ever had, in bytes.
func peakRSS() uint64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return uint64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return uint64(u.Maxrss) * 1024
}
