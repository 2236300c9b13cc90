package flow

import (
	"slices"

	"cpor/frontend/model/compile"
)

// frame is what all analyses of a program share.
type frame struct {
	p      *compile.Program
	leader []bool  // by address: environments are kept there
	marks  []int64 // where widening stops
	tops   []value // an environment in which nothing is known
	// live has, for each leader, the registers whose values are read later, without those of
	// constants. What is known of others is forgotten there: it would only keep environments
	// apart.
	live [][]int32
}

func newFrame(p *compile.Program) *frame {
	f := &frame{p: p, leader: make([]bool, len(p.Code)+1), tops: make([]value, p.NumReg)}
	for i := range f.tops {
		f.tops[i] = top
	}
	for at := range p.Code {
		in := &p.Code[at]
		if e := in.Op.Effect().Flow; e == compile.JumpFlow || e == compile.BranchFlow {
			f.leader[in.A] = true
		}
	}
	for _, t := range p.Jumps {
		for _, to := range t {
			f.leader[to] = true
		}
	}
	for i := range p.Points {
		f.leader[p.Points[i].Entry] = true
	}
	for i := range p.Props {
		f.leader[p.Props[i].Entry] = true
	}
	for _, tt := range p.Threads {
		f.leader[tt.Entry] = true
	}
	for _, v := range p.Consts {
		f.marks = append(f.marks, v-1, v, v+1)
	}
	slices.Sort(f.marks)
	f.marks = slices.Compact(f.marks)
	f.computeLive()
	return f
}

// computeLive is the usual iteration, from the last instruction to the first, until nothing
// changes. It continues behind points.
func (f *frame) computeLive() {
	p := f.p
	alive := make([]Bits, len(p.Points))
	for i := range p.Points {
		alive[i] = f.registers()
		for _, v := range p.Points[i].Alive() {
			if v.N == 0 {
				alive[i].add(int64(v.Reg), int64(v.Reg))
			}
		}
	}
	live := make([]Bits, len(p.Code)+1)
	for at := range live {
		live[at] = f.registers()
	}
	now := f.registers()
	for changed := true; changed; {
		changed = false
		for at := len(p.Code) - 1; at >= 0; at-- {
			f.liveBehind(at, live, alive, now)
			p.EachRegister(at, func(r int32, write bool) {
				if write {
					now[r>>6] &^= 1 << (r & 63)
				}
			})
			p.EachRegister(at, func(r int32, write bool) {
				if !write {
					now[r>>6] |= 1 << (r & 63)
				}
			})
			changed = live[at].or(now) || changed
		}
	}
	f.live = make([][]int32, len(live))
	for at, is := range f.leader {
		for r := len(p.Consts); is && r < p.NumReg; r++ {
			if live[at].Has(r) {
				f.live[at] = append(f.live[at], int32(r))
			}
		}
	}
}

// liveBehind sets now to the registers that are live after an instruction. At a point those count
// that have a value there: the variables that are alive.
func (f *frame) liveBehind(at int, live, alive []Bits, now Bits) {
	clear(now)
	for _, to := range next(f.p, at, nil) {
		now.or(live[to])
	}
	in := &f.p.Code[at]
	if in.Op != compile.OpBound || in.A < 0 {
		return
	}
	if q := &f.p.Points[in.A]; !q.Ended {
		for i, w := range live[q.Entry] {
			now[i] |= w & alive[in.A][i]
		}
	}
}

// registers returns an empty set of registers.
func (f *frame) registers() Bits { return make(Bits, (f.p.NumReg+63)/64) }
