// Package native runs Go tests at native speed under our own scheduler: it compiles them with
// the ordinary toolchain and an overlay, and drives the process.
//
// # How it works
//
// The compiler's race instrumentation (-gcflags=all=-race -tags race, without cgo) calls the
// run-time at every access to memory. An overlay ([rules]) replaces what it calls by vector
// clocks of ours, and puts our scheduler into the installed Go's own packages: at the head of
// the functions that synchronize stands a point. Nothing of Go's source is kept here: the rules
// name functions, they are found on the syntax tree of the installed distribution, and the
// overlay that results is kept in the user's cache, by version and rules. If a rule finds
// nothing, [Build] returns an [Unsupported] error.
//
// The process has one thread for goroutines (GOMAXPROCS=1, no sysmon, no preemption by
// signals). At a point the goroutine says what it is about to do, and with what; then the
// scheduler (overlay/runtime_sched.go.txt) chooses a goroutine and one of the ways in which it
// can go on, and switches to it. So who can run is known before anybody does: a goroutine
// whose mutex is locked waits at its point and in no queue of Go's. A meeting at a channel
// without a buffer is done by the one who comes to the other. The state of locks stands in
// Go's own words, so that copying one copies it.
//
// # What is a transition
//
// What package machine says: one synchronization operation, with the computation that follows
// it up to the next one, and the same locations: the parts of a channel, the tokens of a
// WaitGroup and of readers, the alarms, the existence of a goroutine. A point of package
// testing, or of the library's own bookkeeping (files, settings), is none: such calls are
// found by their callers on the stack.
// A step on an atomic variable, sync.Map or sync.Pool that lies on the goroutine's own stack
// touches nothing: nobody else can reach it.
//
// # Names
//
// A goroutine is the n-th child of another one. A location is an object, which is named by
// who allocated it and how many it had allocated before, and an offset; or a global variable's
// address. What package testing and others allocate for themselves, perhaps only in the first
// execution of a process, is counted apart. These names are the same in executions in which the
// same happens before.
// Processes of a [Binary] share the numbers that stand for them.
//
// # What is under control
//
//   - Time: it passes when an alarm goes off. Each sleep and each timer is a thread that may go on
//     when no alarm is due earlier. A goroutine that reads the clock has a point, and sees the
//     time that has passed plus a nanosecond for each step that happened before, which is the
//     same in equivalent executions. If it reads the clock in one place again and again, time
//     passes there. In a bubble of testing/synctest an alarm goes off only when all there wait
//     durably, as in Go; the goroutines of a bubble bear a mark of ours, not that of the run-time.
//
//   - Map iteration, hash seeds, math/rand: each goroutine draws from a sequence of its own. A
//     pointer that is a key is hashed by the name of its object, not by its address.
//     A sync.Pool of the program gives back what was put into it last, those of the library
//     keep nothing.
//
//   - How many goroutines there are (runtime.NumGoroutine) is a location, from the first execution
//     on in which a test asks.
//
//   - Goroutines of package initializers and of TestMain: each execution starts them anew. Those
//     that they wait for run before, in one order.
//
//   - The garbage collector: within an execution it runs when a goroutine is about to allocate
//     and 32 MiB were allocated since the last time, while all goroutines stand. The program
//     cannot see it: its finalizers and cleanups never run, weak pointers keep what they point to,
//     pools keep what they have, stacks do not shrink. Locations and the shadow memory
//     of objects that have gone are forgotten, so an object that comes to lie at the same address
//     has nothing in common with them. The collector does not run while somebody waits for the
//     network poller, and not at places where the run-time forbids it.
//
//   - Files that are only read. What an execution sees of them is a part of the hash of a step, so
//     executions that see different files are not equal. Files of /proc and the like, and a file
//     that two goroutines read by one descriptor, are outside.
//
//   - The network, if it is the loopback: connections are those in memory that the
//     interpreter has (std/files/net/loopback.go.txt). A step is a point at a word of a stream,
//     with the same locations as there. What has to leave the loopback (datagrams, other hosts,
//     descriptors) ends the execution, and the test begins anew with sockets.
//
// What is not: sockets, processes, and files that are written. A system call sets
// [Execution.Outside], and a goroutine that the network poller has woken continues at once. A
// process that the test starts is an ordinary one, from the same executable, too: there the
// clock is that of the machine, and the run-time schedules as usual. As it can be reached by
// sockets only, they are real from the beginning of a test that starts one.
//
// # Executions begin equal
//
// Either the process forks for an execution ([Fork]), with what the initializers of packages have
// left; the child has one thread. When the execution has ended, the child gives back all of its
// memory, page by page, and begins the next one (overlay/runtime_again.go.txt). It ends if
// it may have changed anything else, by a system call that does more than to ask, a mapping or a
// thread, or if it fails; then another child is forked. A page that was not there when the child
// began shows as a page fault, and is emptied. Or the test runs again in the same process
// ([Repeat]):
// the instrumentation sees every write. Before a write changes memory that existed before the
// execution, the process saves what is there, and restores it when the execution has ended
// (overlay/runtime_restore.go.txt). Where that is impossible, [Execution.WroteOutside] is set; the
// process is given up, and the next one forks. This applies to a sync.Map, to the environment, and
// to executions that write to old memory and collect garbage.
//
// For a range, the instrumentation reports the size of the write. For a single value it reports
// only the address. Such a value has at most 24 bytes, and ends with its object, or with its
// variable, whose bounds are among the symbols of the executable. For a map, the run-time only
// reports that it is written, so all of its parts are saved; for a channel, its head and the slot.
// Assembly (in a big.Int or a hash) writes more than what is reported, but no pointers, and so
// does the kernel. So the variables of packages that are not of Go's own library, and old objects
// without pointers, are copied, and compared with the copies when something was restored, and
// after each execution of a program that imports assembly, or makes system calls of its own. If
// one differs, the process is given up, too. What assembly writes beside the pointers of an old
// object goes unnoticed; no such package is known.
//
// # Why answers are sound
//
// The argument for races and transitions is that of package machine. That the same choices lead
// to the same execution is not assumed: [Execution.Hash] covers the choices, the operations and
// all accesses, and a choice that cannot be taken is a [Diverged] error. Known to differ from
// package machine: a plain copy of a lock is no step. A test is refused when a lock is locked after
// such a copy that nothing orders; a copy beside readers is seen in one order only. Whether the
// sum of an atomic addition is used is not known here, so that additions do not commute.
//
// # Epochs
//
// For each byte the shadow memory keeps who wrote it last and who has read it since then, as
// epochs (Flanagan and Freund, "FastTrack", PLDI 2009). The tick of a thread counts its steps,
// and grows whenever others may learn what it has done: when it releases a location, starts a
// goroutine or a timer, or meets another thread at a channel. They learn the earlier tick, say
// n, which then is the least that their clocks hold for the thread, as do the clocks of all who
// learn it from them. Behind that the thread's accesses have the epoch n+1, until others may
// learn of them, too: whatever steps lie between them, nobody can know some of these accesses
// and not the others.
//
// An access of epoch e happens before what another thread does if that thread's clock holds at
// least e for the first one. If it does happen before, something was handed over after the
// access, at a tick of at least e, and that is known. If it does not, all that is known was
// handed over before the access, at ticks below e. So epochs order the same accesses as a tick
// for each access would, and an access with the epoch of the last one to the same bytes adds
// nothing to what is known. TestShadow holds this, and the cells, to vector clocks in which each
// access has a time of its own.
//
// TestSabotage builds faults into the run-time, one at a time: a missing point, a lost edge of
// happens-before, a clock that stands. Each must change what a search finds. Package gotest
// compares both machines on kernels, on mutants of them, and on generated programs.
package native
