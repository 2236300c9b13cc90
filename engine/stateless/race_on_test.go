//go:build race

package stateless

const raceEnabled = true
