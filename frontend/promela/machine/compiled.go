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
	c, gone := later.Get(func() *code.Program { return emit(m.sys, accesses) })
	if c == nil {
		return nil, gone
	}
	x, err := c.New(m.seen, m.tellSeen)
	if err != nil {
		return nil, true
	}
	return &system.Code{Expand: x.Expand, Next: x.Next, Ahead: x.Limits(), Range: x.Range()}, false
}
