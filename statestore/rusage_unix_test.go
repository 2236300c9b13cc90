//go:build unix

package statestore

import (
	"syscall"
	"time"
)

// cpuTime returns the processor time that the process has used, all threads
// together: on a machine with other load it says more than a clock.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
