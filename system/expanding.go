package system

// Expanding is implemented by machines of systems that can be compiled to machine code, which
// executes all steps of a state in one call. The machine itself is the reference, and executes what
// the code leaves to it.
type Expanding interface {
	// Compiled returns the machine code, for the goroutine of this machine. It is nil as long
	// as it is not ready, which the first call begins to prepare in the background; gone
	// tells that it never will be.
	Compiled() (code *Code, gone bool)
}

// Code expands states for one goroutine.
type Code struct {
	// Expand executes every step of every thread from s, for Next to tell. It returns
	// false if the state has to be left to the reference altogether.
	Expand func(s State) bool
	// Next returns the next outcome, in the order of threads and of alternatives, and false after
	// the last one.
	Next func(x *Successor) bool
}

// Successor is one outcome that machine code tells.
type Successor struct {
	Thread int
	// Left means that the reference machine has to execute all steps of the thread: there is
	// a violation among them, or the code does not know this place in the program. Nothing
	// else is known of the thread, and the other fields mean nothing.
	Left  bool
	Kind  Kind
	AtEnd bool   // as in Outcome
	Alt   uint64 // as for Step
	// End is the state after the step, valid until the next call of Expand. It must not be changed.
	End State
	// Changed has a bit for each word in which End can differ from the expanded state. It is
	// 0 if that is not known.
	Changed uint64
}
