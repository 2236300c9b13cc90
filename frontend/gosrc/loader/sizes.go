package loader

import (
	"go/types"
	"hash/maphash"
	"log"
	"os"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unique"
	"unsafe"
	"weak"
)

// sizes are what unsafe.Sizeof, Alignof and Offsetof give in constants. The types of the
// standard library that are replaced have other sizes than Go's; programs that fill cache
// lines count with Go's, and would not compile otherwise.
type sizes struct{ types.Sizes }

type layout struct{ size, align int64 }

func layoutOf[T any]() layout {
	var x T
	return layout{int64(unsafe.Sizeof(x)), int64(unsafe.Alignof(x))}
}

// inGo are the replaced types as laid out by the Go version that compiled cpor. The size of a
// generic one does not depend on its arguments.
var inGo = map[string]layout{
	"sync.Mutex":          layoutOf[sync.Mutex](),
	"sync.RWMutex":        layoutOf[sync.RWMutex](),
	"sync.WaitGroup":      layoutOf[sync.WaitGroup](),
	"sync.Once":           layoutOf[sync.Once](),
	"sync.Cond":           layoutOf[sync.Cond](),
	"sync.Pool":           layoutOf[sync.Pool](),
	"sync.Map":            layoutOf[sync.Map](),
	"sync/atomic.Bool":    layoutOf[atomic.Bool](),
	"sync/atomic.Pointer": layoutOf[atomic.Pointer[int]](),
	"sync/atomic.Value":   layoutOf[atomic.Value](),
	"strings.Builder":     layoutOf[strings.Builder](),
	"reflect.Value":       layoutOf[reflect.Value](),
	"time.Timer":          layoutOf[time.Timer](),
	"time.Ticker":         layoutOf[time.Ticker](),
	"weak.Pointer":        layoutOf[weak.Pointer[int]](),
	"unique.Handle":       layoutOf[unique.Handle[int]](),
	"hash/maphash.Hash":   layoutOf[maphash.Hash](),
	"os.File":             layoutOf[os.File](),
	"log.Logger":          layoutOf[log.Logger](),
}

// LayoutInGo returns the size and the alignment that Go gives a type of its standard library
// that is replaced, in bytes; ok is false if it is not one.
func LayoutInGo(t types.Type) (size, align int64, ok bool) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil {
		return 0, 0, false
	}
	l, ok := inGo[n.Obj().Pkg().Path()+"."+n.Obj().Name()]
	return l.size, l.align, ok
}

// Alignof implements [types.Sizes].
func (s sizes) Alignof(t types.Type) int64 {
	if _, align, ok := LayoutInGo(t); ok {
		return align
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return s.Alignof(u.Elem())
	case *types.Struct:
		most := int64(1)
		for f := range u.Fields() {
			most = max(most, s.Alignof(f.Type()))
		}
		return most
	}
	return s.Sizes.Alignof(t)
}

// Offsetsof implements [types.Sizes].
func (s sizes) Offsetsof(fields []*types.Var) []int64 {
	offsets := make([]int64, len(fields))
	at := int64(0)
	for i, f := range fields {
		at = roundUp(at, s.Alignof(f.Type()))
		offsets[i] = at
		at += s.Sizeof(f.Type())
	}
	return offsets
}

// Sizeof implements [types.Sizes].
func (s sizes) Sizeof(t types.Type) int64 {
	if size, _, ok := LayoutInGo(t); ok {
		return size
	}
	switch u := t.Underlying().(type) {
	case *types.Array:
		return max(0, u.Len()) * s.Sizeof(u.Elem())
	case *types.Struct:
		n := u.NumFields()
		if n == 0 {
			return 0
		}
		var fields []*types.Var
		for f := range u.Fields() {
			fields = append(fields, f)
		}
		last := s.Sizeof(fields[n-1].Type())
		end := s.Offsetsof(fields)[n-1] + last
		if end > 0 && last == 0 { // so that no pointer to it points behind the struct
			end++
		}
		return roundUp(end, s.Alignof(t))
	}
	return s.Sizes.Sizeof(t)
}

func roundUp(n, to int64) int64 { return (n + to - 1) / to * to }
