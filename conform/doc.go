// Package conform decides whether a recorded run is one of a model: whether the model has an
// execution whose visible events are those of the log, in an order that the log's clocks allow
// (trace validation: Cirstea, Kuppe, Loillier and Merz, Validating traces of distributed programs
// against TLA+ specifications, SEFM 2024).
//
//	m, err := conform.ParseMapping("raft.model", source) // its //cpor: lines
//	res, err := conform.Check(ctx, sys, log, m, conform.Options{})
//	if res.Verdict == conform.Rejected {
//		... res.Cut, res.Next, res.Offers
//	}
//
// A visible event of the model is something that a step prints, sends or receives, if the mapping
// says so ([Mapping]). All other steps are silent: the log does not show them.
//
// # The search
//
// A node is a state of the model, a consistent cut of the log, and which thread plays which host.
// A silent step keeps the cut. A visible step of a thread takes the next event of its host, if
// that fits and everything that it depends on is in the cut. The log is accepted if some node has
// the whole log as its cut. The search is depth first, visible steps first, and stores the nodes
// that it has left by a hash of 128 bits; it holds a single state and takes back its steps.
//
// The search runs in rounds, which bound the silent steps between two events, the last one without
// a bound. Only a round in which the bound kept nothing from being taken can reject a log; a node
// that is reached again by fewer silent steps is new.
//
// So no order of the log is chosen in advance: independent events are taken in the order that the
// model prefers, and a dead end returns to the last choice only.
//
// # The reduction, and why it is sound
//
// At a node, all enabled steps are explored, or only those of one thread t, if
//
//  1. each alternative of t's next transition is silent, or fits the next event of its host now, or
//     never will (its host's next event does not fit whatever the cut; only t plays the host);
//  2. no access of these alternatives conflicts with what another thread may ever do
//     ([system.Futures]), and none touches a variable that the log shows ([Mapping.Values]);
//  3. none of them creates a thread or is blocked;
//  4. one of the nodes that they lead to is new.
//
// Let w be a path from the node to a node that accepts. If w contains a step of t, its first one
// is one of the alternatives (2: nothing in w before it changes what t can do; 1: an alternative
// that waits for its event is not among them), and it commutes with what is before it: with its
// accesses because of 2, with the cut because other threads advance other hosts, and moving a
// visible step forward only makes more events possible. So a permutation of w, which is not
// longer, begins with a step that is explored, and accepts at the same node. If w contains no step
// of t, no alternative is visible and fits, because an accepting cut contains that event; so they
// are silent, and w is also possible after any of them, with the same length. By 4 one of them
// leads to a new node: the search cannot postpone w forever, because there are finitely many
// nodes and the last new one of a cycle of such choices is expanded fully. This is the proviso for
// safety properties (Bošnački and Holzmann, Improving SPIN's partial-order reduction for
// breadth-first search, SPIN 2005), which holds for any order of search.
//
// If 2 and 3 hold for a thread and none of its alternatives will ever fit, it has stopped for
// good. If the log has more events of its host, the node is left at once.
//
// Which thread plays a host that the mapping does not name is decided by the first event, so such
// a step is not taken alone.
//
// The tests hold the search to enumeration of all interleavings on generated models and logs.
package conform
