package system

// Costly is implemented by machines whose steps cost much unless the system has seen them before,
// such as machines that have to run a program from its beginning for each new step.
type Costly interface {
	// Foresee says which steps the engine will take next: n of them. It is only a hint.
	Foresee(n int, step func(i int) (t int, alt uint64))
	// Peek is Step followed by Rewind, except that the outcome says nothing about
	// violations. Accesses are those of the step.
	Peek(t int, alt uint64) Outcome
	// Cheapest returns a thread whose next step is known, -1 if there is none.
	Cheapest() int
}
