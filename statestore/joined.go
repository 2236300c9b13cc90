package statestore

import (
	"errors"
	"fmt"
	"unsafe"
)

// MaxJoined is how many stores Join can make one of.
const MaxJoined = 1 << joinedBits

// joinedBits are the bits for the number of the store in a Ref of a joined one: they
// stand between a Ref of a Tree store, which is a key, and what Away and hints use.
const joinedBits = 4

// The bits of a Ref must be enough.
const _ = uint(62 - keyBits - joinedBits)

// joined is one store for the states of several, none of which has the states of
// another.
type joined struct {
	parts   []Store
	placing func() Placing
}

// Placing says where the states of a joined store stand. It is for one goroutine.
type Placing interface {
	// Place returns the part that a state belongs to, and as what it stands there,
	// valid until the next call.
	Place(s []uint64) (part int, there []uint64)
	// Here returns, in the memory of dst, the state that stands as s in a part.
	Here(part int, dst, s []uint64) []uint64
}

// Join makes one store of several of the kind Tree, all without sessions: each of its
// sessions has a placing of its own. It is for a covered set that was divided
// among more processes than there are now. Sessions of it know no numbers, which
// costs some of the speed.
func Join(parts []Store, placing func() Placing) (Store, error) {
	if len(parts) > MaxJoined {
		return nil, fmt.Errorf("%d stores: at most %d can be joined", len(parts), MaxJoined)
	}
	for _, s := range parts {
		if _, ok := s.(*treeStore); !ok {
			return nil, errors.New("only stores of the kind tree can be joined")
		}
	}
	return &joined{parts, placing}, nil
}

// Within returns the Ref in a joined store of a state that has the Ref r in its i-th
// part.
func Within(i int, r Ref) Ref { return r | Ref(i)<<keyBits }

// Apart is the inverse of Within.
func Apart(r Ref) (i int, of Ref) {
	return int(r >> keyBits & (MaxJoined - 1)), r &^ ((MaxJoined - 1) << keyBits)
}

// NewSession implements [Store].
func (j *joined) NewSession() Session {
	x := &joinedSession{Placing: j.placing()}
	for _, s := range j.parts {
		x.parts = append(x.parts, s.NewSession().(*treeSession))
	}
	return x
}

// Len implements [Store].
func (j *joined) Len() (n uint64) {
	for _, s := range j.parts {
		n += s.Len()
	}
	return n
}

// Bytes implements [Store].
func (j *joined) Bytes() (n uint64) {
	for _, s := range j.parts {
		n += s.Bytes()
	}
	return n
}

// Exact implements [Store].
func (j *joined) Exact() bool { return true }

// Loadable implements [Store].
func (j *joined) Loadable() bool { return true }

// OmissionProbability implements [Store].
func (j *joined) OmissionProbability() float64 { return 0 }

// Stats implements [Store].
func (j *joined) Stats() Stats {
	all := Stats{Kind: Tree}
	for _, p := range j.parts {
		s := p.Stats()
		all.States += s.States
		all.Bytes += s.Bytes
		all.RootBytes += s.RootBytes
		all.NodeBytes += s.NodeBytes
		all.IndexBytes += s.IndexBytes
		all.OtherBytes += s.OtherBytes
		all.Slots += s.Slots
		all.Nodes += s.Nodes
		all.Grows += s.Grows
		all.FailedCAS += s.FailedCAS
		all.Waits += s.Waits
	}
	if all.Slots > 0 {
		all.Load = float64(all.States) / float64(all.Slots)
	}
	return all
}

// joinedSession is a session of each part.
type joinedSession struct {
	Placing
	parts []*treeSession
	buf   []uint64
}

var _ Deferring = (*joinedSession)(nil)

// Insert implements [Session].
func (x *joinedSession) Insert(s []uint64, parent Ref) (Ref, bool, error) {
	i, there := x.Place(s)
	r, added, err := x.parts[i].Insert(there, parentIn(i, parent))
	return Within(i, r), added, err
}

// parentIn returns what a parent is to the i-th part: one in another part is away.
func parentIn(i int, parent Ref) Ref {
	of, p := Apart(parent)
	if parent != 0 && of != i {
		p = Away(p)
	}
	return p
}

// Defer implements [Deferring].
func (x *joinedSession) Defer(s []uint64, parent Ref, changed []int32) (bool, error) {
	i, there := x.Place(s)
	p := parentIn(i, parent)
	if p&away != 0 || unsafe.SliceData(there) != unsafe.SliceData(s) {
		changed = nil // against what the part has loaded last, or other words
	}
	return x.parts[i].Defer(there, p, changed)
}

// Settle implements [Deferring]. The order is that in each part.
func (x *joinedSession) Settle(added func(Ref) error) error {
	var err error
	for i, p := range x.parts {
		if err != nil {
			p.drop()
			continue
		}
		err = p.Settle(func(r Ref) error { return added(Within(i, r)) })
	}
	return err
}

// Find implements [Session].
func (x *joinedSession) Find(s []uint64) (Ref, bool) {
	i, s := x.Place(s)
	r, ok := x.parts[i].Find(s)
	return Within(i, r), ok
}

// Load implements [Session].
func (x *joinedSession) Load(ref Ref, dst []uint64) []uint64 {
	i, r := Apart(ref)
	x.buf = x.parts[i].Load(r, x.buf)
	return x.Here(i, dst, x.buf)
}

// Parents implements [Session].
func (x *joinedSession) Parents(ref Ref, yield func(Ref) bool) { x.Candidates(x.Hint(ref), yield) }

// Hint implements [Parted].
func (x *joinedSession) Hint(ref Ref) uint64 {
	i, r := Apart(ref)
	hint := x.parts[i].Hint(r)
	if hint == 0 || hint&hintCode != 0 || Ref(hint)&away != 0 {
		return hint
	}
	return uint64(Within(i, Ref(hint))) // in the same part
}

// Candidates implements [Parted].
func (x *joinedSession) Candidates(hint uint64, yield func(Ref) bool) {
	only := -1
	if hint != 0 && hint&hintCode == 0 {
		i, r := Apart(Ref(hint))
		if r&away == 0 {
			only = i
		}
		hint = uint64(r)
	}
	more := true
	for i, p := range x.parts {
		if only >= 0 && i != only || !more {
			continue
		}
		p.Candidates(hint, func(r Ref) bool {
			more = yield(Within(i, r))
			return more
		})
	}
}
