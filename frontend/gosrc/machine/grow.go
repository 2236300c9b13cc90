package machine

import (
	"sort"

	"cpor/frontend/gosrc/compile"
)

// classes are the sizes in which Go's allocator hands out memory: they decide about
// capacities after append, which programs print (runtime/sizeclasses.go).
var classes = []int{0, 8, 16, 24, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240,
	256, 288, 320, 352, 384, 416, 448, 480, 512, 576, 640, 704, 768, 896, 1024, 1152, 1280, 1408,
	1536, 1792, 2048, 2304, 2688, 3072, 3200, 3456, 4096, 4864, 5120, 5376, 6144, 6528, 6784, 6912,
	8192, 9472, 9728, 10240, 10880, 12288, 13568, 14336, 16384, 18432, 19072, 20480, 21760, 24576,
	27264, 28672, 32768}

const mallocHeader = 8 // of objects with pointers above 512 bytes

// growCap returns the capacity of a slice that must hold n elements, as runtime.growslice
// computes it.
func growCap(old, n int, elem elemSize) int {
	c := old
	double := c + c
	switch {
	case n > double:
		c = n
	case old < 256:
		c = double
	default:
		for c < n {
			c += (c + 3*256) >> 2
		}
	}
	if elem.bytes == 0 {
		return n
	}
	return roundUp(c*elem.bytes, elem.pointers) / elem.bytes
}

func roundUp(size int, pointers bool) int {
	want := size
	if pointers && size > 512 {
		want += mallocHeader
	}
	if want <= 32768-mallocHeader || want <= 32768 && !(pointers && size > 512) {
		i := sort.SearchInts(classes, want)
		return classes[i] - (want - size)
	}
	const page = 8192
	return (size + page - 1) / page * page
}

// elemSize is the element size, which decides about capacities.
type elemSize struct {
	bytes    int
	pointers bool
}

func elemBytes(t *compile.Type) elemSize {
	return elemSize{t.Bytes(), len(t.Refs) > 0 || t.HasStrings()}
}
