// Package treewalk is a second implementation of the model language, for
// tests: an interpreter that walks the resolved syntax tree over plain Go
// values. It follows docs/language.md and shares nothing with packages compile
// and machine: no layout, no instructions, no packed states, no undo log.
// Integers are math/big numbers, shared variables are a map from printed names
// to values, channels are slices.
//
// It is as simple as can be and slow. A thread is its history: what its
// transitions have observed of the shared world. To execute its next
// transition the body runs from the beginning, is fed the history up to the
// point where the thread stands, and continues from there in the live world up
// to its next access. So the control flow of the language is that of this
// package's recursive functions, and no statement needs to know how to be
// resumed. What distinguishes the local states of a thread is a text, which
// names the statements around the point, the values that are held there, and
// the variables in scope.
package treewalk

import (
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/system"
)

// Value is a bool, a *big.Int, a pointer, a reference to a channel, an
// aggregate, or what a lock or a channel contains. Values are never changed.
type Value any

type (
	pointer   string // the name of what is pointed to; "" is nil
	reference string // the name of a channel; "" is nil
	// ident is name n of a type of names, from 1; 0 is nil.
	ident struct {
		of string
		n  int
	}
	aggregate []Value
	mutex     int // the owner plus one
	monitor   struct {
		owner   int // plus one
		depth   int
		waiting string // the threads that wait, each as a comma and its number
	}
	semaphore int
	group     int                           // of a waitgroup
	condition string                        // the threads that wait, as in a monitor
	rwmutex   struct{ writer, readers int } // writer: plus one
	channel   struct {
		cap    int
		bag    bool    // its messages are in no order: they are kept sorted
		buffer []Value // the oldest message first
		closed bool
		// Of a channel without a buffer: who is parked, with which case of
		// its select, and the value that waits.
		parked parked
		who, k int
		value  Value
	}
	parked int
)

// What can be parked at a channel without a buffer.
const (
	nobody parked = iota
	sender
	receiver
	delivered // a value for a receiver that was parked and has not woken
)

// Program is a resolved model to be executed.
type Program struct {
	r     *resolve.Program
	names []string // of the shared variables' scalars, locks and channels
	start map[string]Value

	// Patience is how many passes of loops a transition may have, and how many
	// outcomes init; the alternatives of a transition may have four times as many
	// passes all together, each itself counted as 16. 0 is for as many as the
	// language allows. The walker takes half a minute for those of one transition.
	Patience int
}

// New prepares a resolved model.
func New(r *resolve.Program) *Program {
	p := &Program{r: r, start: map[string]Value{}}
	for _, obj := range r.Shared {
		p.allocate(obj.Name, obj.Type)
	}
	for _, obj := range r.Shared {
		if obj.Init != nil {
			p.initial(obj.Name, obj.Type, obj.Init)
		}
	}
	return p
}

// allocate enters the parts of a shared variable with their zero values.
func (p *Program) allocate(name string, t *resolve.Type) {
	var v Value
	switch t.Kind {
	case resolve.Array:
		for i := range t.Len {
			p.allocate(fmt.Sprintf("%s[%d]", name, i), t.Elem)
		}
		return
	case resolve.Struct:
		for _, f := range t.Fields {
			p.allocate(name+"."+f.Name, f.Type)
		}
		return
	case resolve.Mutex:
		v = mutex(0)
	case resolve.Monitor:
		v = monitor{}
	case resolve.Semaphore:
		v = semaphore(0)
	case resolve.RWMutex:
		v = rwmutex{}
	case resolve.Cond:
		v = condition("")
	case resolve.WaitGroup:
		v = group(0)
	case resolve.Chan:
		if t.Cap >= 0 {
			v = channel{cap: t.Cap, bag: t.Bag}
		} else {
			v = reference("")
		}
	default:
		v = zero(t)
	}
	p.names = append(p.names, name)
	p.start[name] = v
}

// zero returns the zero value of a type.
func zero(t *resolve.Type) Value {
	switch t.Kind {
	case resolve.Bool, resolve.UntypedBool:
		return false
	case resolve.Pointer, resolve.UntypedNil:
		return pointer("")
	case resolve.Chan:
		return reference("")
	case resolve.Scalarset:
		return ident{of: t.Name}
	case resolve.Array:
		a := make(aggregate, t.Len)
		for i := range a {
			a[i] = zero(t.Elem)
		}
		return a
	case resolve.Struct:
		a := make(aggregate, len(t.Fields))
		for i, f := range t.Fields {
			a[i] = zero(f.Type)
		}
		return a
	}
	return new(big.Int)
}

// initial enters the initial value of a shared variable.
func (p *Program) initial(name string, t *resolve.Type, e syntax.Expr) {
	e = syntax.Unparen(e)
	r := &run{p: p}
	if v, ok := r.constant(e); ok {
		if n, ok := v.(*big.Int); ok && t.Kind == resolve.Semaphore {
			v = semaphore(n.Int64())
		}
		p.start[name] = v
		return
	}
	switch e := e.(type) {
	case *syntax.UnaryExpr: // &x
		p.start[name] = pointer(r.address(e.X, nil))
	case *syntax.CompositeLit:
		p.elements(e, t, func(i int, v syntax.Expr) {
			if t.Kind == resolve.Struct {
				p.initial(name+"."+t.Fields[i].Name, t.Fields[i].Type, v)
			} else {
				p.initial(fmt.Sprintf("%s[%d]", name, i), t.Elem, v)
			}
		})
	}
}

// elements calls f for the values of a literal with their indices.
func (p *Program) elements(e *syntax.CompositeLit, t *resolve.Type, f func(i int, v syntax.Expr)) {
	at := 0
	for i, v := range e.Values {
		if k := e.Keys[i]; k != nil && t.Kind == resolve.Struct {
			at = slices.IndexFunc(t.Fields, func(f resolve.Field) bool {
				return f.Name == k.(*syntax.Ident).Name
			})
		} else if k != nil {
			at = int(p.r.Const[k])
		}
		f(at, v)
		at++
	}
}

// State is a state of a model. It is never changed.
type State struct {
	shared  map[string]Value
	threads []thread // first one observer for each invariant
}

// thread is a thread in a state.
type thread struct {
	kind    *resolve.Object // nil: the observer of an invariant
	args    []Value
	history []any // what its transitions observed
	points  int   // how many points it has come to; it is before the last one
	ended   bool
	failed  string // "" or the violation that ended it
	waits   int    // 0, or 1: it is parked, or 2 + k: its case k was matched
	at      string // where it stands, in words that tell its local states apart
	labels  []string
	atEnd   bool // it may block here forever
	vars    []variable
}

// variable is a local variable in scope.
type variable struct {
	obj   *resolve.Object
	value Value
}

// Key returns a text that is equal for equal states.
func (p *Program) Key(s *State) string {
	var b strings.Builder
	for _, n := range p.names {
		fmt.Fprintf(&b, "%s=%s ", n, Text(s.shared[n]))
	}
	for i := range s.threads {
		b.WriteByte('\n')
		b.WriteString(p.Local(s, i))
	}
	return b.String()
}

// Local returns a text that is equal for equal local states of a thread.
func (p *Program) Local(s *State, t int) string {
	th := &s.threads[t]
	switch {
	case th.failed != "":
		return "failed " + th.failed
	case th.kind == nil:
		return "observer"
	case th.ended:
		return th.kind.Name + " ended" + th.at
	}
	return fmt.Sprintf("%s waits=%d %s", th.kind.Name, th.waits, th.at)
}

// Text prints a value.
func Text(v Value) string {
	switch v := v.(type) {
	case *big.Int:
		return v.String()
	case pointer:
		if v == "" {
			return "nil"
		}
		return "&" + string(v)
	case reference:
		if v == "" {
			return "nil"
		}
		return string(v)
	case ident:
		if v.n == 0 {
			return "nil"
		}
		return fmt.Sprintf("%s#%d", v.of, v.n-1)
	case aggregate:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = Text(v[i])
		}
		return "[" + strings.Join(parts, " ") + "]"
	case channel:
		return fmt.Sprintf("%s closed=%v parked=%d,%d,%d %s", Text(aggregate(v.buffer)), v.closed,
			v.parked, v.who, v.k, Text(v.value))
	case nil:
		return ""
	}
	return fmt.Sprint(v)
}

// Count returns the number of threads of the type with that name.
func (s *State) Count(name string) int {
	n := 0
	for i := range s.threads {
		if k := s.threads[i].kind; k != nil && k.Name == name {
			n++
		}
	}
	return n
}

// Threads returns the number of threads, observers included.
func (s *State) Threads() int { return len(s.threads) }

// Shared calls f for the scalar shared variables with their printed values;
// mutexes count, with their owner's number plus one as value. Channels,
// monitors and semaphores are left out.
func (p *Program) Shared(s *State, f func(name, value string)) {
	for _, n := range p.names {
		switch v := s.shared[n].(type) {
		case channel, monitor, semaphore, group, rwmutex, condition:
		default:
			f(n, Text(v))
		}
	}
}

// IsScalar reports whether a name is that of a scalar shared variable or of a mutex.
func (p *Program) IsScalar(name string) bool {
	switch p.start[name].(type) {
	case nil, channel, monitor, semaphore, group, rwmutex, condition:
		return false
	}
	return true
}

// flat removes the structure from printed values.
var flat = strings.NewReplacer("[", "", "]", "")

// MayHave reports whether the local variables of a thread allow that one of this name has this
// printed value: one that is in scope has it, or none of that name is. The functions that the
// thread executes count. An array is given as its scalars with blanks between them.
func (s *State) MayHave(t int, name, value string) bool {
	inScope := false
	for _, v := range s.threads[t].vars {
		x, t := v.value, v.obj.Type
		fields := strings.Split(name, ".")
		if fields[0] != v.obj.Name {
			continue
		}
		for _, field := range fields[1:] {
			i := slices.IndexFunc(t.Fields, func(f resolve.Field) bool { return f.Name == field })
			if i < 0 {
				t = nil
				break
			}
			x, t = x.(aggregate)[i], t.Fields[i].Type
		}
		if t == nil {
			continue
		}
		if flat.Replace(Text(x)) == flat.Replace(value) {
			return true
		}
		inScope = true
	}
	return !inScope
}

// Access tells how a transition touched a shared variable: read, or written.
type Access map[string]bool

// Outcome is one alternative of a thread's next transition.
type Outcome struct {
	Kind      system.Kind
	AtEnd     bool // blocked where it may block forever
	Next      *State
	Violation *system.Violation // Message is empty
	Access    Access            // of scalars and mutexes; true if written
	// Others is what the other alternatives access. Those that are blocked
	// count as reads of each, and are in Access.
	Others Access
}

// What ends the execution of a transition.
type (
	suspended struct{}
	blocked   struct{}
	dropped   struct{} // init, whose outcome does not count
	stays     struct{} // the thread has parked, and stands where it stood
	failure   struct{ v system.Violation }
)

// Initial executes init and returns the initial states, one for each outcome
// of its choices. The error says why init fails.
func (p *Program) Initial() ([]*State, error) {
	var all []*State
	var prefix []choice
	known := map[string]bool{}
	for runs := 0; ; runs++ {
		if p.Patience > 0 && runs > p.Patience {
			panic(ErrPatience)
		}
		s := &State{shared: maps.Clone(p.start)}
		for range p.r.Invariants {
			s.threads = append(s.threads, thread{})
		}
		r := &run{p: p, s: s, live: true, quiet: 1, choices: prefix}
		var end any
		func() {
			defer func() { end = recover() }()
			if p.r.Init != nil {
				r.block(p.r.Init.Body.Stmts)
			}
		}()
		switch end := end.(type) {
		case nil:
		case blocked:
			return nil, fmt.Errorf("init blocks")
		case dropped:
			if prefix = r.next(); prefix == nil {
				return p.some(all)
			}
			continue
		case failure:
			return nil, fmt.Errorf("init fails at %v", end.v.Pos)
		default:
			panic(end)
		}
		for n, v := range s.shared {
			held := false
			switch v := v.(type) {
			case mutex:
				held = v != 0
			case monitor:
				held = v.owner != 0
			case rwmutex:
				held = v != rwmutex{}
			}
			if held {
				return nil, fmt.Errorf("init holds %s", n)
			}
		}
		if len(s.threads) == len(p.r.Invariants) {
			return nil, fmt.Errorf("init starts no thread")
		}
		if k := p.Key(s); !known[k] {
			known[k] = true
			all = append(all, s)
		}
		if prefix = r.next(); prefix == nil {
			return p.some(all)
		}
	}
}

// some refuses a model without initial states.
func (p *Program) some(all []*State) ([]*State, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("no outcome of init is as assumed")
	}
	return all, nil
}

// Step returns the alternatives of a thread's next transition: the enabled
// ones, or one that is blocked or ended.
func (p *Program) Step(s *State, t int) []Outcome { return p.step(s, t, true) }

// asking is what a transition finds out about timeout().
type asking struct {
	p       *Program
	s       *State
	t       int
	asked   bool
	moves   bool   // some thread has a step while all timeouts are false
	reads   Access // what decides that
	perhaps Access // what else an implementation may take for that
}

// timeout answers the transition.
func (a *asking) timeout() bool {
	if a.asked {
		return !a.moves
	}
	a.asked, a.reads = true, Access{}
	order := []int{a.t} // if it can move itself, nothing else matters
	for t := range a.s.threads {
		if t != a.t {
			order = append(order, t)
		}
	}
	for _, t := range order {
		if a.s.threads[t].kind == nil {
			continue
		}
		out := a.p.step(a.s, t, false)[0]
		if out.Kind == system.Moved {
			a.moves, a.perhaps = true, out.Others
			if t == a.t {
				return false
			}
		}
		for n := range out.Access {
			a.reads[n] = false
		}
		if a.moves {
			return false
		}
	}
	return true
}

// add adds what it has found out to the outcome of the transition.
func (a *asking) add(o *Outcome) {
	for n := range a.reads {
		if _, ok := o.Access[n]; !ok {
			o.Access[n] = false
		}
	}
	if a.perhaps != nil {
		all := maps.Clone(a.perhaps)
		maps.Copy(all, o.Others)
		o.Others = all
	}
}

func (p *Program) step(s *State, t int, timeouts bool) []Outcome {
	th := &s.threads[t]
	if th.ended || th.failed != "" {
		return []Outcome{{Kind: system.Ended}}
	}
	if th.kind == nil {
		return p.observe(s, t)
	}
	var all []Outcome
	guards := Access{}
	var prefix []choice
	atEnd := th.atEnd
	ask := asking{p: p, s: s, t: t}
	for passes := 0; ; {
		r := &run{p: p, self: t, skip: th.points, history: th.history, choices: prefix,
			access: Access{}}
		r.timeout = func() bool { return timeouts && ask.timeout() }
		r.s = &State{maps.Clone(s.shared), slices.Clone(s.threads)}
		switch end := r.body(th).(type) {
		case blocked:
			for n := range r.access {
				guards[n] = false
			}
		case nil, suspended, stays:
			all = append(all, Outcome{Kind: system.Moved, Next: r.s, Access: r.access})
		case failure:
			all = append(all, Outcome{Kind: system.Moved, Next: r.s, Access: r.access,
				Violation: &end.v})
		default:
			panic(end)
		}
		if passes += 16 + len(r.passed); p.Patience > 0 && passes > 4*p.Patience {
			panic(ErrPatience)
		}
		if prefix = r.next(); prefix == nil {
			break
		}
	}
	if len(all) == 0 {
		all = []Outcome{{Kind: system.Blocked, AtEnd: atEnd, Access: guards}}
		ask.add(&all[0])
		return all
	}
	others := Access{}
	for i := range all {
		for n := range all[i].Access {
			others[n] = false
		}
	}
	for i := range all { // what the others' guards read counts for each
		all[i].Others = others
		for n := range guards {
			if _, ok := all[i].Access[n]; !ok {
				all[i].Access[n] = false
			}
		}
		ask.add(&all[i])
	}
	return all
}

// body executes a thread's body as far as it goes, and enters what became of
// the thread into the state. The result is what ended the execution.
func (r *run) body(th *thread) (end any) {
	if r.skip == 0 {
		r.live = true
	}
	func() {
		defer func() { end = recover() }()
		for i, prm := range th.kind.Params {
			r.vars = append(r.vars, variable{prm, th.args[i]})
		}
		r.statements(th.kind.Body.Stmts)
	}()
	next := *th
	switch e := end.(type) {
	case nil:
		next = thread{kind: th.kind, args: th.args, ended: true}
		for _, v := range r.vars { // properties still look
			if th.kind.Used[v.obj.Name] {
				next.vars = append(next.vars, v)
				next.at += fmt.Sprintf(" %s=%s", v.obj.Name, Text(v.value))
			}
		}
	case failure:
		next = thread{kind: th.kind, failed: fmt.Sprint(e.v.Kind, e.v.Pos)}
		for n, v := range r.s.shared { // an error leaves the monitors
			if m, ok := v.(monitor); ok && m.owner == r.self+1 {
				r.s.shared[n] = monitor{waiting: m.waiting}
			}
		}
	case suspended:
		next.history = slices.Concat(th.history, r.log)
		next.points = th.points + 1
		next.waits = r.s.threads[r.self].waits
		next.at, next.vars = r.where, r.stopped
		next.labels, next.atEnd = nil, false
		for _, l := range r.labels {
			next.atEnd = next.atEnd || l.name == "end" || strings.HasPrefix(l.name, "end_")
			hidden := !l.own && slices.ContainsFunc(th.kind.Labels, func(o *resolve.Object) bool {
				return o.Name == l.name
			})
			if !hidden {
				next.labels = append(next.labels, l.name)
			}
		}
	case stays:
		next.waits = r.s.threads[r.self].waits
	default:
		return end
	}
	r.s.threads[r.self] = next
	return end
}

// observe evaluates an invariant: its observer is blocked while it holds.
func (p *Program) observe(s *State, t int) []Outcome {
	inv := p.r.Invariants[t]
	r := &run{p: p, s: s, self: t, live: true, quiet: 1, access: Access{}}
	holds, v := r.holds(inv.Cond)
	if v == nil && holds {
		return []Outcome{{Kind: system.Blocked, Access: r.access}}
	}
	if v == nil {
		v = &system.Violation{Kind: system.Invariant, Pos: r.pos(inv.Pos)}
	}
	next := &State{s.shared, slices.Clone(s.threads)}
	next.threads[t].failed = fmt.Sprint(v.Kind, v.Pos)
	return []Outcome{{Kind: system.Moved, Next: next, Violation: v, Access: r.access}}
}

// holds evaluates a condition of a property.
func (r *run) holds(cond syntax.Expr) (value bool, v *system.Violation) {
	defer func() {
		switch end := recover().(type) {
		case nil:
		case failure:
			v = &end.v
		default:
			panic(end)
		}
	}()
	return r.eval(cond).(bool), nil
}

// Holds evaluates an expression of type bool of a property in a state, with
// values for the variables of the quantifiers around it.
func (p *Program) Holds(s *State, cond syntax.Expr, quantified map[*resolve.Object]int64) (bool,
	*system.Violation) {
	r := &run{p: p, s: s, self: -1, live: true, quiet: 1}
	for obj, v := range quantified {
		r.vars = append(r.vars, variable{obj, big.NewInt(v)})
	}
	return r.holds(cond)
}
