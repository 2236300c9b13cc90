package replay

import (
	"math/rand/v2"
	"slices"
	"testing"

	"cpor/system"
	"cpor/testkit/toysystem"
)

// without is the path of a machine without a step and what happens after it.
type without struct {
	path []*event
	gone []bool
}

func newWithout(path []*event, f int) *without {
	w := &without{path: path, gone: make([]bool, len(path))}
	for i, ev := range path {
		w.gone[i] = i == f || slices.ContainsFunc(path[:i], func(x *event) bool {
			return w.gone[slices.Index(path, x)] && dependent(x, ev)
		})
	}
	return w
}

func dependent(a, b *event) bool {
	return a.thread == b.thread || slices.ContainsFunc(a.acc, func(x system.Access) bool {
		return slices.ContainsFunc(b.acc, func(y system.Access) bool {
			return x.Loc == y.Loc && (x.Write || y.Write)
		})
	})
}

func (w *without) Has(i int) bool { return !w.gone[i] }

func (w *without) last(is func(*event) bool) int {
	for i := len(w.path) - 1; i >= 0; i-- {
		if w.Has(i) && is(w.path[i]) {
			return i
		}
	}
	return -1
}

func (w *without) LastOf(t int) int {
	return w.last(func(ev *event) bool { return int(ev.thread) == t })
}

func (w *without) LastWrite(l system.Loc) int {
	return w.last(func(ev *event) bool {
		return slices.Contains(ev.acc, system.Access{Loc: l, Write: true})
	})
}

// What a thread would do behind a part of an execution is what it does when that part is executed.
func TestAfter(t *testing.T) {
	answered := 0
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 28))
		p := toysystem.Random(r, toysystem.Config{NoLoops: true, Threads: 4, Nodes: 4})
		sys, err := toysystem.New(p)
		if err != nil {
			t.Fatal(err)
		}
		s := record(t, sys, 1)
		for range 10 {
			m := s.NewMachine().(*Machine)
			for walk(m, r) {
			}
			for f := range m.path {
				w := newWithout(m.path, f)
				some := &system.Some{Has: w.Has, LastOf: w.LastOf, LastWrite: w.LastWrite}
				other := s.NewMachine().(*Machine)
				for i, ev := range m.path {
					if some.Has(i) {
						other.Step(int(ev.thread), uint64(ev.alt))
					}
				}
				q := int(m.path[f].thread)
				got, ok := m.After(q, 0, some)
				if !ok {
					continue
				}
				answered++
				want := other.Peek(q, 0)
				if got.Kind != want.Kind || got.Next != want.Next ||
					!slices.Equal(m.Accesses(), other.Accesses()) {
					t.Fatalf("seed %d: without step %d: %+v %v, want %+v %v\n%v", seed, f, got,
						m.Accesses(), want, other.Accesses(), p)
				}
			}
		}
	}
	if answered < 100 {
		t.Errorf("%d answers", answered)
	}
}

// walk takes a random step; false: there is none.
func walk(m *Machine, r *rand.Rand) bool {
	for _, t := range r.Perm(m.NumThreads()) {
		if m.Step(t, 0).Kind == system.Moved {
			return true
		}
	}
	return false
}
