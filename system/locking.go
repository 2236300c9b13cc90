package system

// Class classifies a shared location for analyses that exploit locks: the four-way classification
// of objects of Stoller (Formal Methods in System Design 2002, section 3.1), with the locations of
// synchronization objects distinguished as far as the analyses need it.
type Class uint8

// The classes. Taking a location for one of Communication is always sound, so
// that is the zero value.
const (
	// Communication: threads access the location as they like.
	Communication Class = iota
	// LockProtected: the declaration claims that a lock protects the
	// location, or that one thread alone uses it, or that it is only read.
	LockProtected
	// Unshared: the declaration claims that only one thread accesses it.
	Unshared
	// Lock: the location says which thread owns a mutex or a monitor.
	Lock
	// LockState: another location of a synchronization object, such as the
	// set of the threads that wait, that only the owner of its lock changes
	// (a thread that waits only reads it, in an operation that can block). The
	// locations of an object follow its Lock directly.
	LockState
	// Existence: the location says whether a thread exists. Its creation
	// writes it, and each of its transitions reads it.
	Existence
	// TriedLock: the location says which thread owns a mutex that threads may try to lock without
	// waiting. A failing attempt sees that it is owned, so each access of it is one of
	// communication; but it protects data.
	TriedLock
)

// Owned reports whether the location says who owns a lock.
func (c Class) Owned() bool { return c == Lock || c == TriedLock }

// String returns the name of the class as messages have it.
func (c Class) String() string {
	switch c {
	case Communication:
		return "communication"
	case LockProtected:
		return "lock-protected"
	case Unshared:
		return "unshared"
	case Lock, LockState, TriedLock:
		return "synchronization"
	case Existence:
		return "existence"
	}
	return "unknown"
}

// Data reports whether the location holds data that a discipline protects.
func (c Class) Data() bool { return c == LockProtected || c == Unshared }

// Blocking tells in which way a transition may block.
type Blocking uint8

const (
	// Nonblocking transitions are enabled in every state.
	Nonblocking Blocking = iota
	// BlocksEntering transitions block while another thread owns a reentrant
	// lock, and never if the own thread already does.
	BlocksEntering
	// BlocksOnObject transitions block on synchronization or communication
	// objects only.
	BlocksOnObject
	// BlocksOnGuard transitions block on a condition that may read data.
	BlocksOnGuard
)

// Locking is implemented by machines that know about locks.
type Locking interface {
	// Class returns the class of a location.
	Class(l Loc) Class
	// NumClassified returns a number such that all locations of the classes
	// LockProtected, Unshared, Lock, LockState and TriedLock are smaller and are never
	// renamed (see [Renaming]); -1 if such locations come and go.
	NumClassified() int
	// HasGuards reports whether some transition is BlocksOnGuard.
	HasGuards() bool
	// Held writes the locks that thread t owns in the live state over dst, in
	// increasing order of their locations ([Class.Owned]), and returns them.
	Held(t int, dst []Loc) []Loc
	// Blocking tells how the next transition of thread t may block. It
	// depends on the thread's local part only.
	Blocking(t int) Blocking
}
