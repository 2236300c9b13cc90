package statestore

import (
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"cpor/internal/probe"
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
// shape is learned, except for the view. After that it does not change.
type samples struct {
	n       int
	most    int // states
	view    atomic.Pointer[view]
	parents []Ref
	keys    []uint64 // afterwards: the states' keys
	index   []uint16 // afterwards, open addressing by hash: numbers of states, 0 is free
}

// view is the states, which workers look up without the mutex; nil when the shape is learned. One
// without room is replaced. Whoever still has it finds all states but the latest.
type view struct {
	n     int
	words []uint64        // of all states that there is room for
	index []atomic.Uint64 // open addressing by hash: hashes with numbers of states, 0 is free
}

// The entries of the index have a state's number and the higher bits of its hash.
const (
	numberBits = 16
	numberMask = 1<<numberBits - 1
)

func sampleRef(n, number int) Ref { return Ref(n<<sampleBits | number) }

func splitSampleRef(r Ref) (n, number int) {
	return int(r >> sampleBits), int(r & (1<<sampleBits - 1))
}

func newSamples(n, most int) *samples {
	y := &samples{n: n, most: most}
	y.view.Store(&view{n: n, index: make([]atomic.Uint64, 32)})
	return y
}

func (y *samples) bytes() int {
	b := int(unsafe.Sizeof(*y)) + 8*(cap(y.parents)+cap(y.keys)) + 2*cap(y.index)
	if v := y.view.Load(); v != nil {
		b += int(unsafe.Sizeof(*v)) + 8*(len(v.words)+len(v.index))
	}
	return b
}

func (v *view) state(number int) []uint64 { return v.words[(number-1)*v.n : number*v.n] }

// full reports whether it is time to choose the shape.
func (y *samples) full() bool {
	k := len(y.parents)
	return k >= min(y.most, numberMask) || k > 0 && (k+1)*y.n > sampleWords
}

// hashWords is the hash of a whole state.
func hashWords(s []uint64) uint64 {
	if len(s) == 0 {
		return 0
	}
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 8*len(s)))
}

// find returns the number of s, whose hash is h; 0 if it is not there.
func (y *samples) find(s []uint64, h uint64) (number int) {
	if v := y.view.Load(); v != nil {
		number, _ = v.find(s, h)
	}
	return number
}

// find also returns the place in the index where s is or would be.
func (v *view) find(s []uint64, h uint64) (number int, at uint64) {
	mask := uint64(len(v.index) - 1)
	for at = h >> numberBits & mask; ; at = (at + 1) & mask {
		probe.Read(probe.SampleIndex, unsafe.Pointer(&v.index[at]))
		e := v.index[at].Load()
		if e == 0 {
			return 0, at
		}
		if (e^h)&^numberMask != 0 {
			continue
		}
		switch number = int(e & numberMask); {
		case number*v.n > len(v.words):
			return 0, at // there is a view with more room; the index is the same
		case slices.Equal(v.state(number), s):
			return number, at
		}
	}
}

// add adds s, whose hash is h and which is not there. The shape's mutex is locked.
func (y *samples) add(s []uint64, parent Ref, h uint64) (number int) {
	y.parents = append(y.parents, parent)
	number = len(y.parents)
	v := y.view.Load()
	if 2*number > len(v.index) || number*y.n > len(v.words) {
		v = y.enlarge(number)
	}
	copy(v.state(number), s)
	v.enter(h&^numberMask | uint64(number))
	return number
}

// enter puts an entry into the index.
func (v *view) enter(e uint64) {
	mask := uint64(len(v.index) - 1)
	at := e >> numberBits & mask
	for v.index[at].Load() != 0 {
		at = (at + 1) & mask
	}
	probe.Write(probe.SampleIndex, unsafe.Pointer(&v.index[at]))
	v.index[at].Store(e)
}

// enlarge makes and publishes a view with room for number states. It has the same states.
func (y *samples) enlarge(number int) *view {
	old := y.view.Load()
	v := &view{n: y.n, words: old.words, index: old.index}
	if number*y.n > len(v.words) {
		v.words = make([]uint64, min(max(2*number, 16), max(number, y.most))*y.n)
		copy(v.words, old.words)
	}
	if 2*number > len(v.index) {
		v.index = make([]atomic.Uint64, 2*len(v.index))
		for i := range old.index {
			if e := old.index[i].Load(); e != 0 {
				v.enter(e)
			}
		}
	}
	y.view.Store(v)
	return v
}

// restore makes the view of states that come from a file. It returns false if they cannot be those
// of the samples.
func (y *samples) restore(words []uint64) bool {
	k := len(y.parents)
	if len(words) != k*y.n || k > numberMask {
		return false
	}
	size := 32
	for size < 2*k {
		size *= 2
	}
	y.index = nil
	v := &view{n: y.n, words: words, index: make([]atomic.Uint64, size)}
	for i := 1; i <= k; i++ {
		v.enter(hashWords(v.state(i))&^numberMask | uint64(i))
	}
	y.view.Store(v)
	return true
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

// freeze keeps of the states only their keys, in their order.
func (y *samples) freeze(keys []uint64) {
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
