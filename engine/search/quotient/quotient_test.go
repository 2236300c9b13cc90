package quotient_test

import (
	"context"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/full"
	"cpor/engine/search/quotient"
	"cpor/frontend/model"
	"cpor/system"
)

func load(t *testing.T, text string) system.System {
	t.Helper()
	m, err := model.Parse("test.model", text, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m.System()
}

func explore(t *testing.T, sys system.System, f func(system.System) search.Factory) *search.Result {
	t.Helper()
	res, err := search.Run(context.Background(), sys, f(sys), search.Options{Options: engine.Options{Workers: 2, All: true}})
	if err != nil || !res.Exhaustive {
		t.Fatal(err, res.Reason)
	}
	return res
}

func vectors(sys system.System) search.Factory {
	return func() search.Expander { return cartesian.New(sys, cartesian.Options{}) }
}

// TestOrbits holds the number of states to what combinatorics says.
func TestOrbits(t *testing.T) {
	binomial := func(n, k int64) uint64 { return new(big.Int).Binomial(n, k).Uint64() }
	pow := func(b, n int) uint64 {
		p := uint64(1)
		for range n {
			p *= uint64(b)
		}
		return p
	}
	skips := func(k, n int) string {
		return fmt.Sprintf("symmetric thread T() { %s }\ninit { for range %d { go T() } }", strings.Repeat("skip\n", k-1), n)
	}
	for _, c := range []struct {
		name, text    string
		states, plain uint64
	}{
		// n threads with k local states: multisets of n of k.
		{"2 of 2", skips(2, 2), binomial(3, 2), 4},
		{"6 of 4", skips(4, 6), binomial(9, 6), pow(4, 6)},
		{"10 of 3", skips(3, 10), binomial(12, 10), pow(3, 10)},
		// Two kinds are exchanged each by itself.
		{"two kinds", "symmetric thread T() { skip; skip }\nsymmetric thread U() { skip }\ninit { for range 3 { go T(); go U() } }", binomial(5, 3) * binomial(4, 3), pow(3, 3) * pow(2, 3)},
		{"one kind of two", "symmetric thread T() { skip; skip }\nthread U() { skip }\ninit { for range 3 { go T(); go U() } }", binomial(5, 3) * pow(2, 3), pow(3, 3) * pow(2, 3)},
		// Threads with different parameters begin apart: 1 of 2 and 2 of the other. When
		// they have ended nothing is left of the parameters.
		{"parameters", "var x uint2\nsymmetric thread T(n uint2) { skip; x = n }\ninit { go T(1); go T(1); go T(2) }", 0, 0},
		// One at a time is inside: i before, one inside or none, the others ended.
		{"mutex", "mutex m\nsymmetric thread T() { lock(m); unlock(m) }\ninit { for range 8 { go T() } }", 9 + 8, pow(2, 8) + 8*pow(2, 7)},
		// Who waits for a condition stands in a set of bits.
		{"cond", "mutex m\ncond c\nsymmetric thread T() { lock(m); wait(c, m); unlock(m) }\nthread U() { broadcast(c) }\ninit { for range 4 { go T() }; go U() }", 0, 0},
		{"meeting", "var u chan int\nsymmetric thread T() { u <- 1 }\nsymmetric thread R() { <-u }\ninit { for range 3 { go T(); go R() } }", 0, 0},
		// Created threads are exchanged, too: so many created, so many of these ended.
		{"created", "thread M() { for range 4 { go T() } }\nsymmetric thread T() { skip }\ninit { go M() }", 1 + 2 + 3 + 4 + 5, 1 + 2 + 4 + 8 + 16},
	} {
		sys := load(t, c.text)
		q, err := quotient.New(sys)
		if err != nil {
			t.Fatal(c.name, err)
		}
		states, plain := explore(t, q, full.Factory).States, explore(t, sys, full.Factory).States
		if c.states != 0 && (states != c.states || plain != c.plain) {
			t.Errorf("%s: %d states and %d orbits, want %d and %d", c.name, plain, states, c.plain, c.states)
		}
		if states >= plain {
			t.Errorf("%s: %d orbits of %d states", c.name, states, plain)
		}
		if n := explore(t, q, vectors).States; n > states {
			t.Errorf("%s: cartesian vectors cover %d of %d orbits", c.name, n, states)
		}
	}
}

// TestLift holds the traces of orbits to the plain system: they replay there, or the
// search has an error, and their findings are those of the plain search.
func TestLift(t *testing.T) {
	for _, text := range []string{
		"var x, done uint4\nsymmetric thread T(k uint4) { v := x; x = v + k; atomic { done++ }; await(done == 3); assert(x == 4) }\ninit { go T(2); go T(1); go T(1) }",
		"var m [2]mutex\nsymmetric thread T(i int) { lock(m[i]); lock(m[1-i]); unlock(m[i]); unlock(m[1-i]) }\ninit { go T(1); go T(0); go T(1) }",
		"mutex m\nsymmetric thread T() { if trylock(m) { skip }; unlock(m) }\ninit { for range 3 { go T() } }",
		"monitor m\nvar n uint4\nsymmetric thread T() { synchronized (m) { atomic { n++ }; for n < 3 { wait(m) }; notify(m) }; atomic { n-- } }\ninvariant i { count i in T { T[i]@x } < 2 }\ninit { for range 3 { go T() } }",
		"var c chan(1) uint2\nvar u chan uint2\nsymmetric thread T(k uint2) { select { case c <- k: skip; case v := <-u: assert(v != k); case u <- k: skip }; assert(len(c) < 1) }\ninit { go T(2); go T(1); go T(2) }",
	} {
		text = strings.Replace(text, "atomic { n-- }", "x: atomic { n-- }", 1)
		sys := load(t, text)
		q, err := quotient.New(sys)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range []func(system.System) search.Factory{full.Factory, vectors} {
			want, got := map[string]bool{}, map[string]bool{}
			for _, v := range explore(t, sys, f).Violations {
				want[fmt.Sprint(v.Kind, v.Pos)] = true
			}
			for _, v := range explore(t, q, f).Violations {
				if got[fmt.Sprint(v.Kind, v.Pos)] = true; v.Trace == nil {
					t.Errorf("%s: no trace: %s", text, v.TraceMissing)
				}
			}
			if fmt.Sprint(want) != fmt.Sprint(got) || len(want) == 0 {
				t.Errorf("%s: found %v, the plain search %v", text, got, want)
			}
		}
	}
}

func TestNoSymmetry(t *testing.T) {
	for _, text := range []string{
		"thread T() { skip }\ninit { go T() }",
		// A thread of a large number could not wait.
		"mutex m\ncond c\nthread M() { go T() }\nsymmetric thread T() { lock(m); wait(c, m) }\ninit { go M() }",
	} {
		if _, err := quotient.New(load(t, text)); err == nil {
			t.Errorf("%s: no error", text)
		}
	}
}
