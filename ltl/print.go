package ltl

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var symbolOf = map[Op]string{
	OpNot: "!", OpAnd: " && ", OpOr: " || ", OpImplies: " -> ", OpIff: " <-> ", OpNext: "X ",
	OpEventually: "<>",
	OpAlways:     "[]", OpUntil: " U ", OpRelease: " R ", OpWeakUntil: " W ",
	OpStrongRelease: " M ",
}

// String prints f; different formulas are printed differently. Atoms that are not identifiers, or
// are a name of an operator (U W R V M G F X), are in double quotes with Go's escapes. Only
// the parentheses around && in || are left out: no reader has to know how strongly U or -> binds
// and to which side it associates.
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
			if inner := g.Op(); inner >= OpAnd && inner != OpNext && inner != OpEventually &&
				inner != OpAlways &&
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

// reserved are the names that represent operators and constants.
const reserved = " true false X F G U R V W M "

func quoteName(name string) string {
	if name == "" || strings.Contains(reserved, " "+name+" ") {
		return strconv.Quote(name)
	}
	for i, r := range name {
		if r == utf8.RuneError || r != '_' && r != '@' && !unicode.IsLetter(r) &&
			(i == 0 || r != '.' && !unicode.IsDigit(r)) {
			return strconv.Quote(name)
		}
	}
	return name
}
