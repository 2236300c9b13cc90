package systemtest

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"log"
	"runtime"
	"slices"

	"cpor/frontend/code"
	"cpor/system"
)

func init() { code.Invalid = func(err error) { log.Fatal(err) } }

// Compared is how much [Expand] has compared.
type Compared struct {
	States, Outcomes int
	Left             int // the threads that the code left to the machine
	Behind           int // the outcomes, of these, that were run ahead

	probe system.Machine // executes what is run ahead
	at    system.State   // the live state behind the outcome before; nil behind the expanded one
	code  *system.Code
}

// successor is what a step from a state is to a search.
type successor struct {
	thread int
	kind   system.Kind
	atEnd  bool
	alt    uint64
	end    []uint64
	// accesses are in the order of their locations; nil if they are not compared.
	accesses []system.Access
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
		o := successor{thread: t, kind: out.Kind, accesses: ordered(m.Accesses())}
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

// ordered returns a copy of accesses in the order of their locations.
func ordered(accesses []system.Access) []system.Access {
	s := slices.Clone(accesses)
	slices.SortFunc(s, func(a, b system.Access) int { return cmp.Compare(a.Loc, b.Loc) })
	return s
}

// Expand holds the machine code of a system ([system.Expanding]) to its machine in the states that
// can be reached, up to a number of them: the outcomes, their order and numbers, who is blocked
// and where, which words have changed, and what is counted as executed. The error is the first
// difference. newSystem returns the same system each time. One without machine code is not
// compared. With accesses, so is the code that tells them, with what it runs ahead.
func Expand(newSystem func() system.System, limit int, accesses bool) (c Compared, err error) {
	sys, coded := newSystem(), newSystem()
	m, reference := sys.NewMachine(), coded.NewMachine()
	m.Track(accesses)
	reference.Track(accesses)
	c.probe = nil
	if accesses {
		c.probe = newSystem().NewMachine()
		c.probe.Track(true)
	}
	x := reference.Capabilities().Expanding
	if x == nil {
		return c, nil
	}
	expander, gone := x.Compiled(accesses)
	for expander == nil && !gone {
		runtime.Gosched()
		expander, gone = x.Compiled(accesses)
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
		for t := range expander.Ahead {
			expander.Ahead[t] = uint16(c.States * (t + 1) % 5)
		}
		if err := c.state(expander, m, reference, s, want, fails); err != nil {
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
func (c *Compared) state(x *system.Code, m, reference system.Machine, s system.State,
	want [][]successor, fails []bool) error {
	if !x.Expand(s) {
		return fmt.Errorf("a state of %d words was not expanded", len(s))
	}
	got := make([][]successor, len(want))
	left := make([]bool, len(want))
	var n system.Successor
	for last := -1; x.Next(&n); last = n.Thread {
		if n.Thread != last {
			c.at = nil
		}
		c.code = x
		if n.Thread < last || n.Thread >= len(want) {
			return fmt.Errorf("thread %d behind %d", n.Thread, last)
		}
		c.Outcomes++
		if n.Behind {
			if err := c.behind(m, s, got[n.Thread], &n); err != nil {
				return err
			}
			continue
		}
		if n.Left {
			c.Left++
			left[n.Thread] = true
			continue
		}
		if n.Kind == system.Moved {
			if err := told(s, &n); err != nil {
				return err
			}
		}
		got[n.Thread] = append(got[n.Thread], c.successorOf(&n))
		c.at = slices.Clone(n.End)
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
				slices.Equal(a.end, b.end) && slices.Equal(a.accesses, b.accesses)
		}):
			return fmt.Errorf("thread %d in %x:\ncode      %v\nreference %v", t, s, got[t],
				want[t])
		}
	}
	return nil
}

// encoded is the encoding of the end of an outcome.
func (c *Compared) encoded(n *system.Successor) system.State {
	if c.code.Encode == nil {
		return n.End
	}
	return c.code.Encode(nil, n.End)
}

// successorOf is what the code tells of a step.
func (c *Compared) successorOf(n *system.Successor) successor {
	o := successor{thread: n.Thread, kind: n.Kind, accesses: ordered(n.Accesses)}
	switch n.Kind {
	case system.Moved:
		o.alt, o.end = n.Alt, slices.Clone(c.encoded(n))
	case system.Blocked:
		o.atEnd = n.AtEnd
	}
	return o
}

// behind compares an outcome that was run ahead, behind those of its thread so far, with the
// machine, and has m count it.
func (c *Compared) behind(m system.Machine, s system.State, before []successor,
	n *system.Successor) error {
	c.Behind++
	if len(before) != 1 || before[0].kind != system.Moved {
		return fmt.Errorf("thread %d is run ahead behind %v", n.Thread, before)
	}
	c.probe.Load(c.at)
	out := c.probe.Step(n.Thread, 0)
	accesses := ordered(c.probe.Accesses())
	wrong := func() error {
		return fmt.Errorf("thread %d in %x, behind its step from %x:\ncode      %+v\n"+
			"reference %+v %+v %x", n.Thread, c.at, s, *n, out, accesses, c.probe.Encode(nil))
	}
	switch {
	case n.Left:
		return nil
	case out.Violation != nil || n.Several != (out.Next != 0):
		return wrong()
	case n.Several:
		return nil
	case n.Kind != out.Kind || !slices.Equal(ordered(n.Accesses), accesses),
		n.Kind == system.Blocked && n.AtEnd != out.AtEnd,
		n.Kind == system.Moved && (!slices.Equal(c.encoded(n), c.probe.Encode(nil)) ||
			c.code.Encode != nil && changed(c.at, n.End) != c.probe.Hash()):
		return wrong()
	}
	m.Load(c.at)
	m.Step(n.Thread, 0)
	if n.Kind == system.Moved {
		if err := told(c.at, n); err != nil {
			return err
		}
		c.at = slices.Clone(n.End)
	}
	return nil
}

// changed is [system.Machine].Hash of a live state behind another one.
func changed(from, to system.State) (h uint64) {
	for i := range max(len(from), len(to)) {
		var a, b uint64
		if i < len(from) {
			a = from[i]
		}
		if i < len(to) {
			b = to[i]
		}
		if a != b {
			h ^= system.HashWord(int32(i), a) ^ system.HashWord(int32(i), b)
		}
	}
	return h
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
