//go:build race

package benchmarks_test

// few is smaller under the race detector, which makes searches twenty times slower.
func few() uint64 { return 1e5 }
