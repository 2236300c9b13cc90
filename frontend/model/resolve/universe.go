package resolve

import (
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"sync"

	"cpor/frontend/source"
)

// Underlying returns what a declared type represents, and other types unchanged.
func (t *Type) Underlying() *Type {
	if t.under != nil {
		return t.under
	}
	return t
}

// String returns the type as it is written.
func (t *Type) String() string {
	if t.Name != "" {
		return t.Name
	}
	switch t.Kind {
	case Array:
		if t.Index != nil {
			return fmt.Sprintf("[%s]%s", t.Index, t.Elem)
		}
		return fmt.Sprintf("[%d]%s", t.Len, t.Elem)
	case Struct:
		var b strings.Builder
		b.WriteString("struct{")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteByte(';')
			}
			fmt.Fprintf(&b, " %s ", f.Name)
			if f.Atomic {
				b.WriteString("atomic ")
			}
			b.WriteString(f.Type.String())
		}
		if len(t.Fields) > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('}')
		return b.String()
	case Pointer:
		return "*" + t.Elem.String()
	case Chan:
		if t.Bag {
			return fmt.Sprintf("bag(%d) %s", t.Cap, t.Elem)
		}
		if t.Cap > 0 {
			return fmt.Sprintf("chan(%d) %s", t.Cap, t.Elem)
		}
		return "chan " + t.Elem.String()
	case Tuple:
		names := make([]string, len(t.Fields))
		for i, f := range t.Fields {
			names[i] = f.Type.String()
		}
		return "(" + strings.Join(names, ", ") + ")"
	case Void:
		return "no value"
	}
	return "invalid type"
}

// IsScalar reports whether values of the type are one word that can be compared: a bool, an
// integer, a pointer or a name of a Scalarset.
func (t *Type) IsScalar() bool {
	switch t.Kind {
	case Bool, Int, Pointer, Scalarset, UntypedBool, UntypedInt, UntypedNil, Invalid:
		return true
	}
	return false
}

func (t *Type) untyped() bool {
	return t.Kind == UntypedBool || t.Kind == UntypedInt || t.Kind == UntypedNil
}

// isLock reports whether the type is that of a mutex, a monitor, a semaphore, a rwmutex, a
// waitgroup or a cond.
func (t *Type) isLock() bool {
	switch t.Kind {
	case Mutex, Monitor, Semaphore, RWMutex, WaitGroup, Cond:
		return true
	}
	return false
}

func (t *Type) isInt() bool { return t.Kind == Int || t.Kind == UntypedInt }

func (t *Type) isBool() bool { return t.Kind == Bool || t.Kind == UntypedBool }

// maxCells bounds the scalars in the shared variables of a model, in the local
// variables of a thread, and in one value.
const maxCells = 1 << 20

// facts are properties of a type that depend on all of its parts. They are
// computed when all types are known.
type facts struct {
	cells  int    // scalars in a value, at least 1 and at most 2*maxCells
	object string // "a mutex" or "a channel" that a value is or contains
	ref    string // the path of a reference to a channel in a value
	hasRef bool
}

func (t *Type) fact() *facts {
	if t.facts != nil {
		return t.facts
	}
	f := &facts{cells: 1}
	switch t.Kind {
	case Mutex, Monitor, Semaphore, RWMutex, WaitGroup, Cond:
		f.object = "a " + t.Name
		switch t.Kind {
		case Monitor:
			f.cells = 3
		case RWMutex:
			f.cells = 2
		}
		return f // a type that is shared by all models is never written to
	case Array:
		*f = *t.Elem.fact()
		f.cells *= t.Len
	case Struct:
		n := 0
		for _, p := range t.Fields {
			g := p.Type.fact()
			n += g.cells
			if f.object == "" {
				f.object = g.object
			}
			if !f.hasRef && g.hasRef {
				f.hasRef, f.ref = true, "."+p.Name+g.ref
			}
		}
		f.cells = max(n, 1)
	case Chan:
		if t.Cap < 0 {
			f.hasRef = true
		} else {
			f.object = "a channel"
			f.cells = 2 + t.Cap*(1+t.Elem.fact().cells)
		}
	default:
		return f
	}
	f.cells = min(f.cells, 2*maxCells)
	t.facts = f
	return f
}

// object returns "a mutex" or "a channel" if values of the type cannot be copied because they
// are or contain one, and otherwise "".
func (t *Type) object() string { return t.fact().object }

// reference returns the path of a part of the type that is a reference to a
// channel, and whether there is one.
func (t *Type) reference() (path string, ok bool) {
	f := t.fact()
	return f.ref, f.hasRef
}

// cells returns the number of scalars in a value of the type.
func (t *Type) cells() int { return t.fact().cells }

// bounds returns the smallest and the largest value of an integer type.
func (t *Type) bounds() (lo, hi *big.Int) {
	one := big.NewInt(1)
	if !t.Signed {
		hi = new(big.Int).Lsh(one, uint(t.Bits))
		return new(big.Int), hi.Sub(hi, one)
	}
	hi = new(big.Int).Lsh(one, uint(t.Bits-1))
	lo = new(big.Int).Neg(hi)
	return lo, hi.Sub(hi, one)
}

// fits reports whether v is a value of the integer type.
func (t *Type) fits(v *big.Int) bool {
	lo, hi := t.bounds()
	return v.Cmp(lo) >= 0 && v.Cmp(hi) <= 0
}

// limits describes an integer type in messages: uint8 (0..255).
func (t *Type) limits() string {
	lo, hi := t.bounds()
	return fmt.Sprintf("%s (%v..%v)", t, lo, hi)
}

// The predeclared types.
var (
	invalidType = &Type{Kind: Invalid, Name: "invalid type"}
	boolType    = &Type{Kind: Bool, Name: "bool"}
	intType     = &Type{Kind: Int, Name: "int", Bits: 32, Signed: true}
	uintType    = &Type{Kind: Int, Name: "uint", Bits: 32}
	mutexType   = &Type{Kind: Mutex, Name: "mutex"}
	monitorType = &Type{Kind: Monitor, Name: "monitor"}
	semaType    = &Type{Kind: Semaphore, Name: "semaphore"}
	rwType      = &Type{Kind: RWMutex, Name: "rwmutex"}
	groupType   = &Type{Kind: WaitGroup, Name: "waitgroup"}
	condType    = &Type{Kind: Cond, Name: "cond"}
	voidType    = &Type{Kind: Void}
	untypedInt  = &Type{Kind: UntypedInt, Name: "untyped int"}
	untypedBool = &Type{Kind: UntypedBool, Name: "untyped bool"}
	untypedNil  = &Type{Kind: UntypedNil, Name: "untyped nil"}
)

// sized are the types intN and uintN by name.
var sized = sync.OnceValue(func() map[string]*Type {
	m := map[string]*Type{}
	for n := 1; n <= 64; n++ {
		u := &Type{Kind: Int, Name: "uint" + strconv.Itoa(n), Bits: n}
		m[u.Name] = u
		if n > 1 {
			i := &Type{Kind: Int, Name: "int" + strconv.Itoa(n), Bits: n, Signed: true}
			m[i.Name] = i
		}
	}
	return m
})

// builtins are the predeclared functions, with the numbers of their arguments; -1 means any
// number.
var builtins = map[string]struct{ min, max int }{
	"len": {1, 1}, "cap": {1, 1}, "empty": {1, 1}, "full": {1, 1},
	"min": {1, -1}, "max": {1, -1}, "cas": {3, 3}, "choose": {1, 2},
	"assume": {1, 1}, "print": {1, -1}, "timeout": {0, 0}, "lock": {1, 1}, "unlock": {1, 1},
	"close": {1, 1},
	"rlock": {1, 1}, "runlock": {1, 1}, "trylock": {1, 1}, "tryrlock": {1, 1}, "signal": {1, 1},
	"broadcast": {1, 1}, "add": {2, 2}, "done": {1, 1},
	"poll": {1, 1}, "match": {2, 2}, "peek": {1, 1},
	"wait": {1, 2}, "notify": {1, 1}, "notifyAll": {1, 1}, "up": {1, 1}, "down": {1, 1},
}

// scope maps names to objects; the outermost one is the universe.
type scope struct {
	outer *scope
	names map[string]*Object
}

func newScope(outer *scope) *scope { return &scope{outer, map[string]*Object{}} }

// find returns the object of a name, or nil.
func (s *scope) find(name string) *Object {
	for ; s != nil; s = s.outer {
		if obj := s.names[name]; obj != nil {
			return obj
		}
	}
	return nil
}

// newUniverse returns the predeclared names.
func (c *checker) newUniverse() *scope {
	s := newScope(nil)
	typ := func(name string, t *Type) {
		s.names[name] = &Object{Kind: TypeObj, Name: name, Pos: source.NoPos, Type: t}
	}
	typ("bool", boolType)
	typ("int", intType)
	typ("uint", uintType)
	typ("mutex", mutexType)
	typ("monitor", monitorType)
	typ("semaphore", semaType)
	typ("rwmutex", rwType)
	typ("waitgroup", groupType)
	typ("cond", condType)
	typ("byte", sized()["uint8"])
	for name, t := range sized() {
		typ(name, t)
	}
	for name := range builtins {
		s.names[name] = &Object{Kind: BuiltinObj, Name: name, Pos: source.NoPos, Type: invalidType}
	}
	constant := func(name string, t *Type, v int64) {
		obj := &Object{Kind: ConstObj, Name: name, Pos: source.NoPos, Type: t, Value: v}
		s.names[name] = obj
		c.value[obj] = big.NewInt(v)
	}
	constant("true", untypedBool, 1)
	constant("false", untypedBool, 0)
	constant("iota", untypedInt, 0)
	constant("nil", untypedNil, 0)
	return s
}

// advice is the hint for names of Go, Promela and C that do not exist here.
var advice = map[string]string{
	"string":     "there are no strings: number the values with constants",
	"float32":    "there are no floating-point numbers: use integers, scaled if need be",
	"float64":    "there are no floating-point numbers: use integers, scaled if need be",
	"complex64":  "there are no complex numbers",
	"complex128": "there are no complex numbers",
	"rune":       "use int32",
	"uintptr":    "there is no pointer arithmetic: use the index of an array",
	"error":      "there are no errors: use an integer or a bool",
	"any":        "there are no interfaces: use a struct with a field that tells the kinds apart",
	"append":     "there are no slices: use an array and a counter, or a channel",
	"copy":       "there are no slices: arrays are assigned as a whole",
	"clear":      "assign a literal: a = [N]T{}",
	"delete":     "there are no maps: use an array of bool",
	"new":        "there is no heap: use a shared array and a counter, and point to its elements",
	"panic":      "use assert(false, \"message\")",
	"recover":    "there are no panics: a violation ends the run",
	"println":    "write print(...), which traces show",
	"printf":     "write print(...), which traces show",
	"fmt":        "write print(...), which traces show",
	"sync":       "there are no packages: a lock is a variable of type mutex",
	"runtime": "there are no packages: every interleaving is tried anyway, so nothing has to " +
		"be yielded",
	"time": "there is no time: every delay is possible anyway, so there is nothing to wait " +
		"for; a time-out is a case of a select that can always be taken, case await(true)",
	"context": "there are no packages: a context is a channel that is closed when it ends",
	"ctx":     "a context is a channel that is closed when it ends: case <-ended",
	"errors":  "there are no errors: use an integer or a bool",
	"log":     "write print(...), which traces show",
	"os":      "there are no packages: a model has no environment",
	"strings": "there are no strings: use constants",
	"rand":    "use choose(lo, hi): every value is tried",
	"bit":     "use bool or uint1",
	"short":   "use int16",
	"pid":     "pass each thread its number as a parameter",
	"_pid":    "pass each thread its number as a parameter",
	"run":     "a thread is started with go Name(arguments)",
	"while":   "a loop is written for condition { ... }",
	"this":    "there are no methods",
	"self":    "pass each thread its number as a parameter",
	"NULL":    "use nil",
	"null":    "use nil",
	"TRUE":    "use true",
	"FALSE":   "use false",
}
