package model

import (
	"strings"

	"cpor/frontend/model/syntax"
)

// Freely returns the declaration that makes the shared variable of a location one by which
// threads communicate: comm var x int. It is empty if that would change nothing.
func (m *Model) Freely(location string) string {
	name := location
	if i := strings.IndexAny(location, "[."); i >= 0 {
		name = location[:i]
	}
	for _, v := range m.resolved.Shared {
		d, ok := v.Decl.(*syntax.VarDecl)
		if !ok || v.Name != name || d.Class == syntax.Communication {
			continue
		}
		text := "comm var " + name
		if d.Type != nil {
			text += " " + syntax.String(d.Type)
		}
		if v.Init != nil {
			text += " = " + syntax.String(v.Init)
		}
		return text
	}
	return ""
}
