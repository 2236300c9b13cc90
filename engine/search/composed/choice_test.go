package composed_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/engine/search/full"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

// communicating returns the text of a model of threads that use three bits as
// they like: so small that many executions lead to the same state, by which
// sleep sets that are stored with states stand or fall.
func communicating(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 77))
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	bit := func() string { return []string{"c", "d", "e"}[r.IntN(3)] }
	line("comm var c, d, e uint1")
	threads := 3 + r.IntN(2)
	for t := range threads {
		line("thread T%d() {", t)
		line("v := uint1(0)")
		loop := r.IntN(3) == 0
		if loop {
			line("for {")
		}
		for range 1 + r.IntN(3) {
			switch r.IntN(7) {
			case 0, 1:
				line("%s = %d", bit(), r.IntN(2))
			case 2:
				line("v = %s", bit())
			case 3:
				line("%s = v", bit())
			case 4:
				line("await(%s == %d)", bit(), r.IntN(2))
			case 5:
				line("if %s == v { %s = %d }", bit(), bit(), r.IntN(2))
			case 6:
				line("choose {\ncase: %s = 1\ncase: %s = v\n}", bit(), bit())
			}
		}
		if loop {
			line("}")
		}
		line("}")
	}
	line("init {")
	for t := range threads {
		line("go T%d()", t)
	}
	line("}")
	return b.String()
}

// TestSelections holds persistent and sleep sets to the full search on models
// whose threads communicate at every step. Sleep sets alone keep every state.
func TestSelections(t *testing.T) {
	n := sample.Of(50, 100, 2000)
	fewer := map[composed.Options]int{}
	for seed := range n {
		text := communicating(uint64(seed))
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		sys := m.System()
		want, all, err := oracle.Explore(sys, full.Factory(sys), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		var every *search.Result
		for i, o := range []composed.Options{{}, {Sleep: true}, {Persistent: true},
			{Persistent: true, Sleep: true}} {
			f, err := composed.Factory(sys, o)
			if err != nil {
				t.Fatal(err)
			}
			got, r, err := oracle.Explore(sys, f, 1+seed%3, 0)
			if err != nil || !r.Exhaustive {
				t.Fatal(err, r.Reason)
			}
			if d := oracle.Diff(want, got); d != "" {
				t.Fatalf("seed %d, %+v:\n%s\n%s", seed, o, d, text)
			}
			if i == 0 {
				every = r
			}
			if r.States > all.States || !o.Persistent && r.States != every.States {
				t.Errorf("seed %d, %+v: %d states of %d; %d in the full search", seed, o, r.States,
					every.States, all.States)
			}
			if r.Transitions < every.Transitions {
				fewer[o]++
			}
		}
	}
	if len(fewer) != 3 {
		t.Errorf("some selection never explores less: %v", fewer)
	}
}

// TestSelectionCounts pins what persistent and sleep sets leave of C(M).
func TestSelectionCounts(t *testing.T) {
	// Threads that have nothing to do with each other, all in 2 composed
	// transitions: 3^4 states, 4 * 2 * 3^3 transitions. A sleep set leaves a
	// tree of the states; a persistent set, one execution.
	apart := `
var m [4]mutex
var x [4]uint8
thread T(i int) {
	lock(m[i])
	x[i]++
	unlock(m[i])
	lock(m[i])
	x[i]++
	unlock(m[i])
}
init { for i := range 4 { go T(i) } }
`
	// What the paper's section 5.3 composes: threads that read under one
	// lock. Each transition leaves the lock as it was, so that they are
	// independent: without that, sleep sets would leave nothing out.
	readers := `
var m mutex
var x uint8
thread T() {
	lock(m)
	v := x
	unlock(m)
	_ = v
}
init { for range 5 { go T() } }
`
	// One writes; the others know what they have read. Each state then is one
	// Mazurkiewicz trace, and a sleep set leaves a tree: 2^5 + 3^5 states.
	writer := `
var m mutex
var x uint8
thread W() {
	lock(m)
	x = 1
	unlock(m)
}
thread T() {
	lock(m)
	v := x
	unlock(m)
	end_T: await(v == 2)
}
init { go W(); for range 5 { go T() } }
`
	type counts struct{ states, transitions uint64 } // transitions as moves
	tests := []struct {
		name, text                   string
		all, sleep, persistent, both counts
	}{
		{"apart", apart, counts{81, 216}, counts{81, 80}, counts{9, 8}, counts{9, 8}},
		{"readers", readers, counts{32, 80}, counts{32, 31}, counts{32, 80}, counts{32, 31}},
		{"writer", writer, counts{275, 517}, counts{275, 274}, counts{275, 517}, counts{275, 274}},
	}
	for _, tt := range tests {
		for i, want := range []counts{tt.all, tt.sleep, tt.persistent, tt.both} {
			o := composed.Options{Sleep: i&1 != 0, Persistent: i&2 != 0}
			m, err := model.Parse(tt.name+".model", tt.text, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			f, err := composed.Factory(m.System(), o)
			if err != nil {
				t.Fatal(err)
			}
			var got counts
			r, err := search.Run(t.Context(), m.System(), f, search.Options{
				Options: engine.Options{Workers: 1, All: true}, Hook: func(int) search.Hook {
					return (*moves)(&got.transitions)
				}})
			if err != nil {
				t.Fatal(err)
			}
			got.states = r.States
			if got != want {
				t.Errorf("%s, %+v: %+v, want %+v", tt.name, o, got, want)
			}
		}
	}
}

// moves counts the moves of a search.
type moves uint64

func (c *moves) Expand([]uint64)                            {}
func (c *moves) Move(*search.Move)                          { *c++ }
func (c *moves) Violation(*system.Violation, []search.Step) {}

// TestSelectionRefusals tries what cannot be.
func TestSelectionRefusals(t *testing.T) {
	waits, err := model.Parse("waits.model", "var x bool\nthread T() { await(x) }\ninit { go T() }",
		model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	checked, err := lockset.New(waits.System(), lockset.Options{Rule: lockset.LDPrime})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []composed.Options{{Sleep: true}, {Persistent: true}} {
		if _, err := composed.Factory(checked, o); err != composed.ErrDependences {
			t.Errorf("%+v: %v, want ErrDependences", o, err)
		}
		if _, err := composed.Factory(waits.System(), o); err != nil {
			t.Errorf("%+v: %v although nothing is checked", o, err)
		}
		o.InvisibleFirst = true
		if _, err := composed.Factory(waits.System(), o); err != composed.ErrSingle {
			t.Errorf("%+v: %v, want ErrSingle", o, err)
		}
	}
}

// TestSelectionInitThread needs both orders of two reads.
func TestSelectionInitThread(t *testing.T) {
	m, err := model.Parse("order.model", `
var x uint4
comm var c uint4
thread Main() { c = 1; v := x; _ = v }
thread Other() { c = 2; v := x; _ = v }
init { go Main(); go Other() }
`, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []composed.Options{{}, {Sleep: true}, {Persistent: true},
		{Persistent: true, Sleep: true}} {
		_, r, err := lockset.Run(t.Context(), m.System(), lockset.Options{Rule: lockset.LDPrime,
			InitThread: map[string]string{"x": "Main[0]"}, Dependences: true},
			func(sys system.System) (search.Factory, error) { return composed.Factory(sys, o) },
			search.Options{Options: engine.Options{Workers: 1}})
		if err != nil || r.Verdict != engine.Violated {
			t.Errorf("%+v: %v %v", o, r.Verdict, err)
		}
	}
}

// TestSelectionModels pins the states and transitions of the table in
// docs/locks.md: all, sleep, persistent, both.
func TestSelectionModels(t *testing.T) {
	pinned := map[string]string{
		"m_ex":          " 9/45 9/41 9/45 9/41",
		"haltexception": " 174/9820 174/9585 165/9561 165/9554",
		"clean":         " 42/733 42/625 38/680 38/593",
		"philosophers":  " 768/8832 768/7216 768/7045 768/7154",
	}
	for _, name := range benchmarks.LockNames() {
		text, err := benchmarks.LockModel(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.Parse(name+".model", string(text), model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime,
			Merge: func(system.Loc) bool { return true }, Dependences: true})
		if err != nil {
			t.Fatal(err)
		}
		want, _, err := oracle.Explore(sys, full.Factory(sys), 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		line := ""
		for i := range 4 {
			f, err := composed.Factory(sys, composed.Options{Sleep: i&1 != 0, Persistent: i&2 != 0})
			if err != nil {
				t.Fatal(err)
			}
			got, r, err := oracle.Explore(sys, f, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			if d := oracle.Diff(want, got); d != "" {
				t.Errorf("%s %d: %s", name, i, d)
			}
			line += fmt.Sprintf(" %d/%d", r.States, r.Transitions)
		}
		if line != pinned[name] {
			t.Errorf("%s:%s, want%s", name, line, pinned[name])
		}
	}
}
