package machine

import (
	"encoding/binary"
	"fmt"
	"maps"
	"path/filepath"
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
	n := sample.Of(40, 40, 400)
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
		{"a label", "byte g; init { byte x, y; g = 1; x = 1; L: y = x; g = y }", 6, 5},
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
			m, err := syntax.Parse(source.New("t.pml", test.text), nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := program.Resolve(m)
			if err != nil {
				t.Fatal(err)
			}
			if a, b := agreeMerged(t, p, Options{}, 1000); a != test.pure || b != test.merged {
				t.Errorf("%d states, merged %d; want %d and %d", a, b, test.pure, test.merged)
			}
		})
	}
}

// TestMergedReductions runs every engine with merged semantics.
func TestMergedReductions(t *testing.T) {
	compared, n := 0, sample.Of(10, 20, 120)
	for i := range uint64(n) {
		seed := *spinFirst + i
		m, err := syntax.Parse(source.New("t.pml", generate(seed)), nil)
		if err != nil {
			continue
		}
		p, err := program.Resolve(m)
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
