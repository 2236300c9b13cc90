// Package buchi translates formulas of linear temporal logic to small Büchi automata.
//
//	f := ltl.Always(ltl.Implies(ltl.Atom("request"), ltl.Eventually(ltl.Atom("reply"))))
//	a, err := buchi.Translate(ltl.Not(f), buchi.Options{}) // the words that violate f
//	var letter uint64                                      // bit i: the atom a.Atoms[i] is true
//	for _, t := range a.Out[a.Init] {
//		if t.Label.Matches(letter) {
//			// the automaton may go to t.Dst
//		}
//	}
//
// A program violates f if some of its runs, read as a word of letters, is accepted by the
// automaton of !f. The formula is a contradiction if the automaton of f is Empty, a tautology if
// that of !f is.
//
// # The pipeline
//
//  1. The formula is simplified (package ltl).
//  2. A tableau makes a generalised automaton with acceptance on transitions: Couvreur,
//     "On-the-fly verification of linear temporal logic" (FM 1999). Its states are Boolean
//     functions and its transitions are cubes of binary decision diagrams; see tableau.go. There
//     are up to three styles: a transition for each cube; for each set of letters that the state
//     does not tell apart, which leads to deterministic automata (Sebastiani and Tonetta, CHARME
//     2003); and in addition with one successor for all alternatives that have the same label, the
//     postponed branching of Duret-Lutz (IJCCBS 2014).
//  3. States without accepting runs go (strongly connected components), superfluous acceptance
//     sets and marks go, and the quotient by direct and reverse simulation is taken until nothing
//     changes: Etessami and Holzmann, "Optimizing Büchi automata" (CONCUR 2000); Somenzi and
//     Bloem, "Efficient Büchi automata from LTL formulae" (CAV 2000).
//  4. Only now acceptance is degeneralised and put on states, one component at a time, with the
//     best order of the sets: Gastin and Oddoux (CAV 2001) for degeneralising late, Giannakopoulou
//     and Lerda (FORTE 2002) for the levels, Babiak, Badie, Duret-Lutz, Kretinsky and Strejcek
//     (SPIN 2013) for the components. Step 3 is repeated, for several equivalent ways to place the
//     marks.
//  5. If the language is an obligation property, there is a unique minimal weak deterministic
//     automaton: Löding (IPL 2001); Dax, Eisinger and Klaedtke (ATVA 2007). It wins unless a
//     nondeterministic one is smaller.
//  6. Pairs of states are merged where the result has no word in common with the automaton of the
//     negation, so that the language stays the same.
//
// The smallest automaton wins, by states, then by nondeterministic states, then by edges. Steps
// 4 to 6 try all of their alternatives on small automata only. Five and more conjuncts []<>p,
// the form of fairness assumptions, bypass steps 2 and 3, where n of them make 2^n transitions;
// they are acceptance sets that step 4 adds.
//
// # Size
//
// TestSizesBesideSpot compares with Spot on the formulas of Dwyer, Avrunin and Corbett (55),
// Etessami and Holzmann (12) and Somenzi and Bloem (26), and their negations. Büchi states (go
// test -run Sizes -v):
//
//	       formulas   states     Spot
//	dac          55      205      214
//	eh           12       42       43
//	sb           26       80       81
//	!dac         55      215      221
//	!eh          12       51       51
//	!sb          18       47       48
//
// # Limits
//
// An automaton has at most 64 atoms, since a letter is a machine word. Options.MaxStates bounds
// the states and, through the nodes of the diagrams, time and memory; TooLargeError says where a
// translation stopped.
//
// # Why our own
//
// There is no maintained Go library that translates LTL. Spot (C++), LTL3BA (C++) and Owl (Java)
// do, but would have to be installed beside a tool that is one static binary, and would be
// called through a process.
package buchi
