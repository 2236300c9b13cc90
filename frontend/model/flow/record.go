package flow

import (
	"math/bits"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// Bits is a set of small numbers.
type Bits []uint64

// Has reports whether i is in the set.
func (b Bits) Has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 != 0 }

// add adds the numbers from first to last.
func (b Bits) add(first, last int64) {
	for i := first >> 6; i <= last>>6; i++ {
		w := ^uint64(0)
		if i == first>>6 {
			w <<= first & 63
		}
		if i == last>>6 {
			w &= ^uint64(0) >> (63 - last&63)
		}
		b[i] |= w
	}
}

// or adds the elements of o and reports whether any was new.
func (b Bits) or(o Bits) bool {
	grown := false
	for i, w := range o {
		grown = grown || w&^b[i] != 0
		b[i] |= w
	}
	return grown
}

// ranges returns the set as ranges of locations.
func (b Bits) ranges() []system.LocRange {
	var rs []system.LocRange
	for i := 0; i < len(b); i++ {
		for w := b[i]; w != 0; {
			lo := bits.TrailingZeros64(w)
			n := bits.TrailingZeros64(^(w >> lo))
			first := system.Loc(i<<6 + lo)
			last := first + system.Loc(n) - 1
			if k := len(rs); k > 0 && rs[k-1].Last+1 == first {
				rs[k-1].Last = last
			} else {
				rs = append(rs, system.LocRange{First: first, Last: last})
			}
			if lo+n >= 64 {
				break
			}
			w = w >> (lo + n) << (lo + n)
		}
	}
	return rs
}

// opsAt returns where to note what the instruction at an address does.
func (a *Analysis) opsAt(at int) *Ops {
	if a.total != nil {
		return a.total
	}
	o := a.ops[at]
	if o == nil {
		o = newOps(a.p)
		a.ops[at] = o
	}
	return o
}

// record notes what an instruction does.
func (a *Analysis) record(at int, in *compile.Instr, env []value) {
	e := in.Op.Effect()
	if sabotage.Is("persistent/locks") && (in.Op == compile.OpLock || in.Op == compile.OpUnlock) {
		return
	}
	if reg, ok := in.LocOperand(); ok {
		o := a.opsAt(at)
		a.mark(env[reg], e.Locs, func(first, last int64) {
			if e.Read {
				o.Reads.add(first, last)
			}
			if e.Write {
				o.Writes.add(first, last)
			}
		})
	}
	if e.Creates || e.Peeks {
		a.opsAt(at).join(&Ops{Creates: e.Creates, Peeks: e.Peeks,
			Asks: in.Op == compile.OpTimeout})
	}
	switch e.Chan {
	case compile.LookChan:
		a.use(at, env[in.B], Look)
	case compile.CloseChan:
		a.use(at, env[in.B], Close)
	case compile.CaseChan:
		poll := ChanOps(0)
		cases := a.p.Selects[in.T]
		if hasDefault(a.p, in) || a.parks(cases, env) {
			poll = Poll
		}
		for i := range cases {
			what := poll
			if looks(cases[i]) {
				what |= Look
			}
			switch cases[i].Kind {
			case compile.SelRecv:
				if in.Op == compile.OpPoll {
					what = Look
				} else {
					what |= Recv
				}
				a.use(at, env[cases[i].Chan], what)
			case compile.SelSend:
				a.use(at, env[cases[i].Chan], Send|poll)
			}
		}
	}
}

// parks reports whether a select with several cases may wait at a channel without a buffer, where
// it is found by others: it does so if no other case is ready, as with a default.
func (a *Analysis) parks(cases []compile.SelectCase, env []value) bool {
	return len(cases) > 1 && slices.ContainsFunc(cases, func(c compile.SelectCase) bool {
		if c.Kind != compile.SelRecv && c.Kind != compile.SelSend {
			return false
		}
		for i := range a.p.Chans {
			if a.p.Chans[i].Cap == 0 && env[c.Chan].has(int64(i+1)) {
				return true
			}
		}
		return false
	})
}

// mark calls f for the locations that are accessed: n beginning with each of first.
func (a *Analysis) mark(first value, n int, f func(first, last int64)) {
	if first.set == nil {
		if first.hi < int64(len(a.p.Locs)) {
			first.hi += int64(n - 1)
		}
		if v := a.locs(first); !v.empty() {
			f(v.lo, v.hi)
		}
		return
	}
	for _, l := range *first.set {
		if v := a.locs(between(l, l+int64(n-1))); !v.empty() {
			f(v.lo, v.hi)
		}
	}
}

// use notes operations on the channels that a reference may name.
func (a *Analysis) use(at int, ref value, what ChanOps) {
	o := a.opsAt(at)
	v := ref.meet(between(1, int64(len(a.p.Chans))))
	for i := v.lo; i <= v.hi; i++ {
		if v.has(i) {
			o.Chans[i-1] |= what
			o.Rendezvous = o.Rendezvous || a.p.Chans[i-1].Cap == 0
		}
	}
}

// Waits reports whether the operations include a send or a receive on an unbuffered channel,
// which reads and writes the wait field of its thread and of others.
func (s *Ops) Waits(p *compile.Program) bool {
	for i, ops := range s.Chans {
		if ops&(Send|Recv) != 0 && p.Chans[i].Cap == 0 {
			return true
		}
	}
	return false
}

// Ranges returns the locations that the operations may read and those that they may write,
// including those of channels, but not those of a thread.
func (s *Ops) Ranges(p *compile.Program) (reads, writes []system.LocRange) {
	reads, writes = s.Reads.ranges(), s.Writes.ranges()
	for i, ops := range s.Chans {
		if ops == 0 {
			continue
		}
		c := &p.Chans[i]
		read := func(first, n int) {
			if n > 0 {
				reads = append(reads, system.LocRange{First: system.Loc(first),
					Last: system.Loc(first + n - 1)})
			}
		}
		update := func(first, n int) {
			read(first, n)
			if n > 0 {
				writes = append(writes, system.LocRange{First: system.Loc(first),
					Last: system.Loc(first + n - 1)})
			}
		}
		slots, n := c.Slots, c.Cap*(1+c.Leaves)
		if c.Cap == 0 {
			slots, n = c.Values, c.Leaves
		}
		if ops&(Send|Recv) != 0 {
			update(slots, n)
			if c.Cap == 0 {
				update(c.Slots, 1)
			}
			if c.Closed >= 0 {
				read(c.Closed, 1)
			}
		}
		if ops&Close != 0 && c.Closed >= 0 {
			update(c.Closed, 1)
		}
		if ops&Look != 0 && c.Cap > 0 {
			read(slots, n)
		}
		if c.Bag {
			continue
		}
		if ops&Send != 0 && c.Cap > 0 {
			update(c.First+1, 1)
		}
		if ops&Recv != 0 && c.Cap > 0 {
			update(c.First, 1)
		}
		if ops&Look != 0 && c.Cap > 0 {
			read(c.First, 2)
		}
	}
	return system.JoinRanges(reads), system.JoinRanges(writes)
}
