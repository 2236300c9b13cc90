package statestore

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"
)

// bitstateStore is the store of kind Bitstate: a Bloom filter in an array of
// fixed size, with bitsPerState bits for each state (Holzmann, FMSD 1998, uses as
// many by default).
//
// The bits of a state stand in one word. One atomic or sets them all and tells
// whether one was missing, so that of workers that insert equal states exactly
// one is told that the state is new, and a state costs one cache miss. The words
// do not fill evenly, so some more states are omitted than in a filter whose bits
// are anywhere; OmissionProbability accounts for that.
type bitstateStore struct {
	words    []uint64
	mu       sync.Mutex // guards sessions
	sessions []*bitstateSession
}

const (
	bitsPerState = 3
	// bitstateBytes is the size of the array if Options.MaxBytes is 0.
	bitstateBytes = 64 << 20
)

func newBitstate(o Options) *bitstateStore {
	b := o.MaxBytes
	if b == 0 {
		b = bitstateBytes
	}
	return &bitstateStore{words: make([]uint64, max(1, b/8))}
}

func (b *bitstateStore) Exact() bool    { return false }
func (b *bitstateStore) Loadable() bool { return false }
func (b *bitstateStore) Bytes() uint64  { return uint64(len(b.words)) * 8 }

func (b *bitstateStore) Len() (n uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, x := range b.sessions {
		n += x.added.Load()
	}
	return n
}

// OmissionProbability is estimated from the number of states and the size of the
// array: if n states are stored, the number of states of a word is
// Poisson-distributed with mean n/words; a new state whose word has j is taken
// for covered if all of its bits are set, which has the probability
// (1-(63/64)^(bitsPerState*j))^bitsPerState. What is returned is the mean of that
// over the search, from the first state to the last.
func (b *bitstateStore) OmissionProbability() float64 {
	n := float64(b.Len())
	const steps = 32
	sum := 0.0
	for i := range steps {
		sum += blockedFilter(n * (float64(i) + 0.5) / steps / float64(len(b.words)))
	}
	return sum / steps
}

// blockedFilter returns the probability that a new state is taken for covered
// when there are so many states for each word.
func blockedFilter(mean float64) float64 {
	p, sum := math.Exp(-mean), 0.0
	if p == 0 {
		return 1 // hundreds of states in 64 bits
	}
	for j := 0; ; j++ {
		set := 1 - math.Pow(63.0/64, float64(bitsPerState*j))
		sum += p * math.Pow(set, bitsPerState)
		p *= mean / float64(j+1)
		if float64(j) > mean && p < 1e-18 {
			return min(sum, 1)
		}
	}
}

func (b *bitstateStore) Stats() Stats {
	s := Stats{Kind: Bitstate, States: b.Len(), Bytes: b.Bytes()}
	s.RootBytes = s.Bytes
	s.Slots = uint64(len(b.words)) * 64
	set := 0
	for i := range b.words {
		set += bits.OnesCount64(atomic.LoadUint64(&b.words[i]))
	}
	s.Load = float64(set) / float64(s.Slots)
	s.ExpectedOmissions = expectedOmissions(s.States, b.OmissionProbability())
	return s
}

// expectedOmissions returns how many of the states that were new were omitted if
// each was with probability p and stored states were not.
func expectedOmissions(stored uint64, p float64) float64 {
	return float64(stored) * p / max(1-p, 1e-9)
}

// NewSession implements [Store].
func (b *bitstateStore) NewSession() Session {
	x := &bitstateSession{b: b}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sessions = append(b.sessions, x)
	return x
}

// bitstateSession is a session of a bitstateStore.
type bitstateSession struct {
	b     *bitstateStore
	_     [64]byte
	added atomic.Uint64
	_     [56]byte
}

// place returns the word of a state, its bits there and its Ref.
func (x *bitstateSession) place(s []uint64) (word *uint64, mask uint64, ref Ref) {
	h := hashWords(s)
	// The word by the high bits, the bits in it by the low ones.
	i, _ := bits.Mul64(h, uint64(len(x.b.words)))
	for j := range bitsPerState {
		mask |= 1 << (h >> (6 * j) & 63)
	}
	return &x.b.words[i], mask, Ref(max(h, 1))
}

// Insert implements [Session]. The error is always nil.
func (x *bitstateSession) Insert(s []uint64, _ Ref) (Ref, bool, error) {
	word, mask, ref := x.place(s)
	// Most are covered: look first, so that the line stays shared.
	if atomic.LoadUint64(word)&mask == mask || atomic.OrUint64(word, mask)&mask == mask {
		return ref, false, nil
	}
	x.added.Add(1)
	return ref, true, nil
}

// Find implements [Session].
func (x *bitstateSession) Find(s []uint64) (Ref, bool) {
	word, mask, ref := x.place(s)
	if atomic.LoadUint64(word)&mask != mask {
		return 0, false
	}
	return ref, true
}

// Load implements [Session].
func (x *bitstateSession) Load(Ref, []uint64) []uint64 { return nil }

// Parents implements [Session].
func (x *bitstateSession) Parents(Ref, func(Ref) bool) {}
