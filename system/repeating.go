package system

import "math/bits"

// Bits are some of the bits of one word of a state.
type Bits struct {
	Word int32
	Mask uint64
}

// Scope is what a step depends on and changes. In two states of one length and regime with the same
// values of Reads, the step has the same outcome. Its ends differ from the states in the same bits:
// those in Writes have the same values, and those of Copies have the values of their sources.
// Everything else stays as it was.
type Scope struct {
	// At are bits that tell where the thread is, and Own are some that tell more of its own state.
	At, Own Bits
	// Reads and Writes can have a word several times.
	Reads  []Bits
	Writes []Bits // none of Copies' bits
	Copies []Copy // each bit once
}

// Copy says that bits of a word get the value that other bits, of the same or another word, had
// before the step.
type Copy struct {
	To   Bits
	From int32 // the word
	Left int   // by how many places the bits have been rotated to the left
}

// Of returns what a copy puts into its place in a state.
func (c *Copy) Of(s State) uint64 { return bits.RotateLeft64(s[c.From], c.Left) & c.To.Mask }

// Source is the bits that are copied.
func (c *Copy) Source() Bits { return Bits{c.From, bits.RotateLeft64(c.To.Mask, -c.Left)} }

// Repeating is implemented by machines that can tell which bits of the state a step depends on and
// changes. If these bits are the same in another state, the step does the same there and need not
// be executed (full search; Blom, van de Pol, Weber, LTSmin, CAV 2010, call it transition caching).
type Repeating interface {
	// Regime returns a number for a state. All states of one length and one regime have the same
	// threads, and what a step touches is at the same bits.
	Regime(s State) int
	// Learn switches on and off that steps note what Scope tells of them.
	Learn(on bool)
	// Scope tells what the last step depended on and what it changed in the loaded state, in which
	// it was taken with learning on. ok is false if it depended on more, or must be executed each
	// time for another reason; sc.At and sc.Own are set for every existing thread.
	Scope(t int, sc *Scope) (ok bool)
	// Tally returns the number for what the last step counted, if the system is [Counting]. ok is
	// false if it cannot be counted again.
	Tally() (tally int, ok bool)
	// Repeat counts a step's counts once more.
	Repeat(tally int)
}
