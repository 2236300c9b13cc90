package compile

// Instr is an instruction. What the operands mean depends on the operation; usually A is the
// register of the result, and B and C are those of the operands.
type Instr struct {
	Op      Op
	K       Kind // of the numbers
	A, B, C int32
	N       int32 // a number of words, an index of a table, or a target
}

// Op is an operation.
type Op uint16

// The operations. r[i] is register i.
const (
	Nop       Op = iota
	Move1        // r[A] = r[B]
	MoveN        // r[A..] = r[B..], N words
	Zero         // r[A..] = 0, N words
	Add          // of 64-bit integers
	Sub          //
	Mul          //
	AddK         // of kind K, also floating-point
	SubK         //
	MulK         //
	DivK         //
	RemK         //
	And          //
	Or           //
	Xor          //
	AndNot       //
	Shl          // of kind K; N is the kind of the count
	Shr          //
	Concat       // of strings
	Not          //
	NegK         //
	ComK         // ^
	EqW          // of words
	NeW          //
	EqT          // of values of type N
	NeT          //
	LtS          // of signed integers
	LeS          //
	LtU          // of unsigned ones
	LeU          //
	LtF          // of kind K
	LeF          //
	LtStr        //
	LeStr        //
	CAdd         // of complex numbers of kind K, two words each
	CSub         //
	CMul         //
	CDiv         //
	CNeg         //
	CMake        // complex(r[B], r[C])
	Jump         // to N
	If           // r[A]: to N, else continue
	IfNot        // not r[A]: to N, else continue
	Alloc        // r[A] = a new object of type N
	Load         // r[A..] = what r[B] points to, of type N
	LoadW        // the same for one word
	Store        // what r[A] points to = r[B..], of type N
	StoreW       // the same for one word without references
	FieldAddr    // r[A] = r[B] + N words
	// r[A] = the address of element r[C] of the array r[B] points to: N words, K.. see Len
	ElemAddr
	SliceAddr // r[A] = the address of element r[C] of the slice r[B]: N words each
	ElemOf    // r[A..] = element r[C] of the array r[B..] of type N
	StrIndex  // r[A] = r[B][r[C]]
	Convert   // r[A] = r[B] of type Types[N], of type Types[C]
	ToString  // from integers, bytes and runes: r[A] = string(r[B]) of type N
	FromStr   // r[A..] = []byte(r[B]) of type N
	SliceOp   // see compiler.slice
	ToPointer // r[A] = the pointer that the number r[B] is, in bytes as of ToNumber
	ToNumber  // r[A] = the number of the pointer r[B], in bytes
	CheckCast // the program ends unless r[A] points to what can be taken for a value of type N
	SliceOf   // r[A..] = unsafe.Slice(r[B], r[C]) with elements of type N
	ToArrPtr  // r[A] = pointer of the slice r[B] with at least N elements
	MakeIface // r[A..] = r[B..] of type N
	// r[A..] = r[B..].(type N); C is 1 for the form with ok, plus twice the type of the interface
	Assert
	MakeFunc  // r[A] = function Calls[N]
	MakeSlice // r[A..] = make(type N, r[B], r[C])
	MakeMap   // r[A] = make(type N)
	MakeChan  // r[A] = make(type N, r[B])
	MapGet    // r[A..] = r[B][r[C..]] of map type N; K is 1 for the form with ok
	MapSet    // r[A][r[B..]] = r[C..] of map type N
	MapDelete // delete(r[A], r[B..]) of map type N
	MapClear  // clear(r[A])
	Clear     // clear(slice r[A..]) of type N
	RangeOf   // r[A..] = an iterator over r[B]; N is its type
	RangeAny  // r[A..] = an iterator over r[B] of map type N, in any order
	NextMap   // r[A..] = ok, key, value of the iterator r[B..] over map type N
	NextStr   // r[A..] = ok, index, rune of the iterator r[B..]
	LenStr    // r[A] = len(r[B])
	LenMap    //
	CapChan   //
	Append    // r[A..] = append(r[B..], r[C..]...) of slice type N
	AppendStr // the same for a string r[C]
	Copy      // r[A] = copy(r[B..], r[C..]) of slice type N
	CopyStr   // the same for a string r[C]
	Real      // r[A] = real(r[B])
	Imag      //
	MinMax    // r[A] = min or max (C is 1) of the registers Moves[N], of kind K
	CallF     // of function Calls[N].Func, result to r[A..]
	CallV     // of a function value
	CallM     // of a method of an interface
	Return    // the values Moves[N]
	Panic     // r[A..]
	Recover   // r[A..] = recover()
	RunDefers //
	// Calls[N]; K is the sort of call (the Op less CallF); B is the register of a defer stack, -1
	Defer
	Stack    // r[A] = the defer stack
	Native   // function N of the machine, on the frame of its function
	Refuse   // Texts[N] says what cannot be explored
	StrFrom  // r[A] = unsafe.String(r[B], r[C])
	CheckNil // panics if r[A] is nil
	Throw    // a run-time error: Texts[N]
	// a transition ends here if r[A], or r[B] unless B is -1, points to memory that others can
	// reach
	Pause

	// Operations that synchronize: each begins a transition.
	FirstSync
	Go       // Calls[N]; K as for Defer
	Send     // on r[A] the value r[B..] of type N
	Recv     // r[A..] = <-r[B] of type N; C is 1 for the form with ok
	SelectOp // r[A..] = Selects[N]
	Close    // r[A]
	LenChan  // r[A] = len(r[B])
	PickMap  // r[A..] = ok, key, value of one of the keys that are left of r[B..], over map type N
	Sync     // function N of the machine, which synchronizes
)

// accesses returns the registers of the pointers to the memory that an operation reads or
// writes for the program, -1 where there are none.
func (i *Instr) accesses() (a, b int32) {
	switch i.Op {
	case Store, StoreW, MapSet, MapDelete, MapClear, Clear:
		return i.A, -1
	case Load, LoadW, StrFrom, MapGet, NextMap, LenMap, RangeAny, AppendStr, CopyStr, ToString:
		return i.B, -1
	case Append, Copy:
		return i.B, i.C
	}
	return -1, -1
}

// Writes reports whether an operation on memory writes it.
func (o Op) Writes() bool {
	switch o {
	case Store, StoreW, MapSet, MapDelete, MapClear, Clear, Append, AppendStr, Copy, CopyStr:
		return true
	}
	return false
}

// Synchronises reports whether an operation begins a transition.
func (o Op) Synchronises() bool { return o > FirstSync }
