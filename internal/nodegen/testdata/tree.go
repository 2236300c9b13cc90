package tree

type Node interface {
	each(f func(Node))
	print(p *printer)
}

// Stmt and Expr embed Node.
type Stmt interface {
	Node
	At() Pos
	stmt()
}

// Expr has a template for its nodes.
//
//node:print @expression
type Expr interface {
	Node
	expr()
}

type (
	// Name is an expression.
	//
	//node:expr
	Name struct{ Text string }

	// Map has pairs.
	//
	//node:expr zip=Keys,Values
	Map struct{ Keys, Values []Expr }
)

// For has fields of all shapes.
//
//node:stmt at=Of.At() "for " Name [" in " Of | " ever"] [Down " down"] Note/q " " Steps/"; " Op @tail
type For struct {
	Name *Name
	Range
	Of    *Name
	Note  string
	Down  bool
	Op    Op
	Steps []Stmt
	When  *When
	Cases []When
}

// Range is embedded.
//
//node:part
type Range struct{ Lo, Hi Expr }

// When is a part.
//
//node:part
type When struct {
	Cond Expr
	Body []Stmt
}

// Skip has no children.
//
//node:stmt "skip"
type Skip struct{ Pos Pos }
