package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"cpor/frontend/gosrc/compile"
	"cpor/system"
)

// posOf returns the place of an instruction; the file is relative to the working
// directory if it lies below it.
func (m *Machine) posOf(t token) system.Pos {
	if t.fn == nil || int(t.pc) >= len(t.fn.Pos) {
		return system.Pos{}
	}
	p := t.fn.Pos[t.pc]
	if !p.IsValid() {
		return system.Pos{}
	}
	at := m.p.Fset.Position(p)
	return system.Pos{File: relative(at.Filename), Line: at.Line, Col: at.Column}
}

var workDir = sync.OnceValue(func() string {
	d, err := os.Getwd()
	if err != nil {
		return ""
	}
	return d
})

func relative(name string) string {
	if r, err := filepath.Rel(workDir(), name); err == nil && !strings.HasPrefix(r, "..") {
		return r
	}
	return name
}

// userPos returns the innermost place of a stack that is not in the standard
// library.
func (m *Machine) userPos(stack []token) system.Pos {
	for _, t := range stack {
		if t.fn != nil && !t.fn.Hidden {
			if p := m.posOf(t); p.Line > 0 {
				return p
			}
		}
	}
	return system.Pos{}
}

// ThreadName implements [system.Machine]: the function that a goroutine runs, the place of
// the go statement, and a number if there are more of them.
func (m *Machine) ThreadName(t int) string {
	n := m.sys.threads.Name(uint32(t))
	if n.parent < 0 {
		return "main"
	}
	// Its path of creation is its name: functions may differ from run to run.
	var path []string
	for n.parent >= 0 {
		path = append([]string{fmt.Sprint(n.n + 1)}, path...)
		n = m.sys.threads.Name(uint32(n.parent))
	}
	return "#" + strings.Join(path, ".")
}

// Describe returns a goroutine's name with the function that it runs and the place
// where it was made.
func (m *Machine) Describe(t int) string {
	name := m.ThreadName(t)
	if t < len(m.gors) {
		if g := m.gors[t]; g.made.fn != nil {
			p := m.posOf(g.made)
			name = fmt.Sprintf("%s %s:%d", name, filepath.Base(p.File), p.Line)
		}
	}
	return name
}

// LocName implements [system.Machine].
func (m *Machine) LocName(l system.Loc) string {
	switch n := m.sys.locs.Name(uint32(l)); n.kind {
	case wordLoc:
		return fmt.Sprintf("%s+%d", objName(m, n.a, n.b), n.c)
	case existLoc:
		return "goroutine " + m.ThreadName(int(n.a))
	case clockLoc:
		return "clock"
	case alarmLoc:
		return "alarm of " + m.ThreadName(int(n.a))
	case waitLoc:
		return fmt.Sprintf("%s receives on %s", m.ThreadName(int(n.a)), objName(m, n.b, n.c))
	case offerLoc:
		return fmt.Sprintf("%s sends on %s", m.ThreadName(int(n.a)), objName(m, n.b, n.c))
	case shareEntry, shareAdds, sharePlace:
		return fmt.Sprintf("%s+%d, share %d.%d of %s", objName(m, n.b, n.c), n.d>>10, n.kind, n.d&(places-1), m.ThreadName(int(n.a)))
	case aliveLoc:
		return "program"
	case stdoutLoc:
		return "output"
	case metLoc:
		return m.ThreadName(int(n.a)) + " has met somebody"
	case awakeLoc:
		return "" // of every transition
	case countLoc:
		return "number of goroutines"
	}
	return ""
}

func objName(m *Machine, creator, seq int32) string {
	if creator == loadedBy {
		if int(seq) <= len(m.p.Globals) && seq > 0 {
			return m.p.Globals[seq-1].SSA.Name()
		}
		return fmt.Sprintf("object %d", seq)
	}
	return fmt.Sprintf("object %d of %s", seq, m.ThreadName(int(creator)))
}

// describeWord names a word of memory for people.
func (m *Machine) describeWord(p uint64) string {
	id := p >> 32
	o := &m.objs[id]
	off := int(uint32(p))
	if o.creator == loadedBy && o.seq > 0 && int(o.seq) <= len(m.p.Globals) {
		g := m.p.Globals[o.seq-1]
		return g.SSA.Name() + fieldPath(g.Type, off)
	}
	what := "memory"
	if o.typ != nil {
		what = o.typ.String()
		if o.typ.Size > 0 {
			if i := off / o.typ.Size; i > 0 || int(o.size) > o.typ.Size {
				what += fmt.Sprintf("[%d]", i)
			}
			what += fieldPath(o.typ, off%o.typ.Size)
		}
		if o.kind == mapObj {
			what = o.typ.String()
		}
	}
	if o.made != nil {
		at := m.posOf(token{o.made, o.pc})
		if at.Line > 0 {
			what += fmt.Sprintf(" (made %s:%d)", filepath.Base(at.File), at.Line)
		}
	}
	return what
}

// fieldPath returns the fields and indices that lead to a word.
func fieldPath(t *compile.Type, off int) string {
	switch t.Kind {
	case compile.Struct:
		for _, f := range t.Fields {
			if off >= f.Off && off < f.Off+f.Type.Size {
				return "." + f.Name + fieldPath(f.Type, off-f.Off)
			}
		}
	case compile.Array:
		if t.Elem.Size > 0 {
			return fmt.Sprintf("[%d]", off/t.Elem.Size) + fieldPath(t.Elem, off%t.Elem.Size)
		}
	}
	return ""
}

// Next implements [system.Machine].
func (m *Machine) Next(t int) (system.Pos, string, bool) {
	if t >= len(m.gors) || m.gors[t].status != alive {
		return system.Pos{}, "", false
	}
	g := m.gors[t]
	stack := m.stackOf(g)
	pos := m.userPos(stack)
	return pos, m.doing(g), true
}

// doing says what a goroutine does next.
func (m *Machine) doing(g *goroutine) string {
	i := g.pending()
	if i == nil {
		return ""
	}
	f := g.top()
	if g.unstarted {
		return "start " + f.fn.Name
	}
	r := g.regs()
	if g.delivered {
		return "go on"
	}
	switch i.Op {
	case compile.Go:
		return "go " + f.fn.Calls[i.N].Name
	case compile.Send:
		return "send " + m.valueText(f.fn.Types[i.N], r[i.B:]) + " on " + m.pointee(r[i.A])
	case compile.Recv:
		return "receive from " + m.pointee(r[i.B])
	case compile.SelectOp:
		s := &f.fn.Selects[i.N]
		var cases []string
		for _, c := range s.Cases {
			if c.Send {
				cases = append(cases, "send on "+m.pointee(r[c.Chan]))
			} else {
				cases = append(cases, "receive from "+m.pointee(r[c.Chan]))
			}
		}
		if s.Default {
			cases = append(cases, "default")
		}
		return "select " + strings.Join(cases, " | ")
	case compile.Close:
		return "close " + m.pointee(r[i.A])
	case compile.LenChan:
		return "len of " + m.pointee(r[i.B])
	case compile.Sync:
		name := natives[i.N].name
		name = strings.NewReplacer("(*sync.", "", "sync/atomic.", "atomic.", "internal/cpor.", "", ")", "").Replace(name)
		if len(f.fn.ParamTypes) > 0 && f.fn.ParamTypes[0].Kind == compile.Pointer {
			return name + " " + m.pointee(r[0])
		}
		return name
	}
	return ""
}

// pointee names what a pointer points to.
func (m *Machine) pointee(p uint64) string {
	if p>>32 == 0 {
		return "nil"
	}
	o := &m.objs[p>>32]
	if o.kind == chanObj {
		at := m.posOf(token{o.made, o.pc})
		if at.Line > 0 {
			return fmt.Sprintf("chan %v (made %s:%d)", o.typ, filepath.Base(at.File), at.Line)
		}
		return fmt.Sprintf("chan %v", o.typ)
	}
	return m.describeWord(p)
}

// valueText prints a value shortly.
func (m *Machine) valueText(t *compile.Type, v []uint64) string {
	switch {
	case t.Kind == compile.String:
		return fmt.Sprintf("%q", m.text(v[0]))
	case t.Kind == compile.Interface:
		if v[0] == 0 {
			return "nil"
		}
		d := m.p.TypeByID(v[0])
		return m.valueText(d, m.unboxed(d, &v[1]))
	case t.Kind >= compile.Bool && t.Kind <= compile.Complex128:
		return fmt.Sprint(m.basic(t, v))
	case t.Kind == compile.Pointer || t.Kind == compile.Chan || t.Kind == compile.Map:
		if v[0] == 0 {
			return "nil"
		}
		return m.pointee(v[0])
	case t.Kind == compile.Struct:
		var parts []string
		for _, f := range t.Fields {
			parts = append(parts, m.valueText(f.Type, v[f.Off:]))
		}
		return "{" + strings.Join(parts, " ") + "}"
	}
	return t.String()
}

// Locals implements [system.Machine]: none are shown.
func (m *Machine) Locals(t int) []system.Binding { return nil }

// ValueString implements [system.Machine].
func (m *Machine) ValueString(l system.Loc) string {
	n := m.sys.locs.Name(uint32(l))
	if n.kind != wordLoc {
		return ""
	}
	for id := range m.objs {
		if o := &m.objs[id]; id > 0 && o.creator == n.a && o.seq == n.b && uint32(n.c) < o.size {
			return fmt.Sprint(int64(m.mem[o.base+uint32(n.c)]))
		}
	}
	return "gone"
}
