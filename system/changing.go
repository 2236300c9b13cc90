package system

// Changing is implemented by machines that know which words of the state their steps have changed.
// It spares comparing the whole state with a stored one.
type Changing interface {
	// Changed appends to dst the indices of all words in which the encoding of the live
	// state differs from the loaded state, if both are of one length. There may be others
	// among them, and some twice. ok is false if that is not known.
	Changed(dst []int32) (changed []int32, ok bool)
}
