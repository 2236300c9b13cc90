package compile

import (
	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

// Cover relates a program's counters to the source. A machine counts the segments that it
// executes, by the point where they begin, and the jumps taken whose counts do not follow from
// the rest ([Cover.Jumps]). This determines how often each instruction was executed
// ([Program.Executed]), and the instructions determine it for each [Spot].
//
// Counter i < len(Points) counts the segments from point i. Then come the thread types,
// by the threads that were created, and those executions of init that started threads;
// then the jumps and jump tables, whose instructions say which counter is theirs; then
// the instructions that can end a segment by a violation, by Faults; then the peeks that
// found their thread.
type Cover struct {
	Counters int         // their number
	Starts   int         // the first one of the thread types
	Init     int         // that of init
	Peeks    int         // the first one of the peeks
	Faults   map[int]int // by address
	Spots    []Spot
	Gos      []int // by GoSite: the address behind its instruction

	index map[spotKey]int
}

// Spot is a piece of the source that is executed or not. Because functions are inlined and
// quantifiers unrolled, it can be at several places of the code.
type Spot struct {
	Kind SpotKind
	Pos  source.Pos
	End  source.Pos
	Name string // of the thread, the function or the invariant; of a branch, how it is called
	// In is the spot that contains it, -1 if there is none.
	In int
	// Fixed: constants decide whether it is ever executed, or it belongs to a condition,
	// so that it may have been executed without being counted.
	Fixed bool
	Named bool // a property names this label

	points []int32
	code   []int // addresses
	counts []int // counters that are about it as they are
}

// Counted reports whether reports of coverage count the executions of the spot by line.
func (s *Spot) Counted() bool {
	return s.Kind == SpotStatement || s.Kind == SpotAssert || s.Kind == SpotFunc
}

// SpotKind is the kind of a spot.
type SpotKind uint8

// The kinds of spots.
const (
	SpotThread SpotKind = iota
	SpotFunc
	SpotInit
	SpotInvariant
	SpotBranch
	SpotStatement
	SpotAssert
	SpotOperand  // the right side of && or || in an invariant
	SpotThreadOf // a thread that an invariant names
	SpotLabel    // the statement behind a label
)

type spotKey struct {
	kind SpotKind
	node syntax.Node
	name string
}

// spot returns the spot of a node, a new one if it has none.
func (g *gen) spot(kind SpotKind, n syntax.Node, name string, pos, end source.Pos) *Spot {
	c := &g.p.Cover
	key := spotKey{kind, n, name}
	i, ok := c.index[key]
	if !ok {
		i = len(c.Spots)
		c.Spots = append(c.Spots, Spot{Kind: kind, Pos: pos, End: end, Name: name, In: g.region})
		c.index[key] = i
	}
	g.made = i
	c.Spots[i].Fixed = c.Spots[i].Fixed || g.uncounted > 0
	return &c.Spots[i]
}

// inBranch notes that the code from here on is executed only in a branch, until the function
// that it returns is called. constant reports whether constants decide on that.
func (g *gen) inBranch(n syntax.Node, name string, pos, end source.Pos,
	constant bool) (leave func()) {
	s := g.spot(SpotBranch, n, name, pos, end)
	s.Fixed = s.Fixed || constant
	s.code = append(s.code, len(g.p.Code))
	return g.within()
}

// within makes the spot that was made last the region of what follows.
func (g *gen) within() (leave func()) {
	old := g.region
	g.region = g.made
	return func() { g.region = old }
}

// covered records where the code of a statement is: a statement that can wait counts when it has
// continued.
func (g *gen) covered(s syntax.Stmt, from int) {
	if len(g.p.Code) == from {
		return // nothing is executed
	}
	kind, end := SpotStatement, s.End()
	switch x := s.(type) {
	case *syntax.EmptyStmt, *syntax.Block, *syntax.LabeledStmt:
		return
	case *syntax.AssertStmt:
		kind = SpotAssert
	case *syntax.IfStmt:
		end = x.Cond.End()
	case *syntax.ForStmt:
		end = x.Body.Pos()
	case *syntax.RangeStmt:
		end = x.X.End()
	case *syntax.SwitchStmt:
		end = min(end, s.Pos()+source.Pos(len("switch")))
	case *syntax.SelectStmt:
		end = min(end, s.Pos()+source.Pos(len("select")))
	case *syntax.ChooseStmt:
		end = min(end, s.Pos()+source.Pos(len("choose")))
	case *syntax.AtomicStmt:
		end = min(end, s.Pos()+source.Pos(len("atomic")))
	case *syntax.SyncStmt:
		end = x.Body.Pos()
	}
	sp := g.spot(kind, s, "", s.Pos(), end)
	if g.waits >= 0 {
		sp.points = append(sp.points, g.waits)
	} else {
		sp.code = append(sp.code, from)
	}
}

// canWait records that the statement can wait at the last point, and is executed when the
// transition from there is. A block that cannot continue is never executed in part.
func (g *gen) canWait() {
	if g.quiet == 0 {
		g.waits = int32(len(g.p.Points) - 1)
	}
}

// finish gives the jumps their counters.
func (c *Cover) finish(p *Program, unused []*resolve.Object) {
	c.Starts = len(p.Points)
	c.Init = c.Starts + len(p.Threads)
	n := c.Init + 1
	c.Faults = map[int]int{}
	c.Gos = make([]int, len(p.Gos))
	for at := range p.Code {
		in := &p.Code[at]
		switch in.Op {
		case OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle:
			in.T = int32(n)
			n++
		case OpJmp:
			in.T = -1
			if in.Site >= 0 || int(in.A) <= at {
				in.T = int32(n)
				n++
			}
		case OpTable:
			in.C = int32(n)
			n += len(p.Jumps[in.T])
		case OpGo:
			c.Gos[in.T] = at + 1
		}
		if in.Op != OpFail && (in.Site >= 0 || in.Op == OpSelect) {
			c.Faults[at] = n
			n++
		}
	}
	c.Peeks = n
	c.Counters = n + len(p.Peeks)
	for i := range c.Spots {
		if s := &c.Spots[i]; s.Kind == SpotThreadOf {
			for k := range s.counts {
				s.counts[k] += c.Peeks
			}
		}
	}
	for i := range p.Threads {
		for k := range c.Spots {
			if s := &c.Spots[k]; s.Kind == SpotThread && !p.Threads[i].Observer &&
				s.Name == p.Threads[i].Name {
				s.counts = []int{c.Starts + i}
			}
		}
	}
	for _, f := range unused {
		c.Spots = append(c.Spots, Spot{Kind: SpotFunc, Name: f.Name, Pos: f.Pos,
			End: f.Pos + source.Pos(len(f.Name)), In: -1})
	}
	c.index = nil
}

// Executed returns how often each instruction was executed, by the counters of the
// machines.
func (p *Program) Executed(counters []uint64) []uint64 {
	c := &p.Cover
	n := make([]uint64, len(p.Code)+1)
	for i := range p.Points {
		if !p.Points[i].Ended {
			n[p.Points[i].Entry] += counters[i]
		}
	}
	for i, tt := range p.Threads {
		n[tt.Entry] += counters[c.Starts+i]
	}
	if p.Init >= 0 {
		n[p.Init] += counters[c.Init]
	}
	for at := range p.Code {
		switch in := &p.Code[at]; in.Op {
		case OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle, OpJmp:
			if in.T >= 0 {
				n[in.A] += counters[in.T]
			}
		case OpTable:
			for k, to := range p.Jumps[in.T] {
				n[to] += counters[int(in.C)+k]
			}
		}
	}
	// Jumps that are not counted go forward only, so one pass is enough.
	for at := range p.Code {
		on := n[at]
		if f, ok := c.Faults[at]; ok {
			on -= min(on, counters[f])
		}
		switch in := &p.Code[at]; in.Op {
		case OpBound, OpFail, OpBlock, OpDrop, OpTable:
			continue
		case OpJmp:
			if in.T < 0 {
				n[in.A] += on
			}
			continue
		case OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle:
			on -= min(on, counters[in.T])
		}
		n[at+1] += on
	}
	return n
}

// Count returns how often a spot was executed, from the counters and the result of
// [Program.Executed].
func (s *Spot) Count(counters, executed []uint64) uint64 {
	n := uint64(0)
	for _, p := range s.points {
		n += counters[p]
	}
	for _, at := range s.code {
		n += executed[at]
	}
	for _, i := range s.counts {
		n += counters[i]
	}
	return n
}

// operand notes that the right side of && or || in an invariant begins here, up to a
// call of the function that it returns.
func (g *gen) operand(e *syntax.BinaryExpr) (leave func()) {
	if g.tt == nil || !g.tt.Observer {
		return func() {}
	}
	s := g.spot(SpotOperand, e.Y, "", e.Y.Pos(), e.Y.End())
	s.code = append(s.code, len(g.p.Code))
	if _, ok := g.constant(e.X); ok {
		s.Fixed = true
	}
	return g.within()
}

// caseEnd returns where the head of a case ends.
func caseEnd(c syntax.Node, body []syntax.Stmt) source.Pos {
	if len(body) > 0 {
		return body[0].Pos()
	}
	return c.End()
}
