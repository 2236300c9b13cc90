// Package check decides whether the executions of a system satisfy formulas of
// linear temporal logic, with ample-set partial-order reduction and its
// transparent variant.
//
//	r, err := check.Run(ctx, sys, []check.Property{{Name: "p", Formula: f}}, check.Options{Reduction: check.Transparent})
//	if c := r[0].Counterexample; c != nil { c.WriteText(os.Stdout, 80) }
//
// # Semantics
//
// An execution is infinite: one that comes to a state in which no thread is
// enabled stays there forever (it stutters), as in SPIN. Observers, the threads
// that the tool added for invariants, are left out. A formula is violated if
// some execution from some initial state does not satisfy it. With
// Options.Fair only weakly fair executions count: a thread that is enabled from
// some state on without interruption takes infinitely many transitions.
//
// # Stages
//
// First the graph of the program is built, reduced, on program states alone
// (graph.go, build.go). Only then the product with the Büchi automaton of the
// negated formula is taken and searched for an accepting cycle (product.go,
// cndfs.go): choosing ample sets while the product is built is known to be
// unsound (Siegel, "What's wrong with on-the-fly partial order reduction", CAV
// 2019). A formula that is a conjunction is checked one conjunct after the other on
// the same graph, because the automaton for a disjunction of negated conjuncts is
// the union of theirs.
//
// # Ample sets
//
// The conditions are those of Clarke, Grumberg, Peled, "Model Checking" (1999),
// chapter 10, with C2 as in Siegel, "Transparent partial order reduction"
// (2012), theorem 2.4. The candidates from a state are the sets of all enabled
// transitions of one thread.
//
//   - C0 holds because the thread is enabled.
//   - C1: no other thread may, from where it is and while the candidate's
//     thread does not move, come to a transition that is dependent on those of
//     the candidate or enables further ones of the thread. The accesses of the
//     candidate are known because its transitions have been executed; the
//     others' are bounded by a data-flow analysis from where they are (package
//     model/flow), by location; a send and a receive on the same channel are
//     independent. [system.Temporal] has the details.
//   - C2: the transitions are invisible to the propositions of the formula
//     (Invisible), or transparent: they make no proposition true that occurs
//     positively and none false that occurs negatively (Transparent).
//   - C3 depends on how the graph is built, see below.
//
// The paper decides transparency from the text of the statement for all states
// at once. Here the same answer comes from executing the transition once, which is
// sharper and as sound: by C1 nobody changes what the transition accesses until
// the thread moves, so wherever it is executed then, it does the same to the
// same values. In terms of the paper, a transition of the theorem is a
// transition of the thread together with the values that it accesses. So an
// increment cannot make x <= 3 true, nor an assignment x = 0 make x > 0 true, a
// send cannot make full(c) false, a move of control makes one label true and
// another false, and x == 3 is known to stay false when x goes from 0 to 1.
//
// Which candidate is taken follows the paper's order: invisible ones that are no
// sends, invisible sends, transparent ones that are no sends, transparent sends;
// among equals the first thread; none, and all enabled transitions are taken.
//
// # C3, sequential and parallel
//
// Every cycle of the reduced graph must have a state where all enabled
// transitions are taken; this implies C3.
//
// One worker searches depth-first and refuses a candidate with a transition to a
// state on its stack. Every cycle has an edge back to a state that is on the stack
// when the edge's source is expanded, so the source is fully expanded.
//
// Several workers have no common stack. Each state is claimed, atomically, by
// the worker that expands it, before its candidates are judged; a candidate with a
// transition to a claimed state (or to the state itself) is refused. Take a cycle,
// and of its states the one that was claimed last. Its successor on the cycle
// was claimed before, so a candidate with this transition was refused, and the
// state is fully expanded. This is the condition of Bosnacki, Leue, Lluch Lafuente
// (SPIN 2006) for general search orders, all of whose successors are to be new, with
// claiming as the moment that counts. It does not matter that the successors are
// looked up without being inserted: a state claimed before was inserted before. The
// reduced graph then depends on timing, and may be larger than that of one
// worker; verdicts do not.
//
// # Fairness
//
// Weak fairness is not preserved by this reduction: reordering two independent
// transitions of others can remove the one state in which a thread was
// disabled, so that a fair execution becomes an unfair one. Fair together with a
// reduction is therefore refused.
//
// # Emptiness
//
// cndfs.go is the nested depth-first search of Evangelista, Laarman, Petrucci, van
// de Pol, "Improved multi-core nested depth-first search" (ATVA 2012): each
// worker runs one, and they share what is finished. With one worker it is the
// classical nested search of Courcoubetis, Vardi, Wolper, Yannakakis (1992).
// Fairness is a generalised acceptance condition with one set for each thread, in
// the product as a counter (Choueka 1974).
//
// # Trust
//
// A counterexample is replayed through the plain semantics; the formula is
// evaluated on its word by the definition of the operators (package ltl), and
// fairness is checked on its loop. One that does not pass is an error of the tool,
// never an answer. Options.Validate checks C1 by brute force at every state with
// a proper ample set.
package check
