package syntax

import (
	"strings"

	"cpor/frontend/source"
)

// Model is a parsed model.
type Model struct {
	Files    []*source.File // the first is the model's own
	Decls    []Decl         // in the order of the text
	Inlines  map[string]*Inline
	LTLs     []*LTL
	Nevers   []*Proctype // the never claims
	Trace    *Proctype   // the trace or notrace automaton; nil if there is none
	NotTrace bool
	// Watched is the labels that something asks for, as Proc@Label.
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
type Typedef struct {
	Name   Name
	Fields []*VarDecl
}

// VarDecl declares variables of one type.
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
	Array Expr   // the length; nil if it is no array
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

func (*VarDecl) decl()  {}
func (*Mtype) decl()    {}
func (*Typedef) decl()  {}
func (*Proctype) decl() {}

// Stmt is a statement.
type Stmt interface{ At() Pos }

// Block is { ... }, and the body of everything that has one.
type Block struct {
	Pos   Pos
	Stmts []Stmt
}

// The statements.
type (
	// DeclStmt is a declaration among statements.
	DeclStmt struct{ *VarDecl }
	// Labeled is Name: Stmt.
	Labeled struct {
		Inline int // the number of the call of an inline that it stands in; 0 if in none
		Label  Name
		Stmt   Stmt
	}
	// Assign is Ref = X.
	Assign struct {
		Pos Pos
		Ref *Ref
		X   Expr
	}
	// ExprStmt is an expression that waits until it is true.
	ExprStmt struct {
		Pos Pos
		X   Expr
	}
	// Assert is assert(X).
	Assert struct {
		Pos Pos
		X   Expr
	}
	// Print is printf(Format, Args) or printm(Args).
	Print struct {
		Pos    Pos
		Format string
		Mtype  bool
		Args   []Expr
	}
	// Send is Ch!Args or, sorted, Ch!!Args.
	Send struct {
		Pos    Pos
		Ch     *Ref
		Args   []Expr
		Sorted bool
	}
	// Recv is Ch?Args, with Random Ch??Args, with Peek Ch?<Args>.
	Recv struct {
		Pos    Pos
		Ch     *Ref
		Args   []RecvArg
		Random bool
		Peek   bool
	}
	// If is if or, with Loop, do.
	If struct {
		Pos     Pos
		Loop    bool
		Options []*Block
		// Climbs: it is the loop of a select, whose last option SPIN puts before the other.
		Climbs bool
	}
	// For is for (Var : From .. To) or, with In, for (Var in In).
	For struct {
		Pos      Pos
		Var      *Ref
		From, To Expr
		In       *Ref
		Body     *Block
	}
	// Select is select (Var : From .. To).
	Select struct {
		Pos      Pos
		Var      *Ref
		From, To Expr
		// Literal tells that both bounds are written as numbers, without a sign or parentheses, and
		// all in the form that SPIN's scanner writes out.
		Literal bool
		inline  bool
	}
	// Goto is goto Label.
	Goto struct {
		Pos   Pos
		Label Name
	}
	// Break is break.
	Break struct{ Pos Pos }
	// Else is else.
	Else struct{ Pos Pos }
	// Atomic is atomic or, with DStep, d_step.
	Atomic struct {
		Pos    Pos
		DStep  bool
		Body   *Block
		inline bool
	}
	// Unless is Main unless Escape.
	Unless struct {
		Pos          Pos
		Main, Escape Stmt
	}
	// Exclusive is xr or, with Send, xs.
	Exclusive struct {
		Pos  Pos
		Send bool
		Refs []*Ref
	}
	// SetPriority is set_priority(Pid, X) or, with Own, an assignment to _priority.
	SetPriority struct {
		Pos    Pos
		Pid, X Expr
		Own    bool
	}
)

// Inlined tells whether the statement stands in an inline body.
func (s *Select) Inlined() bool { return s.inline }

// Inlined tells whether the statement stands in an inline body.
func (s *Atomic) Inlined() bool { return s.inline }

// RecvArg is an argument of a receive or a poll: a variable, the anonymous _,
// or a value to match.
type RecvArg struct {
	X    Expr // nil for _
	Eval bool // eval(X)
}

// At returns the place of the statement.
func (s *Block) At() Pos       { return s.Pos }
func (s *DeclStmt) At() Pos    { return s.Pos }
func (s *Labeled) At() Pos     { return s.Label.Pos }
func (s *Assign) At() Pos      { return s.Pos }
func (s *ExprStmt) At() Pos    { return s.Pos }
func (s *Assert) At() Pos      { return s.Pos }
func (s *Print) At() Pos       { return s.Pos }
func (s *Send) At() Pos        { return s.Pos }
func (s *Recv) At() Pos        { return s.Pos }
func (s *If) At() Pos          { return s.Pos }
func (s *For) At() Pos         { return s.Pos }
func (s *Select) At() Pos      { return s.Pos }
func (s *Goto) At() Pos        { return s.Pos }
func (s *Break) At() Pos       { return s.Pos }
func (s *Else) At() Pos        { return s.Pos }
func (s *Atomic) At() Pos      { return s.Pos }
func (s *Unless) At() Pos      { return s.Pos }
func (s *Exclusive) At() Pos   { return s.Pos }
func (s *SetPriority) At() Pos { return s.Pos }

// Expr is an expression.
type Expr interface{ At() Pos }

// The expressions.
type (
	// Const is a number; true, false and skip are numbers, too.
	Const struct {
		Pos   Pos
		Value int32
	}
	// Ref is a variable, an element or a field: Name[Index].Field. A symbolic constant
	// is a Ref, too.
	Ref struct {
		Pos      Pos
		Name     string
		Index    Expr // nil if there is none
		Field    *Ref // nil if there is none
		Symbolic bool // it is a symbolic constant
		// it is one that was given to an inline, and so a number without a kind to SPIN
		Number bool
		Known  int // how many declarations of the model stand above
	}
	// Unary is Op X, Op one of ! - ~.
	Unary struct {
		Pos Pos
		Op  string
		X   Expr
	}
	// Binary is X Op Y.
	Binary struct {
		Pos  Pos // of the operator
		Op   string
		X, Y Expr
	}
	// Cond is (If -> Then : Else).
	Cond struct {
		Pos            Pos
		If, Then, Else Expr
	}
	// Run is run Name(Args).
	Run struct {
		Pos      Pos
		Name     Name
		Args     []Expr
		Priority Expr
	}
	// ChanOp is len, empty, nempty, full or nfull of a channel.
	ChanOp struct {
		Pos Pos
		Op  string
		Ch  *Ref
	}
	// Poll is Ch?[Args] or, with Random, Ch??[Args].
	Poll struct {
		Pos    Pos
		Ch     *Ref
		Args   []RecvArg
		Random bool
	}
	// Call is enabled(X), pc_value(X) or get_priority(X).
	Call struct {
		Pos  Pos
		Name string
		X    Expr
	}
	// Remote is Proc[Pid]@Label, or Proc[Pid]:Var. Pid is nil if it is left out.
	Remote struct {
		Pos   Pos
		Proc  Name
		Pid   Expr
		Label string
		Var   *Ref
	}
	// Special is timeout, np_, _last, _pid or _nr_pr.
	Special struct {
		Pos  Pos
		Name string
	}
)

// At returns the place of the expression.
func (x *Const) At() Pos   { return x.Pos }
func (x *Ref) At() Pos     { return x.Pos }
func (x *Unary) At() Pos   { return x.Pos }
func (x *Binary) At() Pos  { return x.X.At() }
func (x *Cond) At() Pos    { return x.Pos }
func (x *Run) At() Pos     { return x.Pos }
func (x *ChanOp) At() Pos  { return x.Pos }
func (x *Poll) At() Pos    { return x.Pos }
func (x *Call) At() Pos    { return x.Pos }
func (x *Remote) At() Pos  { return x.Pos }
func (x *Special) At() Pos { return x.Pos }
