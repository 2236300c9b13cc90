// Package detect answers whether a recorded computation of a distributed
// system could have passed (Poss), or must have passed (Def), through a global
// state that satisfies a predicate (Stoller, Unnikrishnan and Liu, "Efficient
// Detection of Global Properties in Distributed Systems Using Partial-Order
// Methods", 2000).
//
// Start with Detect. A computation comes from package logs or package simulate,
// a predicate from package predicate:
//
//	p, err := predicate.Parse("exists i < j: i.crit && j.crit")
//	n, err := p.Expand(predicate.NamesOf(c))
//	res, err := detect.Detect(ctx, c, n, detect.Poss, detect.Options{})
//
// # The algorithms
//
//	interval    Poss  the default: see intervalSearch
//	psposs      Poss  PSPoss, with any of its optimizations switched off
//	gw          both  Garg and Waldecker, for conjunctions of 1-local predicates
//	psdef       Def   PSDef
//	lattice     both  Cooper and Marzullo: every consistent global state
//	slice       patterns of 1-local predicates: see box
//	search      patterns: see pattern and towards
//
// The default for Poss is interval, joined by psposs after a while for predicates that interval
// prunes little (see both). The default for Def is gw where it applies. Where it does not, gw
// first tries
// to avoid the 1-local conjuncts, and psdef does the rest.
//
// Every algorithm works on a problem: the computation reduced to the events that
// matter for the predicate, with the clauses as bit masks. Every answer is
// replayed on the computation itself before it is returned.
//
// The searches do not use package workers: a global state is a vector of a few small integers
// that changes in place, sleep sets make a covered set unnecessary, and a transition costs about
// as much as one call through an interface and a table.
package detect
