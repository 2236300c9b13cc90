// Package monitor detects Poss and Def on line. Events arrive one at a time: those of a process in
// their order, those of different processes in any order. The answer is announced as soon as the
// events that prove it have arrived (Stoller, Unnikrishnan and Liu 2000, end of sections 4 and 6).
//
// A Service feeds a Monitor from any number of sources. Poss is the interval search of package
// detect, whose branches wait for events. Def of a conjunction of 1-local predicates is Garg and
// Waldecker's algorithm, which waits in the same way. Def of any other predicate explores the
// reachable global states that do not satisfy it, with the persistent sets of PSDef.
//
// Instead of a predicate, a Follower can take the events: `cpor monitor -model` gives them to
// package conform. Arrivals, journal and clients are the same.
//
// # What is announced
//
// Poss is announced when a consistent global state that satisfies the predicate has arrived; later
// events cannot undo that. The announcement of Def cannot be undone either: in every continuation
// of what has arrived, every history passes through a state that satisfies the predicate. The
// paper's wording, "all histories consistent with the known prefix", taken literally would announce
// Def whenever the last known states of all processes satisfy the predicate, and take it back with
// the next event. End says that no more events will come, and gives the answer of the off-line
// algorithms.
//
// # What is accepted
//
// An event that contradicts an earlier one is refused (see clocks.go), and so is one that gives a
// variable a type that does not fit the predicate (see types.go). A repeated event is a duplicate
// if its content is the same (a checksum is kept), and refused otherwise.
//
// # Memory
//
// The monitor only keeps events that change the truth of a literal or a variable of a joint one,
// and that some branch of the search has not passed yet. It only keeps clocks that a future event
// may have to be compared with. A process that stays silent, or that never hears of another one,
// makes the others' states and clocks pile up, because any of them may still be concurrent with its
// next event. Config.MaxStates and Config.MaxBytes bound that.
//
// # Restarts
//
// A Journal keeps the events on disk. An event is acknowledged when the journal that contains it is
// on disk; OpenJournal replays it. From time to time a checkpoint of the monitor replaces the
// journal, so the journal stays bounded, too.
//
// # Clients
//
// A Service takes events from any number of sources; a Server serves it to clients over TCP and
// HTTP, which may be slow, many, or hostile.
package monitor
