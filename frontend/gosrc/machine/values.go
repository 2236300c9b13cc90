package machine

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"math"
	"reflect"
	"slices"
	"sort"
	"strconv"
	"strings"

	"cpor/frontend/gosrc/compile"
)

// valueNatives adds what formatting and reflection need for values whose type is known only at
// run time. A value is an interface, r[0] and r[1].
func valueNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	enterValue := func(name string, f func(m *Machine, g *goroutine, t *compile.Type, v []uint64,
		r []uint64)) {
		plain("internal/cpor."+name, func(m *Machine, g *goroutine, r []uint64) {
			t := m.p.TypeByID(r[0])
			w := r[1]
			f(m, g, t, m.unboxed(t, &w), r)
		})
	}
	plain("internal/cpor.Kind", func(m *Machine, g *goroutine, r []uint64) {
		if r[0] == 0 {
			r[2] = 0
			return
		}
		r[2] = uint64(reflectKind(m.p.TypeByID(r[0])))
	})
	enterValue("TypeString", func(m *Machine, g *goroutine, t *compile.Type, v []uint64,
		r []uint64) {
		r[2] = m.str(typeString(t))
	})
	// PartType(v any, i int) string: the type of a field, or of the elements.
	enterValue("PartType", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		part := t.Elem
		if t.Kind == compile.Struct {
			part = t.Fields[r[2]].Type
		}
		r[3] = m.str(typeString(part))
	})
	enterValue("TypeID", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[2] = uint64(t.ID)
	})
	enterValue("Comparable", func(m *Machine, g *goroutine, t *compile.Type, v []uint64,
		r []uint64) {
		_, bad := m.hash(t, v)
		r[2] = flag(bad == nil && !incomparable(t))
	})
	// Basic(spec string, v any) string
	plain("internal/cpor.Basic", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[1])
		w := r[2]
		r[3] = m.str(fmt.Sprintf(m.text(r[0]), m.basic(t, m.unboxed(t, &w))))
	})
	enterValue("NumField", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[2] = uint64(len(t.Fields))
	})
	// Field(v any, i int) (name string, value any, exported bool)
	enterValue("Field", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		f := t.Fields[r[2]]
		r[3] = m.str(f.Name)
		r[6] = flag(gotoken.IsExported(f.Name))
		r[4], r[5] = m.iface(g, f.Type, v[f.Off:])
	})
	enterValue("Len", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		switch t.Kind {
		case compile.Slice:
			r[2] = v[1]
		case compile.Array:
			r[2] = uint64(t.Len)
		case compile.String:
			r[2] = uint64(len(m.text(v[0])))
		case compile.Map:
			r[2] = 0
			if v[0] != 0 {
				m.readAny(g, v[0], 1)
				r[2] = m.mem[m.addr(v[0])+mapLen]
			}
		case compile.Chan:
			r[2] = 0
		default:
			r[2] = uint64(len(t.Fields))
		}
	})
	// of a slice
	enterValue("Cap", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[2] = v[2]
	})
	// Bytes(v any) (b []byte, ok bool): a copy of a slice or an array of what bytes are
	enterValue("Bytes", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		clear(r[2:6])
		if t.Elem == nil || t.Elem.Kind != compile.Uint8 || t.Kind != compile.Slice &&
			t.Kind != compile.Array {
			return
		}
		if t.Kind == compile.Slice {
			n := v[1]
			if n > 0 {
				m.readAny(g, v[0], int(n))
			}
			a := m.addr(v[0])
			v = m.mem[a : a+uint32(n)]
		} else {
			v = v[:t.Len]
		}
		v = slices.Clone(v)
		p := m.newObject(g, plainObj, m.p.TypeOf(types.Typ[types.Uint8]), len(v))
		copy(m.mem[m.addr(p):], v)
		r[2], r[3], r[4], r[5] = p, uint64(len(v)), uint64(len(v)), 1
	})
	// Index(v any, i int) any
	enterValue("Index", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		i := int(r[2])
		n := t.Elem.Size
		if t.Kind == compile.Array {
			r[3], r[4] = m.iface(g, t.Elem, v[i*n:])
			return
		}
		p := v[0] + uint64(i*n)
		m.readAny(g, p, n)
		r[3], r[4] = m.iface(g, t.Elem, m.mem[m.addr(p):])
	})
	// Swap(v any, i, j int) exchanges two elements of a slice.
	enterValue("Swap", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		n := t.Elem.Size
		p, q := v[0]+r[2]*uint64(n), v[0]+r[3]*uint64(n)
		m.writeAny(g, p, n)
		m.writeAny(g, q, n)
		a, b := m.addr(p), m.addr(q)
		for i := range uint32(n) {
			x, y := m.mem[a+i], m.mem[b+i]
			m.set(a+i, y)
			m.set(b+i, x)
		}
	})
	// Elem(v any) any is what a pointer points to.
	enterValue("Elem", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		n := t.Elem.Size
		m.readAny(g, v[0], n)
		r[2], r[3] = m.iface(g, t.Elem, m.mem[m.addr(v[0]):])
	})
	enterValue("IsNil", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[2] = flag(v[0] == 0)
	})
	enterValue("Address", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[2] = m.address(v[0])
	})
	// Entry(v any, i int) (key, value any): entries are sorted by key as fmt does.
	enterValue("Entry", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		m.readAny(g, v[0], 1)
		var es [][]uint64
		m.eachEntry(v[0], func(e []uint64) { es = append(es, e) })
		sort.SliceStable(es, func(i, j int) bool { return m.less(t.Key, es[i][1:], es[j][1:]) })
		e := es[r[2]]
		key, val := e[1:], e[1+t.Key.Size:]
		a, b := m.iface(g, t.Key, key)
		c, d := m.iface(g, t.Elem, val)
		r[3], r[4], r[5], r[6] = a, b, c, d
	})
	// Lookup(mp, key any) (any, bool)
	enterValue("Lookup", func(m *Machine, g *goroutine, t *compile.Type, v []uint64, r []uint64) {
		r[4], r[5], r[6] = 0, 0, 0
		if v[0] == 0 {
			return
		}
		m.readAny(g, v[0], 1)
		kt := m.p.TypeByID(r[2])
		kw := r[3]
		key := m.unboxed(kt, &kw)
		if t.Key.Kind == compile.Interface {
			key = []uint64{r[2], r[3]}
		}
		if at, bad := m.find(v[0], key); at >= 0 && bad == nil {
			r[4], r[5] = m.iface(g, t.Elem, m.mem[at+1+t.Key.Size:])
			r[6] = 1
		}
	})
	errorNatives(plain)
}

// errorNatives adds what errors.As needs.
func errorNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	// AssignTo(v, target any) bool stores v where target points to if it can.
	plain("internal/cpor.AssignTo", func(m *Machine, g *goroutine, r []uint64) {
		t, to := m.p.TypeByID(r[0]), m.p.TypeByID(r[2])
		r[4] = 0
		if to.Kind != compile.Pointer || r[3] == 0 {
			return
		}
		to = to.Elem
		var v []uint64
		switch {
		case to.Kind == compile.Interface && m.p.Implements(t, to):
			v = []uint64{r[0], r[1]}
		case to == t:
			w := r[1]
			v = m.unboxed(t, &w)
		default:
			return
		}
		m.writeAny(g, r[3], to.Size)
		m.storeValue(r[3], to, v)
		r[4] = 1
	})
	// TargetError(target any) string says what is wrong with the target of errors.As.
	plain("internal/cpor.TargetError", func(m *Machine, g *goroutine, r []uint64) {
		r[2] = 0
		if r[0] == 0 {
			r[2] = m.str("errors: target cannot be nil")
			return
		}
		t := m.p.TypeByID(r[0])
		switch {
		case t.Kind != compile.Pointer || r[1] == 0:
			r[2] = m.str("errors: target must be a non-nil pointer")
		case t.Elem.Kind != compile.Interface && !m.p.Implements(t.Elem, m.sys.errorType):
			r[2] = m.str("errors: *target must be interface or implement error")
		}
	})
}

// readAny and writeAny are accesses by the library for the user.
func (m *Machine) readAny(g *goroutine, p uint64, n int) {
	if o := &m.objs[p>>32]; o.shared && (o.poisoned || !m.setup) {
		m.access(g, p, n, false)
	}
}

func (m *Machine) writeAny(g *goroutine, p uint64, n int) {
	if o := &m.objs[p>>32]; o.shared && (o.poisoned || !m.setup) {
		m.access(g, p, n, true)
	}
}

// iface returns the words of an interface that holds a value; one in an interface
// is not wrapped again.
func (m *Machine) iface(g *goroutine, t *compile.Type, v []uint64) (uint64, uint64) {
	if t.Kind == compile.Interface {
		return v[0], v[1]
	}
	c := append([]uint64(nil), v[:t.Size]...)
	return uint64(t.ID), m.boxed(g, t, c)
}

// basic returns the value of a basic type as one of ours.
func (m *Machine) basic(t *compile.Type, v []uint64) any {
	switch t.Kind {
	case compile.Bool:
		return v[0] != 0
	case compile.Int8:
		return int8(v[0])
	case compile.Int16:
		return int16(v[0])
	case compile.Int32:
		return int32(v[0])
	case compile.Int64:
		return int64(v[0])
	case compile.Uint8:
		return uint8(v[0])
	case compile.Uint16:
		return uint16(v[0])
	case compile.Uint32:
		return uint32(v[0])
	case compile.Uint64:
		return v[0]
	case compile.Uintptr:
		return uintptr(v[0])
	case compile.Float32:
		return f32(v[0])
	case compile.Float64:
		return f64(v[0])
	case compile.Complex64:
		return complex(f32(v[0]), f32(v[1]))
	case compile.Complex128:
		return complex(f64(v[0]), f64(v[1]))
	case compile.String:
		return m.text(v[0])
	case compile.Slice:
		if t.Elem.Kind == compile.Uint8 {
			return m.bytes(v)
		}
	case compile.Pointer, compile.Chan, compile.Function, compile.Map:
		return uintptr(m.address(v[0]))
	}
	return nil
}

// address returns a number for a pointer that is the same in every execution in
// which the same happens: from the object's name, and in bytes.
func (m *Machine) address(p uint64) uint64 {
	if p == 0 {
		return 0
	}
	if p&compile.StaticFunc != 0 {
		return 0x480000 + (p&^compile.StaticFunc)*32
	}
	o := &m.objs[p>>32]
	off := 8 * uint64(uint32(p))
	if n, ok := m.numberOf(p); ok {
		off = uint64(uint32(n))
	}
	return 0xc000000000 + uint64(uint32(o.creator+1))<<26 + uint64(uint32(o.seq))<<6 + off
}

// less orders keys as fmt prints them.
func (m *Machine) less(t *compile.Type, a, b []uint64) bool {
	switch {
	case t.Kind == compile.String:
		return m.text(a[0]) < m.text(b[0])
	case t.Kind.Integer() && t.Kind.Signed():
		return int64(a[0]) < int64(b[0])
	case t.Kind == compile.Float64:
		x, y := f64(a[0]), f64(b[0])
		return x < y || math.IsNaN(x) && !math.IsNaN(y)
	case t.Kind == compile.Float32:
		return f32(a[0]) < f32(b[0])
	case t.Kind == compile.Interface:
		if a[0] != b[0] || a[0] == 0 {
			return a[0] < b[0]
		}
		d := m.p.TypeByID(a[0])
		return m.less(d, m.unboxed(d, &a[1]), m.unboxed(d, &b[1]))
	case t.Kind == compile.Struct:
		for _, f := range t.Fields {
			if m.less(f.Type, a[f.Off:], b[f.Off:]) {
				return true
			}
			if m.less(f.Type, b[f.Off:], a[f.Off:]) {
				return false
			}
		}
		return false
	case t.Kind == compile.Array:
		for i := range t.Len {
			at := i * t.Elem.Size
			if m.less(t.Elem, a[at:], b[at:]) {
				return true
			}
			if m.less(t.Elem, b[at:], a[at:]) {
				return false
			}
		}
		return false
	}
	return t.Size > 0 && a[0] < b[0]
}

// reflectKind returns the number that package reflect gives a type's kind.
func reflectKind(t *compile.Type) int {
	switch {
	case t.Kind == compile.Int64 && t.IsInt():
		return int(reflect.Int)
	case t.Kind == compile.Uint64 && t.IsInt():
		return int(reflect.Uint)
	case t.Kind == compile.Pointer && t.Elem == nil:
		return int(reflect.UnsafePointer)
	}
	return int(reflectKinds[t.Kind])
}

// reflectKinds has the kinds of package reflect.
var reflectKinds = map[compile.Kind]reflect.Kind{
	compile.Bool:       reflect.Bool,
	compile.Int8:       reflect.Int8,
	compile.Int16:      reflect.Int16,
	compile.Int32:      reflect.Int32,
	compile.Int64:      reflect.Int64,
	compile.Uint8:      reflect.Uint8,
	compile.Uint16:     reflect.Uint16,
	compile.Uint32:     reflect.Uint32,
	compile.Uint64:     reflect.Uint64,
	compile.Uintptr:    reflect.Uintptr,
	compile.Float32:    reflect.Float32,
	compile.Float64:    reflect.Float64,
	compile.Complex64:  reflect.Complex64,
	compile.Complex128: reflect.Complex128,
	compile.Array:      reflect.Array,
	compile.Chan:       reflect.Chan,
	compile.Function:   reflect.Func,
	compile.Interface:  reflect.Interface,
	compile.Map:        reflect.Map,
	compile.Pointer:    reflect.Pointer,
	compile.Slice:      reflect.Slice,
	compile.String:     reflect.String,
	compile.Struct:     reflect.Struct,
}

// typeString returns a type's name as package reflect has it.
func typeString(t *compile.Type) string { return typeText(t.T, (*types.Package).Name) }

// typeText writes a type; the arguments of a generic one with the paths of packages.
func typeText(t types.Type, qualify func(*types.Package) string) string {
	text := func(t types.Type) string { return typeText(t, qualify) }
	list := func(vars *types.Tuple, variadic bool) string {
		var s []string
		for i := range vars.Len() {
			v := vars.At(i).Type()
			if slice, ok := v.(*types.Slice); ok && variadic && i == vars.Len()-1 {
				s = append(s, "..."+text(slice.Elem()))
			} else {
				s = append(s, text(v))
			}
		}
		return strings.Join(s, ", ")
	}
	signature := func(f *types.Signature) string {
		s := "(" + list(f.Params(), f.Variadic()) + ")"
		switch f.Results().Len() {
		case 0:
			return s
		case 1:
			return s + " " + list(f.Results(), false)
		}
		return s + " (" + list(f.Results(), false) + ")"
	}
	switch t := types.Unalias(t).(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return "unsafe.Pointer"
		}
		return types.Typ[t.Kind()].Name() // byte is uint8
	case *types.Pointer:
		return "*" + text(t.Elem())
	case *types.Slice:
		return "[]" + text(t.Elem())
	case *types.Array:
		return fmt.Sprintf("[%d]%s", t.Len(), text(t.Elem()))
	case *types.Map:
		return "map[" + text(t.Key()) + "]" + text(t.Elem())
	case *types.Chan:
		e := text(t.Elem())
		switch t.Dir() {
		case types.SendOnly:
			return "chan<- " + e
		case types.RecvOnly:
			return "<-chan " + e
		}
		if strings.HasPrefix(e, "<-") {
			e = "(" + e + ")"
		}
		return "chan " + e
	case *types.Signature:
		return "func" + signature(t)
	case *types.Struct:
		return structText(t, text)
	case *types.Interface:
		return interfaceText(t, signature)
	case *types.Named:
		s := t.Obj().Name()
		if pkg := t.Obj().Pkg(); pkg != nil {
			s = qualify(pkg) + "." + s
		}
		if args := t.TypeArgs(); args.Len() > 0 {
			var as []string
			for i := range args.Len() {
				as = append(as, typeText(args.At(i), func(p *types.Package) string {
					if p.Name() == "main" {
						return "main"
					}
					return p.Path()
				}))
			}
			s += "[" + strings.Join(as, ",") + "]"
		}
		return s
	}
	return t.String()
}

func structText(t *types.Struct, text func(types.Type) string) string {
	var s []string
	for i := range t.NumFields() {
		f := t.Field(i)
		x := text(f.Type())
		if !f.Embedded() {
			x = f.Name() + " " + x
		}
		if tag := t.Tag(i); tag != "" {
			x += " " + strconv.Quote(tag)
		}
		s = append(s, x)
	}
	if len(s) == 0 {
		return "struct {}"
	}
	return "struct { " + strings.Join(s, "; ") + " }"
}

func interfaceText(t *types.Interface, signature func(*types.Signature) string) string {
	var s []string
	for i := range t.NumMethods() {
		m := t.Method(i)
		name := m.Name()
		if !m.Exported() && m.Pkg() != nil {
			name = m.Pkg().Name() + "." + name
		}
		s = append(s, name+signature(m.Type().(*types.Signature)))
	}
	if len(s) == 0 {
		return "interface {}"
	}
	slices.Sort(s)
	return "interface { " + strings.Join(s, "; ") + " }"
}
