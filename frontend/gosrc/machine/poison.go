package machine

import (
	"fmt"
	"path/filepath"

	"cpor/frontend/gosrc/compile"
)

// Initializers that cannot be explored.
//
// Most tests of a package need little of what its imports set up. So an initializer that does
// what cannot be explored is abandoned there, what it would have set is poisoned, and the
// program continues. A test that touches what is poisoned is refused, and so is an initializer,
// which in turn poisons what it would have set. If a function called init is abandoned, the
// package continues with the next one; if the value of a variable is, everything that the
// package initializes later is abandoned, too.
//
// The poisoned variables are those that the skipped code and the interrupted functions may
// change ([compile.Program.Effects]), with what they refer to already. A goroutine that they
// would have started does not run; it would change nothing else.

// poison is why something was not set.
type poison struct {
	variable string // package and name
	pkg      string // whose initializer was to set it
	what     string // why it could not
}

// giveUp abandons the refused initializer, whose goroutine is g. It returns false if that is not
// possible.
func (m *Machine) giveUp(g *goroutine, u *Unsupported) bool {
	frames := m.refused
	m.refused = nil
	k := len(frames) - 1
	for k >= 0 && frames[k].fn.SSA.Synthetic != "package initializer" {
		k--
	}
	if k < 0 || m.cur != g {
		return false
	}
	f := frames[k]
	var whole []*compile.Func
	for _, x := range frames[k+1:] {
		whole = append(whole, x.fn)
	}
	rest := f.fn
	i := f.fn.Code[f.pc]
	if i.Op == compile.CallF && k+1 < len(frames) && f.fn.Calls[i.N].Result == 0 {
		rest = nil // the next function continues
	}
	why := poison{pkg: f.fn.SSA.Pkg.Pkg.Path(), what: u.What}
	if len(u.Path) > 0 {
		why.what += fmt.Sprintf(" in %s (%s:%d)", u.Path[0].Func, filepath.Base(u.Path[0].Pos.File),
			u.Path[0].Pos.Line)
	}
	for _, v := range m.p.Effects(rest, f.pc, whole) {
		n, ok := m.p.Number(v)
		if !ok {
			continue
		}
		why.variable = v.Pkg.Pkg.Path() + "." + v.Name()
		id := uint32(n + 1)
		m.spoil(id, why)
		m.references(id, func(w uint64) { m.spoil(uint32(w>>32), why) })
	}
	m.sys.unsupported = nil
	g.frames = append(g.frames[:0], frames[:k+1]...)
	if rest != nil {
		g.frames = g.frames[:k]
	}
	if len(g.frames) > 0 {
		g.top().pc++
	}
	g.status, g.failure, g.panics = alive, nil, nil
	g.saved = len(g.frames)
	return true
}

// spoil poisons an object.
func (m *Machine) spoil(id uint32, why poison) {
	o := &m.objs[id]
	if id == 0 || o.poisoned || o.kind == closureObj {
		return
	}
	o.poisoned, o.shared = true, true
	if m.sys.poison == nil {
		m.sys.poison = map[uint32]poison{}
	}
	m.sys.poison[id] = why
}

// touchesPoison refuses a computation that touches what an initializer would have set.
func (m *Machine) touchesPoison(g *goroutine, p uint64) {
	why := m.sys.poison[uint32(p>>32)]
	m.refuse(g, fmt.Sprintf("uses %s, which is not set: the initializer of package %s %s",
		why.variable, why.pkg, why.what))
	panic(aborted{})
}

// poisons reports whether the next operation of a goroutine synchronizes through poisoned
// memory.
func (m *Machine) poisons(i *compile.Instr, r []uint64) bool {
	return i.Op == compile.Sync && natives[i.N].memory && m.objs[r[0]>>32].poisoned
}
