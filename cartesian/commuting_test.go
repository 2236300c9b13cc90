package cartesian_test

import (
	"context"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/frontend/model"
)

// TestCommuting counts the states of programs with operations that commute.
func TestCommuting(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		want, full uint64
	}{
		// The consumer overtakes nobody, and ends where nothing is there.
		{"a producer and a consumer", `
semaphore full
semaphore empty = 4
thread P() { for i := 0; i < 8; i++ { down(empty); up(full) } }
thread C() { for i := 0; i < 8; i++ { down(full); up(empty) } }
init { go P(); go C() }`, 27, 105},
		{"stores of one number", `
var found bool
var out [6]int8
thread T(i int8) { out[i] = i; found = true; out[i] = 0 }
init { for i := 0; i < 6; i++ { go T(int8(i)) } }`, 1, 4096},
		{"stores of two numbers", `
var x uint2
thread T(i uint2) { x = i }
init { go T(1); go T(2) }`, 3, 5},
		{"up and down with room for all", `
var x int8
var out [4]int8
thread T(i int8) {
	out[i] = i
	atomic { x++ }
	out[i] = 0
	atomic { x-- }
	out[i] = 1
}
init { for i := 0; i < 4; i++ { go T(int8(i)) } }`, 1, 1296},
		{"opposite signs without room", `
var x uint2 = 2
thread T() { atomic { x++ } }
thread U() { atomic { x-- } }
init { go T(); go U() }`, 1, 4},
	} {
		m, err := model.Parse("test.model", tt.text, model.Options{})
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		count := func(f search.Factory) uint64 {
			t.Helper()
			res, err := search.Run(context.Background(), m.System(), f, search.Options{
				Options: engine.Options{Workers: 1, All: true}})
			if err != nil || !res.Exhaustive || len(res.Violations) > 0 {
				t.Fatalf("%s: %v, %+v", tt.name, err, res)
			}
			return res.States
		}
		check := cartesian.Options{Check: func(err error) { t.Errorf("%s: %v", tt.name, err) }}
		got := count(func() search.Expander { return cartesian.New(m.System(), check) })
		if all := count(full.Factory(m.System())); got != tt.want || all != tt.full {
			t.Errorf("%s: %d of %d states, want %d of %d", tt.name, got, all, tt.want, tt.full)
		}
	}
}
