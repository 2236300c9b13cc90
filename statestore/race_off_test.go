//go:build !race

package statestore

const slow = 1
