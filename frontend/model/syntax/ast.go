// Package syntax is the first stage of the model language: it turns the text of a
// file into a syntax tree.
//
//	f, err := syntax.Parse(source.New("robots.model", text))
//
// The scanner follows Go's lexical rules (comments, automatic semicolons, literals); the parser
// is a recursive descent over a grammar that is Go's without its packages, slices, maps,
// strings, methods and closures, and with threads, atomic blocks, choices and quantifiers.
// docs/language.md describes it for users. Package resolve handles names and types.
//
// One run reports all syntax errors of a file: after an error the parser continues after the
// statement or the declaration. [File.Broken] lists the declarations with errors, and a
// [BadStmt] replaces a statement that could not be parsed, so that package resolve can check the
// others without complaining about what is missing.
//
// Both are our own although go/scanner and go/parser exist: the scanner must know '@', '..'
// after a number and our keywords, go/parser accepts no other grammar, and its messages refer to
// Go.
package syntax

import "cpor/frontend/source"

// The methods that all nodes have follow from their declarations here and in ltl.go: which nodes
// are below one, and how String prints it. Command nodegen explains the lines that begin with
// node.
//
//go:generate go run ../../../internal/nodegen nodes.go ast.go ltl.go

// File is a parsed model file.
type File struct {
	Source *source.File
	Decls  []Decl

	// Broken are the declarations that contain syntax errors, as far as they
	// could be read; empty if Parse returned no error.
	Broken map[Decl]bool
	// Partial are those of Broken whose errors are all within a [BadStmt]: the rest was parsed
	// as intended.
	Partial map[Decl]bool
	// LostNames are the names that broken declarations of constants, types and variables may
	// declare.
	LostNames []string
	// Lost says that not even the name of a broken declaration is known.
	Lost bool
}

// Node is a node of the syntax tree.
type Node interface {
	Pos() source.Pos // the node's first byte
	End() source.Pos // the byte after its last one

	each(f func(Node)) // calls f for the nodes directly below, in the order of the text
	print(p *printer)  // as String does
}

// Span is the extent of a node, embedded in every node.
type Span struct{ From, To source.Pos }

// Pos returns the position of the node's first byte.
func (s Span) Pos() source.Pos { return s.From }

// End returns the position after the node's last byte.
func (s Span) End() source.Pos { return s.To }

// Decl is a top-level declaration, or a const, type or var declaration in a block.
type Decl interface {
	Node
	declNode()
}

type (
	// ConstDecl is one constant: const N = 12. A group is a sequence of them;
	// Iota is the index in its group, and a Value left out repeats the one before.
	//
	//node:decl "const " Name [" " Type] " = " Value
	ConstDecl struct {
		Span
		Name  *Ident
		Type  TypeExpr // or nil
		Value Expr     // never nil after parsing: repeated values are shared nodes
		Iota  int
	}

	// TypeDecl is type Name T.
	//
	//node:decl "type " Name " " Type
	TypeDecl struct {
		Span
		Name *Ident
		Type TypeExpr
	}

	// VarDecl is var a, b T = v, w. At the top level it declares shared
	// variables, perhaps after a class: comm var x int. What is written
	// monitor m, n represents var m, n monitor; so with mutex and semaphore.
	//
	//node:decl "var " Names [" " Type] [" = " Values]
	VarDecl struct {
		Span
		Class Class
		Names []*Ident
		Type  TypeExpr // or nil
		// none, or as many as Names, or one: a call with several results or a receive for two
		Values []Expr
	}

	// FuncDecl is a function.
	//
	//node:decl "func " Name "(" Params ")" @results
	FuncDecl struct {
		Span
		Name    *Ident
		Params  []*Param
		Results []TypeExpr
		Body    *Block
	}

	// ThreadDecl is a type of threads: thread Robot(x, y int) { ... }.
	//
	//node:decl [Symmetric "symmetric "] "thread " Name "(" Params ")"
	ThreadDecl struct {
		Span
		Symmetric bool
		Name      *Ident
		Params    []*Param
		Body      *Block
	}

	// InitDecl is init { ... }; a file has one.
	//
	//node:decl "init"
	InitDecl struct {
		Span
		Body *Block
	}

	// IncludeDecl is include "file": the file's declarations are included here by the loader of
	// a model (source.Join).
	//
	//node:decl "include " Path
	IncludeDecl struct {
		Span
		Path *StringLit
	}
	// InvariantDecl is invariant name { expr }.
	//
	//node:decl "invariant " Name " { " Cond " }"
	InvariantDecl struct {
		Span
		Name *Ident
		Cond Expr
	}
)

// Class is how a shared variable is protected, as its declaration claims
// (Stoller, Formal Methods in System Design 2002, section 3).
type Class uint8

// The classes.
const (
	LockProtected Class = iota // the default
	Unshared                   // unshared var: one thread at a time uses it
	Communication              // comm var: threads communicate by it as they like
)

// Param is one parameter; in x, y int there are two.
//
//node:node Name " " Type
type Param struct {
	Span
	Name *Ident
	Type TypeExpr
}

// TypeExpr is a type as it is written.
type TypeExpr interface {
	Node
	typeNode()
}

type (
	// NamedType is int, mutex, or a declared type's name.
	//
	//node:typeexpr Name
	NamedType struct {
		Span
		Name *Ident
	}
	// ArrayType is [N]T.
	//
	//node:typeexpr "[" [Len | "..."] "]" Elem
	ArrayType struct {
		Span
		Len  Expr
		Elem TypeExpr
	}
	// StructType is struct { a, b T; ... }.
	//
	//node:typeexpr "struct{" [" " Fields/"; " " "] "}"
	StructType struct {
		Span
		Fields []*Param
	}
	// PointerType is *T.
	//
	//node:typeexpr "*" Elem
	PointerType struct {
		Span
		Elem TypeExpr
	}
	// AtomicType is atomic T: each access to such a variable or field synchronizes.
	//
	//node:typeexpr "atomic " Elem
	AtomicType struct {
		Span
		Elem TypeExpr
	}
	// ChanType is chan T (Cap nil), or chan(n) T with a buffer of n; bag(n) T if its messages
	// have no order.
	//
	//node:typeexpr [Bag "bag" | "chan"] ["(" Cap ")"] " " Elem
	ChanType struct {
		Span
		Cap  Expr // or nil
		Elem TypeExpr
		Bag  bool
	}
	// SymmetricType is symmetric(n): n exchangeable names.
	//
	//node:typeexpr "symmetric(" Len ")"
	SymmetricType struct {
		Span
		Len Expr
	}
)

// Stmt is a statement.
type Stmt interface {
	Node
	stmtNode()
}

type (
	// Block is { ... }.
	//
	//node:stmt "{ ... }"
	Block struct {
		Span
		Stmts []Stmt
	}
	// DeclStmt is a const, type or var declaration in a block.
	//
	//node:stmt Decl
	DeclStmt struct {
		Span
		Decl Decl
	}
	// EmptyStmt is nothing between two semicolons.
	//
	//node:stmt ""
	EmptyStmt struct{ Span }
	// ExprStmt is a call or a receive that stands alone.
	//
	//node:stmt X
	ExprStmt struct {
		Span
		X Expr
	}
	// SendStmt is c <- v.
	//
	//node:stmt Chan " <- " Value
	SendStmt struct {
		Span
		Chan, Value Expr
	}
	// AssignStmt is lhs = rhs, lhs := rhs, or lhs op= rhs.
	//
	//node:stmt @assignment
	AssignStmt struct {
		Span
		Lhs []Expr
		Op  Op // Assign, Define, or the binary operator of op=
		Rhs []Expr
	}
	// IncDecStmt is x++ or x--.
	//
	//node:stmt X [Dec "--" | "++"]
	IncDecStmt struct {
		Span
		X   Expr
		Dec bool
	}
	// IfStmt is if init; cond { } else ... .
	//
	//node:stmt "if " [Init "; "] Cond
	IfStmt struct {
		Span
		Init Stmt // or nil
		Cond Expr
		Then *Block
		Else Stmt // *Block, *IfStmt or nil
	}
	// ForStmt is for init; cond; post { }.
	//
	//node:stmt "for" @clauses
	ForStmt struct {
		Span
		Init Stmt // or nil
		Cond Expr // or nil
		Post Stmt // or nil
		Body *Block
	}
	// RangeStmt is for k, v := range x { }. X is an integer, an array or a channel.
	//
	//node:stmt "for " [Key [", " Value] [Define " := " | " = "]] "range " X
	RangeStmt struct {
		Span
		Key, Value Expr // or nil; identifiers if Define
		Define     bool
		X          Expr
		Body       *Block
	}
	// SwitchStmt is switch init; tag { case ... }.
	//
	//node:stmt "switch" [" " Init ";"] [" " Tag]
	SwitchStmt struct {
		Span
		Init  Stmt // or nil
		Tag   Expr // or nil
		Cases []*SwitchCase
	}
	// SelectStmt is select { case ... }.
	//
	//node:stmt "select"
	SelectStmt struct {
		Span
		Cases []*SelectCase
	}
	// ChooseStmt is choose { case: ... }.
	//
	//node:stmt "choose"
	ChooseStmt struct {
		Span
		Cases []*ChooseCase
	}
	// AtomicStmt is atomic { ... }.
	//
	//node:stmt "atomic"
	AtomicStmt struct {
		Span
		Body *Block
	}
	// SyncStmt is synchronized (m) { ... }.
	//
	//node:stmt "synchronized (" Monitor ")"
	SyncStmt struct {
		Span
		Monitor Expr
		Body    *Block
	}
	// GoStmt is go Thread(args).
	//
	//node:stmt "go " Thread "(" @arguments ")"
	GoStmt struct {
		Span
		Thread *Ident
		Args   []Expr
	}
	// ReturnStmt is return values. In a thread it ends the thread.
	//
	//node:stmt "return" [" " Results]
	ReturnStmt struct {
		Span
		Results []Expr
	}
	// BranchStmt is break, continue, goto or fallthrough.
	//
	//node:stmt Tok [" " Label]
	BranchStmt struct {
		Span
		Tok   BranchToken
		Label *Ident // or nil
	}
	// LabeledStmt is label: stmt.
	//
	//node:stmt Label ": " Stmt
	LabeledStmt struct {
		Span
		Label *Ident
		Stmt  Stmt
	}
	// AwaitStmt is await(cond).
	//
	//node:stmt "await(" Cond ")"
	AwaitStmt struct {
		Span
		Cond Expr
	}
	// AssertStmt is assert(cond, "message").
	//
	//node:stmt "assert(" Cond [", " Message/q] ")"
	AssertStmt struct {
		Span
		Cond    Expr
		Message string // "" if none
	}
	// SkipStmt is skip.
	//
	//node:stmt "skip"
	SkipStmt struct{ Span }
	// BadStmt represents a statement with a syntax error. It occurs in declarations of
	// [File.Broken] only.
	//
	//node:stmt ""
	BadStmt struct {
		Span
		Names    []string // those that occur in it
		Declared []string // those of them that it declares, as far as that can be told
		Unnamed  bool     // it declares what, cannot be told
		Loop     bool     // it begins as a loop does
		Blocks   []*Block // of it, as far as they could be read
	}
)

// SwitchCase is case a, b: or default: (Values nil and Default true).
//
//node:node ""
type SwitchCase struct {
	Span
	Values  []Expr
	Default bool
	Body    []Stmt
}

// SelectCase is one alternative of a select: a *SendStmt, a receive (an
// *ExprStmt or *AssignStmt whose right side is a receive), an *AwaitStmt, or
// nil for default.
//
//node:node ""
type SelectCase struct {
	Span
	Each *EachCase // or nil
	Comm Stmt
	Body []Stmt
}

// ChooseCase is one alternative of a choose.
//
//node:node ""
type ChooseCase struct {
	Span
	Body []Stmt
}

// BranchToken is the keyword of a BranchStmt.
type BranchToken uint8

// The keywords of BranchStmt.
const (
	Break BranchToken = iota
	Continue
	Goto
	Fallthrough
)

// Expr is an expression. The blanks around its operators depend on its context, so its printer
// is written by hand.
//
//node:print @whole
type Expr interface {
	Node
	exprNode()
}

type (
	// Ident is a name.
	//
	//node:expr
	Ident struct {
		Span
		Name string
	}
	// IntLit is an integer literal, as written (decimal, hex, octal, binary, _, 'c').
	//
	//node:expr
	IntLit struct {
		Span
		Text string
	}
	// StringLit is a string literal, which stands only in messages; Value is unquoted.
	//
	//node:expr
	StringLit struct {
		Span
		Value string
	}
	// ParenExpr is (x).
	//
	//node:expr
	ParenExpr struct {
		Span
		X Expr
	}
	// UnaryExpr is op x, with Op one of Sub, Add, Not, Xor, And (&x), Mul (*p), Arrow (<-c).
	//
	//node:expr
	UnaryExpr struct {
		Span
		Op Op
		X  Expr
	}
	// BinaryExpr is x op y.
	//
	//node:expr
	BinaryExpr struct {
		Span
		Op    Op
		OpPos source.Pos
		X, Y  Expr
	}
	// IndexExpr is x[i].
	//
	//node:expr
	IndexExpr struct {
		Span
		X, Index Expr
	}
	// SelectorExpr is x.name: a field, or a thread's local variable in a property.
	//
	//node:expr
	SelectorExpr struct {
		Span
		X   Expr
		Sel *Ident
	}
	// AtExpr is x@label, in a property.
	//
	//node:expr
	AtExpr struct {
		Span
		X     Expr
		Label *Ident
	}
	// CallExpr is f(args): a function, a conversion, or a built-in function.
	//
	//node:expr
	CallExpr struct {
		Span
		Fun  Expr
		Args []Expr
	}
	// CompositeLit is T{...}; Keys[i] is nil, a field name or an index.
	//
	//node:expr zip=Keys,Values
	CompositeLit struct {
		Span
		Type   TypeExpr // nil inside another literal, where the type follows
		Keys   []Expr
		Values []Expr
	}
	// MakeExpr is make(chan T, n), as a shared variable's initial value.
	//
	//node:expr
	MakeExpr struct {
		Span
		Type TypeExpr
		Cap  Expr // or nil
	}
	// QuantExpr is forall i in lo..hi { cond } or exists i in lo..hi { cond }.
	//
	//node:expr
	QuantExpr struct {
		Span
		Exists bool
		Var    *Ident
		Domain
		Cond Expr
	}
	// FoldExpr is count i in lo..hi { cond }, or the sum, the minimum or the maximum of X.
	//
	//node:expr
	FoldExpr struct {
		Span
		Op  FoldOp
		Var *Ident
		Domain
		X Expr
	}
)

// Domain is the range of a quantifier's variable: the numbers from Lo to Hi, both included, or
// the numbers of the threads Of a kind (Lo and Hi are nil).
//
//node:part
type Domain struct {
	Lo, Hi Expr
	Of     *Ident
}

// FoldOp is the operation of a FoldExpr.
type FoldOp uint8

// The operations of FoldExpr.
const (
	Count FoldOp = iota
	Sum
	Min
	Max
)

var foldNames = [...]string{Count: "count", Sum: "sum", Min: "min", Max: "max"}

// String returns the operation as it is written.
func (op FoldOp) String() string { return foldNames[op] }

// Op is an operator.
type Op uint8

// The operators. Assign and Define occur only in AssignStmt, the ones from Not on only in
// UnaryExpr.
const (
	NoOp Op = iota
	Assign
	Define
	Add
	Sub
	Mul
	Div
	Rem
	And
	Or
	Xor
	Shl
	Shr
	AndNot
	LAnd
	LOr
	Eq
	Ne
	Lt
	Le
	Gt
	Ge
	Not
	Arrow
)
