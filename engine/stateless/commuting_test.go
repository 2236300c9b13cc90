package stateless

import (
	"context"
	"testing"

	"cpor/frontend/model"
)

// TestCommuting counts the executions of programs with operations that commute.
func TestCommuting(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       uint64
	}{
		{"ten workers end with done", `
waitgroup wg
var out [10]int
thread W(i int) { out[i] = i; done(wg) }
thread Main() { wait(wg); for i := range 10 { assert(out[i] == i) } }
init { add(wg, 10); go Main(); for i := range 10 { go W(i) } }`, 1},
		{"six threads add", `
var x uint8
thread T() { atomic { x++ } }
init { for i := range 6 { go T() } }`, 1},
		{"the last of three fails", `
var x uint2 = 1
thread T() { atomic { x++ } }
init { go T(); go T(); go T() }`, 3},
		{"two of three get a semaphore", `
semaphore s = 2
thread T() { down(s) }
init { go T(); go T(); go T() }`, 3},
		{"what waits for either addition cannot go on behind both", `
var x uint2
thread T() { atomic { x++ } }
thread R() { await(x == 1) }
init { go T(); go T(); go R() }`, 3},
		{"who reads sees any part of the additions", `
var x uint2
var seen uint2
thread T() { atomic { x++ } }
thread R() { seen = x }
init { go T(); go T(); go R() }`, 4},
		// Why opposite signs are dependent: D needs one of the two, whichever. If it depended on
		// neither, one order would stand for all three.
		{"a down behind either up, or behind both", `
semaphore s
thread U() { up(s) }
thread D() { down(s) }
init { go U(); go U(); go D() }`, 3},
		{"an addition and its opposite do not commute", `
var x uint2 = 2
thread Up() { atomic { x++ } }
thread Down() { atomic { x-- } }
init { go Up(); go Down() }`, 2},
	} {
		countExecutions(t, tt.name, tt.text, tt.want)
	}
}

// TestTimeout counts the executions of programs that ask for timeout().
func TestTimeout(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       uint64
	}{
		{"no thread can move because one has ended", `
var x bool
thread R() { _ = x; _ = x }
thread T() { await(timeout()); x = true }
init { go R(); go T() }`, 1},
		{"either of two may be the first", `
var x bool
thread T() { await(timeout()); x = true }
init { go T(); go T() }`, 2},
	} {
		countExecutions(t, tt.name, tt.text, tt.want)
	}
}

// countExecutions holds that the dynamic reduction explores so many executions, none in vain.
func countExecutions(t *testing.T, name, text string, want uint64) {
	m, err := model.Parse("test.model", text, model.Options{})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for _, workers := range []int{1, 4} {
		o := Options{Reduction: DPOR}
		o.Workers, o.All = workers, true
		res, err := Run(context.Background(), m.System(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if res.Executions != want || res.BlockedExecutions != 0 {
			t.Errorf("%s: %d executions and %d in vain with %d workers, want %d", name,
				res.Executions, res.BlockedExecutions, workers, want)
		}
	}
}
