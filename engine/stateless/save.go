package stateless

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"cpor/engine"
	"cpor/system"
	"cpor/trace"
)

// A search saves its tree, as it is between executions: for each node the thread and the
// alternative of its transition, and how far it has come. A resumed search executes the tree's
// transitions to recover the rest, such as accesses. So a checkpoint is small, and means the
// same in another process, even where locations are objects that are numbered when they are
// first met.
//
// A worker that pauses or is stopped leaves running nodes behind. They become pending, and the
// worker that takes one continues there: with its pending children, or after it if it has none,
// without counting its transition again. The same happens to a finished node that gets a new
// child (node.reopen). A worker's notes about races are lost, as when it takes another worker's
// node: they are found again, and what reverses them is in the tree.

// saved is what a search saves besides the tree.
type saved struct {
	Which, Rounds, Bound                  int    // the tree
	Shared                                bool   // several workers have been at it
	Executions, Blocked, Cut, Transitions uint64 // of this round
	Before                                uint64 // transitions of earlier ones
	Depth                                 int
	Elapsed                               time.Duration
	Findings                              []savedFinding
	More                                  uint64
	Nodes                                 uint64
	Executed                              []uint64 // see system.Counting
}

type savedFinding struct {
	Violation system.Violation
	Initial   int
	Steps     []trace.Step
}

// pause keeps workers from taking nodes, until unclaim: they end when they have finished their
// executions.
func (t *tree) pause() {
	t.mu.Lock()
	t.paused.Store(true)
	t.wake.Broadcast()
	t.mu.Unlock()
}

// unclaim makes running nodes pending. No worker may be running.
func (t *tree) unclaim() {
	for _, w := range t.workers {
		w.open, w.moving, w.taken = w.open[:0], false, false
	}
	unclaim(t.root)
	t.paused.Store(false)
}

func unclaim(x *node) {
	if x.status != running {
		return // nor is anything below it
	}
	x.status = pending
	if x.parent != nil {
		x.parent.pending++
	}
	for c := x.first; c != nil; c = c.next {
		unclaim(c)
	}
}

// save writes the search. No worker and no node may be running.
func (e *explorer) save(w io.Writer) error {
	t := e.tree.Load()
	s := saved{
		Which: e.which, Rounds: e.rounds, Bound: e.bound, Shared: t.shared,
		Before:  e.before.transitions,
		Elapsed: e.elapsed + e.watch.Elapsed(), More: e.found.More,
	}
	for _, w := range e.workers {
		s.Executions += w.executions
		s.Blocked += w.blocked
		s.Cut += w.cut
		s.Transitions += w.transitions
		s.Depth = max(s.Depth, w.depth)
	}
	for r := range e.found.All() {
		s.Findings = append(s.Findings, savedFinding{r.Violation, r.Trace.Initial, r.Trace.Steps})
	}
	s.Nodes = size(t.root)
	if c := e.sys.Capabilities().Counting; c != nil {
		s.Executed = c.Executed()
	}
	if err := engine.WriteRecord(w, &s); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	if err := writeNode(b, t.root); err != nil {
		return err
	}
	return b.Flush()
}

func size(x *node) uint64 {
	n := uint64(1)
	for c := x.first; c != nil; c = c.next {
		n += size(c)
	}
	return n
}

// The flags of a node in a checkpoint.
const (
	isDone = 1 << iota
	isExecuted
	isMulti
	isFree
)

// writeNode writes a node and what is below it: its flags, its transition, the number of its
// children, and the children.
func writeNode(w *bufio.Writer, x *node) error {
	flags, children := uint64(0), uint64(0)
	for i, is := range []bool{x.status == done, x.executed, x.multi, x.free} {
		if is {
			flags |= 1 << i
		}
	}
	for c := x.first; c != nil; c = c.next {
		children++
	}
	var b [4 * binary.MaxVarintLen64]byte
	out := b[:0]
	for _, v := range []uint64{flags, uint64(x.thread), x.alt, children} {
		out = binary.AppendUvarint(out, v)
	}
	if _, err := w.Write(out); err != nil {
		return err
	}
	for c := x.first; c != nil; c = c.next {
		if err := writeNode(w, c); err != nil {
			return err
		}
	}
	return nil
}

// restore reads what save has written. The workers exist and have done nothing.
func (e *explorer) restore(from io.Reader) error {
	var s saved
	if err := engine.ReadRecord(from, &s); err != nil {
		return err
	}
	if c := e.sys.Capabilities().Counting; c != nil {
		c.AddExecuted(s.Executed)
	}
	initial := e.sys.Initial()
	if s.Which < 0 || s.Which >= len(initial) {
		return engine.Unreadable(errors.New("there is no such initial state"))
	}
	e.which, e.initial, e.rounds, e.bound, e.elapsed = s.Which, initial[s.Which], s.Rounds, s.Bound,
		s.Elapsed
	e.before.transitions = s.Before
	w := e.workers[0]
	w.counts = counts{executions: s.Executions, blocked: s.Blocked, cut: s.Cut,
		transitions: s.Transitions, depth: s.Depth}
	w.publish()
	for _, f := range s.Findings {
		if err := e.refind(&f); err != nil {
			return engine.Unreadable(err)
		}
	}
	e.found.More += s.More
	t := newTree(e.workers)
	t.shared = t.shared || s.Shared
	tr := &treeReader{in: bufio.NewReader(from), r: newRunner(e.sys, e.initial, e.o.Undo == Replay,
		e.tracks()), left: s.Nodes, shapes: e.o.Reduction.dynamic()}
	if err := tr.node(t.root); err != nil {
		return engine.Unreadable(err)
	}
	if tr.left > 0 {
		return engine.Unreadable(fmt.Errorf("%d nodes are missing", tr.left))
	}
	if err := engine.AtEnd(tr.in); err != nil {
		return err
	}
	t.root.free = true
	e.tree.Store(t)
	return nil
}

// refind finds a violation again by executing its steps.
func (e *explorer) refind(f *savedFinding) error {
	initial := e.sys.Initial()
	if f.Initial < 0 || f.Initial >= len(initial) {
		return errors.New("a violation does not begin in an initial state")
	}
	r := newRunner(e.sys, initial[f.Initial], false, e.tracks())
	for _, s := range f.Steps {
		if s.Thread < 0 || s.Thread >= r.m.NumThreads() ||
			r.try(s.Thread, s.Alt).Kind != system.Moved {
			return errors.New("the steps to a violation are impossible")
		}
	}
	state := ""
	if f.Violation.Kind == system.Deadlock {
		state = engine.StateKey(e.sys, &e.obs, r.m)
	}
	e.found.Add(&f.Violation, state, func(v system.Violation) engine.Raw {
		return engine.Raw{Violation: v, Trace: &trace.Trace{Initial: f.Initial, Steps: f.Steps}}
	})
	return nil
}

// treeReader reads the nodes of a checkpoint, and executes their transitions.
type treeReader struct {
	in     *bufio.Reader
	r      *runner
	left   uint64 // nodes that are to come
	shapes bool
}

// node reads a node into x, with what is below it. The machine is where x's transition
// begins, and is there again afterwards.
func (tr *treeReader) node(x *node) error {
	if tr.left == 0 {
		return errors.New("there are too many nodes")
	}
	tr.left--
	var v [4]uint64
	for i := range v {
		var err error
		if v[i], err = binary.ReadUvarint(tr.in); err != nil {
			return err
		}
	}
	flags, thread, children := v[0], v[1], v[3]
	x.executed, x.multi, x.free = flags&isExecuted != 0, flags&isMulti != 0, flags&isFree != 0
	if flags&isDone != 0 {
		x.status = done
	}
	if x.parent != nil {
		if thread >= uint64(tr.r.m.NumThreads()) {
			return fmt.Errorf("there is no thread %d", thread)
		}
		x.thread, x.alt = int32(thread), v[2]
		if tr.shapes {
			x.shape = tr.r.can.Shape(int(thread))
		}
		if out := tr.r.try(int(thread), x.alt); out.Kind != system.Moved {
			return fmt.Errorf("thread %d is %v where it has taken a transition", thread, out.Kind)
		}
		defer tr.r.undo()
		x.touched = touch(append(x.acc, tr.r.m.Accesses()...))
		if x.status == done {
			x.parent.open--
			x.parent.pending--
		}
	}
	for range children {
		c := &node{}
		x.add(c)
		if err := tr.node(c); err != nil {
			return err
		}
	}
	return nil
}
