package compile

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/ssa"
)

// MadeName returns the name of what the instruction at pc allocates, if the program gives it
// one: the variable, or the field of a type, that holds it.
func (f *Func) MadeName(pc int32) string {
	v, ok := f.made[pc]
	if !ok {
		return ""
	}
	return nameOf(v, 0)
}

// nameOf finds the name of a value from its uses.
func nameOf(v ssa.Value, depth int) string {
	if a, ok := v.(*ssa.Alloc); ok {
		switch a.Comment {
		case "", "new", "complit", "slicelit", "varargs", "makeslice":
		default:
			return a.Comment
		}
	}
	if depth > 2 || v.Referrers() == nil {
		return ""
	}
	name := ""
	for _, r := range *v.Referrers() {
		switch r := r.(type) {
		case *ssa.DebugRef:
			if id, ok := r.Expr.(*ast.Ident); ok && !r.IsAddr {
				return id.Name
			}
		case *ssa.Store:
			if r.Val != v {
				continue
			}
			n, sure := storedName(r.Addr)
			if sure {
				return n
			}
			if n != "" {
				name = n
			}
		case *ssa.ChangeType:
			if n := nameOf(r, depth+1); n != "" && name == "" {
				name = n
			}
		case *ssa.MakeInterface:
			if n := nameOf(r, depth+1); n != "" && name == "" {
				name = n
			}
		}
	}
	return name
}

// storedName returns the name of where a value is stored; sure: there is no better one.
func storedName(addr ssa.Value) (name string, sure bool) {
	switch a := addr.(type) {
	case *ssa.Alloc:
		n := nameOf(a, 3)
		return n, n != ""
	case *ssa.Global:
		return a.Name(), true
	case *ssa.FieldAddr:
		return fieldName(a), false
	}
	return "", false
}

// fieldName returns T.f for the address of a field.
func fieldName(a *ssa.FieldAddr) string {
	p, ok := a.X.Type().Underlying().(*types.Pointer)
	if !ok {
		return ""
	}
	s, ok := p.Elem().Underlying().(*types.Struct)
	if !ok {
		return ""
	}
	field := s.Field(a.Field).Name()
	if n, ok := types.Unalias(p.Elem()).(*types.Named); ok {
		return n.Obj().Name() + "." + field
	}
	if x, ok := a.X.(*ssa.FieldAddr); ok { // of a struct without a name
		if outer := fieldName(x); outer != "" {
			return outer + "." + field
		}
	}
	return field
}
