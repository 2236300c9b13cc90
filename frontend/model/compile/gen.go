package compile

import (
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
	"cpor/system"
)

// MaxCode is the largest number of instructions of a compiled model. Functions are inlined, so a
// chain of functions that call each other twice grows exponentially.
const MaxCode = 1 << 20

// gen is the state of the code generator.
type gen struct {
	propAt map[string]int // the propositions of temporal properties, by name
	p      *Program
	r      *resolve.Program
	errs   source.List
	closes bool                   // the model closes a channel somewhere
	bags   map[*resolve.Type]bool // what bags carry

	shared map[*resolve.Object]int // a shared variable's first location
	consts map[int64]int32
	types  map[*resolve.Type]int32
	sites  map[siteKey]int32
	stride map[Stride]int32
	pure   map[syntax.Expr]bool
	ttypes map[*resolve.Object]*ThreadType

	// Of the thread type being compiled:
	tt     *ThreadType
	vars   []*Var
	nreg   int32
	alive  []*Var
	env    map[*resolve.Object]*binding
	quant  map[*resolve.Object]int64
	quiet  int // > 0 in atomic blocks, conditions of await, and init: no points
	labels []int32
	stmt   syntax.Node // the statement that points describe, with its text
	text   string
	loops  []*target
	syncs  []*object // the monitors entered by synchronized blocks
	fn     *inlined
	outer  int              // loops around the call that is being inlined
	calls  []Call           // the calls that are being inlined
	marks  map[string]int32 // the code labels of the source's labels
	ends   []labelRange
	backs  map[int]int32 // the label of the loop's beginning, by the place of the jump back

	refused map[*syntax.Ident]bool // labels that are unclear
	maxReg  int32
	fields  int // the leaves of variables that stay in the slot, so far
	peeks   []pendingPeek

	noting noting

	// What is counted; see Cover.
	uncounted int   // > 0 where not all executions are counted
	region    int   // the spot that the code which is being compiled is in
	made      int   // the spot that was asked for last
	waits     int32 // the point at which the statement can wait, -1 if it cannot
	called    map[*resolve.Object]bool
}

type siteKey struct {
	pos  source.Pos
	kind system.ViolationKind
}

// binding says where a local variable is: one Var for each leaf, or one Var
// that stays in the slot.
type binding struct {
	vars []*Var
	mem  *Var
	obj  *resolve.Object
}

// target is a statement that break or continue can leave.
type target struct {
	label     string
	brk, cont int32 // labels; cont is -1 if it is not a loop
	syncs     int   // the monitors entered around it
}

// inlined is a function call being inlined, or the thread itself.
type inlined struct {
	inlined bool
	results []*Var
	end     int32
	syncs   int // the monitors entered around the call
}

// labelRange is the code of a labeled statement.
type labelRange struct {
	name     *syntax.Ident
	inlined  bool // it belongs to a function that was inlined
	spot     int
	from, to int
}

// Compile translates a resolved model. The error is a source.List.
func Compile(r *resolve.Program) (*Program, error) {
	g := &gen{
		refused: map[*syntax.Ident]bool{},
		r:       r,
		p: &Program{
			Source: r.File.Source, Resolved: r, Init: -1, ChanAt: map[int]int{},
		},
		shared: map[*resolve.Object]int{},
		consts: map[int64]int32{},
		types:  map[*resolve.Type]int32{},
		sites:  map[siteKey]int32{},
		stride: map[Stride]int32{},
		pure:   map[syntax.Expr]bool{},
		ttypes: map[*resolve.Object]*ThreadType{},
		bags:   map[*resolve.Type]bool{},
		quant:  map[*resolve.Object]int64{},
		region: -1,
		called: map[*resolve.Object]bool{},
	}
	g.p.Cover.index = map[spotKey]int{}
	g.errs.File = r.File.Source
	for id, obj := range r.Uses {
		if obj.Kind == resolve.BuiltinObj && id.Name == "close" {
			g.closes = true
		}
	}
	for _, obj := range r.Shared {
		g.shared[obj] = len(g.p.Locs)
		g.addShared(obj.Name, obj.Type)
		g.class(obj, g.shared[obj])
	}
	g.setWidths()
	for _, obj := range r.Shared {
		if obj.Init != nil {
			g.initial(g.shared[obj], obj.Type, obj.Init)
		}
	}
	for _, inv := range r.Invariants {
		tt := &ThreadType{Name: inv.Name, Observer: true}
		g.p.Threads = append(g.p.Threads, tt)
		g.p.Properties = append(g.p.Properties, Property{inv.Name, inv.Pos})
	}
	for _, obj := range r.Threads {
		tt := &ThreadType{Name: obj.Name, Symmetric: obj.Symmetric}
		g.ttypes[obj] = tt
		g.p.Threads = append(g.p.Threads, tt)
	}
	for i, inv := range r.Invariants {
		g.observer(g.p.Threads[i], inv)
	}
	for _, obj := range r.Threads {
		g.thread(g.ttypes[obj], obj)
	}
	g.init()
	g.props()
	g.resolvePeeks()
	if err := g.errs.Err(); err != nil {
		return nil, err
	}
	g.finish()
	return g.p, nil
}

// setWidths sets the widths of the locations, which for pointers and
// references depend on how many locations and channels there are.
func (g *gen) setWidths() {
	for i := range g.p.Locs {
		l := &g.p.Locs[i]
		if l.Type != nil && !l.Mutex {
			l.Bits = g.bitsOf(l.Type)
		}
	}
}

func (g *gen) errorf(n syntax.Node, format string, args ...any) {
	g.errs.Add(n.Pos(), n.End(), format, args...)
}

// initial records the initial value of a shared variable.
func (g *gen) initial(loc int, t *resolve.Type, e syntax.Expr) {
	e = unparen(e)
	if v, ok := g.constant(e); ok {
		if v != 0 {
			g.p.Inits = append(g.p.Inits, LocInit{loc, v})
		}
		return
	}
	switch e := e.(type) {
	case *syntax.UnaryExpr: // &x
		g.p.Inits = append(g.p.Inits, LocInit{loc, int64(g.staticLoc(e.X)) + 1})
	case *syntax.CompositeLit:
		g.eachElem(e, t, g.sharedSize, func(off int, et *resolve.Type, v syntax.Expr) {
			g.initial(loc+off, et, v)
		})
	case *syntax.Ident, *syntax.MakeExpr: // nil, make
	default:
		g.errorf(e, "the initial value of a shared variable must be constant; compute it in init")
	}
}

// eachElem calls f for each value of a composite literal with its offset,
// where size measures types.
func (g *gen) eachElem(e *syntax.CompositeLit, t *resolve.Type, size func(*resolve.Type) int,
	f func(int, *resolve.Type, syntax.Expr)) {
	at := 0
	for i, v := range e.Values {
		if t.Kind == resolve.Struct {
			k := i
			if e.Keys[i] != nil {
				name := e.Keys[i].(*syntax.Ident).Name
				for j := range t.Fields {
					if t.Fields[j].Name == name {
						k = j
					}
				}
			}
			f(fieldOffset(t, k, size), t.Fields[k].Type, v)
			continue
		}
		if e.Keys[i] != nil {
			k, _ := g.constant(e.Keys[i])
			at = int(k)
		}
		f(at*size(t.Elem), t.Elem, v)
		at++
	}
}

// staticLoc returns the location of a shared variable, field or element named
// with constant indices.
func (g *gen) staticLoc(e syntax.Expr) int {
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.staticLoc(e.X)
	case *syntax.Ident:
		return g.shared[g.r.Uses[e]]
	case *syntax.SelectorExpr:
		t := g.typeOf(e.X)
		for i, f := range t.Fields {
			if f.Name == e.Sel.Name {
				return g.staticLoc(e.X) + fieldOffset(t, i, g.sharedSize)
			}
		}
	case *syntax.IndexExpr:
		i, ok := g.constant(e.Index)
		if !ok {
			g.errorf(e.Index, "the index in a shared variable's initial value must be constant")
		}
		return g.staticLoc(e.X) + int(i)*g.sharedSize(g.typeOf(e.X).Elem)
	}
	return 0
}

func (g *gen) typeOf(e syntax.Expr) *resolve.Type {
	if t := g.r.Types[e]; t != nil {
		return t
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.typeOf(e.X)
	case *syntax.Ident:
		if obj := g.r.Uses[e]; obj != nil && obj.Type != nil {
			return obj.Type
		}
	}
	return invalidType
}

var invalidType = &resolve.Type{Kind: resolve.Invalid}

// constant returns the value of a constant expression, or of one over the
// variables of the quantifiers around it.
func (g *gen) constant(e syntax.Expr) (int64, bool) {
	if v, ok := g.r.Const[e]; ok {
		return v, true
	}
	switch e := e.(type) {
	case *syntax.ParenExpr:
		return g.constant(e.X)
	case *syntax.Ident:
		obj := g.r.Uses[e]
		if obj != nil && obj.Kind == resolve.QuantObj {
			v, ok := g.quant[obj]
			return v, ok
		}
	case *syntax.UnaryExpr:
		if v, ok := g.constant(e.X); ok && e.Op == syntax.Sub {
			return -v, true
		}
	case *syntax.BinaryExpr:
		if e.Op == syntax.LAnd || e.Op == syntax.LOr || g.typeOf(e.X).Kind == resolve.Bool {
			return 0, false
		}
		x, ok := g.constant(e.X)
		if !ok {
			return 0, false
		}
		y, ok := g.constant(e.Y)
		if !ok {
			return 0, false
		}
		return fold(e.Op, x, y)
	}
	return 0, false
}

// fold computes x op y, if op is arithmetic that has a value.
func fold(op syntax.Op, x, y int64) (int64, bool) {
	switch op {
	case syntax.Add:
		return x + y, true
	case syntax.Sub:
		return x - y, true
	case syntax.Mul:
		return x * y, true
	case syntax.Div:
		if y != 0 {
			return x / y, true
		}
	case syntax.Rem:
		if y != 0 {
			return x % y, true
		}
	}
	return 0, false
}

// Registers. A constant is a negative operand until finish.

func (g *gen) constReg(v int64) int32 {
	k, ok := g.consts[v]
	if !ok {
		k = int32(len(g.p.Consts))
		g.p.Consts = append(g.p.Consts, v)
		g.consts[v] = k
	}
	return -k - 1
}

func (g *gen) newVar(name string, t *resolve.Type, mem bool) *Var {
	v := &Var{Name: name, Type: t, Reg: g.nreg, mem: mem}
	if mem {
		v.Base, v.N = g.fields, leafCount(t)
		g.fields += v.N
	} else {
		v.Bits, v.Signed = g.bitsOf(t), t.Kind == resolve.Int && t.Signed
	}
	g.nreg++
	g.maxReg = max(g.maxReg, g.nreg)
	g.vars = append(g.vars, v)
	g.alive = append(g.alive, v)
	return v
}

func (g *gen) temp(t *resolve.Type) *Var { return g.newVar("", t, false) }

func (g *gen) drop(v *Var) {
	for i := len(g.alive) - 1; i >= 0; i-- {
		if g.alive[i] == v {
			g.alive = append(g.alive[:i], g.alive[i+1:]...)
			return
		}
	}
}

// value is a scalar in a register; tmp is set if the register is a temporary
// value, to be dropped by its user.
type value struct {
	reg int32
	tmp *Var
}

func (g *gen) free(vs ...value) {
	for _, v := range vs {
		if v.tmp != nil {
			g.drop(v.tmp)
		}
	}
}

func (g *gen) emit(in Instr) {
	if len(g.p.Code) >= MaxCode {
		if len(g.p.Code) == MaxCode {
			var pos, end source.Pos
			if g.stmt != nil {
				pos, end = g.stmt.Pos(), g.stmt.End()
			}
			g.errs.Add(pos, end, "the model is too large: with its functions inlined it has more "+
				"than %d instructions", MaxCode)
			g.p.Code = append(g.p.Code, in)
		}
		return
	}
	g.p.Code = append(g.p.Code, in)
}

func (g *gen) op(op Op, a, b, c int32) { g.emit(Instr{Op: op, A: a, B: b, C: c, Site: -1}) }

func (g *gen) site(pos source.Pos, kind system.ViolationKind, msg string) int32 {
	key := siteKey{pos, kind}
	s, ok := g.sites[key]
	if !ok {
		s = int32(len(g.p.Sites))
		g.p.Sites = append(g.p.Sites, Site{Kind: kind, Pos: pos, Message: msg})
		g.sites[key] = s
	}
	return s
}

func (g *gen) fault(n syntax.Node) int32 { return g.site(n.Pos(), system.Runtime, "") }

func (g *gen) typeIndex(t *resolve.Type) int32 {
	i, ok := g.types[t]
	if !ok {
		i = int32(len(g.p.Types))
		g.p.Types = append(g.p.Types, intType(t, g.bitsOf))
		g.types[t] = i
	}
	return i
}

// Labels of the code are numbers until finish.

func (g *gen) label() int32 {
	g.labels = append(g.labels, -1)
	return int32(len(g.labels) - 1)
}

func (g *gen) here(l int32) { g.labels[l] = int32(len(g.p.Code)) }

func (g *gen) jump(l int32) { g.op(OpJmp, l, 0, 0) }

// again jumps back to the beginning of a loop, or may do so: such jumps count
// against the budget of a transition.
func (g *gen) again(l int32, loop syntax.Node) {
	rank := int32(2*g.loopsAround() - 1)
	if _, jump := loop.(*syntax.BranchStmt); jump {
		rank++
	} else {
		g.backs[len(g.p.Code)] = l
	}
	g.emit(Instr{Op: OpJmp, A: l, D: rank, Site: g.fault(loop)})
}

// loopsAround returns the number of enclosing loops, including those around the calls of the
// functions.
func (g *gen) loopsAround() int {
	n := g.outer
	for _, t := range g.loops {
		if t.cont >= 0 {
			n++
		}
	}
	return n
}

// full reports whether the model is too large; then its code is incomplete.
func (g *gen) full() bool { return len(g.p.Code) > MaxCode }

// point ends the current transition and begins the next one, unless the statement is in an
// atomic block.
func (g *gen) point() {
	if g.quiet > 0 {
		return
	}
	g.bound(g.newPoint())
}

func (g *gen) newPoint() int32 {
	pt := Point{Thread: g.tt, Text: g.text, alive: append([]*Var(nil), g.alive...),
		Calls: slices.Clone(g.calls)}
	if g.stmt != nil {
		pt.Pos = g.stmt.Pos()
	}
	i := int32(len(g.p.Points))
	for _, v := range g.alive {
		v.Kept = true
		v.points = append(v.points, int(i))
	}
	g.p.Points = append(g.p.Points, pt)
	return i
}

func (g *gen) bound(i int32) {
	g.op(OpBound, i, 0, 0)
	g.p.Points[i].Entry = len(g.p.Code)
}

// at sets the statement that the following points describe.
func (g *gen) at(n syntax.Node, from, to source.Pos) {
	g.stmt = n
	g.text = Shorten(g.p.Source.Text[from:to])
}

// source returns the text of a piece of source, shortened.
func (g *gen) source(n syntax.Node) string { return Shorten(g.p.Source.Text[n.Pos():n.End()]) }

// Shorten makes a piece of source one line of at most 60 bytes.
func Shorten(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if i := strings.Index(line, "//"); i >= 0 {
			line = line[:i]
		}
		line = strings.Join(strings.Fields(line), " ")
		if line == "" {
			continue
		}
		if t := b.String(); t != "" {
			// A line's end ends a statement, but not within brackets.
			open := strings.ContainsRune("{(,:|&+-*/=<>", rune(t[len(t)-1])) &&
				!strings.HasSuffix(t, "++") && !strings.HasSuffix(t, "--")
			if !open && !strings.ContainsRune("})", rune(line[0])) {
				b.WriteByte(';')
			}
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	s = b.String()
	if len(s) > 60 {
		s = strings.ToValidUTF8(s[:57], "") + "..."
	}
	return s
}

func (g *gen) begin(tt *ThreadType) {
	g.tt, g.vars, g.alive, g.nreg = tt, nil, nil, 0
	g.env = map[*resolve.Object]*binding{}
	g.marks = map[string]int32{}
	g.quiet, g.loops, g.syncs, g.fn, g.ends, g.fields = 0, nil, nil, nil, nil, 0
	g.backs = map[int]int32{}
	tt.Entry, tt.Failing = len(g.p.Code), -1
}

// observer compiles an invariant as a thread whose one atomic step reads the
// locations of the invariant, and which is blocked while it holds (Gueta et
// al. 2007, section 4).
func (g *gen) observer(tt *ThreadType, inv *resolve.Invariant) {
	g.begin(tt)
	g.at(inv.Cond, inv.Cond.Pos(), inv.Cond.End())
	first := g.newPoint()
	g.bound(first)
	g.spot(SpotInvariant, inv.Cond, inv.Name, inv.Pos, inv.Cond.End()).points = []int32{first}
	defer g.within()()
	g.quiet++
	holds := g.label()
	g.asserted(inv.Cond, holds, Instr{Op: OpFail, Site: g.site(inv.Pos, system.Invariant,
		"invariant "+inv.Name+" does not hold")})
	g.here(holds)
	g.op(OpBlock, 0, 0, 0)
	g.quiet--
	g.end(tt)
}

func (g *gen) thread(tt *ThreadType, obj *resolve.Object) {
	g.begin(tt)
	for _, prm := range obj.Params {
		b := g.declare(prm)
		if b.mem != nil {
			tt.Params = append(tt.Params, b.mem)
		} else {
			tt.Params = append(tt.Params, b.vars...)
		}
	}
	g.fn = &inlined{end: g.label()}
	g.spot(SpotThread, obj.Body, obj.Name, obj.Pos, obj.Pos+source.Pos(len(obj.Name)))
	leave := g.within()
	for _, s := range obj.Body.Stmts {
		g.statement(s)
	}
	leave()
	g.here(g.fn.end)
	if g.full() {
		return
	}
	g.stmt, g.text = nil, ""
	// What properties read of a thread remains when it ends.
	alive := g.alive[:0]
	for _, v := range g.alive {
		if v.obj != nil && obj.Used[v.obj.Name] {
			alive = append(alive, v)
		}
	}
	g.alive = alive
	e := g.newPoint()
	g.p.Points[e].Ended = true
	g.bound(e)
	if g.mayFail(tt.Entry) {
		g.alive = slices.Clone(tt.Params)
		g.stmt, g.text = obj.Body, "start of "+obj.Name
		tt.Failing = g.newPoint()
		g.p.Points[tt.Failing].Entry = tt.Entry
	}
	for _, lr := range g.ends {
		// A label of the thread hides those of functions.
		own := slices.ContainsFunc(obj.Labels, func(l *resolve.Object) bool {
			return l.Name == lr.name.Name
		})
		used := (!lr.inlined || !own) && obj.Used["@"+lr.name.Name]
		g.mark(lr, used)
		s := &g.p.Cover.Spots[lr.spot]
		s.Named = s.Named || used
	}
	g.watch(tt, obj)
	g.end(tt)
}

// segment calls f for every instruction that is reachable from an address
// without crossing a point, while labels are numbers.
func (g *gen) segment(from int, f func(in *Instr)) {
	g.segmentWithin(from, 0, len(g.p.Code), nil, func(at int) { f(&g.p.Code[at]) })
}

// segmentWithin is segment in the code from lo to before hi, and without the
// jumps that skip names. It gives addresses.
func (g *gen) segmentWithin(from, lo, hi int, skip func(at int) bool, f func(at int)) {
	seen := map[int]bool{}
	work := []int{from}
	for len(work) > 0 {
		at := work[len(work)-1]
		work = work[:len(work)-1]
		if seen[at] || at < lo || at >= hi {
			continue
		}
		seen[at] = true
		in := &g.p.Code[at]
		f(at)
		switch in.Op {
		case OpBound, OpFail, OpBlock, OpDrop:
			continue
		case OpJmp:
			if skip == nil || !skip(at) {
				work = append(work, int(g.labels[in.A]))
			}
			continue
		case OpJt, OpJf, OpJeq, OpJne, OpJlt, OpJle:
			work = append(work, int(g.labels[in.A]))
		case OpTable:
			for _, l := range g.p.Jumps[in.T] {
				work = append(work, int(g.labels[l]))
			}
			continue
		}
		work = append(work, at+1)
	}
}

// mayFail reports whether the segment at an address can violate a property.
func (g *gen) mayFail(from int) bool {
	fails := false
	g.segment(from, func(in *Instr) { fails = fails || in.Site >= 0 })
	return fails
}

// mark gives the first points of a labeled statement its label: those that control reaches
// before any other one. used says whether a property names the label.
//
// A point that is the first one on one path and not on another would be at the label depending
// on the thread's path, which its state does not show; that is refused. The first point of each
// iteration of a loop is one if the first point of the loop is.
func (g *gen) mark(lr labelRange, used bool) {
	name := lr.name.Name
	end := isEnd(name)
	if !used && !end {
		return
	}
	inside := func(pt int32) bool {
		return pt >= 0 && g.p.Points[pt].Entry > lr.from && g.p.Points[pt].Entry <= lr.to
	}
	begins := map[int]bool{} // what is reached before any point
	var first []int32
	g.segmentWithin(lr.from, lr.from, lr.to, nil, func(at int) {
		begins[at] = true
		if in := &g.p.Code[at]; in.Op == OpBound && inside(in.A) {
			first = append(first, in.A)
		}
	})
	anew := func(at int) bool {
		top, back := g.backs[at]
		return back && begins[int(g.labels[top])] || int(g.labels[g.p.Code[at].A]) == lr.from
	}
	for i := range g.p.Points {
		if !inside(int32(i)) {
			continue
		}
		var backs []int
		g.segmentWithin(g.p.Points[i].Entry, lr.from, lr.to, anew, func(at int) {
			switch in := &g.p.Code[at]; {
			case in.Op == OpBound && slices.Contains(first, in.A):
				g.unclear(lr.name)
			case in.Op == OpJmp && anew(at):
				backs = append(backs, at)
			}
		})
		for _, back := range backs {
			g.behind(lr, back, first)
		}
	}
	for _, pt := range first {
		p := &g.p.Points[pt]
		if used && !slices.Contains(p.Labels, name) {
			p.Labels = append(p.Labels, name)
		}
		p.End = p.End || end
	}
}

// isEnd reports whether a thread may end at a label, as with SPIN's end labels.
func isEnd(label string) bool { return label == "end" || strings.HasPrefix(label, "end_") }

// behind refuses a label whose first points include what follows a loop: that is first only if
// the loop has no iteration. back is the jump to the loop's next iteration.
func (g *gen) behind(lr labelRange, back int, first []int32) {
	top := int(g.labels[g.p.Code[back].A])
	g.segmentWithin(top, lr.from, lr.to, nil, func(at int) {
		in := &g.p.Code[at]
		if in.Op == OpBound && (at < top || at > back) && slices.Contains(first, in.A) {
			g.unclear(lr.name)
		}
	})
}

// unclear refuses a label once, however often its function is inlined.
func (g *gen) unclear(label *syntax.Ident) {
	if g.refused[label] {
		return
	}
	g.refused[label] = true
	g.errorf(label, "which transition of the statement is the first one depends on local values "+
		"here, so that no state tells whether a thread is at %s; label the statement that it is "+
		"about, or make it one transition by atomic { }", label.Name)
}

// watch makes locations for the local variables and labels that properties name.
func (g *gen) watch(tt *ThreadType, obj *resolve.Object) {
	for _, v := range g.vars {
		if v.obj == nil || v.mem || v.obj.Owner != obj || !obj.Used[v.obj.Name] {
			continue
		}
		known := false
		for _, w := range tt.Watched {
			known = known || w.Name == v.Name
		}
		if !known {
			tt.Watched = append(tt.Watched, Watch{Name: v.Name, Var: v, Type: v.Type})
		}
	}
	for name := range obj.Used {
		if !strings.HasPrefix(name, "@") {
			continue
		}
		w := Watch{Name: name, Points: make([]bool, len(g.p.Points))}
		for i := range g.p.Points {
			pt := &g.p.Points[i]
			if pt.Thread != tt {
				continue
			}
			for _, l := range pt.Labels {
				w.Points[i] = w.Points[i] || "@"+l == name
			}
		}
		tt.Watched = append(tt.Watched, w)
	}
	sortWatched(tt.Watched)
	if len(tt.Watched) > 0 {
		g.p.Observed = true
	}
}

// end finishes a thread type; the layout of its slot follows when all are known.
func (g *gen) end(tt *ThreadType) {
	for _, v := range g.vars {
		if v.Kept || v.mem {
			tt.Vars = append(tt.Vars, v)
		}
	}
}

func (g *gen) init() {
	if g.r.Init == nil {
		return
	}
	tt := &ThreadType{Name: "init"}
	g.begin(tt)
	g.quiet = 1
	g.p.Init = tt.Entry
	g.fn = &inlined{end: g.label()}
	g.spot(SpotInit, g.r.Init, "init", g.r.Init.Pos(),
		g.r.Init.Pos()+source.Pos(len("init"))).code = []int{len(g.p.Code)}
	defer g.within()()
	for _, s := range g.r.Init.Body.Stmts {
		g.statement(s)
	}
	g.here(g.fn.end)
	g.op(OpBound, -1, 0, 0)
	for _, v := range g.vars {
		if v.mem {
			tt.Vars = append(tt.Vars, v)
		}
	}
	g.p.InitThread = tt
}
