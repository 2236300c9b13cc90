package coherence

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is the processor time of the calling thread.
func threadTime() (d time.Duration, ok bool) {
	var t unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t)
	return time.Duration(t.Nano()), err == nil
}

// pin lets the calling thread run on one processor only: the i-th of those that it may use. Where
// that is not possible, it does nothing.
func pin(i int) {
	var may, one unix.CPUSet
	if unix.SchedGetaffinity(0, &may) != nil {
		return
	}
	for cpu := range 8 * len(may) * 8 {
		if !may.IsSet(cpu) {
			continue
		}
		if i == 0 {
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one) // without it, measurements are less exact
			return
		}
		i--
	}
}
