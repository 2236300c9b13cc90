// Package system defines the interface of a concurrent system. The model language, Promela and
// Go programs implement it. Every expander, search and trace uses it, and none knows the
// language behind it.
//
// # What a system is
//
// A [System] is a set of threads that communicate through shared locations
// (Gueta, Flanagan, Yahav, Sagiv, SPIN 2007, section 3). A state consists of a
// local part for each thread and a value for each shared location. In each
// state each thread has a next transition: it is enabled, or it is blocked (a
// self-loop that reads every location its guard read), or the thread has ended
// (a self-loop without access). A transition may have several alternatives
// (choose, select): they make a thread non-deterministic.
//
// An access that decides which alternatives are enabled belongs to each of them. So what a
// thread does next, including its alternatives and their numbers, is a function of its local
// part and of the values of the locations among the accesses of any alternative. Independence is
// symmetric: if a transition changes what is enabled in another thread, each alternative there
// depends on it, before and after.
//
// # Machines
//
// A [Machine] holds one live state and steps it. It serves one goroutine; every worker has its
// own. A search works like this:
//
//	m.Load(s)                      // the encoded state s becomes the live state
//	mark := m.Mark()
//	for t := 0; t < m.NumThreads(); t++ {
//		for alt, more := uint64(0), true; more; {
//			out := m.Step(t, alt)  // one transition of thread t
//			if out.Kind == Moved {
//				... out.Violation, m.Encode(buf) ...
//			}
//			m.Rewind(mark)         // the undo log brings s back
//			alt, more = out.Next, out.Next != 0
//		}
//	}
//
// # Encoded states, and systems without a fixed size
//
// A [State] is a sequence of words that is opaque to all packages above this one. It has three
// properties: two states are equal if and only
// if their encodings are equal word for word; Load accepts what Encode
// returned, on every machine of the same system; and its length may differ
// from state to state.
//
// The last property serves systems with a heap. Such a machine may represent objects in its live
// state in any way. Encode writes the threads' local parts, then the objects in the order of a
// canonical traversal from the threads (so states that differ only in addresses or garbage are
// equal), and Load lays them out again. [Renaming] tells wrappers the new name of a location.
//
// # Locations and threads have names
//
// Engines compare executions: whether two transitions touch the same location,
// on two machines that were loaded with the same state, or in a recorded run and its
// replacement. So a [Loc] must not depend on
// the order in which a run happens to allocate. A location is a name: a
// variable of the program; or a field of the object that is the n-th one that
// some thread has allocated since the last Load; or a field of the n-th object
// of the state that was loaded. A [Loc] is a small number that represents a name. The system
// assigns it once, and it is the same on all its machines ([Names] does that). It means the same
// in every execution that begins with Load of the same state and takes the same steps; if
// locations are never created, in every execution. Numbers may have gaps, so tables indexed by
// location must grow on demand and tolerate unused locations, but a system assigns small numbers
// first.
//
// Threads are numbered from 0, and a thread keeps its number, which represents
// a name as well: one of the threads of the beginning, or the n-th child of its
// creator. A system either makes any two creations dependent (they write a
// common location, the number of threads) and numbers threads in the order of
// their creation, or it numbers names, and creations by different threads are
// independent. In the second case a number below [Machine.NumThreads] may
// belong to a thread that does not exist yet: its next transition is blocked,
// AtEnd, and reads the existence of the thread, which its creation writes.
//
// # Rules for engines
//
// Only Step, Load and the setters of [Pieces] change the live state, and all but Load can be
// rewound, to the same mark any number of times. Accesses are recorded only after Track(true).
// Those of a blocked transition matter, too: they say whose steps can unblock the thread. A step
// that violates a property is an ordinary step: its thread has ended, the state after it counts,
// and other threads continue. Steps do not report deadlocks; [Observers.Deadlock] finds it, and
// knows which threads are
// observers, that is, invariants. Where [WhyIrreducible] returns a reason, only an engine that
// executes every transition of every state is sound.
// systemtest.Conform checks a system against these rules, and
// systemtest.Agree the engines against each other.
//
// # Capabilities
//
// Optional features are interfaces beside the core. An
// engine finds them in the [Capabilities] of a system and the
// [MachineCapabilities] of a machine, and must work without them, or refuse:
//
//	pieces := m.Capabilities().Pieces
//	if pieces == nil {
//		return &engine.Refusal{...}
//	}
//
// Of machines:
//
//   - [Pieces]: local parts and values; [Renaming]: what a location is called
//     after Load
//   - [Futures], [Shaped]: what a thread may still do, and what its next
//     transition can be, for reductions
//   - [Locking], [Synchronising]: locks, and what happens before what
//   - [Temporal]: the propositions of formulas
//   - [Unnumbered]: what does not depend on the numbers of threads
//   - [Telling], [Narrating], [Showing]: what people want to see
//   - [Changing]: which words of the state the steps have changed
//   - [Repeating]: which bits of the state a step depends on, so it can be looked up instead of
//     executed
//   - [Adding]: what a wrapper has added to the accesses
//   - [Updating]: operations that take two transitions
//   - [Costly]: which steps cost much, and which are known
//   - [Expanding]: machine code that expands whole states
//
// Of systems:
//
//   - [Observing], [Irreducible]: which threads are invariants, and why nothing
//     may be reduced
//   - [Symmetric]: which states are the same but for names
//   - [Beginning]: the choices behind an initial state
//   - [Counting]: how often what was executed
//   - [Remembering], [Interning], [Portable]: what an encoded state has beside the
//     model's state, why it means nothing in another process, and how it does
//   - [Merging]: of which steps its transitions consist
//   - [Learning]: what its threads may still do is known from trying
//
// A wrapper (a system whose machines add something to those of another) must list every
// capability. It passes on what remains valid, and implements itself or sets to nil what does
// not. No engine looks behind a wrapper, so one that forgets a capability offers less. Two tests
// hold this: no type gets the method Capabilities by
// embedding a System or a Machine, and a literal that leaves a field out fails.
//
// If a machine forwards Changing, for example, its Encode must be the wrapped
// machine's: package quotient encodes another state, and sets it to nil.
//
// # Pieces
//
// If a machine implements [Pieces], its states come apart: [Pieces.Local] and
// [Pieces.Value] return the pieces, [Pieces.SetLocal] and [Pieces.SetValue] put
// a state together from pieces. [Pieces.StepOn] runs one transition on a local
// part and the values of just the locations that it asks for. An engine that never stores global
// states (an unfolding) needs that.
package system

// State is an encoded state: opaque words. See the package documentation for
// what may be assumed.
type State = []uint64

// Loc identifies a shared location: what a step really touched, so A[3][4] and not A. It is a small
// number for a name; the package documentation says how long it keeps its meaning.
type Loc uint32

// Access is one access of a transition to a shared location.
type Access struct {
	Loc   Loc
	Write bool // false: the location was read and not written
	// Op is what the transition does to the location, if that commutes, and Room how much of it
	// others may do before; 0 for an ordinary access.
	Op   Op
	Room uint16
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
	// Violation is the property that the transition violated, or nil. The thread has then ended, in
	// a distinct local state for each violation. The other threads continue, so that every
	// reduction agrees on what is reachable.
	Violation *Violation
}

// ViolationKind is the kind of a violated property, as it appears in the
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
// if Kind, Pos and Object are equal (a deadlock has no Pos: there each state
// counts, see [Bare]).
type Violation struct {
	Kind    ViolationKind
	Message string
	Pos     Pos
	// Object names the subject of the violation, if one place can violate the same property of
	// several things: the variable of a data race.
	Object string
	// Also is a further violation by the same transition, or nil.
	Also *Violation
}

// Same reports whether two violations, which are not deadlocks, are the same finding.
func (v *Violation) Same(w *Violation) bool {
	return v.Kind == w.Kind && v.Pos == w.Pos && v.Object == w.Object
}

// Find returns the violation of the chain that begins with v which is the same
// finding as want, or nil.
func (v *Violation) Find(want *Violation) *Violation {
	for ; v != nil; v = v.Also {
		if v.Same(want) {
			return v
		}
	}
	return nil
}

// Remembering is implemented by systems whose states contain more than the state of the model: what
// a check remembers of the path.
type Remembering interface {
	// Bare returns the part of an encoded state that is the model's.
	Bare(s State) State
	// Ordered reports whether what is remembered may differ between two orders of transitions
	// that are independent by their accesses. A search without stored states that executes only
	// one order then misses what the check would find in another.
	Ordered() bool
}

// Interning is implemented by systems whose states name things by numbers that
// were given in this process: elsewhere such a state means nothing.
type Interning interface {
	// Interns says what these things are.
	Interns() string
}

// Portable is implemented by [Interning] systems that can write a state for other
// processes that have made the same system, with what its numbers mean.
type Portable interface {
	Interning
	// Export appends to dst what s is in every process: equal states, and only
	// these, are exported as equal words. It may be called from any goroutine.
	Export(dst, s State) State
	// Import appends to dst this process's version of a state that was exported as s. The error
	// says that s is not such a state. It may be called from any goroutine.
	Import(dst, s State) (State, error)
	// Numbers returns the meaning of the numbers in states as JSON, for states that are stored as
	// they are. No machine may step.
	Numbers() ([]byte, error)
	// Foreign returns what exports and imports the states of another process, which has returned b
	// from Numbers; nil if all its numbers mean the same in this one. The error says that b is not
	// of the same system.
	Foreign(b []byte) (Portable, error)
	// Translator returns a function that appends to dst the state that s is in a process returned
	// by Foreign, or the other way round. It is for one goroutine.
	Translator(to Portable) func(dst, s State) State
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
	// outcome of the choices in the initialization, without duplicates.
	Initial() []State

	// NewMachine returns a machine whose live state is the first initial one.
	NewMachine() Machine

	// Capabilities tells what else the system offers. It is always the same.
	Capabilities() Capabilities
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

	// Hash returns a 64-bit hash of the live state that is kept incrementally. Live states reached
	// from the same Load have equal hashes if they are equal and the machine represents them in the
	// same way. It may represent one state in a few ways (a channel's ring rotated), so a search
	// for cycles may find one some laps late. A caller that must be certain compares encodings. It
	// is maintained only while Track(true).
	Hash() uint64

	// Track switches the recording of accesses and the maintenance of the
	// hash on or off. A new machine has it off: a full search needs neither.
	Track(on bool)

	// NumThreads returns a number that is above those of all threads of the
	// live state, observers and ended threads included. Threads are numbered
	// from 0 and keep their number; the package documentation says what a
	// number means, and when some represent threads that do not exist yet.
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

	// ThreadName returns the name of thread t as users see it: Robot[0].
	ThreadName(t int) string

	// LocName returns the name of a location as users see it: A[4][4]. It is
	// empty for one that they should not see.
	LocName(l Loc) string

	// Next describes the next transition of thread t for people: its place
	// and its source text. ok is false if the thread has ended.
	Next(t int) (pos Pos, text string, ok bool)

	// Locals returns the visible local variables of thread t with their
	// values, in the order of their declaration.
	Locals(t int) []Binding

	// ValueString returns the value of a location as users see it.
	ValueString(l Loc) string

	// Capabilities returns the optional features of the machine. The result never changes, so
	// frequent callers keep it.
	Capabilities() MachineCapabilities
}
