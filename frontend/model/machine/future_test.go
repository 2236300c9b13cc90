package machine_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"

	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/oracle"
)

// TestFuturesBound takes random walks through random models: whatever a thread
// accesses must be in its future as it was in each state before, or, before it existed,
// in the future of the thread that was to create it.
func TestFuturesBound(t *testing.T) {
	configs := []oracle.Config{
		oracle.Everything,
		{Threads: 3, Statements: 5, Loops: true, Locks: true, Awaits: true, Choices: true,
			Selects: true},
		{Threads: 3, Statements: 5, Loops: true, Channels: true, Rendezvous: true, Selects: true},
		{Threads: 2, Statements: 6, Creation: true, Awaits: true, Locks: true, Functions: true,
			Pointers: true},
		{Threads: 3, Statements: 5, Invariants: true, Loops: true, Atomic: true, Pointers: true},
	}
	steps, bounded := 0, 0
	seeds := sample.Of[uint64](200, 200, 1500)
	for seed := range seeds {
		text := oracle.Generate(seed, configs[seed%uint64(len(configs))])
		m, err := model.Parse("generated.model", text, model.Options{})
		if err != nil {
			continue
		}
		sys := m.System()
		r := rand.New(rand.NewPCG(seed, 1))
		mc := sys.NewMachine()
		mc.Track(true)
		mc.Load(sys.Initial()[r.IntN(len(sys.Initial()))])
		fs := mc.Capabilities().Futures
		var past [][]*system.Footprint // by state and thread
		parent := map[int]int{}
		for range 60 {
			var now []*system.Footprint
			for u := range mc.NumThreads() {
				now = append(now, fs.Future(u))
			}
			past = append(past, now)
			u := r.IntN(mc.NumThreads())
			n := mc.NumThreads()
			mark := mc.Mark()
			out := mc.Step(u, 0)
			if out.Next != 0 && r.IntN(2) == 0 {
				mc.Rewind(mark)
				mc.Step(u, out.Next)
			}
			for v := n; v < mc.NumThreads(); v++ {
				parent[v] = u
			}
			for _, a := range mc.Accesses() {
				steps++
				for _, fps := range past {
					v := u
					for v >= len(fps) {
						v = parent[v]
					}
					if a.Write && !fps[v].MayWrite(a.Loc) || !a.Write && !fps[v].MayRead(a.Loc) &&
						!fps[v].MayWrite(a.Loc) {
						t.Fatalf("seed %d: thread %d accesses %s (write %v), which was not in "+
							"the future of thread %d\n%s", seed, u, mc.LocName(a.Loc), a.Write, v,
							text)
					}
					if !fps[v].MayWrite(0) || !fps[v].MayRead(1) {
						bounded++
					}
				}
			}
		}
	}
	if steps < 10000 || bounded < steps {
		t.Errorf("%d accesses, %d proper bounds: the test shows little", steps, bounded)
	}
}

// TestFuturesPrecision shows what the bounds know: the indices that a thread
// has in its local variables, loops with constant bounds, and pointers that are
// arguments.
func TestFuturesPrecision(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"philosophers", `
var fork [4]mutex
thread P(left, right *mutex) { for { lock(left); lock(right); unlock(right); unlock(left) } }
init { for i := 0; i < 4; i++ { go P(&fork[i], &fork[(i+1)%4]) } }`,
			"reads fork[0] fork[1]; writes fork[0] fork[1]"},
		{"own element", `
var a [4]uint8
var x uint8
thread T(i uint8) { a[i]++; x = a[i] }
init { go T(2); go T(1) }`, "reads a[2]; writes a[2] x"},
		{"loop", `
var a [10]uint8
thread T(n uint8) { for i := n; i < n+3; i++ { a[i] = 1 } }
init { go T(2) }`, "reads; writes a[2] a[3] a[4]"},
		{"what is over", `
var x, y uint8
thread T() { x = 1; if y == 2 { y = 3 } }
init { go T() }`, "reads y; writes x y"},
		{"any index", `
var a [3]uint8
var x uint8
thread T() { i := x; a[i] = 1 }
init { go T() }`, "reads x; writes a[0] a[1] a[2]"},
		{"remainder", `
var a [5]uint8
var x uint8
thread T() { i := x % 3; a[i+1] = 1 }
init { go T() }`, "reads x; writes a[1] a[2] a[3]"},
		{"channel", `
var c = make(chan uint8, 2)
var d = make(chan uint8, 2)
thread T() { c <- 1 }
init { go T(); go T() }`, "reads c.slot[0] c.slot[0] c.slot[1] c.slot[1] c.tail; writes " +
			"c.slot[0] c.slot[0] c.slot[1] c.slot[1] c.tail"},
		{"created", `
var x, y uint8
thread C(p *uint8) { *p = 1 }
thread T() { go C(&y); x = 1 }
init { go T() }`, "writes x y"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := model.Parse("test.model", tt.text, model.Options{})
			if err != nil {
				t.Fatal(err)
			}
			sys := m.System()
			mc := sys.NewMachine()
			f := mc.Capabilities().Futures.Future(0)
			var b strings.Builder
			list := func(what string, may func(system.Loc) bool) {
				var names []string
				for l := system.Loc(0); ; l++ {
					name := mc.LocName(l)
					if name == "the number of threads" {
						break
					}
					if may(l) {
						names = append(names, name)
					}
				}
				slices.Sort(names)
				fmt.Fprintf(&b, "%s", strings.TrimSpace(what+" "+strings.Join(names, " ")))
			}
			list("reads", f.MayRead)
			b.WriteString("; ")
			list("writes", f.MayWrite)
			if !strings.HasSuffix(b.String(), tt.want) {
				t.Errorf("got  %s\nwant %s", b.String(), tt.want)
			}
		})
	}
}
