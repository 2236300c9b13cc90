package unfolding

import "slices"

// histories are configurations that a worker keeps, each the history of an event, so that
// the history of an event that follows is made from it in one step.
type histories struct {
	all   []*kept
	where map[uint32]*kept // by the events in their chains
	bytes int
	limit int    // of the bytes
	short uint32 // so many events are made a history faster than found
	turn  int    // where to look next for one that is no more needed
}

// kept is one of them: what it was the history of lately, one event behind the other.
type kept struct {
	c     *config
	chain []reached
	bytes int
}

// reached says when the configuration was the history of an event.
type reached struct {
	event uint32
	at    checkpoint
}

// Of a history that is kept the last steps can be taken back, maxChain events. One that
// nothing has gone on from for maxIdle sizes is given up if there is no room.
const (
	maxShort = 32
	maxChain = 8
	maxIdle  = 4
)

// after returns a configuration for a history of a size that goes on from that of one of
// the events given, and is that one's; or an empty one, with an empty chain; or nil if there is no room.
func (h *histories) after(events []uint32, size uint32, p *prefix) *kept {
	var from *kept
	var at int
	for _, f := range events {
		if k := h.where[f]; k != nil {
			i := slices.IndexFunc(k.chain, func(x reached) bool { return x.event == f })
			if from == nil || k.chain[i].at.size > from.chain[at].at.size {
				from, at = k, i
			}
		}
	}
	if from == nil {
		return h.spare(size, p)
	}
	for _, x := range from.chain[at+1:] {
		h.leave(from, x.event)
	}
	from.chain = from.chain[:at+1]
	from.c.rewind(from.chain[at].at)
	return from
}

// spare returns a configuration that is not needed, with an empty chain, or nil.
func (h *histories) spare(size uint32, p *prefix) *kept {
	if h.bytes < h.limit {
		k := &kept{c: newConfig(p)}
		h.all = append(h.all, k)
		return k
	}
	for range min(8, len(h.all)) {
		h.turn = (h.turn + 1) % len(h.all)
		k := h.all[h.turn]
		if k.chain[len(k.chain)-1].at.size+maxIdle < size {
			for _, x := range k.chain {
				h.leave(k, x.event)
			}
			k.chain = k.chain[:0]
			return k
		}
	}
	return nil
}

// leave forgets that a configuration can be the history of an event again.
func (h *histories) leave(k *kept, e uint32) {
	if h.where[e] == k {
		delete(h.where, e)
	}
}

// reach notes that a configuration has become the history of an event.
func (h *histories) reach(k *kept, e uint32) {
	if n := len(k.chain); n == maxChain {
		h.leave(k, k.chain[0].event)
		k.chain = append(k.chain[:0], k.chain[1:]...)
		k.c.forget(k.chain[0].at)
	}
	k.chain = append(k.chain, reached{e, k.c.mark()})
	h.where[e] = k
	now := k.c.bytes()
	h.bytes += now - k.bytes
	k.bytes = now
}
