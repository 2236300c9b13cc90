package check

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Linearizable checks that a type is linearizable: whatever several goroutines do with a value
// at the same time, all calls return what they would have returned one after the other, in an
// order in which no call comes before one that had returned when it began (Herlihy and Wing,
// "Linearizability: a correctness condition for concurrent objects", TOPLAS 1990).
//
//	func TestCache(t *testing.T) {
//		check.Linearizable(t, NewCache,
//			check.Op("Get", (*Cache).Get),
//			check.Op("Put", (*Cache).Put))
//	}
//
// New makes a value to begin with. The options are at least one operation, see [Op], and
// [Bounds], [Model], [Order], [Only] and [Config]. No model of the type is needed: what the
// calls return one after the other is what a further value returns that one goroutine uses.
//
// Linearizable generates scenarios. A scenario makes a value and makes some calls one after the
// other (the prefix). Then several goroutines each make some calls at the same time. In the end
// come calls that observe the value: every operation that returns something, with all its
// arguments. Small scenarios come first. Each scenario is explored under every schedule as by
// [Every], and the calls of every execution are checked. So panics, data races, deadlocks and
// leaked goroutines are failures, too.
//
// If a scenario fails, the test fails. Its log shows the calls on a line of time, the order that
// explains most of them, and the schedule. If everything was covered, the log says which scenarios
// those were. A type that passes is right for them; larger ones may fail.
func Linearizable[T any](t *testing.T, new func() T, options ...Option) {
	t.Helper()
	linearizable(t, planned(t, linear, new, options))
}

// Option is an operation of the type that [Linearizable] checks, or says how it is checked.
type Option interface{ apply(*plan) }

// Operation is an operation of a type, see [Op].
type Operation struct {
	name    string
	fn      reflect.Value
	model   reflect.Value
	values  []argument // the verdict on a test that ranges over a map would say so
	mayWait bool
	silent  bool
	keyed   bool
	key     int // the parameter that is a key
}

// argument is the values of a parameter.
type argument struct {
	i      int
	values []any
}

// Op is an operation: a name, and a function whose first parameter is the value, such as a
// method expression.
//
//	check.Op("Put", (*Cache).Put)
//	check.Op("Clear", func(c *Cache) { c.Reset(0) })
//
// The other parameters get small values that collide: 1 and 2 for numbers, "a" and "b" for
// strings, false and true, and context.Background(). [Operation.Arg] gives others.
//
// Results are compared by ==, or by reflect.DeepEqual if they are not comparable, and errors by
// their messages. Results that are channels or functions are not compared.
func Op(name string, f any) *Operation {
	return &Operation{name: name, fn: reflect.ValueOf(f)}
}

// Arg says which values a parameter gets; 0 is the first one after the value of the type.
func (o *Operation) Arg(i int, values ...any) *Operation {
	o.values = append(o.values, argument{i, values})
	return o
}

// Key says that parameter i is a key, and that calls with different keys do not affect each other.
// A history in which every call has a key is then checked for each key by itself, which is faster
// if it is long. An operation without a key, such as Len, belongs to all keys: what it returns is
// compared in histories that are not split.
func (o *Operation) Key(i int) *Operation {
	o.key, o.keyed = i, true
	return o
}

// MayWait says that a call may wait forever if nothing is there for it, as a queue's Take does.
// It may wait only where the specification waits, too.
func (o *Operation) MayWait() *Operation {
	o.mayWait = true
	return o
}

// Silent says that the operation is not among the calls in the end that observe the value.
func (o *Operation) Silent() *Operation {
	o.silent = true
	return o
}

// As is what the operation does with the model, see [Model]: a function whose first parameter is
// the model, with the other parameters and the results of the operation.
func (o *Operation) As(f any) *Operation {
	o.model = reflect.ValueOf(f)
	return o
}

func (o *Operation) apply(p *plan) { p.ops = append(p.ops, o) }

// Model replaces the type itself as the specification: new makes a value that one goroutine uses.
// Each operation says by [Operation.As] what it does with it.
func Model[M any](new func() M) Option {
	return option(func(p *plan) {
		p.model = reflect.TypeFor[M]()
		if new != nil {
			p.makeModel = func() reflect.Value { return reflect.ValueOf(new()) }
		}
	})
}

// Bounds say which scenarios are explored. 0 is the default.
type Bounds struct {
	// Goroutines is the largest number of goroutines (3, at most 8), and Calls how many calls
	// each makes at most (2).
	Goroutines, Calls int
	// Concurrent is the largest number of calls that all goroutines make together (at most 16).
	// The default is Goroutines times Calls if one of them is given, and 4 otherwise: that is 2
	// goroutines with 2 calls each, and 3 with one.
	Concurrent int
	// Prefix is the largest number of calls before the goroutines begin (1); -1: none.
	Prefix int
	// Scenarios is how many scenarios of one size are explored (200). If there are more, they
	// are drawn at random, twice as many as are explored; those that reach new code or new pairs
	// of conflicting operations come first. The verdict says how many there are.
	Scenarios int
	// Seed is that of the random draws (1). The flag -seed of `cpor test` replaces it.
	Seed uint64
	// Steps is how many steps goroutines may make before a call ends (1000), for [LockFree] and
	// [ObstructionFree] only.
	Steps int
}

func (b Bounds) apply(p *plan) { p.bounds = b }

// Order says what the order of the calls must respect.
type Order int

// The orders.
const (
	// RealTime: a call that returns before another begins comes first. That is linearizability.
	RealTime Order = iota
	// ProgramOrder: the calls of one goroutine keep their order. That is sequential consistency.
	ProgramOrder
	// Quiescence: calls that a moment separates in which no call is running keep their order.
	// That is quiescent consistency.
	Quiescence
)

func (o Order) apply(p *plan) { p.order = o }

func (c Config) apply(p *plan) { p.config = c }

// Only explores one scenario, as a failure shows it.
func Only(scenario string) Option { return option(func(p *plan) { p.only = scenario }) }

type option func(*plan)

func (o option) apply(p *plan) { o(p) }

// plan is what one call of Linearizable checks.
type plan struct {
	is        property
	what      reflect.Type
	missing   bool                 // an option is nil
	make      func() reflect.Value // nil: there is none
	model     reflect.Type         // nil: the type itself
	makeModel func() reflect.Value
	ops       []*Operation
	bounds    Bounds
	order     Order
	config    Config
	only      string
	pool      []invocation
}

// invocation is an operation with its arguments.
type invocation struct {
	op   *Operation
	args []reflect.Value
	text string // Put("a", 1)
	key  string // that of Key; empty: none
}

// limitGoroutines is how many goroutines a scenario may have.
const limitGoroutines = 8

// limitCalls is how many calls a history may have: sets of them are the bits of a word.
const limitCalls = 64

// complete fills in what was not said, and returns what is wrong.
func (p *plan) complete() string {
	if err := p.lacks(); err != "" {
		return err
	}
	b := &p.bounds
	if b.Concurrent == 0 && b.Goroutines == 0 && b.Calls == 0 {
		b.Concurrent = 4
	}
	b.Goroutines = cmp.Or(b.Goroutines, 3)
	b.Calls = cmp.Or(b.Calls, 2)
	b.Concurrent = cmp.Or(b.Concurrent, b.Goroutines*b.Calls)
	b.Prefix = max(cmp.Or(b.Prefix, 1), 0)
	b.Scenarios = cmp.Or(b.Scenarios, 200)
	b.Seed = cmp.Or(b.Seed, 1)
	if err := p.fitsProperty(); err != "" {
		return err
	}
	b.Steps = cmp.Or(b.Steps, 1000)
	switch {
	case b.Goroutines < 2 || b.Goroutines > limitGoroutines:
		return fmt.Sprintf("%d goroutines: want 2 to %d", b.Goroutines, limitGoroutines)
	case b.Calls < 1:
		return fmt.Sprintf("%d calls of each goroutine: want at least 1", b.Calls)
	case b.Concurrent < 2 || b.Concurrent > 16:
		return fmt.Sprintf("%d concurrent calls: want 2 to 16", b.Concurrent)
	case b.Scenarios < 1:
		return fmt.Sprintf("%d scenarios: want at least 1", b.Scenarios)
	}
	names := map[string]bool{}
	for _, o := range p.ops {
		if names[o.name] {
			return "two operations " + o.name
		}
		names[o.name] = true
		if err := p.operation(o); err != "" {
			return fmt.Sprintf("operation %s: %s", o.name, err)
		}
	}
	if p.model != nil && p.model.Size() > 0 && !refers(p.model) {
		return fmt.Sprintf("the model is of type %s, which an operation gets as a copy, so it "+
			"cannot change it: make a pointer to one", p.model)
	}
	return p.tooMany(b.Prefix + b.Concurrent)
}

// lacks returns what was not given.
func (p *plan) lacks() string {
	switch {
	case p.make == nil:
		return "the function that makes a value is nil"
	case p.model != nil && p.makeModel == nil:
		return "the function that makes a model is nil"
	case p.missing:
		return "an option is nil"
	case len(p.ops) == 0:
		return `it needs operations: check.Op("Get", (*Cache).Get)`
	}
	return ""
}

// refers reports whether a copy of a value of a type shares something with it.
func refers(t reflect.Type) bool {
	switch k := t.Kind(); k {
	case reflect.Struct:
		for i := range t.NumField() {
			if refers(t.Field(i).Type) {
				return true
			}
		}
		return false
	case reflect.Array:
		return refers(t.Elem())
	default:
		return k == reflect.Pointer || k == reflect.Map || k == reflect.Slice ||
			k == reflect.Chan || k == reflect.Func || k == reflect.Interface
	}
}

// tooMany says that n calls of a scenario are too many together with those in the end; empty if
// they are not.
func (p *plan) tooMany(n int) string {
	last := 0
	for _, x := range p.pool {
		if p.is == linear && x.observes() {
			last++
		}
	}
	if n+last <= limitCalls {
		return ""
	}
	return fmt.Sprintf("%d calls of a scenario and %d in the end: want at most %d together; "+
		"Silent leaves an operation out in the end", n, last, limitCalls)
}

// observes reports whether the call is one of those in the end.
func (x *invocation) observes() bool {
	return !x.op.mayWait && !x.op.silent && x.op.fn.Type().NumOut() > 0
}

// operation enters the invocations of an operation.
func (p *plan) operation(o *Operation) string {
	if !o.fn.IsValid() || o.fn.Kind() != reflect.Func {
		return "it is not a function"
	}
	f := o.fn.Type()
	switch {
	case f.NumIn() == 0 || !p.what.AssignableTo(f.In(0)):
		return fmt.Sprintf("its first parameter must be a %s, such as that of a method "+
			"expression, but it is a %s", p.what, f)
	case f.IsVariadic():
		return "it is variadic: wrap it in a function that is not"
	}
	if p.model != nil {
		if err := o.fits(p.model, f); err != "" {
			return err
		}
	} else if o.model.IsValid() {
		return "As needs check.Model"
	}
	lists := [][]reflect.Value{nil}
	for i := 1; i < f.NumIn(); i++ {
		values, err := o.valuesOf(i-1, f.In(i))
		if err != "" {
			return err
		}
		var longer [][]reflect.Value
		for _, l := range lists {
			for _, v := range values {
				longer = append(longer, append(append([]reflect.Value{}, l...), v))
			}
		}
		lists = longer
	}
	p.invocations(o, lists)
	return o.fitsParameters(f.NumIn() - 1)
}

// fitsParameters returns what was said about parameters that do not exist, if there are n.
func (o *Operation) fitsParameters(n int) string {
	named := []int{}
	for _, a := range o.values {
		named = append(named, a.i)
	}
	if o.keyed {
		named = append(named, o.key)
	}
	for _, i := range named {
		if i < 0 || i >= n {
			return fmt.Sprintf("it has no parameter %d", i)
		}
	}
	return ""
}

// invocations enters an operation with lists of arguments.
func (p *plan) invocations(o *Operation, lists [][]reflect.Value) {
	for _, l := range lists {
		var text []string
		for _, v := range l {
			text = append(text, show(v.Interface()))
		}
		x := invocation{op: o, args: l, text: o.name + "(" + strings.Join(text, ", ") + ")"}
		if o.keyed && o.key >= 0 && o.key < len(text) {
			x.key = text[o.key]
		}
		p.pool = append(p.pool, x)
	}
}

// fits returns what is wrong with what the operation does with the model.
func (o *Operation) fits(model, f reflect.Type) string {
	if !o.model.IsValid() || o.model.Kind() != reflect.Func {
		return "say by As what it does with the model"
	}
	m := o.model.Type()
	same := m.NumIn() == f.NumIn() && m.NumOut() == f.NumOut() && model.AssignableTo(m.In(0))
	for i := 1; same && i < f.NumIn(); i++ {
		same = f.In(i) == m.In(i)
	}
	for i := 0; same && i < f.NumOut(); i++ {
		same = f.Out(i) == m.Out(i)
	}
	if !same {
		return fmt.Sprintf("what it does with the model is a %s, which does not fit %s", m, f)
	}
	return ""
}

// valuesOf returns the values of a parameter.
func (o *Operation) valuesOf(i int, t reflect.Type) (out []reflect.Value, err string) {
	list := defaults(t)
	for _, a := range o.values {
		if a.i == i {
			list = a.values
		}
	}
	if len(list) == 0 {
		return nil, fmt.Sprintf("say by Arg(%d, ...) which values its parameter of type %s gets", i,
			t)
	}
	for _, v := range list {
		x := reflect.ValueOf(v)
		switch {
		case v == nil && slices.Contains([]reflect.Kind{reflect.Chan, reflect.Func,
			reflect.Interface, reflect.Map, reflect.Pointer, reflect.Slice}, t.Kind()):
			x = reflect.Zero(t)
		case v == nil:
			return nil, fmt.Sprintf("nil is not a value of type %s", t)
		case x.Type().AssignableTo(t):
		case x.CanConvert(t) && (x.Kind() == reflect.String) == (t.Kind() == reflect.String):
			x = x.Convert(t)
		default:
			return nil, fmt.Sprintf("%v is not a value of type %s", v, t)
		}
		out = append(out, x)
	}
	return out, ""
}

// defaults are the values of a type.
func defaults(t reflect.Type) []any {
	switch k := t.Kind(); {
	case k == reflect.Bool:
		return []any{false, true}
	case k == reflect.String:
		return []any{"a", "b"}
	case k >= reflect.Int && k <= reflect.Float64 && k != reflect.Uintptr:
		return []any{1, 2}
	case t == reflect.TypeFor[context.Context]():
		return []any{context.Background()}
	case t == reflect.TypeFor[any]():
		return []any{1, 2}
	case k == reflect.Struct && t.NumField() == 0:
		return []any{reflect.Zero(t).Interface()}
	}
	return nil
}

// show returns a value for people, mostly as in Go.
func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "nil"
	case string:
		return fmt.Sprintf("%q", v)
	case error:
		return fmt.Sprintf("error(%q)", v.Error())
	case context.Context:
		return "ctx"
	}
	return fmt.Sprintf("%+v", v)
}

// describe says what scenarios can be generated of: the number of invocations, and the bounds.
func (p *plan) describe() string {
	b := p.bounds
	var operations []string
	n := 0
	for i := range p.pool {
		n++
		if i+1 == len(p.pool) || p.pool[i+1].op != p.pool[i].op {
			operations, n = append(operations, strconv.Itoa(n)), 0
		}
	}
	return fmt.Sprint(len(p.pool), b.Goroutines, b.Calls, b.Concurrent, b.Prefix, b.Scenarios,
		b.Seed, p.only != "", int(p.is), b.Steps, " ", strings.Join(operations, ","))
}
