package system

import "math/bits"

// Bits are some of the bits of one word of a state.
type Bits struct {
	Word int32
	Mask uint64
}

// Scope is what a step depends on and changes. Two states of one length and regime with
// the same values of Reads have the same outcome of the step. Its ends differ from them in
// the same way in these bits, have the same values of the bits in Writes, and have those of
// Copies from where they stood. Everything else stays as it was.
type Scope struct {
	// At is bits that tell where the thread stood, and Own is some that tell more of what is its
	// own.
	At, Own Bits
	// Reads and Writes can have a word several times.
	Reads  []Bits
	Writes []Bits // none of Copies' bits
	Copies []Copy // each bit once
}

// Copy says that bits of a word have become those that stood in another word, or elsewhere
// in the same one, before the step.
type Copy struct {
	To   Bits
	From int32 // the word
	Left int   // by how many places the bits have been rotated to the left
}

// Of returns what a copy puts into a state's place.
func (c *Copy) Of(s State) uint64 { return bits.RotateLeft64(s[c.From], c.Left) & c.To.Mask }

// Source is the bits that are copied.
func (c *Copy) Source() Bits { return Bits{c.From, bits.RotateLeft64(c.To.Mask, -c.Left)} }

// Repeating is implemented by machines that can tell which bits of the state a step
// depends on and changes. Whoever finds these bits the same in another state knows what the
// step does there without executing it (full search; Blom, van de Pol, Weber,
// LTSmin, CAV 2010, call it transition caching).
type Repeating interface {
	// Regime returns a number for a state: in all states of one length and one regime
	// there are the same threads, and what a step touches is at the same bits.
	Regime(s State) int
	// Learn switches on and off that steps note what Scope tells of them.
	Learn(on bool)
	// Scope tells what the last step depended on and what it changed in the loaded state, in which
	// it was taken with learning on. ok is false if it depended on more, or must be executed each
	// time for another reason; sc.At and sc.Own are told of every thread that is there.
	Scope(t int, sc *Scope) (ok bool)
	// Tally returns the number of what the last step has counted, if the system is
	// [Counting]. ok is false if it cannot be counted again.
	Tally() (tally int, ok bool)
	// Repeat counts once more what a step has counted.
	Repeat(tally int)
}
