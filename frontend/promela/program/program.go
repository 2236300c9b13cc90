// Package program resolves a Promela model: names become variables with a place
// in the state, process types become control automata.
//
// The automata have the states and edges of SPIN 6.5.2 without statement merging (spin -o3): a
// statement is an edge, goto and break are not unless they are the guard of an option, nested
// selections at the beginning of an option are flattened into the outer one, and a late
// declaration is an assignment. So the counts of states and transitions are equal.
package program

import (
	"cpor/frontend/promela/syntax"
	"cpor/ltl"
)

// The methods of expressions follow from their declarations here (command nodegen).
//
//go:generate go run ../../../internal/nodegen nodes.go program.go

// Type is the type of a scalar.
type Type struct {
	Name   string // bit, bool, byte, short, int, unsigned, pid, chan, mtype
	Kind   string // of an mtype
	Bits   int
	Signed bool
	Fields []*Sym // of a structure; then the other fields mean nothing
	Size   int    // scalars in a value of the type
}

// IsStruct reports whether the type is a typedef.
func (t *Type) IsStruct() bool { return t.Fields != nil }

// Truncate returns what a scalar of the type holds after v was assigned to it.
func (t *Type) Truncate(v int32) int32 {
	switch {
	case t.Bits == 32:
		return v
	case t.Signed:
		return v << uint(32-t.Bits) >> uint(32-t.Bits)
	}
	return v & (1<<uint(t.Bits) - 1)
}

// Sym is a variable, a parameter or a field.
type Sym struct {
	Name   syntax.Name
	Type   *Type
	Len    int // of an array; 0 if it is none
	Base   int // its first scalar: in the globals, in the process, or in the structure
	Global bool
	Order  int // of a global variable: how many declarations of the model are above its own
	Hidden bool
	Init   Expr     // nil: 0
	List   []Expr   // of an array
	Chans  []int    // by element: the channel that it is initialized with; nil if none
	Chan   *Channel // of a field: what it is initialized with; nil if nothing
	Remote bool     // something reads it from outside its process
}

// Scalars returns how many scalars the variable has.
func (s *Sym) Scalars() int { return max(1, s.Len) * s.Type.Size }

// Scalar is one word of data of a region of the state.
type Scalar struct {
	Name   string
	Type   *Type
	Hidden bool
}

// Channel is a channel that is created with the model or with a process.
type Channel struct {
	Name   string
	Pos    syntax.Pos
	Cap    int
	Fields []*Type // of a message, flattened
	Struct *Type   // what a message is, if that is one structure
	Base   int     // the first scalar of its storage: the length, then the messages
}

// Region is the globals, or the locals of a process type.
type Region struct {
	Syms    []*Sym
	Scalars []Scalar
	Chans   []*Channel
	Fields  []Field
}

// Field is a field of a structure that is initialized with a channel.
type Field struct{ Scalar, Chan int }

// Program is a resolved model.
type Program struct {
	Model   *syntax.Model
	Globals Region
	Mtypes  map[string]int // by name: its value
	Names   map[string]map[int]string
	Procs   []*Proc // in the order of the text, init included
	Actives []Active
	Claims  []*Proc // the never claims
	Trace   *Proc   // the trace or notrace assertion; nil if there is none
	LTLs    []*LTL
	Props   []Prop // of all of them
	// Warnings are about what the model may not intend, in the order in which they were found.
	Warnings syntax.Errors

	// What the model reads beyond variables and channels.
	UsesLast, UsesNumber, UsesTimeout, UsesEnabled, UsesNonProgress, UsesPriority, UsesProvided bool
}

// Active is a process that exists in the initial state.
type Active struct {
	Proc *Proc
}

// Proc is a process type as a control automaton.
type Proc struct {
	Region
	Name      string
	Index     int
	Decl      *syntax.Proctype
	Params    []*Sym
	Arity     int  // how many scalars the parameters are, which are the first of the region
	Priority  Expr // nil: 1
	Provided  Expr
	States    []*State
	Start     int
	End       int // the state in which only the death of the process is left
	Labels    map[string]*State
	Exclusive []Exclusive
	// Cut are the unreachable statements, such as those after a loop without break.
	Cut []*Edge
	// Elements is how many numbers SPIN gives to the parts of the process type,
	// the last to its end; First is the first of them in the model.
	Elements, First int
	// Type is SPIN's number of the process type: claims and the trace assertion count.
	Type int

	bySeq []*State
	// labels of gotos whose numbers are given where the label is referred to first
	moved map[string]bool
}

// Exclusive is xs, or else xr, about a channel.
type Exclusive struct {
	Ch   Expr
	Send bool
	Pos  syntax.Pos
}

// Types returns how many process types SPIN makes of the model: those of the text, including
// claims and the trace assertion, followed by a claim for each ltl formula, in order. The claim
// that it adds for non-progress cycles has the next number.
func (p *Program) Types() int {
	n := len(p.Procs) + len(p.Claims) + len(p.LTLs)
	if p.Trace != nil {
		n++
	}
	return n
}

// State is a control state.
type State struct {
	ID     int
	Edges  []*Edge
	Pos    syntax.Pos
	Labels []string
	// End, Accept and Progress: it has a label with this prefix.
	End, Accept, Progress bool
	// Escapes are the edges of the enclosing escapes, which are tried first: once one is
	// enabled, only the edges that follow it immediately and have the same From are tried. See
	// [Program.OrderEscapes].
	Escapes []Escape

	// Fall is where control continues in a d_step if no edge is executable: the next
	// option of a selection. Nil: it blocks, which is an error.
	Fall *State

	seq int // states are numbered so by SPIN: in the order in which their statements end
}

// Escape is an edge of an escape.
type Escape struct {
	Edge *Edge
	From *State // the first state of the escape
}

// Kind is what an edge does.
type Kind uint8

// The kinds of edges.
const (
	Skip    Kind = iota // goto, break, and other steps that only move on
	Cond                // waits until X is true
	Else                // no other edge of the state is executable
	Assign              // Place = X
	Clear               // a late declaration of a structure: nothing happens
	Assert              // X
	Print               //
	Send                //
	Recv                //
	DStep               // Inner, in one step
	SetPrio             // set_priority(X, Y)
)

// Edge is one step of a process.
type Edge struct {
	Kind   Kind
	Stmt   syntax.Stmt // for messages; nil for steps that the text does not show
	Pos    syntax.Pos
	Text   string
	From   *State // where it was made; a flattened edge is in several states
	To     *State // nil of a d_step's inner edge: leaves the d_step
	Atomic bool   // the process continues without a state in between
	// Escapes are the states whose edges are tried instead, outermost first.
	Escapes []*State

	X, Y  Expr
	Place *Place
	Ch    Expr
	Args  []Expr
	Recv  []RecvArg
	// Sorted: a sorted send; Random: a receive from anywhere; Peek: the message stays.
	Sorted, Random, Peek bool
	Format               string
	Inner                *State
	// Seq is the number of the statement among the elements of its process type,
	// from 1; 0 if it is a jump that the text does not show.
	Seq int
	// Guards of a d_step: it can begin if one of them is executable, or Always, or Otherwise, if no
	// edge of the state before it is executable: it begins with else.
	Guards    []*Edge
	Always    bool
	Otherwise bool
}

// RecvArg is one scalar that a receive takes: stored in Place, compared with
// Match, or thrown away.
//
//node:part
type RecvArg struct {
	Place *Place
	Match Expr
}

// Place is a scalar, or the first of some: Base plus the indices times their
// strides.
//
//node:part
type Place struct {
	Sym    *Sym
	Pos    syntax.Pos
	Name   string // as it is written, without indices
	Base   int
	Index  []Index
	Type   *Type // of the element; a structure if Count is not 1
	Count  int   // scalars
	Global bool
}

// Index is one index of a place.
//
//node:part
type Index struct {
	X      Expr
	Len    int
	Stride int
	Pos    syntax.Pos
}

// Expr is a resolved expression over C's ints.
type Expr interface {
	expr()
	each(f func(Expr)) // calls f for the expressions directly below
}

// The expressions.
type (
	// Const is a number.
	//
	//node:expr
	Const struct{ Value int32 }
	// Load is the value of a scalar.
	//
	//node:expr
	Load struct{ Place *Place }
	// Unary is Op X: ! - ~.
	//
	//node:expr
	Unary struct {
		Op string
		X  Expr
	}
	// Binary is X Op Y.
	//
	//node:expr
	Binary struct {
		Op   string
		X, Y Expr
		Pos  syntax.Pos
	}
	// If is (C -> X : Y).
	//
	//node:expr
	If struct{ C, X, Y Expr }
	// Run creates a process and is its number.
	//
	//node:expr
	Run struct {
		Proc     *Proc
		Args     []Expr
		Priority Expr
		Pos      syntax.Pos
	}
	// ChanOp is len, empty, nempty, full or nfull.
	//
	//node:expr
	ChanOp struct {
		Op  string
		Ch  Expr
		Pos syntax.Pos
	}
	// Poll reports whether a receive would be possible.
	//
	//node:expr
	Poll struct {
		Ch     Expr
		Args   []RecvArg
		Random bool
		Pos    syntax.Pos
	}
	// Call is enabled or get_priority of a process.
	//
	//node:expr
	Call struct {
		Name string
		X    Expr
		Pos  syntax.Pos
	}
	// At reports whether a process is in the state of a label.
	//
	//node:expr
	At struct {
		Proc  *Proc
		Pid   Expr // nil: the only process of its type
		State *State
		Label string
	}
	// RemoteLoad is a local variable of another process.
	//
	//node:expr
	RemoteLoad struct {
		Proc  *Proc
		Pid   Expr
		Place *Place
	}
	// Special is timeout, np_, _last, _pid or _nr_pr, or in an event trace _.
	//
	//node:expr
	Special struct{ Name string }
)

// LTL is a property of the model. The atoms of its formula are the texts of the
// program's propositions.
type LTL struct {
	Name    string
	Pos     syntax.Pos
	Text    string
	Formula ltl.Formula
	// Modality says what the formula has to do with the executions.
	Modality ltl.Modality
	// Refused, if not nil, is why it cannot be checked.
	Refused error
}

// Prop is an atomic proposition: a part of a formula without temporal operators,
// and not inside of a larger one.
type Prop struct {
	Text string
	X    Expr
}

// Limits of SPIN that a model can reach.
const (
	MaxProcesses = 255
	MaxChannels  = 255
)
