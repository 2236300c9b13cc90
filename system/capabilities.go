package system

// Capabilities lists the optional features of a [System]. A field is nil if the system does not
// offer the feature.
//
// An engine only asks the system that it was given, so a wrapper answers for itself. For each field
// it decides whether the wrapped system's answer still holds for the whole. A test requires every
// literal to name every field: when you add one, it tells you which wrappers must decide.
type Capabilities struct {
	// Observing: some threads check invariants.
	Observing Observing
	// Irreducible: transitions may depend on more than their accesses tell.
	Irreducible Irreducible
	// Symmetric: which states are the same but for names.
	Symmetric Symmetric
	// Beginning: the choices that lead to an initial state.
	Beginning Beginning
	// Counting: what was executed how often.
	Counting Counting
	// Remembering: what an encoded state contains besides the model's state.
	Remembering Remembering
	// Interning: why an encoded state means nothing in another process.
	Interning Interning
	// Portable: how it does mean something there.
	Portable Portable
	// Merging: of which steps its transitions consist.
	Merging Merging
	// Learning: what threads may still do is known from trying.
	Learning Learning
}

// MachineCapabilities lists the optional features of a [Machine], as [Capabilities] does for a
// system. They share the machine's live state and undo log.
type MachineCapabilities struct {
	// Pieces: local parts and values, as they are and set.
	Pieces Pieces
	// Renaming: the new name of a location after Load.
	Renaming Renaming
	// Futures: what a thread may access from now on.
	Futures Futures
	// Shaped: what a thread's next transition can be.
	Shaped Shaped
	// Locking: what locks protect.
	Locking Locking
	// Synchronising: what happens before what.
	Synchronising Synchronising
	// Temporal: the propositions of formulas.
	Temporal Temporal
	// Unnumbered: what does not depend on the numbers of threads.
	Unnumbered Unnumbered
	// Telling, Narrating, Showing: what people want to see.
	Telling   Telling
	Narrating Narrating
	Showing   Showing
	// Changing: which words of the state the steps have changed.
	Changing Changing
	// Repeating: which bits of the state a step depends on.
	Repeating Repeating
	// Adding: what a wrapper added to the accesses.
	Adding Adding
	// Updating: operations that take two transitions.
	Updating Updating
	// Costly: which steps cost much, and which are known.
	Costly Costly
	// Expanding: machine code that expands whole states.
	Expanding Expanding
}

// Bare returns the part of an encoded state that is the model's, which is all
// of it unless the system is [Remembering].
func (c *Capabilities) Bare(s State) State {
	if c.Remembering != nil {
		return c.Remembering.Bare(s)
	}
	return s
}

// WhyIrreducible returns why no reduction of a system is sound; empty if
// nothing is known against it.
func (c *Capabilities) WhyIrreducible(temporal bool) string {
	if c.Irreducible != nil {
		return c.Irreducible.Irreducible(temporal)
	}
	return ""
}

// Symmetry says what can be exchanged in a system; it is empty if there is nothing.
func (c *Capabilities) Symmetry() string {
	if c.Symmetric != nil {
		return c.Symmetric.Symmetry()
	}
	return ""
}

// Unportable returns what keeps the encoded states of a system from meaning anything in another
// process, in words that complete "its states name"; empty if nothing does.
func (c *Capabilities) Unportable() string {
	if c.Interning != nil && c.Portable == nil {
		return c.Interning.Interns()
	}
	return ""
}

// Shape returns the shape of the next transition of thread t, [AnyShape] if
// the machine does not know.
func (c *MachineCapabilities) Shape(t int) Shape {
	if c.Shaped != nil {
		return c.Shaped.Shape(t)
	}
	return AnyShape
}

// Bare is [Capabilities.Bare] of a system.
func Bare(sys System, s State) State {
	c := sys.Capabilities()
	return c.Bare(s)
}

// WhyIrreducible is [Capabilities.WhyIrreducible] of a system.
func WhyIrreducible(sys System, temporal bool) string {
	c := sys.Capabilities()
	return c.WhyIrreducible(temporal)
}

// SymmetryOf is [Capabilities.Symmetry] of a system.
func SymmetryOf(sys System) string {
	c := sys.Capabilities()
	return c.Symmetry()
}

// Adding is implemented by machines of wrappers that let transitions access more
// than in the wrapped system, so that fewer of them are independent.
type Adding interface {
	// OwnAccesses returns what the last Step accessed in the wrapped system. It is valid as long as
	// the result of Accesses.
	OwnAccesses() []Access
}

// Updating is implemented by machines with operations that take two transitions: x += 2 reads x,
// and stores the sum later. If no other thread runs in between, the two are one addition ([Op]).
type Updating interface {
	// Updated returns what the last Step and the thread's access to the location before it are
	// together, if that access was a read whose result is used for nothing but this store. It is
	// valid as long as the result of Accesses.
	Updated() (a Access, ok bool)
}
