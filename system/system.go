// Package system defines the concurrent system as every explorer sees it. It
// knows no language: the model language, and later Promela, Go programs with a
// heap and recorded computations, stand behind these interfaces, and every
// expander, search and trace stands in front of them.
//
// # What a system is
//
// A [System] is a set of threads that communicate through shared locations
// (Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, section 3). A state consists of a
// local part for each thread and a value for each shared location. In each
// state each thread has a next transition: it is enabled, or it is blocked (a
// self-loop that reads every location its guard read), or the thread has ended
// (a self-loop without access). A transition may have several alternatives
// (choose, select): they are what makes a thread non-deterministic.
//
// # Machines
//
// A [Machine] holds one live state and steps it. It is made for one goroutine;
// every worker has its own. A search works like this:
//
//	m.Load(s)                      // the encoded state s becomes the live state
//	mark := m.Mark()
//	for t := 0; t < m.NumThreads(); t++ {
//		for alt, more := uint64(0), true; more; {
//			out := m.Step(t, alt)  // one transition of thread t
//			... m.Accesses(), m.Encode(buf) ...
//			m.Rewind(mark)         // the undo log brings s back
//			alt, more = out.Next, out.Next != 0
//		}
//	}
//
// # Encoded states, and systems without a fixed size
//
// A [State] is a sequence of words that nobody above this package may look
// into. Only three things are promised of it: two states are equal if and only
// if their encodings are equal word for word; Load accepts what Encode
// returned, on every machine of the same system; and its length may differ
// from state to state.
//
// The last promise is what a system with a heap needs. Such a machine keeps
// objects in its live state however it likes; Encode writes first the threads'
// local parts and then the objects in the order in which a canonical traversal
// from the threads reaches them (so that states which differ only in addresses
// or garbage are equal), and Load lays them out again. A [Loc] is then an index
// into a table of the system that grows with the objects (object, field);
// explorers index dense tables by Loc and grow them on demand, so a system
// should hand out small numbers first. Locs stay valid while runs that started
// with Load from the same state are compared with each other, which is all that
// a reduction needs.
//
// # Pieces
//
// A state comes apart: [Machine.Local] and [Machine.Value] return the pieces,
// [Machine.SetLocal] and [Machine.SetValue] put a state together from pieces.
// [Machine.StepOn] runs one transition on a local part and the values of just
// the locations that it asks for, as an engine needs that never stores global
// states (an unfolding).
package system

// State is an encoded state: opaque words. See the package documentation for
// what may be assumed.
type State = []uint64

// Loc identifies a shared location: what a step really touched, so A[3][4] and
// not A. Locs are small non-negative integers.
type Loc uint32

// Access is one access of a transition to a shared location.
type Access struct {
	Loc   Loc
	Write bool // false: the location was read and not written
}

// Kind tells what became of a thread that was asked to step.
type Kind uint8

const (
	// Moved means that an enabled transition was executed.
	Moved Kind = iota
	// Blocked means that the transition is a self-loop: the state is
	// unchanged, and the accesses are the reads of the guard.
	Blocked
	// Ended means that the thread has ended: a self-loop without access. A
	// thread that violated a property has ended too.
	Ended
)

// String returns the name of the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Moved:
		return "moved"
	case Blocked:
		return "blocked"
	case Ended:
		return "ended"
	}
	return "unknown"
}

// Outcome is the result of one step.
type Outcome struct {
	Kind Kind
	// AtEnd, with Kind Blocked, means that the thread may block here forever
	// without that being a deadlock.
	AtEnd bool
	// Created means that the transition created a thread. The child's first
	// transition read its existence as a blocked thread until then, so the
	// transition is dependent with the last transition of a prefix that every
	// cartesian vector has without showing it.
	Created bool
	// Next is the number of the transition's next enabled alternative, 0 if
	// there is none. A transition has more than one enabled alternative if
	// and only if Step with alternative 0 returns a Next that is not 0.
	Next uint64
	// Violation is the property that the transition violated, or nil. The
	// thread has ended in a local state of its own for each violation; the
	// other threads go on, so that every reduction agrees on what is reachable.
	Violation *Violation
}

// ViolationKind is the kind of a violated property, as it stands in the
// command's JSON.
type ViolationKind string

// The kinds of violations that systems and searches report.
const (
	Assertion ViolationKind = "assertion"
	Deadlock  ViolationKind = "deadlock"
	Invariant ViolationKind = "invariant"
	Runtime   ViolationKind = "runtime"
)

// Violation describes a violated property. Two violations are the same finding
// if Kind and Pos are equal (a deadlock has no Pos: there each state counts).
type Violation struct {
	Kind    ViolationKind
	Message string
	Pos     Pos
}

// Pos is a place in the system's source; the zero value means none.
type Pos struct {
	File string
	Line int // from 1
	Col  int // from 1, in bytes
}

// Binding is a name with a printed value.
type Binding struct {
	Name  string
	Value string
}

// System is a concurrent system. Its methods may be called from many
// goroutines at once.
type System interface {
	// Initial returns the encoded initial states, at least one: one for each
	// outcome of the choices in the initialisation, without duplicates.
	Initial() []State

	// NewMachine returns a machine whose live state is the first initial one.
	NewMachine() Machine

	// Observer tells whether thread t is an observer: a thread that the tool
	// added to check a global property by one atomic step that reads what the
	// property reads. An observer is blocked while its property holds. Its
	// self-loops do not count as transitions of the system, and it takes no
	// part in a deadlock.
	Observer(t int) bool

	// ThreadName returns the name of thread t as users see it: Robot[0].
	ThreadName(m Machine, t int) string

	// LocName returns the name of a location as users see it: A[4][4].
	LocName(l Loc) string
}

// Mark is a position in a machine's undo log.
type Mark int

// Machine holds one live state of a system and steps it. It is not safe for
// concurrent use.
type Machine interface {
	// Load makes s the live state and forgets the undo log.
	Load(s State)

	// Encode writes the canonical encoding of the live state over dst (whose
	// length does not matter) and returns it, grown if needed.
	Encode(dst State) State

	// Hash returns a 64-bit hash of the live state that is kept
	// incrementally. Live states that were reached from the same Load have
	// equal hashes if they are equal and the machine keeps them in the same
	// way; it may keep one state in a few ways (a channel's ring rotated), so
	// that whoever looks for cycles may find one some laps late. A caller that
	// must be certain compares encodings. It is maintained only while Track(true).
	Hash() uint64

	// Track switches the recording of accesses and the maintenance of the
	// hash on or off. A new machine has it off: a full search needs neither.
	Track(on bool)

	// NumThreads returns the number of threads that exist in the live state,
	// observers and ended threads included. Threads are numbered from 0 and
	// keep their number.
	NumThreads() int

	// Step executes alternative alt of the next transition of thread t on the
	// live state. Alternative 0 is the first enabled one; further ones are
	// named by Outcome.Next. If the outcome is Blocked or Ended, the live
	// state is unchanged.
	Step(t int, alt uint64) Outcome

	// Accesses returns the accesses of the last Step, each location at most
	// once (a location both read and written stands as a write). The slice is
	// valid until the next Step. It is empty unless tracking is on.
	Accesses() []Access

	// Mark returns the present position in the undo log.
	Mark() Mark

	// Rewind undoes all steps since the mark was taken.
	Rewind(mark Mark)

	// Local writes thread t's local part over dst and returns it. Two local
	// parts of a thread are equal if and only if they are the same local state.
	Local(t int, dst []uint64) []uint64

	// SetLocal replaces thread t's local part by one that Local returned for
	// the same thread, in any state. It can be rewound.
	SetLocal(t int, part []uint64)

	// Value returns the value of a shared location.
	Value(l Loc) uint64

	// SetValue sets a shared location to a value that Value returned for the
	// same location. It can be rewound.
	SetValue(l Loc, v uint64)

	// StepOn executes alternative alt of the next transition of thread t on a
	// local part and on the values of just those locations that it asks for:
	// ask is called at most once for each location, when its value is first
	// needed. Afterwards Accesses, Local(t) and Value of the written
	// locations give the effect; everything else of the live state is
	// meaningless until the next Load. Tracking must be on.
	StepOn(t int, alt uint64, local []uint64, ask func(Loc) uint64) Outcome

	// Next describes the next transition of thread t for people: its place
	// and its source text. ok is false if the thread has ended.
	Next(t int) (pos Pos, text string, ok bool)

	// Locals returns the visible local variables of thread t with their
	// values, in the order of their declaration.
	Locals(t int) []Binding

	// ValueString returns the value of a location as users see it.
	ValueString(l Loc) string
}
