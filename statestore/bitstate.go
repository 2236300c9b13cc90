package statestore

import (
	"math/bits"
	"sync"
	"sync/atomic"
)

// bitstateStore is the store of kind Bitstate: a Bloom filter in an array of
// fixed size, with bitsPerState bits for each state (Holzmann, FMSD 1998, uses as
// many by default).
//
// The bits of a state are in one word. One atomic or sets them all and reports whether one was
// missing, so of several workers that insert equal states, exactly one learns that the state is
// new, and a state costs one cache miss. The words do not fill evenly, so some more states are
// omitted than in a filter whose bits are anywhere; OmissionProbability accounts for that.
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
// array; see [blockedOmissions].
func (b *bitstateStore) OmissionProbability() float64 {
	n := float64(b.Len())
	omitted := blockedOmissions(n, float64(len(b.words)))
	if n+omitted == 0 {
		return 0
	}
	return omitted / (n + omitted)
}

// blockedOmissions returns the expected number of states that were omitted when a filter of that
// many words has stored n.
//
// The words are independent, and what happens to one is a Markov chain of the
// number of its bits that are set: new states choose it at the rate 1, and choose
// bitsPerState of its bits, with repetitions. If k bits are set, all that a state
// chooses are with the probability (k/64)^bitsPerState, and then it is omitted.
// The distribution of k is followed in small steps of time until n states are
// stored.
func blockedOmissions(n, words float64) float64 {
	// A saturated filter stores no more, and cannot know what it omitted.
	const maxTime = 400
	var p, q [65]float64
	p[0] = 1
	perWord := n / words
	stored, omitted := 0.0, 0.0
	for time := 0.0; stored < perWord && time < maxTime; {
		miss := 0.0
		for k := range p {
			f := float64(k) / 64
			miss += p[k] * f * f * f
		}
		step := min(0.05, (perWord-stored)/max(1-miss, 1e-6))
		time += step
		stored += step * (1 - miss)
		omitted += step * miss
		// One state's bits, one after another, for the share of the words
		// that one chooses in this step.
		q = p
		for range bitsPerState {
			for k := 64; k > 0; k-- {
				q[k] = q[k]*float64(k)/64 + q[k-1]*float64(65-k)/64
			}
			q[0] = 0
		}
		for k := range p {
			p[k] += step * (q[k] - p[k])
		}
	}
	return omitted * words
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
	s.ExpectedOmissions = blockedOmissions(float64(s.States), float64(len(b.words)))
	return s
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
