//go:build race

package statestore

// slow divides the sizes of tests: the race detector makes an atomic operation
// cost a hundred times what it does without.
const slow = 8
