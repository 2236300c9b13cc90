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
func compare(name string, sys *System, limit int) (steps, lefts int, err error) {
	p := emit(sys)
	if p == nil {
		return 0, 0, nil
	}
	c, err := p.Start()
	if err != nil {
		return steps, lefts, fmt.Errorf("%s: %v", name, err)
	}
	ref := sys.newMachine()
	counts := make([]uint64, sys.places)
	x, err := c.New(counts, func() {})
	if err != nil {
		return steps, lefts, fmt.Errorf("%s: %v", name, err)
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
			return steps, lefts, nil
		}
		if !x.Expand(s) {
			return steps, lefts, fmt.Errorf(
				"%s: a state of %d words was not expanded", name, len(s))
		}
		got := make([][]outcome, len(want))
		lost := false
		var n system.Successor
		last := -1
		for x.Next(&n) {
			if n.Thread < last || n.Thread >= len(want) {
				return steps, lefts, fmt.Errorf(
					"%s: thread %d behind %d", name, n.Thread, last)
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
							return steps, lefts, fmt.Errorf(
								"%s: thread %d alternative %d: word %d has changed in secret",
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
				return steps, lefts, fmt.Errorf(
					"%s: thread %d in %x:\ncode      %v\nreference %v", name, u, s, got[u],
					want[u])
			}
		}
		if !lost && !slices.Equal(counts, ref.seen) {
			return steps, lefts, fmt.Errorf(
				"%s: in %x the code counts %v, the reference %v", name, s, counts, ref.seen)
		}
	}
	return steps, lefts, nil
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

// corners have what generated models hardly come to: signs, the ends of arrays and of types,
// division by 0, and initial values of processes that are created.
var corners = []string{
	`short s = -3; int i = -70000; byte b; short arr[3] = -2; bool less;
active proctype P() {
	do
	:: s < 0 -> s = s + 1; less = arr[1] < 0
	:: i < 0 -> i = i + 35000; arr[b % 3] = arr[b % 3] - 1
	:: b < 4 -> b++; s = s - b
	:: arr[2] > -1 -> break
	:: s < -6 -> break
	od
}`,
	`byte k; byte arr[3]; int sum;
active proctype P() {
	do
	:: k < 5 -> k++
	:: arr[k] = k + 1
	:: arr[2] == 3 -> sum = arr[k] + 1; break
	:: d_step { k == 4 -> k = 0; sum = 0 }
	od
}
active proctype Q() { do :: arr[k] == 2 -> sum = k :: else -> skip od }`,
	`byte k = 2; int q = 7; short m = -1;
active proctype P() {
	do
	:: k > 0 -> k--
	:: q = 12 / k
	:: q = q % k
	:: m < 1 -> m++; q = -2147483648 / m
	od
}`,
	`byte n; short total;
proctype C(short a) { short b = -5; byte c[3] = 4; total = a + b + c[2]; n-- }
init {
	do
	:: atomic { n < 2 -> n++; run C(n - 4) }
	:: total < -3 -> break
	od
}`,
	`byte turn; byte n; chan c = [0] of { byte };
active proctype P() provided (turn != 1) {
	byte k;
	do
	:: atomic { k < 2 -> k++; turn = 1; n++ }
	:: c?turn
	:: n > 3 -> break
	od
}
active proctype Q() provided (n < 7 / (4 - turn)) {
	do
	:: turn == 1 -> turn = 2 - turn; n++
	:: c!n % 3
	:: timeout -> n--
	od
}`,
	`byte a, b; chan c = [1] of { byte };
D_proctype P(byte k) {
	do
	:: a < 3 -> a++
	:: a == 3 && b < 2 -> c!k; b++; a = 0
	:: b == 2 -> break
	:: a + b == 4 -> skip
	od
}
active D_proctype Q() { do :: c?a -> skip :: else -> b = b % 2 od }
init { run P(1) }`,
	`unsigned x : 3 = 2; unsigned y : 2; bit z;
active proctype P() {
	do
	:: 0 < x -> x--
	:: 0 >= x -> y++; if :: 0 <= y -> z = 0 > y :: else -> z = 1 fi
	:: z -> break
	od
}`,
}

// systemOf returns the system of a corner or, with higher numbers from 1 on, of a generated model;
// nil if that is no model.
func systemOf(seed uint64) *System {
	text := ""
	if n := uint64(len(corners)); seed <= n {
		text = corners[seed-1]
	} else if seed -= n; seed%2 == 0 {
		text = whole(seed)
	} else {
		text = generate(seed)
	}
	m, err := syntax.Parse(source.New(fmt.Sprintf("seed-%d.pml", seed), text), nil)
	if err != nil {
		return nil
	}
	p, err := program.Resolve(m)
	if err != nil {
		return nil
	}
	sys, err := New(p, Options{Merged: seed%3 == 0, Lossy: seed%5 == 0})
	if err != nil {
		return nil
	}
	return sys
}

// TestCompiled compares machine code and machine on generated models.
func TestCompiled(t *testing.T) {
	n := *compiledModels
	if testing.Short() {
		n = min(n, 40)
	}
	models, steps, lefts := 0, 0, 0
	for i := range uint64(n) {
		seed := *spinFirst + i
		sys := systemOf(seed)
		if sys == nil {
			continue
		}
		a, b, err := compare(fmt.Sprintf("seed=%d", seed), sys, 300)
		if err != nil {
			t.Fatal(err)
		}
		if a > 0 {
			models++
		}
		steps, lefts = steps+a, lefts+b
	}
	t.Logf("%d models, %d outcomes, %d threads left to the machine", models, steps, lefts)
	if models < n/4 || lefts > steps/2 {
		t.Errorf("the code has executed too little: %d models of %d, %d of %d threads left", models,
			n, lefts, steps)
	}
}
