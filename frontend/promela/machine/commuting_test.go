package machine

import (
	"context"
	"testing"

	"cpor/engine/stateless"
)

// TestCommuting counts the executions of processes that add to a variable.
func TestCommuting(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want       uint64
	}{
		{"equal numbers", "byte n; active [5] proctype A() { n++; n++ }", 1},
		{"a number and its opposite", "byte n; active proctype A() { n++ } " +
			"active proctype B() { n-- }", 1},
		{"who reads", "byte n, m; active [2] proctype A() { n = n + 2 } " +
			"active proctype B() { m = n }", 4},
		{"what reads the value beside", "byte n; active [2] proctype A() { " +
			"atomic { n++; n == 1 || n == 2 } }", 2},
		{"another number", "byte n; active proctype A() { n = n + 1 } " +
			"active proctype B() { n = n + 2 }", 1},
		{"equal stores", "byte n; active [4] proctype A() { n = 3 }", 1},
		{"different stores", "byte n; active proctype A() { n = 3 } " +
			"active [2] proctype B() { n = 4 }", 4},
		{"a store and an addition", "byte n; active proctype A() { n = 3 } " +
			"active proctype B() { n++ }", 2},
		{"a store of what was read", "byte n; active [2] proctype A() { n = n * 0 }", 2},
		{"an element", "byte n[2]; active [2] proctype A() { n[_pid] = 1; n[1 - _pid] = 1 }", 1},
		{"wrapping around", "bit n; active [3] proctype A() { n++ }", 1},
	} {
		o := stateless.Options{Reduction: stateless.DPOR}
		o.Workers, o.All = 1, true
		res, err := stateless.Run(context.Background(), parse(t, tt.text), o)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if res.Executions != tt.want {
			t.Errorf("%s: %d executions, want %d", tt.name, res.Executions, tt.want)
		}
	}
}
