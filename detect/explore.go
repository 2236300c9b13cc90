package detect

import (
	"errors"
	"slices"
)

// sat reports whether the formula holds in the current state, which it leaves as it is.
//
// EF, EG and avoid are searched depth-first. The search keeps what it found out about a state, so
// it visits each state once for each of these operators, and builds only the states it reaches.
func (t *pattern) sat(f *formula) bool {
	if f.boxed {
		return inside(f.boxes, t.d.s)
	}
	switch f.op {
	case literal:
		return t.p.clauseHolds(f.clause, t.d.s) != f.neg
	case and, or:
		for _, k := range f.kids {
			if t.sat(k) == (f.op == or) {
				return f.op == or
			}
		}
		return f.op == and
	case allFinally, allGlobally:
		return !t.sat(f.dual)
	}
	_, found := t.search(f, t.monitor(f))
	return found
}

// step is a state on the stack of a search.
type step struct {
	extra []int64 // what the operator remembers beside the state, see monitor
	todo  []int32 // processes left to move
	moved int32   // the process that moved to come here, -1 in the first state
}

// search looks for a path from the current state that satisfies EF, EG or avoid, and returns
// the processes that move along it. The state is the same afterwards.
func (t *pattern) search(f *formula, extra []int64) (path []int32, found bool) {
	if f.no == nil {
		words := t.pack.words + len(extra)
		f.no, f.yes = newKeySet(words), newKeySet(words)
	}
	var stack []step
	for {
		done, todo := t.enter(f, extra)
		if done {
			found = true
			break
		}
		if todo != nil || len(stack) == 0 {
			moved := int32(-1)
			if len(stack) > 0 {
				moved = path[len(path)-1]
			}
			stack = append(stack, step{extra, todo, moved})
		} else {
			t.back(&path)
		}
		for len(stack) > 0 && len(stack[len(stack)-1].todo) == 0 {
			top := stack[len(stack)-1]
			t.note(f, f.no, top.extra)
			stack = stack[:len(stack)-1]
			if top.moved >= 0 {
				t.back(&path)
			}
		}
		if len(stack) == 0 || t.r.tick(&t.tally) {
			break
		}
		top := &stack[len(stack)-1]
		i := top.todo[0]
		top.todo = top.todo[1:]
		t.d.move(int(i))
		path = append(path, i)
		t.transitions++
		t.events++
		extra = t.advance(f, top.extra)
	}
	whole := slices.Clone(path)
	for len(path) > 0 {
		t.back(&path)
		if len(stack) > 0 && found {
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			t.note(f, f.yes, top.extra)
		}
	}
	return whole, found
}

// back undoes the last move of the path.
func (t *pattern) back(path *[]int32) {
	last := len(*path) - 1
	t.d.undo(int((*path)[last]))
	*path = (*path)[:last]
}

// fill makes key the state with what the operator remembers.
func (t *pattern) fill(extra []int64) []uint64 {
	key := t.key[:t.pack.words+len(extra)]
	t.pack.pack(t.d.s, key[:t.pack.words])
	for i, x := range extra {
		key[t.pack.words+i] = uint64(x + 1)
	}
	return key
}

func (t *pattern) note(f *formula, set *keySet, extra []int64) {
	before := set.bytes()
	if set.insert(t.fill(extra)) && set.bytes() != before {
		t.r.bytes.Add(set.bytes() - before)
	}
}

// enter looks at the current state: done says that a path ends here, todo which processes to
// move otherwise, none if no path continues from here.
func (t *pattern) enter(f *formula, extra []int64) (done bool, todo []int32) {
	key := t.fill(extra)
	if f.no.has(key) {
		return false, nil
	}
	if f.yes.has(key) {
		return true, nil
	}
	t.states++
	left := int64(-1)
	if f.bound >= 0 {
		left = extra[0]
	}
	ended := slices.Equal(t.d.s, t.final)
	switch f.op {
	case existsFinally:
		if t.sat(f.kids[0]) {
			return true, nil
		}
		if !ended && left != 0 {
			todo = t.towards(f.kids[0])
		}
	case existsGlobally:
		if t.sat(f.kids[0]) {
			if ended || left == 0 {
				return true, nil
			}
			todo = t.enabled()
		}
	case avoid:
		if extra[len(extra)-1] != 0 { // else the sequence is complete
			if ended {
				return true, nil
			}
			todo = t.enabled()
		}
	}
	if len(todo) == 0 {
		t.note(f, f.no, extra)
		return false, nil
	}
	return false, todo
}

func (t *pattern) enabled() []int32 {
	var out []int32
	for i, w := range t.d.wait {
		if w == 0 {
			out = append(out, int32(i))
		}
	}
	return out
}

// monitor returns what an operator remembers in the current state: with a bound, the events
// that are left; for avoid, how many events ago each part of the sequence was last reached, 0
// if that does not matter, and -1 if it was not reached or that is too long ago.
//
// A later occurrence of a part is as good as an earlier one for all that follows, so the last
// one is enough.
func (t *pattern) monitor(f *formula) []int64 {
	switch {
	case f.op == avoid:
		ages := make([]int64, len(f.kids))
		for i := range ages {
			ages[i] = -1
		}
		return t.reached(f, ages)
	case f.bound >= 0:
		return []int64{f.bound}
	}
	return nil
}

// advance returns what the operator remembers after an event that led to the current state.
func (t *pattern) advance(f *formula, extra []int64) []int64 {
	switch {
	case f.op == avoid:
		ages := slices.Clone(extra)
		for i := range ages {
			if ages[i] < 0 || i+1 == len(ages) || f.bounds[i+1] < 0 {
				continue
			}
			if ages[i]++; ages[i] > f.bounds[i+1] {
				ages[i] = -1
			}
		}
		return t.reached(f, ages)
	case f.bound >= 0:
		return []int64{extra[0] - 1}
	}
	return nil
}

// reached updates the ages for the parts that hold in the current state.
func (t *pattern) reached(f *formula, ages []int64) []int64 {
	for i, k := range f.kids {
		if ages[i] != 0 && (i == 0 || ages[i-1] >= 0) && t.sat(k) {
			ages[i] = 0
		}
	}
	return ages
}

// towards returns a persistent set for EF f in a state that does not satisfy f: each path to a
// state that does contains one of its transitions. It is empty if there is no such path.
//
// Proof. need returns processes of which at least one moves on every such path. Let i be one
// of them on the path. Its next transition is on the path, and so is each one that it depends
// on, in particular the enabled one that followWF finds. That one depends on none that comes
// before it on the path, so it can be executed first: the path is one through an explored
// transition.
func (t *pattern) towards(f *formula) []int32 {
	if t.r.opt.NoPersistent {
		return t.enabled()
	}
	procs, known := t.need(f)
	if !known {
		return t.enabled()
	}
	from := len(t.d.todo)
	t.d.followWF(procs)
	out := slices.Clone(t.d.todo[from:])
	t.d.todo = t.d.todo[:from]
	return out
}

// need returns processes of which at least one has to move before the formula, which is false,
// becomes true; known is unset if that may be any. A literal changes only with a process of
// its support. A conjunction waits for each of its false parts, so one of them is enough. An EF
// that is false stays so.
func (t *pattern) need(f *formula) (procs []int, known bool) {
	switch f.op {
	case literal:
		return t.p.clauses[f.clause].support, true
	case existsFinally:
		return nil, f.bound < 0
	case or:
		for _, k := range f.kids {
			more, ok := t.need(k)
			if !ok {
				return nil, false
			}
			procs = append(procs, more...)
		}
		return procs, true
	case and:
		for _, k := range f.kids {
			if known && !k.pure && !k.boxed || t.sat(k) {
				continue // to evaluate it may cost more than it saves
			}
			if p, ok := t.need(k); ok && (!known || len(p) < len(procs)) {
				procs, known = p, true
			}
		}
	}
	return procs, known
}

// writer collects the evidence for a formula along one path.
type writer struct {
	t     *pattern
	path  []int32
	marks []Mark // After counts moves of the path
}

func (w *writer) mark(text string, f *formula, until int64) {
	m := Mark{After: len(w.path), Text: text, until: until}
	if f != nil && f.pure && f.node != nil {
		m.node, m.neg = f.node, f.nodeNeg
	}
	w.marks = append(w.marks, m)
}

// explain shows why the formula is as it is in the current state, as far as one path can.
func (w *writer) explain(f *formula, holds bool) {
	if w.t.r.stopped.Load() {
		return
	}
	switch {
	case f.pure:
		if f.node != nil {
			w.check(f, holds)
		}
	case f.dual != nil && !holds:
		w.explain(f.dual, true)
	case f.op == and || f.op == or:
		w.operands(f, holds)
	case !holds || f.dual != nil:
		if f.node != nil {
			w.mark(signed(f.shown, f.nodeNeg == holds), nil, 0)
		}
	default:
		w.along(f)
	}
}

// check marks a predicate that holds, or does not.
func (w *writer) check(f *formula, holds bool) {
	g := *f
	g.nodeNeg = f.nodeNeg == holds
	w.mark(reason(w.t.p.c, f.shown, w.t.p.cut(w.t.d.s)), &g, 0)
}

// operands explains a conjunction or disjunction: by the operand that decides, or by all.
func (w *writer) operands(f *formula, holds bool) {
	var temporal []*formula
	for _, k := range f.kids {
		if w.t.sat(k) != holds {
			continue
		}
		if (f.op == or) == holds {
			w.explain(k, holds)
			return
		}
		if k.pure {
			w.explain(k, holds)
		} else {
			temporal = append(temporal, k)
		}
	}
	for i, k := range temporal {
		if i == len(temporal)-1 {
			w.explain(k, holds) // a path has one continuation
		} else if k.node != nil {
			w.mark(signed(k.shown, k.nodeNeg == holds), nil, 0)
		}
	}
}

// along follows a path that satisfies EF, EG or avoid.
func (w *writer) along(f *formula) {
	t := w.t
	if f.op == existsGlobally && f.kids[0].node != nil {
		k := f.kids[0]
		w.mark(always(k.shown, k.nodeNeg, f.bound), k, f.bound)
	}
	if f.op == avoid {
		w.mark("from here on never: "+f.node.Kids[0].String(), nil, -1)
	}
	// A box has no search to take the path from: it is walked along states that are in it.
	if f.boxed {
		w.walk(f)
	} else {
		w.follow(f, t.monitor(f))
	}
	if f.op == existsFinally {
		w.explain(f.kids[0], true)
	}
}

// walk goes through states that satisfy a boxed EF or EG: one of the enabled transitions always
// leads to another one, until the operand of EF holds or the computation ends.
func (w *writer) walk(f *formula) {
	t := w.t
	for {
		if f.op == existsFinally && t.sat(f.kids[0]) || slices.Equal(t.d.s, t.final) ||
			t.r.stopped.Load() {
			return
		}
		if !w.stepInto(f) {
			t.r.fail(errNoStep)
			return
		}
	}
}

var errNoStep = errors.New("internal error: no event leads on along the evidence")

// stepInto executes an event after which the formula still holds.
func (w *writer) stepInto(f *formula) bool {
	for _, i := range w.t.enabled() {
		w.t.d.move(int(i))
		if w.t.sat(f) {
			w.path = append(w.path, i)
			return true
		}
		w.t.d.undo(int(i))
	}
	return false
}

// follow repeats the search for a path. Nothing is kept from before, so that the path does not end
// in a state that is only known to satisfy the formula.
func (w *writer) follow(f *formula, extra []int64) {
	f.no, f.yes = nil, nil
	path, _ := w.t.search(f, extra)
	for _, i := range path {
		w.t.d.move(int(i))
	}
	w.path = append(w.path, path...)
}

// run lifts the path to the events of the computation.
func (w *writer) run() *Run {
	p := w.t.p
	out := &Run{}
	cut := p.c.Initial()
	s := make([]int32, p.n)
	after := []int{0} // events after so many moves
	for _, i := range w.path {
		s[i]++
		next := cut.Clone()
		next.Join(p.c.Clock(p.hosts[i], p.procs[i].start[s[i]]))
		out.Order = append(out.Order, p.c.Linearise(cut, next)...)
		cut = next
		after = append(after, len(out.Order))
	}
	whole := false
	for _, m := range w.marks {
		m.After = after[m.After]
		whole = whole || m.until < 0
		out.Marks = append(out.Marks, m)
	}
	if whole {
		out.Order = append(out.Order, p.c.Linearise(cut, p.c.Final())...)
	}
	return out
}
