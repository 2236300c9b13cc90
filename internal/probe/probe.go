// Package probe lets a simulation watch the memory that the workers of a parallel search share.
// Code that reads or writes such memory announces it first:
//
//	probe.Write(probe.Active, unsafe.Pointer(&p.active))
//	p.active.Add(1)
//
// [On] is false except while `cpor bench scale -simulate` runs (package bench/coherence), so an
// ordinary search pays for one predictable branch. We do not use build tags, because the installed
// commands must be able to simulate.
package probe

import (
	"sync"
	"time"
	"unsafe"
)

// Site is a kind of shared memory, for reports.
type Site uint8

// The sites.
const (
	Start       Site = iota // a worker begins, or wakes up: no memory
	Unlocked                // it has released a lock: no memory
	Expanding               // the search expands a state: no memory
	Covering                // it calls the store: no memory
	Active                  // number of active workers
	Sleeping                // number of sleeping workers
	Sleepers                // lock of the list of sleeping workers
	Queue                   // lock and ends of a worker's queue
	QueueItems              // number of items in a worker's queue
	Items                   // work items in a batch
	Free                    // lock of the shared free batches
	BatchBytes              // bytes of all batches
	Ledger                  // bytes of the store
	Samples                 // lock of the states from which a shape is learned
	SampleIndex             // index of these states
	Tasks                   // tasks of learning a shape
	Profiles                // lock of a shape's profiles
	Lock                    // locks that are rarely taken
	Table                   // entries of the table of states
	TableHead               // header of a shard of that table
	TableCount              // number of entries in a shard
	TableDir                // directory of that table
	Index                   // entries of an index of nodes
	IndexHead               // header of a shard of an index
	IndexCount              // number of entries in a shard of an index
	NodeLast                // last number given to a node
	NodeChunks              // directory of the nodes' values
	Node                    // values of nodes
	Sites                   // how many sites there are
)

// String returns what is there.
func (s Site) String() string {
	if s >= Sites {
		return "unknown"
	}
	return [...]string{"start of a worker", "release of a lock", "expansion", "call of the store",
		"workers: active", "workers: sleeping",
		"workers: sleepers' lock", "queue: lock and ends", "queue: number of items",
		"batch: items", "batches: free ones' lock", "batches: bytes", "store: bytes",
		"store: samples' lock", "store: samples' index", "store: learning's tasks",
		"store: profiles' lock", "rare locks", "table: entries",
		"table: shard's header", "table: shard's count", "table: directory", "index: entries",
		"index: shard's header", "index: shard's count", "nodes: last number",
		"nodes: chunks", "nodes: values"}[s]
}

// Observer sees the accesses of the workers. Each worker of a pool has a goroutine, and the
// observer decides which of them runs: it can keep a worker waiting in any call.
type Observer interface {
	// Begin is the first call of a worker, numbered from 0, and End the last one.
	Begin(worker int)
	End(worker int)
	// Access is called before the running worker reads or writes the cache line of p, and Touch
	// before it prefetches the line.
	Access(site Site, p unsafe.Pointer, write bool)
	Touch(site Site, p unsafe.Pointer)
	// Mark is called where other work begins, such as the expansion of a state. It keeps what
	// happens before apart from what comes after, without an access.
	Mark(site Site)
	// Lock is called before a lock is taken, and Unlock after it has been released.
	Lock(site Site, p unsafe.Pointer)
	Unlock(site Site, p unsafe.Pointer)
	// Pause is called where a worker waits in a loop.
	Pause()
	// Park is called before the running worker goes to sleep, and returns when Unpark has been
	// called for it, before or after. UnparkAll wakes all, for the end.
	Park(worker int)
	Unpark(worker int)
	UnparkAll()
	// Now is the running worker's clock.
	Now() time.Duration
}

// On reports whether there is an observer. It does not change while a pool runs.
var On bool

var observer Observer

// Install makes o the observer until remove is called. No pool may be running at either time.
func Install(o Observer) (remove func()) {
	observer, On = o, true
	return func() { observer, On = nil, false }
}

// The following functions call the observer, if there is one. They are inlined, so that they cost a
// branch if there is none.

// Begin calls [Observer].Begin.
func Begin(worker int) {
	if On {
		observer.Begin(worker)
	}
}

// End calls [Observer].End.
func End(worker int) {
	if On {
		observer.End(worker)
	}
}

// Read calls [Observer].Access for a read of the cache line of p.
func Read(site Site, p unsafe.Pointer) {
	if On {
		observer.Access(site, p, false)
	}
}

// Write calls [Observer].Access for a write, or an atomic operation.
func Write(site Site, p unsafe.Pointer) {
	if On {
		observer.Access(site, p, true)
	}
}

// Touch calls [Observer].Touch.
func Touch(site Site, p unsafe.Pointer) {
	if On {
		observer.Touch(site, p)
	}
}

// Mark calls [Observer].Mark.
func Mark(site Site) {
	if On {
		observer.Mark(site)
	}
}

// Pause calls [Observer].Pause.
func Pause() {
	if On {
		observer.Pause()
	}
}

// Park calls [Observer].Park.
func Park(worker int) {
	if On {
		observer.Park(worker)
	}
}

// Unpark calls [Observer].Unpark.
func Unpark(worker int) {
	if On {
		observer.Unpark(worker)
	}
}

// UnparkAll calls [Observer].UnparkAll.
func UnparkAll() {
	if On {
		observer.UnparkAll()
	}
}

// Now calls [Observer].Now. There must be an observer.
func Now() time.Duration { return observer.Now() }

// Mutex is a [sync.Mutex] that an observer sees. A worker that calls the observer while it holds a
// lock must hold one of these: the observer may let another worker run then, which must not wait
// for the lock unseen.
type Mutex struct {
	mu   sync.Mutex
	Site Site // Lock if it is not set
}

func (m *Mutex) site() Site {
	if m.Site == Start {
		return Lock
	}
	return m.Site
}

// Lock locks m.
func (m *Mutex) Lock() {
	if On {
		observer.Lock(m.site(), unsafe.Pointer(m))
	}
	m.mu.Lock()
}

// Unlock unlocks m.
func (m *Mutex) Unlock() {
	m.mu.Unlock()
	if On {
		observer.Unlock(m.site(), unsafe.Pointer(m))
	}
}
