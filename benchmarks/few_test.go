//go:build !race

package benchmarks_test

import "testing"

// few bounds the transitions of the rows that are counted without -long.
func few() uint64 {
	if testing.Short() {
		return 5e5
	}
	return 3e6
}
