// Package replay makes a [system.System] of a program that can only be run from its beginning
// ([native.Process]), so that every engine, sampler and trace works on it as on a machine that
// can be stepped and taken back.
//
//	sys, err := replay.New(ctx, open, names, replay.Options{Processes: 2})
//	res, err := stateless.Run(ctx, sys, stateless.Options{Reduction: stateless.DPOR})
//	fmt.Println(res.Executions, sys.Counts().Runs)
//
// # Events instead of states
//
// A machine holds no state of the program. It holds for each thread the last event that it
// took part in, and for each location the last event that wrote it. An event is a transition
// with its causal past: the event before it in its thread, the alternative taken, and for each
// location that it touches the event that wrote it last. Events are kept once, whatever the
// execution in which they were seen; they are the events of an unfolding (see package
// engine/unfolding), found one execution at a time. Behind each event stands what its thread was
// seen to be about to do, with the versions of the locations that this depends on.
//
// A step that was seen before, in whatever execution, is answered from the events. Only a step
// that is new runs the program: with the choices that led here, that step, and the steps that
// the engine has announced ([system.Costly]) as a prefix. From there the program goes on freely
// to its end, and all that it does on the way becomes known. So a search usually runs the
// program no more often than it explores executions, and less often where parts of the program
// are independent. Branches that the engine has announced for later are run in the same exchange
// with the process. What a run did is kept as a script until the engine has followed it: as long as
// the path is the beginning of a script, what comes next need not be looked up.
//
// # Why the answers are right
//
// Package system promises, and the engines rely on it, that what a thread does next is a
// function of its local part and of the values of the locations that it shows as accessed. By
// induction along the causal past, the local part of a thread behind an event, and the value
// that an event writes, are functions of the event: the local part behind the event before and
// the values read are. So in every execution in which a thread's last event is p and the
// locations that event e touches were last written by those that wrote them for e, the thread
// takes e next if it takes that alternative. Likewise for what it is about to do; there a
// version is the writing event, or, if the process tells values, the value, which is all that a
// guard sees. The argument needs that memory which is not shown as accessed is ordered by what
// is shown. In a program without data races it is.
//
// Two things that a step may depend on are not among the locations that it shows as read, because
// what reads them is dependent on what writes them in any case. A step that scans threads
// ([native.Step.Scans]) shows that those do not exist which could be created next, but not that
// those exist which were; so the set of the threads that were created is a part of such
// an event. And which alarms are set, and which have gone off, is a part of an event that lets one
// go off: both access the clock, one of them only reads it.
//
// The process looks for races by happens-before in each execution, and a program with one gets no
// verdict but that race; why an execution is run in which the first race shows is described in
// package machine.
//
// So a machine of this package conforms to package system if the process does, two of its states
// are equal if they hold the same events, and the proof of package stateless holds for it
// without a change: same dependence, same traces, same number of them. The tests hold this to
// machines that are stepped, on generated programs.
//
// # Determinism
//
// The same argument is a check. If an execution takes a step that has the same causal past as a
// known event and touches something else, or if a thread can do something else in the same
// situation, then the program depends on more than the choices, and the search ends with a
// [native.Diverged] that names the place. It compares not only repetitions of one
// schedule, but all schedules that have an event in common.
//
// # Errors
//
// Machines have no way to return an error, so a step that cannot be answered panics with a
// *[Stop]. Searches make it the error that they return.
package replay
