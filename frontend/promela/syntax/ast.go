package syntax

import (
	"strings"

	"cpor/frontend/source"
)

// The methods of nodes follow from their declarations here (command nodegen).
//
//go:generate go run ../../../internal/nodegen nodes.go ast.go

// Model is a parsed model.
type Model struct {
	Files    []*source.File // the first is the model's own
	Decls    []Decl         // in the order of the text
	Inlines  map[string]*Inline
	LTLs     []*LTL
	Nevers   []*Proctype // the never claims
	Trace    *Proctype   // the trace or notrace automaton; nil if there is none
	NotTrace bool
	// Watched are the labels that the model refers to, as Proc@Label.
	Watched map[string]bool

	ends  map[Pos]source.Pos // of the statements that begin at a place: the byte after
	texts map[Stmt]string    // of those that have parts of a macro or of the arguments of an inline
}

// Text returns the text of a statement that begins at a place, on one line. If only a part of a
// macro is in it, that is expanded, and so are the parameters of an inline.
func (m *Model) Text(s Stmt, pos Pos) string {
	if t, ok := m.texts[s]; ok {
		return t
	}
	end, ok := m.ends[pos]
	if !ok || end <= pos.Off {
		return ""
	}
	return strings.Join(strings.Fields(pos.File.Text[pos.Off:end]), " ")
}

// Decl is a global declaration: *VarDecl, *Mtype, *Typedef or *Proctype.
type Decl interface{ decl() }

// Mtype declares symbolic constants.
//
//node:decl
type Mtype struct {
	Pos   Pos
	Kind  string // mtype:Kind; empty for plain ones
	Names []Name
}

// Name is a name with its place.
type Name struct {
	Pos  Pos
	Text string
}

// Typedef declares a structure.
//
//node:decl
type Typedef struct {
	Name   Name
	Fields []*VarDecl
}

// VarDecl declares variables of one type.
//
//node:decl
type VarDecl struct {
	Pos    Pos
	Type   string // bit, bool, byte, short, int, unsigned, pid, chan, mtype, or a typedef
	Kind   string // of an mtype
	Hidden bool
	Vars   []*Var
}

// Var is one declared variable.
type Var struct {
	Name  Name
	Width int    // of an unsigned
	Array Expr   // the length; nil if it is not an array
	Init  Expr   // nil if there is none
	List  []Expr // the values of { ... }; nil if there are none
	Chan  *ChanInit
}

// ChanInit is [Cap] of { Fields }.
type ChanInit struct {
	Pos    Pos
	Cap    Expr
	Fields []Field
}

// Field is the type of a field of a message.
type Field struct {
	Pos  Pos
	Type string
	Kind string
}

// Proctype is a process type, init, a never claim or a trace automaton.
//
//node:decl
type Proctype struct {
	Pos           Pos
	Name          Name
	Init          bool
	Never         bool // a never claim
	Active        Expr // the number of active instances; nil if it is not active
	Deterministic bool // D_proctype: a choice between enabled steps is an error
	Params        []*VarDecl
	Provided      Expr
	Priority      Expr
	Body          *Block
	End           Pos // of the closing brace
	Known         int // how many declarations of the model stand above
}

// Inline is an inline definition.
type Inline struct {
	Name   Name
	Params []string
	Body   []Token // with its braces
}

// LTL is an ltl block.
type LTL struct {
	Name    Name // the text is empty if it has none
	Pos     Pos
	Formula *Formula
	// NoValue, if not nil, is why the formula cannot be checked: it computes with the value of a
	// formula.
	NoValue *Error
}

// Formula is a formula of linear temporal logic. Op is one of ! && || -> <->
// [] <> X U W V, or empty for a proposition.
type Formula struct {
	Pos  Pos
	Op   string
	X, Y *Formula // Y only of binary operators
	Prop Expr
	Text string // of the formula
}

// Stmt is a statement.
type Stmt interface{ At() Pos }

// Block is { ... }, and the body of everything that has one.
//
//node:stmt
type Block struct {
	Pos   Pos
	Stmts []Stmt
}

// The statements.
type (
	// DeclStmt is a declaration among statements.
	//
	//node:stmt
	DeclStmt struct{ *VarDecl }
	// Labeled is Name: Stmt.
	//
	//node:stmt at=Label.Pos
	Labeled struct {
		Inline int // the number of the call of an inline that it stands in; 0 if in none
		Label  Name
		Stmt   Stmt
	}
	// Assign is Ref = X.
	//
	//node:stmt
	Assign struct {
		Pos Pos
		Ref *Ref
		X   Expr
	}
	// ExprStmt is an expression that waits until it is true.
	//
	//node:stmt
	ExprStmt struct {
		Pos Pos
		X   Expr
	}
	// Assert is assert(X).
	//
	//node:stmt
	Assert struct {
		Pos Pos
		X   Expr
	}
	// Print is printf(Format, Args) or printm(Args).
	//
	//node:stmt
	Print struct {
		Pos    Pos
		Format string
		Mtype  bool
		Args   []Expr
	}
	// Send is Ch!Args or, sorted, Ch!!Args.
	//
	//node:stmt
	Send struct {
		Pos    Pos
		Ch     *Ref
		Args   []Expr
		Sorted bool
	}
	// Recv is Ch?Args, with Random Ch??Args, with Peek Ch?<Args>.
	//
	//node:stmt
	Recv struct {
		Pos    Pos
		Ch     *Ref
		Args   []RecvArg
		Random bool
		Peek   bool
	}
	// If is if or, with Loop, do.
	//
	//node:stmt
	If struct {
		Pos     Pos
		Loop    bool
		Options []*Block
		// Climbs: it is the loop of a select, whose last option SPIN puts before the other.
		Climbs bool
	}
	// For is for (Var : From .. To) or, with In, for (Var in In).
	//
	//node:stmt
	For struct {
		Pos      Pos
		Var      *Ref
		From, To Expr
		In       *Ref
		Body     *Block
	}
	// Select is select (Var : From .. To).
	//
	//node:stmt
	Select struct {
		Pos      Pos
		Var      *Ref
		From, To Expr
		// Literal says that both bounds are numbers, without a sign or parentheses, in the form
		// that SPIN's scanner expands.
		Literal bool
		inline  bool
	}
	// Goto is goto Label.
	//
	//node:stmt
	Goto struct {
		Pos   Pos
		Label Name
	}
	// Break is break.
	//
	//node:stmt
	Break struct{ Pos Pos }
	// Else is else.
	//
	//node:stmt
	Else struct{ Pos Pos }
	// Atomic is atomic or, with DStep, d_step.
	//
	//node:stmt
	Atomic struct {
		Pos    Pos
		DStep  bool
		Body   *Block
		inline bool
	}
	// Unless is Main unless Escape.
	//
	//node:stmt
	Unless struct {
		Pos          Pos
		Main, Escape Stmt
	}
	// Exclusive is xr or, with Send, xs.
	//
	//node:stmt
	Exclusive struct {
		Pos  Pos
		Send bool
		Refs []*Ref
	}
	// SetPriority is set_priority(Pid, X) or, with Own, an assignment to _priority.
	//
	//node:stmt
	SetPriority struct {
		Pos    Pos
		Pid, X Expr
		Own    bool
	}
)

// Inlined reports whether the statement is in an inline body.
func (s *Select) Inlined() bool { return s.inline }

// Inlined reports whether the statement is in an inline body.
func (s *Atomic) Inlined() bool { return s.inline }

// RecvArg is an argument of a receive or a poll: a variable, the anonymous _,
// or a value to match.
type RecvArg struct {
	X    Expr // nil for _
	Eval bool // eval(X)
}

// Expr is an expression.
type Expr interface{ At() Pos }

// The expressions.
type (
	// Const is a number; true, false and skip are numbers, too.
	//
	//node:expr
	Const struct {
		Pos   Pos
		Value int32
	}
	// Ref is a variable, an element or a field: Name[Index].Field. A symbolic constant
	// is a Ref, too.
	//
	//node:expr
	Ref struct {
		Pos      Pos
		Name     string
		Index    Expr // nil if there is none
		Field    *Ref // nil if there is none
		Symbolic bool // it is a symbolic constant
		// it was passed to an inline, so to SPIN it is a number without a kind
		Number bool
		Known  int // how many declarations of the model stand above
	}
	// Unary is Op X, Op one of ! - ~.
	//
	//node:expr
	Unary struct {
		Pos Pos
		Op  string
		X   Expr
	}
	// Binary is X Op Y.
	//
	//node:expr at=X.At()
	Binary struct {
		Pos  Pos // of the operator
		Op   string
		X, Y Expr
	}
	// Cond is (If -> Then : Else).
	//
	//node:expr
	Cond struct {
		Pos            Pos
		If, Then, Else Expr
	}
	// Run is run Name(Args).
	//
	//node:expr
	Run struct {
		Pos      Pos
		Name     Name
		Args     []Expr
		Priority Expr
	}
	// ChanOp is len, empty, nempty, full or nfull of a channel.
	//
	//node:expr
	ChanOp struct {
		Pos Pos
		Op  string
		Ch  *Ref
	}
	// Poll is Ch?[Args] or, with Random, Ch??[Args].
	//
	//node:expr
	Poll struct {
		Pos    Pos
		Ch     *Ref
		Args   []RecvArg
		Random bool
	}
	// Call is enabled(X), pc_value(X) or get_priority(X).
	//
	//node:expr
	Call struct {
		Pos  Pos
		Name string
		X    Expr
	}
	// Remote is Proc[Pid]@Label, or Proc[Pid]:Var. Pid is nil if it is left out.
	//
	//node:expr
	Remote struct {
		Pos   Pos
		Proc  Name
		Pid   Expr
		Label string
		Var   *Ref
	}
	// Special is timeout, np_, _last, _pid or _nr_pr.
	//
	//node:expr
	Special struct {
		Pos  Pos
		Name string
	}
)
