//go:build race

package benchmarks_test

// few is smaller under the race detector, which makes searches twenty times slower.
const few = 1e5
