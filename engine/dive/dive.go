// Package dive looks for violations along random executions, beside a search that
// covers everything.
//
// Eight threads increment a counter under a lock, and one forgets the lock. A search with
// stored states goes breadth first: it covers millions of states before it comes to the
// end of an execution, where the assertion fails. One random execution in ten fails. So a
// [Diver] gets a small share of the search's work:
//
//	d := dive.New(sys, &o)
//	o.Turn = d.Turn // called by each worker every few states
//	...             // the search
//	if f := d.Found(); f != nil { ... }
//
// A dive covers nothing and proves nothing. A search that it finds no violation for passes
// with the same verdict and the same counts. A violation that it finds is one: its trace
// is an execution from an initial state.
//
// Every other execution chooses evenly among the threads that can continue. The others follow
// PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS 2010): random priorities, and up to
// two random steps at which the running thread gets the lowest one.
//
// The share is measured in steps and states, not in time, and the seed is fixed. So
// beside a search by one worker the same violation is found each time.
package dive

import (
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/engine"
	"cpor/system"
	"cpor/trace"
)

const (
	// after is how many calls of Turn come before the first dive: a search of a tenth of a
	// second has none, and finds what it finds breadth first, with the shortest trace.
	after = 32_000 / engine.TurnStates
	// A state is worth early parts of a step at first, half as many each time that the number of
	// calls has doubled, and late parts in the end. A step costs a few times as much as a state,
	// which machine code expands. Drawing one of many alternatives executes all of them, and each
	// counts as a step.
	early, late, parts = 8, 1, 128
	// most bounds the steps that one call executes, roughly, so that no worker is away for long.
	most = 1024
	// shortest is the length at which an execution is cut off at first. One in longerBy
	// may become longerBy times as long, and so on up to longest.
	shortest = 1000
	longerBy = 8
	longest  = 100_000
	// pctSteps is after how many steps priorities are given up: a thread that waits actively
	// would keep the others from what it waits for.
	pctSteps = 300
	// maxAlternatives is among how many alternatives of a transition one is drawn.
	maxAlternatives = 64
)

// Diver runs random executions of a system.
type Diver struct {
	sys             system.System
	ignoreDeadlocks bool
	stop            func()

	calls atomic.Uint64
	due   atomic.Int64 // parts of steps
	found atomic.Pointer[Found]

	mu       sync.Mutex // held by the worker that dives
	executed int64      // steps, those included that were not taken
	rand     *rand.Rand
	m        system.Machine // nil before the first dive
	obs      system.Observers
	number   uint64 // of the execution, from 1
	limit    int    // its length
	initial  int
	steps    []trace.Step
	pct      bool
	changes  [2]int // the steps at which PCT lowers a priority
	length   int    // of the longest execution that has ended
	// order has the threads, observers left out: those of PCT by their priorities, the
	// highest first. threads is how many are known, observers included.
	order   []int
	threads int
}

// Found is a violation with the execution that leads to it.
type Found struct {
	Trace *trace.Trace
	// Number is the number of the random execution, from 1.
	Number uint64
}

// New returns a diver for a search of sys with these options. It calls stop, from a worker,
// when it has found a violation.
func New(sys system.System, o *engine.Options, stop func()) *Diver {
	return &Diver{sys: sys, ignoreDeadlocks: o.IgnoreDeadlocks, stop: stop,
		rand: rand.New(rand.NewPCG(1, 2)), length: 10}
}

// Found returns the violation that was found, nil if there is none.
func (d *Diver) Found() *Found { return d.found.Load() }

// Turn is [engine.Options.Turn].
func (d *Diver) Turn() {
	n := d.calls.Add(1)
	if n < after {
		return
	}
	d.due.Add(engine.TurnStates * int64(max(early>>(bits.Len64(n/after)-1), late)))
	if d.found.Load() != nil || !d.mu.TryLock() {
		return
	}
	defer d.mu.Unlock()
	steps := d.due.Load() / parts
	d.due.Add(-steps * parts)
	for end := d.executed + min(steps, most); d.executed < end; {
		if v := d.step(); v != nil {
			t := &trace.Trace{Initial: d.initial, Steps: slices.Clone(d.steps), Violation: v}
			d.found.Store(&Found{t, d.number})
			d.stop()
			return
		}
	}
}

// begin begins an execution.
func (d *Diver) begin() {
	if d.m == nil {
		d.m, d.obs = d.sys.NewMachine(), system.ObserversOf(d.sys)
	}
	initial := d.sys.Initial()
	d.initial = d.rand.IntN(len(initial))
	d.m.Load(initial[d.initial])
	d.steps, d.order, d.threads = d.steps[:0], d.order[:0], 0
	d.limit = shortest
	for d.limit < longest && d.rand.IntN(longerBy) == 0 {
		d.limit *= longerBy
	}
	d.number++
	d.pct = d.number%2 == 0
	for i := range d.changes {
		if d.changes[i] = -1; d.rand.IntN(3) > i {
			d.changes[i] = d.rand.IntN(d.length)
		}
	}
}

// step takes one step of an execution, a new one if there is none. It returns a
// violation that the execution now ends with, or nil.
func (d *Diver) step() *system.Violation {
	if len(d.steps) >= d.limit {
		d.begin()
	}
	moved, v := d.move()
	if moved && v == nil {
		v = d.observed()
	}
	if !moved {
		d.length = max(d.length, len(d.steps))
		d.limit = 0 // the execution has ended
		if v == nil && !d.ignoreDeadlocks {
			if enabled, blocked := d.obs.Deadlock(d.m); enabled < 0 && len(blocked) > 0 {
				return &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
			}
		}
	}
	return v
}

// try executes a step.
func (d *Diver) try(t int, alt uint64) system.Outcome {
	d.executed++
	return d.m.Step(t, alt)
}

// observed lets the observers look at the live state, and returns what one of them finds.
func (d *Diver) observed() *system.Violation {
	if !d.obs.Any() {
		return nil
	}
	for t := range d.m.NumThreads() {
		if d.obs.Has(t) {
			mark := d.m.Mark()
			if out := d.try(t, 0); out.Kind == system.Moved && out.Violation != nil {
				d.steps = append(d.steps, trace.Step{Thread: t})
				return d.first(out.Violation)
			}
			d.m.Rewind(mark)
		}
	}
	return nil
}

// move lets one thread take a step. It returns whether there was one, and the violation.
func (d *Diver) move() (bool, *system.Violation) {
	pct := d.pct && len(d.steps) < pctSteps
	for ; d.threads < d.m.NumThreads(); d.threads++ {
		if !d.obs.Has(d.threads) {
			d.order = slices.Insert(d.order, d.rand.IntN(len(d.order)+1), d.threads)
		}
	}
	if pct && slices.Contains(d.changes[:], len(d.steps)) {
		d.lower()
	}
	mark := d.m.Mark()
	for i := range d.order {
		if !pct {
			j := i + d.rand.IntN(len(d.order)-i)
			d.order[i], d.order[j] = d.order[j], d.order[i]
		}
		t := d.order[i]
		out := d.try(t, 0)
		if out.Kind != system.Moved {
			continue
		}
		alt := uint64(0)
		if out.Next != 0 {
			alt, out = d.alternative(t, mark, out)
		}
		d.steps = append(d.steps, trace.Step{Thread: t, Alt: alt})
		return true, d.first(out.Violation)
	}
	return false, nil
}

// lower gives the lowest priority to the thread that would continue.
func (d *Diver) lower() {
	mark := d.m.Mark()
	for i, t := range d.order {
		if d.try(t, 0).Kind == system.Moved {
			d.m.Rewind(mark)
			d.order = append(slices.Delete(d.order, i, i+1), t)
			return
		}
	}
}

// alternative executes one of the alternatives of a transition, whose first one was executed
// with the outcome out, and returns its number.
func (d *Diver) alternative(t int, mark system.Mark, out system.Outcome) (uint64, system.Outcome) {
	chosen, at := uint64(0), uint64(0)
	for seen := 2; out.Next != 0 && seen <= maxAlternatives; seen++ {
		at = out.Next
		d.m.Rewind(mark)
		out = d.try(t, at)
		if d.rand.IntN(seen) == 0 {
			chosen = at
		}
	}
	if chosen != at {
		d.m.Rewind(mark)
		out = d.try(t, chosen)
	}
	return chosen, out
}

// first returns the violation of a transition without the others.
func (d *Diver) first(v *system.Violation) *system.Violation {
	for ; v != nil; v = v.Also {
		if v.Kind != system.Deadlock || !d.ignoreDeadlocks {
			alone := *v
			alone.Also = nil
			return &alone
		}
	}
	return nil
}
