package ltl

// NNF returns the negation normal form of f: an equivalent formula without ->
// and <->, in which ! is before atoms only. A formula with nested <-> can
// grow exponentially as a tree; shared subformulas keep it small in memory.
func (f Formula) NNF() Formula {
	return nnf(f, false, map[nnfKey]Formula{})
}

type nnfKey struct {
	f   Formula
	neg bool
}

// dualOp maps an operator to its dual: !(f op g) is (!f) dual(op) (!g).
var dualOp = map[Op]Op{
	OpFalse: OpTrue, OpTrue: OpFalse, OpAnd: OpOr, OpOr: OpAnd, OpNext: OpNext,
	OpEventually: OpAlways, OpAlways: OpEventually, OpUntil: OpRelease, OpRelease: OpUntil,
	OpWeakUntil: OpStrongRelease, OpStrongRelease: OpWeakUntil,
}

// nnf returns f, or !f if neg, in negation normal form.
func nnf(f Formula, neg bool, memo map[nnfKey]Formula) Formula {
	key := nnfKey{f, neg}
	if g, ok := memo[key]; ok {
		return g
	}
	var g Formula
	n := f.node()
	switch n.op {
	case OpFalse, OpTrue:
		if (n.op == OpTrue) != neg {
			g = True()
		} else {
			g = False()
		}
	case OpAtom:
		g = f
		if neg {
			g = Not(f)
		}
	case OpNot:
		g = nnf(n.left, !neg, memo)
	case OpImplies:
		if neg {
			g = And(nnf(n.left, false, memo), nnf(n.right, true, memo))
		} else {
			g = Or(nnf(n.left, true, memo), nnf(n.right, false, memo))
		}
	case OpIff:
		l, r := nnf(n.left, false, memo), nnf(n.right, false, memo)
		nl, nr := nnf(n.left, true, memo), nnf(n.right, true, memo)
		if neg {
			g = Or(And(l, nr), And(nl, r))
		} else {
			g = Or(And(l, r), And(nl, nr))
		}
	default:
		op := n.op
		if neg {
			op = dualOp[op]
		}
		operands := f.Operands()
		for i, h := range operands {
			operands[i] = nnf(h, neg, memo)
		}
		g = build(op, operands)
	}
	memo[key] = g
	return g
}

// build applies op to operands of the right number.
func build(op Op, operands []Formula) Formula {
	switch op {
	case OpFalse:
		return False()
	case OpTrue:
		return True()
	case OpNot:
		return Not(operands[0])
	case OpNext:
		return Next(operands[0])
	case OpEventually:
		return Eventually(operands[0])
	case OpAlways:
		return Always(operands[0])
	case OpAnd:
		return And(operands...)
	case OpOr:
		return Or(operands...)
	default:
		return binary(op, operands[0], operands[1])
	}
}
