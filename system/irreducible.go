package system

// Irreducible is implemented by systems of which some transitions depend on more
// than their accesses tell, such as whether any other thread is enabled. A
// reduction could leave out what matters, so that only the full search is sound.
type Irreducible interface {
	// Irreducible says why, in words that complete "no reduction is sound: ";
	// it is empty if the accesses tell everything. With temporal set it is
	// about reductions that are to keep temporal properties.
	Irreducible(temporal bool) string
}
