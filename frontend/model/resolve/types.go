// Package resolve is the second stage of the model language: it resolves the names and
// expressions of a syntax tree.
//
//	prog, err := resolve.Check(file, resolve.Options{Params: params})
//
// It binds names to objects, evaluates constants exactly, gives every expression a type by Go's
// rules, and refuses what the language does not allow. One run reports all errors of a file. The
// result, a [Program], is the tree with tables; package compile translates it.
//
// The type checker follows the structure of go/types (operands with a mode,
// untyped expressions whose type is filled in later), which cannot be used itself
// because it takes only go/ast trees and knows neither integers of any width nor
// channels that are objects.
package resolve

import (
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// Type is a resolved type. Types are canonical: two types are identical if and
// only if their pointers are equal.
type Type struct {
	Kind   TypeKind
	Name   string // a declared type's name, or a predeclared one's; else ""
	Bits   int    // Int: 1 to 64
	Signed bool   // Int
	Elem   *Type  // Array, Pointer, Chan
	Len    int    // Array; Scalarset: how many names there are
	// Index is the Scalarset whose names are the indices of an Array; nil if they are
	// the integers from 0.
	Index *Type
	// Cap is a Chan's buffer size, 0 for a rendezvous: the type is a channel
	// object. It is -1 in the type of a reference to a channel, which fits every
	// size: parameters, local variables, fields of structs and elements of
	// channels whose type is chan T without a capacity. Only the declared type of
	// a shared variable (or of its array elements) reads chan T as chan(0) T.
	Cap    int
	Bag    bool // Chan: its messages are in no order
	Fields []Field
	// Names are the names of an enumeration's values: a declared type of integers
	// with two or more constants in one group of declarations, or of a Scalarset. Nil for
	// others.
	Names map[int64]string

	under *Type // of a declared type, what it represents; else nil
	// Cached results of cells and similar methods for an Array, Struct or Chan: a type can
	// contain another one exponentially often.
	facts *facts
}

// Field is a field of a struct.
type Field struct {
	Name   string
	Type   *Type
	Atomic bool // each access to it synchronizes
}

// TypeKind is the kind of a type.
type TypeKind uint8

// The kinds of types.
const (
	Invalid TypeKind = iota // after an error; fits everywhere, silently
	Bool
	Int
	UntypedInt  // a constant without a type
	UntypedBool // a constant or a comparison's result without a type
	UntypedNil
	Array
	Struct
	Pointer
	Chan
	Mutex
	Tuple // several results of a function, in Fields without names
	Void  // no result
	Monitor
	Semaphore
	RWMutex
	WaitGroup
	Cond
	// Scalarset: exchangeable names (Ip and Dill 1996). Its values are 0, which is nil and no
	// name, and 1 to Len.
	Scalarset
)

// ObjKind is the kind of an object.
type ObjKind uint8

// What a name can represent.
const (
	ConstObj ObjKind = iota
	TypeObj
	SharedObj // a shared variable
	LocalObj  // a local variable or parameter of a thread, a function or init
	QuantObj  // a quantifier's variable: a constant in each unrolled copy
	FuncObj
	ThreadObj
	BuiltinObj // len, cap, cas, choose, lock, unlock, close, empty, full, min, max, await, assert
	InvariantObj
	LabelObj
	LTLObj // a property of the executions

	LostObj // a name that a statement with a syntax error may have declared
)

// Object is what a name represents. Each declaration makes one.
type Object struct {
	Kind  ObjKind
	Name  string
	Pos   source.Pos
	Type  *Type
	Value int64        // ConstObj (a bool is 0 or 1)
	Enum  bool         // ConstObj: one of an enumeration, and no parameter
	Class syntax.Class // SharedObj
	Decl  syntax.Node  // *VarDecl, *FuncDecl, *ThreadDecl, *Param, ... or nil
	Init  syntax.Expr  // SharedObj: the initial value, or nil
	// LocalObj, LabelObj: the FuncObj or ThreadObj it belongs to, nil for init
	Owner  *Object
	Params []*Object     // FuncObj, ThreadObj
	Result *Type         // FuncObj: Void, a type or a Tuple
	Body   *syntax.Block // FuncObj, ThreadObj
	// FuncObj, ThreadObj: all local variables but the parameters, in order of declaration
	Locals    []*Object
	Labels    []*Object       // FuncObj, ThreadObj
	Symmetric bool            // ThreadObj: its threads can be exchanged
	Used      map[string]bool // ThreadObj: locals and labels (as "@name") that properties name
}

// Program is a resolved model: the syntax tree with what its names and
// expressions mean. It is immutable after Resolve returns it.
type Program struct {
	File       *syntax.File
	Consts     []*Object // top-level constants, overridden ones with their new values
	Shared     []*Object // in order of declaration
	Funcs      []*Object
	Threads    []*Object
	Init       *syntax.InitDecl // nil if the file has none
	InitLocals []*Object
	Invariants []*Invariant
	LTL        []*LTL

	Uses map[*syntax.Ident]*Object // every identifier that is a use or a definition
	// every expression's type; constants are converted to the type that they get
	Types  map[syntax.Expr]*Type
	Const  map[syntax.Expr]int64 // the value of every constant expression
	TypeOf map[syntax.TypeExpr]*Type
	Calls  map[*syntax.CallExpr]CallKind
	Refs   map[syntax.Expr]*ThreadRef // SelectorExpr and AtExpr that name a thread's local or label
	// Bounds are those of QuantExpr and FoldExpr; one over an unknown number of threads has
	// none.
	Bounds map[syntax.Expr]Bounds
}

// Bounds are the first and the last value of a quantifier's variable.
type Bounds struct{ Lo, Hi int64 }

// Invariant is a named global property.
type Invariant struct {
	Name string
	Pos  source.Pos
	Cond syntax.Expr
}

// LTL is a named property of the executions. Formula is made of TemporalExpr,
// !, &&, || and quantifiers, and of propositions: other expressions of type bool.
type LTL struct {
	Name    string
	Pos     source.Pos
	Formula syntax.Expr
}

// CallKind says what a call does.
type CallKind uint8

// What a call can be. Uses of the callee's identifier tells which function or built-in.
const (
	CallFunc CallKind = iota
	CallConversion
	CallBuiltin
)

// ThreadRef is Thread[Index].Local or Thread[Index]@Label in a property; the
// index (a constant expression or one over quantifier variables) counts the
// threads of this type in the order of their creation.
type ThreadRef struct {
	Thread *Object
	Index  syntax.Expr
	Local  *Object // or nil
	Label  *Object // or nil
}
