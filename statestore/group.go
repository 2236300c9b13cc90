package statestore

// Grouping is implemented by sessions of Tree stores.
type Grouping interface {
	Session
	// InsertAll inserts the successors of a state, and appends their Refs to refs in their order.
	// It waits for the memory of all of them at once. state returns the i-th of n successors, and
	// the words in which it differs, as in [Deferring]. No insertion must be deferred. The error
	// is nil or ErrFull.
	InsertAll(parent Ref, n int, state func(i int) (s []uint64, changed []int32),
		refs []Ref) ([]Ref, error)
}

var _ Grouping = (*treeSession)(nil)

// InsertAll implements [Grouping].
func (x *treeSession) InsertAll(parent Ref, n int, state func(i int) ([]uint64, []int32),
	refs []Ref) ([]Ref, error) {
	defer func() { x.deferred = x.deferred[:0] }()
	for i := range n {
		s, changed := state(i)
		f := x.frameOf(len(s))
		if !f.sh.learned.Load() {
			ref, _, err := x.insertSample(f, s, parent)
			if err != nil {
				return refs, err
			}
			if ref != 0 {
				x.deferred = append(x.deferred, deferred{key: uint64(ref)})
				continue
			}
		}
		if err := x.begin(f, s, parent, changed); err != nil {
			return refs, err
		}
		x.fetch()
	}
	x.fetchRest(x.deferred)
	for i := range x.deferred {
		d := &x.deferred[i]
		ref := Ref(d.key)
		if d.sh != nil {
			var err error
			if ref, _, err = x.complete(d); err != nil {
				return refs, err
			}
		}
		refs = append(refs, ref)
	}
	return refs, nil
}

// fetch asks for the memory that the insertion deferred last needs. The line of an entry is found
// by way of its slab, which is a miss, too, so the lines come later.
func (x *treeSession) fetch() {
	n := len(x.deferred)
	x.t.table.approach(x.deferred[n-1].hash >> restBits)
	if n > behind {
		x.fetchLine(&x.deferred[n-1-behind])
	}
}

// behind is by how many insertions asking for lines is behind asking for slabs.
const behind = 2

// fetchRest asks for the lines of the last insertions.
func (x *treeSession) fetchRest(todo []deferred) {
	for i := max(0, len(todo)-behind); i < len(todo); i++ {
		x.fetchLine(&todo[i])
	}
}

func (x *treeSession) fetchLine(d *deferred) {
	x.t.table.touch(d.hash>>restBits, d.hash<<fragBits)
}
