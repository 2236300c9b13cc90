package model

// Samples sets how much is tried to learn bounds, and returns a function that takes it back.
func Samples(breadth, length, depth int) (restore func()) {
	old := samples
	samples.breadth, samples.length, samples.depth = breadth, length, depth
	return func() { samples = old }
}
