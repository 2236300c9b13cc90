package statestore

import (
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"cpor/testkit/sabotage"
)

// plainStore is the store of kind Plain: whole states in an arena, and a table
// that finds them. An entry's low part is the state's address, its hash part the
// part of the state's hash that fits.
type plainStore struct {
	ledger *ledger
	table  *table
	arena  arena

	mu       sync.Mutex // guards sessions
	sessions []*plainSession
}

const (
	addressBits = 36
	chunkShift  = 13 // of an address to the number of its chunk, from 1
	chunkWords  = 1 << chunkShift
	recordWords = 2      // before the state's own: the parent, the number of words
	chunkHeader = 24 + 8 // bytes of a slice, in chunks, and of what is known of it besides
)

// arena holds records: a state with its parent. They never move. Each session
// fills chunks of its own; small ones at first.
type arena struct {
	mu     sync.Mutex                 // guards making chunks
	chunks atomic.Pointer[[][]uint64] // replaced when one is added
	words  atomic.Uint64              // in all chunks
	// words of each chunk that its session had filled when it left it; guarded by mu
	used []uint32
	kept []uint32 // words of each chunk that are in a log (see SaveStates)
}

// record returns the parent and the state at an address.
func (a *arena) record(address uint64) (parent Ref, s []uint64) {
	c := a.from(address)
	return Ref(c[0]), c[recordWords : recordWords+c[1]]
}

// add adds a chunk and returns its number, 0 if there is no memory or no address
// for it.
func (a *arena) add(words int, l *ledger) uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	var chunks [][]uint64
	if p := a.chunks.Load(); p != nil {
		chunks = *p
	}
	n := uint64(len(chunks) + 1)
	if n<<chunkShift >= 1<<addressBits || !l.take(8*words+chunkHeader, false) {
		return 0
	}
	a.words.Add(uint64(words))
	// Readers of the old slice do not look behind its end.
	chunks = append(chunks, make([]uint64, words))
	a.used = append(a.used, 0)
	a.chunks.Store(&chunks)
	return n
}

// from returns the words from an address to the end of the chunk.
func (a *arena) from(address uint64) []uint64 {
	return (*a.chunks.Load())[address>>chunkShift-1][address&(chunkWords-1):]
}

// writer is what a session has of an arena.
type writer struct {
	arena   *arena
	ledger  *ledger
	chunk   []uint64 // what is left of the session's chunk
	number  uint64   // of the chunk, 0: none
	address uint64   // of its first word
	words   int      // the size of the last chunk
	chunks  []uint64 // the numbers of all its chunks
}

// room makes sure that the chunk has room for so many words. It returns false if there is no
// memory.
func (w *writer) room(need int) bool {
	if len(w.chunk) >= need {
		return true
	}
	size := max(min(2*w.words, chunkWords), 64, need)
	n := w.arena.add(size, w.ledger)
	if n == 0 {
		return false
	}
	w.leave()
	w.words, w.number = size, n
	w.chunks = append(w.chunks, n)
	w.address = n << chunkShift
	w.chunk = (*w.arena.chunks.Load())[n-1]
	return true
}

// commit ends a record of so many words, and returns its address.
func (w *writer) commit(words int) (address uint64) {
	address = w.address
	w.chunk = w.chunk[words:]
	w.address += uint64(words)
	return address
}

// leave notes how far the session has filled its chunk.
func (w *writer) leave() {
	if w.number == 0 {
		return
	}
	a := w.arena
	a.mu.Lock()
	defer a.mu.Unlock()
	a.used[w.number-1] = uint32(len((*a.chunks.Load())[w.number-1]) - len(w.chunk))
}

func newPlain(o Options) *plainStore {
	p := &plainStore{ledger: newLedger(o)}
	p.ledger.take(int(unsafe.Sizeof(*p)), true)
	p.table = newTable(shardBits, addressBits, p.ledger)
	return p
}

func (p *plainStore) Exact() bool                  { return true }
func (p *plainStore) Loadable() bool               { return true }
func (p *plainStore) OmissionProbability() float64 { return 0 }
func (p *plainStore) Bytes() uint64                { return uint64(p.ledger.used.Load()) }

func (p *plainStore) Len() (n uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, x := range p.sessions {
		n += x.added.Load()
	}
	return n
}

func (p *plainStore) Stats() Stats {
	s := Stats{Kind: Plain, States: p.Len(), Bytes: p.Bytes()}
	s.RootBytes = p.table.bytes()
	s.NodeBytes = p.arena.words.Load() * 8
	s.OtherBytes = s.Bytes - min(s.Bytes, s.RootBytes+s.NodeBytes)
	p.table.stats(&s)
	return s
}

// NewSession implements [Store].
func (p *plainStore) NewSession() Session {
	x := &plainSession{p: p, writer: writer{arena: &p.arena, ledger: p.ledger}}
	x.matcher = matcher{w: &x.writer, heads: recordWords}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions = append(p.sessions, x)
	return x
}

// plainSession is a session of a plainStore.
type plainSession struct {
	p *plainStore
	writer
	matcher matcher
	_       [64]byte
	added   atomic.Uint64 // read by others
	_       [56]byte
}

// matcher compares the record that is being inserted with stored ones, and writes it.
type matcher struct {
	w       *writer
	head    [recordWords]uint64 // the words before the state's own
	heads   int                 // how many words these are
	s       []uint64
	written bool
}

// is reports whether the state is the one at an address.
func (m *matcher) is(address uint64) bool {
	c := m.w.arena.from(address)
	if m.heads == recordWords {
		if c[1] != m.head[1] {
			return false
		}
	} else if packingOf(c[0]^m.head[0]) != 0 {
		return false
	}
	s := c[m.heads:][:len(m.s)]
	if n := len(s) - 1; sabotage.Is("store/last word") && n >= 0 {
		return slices.Equal(s[:n], m.s[:n]) && s[n]|1 == m.s[n]|1
	}
	for i, w := range m.s {
		if s[i] != w {
			return false
		}
	}
	return true
}

// write writes the record where it will stay if the state is new.
func (m *matcher) write() {
	if m.written {
		return
	}
	m.written = true
	copy(m.w.chunk, m.head[:m.heads])
	copy(m.w.chunk[m.heads:], m.s)
}

// entry returns the place of a state with a hash, without an address.
func (p *plainStore) entry(s []uint64) (shard, e uint64) {
	if sabotage.Is("store/last word") && len(s) > 0 {
		s = slices.Clone(s)
		s[len(s)-1] |= 1
	}
	h := hashWords(s)
	return h >> (64 - shardBits), h << shardBits &^ p.table.low
}

// Insert implements [Session].
func (x *plainSession) Insert(s []uint64, parent Ref) (Ref, bool, error) {
	shard, e := x.p.entry(s)
	m := &x.matcher
	m.head = [recordWords]uint64{uint64(parent), uint64(len(s))}
	m.s, m.written = s, false
	need := recordWords + len(s)
	if !x.room(need) {
		if e, ok := x.p.table.find(shard, e, m); ok {
			return Ref(e & x.p.table.low), false, nil
		}
		return 0, false, ErrFull
	}
	old, full := x.p.table.insert(shard, e|x.address, false, m)
	switch {
	case full:
		return 0, false, ErrFull
	case old != 0:
		return Ref(old & x.p.table.low), false, nil
	}
	x.added.Add(1)
	return Ref(x.commit(need)), true, nil
}

// Find implements [Session].
func (x *plainSession) Find(s []uint64) (Ref, bool) {
	shard, e := x.p.entry(s)
	x.matcher.s, x.matcher.head[1] = s, uint64(len(s))
	e, ok := x.p.table.find(shard, e, &x.matcher)
	return Ref(e & x.p.table.low), ok
}

// Load implements [Session].
func (x *plainSession) Load(ref Ref, dst []uint64) []uint64 {
	_, s := x.p.arena.record(uint64(ref))
	return append(dst[:0], s...)
}

// Parents implements [Session]. There is one candidate, the true parent.
func (x *plainSession) Parents(ref Ref, yield func(Ref) bool) {
	if p, _ := x.p.arena.record(uint64(ref)); p != 0 {
		yield(p)
	}
}
