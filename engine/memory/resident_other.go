//go:build !linux

package memory

import (
	"os"
	"sync"

	"github.com/shirou/gopsutil/v4/process"
)

// self is this process as the operating system sees it; nil if it cannot be
// asked.
var self = sync.OnceValue(func() *process.Process {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return nil
	}
	return p
})

// Resident returns the memory that the process occupies, in bytes; where the
// operating system does not tell, what the Go runtime has obtained from it.
func Resident() uint64 {
	if p := self(); p != nil {
		if mi, err := p.MemoryInfo(); err == nil && mi.RSS > 0 {
			return mi.RSS
		}
	}
	return runtimeMemory()
}
