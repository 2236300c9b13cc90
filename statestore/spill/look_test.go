package spill

// What tests want to know of a set.

// all calls f for the states of a shard, and with the part of From that is kept,
// in no order that means anything. state is valid until f returns.
func (s *Set) all(shard int, f func(state []uint64, from uint64) error) error {
	var state []uint64
	for _, r := range s.shards[shard].runs {
		if err := s.merge([]*run{r}, func(c *cursor) error {
			state = decodeState(c.state, state)
			return f(state, c.from)
		}); err != nil {
			return err
		}
	}
	return nil
}

// len returns the number of states.
func (s *Set) len() (n uint64) {
	for i := range s.shards {
		s.all(i, func([]uint64, uint64) error { n++; return nil })
	}
	return n
}

// numRuns returns the number of runs of the shard that has most.
func (s *Set) numRuns() (n int) {
	for i := range s.shards {
		n = max(n, len(s.shards[i].runs))
	}
	return n
}

// memory returns the memory of the indices and buffers, in bytes, when nobody works.
func (s *Set) memory() (n uint64) {
	for i := range s.shards {
		h := &s.shards[i]
		for _, r := range h.runs {
			n += uint64(8 * (cap(r.first) + cap(r.at)))
		}
	}
	for _, x := range s.free {
		for _, c := range x.cursors {
			n += uint64(cap(c.buf))
		}
	}
	return n
}
