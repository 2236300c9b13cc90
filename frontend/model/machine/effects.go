package machine

import (
	"slices"

	"cpor/frontend/model/compile"
	"cpor/sabotage"
	"cpor/system"
)

// effects is what a machine remembers of steps it has executed: threads do the same
// things again and again while the others are elsewhere, and to look up what came of
// it is cheaper than to execute it. A step whose segment is simple (see findSimple) is a
// function of the thread, of its slot, and of the values of the shared locations that
// the segment touches; which one it touches next is a function of those it has
// touched. So the remembered steps are a tree: the root is a thread with its slot, an
// inner node says which location is touched next, there is a branch for each of its values,
// and a leaf is an [effect].
//
// Only steps of a machine that neither records accesses nor tells stories are looked
// up: those of the full search. To remember a step, it is executed with its accesses recorded.
type effects struct {
	nodes  []effectNode // open addressing, by from and value; grown and cleared as a whole
	used   int
	leaves []effect
	simple []bool  // by point, as System.simple, without those that were given up
	credit []int32 // by point: how many hits a point has in hand
	after  []undo  // scratch
}

// effectNode is where a branch of the tree leads.
type effectNode struct {
	value uint64 // of the location, or of the slot
	from  uint32 // id of the node where the branch begins, for a slot ^ of the thread
	id    uint32 // from 1; 0: free
	next  int32  // the location to touch next, or ^ of the place of a leaf
}

// effect is what came of a step.
type effect struct {
	slot            uint64 // of the thread afterwards
	values          [maxEffectWrites]int64
	writes          [maxEffectWrites]int32 // locations
	counters        [maxEffectJumps]int32  // of the jumps that were taken
	nWrites, nJumps uint8
	blocked         bool
}

const (
	// minEffectCode is how many instructions there have to be up to the next points: to
	// execute fewer takes no longer than to look up what comes of them.
	minEffectCode = 16
	// Steps that touch more than that are executed each time.
	maxEffectTouched = 4
	maxEffectWrites  = 3
	maxEffectJumps   = 6
	// maxEffectNodes bounds the memory, to about a megabyte. When there would be more,
	// all are forgotten.
	maxEffectNodes = 1 << 14
	minEffectNodes = 1 << 8
	// A point whose steps are hardly ever found is given up: each that is not costs
	// effectCost hits.
	effectCost   = 16
	effectCredit = 1 << 15
	effectMix    = 0x9E3779B97F4A7C15
)

// findSimple tells for each point whether what a step from there does depends on nothing but
// its thread, the thread's slot, and the shared locations that it touches, and writes
// nothing else; points with fewer instructions than that do not count.
func (s *System) findSimple(instructions int) []bool {
	simple := make([]bool, len(s.p.Points))
	if s.dynamic || s.p.Observed || s.slotWords != 1 || sabotage.On {
		return simple
	}
	for i := range s.p.Points {
		pt := &s.p.Points[i]
		seen := map[int]bool{}
		simple[i] = !pt.Ended && !pt.Retry && !pt.Timeout && !pt.Thread.Observer && s.simpleFrom(pt.Entry, seen) && len(seen) >= instructions
	}
	return simple
}

// simpleFrom tells whether all instructions that can be executed from an address on, up
// to the next point, are such as findSimple asks for.
func (s *System) simpleFrom(at int, seen map[int]bool) bool {
	for !seen[at] {
		seen[at] = true
		in := &s.p.Code[at]
		at++
		switch in.Op {
		case compile.OpBlock, compile.OpFail, compile.OpBound:
			return true
		case compile.OpJmp:
			at = int(in.A)
		case compile.OpJt, compile.OpJf, compile.OpJeq, compile.OpJne, compile.OpJlt, compile.OpJle:
			if !s.simpleFrom(int(in.A), seen) {
				return false
			}
		case compile.OpTable:
			for _, to := range s.p.Jumps[in.T] {
				if !s.simpleFrom(int(to), seen) {
					return false
				}
			}
			return true
		case compile.OpMov, compile.OpAdd, compile.OpSub, compile.OpMul, compile.OpArith, compile.OpNeg, compile.OpCom, compile.OpConv,
			compile.OpEq, compile.OpNe, compile.OpLt, compile.OpLe, compile.OpLtU, compile.OpLeU, compile.OpNot,
			compile.OpIndex, compile.OpOffset, compile.OpDeref, compile.OpRef, compile.OpLoad, compile.OpStore,
			compile.OpLoadLocal, compile.OpStoreLocal, compile.OpCas, compile.OpLock, compile.OpUnlock, compile.OpPrint:
		default:
			return false
		}
	}
	return true
}

// slotMask has the bits of a slot of one word.
func (s *System) slotMask() uint64 { return maskOf(s.p.SlotBits) }

// newEffects returns an empty memory for a machine of s.
func newEffects(s *System) *effects {
	e := &effects{
		nodes:  make([]effectNode, minEffectNodes),
		simple: slices.Clone(s.simple),
		credit: make([]int32, len(s.simple)),
	}
	for i := range e.credit {
		e.credit[i] = effectCredit
	}
	return e
}

// place returns where the branch of a value is, or where it would be.
func (e *effects) place(from uint32, value uint64) *effectNode {
	mask := len(e.nodes) - 1
	h := (value ^ uint64(from)<<32 ^ uint64(from)) * effectMix
	for i := int(h >> 40); ; i++ {
		n := &e.nodes[i&mask]
		if n.id == 0 || n.value == value && n.from == from {
			return n
		}
	}
}

// recall is Step for a thread at a simple point.
func (m *Machine) recall(t, point int, pt *compile.Point) (out system.Outcome) {
	w, sh := m.sys.slot(t)
	slot := m.words[w] >> sh & m.sys.slotMask()
	e := m.effects
	for n := e.place(^uint32(t), slot); n.id != 0; {
		if n.next < 0 {
			e.credit[point] = min(e.credit[point]+1, effectCredit)
			return m.enact(&e.leaves[^n.next], t, point, pt)
		}
		n = e.place(n.id, uint64(m.sys.locs[n.next].load(m.words)))
	}
	return m.learn(t, point, pt)
}

// enact does what an effect says.
func (m *Machine) enact(f *effect, t, point int, pt *compile.Point) system.Outcome {
	if f.blocked {
		return system.Outcome{Kind: system.Blocked, AtEnd: pt.End}
	}
	w, sh := m.sys.slot(t)
	m.set(w, m.words[w]&^(m.sys.slotMask()<<sh)|f.slot<<sh)
	for i := range f.writes[:f.nWrites] {
		m.write(int(f.writes[i]), f.values[i])
	}
	m.path.begin(pt.Entry)
	m.path.n = copy(m.path.last[:], f.counters[:f.nJumps])
	m.commit(point)
	return system.Outcome{Kind: system.Moved}
}

// learn is Step for a step that has not been executed in this way, which it
// remembers if it can be.
func (m *Machine) learn(t, point int, pt *compile.Point) system.Outcome {
	e := m.effects
	if e.credit[point] -= effectCost; e.credit[point] < 0 {
		e.simple[point] = false
	}
	mark, hash := m.Mark(), m.hash
	m.track = true
	m.attempt(t, pt, 0, &m.result)
	m.track, m.hash = false, hash
	out := m.result
	touched := m.acc
	m.acc = m.acc[:0]
	if out.Violation != nil || len(touched) > maxEffectTouched || m.path.n > maxEffectJumps {
		return out
	}
	f := effect{blocked: out.Kind == system.Blocked}
	if !f.blocked {
		w, sh := m.sys.slot(t)
		f.slot = m.words[w] >> sh & m.sys.slotMask()
		for _, a := range touched {
			if !a.Write {
				continue
			}
			if f.nWrites == maxEffectWrites {
				return out
			}
			f.writes[f.nWrites], f.values[f.nWrites] = int32(a.Loc), m.sys.locs[a.Loc].load(m.words)
			f.nWrites++
		}
		f.nJumps = uint8(copy(f.counters[:], m.path.last[:m.path.n]))
	}
	// The values that the step has found are those of before.
	e.after = append(e.after[:0], m.log[mark:]...)
	for i := range e.after {
		e.after[i].old = m.words[e.after[i].word]
	}
	m.Rewind(mark)
	e.add(m, t, touched, f)
	for _, u := range e.after {
		m.set(int(u.word), u.old)
	}
	return out
}

// add adds a step to the tree: thread t touches some locations, in their order, in the
// state that m is in.
func (e *effects) add(m *Machine, t int, touched []system.Access, f effect) {
	if e.used+len(touched)+1 > len(e.nodes)/2 {
		e.used, e.leaves = 0, e.leaves[:0]
		if len(e.nodes) < maxEffectNodes {
			e.nodes = make([]effectNode, 4*len(e.nodes))
		} else {
			clear(e.nodes)
		}
	}
	w, sh := m.sys.slot(t)
	from, value := ^uint32(t), m.words[w]>>sh&m.sys.slotMask()
	for i := 0; ; i++ {
		n := e.place(from, value)
		if n.id == 0 {
			e.used++
			*n = effectNode{value: value, from: from, id: uint32(e.used)}
			if i == len(touched) {
				n.next = ^int32(len(e.leaves))
				e.leaves = append(e.leaves, f)
				return
			}
			n.next = int32(touched[i].Loc)
		}
		if i == len(touched) {
			return
		}
		from, value = n.id, uint64(m.sys.locs[touched[i].Loc].load(m.words))
	}
}
