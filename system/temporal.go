package system

// Temporal is implemented by machines whose states can be labeled with the
// atomic propositions of temporal properties.
type Temporal interface {
	// NumProps returns the number of propositions.
	NumProps() int

	// PropName returns the text of proposition i, which is the name of an atom
	// in the formulas.
	PropName(i int) string

	// Eval reports whether proposition i holds in the live state. If it cannot be evaluated (an
	// index out of bounds, a nil pointer), the violation says why.
	Eval(i int) (bool, *Violation)

	// Terms writes the values of the numbers over dst that comparisons in
	// propositions are made of, in the live state.
	Terms(dst []int64) []int64

	// Change tells in which directions a transition can change proposition i.
	// The transition was executed with tracking on: acc are its accesses, and
	// before and after are the Terms around it. The answer holds in every
	// state in which the thread can execute the transition with the same
	// accesses and the same values of what it accesses, but for the number of
	// values in a channel from which others receive while it sends, or the
	// other way round.
	Change(i int, acc []Access, before, after []int64) (rise, fall bool)

	// Conflicts reports whether thread u, from where it is in the live state, may later execute
	// a transition that is dependent on the next transitions of thread t, while t does not move.
	// acc has the accesses of all enabled alternatives of t, concatenated. Threads that u may
	// create count as u.
	//
	// [Futures] cannot replace it. A [Footprint] is a set of locations, and over these a send and a
	// receive on one channel are dependent, because both write it. Conflicts may treat them as
	// independent where t's next transitions are enabled sends or receives, and u does nothing else
	// with the channel from then on. To exempt channels from a footprint, one would have to ask
	// what u may later do with each of them, which is this question. With footprints alone most of
	// the reduction on programs that send is lost: the graphs of Siegel's programs, which the tests
	// of engine/temporal build in three seconds, were not built in ten minutes. Nor can Conflicts
	// replace Futures: a persistent set needs the set, for accesses that are not known yet. In the
	// model language one analysis answers both (package frontend/model/flow).
	Conflicts(t int, acc []Access, u int) bool

	// Clash reports that the next transitions of two threads, which have these accesses, are
	// dependent for certain, so that Conflicts would say so. It saves the analysis that Conflicts
	// may need. False is always correct.
	Clash(mine, theirs []Access) bool

	// Late reports whether to try the next transition of thread t of the live state, which has the
	// accesses acc, after those of others, when one thread whose transitions depend on no other is
	// to be chosen. Late transitions let others continue (in models, sends). Any answer is correct.
	Late(t int, acc []Access) bool
}

// Unnumbered is implemented by machines whose threads have numbers that depend on the order in
// which threads begin and end.
type Unnumbered interface {
	// ConflictsUnnumbered is Conflicts of [Temporal] where states count as the same that differ
	// only in the order of the threads and in threads that have ended. If the numbers of threads
	// matter to somebody, it is Conflicts.
	ConflictsUnnumbered(t int, acc []Access, u int) bool
}
