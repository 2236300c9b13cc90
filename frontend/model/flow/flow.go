package flow

import (
	"slices"
	"sync"

	"cpor/frontend/model/compile"
)

// ChanOps is a set of operations on a channel.
type ChanOps uint8

// The operations. A select with a default inspects its channels, too.
const (
	Send  ChanOps = 1 << iota
	Recv          // a receive
	Close         // close(c)
	Look          // len, empty, full, poll, or what more a receive looks at
	Poll          // a select with a default
)

// Ops is what a thread may do.
type Ops struct {
	Reads, Writes Bits      // by location, those of channels left out
	Chans         []ChanOps // by channel
	Rendezvous    bool      // some operation on a channel without a buffer
	Creates       bool      // threads
	Peeks         bool      // reads what properties watch of threads
	Asks          bool      // for timeout(), which looks at everything
}

func newOps(p *compile.Program) *Ops {
	n := (len(p.Locs) + 63) / 64
	return &Ops{Reads: make(Bits, n), Writes: make(Bits, n), Chans: make([]ChanOps, len(p.Chans))}
}

// clear empties it.
func (s *Ops) clear() {
	clear(s.Reads)
	clear(s.Writes)
	clear(s.Chans)
	*s = Ops{Reads: s.Reads, Writes: s.Writes, Chans: s.Chans}
}

// join adds o, which may be nil, and reports whether anything was new.
func (s *Ops) join(o *Ops) bool {
	if o == nil {
		return false
	}
	grown := s.Reads.or(o.Reads)
	grown = s.Writes.or(o.Writes) || grown
	for i, c := range o.Chans {
		grown = grown || c&^s.Chans[i] != 0
		s.Chans[i] |= c
	}
	grown = grown || o.Rendezvous && !s.Rendezvous || o.Creates && !s.Creates ||
		o.Peeks && !s.Peeks || o.Asks && !s.Asks
	s.Rendezvous = s.Rendezvous || o.Rendezvous
	s.Creates = s.Creates || o.Creates
	s.Peeks = s.Peeks || o.Peeks
	s.Asks = s.Asks || o.Asks
	return grown
}

// Start is where a thread begins: at a point, with known values of variables by register, or,
// with Point -1, at the creation of a thread of the type with unknown arguments.
type Start struct {
	Type  *compile.ThreadType
	Point int
	Regs  map[int32]int64
}

// Future is the result for a number of starts.
type Future struct {
	frame *frame
	after []func() []*Ops // by start; the result by point
}

// After returns what thread i may do from a point on while timeout() is false, the transition at
// the point included, and what the threads that it creates may do. It is nil if the thread cannot
// reach the point. Unless threads create others, a thread is analysed when it is asked for.
func (f *Future) After(i, point int) *Ops { return f.after[i]()[point] }

// Simple reports whether a transition at the point is only one send, receive or select: then it
// depends only on whether one can send or receive. It is false where a select may take its
// default.
func Simple(p *compile.Program, point int) bool {
	selects := 0
	for _, at := range segment(p, p.Points[point].Entry, nil) {
		in := &p.Code[at]
		switch in.Op {
		case compile.OpSelect:
			selects++
			if in.D != 0 || hasDefault(p, in) || slices.ContainsFunc(p.Selects[in.T], looks) {
				return false
			}
		case compile.OpPoll, compile.OpChanLen, compile.OpChanFull, compile.OpClose:
			return false
		}
	}
	return selects == 1
}

// looks reports whether a case depends on more of a channel than whether it has a message, or a
// place for one.
func looks(c compile.SelectCase) bool { return c.Keep || c.Bag || c.Pattern != "" }

func hasDefault(p *compile.Program, in *compile.Instr) bool {
	return slices.ContainsFunc(p.Selects[in.T], func(c compile.SelectCase) bool {
		return c.Kind == compile.SelDefault
	})
}

// next returns the addresses that may follow an instruction in its segment.
func next(p *compile.Program, at int, dst []int) []int {
	in := &p.Code[at]
	switch in.Op.Effect().Flow {
	case compile.EndFlow:
		return dst
	case compile.JumpFlow:
		return append(dst, int(in.A))
	case compile.TableFlow:
		for _, a := range p.Jumps[in.T] {
			dst = append(dst, int(a))
		}
		return dst
	case compile.BranchFlow:
		dst = append(dst, int(in.A))
	}
	return append(dst, at+1)
}

// segment returns the addresses that are reachable without crossing a point,
// by the edges that follow allows (nil: all).
func segment(p *compile.Program, entry int, follow func(from, to int) bool) []int {
	seen := map[int]bool{entry: true}
	work := []int{entry}
	var succ []int
	for i := 0; i < len(work); i++ {
		succ = next(p, work[i], succ[:0])
		for _, s := range succ {
			if !seen[s] && (follow == nil || follow(work[i], s)) {
				seen[s] = true
				work = append(work, s)
			}
		}
	}
	return work
}

// Reads returns the locations and the channels that code without points, such as a
// proposition's, may read.
func (f *Future) Reads(entry int) *Ops { return f.frame.analysis().separating().reads(entry) }

func (a *Analysis) reads(entry int) *Ops {
	p := a.p
	a.enter(entry, a.unknown())
	a.run()
	ops := newOps(p)
	for _, at := range segment(p, entry, a.feasible) {
		ops.join(a.ops[at])
	}
	return ops
}

// From returns what a thread may do from a point on, at which its variables have certain values,
// and what the threads that it creates may do. value returns the value of a variable that is
// alive there. The result is valid until the next call.
func (a *Analysis) From(point int, value func(v *compile.Var) int64) *Ops {
	a.clear()
	env := a.unknown()
	for _, v := range a.p.Points[point].Alive() {
		if v.N == 0 {
			env[v.Reg] = exactly(value(v))
		}
	}
	a.point(point, env)
	a.run()
	return a.total
}

// Analyse computes the futures of threads, by point. Several goroutines may use the result.
func Analyse(p *compile.Program, starts []Start) *Future {
	f := &Future{frame: newFrame(p)}
	fr := f.frame
	children := map[*compile.ThreadType]*Ops{}
	for _, st := range starts {
		f.after = append(f.after, sync.OnceValue(func() []*Ops {
			return fr.threadFuture(st)
		}))
	}
	if !p.Dynamic {
		return f
	}
	// What created threads may do counts for their creators.
	for _, tt := range p.Threads {
		if tt.Observer {
			continue
		}
		all := newOps(p)
		for _, ops := range fr.threadFuture(Start{Type: tt, Point: -1}) {
			all.join(ops)
		}
		children[tt] = all
	}
	for grown := true; grown; {
		grown = false
		for _, ops := range children {
			if ops.Creates {
				for _, o := range children {
					grown = ops.join(o) || grown
				}
			}
		}
	}
	for _, after := range f.after {
		for _, ops := range after() {
			if ops != nil && ops.Creates {
				for _, o := range children {
					ops.join(o)
				}
			}
		}
	}
	return f
}

// quietly analyses again with timeout() false, from the points that the analysis has reached.
func (a *Analysis) quietly(points []int) *Analysis {
	q := a.frame.analysis().separating()
	q.quiet = true
	for _, pt := range points {
		if l := a.at[a.p.Points[pt].Entry]; l != nil && !a.p.Points[pt].Ended {
			for _, env := range l.envs {
				entry := a.p.Points[pt].Entry
				q.next = q.spread(entry, env, q.next)
				q.enter(entry, q.next)
			}
		}
	}
	q.run()
	return q
}

func (f *frame) threadFuture(st Start) []*Ops {
	p := f.p
	a := f.analysis().separating()
	start := []int{}
	if st.Point < 0 {
		a.enter(st.Type.Entry, a.unknown())
		if st.Type.Failing >= 0 {
			a.point(int(st.Type.Failing), a.unknown())
		}
	} else {
		env := a.unknown()
		for r, v := range st.Regs {
			env[r] = a.known(v)
		}
		a.point(st.Point, env)
	}
	a.run()
	for pt, reached := range a.points {
		if reached {
			start = append(start, pt)
		}
	}
	if p.Timeout != 0 {
		a = a.quietly(start)
	}
	after := make([]*Ops, len(p.Points))
	succ := map[int][]int{}
	for _, pt := range start {
		ops := newOps(p)
		if !p.Points[pt].Ended {
			for _, at := range segment(p, p.Points[pt].Entry, a.feasible) {
				ops.join(a.ops[at])
				if in := &p.Code[at]; in.Op == compile.OpBound && in.A >= 0 {
					succ[pt] = append(succ[pt], int(in.A))
				}
			}
		}
		after[pt] = ops
	}
	for grown := true; grown; {
		grown = false
		for i := len(start) - 1; i >= 0; i-- {
			for _, s := range succ[start[i]] {
				if o := after[s]; o != nil {
					grown = after[start[i]].join(o) || grown
				}
			}
		}
	}
	return after
}
