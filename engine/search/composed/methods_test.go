package composed_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cpor/engine/lockset"
	"cpor/engine/search/composed"
	"cpor/engine/stateless"
	"cpor/frontend/model"
	"cpor/system"
	"cpor/testkit/systemtest"
)

const account = `
mutex m
monitor o
var balance uint8 = 100
var fees uint8
var seen [4]uint8
var queue chan(4) uint8
var buffer [3]uint8
var head, tail uint2
var count uint2 = 1

func deposit(n uint8) { lock(m); balance += n; unlock(m) }
func withdraw(n uint8) { lock(m); balance -= n; unlock(m) }
func put(v uint8) {
	synchronized (o) {
		assert(count < 3)
		buffer[tail] = v
		tail = (tail + 1) % 3
		count++
	}
}
func store(v uint8) {
	synchronized (o) { buffer[tail] = v; tail = (tail + 1) % 3; count++ }
}
func get() uint8 {
	v := uint8(0)
	synchronized (o) { v = buffer[head]; head = (head + 1) % 3; count-- }
	return v
}
`

// TestMethods counts the executions of methods that hold a lock throughout, each of which is one
// operation: Stoller 2000, section 10, and 2002, section 8.1.
func TestMethods(t *testing.T) {
	for _, tt := range []struct {
		name, threads string
		want          uint64
	}{
		{"three deposits", "deposit(1) | deposit(2) | deposit(3)", 1},
		{"by a monitor", "synchronized (o) { fees++ } | synchronized (o) { fees++ }", 1},
		{"in an atomic block", "lock(m); atomic { fees++ }; unlock(m) | lock(m); fees++; unlock(m)",
			1},
		{"twice in one method", "lock(m); balance += 1; fees++; balance += 2; unlock(m) | deposit(1)",
			1},
		{"up and down in one method", "lock(m); balance += 1; balance -= 1; unlock(m) | deposit(1)",
			2},
		{"a sum of which something else is known",
			"lock(m); c := balance; balance += 1; seen[0] = c; unlock(m) | deposit(1)", 2},
		{"a sum of the variable itself",
			"lock(m); c := fees; fees += c; unlock(m) | lock(m); fees++; unlock(m)", 2},
		{"who looks depends on each",
			"deposit(1) | deposit(1) | lock(m); seen[0] = balance; unlock(m)", 4},
		{"two that look", "lock(m); seen[0] = balance; unlock(m) | lock(m); seen[1] = balance; " +
			"unlock(m)", 1},
		// Either of two may be the one that fails.
		{"no room for both", "deposit(100) | deposit(100)", 2},
		{"room for two of three", "deposit(60) | deposit(60) | deposit(60)", 3},
		// The order of events does not say which deposit a withdrawal needs (package stateless).
		{"opposite signs", "deposit(1) | withdraw(1)", 2},
		{"a queue that is neither empty nor full", "queue <- 1 | _ = <-queue", 1},
		// A queue by hand counts what is in it.
		{"a queue in a monitor", "store(1) | seen[0] = get()", 2},
		{"a queue that is checked", "put(1) | seen[0] = get()", 2},
	} {
		text, start := account, ""
		for i, code := range strings.Split(tt.threads, " | ") {
			text += fmt.Sprintf("thread T%d() { %s }\n", i, code)
			start += fmt.Sprintf("; go T%d()", i)
		}
		text += "init { queue <- 7; buffer[0] = 7; tail = 1" + start + " }"
		m, err := model.Parse("test.model", text, model.Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		checked, err := lockset.New(m.System(), lockset.Options{Rule: lockset.LDPrime,
			Dependences: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, sys := range []system.System{m.System(), checked} {
			o := stateless.Options{Reduction: stateless.DPOR, Composed: true}
			o.Workers, o.All, o.MaxViolations = 1, true, 1<<20
			res, err := stateless.Run(context.Background(), sys, o)
			if err != nil || !res.Exhaustive || res.BlockedExecutions != 0 {
				t.Fatalf("%s: %v, %+v", tt.name, err, res)
			}
			if res.Executions != tt.want {
				t.Errorf("%s: %d executions, want %d", tt.name, res.Executions, tt.want)
			}
		}
		c, err := composed.NewSystem(checked, composed.Options{})
		if err != nil {
			t.Fatal(err)
		}
		systemtest.Conform(t, c, systemtest.Options{Walks: 5})
	}
}
