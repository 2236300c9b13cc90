package lockset_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/lockset"
	"cpor/model"
	"cpor/oracle"
	"cpor/search"
	"cpor/search/full"
	"cpor/system"
)

// clock is a vector clock.
type clock []int

func (c *clock) join(d clock) {
	for len(*c) < len(d) {
		*c = append(*c, 0)
	}
	for i, x := range d {
		(*c)[i] = max((*c)[i], x)
	}
}

func (c clock) at(t int) int {
	if t < len(c) {
		return c[t]
	}
	return 0
}

// history is what a walk remembers of a location.
type history struct {
	reads, writes clock // of an object that orders: what happened before its last accesses
	readers       map[int]int
	writers       map[int]int // of data: the time of each thread's last access
}

// walk runs a random execution and tells, by vector clocks, whether it has two
// conflicting accesses to data that nothing orders.
func walk(sys system.System, r *rand.Rand, steps int) bool {
	m := sys.NewMachine().(system.Locking)
	m.Track(true)
	m.Load(sys.Initial()[r.IntN(len(sys.Initial()))])
	var clocks []clock
	locs := map[system.Loc]*history{}
	for range steps {
		var ready []int
		for t := range m.NumThreads() {
			mark := m.Mark()
			if m.Step(t, 0).Kind == system.Moved {
				ready = append(ready, t)
			}
			m.Rewind(mark)
		}
		if len(ready) == 0 {
			return false
		}
		t := ready[r.IntN(len(ready))]
		for len(clocks) < m.NumThreads() {
			clocks = append(clocks, clock{})
		}
		guard := m.Blocking(t) == system.BlocksOnGuard
		mark := m.Mark()
		out := m.Step(t, 0)
		for out.Next != 0 && r.IntN(2) == 0 {
			next := out.Next
			m.Rewind(mark)
			out = m.Step(t, next)
		}
		accesses := append([]system.Access(nil), m.Accesses()...)
		c := &clocks[t]
		for _, a := range accesses {
			h := locs[a.Loc]
			if h == nil {
				h = &history{readers: map[int]int{}, writers: map[int]int{}}
				locs[a.Loc] = h
			}
			if !m.Class(a.Loc).Data() {
				c.join(h.writes)
				if a.Write {
					c.join(h.reads)
				}
			} else if guard {
				c.join(h.writes) // an await comes after what lets it go on
			}
		}
		for len(*c) <= t {
			*c = append(*c, 0)
		}
		(*c)[t]++
		for _, a := range accesses {
			h := locs[a.Loc]
			if a.Write {
				h.writes.join(*c)
			} else {
				h.reads.join(*c)
			}
			if !m.Class(a.Loc).Data() {
				continue
			}
			for u, when := range h.writers {
				if u != t && when > c.at(u) {
					return true
				}
			}
			if a.Write {
				for u, when := range h.readers {
					if u != t && when > c.at(u) {
						return true
					}
				}
				h.writers[t] = c.at(t)
			} else {
				h.readers[t] = c.at(t)
			}
		}
	}
	return false
}

// TestVectorClocks holds the check of adjacent accesses to vector clocks along
// random executions: whatever they find, it finds as well.
func TestVectorClocks(t *testing.T) {
	c := oracle.LockConfig{Threads: 3, Statements: 4, Loops: true, Conditions: true, Semaphores: true, Awaits: true, Creation: true, Atomic: true, Breach: 5}
	races, clean := 0, 0
	for seed := range uint64(600) {
		text := oracle.GenerateLocks(seed, c)
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			if strings.Contains(err.Error(), "init") {
				continue
			}
			t.Fatal(err)
		}
		sys, err := lockset.New(m.System(), lockset.Options{Rule: lockset.HB})
		if err != nil {
			t.Fatal(err)
		}
		res, err := search.Run(context.Background(), sys, full.Factory(sys), search.Options{
			Workers: 1, All: true, IgnoreDeadlocks: true, MaxStates: 5000, KeepTraces: true})
		if err != nil {
			t.Fatal(err)
		}
		if !res.Exhaustive {
			continue
		}
		reported := false
		for _, v := range res.Violations {
			reported = reported || v.Kind == lockset.Race
		}
		r := rand.New(rand.NewPCG(seed, 1))
		found := false
		for range 20 {
			found = found || walk(m.System(), r, 200)
		}
		switch {
		case found && !reported:
			t.Fatalf("seed %d: vector clocks find a race, the search does not\n%s", seed, text)
		case found:
			races++
		case !reported:
			clean++
		}
	}
	t.Logf("%d models with a race on a random execution, %d without any", races, clean)
	if races < 50 || clean < 50 {
		t.Error("the generator does not test much")
	}
}
