package system

// Costly is implemented by machines whose steps cost much unless the system has seen them before,
// such as machines that have to run a program from its beginning for each new step.
type Costly interface {
	// Foresee says which steps the engine will take next: n of them. It is only a hint. If more is
	// true, the engine may use Announce.
	Foresee(n int, step func(i int) (t int, alt uint64)) (more bool)
	// Announce says that the engine will explore later an execution that begins with the first
	// depth steps that led to the live state and n others: the machine may find out ahead what
	// happens then. If more is true, the engine may announce another one.
	Announce(depth, n int, step func(i int) (t int, alt uint64)) (more bool)
	// Peek is Step followed by Rewind, except that the outcome says nothing about
	// violations. Accesses are those of the step.
	Peek(t int, alt uint64) Outcome
	// After is Peek of thread t behind some of the steps that led to the live state. ok is false if
	// the answer is not known. That a blocked thread may stay so is not said.
	After(t int, alt uint64, some *Some) (out Outcome, ok bool)
	// Cheapest returns a thread whose next step is known, -1 if there is none.
	Cheapest() int
	// Together says that the engine uses this machine and others in turns, first among them: what
	// costs much may cost less if it is done for all of them at once. A machine that needs it calls
	// wait, behind which the others have gone on, until one of them has done it. If wait returns
	// false, they wait as well, and it is this machine that has to do it.
	Together(first Costly, wait func() bool)
}

// Some are some of the steps that led to a state, by their indices: a part of an execution that has
// with each step all that happens before it.
type Some struct {
	// Has tells whether a step is one of them.
	Has func(i int) bool
	// LastOf returns the last one that a thread took, -1 if there is none.
	LastOf func(t int) int
	// LastWrite returns the last one that wrote a location, -1 if there is none.
	LastWrite func(l Loc) int
}
