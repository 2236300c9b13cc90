// Package future bounds what a thread of a compiled model may access from a
// local state on, in all its further transitions, whatever the other threads
// do: the bound that persistent sets need (Stoller 2002, section 6).
//
// It is an abstract interpretation of the program's code with intervals
// (Cousot and Cousot 1977). It begins with the values that the thread's local
// variables really have, so that a philosopher's future is its own two forks;
// what is read from shared memory can be anything that fits its type. Addresses
// are numbers like others, so an index or a pointer that is not known is a
// range of locations. Threads that the thread may create belong to its future.
//
// The library golang.org/x/tools has such analyses for Go's own code only.
package future

import (
	"math"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/sabotage"
	"cpor/system"
)

// Bounds is what a thread may do from a local state on.
type Bounds struct {
	// Reads and Writes bound the accesses of locations that are not a
	// thread's own.
	Reads, Writes []system.LocRange
	// Creates: it may create threads.
	Creates bool
	// Waits: it may use a channel without a buffer, and so read and write
	// the wait field of itself and of others.
	Waits bool
	// Peeks: it may read what properties watch of threads.
	Peeks bool
}

// interval is a set of numbers; it is empty if hi < lo.
type interval struct{ lo, hi int64 }

var (
	top    = interval{math.MinInt64, math.MaxInt64}
	truth  = interval{0, 1}
	nobody = interval{1, 0}
)

func exactly(v int64) interval { return interval{v, v} }

func (x interval) empty() bool { return x.hi < x.lo }

func (x interval) meet(y interval) interval { return interval{max(x.lo, y.lo), min(x.hi, y.hi)} }

func (x interval) join(y interval) interval {
	switch {
	case x.empty():
		return y
	case y.empty():
		return x
	}
	return interval{min(x.lo, y.lo), max(x.hi, y.hi)}
}

// plus and times return top where the result can leave 64 bits.
func (x interval) plus(y interval) interval {
	lo, ok1 := addTo(x.lo, y.lo)
	hi, ok2 := addTo(x.hi, y.hi)
	if !ok1 || !ok2 {
		return top
	}
	return interval{lo, hi}
}

func addTo(a, b int64) (int64, bool) {
	s := a + b
	return s, (s > a) == (b > 0)
}

func (x interval) minus(y interval) interval {
	if y.lo == math.MinInt64 {
		return top
	}
	return x.plus(interval{-y.hi, -y.lo})
}

// small is a bound below which products of two numbers fit 64 bits.
const small = 1 << 31

func (x interval) times(y interval) interval {
	for _, v := range []int64{x.lo, x.hi, y.lo, y.hi} {
		if v < -small || v > small {
			return top
		}
	}
	p := []int64{x.lo * y.lo, x.lo * y.hi, x.hi * y.lo, x.hi * y.hi}
	return interval{slices.Min(p), slices.Max(p)}
}

// Analysis answers questions about one program. It is not safe for concurrent
// use.
type Analysis struct {
	p      *compile.Program
	leader []bool  // by address: control can come from more than one place
	marks  []int64 // where widening stops
	// Of the question that is being answered:
	at     map[int]*state
	work   []int
	reads  []system.LocRange
	writes []system.LocRange
	bounds Bounds
	cur    []interval
}

// state is what is known when control reaches an address.
type state struct {
	regs   []interval
	visits int
	queued bool
}

// New prepares the analysis of a program.
func New(p *compile.Program) *Analysis {
	a := &Analysis{p: p, leader: make([]bool, len(p.Code)+1), cur: make([]interval, p.NumReg)}
	for i := range p.Code {
		in := &p.Code[i]
		if f := in.Op.Effect().Flow; f == compile.JumpFlow || f == compile.BranchFlow {
			a.leader[in.A] = true
		}
	}
	for _, t := range p.Jumps {
		for _, to := range t {
			a.leader[to] = true
		}
	}
	for i := range p.Points {
		a.leader[p.Points[i].Entry] = true
	}
	for _, tt := range p.Threads {
		a.leader[tt.Entry] = true
	}
	for _, v := range p.Consts {
		a.marks = append(a.marks, v-1, v, v+1)
	}
	slices.Sort(a.marks)
	a.marks = slices.Compact(a.marks)
	return a
}

// From returns the bounds of a thread that is at a point; value tells the
// value of a variable that is alive there.
func (a *Analysis) From(point int, value func(v *compile.Var) int64) Bounds {
	a.at = map[int]*state{}
	a.work = a.work[:0]
	a.reads, a.writes, a.bounds = nil, nil, Bounds{}
	regs := a.fresh()
	pt := &a.p.Points[point]
	for _, v := range pt.Alive() {
		if v.N == 0 {
			regs[v.Reg] = exactly(value(v))
		}
	}
	a.enter(point, regs)
	for len(a.work) > 0 {
		at := a.work[len(a.work)-1]
		a.work = a.work[:len(a.work)-1]
		s := a.at[at]
		s.queued = false
		copy(a.cur, s.regs)
		a.run(at)
	}
	b := a.bounds
	b.Reads, b.Writes = system.JoinRanges(a.reads), system.JoinRanges(a.writes)
	return b
}

// fresh returns registers of which only the constants are known.
func (a *Analysis) fresh() []interval {
	regs := make([]interval, a.p.NumReg)
	for i := range regs {
		regs[i] = top
	}
	for i, v := range a.p.Consts {
		regs[i] = exactly(v)
	}
	return regs
}

// enter lets control reach a point.
func (a *Analysis) enter(point int, regs []interval) {
	pt := &a.p.Points[point]
	if pt.Ended {
		return
	}
	for i := range pt.Loads {
		if pt.Loads[i].Zero {
			regs[pt.Loads[i].Reg] = exactly(0)
		}
	}
	a.flow(pt.Entry, regs)
}

// patience is how often control reaches an address before bounds are widened.
const patience = 3

// flow lets control reach an address.
func (a *Analysis) flow(at int, regs []interval) {
	s := a.at[at]
	if s == nil {
		s = &state{regs: slices.Clone(regs)}
		a.at[at] = s
	} else {
		changed := false
		for i := range regs {
			j := s.regs[i].join(regs[i])
			if j == s.regs[i] {
				continue
			}
			if s.visits > patience {
				j = a.widen(s.regs[i], j)
			}
			s.regs[i], changed = j, true
		}
		if !changed {
			return
		}
		s.visits++
	}
	if !s.queued {
		s.queued = true
		a.work = append(a.work, at)
	}
}

// widen moves bounds that grow to the next constant of the program.
func (a *Analysis) widen(old, now interval) interval {
	if now.lo < old.lo {
		i, found := slices.BinarySearch(a.marks, now.lo)
		switch {
		case found:
		case i == 0:
			now.lo = math.MinInt64
		default:
			now.lo = a.marks[i-1]
		}
	}
	if now.hi > old.hi {
		i, _ := slices.BinarySearch(a.marks, now.hi)
		if i == len(a.marks) {
			now.hi = math.MaxInt64
		} else {
			now.hi = a.marks[i]
		}
	}
	return now
}

// touch records accesses.
func (a *Analysis) touch(locs interval, write bool) {
	locs = locs.meet(interval{0, int64(len(a.p.Locs) - 1)})
	if locs.empty() {
		return
	}
	r := system.LocRange{First: system.Loc(locs.lo), Last: system.Loc(locs.hi)}
	if write {
		a.writes = append(a.writes, r)
	} else {
		a.reads = append(a.reads, r)
	}
}

// update records that locations are read and written.
func (a *Analysis) update(locs interval) {
	a.touch(locs, false)
	a.touch(locs, true)
}

// manyLocs is how many locations are looked at one by one for their type.
const manyLocs = 256

// content returns what locations can hold.
func (a *Analysis) content(locs interval) interval {
	locs = locs.meet(interval{0, int64(len(a.p.Locs) - 1)})
	if locs.hi-locs.lo >= manyLocs {
		return top
	}
	v := nobody
	for l := locs.lo; l <= locs.hi; l++ {
		v = v.join(width(a.p.Locs[l].Bits, a.p.Locs[l].Signed))
	}
	return v
}

// width returns the numbers of so many bits; 0 bits stand for an unknown width.
func width(bits int, signed bool) interval {
	switch {
	case bits == 0 || bits >= 64:
		return top
	case signed:
		return interval{-1 << (bits - 1), 1<<(bits-1) - 1}
	case bits == 63:
		return interval{0, math.MaxInt64}
	}
	return interval{0, 1<<bits - 1}
}

func (a *Analysis) typeRange(t int32) interval {
	it := &a.p.Types[t]
	return width(it.Bits, it.Signed)
}

// channels calls f for every channel that a reference may name.
func (a *Analysis) channels(ref interval, f func(c *compile.Chan)) {
	ref = ref.meet(interval{1, int64(len(a.p.Chans))})
	for i := ref.lo; i <= ref.hi; i++ {
		f(&a.p.Chans[i-1])
	}
}

// slotsOf returns the locations of a channel's values and their marks.
func slotsOf(c *compile.Chan) interval {
	if c.Cap == 0 {
		return interval{int64(c.Values), int64(c.Values + c.Leaves - 1)}
	}
	return interval{int64(c.Slots), int64(c.Slots + c.Cap*(1+c.Leaves) - 1)}
}

// run interprets code from an address on, in a.cur, until control leaves it.
func (a *Analysis) run(at int) {
	r := a.cur
	for first := true; ; first = false {
		if !first && a.leader[at] {
			a.flow(at, r)
			return
		}
		in := &a.p.Code[at]
		at++
		a.effects(in)
		switch in.Op {
		case compile.OpMov:
			r[in.A] = r[in.B]
		case compile.OpAdd, compile.OpSub, compile.OpMul:
			var v interval
			switch in.Op {
			case compile.OpAdd:
				v = r[in.B].plus(r[in.C])
			case compile.OpSub:
				v = r[in.B].minus(r[in.C])
			default:
				v = r[in.B].times(r[in.C])
			}
			t := &a.p.Types[in.T]
			if r[in.A] = v.meet(interval{t.Min, t.Max}); r[in.A].empty() {
				return // always a violation
			}
		case compile.OpArith:
			if r[in.A] = a.arith(in, r[in.B], r[in.C]); r[in.A].empty() {
				return
			}
		case compile.OpNeg:
			r[in.A] = exactly(0).minus(r[in.B]).meet(a.typeRange(in.T))
			if r[in.A].empty() {
				return
			}
		case compile.OpCom:
			r[in.A] = a.typeRange(in.T)
		case compile.OpConv:
			if t := a.typeRange(in.T); r[in.B].meet(t) != r[in.B] {
				r[in.A] = t
			} else {
				r[in.A] = r[in.B]
			}
		case compile.OpEq, compile.OpNe, compile.OpLt, compile.OpLe, compile.OpLtU, compile.OpLeU:
			r[in.A] = truth
		case compile.OpNot:
			r[in.A] = exactly(1).minus(r[in.B].meet(truth))
		case compile.OpJmp:
			a.flow(int(in.A), r)
			return
		case compile.OpJt, compile.OpJf:
			stay := r[in.B].lo <= 0 && r[in.B].hi >= 0 // it may be zero
			jump := r[in.B] != exactly(0)
			if in.Op == compile.OpJf {
				stay, jump = jump, stay
			}
			if jump {
				a.flow(int(in.A), r)
			}
			if !stay {
				return
			}
		case compile.OpJeq, compile.OpJne, compile.OpJlt, compile.OpJle:
			if !a.branch(in) {
				return
			}
		case compile.OpTable:
			jumps := a.p.Jumps[in.T]
			i := r[in.B].meet(interval{0, int64(len(jumps) - 1)})
			for k := i.lo; k <= i.hi; k++ {
				a.flow(int(jumps[k]), r)
			}
			return
		case compile.OpIndex:
			s := &a.p.Strides[in.T]
			i := r[in.C].meet(interval{0, s.Len - 1})
			if i.empty() {
				return
			}
			if int(in.C) >= len(a.p.Consts) {
				r[in.C] = i
			}
			r[in.A] = r[in.B].plus(i.times(exactly(s.Stride)))
		case compile.OpOffset:
			r[in.A] = r[in.B].plus(exactly(int64(in.C)))
		case compile.OpDeref:
			v := r[in.B].meet(interval{1, int64(len(a.p.Locs))})
			if v.empty() {
				return
			}
			r[in.A] = v.minus(exactly(1))
		case compile.OpRef:
			r[in.A] = r[in.B].plus(exactly(1))
		case compile.OpLoad:
			r[in.A] = a.content(r[in.B])
		case compile.OpCas:
			r[in.A] = truth
		case compile.OpChanRef:
			v := nobody
			locs := r[in.B]
			for i := range a.p.Chans {
				if f := int64(a.p.Chans[i].First); locs.lo <= f && f <= locs.hi {
					v = v.join(exactly(int64(i + 1)))
				}
			}
			r[in.A] = v
		case compile.OpSelect:
			a.selects(in)
		case compile.OpChanLen, compile.OpChanCap, compile.OpChanFull:
			r[in.A] = interval{0, math.MaxInt64}
		case compile.OpChoose:
			r[in.A] = interval{r[in.B].lo, r[in.C].hi}
			if r[in.A].empty() {
				return
			}
		case compile.OpChoice:
			r[in.A] = interval{0, int64(in.C) - 1}
		case compile.OpGo:
			a.create(&a.p.Gos[in.T])
		case compile.OpBlock, compile.OpFail:
			return
		case compile.OpBound:
			if in.A >= 0 {
				a.enter(int(in.A), r)
			}
			return
		default:
			if in.Op.Effect().WritesA() {
				r[in.A] = top // a value that this package does not compute
			}
		}
	}
}

// effects takes the effects of an instruction into account but for those of a
// Select and a Go, which are with the values that they give.
func (a *Analysis) effects(in *compile.Instr) {
	e := in.Op.Effect()
	if sabotage.Is("persistent/locks") && (in.Op == compile.OpLock || in.Op == compile.OpUnlock) {
		return
	}
	if reg, ok := in.LocOperand(); ok {
		locs := a.cur[reg].plus(interval{0, int64(e.Locs - 1)})
		if e.Read {
			a.touch(locs, false)
		}
		if e.Write {
			a.touch(locs, true)
		}
	}
	a.bounds.Peeks = a.bounds.Peeks || e.Peeks
	a.bounds.Creates = a.bounds.Creates || e.Creates
	switch e.Chan {
	case compile.CloseChan:
		a.channels(a.cur[in.B], func(c *compile.Chan) {
			if c.Closed >= 0 {
				a.update(exactly(int64(c.Closed)))
			}
		})
	case compile.LookChan:
		a.channels(a.cur[in.B], func(c *compile.Chan) {
			if c.Cap > 0 {
				a.touch(interval{int64(c.First), int64(c.First + 1)}, false)
				a.touch(slotsOf(c), false)
			}
		})
	}
}

// arith bounds the result of an operation of any integer type.
func (a *Analysis) arith(in *compile.Instr, x, y interval) interval {
	t := a.typeRange(in.T)
	if a.p.Types[in.T].Bits == 64 && !a.p.Types[in.T].Signed && (x.lo < 0 || y.lo < 0) {
		return top // large unsigned numbers
	}
	v := t
	switch in.D &^ compile.UnsignedShift {
	case compile.ArithAdd:
		v = x.plus(y)
	case compile.ArithSub:
		v = x.minus(y)
	case compile.ArithMul:
		v = x.times(y)
	case compile.ArithDiv:
		if y.lo > 0 {
			v = interval{min(x.lo/y.lo, x.lo/y.hi), max(x.hi/y.lo, x.hi/y.hi)}
		}
	case compile.ArithRem:
		if y.lo > 0 {
			v = interval{max(x.lo, -(y.hi - 1)), min(max(x.hi, 0), y.hi-1)}
			if x.lo >= 0 {
				v.lo = 0
			} else {
				v.lo = min(v.lo, 0)
			}
		}
	case compile.ArithAnd:
		if x.lo >= 0 && y.lo >= 0 {
			v = interval{0, min(x.hi, y.hi)}
		} else if y.lo >= 0 {
			v = interval{0, y.hi}
		} else if x.lo >= 0 {
			v = interval{0, x.hi}
		}
	}
	return v.meet(t)
}

// branch interprets a conditional jump on a comparison, with what it tells of
// the two sides. It returns false if control always jumps.
func (a *Analysis) branch(in *compile.Instr) bool {
	r := a.cur
	x, y := r[in.B], r[in.C]
	set := func(x, y interval) bool {
		if x.empty() || y.empty() {
			return false
		}
		// The registers of constants stay as they are.
		if int(in.B) >= len(a.p.Consts) {
			r[in.B] = x
		}
		if int(in.C) >= len(a.p.Consts) {
			r[in.C] = y
		}
		return true
	}
	equal := func() bool { return set(x.meet(y), x.meet(y)) }
	unequal := func() bool {
		u, v := x, y
		if y.lo == y.hi {
			u = without(x, y.lo)
		}
		if x.lo == x.hi {
			v = without(y, x.lo)
		}
		return set(u, v)
	}
	// less: x < y + d.
	less := func(d int64) bool {
		u, v := x, y
		if h, ok := addTo(y.hi, d-1); ok {
			u.hi = min(u.hi, h)
		}
		if l, ok := addTo(x.lo, 1-d); ok {
			v.lo = max(v.lo, l)
		}
		return set(u, v)
	}
	// notLess: y + d <= x.
	notLess := func(d int64) bool {
		u, v := x, y
		if l, ok := addTo(y.lo, d); ok {
			u.lo = max(u.lo, l)
		}
		if h, ok := addTo(x.hi, -d); ok {
			v.hi = min(v.hi, h)
		}
		return set(u, v)
	}
	var yes, no func() bool
	switch in.Op {
	case compile.OpJeq:
		yes, no = equal, unequal
	case compile.OpJne:
		yes, no = unequal, equal
	case compile.OpJlt:
		yes, no = func() bool { return less(0) }, func() bool { return notLess(0) }
	default:
		yes, no = func() bool { return less(1) }, func() bool { return notLess(1) }
	}
	if yes() {
		a.flow(int(in.A), r)
	}
	set(x, y)
	return no()
}

// without removes a number at one of the ends.
func without(x interval, v int64) interval {
	switch {
	case x.lo == v && x.hi == v:
		return nobody
	case x.lo == v:
		x.lo++
	case x.hi == v:
		x.hi--
	}
	return x
}

// selects interprets a select, a send or a receive.
func (a *Analysis) selects(in *compile.Instr) {
	r := a.cur
	cases := a.p.Selects[in.T]
	for i := range cases {
		c := &cases[i]
		if c.Kind != compile.SelRecv && c.Kind != compile.SelSend {
			continue
		}
		a.channels(r[c.Chan], func(ch *compile.Chan) {
			if ch.Closed >= 0 {
				a.touch(exactly(int64(ch.Closed)), false)
			}
			a.update(slotsOf(ch))
			switch {
			case ch.Cap == 0:
				a.bounds.Waits = true
				a.update(exactly(int64(ch.Slots)))
			case c.Kind == compile.SelRecv:
				a.update(exactly(int64(ch.First)))
			default:
				a.update(exactly(int64(ch.First + 1)))
			}
		})
	}
	for i := range cases {
		if c := &cases[i]; c.Kind == compile.SelRecv {
			for _, v := range c.Vals {
				r[v] = top
			}
			if c.OK >= 0 {
				r[c.OK] = truth
			}
		}
	}
	r[in.A] = interval{0, int64(len(cases) - 1)}
}

// create adds the future of a thread that is created.
func (a *Analysis) create(g *compile.GoSite) {
	a.bounds.Creates = true
	regs := a.fresh()
	k := 0
	for _, v := range g.Thread.Params {
		if v.N == 0 {
			regs[v.Reg] = a.cur[g.Args[k]]
			k++
			continue
		}
		k += v.N
	}
	for i := range g.Thread.Start.Loads {
		regs[g.Thread.Start.Loads[i].Reg] = exactly(0)
	}
	a.flow(g.Thread.Entry, regs)
}
