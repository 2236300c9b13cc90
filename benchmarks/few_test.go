//go:build !race

package benchmarks_test

// few bounds the transitions of the rows that are counted without -long.
const few = 3e6
