package oracle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cpor/engine"
	"cpor/frontend/model"
	"cpor/frontend/model/resolve"
	"cpor/frontend/source"
	"cpor/system"
	"cpor/testkit/treewalk"
)

// Semantics is the plain semantics of a model, computed by walking its syntax tree: brute force
// without any part of the machine or of a search.
type Semantics struct {
	States      int             // of the tree walker
	Transitions int             // enabled ones, with the alternatives
	Locals      []int           // by thread: how many local states it reaches
	Violations  map[string]bool // kind and place
	Deadlocks   map[string]bool // the walker's keys
	Complete    bool            // no limit was met; without it, the rest is what was seen
	System      system.System   // the compiled model
	Properties  []engine.Property

	// Interleavings is the number of complete executions, infinite if there
	// are loops.
	Interleavings float64
	// Reach is what was reached, in terms of the system, as searches report it.
	Reach *Reach
}

// patience is how many passes of loops the walker may make in one transition: half
// a second.
const patience = 1 << 16

// Lockstep executes a model in the compiled machine and by walking its tree at
// the same time, from every initial state and through every reachable pair of
// states. In each pair the threads' transitions must agree: whether they are
// enabled, blocked or ended, how many alternatives they have, what they violate
// and where, and which variables they access; and so must the values of the
// shared variables, the local variables that the machine keeps, and the
// propositions. The result says what is different; it is empty if nothing is.
// At most so many pairs are looked at one after another; if there are more, half
// as many are looked at on random walks from those that are left. The error says
// why there is nothing to compare: the model is refused, init fails or blocks, or
// a transition has more passes of loops than the walker has patience for.
func Lockstep(name, text string, most int) (sem *Semantics, diff string, err error) {
	defer func() {
		if end := recover(); end != nil {
			if end != treewalk.ErrPatience {
				panic(end)
			}
			sem, diff, err = nil, "", treewalk.ErrPatience
		}
	}()
	l := &lockstep{sem: &Semantics{Violations: map[string]bool{}, Deadlocks: map[string]bool{},
		Complete: true, Reach: newReach()}, seen: map[string]bool{}, states: map[string]string{},
		shapes: map[string]*shaped{}}
	m, err := model.Parse(name, text, model.Options{})
	var refused *source.List
	if errors.As(err, &refused) { // also what only the compiler knows of
		return nil, "", err
	}
	walkErr := l.resolve(name, text, m)
	if err != nil || walkErr != nil {
		if walkErr == nil && l.neverExists(err) {
			return nil, "", err
		}
		if (err == nil) != (walkErr == nil) {
			return nil, fmt.Sprintf("the machine says of init: %v; the walker: %v", err, walkErr),
				nil
		}
		return nil, "", err
	}
	l.begin(m)
	starts := map[string]*treewalk.State{}
	for _, w := range l.initial {
		starts[l.walk.Key(w)] = w
	}
	if a, b := len(l.sys.Initial()), len(starts); a != b {
		return nil, fmt.Sprintf("%d initial states, the walker has %d", a, b), nil
	}
	l.next = map[string][]string{}
	for i, s := range l.sys.Initial() {
		l.starts = append(l.starts, l.visit(s, l.initial[i]))
	}
	for len(l.work) > 0 && l.diff == "" {
		if len(l.seen) > most || l.work[len(l.work)-1].w.Threads() > maxThreads {
			l.sem.Complete = false
			break
		}
		p := l.work[len(l.work)-1]
		l.work = l.work[:len(l.work)-1]
		l.expand(p)
	}
	l.wander(most / 2)
	for _, locals := range l.locals {
		l.sem.Locals = append(l.sem.Locals, len(locals))
	}
	l.sem.States = len(l.states)
	l.sem.Interleavings = math.NaN()
	if l.sem.Complete {
		l.sem.Interleavings = l.interleavings()
	}
	return l.sem, l.diff, nil
}

// begin makes the machine of a model, and notes what is known of it.
func (l *lockstep) begin(m *model.Model) {
	l.sys = m.System()
	l.sem.System = l.sys
	for _, p := range m.Properties() {
		q := engine.Property{Name: p.Name, Formula: p.Formula, Pos: p.Pos, Text: p.Text}
		for _, x := range p.Predicates {
			q.Predicates = append(q.Predicates, engine.Predicate(x))
		}
		l.sem.Properties = append(l.sem.Properties, q)
	}
	l.m = l.sys.NewMachine()
	l.m.Track(true)
	l.obs = system.ObserversOf(l.sys)
	l.can = l.m.Capabilities()
	l.locking = l.can.Locking
	l.locs = map[string]system.Loc{}
	for i := range l.locking.NumClassified() {
		l.locs[l.m.LocName(system.Loc(i))] = system.Loc(i)
	}
}

// wander compares so many further pairs on random walks: each begins at a pair
// that is left over and continues at a new successor as long as there is one.
func (l *lockstep) wander(pairs int) {
	r := rand.New(rand.NewPCG(uint64(len(l.seen)), 1))
	fresh := 0 // of the work, the last ones
	for ; pairs > 0 && len(l.work) > 0 && l.diff == ""; pairs-- {
		last := len(l.work) - 1
		at := r.IntN(len(l.work))
		if fresh > 0 {
			at = last - r.IntN(fresh)
		}
		p := l.work[at]
		l.work[at] = l.work[last]
		l.work = l.work[:last]
		fresh = 0
		if p.w.Threads() <= maxThreads {
			l.expand(p)
			fresh = len(l.work) - last
		}
	}
}

var absent = regexp.MustCompile(`(\w+)\[(\d+)\] never exists`)

// neverExists reports whether a model was refused because a property names a thread that init
// does not create, and rightly so.
func (l *lockstep) neverExists(err error) bool {
	m := absent.FindStringSubmatch(err.Error())
	if m == nil {
		return false
	}
	n, convErr := strconv.Atoi(m[2])
	for _, s := range l.initial {
		if convErr != nil || s.Count(m[1]) > n {
			return false
		}
	}
	return true
}

// maxThreads bounds the threads of the states that are compared.
const maxThreads = 64

type pair struct {
	s    system.State
	w    *treewalk.State
	key  string // the walker's
	from *way
}

// way is how a pair was reached, for people.
type way struct {
	before       *way
	thread, stmt string
}

func (w *way) String() string {
	if w == nil {
		return ""
	}
	return w.before.String() + "\n\t" + w.thread + ": " + w.stmt
}

type lockstep struct {
	sys     system.System
	m       system.Machine
	can     system.MachineCapabilities // of m
	locking system.Locking             // m too
	obs     system.Observers
	walk    *treewalk.Program
	initial []*treewalk.State
	props   []*resolve.Invariant // of the walker, by proposition of the system
	locs    map[string]system.Loc
	sem     *Semantics
	seen    map[string]bool
	states  map[string]string  // the encodings, by the walker's key
	named   map[string]string  // the values of constants
	shapes  map[string]*shaped // of threads' next transitions, by local part
	locals  []map[string]bool
	work    []pair
	from    *way
	diff    string

	starts []string            // keys of initial states
	next   map[string][]string // by key, for each enabled transition, but of observers
}

// interleavings counts the paths from the initial states to states without a
// successor.
func (l *lockstep) interleavings() float64 {
	count := map[string]float64{}
	var paths func(key string) float64
	paths = func(key string) float64 {
		if n, ok := count[key]; ok {
			return n
		}
		count[key] = math.Inf(1) // until it is known: a loop comes back
		n := 0.0
		for _, k := range l.next[key] {
			n += paths(k)
		}
		if len(l.next[key]) == 0 {
			n = 1
		}
		count[key] = n
		return n
	}
	n := 0.0
	for _, k := range l.starts {
		n += paths(k)
	}
	return n
}

// resolve resolves the model for the walker. The system's propositions enter
// as further invariants, so that the walker can evaluate them; they get no
// observers.
func (l *lockstep) resolve(name, text string, m *model.Model) error {
	var props []string
	unwritten := map[int]bool{} // cannot be written as invariants
	if m != nil {
		t := m.System().NewMachine().Capabilities().Temporal
		for i := range t.NumProps() {
			props = append(props, t.PropName(i))
		}
	}
	check := func(props ...string) (*resolve.Program, error) {
		text := text
		for i, p := range props {
			text += fmt.Sprintf("\ninvariant prop_%d { %s }", i, p)
		}
		return resolve.Check(source.New(name, text), resolve.Options{})
	}
	r, err := check(props...)
	if _, plain := check(); err != nil && plain == nil {
		// A number in the place of a quantifier's variable: what fails for it when
		// it is evaluated is refused where it is written.
		for i, p := range props {
			if _, err := check(p); err != nil {
				props[i], unwritten[i] = "true", true
			}
		}
		r, err = check(props...)
	}
	if err != nil {
		return err
	}
	k := len(r.Invariants) - len(props)
	l.props, r.Invariants = r.Invariants[k:], r.Invariants[:k]
	for i := range unwritten {
		l.props[i] = nil
	}
	l.named = map[string]string{}
	for _, c := range r.Consts {
		l.named[c.Name] = fmt.Sprint(c.Value)
	}
	l.walk = treewalk.New(r)
	l.walk.Patience = patience
	l.initial, err = l.walk.Initial()
	return err
}

func (l *lockstep) differ(format string, args ...any) {
	if l.diff == "" {
		l.diff = fmt.Sprintf(format, args...) + "\nreached by" + l.from.String()
	}
}

// visit notes a pair of states, and returns the walker's key.
func (l *lockstep) visit(s system.State, w *treewalk.State) string {
	wk := l.walk.Key(w)
	bare := make([]byte, 0, 8*len(s))
	for _, word := range s {
		bare = binary.LittleEndian.AppendUint64(bare, word)
	}
	key := string(bare) + wk
	if l.seen[key] {
		return wk
	}
	l.seen[key] = true
	if enc, ok := l.states[wk]; ok && enc != string(bare) {
		l.differ("one state of the walker has two encodings: %x and %x\n%s", enc, bare, wk)
	}
	l.states[wk] = string(bare)
	l.work = append(l.work, pair{slices.Clone(s), w, wk, l.from})
	return wk
}

// compare holds the parts of a pair of states to each other.
func (l *lockstep) compare(p pair) {
	if a, b := l.m.NumThreads(), p.w.Threads(); a != b {
		l.differ("%d threads, the walker has %d", a, b)
		return
	}
	l.walk.Shared(p.w, func(name, want string) {
		loc, ok := l.locs[name]
		if !ok {
			l.differ("there is no location %s", name)
			return
		}
		got := l.plain(l.m.ValueString(loc))
		if l.locking.Class(loc).Owned() {
			n := 0
			fmt.Sscan(want, &n)
			if want = "free"; n > 0 {
				want = l.m.ThreadName(n - 1)
			}
		}
		if got != want {
			l.differ("%s = %s, the walker has %s", name, got, want)
		}
	})
	flat := strings.NewReplacer("[", "", "]", "")
	for t := range l.m.NumThreads() {
		for len(l.locals) <= t {
			l.locals = append(l.locals, map[string]bool{})
		}
		l.locals[t][l.walk.Local(p.w, t)] = true
		l.sem.Reach.Locals[localKey(l.m, t, nil)] = true
		for _, b := range l.m.Locals(t) {
			if strings.HasPrefix(b.Value, "[") {
				b.Value = flat.Replace(b.Value)
			}
			b.Value = l.plain(b.Value)
			// The machine may keep a variable for a while behind its scope.
			if _, _, more := l.m.Next(t); more && !p.w.MayHave(t, b.Name, b.Value) {
				l.differ("%s: %s = %s, for the walker not: %s", l.m.ThreadName(t), b.Name, b.Value,
					l.walk.Local(p.w, t))
			}
		}
	}
	temporal := l.can.Temporal
	for i, inv := range l.props {
		if inv == nil {
			continue
		}
		got, gv := temporal.Eval(i)
		want, wv := l.walk.Holds(p.w, inv.Cond, nil)
		if got != want || (gv == nil) != (wv == nil) {
			l.differ("proposition %s is %v (%v), for the walker %v (%v)", temporal.PropName(i), got,
				gv, want, wv)
		}
	}
}

// plain writes the names of constants in a value of the machine as numbers, which is
// what the walker has.
func (l *lockstep) plain(value string) string {
	words := strings.Split(value, " ")
	for i, w := range words {
		if n, ok := l.named[w]; ok {
			words[i] = n
		}
	}
	return strings.Join(words, " ")
}

// expand executes all transitions of a pair of states.
func (l *lockstep) expand(p pair) {
	l.from = p.from
	l.m.Load(p.s)
	l.compare(p)
	stuck, moved := false, false
	for t := range l.m.NumThreads() {
		name := l.m.ThreadName(t)
		outs := l.walk.Step(p.w, t)
		l.shape(t)
		alt, k := uint64(0), 0
		for more := true; more && l.diff == ""; k++ {
			mark := l.m.Mark()
			_, stmt, _ := l.m.Next(t)
			got := l.m.Step(t, alt)
			acc := l.accesses()
			alt, more = got.Next, got.Next != 0
			if k >= len(outs) {
				l.differ("%s has an alternative %d, the walker has %d", name, k, len(outs))
				return
			}
			want := outs[k]
			if l.disagrees(t, stmt, &got, &want, acc, p) {
				return
			}
			if got.Kind == system.Moved {
				l.sem.Transitions++
				moved = moved || !l.obs.Has(t)
				if v := violation(want.Violation); v != "" {
					l.sem.Violations[v] = true
					l.sem.Reach.Violations[v] = true
				}
				l.from = &way{p.from, name, stmt}
				l.next[p.key] = append(l.next[p.key], l.visit(l.m.Encode(nil), want.Next))
				l.from = p.from
			} else if got.Kind == system.Blocked && !got.AtEnd && !l.obs.Has(t) {
				stuck = true
			}
			l.m.Rewind(mark)
		}
		if k != len(outs) && l.diff == "" {
			l.differ("%s has %d alternatives, the walker %d", name, k, len(outs))
		}
	}
	if stuck && !moved {
		l.sem.Deadlocks[p.key] = true
		l.obs.Reset(l.m)
		l.sem.Reach.Deadlocks[fmt.Sprint(l.m.Encode(nil))] = true
	}
}

// disagrees compares a transition of thread t with the walker's, and reports whether it is
// another one.
func (l *lockstep) disagrees(t int, stmt string, got *system.Outcome, want *treewalk.Outcome,
	acc treewalk.Access, p pair) bool {
	name := l.m.ThreadName(t)
	for n := range want.Others {
		if _, mine := want.Access[n]; !mine && !acc[n] {
			delete(acc, n) // a read that decides on the alternatives
		}
	}
	if got.Kind != want.Kind || got.Kind == system.Blocked && got.AtEnd != want.AtEnd &&
		!l.obs.Has(t) {
		l.differ("%s, %s: %v (may end: %v), for the walker %v (%v)\n%s", name, stmt,
			got.Kind, got.AtEnd, want.Kind, want.AtEnd, l.walk.Local(p.w, t))
	} else if g, w := violation(got.Violation), violation(want.Violation); g != w {
		l.differ("%s, %s: %q, for the walker %q", name, stmt, g, w)
	} else if g, w := l.expected(acc), l.expected(want.Access); g != w {
		l.differ("%s, %s: accesses %s, for the walker %s", name, stmt, g, w)
	}
	return l.diff != ""
}

// shape holds what the machine promises of a thread's next transition in every
// state to what it does in this one, and to what it did where the thread was at the
// same place before.
func (l *lockstep) shape(t int) {
	if l.obs.Has(t) {
		return
	}
	here := &shaped{promise: l.can.Shape(t)}
	touched := map[system.Access]bool{}
	for alt, more := uint64(0), true; more; here.alternatives++ {
		mark := l.m.Mark()
		out := l.m.Step(t, alt)
		here.blocked = here.blocked || out.Kind == system.Blocked
		for _, a := range l.m.Accesses() {
			touched[system.Access{Loc: a.Loc, Write: a.Write}] = true
		}
		l.m.Rewind(mark)
		alt, more = out.Next, out.Next != 0
	}
	for a := range touched {
		here.accesses = append(here.accesses, fmt.Sprint(a.Loc, a.Write))
		here.locs = append(here.locs, int(a.Loc))
	}
	slices.Sort(here.accesses)
	slices.Sort(here.locs)
	here.locs = slices.Compact(here.locs)
	name := fmt.Sprintf("the shape of %s", l.m.ThreadName(t))
	key := fmt.Sprint(t, localKey(l.m, t, nil))
	there := l.shapes[key]
	if there == nil {
		there, l.shapes[key] = here, here
	}
	switch may := func(s system.Shape) bool { return here.promise&s != 0 }; {
	case here.promise != there.promise:
		l.differ("%s is %b, and was %b", name, here.promise, there.promise)
	case here.blocked && !may(system.MayBlock):
		l.differ("%s: it is blocked", name)
	case here.alternatives > 1 && !may(system.MayChoose):
		l.differ("%s: it has %d alternatives", name, here.alternatives)
	case may(system.MayBlock | system.MayChoose):
	case !may(system.MayVary) && !slices.Equal(here.accesses, there.accesses):
		l.differ("%s: its accesses are %v, and were %v", name, here.accesses, there.accesses)
	case !may(system.MayRoam) && !slices.Equal(here.locs, there.locs):
		l.differ("%s: it touches %v, and touched %v", name, here.locs, there.locs)
	}
}

// shaped is what a thread's next transition was somewhere.
type shaped struct {
	promise      system.Shape
	blocked      bool
	alternatives int
	accesses     []string
	locs         []int
}

// accesses returns the machine's accesses by name.
func (l *lockstep) accesses() treewalk.Access {
	got := treewalk.Access{}
	for _, a := range l.m.Accesses() {
		got[l.m.LocName(a.Loc)] = a.Write
	}
	return got
}

// expected prints accesses, of what both know.
func (l *lockstep) expected(acc treewalk.Access) string {
	var b strings.Builder
	for _, n := range slices.Sorted(maps.Keys(acc)) {
		if !l.walk.IsScalar(n) {
			continue
		}
		if acc[n] {
			n += "!"
		}
		b.WriteString(" " + n)
	}
	return b.String()
}

// violation names a violation by its kind and its line.
func violation(v *system.Violation) string {
	if v == nil {
		return ""
	}
	return fmt.Sprintf("%s at %d:%d", v.Kind, v.Pos.Line, v.Pos.Col)
}
