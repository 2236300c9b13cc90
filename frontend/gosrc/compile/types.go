package compile

import (
	"fmt"
	"go/types"
	"slices"
	"strings"
	"sync/atomic"

	"cpor/frontend/gosrc/loader"
)

// Kind is how a type's values are represented.
type Kind uint8

// The kinds. The numbers up to Uintptr are integers.
const (
	Invalid Kind = iota
	Bool
	Int8
	Int16
	Int32
	Int64 // also int
	Uint8
	Uint16
	Uint32
	Uint64 // also uint
	Uintptr
	Float32
	Float64
	Complex64
	Complex128
	String
	Pointer // also unsafe.Pointer
	Slice
	Map
	Chan
	Function
	Interface
	Struct
	Array
	Tuple
	Iterator
)

// Integer reports whether the kind is one of integers.
func (k Kind) Integer() bool { return k >= Int8 && k <= Uintptr }

// Signed reports whether the kind is one of signed integers.
func (k Kind) Signed() bool { return k >= Int8 && k <= Int64 }

// Float reports whether the kind is one of floating-point numbers.
func (k Kind) Float() bool { return k == Float32 || k == Float64 }

// Bits returns the size of a number.
func (k Kind) Bits() int {
	switch k {
	case Int8, Uint8:
		return 8
	case Int16, Uint16:
		return 16
	case Int32, Uint32, Float32:
		return 32
	}
	return 64
}

// Type is a type's layout. Values are words:
//
//   - booleans, numbers and strings are one word: integers are extended to 64 bits,
//     floating-point numbers are their bits, a string is its number among
//     all strings (so that equal strings are equal words); complex numbers are two;
//   - a pointer is the number of an object in the upper half and the offset of a
//     word in the lower; nil is 0;
//   - a slice is a pointer, the length and the capacity;
//   - maps and channels are pointers to objects of their own kinds;
//   - a function is 0, a number with [StaticFunc], or a pointer to an object that begins with
//     such a number and continues with what the function captured;
//   - an interface is the number of the dynamic type, 0 if nil, and the value: itself if it is
//     one word, otherwise a pointer to an object that never changes;
//   - structs and arrays are their parts, one after another.
type Type struct {
	T      types.Type
	Kind   Kind
	ID     uint32 // from 1
	Size   int    // in words
	Elem   *Type
	Key    *Type
	Len    int // of arrays
	Fields []Field
	Refs   []Ref
	Locks  []Lock
	Plain  bool // equal values are equal words
	// Reflect: it is reflect.Value, which compares the content of a box, not its address.
	Reflect bool
	laid    atomic.Pointer[layout]
}

// Field is a field of a struct, or a part of a tuple.
type Field struct {
	Name string
	Off  int
	Type *Type
}

// Lock is a value of package sync in a type whose state is copied with it.
type Lock struct {
	Off, Size int
	// Counter is where its counter begins, whose own memory a copy must not share; -1 if it has
	// none.
	Counter int
}

// counters says where in the types of package sync their counters are.
var counters = map[string]int{"sync.Mutex": -1, "sync.RWMutex": 2, "sync.WaitGroup": 0,
	"sync.Once": -1, "sync.Cond": -1}

// Ref is a word that refers to an object.
type Ref struct {
	Off  int
	Kind RefKind
}

// RefKind is how a word refers to an object.
type RefKind uint8

// The kinds of references.
const (
	RefPointer   RefKind = iota
	RefFunc              // unless it has StaticFunc
	RefInterface         // the type's number is at Off, the value behind it
)

// StaticFunc marks a function value that captures nothing.
const StaticFunc = 1 << 63

// String returns the type as Go programs write it.
func (t *Type) String() string {
	return types.TypeString(t.T, func(p *types.Package) string { return p.Name() })
}

// TypeOf returns the layout of a type.
func (p *Program) TypeOf(t types.Type) *Type {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.typeOf(t)
}

// typeOf lays out a type. The targets of references are laid out afterwards: in
//
//	type A struct{ p *B }
//	type B struct { v int; a A }
//
// B contains A, so its layout needs the size of A, and A needs nothing of B. A type cannot
// contain itself, so a type met during its own layout is behind a reference.
func (p *Program) typeOf(t types.Type) *Type {
	x := p.lay(t)
	for len(p.referring) > 0 {
		last := len(p.referring) - 1
		r := p.referring[last]
		p.referring = p.referring[:last]
		switch u := r.T.Underlying().(type) {
		case *types.Pointer:
			r.Elem = p.lay(u.Elem())
		case *types.Map:
			r.Key, r.Elem = p.lay(u.Key()), p.lay(u.Elem())
		case *types.Chan:
			r.Elem = p.lay(u.Elem())
		case *types.Slice:
			r.Elem = p.lay(u.Elem())
		}
	}
	return x
}

// lay is typeOf without what is behind references, which it enters in p.referring.
func (p *Program) lay(t types.Type) *Type {
	t = types.Unalias(t)
	if x, ok := p.types.At(t).(*Type); ok {
		return x
	}
	x := &Type{T: t}
	p.types.Set(t, x)
	list := append(*p.typeList.Load(), x) // readers see a shorter part of the same array
	x.ID = uint32(len(list) - 1)
	p.typeList.Store(&list)
	switch u := t.Underlying().(type) {
	case *types.Basic:
		x.layBasic(u.Kind())
	case *types.Pointer:
		x.reference(Pointer)
		p.referring = append(p.referring, x)
	case *types.Map:
		x.reference(Map)
		p.referring = append(p.referring, x)
	case *types.Chan:
		x.reference(Chan)
		p.referring = append(p.referring, x)
	case *types.Slice:
		x.Kind, x.Size = Slice, 3
		x.Refs = []Ref{{0, RefPointer}}
		p.referring = append(p.referring, x)
	case *types.Signature:
		x.word(Function)
		x.Refs = []Ref{{0, RefFunc}}
	case *types.Interface:
		x.Kind, x.Size = Interface, 2
		x.Refs = []Ref{{0, RefInterface}}
	case *types.Struct:
		p.layStruct(x, u)
	case *types.Tuple:
		x.Kind = Tuple
		for i := range u.Len() {
			x.add(u.At(i).Name(), p.lay(u.At(i).Type()))
		}
	case *types.Array:
		x.layArray(int(u.Len()), p.lay(u.Elem()))
	case *types.TypeParam:
		panic(fmt.Sprintf("a type parameter is left: %v", t))
	}
	return x
}

// word makes x a type of one word.
func (x *Type) word(k Kind) { x.Kind, x.Size, x.Plain = k, 1, true }

// reference makes x a type of one word that is a reference.
func (x *Type) reference(k Kind) {
	x.word(k)
	x.Refs = []Ref{{0, RefPointer}}
}

// basicKinds is the kinds of the basic types of one word without references.
var basicKinds = map[types.BasicKind]Kind{
	types.Bool: Bool, types.UntypedBool: Bool, types.Int8: Int8, types.Int16: Int16,
	types.Int32: Int32, types.UntypedRune: Int32, types.Int: Int64, types.Int64: Int64,
	types.UntypedInt: Int64, types.Uint8: Uint8, types.Uint16: Uint16, types.Uint32: Uint32,
	types.Uint: Uint64, types.Uint64: Uint64, types.Uintptr: Uintptr, types.Float32: Float32,
	types.Float64: Float64, types.UntypedFloat: Float64, types.String: String,
	types.UntypedString: String,
}

func (x *Type) layBasic(b types.BasicKind) {
	switch b {
	case types.Complex64:
		x.Kind, x.Size = Complex64, 2
	case types.Complex128, types.UntypedComplex:
		x.Kind, x.Size = Complex128, 2
	case types.UnsafePointer, types.UntypedNil:
		x.reference(Pointer)
	default:
		if k, ok := basicKinds[b]; ok {
			x.word(k)
			x.Plain = k != Float32 && k != Float64
		}
	}
}

func (p *Program) layStruct(x *Type, u *types.Struct) {
	x.Kind, x.Plain = Struct, true
	for i := range u.NumFields() {
		x.add(u.Field(i).Name(), p.lay(u.Field(i).Type()))
		if u.Field(i).Name() == "_" {
			x.Plain = false
		}
	}
	if n, ok := x.T.(*types.Named); ok {
		name := types.TypeString(n, nil)
		if c, ok := counters[name]; ok {
			x.Locks = []Lock{{0, x.Size, c}}
		}
		if name == "reflect.Value" {
			x.Reflect, x.Plain = true, false
		}
	}
}

func (x *Type) layArray(n int, elem *Type) {
	x.Kind, x.Len, x.Elem = Array, n, elem
	x.Plain = elem.Plain
	x.Size = n * elem.Size
	if len(elem.Refs) > 0 {
		for i := range n {
			for _, r := range elem.Refs {
				x.Refs = append(x.Refs, Ref{i*elem.Size + r.Off, r.Kind})
			}
		}
	}
	if len(elem.Locks) > 0 {
		for i := range n {
			x.addLocks(i*elem.Size, elem)
		}
	}
}

func (x *Type) addLocks(at int, f *Type) {
	for _, l := range f.Locks {
		c := l.Counter
		if c >= 0 {
			c += at
		}
		x.Locks = append(x.Locks, Lock{at + l.Off, l.Size, c})
	}
}

func (x *Type) add(name string, f *Type) {
	x.addLocks(x.Size, f)
	for _, r := range f.Refs {
		x.Refs = append(x.Refs, Ref{x.Size + r.Off, r.Kind})
	}
	x.Fields = append(x.Fields, Field{name, x.Size, f})
	x.Size += f.Size
	x.Plain = x.Plain && f.Plain
}

// TypeByID returns the type of that number.
func (p *Program) TypeByID(id uint64) *Type { return (*p.typeList.Load())[id] }

// Implements reports whether dynamic type t has the methods of the interface i.
func (p *Program) Implements(t, i *Type) bool {
	key := uint64(t.ID)<<32 | uint64(i.ID)
	if v, ok := p.implements.Load(key); ok {
		return v
	}
	v := types.Implements(t.T, i.T.Underlying().(*types.Interface))
	p.implements.Store(key, v)
	return v
}

// MethodOf returns the method that a call of the interface method calls if the
// dynamic type is t; the receiver is a value of t.
func (p *Program) MethodOf(t *Type, method *types.Func) *Func {
	key := methodKey{t.ID, method}
	if f, ok := p.methods.Load(key); ok {
		return f
	}
	p.mu.Lock()
	sel := p.SSA.MethodSets.MethodSet(t.T).Lookup(method.Pkg(), method.Name())
	p.mu.Unlock()
	var f *Func
	if sel != nil {
		f = p.FuncOf(p.SSA.MethodValue(sel))
	}
	p.methods.Store(key, f)
	return f
}

// MethodsOf returns the methods of a type that package reflect shows, in its order: the exported
// ones by name; for an interface all.
func (p *Program) MethodsOf(t *Type) []*types.Func {
	if ms, ok := p.shown.Load(t.ID); ok {
		return ms
	}
	ms := []*types.Func{}
	if i, ok := t.T.Underlying().(*types.Interface); ok {
		for k := range i.NumMethods() {
			ms = append(ms, i.Method(k))
		}
	} else {
		p.mu.Lock()
		set := p.SSA.MethodSets.MethodSet(t.T)
		for k := range set.Len() {
			if f := set.At(k).Obj().(*types.Func); f.Exported() {
				ms = append(ms, f)
			}
		}
		p.mu.Unlock()
	}
	slices.SortFunc(ms, func(a, b *types.Func) int { return strings.Compare(a.Name(), b.Name()) })
	p.shown.Store(t.ID, ms)
	return ms
}

// MethodNamed returns a method of a type by name, nil if there is none.
func (p *Program) MethodNamed(t *Type, name string) *Func {
	p.mu.Lock()
	sel := p.SSA.MethodSets.MethodSet(t.T).Lookup(nil, name)
	p.mu.Unlock()
	if sel == nil {
		return nil
	}
	return p.FuncOf(p.SSA.MethodValue(sel))
}

var amd64 = types.SizesFor("gc", "amd64")

// layout is how Go lays a type out, in bytes.
type layout struct {
	size, align int
	offsets     []int // of the fields of a struct
}

// bytes returns the type's layout. It is cached: the sizes of package types visit each part of a
// struct again, repeatedly for nested ones.
func (t *Type) bytes() *layout {
	if l := t.laid.Load(); l != nil {
		return l
	}
	l := &layout{}
	switch u := t.T.Underlying().(type) {
	case *types.Struct:
		l.align = 1
		for i, f := range t.Fields {
			part := f.Type.bytes()
			at := (l.size + part.align - 1) / part.align * part.align
			l.offsets = append(l.offsets, at)
			l.align = max(l.align, part.align)
			if l.size = at + part.size; part.size == 0 && at > 0 && i == len(t.Fields)-1 {
				l.size++ // so that no pointer to it points behind the struct
			}
		}
		l.size = (l.size + l.align - 1) / l.align * l.align
		if size, align, ok := loader.LayoutInGo(t.T); ok {
			l.size, l.align = int(size), int(align)
		}
	case *types.Array:
		part := t.Elem.bytes()
		l.size, l.align = int(u.Len())*part.size, part.align
	default:
		l.size, l.align = int(amd64.Sizeof(t.T)), int(amd64.Alignof(t.T))
	}
	t.laid.Store(l)
	return l
}

// Bytes returns the size that Go gives the type, in bytes.
func (t *Type) Bytes() int { return t.bytes().size }

// Align returns the alignment that Go gives the type, in bytes.
func (t *Type) Align() int { return t.bytes().align }

// FieldOffset returns where Go places a field of a struct, in bytes.
func (t *Type) FieldOffset(i int) int { return t.bytes().offsets[i] }

// ByteAt returns where Go places word w of the type, in bytes; false if nothing with an address
// begins there.
func (t *Type) ByteAt(w int) (int, bool) {
	if w == 0 {
		return 0, true
	}
	switch t.Kind {
	case Struct:
		if _, _, ok := loader.LayoutInGo(t.T); ok {
			return 0, false
		}
		for i, f := range t.Fields {
			if w >= f.Off && w < f.Off+f.Type.Size {
				b, ok := f.Type.ByteAt(w - f.Off)
				return t.FieldOffset(i) + b, ok
			}
		}
	case Array:
		b, ok := t.Elem.ByteAt(w % t.Elem.Size)
		return w/t.Elem.Size*t.Elem.Bytes() + b, ok
	case Slice, Interface, Complex128:
		return 8 * w, true
	case Complex64:
		return 4 * w, true
	}
	return 0, false
}

// WordAt returns the word of the type that Go places at byte b; false if none begins there.
func (t *Type) WordAt(b int) (int, bool) {
	if b == 0 {
		return 0, true
	}
	switch t.Kind {
	case Struct:
		if _, _, ok := loader.LayoutInGo(t.T); ok {
			return 0, false
		}
		for i, f := range t.Fields {
			if at := b - t.FieldOffset(i); at >= 0 && at < f.Type.Bytes() {
				w, ok := f.Type.WordAt(at)
				return f.Off + w, ok
			}
		}
	case Array:
		if n := t.Elem.Bytes(); n > 0 && b < t.Bytes() {
			w, ok := t.Elem.WordAt(b % n)
			return b/n*t.Elem.Size + w, ok
		}
	case Slice, Interface, Complex128:
		return b / 8, b%8 == 0
	case Complex64:
		return b / 4, b%4 == 0
	}
	return 0, false
}

// HasStrings reports whether values of the type have strings in them, which are pointers to Go's
// allocator.
func (t *Type) HasStrings() bool {
	switch t.Kind {
	case String:
		return true
	case Array:
		return t.Elem.HasStrings()
	case Struct, Tuple:
		for _, f := range t.Fields {
			if f.Type.HasStrings() {
				return true
			}
		}
	}
	return false
}

// MissingMethod returns the name of a method of the interface i that t lacks.
func (p *Program) MissingMethod(t, i *Type) string {
	if m, _ := types.MissingMethod(t.T, i.T.Underlying().(*types.Interface), true); m != nil {
		return m.Name()
	}
	return ""
}

// IsInt reports whether the type is int or uint, or has it as its underlying type.
func (t *Type) IsInt() bool {
	b, ok := t.T.Underlying().(*types.Basic)
	return ok && (b.Kind() == types.Int || b.Kind() == types.Uint)
}
