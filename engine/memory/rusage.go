//go:build linux || darwin || freebsd || netbsd || openbsd

package memory

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// Peak returns the largest resident set that the process ever had, in
// bytes. On Linux the kernel's getrusage hands the parent's peak on to a
// program that it starts, so that there it is asked in another way first.
func Peak() uint64 {
	if n := procHWM(); n > 0 {
		return n
	}
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	if runtime.GOOS == "darwin" {
		return uint64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return uint64(u.Maxrss) * 1024
}

// procHWM returns the peak ("high water mark") as Linux's /proc has it, 0 if
// there is none.
func procHWM() uint64 {
	if runtime.GOOS != "linux" {
		return 0
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, ok := strings.Cut(string(status), "\nVmHWM:")
	if !ok {
		return 0
	}
	line, _, _ := strings.Cut(rest, "\n")
	kb, err := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(line),
		"kB")), 10, 64)
	if err != nil {
		return 0
	}
	return kb * 1024
}
