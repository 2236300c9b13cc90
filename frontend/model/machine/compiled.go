package machine

import (
	"cpor/frontend/code"
	"cpor/system"
)

var _ system.Expanding = (*Machine)(nil)

// Compiled implements system.Expanding.
func (m *Machine) Compiled() (*system.Code, bool) {
	c, gone := m.sys.code.Get(func() *code.Program { return emit(m.sys) })
	if c == nil {
		return nil, gone
	}
	x, err := c.New(m.counts, m.tellCounts)
	if err != nil {
		return nil, true
	}
	return &system.Code{Expand: x.Expand, Next: x.Next}, false
}
