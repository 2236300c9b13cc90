package statestore

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// Shape says how to cut states of one length into parts, for stores that must all do it the same
// way ([Share]). Learn makes it.
type Shape struct {
	// Length is that of the states, in words.
	Length int `json:"length"`
	// Cuts are the bits where the parts begin, followed by the number of all bits.
	Cuts []int `json:"cuts"`
	// Distinct says for all i < j how many values the bits from cut i to cut j have
	// among the examples.
	Distinct [][]float64 `json:"distinct"`
	// Weights says for each word of each part in how many examples it differs from the word before.
	Weights []int `json:"weights"`
}

// Learn returns the shape for states like the examples, which all have the same length, at least
// two words. before gives for each the number of the example from which it was reached; -1 for
// none.
func Learn(examples [][]uint64, before func(i int) int) Shape {
	n := len(examples[0])
	sh := Shape{Length: n}
	sh.Cuts, sh.Distinct = learn(n, examples, before, inTurn)
	(&shape{n: n}).build(sh.Cuts, func(leaves []vertex) []int {
		sh.Weights = changes(leaves, examples, before, inTurn)
		return sh.Weights
	})
	return sh
}

// Valid reports whether a shape can be one: it may come from a file.
func (sh *Shape) Valid() bool {
	k := len(sh.Cuts) - 1
	if sh.Length < 2 || sh.Length > maxLength || k < 1 || k > maxParts || len(sh.Distinct) != k+1 {
		return false
	}
	if sh.Cuts[0] != 0 || sh.Cuts[k] != 64*sh.Length || !slices.IsSorted(sh.Cuts) {
		return false
	}
	words := 0 // of all parts
	for i := range k {
		if sh.Cuts[i] == sh.Cuts[i+1] {
			return false
		}
		words += (sh.Cuts[i+1]-1)/64 - sh.Cuts[i]/64 + 1
	}
	for _, row := range sh.Distinct {
		if len(row) != k+1 {
			return false
		}
	}
	return len(sh.Weights) == words
}

// make returns what a store keeps of it.
func (sh *Shape) make() *shape {
	s := &shape{n: sh.Length}
	s.build(sh.Cuts, func([]vertex) []int { return sh.Weights })
	for i := range sh.Distinct {
		copy(s.sampled[i][:], sh.Distinct[i])
	}
	return s
}

// Share lets a Tree store take states apart as shapes say, which have to be good ones. All
// stores of the same shapes know the same parts of states, so that they can tell each other what
// their numbers mean: [Sharing]. It is called before a session works. The error says that the
// store has taken states of a length apart in another way.
func Share(s Store, shapes []Shape) error {
	t, ok := s.(*treeStore)
	if !ok {
		return errors.New("statestore: only stores of the kind tree have shapes")
	}
	for i := range shapes {
		if err := t.share(shapes[i].make()); err != nil {
			return err
		}
	}
	return nil
}

// share takes over the shape of another store.
func (t *treeStore) share(from *shape) error {
	sh := t.shapeOf(from.n)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	same := func(a, b vertex) bool {
		return a.mask == b.mask && a.word == b.word &&
			a.part == b.part
	}
	switch {
	case sh.learned.Load():
		if sh.leaves != from.leaves || !slices.EqualFunc(sh.vertex[:sh.leaves],
			from.vertex[:from.leaves], same) {
			return fmt.Errorf("statestore: states of %d words have been taken apart in another way",
				from.n)
		}
	case len(sh.samples.parents) > 0:
		return fmt.Errorf("statestore: states of %d words have not been taken apart", from.n)
	default:
		t.needNodes()
		sh.vertex, sh.leafOf, sh.leaves, sh.parts, sh.sampled = from.vertex, from.leafOf,
			from.leaves, from.parts, from.sampled
		t.payShape(sh)
		sh.layout.Store(&layout{})
		before := sh.samples.bytes()
		sh.samples.freeze(nil)
		sh.learned.Store(true)
		sh.samples.view.Store(nil)
		t.ledger.take(sh.samples.bytes()-before, true)
	}
	sh.shared = true
	return nil
}

var _ Sharing = (*treeSession)(nil)

// Shared implements [Sharing].
func (x *treeSession) Shared(length int) []int {
	f := x.frameOf(length)
	if !f.sh.shared {
		return nil
	}
	return f.sh.cuts()
}

// PartsOf implements [Sharing].
func (x *treeSession) PartsOf(length int) int { return len(x.frameOf(length).sh.parts) }

// cuts returns where the parts begin, followed by the number of all bits.
func (sh *shape) cuts() (cuts []int) {
	for v := range sh.vertex[:sh.leaves] {
		if vx := &sh.vertex[v]; int(vx.part) == len(cuts) {
			cuts = append(cuts, int(vx.word)*64+int(vx.shift))
		}
	}
	return append(cuts, 64*sh.n)
}

// Number implements [Sharing].
func (x *treeSession) Number(s []uint64, parent Ref, changed []int32) (numbers []uint32, ok bool) {
	f := x.frameOf(len(s))
	if !f.sh.shared {
		return nil, false
	}
	if f.base != parent {
		changed = nil
	}
	if _, ok = x.key(f, s, changed, true); !ok {
		return nil, false
	}
	return f.latest[:len(f.sh.parts)], true
}

// Part implements [Sharing].
func (x *treeSession) Part(dst []uint64, length, part int, number uint32) []uint64 {
	sh := x.frameOf(length).sh
	at := len(dst)
	first, last := sh.leavesOf(part)
	dst = slices.Grow(dst, last-first)[:at+last-first]
	var below func(v int32, value uint64)
	below = func(v int32, value uint64) {
		if int(v) < sh.leaves {
			dst[at+int(v)-first] = value
			return
		}
		for i, code := range [...]uint32{uint32(value >> 32), uint32(value)} {
			child := sh.vertex[v].left
			if i == 1 {
				child = sh.vertex[v].right
			}
			if code >= immediate {
				below(child, uint64(code&^immediate))
			} else {
				below(child, x.t.inner.value(code))
			}
		}
	}
	below(sh.parts[part].top, x.t.partNodes[part].value(number))
	return dst
}

// leavesOf returns the leaves of a part, from the first one to before the last one.
func (sh *shape) leavesOf(part int) (first, last int) {
	for first < sh.leaves && int(sh.vertex[first].part) < part {
		first++
	}
	for last = first; last < sh.leaves && int(sh.vertex[last].part) == part; last++ {
	}
	return first, last
}

// PartNumber implements [Sharing].
func (x *treeSession) PartNumber(length, part int, value []uint64) (number uint32, err error) {
	f := x.frameOf(length)
	sh := f.sh
	if !sh.shared || part < 0 || part >= len(sh.parts) {
		return 0, fmt.Errorf("statestore: states of %d words have no part %d", length, part)
	}
	first, last := sh.leavesOf(part)
	if len(value) != last-first {
		return 0, fmt.Errorf("statestore: part %d of states of %d words has %d values, not %d",
			part, length, last-first, len(value))
	}
	if !f.ready {
		x.prepare(f)
	}
	ok := true
	var of func(v int32) uint64
	code := func(v int32) uint64 {
		n := of(v)
		if int(v) < sh.leaves && n < immediate {
			return immediate | n
		}
		id := x.number(x.t.inner, n, true)
		ok = ok && id != 0
		return uint64(id)
	}
	of = func(v int32) uint64 {
		vx := &sh.vertex[v]
		if int(v) < sh.leaves {
			return value[int(v)-first] & (vx.mask >> vx.shift)
		}
		return code(vx.left)<<32 | code(vx.right)
	}
	number = x.number(x.t.partNodes[part], of(sh.parts[part].top), true)
	if !ok || number == 0 {
		return 0, ErrFull
	}
	return number, nil
}

// Put implements [Sharing].
func (x *treeSession) Put(s []uint64, part int, value []uint64) {
	sh := x.frameOf(len(s)).sh
	first, last := sh.leavesOf(part)
	for i := range sh.vertex[first:last] {
		vx := &sh.vertex[first+i]
		s[vx.word] = s[vx.word]&^vx.mask | value[i]<<vx.shift&vx.mask
	}
}

// DeferState implements [Sharing].
func (x *treeSession) DeferState(length int, numbers *[MaxNumbers]uint32, parent Ref) error {
	f := x.frameOf(length)
	if !f.ready {
		x.prepare(f)
	}
	k := len(f.sh.parts)
	f.now, f.nowSize, f.changed, f.latest = [maxSlots]uint32{}, 0, 1<<k-1, nil
	for p, id := range numbers[:k] {
		f.now[p] = id
		f.nowSize |= uint64(bits.Len32(id)) << (8 * p)
	}
	key, ok := x.join(f, f.sh.layout.Load(), &f.now, true)
	if !ok {
		return ErrFull
	}
	x.push(f, key, parent)
	x.ask()
	return nil
}
