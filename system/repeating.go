package system

// Bits are some of the bits of one word of a state.
type Bits struct {
	Word int32
	Mask uint64
}

// Repeating is implemented by machines that can tell which bits of the state a step
// depends on and changes. Whoever finds these bits the same in another state knows what the
// step does there without executing it (full search; Blom, van de Pol, Weber,
// LTSmin, CAV 2010, call it transition caching).
type Repeating interface {
	Machine
	// Repeats tells whether there is any use in asking for scopes.
	Repeats() bool
	// Regime returns a number for a state: in all states of one length and one regime
	// there are the same threads, and what a step touches stands at the same bits.
	Regime(s State) int
	// Scope appends to dst bits of the state in which the last step was taken: first, in two
	// elements, some that tell where the thread stood and some that tell more of what is its
	// own; then those that the step depended on, or changed, or could have changed. The step was
	// taken with tracking on in the loaded state. ok is false if it depended on more, or
	// must be executed each time for another reason. Two states of one length and regime
	// with the same values of these bits have the same outcome of the step, and
	// its end states differ from them in the same way.
	Scope(t int, dst []Bits) (scope []Bits, ok bool)
	// Tally returns the number of what the last step has counted, if the system is
	// [Counting]. ok is false if it cannot be counted again.
	Tally() (tally int, ok bool)
	// Repeat counts once more what a step has counted.
	Repeat(tally int)
}
