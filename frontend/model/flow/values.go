package flow

import (
	"math"
	"slices"

	"cpor/frontend/model/compile"
)

// maxSet is the largest set of values; larger ones are unknown. It is above the
// number of elements of the arrays that models index by loops.
const maxSet = 128

// val is what is known of a register: one of the values in set, in order, or
// anything (top).
type val struct {
	top bool
	set []int64
}

var top = val{top: true}

func single(v int64) val { return val{set: []int64{v}} }

func setOf(vs []int64) val {
	slices.Sort(vs)
	vs = slices.Compact(vs)
	if len(vs) > maxSet {
		return top
	}
	return val{set: vs}
}

func (a val) join(b val) val {
	switch {
	case a.top || b.top:
		return top
	case subset(b.set, a.set):
		return a
	}
	return setOf(append(slices.Clone(a.set), b.set...))
}

func subset(a, b []int64) bool {
	i := 0
	for _, v := range a {
		for i < len(b) && b[i] < v {
			i++
		}
		if i == len(b) || b[i] != v {
			return false
		}
	}
	return true
}

// each applies f to all pairs; a result with ok false has no value (an error).
func each(a, b val, f func(x, y int64) (int64, bool)) val {
	if a.top || b.top || len(a.set)*len(b.set) > maxSet*maxSet {
		return top
	}
	var out []int64
	for _, x := range a.set {
		for _, y := range b.set {
			if v, ok := f(x, y); ok {
				out = append(out, v)
			}
		}
	}
	return setOf(out)
}

var bools = val{set: []int64{0, 1}}

// analysis is the data flow of one thread, or of a piece of code.
type analysis struct {
	p       *compile.Program
	leaders map[int]*leader // addresses at which environments are kept
	points  map[int]bool
	edges   map[[2]int]bool // feasible jumps
	ops     map[int]*Ops    // by address
	work    []task
}

// leader holds the environments at an address. As long as there are few they
// are followed one by one, so that it is known which values of several variables
// belong together (the stage and the distance in a loop over both).
type leader struct {
	envs   [][]val
	joined bool // there were too many: envs has their join
	queued bool // of the join
}

// maxEnvs is the largest number of environments that are told apart.
const maxEnvs = 64

// task is an environment that is to be followed from a leader.
type task struct{ at, env int }

func newAnalysis(p *compile.Program) *analysis {
	a := &analysis{
		p: p, leaders: map[int]*leader{}, points: map[int]bool{},
		edges: map[[2]int]bool{}, ops: map[int]*Ops{},
	}
	var succ []int
	for at := range p.Code {
		in := &p.Code[at]
		switch in.Op.Effect().Flow {
		case compile.JumpFlow, compile.TableFlow, compile.BranchFlow:
			succ = next(p, at, succ[:0])
			for _, s := range succ {
				a.leaders[s] = &leader{}
			}
		}
	}
	return a
}

// unknown returns an environment in which only the constants are known.
func (a *analysis) unknown() []val {
	env := make([]val, a.p.NumReg)
	for i := range env {
		env[i] = top
	}
	for i, c := range a.p.Consts {
		env[i] = single(c)
	}
	return env
}

// enter adds an environment to those of an address, which is a leader from now on.
func (a *analysis) enter(at int, env []val) {
	l := a.leaders[at]
	if l == nil {
		l = &leader{}
		a.leaders[at] = l
	}
	for _, old := range l.envs {
		if covers(old, env) {
			return
		}
	}
	if !l.joined && len(l.envs) < maxEnvs {
		l.envs = append(l.envs, slices.Clone(env))
		a.work = append(a.work, task{at, len(l.envs) - 1})
		return
	}
	join := slices.Clone(env)
	for _, old := range l.envs {
		for i := range join {
			join[i] = join[i].join(old[i])
		}
	}
	if !l.joined {
		// Tasks that are left follow the join, too.
		l.joined = true
		for i := range l.envs {
			l.envs[i] = join
		}
	}
	l.envs[0] = join
	if !l.queued {
		l.queued = true
		a.work = append(a.work, task{at, 0})
	}
}

// covers tells whether all values of b are among those of a.
func covers(a, b []val) bool {
	for i := range a {
		if !a[i].top && (b[i].top || !subset(b[i].set, a[i].set)) {
			return false
		}
	}
	return true
}

// point enters a point. Of the registers only the variables that are alive
// there matter; others start as zero where they are loaded.
func (a *analysis) point(pt int, env []val) {
	a.points[pt] = true
	q := &a.p.Points[pt]
	if q.Ended {
		return
	}
	next := a.unknown()
	for _, v := range q.Alive() {
		if v.N == 0 {
			next[v.Reg] = env[v.Reg]
		}
	}
	for i := range q.Loads {
		if q.Loads[i].Zero {
			next[q.Loads[i].Reg] = single(0)
		}
	}
	a.enter(q.Entry, next)
}

func (a *analysis) run() {
	for len(a.work) > 0 {
		t := a.work[len(a.work)-1]
		a.work = a.work[:len(a.work)-1]
		l := a.leaders[t.at]
		if l.joined {
			if t.env > 0 {
				continue // the join was queued
			}
			l.queued = false
		}
		a.block(t.at, slices.Clone(l.envs[t.env]))
	}
}

// block executes the instructions from a leader up to the next ones.
func (a *analysis) block(at int, env []val) {
	for {
		in := &a.p.Code[at]
		jump := func(to int, e []val) {
			a.edges[[2]int{at, to}] = true
			a.enter(to, e)
		}
		switch in.Op {
		case compile.OpBound:
			if in.A >= 0 {
				a.point(int(in.A), env)
			}
			return
		case compile.OpFail, compile.OpBlock:
			return
		case compile.OpJmp:
			jump(int(in.A), env)
			return
		case compile.OpTable:
			t := a.p.Jumps[in.T]
			if v := env[in.B]; !v.top {
				for _, k := range v.set {
					if k >= 0 && k < int64(len(t)) {
						jump(int(t[k]), env)
					}
				}
				return
			}
			for _, to := range t {
				jump(int(to), env)
			}
			return
		case compile.OpJt, compile.OpJf:
			zero, other := env[in.B].split(func(v int64) bool { return v == 0 })
			taken, not := other, zero
			if in.Op == compile.OpJf {
				taken, not = zero, other
			}
			if taken.possible() {
				e := slices.Clone(env)
				e[in.B] = taken
				jump(int(in.A), e)
			}
			if !not.possible() {
				return
			}
			env[in.B] = not
		case compile.OpJeq, compile.OpJne, compile.OpJlt, compile.OpJle:
			holds := func(x, y int64) bool {
				switch in.Op {
				case compile.OpJeq:
					return x == y
				case compile.OpJne:
					return x != y
				case compile.OpJlt:
					return x < y
				}
				return x <= y
			}
			if x, y, ok := narrow(env[in.B], env[in.C], holds); ok {
				e := slices.Clone(env)
				e[in.B], e[in.C] = x, y
				jump(int(in.A), e)
			}
			x, y, ok := narrow(env[in.B], env[in.C], func(x, y int64) bool { return !holds(x, y) })
			if !ok {
				return
			}
			env[in.B], env[in.C] = x, y
		default:
			a.record(at, in, env)
			if !a.step(in, env) {
				return
			}
		}
		a.edges[[2]int{at, at + 1}] = true
		at++
		if a.leaders[at] != nil {
			a.enter(at, env)
			return
		}
	}
}

func (v val) possible() bool { return v.top || len(v.set) > 0 }

// split divides the values by a condition; of an unknown value only the
// condition v == 0 tells something, which is that it is 0.
func (v val) split(f func(int64) bool) (yes, no val) {
	if v.top {
		return single(0), top
	}
	for _, x := range v.set {
		if f(x) {
			yes.set = append(yes.set, x)
		} else {
			no.set = append(no.set, x)
		}
	}
	return yes, no
}

// narrow keeps the values for which a comparison can hold.
func narrow(a, b val, holds func(x, y int64) bool) (x, y val, ok bool) {
	if a.top || b.top {
		// Equality with known values makes an unknown one known; of order
		// nothing is kept, because an unknown value has no bounds.
		if a.top && !b.top && onlyEqual(b, holds) {
			return b, b, true
		}
		if b.top && !a.top && onlyEqual(a, holds) {
			return a, a, true
		}
		return a, b, true
	}
	for _, v := range a.set {
		if slices.ContainsFunc(b.set, func(w int64) bool { return holds(v, w) }) {
			x.set = append(x.set, v)
		}
	}
	for _, w := range b.set {
		if slices.ContainsFunc(a.set, func(v int64) bool { return holds(v, w) }) {
			y.set = append(y.set, w)
		}
	}
	return x, y, len(x.set) > 0 && len(y.set) > 0
}

// onlyEqual tells whether the comparison is equality, judged at the values.
func onlyEqual(b val, holds func(x, y int64) bool) bool {
	for _, v := range b.set {
		if v == math.MinInt64 || v == math.MaxInt64 || !holds(v, v) || holds(v-1, v) || holds(v+1, v) {
			return false
		}
	}
	return len(b.set) > 0
}

// step executes one instruction without jumps; it returns false if no
// execution goes on behind it.
func (a *analysis) step(in *compile.Instr, env []val) bool {
	p := a.p
	cmp := func(f func(x, y int64) bool) val {
		v := each(env[in.B], env[in.C], func(x, y int64) (int64, bool) {
			if f(x, y) {
				return 1, true
			}
			return 0, true
		})
		if v.top {
			return bools
		}
		return v
	}
	inType := func(v int64) (int64, bool) {
		t := &p.Types[in.T]
		return v, v >= t.Min && v <= t.Max
	}
	var v val
	switch in.Op {
	case compile.OpMov:
		v = env[in.B]
	case compile.OpAdd:
		v = each(env[in.B], env[in.C], func(x, y int64) (int64, bool) { return inType(x + y) })
	case compile.OpSub:
		v = each(env[in.B], env[in.C], func(x, y int64) (int64, bool) { return inType(x - y) })
	case compile.OpMul:
		v = each(env[in.B], env[in.C], func(x, y int64) (int64, bool) { return inType(x * y) })
	case compile.OpArith:
		v = top
		t := &p.Types[in.T]
		if t.Bits < 64 && (in.D == compile.ArithDiv || in.D == compile.ArithRem) {
			v = each(env[in.B], env[in.C], func(x, y int64) (int64, bool) {
				if y == 0 {
					return 0, false
				}
				if in.D == compile.ArithDiv {
					return inType(x / y)
				}
				return inType(x % y)
			})
		}
		if in.D == compile.ArithAnd {
			v = each(env[in.B], env[in.C], func(x, y int64) (int64, bool) { return x & y, true })
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
		v = each(env[in.B], single(1), func(x, y int64) (int64, bool) { return x ^ y, true })
	case compile.OpIndex:
		s := &p.Strides[in.T]
		i := env[in.C]
		if i.top {
			i = val{}
			for k := range min(s.Len, maxSet+1) {
				i.set = append(i.set, k)
			}
			if s.Len > maxSet {
				i = top
			}
		}
		v = each(env[in.B], i, func(b, k int64) (int64, bool) { return b + k*s.Stride, k >= 0 && k < s.Len })
	case compile.OpOffset:
		v = each(env[in.B], single(int64(in.C)), func(x, y int64) (int64, bool) { return x + y, true })
	case compile.OpDeref:
		v = each(env[in.B], single(1), func(x, y int64) (int64, bool) { return x - y, x != 0 })
	case compile.OpRef:
		v = each(env[in.B], single(1), func(x, y int64) (int64, bool) { return x + y, true })
	case compile.OpChanRef:
		v = each(env[in.B], single(0), func(x, _ int64) (int64, bool) {
			c, ok := p.ChanAt[int(x)]
			return int64(c + 1), ok
		})
	case compile.OpCas, compile.OpChanFull, compile.OpPeek:
		v = top
		if in.Op != compile.OpPeek {
			v = bools
		}
	case compile.OpConv, compile.OpCom, compile.OpNeg, compile.OpLoad, compile.OpLoadLocal, compile.OpChanLen, compile.OpChanCap, compile.OpWait:
		v = top
		if in.Op == compile.OpConv && p.Types[in.T].Bits < 64 {
			v = each(env[in.B], single(0), func(x, _ int64) (int64, bool) { return inType(x) })
			if !v.top && len(v.set) != len(env[in.B].set) {
				v = top // something was cut off
			}
		}
	case compile.OpChoose:
		v = top
		if lo, hi := env[in.B], env[in.C]; !lo.top && !hi.top && len(lo.set) > 0 && len(hi.set) > 0 {
			if l, h := lo.set[0], hi.set[len(hi.set)-1]; h-l >= 0 && h-l < maxSet {
				v = val{}
				for x := l; x <= h; x++ {
					v.set = append(v.set, x)
				}
			}
		}
	case compile.OpChoice:
		v = top
		if in.C <= maxSet {
			v = val{}
			for k := range int64(in.C) {
				v.set = append(v.set, k)
			}
		}
	case compile.OpSelect:
		cases := p.Selects[in.T]
		v = top
		if len(cases) <= maxSet {
			v = val{}
			for i := range cases {
				v.set = append(v.set, int64(i))
			}
		}
		for i := range cases {
			if cases[i].Kind == compile.SelRecv {
				for _, r := range cases[i].Vals {
					env[r] = top
				}
				if cases[i].OK >= 0 {
					env[cases[i].OK] = top
				}
			}
		}
	default:
		if !in.Op.Effect().WritesA() {
			return true
		}
		v = top // a value that this package cannot compute
	}
	env[in.A] = v
	return v.possible()
}

// record adds what an instruction may do to the operations at its address.
func (a *analysis) record(at int, in *compile.Instr, env []val) {
	p := a.p
	ops := a.ops[at]
	get := func() *Ops {
		if ops == nil {
			ops = newOps(p)
			a.ops[at] = ops
		}
		return ops
	}
	locs := func(v val, n int, read, write bool) {
		o := get()
		mark := func(l int) {
			if l < 0 || l >= len(p.Locs) {
				return
			}
			if read {
				o.Reads.set(l)
			}
			if write {
				o.Writes.set(l)
			}
		}
		if v.top {
			for l := range p.Locs {
				mark(l)
			}
			return
		}
		for _, l := range v.set {
			for k := range n {
				mark(int(l) + k)
			}
		}
	}
	chans := func(v val, what ChanOps) {
		o := get()
		one := func(c int) {
			o.Chans[c] |= what
			o.Rendezvous = o.Rendezvous || p.Chans[c].Cap == 0
		}
		if v.top {
			for c := range p.Chans {
				one(c)
			}
			return
		}
		for _, r := range v.set {
			if r > 0 && r <= int64(len(p.Chans)) {
				one(int(r - 1))
			}
		}
	}
	e := in.Op.Effect()
	if reg, ok := in.LocOperand(); ok {
		locs(env[reg], e.Locs, e.Read, e.Write)
	}
	if e.Creates {
		get().Creates = true
	}
	switch e.Chan {
	case compile.LookChan:
		chans(env[in.B], Look)
	case compile.CloseChan:
		chans(env[in.B], Close)
	case compile.CaseChan:
		look := ChanOps(0)
		if hasDefault(p, in) {
			look = Look
		}
		cases := p.Selects[in.T]
		for i := range cases {
			switch cases[i].Kind {
			case compile.SelRecv:
				chans(env[cases[i].Chan], Recv|look)
			case compile.SelSend:
				chans(env[cases[i].Chan], Send|look)
			}
		}
	}
}

// opsAt returns what the instruction at an address may do.
func (a *analysis) opsAt(at int) *Ops {
	if o := a.ops[at]; o != nil {
		return o
	}
	return &Ops{}
}

// feasible tells whether control may go from one address to the next.
func (a *analysis) feasible(from, to int) bool { return a.edges[[2]int{from, to}] }
