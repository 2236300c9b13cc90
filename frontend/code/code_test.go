package code

import (
	"runtime"
	"slices"
	"sync"
	"testing"

	"cpor/frontend/code/wasm"
	"cpor/system"
)

// counter makes a program of two threads over a state of some words: thread 0 adds 1 to the
// first word, which is noted as number 1, up to limit, where it waits for good; thread 1 is left
// to the reference, and notes what is to be taken back.
func counter(limit int64) *Program {
	b := NewBuilder(3, false)
	f := b.Func([]wasm.Type{wasm.I32}, nil)
	state, thread, alt := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	m := b.newMark(f)
	f.I32(Source)
	f.Set(state)
	b.SetWords(f, state, func() { f.Get(0) })
	f.Get(state)
	f.Mem(wasm.I64Load, State)
	f.I64(limit)
	f.Op(wasm.I64LtU)
	f.If()
	full := f.Block()
	from := f.Local(wasm.I32)
	f.I32(Source)
	f.Set(from)
	d := b.Direct(f, from)
	d.Open(state, full)
	f.Get(state)
	f.Get(state)
	f.Mem(wasm.I64Load, State)
	f.I64(1)
	f.Op(wasm.I64Add)
	f.Mem(wasm.I64Store, State)
	d.Close(state, thread, alt, func() { f.I64(1) }, 1)
	f.End()
	f.Else()
	b.Blocked(f, thread, func() { f.I32(1) })
	f.End()
	f.I32(1)
	f.Set(thread)
	b.setMark(f, m)
	b.Tell(f, 0)
	b.left(f, thread, m)
	return b.Finish(f, Info{Places: 1})
}

// TestInstances expands states with several instances of one program at a time.
func TestInstances(t *testing.T) {
	var later Later
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var c *Compiled
			for c == nil {
				gone := false
				if c, gone = later.Get(func() *Program { return counter(100) }); gone {
					t.Error("not compiled")
					return
				}
				runtime.Gosched()
			}
			counts := make([]uint64, 2)
			began := 0
			x, err := c.New(counts, func() { began++ })
			if err != nil {
				t.Error(err)
				return
			}
			s := system.State{0, 7, ^uint64(0)}
			var n system.Successor
			for i := range uint64(100) {
				if !x.Expand(s) || !x.Next(&n) {
					t.Errorf("%x is not expanded", s)
					return
				}
				want := system.State{i + 1, 7, ^uint64(0)}
				if n.Left || n.Kind != system.Moved || n.Thread != 0 || n.Changed != 1 ||
					!slices.Equal(n.End, want) {
					t.Errorf("from %x: %+v", s, n)
				}
				s = slices.Clone(n.End)
				if !x.Next(&n) || !n.Left || n.Thread != 1 || x.Next(&n) {
					t.Errorf("thread 1 from %x: %+v", s, n)
				}
			}
			if !x.Expand(s) || !x.Next(&n) || n.Left || n.Kind != system.Blocked || !n.AtEnd {
				t.Errorf("from %x: %+v", s, n)
			}
			if !slices.Equal(counts, []uint64{0, 100}) || began != 101 {
				t.Errorf("%d are noted in %d states", counts, began)
			}
			if x.Expand(make(system.State, MaxWords+1)) {
				t.Error("a state that is too large is expanded")
			}
		})
	}
	wg.Wait()
}

// TestRefused holds that a module which cannot be compiled is an error, and one that traps is not
// used again.
func TestRefused(t *testing.T) {
	b := NewBuilder(3, false)
	f := b.Func([]wasm.Type{wasm.I32}, nil)
	f.Op(wasm.I32Add) // of nothing
	if _, err := b.Finish(f, Info{}).Start(); err == nil {
		t.Error("an invalid module is compiled")
	}
	b = NewBuilder(3, false)
	f = b.Func([]wasm.Type{wasm.I32}, nil)
	f.Op(wasm.Unreachable)
	c, err := b.Finish(f, Info{}).Start()
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.New(nil, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if x.Expand(system.State{1}) {
			t.Error("a trap expands a state")
		}
	}
}

// TestComparisons holds that the order of a number and some bits of a word decides a branch as it
// should, whichever is on the left: wazero mistakes one for the other where the number is 0.
func TestComparisons(t *testing.T) {
	for _, op := range []struct {
		op   wasm.Op
		less bool // whether it holds for 0 and 2
	}{{wasm.I64LtS, true}, {wasm.I64LeS, true}, {wasm.I64GtS, false}, {wasm.I64GeS, false},
		{wasm.I64LtU, true}, {wasm.I64LeU, true}, {wasm.I64GtU, false}, {wasm.I64GeU, false}} {
		for _, left := range []bool{true, false} {
			b := NewBuilder(3, false)
			f := b.Func([]wasm.Type{wasm.I32}, nil)
			thread := f.Local(wasm.I32)
			zero := func() { f.I64(0) }
			bits := func() {
				f.I32(Source)
				f.Mem(wasm.I64Load, State)
				f.I64(3)
				f.Op(wasm.I64And)
			}
			if left {
				zero()
				bits()
			} else {
				bits()
				zero()
			}
			f.Op(op.op)
			f.If()
			b.Ended(f, thread)
			f.Else()
			b.Blocked(f, thread, func() { f.I32(0) })
			f.End()
			x := instance(t, b, f)
			var n system.Successor
			if !x.Expand(system.State{2}) || !x.Next(&n) || (n.Kind == system.Ended) != (left ==
				op.less) {
				t.Errorf("%x with 0 left: %v is %v", op.op, left, n.Kind)
			}
		}
	}
}
