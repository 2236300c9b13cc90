// Package validate checks a machine and a reduction while a search runs: the
// slow mode behind `cpor run -validate` (as LTSmin's --por --check).
//
// [Hook] makes a [search.Hook] for each worker. On every state that is expanded
// it executes, on a machine of its own,
//
//   - the state itself: loading and encoding it gives the same state;
//   - every alternative of every thread's next transition: it changes only what it reported as
//     written, and no other thread's local part; a self-loop changes nothing; the undo log leads
//     back; the same happens without tracking; and its end is the same when it is loaded again;
//   - every pair of transitions of different threads that are independent, each of all
//     alternatives of the other's thread, in both orders: neither disables the other, both orders
//     lead to the same state with the same hash, outcomes and accesses (that is what independence
//     claims; Gueta et al. 2007, definition 1);
//   - every transition once more from pieces ([system.Pieces]), with the same
//     effect, if the machine offers them;
//   - every move that the expander offers: its path leads where it claims to;
//   - every violation: its steps show it.
//
// The cartesian expander also checks its vectors (package cartesian, Options.Check), and every
// search replays its traces, validated or not.
//
// A difference is a fault of cpor, never of the explored system.
package validate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"cpor/engine/search"
	"cpor/system"
)

// Difference is a claim that does not hold. Steps lead from State, an encoded state, to where it
// fails.
type Difference struct {
	Message string
	State   system.State
	Steps   []search.Step
	Names   []string // of the steps' threads
}

// NewDifference returns a difference after some steps from a state of a system.
func NewDifference(sys system.System, s system.State, steps []search.Step, format string,
	args ...any) *Difference {
	d := &Difference{Message: fmt.Sprintf(format, args...), State: slices.Clone(s),
		Steps: slices.Clone(steps)}
	m := sys.NewMachine()
	m.Load(s)
	for _, s := range d.Steps {
		name := fmt.Sprintf("thread %d", s.Thread)
		if s.Thread < m.NumThreads() {
			name = m.ThreadName(s.Thread)
			m.Step(s.Thread, s.Alt)
		}
		d.Names = append(d.Names, name)
	}
	return d
}

// Error describes the difference with its reproducer.
func (d *Difference) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "validation: %s, after the steps", d.Message)
	for i, s := range d.Steps {
		fmt.Fprintf(&b, " %s", d.Names[i])
		if s.Alt != 0 {
			fmt.Fprintf(&b, "/%d", s.Alt)
		}
	}
	if len(d.Steps) == 0 {
		b.WriteString(" (none)")
	}
	fmt.Fprintf(&b, " from state %x", d.State)
	return b.String()
}

// Hook returns a factory of hooks for [search.Options.Hook]. report is called
// with a *Difference for each state on which one is found (the first one there),
// from the goroutines of all workers.
func Hook(sys system.System, report func(error)) func(worker int) search.Hook {
	return func(int) search.Hook {
		h := &hook{sys: sys, obs: system.ObserversOf(sys), report: report, m: sys.NewMachine(),
			fresh: sys.NewMachine(), plain: sys.NewMachine()}
		// What a check remembers of the path to a state is not in its pieces.
		first := sys.Initial()[0]
		h.remembers = len(system.Bare(sys, first)) < len(first)
		if !h.remembers {
			h.whole = h.m.Capabilities().Pieces
			h.other = h.fresh.Capabilities().Pieces
		}
		h.heap = h.whole == nil && h.m.Capabilities().Renaming != nil
		h.m.Track(true)
		h.fresh.Track(true)
		return h
	}
}

// hook is the hook of one worker.
type hook struct {
	sys    system.System
	obs    system.Observers
	report func(error)
	m      system.Machine // runs the transitions
	fresh  system.Machine // loads states anew
	plain  system.Machine // runs without tracking
	// What m and fresh offer as pieces, nil if they do not.
	whole, other system.Pieces
	// A check with memory finds the same in all orders of independent transitions, but may
	// report it at another one of them.
	remembers bool
	heap      bool         // states that are equal may have different hashes
	threads   int          // of h.state
	state     system.State // of the last Expand
	bad       bool         // a difference of this state was reported
	buf       [2]system.State
	all       []transition
	locals    [][]uint64 // of all threads, in h.state, if there are pieces
	values    map[system.Loc]uint64
}

// transition is one alternative of a thread's next transition in h.state.
type transition struct {
	step     search.Step
	out      system.Outcome
	accesses []system.Access
	end      system.State
}

func (h *hook) fail(steps []search.Step, format string, args ...any) {
	if h.bad {
		return
	}
	h.bad = true
	h.report(NewDifference(h.sys, h.state, steps, format, args...))
}

// Expand checks the state and everything that can happen in it.
func (h *hook) Expand(s system.State) {
	h.state = append(h.state[:0], s...)
	h.bad = false
	h.m.Load(h.state)
	if h.buf[0] = h.m.Encode(h.buf[0]); !slices.Equal(h.buf[0], h.state) {
		h.fail(nil, "a state changed when it was loaded: %x", h.buf[0])
		return
	}
	h.locals = h.locals[:0]
	h.threads = h.m.NumThreads()
	if h.whole != nil {
		for t := range h.threads {
			h.locals = append(h.locals, h.whole.Local(t, nil))
		}
	}
	h.transitions()
	if !h.bad && h.whole != nil {
		h.effects()
	}
	for i := 0; i < len(h.all) && !h.bad; i++ {
		if h.whole != nil && h.whole.Whole() == "" {
			h.pieces(&h.all[i])
		}
		for j := i + 1; j < len(h.all) && !h.bad; j++ {
			if h.all[i].step.Thread != h.all[j].step.Thread {
				h.commute(&h.all[i], &h.all[j])
			}
		}
	}
}

// transitions executes all transitions from h.state and keeps them in h.all.
func (h *hook) transitions() {
	h.all = h.all[:0]
	m := h.m
	start := m.Hash()
	mark := m.Mark()
	for t := range h.threads {
		for alt, more := uint64(0), true; more && !h.bad; {
			step := []search.Step{{Thread: t, Alt: alt}}
			out := m.Step(t, alt)
			tr := transition{step: step[0], out: out, accesses: slices.Clone(m.Accesses()),
				end: m.Encode(nil)}
			hash := m.Hash()
			h.fresh.Load(tr.end)
			if h.buf[0] = h.fresh.Encode(h.buf[0]); !slices.Equal(h.buf[0], tr.end) {
				h.fail(step, "the state changed when it was loaded: %x", h.buf[0])
			}
			m.Rewind(mark)
			if h.buf[0] = m.Encode(h.buf[0]); !slices.Equal(h.buf[0], h.state) {
				h.fail(step, "the undo log does not restore the state")
			} else if m.Hash() != start {
				h.fail(step, "the hash is %#x instead of %#x after undoing", m.Hash(),
					start)
			}
			h.plain.Load(h.state)
			plain := h.plain.Step(t, alt)
			if h.buf[0] = h.plain.Encode(h.buf[0]); !slices.Equal(h.buf[0], tr.end) ||
				!Same(plain, out) || plain.Next != out.Next {
				h.fail(step, "the transition differs without tracking")
			}
			if out.Kind != system.Moved {
				if !slices.Equal(tr.end, h.state) {
					h.fail(step, "the self-loop of a thread that is %v changes the state", out.Kind)
				} else if hash != start {
					h.fail(step, "the self-loop of a thread that is %v changes the hash", out.Kind)
				}
				for _, a := range tr.accesses {
					if a.Write {
						h.fail(step, "the self-loop of a thread that is %v writes %s", out.Kind,
							h.m.LocName(a.Loc))
					}
				}
			}
			h.all = append(h.all, tr)
			alt, more = out.Next, out.Next != 0
		}
	}
}

// Same reports whether two outcomes are the same, except for further alternatives, which can
// differ between states.
func Same(a, b system.Outcome) bool {
	a.Next, b.Next = 0, 0
	va, vb := a.Violation, b.Violation
	a.Violation, b.Violation = nil, nil
	if a != b || (va == nil) != (vb == nil) {
		return false
	}
	return va == nil || va.Kind == vb.Kind && va.Pos == vb.Pos && va.Object == vb.Object &&
		va.Message == vb.Message
}

// effects checks that the transitions changed only what they reported.
func (h *hook) effects() {
	// The values before, of all locations that are accessed at all.
	h.m.Load(h.state)
	if h.values == nil {
		h.values = map[system.Loc]uint64{}
	}
	clear(h.values)
	for _, t := range h.all {
		for _, a := range t.accesses {
			h.values[a.Loc] = h.whole.Value(a.Loc)
		}
	}
	for i := range h.all {
		t := &h.all[i]
		steps := []search.Step{t.step}
		// Not the encoded state, which a machine may have put in order
		// (rotated the ring of a channel, for example).
		h.m.Load(h.state)
		h.m.Step(t.step.Thread, t.step.Alt)
		for l, before := range h.values {
			if now := h.whole.Value(l); now != before && !slices.ContainsFunc(t.accesses,
				func(a system.Access) bool { return a.Loc == l && a.Write }) {
				h.fail(steps, "the transition changed %s from %d to %d and did not say so",
					h.m.LocName(l), before, now)
			}
		}
		for u, before := range h.locals {
			if u == t.step.Thread {
				continue
			}
			if h.buf[0] = h.whole.Local(u, h.buf[0]); !slices.Equal(h.buf[0], before) {
				h.fail(steps, "the transition changed the local part of %s", h.m.ThreadName(u))
			}
		}
	}
}

// pieces runs a transition on its thread's local part and the values that it
// asks for.
func (h *hook) pieces(t *transition) {
	steps := []search.Step{t.step}
	h.m.Load(h.state)
	values := map[system.Loc]uint64{}
	out := h.whole.StepOn(t.step.Thread, t.step.Alt, h.locals[t.step.Thread],
		func(l system.Loc) uint64 {
			if _, ok := values[l]; ok {
				h.fail(steps, "the transition asked twice for %s", h.m.LocName(l))
			}
			h.fresh.Load(h.state)
			values[l] = h.other.Value(l)
			return values[l]
		})
	if !Same(out, t.out) || out.Next != t.out.Next || !SameAccesses(h.whole.Accesses(),
		t.accesses) {
		h.fail(steps, "the transition differs when it runs on pieces")
		return
	}
	h.fresh.Load(h.state)
	h.fresh.Step(t.step.Thread, t.step.Alt)
	h.buf[0] = h.whole.Local(t.step.Thread, h.buf[0])
	h.buf[1] = h.other.Local(t.step.Thread, h.buf[1])
	if !slices.Equal(h.buf[0], h.buf[1]) {
		h.fail(steps, "the transition leads to a different local state when it runs on pieces")
	}
	for _, a := range t.accesses {
		if one, two := h.whole.Value(a.Loc), h.other.Value(a.Loc); one != two {
			h.fail(steps, "%s is %d after the transition, and %d when it runs on pieces",
				h.m.LocName(a.Loc), two, one)
		}
	}
}

// SameAccesses reports whether two transitions had the same accesses, except for their room.
func SameAccesses(a, b []system.Access) bool {
	if len(a) != len(b) {
		return false
	}
	for _, x := range a {
		if !slices.ContainsFunc(b, x.Same) {
			return false
		}
	}
	return true
}

// spent reports whether the accesses of a transition have no less room after another one, with
// accesses first, than before it, but for what that has used up.
func spent(before, after, first []system.Access) bool {
	for _, x := range before {
		least := int(x.Room)
		for _, f := range first {
			if f.Loc == x.Loc && f.Write && f.Op.Like(x.Op) && x.Room != system.Unlimited {
				least -= f.Op.Size()
			}
		}
		for _, y := range after {
			if x.Loc == y.Loc && int(y.Room) < least {
				return false
			}
		}
	}
	return true
}

// dependent reports whether two transitions of different threads are dependent. Two creations
// are dependent, because the children's numbers depend on the order.
func dependent(a, b *transition) bool {
	if a.out.Created && b.out.Created {
		return true
	}
	for _, x := range a.accesses {
		for _, y := range b.accesses {
			if x.Conflicts(y) {
				return true
			}
		}
	}
	return false
}

// dependentOnAny reports whether a transition is dependent with an alternative of a thread's.
func (h *hook) dependentOnAny(a *transition, thread int) bool {
	for i := range h.all {
		if b := &h.all[i]; b.step.Thread == thread && dependent(a, b) {
			return true
		}
	}
	return false
}

// commute executes two transitions that are independent in both orders. A transition that is
// dependent with another alternative of the same thread can enable or disable it, and so change
// the numbers of the alternatives. Such pairs are skipped.
func (h *hook) commute(a, b *transition) {
	if h.dependentOnAny(a, b.step.Thread) || h.dependentOnAny(b, a.step.Thread) {
		return
	}
	run := func(first, second *transition, buf system.State) (system.State, uint64,
		map[finding]bool) {
		steps := []search.Step{first.step, second.step}
		h.m.Load(h.state)
		before := h.m.Step(first.step.Thread, first.step.Alt)
		out := h.m.Step(second.step.Thread, second.step.Alt)
		found := map[finding]bool{}
		want := second.out
		if h.remembers {
			findings(before.Violation, found)
			findings(out.Violation, found)
			out.Violation, want.Violation = placed(out.Violation), placed(want.Violation)
		}
		if !Same(out, want) || out.Next != want.Next {
			h.fail(steps, "the second transition is independent of the first one, but differs "+
				"after it")
		} else if !SameAccesses(h.m.Accesses(), second.accesses) {
			h.fail(steps, "the second transition is independent of the first one, but has "+
				"different accesses after it")
		} else if !spent(second.accesses, h.m.Accesses(), first.accesses) {
			h.fail(steps, "the second transition has room for %v, and after the first one for %v",
				second.accesses, h.m.Accesses())
		}
		return h.m.Encode(buf), h.m.Hash(), found
	}
	var one, two uint64
	var ab, ba map[finding]bool
	h.buf[0], one, ab = run(a, b, h.buf[0])
	h.buf[1], two, ba = run(b, a, h.buf[1])
	steps := []search.Step{a.step, b.step}
	if !slices.Equal(h.buf[0], h.buf[1]) {
		h.fail(steps, "the two transitions are independent, but the other order leads to a "+
			"different state")
	} else if one != two && !h.heap {
		h.fail(steps, "the other order of the two transitions leads to the same state with the "+
			"hash %#x instead of %#x", two, one)
	}
	if !maps.Equal(ab, ba) {
		h.fail(steps, "the two transitions are independent, but what a check finds depends on "+
			"their order: %v or %v", ab, ba)
	}
}

// finding is what a check with memory found, without the transition at which it was found: the
// last one of independent transitions, whatever their order.
type finding struct {
	kind   system.ViolationKind
	object string
}

// findings adds what a check with memory found. Such violations name an object.
func findings(v *system.Violation, to map[finding]bool) {
	for ; v != nil; v = v.Also {
		if v.Object != "" {
			to[finding{v.Kind, v.Object}] = true
		}
	}
}

// placed returns the first violation whose place is the same in every order, nil if there is
// none: one of the model itself, not of a check with memory.
func placed(v *system.Violation) *system.Violation {
	for v != nil && v.Object != "" {
		v = v.Also
	}
	return v
}

// Move checks that a move leads where it claims to.
func (h *hook) Move(m *search.Move) {
	if h.bad {
		return
	}
	h.m.Load(h.state)
	var steps []search.Step
	for k, alt := 0, m.Alt; k < m.Len; k, alt = k+1, 0 {
		steps = append(steps, search.Step{Thread: m.Thread, Alt: alt})
		out := h.m.Step(m.Thread, alt)
		if out.Kind != system.Moved && m.Len > 1 {
			h.fail(steps, "a move of %d transitions contains one that is %v", m.Len, out.Kind)
			return
		}
	}
	if m.Infinite {
		return
	}
	if h.buf[0] = h.m.Encode(h.buf[0]); !slices.Equal(h.buf[0], m.End) {
		h.fail(steps, "a move of %d transitions does not lead where it claims to", m.Len)
	}
}

// Violation checks that the steps show the violation.
func (h *hook) Violation(v *system.Violation, tail []search.Step) {
	if h.bad {
		return
	}
	h.m.Load(h.state)
	var last *system.Violation
	for i, s := range tail {
		out := h.m.Step(s.Thread, s.Alt)
		if out.Kind != system.Moved {
			h.fail(tail[:i+1], "a violation (%s) has a step that is %v", v.Message, out.Kind)
			return
		}
		last = out.Violation
	}
	if v.Kind != system.Deadlock {
		if last.Find(v) == nil {
			h.fail(tail, "the steps do not show the violation (%s)", v.Message)
		}
		return
	}
	enabled, blocked := h.obs.Deadlock(h.m)
	if enabled >= 0 {
		h.fail(tail, "a deadlock was reported in which %s is enabled", h.m.ThreadName(enabled))
	} else if len(blocked) == 0 {
		h.fail(tail, "a deadlock was reported in which no thread is blocked where it must not stay")
	}
}
