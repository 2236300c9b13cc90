package ample

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"sync"

	"cpor/statestore"
	"cpor/testkit/sabotage"
)

// chains decides which reduced expansions stand: the condition of the package documentation,
// that following justifications never leads round in a circle. All workers of a search share it.
//
// Every state that is justified by another one, or justifies one, belongs to a chain. A chain is
// a path of justifications; the state at its end is the only one of it that is undecided. If that
// state is justified by a state of another chain, its chain is joined to that one; if it is
// expanded fully, its chain is joined to the chain complete. So the end of the
// justifications that begin in a state is known from its chain alone.
type chains struct {
	shards [256]shard

	mu   sync.Mutex
	next []uint32 // by chain: the one that it was joined to; itself if to none
}

// shard is a part of the states that are known. A state that is not is undecided, and in no chain.
type shard struct {
	sync.Mutex
	of map[statestore.Ref]uint32 // by state: its chain, times two, and one more if it is decided
	_  [48]byte                  // keeps the locks of neighbors apart
}

// complete is the chain of states from which justifications lead to a full expansion.
const complete = 0

const decided = 1

func newChains() *chains {
	c := &chains{next: []uint32{complete}}
	for i := range c.shards {
		c.shards[i].of = map[statestore.Ref]uint32{}
	}
	return c
}

func (c *chains) shard(ref statestore.Ref) *shard {
	return &c.shards[uint64(ref)*0x9e3779b97f4a7c15>>56]
}

// decided tells whether it was decided already how a state is expanded: then the expansion was
// broken off and is made once more.
func (c *chains) decided(ref statestore.Ref) bool {
	s := c.shard(ref)
	s.Lock()
	defer s.Unlock()
	return s.of[ref]&decided != 0
}

// expanded decides that a state is expanded fully.
func (c *chains) expanded(ref statestore.Ref) {
	s := c.shard(ref)
	s.Lock()
	of := s.of[ref]
	s.of[ref] = complete<<1 | decided
	s.Unlock()
	if chain := of >> 1; chain != complete && of&decided == 0 {
		c.mu.Lock()
		c.next[c.root(chain)] = complete
		c.mu.Unlock()
	}
}

// justify decides that a state is justified by one of those that its moves lead to, if that
// makes no circle.
func (c *chains) justify(ref statestore.Ref, by []statestore.Ref) bool {
	s := c.shard(ref)
	s.Lock()
	of, known := s.of[ref]
	if !known {
		of = c.begin() << 1
		s.of[ref] = of
	}
	s.Unlock()
	if of>>1 == complete {
		return false
	}
	for _, to := range by {
		if to == ref || !c.join(of>>1, to) {
			continue
		}
		s.Lock()
		s.of[ref] = of | decided
		s.Unlock()
		return true
	}
	return false
}

// most is how many chains there can be. States that need more are expanded fully.
const most = 1<<31 - 1

// begin begins a chain. It returns complete if there are too many.
func (c *chains) begin() uint32 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.next) == most {
		return complete
	}
	n := uint32(len(c.next))
	c.next = append(c.next, n)
	return n
}

// join lets the chain of an undecided state go on with another state.
func (c *chains) join(chain uint32, to statestore.Ref) bool {
	s := c.shard(to)
	s.Lock()
	of, known := s.of[to]
	if !known {
		s.of[to] = chain << 1
	}
	s.Unlock()
	if !known {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	from, end := c.root(chain), c.root(of>>1)
	if from == end {
		return sabotage.Is("ample/proviso")
	}
	c.next[from] = end
	return true
}

// root returns the chain that a chain has been joined to in the end.
func (c *chains) root(chain uint32) uint32 {
	for c.next[chain] != chain {
		c.next[chain] = c.next[c.next[chain]]
		chain = c.next[chain]
	}
	return chain
}

// save writes all that is known. No worker is at work.
func (c *chains) save(w io.Writer) error {
	out := bufio.NewWriter(w)
	put := func(n uint64) {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], n)
		out.Write(b[:]) // Flush has the error
	}
	put(uint64(len(c.next)))
	for _, n := range c.next {
		put(uint64(n))
	}
	n := 0
	for i := range c.shards {
		n += len(c.shards[i].of)
	}
	put(uint64(n))
	for i := range c.shards {
		for ref, of := range c.shards[i].of {
			put(uint64(ref))
			put(uint64(of))
		}
	}
	return out.Flush()
}

// restore reads what save wrote, and nothing behind it.
func (c *chains) restore(r io.Reader) error {
	get := func() (n uint64, err error) {
		var b [8]byte
		_, err = io.ReadFull(r, b[:])
		return binary.LittleEndian.Uint64(b[:]), err
	}
	list := func(add func(n uint64) error) error {
		n, err := get()
		for ; n > 0 && err == nil; n-- {
			var x uint64
			if x, err = get(); err == nil {
				err = add(x)
			}
		}
		return err
	}
	c.next = c.next[:0]
	for i := range c.shards {
		clear(c.shards[i].of)
	}
	err := list(func(n uint64) error {
		c.next = append(c.next, uint32(n))
		return nil
	})
	if err != nil {
		return err
	}
	if len(c.next) == 0 || slices.ContainsFunc(c.next, c.none) {
		return errors.New("the chains of ample sets are damaged")
	}
	return list(func(ref uint64) error {
		of, err := get()
		if err == nil && c.none(uint32(of>>1)) {
			err = errors.New("a state of ample sets is damaged")
		}
		c.shard(statestore.Ref(ref)).of[statestore.Ref(ref)] = uint32(of)
		return err
	})
}

// none tells whether there is no chain with a number.
func (c *chains) none(chain uint32) bool { return int(chain) >= len(c.next) }
