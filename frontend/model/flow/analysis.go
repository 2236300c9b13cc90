package flow

import (
	"math"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/testkit/sabotage"
)

// Analysis answers questions about one program. It is not safe for concurrent
// use.
type Analysis struct {
	*frame
	blank []value // an environment in which only the constants are known
	next  []value // scratch, as is env
	env   []value

	// sets says to keep sets of numbers. Then anything but a set is unknown (top): intervals
	// that grow step by step would separate environments that hardly differ.
	sets  bool
	quiet bool // timeout() is false
	// maxEnvs is how many environments at an address are kept apart.
	maxEnvs int

	// About the question being answered:
	at   []*leader // by address; kept from one question to the next, with its memory
	used []int     // the addresses of leaders with environments
	work []task
	kept int // the values of all environments
	most int // mostKept, but for tests
	// total has all operations. It is nil if they are kept by address: then ops has them, ways
	// where control can go, and points the points that it reaches.
	total  *Ops
	ops    []*Ops
	ways   *ways
	points []bool
}

// ways are where control can go from each address.
type ways struct {
	on, jumps []bool
	tables    map[[2]int]bool // the jumps of tables, from and to
}

// leader holds the environments at an address, as the values of the registers that are live
// there. As long as there are few, they are followed one by one.
type leader struct {
	envs   [][]value
	joined bool // there were too many: the first is their join
	forgot bool // there is too much of everything: the first is the one of which nothing is known
	queued bool // the first one is waiting to be followed
	visits int  // how often the join has grown
}

// mostKept bounds the values of all environments together, 200 MB of them. After that, nothing
// is known where control continues, so the answer is less exact and the analysis ends. A formula
// with quantifiers in quantifiers, each with calls of functions, is thousands of registers by
// thousands of jumps.
const mostKept = 1 << 23

// task is an environment to be followed from a leader.
type task struct{ at, env int }

// New prepares the analysis of a program for questions about local states.
func New(p *compile.Program) *Analysis { return newFrame(p).analysis() }

func (f *frame) analysis() *Analysis {
	a := &Analysis{frame: f, at: make([]*leader, len(f.p.Code)+1), maxEnvs: 1, most: mostKept,
		total: newOps(f.p), blank: slices.Clone(f.tops)}
	for i, v := range f.p.Consts {
		a.blank[i] = exactly(v)
	}
	return a
}

// separating makes a new analysis keep sets, many environments, and operations by address.
func (a *Analysis) separating() *Analysis {
	a.sets, a.maxEnvs = true, 64
	for i, v := range a.p.Consts {
		a.blank[i] = a.known(v)
	}
	n := len(a.p.Code)
	a.total, a.ops, a.points = nil, make([]*Ops, n), make([]bool, len(a.p.Points))
	a.ways = &ways{on: make([]bool, n), jumps: make([]bool, n), tables: map[[2]int]bool{}}
	return a
}

// clear forgets the last question about a local state.
func (a *Analysis) clear() {
	for _, at := range a.used {
		l := a.at[at]
		if l.forgot {
			l.envs = nil // not to be written to
		}
		l.envs, l.joined, l.forgot, l.queued, l.visits = l.envs[:0], false, false, false, 0
	}
	a.used = a.used[:0]
	a.total.clear()
}

// unknown returns an environment in which only the constants are known.
func (a *Analysis) unknown() []value { return slices.Clone(a.blank) }

// known returns the value that is one known number.
func (a *Analysis) known(v int64) value {
	if a.sets {
		return setOf([]int64{v})
	}
	return exactly(v)
}

// among returns an interval, as a set where sets are kept.
func (a *Analysis) among(lo, hi int64) value {
	v := between(lo, hi)
	if a.sets {
		return a.fit(v.list())
	}
	return v
}

// fit returns the part of a value that the analysis keeps.
func (a *Analysis) fit(v value) value {
	if a.sets && v.set == nil && !v.empty() {
		return top
	}
	return v
}

// patience is how often control reaches an address before bounds are widened.
const patience = 3

// enter lets control reach an address, where environments are kept from now on.
func (a *Analysis) enter(at int, env []value) {
	l := a.at[at]
	if l == nil {
		l = &leader{}
		a.at[at] = l
	}
	if len(l.envs) == 0 {
		a.used = append(a.used, at)
	}
	if a.kept > a.most {
		if !l.forgot {
			l.forgot, l.joined, l.queued = true, true, true
			l.envs = [][]value{a.tops[:len(a.live[at])]}
			a.work = append(a.work, task{at, 0})
		}
		return
	}
	live := a.live[at]
	if !l.joined && a.maxEnvs > 1 {
		for _, old := range l.envs {
			if covers(old, env, live) {
				return
			}
		}
	}
	if n := len(l.envs); n < a.maxEnvs && !l.joined {
		if n < cap(l.envs) {
			l.envs = l.envs[:n+1] // with an environment of an earlier question, or none
		} else {
			l.envs = append(l.envs, make([]value, 0, len(live)))
			a.kept += len(live)
		}
		l.envs[n] = l.envs[n][:0]
		for _, r := range live {
			l.envs[n] = append(l.envs[n], env[r])
		}
		l.queued = true
		a.work = append(a.work, task{at, len(l.envs) - 1})
		return
	}
	grown := !l.joined && a.merge(l)
	for i, r := range live {
		grown = a.extend(l, i, env[r]) || grown
	}
	if !grown {
		return
	}
	l.visits++
	if !l.queued {
		l.queued = true
		a.work = append(a.work, task{at, 0})
	}
}

// merge joins the environments at a leader, those that wait to be followed as well, and reports
// whether the first one, which remains, has grown.
func (a *Analysis) merge(l *leader) bool {
	l.joined = true
	grown := len(l.envs) > 1
	for _, old := range l.envs[1:] {
		for i := range old {
			l.envs[0][i] = a.fit(l.envs[0][i].join(old[i]))
		}
	}
	l.envs = l.envs[:1]
	l.queued = l.queued && !grown
	return grown
}

// extend joins a value with the i-th one of the first environment, and reports whether that has
// grown.
func (a *Analysis) extend(l *leader, i int, v value) bool {
	old := l.envs[0][i]
	if old.set == nil && old.lo <= v.lo && v.hi <= old.hi {
		return false
	}
	j := old.join(v)
	if j.same(old) {
		return false
	}
	if l.visits > patience && j.set == nil {
		j = a.widen(old, j)
	}
	l.envs[0][i] = a.fit(j)
	return true
}

// covers reports whether all values of b, of the live registers, are among those of a.
func covers(a, b []value, live []int32) bool {
	for i, r := range live {
		if !a[i].covers(b[r]) {
			return false
		}
	}
	return true
}

// widen moves bounds that grow to the next constant of the program.
func (a *Analysis) widen(old, now value) value {
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

// point lets control reach a point. Only the registers of variables that are alive there matter;
// others start as zero where they are loaded.
func (a *Analysis) point(pt int, env []value) {
	if a.points != nil {
		a.points[pt] = true
	}
	q := &a.p.Points[pt]
	if q.Ended {
		return
	}
	a.next = append(a.next[:0], a.blank...)
	for _, v := range q.Alive() {
		if v.N == 0 {
			a.next[v.Reg] = env[v.Reg]
		}
	}
	for i := range q.Loads {
		if q.Loads[i].Zero {
			a.next[q.Loads[i].Reg] = a.known(0)
		}
	}
	a.enter(q.Entry, a.next)
}

// create lets control reach the beginning of a thread that is created.
func (a *Analysis) create(g *compile.GoSite, env []value) {
	child := append(a.next[:0], a.blank...)
	k := 0
	for _, v := range g.Thread.Params {
		if v.N == 0 {
			child[v.Reg] = env[g.Args[k]]
			k++
			continue
		}
		k += v.N
	}
	for i := range g.Thread.Start.Loads {
		child[g.Thread.Start.Loads[i].Reg] = a.known(0)
	}
	a.next = child
	a.enter(g.Thread.Entry, child)
}

// run follows control until nothing new is found.
func (a *Analysis) run() {
	for len(a.work) > 0 {
		t := a.work[len(a.work)-1]
		a.work = a.work[:len(a.work)-1]
		l := a.at[t.at]
		if t.env >= len(l.envs) {
			continue // it was joined with the first one
		}
		if t.env == 0 {
			l.queued = false
		}
		a.env = a.spread(t.at, l.envs[t.env], a.env)
		a.block(t.at, a.env)
	}
}

// spread makes an environment, in dst, of the values of the registers that are live at an address.
func (a *Analysis) spread(at int, values, dst []value) []value {
	dst = append(dst[:0], a.blank...)
	for i, r := range a.live[at] {
		dst[r] = values[i]
	}
	return dst
}

// block executes the instructions from a leader up to the next ones.
func (a *Analysis) block(at int, env []value) {
	for {
		in := &a.p.Code[at]
		a.record(at, in, env)
		switch in.Op.Effect().Flow {
		case compile.EndFlow:
			if in.Op == compile.OpBound && in.A >= 0 {
				a.point(int(in.A), env)
			}
			return
		case compile.JumpFlow:
			a.jump(at, int(in.A), env)
			return
		case compile.TableFlow:
			to := a.p.Jumps[in.T]
			i := env[in.B].meet(between(0, int64(len(to)-1)))
			for k := i.lo; k <= i.hi; k++ {
				if i.has(k) {
					a.jump(at, int(to[k]), env)
				}
			}
			return
		case compile.BranchFlow:
			if !a.branch(at, in, env) {
				return
			}
		default:
			if !a.step(in, env) {
				return
			}
		}
		if a.ways != nil {
			a.ways.on[at] = true
		}
		at++
		if a.leader[at] {
			a.enter(at, env)
			return
		}
	}
}

func (a *Analysis) jump(at, to int, env []value) {
	switch {
	case a.ways == nil:
	case a.p.Code[at].Op == compile.OpTable:
		a.ways.tables[[2]int{at, to}] = true
	default:
		a.ways.jumps[at] = true
	}
	a.enter(to, env)
}

// branch interprets a conditional jump, and what it implies on both sides. It returns false if
// control always jumps, and otherwise leaves in env what is known then.
func (a *Analysis) branch(at int, in *compile.Instr, env []value) bool {
	x := env[in.B]
	var y value
	var yes, no func(x, y value) (value, value)
	switch in.Op {
	case compile.OpJt:
		y, yes, no = a.known(0), unequal, equal
	case compile.OpJf:
		y, yes, no = a.known(0), equal, unequal
	case compile.OpJeq:
		y, yes, no = env[in.C], equal, unequal
	case compile.OpJne:
		y, yes, no = env[in.C], unequal, equal
	case compile.OpJlt:
		y, yes, no = env[in.C], less, notLess
	case compile.OpJle:
		y, yes, no = env[in.C], func(x, y value) (value, value) { return swap(notLess(y, x)) },
			func(x, y value) (value, value) { return swap(less(y, x)) }
	default: // a comparison that this package does not know may have either outcome
		a.jump(at, int(in.A), env)
		return true
	}
	two := in.Op != compile.OpJt && in.Op != compile.OpJf
	set := func(u, v value) {
		// The registers of constants stay as they are.
		if int(in.B) >= len(a.p.Consts) {
			env[in.B] = u
		}
		if two && int(in.C) >= len(a.p.Consts) {
			env[in.C] = v
		}
	}
	narrow := func(rel func(x, y value) (value, value)) bool {
		u, v := rel(x, y)
		if u.empty() || v.empty() {
			return false
		}
		set(a.fit(u), a.fit(v))
		return true
	}
	if narrow(yes) {
		a.jump(at, int(in.A), env)
	}
	set(x, y)
	return narrow(no)
}

func swap(x, y value) (value, value) { return y, x }

// equal, unequal, less and notLess restrict two values to those with a relation: x == y, x != y,
// x < y, x >= y.
func equal(x, y value) (value, value) {
	v := x.meet(y)
	return v, v
}

func unequal(x, y value) (value, value) {
	u, v := x, y
	if y.single() {
		u = x.without(y.lo)
	}
	if x.single() {
		v = y.without(x.lo)
	}
	return u, v
}

func less(x, y value) (value, value) {
	if y.hi == math.MinInt64 || x.lo == math.MaxInt64 {
		return nobody, nobody
	}
	return x.atMost(y.hi - 1), y.atLeast(x.lo + 1)
}

func notLess(x, y value) (value, value) { return x.atLeast(y.lo), y.atMost(x.hi) }

// step computes the registers after an instruction without jumps. It returns false if no
// execution continues after it.
func (a *Analysis) step(in *compile.Instr, env []value) bool {
	p := a.p
	inType := func(v int64) (int64, bool) {
		t := &p.Types[in.T]
		return v, v >= t.Min && v <= t.Max
	}
	inRange := func(v value) value {
		t := &p.Types[in.T]
		return v.meet(between(t.Min, t.Max))
	}
	cmp := func(f func(x, y int64) bool) value {
		return each(env[in.B], env[in.C], func(x, y int64) (int64, bool) {
			if f(x, y) {
				return 1, true
			}
			return 0, true
		}, func() value { return a.among(0, 1) })
	}
	var v value
	switch in.Op {
	case compile.OpMov:
		v = env[in.B]
	case compile.OpAdd:
		x, y := env[in.B], env[in.C]
		v = each(x, y, func(x, y int64) (int64, bool) { return inType(x + y) }, func() value {
			return inRange(x.plus(y))
		})
	case compile.OpSub:
		x, y := env[in.B], env[in.C]
		v = each(x, y, func(x, y int64) (int64, bool) { return inType(x - y) }, func() value {
			return inRange(x.minus(y))
		})
	case compile.OpMul:
		x, y := env[in.B], env[in.C]
		v = each(x, y, func(x, y int64) (int64, bool) { return inType(x * y) }, func() value {
			return inRange(x.times(y))
		})
	case compile.OpArith:
		v = a.arith(in, env[in.B], env[in.C])
	case compile.OpNeg:
		v = exactly(0).minus(env[in.B]).meet(a.typeRange(in.T))
	case compile.OpCom:
		v = a.typeRange(in.T)
	case compile.OpConv:
		v = env[in.B]
		if t := a.typeRange(in.T); !t.covers(v) {
			v = t // something is cut off
		}
	case compile.OpEq:
		v = cmp(func(x, y int64) bool { return x == y })
	case compile.OpNe:
		v = cmp(func(x, y int64) bool { return x != y })
	case compile.OpLt:
		v = cmp(func(x, y int64) bool { return x < y })
	case compile.OpLe:
		v = cmp(func(x, y int64) bool { return x <= y })
	case compile.OpLtU:
		v = cmp(func(x, y int64) bool { return uint64(x) < uint64(y) })
	case compile.OpLeU:
		v = cmp(func(x, y int64) bool { return uint64(x) <= uint64(y) })
	case compile.OpNot:
		x := env[in.B]
		v = each(x, exactly(1), func(x, y int64) (int64, bool) { return x ^ y, true },
			func() value { return exactly(1).minus(x.meet(truth)) })
	case compile.OpIndex:
		s := &p.Strides[in.T]
		i := env[in.C]
		if i.set != nil || !a.sets {
			i = i.meet(between(0, s.Len-1))
			if i.empty() {
				return false
			}
			if int(in.C) >= len(p.Consts) {
				env[in.C] = i
			}
		} else {
			i = a.among(0, s.Len-1)
		}
		b := env[in.B]
		v = each(b, i, func(b, k int64) (int64, bool) { return b + k*s.Stride, true },
			func() value { return b.plus(i.times(exactly(s.Stride))) })
	case compile.OpOffset:
		v = moved(env[in.B], int64(in.C))
	case compile.OpDeref:
		v = moved(env[in.B].meet(between(1, int64(len(p.Locs)))), -1)
	case compile.OpRef:
		v = moved(env[in.B], 1)
	case compile.OpLoad:
		v = a.content(env[in.B])
	case compile.OpTimeout:
		v = a.among(0, 1)
		switch {
		case a.quiet && sabotage.Is("asking/bounds"):
			v = a.known(1)
		case a.quiet:
			v = a.known(0)
		}
	case compile.OpPoll, compile.OpCas, compile.OpTryLock, compile.OpTryWLock,
		compile.OpTryRLock:
		v = a.among(0, 1)
	case compile.OpChanRef:
		v = a.chanRefs(env[in.B])
	case compile.OpSelect:
		cases := p.Selects[in.T]
		for i := range cases {
			if c := &cases[i]; c.Kind == compile.SelRecv {
				for _, r := range c.Vals {
					env[r] = top
				}
				if c.OK >= 0 {
					env[c.OK] = a.fit(truth)
				}
			}
		}
		v = a.among(0, int64(len(cases)-1))
	case compile.OpChanLen, compile.OpChanCap:
		v = between(0, math.MaxInt64)
	case compile.OpChanFull:
		v = a.among(0, 1)
	case compile.OpChoose:
		v = a.among(env[in.B].lo, env[in.C].hi)
	case compile.OpChoice:
		v = a.among(0, int64(in.C)-1)
	default:
		if in.Op == compile.OpGo && a.total != nil {
			a.create(&p.Gos[in.T], env)
		}
		if !in.Op.Effect().WritesA() {
			return true
		}
		v = top // a value that this package does not compute
	}
	env[in.A] = a.fit(v)
	return !v.empty()
}

// moved adds a number to addresses.
func moved(x value, by int64) value {
	return each(x, exactly(by), func(x, y int64) (int64, bool) { return x + y, true },
		func() value { return x.plus(exactly(by)) })
}

// arith bounds the result of an operation of any integer type.
func (a *Analysis) arith(in *compile.Instr, x, y value) value {
	t := a.typeRange(in.T)
	it := &a.p.Types[in.T]
	if it.Bits == 64 && !it.Signed && (x.lo < 0 || y.lo < 0) && in.D != compile.ArithAnd {
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
		quotients := func() value {
			if y.lo > 0 {
				return between(min(x.lo/y.lo, x.lo/y.hi), max(x.hi/y.lo, x.hi/y.hi))
			}
			return t
		}
		if it.Bits == 64 {
			v = quotients()
			break
		}
		v = each(x, y, func(x, y int64) (int64, bool) {
			if y == 0 {
				return 0, false
			}
			return x / y, t.has(x / y)
		}, quotients)
	case compile.ArithRem:
		remainders := func() value {
			if y.lo <= 0 {
				return t
			}
			v := between(max(x.lo, -(y.hi-1)), min(max(x.hi, 0), y.hi-1))
			if x.lo >= 0 {
				v.lo = 0
			} else {
				v.lo = min(v.lo, 0)
			}
			return v
		}
		if it.Bits == 64 {
			v = remainders()
			break
		}
		v = each(x, y, func(x, y int64) (int64, bool) {
			if y == 0 {
				return 0, false
			}
			return x % y, t.has(x % y)
		}, remainders)
	case compile.ArithAnd:
		v = each(x, y, func(x, y int64) (int64, bool) { return x & y, true }, func() value {
			switch {
			case x.lo >= 0 && y.lo >= 0:
				return between(0, min(x.hi, y.hi))
			case y.lo >= 0:
				return between(0, y.hi)
			case x.lo >= 0:
				return between(0, x.hi)
			}
			return t
		})
	}
	return v.meet(t)
}

// manyLocs is how many locations are examined one by one for their type.
const manyLocs = 256

// locs returns the locations among addresses.
func (a *Analysis) locs(v value) value { return v.meet(between(0, int64(len(a.p.Locs)-1))) }

// content returns what locations can hold.
func (a *Analysis) content(locs value) value {
	locs = a.locs(locs)
	if a.sets || locs.hi-locs.lo >= manyLocs {
		return top
	}
	v := nobody
	for l := locs.lo; l <= locs.hi; l++ {
		if w := width(a.p.Locs[l].Bits, a.p.Locs[l].Signed); !v.covers(w) {
			v = v.join(w)
		}
	}
	return v
}

func (a *Analysis) typeRange(t int32) value {
	it := &a.p.Types[t]
	return width(it.Bits, it.Signed)
}

// chanRefs returns the references to the channels at locations.
func (a *Analysis) chanRefs(locs value) value {
	var refs []int64
	v := nobody
	for i := range a.p.Chans {
		if locs.has(int64(a.p.Chans[i].First)) {
			refs = append(refs, int64(i+1))
			v = v.join(exactly(int64(i + 1)))
		}
	}
	if a.sets {
		return setOf(refs)
	}
	return v
}

// feasible reports whether control may go from one address to the next.
func (a *Analysis) feasible(from, to int) bool {
	in := &a.p.Code[from]
	if in.Op == compile.OpTable {
		return a.ways.tables[[2]int{from, to}]
	}
	return a.ways.on[from] && to == from+1 || a.ways.jumps[from] && to == int(in.A)
}
