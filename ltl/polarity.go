package ltl

// Polarity says how an atom occurs in a formula.
type Polarity uint8

// An atom may have both bits. A transition is transparent for a formula if it
// never makes an atom with the bit Positive true, nor one with the bit Negative false
// (Siegel 2012, definition 2.1).
const (
	Positive Polarity = 1 << iota // under an even number of negations
	Negative                      // under an odd number of negations
)

// String is "+", "-", "+-", or "0" for an atom that does not occur.
func (p Polarity) String() string {
	return [...]string{"0", "+", "-", "+-"}[p&(Positive|Negative)]
}

// Polarities returns the polarity of every atom of f, by name. The left operand
// of -> is under one more negation, the operands of <-> are both ways. Any formula
// that is equivalent to f may be asked instead: simplifying first can only
// remove bits.
func (f Formula) Polarities() map[string]Polarity {
	out := map[string]Polarity{}
	seen := map[Formula]Polarity{}
	var walk func(g Formula, p Polarity)
	walk = func(g Formula, p Polarity) {
		if seen[g]&p == p {
			return
		}
		seen[g] |= p
		flip := p>>1 | p<<1&Negative
		n := g.node()
		switch n.op {
		case OpFalse, OpTrue:
		case OpAtom:
			out[n.name] |= p
		case OpNot:
			walk(n.left, flip)
		case OpImplies:
			walk(n.left, flip)
			walk(n.right, p)
		case OpIff:
			walk(n.left, p|flip)
			walk(n.right, p|flip)
		case OpNext, OpEventually, OpAlways:
			walk(n.left, p)
		default:
			walk(n.left, p)
			walk(n.right, p)
		}
	}
	walk(f, Positive)
	return out
}
