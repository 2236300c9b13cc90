package machine

import (
	"fmt"
	"math"
	"math/bits"

	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// MaxChoice is the largest number of values that choose may choose from: each
// is a transition of its own.
const MaxChoice = 1 << 20

// run executes the instructions of a segment from an address on. The status
// says how it ended; with reached the number is the point, with failed the site.
func (m *Machine) run(at int, regs []int64, tt *compile.ThreadType, w int, sh uint) (status, int) {
	code := m.code
	for {
		in := &code[at]
		at++
	again:
		switch in.Op {
		case compile.OpMov:
			regs[in.A] = regs[in.B]
		case compile.OpAdd:
			v := regs[in.B] + regs[in.C]
			if t := &m.p.Types[in.T]; (v < t.Min || v > t.Max) && !sabotage.Is("eval/range") {
				return m.outOfRange(in, v)
			}
			regs[in.A] = v
		case compile.OpSub:
			v := regs[in.B] - regs[in.C]
			if t := &m.p.Types[in.T]; v < t.Min || v > t.Max {
				return m.outOfRange(in, v)
			}
			regs[in.A] = v
		case compile.OpMul:
			v := regs[in.B] * regs[in.C]
			if t := &m.p.Types[in.T]; v < t.Min || v > t.Max {
				return m.outOfRange(in, v)
			}
			regs[in.A] = v
		case compile.OpArith:
			v, problem := arith(in.D, &m.p.Types[in.T], regs[in.B], regs[in.C])
			if problem != "" {
				return m.fault(in, "%s", problem)
			}
			regs[in.A] = v
		case compile.OpNeg:
			t := &m.p.Types[in.T]
			v := -regs[in.B]
			if t.Signed && t.Bits < 64 && v > t.Max || !t.Signed && v != 0 {
				return m.outOfRange(in, v)
			}
			if t.Signed && t.Bits == 64 && v == math.MinInt64 {
				return m.fault(in, "-(%d) is out of range of %s", v, t.Name)
			}
			regs[in.A] = v
		case compile.OpCom:
			t := &m.p.Types[in.T]
			regs[in.A] = truncate(t, ^regs[in.B])
		case compile.OpConv:
			regs[in.A] = truncate(&m.p.Types[in.T], regs[in.B])
		case compile.OpEq:
			regs[in.A] = b2i(regs[in.B] == regs[in.C])
		case compile.OpNe:
			regs[in.A] = b2i(regs[in.B] != regs[in.C])
		case compile.OpLt:
			regs[in.A] = b2i(regs[in.B] < regs[in.C])
		case compile.OpLe:
			regs[in.A] = b2i(regs[in.B] <= regs[in.C])
		case compile.OpLtU:
			regs[in.A] = b2i(uint64(regs[in.B]) < uint64(regs[in.C]))
		case compile.OpLeU:
			regs[in.A] = b2i(uint64(regs[in.B]) <= uint64(regs[in.C]))
		case compile.OpNot:
			regs[in.A] = regs[in.B] ^ 1
		case compile.OpJmp:
			at = int(in.A)
			if in.T >= 0 {
				if in.Site >= 0 {
					if m.budget--; m.budget&m.sample == 0 {
						if st, site := m.lap(in, at, regs); st != reached {
							return st, site
						}
					}
				}
				m.took(in.T)
			}
		case compile.OpJt:
			if regs[in.B] != 0 {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpJf:
			if regs[in.B] == 0 {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpJeq:
			if regs[in.B] == regs[in.C] {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpJne:
			if regs[in.B] != regs[in.C] {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpJlt:
			if regs[in.B] < regs[in.C] {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpJle:
			if regs[in.B] <= regs[in.C] {
				at = int(in.A)
				m.took(in.T)
			}
		case compile.OpTable:
			k := regs[in.B]
			at = int(m.p.Jumps[in.T][k])
			m.took(in.C + int32(k))
		case compile.OpIndex:
			s := &m.p.Strides[in.T]
			i := regs[in.C]
			if uint64(i) >= uint64(s.Len) && !(sabotage.Is("eval/index") && i == s.Len &&
				s.Len > 1) {
				if s.Named {
					return m.fault(in, "the index is nil")
				}
				return m.fault(in, "index out of range [%d] with length %d", i, s.Len)
			}
			regs[in.A] = regs[in.B] + i*s.Stride
		case compile.OpOffset:
			regs[in.A] = regs[in.B] + int64(in.C)
		case compile.OpDeref:
			v := regs[in.B]
			if v == 0 {
				return m.fault(in, "nil pointer dereference")
			}
			regs[in.A] = v - 1
		case compile.OpRef:
			regs[in.A] = regs[in.B] + 1
		case compile.OpLoad:
			regs[in.A] = m.read(int(regs[in.B]))
		case compile.OpStore:
			l, v := int(regs[in.A]), regs[in.B]
			if in.D != 0 && m.track {
				m.update(l, m.sys.locs[l].load(m.words), v, &m.p.Types[in.T])
			}
			m.store(l, v)
		case compile.OpBump:
			l, d := int(regs[in.B]), regs[in.C]
			if in.D != 0 {
				d = -d
			}
			old := m.value(l)
			t := &m.p.Types[in.T]
			if v := old + d; v < t.Min || v > t.Max {
				m.read(l)
				return m.outOfRange(in, v)
			}
			m.bump(l, old, d, t.Min, t.Max)
		case compile.OpLoadLocal:
			f := tt.Fields[regs[in.B]]
			if m.scratch != nil && m.scratchOf == tt {
				regs[in.A] = fieldValue(m.scratch, f, 0)
			} else {
				regs[in.A] = fieldValue(m.words[w:], f, sh)
			}
		case compile.OpStoreLocal:
			f := tt.Fields[regs[in.A]]
			if m.scratch != nil && m.scratchOf == tt {
				mask := maskOf(int(f.Bits)) << f.Shift
				m.scratch[f.Word] = m.scratch[f.Word]&^mask | uint64(regs[in.B])<<f.Shift&mask
			} else {
				m.storeField(f, w, sh, regs[in.B])
			}
		case compile.OpCas:
			l := int(regs[in.B])
			m.syncs.indivisible = true
			if m.read(l) == regs[in.C] {
				m.write(l, regs[in.D])
				if sabotage.Is("access/cas") && m.track && m.acc[len(m.acc)-1].Loc == system.Loc(
					l) {
					m.acc[len(m.acc)-1].Write = false
				}
				regs[in.A] = 1
			} else {
				regs[in.A] = 0
			}
			if m.story.on {
				m.tellCas(l, regs[in.A] != 0)
			}
		case compile.OpLock:
			l := int(regs[in.B])
			if m.read(l) != 0 {
				m.waitsFor(l)
				return blocked, 0
			}
			m.write(l, int64(m.thread+1))
			m.syncs.add(system.Acquire, l)
			m.tell("lock ", l)
		case compile.OpUnlock:
			l := int(regs[in.B])
			switch owner := m.read(l); {
			case owner == 0:
				return m.fault(in, "unlock of %s, which is not locked", m.p.Locs[l].Name)
			case owner != int64(m.thread+1) && !sabotage.Is("sync/unlock"):
				return m.fault(in, "unlock of %s, which %s holds", m.p.Locs[l].Name,
					m.holder(int(owner-1)))
			}
			m.write(l, 0)
			m.syncs.add(system.Release, l)
			m.tell("unlock ", l)
		case compile.OpChanRef:
			regs[in.A] = int64(m.p.ChanAt[int(regs[in.B])] + 1)
		case compile.OpSelect:
			st, i := m.selectCase(in, regs)
			if st != reached {
				return st, i
			}
			regs[in.A] = int64(i)
		case compile.OpPoll:
			if st, site := m.poll(in, regs); st != reached {
				return st, site
			}
		case compile.OpClose, compile.OpChanLen, compile.OpChanCap, compile.OpChanFull:
			if st, site := m.chanOp(in, regs); st != reached {
				return st, site
			}
		case compile.OpChoose:
			lo, hi := regs[in.B], regs[in.C]
			if lo > hi {
				return m.fault(in, "choose(%d, %d): there is nothing to choose from", lo, hi)
			}
			if uint64(hi-lo) >= MaxChoice {
				return m.fault(in, "choose(%d, %d): more than %d values to choose from; choose a "+
					"smaller number and compute", lo, hi, MaxChoice)
			}
			d, ok := m.choose(uint64(hi-lo) + 1)
			if !ok {
				return m.fault(in, "too many alternatives in one transition")
			}
			regs[in.A] = lo + int64(d)
			switch {
			case !m.story.on:
			case in.D > 0: // a name
				t := m.p.Sets[in.D-1]
				m.chose(in, fmt.Sprintf("choose(%s) is %s", t.Name, t.Names[regs[in.A]]))
			default:
				m.chose(in, fmt.Sprintf("choose(%d, %d) is %d", lo, hi, regs[in.A]))
			}
		case compile.OpChoice:
			d, ok := m.choose(uint64(in.C))
			if !ok {
				return m.fault(in, "too many alternatives in one transition")
			}
			regs[in.A] = int64(d)
			if m.story.on {
				m.chose(in, m.p.Choices[in.T][d])
			}
		case compile.OpGo:
			if st, site := m.create(in, regs); st != reached {
				return st, site
			}
		case compile.OpPeek:
			regs[in.A] = m.peek(int(in.T))
		case compile.OpPeekAt:
			regs[in.A] = m.peekAt(int(in.T), regs[in.B])
		case compile.OpThreads:
			regs[in.A] = m.threadsOf(m.p.Threads[in.T])
		case compile.OpTimeout:
			m.asks, regs[in.A] = true, b2i(m.timeout)
		case compile.OpPrint:
			if m.story.on {
				m.print(in, regs)
			}
		case compile.OpBlock:
			return blocked, 0
		case compile.OpDrop:
			if sabotage.Is("eval/assume") {
				continue
			}
			return dropped, 0
		case compile.OpNote:
			m.story.witness = m.p.Notes[in.T].Witness
			in = &m.p.Code[at-1]
			goto again
		case compile.OpFail:
			if w := m.story.witness; w != nil && m.story.on {
				m.act("%s", w)
			}
			return m.fault(in, "")
		case compile.OpBound:
			return reached, int(in.A)
		case compile.OpEnter, compile.OpExit, compile.OpWait, compile.OpWake, compile.OpNotify,
			compile.OpUp, compile.OpDown,
			compile.OpWLock, compile.OpWUnlock, compile.OpRLock, compile.OpRUnlock,
			compile.OpGroupAdd, compile.OpGroupWait,
			compile.OpTryLock, compile.OpTryWLock, compile.OpTryRLock, compile.OpCondWait,
			compile.OpCondWoken, compile.OpSignal:
			if st, site := m.monitor(in, regs); st != reached {
				return st, site
			}
		}
	}
}

func b2i(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// truncate converts a value to a type as Go's conversions do.
func truncate(t *compile.IntType, v int64) int64 {
	up := uint(64-t.Bits) & 63
	if t.Signed {
		return v << up >> up
	}
	return int64(uint64(v) << up >> up)
}

func (m *Machine) outOfRange(in *compile.Instr, v int64) (status, int) {
	t := &m.p.Types[in.T]
	return m.fault(in, "%d is out of range of %s (%d..%d)", v, t.Name, t.Min, t.Max)
}

// arith computes an operation of any integer type. The problem is empty if the
// result is in the type.
func arith(op int32, t *compile.IntType, x, y int64) (v int64, problem string) {
	unsignedShift := op&compile.UnsignedShift != 0
	op &^= compile.UnsignedShift
	u64 := !t.Signed && t.Bits == 64
	wide := false // the result does not fit 64 bits
	switch op {
	case compile.ArithAdd:
		v = x + y
		if u64 {
			_, c := bits.Add64(uint64(x), uint64(y), 0)
			wide = c != 0
		} else {
			wide = (x^v)&(y^v) < 0
		}
	case compile.ArithSub:
		v = x - y
		if u64 {
			wide = uint64(x) < uint64(y)
		} else {
			wide = (x^y)&(x^v) < 0
		}
	case compile.ArithMul:
		v = x * y
		if u64 {
			hi, _ := bits.Mul64(uint64(x), uint64(y))
			wide = hi != 0
		} else {
			wide = x != 0 && (v/x != y || x == -1 && y == math.MinInt64)
		}
	case compile.ArithDiv, compile.ArithRem:
		if y == 0 {
			return 0, "division by zero"
		}
		switch {
		case u64 && op == compile.ArithDiv:
			v = int64(uint64(x) / uint64(y))
		case u64:
			v = int64(uint64(x) % uint64(y))
		case y == -1 && op == compile.ArithDiv:
			v = -x
			wide = x == math.MinInt64
		case y == -1:
			v = 0
		case op == compile.ArithDiv:
			v = x / y
		default:
			v = x % y
		}
	case compile.ArithAnd:
		v = x & y
	case compile.ArithOr:
		v = x | y
	case compile.ArithXor:
		v = x ^ y
	case compile.ArithAndNot:
		v = x &^ y
	case compile.ArithShl, compile.ArithShr:
		if y < 0 && !unsignedShift {
			return 0, "negative shift count"
		}
		n := uint64(y)
		if op == compile.ArithShr {
			switch {
			case t.Signed:
				v = x >> min(n, 63)
			case n < 64:
				v = int64(uint64(x) >> n)
			}
			break
		}
		switch {
		case x == 0:
		case n >= 64:
			wide = true
		case u64:
			v = int64(uint64(x) << n)
			wide = uint64(v)>>n != uint64(x)
		default:
			v = x << n
			wide = v>>n != x
		}
	}
	switch {
	case wide:
		return 0, "the result is out of range of " + t.Name
	case u64 || t.Bits == 64:
		return v, ""
	case v < t.Min || v > t.Max:
		return 0, rangeMessage(v, t)
	}
	return v, ""
}
