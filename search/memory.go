package search

import (
	"fmt"
	"math"
	"os"
	"runtime/debug"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/shirou/gopsutil/v4/process"
)

// How MaxMemory is divided. The process may go over it by a tenth at most.
const (
	// storeShare is the part of the memory beside the process as it is at the
	// start that the store may take. The rest is for the work set, the
	// workers, and the tables that the store has grown out of and that the
	// garbage collector has not had yet.
	storeShare = 0.85
	// minStore is the least memory for the store with which to start at all.
	minStore = 4 << 20
	// garbagePercent replaces GOGC while the memory is limited. Collections
	// are cheap: nearly all of the heap is tables without pointers.
	garbagePercent = 20
	// collectEvery is the shortest time between two forced collections.
	collectEvery = 250 * time.Millisecond
)

// memory keeps the process within a limit. The zero value has none.
type memory struct {
	limit     uint64
	base      uint64 // resident at the start
	peak      uint64 // largest resident set seen
	collected time.Time

	oldPercent int
	oldLimit   int64
}

// newMemory prepares the process for a limit of so many bytes, 0 for none. It
// returns an *OptionError if the limit leaves no room to search.
func newMemory(limit uint64) (*memory, error) {
	if limit == 0 {
		return &memory{}, nil
	}
	base := residentSet()
	if limit > math.MaxInt64 {
		limit = math.MaxInt64
	}
	if limit < base+2*minStore {
		debug.FreeOSMemory()
		base = residentSet()
	}
	if limit < base+2*minStore {
		return nil, &OptionError{fmt.Sprintf("a memory limit of %s is too small: the process needs %s before it searches",
			humanize.IBytes(limit), humanize.IBytes(base+2*minStore))}
	}
	return &memory{
		limit:      limit,
		base:       base,
		oldPercent: debug.SetGCPercent(garbagePercent),
		oldLimit:   debug.SetMemoryLimit(int64(limit)),
	}, nil
}

// release gives the garbage collector its settings back.
func (m *memory) release() {
	if m.limit > 0 {
		debug.SetGCPercent(m.oldPercent)
		debug.SetMemoryLimit(m.oldLimit)
	}
}

// forStore returns how much memory the store may take, 0 for no limit.
func (m *memory) forStore() uint64 {
	if m.limit == 0 {
		return 0
	}
	return uint64(float64(m.limit-m.base) * storeShare)
}

// check returns errMemory if the process has reached its limit and collecting
// garbage does not help.
func (m *memory) check() error {
	now := residentSet()
	m.peak = max(m.peak, now)
	if now < m.limit {
		return nil
	}
	if time.Since(m.collected) > collectEvery {
		debug.FreeOSMemory()
		m.collected = time.Now()
		if residentSet() < m.limit-m.limit/20 {
			return nil
		}
	}
	return errMemory
}

// self is this process as the operating system sees it; nil if it cannot be
// asked.
var self = func() *process.Process {
	p, err := process.NewProcess(int32(os.Getpid()))
	if err != nil {
		return nil
	}
	return p
}()

// residentSet returns the memory that the process occupies, in bytes; where the
// operating system does not tell, what the Go runtime has obtained from it.
func residentSet() uint64 {
	if self != nil {
		if mi, err := self.MemoryInfo(); err == nil && mi.RSS > 0 {
			return mi.RSS
		}
	}
	return runtimeMemory()
}
