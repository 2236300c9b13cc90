// Package spill keeps the part of a covered set that memory has no room for on a
// local disk, exactly, and the part of a work set, too.
//
// # Delayed duplicate detection
//
// To ask a disk about one state takes as long as to expand hundreds, and to ask it
// about a million at a time takes a few seconds: what is written and read is sorted by
// a hash of the states, so that the questions are answered in one pass from front to
// end ([Set.Sift]; Stern and Dill, CAV 1998; Korf, AAAI 2004). Who searches collects the
// states of which it does not know whether they are new, and asks when there are many.
// A pass reads only the blocks of a run in which a state that is asked about can be: an
// index in memory has the first hash of each. So few questions are not dear, either.
//
// Hashes only sort. Whether two states are the same is decided by comparing them.
//
// # Runs
//
// What is covered is added in sorted runs, which are files that do not change any more.
// When a run is not twice as large as those that came after it, they are merged, so that there
// are never more than the logarithm of the states, and each state is written as often as
// that at most. The set is divided by the highest bits of the hashes into [Shards], which
// are worked on at the same time, and merged one after another, so that the space
// that merging takes besides is a small part of the whole.
//
// A state is kept with a part of the hash of the state from which it was reached: so
// a path to it can be found ([Set.Lookup]), by executing from all that are candidates.
//
// # What can go wrong
//
// Each block has a checksum, over its bytes and its place, which is compared before
// anything of it is used: the error [Damaged] names the file. Nothing is synced, since
// no file outlives the process: [Open] takes the directory for one process at a time, and
// removes what one that was killed has left there, and [Dir.Close] removes all.
//
// # Checkpoints
//
// Since files do not change any more once they are complete, a checkpoint of a set or a queue is
// a list of them, and the files under a second name beside the checkpoint ([Dir.Keep]), where
// they outlive the process, and are synced. They take no space of their own until the search has
// merged or read them. Where the checkpoint is on another file system they are copied, each
// once. [Set.Restore] first reads the whole set. The processes of a search on several ranks give
// their files different numbers ([Dir.Number]), so that one can take up those of many.
//
// # Why not a library
//
// An embedded store (cockroachdb/pebble) was measured for the same questions and the same
// additions; docs/design/memory.md has the figures. It was slower, since it is made to keep what
// is written when the power fails and to answer single questions, and it would have brought some
// thirty modules along.
package spill
