package spill

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sort"
	"sync"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"cpor/statestore"
)

const (
	shardBits = 4
	// Shards is how many parts a set has. Each may be used by one goroutine at a time.
	Shards = 1 << shardBits
	// fromBytes are the bytes in which From is kept, the highest of the hash.
	fromBytes = 5
)

// Hash is the hash of a state by which sets are sorted.
func Hash(s []uint64) uint64 {
	if len(s) == 0 {
		return 0
	}
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(s))), 8*len(s)))
}

// Shard returns the part of a set that states with a hash belong to.
func Shard(hash uint64) int { return int(hash >> (64 - shardBits)) }

// Entry is a state to be looked up or added. The state itself is in a store in memory.
type Entry struct {
	Hash uint64
	Ref  statestore.Ref
	// the highest FromBits bits: of the hash of the state before it; the others are the caller's
	From uint64
}

// FromBits is how many bits of an Entry's From are kept.
const FromBits = 36

// Sort sorts entries by their hashes, as Sift and Add want them.
func Sort(entries []Entry) {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Hash, b.Hash) })
}

// Set is a set of states on a disk.
type Set struct {
	dir    *Dir
	shards [Shards]shard

	mu   sync.Mutex
	free []*scratch
}

type shard struct {
	runs []*run // the oldest and largest first
}

// scratch are the buffers of a goroutine.
type scratch struct {
	buf     []byte // an encoded state
	cursors []*cursor
}

// scratch returns buffers that nobody uses; done gives them back.
func (s *Set) scratch() (x *scratch, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x = &scratch{}
	if n := len(s.free); n > 0 {
		x, s.free = s.free[n-1], s.free[:n-1]
	}
	return x, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.free = append(s.free, x)
	}
}

// NewSet returns an empty set in a directory.
func NewSet(d *Dir) *Set { return &Set{dir: d} }

// run is a sorted file.
type run struct {
	f     *file
	first []uint64 // the first hash of each block
	at    []int64  // where each block begins
}

// Sift calls covered for the entries, sorted and all of one shard, whose states are in
// the set. state gives the state of an entry, valid until it is called again. The
// error is ctx's cause once that has ended.
func (s *Set) Sift(ctx context.Context, shard int, entries []Entry, state func(Entry) []uint64,
	covered func(i int)) error {
	if len(entries) == 0 {
		return nil
	}
	x, done := s.scratch()
	defer done()
	for _, r := range s.shards[shard].runs {
		c := x.cursor(0)
		c.open(s.dir, r)
		c.ctx = ctx
		for i := 0; i < len(entries); {
			j := i + 1
			for j < len(entries) && entries[j].Hash == entries[i].Hash {
				j++
			}
			if err := c.seek(entries[i].Hash); err != nil {
				return err
			}
			for !c.ended && c.hash == entries[i].Hash {
				for k := i; k < j; k++ {
					x.buf = appendState(x.buf[:0], state(entries[k]))
					if bytes.Equal(x.buf, c.state) {
						covered(k)
						break
					}
				}
				if err := c.next(); err != nil {
					return err
				}
			}
			if c.ended {
				break
			}
			i = j
		}
	}
	return nil
}

// cursor returns the n-th cursor.
func (x *scratch) cursor(n int) *cursor {
	for len(x.cursors) <= n {
		x.cursors = append(x.cursors, &cursor{})
	}
	return x.cursors[n]
}

// Add adds states that are not in the set, as a run: the entries are sorted and all of
// one shard.
func (s *Set) Add(shard int, entries []Entry, state func(Entry) []uint64) error {
	if len(entries) == 0 {
		return nil
	}
	h := &s.shards[shard]
	x, done := s.scratch()
	defer done()
	r, err := s.write(func(w *runWriter) error {
		for _, e := range entries {
			x.buf = appendState(x.buf[:0], state(e))
			if err := w.add(e.Hash, e.From, x.buf); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	h.runs = append(h.runs, r)
	return nil
}

// Merge merges the runs of a shard, if that is due.
func (s *Set) Merge(shard int) error {
	h := &s.shards[shard]
	if len(h.runs) < 2 {
		return nil
	}
	last := len(h.runs) - 1
	sum := h.runs[last].f.size
	from := last
	for from > 0 && h.runs[from-1].f.size < 2*sum {
		from--
		sum += h.runs[from].f.size
	}
	if from == last {
		return nil
	}
	r, err := s.write(func(w *runWriter) error {
		return s.merge(h.runs[from:], func(c *cursor) error {
			return w.add(c.hash, c.from, c.state)
		})
	})
	if err != nil {
		return err
	}
	for _, old := range h.runs[from:] {
		err = errors.Join(err, s.dir.remove(old.f, true))
	}
	h.runs = append(h.runs[:from], r)
	return err
}

// merge calls f for the records of some runs, in the order of their hashes.
func (s *Set) merge(runs []*run, f func(c *cursor) error) error {
	x, done := s.scratch()
	defer done()
	for i, r := range runs {
		c := x.cursor(i)
		c.open(s.dir, r)
		if err := c.next(); err != nil {
			return err
		}
	}
	for {
		var least *cursor
		for i := range runs {
			if c := x.cursors[i]; !c.ended && (least == nil || c.hash < least.hash) {
				least = c
			}
		}
		if least == nil {
			return nil
		}
		if err := f(least); err != nil {
			return err
		}
		if err := least.next(); err != nil {
			return err
		}
	}
}

// Lookup calls yield for the states whose hashes begin as from does, and with the part
// of From that is kept of them, until yield returns false. state is valid until yield
// returns.
func (s *Set) Lookup(from uint64, yield func(state []uint64, from uint64) bool) error {
	const rest = 1<<(64-FromBits) - 1
	lo, hi := from&^rest, from|rest
	h := &s.shards[Shard(from)]
	var state []uint64
	for _, r := range h.runs {
		c := new(cursor)
		c.open(s.dir, r)
		if err := c.seek(lo); err != nil {
			return err
		}
		for !c.ended && c.hash <= hi {
			state = decodeState(c.state, state)
			if !yield(state, c.from) {
				return nil
			}
			if err := c.next(); err != nil {
				return err
			}
		}
	}
	return nil
}

// Close removes the files.
func (s *Set) Close() (err error) {
	for i := range s.shards {
		for _, r := range s.shards[i].runs {
			err = errors.Join(err, s.dir.remove(r.f, true))
		}
		s.shards[i] = shard{}
	}
	return err
}

// runWriter writes a run. A record is the difference of its hash to the one before in
// the block, the part of From, and the state.
type runWriter struct {
	w    *writer
	r    *run
	last uint64
}

// write writes a run. If it fails nothing is left of it.
func (s *Set) write(fill func(w *runWriter) error) (*run, error) {
	f, err := s.dir.create()
	if err != nil {
		return nil, err
	}
	w := &runWriter{w: newWriter(f), r: &run{f: f}}
	err = fill(w)
	if err == nil {
		err = w.w.flush()
	}
	if err != nil {
		s.dir.remove(f, false)
		return nil, err
	}
	s.dir.wrote(f)
	return w.r, nil
}

func (w *runWriter) add(hash, from uint64, state []byte) error {
	if len(w.w.buf) == headerBytes {
		w.r.first = append(w.r.first, hash)
		w.r.at = append(w.r.at, w.w.f.size)
		w.last = 0
	}
	b := binary.AppendUvarint(w.w.buf, hash-w.last)
	w.last = hash
	kept := from >> (64 - 8*fromBytes)
	b = append(b, byte(kept>>32), byte(kept>>24), byte(kept>>16), byte(kept>>8), byte(kept))
	w.w.buf = append(b, state...)
	if w.w.full() {
		return w.w.flush()
	}
	return nil
}

// cursor reads a run.
type cursor struct {
	dir   *Dir
	ctx   context.Context // nil: nothing ends it
	r     *run
	block int // the number of the next block
	buf   []byte
	rest  []byte // of the block

	// The record: ended is set behind the last.
	hash, from uint64
	state      []byte
	ended      bool
}

func (c *cursor) open(d *Dir, r *run) {
	*c = cursor{dir: d, r: r, buf: c.buf}
}

// load reads a block.
func (c *cursor) load(block int) error {
	if c.ctx != nil && c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	b, err := c.r.f.read(c.r.at[block], uint32(block), c.buf)
	if err != nil {
		return err
	}
	c.dir.read.Add(int64(len(b)))
	c.buf, c.rest, c.block, c.hash = b, b[headerBytes:], block+1, 0
	return nil
}

// next goes to the next record.
func (c *cursor) next() error {
	if len(c.rest) == 0 {
		if c.block == len(c.r.first) {
			c.ended = true
			return nil
		}
		if err := c.load(c.block); err != nil {
			return err
		}
	}
	d, n := binary.Uvarint(c.rest)
	if n <= 0 || len(c.rest) < n+fromBytes {
		return c.strange()
	}
	c.hash += d
	b := c.rest[n:]
	c.from = (uint64(b[0])<<32 | uint64(b[1])<<24 | uint64(b[2])<<16 | uint64(b[3])<<8 | uint64(
		b[4])) << (64 - 8*fromBytes)
	var ok bool
	if c.state, c.rest, ok = cutState(b[fromBytes:]); !ok {
		return c.strange()
	}
	return nil
}

func (c *cursor) strange() error {
	return &Damaged{c.r.f.Name(), c.r.at[c.block-1], "a block ends within a state"}
}

// seek continues to the first record with this hash or a higher one.
func (c *cursor) seek(hash uint64) error {
	if c.ended || c.state != nil && c.hash >= hash {
		return nil
	}
	// The last block that begins with a lower hash.
	later := c.r.first[c.block:]
	if n := sort.Search(len(later), func(i int) bool { return later[i] >= hash }); n > 0 {
		if err := c.load(c.block + n - 1); err != nil {
			return err
		}
	}
	for {
		if err := c.next(); err != nil || c.ended || c.hash >= hash {
			return err
		}
	}
}
