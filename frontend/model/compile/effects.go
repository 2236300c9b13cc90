package compile

import "fmt"

// Effect is what an instruction does besides computing a value, as analyses of programs need it.
type Effect struct {
	// Regs tells which of A, B and C are registers: r read, w written, - not a
	// register. D is a register only of Cas; a Select, a Poll, a Go and a Print have others
	// (see Program.EachRegister).
	Regs string
	// Flow says where control goes.
	Flow Flow
	// Loc is the operand whose register holds the first of Locs shared
	// locations that are accessed: 'A' or 'B', or 0 if there are none.
	Loc         byte
	Locs        int
	Read, Write bool
	// Chan says what is done with the channel in register B, or with those of the cases of a
	// Select.
	Chan ChanEffect
	// Creates: a thread. Peeks: something that another thread has.
	Creates, Peeks bool
}

// WritesA reports whether the instruction gives register A a new value.
func (e *Effect) WritesA() bool { return e.Regs[0] == 'w' }

// Flow says where control goes after an instruction.
type Flow uint8

// The kinds of flow.
const (
	OnFlow     Flow = iota // to the next instruction
	JumpFlow               // to A
	BranchFlow             // to A or to the next instruction
	TableFlow              // to an address of Jumps[T]
	EndFlow                // the transition ends, or is not enabled
)

// ChanEffect says what is done with a channel.
type ChanEffect uint8

// What is done with a channel.
const (
	NoChan    ChanEffect = iota
	LookChan             // its length is read
	CapChan              // its capacity, which never changes, is read
	CloseChan            // it is closed
	CaseChan             // the cases of Selects[T] send and receive
)

// effects has an entry for every operation. An analysis that treats an unknown operation as one
// without effect would be unsound without anyone noticing, so a missing entry ends the program
// at its start.
var effects = [numOps]Effect{
	OpMov: {Regs: "wr-"}, OpAdd: {Regs: "wrr"}, OpSub: {Regs: "wrr"}, OpMul: {Regs: "wrr"},
	OpArith: {Regs: "wrr"},
	OpNeg:   {Regs: "wr-"}, OpCom: {Regs: "wr-"}, OpConv: {Regs: "wr-"},
	OpEq: {Regs: "wrr"}, OpNe: {Regs: "wrr"}, OpLt: {Regs: "wrr"}, OpLe: {Regs: "wrr"},
	OpLtU: {Regs: "wrr"}, OpLeU: {Regs: "wrr"},
	OpNot: {Regs: "wr-"},
	OpJmp: {Regs: "---", Flow: JumpFlow},
	OpJt:  {Regs: "-r-", Flow: BranchFlow}, OpJf: {Regs: "-r-", Flow: BranchFlow},
	OpJeq: {Regs: "-rr", Flow: BranchFlow}, OpJne: {Regs: "-rr", Flow: BranchFlow},
	OpJlt: {Regs: "-rr", Flow: BranchFlow}, OpJle: {Regs: "-rr", Flow: BranchFlow},
	OpTable: {Regs: "-r-", Flow: TableFlow},
	OpIndex: {Regs: "wrr"}, OpOffset: {Regs: "wr-"}, OpDeref: {Regs: "wr-"}, OpRef: {Regs: "wr-"},
	OpLoad:      {Regs: "wr-", Loc: 'B', Locs: 1, Read: true},
	OpStore:     {Regs: "rr-", Loc: 'A', Locs: 1, Write: true},
	OpBump:      {Regs: "-rr", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpLoadLocal: {Regs: "wr-"}, OpStoreLocal: {Regs: "rr-"},
	OpCas:     {Regs: "wrr", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpLock:    {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpUnlock:  {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpUp:      {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpDown:    {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpChanRef: {Regs: "wr-"},
	OpSelect:  {Regs: "w--", Chan: CaseChan},
	OpPoll:    {Regs: "w--", Chan: CaseChan},
	OpClose:   {Regs: "-r-", Chan: CloseChan},
	OpChanLen: {Regs: "wr-", Chan: LookChan}, OpChanFull: {Regs: "wr-", Chan: LookChan},
	OpChanCap: {Regs: "wr-", Chan: CapChan},
	OpChoose:  {Regs: "wrr"}, OpChoice: {Regs: "w--"},
	OpGo:     {Regs: "---", Creates: true},
	OpPeek:   {Regs: "w--", Peeks: true},
	OpPeekAt: {Regs: "wr-", Peeks: true}, OpThreads: {Regs: "w--", Peeks: true},
	OpBlock: {Regs: "---", Flow: EndFlow}, OpDrop: {Regs: "---", Flow: EndFlow},
	OpFail: {Regs: "---", Flow: EndFlow}, OpBound: {Regs: "---", Flow: EndFlow},
	// The owner, the depth and the waiters of a monitor.
	OpEnter: {Regs: "-r-", Loc: 'B', Locs: 3, Read: true, Write: true},
	OpExit:  {Regs: "-r-", Loc: 'B', Locs: 3, Read: true, Write: true},
	OpWait:  {Regs: "wr-", Loc: 'B', Locs: 3, Read: true, Write: true},
	OpWake:  {Regs: "-rr", Loc: 'B', Locs: 3, Read: true, Write: true},
	// The writer and the number of readers.
	OpWLock:     {Regs: "-r-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpWUnlock:   {Regs: "-r-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpRLock:     {Regs: "-r-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpRUnlock:   {Regs: "-r-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpGroupAdd:  {Regs: "-rr", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpGroupWait: {Regs: "-r-", Loc: 'B', Locs: 1, Read: true},
	OpTryLock:   {Regs: "wr-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpTryWLock:  {Regs: "wr-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpTryRLock:  {Regs: "wr-", Loc: 'B', Locs: 2, Read: true, Write: true},
	OpCondWait:  {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpCondWoken: {Regs: "-r-", Loc: 'B', Locs: 1, Read: true},
	OpPrint:     {Regs: "---"},
	OpTimeout:   {Regs: "w--", Peeks: true},
	OpSignal:    {Regs: "-r-", Loc: 'B', Locs: 1, Read: true, Write: true},
	OpNotify:    {Regs: "-r-", Loc: 'B', Locs: 3, Read: true, Write: true},
}

func init() {
	for op := range effects {
		if len(effects[op].Regs) != 3 {
			panic(fmt.Sprintf("compile: the table of effects has no entry for operation %d", op))
		}
	}
}

// Effect returns what an operation does.
func (op Op) Effect() *Effect { return &effects[op] }

// LocOperand returns the register that holds the first location that an
// instruction accesses; ok is false if it accesses none.
func (in *Instr) LocOperand() (reg int32, ok bool) {
	switch effects[in.Op].Loc {
	case 'A':
		return in.A, true
	case 'B':
		return in.B, true
	}
	return 0, false
}
