package syntax

import (
	"testing"

	"cpor/frontend/source"
)

// BenchmarkParse parses a small model whose macros contain others.
func BenchmarkParse(b *testing.B) {
	f, err := source.Read("../../../benchmarks/systems/elevator.pml")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(f, nil); err != nil {
			b.Fatal(err)
		}
	}
}
