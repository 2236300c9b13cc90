package ltl

import (
	"strconv"
	"strings"
)

var symbolOf = map[Op]string{
	OpNot: "!", OpAnd: " && ", OpOr: " || ", OpImplies: " -> ", OpIff: " <-> ", OpNext: "X ", OpEventually: "<>",
	OpAlways: "[]", OpUntil: " U ", OpRelease: " R ", OpWeakUntil: " W ", OpStrongRelease: " M ",
}

// String prints f in the syntax that Parse reads; Parse(f.String()) is f. Only
// the parentheses around && in || are left out: no reader has to know how strongly U
// or -> binds and to which side it associates.
func (f Formula) String() string {
	var b strings.Builder
	f.print(&b)
	return b.String()
}

func (f Formula) print(b *strings.Builder) {
	n := f.node()
	switch n.op {
	case OpFalse:
		b.WriteString("false")
	case OpTrue:
		b.WriteString("true")
	case OpAtom:
		b.WriteString(quoteName(n.name))
	default:
		operands := f.Operands()
		for i, g := range operands {
			if i > 0 || len(operands) == 1 {
				b.WriteString(symbolOf[n.op])
			}
			if inner := g.Op(); inner >= OpAnd && inner != OpNext && inner != OpEventually && inner != OpAlways &&
				(n.op != OpOr || inner != OpAnd) {
				b.WriteByte('(')
				g.print(b)
				b.WriteByte(')')
			} else {
				g.print(b)
			}
		}
	}
}

func quoteName(name string) string {
	if _, reserved := words[name]; reserved || name == "" {
		return strconv.Quote(name)
	}
	for i, r := range name {
		if r == '\uFFFD' || !identifierRune(r, i == 0) {
			return strconv.Quote(name)
		}
	}
	return name
}
