package machine

import (
	"maps"
	"slices"

	"cpor/frontend/code/wasm"
	"cpor/frontend/model/compile"
	"cpor/testkit/sabotage"
)

// All alternatives of a segment are the same up to its first choice. So if nothing was changed
// until then, the second alternative and all others resume there:
//
//	first ──▶ guards ──▶ select ──▶ case 1 ──▶ outcome
//	            second ────┘  └───▶ case 2 ──▶ outcome
//
// What they find there is what the first one left: the registers that had values and may have
// been given others since are saved and restored; and what the first one noted on its way counts
// once for each outcome.

// resumption is a first choice of a segment.
type resumption struct {
	at    int // its address, with which a block begins
	index int // from 1
	// The registers that are restored, and where they are saved.
	regs  []int32
	saved []wasm.Local
}

// quiet reports whether an instruction changes no state and chooses nothing.
func quiet(op compile.Op) bool {
	switch op {
	case compile.OpChoose, compile.OpChoice, compile.OpSelect, compile.OpPoll,
		compile.OpStoreLocal:
		return false
	case compile.OpStore:
		return sabotage.Is("code/resume")
	}
	e := op.Effect()
	return !e.Write && !e.Creates && e.Chan != compile.CloseChan && e.Chan != compile.CaseChan
}

// resumptions returns the first choices of a segment at which alternatives may resume.
func (e *emitter) resumptions(pt *compile.Point, blocks []segment) (all []*resumption) {
	if !pt.Choice || e.Accesses || pt.Thread.Observer {
		return nil
	}
	noisy := make([]int, len(blocks)) // the first instruction that is not quiet; to if all are
	late := make([]bool, len(blocks)) // something before the block is not quiet
	for i, b := range blocks {
		noisy[i] = b.from
		for noisy[i] < b.to && quiet(e.p.Code[noisy[i]].Op) {
			noisy[i]++
		}
	}
	for changed := true; changed; {
		changed = false
		for i, b := range blocks {
			for _, to := range b.succ {
				if (late[i] || noisy[i] < b.to) && !late[to] {
					late[to], changed = true, true
				}
			}
		}
	}
	for i, b := range blocks {
		if late[i] || noisy[i] == b.to || noisy[i] == pt.Entry {
			continue
		}
		switch e.p.Code[noisy[i]].Op {
		case compile.OpChoose, compile.OpChoice, compile.OpSelect:
			all = append(all, &resumption{at: noisy[i], index: len(all) + 1})
		}
	}
	return all
}

// dispatch is the address of a block without instructions, which goes to others.
const dispatch = -1

// withResumptions returns the blocks of a segment, which begin with one that goes to the others: to
// the first one, or where an alternative resumes.
func (e *emitter) withResumptions(pt *compile.Point, all []*resumption) (
	blocks []segment, cyclic bool) {
	var at []int
	for _, r := range all {
		at = append(at, r.at)
	}
	list, cyclic := e.blocks(pt.Entry, at...)
	if list == nil {
		return nil, false
	}
	blocks = slices.Concat([]segment{{from: dispatch, to: dispatch}}, list)
	for i := range blocks {
		for k := range blocks[i].succ {
			blocks[i].succ[k]++
		}
	}
	for _, from := range append([]int{pt.Entry}, at...) {
		i := slices.IndexFunc(blocks, func(b segment) bool { return b.from == from })
		blocks[0].succ = append(blocks[0].succ, i)
	}
	from := make([][]int, len(blocks))
	to := make([][]int, len(blocks))
	for i, b := range blocks {
		to[i] = b.succ
		for _, k := range b.succ {
			from[k] = append(from[k], i)
		}
	}
	for k, r := range all {
		i := blocks[0].succ[1+k]
		before := e.written(blocks, reachable(from, i, false))
		for _, l := range pt.Loads {
			before[l.Reg] = true
		}
		after := e.written(blocks, reachable(to, i, true))
		for _, reg := range slices.Sorted(maps.Keys(after)) {
			if before[reg] {
				r.regs = append(r.regs, reg)
			}
		}
	}
	return blocks, cyclic
}

// reachable returns what is reached from a node, and with itself the node, too.
func reachable(succ [][]int, from int, itself bool) map[int]bool {
	all := map[int]bool{}
	todo := slices.Clone(succ[from])
	if itself {
		todo = append(todo, from)
	}
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !all[i] {
			all[i] = true
			todo = append(todo, succ[i]...)
		}
	}
	return all
}

// written returns the registers that some blocks may write.
func (e *emitter) written(blocks []segment, in map[int]bool) map[int32]bool {
	regs := map[int32]bool{}
	for i := range in {
		if b := &blocks[i]; b.from != dispatch {
			for at := b.from; at < b.to; at++ {
				e.p.EachRegister(at, func(r int32, write bool) {
					if write {
						regs[r] = true
					}
				})
			}
		}
	}
	return regs
}

// resumption returns the first choice at an address; nil if none is there.
func (x *fn) resumption(at int) *resumption {
	for _, r := range x.resumptions {
		if r.at == at {
			return r
		}
	}
	return nil
}

// resume makes the block that goes to the others.
func (x *fn) resume(succ []int, jump func(to int)) {
	for i, r := range x.resumptions {
		x.Get(x.resumed)
		x.I32(int32(r.index))
		x.Op(wasm.I32Eq)
		x.If()
		for _, reg := range r.regs {
			if sabotage.Is("code/restore") {
				break
			}
			l := x.Local(wasm.I64)
			r.saved = append(r.saved, l)
			x.Get(l)
			x.Set(x.local(reg))
		}
		jump(succ[1+i])
		x.End()
	}
	jump(succ[0])
}

// unlessResumed makes code that alternatives which resume do not execute.
func (x *fn) unlessResumed(code func()) {
	if x.resumptions == nil {
		code()
		return
	}
	x.Get(x.resumed)
	x.Op(wasm.I32Eqz)
	x.If()
	code()
	x.End()
}

// first makes code before a choice. Where alternatives resume, only the first of them executes it.
func (x *fn) first(r *resumption, only func()) {
	if r == nil {
		only()
		return
	}
	x.unlessResumed(func() {
		for k, l := range r.saved {
			x.Get(x.local(r.regs[k]))
			x.Set(l)
		}
		x.I32(int32(r.index))
		x.Set(x.resumed)
		// An alternative that is blocked keeps what was noted before.
		x.GetGlobal(x.e.Note)
		x.Tee(x.shared)
		x.Set(x.note)
		only()
	})
}

// multiply has what was noted before a first choice count once for each outcome.
func (x *fn) multiply() {
	if x.resumptions == nil {
		return
	}
	x.Get(x.resumed)
	x.If()
	x.Get(x.count)
	x.Op(wasm.I32Eqz)
	x.If()
	x.Get(x.start)
	x.SetGlobal(x.e.Note)
	x.Else()
	x.Get(x.count)
	x.I32(1)
	x.Op(wasm.I32GtU)
	if sabotage.Is("code/shared") {
		x.Op(wasm.I32Eqz)
	}
	x.If()
	x.e.Multiply(x.Func, x.start, x.shared, x.count)
	x.End()
	x.End()
	x.End()
}
