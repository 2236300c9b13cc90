package search

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/statestore"
	"cpor/system"
	toy "cpor/testkit/toysystem"
)

// single is an expander of single transitions for systems without choices.
type single struct{ m system.Machine }

func (x *single) Expand(s system.State, v Visitor) {
	x.m.Load(s)
	mark := x.m.Mark()
	for t := range x.m.NumThreads() {
		if x.m.Step(t, 0).Kind == system.Moved {
			v.Move(&Move{Thread: t, Len: 1, End: x.m.Encode(nil)})
			x.m.Rewind(mark)
		}
	}
}

func (x *single) Counters() Counters { return Counters{} }

// lossy is a session whose candidates for a parent are mostly wrong: all
// states, in random order. That makes cycles of checked edges, since the system
// below is strongly connected.
type lossy struct {
	statestore.Session
	r      *rand.Rand
	states []statestore.Ref
	yields int
}

func (l *lossy) Parents(_ statestore.Ref, yield func(statestore.Ref) bool) {
	refs := slices.Clone(l.states)
	l.r.Shuffle(len(refs), func(i, j int) { refs[i], refs[j] = refs[j], refs[i] })
	for _, p := range refs {
		l.yields++
		if !yield(p) {
			return
		}
	}
}

type collect func(end system.State)

func (c collect) Move(m *Move)                        { c(m.End) }
func (c collect) Violation(*system.Violation, []Step) {}

// TestBackwards rebuilds paths although nearly all candidates for the parents
// are wrong: it must end, and each path must lead where it should. States that
// nothing reaches have no path.
func TestBackwards(t *testing.T) {
	p := toy.NewProgram()
	x := p.Array("x", 0, 0, 0)
	p.Thread("Wheel", 1, toy.Atomic(
		toy.Store(x, toy.Reg(0), toy.Bin("%", toy.Bin("+", toy.Load(x, toy.Reg(0)), toy.Const(1)),
			toy.Const(4))), toy.Goto(0)))
	for i := range 3 {
		p.Start("Wheel", int64(i))
	}
	sys, err := toy.New(p)
	if err != nil {
		t.Fatal(err)
	}
	store, err := statestore.New(statestore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	l := &lossy{Session: store.NewSession(), r: rand.New(rand.NewPCG(5, 6))}
	x1 := &single{sys.NewMachine()}
	var work []system.State
	add := func(s system.State) {
		if ref, added, _ := l.Insert(s, 0); added {
			l.states = append(l.states, ref)
			work = append(work, slices.Clone(s))
		}
	}
	add(sys.Initial()[0])
	for i := 0; i < len(work); i++ {
		x1.Expand(work[i], collect(add))
	}
	if len(work) != 64 {
		t.Fatalf("%d states, want 64", len(work))
	}
	for i, s := range work {
		rb := &rebuilder{sys: sys, expander: x1, session: l, machine: sys.NewMachine()}
		tr, err := rb.rebuild(&finding{ref: l.states[i], state: s}, true)
		if err != nil {
			t.Fatalf("state %d: %v", i, err)
		}
		if err := tr.Replay(sys); err != nil {
			t.Fatal(err)
		}
	}
	// A state that no transition reaches.
	m := sys.NewMachine()
	m.Capabilities().Pieces.SetValue(0, 77)
	s := m.Encode(nil)
	ref, _, _ := l.Insert(s, 0)
	rb := &rebuilder{sys: sys, expander: x1, session: l, machine: m}
	if _, err := rb.rebuild(&finding{ref: ref, state: s}, true); err == nil {
		t.Error("a path to a state that cannot be reached")
	}
}
