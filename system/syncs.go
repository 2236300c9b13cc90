package system

// SyncKind says how a transition synchronizes with others.
type SyncKind uint8

// The kinds. An object is whatever carries the order from one transition to
// another: a mutex, a slot of a channel, a communication variable.
const (
	// Acquire: all that released the object before happens before the
	// transition.
	Acquire SyncKind = iota
	// Release: the transition happens before all that acquire the object
	// from now on.
	Release
	// Meet: what the other thread has done happens before the transition,
	// and the transition before what the other thread will do.
	Meet
	// Create: the transition happens before all that the thread does.
	Create
	// Wake: the transition happens before all that the thread, which waits for
	// it, does from now on.
	Wake
	// Shift: from the next transition on the slots of a channel are numbered again:
	// slot number Slot is taken out, and put in again as number To.
	Shift
)

// Sync is one synchronization of a transition.
type Sync struct {
	Kind SyncKind
	// Object and Slot are what Acquire and Release are about: slot number
	// Slot, counted from the oldest value, of a channel with Slots slots, or
	// if Slots is 0 the object alone. No two have the same sum of Object and
	// Slot. Shift has Object, Slot, To and Slots.
	Object      Loc
	Slot, Slots int
	To          int // of Shift
	Thread      int // of Meet, Create and Wake
}

// Synchronising is implemented by machines that tell how their transitions
// synchronize, from which follows which happen before which others.
type Synchronising interface {
	// RecordSyncs switches the recording on or off. It needs tracking.
	RecordSyncs(on bool)
	// Syncs returns the synchronizations of the last Step if it moved, in
	// their order. Valid until the next Step, as is what DataAccesses returns.
	Syncs() []Sync
	// DataAccesses returns the accesses to data (see [Class.Data]) of the last
	// Step if it moved, each location once, a write if it was written at all.
	// indivisible tells that the program says so of the transition (an atomic
	// block, a compare-and-swap): then Syncs has its accesses to data, too.
	DataAccesses() (accesses []Access, indivisible bool)
}
