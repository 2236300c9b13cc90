package machine

import (
	"fmt"
	gotoken "go/token"
	"go/types"
	"slices"

	"cpor/frontend/gosrc/compile"
)

// maxResults is how many words a function called by package reflect may return: the length of
// the array that call and callMethod return.
const maxResults = 48

// maxNesting is how deeply the types that package reflect makes may be nested.
const maxNesting = 200

// The flags of a reflect.Value that decide how it is compared, as in package reflect.
const (
	reflectAddressable = 1 << 0
	reflectBoxed       = 1 << 3
)

// reflected returns what == compares of a reflect.Value (type, place, flags, method): two are
// equal in Go if they have the same word in them. That is the value itself if it is not a variable
// and a pointer in all but name; else its address, which the values that were made of one
// interface value share. An interface here holds a value of one word without an address: those
// in it that are equal are taken for the same. A box is not written once it is in a Value.
func (m *Machine) reflected(v []uint64) (w [5]uint64) {
	copy(w[:], v[:4])
	if v[0] == 0 || v[2]&reflectAddressable != 0 {
		return w
	}
	t := m.p.TypeByID(v[0])
	o := &m.objs[v[1]>>32]
	// see charAt
	if t.Kind == compile.Uint8 && v[2]&reflectBoxed != 0 && o.typ == m.sys.wordType && o.size == 3 {
		w[1], w[4] = m.mem[o.base+1], m.mem[o.base+2]+2
		return w
	}
	if o.size != 1 {
		return w
	}
	pointer := pointerShaped(t)
	if pointer {
		w[2] &^= reflectBoxed // it does not matter where it came from
	}
	if pointer || v[2]&reflectBoxed != 0 && t.Size <= 1 {
		w[1], w[4] = m.mem[m.addr(v[1])], 1
	}
	return w
}

// pointerShaped reports whether an interface of Go holds a value of the type itself, not its
// address.
func pointerShaped(t *compile.Type) bool {
	switch t.Kind {
	case compile.Pointer, compile.Chan, compile.Map, compile.Function:
		return true
	case compile.Struct:
		return len(t.Fields) == 1 && pointerShaped(t.Fields[0].Type)
	case compile.Array:
		return t.Len == 1 && pointerShaped(t.Elem)
	}
	return false
}

// reflectNatives adds what package reflect needs from the machine. A type is its number, a value
// a pointer to it.
func reflectNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	typeNatives(plain)
	madeTypeNatives(plain)
	memoryNatives(plain)
	mapNatives(plain)
	callNatives(plain)
}

// typeNatives adds what is asked about a type.
func typeNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	enterType := func(name string, f func(m *Machine, t *compile.Type, r []uint64)) {
		plain("reflect."+name, func(m *Machine, _ *goroutine, r []uint64) {
			f(m, m.p.TypeByID(r[0]), r)
		})
	}
	id := func(t *compile.Type) uint64 {
		if t == nil {
			return 0
		}
		return uint64(t.ID)
	}
	enterType("tString", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = m.str(typeString(t))
	})
	enterType("tName", func(m *Machine, t *compile.Type, r []uint64) { r[1] = m.str(typeName(t)) })
	enterType("tPkgPath", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = 0
		if n, ok := t.T.(*types.Named); ok && n.Obj().Pkg() != nil {
			r[1] = m.str(n.Obj().Pkg().Path())
		}
	})
	enterType("tKind", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = uint64(reflectKind(t))
	})
	enterType("tElem", func(m *Machine, t *compile.Type, r []uint64) { r[1] = id(t.Elem) })
	enterType("tKey", func(m *Machine, t *compile.Type, r []uint64) { r[1] = id(t.Key) })
	enterType("tLen", func(m *Machine, t *compile.Type, r []uint64) { r[1] = uint64(t.Len) })
	enterType("tDir", func(m *Machine, t *compile.Type, r []uint64) {
		dir := t.T.Underlying().(*types.Chan).Dir()
		r[1] = [...]uint64{types.SendRecv: 3, types.SendOnly: 2, types.RecvOnly: 1}[dir]
	})
	enterType("tSize", func(m *Machine, t *compile.Type, r []uint64) {
		r[1], r[2] = uint64(t.Bytes()), uint64(t.Align())
	})
	enterType("tWords", func(m *Machine, t *compile.Type, r []uint64) { r[1] = uint64(t.Size) })
	enterType("tComparable", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = flag(types.Comparable(t.T))
	})
	enterType("tNumField", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = uint64(len(t.Fields))
	})
	// tField(t, i int) (name, pkg string, typ int, tag string, offset, word int, embedded bool)
	enterType("tField", func(m *Machine, t *compile.Type, r []uint64) {
		s := t.T.Underlying().(*types.Struct)
		i := int(r[1])
		v, f := s.Field(i), t.Fields[i]
		pkg := ""
		if !v.Exported() {
			pkg = v.Pkg().Path()
		}
		r[2], r[3], r[4], r[5] = m.str(v.Name()), m.str(pkg), uint64(f.Type.ID), m.str(s.Tag(i))
		r[6], r[7], r[8] = uint64(t.FieldOffset(i)), uint64(f.Off), flag(v.Embedded())
	})
	enterType("tNumMethod", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = uint64(len(m.p.MethodsOf(t)))
	})
	// tMethod(t, i int) (name, pkg string, bound, whole int)
	enterType("tMethod", func(m *Machine, t *compile.Type, r []uint64) {
		fn := m.p.MethodsOf(t)[r[1]]
		sig := fn.Type().(*types.Signature)
		pkg := ""
		if !fn.Exported() {
			pkg = fn.Pkg().Path()
		}
		r[2], r[3] = m.str(fn.Name()), m.str(pkg)
		r[4] = uint64(m.p.TypeOf(types.NewSignatureType(nil, nil, nil, sig.Params(), sig.Results(),
			sig.Variadic())).ID)
		params := []*types.Var{types.NewParam(gotoken.NoPos, nil, "", t.T)}
		for i := range sig.Params().Len() {
			params = append(params, sig.Params().At(i))
		}
		r[5] = uint64(m.p.TypeOf(types.NewSignatureType(nil, nil, nil, types.NewTuple(params...),
			sig.Results(), sig.Variadic())).ID)
	})
	enterType("tNumIn", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = uint64(signatureOf(t).Params().Len())
	})
	enterType("tIn", func(m *Machine, t *compile.Type, r []uint64) {
		r[2] = uint64(m.p.TypeOf(signatureOf(t).Params().At(int(r[1])).Type()).ID)
	})
	enterType("tNumOut", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = uint64(signatureOf(t).Results().Len())
	})
	enterType("tOut", func(m *Machine, t *compile.Type, r []uint64) {
		r[2] = uint64(m.p.TypeOf(signatureOf(t).Results().At(int(r[1])).Type()).ID)
	})
	enterType("tVariadic", func(m *Machine, t *compile.Type, r []uint64) {
		r[1] = flag(signatureOf(t).Variadic())
	})
	enterType("tImplements", func(m *Machine, t *compile.Type, r []uint64) {
		r[2] = flag(m.p.Implements(t, m.p.TypeByID(r[1])))
	})
	enterType("tAssignable", func(m *Machine, t *compile.Type, r []uint64) {
		r[2] = flag(types.AssignableTo(t.T, m.p.TypeByID(r[1]).T))
	})
	enterType("tConvertible", func(m *Machine, t *compile.Type, r []uint64) {
		r[2] = flag(types.ConvertibleTo(t.T, m.p.TypeByID(r[1]).T))
	})
}

func signatureOf(t *compile.Type) *types.Signature { return t.T.Underlying().(*types.Signature) }

// deep reports whether a type made of these would be nested too deeply: the cost of its name
// and of comparisons grows with the depth.
func (m *Machine) deep(g *goroutine, parts ...types.Type) bool {
	seen := map[types.Type]bool{}
	var nests func(t types.Type, left int) bool
	nests = func(t types.Type, left int) bool {
		if left == 0 {
			return true
		}
		if seen[t] {
			return false
		}
		seen[t] = true
		switch t := t.(type) {
		case *types.Struct:
			for i := range t.NumFields() {
				if nests(t.Field(i).Type(), left-1) {
					return true
				}
			}
		case *types.Map:
			return nests(t.Key(), left-1) || nests(t.Elem(), left-1)
		case interface{ Elem() types.Type }:
			return nests(t.Elem(), left-1)
		}
		return false
	}
	for _, t := range parts {
		if nests(t, maxNesting) {
			m.refuse(g, fmt.Sprintf("makes a type by package reflect that is nested deeper "+
				"than %d", maxNesting))
			return true
		}
	}
	return false
}

// madeTypeNatives adds the functions that make types.
func madeTypeNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	// tMake(kind, key, elem, n int) int
	plain("reflect.tMake", func(m *Machine, g *goroutine, r []uint64) {
		elem := m.p.TypeByID(r[2]).T
		if m.deep(g, elem) {
			return
		}
		var t types.Type
		switch r[0] {
		case 17:
			t = types.NewArray(elem, int64(r[3]))
		case 18:
			t = types.NewChan([...]types.ChanDir{1: types.RecvOnly, 2: types.SendOnly,
				3: types.SendRecv}[r[3]], elem)
		case 21:
			t = types.NewMap(m.p.TypeByID(r[1]).T, elem)
		case 22:
			t = types.NewPointer(elem)
		case 23:
			t = types.NewSlice(elem)
		}
		r[4] = uint64(m.p.TypeOf(t).ID)
	})
}

// memoryNatives adds what reads and writes values.
func memoryNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	// unpack(v any) (t int, p unsafe.Pointer)
	plain("reflect.unpack", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		p := r[1]
		if t.Size <= 1 {
			p = m.newObject(g, plainObj, t, t.Size)
			if t.Size == 1 {
				m.mem[m.addr(p)] = r[1]
			}
		}
		r[2], r[3] = uint64(t.ID), p
	})
	// pack(t int, p unsafe.Pointer) any
	plain("reflect.pack", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		x, y := m.iface(g, t, m.valueAt(g, t, r[1]))
		r[2], r[3] = x, y
	})
	// alloc(t, n int) unsafe.Pointer
	plain("reflect.alloc", func(m *Machine, g *goroutine, r []uint64) {
		t, n := m.p.TypeByID(r[0]), int64(r[1])
		if n > maxLen {
			m.refuse(g, "makes a slice of more than 67 million elements by package reflect")
			return
		}
		r[2] = m.newObject(g, plainObj, t, int(n)*t.Size)
	})
	// assign(dt int, dp unsafe.Pointer, st int, sp unsafe.Pointer)
	plain("reflect.assign", func(m *Machine, g *goroutine, r []uint64) {
		dt, st := m.p.TypeByID(r[0]), m.p.TypeByID(r[2])
		v := m.valueAt(g, st, r[3])
		m.writeAny(g, r[1], dt.Size)
		if dt.Kind == compile.Interface && st.Kind != compile.Interface {
			x, y := m.iface(g, st, v)
			v = []uint64{x, y}
		}
		m.storeValue(r[1], dt, v)
	})
	// clearWords(t int, p unsafe.Pointer)
	plain("reflect.clearWords", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.writeAny(g, r[1], t.Size)
		m.storeValue(r[1], t, make([]uint64, t.Size))
	})
	// isZero(t int, p unsafe.Pointer) bool
	plain("reflect.isZero", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.readAny(g, r[1], t.Size)
		a := m.addr(r[1])
		r[2] = flag(!slices.ContainsFunc(m.mem[a:a+uint32(t.Size)], func(w uint64) bool {
			return w != 0
		}))
	})
	plain("reflect.shift", func(m *Machine, g *goroutine, r []uint64) { r[2] = r[0] + r[1] })
	// equal(t int, p, q unsafe.Pointer) bool
	plain("reflect.equal", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.readAny(g, r[1], t.Size)
		m.readAny(g, r[2], t.Size)
		eq, bad := m.equal(t, m.mem[m.addr(r[1]):], m.mem[m.addr(r[2]):])
		r[3] = flag(eq && bad == nil)
	})
	// address(t int, p unsafe.Pointer) uintptr: a number for what a reference refers to
	plain("reflect.address", func(m *Machine, g *goroutine, r []uint64) {
		m.readAny(g, r[1], 1)
		w := m.mem[m.addr(r[1])]
		if r[2] = m.address(w); w != 0 && m.p.TypeByID(r[0]).Kind == compile.Function {
			// The code's, as in Go: the same for all closures of a function.
			if w&compile.StaticFunc == 0 {
				w = m.mem[m.addr(w)]
			}
			r[2] = madeWord(token{fn: m.p.CodeOf(m.p.FuncByIndex(w &^ compile.StaticFunc))})
		}
	})
	// charAt(s string, i int) unsafe.Pointer: a byte of a string, and behind it which it is
	plain("reflect.charAt", func(m *Machine, g *goroutine, r []uint64) {
		p := m.newObject(g, plainObj, m.sys.wordType, 3)
		copy(m.mem[m.addr(p):], []uint64{uint64(m.text(r[0])[r[1]]), r[0], r[1]})
		r[2] = p
	})
	// convertBasic(t int, p unsafe.Pointer, to int) unsafe.Pointer
	plain("reflect.convertBasic", func(m *Machine, g *goroutine, r []uint64) {
		from, to := m.p.TypeByID(r[0]), m.p.TypeByID(r[2])
		v := m.valueAt(g, from, r[1])
		out := make([]uint64, to.Size)
		switch number := func(k compile.Kind) bool {
			return k.Integer() || k.Float() || k == compile.Complex64 || k == compile.Complex128
		}; {
		case number(from.Kind) && number(to.Kind):
			convert(from.Kind, to.Kind, v, out)
		case to.Kind == compile.String && from.Kind != compile.String:
			out[0] = m.toString(g, from, v)
		case from.Kind == compile.String && to.Kind == compile.Slice:
			m.fromString(g, to, m.text(v[0]), out)
		default: // the same layout
			copy(out, v)
		}
		p := m.newObject(g, plainObj, to, to.Size)
		copy(m.mem[m.addr(p):], out)
		r[3] = p
	})
}

// mapNatives adds what maps and channels need.
func mapNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	plain("reflect.makeMap", func(m *Machine, g *goroutine, r []uint64) {
		r[1] = m.newMap(g, m.p.TypeByID(r[0]))
	})
	plain("reflect.makeChan", func(m *Machine, g *goroutine, r []uint64) {
		r[2] = m.newChan(g, m.p.TypeByID(r[0]).Elem, int(r[1]))
	})
	key := func(m *Machine, t *compile.Type, p uint64) []uint64 {
		a := m.addr(p)
		return slices.Clone(m.mem[a : a+uint32(t.Key.Size)])
	}
	unhashable := func(m *Machine, g *goroutine, bad *compile.Type) bool {
		if bad != nil {
			m.leave(g)
			m.throw(g, "hash of unhashable type "+typeString(bad))
		}
		return bad != nil
	}
	// mapGet(t int, mp, key unsafe.Pointer) unsafe.Pointer: a copy of the element
	plain("reflect.mapGet", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		r[3] = 0
		if r[1] == 0 {
			return
		}
		m.readAny(g, r[1], 1)
		at, bad := m.find(r[1], key(m, t, r[2]))
		if unhashable(m, g, bad) || at < 0 {
			return
		}
		p := m.newObject(g, plainObj, t.Elem, t.Elem.Size)
		copy(m.mem[m.addr(p):], m.mem[at+1+t.Key.Size:at+1+t.Key.Size+t.Elem.Size])
		r[3] = p
	})
	// mapSet(t int, mp, key, elem unsafe.Pointer)
	plain("reflect.mapSet", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.writeAny(g, r[1], 1)
		unhashable(m, g, m.mapSet(g, r[1], key(m, t, r[2]), m.valueAt(g, t.Elem, r[3])))
	})
	plain("reflect.mapDelete", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.writeAny(g, r[1], 1)
		unhashable(m, g, m.mapDelete(r[1], key(m, t, r[2])))
	})
	plain("reflect.mapClear", func(m *Machine, g *goroutine, r []uint64) {
		m.writeAny(g, r[1], 1)
		m.mapClear(r[1])
	})
	// mapEntries(t int, mp unsafe.Pointer) (keys, elems unsafe.Pointer, n int): a copy
	plain("reflect.mapEntries", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[0])
		m.readAny(g, r[1], 1)
		n := m.mem[m.addr(r[1])+mapLen]
		if n > 1 && !m.sys.ranged.Load() {
			m.sys.ranged.Store(true)
		}
		keys := m.newObject(g, plainObj, t.Key, int(n)*t.Key.Size)
		elems := m.newObject(g, plainObj, t.Elem, int(n)*t.Elem.Size)
		key, elem := int(m.addr(keys)), int(m.addr(elems))
		m.eachEntry(r[1], func(e []uint64) {
			copy(m.mem[key:], e[1:1+t.Key.Size])
			copy(m.mem[elem:], e[1+t.Key.Size:1+t.Key.Size+t.Elem.Size])
			key, elem = key+t.Key.Size, elem+t.Elem.Size
		})
		r[2], r[3], r[4] = keys, elems, n
	})
}

// callNatives adds calls of functions and methods, and select.
func callNatives(plain func(string, func(m *Machine, g *goroutine, r []uint64))) {
	// methodFunc(t int, name string) unsafe.Pointer: where the function stands
	plain("reflect.methodFunc", func(m *Machine, g *goroutine, r []uint64) {
		fn := m.p.MethodNamed(m.p.TypeByID(r[0]), m.text(r[1]))
		p := m.newObject(g, plainObj, m.p.TypeOf(fn.SSA.Signature), 1)
		m.mem[m.addr(p)] = compile.StaticFunc | uint64(fn.Index)
		r[2] = p
	})
	// args gathers the words of arguments, which a slice of pointers locates.
	args := func(m *Machine, g *goroutine, ft *compile.Type, s []uint64) (words []uint64, ok bool) {
		n := 0
		for i := range signatureOf(ft).Results().Len() {
			n += m.p.TypeOf(signatureOf(ft).Results().At(i).Type()).Size
		}
		if n > maxResults {
			m.refuse(g, "calls a function with large results by package reflect")
			return nil, false
		}
		for i := range int(s[1]) {
			t := m.p.TypeOf(signatureOf(ft).Params().At(i).Type())
			words = append(words, m.valueAt(g, t, m.mem[int(m.addr(s[0]))+i])...)
		}
		return words, true
	}
	// call(ft int, fn unsafe.Pointer, args []unsafe.Pointer) [48]uintptr
	plain("reflect.call", func(m *Machine, g *goroutine, r []uint64) {
		m.readAny(g, r[1], 1)
		w := m.mem[m.addr(r[1])]
		if words, ok := args(m, g, m.p.TypeByID(r[0]), r[2:]); ok {
			m.callFunc(g, w, words, 5)
		}
	})
	// callMethod(ft, t int, p unsafe.Pointer, name string, args []unsafe.Pointer) [48]uintptr
	plain("reflect.callMethod", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeByID(r[1])
		recv := m.valueAt(g, t, r[2])
		if t.Kind == compile.Interface {
			w := recv[1]
			t = m.p.TypeByID(recv[0])
			recv = m.unboxed(t, &w)
		}
		recv = slices.Clone(recv[:t.Size])
		fn := m.p.MethodNamed(t, m.text(r[3]))
		if words, ok := args(m, g, m.p.TypeByID(r[0]), r[4:]); ok {
			m.callFunc(g, compile.StaticFunc|uint64(fn.Index), append(recv, words...), 7)
		}
	})
	// results(ft int, r [48]uintptr) unsafe.Pointer: what a call has returned
	plain("reflect.results", func(m *Machine, g *goroutine, r []uint64) {
		t := m.p.TypeOf(signatureOf(m.p.TypeByID(r[0])).Results())
		p := m.newObject(g, plainObj, t, t.Size)
		copy(m.mem[m.addr(p):], r[1:1+t.Size])
		r[1+maxResults] = p
	})
	// operate(ops []operation, def bool) (which int, ok bool); an operation has whether it
	// sends, the type's number, the channel, and where the value stands or goes
	plain("reflect.operate", func(m *Machine, g *goroutine, r []uint64) {
		ops := make([]compile.Operation, r[1])
		var words []uint64
		for i := range ops {
			o := m.mem[int(m.addr(r[0]))+4*i:]
			ops[i] = compile.Operation{Send: o[0] == 1, Elem: m.p.TypeByID(o[1])}
			words = append(words, o[2])
			if p := o[3]; o[0] == 1 {
				words = append(words, m.valueAt(g, ops[i].Elem, p)...)
			} else {
				words = append(words, p)
			}
		}
		m.callFunc(g, compile.StaticFunc|uint64(m.p.SelectFunc(ops, r[3] == 1).Index), words, 4)
	})
}

// valueAt returns a copy of the value at p.
func (m *Machine) valueAt(g *goroutine, t *compile.Type, p uint64) []uint64 {
	m.readAny(g, p, t.Size)
	a := m.addr(p)
	v := slices.Clone(m.mem[a : a+uint32(t.Size)])
	m.copyLocks(g, p, t, v)
	return v
}

// leave removes a native function's own frame, so that its caller panics.
func (m *Machine) leave(g *goroutine) {
	g.frames = g.frames[:len(g.frames)-1]
	m.saveFrame(g)
}

// typeName returns a defined type's name, empty if the type has none.
func typeName(t *compile.Type) string {
	switch x := t.T.(type) {
	case *types.Basic:
		if x.Kind() == types.UnsafePointer {
			return "Pointer"
		}
		return typeString(t)
	case *types.Named:
		s := typeString(t)
		if x.Obj().Pkg() != nil {
			s = s[len(x.Obj().Pkg().Name())+1:]
		}
		return s
	}
	return ""
}
