// Package sabotage breaks the tool on purpose, so that its tests can be tested:
// mutation testing by hand. The places that are broken ask [Is] whether their
// sabotage is on. Without the build tag sabotage the answer is the constant
// false and the compiler leaves the broken code out; with it, a test switches
// one sabotage on at a time and sees whether the oracle notices:
//
//	go test -tags sabotage ./testkit/oracle -run Sabotage
//
// A tool that mutates sources (gremlins, go-mutesting) makes thousands of
// changes without regard to what they mean, most of them to messages and limits,
// and compiles the tests anew for each. These are few, chosen for what goes
// wrong in reductions, and named.
package sabotage

// List are the sabotages: what is broken, and a name for it.
var List = []struct{ Name, What string }{
	{"access/mutex", "locking and unlocking are no accesses"},
	{"access/blocked", "a blocked thread reads nothing"},
	{"access/cas", "a successful cas counts as a read"},
	{"access/channel tail", "the place for the next value is no location"},
	{"access/channel slot", "the marks of a buffer's slots are no locations"},
	{"access/closed", "whether a channel is closed is no location"},
	{"access/existence", "creating a thread writes nothing"},
	{"access/created", "a creation does not say that it is one"},
	{"access/semaphore", "the value of a semaphore is no location"},
	{"access/readers", "how many have a rwmutex for reading is no location"},
	{"access/parked", "being parked at a channel is no location"},
	{"access/alternatives", "what makes alternatives blocked is not read by the others"},
	{"access/first only", "of the accesses of an atomic block only the first eight show"},
	{"access/observed", "what invariants read of a thread is not written by it"},
	{"undo/first", "the undo log forgets its first entry"},
	{"undo/blocked", "what a blocked atomic block has done stays"},
	{"eval/empty", "empty(c) is an exclusive or of the length with 1"},
	{"eval/range", "results out of range are kept"},
	{"eval/index", "an index may be one too large"},
	{"eval/received", "the second result of a receive is true for a closed channel"},
	{"eval/assume", "assume drops nothing"},
	{"sync/readers", "rlock does not look at who writes"},
	{"sync/group", "wait for a group comes back when one is left"},
	{"sync/spurious", "wait for a condition comes back without a signal"},
	{"sync/trylock", "trylock succeeds whoever has the lock"},
	{"sync/unlock", "a mutex can be unlocked by anybody"},
	{"sync/wake", "a thread comes back from wait without being notified"},
	{"sync/lost wake-up", "notify wakes nobody if only one waits"},
	{"sync/notify first", "notify always wakes the first"},
	{"sync/reenter", "entering a monitor again is not counted"},
	{"sync/failed", "a thread that fails keeps its monitors"},
	{"shape/failed", "a transition that may fail is said to do the same everywhere"},
	{"select/first", "a select takes the first case that is ready"},
	{"select/retract", "who goes on with another case stays parked"},
	{"bag/unsorted", "a bag keeps its messages in the order in which they were sent"},
	{"select/match", "a receive by a pattern takes the oldest message, if any matches"},
	{"names/twins", "names of one colour are taken for twins"},
	{"names/tied", "names that are tied to others are put in any order"},
	{"names/bag", "a bag is not sorted after its names are exchanged"},
	{"names/pointer", "a pointer to an element of a name stays when the names are exchanged"},
	{"names/depth", "a pointer to a whole array of names goes with the first name"},
	{"names/element", "the elements of arrays stay when their names are exchanged"},
	{"encode/rotate", "channels with equal contents are different states"},
	{"cartesian/ended", "the self-loops of ended threads are left out"},
	{"cartesian/clash", "a write does not conflict with a last transition's read"},
	{"cartesian/inside", "a write does not conflict with reads inside of a prefix"},
	{"cartesian/bury", "transitions inside of a prefix are forgotten"},
	{"cartesian/stale", "prefixes see what those of the last state accessed"},
	{"cartesian/choice", "a prefix goes on behind a choice with its first alternative"},
	{"cartesian/conflict", "a longer prefix that ends in a conflict counts as infinite"},
	{"cartesian/room", "operations that commute two by two are taken for ones that all commute"},
	{"cartesian/one combination", "deadlocks are looked for in one combination of alternatives"},
	{"search/queue", "now and then a new state is not queued"},
	{"search/infinite", "the end of every second move of a thread is taken for infinite"},
	{"full/alternatives", "a choice has at most two alternatives"},
	{"full/end", "blocking at an end label is a deadlock"},
	{"store/last word", "the plain store does not look at the last bit of a state"},
	{"persistent/locks", "the future of a thread knows nothing of locks"},
	{"order/slot", "a send releases the first slot of the channel, whichever it fills"},
	{"order/closed", "a receive from a closed channel comes after no close"},
	{"order/down", "taking from a semaphore releases, too"},
	{"order/shifted", "the slots of a channel are numbered anew within a step"},
	{"commuting/bounds", "an addition that can fail commutes with any number of others"},
	{"commuting/row", "of a row of equal additions only the last has written"},
	{"commuting/room", "what commutes with each transition of a sequence is put before all of it"},
	{"sleep/never woken", "a sleeping thread is not woken by what it depends on"},
}
