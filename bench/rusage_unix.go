//go:build unix

package bench

import (
	"os"
	"runtime"
	"syscall"
)

// maxRSS returns the largest resident set of an ended process in bytes.
func maxRSS(s *os.ProcessState) uint64 {
	u, ok := s.SysUsage().(*syscall.Rusage)
	if !ok || u.Maxrss <= 0 {
		return 0
	}
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return uint64(u.Maxrss) // bytes there, kilobytes elsewhere
	}
	return uint64(u.Maxrss) * 1024
}
