package check

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// call is a call of a history.
type call struct {
	invocation
	goroutine int // -1: in the prefix, -2: after all goroutines
	number    int // of the calls of the goroutine
	began     bool
	returned  bool
	results   []any
	// seen is how many calls of each goroutine had returned when it began.
	seen [limitGoroutines]int64
}

// String is the call with what it returned.
func (c *call) String() string {
	if !c.returned {
		return c.text + " waits"
	}
	return c.text + resultText(c.results)
}

func resultText(results []any) string {
	if len(results) == 0 {
		return ""
	}
	var out []string
	for _, r := range results {
		out = append(out, show(r))
	}
	return " = " + strings.Join(out, ", ")
}

// precedes reports whether a had returned when b began.
func (a *call) precedes(b *call) bool {
	switch {
	case a == b || !a.returned:
		return false
	case a.goroutine == b.goroutine:
		return a.number < b.number
	case a.goroutine == -1 || b.goroutine == -2:
		return true
	case b.goroutine == -1 || a.goroutine == -2:
		return false
	}
	return b.seen[a.goroutine] > int64(a.number)
}

// history is the calls of one execution.
type history struct {
	p        *plan
	scenario steps
	calls    []*call
	// before[i] are the calls that must come before i, as bits.
	before []uint64

	key   string // its calls are being ordered; empty: all
	order []int  // being tried
	best  []int  // the longest one found
	// misfits are what could have come after best, with what the specification returned.
	misfits []misfit
}

// misfit is a call that does not fit after the longest order, and why.
type misfit struct {
	call int
	why  string
}

// orders fills in before.
func (h *history) orders() {
	h.before = make([]uint64, len(h.calls))
	if h.p.order == RealTime {
		h.realTime()
		return
	}
	for i, a := range h.calls {
		for j, b := range h.calls {
			ordered := a.precedes(b)
			switch h.p.order {
			case ProgramOrder:
				ordered = ordered && (a.goroutine == b.goroutine || a.goroutine < 0 ||
					b.goroutine < 0)
			case Quiescence:
				ordered = ordered && h.apart(i, j)
			}
			if ordered {
				h.before[j] |= 1 << i
			}
		}
	}
}

// realTime fills in before by what each call has seen, without comparing all pairs, which would
// take as long as all the rest.
func (h *history) realTime() {
	var prefix uint64
	var by [limitGoroutines][]uint64 // by goroutine, the first calls that have returned
	for i, c := range h.calls {
		switch g := c.goroutine; {
		case g == -1 && c.returned:
			prefix |= 1 << i
		case g >= 0 && c.returned:
			n := len(by[g])
			if n == 0 {
				by[g] = append(by[g], 0)
				n = 1
			}
			by[g] = append(by[g], by[g][n-1]|1<<i)
		}
	}
	all := prefix
	for _, sets := range by {
		if n := len(sets); n > 0 {
			all |= sets[n-1]
		}
	}
	last := uint64(0) // the calls in the end so far
	for i, c := range h.calls {
		switch {
		case c.goroutine == -1:
			h.before[i] = prefix & (1<<i - 1)
		case c.goroutine == -2:
			h.before[i] = all | last
			last |= 1 << i
		default:
			h.before[i] = prefix
			for g, sets := range by {
				n := int(c.seen[g])
				if g == c.goroutine {
					n = c.number
				}
				if n = min(n, len(sets)-1); n > 0 {
					h.before[i] |= sets[n]
				}
			}
		}
	}
}

// waiting reports whether a call has not returned.
func (h *history) waiting() bool {
	return slices.ContainsFunc(h.calls, func(c *call) bool { return !c.returned })
}

// apart reports whether there is a moment between the calls i and j in which no call is running:
// the calls before it, i among them, have all returned when those after it begin.
func (h *history) apart(i, j int) bool {
	first := make([]bool, len(h.calls))
	first[i] = true
	for again := true; again; {
		again = false
		for k, a := range h.calls {
			for l, b := range h.calls {
				if first[k] && !first[l] && !a.precedes(b) {
					first[l], again = true, true
				}
			}
		}
	}
	return !first[j]
}

// explained looks for an order of the calls in which a sequential value returns the same (Wing and
// Gong, "Testing and verifying concurrent objects", JPDC 1993). Calls that wait are not in it: they
// wait forever, so the specification must make them wait after all others.
//
// The value cannot be copied, so each attempt that fails makes a new one and repeats the calls
// before it. That is why github.com/anishathalye/porcupine does not check these histories: its
// model is a function from a state, which stays as it is, to the next state, and it stores states
// and compares them. All that is known of a value here is the list of its calls, and two lists are
// never equal. Lowe's memoization ("Testing for linearizability", CCPE 2017)
// needs equal values to be recognized, too; a value with locks and channels is not. It would gain
// little: of the nodes of the search in 2,000 random histories of a queue, it saves 0.7% with 2 x 2
// calls, 8% with 3 x 2, and 24% with 3 x 3.
//
// If every call has a key ([Operation.Key]), the calls of each key are ordered by themselves: a
// history is linearizable if that of each object is, and quiescently consistent likewise (Herlihy
// and Shavit, "The Art of Multiprocessor Programming", 3.3 and 3.5). Of the calls that are made on
// specifications in 2,000 random histories of a map with two keys, that saves 4% with 2 x 2 calls,
// 24% with 3 x 2, 32% with 3 x 3 and 80% with 4 x 4; and 16%, 51%, 77% and 99% where a third of the
// histories have no order.
func (h *history) explained() bool {
	h.orders()
	keys := h.keys()
	for _, key := range keys {
		h.key, h.order, h.best, h.misfits = key, nil, nil, nil
		if !h.extend(h.others(), h.fresh()) {
			return false
		}
	}
	return len(keys) > 0 || h.extend(0, h.fresh())
}

// keys returns the keys of the calls if each has one, and they are several.
func (h *history) keys() (keys []string) {
	for _, c := range h.calls {
		if c.key == "" {
			return nil
		}
		if !slices.Contains(keys, c.key) {
			keys = append(keys, c.key)
		}
	}
	if len(keys) < 2 {
		return nil
	}
	return keys
}

// others are the calls with other keys than the one that is being checked.
func (h *history) others() (set uint64) {
	for i, c := range h.calls {
		if c.key != h.key {
			set |= 1 << i
		}
	}
	return set
}

// sequential is a value that one goroutine uses.
type sequential struct{ value reflect.Value }

// fresh makes a value and repeats the order on it.
func (h *history) fresh() *sequential {
	s := &sequential{}
	if h.p.model != nil {
		s.value = h.p.makeModel()
	} else {
		s.value = h.p.make()
	}
	for _, i := range h.order {
		h.apply(s, h.calls[i])
	}
	return s
}

// apply makes a call on a sequential value; ok is false if it waits, and then the value is useless.
func (h *history) apply(s *sequential, c *call) (results []any, ok bool) {
	f := c.op.fn
	if h.p.model != nil {
		f = c.op.model
	}
	if c.op.mayWait {
		return waits(f, s.value, c.args)
	}
	return perform(f, s.value, c.args), true
}

// extend reports whether the order can be extended to all calls; s is the value after it.
func (h *history) extend(done uint64, s *sequential) bool {
	if len(h.order) > len(h.best) {
		h.best, h.misfits = slices.Clone(h.order), nil
	}
	left := false
	for i, c := range h.calls {
		if done>>i&1 == 1 || !c.returned {
			continue
		}
		left = true
		if h.before[i]&^done != 0 {
			continue
		}
		if s == nil {
			s = h.fresh()
		}
		got, ok := h.apply(s, c)
		reached := s
		s = nil
		if !ok {
			h.misfit(i, "it has to wait here")
			continue
		}
		if !same(got, c.results) {
			h.misfit(i, "here:"+strings.TrimPrefix(resultText(got), " ="))
			continue
		}
		h.order = append(h.order, i)
		if h.extend(done|1<<i, reached) {
			return true
		}
		h.order = h.order[:len(h.order)-1]
	}
	return !left && h.rest(s)
}

// misfit notes a call that does not fit after the longest order.
func (h *history) misfit(call int, why string) {
	if slices.Equal(h.order, h.best) {
		h.misfits = append(h.misfits, misfit{call, why})
	}
}

// rest reports whether all calls that have not returned have to wait after the order.
func (h *history) rest(s *sequential) bool {
	for i, c := range h.calls {
		if c.returned || !c.began || h.key != "" && c.key != h.key {
			continue
		}
		if s == nil {
			s = h.fresh()
		}
		_, ok := h.apply(s, c)
		s = nil
		if ok {
			h.misfit(i, "it does not have to here")
			return false
		}
	}
	return true
}

// perform calls a function.
func perform(f, value reflect.Value, args []reflect.Value) []any {
	in := make([]reflect.Value, 0, len(args)+1)
	in = append(append(in, value), args...)
	out := f.Call(in)
	results := make([]any, len(out))
	for i, v := range out {
		results[i] = v.Interface()
	}
	return results
}

// same reports whether two calls have returned the same.
func same(a, b []any) bool {
	for i := range a {
		if !equal(a[i], b[i]) {
			return false
		}
	}
	return true
}

func equal(a, b any) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	switch x := a.(type) {
	case int:
		y, ok := b.(int)
		return ok && x == y
	case bool:
		y, ok := b.(bool)
		return ok && x == y
	case string:
		y, ok := b.(string)
		return ok && x == y
	case error:
		y, ok := b.(error)
		return ok && x.Error() == y.Error()
	}
	t := reflect.TypeOf(a)
	if k := t.Kind(); k == reflect.Chan || k == reflect.Func {
		return true
	}
	return reflect.DeepEqual(a, b)
}

// promise is what the order makes a type.
func (o Order) promise() string {
	switch o {
	case ProgramOrder:
		return "sequentially consistent"
	case Quiescence:
		return "quiescently consistent"
	}
	return "linearizable"
}

// explanation says why no order explains the calls: the calls on a line of time, and the order
// that explains most of them.
func (h *history) explanation() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not %s: no order of these calls explains what they return\n\n",
		h.p.what, h.p.order.promise())
	h.timeline(&b)
	b.WriteString("\n")
	if h.key != "" {
		fmt.Fprintf(&b, "What follows is about the calls with the key %s.\n", h.key)
	}
	if len(h.best) == 0 {
		b.WriteString("No call can come first:\n")
	} else {
		b.WriteString("One after the other, the most that fit are\n")
		for _, i := range h.best {
			fmt.Fprintf(&b, "    %s\n", h.calls[i])
		}
		b.WriteString("After these, none of the others fits:\n")
	}
	for _, m := range h.misfits {
		fmt.Fprintf(&b, "    %s (%s)\n", h.calls[m.call], m.why)
	}
	fmt.Fprintf(&b, "\nTo run this scenario alone, add the option\n    check.Only(`%s`)\n",
		h.scenario)
	return b.String()
}

// timeline draws the calls: a column for each goroutine, time runs downwards.
func (h *history) timeline(b *strings.Builder) {
	n := 0
	for _, c := range h.calls {
		n = max(n, c.goroutine+1)
	}
	width := make([]int, n)
	for _, c := range h.calls {
		if c.goroutine >= 0 {
			width[c.goroutine] = max(width[c.goroutine], len([]rune(c.text))+2,
				len([]rune(resultText(c.results)))+3, len("goroutine 1"))
		}
	}
	row := func(cells []string) {
		line := ""
		for g, w := range width {
			line += "    " + cells[g] + strings.Repeat(" ", w-len([]rune(cells[g])))
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	for _, c := range h.calls {
		if c.goroutine == -1 {
			fmt.Fprintf(b, "    first: %s\n", c)
		}
	}
	cells := make([]string, n)
	for g := range cells {
		cells[g] = fmt.Sprintf("goroutine %d", g+1)
	}
	row(cells)
	running := make([]bool, n)
	for _, e := range h.events() {
		for g := range cells {
			cells[g] = ""
			if running[g] {
				cells[g] = "│"
			}
		}
		g := e.call.goroutine
		switch {
		case !e.end:
			cells[g], running[g] = "┌ "+e.call.text, true
		case len(e.call.results) == 0:
			cells[g], running[g] = "└", false
		default:
			cells[g], running[g] = "└"+resultText(e.call.results), false
		}
		row(cells)
	}
	for g := range cells {
		cells[g] = ""
		if running[g] {
			cells[g] = "│ waits"
		}
	}
	if strings.Join(cells, "") != "" {
		row(cells)
	}
	for _, c := range h.calls {
		if c.goroutine == -2 {
			fmt.Fprintf(b, "    last: %s\n", c)
		}
	}
}

// account is the explanation for programs, in one line, which trace.CutHistory reads. It has the
// syntax of Go because the interpreter would take long to load package encoding/json.
func (h *history) account() string {
	begin, end := make([]int, len(h.calls)), make([]int, len(h.calls))
	now := 0
	alone := func(goroutine int) {
		for i, c := range h.calls {
			if c.goroutine == goroutine {
				begin[i], end[i] = now, now+1
				now += 2
			}
		}
	}
	alone(-1)
	for _, e := range h.events() {
		i := slices.Index(h.calls, e.call)
		if e.end {
			end[i] = now
		} else {
			begin[i], end[i] = now, -1
		}
		now++
	}
	alone(-2)
	var b strings.Builder
	fmt.Fprintf(&b, "cpor calls: %q %q %q", fmt.Sprint(h.p.what), h.p.order.promise(),
		h.scenario.String())
	for i, c := range h.calls {
		if !c.began {
			continue
		}
		result, why := strings.TrimPrefix(resultText(c.results), " = "), ""
		for _, m := range h.misfits {
			if m.call == i {
				why = m.why
			}
		}
		fmt.Fprintf(&b, " %d %q %q %d %d %d %q", max(0, c.goroutine+1), c.text, result, begin[i],
			end[i], slices.Index(h.best, i)+1, why)
	}
	return b.String()
}

// event is the beginning or the end of a call.
type event struct {
	call *call
	end  bool
}

// events returns the beginnings and ends of the calls of the goroutines, in an order that the
// execution allows. A call begins before another ends unless that precedes it.
func (h *history) events() (out []event) {
	var calls []*call
	for _, c := range h.calls {
		if c.goroutine >= 0 && c.began {
			calls = append(calls, c)
		}
	}
	begun, ended := make([]bool, len(calls)), make([]bool, len(calls))
	for moved := true; moved; {
		moved = false
		for i, c := range calls {
			ready := !begun[i]
			for j, d := range calls {
				ready = ready && (ended[j] || !d.precedes(c))
			}
			if ready {
				begun[i], moved = true, true
				out = append(out, event{c, false})
			}
		}
		for i, c := range calls {
			ready := begun[i] && !ended[i] && c.returned
			for j, d := range calls {
				ready = ready && (begun[j] || c.precedes(d))
			}
			if ready {
				ended[i], moved = true, true
				out = append(out, event{c, true})
			}
		}
	}
	return out
}
