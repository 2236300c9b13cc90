package machine_test

import (
	"fmt"
	"slices"
	"testing"

	"cpor/frontend/model"
	"cpor/frontend/model/machine"
	"cpor/oracle"
	"cpor/system"
)

// many needs more steps than a machine remembers at a time, and has all that is simple.
const many = `
var x int16
var y int16
var l mutex
var p *int16
thread A() {
	for {
		lock(l)
		if x < 5000 { x = x + 1 } else { x = 0 }
		y = x % 7
		unlock(l)
	}
}
thread B() {
	for {
		cas(y, 3, 9)
	}
}
init {
	go A()
	go B()
}
`

// TestEffects holds that a machine which remembers steps does what one does that
// executes all of them (it records accesses), and counts the same.
func TestEffects(t *testing.T) {
	seeds, states := uint64(400), 300
	if testing.Short() {
		seeds = 80
	}
	points, steps := 0, 0
	for seed := range seeds {
		text := oracle.Generate(seed, oracle.Config{Threads: 3, Statements: 6, Loops: true, Locks: true, Awaits: true, Atomic: seed%2 == 0,
			Choices: seed%3 == 0, Pointers: true, Functions: true, Data: true, Channels: seed%4 == 0, Invariants: seed%16 == 15, Creation: seed%16 == 7})
		p, s := compareEffects(t, fmt.Sprintf("seed %d\n%s", seed, text), text, states)
		points, steps = points+p, steps+s
	}
	if points < int(seeds) || steps < 10*int(seeds) {
		t.Errorf("%d points are simple, and %d steps were remembered, of %d programs", points, steps, seeds)
	}
	if _, steps := compareEffects(t, "many", many, 40_000); steps == 0 {
		t.Error("many: nothing was remembered")
	}
}

// compareEffects takes every step of the first states of a model, twice in a row, in
// a machine that remembers and in one that does not.
func compareEffects(t *testing.T, name, text string, states int) (points, steps int) {
	var systems [2]system.System
	for i := range systems {
		m, err := model.Parse("effects.model", text, model.Options{})
		if err != nil {
			if name == "many" {
				t.Fatal(err)
			}
			return 0, 0
		}
		systems[i] = m.System()
	}
	points = machine.RecallAll(systems[0])
	recalling, executing := systems[0].NewMachine(), systems[1].NewMachine()
	executing.Track(true)
	seen := map[string]bool{}
	var queue []system.State
	add := func(s system.State) {
		if k := fmt.Sprint(s); !seen[k] && len(seen) < states {
			seen[k] = true
			queue = append(queue, slices.Clone(s))
		}
	}
	for _, s := range systems[0].Initial() {
		add(s)
	}
	var got, want system.State
	for i := 0; i < len(queue); i++ {
		s := queue[i]
		recalling.Load(s)
		executing.Load(s)
		n := executing.NumThreads()
		for again := range 2 {
			for thread := range n {
				for alt, more := uint64(0), true; more; {
					mark, mark2 := recalling.Mark(), executing.Mark()
					a, b := recalling.Step(thread, alt), executing.Step(thread, alt)
					got, want = recalling.Encode(got), executing.Encode(want)
					if a.Kind != b.Kind || a.AtEnd != b.AtEnd || a.Created != b.Created || a.Next != b.Next ||
						(a.Violation == nil) != (b.Violation == nil) || a.Violation != nil && a.Violation.Message != b.Violation.Message {
						t.Fatalf("state %v, thread %d, alternative %d, time %d: %+v, want %+v\n%s", s, thread, alt, again, a, b, name)
					}
					if !slices.Equal(got, want) {
						t.Fatalf("state %v, thread %d, alternative %d, time %d: %v, want %v\n%s", s, thread, alt, again, got, want, name)
					}
					if words, ok := recalling.(system.Changing).Changed(nil); ok && len(got) == len(s) {
						for w := range got {
							if got[w] != s[w] && !slices.Contains(words, int32(w)) {
								t.Fatalf("state %v, thread %d: word %d changed, which is not told\n%s", s, thread, w, name)
							}
						}
					}
					if len(recalling.Accesses()) > 0 {
						t.Fatalf("accesses were recorded that nobody asked for\n%s", name)
					}
					if a.Kind == system.Moved {
						add(want)
					}
					recalling.Rewind(mark)
					executing.Rewind(mark2)
					if got = recalling.Encode(got); !slices.Equal(got, s) {
						t.Fatalf("state %v, thread %d: %v after it was undone\n%s", s, thread, got, name)
					}
					alt, more = b.Next, b.Next != 0
				}
			}
			if again == 0 {
				steps, _ = machine.Remembered(recalling)
			}
		}
	}
	if a, b := systems[0].(system.Counting).Executed(), systems[1].(system.Counting).Executed(); !slices.Equal(a, b) {
		t.Fatalf("counted %v, want %v\n%s", a, b, name)
	}
	return points, steps
}
