// Package computation represents one recorded run of an asynchronous
// distributed system: the paper's computation c, a sequence of local states
// for each process together with the happened-before relation (Stoller,
// Unnikrishnan and Liu, "Efficient Detection of Global Properties in
// Distributed Systems Using Partial-Order Methods", 2000, section 2).
//
// # The picture
//
// Process i executes events 1, 2, ..., E(i). Its local state k, for k in
// 0..E(i), is the state after its first k events, so that S(i) = E(i)+1. Local
// state 0 is the state before anything was logged; its variables have their
// initial values or are undefined. An event assigns some variables and leaves
// the others as they were.
//
// The clock of a local state is the vector whose entry j is the number of
// events of process j that happened before the state (those of the process
// itself included). It is the vector clock that ShiViz and GoVector write for
// the event that led to the state. The paper counts local states instead of
// events and starts at 1; its timestamps are ours plus one in every entry that
// is not zero, which changes no comparison.
//
// A cut chooses a local state for each process: a vector of event counts. It
// is a consistent global state (CGS) when every process has executed all
// events that the others' states depend on. The CGSs are closed under the
// entry-wise maximum (Join) and minimum: they form a distributive lattice, and
// the clock of a local state is the least CGS that contains it. All the
// searches of package detect live on these two facts.
//
// # Use
//
// A Builder collects events in any order; Build validates the vector clocks
// (and, on request, repairs them) and returns the Computation. Package logs
// fills builders from log files; package simulate from simulated protocols.
//
// The values, the columns of changes and the flat clock arrays are our own and
// not a library's because a log of a million events has to be held, validated
// and searched in well below 2 GiB; general containers cost several times that.
package computation
