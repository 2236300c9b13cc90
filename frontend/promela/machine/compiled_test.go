package machine

import (
	"flag"
	"fmt"
	"slices"
	"testing"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// outcome is what a step of a state is to a search.
type outcome struct {
	thread  int
	kind    system.Kind
	atEnd   bool
	alt     uint64
	end     []uint64
	failing bool
}

// maxCompared is how many alternatives of a step are compared.
const maxCompared = 200

// reference is all outcomes of a state by the machine, by thread; nil if there are too many.
func reference(m *Machine, s system.State) [][]outcome {
	m.Load(s)
	all := make([][]outcome, m.NumThreads())
	for t := range all {
		for alt := uint64(0); ; {
			mark := m.Mark()
			out := m.Step(t, alt)
			o := outcome{thread: t, kind: out.Kind, atEnd: out.AtEnd && out.Kind == system.Blocked,
				alt: alt, failing: out.Violation != nil}
			if out.Kind == system.Moved {
				o.end = m.Encode(nil)
			} else {
				o.alt = 0
			}
			all[t] = append(all[t], o)
			m.Rewind(mark)
			if out.Kind != system.Moved || out.Next == 0 {
				break
			}
			if len(all[t]) == maxCompared {
				return nil
			}
			alt = out.Next
		}
	}
	return all
}

// compare holds the machine code of a system to the machine in the states that can be reached, up
// to a number of them. It returns how many threads the code was asked for and how many
// it left.
func compare(t *testing.T, name string, sys *System, limit int) (steps, lefts int) {
	t.Helper()
	p := emit(sys)
	if p == nil {
		return 0, 0
	}
	c, err := p.Start()
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	ref := sys.newMachine()
	counts := make([]uint64, sys.places)
	x, err := c.New(counts, func() {})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	seen := map[string]bool{}
	todo := sys.Initial()
	for _, s := range todo {
		seen[string(bytesOf(s))] = true
	}
	for len(todo) > 0 && limit > 0 {
		limit--
		s := todo[0]
		todo = todo[1:]
		clear(counts)
		clear(ref.seen)
		want := reference(ref, s)
		if want == nil {
			return steps, lefts
		}
		if !x.Expand(s) {
			t.Fatalf("%s: a state of %d words was not expanded", name, len(s))
		}
		got := make([][]outcome, len(want))
		lost := false
		var n system.Successor
		last := -1
		for x.Next(&n) {
			if n.Thread < last || n.Thread >= len(want) {
				t.Fatalf("%s: thread %d behind %d", name, n.Thread, last)
			}
			last = n.Thread
			steps++
			if n.Left {
				lefts++
				lost = true
				got[n.Thread] = nil
				continue
			}
			o := outcome{thread: n.Thread, kind: n.Kind}
			if n.Kind == system.Moved {
				o.alt, o.end = n.Alt, slices.Clone(n.End)
				if len(s) <= 64 && len(n.End) == len(s) && n.Changed != 0 {
					for w := range s {
						if s[w] != n.End[w] && n.Changed>>w&1 == 0 {
							t.Fatalf("%s: thread %d alternative %d: word %d has changed in secret",
								name, n.Thread, n.Alt, w)
						}
					}
				}
			} else {
				o.atEnd = n.AtEnd
			}
			got[n.Thread] = append(got[n.Thread], o)
		}
		for u := range want {
			for _, o := range want[u] {
				if o.kind == system.Moved && !seen[string(bytesOf(o.end))] {
					seen[string(bytesOf(o.end))] = true
					todo = append(todo, o.end)
				}
			}
			if got[u] == nil {
				continue // left to the machine
			}
			if !slices.EqualFunc(got[u], want[u], func(a, b outcome) bool {
				return a.thread == b.thread && a.kind == b.kind && a.atEnd == b.atEnd &&
					a.alt == b.alt && a.failing == b.failing && slices.Equal(a.end, b.end)
			}) {
				t.Fatalf("%s: thread %d in %x:\ncode      %v\nreference %v", name, u, s, got[u],
					want[u])
			}
		}
		if !lost && !slices.Equal(counts, ref.seen) {
			t.Fatalf("%s: in %x the code counts %v, the reference %v", name, s, counts, ref.seen)
		}
	}
	return steps, lefts
}

func bytesOf(s []uint64) []byte {
	var b []byte
	for _, w := range s {
		for i := range 8 {
			b = append(b, byte(w>>(8*i)))
		}
	}
	return b
}

var compiledModels = flag.Int("compiled", 150, "how many generated models the machine code is "+
	"compared on")

// TestCompiled compares machine code and machine on generated models.
func TestCompiled(t *testing.T) {
	n := *compiledModels
	if testing.Short() {
		n = min(n, 40)
	}
	models, steps, lefts := 0, 0, 0
	for i := range uint64(n) {
		seed := *spinFirst + i
		text := generate(seed)
		if seed%2 == 0 {
			text = whole(seed)
		}
		m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
		if err != nil {
			continue
		}
		p, err := program.Resolve(m)
		if err != nil {
			continue
		}
		sys, err := New(p, Options{Merged: seed%3 == 0, Lossy: seed%5 == 0})
		if err != nil {
			continue
		}
		a, b := compare(t, fmt.Sprintf("seed=%d", seed), sys, 300)
		if a > 0 {
			models++
		}
		steps, lefts = steps+a, lefts+b
		if t.Failed() {
			return
		}
	}
	t.Logf("%d models, %d outcomes, %d threads left to the machine", models, steps, lefts)
	if models < n/4 || lefts > steps/2 {
		t.Errorf("the code has executed too little: %d models of %d, %d of %d threads left", models,
			n, lefts, steps)
	}
}
