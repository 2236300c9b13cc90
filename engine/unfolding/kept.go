package unfolding

import (
	"slices"
	"sync"
)

// histories are configurations that are kept, each the history of an event, so that
// the history of an event that follows is made from it in one step. All workers
// share them; each is in the hands of one worker at a time.
type histories struct {
	short uint32 // so many events are made a history faster than found
	room  int    // how many bytes they may take, plus those that more events allow

	mu    sync.Mutex
	all   []*kept
	where map[uint32]*kept // by the events in their chains
	bytes int
	turn  int // where to look next for one that is not needed any more
}

// kept is one of them: what it was the history of lately, one event behind the other.
// Its configuration is its user's, the rest is changed under the lock only.
type kept struct {
	c     *config
	chain []reached
	bytes int
	user  *worker
}

// reached says when the configuration was the history of an event.
type reached struct {
	event uint32
	at    checkpoint
}

// Of a history that is kept the last steps can be taken back, maxChain events. One that
// nothing has gone on from for maxIdle sizes is given up if there is no room. All of them
// have keptRoom bytes, and keptPerEvent more for each event of the prefix.
const (
	maxShort     = 32
	maxChain     = 8
	maxIdle      = 4
	keptRoom     = 8 << 20
	keptPerEvent = 60
)

func newHistories() *histories {
	return &histories{short: maxShort, room: keptRoom, where: map[uint32]*kept{}}
}

// take gives a worker a configuration for a history of a size that continues from that of
// one of the events given, and is that one's; or one with an empty chain,
// and anything in it; or nil.
func (h *histories) take(w *worker, events []uint32, size uint32) *kept {
	h.mu.Lock()
	var k *kept
	var at int
	for _, f := range events {
		if x := h.where[f]; x != nil && x.user == nil {
			i := x.index(f)
			if k == nil || x.chain[i].at.size > k.chain[at].at.size {
				k, at = x, i
			}
		}
	}
	if k == nil {
		k = h.spare(w.p, size)
		h.mu.Unlock()
		return k
	}
	for _, x := range k.chain[at+1:] {
		h.leave(k, x.event)
	}
	k.chain = k.chain[:at+1]
	k.user = w
	h.mu.Unlock()
	k.c.rewind(k.chain[at].at)
	return k
}

// spare returns a configuration that is not needed, with an empty chain, or nil.
func (h *histories) spare(p *prefix, size uint32) *kept {
	if h.bytes < h.room+keptPerEvent*int(p.events.n) {
		k := &kept{c: newConfig(p)}
		h.all = append(h.all, k)
		return k
	}
	for range min(8, len(h.all)) {
		h.turn = (h.turn + 1) % len(h.all)
		k := h.all[h.turn]
		if n := len(k.chain); k.user == nil && n > 0 && k.chain[n-1].at.size+maxIdle < size {
			for _, x := range k.chain {
				h.leave(k, x.event)
			}
			k.chain = k.chain[:0]
			return k
		}
	}
	return nil
}

// reach notes that a configuration has become the history of an event.
func (h *histories) reach(w *worker, k *kept, e uint32) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k.user = w
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

// give takes a configuration, which is the last event's history again, out of its user's hands.
func (h *histories) give(k *kept) {
	h.mu.Lock()
	k.user = nil
	h.mu.Unlock()
}

// last writes the last condition of each component in the history of an event over
// dst; 0 means the initial one. It says no if that history is not kept, or in
// another worker's hands.
func (h *histories) last(w *worker, e uint32, dst []uint32) ([]uint32, bool) {
	h.mu.Lock()
	k := h.where[e]
	if k == nil || k.user != nil && k.user != w {
		h.mu.Unlock()
		return dst, false
	}
	at := k.chain[k.index(e)].at
	user := k.user
	k.user = w
	h.mu.Unlock()
	dst = k.c.lastAt(at, dst)
	if user == nil {
		h.give(k)
	}
	return dst, true
}

// index returns where an event is in the chain.
func (k *kept) index(e uint32) int {
	return slices.IndexFunc(k.chain, func(x reached) bool { return x.event == e })
}

// leave forgets that a configuration can be the history of an event again.
func (h *histories) leave(k *kept, e uint32) {
	if h.where[e] == k {
		delete(h.where, e)
	}
}
