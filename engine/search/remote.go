package search

import (
	"cmp"
	"errors"

	"cpor/engine/cluster"
	"cpor/statestore"
	"cpor/system"
)

// remote is the destination of a worker of a search on ranks: it sends the end of a move to the
// rank that owns it, or passes it to another destination if this rank does.
type remote struct {
	destination // of the states of this rank
	w           *worker
	k           *ranks
	box         *cluster.Outbox
	numbered    Numbered    // destination, if states are passed as numbers
	table       *ownerTable // nil if no states go to other ranks by numbers

	// About the state being expanded:
	owner int // the rank that it belongs to, -1: not known yet
	// If numbers tell who owns states of its length:
	owners  *owners
	numbers [statestore.MaxNumbers]uint32 // of its parts
	sum     uint64                        // of its terms, if owner is known

	exported system.State // see export
}

// join implements [place].
func (k *ranks) join(w *worker) destination {
	a := &remote{destination: k.place.join(w), w: w, k: k, box: k.x.Outbox(w.id)}
	if d, ok := a.destination.(*deferred); ok && k.portable == nil && d.numbering != nil {
		a.numbered = d
		// A rank with several parts has several stores, and none of them accepts numbers.
		if sharing, ok := d.numbering.(statestore.Sharing); ok &&
			k.x.Parts() == k.run.o.Ranks.Size() {
			a.table = &ownerTable{sharing: sharing, division: k.run.division, parts: k.x.Parts(),
				most: cmp.Or(k.run.o.sizes.MostNumbers, cluster.MostNumbers)}
		}
	}
	k.sides = append(k.sides, a)
	return a
}

// Take implements [destination].
func (a *remote) Take(b *statestore.Batch, i int) (bool, error) {
	a.owner, a.owners = -1, nil
	return a.destination.Take(b, i)
}

// Cover implements [destination].
func (a *remote) Cover(m *Move) (statestore.Ref, outcome, error) {
	to, end := a.ownerOf(m)
	if to == a.k.rank {
		return a.destination.Cover(m)
	}
	if !a.sendNumbers(to, m) {
		a.box.Send(to, a.w.depth, a.Parent(), end)
	}
	return 0, isElsewhere, nil
}

// CoverNow implements [destination].
func (a *remote) CoverNow(*Move) (statestore.Ref, outcome, error) {
	return 0, isFull, errors.New("search: an expander that remembers states by their references " +
		"cannot search on ranks")
}

// Initial implements [destination].
func (a *remote) Initial(s system.State) (statestore.Ref, outcome, error) {
	if !a.k.owns(s) {
		return 0, isElsewhere, nil
	}
	return a.destination.Initial(s)
}

// Idle implements [destination]: sends what is collected for other ranks.
func (a *remote) Idle() { a.box.Flush() }

// Find implements [destination].
func (a *remote) Find(s system.State) (is, known bool) {
	if a.box.Owner(a.export(s)) != a.k.rank {
		return false, false
	}
	return a.destination.Find(s)
}

// Numbered implements [destination].
func (a *remote) Numbered() Numbered {
	if a.numbered == nil {
		return nil
	}
	return a
}

// export returns a state in the form that is sent to other ranks, valid until the next call.
func (a *remote) export(s system.State) system.State {
	if a.k.portable == nil {
		return s
	}
	a.exported = a.k.export(a.exported, s)
	return a.exported
}

// ownerOf returns the rank that the end of a move belongs to, and the end in the form that is
// sent, if that is another rank.
func (a *remote) ownerOf(m *Move) (rank int, end system.State) {
	// The state being expanded can belong to another rank: a resumed search divides the states
	// to expand.
	if m.Changed != nil && len(m.End) == len(a.w.state) && a.k.portable == nil &&
		a.box.Stays(m.Changed) {
		return a.ownerOfExpanded(), m.End
	}
	end = a.export(m.End)
	return a.box.Owner(end), end
}

// ownerOfExpanded returns the rank that the expanded state belongs to.
func (a *remote) ownerOfExpanded() int {
	switch {
	case a.owner >= 0:
	case a.owners != nil:
		a.sum = a.owners.sum(&a.numbers)
		a.owner = a.box.OwnerOf(a.sum)
	default:
		a.owner = a.box.Owner(a.w.state)
	}
	return a.owner
}

// Numbers implements [Numbered].
func (a *remote) Numbers() []uint32 {
	numbers := a.numbered.Numbers()
	if numbers == nil {
		return nil
	}
	if a.table != nil {
		if a.owners = a.table.of(len(a.w.state)); a.owners != nil {
			a.numbers = [statestore.MaxNumbers]uint32{}
			copy(a.numbers[:], numbers)
			return numbers
		}
	}
	if a.ownerOfExpanded() != a.k.rank {
		return nil
	}
	return numbers
}

// Parts implements [Numbered].
func (a *remote) Parts(word int32, mask uint64) uint32 { return a.numbered.Parts(word, mask) }

// Ended implements [Numbered].
func (a *remote) Ended() []uint32 { return a.numbered.Ended() }

// Stays implements [Numbered].
func (a *remote) Stays(changed []int32) bool { return a.owners != nil || a.box.Stays(changed) }

// MoveNumbers implements [Numbered].
func (a *remote) MoveNumbers(parts uint32, numbers *[statestore.MaxNumbers]uint32) {
	if a.w.err != nil || a.owners != nil && a.leaves(parts, numbers) {
		return
	}
	a.numbered.MoveNumbers(parts, numbers)
}
