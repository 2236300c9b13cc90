package system

import "math/bits"

// Digit is a choice within a transition: Value is one of 0 to Radix-1.
type Digit struct{ Value, Radix uint64 }

// Digits are the choices of a transition in their order. They number its alternatives: the first
// is the lowest digit of a number with mixed radices.
type Digits []Digit

// Choose appends a choice among radix, which the number of an alternative without the digits
// before it decides. It takes the digit off that number. ok is false, and nothing changes, if the
// transition then had limit alternatives or more.
func (d *Digits) Choose(alt *uint64, radix, limit uint64) (value uint64, ok bool) {
	place := uint64(1)
	for _, c := range *d {
		place *= c.Radix
	}
	if hi, lo := bits.Mul64(place, radix); hi != 0 || lo >= limit {
		return 0, false
	}
	value = *alt % radix
	*alt /= radix
	*d = append(*d, Digit{value, radix})
	return value, true
}

// Next returns the number of the alternative after the one with these choices: the last choice
// that has another value takes it, and those after it are made anew. 0 means that there is none.
func (d Digits) Next() uint64 {
	for i := len(d) - 1; i >= 0; i-- {
		if d[i].Value+1 == d[i].Radix {
			continue
		}
		alt, place := uint64(0), uint64(1)
		for _, c := range d[:i] {
			alt += c.Value * place
			place *= c.Radix
		}
		return alt + (d[i].Value+1)*place
	}
	return 0
}
