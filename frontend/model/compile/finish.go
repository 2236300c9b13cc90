package compile

import (
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"cpor/frontend/model/resolve"
)

func sortWatched(w []Watch) {
	sort.Slice(w, func(i, j int) bool { return w[i].Name < w[j].Name })
}

// operands calls f for the place of every register operand of an instruction.
func (p *Program) operands(in *Instr, f func(reg *int32, write bool)) {
	for i, x := range []*int32{&in.A, &in.B, &in.C} {
		switch effects[in.Op].Regs[i] {
		case 'r':
			f(x, false)
		case 'w':
			f(x, true)
		}
	}
	switch in.Op {
	case OpCas:
		f(&in.D, false)
	case OpSelect, OpPoll:
		cases := p.Selects[in.T]
		for i := range cases {
			c := &cases[i]
			for j := range c.Match {
				f(&c.Match[j].Reg, false)
			}
			switch c.Kind {
			case SelRecv:
				f(&c.Chan, false)
				if c.OK >= 0 {
					f(&c.OK, true)
				}
				for j := range c.Vals {
					f(&c.Vals[j], true)
				}
			case SelSend:
				f(&c.Chan, false)
				for j := range c.Vals {
					f(&c.Vals[j], false)
				}
			case SelGuard:
				f(&c.Cond, false)
			}
		}
	case OpGo:
		args := p.Gos[in.T].Args
		for i := range args {
			f(&args[i], false)
		}
	case OpPrint:
		args := p.Prints[in.T].Regs
		for i := range args {
			f(&args[i], false)
		}
	}
}

// finish resolves labels and registers, lays out the slots, and computes what
// each segment loads and stores.
func (g *gen) finish() {
	p := g.p
	k := int32(len(p.Consts))
	g.resolve(k)
	for _, tt := range p.Threads {
		p.Dynamic = p.Dynamic || tt.creates(p)
	}
	p.NumReg = int(k + g.maxReg)
	p.PCBits = bits.Len(uint(len(p.Points) + len(p.Sites)))
	if p.Rendezvous {
		p.WaitBits = 8 // none, parked, or matched with one of 250 cases
	}
	if p.Init >= 0 {
		for _, at := range p.reach(p.Init, false) {
			op := p.Code[at].Op
			p.InitChoose = p.InitChoose || op == OpChoose || op == OpChoice || op == OpSelect
		}
	}
	if p.Dynamic || p.InitChoose {
		p.TypeBits = bits.Len(uint(len(p.Threads) - 1))
	}
	g.layoutSlots(k)
	for _, tt := range p.Threads {
		for i := range tt.Watched {
			tt.Watched[i].atPoints(len(p.Points))
		}
		tt.Start.Thread = tt
		tt.Start.alive = nil
		p.analyse(&tt.Start, tt.Entry, p.varsOf(tt), true)
	}
	for i := range p.Points {
		pt := &p.Points[i]
		if !pt.Ended {
			p.analyse(pt, pt.Entry, p.varsOf(pt.Thread), false)
		}
		p.MayChoose = p.MayChoose || pt.Choice
	}
	p.seen = nil
	var unused []*resolve.Object
	for _, f := range g.r.Funcs {
		if !g.called[f] {
			unused = append(unused, f)
		}
	}
	p.Cover.finish(p, unused)
	p.distinguishLocals()
}

// distinguishLocals adds the line of its declaration to the name of each local variable that hides
// another one, or is hidden: people see both values in a trace.
func (p *Program) distinguishLocals() {
	same := map[*Var]bool{}
	for i := range p.Points {
		named := map[string]*Var{}
		for _, v := range p.Points[i].alive {
			if other := named[v.Name]; other != nil && v.obj != nil {
				same[v], same[other] = true, true
			}
			named[v.Name] = v
		}
	}
	for v := range same {
		if v.obj == nil || v.obj.Pos < 0 {
			continue
		}
		end := strings.IndexAny(v.Name+".", ".[")
		line, _ := p.Source.Position(v.obj.Pos)
		v.Name = fmt.Sprintf("%s (line %d)%s", v.Name[:end], line, v.Name[end:])
	}
}

// resolve replaces labels by places in the code, and numbers registers: those of the k constants
// come first. Each select, poll, go and print table belongs to one instruction, so that renaming
// registers in place is done once for each.
func (g *gen) resolve(k int32) {
	p := g.p
	for i := range p.Code {
		in := &p.Code[i]
		switch in.Op {
		case OpJmp, OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle:
			in.A = g.labels[in.A]
		}
		p.operands(in, func(r *int32, _ bool) {
			if *r < 0 {
				*r = -*r - 1
			} else {
				*r += k
			}
		})
	}
	for _, t := range p.Jumps {
		for i := range t {
			t[i] = g.labels[t[i]]
		}
	}
}

// layoutSlots gives the variables of all threads, and of properties, their registers behind the k
// constants and their places in the slots.
func (g *gen) layoutSlots(k int32) {
	p := g.p
	for _, tt := range append(slices.Clone(p.Threads), p.InitThread) {
		if tt == nil {
			continue
		}
		for _, v := range tt.Vars {
			v.Reg += k
		}
		for _, v := range tt.Params {
			if !v.Kept && !v.mem { // never alive at a point, but the creator sets it
				v.Reg += k
			}
		}
		p.forget(tt)
		if n := g.layoutFrame(tt.Vars, tt, p.WaitBits+p.TypeBits+p.PCBits); tt != p.InitThread {
			p.SlotBits = max(p.SlotBits, n)
		} else {
			p.InitBits = n
		}
		p.PerThread = max(p.PerThread, 2+len(tt.Watched))
	}
	if p.Timeout != 0 {
		p.Place = p.PerThread
		p.PerThread++
	}
	for i := range p.Props {
		q := &p.Props[i]
		q.Bits = g.layoutFrame(q.Thread.Vars, q.Thread, 0)
	}
}

// atPoints computes at which of n points the watched label or variable is.
func (w *Watch) atPoints(n int) {
	if w.Var == nil {
		w.Points = append(w.Points, make([]bool, n-len(w.Points))...)
		return
	}
	w.Points = make([]bool, n)
	for _, pt := range w.Var.points {
		w.Points[pt] = true
	}
}

// varsOf returns the kept variables of a thread type by register.
func (p *Program) varsOf(tt *ThreadType) map[int32]*Var {
	m := make(map[int32]*Var, len(tt.Vars))
	for _, v := range tt.Vars {
		if !v.mem {
			m[v.Reg] = v
		}
	}
	return m
}

// forget removes temporary values from the points at which they are dead: where no execution
// reads them before they are written again. The generator drops them with their statement, which
// can end after the point that follows their last use. A variable with a name stays as long as
// its scope, where users expect it.
func (p *Program) forget(tt *ThreadType) {
	// By register, because several temporary values can share one.
	temps := map[int32]bool{}
	for _, v := range tt.Vars {
		if v.Name == "" && !v.mem {
			temps[v.Reg] = true
		}
	}
	if len(temps) == 0 {
		return
	}
	code := p.reach(tt.Entry, true)
	live := p.live(code, temps)
	for i := range p.Points {
		pt := &p.Points[i]
		if pt.Thread != tt {
			continue
		}
		pt.alive = slices.DeleteFunc(pt.alive, func(v *Var) bool {
			dead := v.Name == "" && !v.mem && (pt.Ended || !live[pt.Entry][v.Reg])
			if dead {
				v.points = slices.DeleteFunc(v.points, func(at int) bool { return at == i })
				v.Kept = len(v.points) > 0
			}
			return dead
		})
	}
}

// live returns the temporary registers that are read after an instruction has been reached, before
// they are written again, by instruction.
func (p *Program) live(code []int, temps map[int32]bool) map[int]map[int32]bool {
	live := map[int]map[int32]bool{}
	var succ []int
	for changed := true; changed; {
		changed = false
		for i := len(code) - 1; i >= 0; i-- {
			at := code[i]
			in := p.Code[at]
			now := map[int32]bool{}
			succ = p.next(at, succ[:0])
			if in.Op == OpBound && in.A >= 0 && !p.Points[in.A].Ended {
				succ = append(succ, p.Points[in.A].Entry)
			}
			for _, s := range succ {
				for r := range live[s] {
					now[r] = true
				}
			}
			// A case of a select that is not taken does not change its registers, but then they
			// are not read, so they count as written.
			p.eachRegister(in, func(r int32, write bool) {
				if write {
					delete(now, r)
				}
			})
			p.eachRegister(in, func(r int32, write bool) {
				if temps[r] && !write {
					now[r] = true
				}
			})
			if len(now) != len(live[at]) {
				live[at], changed = now, true
			}
		}
	}
	return live
}

// creates reports whether threads of the type create threads.
func (tt *ThreadType) creates(p *Program) bool {
	for _, at := range p.reach(tt.Entry, true) {
		if p.Code[at].Op == OpGo {
			return true
		}
	}
	return false
}

// next returns the addresses that may follow an instruction in its segment.
func (p *Program) next(at int, dst []int) []int {
	in := &p.Code[at]
	switch in.Op {
	case OpBound, OpFail, OpBlock, OpDrop:
		return dst
	case OpJmp:
		return append(dst, int(in.A))
	case OpTable:
		for _, a := range p.Jumps[in.T] {
			dst = append(dst, int(a))
		}
		return dst
	case OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle:
		dst = append(dst, int(in.A))
	}
	return append(dst, at+1)
}

// reach returns the addresses reachable from an entry, in order; across reports whether points
// are crossed.
func (p *Program) reach(entry int, across bool) []int {
	if len(p.seen) < len(p.Code) {
		p.seen = make([]bool, len(p.Code))
	}
	p.seen[entry] = true
	work := []int{entry}
	var succ []int
	for i := 0; i < len(work); i++ {
		succ = succ[:0]
		if in := &p.Code[work[i]]; across && in.Op == OpBound && in.A >= 0 &&
			!p.Points[in.A].Ended {
			succ = append(succ, p.Points[in.A].Entry)
		} else {
			succ = p.next(work[i], succ)
		}
		for _, s := range succ {
			if !p.seen[s] {
				p.seen[s] = true
				work = append(work, s)
			}
		}
	}
	for _, at := range work {
		p.seen[at] = false
	}
	slices.Sort(work)
	return work
}

// analyse computes Loads, Exits, Choice, Retry and Shape of a segment: backward
// liveness, where at the exits everything is alive that the segment may have
// written and that is alive at the point reached.
func (p *Program) analyse(pt *Point, entry int, vars map[int32]*Var, start bool) {
	code := p.reach(entry, false)
	p.classify(pt, code)
	written := map[*Var]bool{}
	for _, at := range code {
		p.eachRegister(p.Code[at], func(r int32, write bool) {
			if v := vars[r]; v != nil && v.Kept && write {
				written[v] = true
			}
		})
	}
	if start { // by the creator, who puts the arguments into registers
		for _, v := range pt.Thread.Params {
			written[v] = true
		}
	}
	pt.Blocks = p.blocking(code)
	pt.Shape = p.shape(pt, code)
	alive := map[*Var]bool{}
	for _, v := range pt.alive {
		alive[v] = true
	}
	for _, v := range p.liveAt(entry, code, vars, written) {
		if start && slices.Contains(pt.Thread.Params, v) {
			continue
		}
		m := v.move()
		m.Zero = !alive[v]
		pt.Loads = append(pt.Loads, m)
	}
	sort.Slice(pt.Loads, func(i, j int) bool { return pt.Loads[i].Reg < pt.Loads[j].Reg })
	for _, at := range code {
		in := p.Code[at]
		if in.Op != OpBound || in.A < 0 || slices.ContainsFunc(pt.Exits, func(e Exit) bool {
			return e.To == in.A
		}) {
			continue
		}
		pt.Exits = append(pt.Exits, p.exit(pt, alive, written, in.A))
	}
}

// classify computes Choice, Timeout and Retry of a segment with this code.
func (p *Program) classify(pt *Point, code []int) {
	blocks, chooses := false, false
	selects := 0
	for _, at := range code {
		in := p.Code[at]
		switch in.Op {
		case OpChoose, OpChoice, OpNotify, OpSignal:
			pt.Choice, chooses = true, true
		case OpSelect:
			selects++
			pt.Choice = pt.Choice || p.choosesCase(&in)
		case OpTimeout:
			pt.Timeout = true
		case OpBlock, OpLock, OpEnter, OpWake, OpDown, OpWLock, OpRLock, OpGroupWait, OpCondWoken:
			blocks = true
		}
	}
	pt.Retry = pt.Choice && (blocks || selects > 1 || chooses && selects > 0 || p.decidesLate(code))
}

// liveNode is an instruction as liveAt sees it: the instructions that may follow, and variables by
// their numbers. Behind an exit those written are live that are alive at its point.
type liveNode struct {
	succ, reads, writes, exits []int
	live                       []uint64 // before it, as a set
}

// liveAt returns the variables that are live at the entry of a segment, by iteration to a fixed
// point.
func (p *Program) liveAt(entry int, code []int, vars map[int32]*Var, written map[*Var]bool) []*Var {
	nodes, list := p.liveNodes(code, vars, written)
	words := (len(list) + 63) / 64
	memory := make([]uint64, (len(nodes)+1)*words)
	for i := range nodes {
		nodes[i].live, memory = memory[:words:words], memory[words:]
	}
	now := memory
	add := func(vs []int) {
		for _, v := range vs {
			now[v/64] |= 1 << (v % 64)
		}
	}
	for changed := true; changed; {
		changed = false
		for i := len(nodes) - 1; i >= 0; i-- {
			n := &nodes[i]
			clear(now)
			add(n.exits)
			for _, s := range n.succ {
				for w, set := range nodes[s].live {
					now[w] |= set
				}
			}
			for _, v := range n.writes {
				now[v/64] &^= 1 << (v % 64)
			}
			add(n.reads)
			if !slices.Equal(now, n.live) {
				copy(n.live, now)
				changed = true
			}
		}
	}
	at, _ := slices.BinarySearch(code, entry)
	var live []*Var
	for i, v := range list {
		if nodes[at].live[i/64]>>(i%64)&1 != 0 {
			live = append(live, v)
		}
	}
	return live
}

// liveNodes returns the instructions of a segment for liveAt, and the variables by number.
func (p *Program) liveNodes(code []int, vars map[int32]*Var, written map[*Var]bool) (
	nodes []liveNode, list []*Var) {
	number := map[*Var]int{}
	of := func(v *Var) int {
		i, ok := number[v]
		if !ok {
			i = len(list)
			number[v], list = i, append(list, v)
		}
		return i
	}
	nodes = make([]liveNode, len(code))
	var succ []int
	for i, at := range code {
		in, n := p.Code[at], &nodes[i]
		succ = p.next(at, succ[:0])
		for _, s := range succ {
			k, _ := slices.BinarySearch(code, s)
			n.succ = append(n.succ, k)
		}
		p.eachRegister(in, func(r int32, write bool) {
			switch v := vars[r]; {
			case v == nil:
			case !write:
				n.reads = append(n.reads, of(v))
			case !conditional(in):
				n.writes = append(n.writes, of(v))
			}
		})
		if in.Op != OpBound || in.A < 0 {
			continue
		}
		for _, v := range p.Points[in.A].alive {
			if written[v] {
				n.exits = append(n.exits, of(v))
			}
		}
	}
	return nodes, list
}

// conditional reports whether an instruction may leave the registers that it writes unchanged.
func conditional(in Instr) bool { return in.Op == OpSelect }

func (p *Program) eachRegister(in Instr, f func(reg int32, write bool)) {
	p.operands(&in, func(r *int32, write bool) { f(*r, write) })
}

// EachRegister calls f for every register that the instruction at an address reads or writes. A
// Select or a Poll counts as one that writes the registers of all its cases.
func (p *Program) EachRegister(at int, f func(reg int32, write bool)) {
	p.eachRegister(p.Code[at], f)
}

func (v *Var) move() Move {
	return Move{Reg: v.Reg, Word: v.Field.Word, Shift: v.Field.Shift, Bits: v.Field.Bits,
		Signed: v.Field.Signed}
}

// exit computes how a segment that starts at from stores its variables before point to. What is
// alive at both points and not written stays unchanged; bits that cannot be set and are not
// stored need no work.
func (p *Program) exit(from *Point, alive, written map[*Var]bool, to int32) Exit {
	words := (p.SlotBits + 63) / 64
	keep := make([]uint64, words)
	touch := make([]uint64, words)
	stores := make([][]Move, words)
	fieldMask := func(f Field) uint64 { return mask(int(f.Bits)) << f.Shift }
	for v := range alive {
		if !v.mem {
			touch[v.Field.Word] |= fieldMask(v.Field)
		}
	}
	for _, f := range from.Thread.Fields {
		touch[f.Word] |= fieldMask(f)
	}
	touch[0] |= mask(p.PCBits) << p.PCShift()
	for _, v := range p.Points[to].alive {
		switch {
		case v.mem:
			for _, f := range from.Thread.Fields[v.Base : v.Base+v.N] {
				keep[f.Word] |= fieldMask(f)
			}
		case written[v]:
			stores[v.Field.Word] = append(stores[v.Field.Word], v.move())
			touch[v.Field.Word] |= fieldMask(v.Field)
		case alive[v]:
			keep[v.Field.Word] |= fieldMask(v.Field)
		}
	}
	x := Exit{To: to}
	for w := range words {
		ew := ExitWord{Word: uint16(w), Stores: stores[w], Clear: touch[w] &^ keep[w]}
		if w == 0 {
			ew.PC = uint64(to+1) << p.PCShift()
		}
		if ew.Clear != 0 {
			x.Words = append(x.Words, ew)
		}
	}
	return x
}

// PCShift returns the place of the program counter in a slot.
func (p *Program) PCShift() int { return p.WaitBits + p.TypeBits }

func mask(bits int) uint64 {
	if bits >= 64 {
		return ^uint64(0)
	}
	return 1<<bits - 1
}

// Alive returns the variables that are alive at the point.
func (pt *Point) Alive() []*Var { return pt.alive }

// FirstLeaf returns the suffix of the name of the first scalar in a variable of type t.
func FirstLeaf(t *resolve.Type) string {
	switch {
	case t == nil:
	case t.Kind == resolve.Array:
		return "[0]" + FirstLeaf(t.Elem)
	case t.Kind == resolve.Struct && len(t.Fields) > 0:
		return "." + t.Fields[0].Name + FirstLeaf(t.Fields[0].Type)
	}
	return ""
}

// Leaves returns the types of the scalars in a value of type t.
func Leaves(t *resolve.Type) []*resolve.Type { return leafTypes(nil, t) }
