package compile

import (
	"math"
	"slices"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// blocking returns how a segment of these instructions may block.
func (p *Program) blocking(code []int) system.Blocking {
	data := false
	how := system.Nonblocking
	for _, at := range code {
		switch p.Code[at].Op {
		case OpLoad, OpStore, OpBump, OpCas, OpPeek, OpPeekAt, OpThreads, OpTimeout:
			data = true
		case OpEnter:
			how = max(how, system.BlocksEntering)
		case OpBlock, OpLock, OpWake, OpDown, OpWLock, OpRLock, OpGroupWait, OpCondWoken, OpSelect:
			how = max(how, system.BlocksOnObject)
		}
	}
	// Whether a guard or the access before it read the data makes no
	// difference: a transition that blocks has no effect but its reads.
	if data && how != system.Nonblocking {
		how = system.BlocksOnGuard
	}
	return how
}

// shape returns how a segment of these instructions can vary between states.
func (p *Program) shape(pt *Point, code []int) system.Shape {
	var s system.Shape
	if pt.Blocks != system.Nonblocking {
		s |= system.MayBlock
	}
	if pt.Choice {
		s |= system.MayChoose
	}
	cyclic := p.cycles(code)
	c := p.count(pt, code, cyclic)
	one := c.loads+c.stores+c.others == 1 && !slices.ContainsFunc(code, func(at int) bool {
		return accesses(p.Code[at].Op) && (effects[p.Code[at].Op].Locs != 1 || cyclic(at))
	})
	switch {
	case c.others == 0 && (c.loads == 0 || c.loads == 1 && c.stores == 0):
	case len(pt.Thread.Watched) == 0 && (one || c.named):
		s |= system.MayVary
	default:
		s |= system.MayVary | system.MayRoam
	}
	return s
}

// segmentCounts says how a segment accesses shared memory. The local part alone decides what is
// stored and where, until something has been read.
type segmentCounts struct {
	loads, stores, others int
	named                 bool // each location is one that the code names
}

func (p *Program) count(pt *Point, code []int, cyclic func(at int) bool) segmentCounts {
	loads, stores, others := 0, 0, len(pt.Thread.Watched)
	named := true
	for _, at := range code {
		in := &p.Code[at]
		if in.Site >= 0 && !sabotage.Is("shape/failed") {
			// A transition that fails does not reach what follows, and leaves the monitors of
			// its thread.
			if p.Monitors {
				others++
			}
			named = named && !p.Monitors && !slices.ContainsFunc(p.next(at, nil),
				func(next int) bool {
					return slices.ContainsFunc(p.reach(next, false), func(r int) bool {
						return accesses(p.Code[r].Op)
					})
				})
		}
		e := &effects[in.Op]
		named = named && e.Flow != BranchFlow && e.Flow != TableFlow
		switch {
		case !accesses(in.Op):
			continue
		case in.Op == OpLoad && !cyclic(at):
			loads++
		case in.Op == OpStore:
			stores++
		default:
			others++
		}
		address := in.A
		if e.Loc == 'B' {
			address = in.B
		}
		named = named && e.Locs == 1 && int(address) < len(p.Consts)
	}
	return segmentCounts{loads, stores, others, named}
}

// accesses reports whether an operation touches shared locations.
func accesses(op Op) bool {
	e := &effects[op]
	return e.Locs > 0 || e.Chan == LookChan || e.Chan == CloseChan || e.Chan == CaseChan ||
		e.Creates || e.Peeks
}

// decidesLate reports whether in a segment of these instructions a read may follow a choice, and
// another choice that read: then the value decides which alternatives exist, although some do
// not read it.
func (p *Program) decidesLate(code []int) bool {
	chooses := func(at int) bool {
		switch in := p.Code[at]; in.Op {
		case OpChoose, OpChoice, OpNotify, OpSignal:
			return true
		case OpSelect:
			return p.choosesCase(&in)
		}
		return false
	}
	for _, c := range code {
		if !chooses(c) {
			continue
		}
		for _, s := range p.next(c, nil) {
			for _, r := range p.reach(s, false) {
				if op := p.Code[r].Op; op == OpStore || !accesses(op) {
					continue
				}
				for _, d := range p.reach(r, false) {
					if chooses(d) {
						return true
					}
				}
			}
		}
	}
	return false
}

// choosesCase reports whether a select may have several alternatives: cases, or messages in a
// bag.
func (p *Program) choosesCase(in *Instr) bool {
	cases := p.Selects[in.T]
	return len(cases) > 1 || slices.ContainsFunc(cases, func(c SelectCase) bool { return c.Bag })
}

// cycles returns a function that reports whether an instruction may be repeated in its segment,
// whose instructions are in code: whether a strongly connected component with a cycle has it
// (Tarjan 1972).
func (p *Program) cycles(code []int) func(at int) bool {
	var succ []int
	jumpsBack := func(at int) bool {
		succ = p.next(at, succ[:0])
		return slices.ContainsFunc(succ, func(s int) bool { return s <= at })
	}
	if !slices.ContainsFunc(code, jumpsBack) { // as in nearly all segments
		return func(int) bool { return false }
	}
	first := code[0]
	size := code[len(code)-1] - first + 1
	order := make([]int, size) // when an instruction was visited; ended if its component is known
	cyclic := make([]bool, size)
	const ended = math.MaxInt
	clock := 0
	var open []int
	var visit func(at int) int
	visit = func(at int) int {
		clock++
		entered, least, begin := clock, clock, len(open)
		order[at-first] = entered
		open = append(open, at)
		itself := false
		for _, s := range p.next(at, nil) {
			itself = itself || s == at
			if order[s-first] == 0 {
				least = min(least, visit(s))
			} else {
				least = min(least, order[s-first])
			}
		}
		if least < entered {
			return least
		}
		for _, member := range open[begin:] {
			order[member-first] = ended
			cyclic[member-first] = itself || len(open) > begin+1
		}
		open = open[:begin]
		return ended
	}
	for _, at := range code {
		if order[at-first] == 0 {
			visit(at)
		}
	}
	return func(at int) bool { return cyclic[at-first] }
}
