package native

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cpor/system"
)

// Op is a kind of synchronization operation: what a thread does next.
type Op uint8

// The operations.
const (
	OpNone      Op = iota
	OpStart        // a new goroutine runs
	OpGo           // a go statement
	OpSend         // on a channel
	OpRecv         // from a channel, by a receive or a range
	OpSelect       // a select with several cases, or with a default
	OpClose        // of a channel
	OpLen          // len of a channel
	OpMet          // goes on after a partner has completed its operation on a channel
	OpLock         // of a mutex, or of an RWMutex for writing
	OpTryLock      //
	OpUnlock       //
	OpRLock        //
	OpTryRLock     //
	OpRUnlock      //
	OpAdd          // WaitGroup.Add, Done
	OpWait         // WaitGroup.Wait
	OpOnce         // Once.Do
	OpOnceDone     // the function of a Once has returned
	OpCondWait     // Cond.Wait: enters the queue
	OpCondWoken    // Cond.Wait: goes on after a signal
	OpSignal       // Cond.Signal
	OpBroadcast    // Cond.Broadcast
	OpLoad         // of an atomic
	OpStore        // of an atomic
	OpUpdate       // of an atomic: Add, Swap, CompareAndSwap, And, Or
	OpMap          // an operation on a sync.Map or a sync.Pool
	OpSleep        // time.Sleep: goes on when time has passed
	OpTimer        // a timer fires
	OpTimerSet     // a timer is made, reset or stopped
	OpYield        // runtime.Gosched
	OpBubble       // synctest.Wait, or the beginning or end of a bubble
	OpOutside      // waits for what is outside: a socket, a file, a process
	OpClock        // reads the clock
	OpCount        // runtime.NumGoroutine
	OpNet          // of a connection or a listener of the loopback
	OpTest         // a test ends, or a goroutine that logs looks whether it has
	numOps
)

// Choice is who runs next, and in which way.
type Choice struct {
	Thread int32 // a number of [Binary.ThreadName]
	// Alt counts the alternatives of the thread's next operation that can run, from 0: the
	// cases of a select that are ready, partners at a channel without a buffer.
	Alt int32
}

// Pending is what a thread does next, known before it runs.
type Pending struct {
	Thread int32
	Op     Op
	// Enabled is how many alternatives can run now; 0: the thread is blocked, or it has ended.
	Enabled int32
	// Accesses are those of the operation. Of a blocked thread they are the reads of the guard.
	// If the operation has several enabled alternatives, they are those of alternative 0.
	Accesses []system.Access
	// Alts are the accesses of the alternatives from 1 on.
	Alts [][]system.Access
	// Scans: it is also read which threads exist, so what it is depends on all that were created.
	Scans bool
	AtEnd bool // it may wait forever without that being a deadlock or a leak
	Early bool // an alarm that would go off though somebody else can run
	Ended bool
	// Deadline, of OpSleep and OpTimer, is when it goes on, in nanoseconds of the virtual clock.
	Deadline int64
	Sleeps   bool // the test itself sleeps
	Pos      system.Pos
	Text     string // "Lock Pool.mu"; may be empty
}

// TestEvent is what has happened to a test or subtest.
type TestEvent struct {
	Kind   TestEventKind
	Thread int32 // that runs it
	Name   string
	Why    string // it was skipped; may be empty
}

// TestEventKind says what has happened to a test.
type TestEventKind uint8

// The kinds.
const (
	TestRuns TestEventKind = iota
	TestEnded
	TestSkipped
	TestParallel // it has called t.Parallel
)

// Step is one transition as it was executed: a synchronization operation, and the
// computation that follows it up to the next one.
type Step struct {
	Choice
	Op Op
	// each location once; the computation's accesses to memory are left out
	Accesses []system.Access
	// Values has a word for each access: what somebody who reads the location to find out
	// whether it can run, and what it would access, sees behind the step; 0: not known. Nil: none
	// is known.
	Values []uint64
	// After has each thread whose Pending the step has changed, itself and new ones included.
	After   []Pending
	Created bool  // it has created a thread
	Timeout bool  // that thread is a time-out: a timer that the test has set, to wait no longer
	Scans   bool  // as that of Pending
	Now     int64 // the virtual clock behind the step, in nanoseconds
	Failure *Failure
	Pos     system.Pos
	// Hash is a hash of the names of the accesses; 0: there is none.
	Hash uint64
}

// Frame is a call on a stack.
type Frame struct {
	Func string
	Pos  system.Pos
}

// Stack is what a goroutine was doing.
type Stack struct {
	Thread int32
	What   string // "writes", "waits to lock a mutex"
	Frames []Frame
}

// Failure is what is wrong with an execution.
type Failure struct {
	Kind    system.ViolationKind
	Message string
	Pos     system.Pos
	Object  string // of a race: the address's object
	Stacks  []Stack
}

// End is how an execution ended.
type End uint8

// The ends of executions.
const (
	Passed End = iota // the test ended, and nobody waits
	// the test ended and failed, or a step has a Failure after which the others went on
	Failed
	Deadlock // nobody can run, and the test has not ended
	Leak     // the test has ended, and goroutines wait for what nobody can give
	Crashed  // the last step ended the process: a panic, a fatal error, a data race
	Exited   // os.Exit, or the end of main
	Cut      // Policy.MaxSteps was reached
	TooLarge // the limit of memory or of time for one step was reached
	Skipped  // the test skipped itself
	Spent    // Policy.Alarms have gone off, and nobody can run before another one does
	diverged // the prefix does not lead there: [Diverged]
)

// Execution is one execution of a test.
type Execution struct {
	// Known is how many of the first steps are not among Steps, see [Policy.Known]; Past is a
	// hash of their Hashes, as Past makes it.
	Known int
	Past  uint64
	First []Pending // the threads before the first of Steps
	Steps []Step
	End   End
	// of a deadlock or leak, with a stack for each thread that waits; else that of a step
	Failure *Failure
	Output  []byte
	// Tests is what became of the test and its subtests, in order.
	Tests []TestEvent
	// Outside names what was used that is not under control, such as real sockets.
	Outside []string
	// Fixed names choices of the run-time of which one alternative was taken.
	Fixed []string
	// WroteOutside: memory that existed before the test began was written, and is not what it was.
	WroteOutside bool
	// Hash is a hash of everything that happened: equal choices must give equal hashes.
	Hash uint64
}

// Len returns how many steps there were.
func (x *Execution) Len() int { return x.Known + len(x.Steps) }

// Past returns a hash of the Hashes of some steps: before is that of all but the last one, and 0
// that of none.
func Past(before, hash uint64) uint64 {
	x := before ^ (hash+0x9e3779b97f4a7c15)*0xbf58476d1ce4e5b9 // cporMix of the run-time
	x ^= x >> 29
	x *= 0x94d049bb133111eb
	return x ^ x>>32
}

// PolicyKind is how an execution goes on when the prefix is used up.
type PolicyKind uint8

// The kinds of policies.
const (
	// Straight runs the last thread as long as it can run, with alternative 0, and then the
	// oldest one that can.
	Straight PolicyKind = iota
	// Random takes each enabled alternative of each thread with equal probability.
	Random
	// PCT gives threads random priorities and changes them at Depth-1 random points.
	PCT
	// POS gives each operation a random priority, and a new one to those that wait when another
	// has touched the same (Yuan, Yang, Gu, "Partial order aware concurrency sampling", CAV 2018).
	POS
	// SURW, the selectively uniform random walk, draws the orders of selected steps with equal
	// probability (Zhao, Wolff, Mathur, Roychoudhury, "Selectively uniform concurrency testing",
	// ASPLOS 2025, algorithm 2). See [Selection].
	SURW
)

// Policy is how an execution goes on when the prefix is used up.
type Policy struct {
	Kind     PolicyKind
	Seed     uint64
	Depth    int       // of PCT
	Length   int       // of PCT: about how many steps an execution has
	Select   Selection // of SURW
	MaxSteps int       // after which the execution is cut off; 0: a million
	// Known is how many of the first steps are known to the caller: of them only a hash is
	// reported, and First is what the threads do behind the last one.
	Known int
	// Readings is how often a goroutine reads the clock in one place before time passes for it;
	// 0: 16.
	Readings int
	// Alarms is how many alarms may go off, those of the prefix included; 0: any number.
	Alarms int
	// Quiet lets time pass only when nobody else can run, and nothing comes from outside.
	Quiet bool
	// Brief leaves out the accesses and what changes with each step: Steps have only
	// Choice, Op and Failure. It is for sampling.
	Brief bool
}

// Diverged is the error for a prefix that cannot be followed, or that led elsewhere.
type Diverged struct {
	At   int // the index of the choice
	What string
}

func (d *Diverged) Error() string {
	return fmt.Sprintf("step %d: %s: the execution does not depend on the choices alone", d.At+1,
		d.What)
}

// RuntimeFailed is the error of an execution in which the run-time of Go itself failed under our
// control, or refused what the program does ("cpor: ..."): that says nothing about the program.
type RuntimeFailed struct{ What string }

func (f *RuntimeFailed) Error() string {
	if why, refused := strings.CutPrefix(f.What, "cpor: "); refused {
		return why
	}
	return "the Go run-time itself failed under the native machine (" + f.What + "), which says " +
		"nothing about the test: please report it"
}

// Mode is how executions begin equal.
type Mode uint8

// The modes.
const (
	Auto   Mode = iota // Repeat if the test allows it, else Fork
	Repeat             // in the same process, with what existed before as it was
	Fork               // in a child of the process, which has one thread and gives back its memory
	Fresh              // each execution in a new process
)

// Limits bound what the executions of a process may take.
type Limits struct {
	Memory uint64        // bytes of an execution; 0: 4 GiB
	Step   time.Duration // for one step, by the clock on the wall; 0: ten seconds
}

// Process executes one test again and again. It is for one goroutine.
type Process interface {
	// Run executes the test from its beginning with the choices of prefix and goes on
	// by p. The result is valid until the next call. A prefix that cannot be
	// followed is an error of type *[Diverged]; the process can be used further.
	Run(ctx context.Context, prefix []Choice, p Policy) (*Execution, error)
	// Expect says that Run will be called like this after the next call, or after those expected
	// before. It is only a hint: the process may execute several in one exchange.
	Expect(prefix []Choice, p Policy)
	// Mode tells how executions begin equal, as far as is known by now.
	Mode() Mode
	// Close ends the process.
	Close() error
}
