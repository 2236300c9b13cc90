package compile

import (
	"slices"
	"sync"

	"golang.org/x/tools/go/ssa"
)

// valueSlot is a value with its register.
type valueSlot struct {
	v    ssa.Value
	slot int32
	t    *Type
}

// Slot is a register that holds a value.
type Slot struct {
	Reg  int32
	Type *Type
}

type livenessCache struct {
	mu sync.Mutex
	at map[liveKey][]Slot
	in []map[ssa.Value]bool // by block: live at its end
}

type liveKey struct {
	pc int32
	at liveWhen
}

type liveWhen uint8

const (
	liveHere      liveWhen = iota // before the instruction
	liveCalling                   // behind it, without its result
	liveDone                      // behind it, with its result
	liveRecovered                 // at the recover block
)

// LiveAfter returns the registers whose values may still be used by a function when the
// instruction pc has been executed; result reports whether its own result counts.
func (f *Func) LiveAfter(pc int32, result bool) []Slot {
	if result {
		return f.liveAt(liveKey{pc, liveDone})
	}
	return f.liveAt(liveKey{pc, liveCalling})
}

// LiveInRecover returns the registers that a function uses that continues after a
// recovered panic.
func (f *Func) LiveInRecover() []Slot { return f.liveAt(liveKey{0, liveRecovered}) }

// Live returns the registers whose values may still be used by a function that is
// about to execute the instruction pc.
func (f *Func) Live(pc int32) []Slot { return f.liveAt(liveKey{pc, liveHere}) }

// Interruptible reports whether a function may be interrupted before the instruction pc: its
// live registers are known.
func (f *Func) Interruptible(pc int32) bool { return f.points[pc] != nil }

func (f *Func) liveAt(key liveKey) []Slot {
	f.live.mu.Lock()
	defer f.live.mu.Unlock()
	if s, ok := f.live.at[key]; ok {
		return s
	}
	if f.live.at == nil {
		f.live.at = map[liveKey][]Slot{}
	}
	var out []Slot
	at := f.points[key.pc]
	switch {
	case key.at == liveRecovered:
		out = f.slots(f.recovering())
	case f.emit != nil && key.pc > 0:
		out = f.registers
	case at == nil:
		// A function of the machine's own, or the beginning: the parameters and
		// what it captured.
		off := int32(0)
		for _, ts := range [][]*Type{f.ParamTypes, f.Captured} {
			for _, t := range ts {
				if t.Size > 0 {
					out = append(out, Slot{off, t})
				}
				off += int32(t.Size)
			}
		}
	default:
		live := f.liveAround(at, key.at == liveHere)
		if v, ok := at.(ssa.Value); ok && key.at == liveCalling {
			delete(live, v)
		}
		out = f.slots(live)
	}
	f.live.at[key] = out
	return out
}

func (f *Func) slots(live map[ssa.Value]bool) []Slot {
	var out []Slot
	for _, v := range f.values {
		if live[v.v] {
			out = append(out, Slot{v.slot, v.t})
		}
	}
	slices.SortFunc(out, func(a, b Slot) int { return int(a.Reg - b.Reg) })
	return out
}

// liveAround returns the values that are used behind an instruction; before adds the
// instruction itself.
func (f *Func) liveAround(at ssa.Instruction, before bool) map[ssa.Value]bool {
	if f.live.in == nil {
		f.liveness()
	}
	b := at.Block()
	live := map[ssa.Value]bool{}
	for v := range f.live.in[b.Index] {
		live[v] = true
	}
	for i := len(b.Instrs) - 1; i >= 0; i-- {
		x := b.Instrs[i]
		if x == at && !before {
			break
		}
		if v, ok := x.(ssa.Value); ok {
			delete(live, v)
		}
		use(x, live)
		if x == at {
			break
		}
	}
	return live
}

// use adds the operands of an instruction.
func use(x ssa.Instruction, live map[ssa.Value]bool) {
	switch x.(type) {
	case *ssa.Phi, *ssa.DebugRef:
		return
	}
	if r, ok := x.(*ssa.Return); ok {
		for _, v := range r.Results {
			if u := resultLoad(v); u != nil {
				live[u.X] = true // it may be loaded again, behind the deferred calls
			}
		}
	}
	var ops [16]*ssa.Value
	for _, o := range x.Operands(ops[:0]) {
		if *o == nil {
			continue
		}
		switch (*o).(type) {
		case *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin:
		default:
			live[*o] = true
		}
	}
}

// recovering returns what is live at the beginning of the recover block, which is one
// block that returns.
func (f *Func) recovering() map[ssa.Value]bool {
	live := map[ssa.Value]bool{}
	if f.SSA.Recover == nil {
		return live
	}
	in := f.SSA.Recover.Instrs
	for i := len(in) - 1; i >= 0; i-- {
		if v, ok := in[i].(ssa.Value); ok {
			delete(live, v)
		}
		use(in[i], live)
	}
	return live
}

// liveness computes what is live at the end of each block.
func (f *Func) liveness() {
	fn := f.SSA
	out := make([]map[ssa.Value]bool, len(fn.Blocks))
	for i := range out {
		out[i] = map[ssa.Value]bool{}
	}
	// What the recover block uses is live wherever a call can panic.
	always := f.recovering()
	for changed := true; changed; {
		changed = false
		for i := len(fn.Blocks) - 1; i >= 0; i-- {
			b := fn.Blocks[i]
			n := len(out[i])
			for v := range always {
				if v.Parent() == fn {
					out[i][v] = true
				}
			}
			for _, s := range b.Succs {
				in := map[ssa.Value]bool{}
				for v := range out[s.Index] {
					in[v] = true
				}
				for k := len(s.Instrs) - 1; k >= 0; k-- {
					if v, ok := s.Instrs[k].(ssa.Value); ok {
						delete(in, v)
					}
					use(s.Instrs[k], in)
				}
				for v := range in {
					out[i][v] = true
				}
				for pi, p := range s.Preds {
					if p != b {
						continue
					}
					for _, x := range s.Instrs {
						phi, ok := x.(*ssa.Phi)
						if !ok {
							break
						}
						switch e := phi.Edges[pi].(type) {
						case *ssa.Const, *ssa.Global, *ssa.Function, *ssa.Builtin:
						default:
							out[i][e] = true
						}
					}
				}
			}
			if len(out[i]) != n {
				changed = true
			}
		}
	}
	f.live.in = out
}
