package systemtest

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"slices"

	"cpor/system"
)

// Compared is how much [Expand] has compared.
type Compared struct {
	States, Outcomes int
	Left             int // the threads that the code left to the machine
}

// successor is what a step from a state is to a search.
type successor struct {
	thread int
	kind   system.Kind
	atEnd  bool
	alt    uint64
	end    []uint64
}

// maxAlternatives is how many alternatives of a step are compared.
const maxAlternatives = 200

// executed is all outcomes of a state by the machine, by thread, and whether one of them
// fails; nil if there are too many.
func executed(m system.Machine, s system.State) (all [][]successor, fails []bool) {
	m.Load(s)
	all, fails = make([][]successor, m.NumThreads()), make([]bool, m.NumThreads())
	for t := range all {
		if all[t], fails[t] = steps(m, t); all[t] == nil {
			return nil, nil
		}
	}
	return all, fails
}

// steps is all outcomes of a thread in the loaded state.
func steps(m system.Machine, t int) (all []successor, fails bool) {
	mark := m.Mark()
	for alt := uint64(0); ; {
		out := m.Step(t, alt)
		o := successor{thread: t, kind: out.Kind}
		switch out.Kind {
		case system.Moved:
			o.alt, o.end = alt, m.Encode(nil)
		case system.Blocked:
			o.atEnd = out.AtEnd
		}
		fails = fails || out.Violation != nil
		all = append(all, o)
		m.Rewind(mark)
		if out.Kind != system.Moved || out.Next == 0 {
			return all, fails
		}
		if len(all) == maxAlternatives {
			return nil, false
		}
		alt = out.Next
	}
}

// Expand holds the machine code of a system ([system.Expanding]) to its machine in the states that
// can be reached, up to a number of them: the outcomes, their order and numbers, who is blocked
// and where, which words have changed, and what is counted as executed. The error is the first
// difference. newSystem returns the same system each time. One without machine code is not
// compared.
func Expand(newSystem func() system.System, limit int) (c Compared, err error) {
	sys, coded := newSystem(), newSystem()
	m, reference := sys.NewMachine(), coded.NewMachine()
	x := reference.Capabilities().Expanding
	if x == nil {
		return c, nil
	}
	expander, gone := x.Compiled()
	for expander == nil && !gone {
		runtime.Gosched()
		expander, gone = x.Compiled()
	}
	if gone {
		return c, nil
	}
	var key []byte
	seen := map[string]bool{}
	todo := []system.State{}
	add := func(s system.State) {
		key = key[:0]
		for _, w := range s {
			key = binary.LittleEndian.AppendUint64(key, w)
		}
		if !seen[string(key)] {
			seen[string(key)] = true
			todo = append(todo, s)
		}
	}
	for _, s := range sys.Initial() {
		add(s)
	}
	for ; len(todo) > 0 && c.States < limit; c.States++ {
		s := todo[0]
		todo = todo[1:]
		want, fails := executed(m, s)
		if want == nil {
			return c, nil
		}
		for _, list := range want {
			for _, o := range list {
				if o.kind == system.Moved {
					add(o.end)
				}
			}
		}
		if err := c.state(expander, reference, s, want, fails); err != nil {
			return c, err
		}
	}
	if n := sys.Capabilities().Counting; n != nil {
		want, got := n.Executed(), coded.Capabilities().Counting.Executed()
		if !slices.Equal(got, want) {
			return c, fmt.Errorf("the code counts  %d\nthe machine %d", got, want)
		}
	}
	return c, nil
}

// state compares one state.
func (c *Compared) state(x *system.Code, reference system.Machine, s system.State,
	want [][]successor, fails []bool) error {
	if !x.Expand(s) {
		return fmt.Errorf("a state of %d words was not expanded", len(s))
	}
	got := make([][]successor, len(want))
	left := make([]bool, len(want))
	var n system.Successor
	for last := -1; x.Next(&n); last = n.Thread {
		if n.Thread < last || n.Thread >= len(want) {
			return fmt.Errorf("thread %d behind %d", n.Thread, last)
		}
		c.Outcomes++
		if n.Left {
			c.Left++
			left[n.Thread] = true
			continue
		}
		o := successor{thread: n.Thread, kind: n.Kind}
		switch n.Kind {
		case system.Moved:
			o.alt, o.end = n.Alt, slices.Clone(n.End)
			if err := told(s, &n); err != nil {
				return err
			}
		case system.Blocked:
			o.atEnd = n.AtEnd
		}
		got[n.Thread] = append(got[n.Thread], o)
	}
	reference.Load(s)
	for t := range want {
		switch {
		case left[t] && len(got[t]) == 0:
			steps(reference, t)
		case fails[t]:
			return fmt.Errorf("thread %d fails in %x, and the code says %v", t, s, got[t])
		case !slices.EqualFunc(got[t], want[t], func(a, b successor) bool {
			return a.kind == b.kind && a.atEnd == b.atEnd && a.alt == b.alt &&
				slices.Equal(a.end, b.end)
		}):
			return fmt.Errorf("thread %d in %x:\ncode      %v\nreference %v", t, s, got[t],
				want[t])
		}
	}
	return nil
}

// told checks that a word which has changed is among those that may have.
func told(s system.State, n *system.Successor) error {
	if n.Changed == 0 || len(s) > 64 || len(n.End) != len(s) {
		return nil
	}
	for w := range s {
		if s[w] != n.End[w] && n.Changed>>w&1 == 0 {
			return fmt.Errorf("thread %d alternative %d: word %d has changed in secret", n.Thread,
				n.Alt, w)
		}
	}
	return nil
}
