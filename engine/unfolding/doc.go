// Package unfolding explores systems without global states. It builds a complete finite prefix of
// the unfolding (McMillan, CAV 1992; Esparza, Römer, Vogler, Formal Methods in System Design 20,
// 2002; for programs Rodríguez, Sousa, Sharma, Kroening, CONCUR 2015), which has one event for each
// transition in each causal past. The events of threads that do not interact are added, not
// multiplied.
//
//	res, err := unfolding.Run(ctx, sys, engine.Options{})
//	fmt.Println(res.Events, res.Cutoffs, res.Verdict)
//
// It needs systems that come apart into pieces (system.Pieces), and preserves
// the local states of each thread, the violations of assertions, of the run
// time and of invariants (by their observers), and the deadlocked states.
//
// # Events and conditions
//
// The components of a system are its threads and its locations. A condition
// says that a component has a value (a thread, its local state) from the event
// on that gave it to it until one takes it. An event is a transition of a
// thread on conditions: it takes its thread's and those of the locations that
// it writes, and makes new ones of them; it reads those of the locations that
// it reads. The creation of a thread takes the condition that says that there
// is no such thread. In the beginning stands an initial state; where there are
// several, events of different ones exclude each other.
//
// The history of an event are the events that must come before it, and it: what
// made the conditions that it touches, and what read the conditions that it
// takes. Readings do not depend on each other. So an event that writes has as
// many instances as there are sets of readings that may come before it: its
// history is part of what it is, and a history is the same as a Mazurkiewicz
// trace, an execution in which the order of independent transitions is forgotten.
// That is what one copy of each condition for each thread that may read it
// amounts to (place replication; Farwer, Leuschel; Rodríguez, Schwoon, Baldan
// 2011), but nothing needs to know who may read, and no copies are stored.
// Taking and giving back what is read would order readings in every way; see
// docs/design/unfolding.md for what that costs.
//
// A configuration is a set of events with their histories in which no two
// exclude each other: no condition is taken twice, and whoever read a condition
// that is taken comes before it is. Its marking is the state that any of its
// orders leads to. No relation of concurrency is stored: two conditions are
// concurrent if the histories of their events are together a configuration
// that takes neither, and that is tried, with a table of the size of the
// configuration (config.go).
//
// # How events are found
//
// What a transition touches is found out by executing it
// ([system.Pieces.StepOn]). What a thread does next in a local state is kept as
// a tree: a question for the value of a location, a branch for each value that
// was met, at the end the transition in all that it depends on (program.go). So
// each is executed once, not once for each event. The walk through a tree joins
// conditions: at a question it tries all conditions of the location that are
// concurrent with what it has. They are found without looking at others:
// conditions of a component form a tree, too, each the child of what was taken
// for it; the one that holds after the configuration so far is a candidate, and
// of the children of a candidate those whose history fits. A transition that is
// blocked makes no event.
//
// When event e is added, the search looks for the events that touch something
// of e and nothing of a later event. In the order of the numbers of events:
//
//   - Let x be an event whose history but for x is a configuration C of the prefix, and e
//     the event of the largest number that made something that x touches, or read
//     what x takes. Then all events of C have numbers up to e's, for numbers grow
//     along causality. x's thread's condition c is e's, or it is concurrent with e
//     and found below the condition of that thread that holds after e's history,
//     by steps within C. At each question of the tree, the condition that x touches
//     is the current one of C; the configuration so far is a part of C, so that it
//     is found in the same way, and what is pinned is taken by x only or nobody. At the
//     end, C has some readings of what x takes: they are included, the
//     others forbidden (worker.readings).
//   - Only threads are looked at that can touch what e left behind. Which can is
//     learnt with the trees. What is learnt while a round of events is looked at
//     counts in the next round, and the round is repeated with that alone
//     (builder.expand), until nothing new is learnt.
//   - A further alternative exists because of values that those before it have
//     read; system promises that they are among its own accesses, as far as they
//     matter. The search for it begins anew with the thread's condition, once for
//     each combination of values that those before may have read, and takes
//     only these where it asks for the same location (worker.alternative).
//
// # Cut-off events, and why the prefix is complete
//
// Events are added by the size of their history; of equal size all at once. An event is cut-off if
// an event (or the beginning) with the same marking is smaller in the order ≺ of histories: first
// the smaller size, then the number of events of each thread, thread by thread, then what each
// thread did: the sequence of its local states, alternatives, and the values that it saw, then for
// each location in which order it was touched: the writers one after another, and between two of
// them how often each thread has read. Markings are compared whole; a hash only finds them. Nothing
// is added behind a cut-off event.
//
// ≺ is adequate. It is well-founded, since finitely many histories have a size. It is larger for
// more events. And it is kept by extensions: let C ≺ D have the same marking, E be events that
// extend C and F the same transitions behind D. If C and D differ in size or numbers of events,
// the same numbers are added to both. If not, a thread's sequences are of equal length in C and
// D, so that the first difference, in whatever thread, stays where it is; E and F have the same
// values, for they begin in the same marking. If the sequences are the same, so are the
// locations that were touched and how often, and the words of each location are of equal length
// but for the readings after the last write, to whose counts the same is added. It is total, on
// histories that begin in the same state: what each thread did and in which order it met the
// others at each location is the trace.
//
// So each reachable state is the marking of a configuration without cut-off events (Esparza,
// Römer, Vogler 2002): of the configurations that lead to it take the least, C. Suppose a
// cut-off event e in it, because of f with the same marking and f's history ≺ e's. What follows
// e's history in C can follow f's: what a thread does is a function of its local part and of the
// values that it reads, blocked or not, whatever its alternatives, and also which threads exist
// is part of the marking. That configuration leads to the same state and is smaller; a
// contradiction. Therefore each transition that is enabled in a reachable state is that of an
// event of the prefix (maybe a cut-off one), and the local states, the violations of transitions
// and the observers' are those of the full search. With finitely many states the prefix is
// finite: of more events one above the other than there are states, two have the same marking.
//
// # Deadlocks
//
// They are not local, and are searched for when the prefix is complete. A
// deadlocked state is the marking of a configuration without cut-off events, all of
// whose threads are blocked or have ended. Blocked is what a thread is because of
// some values: a condition of each thread, and those that its guard reads, all
// concurrent. See deadlocks in deadlock.go.
//
// # Workers
//
// Events of one size are looked at by all workers side by side: each sees the
// events with smaller numbers only. What they find is put in order afterwards,
// so that the prefix is the same for any number of them.
//
// # What is our own
//
// Unfolders of Petri nets exist as programs (Mole, Punf, Cunf), for nets that
// are given in advance; there is no library, and none that finds what a
// transition touches by executing it.
package unfolding
