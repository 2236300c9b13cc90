package compile

// Calm says what is known about a computation, on all paths that it can take.
type Calm uint8

const (
	// Touches: it may read or write the program's memory, or its effect is unknown.
	Touches Calm = 1 << iota
	// Waits: it may reach an operation on a channel that waits for a partner.
	Waits
	// Returns: it may return from its function.
	Returns
	// Throws: it may meet a run-time error.
	Throws
)

// calmSteps is how many instructions are examined, including those of called functions.
const calmSteps = 200

type calmKey struct{ fn, pc int32 }

// CalmFrom returns what is known about the computation that begins with the instruction pc of a
// function, up to the next operation that synchronizes.
func (p *Program) CalmFrom(f *Func, pc int32) Calm {
	key := calmKey{int32(f.Index), pc}
	if c, ok := p.calm.Load(key); ok {
		return c
	}
	left := calmSteps
	c := p.calmFrom(f, pc, &left, 0)
	p.calm.Store(key, c)
	return c
}

func (p *Program) calmFrom(f *Func, pc int32, left *int, depth int) (c Calm) {
	p.Ready(f)
	seen := map[int32]bool{}
	for work := []int32{pc}; len(work) > 0 && c&Touches == 0; {
		pc := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		if *left--; *left < 0 {
			return Touches
		}
		i := &f.Code[pc]
		next := true
		switch i.Op {
		case Nop, Move1, MoveN, Zero, Add, Sub, Mul, AddK, SubK, MulK, And, Or, Xor, AndNot, Concat,
			Not, NegK, ComK,
			EqW, NeW, LtS, LeS, LtU, LeU, LtF, LeF, LtStr, LeStr, CMake, Real, Imag,
			Alloc, LenStr, Convert, MakeIface, MakeFunc, MinMax, Pause:
		case DivK, RemK, Shl, Shr, EqT, NeT, CheckNil, FieldAddr, SliceAddr, ElemAddr, ElemOf,
			StrIndex, ToPointer, ToNumber, CheckCast, SliceOf, ToArrPtr,
			Assert, SliceOp:
			c |= Throws
		case Load, LoadW, Store, StoreW:
			c |= Throws
			if !f.Untracked {
				c |= Touches
			}
		case Jump:
			work = append(work, i.N)
			next = false
		case If, IfNot:
			work = append(work, i.N)
		case CallF:
			callee := f.Calls[i.N].Func
			if p.Ready(callee); depth > 8 || f.Defers >= 0 || callee.Defers >= 0 {
				return Touches
			}
			d := p.calmFrom(callee, 0, left, depth+1)
			c |= d &^ Returns
			next = d&Returns != 0
		case Return:
			c |= Returns
			next = false
		case Send, Recv, SelectOp:
			c |= Waits
			next = false
		default:
			if !i.Op.Synchronises() {
				return Touches
			}
			next = false
		}
		if next {
			work = append(work, pc+1)
		}
	}
	return c
}
