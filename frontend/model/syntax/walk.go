package syntax

import (
	"fmt"
	"reflect"
)

// Walk calls f for a node and, as long as f returns true, for those below it:
// parents before children, children in the order of the text. Names that declare
// or select something (the variable of a quantifier, a field, a label) are nodes
// as well. A value that a constant repeats from the one before it is visited there,
// too.
func Walk(n Node, f func(n Node) bool) {
	if !f(n) {
		return
	}
	for _, child := range Children(n) {
		Walk(child, f)
	}
}

// Find returns the first node of a type in the order of Walk, and whether there
// is one.
func Find[T Node](n Node, match func(T) bool) (found T, ok bool) {
	Walk(n, func(n Node) bool {
		if t, is := n.(T); is && !ok && match(t) {
			found, ok = t, true
		}
		return !ok
	})
	return found, ok
}

// Children returns the nodes directly below a node, in the order of the text.
func Children(n Node) []Node {
	var c children
	switch n := n.(type) {
	case *ConstDecl:
		c.add(n.Name, n.Type, n.Value)
	case *TypeDecl:
		c.add(n.Name, n.Type)
	case *VarDecl:
		addAll(&c, n.Names)
		c.add(n.Type)
		addAll(&c, n.Values)
	case *FuncDecl:
		c.add(n.Name)
		addAll(&c, n.Params)
		addAll(&c, n.Results)
		c.add(n.Body)
	case *ThreadDecl:
		c.add(n.Name)
		addAll(&c, n.Params)
		c.add(n.Body)
	case *InitDecl:
		c.add(n.Body)
	case *InvariantDecl:
		c.add(n.Name, n.Cond)
	case *IncludeDecl:
		c.add(n.Path)
	case *LTLDecl:
		c.add(n.Name, n.Formula)
	case *Param:
		c.add(n.Name, n.Type)

	case *NamedType:
		c.add(n.Name)
	case *ArrayType:
		c.add(n.Len, n.Elem)
	case *StructType:
		addAll(&c, n.Fields)
	case *PointerType:
		c.add(n.Elem)
	case *AtomicType:
		c.add(n.Elem)
	case *ChanType:
		c.add(n.Cap, n.Elem)
	case *SymmetricType:
		c.add(n.Len)

	case *Block:
		addAll(&c, n.Stmts)
	case *DeclStmt:
		c.add(n.Decl)
	case *ExprStmt:
		c.add(n.X)
	case *SendStmt:
		c.add(n.Chan, n.Value)
	case *AssignStmt:
		addAll(&c, n.Lhs)
		addAll(&c, n.Rhs)
	case *IncDecStmt:
		c.add(n.X)
	case *IfStmt:
		c.add(n.Init, n.Cond, n.Then, n.Else)
	case *ForStmt:
		c.add(n.Init, n.Cond, n.Post, n.Body)
	case *RangeStmt:
		c.add(n.Key, n.Value, n.X, n.Body)
	case *SwitchStmt:
		c.add(n.Init, n.Tag)
		addAll(&c, n.Cases)
	case *SwitchCase:
		addAll(&c, n.Values)
		addAll(&c, n.Body)
	case *SelectStmt:
		addAll(&c, n.Cases)
	case *SelectCase:
		if n.Each != nil {
			c.add(n.Each.Var, n.Each.Lo, n.Each.Hi)
		}
		c.add(n.Comm)
		addAll(&c, n.Body)
	case *ChooseStmt:
		addAll(&c, n.Cases)
	case *ChooseCase:
		addAll(&c, n.Body)
	case *AtomicStmt:
		c.add(n.Body)
	case *SyncStmt:
		c.add(n.Monitor, n.Body)
	case *GoStmt:
		c.add(n.Thread)
		addAll(&c, n.Args)
	case *ReturnStmt:
		addAll(&c, n.Results)
	case *BranchStmt:
		c.add(n.Label)
	case *LabeledStmt:
		c.add(n.Label, n.Stmt)
	case *AwaitStmt:
		c.add(n.Cond)
	case *AssertStmt:
		c.add(n.Cond)
	case *BadStmt:
		addAll(&c, n.Blocks)

	case *ParenExpr:
		c.add(n.X)
	case *UnaryExpr:
		c.add(n.X)
	case *BinaryExpr:
		c.add(n.X, n.Y)
	case *IndexExpr:
		c.add(n.X, n.Index)
	case *SelectorExpr:
		c.add(n.X, n.Sel)
	case *AtExpr:
		c.add(n.X, n.Label)
	case *CallExpr:
		c.add(n.Fun)
		addAll(&c, n.Args)
	case *CompositeLit:
		c.add(n.Type)
		for i, v := range n.Values {
			c.add(n.Keys[i], v)
		}
	case *MakeExpr:
		c.add(n.Type, n.Cap)
	case *QuantExpr:
		c.add(n.Var, n.Lo, n.Hi, n.Of, n.Cond)
	case *FoldExpr:
		c.add(n.Var, n.Lo, n.Hi, n.Of, n.X)
	case *TemporalExpr:
		c.add(n.X, n.Y)

	case *Ident, *IntLit, *StringLit, *EmptyStmt, *SkipStmt:
	default:
		// A node that is forgotten here must not be taken for one without
		// children. TestChildren knows all types of nodes.
		panic(fmt.Sprintf("syntax: Children does not know %T", n))
	}
	return c
}

type children []Node

// add adds the nodes that are not nil.
func (c *children) add(nodes ...Node) {
	for _, n := range nodes {
		if n != nil && !reflect.ValueOf(n).IsNil() {
			*c = append(*c, n)
		}
	}
}

func addAll[T Node](c *children, nodes []T) {
	for _, n := range nodes {
		c.add(n)
	}
}
