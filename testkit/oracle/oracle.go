package oracle

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/system"
)

// Reach is what a search reached, as far as a reduction must preserve it.
type Reach struct {
	Locals     map[string]bool // a thread and one of its local states; nil if it is not known
	Violations map[string]bool // kind and place
	Deadlocks  map[string]bool // encoded states, but for the observers' local parts
}

func newReach() *Reach {
	return &Reach{map[string]bool{}, map[string]bool{}, map[string]bool{}}
}

// Explore searches a system with an expander and collects what it reached: in
// the states that the moves pass through, by executing the moves once more.
// The error is the driver's.
func Explore(sys system.System, f search.Factory, workers int, maxStates uint64) (*Reach,
	*search.Result, error) {
	return ExploreWith(sys, f, search.Options{
		Options: engine.Options{Workers: workers, MaxStates: maxStates}})
}

// ExploreWith is Explore with further options of the search. All violations are
// collected, and the hook is its own.
func ExploreWith(sys system.System, f search.Factory, o search.Options) (*Reach, *search.Result,
	error) {
	r := newReach()
	var mu sync.Mutex
	obs := system.ObserversOf(sys)
	m := sys.NewMachine()
	for _, s := range sys.Initial() {
		m.Load(s)
		for t := range m.NumThreads() {
			r.Locals[localKey(m, t, nil)] = true
		}
	}
	o.All, o.KeepTraces, o.MaxViolations = true, true, 1<<20
	o.Hook = func(int) search.Hook {
		return &hook{r: r, sys: sys, mu: &mu, m: sys.NewMachine(), obs: &obs}
	}
	res, err := search.Run(context.Background(), sys, f, o)
	return r, res, err
}

// Violated collects what a search without a hook found: violations, and the
// deadlocked states at the ends of its traces. The local states are nil.
func Violated(sys system.System, vs []engine.Finding) *Reach {
	r := newReach()
	r.Locals = nil
	m := sys.NewMachine()
	obs := system.ObserversOf(sys)
	for _, v := range vs {
		if v.Kind != system.Deadlock {
			r.Violations[violation(v.Violation)] = true
			continue
		}
		m.Load(sys.Initial()[v.Trace.Initial])
		for _, s := range v.Trace.Steps {
			m.Step(s.Thread, s.Alt)
		}
		obs.Reset(m)
		r.Deadlocks[fmt.Sprint(system.Bare(sys, m.Encode(nil)))] = true
	}
	return r
}

// hook collects for one worker.
type hook struct {
	r     *Reach
	sys   system.System
	mu    *sync.Mutex
	m     system.Machine
	s     system.State
	local []uint64
	obs   *system.Observers
}

func localKey(m system.Machine, t int, buf []uint64) string {
	b := binary.AppendUvarint(nil, uint64(t))
	pieces := m.Capabilities().Pieces
	for _, w := range pieces.Local(t, buf) {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

func (h *hook) Expand(s system.State) { h.s = append(h.s[:0], s...) }

// step executes one step and collects the local states that it leads to.
func (h *hook) step(st search.Step) {
	n := h.m.NumThreads()
	h.m.Step(st.Thread, st.Alt)
	h.r.Locals[localKey(h.m, st.Thread, h.local)] = true
	for t := n; t < h.m.NumThreads(); t++ {
		h.r.Locals[localKey(h.m, t, h.local)] = true
	}
}

func (h *hook) Move(mv *search.Move) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m.Load(h.s)
	for i := range mv.Len {
		alt := uint64(0)
		if i == 0 {
			alt = mv.Alt
		}
		h.step(search.Step{Thread: mv.Thread, Alt: alt})
	}
}

func (h *hook) Violation(v *system.Violation, tail []search.Step) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.m.Load(h.s)
	for _, st := range tail {
		h.step(st)
	}
	if v.Kind == system.Deadlock {
		// Whether an observer has moved makes no difference to the others.
		h.obs.Reset(h.m)
		h.r.Deadlocks[fmt.Sprint(system.Bare(h.sys, h.m.Encode(nil)))] = true
		return
	}
	for ; v != nil; v = v.Also {
		h.r.Violations[violation(v)] = true
	}
}

// Invented describes what a search reached that does not exist; empty if there is nothing.
func Invented(want, got *Reach) string {
	both := func(a, b map[string]bool) map[string]bool {
		if b == nil {
			return nil
		}
		c := maps.Clone(a)
		maps.DeleteFunc(c, func(k string, _ bool) bool { return !b[k] })
		return c
	}
	return Diff(&Reach{both(want.Locals, got.Locals), both(want.Violations, got.Violations),
		both(want.Deadlocks, got.Deadlocks)}, got)
}

// Diff describes what two searches reached differently; empty if nothing.
func Diff(want, got *Reach) string {
	var b strings.Builder
	part := func(what string, want, got map[string]bool) {
		var missing, extra []string
		for k := range want {
			if !got[k] {
				missing = append(missing, fmt.Sprintf("%q", k))
			}
		}
		for k := range got {
			if !want[k] {
				extra = append(extra, fmt.Sprintf("%q", k))
			}
		}
		slices.Sort(missing)
		slices.Sort(extra)
		if len(missing)+len(extra) > 0 {
			fmt.Fprintf(&b, "%s: %d of %d missing %v, %d too many %v\n", what, len(missing),
				len(want),
				missing[:min(3, len(missing))], len(extra), extra[:min(3, len(extra))])
		}
	}
	if got.Locals != nil {
		part("local states", want.Locals, got.Locals)
	}
	part("violations", want.Violations, got.Violations)
	part("deadlocks", want.Deadlocks, got.Deadlocks)
	return b.String()
}
