package statestore

import "math/bits"

var _ Numbering = (*treeSession)(nil)

// Numbers implements [Numbering].
func (x *treeSession) Numbers(ref Ref, length int) []uint32 {
	f := x.cur
	if f == nil || !f.valid || f.base != ref || f.sh.n != length {
		return nil
	}
	return f.ids[:len(f.sh.parts)]
}

// Deferred implements [Numbering].
func (x *treeSession) Deferred(length int) []uint32 {
	f := x.cur
	if f == nil || f.sh.n != length || f.latest == nil {
		return nil
	}
	return f.latest[:len(f.sh.parts)]
}

// DeferNumbers implements [Numbering].
func (x *treeSession) DeferNumbers(parent Ref, parts uint32, numbers *[MaxNumbers]uint32) error {
	f := x.cur
	if f.base != parent { // another state has been made the base
		x.words = x.Load(parent, x.words)
		f = x.cur
	}
	key, ok := f.patch(parts, numbers)
	if !ok {
		f.now, f.nowSize, f.changed = f.ids, f.size, 0
		for set := parts; set != 0; set &= set - 1 {
			p := uint8(bits.TrailingZeros32(set))
			f.setPart(p, numbers[p])
		}
		if key, ok = x.join(f, f.sh.layout.Load(), &f.now, true); !ok {
			return ErrFull
		}
	}
	x.push(f, key, parent)
	x.ask()
	return nil
}

// patch returns the key of the state that differs from the base in some parts. ok is false
// if it is not known that its key has the same profile as the base's: a state has the first
// one that its numbers fit into.
func (f *frame) patch(parts uint32, numbers *[MaxNumbers]uint32) (key uint64, ok bool) {
	p := &f.sh.layout.Load().profiles[0]
	key = f.key
	if key&^idsMask != p.class || p.room == 0 {
		return 0, false
	}
	for ; parts != 0; parts &= parts - 1 {
		i := bits.TrailingZeros32(parts) % maxParts
		at := p.own[i]
		id := numbers[i]
		if bits.Len32(id) > int(at.width) {
			return 0, false
		}
		key ^= uint64(id^f.ids[i]) << (at.shift & 63)
	}
	return key, true
}
