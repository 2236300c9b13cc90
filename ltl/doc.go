// Package ltl implements formulas of linear temporal logic: constructing and printing them,
// evaluating them on lasso-shaped words, and simplifying them before package buchi translates
// them to automata.
//
// # Formulas
//
// A [Formula] is immutable and hash-consed (with the standard library's package unique), so ==
// is structural equality and a formula is a map key. The constructors ([And], [Until], ...) fold
// trivial identities; && and || are flat, sorted, and free of duplicates. [Formula.String]
// prints the usual syntax:
//
//	f := ltl.Always(ltl.Implies(ltl.Atom("request"), ltl.Eventually(ltl.Atom("reply"))))
//	f.String() // [](request -> <>reply)
//
// There is no parser here: each model language parses temporal formulas over its own
// expressions. An atom is only a name; its creator defines its meaning.
//
// # What a checker needs to know of a formula
//
//   - [Formula.StutterInvariant]: no X, which partial-order reduction requires.
//   - [Formula.Polarities]: which atoms occur positively and negatively. A transition may be
//     hidden from the formula although it changes an atom, if it changes it only in the harmless
//     direction: the transparency of Siegel, "Transparent partial order reduction" (Formal Methods
//     in System Design 2012).
//   - [Formula.Holds]: the truth value on a word given as stem and loop. It is computed from the
//     definition of the operators, without an automaton, and serves as the oracle for automata
//     in tests.
//
// # Simplification
//
// [Formula.Simplify] brings a formula to negation normal form and rewrites it by the rules of
//
//   - Somenzi, Bloem: Efficient Büchi automata from LTL formulae (CAV 2000);
//   - Etessami, Holzmann: Optimizing Büchi automata (CONCUR 2000);
//   - Duret-Lutz: Spot's temporal logic formulas (the document that comes with Spot).
//
// [Formula.Class] is the syntactic part of it: pure eventuality and universality, and the place
// in the hierarchy
// of temporal properties (Manna, Pnueli 1990; grammar after Cerna, Pelanek 2003).
//
// # Why our own
//
// There is no maintained Go library for LTL. The formulas of model checkers in other
// languages (Spot, LTL3BA, Owl) would require a C++ or Java toolchain.
package ltl
