package machine

import (
	"cpor/frontend/code"
	"cpor/system"
)

var _ system.Expanding = (*Machine)(nil)

// Compiled implements system.Expanding.
func (m *Machine) Compiled(accesses bool) (*system.Code, bool) {
	later := &m.sys.code
	if accesses {
		later = &m.sys.codeAccesses
	}
	compiled, gone := later.Get(func() *code.Program { return emit(m.sys, accesses) })
	if compiled == nil {
		return nil, gone
	}
	x, err := compiled.New(m.counts, m.tellCounts)
	if err != nil {
		return nil, true
	}
	c := &system.Code{Expand: x.Expand, Next: x.Next, Ahead: x.Limits(), Range: x.Range()}
	if accesses && len(m.sys.rings) > 0 {
		c.Encode = m.encode
	}
	return c, false
}
