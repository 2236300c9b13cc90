// Package memory keeps the process within a limit of memory while a search
// runs, as the operating system counts it: the resident set.
//
// The runtime's own limit (debug.SetMemoryLimit) is a wish and knows nothing of the program's
// code and the stacks of the system; a store that doubles a table knows nothing of the rest. So
// three things work together: the garbage collector keeps less garbage, the store gets a share
// of what is left, and the resident set is watched. Near the limit a collection is tried before
// the search has to end.
package memory

import (
	"cpor/internal/human"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shirou/gopsutil/v4/mem"
)

// How a limit is divided.
const (
	// storeShare is the part of the memory beside the process as it is at the
	// start that the stores may take. The rest is for the work set, the
	// workers, and the tables that the store has grown out of and that the
	// garbage collector has not had yet.
	storeShare = 0.85
	// leastRoom is the least memory beside the process as it is with which to
	// start at all.
	leastRoom = 8 << 20
	// garbagePercent replaces GOGC from when the process has the part frugal of its limit.
	// Collections are cheap then: nearly all of the heap is tables without pointers. Of a
	// short search they would take a tenth of the time.
	garbagePercent = 20
	frugal         = 0.25
	// margin is the part of the limit, and leastMargin how many bytes of it,
	// with which left the search ends: the workers continue allocating until the
	// next look, and until they hear of the end. How much does not depend on the
	// limit. A collection is begun with twice as much left, and the end waits
	// for it as long as a quarter is left.
	margin      = 0.04
	leastMargin = 4 << 20
	// heapCeiling is the part of the limit that the garbage collector learns of, for all that the
	// process has. It begins to collect more often there, and the resident set follows with a
	// delay.
	heapCeiling = 0.93
	// collectEvery is the shortest time between two forced collections, and how
	// long it counts that the last has not helped.
	collectEvery = 250 * time.Millisecond
)

// CheckEvery is how often Check should be called.
const CheckEvery = 5 * time.Millisecond

// ErrReached is what Check returns at the limit.
var ErrReached = errors.New("the limit of memory was reached")

// Limit is a limit on the memory of the process. The zero value has none.
type Limit struct {
	limit uint64
	base  uint64        // resident at the start
	peak  atomic.Uint64 // largest resident set that Check has seen

	collecting chan struct{} // closed when the forced collection has ended; nil: there was none
	collected  time.Time     // when it was seen to have ended
	saving     bool          // see save
}

// settings are those of the garbage collector without limits. Several limits can
// hold at a time, as when one engine runs others: the smallest counts, and the last
// to be released gives the settings back.
var settings struct {
	mu      sync.Mutex
	holders int
	limit   int64
	frugal  bool
	percent int // if frugal: what it was before
}

// hold tells the garbage collector of a limit of the heap.
func hold(limit int64) {
	settings.mu.Lock()
	defer settings.mu.Unlock()
	if settings.holders == 0 {
		settings.limit = debug.SetMemoryLimit(limit)
	} else if limit < debug.SetMemoryLimit(-1) {
		debug.SetMemoryLimit(limit)
	}
	settings.holders++
}

// letGo ends what hold began.
func letGo() {
	settings.mu.Lock()
	defer settings.mu.Unlock()
	if settings.holders--; settings.holders == 0 {
		if settings.frugal {
			debug.SetGCPercent(settings.percent)
			settings.frugal = false
		}
		debug.SetMemoryLimit(settings.limit)
	}
}

// save tells the garbage collector to keep less garbage if the process has come some way
// to its limit.
func (m *Limit) save(resident uint64) {
	if m.saving || float64(resident) < frugal*float64(m.limit) {
		return
	}
	m.saving = true
	settings.mu.Lock()
	defer settings.mu.Unlock()
	if !settings.frugal {
		settings.frugal, settings.percent = true, debug.SetGCPercent(garbagePercent)
	}
}

// patience is the percentage for the garbage collector at the beginning (see Start).
const patience = 400

// early is what Start and Patient have set.
var early struct {
	on      bool
	percent int    // before
	live    uint64 // how many bytes may be in use after a collection that leaves it on
}

// Start is to be called once, when the process begins: until the garbage collector has run for the
// first time, the heap may grow to 16 MB. A search that ends within a few megabytes is then not
// bothered by the garbage collector, which would otherwise begin at four. GOGC in the environment
// has precedence.
func Start() { Patient(0) }

// Patient is Start until a collection finds more than live bytes in use. It is for work that
// allocates much and leaves little garbage, such as loading a program with all its imports.
func Patient(live uint64) {
	if os.Getenv("GOGC") != "" {
		return
	}
	settings.mu.Lock()
	defer settings.mu.Unlock()
	if early.on {
		early.live = max(early.live, live)
	} else if !settings.frugal {
		early.on, early.live, early.percent = true, live, debug.SetGCPercent(patience)
		afterNext()
	}
}

// Load is the argument of [Patient] for loading a program. Package testing and its imports take
// half of it.
const Load = 32 << 20

// afterNext looks after the next collection whether patience is over.
func afterNext() {
	// What is unreachable is noticed by the collection.
	runtime.AddCleanup(new([64]byte), func(struct{}) {
		inUse := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(inUse)
		settings.mu.Lock()
		defer settings.mu.Unlock()
		switch {
		case settings.frugal:
			settings.percent = early.percent
		case inUse[0].Value.Uint64() <= early.live:
			afterNext()
			return
		default:
			debug.SetGCPercent(early.percent)
		}
		early.on = false
	}, struct{}{})
}

// New prepares the process for a limit of that many bytes, 0 for none. It returns an error if
// the limit leaves no room to search. Release ends the limit.
func New(limit uint64) (*Limit, error) {
	if limit == 0 {
		return &Limit{}, nil
	}
	base := Resident()
	if limit > math.MaxInt64 {
		limit = math.MaxInt64
	}
	if limit < base+leastRoom {
		debug.FreeOSMemory()
		base = Resident()
	}
	if limit < base+leastRoom {
		return nil, fmt.Errorf("a memory limit of %s is too small: the process needs %s before "+
			"the search",
			human.Size(limit), human.Size(base+leastRoom))
	}
	// The runtime knows nothing of the program's code and the like.
	outside := base - min(base, runtimeMemory())
	forHeap := int64(heapCeiling*float64(limit)) - int64(outside)
	hold(max(forHeap, 0))
	m := &Limit{limit: limit, base: base}
	m.save(base)
	return m, nil
}

// Release gives the garbage collector its settings back.
func (m *Limit) Release() {
	if m.limit > 0 {
		if m.collecting != nil {
			<-m.collecting
		}
		letGo()
	}
}

// Limited reports whether there is a limit.
func (m *Limit) Limited() bool { return m.limit > 0 }

// ForStores returns how many bytes the stores may take, 0 for no limit.
func (m *Limit) ForStores() uint64 {
	if m.limit == 0 {
		return 0
	}
	return uint64(float64(m.limit-m.base) * storeShare)
}

// Check returns ErrReached if the process has reached its limit and collecting
// garbage does not help. It is called from one goroutine at a time.
func (m *Limit) Check() error {
	now := Resident()
	m.peak.Store(max(m.peak.Load(), now))
	if m.limit == 0 {
		return nil
	}
	m.save(now)
	room := max(uint64(margin*float64(m.limit)), leastMargin)
	left := m.limit - min(m.limit, now)
	if left > 2*room {
		return nil
	}
	if m.running() {
		if left < room/4 {
			return ErrReached
		}
		return nil
	}
	if time.Since(m.collected) > collectEvery {
		// Beside the looks, which must continue while it runs.
		done := make(chan struct{})
		m.collecting = done
		go func() {
			defer close(done)
			debug.FreeOSMemory()
		}()
		return nil
	}
	if left < room {
		return ErrReached
	}
	return nil
}

// running reports whether a forced collection runs.
func (m *Limit) running() bool {
	if m.collecting == nil {
		return false
	}
	select {
	case <-m.collecting:
		m.collecting, m.collected = nil, time.Now()
		return false
	default:
		return true
	}
}

// Peak returns the largest resident set of the process, in bytes. It may be called
// while another goroutine calls Check.
func (m *Limit) Peak() uint64 { return max(Peak(), m.peak.Load()) }

// Reason is what to tell of a search that ended at the limit.
func (m *Limit) Reason() string {
	return fmt.Sprintf("limit of %s of memory", human.Size(m.limit))
}

// largestDefault is the largest limit that Default gives, in bytes.
const largestDefault = 4 << 30

// Default returns the limit for those who give none and want one, in bytes: a quarter of the
// memory of the machine, and 4 GiB at most.
var Default = sync.OnceValue(func() uint64 {
	m, err := mem.VirtualMemory()
	if err != nil || m.Total == 0 {
		return largestDefault
	}
	return min(m.Total/4, largestDefault)
})
