// Package sample decides how much of a long test runs.
//
//	seeds := sample.Of(4, 24, 1000)
//
// takes 4 seeds with -short, 24 by default, and 1000 with -long. By default `go test ./...`
// takes a sample of each test, so that people run it. The step `.ci/run full` runs the tests
// of every package that imports this one with -long, and a campaign of days is
//
//	go test ./engine/search -run TestDisk -long -times 100 -timeout 0
package sample

import (
	"flag"
	"testing"
)

var (
	long  = flag.Bool("long", false, "run the long tests in full")
	times = flag.Int("times", 1, "with -long: run this many times as many programs")
)

// Long reports whether the tests run with -long.
func Long() bool { return *long }

// Of returns how many programs, seeds or rounds a test runs: with -short, by default, and
// with -long. Flags must be parsed, so it is called in tests only.
func Of[N ~int | ~uint64](short, usual, long N) N {
	switch {
	case testing.Short():
		return short
	case Long():
		return long * N(max(*times, 1))
	}
	return usual
}

// Skip skips a test that runs with -long only.
func Skip(t testing.TB) {
	t.Helper()
	if !Long() {
		t.Skip("runs with -long only")
	}
}
