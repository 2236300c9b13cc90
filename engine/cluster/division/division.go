// Package division says to which part of a covered set a state belongs, so that few
// transitions lead from one part to another and the parts have about the same size.
//
// With a hash of the whole state nearly every transition leads to another part, of n parts to
// 1-1/n of them. A hash of some bits only, which few transitions change (Lerda and Sisto, SPIN
// 1999, take those of one thread), leaves most states where they are; but with few values of
// these bits the parts differ in size. So a [Division] does both: some bits are hashed into one
// of some thousand places, and a table says for each place to which part it belongs. [Choose]
// takes both from a sample of the system, as Nicol and Ciardo (Automated
// parallelization of discrete state-space generation, 1997) do for Petri nets.
//
// From the same sample comes how the stores of all parts take states apart.
//
// A division is a function of the state alone, the same in every process, whatever the
// sample was like: what depends on the sample is only how fast the search is.
package division

import (
	"math/bits"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"cpor/statestore"
)

// Division says to which part a state belongs. The zero Division goes by a hash of the whole
// state; one whose fields are all bits does so, too, but is known from the numbers of parts. A
// Division must not be changed when it is in use.
type Division struct {
	// Fields are the bits that are hashed, each bit at most once. In states of a length that
	// has a shape, each field is in one part.
	Fields []Field `json:"fields,omitempty"`
	// Table tells the part by the highest bits of the hash; its length is a power of two. Without
	// a table all parts get as much of what the hash can be.
	Table []uint16 `json:"table,omitempty"`
	// Parts is how many parts there are.
	Parts int `json:"parts,omitempty"`
	// Shapes say how the stores of all parts take states apart, so that states can be told by the
	// numbers of their parts ([statestore.Sharing]). They say nothing about who has
	// a state.
	Shapes []statestore.Shape `json:"shapes,omitempty"`
}

// Field is some bits of a word of a state. A state that does not have the word counts
// as one that has 0 there.
type Field struct {
	Word int    `json:"word"`
	Bits uint64 `json:"bits"`
}

// Part returns the part of n that a state belongs to. n is any number for a zero Division,
// and otherwise a multiple of d.Parts: then each part of the table is divided further by a
// hash of the whole state, so that part i of fewer parts has the states of those of more
// parts that have the remainder i.
func (d *Division) Part(s []uint64, n int) int {
	if d.Parts == 0 {
		return int(Hash(s) % uint64(n))
	}
	part := d.PartOf(d.sum(s))
	if n > d.Parts {
		part += d.Parts * int(Hash(s)%uint64(n/d.Parts))
	}
	return part
}

// ByFields tells whether the fields alone say which of n parts a state belongs to: then it is
// PartOf the sum of the fields' terms.
func (d *Division) ByFields(n int) bool { return d.Parts > 0 && d.Parts == n }

// PartOf returns the part of d.Parts that a state belongs to, by the sum of the terms of all
// fields.
func (d *Division) PartOf(sum uint64) int {
	if len(d.Table) == 0 {
		high, _ := bits.Mul64(mixed(sum), uint64(d.Parts))
		return int(high)
	}
	return int(d.Table[d.place(sum)])
}

// Term returns what field i of a state, whose word is x, adds to the sum.
func (d *Division) Term(i int, x uint64) uint64 {
	x &= d.Fields[i].Bits
	return (x ^ x>>29) * factors[i%len(factors)]
}

// place returns the place in the table for a sum.
func (d *Division) place(sum uint64) int {
	return int(mixed(sum) >> (65 - bits.Len(uint(len(d.Table)))&63))
}

// mixed returns a number that depends on all bits of a sum, in its highest bits above all.
func mixed(sum uint64) uint64 {
	h := sum ^ sum>>32
	h *= mix2
	return h ^ h>>29
}

// sum returns the sum of the terms of a state's fields.
func (d *Division) sum(s []uint64) (sum uint64) {
	for i, f := range d.Fields {
		if f.Word < len(s) {
			sum += d.Term(i, s[f.Word]) // none waits for the one before
		}
	}
	return sum
}

const (
	mix1 = 0x9E3779B97F4A7C15
	mix2 = 0xD6E8FEB86659FD93
)

// factors are odd numbers with nothing in common.
var factors = func() (f [16]uint64) {
	x := uint64(mix1)
	for i := range f {
		f[i] = x | 1
		x = (x ^ x>>31) * mix2
	}
	return f
}()

// Good tells whether d is a division into n parts that can be used: it comes from a file.
func (d *Division) Good(n int) bool {
	for i := range d.Shapes {
		if !d.Shapes[i].Good() {
			return false
		}
	}
	if d.Parts == 0 {
		return len(d.Fields) == 0 && len(d.Table) == 0
	}
	if d.Parts < 0 || n%d.Parts != 0 || len(d.Fields) == 0 && len(d.Table) == 0 ||
		len(d.Table)&(len(d.Table)-1) != 0 {
		return false
	}
	for _, p := range d.Table {
		if int(p) >= d.Parts {
			return false
		}
	}
	for _, f := range d.Fields {
		if f.Word < 0 {
			return false
		}
	}
	return true
}

// Words returns which words of a state decide about its part of n; nil are all.
func (d *Division) Words(n int) []bool {
	if !d.ByFields(n) {
		return nil
	}
	words := []bool{}
	for _, f := range d.Fields {
		for len(words) <= f.Word {
			words = append(words, false)
		}
		words[f.Word] = true
	}
	return words
}

// Hash returns a hash of a whole state.
func Hash(s []uint64) uint64 {
	if len(s) == 0 {
		return xxhash.Sum64(nil)
	}
	return xxhash.Sum64(unsafe.Slice((*byte)(unsafe.Pointer(&s[0])), 8*len(s)))
}
