package machine

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
	"strings"

	"cpor/frontend/promela/program"
	"cpor/system"
	"cpor/trace"
)

// Followed is the execution of a trail.
type Followed struct {
	*trace.Trace
	// Loop is the index of the first step of those that are repeated forever, the number of steps
	// if the last state is; -1 if the execution is finite.
	Loop int
	// Open says why the execution is not what the trail claims; empty if it is. If the cycle
	// does not close, Loop is -1, and the trace has the path to the cycle and one round.
	Open string
	// Aside: the claim is not part of the steps; Open says why.
	Aside bool
}

// Follow finds the execution of a trail. A trail ends where its verifier stopped, which can be
// inside an atomic sequence; that is executed to its end. With a claim, it follows the
// processes, and looks for moves of the claim that make the execution forbidden. It ignores the
// claim's moves in SPIN's verifier, which executes merged statements in one step, in which the
// claim moves once.
func (s *System) Follow(t *Trail) (*Followed, error) {
	if s.claimChanges {
		return nil, fmt.Errorf("the claim %s changes variables or starts processes, and a trail "+
			"with such a claim cannot be read", s.claim.Name)
	}
	for _, l := range t.lines {
		if !slices.ContainsFunc(s.procs, func(p *proctype) bool { return p.has(l.element) }) {
			return nil, fmt.Errorf("line %d: the model has no statement with the number %d; the "+
				"trail is one of another model", l.number, l.element)
		}
	}
	x, err := s.followLines(t)
	if n := len(t.lines); err != nil && t.loop < 0 && n > 0 {
		// The last line can belong to a step that SPIN's verifier was about to try when it found
		// another error.
		short := *t
		short.lines = t.lines[:n-1]
		if y, err := s.followLines(&short); err == nil && y.Violation != nil &&
			y.Violation.Kind != system.Deadlock {
			return y, nil
		}
	}
	return x, err
}

// followLines is Follow for all lines.
func (s *System) followLines(t *Trail) (*Followed, error) {
	f := &follower{m: s.newMachine(), Trail: t, steps: s.elements(), of: map[int][]int{},
		seen: map[spot]bool{}, closed: map[string]int{}}
	f.m.Track(true)
	f.findLines()
	x, err := f.follow()
	if err != nil || s.claim == nil || x.Open != "" {
		return x, err
	}
	return s.claimAlong(x)
}

// has reports whether an element is a part of the process type.
func (p *proctype) has(element int) bool {
	return p.First <= element && element < p.First+p.Elements
}

// follower finds the execution of the processes of a trail, by a depth-first search: a line does
// not always identify the step, and merged statements may have no line.
type follower struct {
	m *Machine
	*Trail
	steps map[int]bool  // the elements that are steps here, too
	of    map[int][]int // by process: its lines that are steps
	stack []stop
	seen  map[spot]bool // nothing led on from there
	// closed has, for each state in which the cycle began, its place on the stack.
	closed map[string]int
	first  int // where the first round ended, 0 if none has
	far    int // the first line that could not be executed
	why    string
	taken  int
}

// spot is a state and the line with which the trail continues, in one of the rounds of a cycle.
type spot struct {
	at    int
	last  int
	hash  uint64
	round int
}

// stop is a position of the search.
type stop struct {
	at     int // the line with which the trail continues
	last   int // the process of the line before; -1
	mark   system.Mark
	viol   *system.Violation // of the step that led here
	step   trace.Step        // likewise
	begins bool              // the cycle begins here
	key    string            // the state then
	ways   []way
	tried  int
	open   bool // the ways have been found
}

// way is a possible next step of the trail.
type way struct {
	t    int
	path []choice
	at   int // the line behind it
}

// Bounds on what is tried: steps, steps until a cycle comes back, alternatives of a transition,
// those of them that fit, and statements on the way through alternatives that do not.
const (
	maxTaken    = 1 << 20
	maxCycling  = 1 << 18
	maxTries    = 1 << 16
	maxWays     = 64
	maxEdges    = 1 << 22 // statements
	maxAllEdges = 1 << 25 // statements in all
)

// findLines finds the lines of each process that are steps.
func (f *follower) findLines() {
	for i, l := range f.lines {
		if f.steps[l.element] {
			f.of[l.process] = append(f.of[l.process], i)
		}
	}
}

// from returns the first line of a process from a line on, -1 if there is none. The first line
// of a cycle follows its last one.
func (f *follower) from(at, t int) int {
	list := f.of[t]
	k, _ := slices.BinarySearch(list, at)
	if k == len(list) && f.loop >= 0 {
		k, _ = slices.BinarySearch(list, f.loop)
	}
	if k == len(list) {
		return -1
	}
	return list[k]
}

// begin returns where the trail continues after a line: the first one that is a step here, and
// after the last line of a cycle its first one.
func (f *follower) begin(at int) int {
	at = f.skip(at)
	if at == len(f.lines) && f.loop >= 0 && f.skip(f.loop) < len(f.lines) {
		return f.skip(f.loop)
	}
	return at
}

// skip skips lines that are not steps here: jumps.
func (f *follower) skip(at int) int {
	for at < len(f.lines) && !f.steps[f.lines[at].element] {
		at++
	}
	return at
}

func (f *follower) follow() (*Followed, error) {
	f.push(stop{at: f.skip(0), last: -1})
	for len(f.stack) > 0 {
		top := &f.stack[len(f.stack)-1]
		if !top.open {
			top.open = true
			if top.at == len(f.lines) {
				return f.end(), nil
			}
			if top.begins {
				top.key = f.state()
				from, again := f.closed[top.key]
				if again {
					return f.result(from), nil
				}
				if f.first == 0 && len(f.closed) > 0 {
					f.first = len(f.stack) - 1
				}
				f.closed[top.key] = len(f.stack) - 1
				if f.first > 0 && len(f.stack)-f.first > maxCycling {
					return f.unclosed(), nil
				}
			}
			if p := (spot{top.at, top.last, f.m.Hash(), len(f.closed)}); !f.seen[p] {
				f.seen[p] = true
				top.ways = f.ways(top.at, top.last)
			}
		}
		if top.tried == len(top.ways) {
			if r := f.back(top); r != nil {
				return r, nil
			}
			continue
		}
		if f.taken++; f.taken > maxTaken+16*len(f.lines) {
			return nil, fmt.Errorf("line %d: no way to it was found within %d steps",
				f.lines[f.far].number, f.taken)
		}
		w := top.ways[top.tried]
		top.tried++
		f.m.Rewind(top.mark)
		out := f.m.follow(w.t, 0, w.path)
		alt, ok := f.m.number(w.t, top.mark)
		if !ok {
			return nil, fmt.Errorf("line %d: so many choices lead through this atomic sequence "+
				"that its step has no number here", f.lines[top.at].number)
		}
		n := stop{last: w.t, viol: out.Violation, step: trace.Step{Thread: w.t, Alt: alt}}
		n.at = f.begin(w.at)
		// The cycle begins with its first line, also the first time.
		n.begins = f.loop >= 0 && n.at < len(f.lines) && n.at == f.skip(f.loop) && w.at > top.at
		f.push(n)
	}
	return nil, f.lost()
}

// back leaves a stop from which all ways were tried. It returns a result if there is nothing left
// to try.
func (f *follower) back(top *stop) *Followed {
	if top.key != "" {
		delete(f.closed, top.key)
	}
	if top.at >= f.far {
		f.m.Rewind(top.mark)
		f.far, f.why = top.at, f.stands(f.lines[top.at].process)
	}
	if f.first > 0 && len(f.stack)-1 == f.first {
		return f.unclosed() // a round can be taken, and no more of them
	}
	f.stack = f.stack[:len(f.stack)-1]
	return nil
}

func (f *follower) push(s stop) {
	s.mark = f.m.Mark()
	if len(f.stack) == 0 {
		s.begins = f.loop >= 0 && s.at < len(f.lines) && s.at == f.skip(f.loop)
	}
	f.stack = append(f.stack, s)
}

// state is the live state.
func (f *follower) state() string {
	var b []byte
	for _, w := range f.m.words[:f.m.end] {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return string(b)
}

// stands describes where a process is.
func (f *follower) stands(t int) string {
	if t >= f.m.n {
		return "there is no such process then"
	}
	_, text, _ := f.m.Next(t)
	return f.m.ThreadName(t) + " is at: " + text
}

// lost says where the trail stops matching the model.
func (f *follower) lost() error {
	l := f.lines[f.far]
	if f.m.edges >= maxAllEdges {
		return fmt.Errorf("line %d: there are too many ways to it to try them all", l.number)
	}
	return fmt.Errorf("line %d: step %d of the trail, statement %d of process %d, cannot be "+
		"taken, so it is of another model: %s", l.number, l.depth, l.element, l.process, f.why)
}

// trace returns the steps of the stack up to a stop.
func (f *follower) trace(to int) *trace.Trace {
	t := &trace.Trace{}
	for _, s := range f.stack[1 : to+1] {
		t.Steps = append(t.Steps, s.step)
	}
	return t
}

// result returns the execution up to the top of the stack.
func (f *follower) result(loop int) *Followed {
	return &Followed{Trace: f.trace(len(f.stack) - 1), Loop: loop}
}

// unclosed returns the execution up to the end of the first round, with the reason why it is not
// a cycle.
func (f *follower) unclosed() *Followed {
	from := 0
	for i, s := range f.stack[:f.first] {
		if s.begins {
			from = i
		}
	}
	look := func(i int) []system.Binding {
		f.m.Rewind(f.stack[i].mark)
		all := f.m.Variables()
		for t := range f.m.n {
			for _, b := range f.m.Locals(t) {
				all = append(all, system.Binding{Name: f.m.ThreadName(t) + ":" + b.Name,
					Value: b.Value})
			}
		}
		return all
	}
	after, before := look(f.first), look(from)
	var differ []string
	for i, b := range before {
		if i < len(after) && after[i] != b {
			differ = append(differ, fmt.Sprintf("%s is %s where it begins and %s after one round",
				b.Name, b.Value, after[i].Value))
		}
	}
	why := "the cycle does not come back to a state in which it began"
	if len(differ) > 0 {
		why += ": " + strings.Join(differ[:min(3, len(differ))], ", ")
	}
	return &Followed{Trace: f.trace(f.first), Loop: -1, Open: why}
}

// end returns the execution at the end of the lines.
func (f *follower) end() *Followed {
	n := len(f.stack)
	top := &f.stack[n-1]
	if f.loop >= 0 {
		f.settle()
		return f.result(len(f.stack) - 1)
	}
	viol := top.viol
	if viol == nil && !f.stuck() {
		if viol = f.settle(); viol == nil && !f.stuck() {
			f.m.Rewind(f.stack[n-1].mark)
			f.stack = f.stack[:n]
		}
	}
	x := f.result(-1)
	if viol == nil && f.stuck() {
		viol = &system.Violation{Kind: system.Deadlock, Message: "deadlock"}
	}
	x.Violation = viol
	return x
}

// settle executes what has no line at the end of a trail: merged statements, and a guard that
// cannot be evaluated. It returns the violation.
func (f *follower) settle() *system.Violation {
	m := f.m
	take := func(t int) *system.Violation {
		out := m.follow(t, 0, []choice{})
		f.push(stop{last: t, step: trace.Step{Thread: t}})
		return out.Violation
	}
	for more := f.merged; more; {
		more = false
		for t := range m.n {
			for n := 0; n < maxSilent && t < m.n && f.silent(t); n++ {
				if v := take(t); v != nil {
					return v
				}
				more = true
			}
		}
		if f.taken++; f.taken > maxSilent {
			break
		}
	}
	for t := range m.n {
		mark := m.Mark()
		out := m.follow(t, 0, []choice{})
		fails := out.Violation != nil && len(m.told) == 0
		m.Rewind(mark)
		if fails {
			return take(t)
		}
	}
	return nil
}

// maxSilent bounds how many steps without a line are taken one after another.
const maxSilent = 1 << 12

// stuck reports whether the state is an invalid end state.
func (f *follower) stuck() bool {
	is := false
	mark := f.m.Mark()
	for t := range f.m.n {
		out := f.m.follow(t, 0, []choice{})
		f.m.Rewind(mark)
		if out.Kind == system.Moved {
			return false
		}
		is = is || out.Kind == system.Blocked && !out.AtEnd
	}
	return is
}

// silent reports whether a process is before a statement that SPIN may have merged with the
// previous one: it touches only locals, and is the only one at its place.
func (f *follower) silent(t int) bool {
	p := f.m.sys.procs[f.m.types[t]]
	st := p.states[f.m.pc(t)].src
	if len(st.Edges) != 1 || len(st.Escapes) > 0 || len(st.Labels) > 0 {
		return false
	}
	e := st.Edges[0]
	local := joins(e.Kind) && !e.Atomic && (e.Place == nil || !e.Place.Global)
	eachExpr(e, func(x program.Expr) {
		program.Each(x, func(x program.Expr) {
			switch x := x.(type) {
			case *program.Const, *program.Unary, *program.If, *program.Binary, *program.Run,
				*program.ChanOp, *program.Poll:
			case *program.Load:
				local = local && !x.Place.Global
			case *program.Special:
				local = local && x.Name == "_pid"
			default:
				local = false
			}
		})
	})
	return local
}

// joins reports whether SPIN merges such a statement with those before it.
func joins(k program.Kind) bool {
	switch k {
	case program.Skip, program.Assign, program.Clear, program.Assert, program.Print:
		return true
	}
	return false
}

// ways finds the possible next steps of the trail at a line, the most likely first. last is the
// process of the previous line.
func (f *follower) ways(at, last int) []way {
	m, l := f.m, f.lines[at]
	var out []way
	if f.merged && last >= 0 && last < m.n && f.silent(last) && !f.isNext(at, last) {
		out = append(out, way{last, []choice{}, at})
	}
	if l.process < m.n && m.sys.procs[m.types[l.process]].has(l.element) {
		fits := f.fitting(l.process, at)
		slices.SortStableFunc(fits, func(a, b way) int { return b.at - a.at })
		out = append(out, fits...)
	}
	for t := 0; t < m.n && f.merged && len(out) == 0; t++ {
		// A process waits for what another one does without a line.
		if f.silent(t) && !f.isNext(at, t) || f.silent(t) && f.from(at, t) < 0 {
			out = append(out, way{t, []choice{}, at})
		}
	}
	return out
}

// isNext reports whether the next line of a process, from a line on, is the only step that it
// can take. It also does so if there is none: then the process need not move again.
func (f *follower) isNext(at, t int) bool {
	k := f.from(at, t)
	if k < 0 {
		return true
	}
	p := f.m.sys.procs[f.m.types[t]]
	e := p.States[f.m.pc(t)].Edges[0]
	return e.Seq > 0 && f.lines[k].element == p.First+e.Seq-1
}

// fitting finds the alternatives of a process that execute what the lines from at on say.
func (f *follower) fitting(t, at int) []way {
	m := f.m
	mark := m.Mark()
	g := &guide{}
	m.goesOn, m.prefers = g.goesOn, g.prefers
	defer func() { m.goesOn, m.prefers = nil, nil }()
	// Usually the lines say what to choose.
	*g = guide{f: f, at: at, bad: -1, ended: -1}
	o := m.follow(t, 0, []choice{})
	all := slices.Clone(m.path)
	fits := o.Kind == system.Moved && len(m.told) > 0 && g.bad < 0
	m.Rewind(mark)
	switch {
	case o.Kind != system.Moved:
		return nil
	case fits && !g.several:
		return []way{{t, all, g.at}}
	}
	var best *way
	if fits {
		best = &way{t, all, g.at}
	}
	m.prefers = nil
	out, failed := f.search(t, at, g)
	if len(out) == 0 && best != nil {
		out = append(out, *best)
	}
	if len(out) == 0 && failed != nil {
		out = append(out, *failed)
	}
	return out
}

// search tries the choices of a process in turn, and returns those that execute what the lines
// from at on say, and one that fails where the lines end.
func (f *follower) search(t, at int, g *guide) (out []way, failed *way) {
	m := f.m
	mark := m.Mark()
	start := m.edges
	for path, tries := []choice{}, 0; path != nil && tries < maxTries && m.edges-start < maxEdges &&
		m.edges < maxAllEdges && len(out) < maxWays; tries++ {
		*g = guide{f: f, at: at, bad: -1, ended: -1}
		o := m.follow(t, 0, path)
		told := len(m.told)
		all := slices.Clone(m.path)
		m.Rewind(mark)
		if o.Kind != system.Moved {
			break
		}
		last := f.loop < 0 && at == len(f.lines)-1
		switch {
		case told == 0 && last:
			// It waits, and a guard cannot be evaluated: SPIN's verifier writes the guard.
			failed = &way{t, all, len(f.lines)}
			path = following(all)
		case told == 0:
			path = following(all)
		case g.bad >= 0:
			if failed == nil && last && o.Violation != nil {
				failed = &way{t, all, len(f.lines)}
			}
			path = following(all[:g.bad])
		case g.ended >= 0:
			out = append(out, way{t, all[:g.ended:g.ended], g.at})
			path = following(all[:g.ended])
		default:
			out = append(out, way{t, all, g.at})
			path = following(all)
		}
	}
	return out, failed
}

// guide compares what a step executes with the lines of a trail, while it does so.
type guide struct {
	f     *follower
	at    int // the line with which it continues
	n     int // how many statements have been compared
	known int // choices that had been made before
	bad   int // how many choices led to a statement that is not there; -1: none did
	ended int // how many choices had been made where the lines ended; -1: they have not
	// several says that the lines have left a choice open.
	several bool
}

// prefers returns the option of the next line.
func (g *guide) prefers() int {
	m := g.f.m
	at := g.f.skip(g.at)
	if at >= len(g.f.lines) || g.ended >= 0 {
		return 0
	}
	tells := func(at, t int, e *edge) bool {
		if at >= len(g.f.lines) {
			return true
		}
		l := g.f.lines[at]
		return l.process == t && l.element == told{e: e, proc: m.sys.procs[m.types[t]]}.element()
	}
	found, silent := -1, -1
	for k, o := range m.opts {
		if silent < 0 && o.e != death && o.e.src.Seq == 0 {
			silent = k
		}
		if !tells(at, m.t, o.e) || o.re != nil && !tells(g.f.skip(at+1), int(o.other), o.re) {
			continue
		}
		if found >= 0 {
			g.several = true
			break
		}
		found = k
	}
	if found >= 0 {
		return found
	}
	return max(silent, 0)
}

func (g *guide) goesOn() bool {
	m := g.f.m
	choices := len(m.path)
	chosen := choices > g.known
	for ; g.n < len(m.told); g.n++ {
		d := m.told[g.n]
		if g.ended >= 0 || d.element() < 0 {
			continue
		}
		g.at = g.f.skip(g.at)
		switch {
		case g.at == len(g.f.lines) && g.n > 0:
			// The trail of a violation ends inside an atomic sequence.
			g.ended = g.known
		case g.at < len(g.f.lines) && g.f.lines[g.at].process == d.t &&
			g.f.lines[g.at].element == d.element():
			g.at++
		case g.f.merged && g.n > 0 && !chosen && d.e != death && joins(d.e.src.Kind):
		default:
			g.bad = choices
			return false
		}
	}
	g.known = choices
	return true
}

// number returns the number of the alternative of a process that the last step, from a mark on,
// has taken. Counted alternatives are found by counting.
func (m *Machine) number(t int, mark system.Mark) (uint64, bool) {
	alt, weight := uint64(0), uint64(1)
	for _, c := range m.path {
		if c.taken > 0 && weight == 0 {
			return m.counting(t, mark)
		}
		alt += c.taken * weight
		if hi, lo := bits.Mul64(weight, c.of); hi == 0 && lo <= 1<<62 {
			weight = lo
		} else {
			weight = 0
		}
	}
	return alt, true
}

// counting is number by taking all alternatives before it, if they are not too many.
func (m *Machine) counting(t int, mark system.Mark) (uint64, bool) {
	want := slices.Clone(m.path)
	path := []choice{}
	start := m.edges
	for n := uint64(0); n < maxTries && m.edges-start < maxEdges && path != nil; n++ {
		m.Rewind(mark)
		m.follow(t, 0, path)
		if slices.Equal(m.path, want) {
			return deep | n, true
		}
		path = following(slices.Clone(m.path))
	}
	return 0, false
}

// Stays reports whether no process can move after an execution of the processes.
func (s *System) Stays(t *trace.Trace) bool {
	m := s.newMachine()
	for _, st := range t.Steps {
		m.step(st.Thread, st.Alt)
	}
	return m.stuck()
}

// ClaimHas reports whether a number is one of the claim's statements.
func (s *System) ClaimHas(element int) bool { return s.claim != nil && s.claim.has(element) }
