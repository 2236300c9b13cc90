package statestore

import (
	"slices"
	"unsafe"

	"github.com/cespare/xxhash/v2"
)

const (
	// sampleStates is how many states of a length are looked at before the
	// length's shape is chosen; sampleWords limits the memory for that.
	sampleStates = 2048
	sampleWords  = 1 << 17

	// The Ref of a sample is a length and a number, from 1.
	sampleBits = 28
	maxLength  = 1<<(idsBits-sampleBits) - 1
)

// samples holds the first states of a length, from which its shape is learned: before, the states
// themselves; afterwards only what keeps their Refs valid. The shape's mutex guards it until the
// shape is learned. After that it does not change.
type samples struct {
	n       int
	most    int      // states
	words   []uint64 // the states; nil when the shape is learned
	parents []Ref
	keys    []uint64 // afterwards: the states' keys
	index   []uint16 // open addressing by hash: numbers of states, 0 is free
}

func sampleRef(n, number int) Ref { return Ref(n<<sampleBits | number) }

func splitSampleRef(r Ref) (n, number int) {
	return int(r >> sampleBits), int(r & (1<<sampleBits - 1))
}

func newSamples(n, most int) *samples {
	return &samples{n: n, most: most, index: make([]uint16, 64)}
}

func (y *samples) bytes() int {
	return int(unsafe.Sizeof(*y)) + 8*(cap(y.words)+cap(y.parents)+cap(y.keys)) + 2*cap(y.index)
}

func (y *samples) state(number int) []uint64 { return y.words[(number-1)*y.n : number*y.n] }

// full reports whether it is time to choose the shape.
func (y *samples) full() bool {
	return len(y.parents) >= y.most || len(y.parents) > 0 && len(y.words)+y.n > sampleWords
}

// hashWords is the hash of a whole state.
func hashWords(s []uint64) uint64 {
	if len(s) == 0 {
		return 0
	}
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 8*len(s)))
}

// find returns the number of s, 0 if it is not there, and then the place in the
// index where it would be.
func (y *samples) find(s []uint64) (number int, at uint64) {
	mask := uint64(len(y.index) - 1)
	for at = hashWords(s) & mask; y.index[at] != 0; at = (at + 1) & mask {
		if number = int(y.index[at]); slices.Equal(y.state(number), s) {
			return number, at
		}
	}
	return 0, at
}

// add adds s, which is not there, at the place in the index that find returned.
func (y *samples) add(s []uint64, parent Ref, at uint64) (number int) {
	y.words = append(y.words, s...)
	y.parents = append(y.parents, parent)
	number = len(y.parents)
	y.index[at] = uint16(number)
	if 2*number > len(y.index) {
		y.index = make([]uint16, 2*len(y.index))
		for i := 1; i < number+1; i++ {
			_, at := y.find(y.state(i))
			y.index[at] = uint16(i)
		}
	}
	return number
}

// parent returns the index of the parent of state i, both counting from 0, or -1
// if it is not one of the states.
func (y *samples) parent(i int) int {
	n, number := splitSampleRef(y.parents[i])
	if y.parents[i] == 0 || n != y.n || number > len(y.parents) {
		return -1
	}
	return number - 1
}

// changes returns in how many of the states some bits of a word are not those of
// the state's parent.
func (y *samples) changes(word int32, mask uint64) (n int) {
	for i := range y.parents {
		if p := y.parent(i); p >= 0 && (y.state(i + 1)[word]^y.state(p + 1)[word])&mask != 0 {
			n++
		}
	}
	return n
}

// freeze keeps of the states only their keys, in their order.
func (y *samples) freeze(keys []uint64) {
	y.words = nil
	y.keys = slices.Clip(keys)
	y.parents = slices.Clip(y.parents)
	size := 64
	for size < 2*len(keys) {
		size *= 2
	}
	y.index = make([]uint16, size)
	mask := uint64(size - 1)
	for i, k := range keys {
		at := hashNode(k) & mask
		for y.index[at] != 0 {
			at = (at + 1) & mask
		}
		y.index[at] = uint16(i + 1)
	}
}

// withKey returns the number of the state with a key; 0 if there is none.
func (y *samples) withKey(key uint64) int {
	mask := uint64(len(y.index) - 1)
	for at := hashNode(key) & mask; y.index[at] != 0; at = (at + 1) & mask {
		if n := int(y.index[at]); y.keys[n-1] == key {
			return n
		}
	}
	return 0
}
