package loader

import (
	"go/types"
	"sync"
	"unsafe"
)

// sizes are what unsafe.Sizeof, Alignof and Offsetof give in constants. Types of package
// sync are ours and have other sizes than Go's; programs that fill cache lines count with
// those, and would not compile otherwise.
type sizes struct{ types.Sizes }

type layout struct{ size, align int64 }

// inGo are the types of package sync in the Go that has compiled cpor.
var inGo = map[string]layout{
	"Mutex":     {int64(unsafe.Sizeof(sync.Mutex{})), int64(unsafe.Alignof(sync.Mutex{}))},
	"RWMutex":   {int64(unsafe.Sizeof(sync.RWMutex{})), int64(unsafe.Alignof(sync.RWMutex{}))},
	"WaitGroup": {int64(unsafe.Sizeof(sync.WaitGroup{})), int64(unsafe.Alignof(sync.WaitGroup{}))},
	"Once":      {int64(unsafe.Sizeof(sync.Once{})), int64(unsafe.Alignof(sync.Once{}))},
	"Cond":      {int64(unsafe.Sizeof(sync.Cond{})), int64(unsafe.Alignof(sync.Cond{}))},
	"Pool":      {int64(unsafe.Sizeof(sync.Pool{})), int64(unsafe.Alignof(sync.Pool{}))},
	"Map":       {int64(unsafe.Sizeof(sync.Map{})), int64(unsafe.Alignof(sync.Map{}))},
}

// SyncLayout returns the size and the alignment that Go gives a type of package sync, in
// bytes; ok is false if it is none, or one that is not ours.
func SyncLayout(t types.Type) (size, align int64, ok bool) {
	n, ok := types.Unalias(t).(*types.Named)
	if !ok || n.Obj().Pkg() == nil || n.Obj().Pkg().Path() != "sync" {
		return 0, 0, false
	}
	l, ok := inGo[n.Obj().Name()]
	return l.size, l.align, ok
}

// Alignof implements [types.Sizes].
func (s sizes) Alignof(t types.Type) int64 {
	if _, align, ok := SyncLayout(t); ok {
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
	if size, _, ok := SyncLayout(t); ok {
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
