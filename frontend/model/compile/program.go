// Package compile translates a resolved model into a program for the machine.
//
// This comment specifies the whole machine; package machine executes it.
//
// # Memory
//
// The live state is a sequence of 64-bit words. First come the shared
// locations, each a field of 1 to 64 bits that does not cross a word; then the
// number of threads, if threads create threads; then the threads' slots, all
// of one size, several in a word if they fit. A slot holds the thread's wait
// field (only if the model has rendezvous channels; it is a shared location),
// its type (only if that differs between the states), its program counter, and
// its local variables.
//
// The program counter is 0 for a thread that does not exist, otherwise 1 + a
// point. A [Point] is the place before a transition: the code between two
// points is a segment, and executing a segment is executing a transition. A
// variable has a field in the slot only if it is alive at some point; variables
// that are never alive together share bits, and what is not alive is zero, so
// that equal local states are equal bits. After the points come the sites: a
// thread that violated a property at site i has the program counter
// 1 + len(Points) + i and nothing else.
//
// # Execution
//
// A step of a thread at point p loads the variables in p.Loads from the slot
// into registers, executes code from p.Entry until an OpBound instruction, and
// stores the variables by the [Exit] of p that belongs to the point reached.
// Registers start with the program's constants; every other register is a
// variable of the thread's type or a temporary value.
//
// Addresses of shared locations are [system.Loc] values in registers; pointers
// are addresses plus one, so that zero is nil. References to channels are
// channel numbers plus one. Local variables that contain an array stay in the
// slot; they are addressed by their index in the thread type's Fields.
//
// # Instructions
//
// A, B, C and D are register numbers unless the table says otherwise; T is an
// index into the table that is named.
//
//	Mov       A = B
//	Add..Mul  A = B op C, checked against Types[T] (at most 32 bits)
//	Arith     A = B op C for any type; D is the operator
//	Neg, Com  A = -B, ^B in Types[T]
//	Conv      A = B truncated to Types[T]
//	Eq..Le    A = B op C; LtU, LeU compare as unsigned 64-bit numbers
//	Not       A = !B
//	Jmp       goto A (an address); with a Site, it begins a pass of a loop; D is less the further out that is;
//	          T is the counter of the jump ([Cover]), -1 if it has none
//	Jt, Jf    if B / if !B goto A; T is the counter of the jumps that are taken
//	Jeq..Jle  if B op C goto A; T as for Jt
//	Table     goto Jumps[T][B]; C is the counter of the first of them
//	Index     A = B + C*stride, with 0 <= C < len, by Strides[T]
//	Offset    A = B + C, where C is a number
//	Deref     A = B - 1; nil is a violation
//	Ref       A = B + 1
//	Load      A = the shared location B
//	Store     the shared location A = B; D is 1 if this is a sum, in Types[T], of something and of
//	          what the thread's last Load of the location has read, which is used for nothing else
//	LoadLocal A = Fields[B]; StoreLocal: Fields[A] = B
//	Bump      C, a register, is added to location B, or subtracted if D is 1
//	Cas       A = (location B equals C), then location B = D
//	Lock, Unlock  the mutex at location B
//	ChanRef   A = the reference to the channel at location B
//	Select    A = the index of the case of Selects[T] that is executed; D is 1 in
//	          an atomic block
//	Poll      A = (the case of Selects[T], which receives, would get a message)
//	Close     close the channel B
//	ChanLen, ChanCap, ChanFull  of the channel B into A
//	Choose    A = any number from B to C; D is 0, or a name of Sets[D-1]
//	Choice    A = any number from 0 to C-1, where C is a number; the case of Choices[T]
//	Go        create a thread by Gos[T]
//	Peek      A = the local variable of another thread, by Peeks[T]
//	Threads   A = how many threads of type Threads[T] there are
//	PeekAt    A = the local variable of thread B of its kind, by Peeks[T]; 0 if there is none
//	Block     the transition is not enabled
//	Drop      init has an outcome that does not count
//	Fail      a violation: Sites[T]
//	Bound     the transition ends before point A
//	Enter, Exit  the monitor at location B
//	Wait      give the monitor at location B up and wait; A = how often it was entered
//	Wake      enter the monitor at location B again, C times, once notified
//	Notify    wake a thread that waits at the monitor at location B, or all if C is 1
//	Up, Down  the semaphore at location B
//	WLock, WUnlock, RLock, RUnlock  the rwmutex at location B, for writing and for reading
//	GroupAdd  the waitgroup at location B: C, a register, is added
//	GroupWait  the waitgroup at location B: not enabled unless it is 0
//	TryLock, TryWLock, TryRLock  A = (the mutex or rwmutex at location B was free, and is locked)
//	Print     tell people of Prints[T]
//	Timeout   A = (no thread can move, as long as all timeouts are false)
//	CondWait  be among those that wait for the condition at location B
//	CondWoken  not enabled while still among those that wait for the condition at location B
//	Signal    wake a thread that waits for the condition at location B, or all if C is 1
package compile

import (
	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// Op is an operation of the machine.
type Op uint16

// The operations; the package documentation specifies them.
const (
	OpMov Op = iota
	OpAdd
	OpSub
	OpMul
	OpArith
	OpNeg
	OpCom
	OpConv
	OpEq
	OpNe
	OpLt
	OpLe
	OpLtU
	OpLeU
	OpNot
	OpJmp
	OpJt
	OpJf
	OpJeq
	OpJne
	OpJlt
	OpJle
	OpTable
	OpIndex
	OpOffset
	OpDeref
	OpRef
	OpLoad
	OpStore
	OpLoadLocal
	OpStoreLocal
	OpCas
	OpLock
	OpUnlock
	OpChanRef
	OpSelect
	OpPoll
	OpClose
	OpChanLen
	OpChanCap
	OpChanFull
	OpChoose
	OpChoice
	OpGo
	OpPeek
	OpThreads
	OpPeekAt
	OpBlock
	OpDrop
	OpFail
	OpBound
	OpEnter
	OpExit
	OpWait
	OpWake
	OpNotify
	OpUp
	OpDown
	OpWLock
	OpWUnlock
	OpRLock
	OpRUnlock
	OpGroupAdd
	OpGroupWait
	OpTryLock
	OpTryWLock
	OpTryRLock
	OpCondWait
	OpCondWoken
	OpSignal
	OpPrint
	OpTimeout
	OpBump
	numOps

	// OpNote is in no program. A machine that tells what it does has it in its own copy of the
	// code in place of the instruction at each of [Program.Notes].
	OpNote = numOps
)

// Instr is one instruction.
type Instr struct {
	Op         Op
	T          int32
	A, B, C, D int32
	Site       int32 // the site of the violation that the instruction may cause, or -1
}

// Program is a compiled model. It is immutable.
type Program struct {
	Source *source.File
	Code   []Instr
	Notes  []Note  // by address
	Consts []int64 // the first registers
	NumReg int     // registers in all

	Points  []Point
	Sites   []Site
	Threads []*ThreadType
	Init    int // the code of init, ending in OpBound of point -1; -1 if there is none
	// InitThread holds the variables of init that stay in a slot, of InitBits
	// bits; nil if there is no init.
	InitThread *ThreadType
	InitBits   int

	SlotBits int // the size of a thread's slot
	WaitBits int // its lowest bits: the wait field
	TypeBits int // the next bits: the thread's type, if it is not known otherwise
	PCBits   int // the next bits: the program counter

	Types   []IntType
	Strides []Stride
	Jumps   [][]int32
	Selects [][]SelectCase
	Gos     []GoSite
	Peeks   []Peek
	Choices [][]string // the cases of each choose, for people
	Prints  []PrintSite

	Locs       []LocInfo       // the shared locations
	Chans      []Chan          // the channels
	ChanAt     map[int]int     // a channel's first location -> its number
	Inits      []LocInit       // initial values that are not zero
	Rendezvous bool            // there is a channel without a buffer
	Monitors   bool            // there is a monitor
	Timeout    source.Pos      // of a timeout, 0 if there is none
	Tries      bool            // there is a trylock of a mutex
	Dynamic    bool            // threads create threads
	MayChoose  bool            // some transition may have several alternatives
	Observed   bool            // some local variable or label is named in a property
	InitChoose bool            // init makes choices
	Properties []Property      // one observer thread each: Threads[i] for i < len(Properties)
	LTL        []LTL           // properties of the executions
	Props      []Prop          // their atomic propositions
	Terms      []Term          // what the comparisons among these are made of
	PerThread  int             // locations of each slot that follow Locs
	Place      int             // which of them is where the thread is; 0 without a timeout
	Sets       []*resolve.Type // the Scalarsets that values of the program or indices are of
	Resolved   *resolve.Program
	Cover      Cover

	seen []bool // scratch of reach, by address
}

// Property is a global property that an observer thread checks.
type Property struct {
	Name string
	Pos  source.Pos
}

// ThreadType is a declared thread, or the observer of a property.
type ThreadType struct {
	Name     string
	Observer bool
	// Symmetric: threads of the kind can be exchanged.
	Symmetric bool
	Entry     int // the code before the first point, executed at creation
	Params    []*Var
	Vars      []*Var  // those with a field, in order of declaration
	Fields    []Field // of local variables that stay in the slot, by leaf
	Masks     []uint64
	Start     Point // Exits of the segment that starts at Entry
	// Failing is the point at which a thread starts if its local computation before its first
	// point violates a property, so that a transition of its own shows the violation; -1 if that
	// is impossible.
	Failing int32
	Watched []Watch
}

// Watch is what properties read of a thread: a local variable or a label. It is a shared
// location of its own; a transition that changes it writes it.
type Watch struct {
	Name   string
	Var    *Var   // nil for a label
	Points []bool // by point: whether the variable is alive, or the thread is at the label
	Type   *resolve.Type
}

// Var is a variable or a temporary value of a thread type.
type Var struct {
	Name   string // "" for a temporary value
	Type   *resolve.Type
	Bits   int
	Signed bool
	Reg    int32
	Field  Field // valid if Kept
	Kept   bool  // alive at some point, so that it has a field
	// For a variable that stays in the slot: its leaves are Fields[Base:Base+N].
	Base, N int
	mem     bool // it stays in the slot
	obj     *resolve.Object
	points  []int
}

// Field is a place in a slot.
type Field struct {
	Word        uint16
	Shift, Bits uint8
	Signed      bool
}

// Point is the place before a transition.
type Point struct {
	Thread *ThreadType
	Entry  int // code address
	Pos    source.Pos
	Text   string
	Loads  []Move
	Exits  []Exit
	Ended  bool // no transition follows
	End    bool // may block here forever
	Choice bool // the segment may have several alternatives
	Retry  bool // which alternatives are enabled is known only when all were tried
	Atomic bool // the segment is an atomic block
	// Timeout: what the segment does depends on whether any thread can move.
	Timeout bool
	Blocks  system.Blocking
	Shape   system.Shape
	Labels  []string
	Calls   []Call // the calls that were inlined around it, the outermost first

	alive []*Var
}

// Call is a call of a function that was inlined.
type Call struct {
	Func string
	Pos  source.Pos
}

// Move copies between a register and a field of a slot.
type Move struct {
	Reg    int32
	Word   uint16
	Shift  uint8
	Bits   uint8
	Signed bool
	Zero   bool // the variable is not alive at the point: it starts as zero
}

// Exit says how to store the variables when a segment ends before Point To.
type Exit struct {
	To    int32
	Words []ExitWord
}

// ExitWord is what happens to one word of the slot: the bits in Clear are
// cleared, then the registers in Stores and PC are written into it.
type ExitWord struct {
	Word   uint16
	Clear  uint64
	PC     uint64
	Stores []Move
}

// Site is a place where a violation can happen.
type Site struct {
	Kind    system.ViolationKind
	Pos     source.Pos
	Message string // of an assertion or invariant
}

// IntType is what arithmetic needs to know about an integer type.
type IntType struct {
	Name     string
	Bits     int
	Signed   bool
	Min, Max int64 // of types below 64 bits
}

// Stride is what indexing needs to know about an array.
type Stride struct {
	Len    int64
	Stride int64
	Named  bool // the index is a name less one: -1 is nil
}

// SelectKind is the kind of a select case.
type SelectKind uint8

// The kinds of select cases.
const (
	SelRecv SelectKind = iota
	SelSend
	SelGuard
	SelDefault
)

// SelectCase is one case of a select, or a send or receive alone.
type SelectCase struct {
	Kind SelectKind
	Chan int32   // register with the reference
	OK   int32   // register for the second result of a receive, or -1
	Vals []int32 // registers of the value's leaves; none if a received value is dropped
	Cond int32   // register with the guard's value
	Site int32   // of a violation by this case: a send on a closed channel
	Text string  // the case as it appears in the source, for people
	// For a receive: the message must match, it is not removed, and the channel may be a bag, so
	// there may be several messages to receive.
	Match   []LeafMatch
	Pattern string // the pattern as it stands in the source; "" if there is none
	Keep    bool
	Bag     bool
}

// LeafMatch says what a scalar of a message must be.
type LeafMatch struct {
	Leaf int
	Reg  int32
}

// GoSite is a go statement.
type GoSite struct {
	Thread *ThreadType
	Args   []int32 // registers, one for each leaf of each parameter
}

// PrintSite is a print statement.
type PrintSite struct {
	Parts []PrintPart
	Regs  []int32 // of the leaves of the parts that are values, one after another
}

// PrintPart is what one operand of a print shows: a text, or if Type is not nil a value.
type PrintPart struct {
	Text string
	Type *resolve.Type
}

// Peek names a local variable or label of a thread in a property.
type Peek struct {
	Thread *ThreadType
	Index  int // -1 for PeekAt
	Watch  int
	Pos    source.Pos // where the property names it
}

// LocInfo is a shared location.
type LocInfo struct {
	Name   string
	Type   *resolve.Type // of its value; nil for a location of a channel
	Bits   int           // 0: a thread number, whose width the layout decides
	Signed bool
	Mutex  bool
	Role   Role
	Class  syntax.Class // of a variable, as declared
	// Named are the indices that are names of a Scalarset among those that lead to the
	// location, the innermost first.
	Named []Named
}

// Named is an index that is a name of a Scalarset.
type Named struct {
	Set    int // in Program.Sets
	Index  int // of the name, from 0
	Stride int // from the location of a name to that of the next one
}

// Role says what a location of a channel is.
type Role uint8

// The roles.
const (
	Plain      Role = iota
	ChanHead        // index of the oldest value's slot
	ChanTail        // index of the slot for the next value
	ChanSlot        // whether a slot holds a value; for a rendezvous channel, who is parked
	ChanValue       // a leaf of a slot's value
	ChanClosed      // whether the channel is closed

	MonitorOwner   // the thread that is in a monitor, plus one
	MonitorDepth   // how often it has entered it
	MonitorWaiters // the threads that wait, a bit for each
	SemaphoreCount

	RWWriter   // the thread that has a rwmutex for writing, plus one
	RWReaders  // how many have it for reading
	GroupCount // how many a waitgroup waits for

	CondWaiters // the threads that wait for a condition, a bit for each
)

// Chan is a channel. Its locations follow each other: a buffered channel has
// head, tail, [closed], and for each slot a mark and the value's leaves; a
// rendezvous channel has the mark of its one slot, [closed], and the leaves. A bag
// has neither head nor tail: its messages are in the first slots, sorted, so that
// equal contents are equal states, and each operation depends on every other one.
type Chan struct {
	Name   string
	Elem   *resolve.Type
	First  int
	Cap    int
	Bag    bool
	Leaves int
	Closed int // location, or -1 if no channel of the model is ever closed
	Slots  int // location of slot 0's mark (Cap > 0) or of the mark (Cap == 0)
	Values int // Cap == 0: location of the value
}

// Size returns the number of the channel's locations.
func (c *Chan) Size() int {
	n := 2 + c.Cap*(1+c.Leaves)
	if c.Cap == 0 {
		n = 1 + c.Leaves
	}
	if c.Bag {
		n -= 2
	}
	if c.Closed >= 0 {
		n++
	}
	return n
}

// LocInit is the initial value of a location.
type LocInit struct {
	Loc   int
	Value int64
}
