// Package temporal decides whether the executions of a system satisfy formulas of
// linear temporal logic, with ample-set partial-order reduction and its
// transparent variant.
//
//	o := temporal.Options{Reduction: temporal.Transparent}
//	r, err := temporal.Run(ctx, sys, []engine.Property{{Name: "p", Formula: f}}, o)
//	if c := r[0].Counterexample; c != nil { c.WriteText(os.Stdout, trace.TableOptions{}) }
//
// # Semantics
//
// An execution is infinite: where no thread is enabled, the state repeats forever (it stutters),
// as in SPIN. Observers, the threads that the tool added for invariants, do not count. A formula
// is violated if some execution from some initial state does not satisfy it. With Options.Fair
// only weakly fair executions count: a thread that is continuously enabled from some state on
// takes infinitely many transitions. With Options.Strong only strongly fair ones do: a thread
// that is enabled in infinitely many states takes infinitely many transitions.
//
// # The search
//
// The product of the program with the Büchi automaton of the negated formula is searched for a
// reachable accepting cycle while it is built, and the search ends at the first cycle. A formula
// that is a conjunction is checked one conjunct after the other, because the automaton for a
// disjunction of negated conjuncts is the union of theirs (or in one search, without a reduction
// and if that automaton is no larger).
//
// Program states are in the tree store (package statestore). For each visited state, a table
// (colors.go) has a few bits: what the proviso below must know, and the colors of its vertices
// in the product. Nothing else is kept; a state's transitions are executed again when they are
// needed again. explore.go executes them, cndfs.go searches, pool.go shares work.
//
// # Ample sets
//
// The conditions are those of Clarke, Grumberg, Peled, "Model Checking" (1999),
// chapter 10, with C2 as in Siegel, "Transparent partial order reduction"
// (2012), theorem 2.4. The candidates from a state are the sets of all enabled
// transitions of one thread.
//
//   - C0 holds because the thread is enabled.
//   - C1: while the candidate's thread does not move, no other thread may reach a transition
//     that is dependent on those of the candidate or enables further ones of the thread. The
//     accesses of the candidate are known because its transitions have been executed; the
//     others' are bounded by a data-flow analysis from where they are (package model/flow), by
//     location; a send and a receive on the same channel are independent. [system.Temporal] has
//     the details.
//   - C2: the transitions are invisible to the propositions of the formula
//     (Invisible), or transparent: they make no proposition true that occurs
//     positively and none false that occurs negatively (Transparent).
//   - C3 depends on how the graph is built, see below.
//
// The paper decides transparency from the text of the statement for all states at once. Here,
// executing the transition once decides, which is sharper and just as sound: by C1, nothing that
// the transition accesses changes until the thread moves, so it does the same to the same values
// wherever it is executed. In terms of the paper, a transition of the theorem is a transition of
// the thread together with the values that it accesses. So an increment cannot make x <= 3 true,
// nor an assignment x = 0 make x > 0 true, a send cannot make full(c) false, a move of control
// makes one label true and another false, and x == 3 is known to stay false when x goes from 0
// to 1.
//
// Candidates are preferred in the paper's order: invisible ones that are not sends, invisible
// sends, transparent ones that are not sends, transparent sends; among equals the first thread.
// If there is none, all enabled transitions are taken.
//
// # C3, on the fly and in parallel
//
// Every cycle of the reduced graph of the program must have a state where all
// enabled transitions are taken; this implies C3.
//
// Reducing while the product is searched is known to be unsound if the ample set depends on more
// than the program state, for instance on the state of the automaton, on the stack of the
// product's search, or on which of two nested searches asks (Siegel, "What's wrong with
// on-the-fly partial order reduction", CAV 2019). Here it does not: the first worker that
// reaches a program state, in any vertex, claims it, decides its ample set and stores it. All
// others, and all later visits in all searches, use the stored set. So there is one reduced
// graph of the program. It is built during the search, but the search explores its product with
// the automaton as if it had been built before. (Program states that the product does not reach
// count as fully expanded.)
//
// The ample set is decided with these rules. A state is safe once it is known that all its
// enabled transitions are taken, or that all successors by its ample set are safe. A candidate
// with a transition to a state that has been claimed and is not safe is refused, even if that is
// the state itself. Claiming is atomic, and comes before the candidates are judged.
//
// Suppose a cycle of the reduced graph with proper ample sets only. No state of it
// is ever safe: the first to become so would need its successor on the cycle to be
// safe before. Of its states take the one that was claimed last. Its successor on
// the cycle was claimed before (or is itself), and was not safe, so when the candidate
// was judged it was refused: a contradiction. The argument needs no order of
// search and no number of workers. That the successors are looked up without
// being inserted does not matter, because a claimed state was inserted before.
//
// A state is found to be safe when the search leaves one of its vertices and all its successors
// are safe then; finding that late or never costs reduction, not soundness. With one worker, and
// as long as the automaton lets the search follow each successor, whatever a depth-first search
// leaves is safe, so that the rule refuses just the states on the stack, the classical
// condition. Safe states are the green ones of Evangelista and Pajault ("Solving the ignoring
// problem for partial order reduction", STTT 2010); claiming is after Bosnacki, Leue, Lluch
// Lafuente (SPIN 2006) and Laarman and Wijs ("Partial-order reduction for multi-core LTL model
// checking", HVC 2014). With several workers more states are not known to be safe, the reduced
// graph depends on timing, and may be larger; verdicts do not.
//
// Any state may take all its enabled transitions instead. So where ample sets are rare, only a
// sample of the states is examined (trial.go), because looking for them can double the cost of
// executing. Where they stay rare, none are sought any more, and the search is as fast as one
// without a reduction: such a state is safe when it is claimed, and its successors in rejecting
// components become blue when they are seen. States with a proper ample set keep it, and find out
// as before whether they are safe.
//
// # Fairness
//
// With fairness, a candidate must satisfy one more condition:
//
//   - C4: its transitions write nothing that another thread may read or write before the
//     candidate's thread moves. What the others may access is bounded by [system.Futures], which
//     includes the guards at which they wait. So no transition of an ample set enables another
//     thread, wherever it is executed.
//
// C1 alone is not enough: it takes a send for independent of the receive that it enables. Suppose a
// channel with two places that holds one message. After the send and a receive it holds one again,
// but only the other order makes it empty in between, so that those who want to receive are
// disabled for once, which weak fairness may need.
//
// With C4 fairness is preserved. Let enabled(u) be a further proposition for each thread u. An
// execution is weakly fair if, for each u, []<> !enabled(u) holds or u moves again and again; it is
// strongly fair if <>[] !enabled(u) holds or u moves again and again. A counterexample satisfies,
// for each u, one of the two. The proof of theorem 2.4 makes an execution of the reduced graph from
// it by moving transitions of ample sets to the front.
//
//   - The formula that it satisfies, with the conditions on enabled(u), is one without a next
//     operator in which enabled(u) occurs negatively only. (That the formula is violated unless the
//     conditions hold is to be refuted, so there it occurs positively.) Transitions of ample sets
//     never make enabled(u) true for another thread u, by C4, nor for their own, because that was
//     enabled before. So they are transparent to these propositions, too, and the theorem applies.
//   - Each transition of the counterexample is one of the execution that is made from it (its
//     definition 3.3), so a thread that moves again and again still does.
//
// The propositions enabled(u) exist for the proof only. To decide fairness, the search finds out in
// every state which threads are enabled, those outside of the ample set included.
//
// Strong fairness is a Streett condition: for each thread, enabled infinitely often implies
// moves infinitely often. A counter does not suffice, so strong.go builds the product as a whole
// and decomposes it (Emerson, Lei, "Modalities for model checking", 1987; Lichtenstein, Pnueli,
// 1985). In a strongly connected component with an accepting vertex and a cycle, either each
// thread that is enabled anywhere moves on a transition inside: then a loop through all of the
// component is accepting and fair. Or some thread does not: a fair loop in the component visits
// none of the vertices in which it is enabled, so these are removed, and the rest is decomposed
// again. Each round removes vertices or ends the search.
//
// # Emptiness
//
// cndfs.go is the nested depth-first search of Evangelista, Laarman, Petrucci, van
// de Pol, "Improved multi-core nested depth-first search" (ATVA 2012): each
// worker runs one, and they share what is finished. With one worker it is the
// classical nested search of Courcoubetis, Vardi, Wolper, Yannakakis (1992), which remains where
// the search of the next section is not possible.
// Fairness is a generalized acceptance condition with one set for each thread, in
// the product as a counter (Choueka 1974).
//
// # One worker
//
// One worker searches in a single depth-first search, which visits each vertex once
// (components.go): it finds strongly connected components (Gabow, "Path-based depth-first search
// for strong and biconnected components", 2000) and looks for accepting vertices in them (Couvreur,
// "On-the-fly verification of linear temporal logic", FM 1999; Geldenhuys, Valmari, "More efficient
// on-the-fly LTL verification with Tarjan's algorithm", 2005). A vertex is live from when it is
// entered until its component is complete.
//
//   - The roots on the stack divide the live vertices, in the order in which they were entered,
//     into components of the graph visited so far. From each live vertex there is a way to the root
//     of its component, and from each root one along the stack to the vertex on top. So a
//     transition from there to a live vertex closes cycles, and makes one component of all those
//     from that of the vertex on. If a vertex of them is accepting, there is an accepting cycle.
//   - A component with several vertices, or with a transition to itself, has no accepting one, or
//     the search had ended. So only the roots need to be looked at.
//   - A component is complete when its root leaves the stack: all transitions of its vertices have
//     been looked at, when they were expanded or when their ends were taken from the pile. Its
//     vertices are the last live ones, and no way leads from them back to the stack.
//   - So if the product has a reachable accepting cycle, its component is not completed before a
//     transition is looked at that closes a cycle through an accepting vertex.
//
// A vertex's number, its place among the live ones, stays with its colors. It is live if it is at
// that place, so nothing is marked when a component is complete. There are nested searches with
// several workers, with fairness (a counter has too many levels for numbers), with checkpoints, and
// if the automaton has more than four states in strong components.
//
// # Strengths
//
// A cycle of the product stays in one component of the automaton, and most components
// are of a simple kind (buchi.Strength):
//
//   - In a weak one every cycle is accepting, so the outer search alone finds one. Of a cycle's
//     vertices take the first that becomes blue. When its worker looked at its successor on the
//     cycle, that was not blue, so the worker continued there. It was not finished yet, or it
//     would have become blue earlier. So it was on the worker's own stack, and the cycle was
//     detected.
//   - In a rejecting one no cycle is accepting. Only reachability matters there, in any order: a
//     vertex becomes blue when it is entered (if no ample sets are sought, as soon as it is seen),
//     so that no two workers visit the same. For most formulas the part of the automaton that waits
//     for something bad to begin is such a component, and it has most of the vertices. There,
//     and at transitions that enter another component, workers also hand vertices to idle ones:
//     the searches of a component may begin at any vertices, as long as none is forgotten.
//
// # Transitions that nobody follows
//
// Where the automaton has no transition from a vertex, the product ends, whatever the program
// does. The program's transitions are then not executed: in the search of !p W q, these are all
// states in which q holds for the first time. A claimed state whose ample set must be decided is
// expanded nevertheless, because it may belong to other vertices.
//
// # Reachability
//
// For formulas such as [] p and !p W q, the automaton waits in its first state for something bad,
// and accepts whatever follows. Then the formula is violated if and only if a bad state can be
// reached through states in which the automaton can wait, and the order of the search does not
// matter. So unless at least half of the states have turned out to have ample sets (without a
// reduction, after a few hundred states), the driver of the full search (package search) goes on:
// it begins many insertions before it completes them, remembers steps, and needs no colors
// (reach.go). Those states that have been expanded count as covered for it, and the others that
// have been met are its initial states. So the graph is the same: states that were expanded
// before keep their transitions, all others have all of theirs, and a cycle of proper ample sets
// only, which C3 excludes, would have been there before. A bad state ends the search. The
// counterexample leads from an initial state through expanded ones, where a breadth-first search
// finds the way, and then along the driver's parents to the bad state. From there it continues
// with any steps until a state repeats. If an assertion fails or a proposition is undefined, the
// check begins again without the driver and reports that. The driver does not take over with
// fairness, checkpoints, -validate or invariants.
//
// # Random walks
//
// A depth-first search that takes a wrong turn early may see everything else before it finds a
// cycle that is near. So one transition in 33, and later one in 129, belongs to random walks
// through the product (walk.go), once a search has executed some thousands. They mark nothing, so
// neither the coverage nor the proof depends on them. With fairness there are none.
//
// # Short lassos
//
// Instead of the search's lasso, a short one is shown. It does not depend on the order of the
// search if the program has one near its initial states; see lasso.go.
//
// # Undefined propositions
//
// A part of the formula without temporal operators (a state predicate) is evaluated as an
// invariant is, with the short circuits of && and ||, in every reachable state, and an error is
// a Fault. A proposition that is not needed counts as false where it cannot be evaluated, which
// does not change the predicate. The automaton's search can skip states, so if predicates can
// fail, a second search covers all of them. There, every proposition of such predicates counts
// as occurring positively and negatively. Whether a predicate can be evaluated changes only if
// the value of one of its propositions does or something is written that one which can fail
// reads, and both are visible then. So C0 to C3 hold for the formula that the predicate is
// always defined, and the reduced graph has an error if the full one has.
//
// # Checkpoints
//
// A search can be saved and resumed (save.go) with another number of workers, because a worker's
// whole position is in its fields. With fewer workers, the remaining stacks are finished in
// turns.
//
// # Trust
//
// A counterexample is replayed through the plain semantics; the formula is evaluated on its word
// by the definition of the operators (package ltl), and fairness is checked on its loop. One
// that fails these checks is an error of the tool, never an answer. Options.Validate checks C1
// by brute force at every state with a proper ample set.
package temporal
