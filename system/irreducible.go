package system

// Irreducible is implemented by systems in which some transitions depend on more than their
// accesses tell, such as whether any other thread is enabled. Reductions could leave out something
// that matters, so only the full search is sound.
type Irreducible interface {
	// Irreducible says why, in words that complete "no reduction is sound: "; it is empty if the
	// accesses tell everything. With temporal set it is about reductions that preserve temporal
	// properties.
	Irreducible(temporal bool) string
}
