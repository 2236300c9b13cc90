package code

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"cpor/frontend/code/wasm"
	"cpor/system"
)

// TestMoveFields moves fields of random widths at random places among each other.
func TestMoveFields(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		before := make(system.State, 1+r.IntN(5))
		var fields []Field
		for w := range before {
			before[w] = r.Uint64()
			for at := r.IntN(8); at < 64; {
				f := Field{Word: w, Shift: at, Bits: 1 + r.IntN(64-at)}
				if r.IntN(3) > 0 {
					f.Bits = min(f.Bits, 5)
				}
				fields = append(fields, f)
				at += f.Bits + r.IntN(3)
			}
		}
		after := slices.Clone(before)
		var from, to []Field
		for _, i := range r.Perm(len(fields)) {
			// Each goes to the next of its width, if one is left.
			d := fields[i]
			j := slices.IndexFunc(fields, func(f Field) bool {
				return f.Bits == d.Bits && !slices.Contains(to, f) && f != d
			})
			if j < 0 {
				continue
			}
			f := fields[j]
			from, to = append(from, d), append(to, f)
			mask := ^uint64(0) >> (64 - f.Bits)
			v := before[d.Word] >> d.Shift & mask
			after[f.Word] = after[f.Word]&^(mask<<f.Shift) | v<<f.Shift
		}
		if got := moveByCode(t, before, from, to); !slices.Equal(got, after) {
			t.Fatalf("%v to %v: %x becomes %x, want %x", from, to, before, got, after)
		}
	}
}

// moveByCode executes MoveFields.
func moveByCode(t *testing.T, s system.State, from, to []Field) system.State {
	t.Helper()
	b := NewBuilder(len(s), true)
	return stepOf(t, b, stepper(b, func(f *wasm.Func, state wasm.Local) {
		Values{Func: f, Type: wasm.I64}.MoveFields(state, from, to)
	}))(s)
}

// stepper makes a function that expands a state by one step. body makes the code that changes the
// copy of the state, whose address is in a local.
func stepper(b *Builder, body func(f *wasm.Func, state wasm.Local)) *wasm.Func {
	f := b.Func([]wasm.Type{wasm.I32}, nil)
	state, thread, alt := f.Local(wasm.I32), f.Local(wasm.I32), f.Local(wasm.I32)
	source := f.Local(wasm.I32)
	f.I32(Source)
	f.Set(source)
	b.SetWords(f, source, func() { f.Get(0) })
	full := f.Block()
	d := b.Direct(f, source)
	d.Open(state, full)
	body(f, state)
	d.Close(state, thread, alt, func() { f.I64(-1) }, 0)
	f.End()
	return f
}

// instance compiles a function that expands states.
func instance(t *testing.T, b *Builder, f *wasm.Func) *Instance {
	t.Helper()
	c, err := b.Finish(f, Info{Places: 1}).Start()
	switch runtime.GOARCH {
	case "amd64", "arm64":
	default:
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	x, err := c.New(make([]uint64, 1), func() {})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// stepOf compiles a function of stepper.
func stepOf(t *testing.T, b *Builder, f *wasm.Func) func(system.State) system.State {
	t.Helper()
	x := instance(t, b, f)
	return func(s system.State) system.State {
		t.Helper()
		var n system.Successor
		if !x.Expand(s) || !x.Next(&n) {
			t.Fatal("not expanded")
		}
		return slices.Clone(n.End)
	}
}
