package machine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/frontend/source"
	"cpor/system"
	"cpor/testkit/systemtest"
)

// seenBy is what a search of everything has seen.
type seenBy struct {
	states int
	// globals are the values of the globals, the channels in them and the number of
	// processes, which steps on locals do not change.
	globals map[string]bool
	// faults are the violations, with the places.
	faults map[string]bool
}

// searchAll searches everything; ok is false if there are more than most states, or
// a step that nothing can follow.
func searchAll(s *System, most int) (r seenBy, ok bool) {
	r = seenBy{globals: map[string]bool{}, faults: map[string]bool{}}
	seen := map[string]bool{}
	var work []system.State
	add := func(st system.State) {
		var b []byte
		for _, w := range st {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		if seen[string(b)] {
			return
		}
		seen[string(b)] = true
		r.globals[string(b[:8*min(s.globals.words, len(st))])] = true
		work = append(work, st)
	}
	m := s.newMachine()
	add(s.initial[0])
	for len(work) > 0 {
		st := work[len(work)-1]
		work = work[:len(work)-1]
		m.Load(st)
		mark := m.Mark()
		enabled, stuck := false, false
		for t := range m.NumThreads() {
			for alt, more := uint64(0), true; more; {
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					stuck = stuck || out.Kind == system.Blocked && !out.AtEnd
					break
				}
				enabled = true
				if out.Violation != nil {
					r.faults[fmt.Sprintf("%v %s", out.Violation.Pos, out.Violation.Message)] = true
				}
				if m.fatal || len(seen) > most || m.edges > 20*most {
					return r, false
				}
				e := m.Encode(nil)
				m.Rewind(mark)
				add(e)
				alt, more = out.Next, out.Next != 0
			}
		}
		if !enabled && stuck {
			r.faults["invalid end state"] = true
		}
	}
	r.states = len(seen)
	return r, true
}

// agreeMerged compares merged semantics with the plain one. It returns the states of both.
func agreeMerged(t *testing.T, p *program.Program, o Options, most int) (pure, merged int) {
	t.Helper()
	s, err := New(p, o)
	if err != nil {
		return 0, 0 // other tests look at what is refused
	}
	a, ok := searchAll(s, most)
	if !ok {
		return 0, 0
	}
	o.Merged = true
	if s, err = New(p, o); err != nil {
		t.Error(err)
		return 0, 0
	}
	b, ok := searchAll(s, most)
	switch {
	case !ok || b.states > a.states:
		t.Errorf("%d states, merged %d", a.states, b.states)
	case !maps.Equal(a.globals, b.globals):
		t.Errorf("%d values of the globals, merged %d", len(a.globals), len(b.globals))
	case !maps.Equal(a.faults, b.faults):
		t.Errorf("violations %v, merged %v", a.faults, b.faults)
	}
	return a.states, b.states
}

// TestMerged compares merged semantics with the plain one: on each model they have the same
// violations and the same values of the globals.
func TestMerged(t *testing.T) {
	compared, fewer := 0, 0
	try := func(name string, p *program.Program, o Options, most int) {
		t.Run(name, func(t *testing.T) {
			pure, merged := agreeMerged(t, p, o, most)
			if pure > 0 {
				compared++
			}
			if merged < pure {
				fewer++
			}
		})
	}
	files, err := filepath.Glob(micro + "/*.pml")
	if err != nil || len(files) < 200 {
		t.Fatalf("%d small models, %v", len(files), err)
	}
	for _, f := range files {
		m, err := parseFile(f, nil)
		if err != nil {
			continue
		}
		p, err := program.Resolve(m)
		if err != nil {
			continue
		}
		try(filepath.Base(f), p, Options{}, 1000)
		try(filepath.Base(f)+" lossy, inner first", p, Options{Lossy: true, InnerFirst: true}, 1000)
	}
	n := sample.Of(20, 20, 400)
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
		try(fmt.Sprintf("seed=%d", seed), p, Options{}, 2000)
	}
	t.Logf("%d models compared, %d of them have fewer states", compared, fewer)
	if compared < 200 || fewer < compared/5 {
		t.Errorf("only %d models compared, %d with fewer states", compared, fewer)
	}
}

// TestMergedStates pins what is merged and what is not, and what dies.
func TestMergedStates(t *testing.T) {
	for _, test := range []struct {
		name, text   string
		pure, merged int
	}{
		// Initial, behind y++, behind g = y and the death.
		{"locals", "byte g; init { byte x, y; x = 1; x = 2; y = x; g = y }", 6, 4},
		{"globals", "byte g, h; init { g = 1; h = 2; g = 3 }", 5, 5},
		{"a label", "byte g; init { byte x, y; g = 1; x = 1; L: y = x; g = y }", 6, 4},
		{"somebody looks at the label", "byte g; active proctype P() { byte x; g = 1; x = 1; " +
			"L: g = 2 } active proctype Q() { g == 1 && !P[0]@L; assert(false) }", 14, 14},
		{"somebody looks at the label before", "byte g; active proctype P() { byte x; g = 1; " +
			"L: x = 1; g = 2 } active proctype Q() { g == 1 && P[0]@L; assert(false) }", 14, 14},
		{"ready behind it", "chan q = [0] of { byte }; byte g; " +
			"active proctype P() { byte x; g = 1; x = 1; q?x } active proctype Q() { g == 1; " +
			"if :: q!1 :: else -> assert(false) fi }", 14, 14},
		{"ready, and nobody minds", "chan q = [0] of { byte }; byte g; " +
			"active proctype P() { byte x; g = 1; x = 1; q?x } " +
			"active proctype Q() { g == 1; if :: q!1 :: g = 3 fi }", 12, 8},
		{"a remote reference", "byte g; active proctype P() { byte x; g = 1; x = 1; x = 2 } " +
			"active proctype Q() { P[0]:x == 1 }", 9, 9},
		{"control is asked for", "byte g; active proctype P() { byte x; g = 1; x = 1; x = 2 } " +
			"active proctype Q() { enabled(0) }", 13, 13},
		{"provided", "byte g; active proctype P() provided (g < 2) { byte x; g = 1; x = 1; g = x }",
			5, 5},
		{"a cycle", "init { byte x; do :: x = 1 - x od }", 2, 2},
		{"dead values", "byte g; init { byte x; if :: x = 1 :: x = 2 fi; x > 0; g = 0; g = 1 }", 10,
			7},
		{"a dead array", "byte g; init { byte a[3]; if :: a[1] = 1 :: a[2] = 2 fi; g = a[1]; g = " +
			"0 }", 8, 7},
		{"an element is written", "byte g; init { byte a[2]; if :: a[0] = 1 :: a[0] = 2 fi; g = " +
			"1; a[1] = 5; g = a[0] }", 11, 9},
		{"used in the loop", "byte g; init { byte x; do :: g < 3 -> g++; x = g :: x == 2 -> " +
			"break od }", 12, 12},
		{"an argument of a receive", "chan q = [1] of { byte }; init { byte x; if :: x = 1 :: x " +
			"= 2 fi; q!x; q?eval(x); x = 0 }", 9, 7},
		{"a d_step reads it", "byte g; init { byte x; if :: x = 1 :: x = 2 fi; g = 1; d_step { g " +
			"= x; x = 0 } ; g = 0}", 9, 9},
		{"the escape reads it", "byte g; init { byte x; if :: x = 1 :: x = 2 fi; { g = 1; g = 2; " +
			"g = 3 } unless { g == 2; assert(x > 0) } }", 12, 11},
		{"back at the start", "chan q = [1] of { byte }; proctype P(byte a) { S: if :: q!1; goto " +
			"S :: q?1; goto S fi } init { run P(3) }", 3, 3},
		{"atomics stay apart", "byte g; init { byte x; do :: atomic { x = 1; if :: g = 1 :: g = " +
			"2 fi; x = 0 } od }", 3, 3},
		{"two faults in a row", "byte g; init { byte x, a[2]; g = 1; x = 1; assert(x > 1); x = " +
			"2; a[x] = 1; x = 1 / a[0] }", 8, 6},
	} {
		t.Run(test.name, func(t *testing.T) {
			p, err := parseText(test.text)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := agreeMerged(t, p, Options{}, 1000); a != test.pure || b != test.merged {
				t.Errorf("%d states, merged %d; want %d and %d", a, b, test.pure, test.merged)
			}
		})
	}
}

// localSteps returns a program with many steps on locals, and with others that could notice when
// they are executed.
func localSteps(r *rand.Rand) string {
	var b strings.Builder
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	line, labels := 0, 0
	var step func(depth int, rest string) string
	step = func(depth int, rest string) string {
		line++
		switch n := r.IntN(20); {
		case n < 6:
			return pick("x = 1", "y = x", "x = x + y", "x = 1 - x", "y = 2", "skip", "a[1] = x")
		case n < 9:
			return pick("g = 1", "g = x", "h = g", "g = a[1]", "h = y")
		case n < 11:
			return pick("q!1", "q?x", "rv!x", "rv?y", "rv?1")
		case n < 12:
			return fmt.Sprintf("assert(%s != %d)\n", pick("g", "h", "x"), r.IntN(3))
		case n < 14:
			return pick("g == 1", "h < 2", "x == y", "g == 1 && !P[0]@L1", "P[0]@L2 && h == 0",
				"P[0]@L1", "timeout", "P[0]:z == 1 && g == 0", "len(q) == 0", "nempty(q)",
				"z = 1 - z")
		case depth == 0:
			return "x = x + 1"
		case n < 17:
			return fmt.Sprintf("if :: %s; %s :: %s %sfi", step(depth-1, rest), step(depth-1, rest),
				pick("rv!1", "q!0", "g == 2", "rv?x", "x == 1"), pick("", ":: else ", ":: else -> "+
					step(depth-1, rest)+" "))
		case n < 18:
			return fmt.Sprintf("atomic { %s; %s }", step(depth-1, rest), step(depth-1, rest))
		case n < 19:
			return fmt.Sprintf("d_step { %s; %s }", pick("x = 1", "g = 1", "h == 0"),
				pick("y = x", "h = x"))
		}
		return fmt.Sprintf("{ %s; %s } unless { %s; %s }", step(0, rest), step(0, rest),
			pick("rv!1", "g == 2", "q?1"), pick("x = 1", "h = 1"))
	}
	body := func(n int) {
		b.WriteString(" byte x, y, z, a[2];\n")
		for range n {
			label := ""
			if r.IntN(5) == 0 && labels < 2 {
				labels++
				label = fmt.Sprintf("L%d: ", labels)
			}
			fmt.Fprintf(&b, "  %s%s;\n", label, step(1, ""))
		}
	}
	fmt.Fprintf(&b, "byte g, h; chan q = [%d] of { byte }; chan rv = [0] of { byte };\n",
		1+r.IntN(2))
	b.WriteString("active proctype P() {")
	body(3 + r.IntN(4))
	for labels < 2 {
		labels++
		fmt.Fprintf(&b, "  L%d: %s;\n", labels, pick("x = 1", "g = 1"))
	}
	loop := pick("", "do :: x < 2 -> x++ :: y = 1 - y; x = 3 :: else -> break od;\n")
	fmt.Fprintf(&b, "  %sskip }\n%s {", loop, pick("active [1] proctype Q()",
		"active [2] proctype Q()"))
	body(2 + r.IntN(3))
	b.WriteString("  skip }\n")
	return b.String()
}

// writtenLocals are programs in which it matters when steps on locals are executed.
var writtenLocals = []string{
	`chan q = [0] of { byte }; byte g;
	active proctype P() { byte x; g = 1; x = 1; q?x }
	active proctype Q() { g == 1; if :: q!1 :: else -> assert(false) fi }`,
	`chan q = [0] of { byte }; byte g;
	active proctype P() { byte x; g = 1; x = 1; q?x }
	active proctype Q() { { g == 1; assert(false) } unless { q!1 } }`,
	`chan q = [0] of { byte }; byte g;
	active proctype P() { byte x; g = 1; x = 1; q?x }
	active proctype Q() { g == 1; atomic { g = 2; q!1; g = 3 } }
	active proctype R() { g == 2; assert(false) }`,
	`byte g; active proctype P() { byte x; g = 1; x = 1; L: g = 2 }
	active proctype Q() { g == 1 && !P[0]@L; assert(false) }`,
	`byte g; active proctype P() { byte x; g = 1; L: x = 1; g = 2 }
	active proctype Q() { g == 1 && P[0]@L; assert(false) }`,
	`byte g; active proctype P() { byte x; g = 1; x = 1; x = 2; g = 2 }
	active proctype Q() { g == 1 && P[0]:x == 1; assert(false) }`,
	`byte g; active proctype P() { byte x; g = 1; do :: x = 1 - x od }`,
	`byte g; active proctype P() { byte x; g = 1; x = 1; g = 2 }
	active proctype Q() { g == 1; enabled(0); g = 3 }`,
}

// unmerged compares searches with merged semantics with one of everything. It returns what
// differs, and how many states the plain system has: 0 if it is too large.
func unmerged(text string) (diff string, states, fewer int) {
	p, err := parseText(text)
	if err != nil {
		return "", 0, 0
	}
	s, err := New(p, Options{})
	if err != nil {
		return "", 0, 0
	}
	want, ok := searchAll(s, 3000)
	if !ok {
		return "", 0, 0
	}
	if s, err = New(p, Options{Merged: true}); err != nil {
		return err.Error(), 1, 0
	}
	got, ok := searchAll(s, 3000)
	if !ok || got.states > want.states || !maps.Equal(got.globals, want.globals) ||
		!maps.Equal(got.faults, want.faults) {
		return fmt.Sprintf("%d states, %d globals, %v; merged %d, %d, %v\n%s", want.states,
			len(want.globals), want.faults, got.states, len(got.globals), got.faults, text), 1, 0
	}
	return separated(s, rand.New(rand.NewPCG(7, uint64(want.states)))), want.states,
		want.states - got.states
}

// separated takes random steps of a merged system, and compares what they do with what the plain
// steps do that they stand for.
func separated(s *System, r *rand.Rand) string {
	for range 4 {
		m := s.newMachine()
		m.Load(s.initial[0])
		var steps []system.Step
		var viol *system.Violation
		for len(steps) < 30 {
			var can []system.Step
			mark := m.Mark()
			for t := range m.n {
				for alt, more := uint64(0), true; more; {
					out := m.Step(t, alt)
					m.Rewind(mark)
					if more = out.Kind == system.Moved; more {
						can = append(can, system.Step{Thread: t, Alt: alt})
						alt, more = out.Next, out.Next != 0
					}
				}
			}
			if len(can) == 0 {
				break
			}
			st := can[r.IntN(len(can))]
			viol = m.Step(st.Thread, st.Alt).Violation
			steps = append(steps, st)
		}
		plain, err := s.Separate(0, steps)
		if err != nil {
			return err.Error()
		}
		p := s.apart.newMachine()
		p.Load(s.apart.initial[0])
		var last *system.Violation
		for _, st := range plain {
			last = p.Step(st.Thread, st.Alt).Violation
		}
		same := slices.Equal(p.words[1:s.globals.words], m.words[1:s.globals.words]) && p.n == m.n
		for t := 0; t < m.n && same && viol == nil; t++ {
			same = p.pc(t) == m.pc(t)
		}
		if !same || (last == nil) != (viol == nil) || last != nil && last.Pos != viol.Pos {
			return fmt.Sprintf("steps %v are %v: %v, not %v", steps, plain, last, viol)
		}
	}
	return ""
}

// TestMergedLocals compares merged semantics with the plain one, on programs in which it matters
// when steps on locals are executed.
func TestMergedLocals(t *testing.T) {
	for _, text := range writtenLocals {
		if diff, states, _ := unmerged(text); diff != "" || states == 0 {
			t.Error(diff, text)
		}
	}
	n := sample.Of(150, 150, 30000)
	compared, all := 0, 0
	for i := range uint64(n) {
		diff, states, fewer := unmerged(localSteps(rand.New(rand.NewPCG(*spinFirst, i))))
		if diff != "" {
			t.Fatalf("seed %d: %s", i, diff)
		}
		if states > 0 {
			compared++
		}
		if fewer > 0 {
			all++
		}
	}
	t.Logf("%d programs compared, %d with fewer states", compared, all)
	if compared < n/3 || all < compared/3 {
		t.Error("that is too few")
	}
}

// TestMergedReductions runs every engine with merged semantics.
func TestMergedReductions(t *testing.T) {
	compared, n := 0, sample.Of(8, 8, 120)
	for i := range uint64(n) {
		seed := *spinFirst + i
		p, err := parseText(generate(seed))
		if err != nil {
			continue
		}
		s, err := New(p, Options{Merged: true})
		if err != nil || s.Irreducible(false) != "" || manyWays(s) {
			continue
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			systemtest.Conform(t, s, systemtest.Options{MaxStates: 20, Walks: 2, Steps: 20,
				Seed: seed})
			compared += systemtest.Agree(t, s, systemtest.Engines(), acyclic(s, 150), 150, 1)
		})
	}
	if compared < 20 {
		t.Errorf("only %d runs compared", compared)
	}
}
