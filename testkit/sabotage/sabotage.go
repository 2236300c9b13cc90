// Package sabotage breaks the tool on purpose, to test its tests: mutation testing by hand. The
// code asks [Is] whether a sabotage is on. Without the build tag sabotage the answer is the
// constant false, and the compiler removes the broken code. With it, a test switches on one
// sabotage at a time and checks that the oracle notices:
//
//	go test -tags sabotage ./testkit/oracle -run Sabotage
//
// A tool that mutates sources (gremlins, go-mutesting) makes thousands of changes regardless of
// their meaning, most of them to messages and limits, and recompiles the tests for each. These are
// few, named, and chosen for what goes wrong in reductions.
package sabotage

// List are the sabotages: a name for each, and what it breaks.
var List = []struct{ Name, What string }{
	{"access/mutex", "locking and unlocking are not accesses"},
	{"access/blocked", "a blocked thread reads nothing"},
	{"access/cas", "a successful cas counts as a read"},
	{"access/channel tail", "the place for the next value is not a location"},
	{"access/channel slot", "the marks of a buffer's slots are not locations"},
	{"access/closed", "whether a channel is closed is not a location"},
	{"access/existence", "creating a thread writes nothing"},
	{"access/created", "a creation does not say that it is one"},
	{"access/semaphore", "the value of a semaphore is not a location"},
	{"access/readers", "how many have a rwmutex for reading is not a location"},
	{"access/parked", "being parked at a channel is not a location"},
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
	{"sync/readers", "rlock ignores writers"},
	{"sync/group", "wait for a group returns when one is left"},
	{"sync/spurious", "wait for a condition returns without a signal"},
	{"sync/trylock", "trylock succeeds even if the lock is held"},
	{"sync/unlock", "any thread can unlock a mutex"},
	{"sync/wake", "wait returns without a notification"},
	{"sync/lost wake-up", "notify wakes no thread if only one waits"},
	{"sync/notify first", "notify always wakes the first"},
	{"sync/reenter", "entering a monitor again is not counted"},
	{"sync/failed", "a thread that fails keeps its monitors"},
	{"shape/failed", "a transition that may fail is said to do the same everywhere"},
	{"select/first", "a select takes the first case that is ready"},
	{"select/retract", "a thread that continues with another case stays parked"},
	{"bag/unsorted", "a bag keeps its messages in the order in which they were sent"},
	{"select/match", "a receive by a pattern takes the oldest message, if any matches"},
	{"names/twins", "names of one color are taken for twins"},
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
	{"cartesian/amount", "what one thread adds is not too much for what another one adds"},
	{"cartesian/one combination", "deadlocks are looked for in one combination of alternatives"},
	{"ample/proviso", "a set of threads may put the others off around a circle"},
	{"ample/younger", "threads after the one that is chosen alone are not asked"},
	{"ample/blocked", "a blocked thread of a closure waits for nothing"},
	{"ample/behind", "threads after the one whose move continues are not asked"},
	{"ample/observers", "what invariants read of threads is left to the bounds for formulas"},
	{"search/queue", "now and then a new state is not queued"},
	{"search/infinite", "the end of every second move of a thread is taken for infinite"},
	{"full/alternatives", "a choice has at most two alternatives"},
	{"full/end", "blocking at an end label is a deadlock"},
	{"store/last word", "the plain store does not look at the last bit of a state"},
	{"persistent/locks", "what a thread may still do ignores locks"},
	{"order/slot", "a send releases the first slot of the channel, whichever it fills"},
	{"order/closed", "a receive from a closed channel comes after no close"},
	{"order/down", "taking from a semaphore releases, too"},
	{"order/shifted", "the slots of a channel are numbered anew within a step"},
	{"commuting/bounds", "an addition that can fail commutes with any number of others"},
	{"commuting/opposite", "an addition and one of the opposite sign may always be exchanged"},
	{"commuting/row", "of a row of like additions only the last has written"},
	{"commuting/room", "what commutes with each transition of a sequence goes before all of it"},
	{"commuting/stores", "stores of different numbers commute"},
	{"asking/blind", "timeout() looks at nothing"},
	{"asking/place", "a step does not change where its thread is"},
	{"asking/bounds", "nobody does what needs timeout() to be false"},
	{"sleep/never woken", "a sleeping thread is not woken by what it depends on"},
}

// ModelEmitter are the sabotages of the emitter of the model language, which its comparison with
// the machine must find. Those of [Emitter] whose code both share are among them.
//
//	go test -tags sabotage ./frontend/model/machine -run Sabotage
var ModelEmitter = []struct{ Name, What string }{
	{"code/width", "of 16 bits only 8 are stored"},
	{"code/sign", "what is loaded has no sign"},
	{"code/mask", "a field of a few bits spoils its neighbors"},
	{"code/element", "of a field that crosses no byte the neighbors count, too"},
	{"code/branch", "< is <="},
	{"code/index", "an index may be one too large"},
	{"code/range", "results out of range are kept"},
	{"code/divisor", "a division by 0 is one by 1"},
	{"code/changed", "a write to a location is not told"},
	{"code/full", "a buffer takes one message more"},
	{"code/rotate", "a buffer stays where it is"},
	{"code/turn", "the head of a buffer moves without the messages"},
	{"code/choice", "a choice has one possibility less"},
	{"code/blocked", "what an alternative that blocks has counted stays counted"},
	{"code/resume", "alternatives resume behind writes"},
	{"code/restore", "alternatives resume with the registers of the one before"},
	{"code/shared", "what alternatives have in common counts once"},
	{"code/pointer", "what a pointer leads to has no sign"},
	{"code/end", "every blocked thread may stay where it is"},
	{"code/note", "that a jump was taken is not counted"},
	{"code/read", "a read is not an access"},
	{"code/object", "an access is to the location before"},
	{"code/location", "an access to an element is always to the same one"},
	{"code/slot", "what is done to the messages of a buffer is not an access"},
	{"code/twice", "two accesses to a location stay two"},
	{"code/looked", "a blocked thread writes what it would write"},
	{"code/room", "no addition has room for others"},
	{"code/observed", "what properties read of a thread is not written by it"},
	{"code/retried", "what an alternative that blocks has read counts for it alone"},
	{"code/home", "what conflicts with a transition is asked behind a move"},
	{"code/several", "a move that code makes goes on behind a choice"},
}

// Bounds are the sabotages of what Promela processes may still do (frontend/promela/machine),
// which the comparison of ample sets with the full search must find:
//
//	go test -tags sabotage ./frontend/promela/machine -run Sabotage
var Bounds = []struct{ Name, What string }{
	{"numbers/told", "nobody looks at the numbers of processes"},
	{"numbers/waits", "births and deaths change nothing for those who wait for _nr_pr == 1"},
	{"numbers/owners", "the channels of a process stay when it dies"},
	{"numbers/end", "a process can wait for _nr_pr == 1 in an atomic sequence, or with an else"},
	{"ends/same", "two sends to a channel are independent, and two receives"},
	{"ends/any", "nothing but plain sends and receives is dependent on these"},
	{"ends/held", "a channel that is a parameter is used by nobody"},
	{"ends/else", "it never matters that a send or a receive is disabled"},
}

// Asking are the sabotages of what constructs that ask about all processes look at, and of the
// bounds where they are used (frontend/promela/machine), which the comparison of searches and with
// brute force must find:
//
//	go test -tags sabotage ./frontend/promela/machine -run Sabotage
var Asking = []struct{ Name, What string }{
	{"timeout/blind", "timeout looks at nothing"},
	{"timeout/or", "a || b needs timeout if a does"},
	{"timeout/never", "nobody takes an else"},
	{"trace/events", "nobody else causes events"},
	{"trace/place", "an event changes nothing"},
	{"priority/blind", "a process of low priority does not look at those above it"},
	{"enabled/blind", "enabled looks at nothing"},
}

// Conform are the sabotages of the search for an execution that shows a log (conform), which
// its comparison with the definition must find:
//
//	go test -tags sabotage ./conform -run Sabotage
var Conform = []struct{ Name, What string }{
	{"conform/writes", "nobody else writes what a silent step touches"},
	{"conform/reads", "nobody else reads what a silent step writes"},
	{"conform/shown", "the log shows none of the variables that a silent step writes"},
	{"conform/pending", "a visible step that must wait for other hosts will never be possible"},
	{"conform/proviso", "a silent step of one thread may lead to a known node only"},
	{"conform/hosts", "a step shows an event before those that it depends on"},
}

// Histories are the sabotages of stored states without histories (frontend/gosrc/machine), which
// the comparison of searches with and without stored states must find:
//
//	go test -tags sabotage ./frontend/gosrc/gotest -run Sabotage
var Histories = []struct{ Name, What string }{
	{"histories/order", "a call may come before one that had returned when it began"},
	{"histories/result", "what a call returns is not compared"},
	{"histories/chain", "only some of the orders of running calls are known"},
	{"histories/value", "values are the same if they differ only in what they refer to"},
	{"histories/class", "what the calls that are left return makes no difference"},
	{"histories/adjacent", "nobody tries the next steps of the others after an access"},
}

// Sampling are the sabotages of random schedules (frontend/gosrc/gotest), which the statistics of
// TestSURW must find:
//
//	go test -tags sabotage ./frontend/gosrc/gotest -run SabotageSURW
var Sampling = []struct{ Name, What string }{
	{"surw/weights", "all threads have an equal share of the selected steps that are left"},
	{"surw/started", "a thread keeps the steps of those that it has started"},
}

// Temporal are the sabotages of the check of temporal properties with a reduction
// (engine/temporal), which its comparison with brute force must find:
//
//	go test -tags sabotage ./engine/temporal -run Sabotage
var Temporal = []struct{ Name, What string }{
	{"fair/wakes", "no transition of an ample set enables a thread"},
	{"fair/known", "of a state that has an ample set only its thread is known to be enabled"},
	{"components/join", "a transition to the first half of the live vertices joins no components"},
	{"reach/open", "a state that the nested search has met is unknown to the full search"},
}

// Claims are the sabotages of claims by xr and xs (frontend/promela/machine), which the comparison
// of searches must find:
//
//	go test -tags sabotage ./frontend/promela/machine -run Sabotage
var Claims = []struct{ Name, What string }{
	{"claims/bounds", "nobody will check a claim"},
}

// Merging are the sabotages of merged semantics (frontend/promela/machine), which its comparison
// with pure semantics must find:
//
//	go test -tags sabotage ./frontend/promela/machine -run Sabotage
var Merging = []struct{ Name, What string }{
	{"merged/ready", "nobody minds when a process can receive by rendezvous"},
	{"merged/label", "nobody minds when a process comes to a label"},
	{"merged/remote", "nobody reads the locals of others"},
	{"merged/cycle", "a cycle is merged as a whole"},
	{"merged/dead", "all locals are dead"},
	{"merged/separate", "a transition is one step of pure semantics"},
}

// Emitter are the sabotages of the emitter of Promela (frontend/promela/machine), which its
// comparison with the machine must find:
//
//	go test -tags sabotage ./frontend/promela/machine -run Sabotage
var Emitter = []struct{ Name, What string }{
	{"code/width", "of 16 bits only 8 are stored"},
	{"code/sign", "what is loaded has no sign"},
	{"code/mask", "a scalar of a few bits spoils its neighbors"},
	{"code/element", "of an element that crosses no byte the neighbors count, too"},
	{"code/branch", "< is <="},
	{"code/and", "&& is its second operand"},
	{"code/index", "an index may be one too large"},
	{"code/divisor", "a division by 0 is one by 1"},
	{"code/changed", "a write to a global variable is not told"},
	{"code/else", "else can always be taken"},
	{"code/full", "a buffer takes one message more"},
	{"code/shift", "the messages behind one that is received stay where they are"},
	{"code/match", "a receive takes what does not match"},
	{"code/dead", "variables that are not read any more keep their values"},
	{"code/atomic", "an atomic sequence ends after its first step"},
	{"code/provided", "a provided clause always holds"},
	{"code/create", "the variables of a new process have no initial values"},
	{"code/end", "every blocked process may stay where it is"},
	{"code/note", "that a place was reached is not counted"},
	{"code/read", "a read is not an access"},
	{"code/sent", "a send or a receive is not a write"},
	{"code/location", "an access to an element is always to the same one"},
	{"code/control", "a process that moves is where it was"},
	{"code/ready", "that a process can receive by rendezvous is not an access"},
	{"code/shared", "an alternative has the accesses of those before it"},
	{"code/joined", "behind a choice an atomic sequence has its own accesses only"},
	{"code/stored", "every assignment is an ordinary write"},
	{"code/sum", "adding a number is an ordinary write"},
	{"code/remote", "where another process is looked at, nothing is accessed"},
	{"code/twice", "two accesses to a location stay two"},
}
