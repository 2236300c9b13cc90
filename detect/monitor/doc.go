// Package monitor detects Poss and Def on line: events arrive one at a time,
// those of a process in their order, those of different processes in any order,
// and the answer is announced as soon as the events that prove it have arrived
// (Stoller, Unnikrishnan and Liu 2000, end of sections 4 and 6).
//
// A Service feeds a Monitor from any number of sources. Poss is the interval search of package
// detect whose branches wait for events; Def of a conjunction of 1-local predicates is Garg and
// Waldecker's algorithm with the same patience; Def of any other predicate explores the
// reachable global states that do not satisfy it.
//
// # What is announced
//
// Poss is announced when a consistent global state that satisfies the predicate
// has arrived; later events cannot undo that. For Def, too, the announcement is
// one that no later event can undo: in every continuation of what has arrived,
// every history passes through a state that satisfies the predicate. The paper's
// wording, "all histories consistent with the known prefix", taken literally
// would announce Def whenever the last known states of all processes satisfy the
// predicate, and take it back with the next event. End tells that no more events
// will come and gives the answer of the off-line algorithms.
//
// # What is accepted
//
// An event that contradicts one that arrived before is refused (see clocks.go),
// and so is one that gives a variable a type that does not fit the predicate
// (see types.go). One that was there already is a duplicate if its content is
// the same (a sum of it is kept), and refused otherwise.
//
// # Memory
//
// Of a process's events, only those are kept that change the truth of a literal
// or a variable of a joint one, and of these only the ones that some branch of the search has not
// yet gone past. Of the clocks, those that an event to come may have to be
// compared with. A process that stays silent, or that never hears of another one,
// makes the others' states and clocks pile up, because any of them may still be
// concurrent with its next event; Config.MaxStates and Config.MaxBytes bound that.
//
// # Restarts
//
// A Journal keeps the events on disk. An event is acknowledged when it is in the
// journal and the journal is on disk; OpenJournal replays it. From time to time the
// journal is replaced by a checkpoint of the monitor, so that it, too, stays
// bounded.
//
// # Clients
//
// A Service takes events from any number of sources; a Server serves it to
// clients over TCP and HTTP, which may be slow, many, or hostile.
package monitor
