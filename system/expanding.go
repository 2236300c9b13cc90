package system

import "runtime"

// Expanding is implemented by machines of systems that can be compiled to machine code, which
// executes all steps of a state in one call. The machine itself is the reference, and executes what
// the code leaves to it.
type Expanding interface {
	// Compiled returns the machine code, for the goroutine of this machine. It is nil as long
	// as it is not ready, which the first call begins to prepare in the background; gone
	// tells that it never will be. With accesses, the code tells what steps access, which costs
	// time.
	Compiled(accesses bool) (code *Code, gone bool)
}

// Code expands states for one goroutine.
type Code struct {
	// Expand executes every step of every thread from s, for Next to tell. It returns
	// false if the state has to be left to the reference altogether.
	Expand func(s State) bool
	// Next returns the next outcome, in the order of threads and of alternatives, and false after
	// the last one.
	Next func(x *Successor) bool
	// Ahead is by thread how many steps Expand executes behind the first one, alone from its end,
	// if that is the only alternative: what follows a step of the thread is then the next one. All
	// are 0 at first. It is nil if the code does not record accesses.
	Ahead []uint16
	// Range has Expand execute only the steps of threads from first to last-1, until it is called
	// again. It is nil if the code does not record accesses.
	Range func(first, last int)
	// Encode encodes the End of an outcome. It is nil if each End is encoded. With accesses, it
	// may be a live state instead, as a machine has it that was loaded with the expanded state and
	// has executed the steps. [Machine].Load takes it, too, and goes on from there with the
	// locations that the expanded state has.
	Encode func(dst, end State) State
}

// Successor is one outcome that machine code tells.
type Successor struct {
	Thread int
	// Left means that the reference machine has to execute all steps of the thread: there is
	// a violation among them, or the code does not know this place in the program. Nothing
	// else is known of the thread, and the other fields mean nothing.
	Left  bool
	Kind  Kind
	AtEnd bool   // as in Outcome
	Alt   uint64 // as for Step
	// Behind means that it is not a step of the expanded state, but behind the outcome before,
	// which is of the same thread.
	Behind bool
	// Several means that the thread has several alternatives there. They are not executed, and the
	// other fields mean nothing. It is always Behind.
	Several bool
	// Accesses are those of the step, valid until the next call of Expand, if the code tells them.
	Accesses []Access
	// End is the state after the step, valid until the next call of Expand. It must not be changed.
	// See [Code].Encode.
	End State
	// Changed has a bit for each word in which End can differ from the state before the step. It is
	// 0 if that is not known.
	Changed uint64
}

// AwaitedCode is the code of a machine, which an engine asks for once it is worth compiling.
type AwaitedCode struct {
	Machine Expanding // nil if there is no code, and will be none
	*Code             // nil as long as it is not ready
	Forced  bool      // for tests: nothing begins before there is code
}

// Ready requests the code with accesses if that is due, and tells whether it is there.
func (a *AwaitedCode) Ready(due bool) bool {
	for a.Code == nil && a.Machine != nil && (due || a.Forced) {
		code, gone := a.Machine.Compiled(true)
		if a.Code = code; gone {
			a.Machine = nil
		}
		if !a.Forced {
			break
		}
		runtime.Gosched()
	}
	return a.Code != nil
}
