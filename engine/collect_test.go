package engine_test

import (
	"fmt"
	"slices"
	"testing"

	"cpor/engine"
	"cpor/system"
)

// TestCollector adds violations in the worst order: many deadlocked states, then
// many objects at one place, then single assertions.
func TestCollector(t *testing.T) {
	at := func(line int) system.Pos { return system.Pos{File: "m", Line: line, Col: 1} }
	type added struct {
		v     system.Violation
		state string
	}
	var deadlocks, races, assertions []added
	for i := range 200 {
		deadlocks = append(deadlocks, added{system.Violation{Kind: system.Deadlock},
			fmt.Sprint("state ", i)})
		races = append(races, added{system.Violation{Kind: system.Runtime, Pos: at(1),
			Object: fmt.Sprint("x", i)}, ""})
	}
	for i := range 3 {
		assertions = append(assertions,
			added{system.Violation{Kind: system.Assertion, Pos: at(10 + i)}, ""})
	}
	count := func(kind system.ViolationKind, vs []system.Violation) (n int) {
		for _, v := range vs {
			if v.Kind == kind {
				n++
			}
		}
		return n
	}
	for _, tt := range []struct {
		name                         string
		order                        [][]added
		deadlocks, races, assertions int
	}{
		{"deadlocks first", [][]added{deadlocks, assertions}, 7, 0, 3},
		{"deadlocks, objects, assertions", [][]added{deadlocks, races, assertions}, 1, 6, 3},
		{"objects, deadlocks, assertions", [][]added{races, deadlocks, assertions}, 1, 6, 3},
		{"assertions first", [][]added{assertions, deadlocks}, 7, 0, 3},
		{"deadlocks twice", [][]added{deadlocks, assertions, deadlocks}, 7, 0, 3},
		{"each twice", [][]added{assertions, assertions, assertions}, 0, 0, 3},
	} {
		f := engine.NewCollector[system.Violation](&engine.Options{All: true, MaxViolations: 10})
		distinct := map[string]bool{}
		for _, vs := range tt.order {
			for _, a := range vs {
				if !f.Add(&a.v, a.state, func(v system.Violation) system.Violation { return v }) {
					t.Fatal("the collection of all ends")
				}
				distinct[fmt.Sprint(a.v, a.state)] = true
			}
		}
		got := slices.Collect(f.All())
		if d, r, a := count(system.Deadlock, got), count(system.Runtime, got),
			count(system.Assertion, got); d != tt.deadlocks || r != tt.races || a != tt.assertions {
			t.Errorf("%s: %d deadlocks, %d races, %d assertions; want %d, %d, %d", tt.name, d, r, a,
				tt.deadlocks, tt.races, tt.assertions)
		}
		if f.Len() != len(got) {
			t.Errorf("%s: %d kept, %d say so", tt.name, len(got), f.Len())
		}
		if want := len(distinct) - len(got); f.More != uint64(want) {
			t.Errorf("%s: %d more, want %d", tt.name, f.More, want)
		}
	}
}
