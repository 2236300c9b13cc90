// Package division partitions the states of a system among the parts of a covered set, so that few
// transitions cross from one part to another and the parts have about the same size.
//
// For example, a model has two threads, each with a counter from 0 to 99 in a word of its own, and
// two ranks share the states. By a hash of both words, half of the transitions cross to the other
// rank, as messages. By a hash of the first word alone, those of the second thread never do. If the
// first word has few values, though, the ranks get different loads: of three values, one rank gets
// two. So the values are hashed into buckets, and a table says for each bucket to which rank it
// belongs:
//
//	state {7, 42} -> bits of word 0 -> hash -> bucket 2913 -> Table[2913] = rank 1
//
// [Choose] takes the bits and the table from a sample of the system: the bits so that few moves
// change them and equal values are rare, and the table by graph partitioning, in which the buckets
// are nodes and the moves between them edges. Hashing a part of the state is by Lerda and Sisto
// (SPIN 1999), who take the bits of one thread; the table and the sample are by Nicol and Ciardo
// (Automated parallelization of discrete state-space generation, 1997), for Petri nets.
//
// The shapes by which the stores of all parts split states come from the same sample.
//
// A division is a function of the state alone, the same in every process, whatever the sample was:
// the sample decides only how fast the search is.
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

// ByFields reports whether the fields alone say which of n parts a state belongs to: then it is
// PartOf the sum of the fields' terms.
func (d *Division) ByFields(n int) bool { return d.Parts > 0 && d.Parts == n }

// PartOf returns the part of d.Parts that a state belongs to, by the sum of the terms of all
// fields.
func (d *Division) PartOf(sum uint64) int {
	if len(d.Table) == 0 {
		high, _ := bits.Mul64(mixed(sum), uint64(d.Parts))
		return int(high)
	}
	return int(d.Table[d.bucket(sum)])
}

// Term returns the term of field i, whose word is x, in the sum that is hashed.
func (d *Division) Term(i int, x uint64) uint64 {
	x &= d.Fields[i].Bits
	return (x ^ x>>29) * factors[i%len(factors)]
}

// bucket returns the bucket of the table for a sum.
func (d *Division) bucket(sum uint64) int {
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
			sum += d.Term(i, s[f.Word]) // independent terms, which processors overlap
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

// Valid reports whether d, which comes from a file, is a valid division into n parts.
func (d *Division) Valid(n int) bool {
	for i := range d.Shapes {
		if !d.Shapes[i].Valid() {
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

// Words returns which words of a state decide on its part of n; nil means all.
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
