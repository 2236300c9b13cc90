package search

import (
	"math/bits"
	"slices"

	"cpor/engine/cluster/division"
	"cpor/statestore"
)

// ownerTable returns the owners of states from the numbers of their parts. It remembers what
// each part adds to the sum of the terms of a division's fields, so states need not be unpacked.
type ownerTable struct {
	sharing  statestore.Sharing
	division *division.Division
	parts    int    // of the covered set
	most     uint32 // see [cluster.MostNumbers]
	lengths  map[int]*owners
	length   int     // that was asked for last
	last     *owners // of that
}

// owners is the part of an ownerTable for states of one length.
type owners struct {
	table  *ownerTable
	length int
	parts  int    // of a state
	which  uint32 // parts with fields
	fields [statestore.MaxNumbers][]field
	// by number: the sum of the part's terms and 1, 0 if it is not known
	terms [statestore.MaxNumbers][]uint64
	value []uint64
}

// numberable reports whether a state can be sent as the numbers of its parts.
func (h *ownerTable) numberable(numbers *[statestore.MaxNumbers]uint32) bool {
	return slices.Max(numbers[:]) < h.most
}

// field is a field of a division as bits of a part.
type field struct {
	number int  // in the division
	word   int  // of those of the part
	shift  uint // to its place in the state's word
}

// of returns the owners of states of a length; nil if their numbers do not determine them.
func (h *ownerTable) of(length int) *owners {
	if length != h.length || h.lengths == nil {
		o, known := h.lengths[length]
		if !known {
			if h.lengths == nil {
				h.lengths = map[int]*owners{}
			}
			o = h.learn(length)
			h.lengths[length] = o
		}
		h.length, h.last = length, o
	}
	return h.last
}

func (h *ownerTable) learn(length int) *owners {
	cuts := h.sharing.Shared(length)
	if cuts == nil || !h.division.ByFields(h.parts) {
		return nil
	}
	o := &owners{table: h, length: length, parts: len(cuts) - 1}
	for i, f := range h.division.Fields {
		lowest, highest := 64*f.Word+bits.TrailingZeros64(f.Bits), 64*f.Word+bits.Len64(f.Bits)-1
		if f.Word >= length {
			continue // of longer states
		}
		p := 0
		for lowest >= cuts[p+1] {
			p++
		}
		if highest >= cuts[p+1] {
			return nil // it would have been cut
		}
		b := field{number: i, word: f.Word - cuts[p]/64}
		if b.word == 0 {
			b.shift = uint(cuts[p] % 64)
		}
		o.fields[p] = append(o.fields[p], b)
		o.which |= 1 << p
	}
	return o
}

// term returns what the part with a number adds to the sum.
func (o *owners) term(part int, number uint32) uint64 {
	known := o.terms[part]
	if int(number) < len(known) && known[number] != 0 {
		return known[number] - 1
	}
	o.value = o.table.sharing.Part(o.value[:0], o.length, part, number)
	sum := uint64(0)
	for _, f := range o.fields[part] {
		sum += o.table.division.Term(f.number, o.value[f.word]<<f.shift)
	}
	if number >= o.table.most {
		return sum
	}
	if more := int(number) + 1 - len(known); more > 0 {
		known = append(known, make([]uint64, max(more, len(known)))...)
		o.terms[part] = known
	}
	known[number] = sum + 1
	return sum
}

// sum returns the sum of the terms of a state.
func (o *owners) sum(numbers *[statestore.MaxNumbers]uint32) (sum uint64) {
	for set := o.which; set != 0; set &= set - 1 {
		p := bits.TrailingZeros32(set)
		sum += o.term(p, numbers[p])
	}
	return sum
}

// leaves sends the end of a move given as numbers to its owner, and reports whether that is
// another rank.
func (a *remote) leaves(parts uint32, numbers *[statestore.MaxNumbers]uint32) bool {
	o, to := a.owners, a.ownerOfExpanded()
	if deciding := parts & o.which; deciding != 0 {
		sum := a.sum
		for ; deciding != 0; deciding &= deciding - 1 {
			p := bits.TrailingZeros32(deciding) % statestore.MaxNumbers
			sum += o.term(p, numbers[p]) - o.term(p, a.numbers[p])
		}
		to = a.box.OwnerOf(sum)
	}
	if to == a.k.rank {
		return false
	}
	all := a.numbers
	for ; parts != 0; parts &= parts - 1 {
		p := bits.TrailingZeros32(parts) % statestore.MaxNumbers
		all[p] = numbers[p]
	}
	if a.table.numberable(&all) {
		a.box.SendNumbers(to, a.w.depth, uint64(a.w.ref), o.length, o.parts, &all, a.table.sharing)
		return true
	}
	a.exported = slices.Grow(a.exported[:0], o.length)[:o.length]
	for p := range o.parts {
		o.value = a.table.sharing.Part(o.value[:0], o.length, p, all[p])
		a.table.sharing.Put(a.exported, p, o.value)
	}
	a.box.Send(to, a.w.depth, uint64(a.w.ref), a.exported)
	return true
}

// sendNumbers sends the end of a move to a rank by numbers, if they are known there.
func (a *remote) sendNumbers(to int, m *Move) bool {
	if a.table == nil {
		return false
	}
	numbers, ok := a.table.sharing.Number(m.End, a.w.ref, m.Changed)
	if !ok {
		return false
	}
	var all [statestore.MaxNumbers]uint32
	k := copy(all[:], numbers)
	if !a.table.numberable(&all) {
		return false
	}
	a.box.SendNumbers(to, a.w.depth, uint64(a.w.ref), len(m.End), k, &all, a.table.sharing)
	return true
}
