package check

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/testkit/sample"
)

// register and queue are types whose calls depend on their order.
type register struct{ v int }

func (r *register) Set(v int)      { r.v = v }
func (r *register) Get() int       { return r.v }
func (r *register) Swap(v int) int { old := r.v; r.v = v; return old }

type fifo struct{ l []int }

func (q *fifo) Enq(v int) { q.l = append(q.l, v) }
func (q *fifo) Deq() (int, bool) {
	if len(q.l) == 0 {
		return 0, false
	}
	v := q.l[0]
	q.l = q.l[1:]
	return v, true
}

func planOf[T any](t *testing.T, new func() T, options ...Option) *plan {
	t.Helper()
	p := planned(t, linear, new, options)
	if err := p.complete(); err != "" {
		t.Fatal(err)
	}
	return p
}

// random returns a history of a random execution of atomic calls, in which some results may be
// changed.
func random(r *rand.Rand, p *plan) *history {
	h := &history{p: p}
	goroutines, each := 1+r.IntN(3), 1+r.IntN(2)
	by := make([][]*call, goroutines)
	for g := range by {
		for i := range each {
			c := &call{invocation: p.pool[r.IntN(len(p.pool))], goroutine: g, number: i}
			by[g] = append(by[g], c)
			h.calls = append(h.calls, c)
		}
	}
	value := p.make()
	var done [limitGoroutines]int64
	at, stage := make([]int, goroutines), make([]int, goroutines)
	for left := 3 * goroutines * each; left > 0; {
		g := r.IntN(goroutines)
		if at[g] == each {
			continue
		}
		left--
		c := by[g][at[g]]
		switch stage[g] {
		case 0:
			c.began, c.seen = true, done
		case 1:
			c.results = perform(c.op.fn, value, c.args)
		default:
			c.returned = true
			done[g]++
			at[g], stage[g] = at[g]+1, -1
		}
		stage[g]++
	}
	if c := h.calls[r.IntN(len(h.calls))]; len(c.results) > 0 && r.IntN(2) == 0 {
		c.results[0] = r.IntN(3)
	}
	return h
}

// bruteForce tries all orders of all calls.
func bruteForce(h *history) bool {
	var try func(order []int) bool
	try = func(order []int) bool {
		if len(order) == len(h.calls) {
			value := h.p.make()
			for k, i := range order {
				for _, j := range order[k+1:] {
					a, b := h.calls[j], h.calls[i]
					if !a.precedes(b) {
						continue
					}
					if h.p.order == RealTime || a.goroutine == b.goroutine &&
						h.p.order == ProgramOrder {
						return false
					}
				}
				if c := h.calls[i]; !same(perform(c.op.fn, value, c.args), c.results) {
					return false
				}
			}
			return true
		}
		for i := range h.calls {
			used := false
			for _, j := range order {
				used = used || i == j
			}
			if !used && try(append(order[:len(order):len(order)], i)) {
				return true
			}
		}
		return false
	}
	return try(nil)
}

// TestHistories compares the search for an order with brute force, for both orders that are
// simple to define.
func TestHistories(t *testing.T) {
	n := sample.Of(300, 3000, 100_000)
	count := map[string]int{}
	for _, order := range []Order{RealTime, ProgramOrder} {
		plans := []*plan{
			planOf(t, func() *register { return &register{} }, Op("Set", (*register).Set),
				Op("Get", (*register).Get), Op("Swap", (*register).Swap), order),
			planOf(t, func() *fifo { return &fifo{} }, Op("Enq", (*fifo).Enq),
				Op("Deq", (*fifo).Deq), order),
		}
		for i := range n {
			r := rand.New(rand.NewPCG(uint64(i), uint64(order)))
			h := random(r, plans[i%2])
			got, want := h.explained(), bruteForce(h)
			if pairs := inPairs(h); !slices.Equal(h.before, pairs) {
				t.Fatalf("order %d, history %d: before %b, want %b", order, i, h.before, pairs)
			}
			if got != want {
				t.Fatalf("order %d, history %d: %v, brute force: %v\n%v", order, i, got, want,
					h.explanation())
			}
			count[fmt.Sprint(order, want)]++
		}
	}
	for _, k := range []string{"0 true", "0 false", "1 true", "1 false"} {
		if count[k] < n/20 {
			t.Errorf("only %d of %d histories are %s", count[k], n, k)
		}
	}
}

// inPairs is what must come before each call by the order of each pair.
func inPairs(h *history) []uint64 {
	before := make([]uint64, len(h.calls))
	for i, a := range h.calls {
		for j, b := range h.calls {
			if a.precedes(b) && (h.p.order == RealTime || a.goroutine == b.goroutine) {
				before[j] |= 1 << i
			}
		}
	}
	return before
}

// dict is a map of registers.
type dict struct{ m map[string]int }

func (d *dict) Put(k string, v int)      { d.m[k] = v }
func (d *dict) Get(k string) int         { return d.m[k] }
func (d *dict) Swap(k string, v int) int { old := d.m[k]; d.m[k] = v; return old }

// TestKeys: histories are explained with keys if they are without.
func TestKeys(t *testing.T) {
	ops := func(key bool) (out []Option) {
		for _, o := range []*Operation{Op("Put", (*dict).Put), Op("Get", (*dict).Get),
			Op("Swap", (*dict).Swap)} {
			if key {
				o.Key(0)
			}
			out = append(out, o)
		}
		return out
	}
	new := func() *dict { return &dict{map[string]int{}} }
	split, whole := planOf(t, new, ops(true)...), planOf(t, new, ops(false)...)
	n, right, several := sample.Of(300, 3000, 100_000), 0, 0
	for i := range n {
		r := rand.New(rand.NewPCG(uint64(i), 9))
		h := random(r, split)
		if len(h.keys()) > 1 {
			several++
		}
		got := h.explained()
		if !got && h.key != "" && !strings.Contains(h.explanation(), "the key "+h.key+".") {
			t.Errorf("the explanation does not name the key:\n%s", h.explanation())
		}
		all := &history{p: whole, calls: h.calls}
		for _, c := range all.calls {
			c.key = ""
		}
		if want := all.explained(); got != want {
			t.Fatalf("history %d: %v, without keys %v\n%s", i, got, want, all.explanation())
		}
		if got {
			right++
		}
	}
	if right < n/4 || right > n*19/20 || several < n/2 {
		t.Errorf("%d histories, %d of them right, %d with several keys", n, right, several)
	}
}

// TestQuiescence: two calls that overlap a third one are not apart, so they may be exchanged.
func TestQuiescence(t *testing.T) {
	p := planOf(t, func() *register { return &register{} }, Op("Set", (*register).Set),
		Op("Get", (*register).Get))
	history := func(overlap bool) *history {
		set := &call{invocation: p.pool[0], goroutine: 0, began: true, returned: true}
		get := &call{invocation: p.pool[2], goroutine: 0, number: 1, began: true, returned: true,
			results: []any{0}}
		get.seen[0] = 1
		h := &history{p: p, calls: []*call{set, get}}
		if overlap {
			h.calls = append(h.calls, &call{invocation: p.pool[2], goroutine: 1, began: true,
				returned: true, results: []any{0}})
		}
		return h
	}
	for _, tt := range []struct {
		order   Order
		overlap bool
		want    bool
	}{
		{RealTime, false, false}, {RealTime, true, false},
		{ProgramOrder, true, false},
		{Quiescence, false, false}, {Quiescence, true, true},
	} {
		p.order = tt.order
		if got := history(tt.overlap).explained(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// many returns so many arguments.
func many(n int) (args []any) {
	for i := range n {
		args = append(args, i)
	}
	return args
}

func TestMistakes(t *testing.T) {
	new := func() *register { return &register{} }
	for _, tt := range []struct {
		options []Option
		want    string
	}{
		{nil, `it needs operations: check.Op("Get", (*Cache).Get)`},
		{[]Option{Op("Get", 3)}, "operation Get: it is not a function"},
		{[]Option{Op("Get", (*fifo).Deq)}, "operation Get: its first parameter must be a " +
			"*check.register, such as that of a method expression, but it is a " +
			"func(*check.fifo) (int, bool)"},
		{[]Option{Op("Get", (*register).Get), Op("Get", (*register).Get)}, "two operations Get"},
		{[]Option{Op("Do", func(*register, func()) {})}, "operation Do: say by Arg(0, ...) which " +
			"values its parameter of type func() gets"},
		{[]Option{Op("Set", (*register).Set).Arg(0, "x")},
			"operation Set: x is not a value of type int"},
		{[]Option{Op("Set", (*register).Set).Arg(0, nil)},
			"operation Set: nil is not a value of type int"},
		{[]Option{Op("Do", func(*register, []int, func()) {}).Arg(0, nil).Arg(1, nil)}, ""},
		{[]Option{Op("Get", (*register).Get).Arg(0, 1)}, "operation Get: it has no parameter 0"},
		{[]Option{Op("Get", (*register).Get).As(3)}, "operation Get: As needs check.Model"},
		{[]Option{Op("Get", (*register).Get), Model(func() int { return 0 })},
			"operation Get: say by As what it does with the model"},
		{[]Option{Op("Set", (*register).Set).As(func(*fifo, string) {}),
			Model(func() *fifo { return nil })},
			"operation Set: what it does with the model is a " +
				"func(*check.fifo, string), which does not fit func(*check.register, int)"},
		{[]Option{Op("Get", (*register).Get), Bounds{Goroutines: 9}},
			"9 goroutines: want 2 to 8"},
		{[]Option{Op("Get", (*register).Get), Bounds{Calls: 6}},
			"18 concurrent calls: want 2 to 16"},
		{[]Option{Op("Get", (*register).Get), Bounds{Scenarios: -1}},
			"-1 scenarios: want at least 1"},
		{[]Option{Op("Swap", (*register).Swap).Arg(0, many(60)...)},
			"5 calls of a scenario and 60 in the end: want at most 64 together; Silent leaves an " +
				"operation out in the end"},
		{[]Option{Op("Swap", (*register).Swap).Arg(0, many(59)...)}, ""},
		{[]Option{Op("Swap", (*register).Swap).Arg(0, many(60)...).Silent()}, ""},
		{[]Option{Op("Get", (*register).Get), Bounds{Prefix: 60}}, "64 calls of a scenario and 1 " +
			"in the end: want at most 64 together; Silent leaves an operation out in the end"},
		{[]Option{Op("Set", (*register).Set).Key(1)}, "operation Set: it has no parameter 1"},
		{[]Option{Op("Set", (*register).Set).Key(-1)}, "operation Set: it has no parameter -1"},
		{[]Option{Op("Set", (*register).Set).Key(0)}, ""},
		{[]Option{Op("Set", (*register).Set).Key(0), Quiescence}, ""},
		{[]Option{Op("Set", (*register).Set).Key(0), ProgramOrder}, "Key does not work with " +
			"ProgramOrder: the calls of each key may have an order where those of all keys " +
			"together have none"},
		{[]Option{lockFree, Op("Set", (*register).Set).Key(0)},
			"Key says how results are compared, which does not matter here"},
		{[]Option{Op("Get", (*register).Get), Bounds{Steps: 9}},
			"Bounds.Steps is for LockFree and ObstructionFree"},
		{[]Option{lockFree, Op("Get", (*register).Get).MayWait()},
			"operation Get may wait, so it depends on others"},
		{[]Option{lockFree, Op("Get", (*register).Get), Quiescence},
			"Order says what calls return, which does not matter here"},
		{[]Option{lockFree, Op("Get", (*register).Get), Model(func() int { return 0 })},
			"Model says what calls return, which does not matter here"},
		{[]Option{Op("Get", (*register).Get), nil}, "an option is nil"},
		{[]Option{Op("Get", (*register).Get), Model[*int](nil)},
			"the function that makes a model is nil"},
		{[]Option{Op("Get", (*register).Get).As(func([1]int) int { return 0 }),
			Model(func() (m [1]int) { return m })}, "the model is of type [1]int, which an " +
			"operation gets as a copy, so it cannot change it: make a pointer to one"},
		{[]Option{Op("Get", (*register).Get).As(func(struct{}) int { return 0 }),
			Model(func() (m struct{}) { return m })}, ""},
		{[]Option{Op("Get", (*register).Get).As(func(m struct{ m map[int]int }) int { return 0 }),
			Model(func() (m struct{ m map[int]int }) { return m })}, ""},
		{[]Option{obstructionFree, Op("Get", (*register).Get), Bounds{Steps: -1}},
			"-1 steps: want at least 1"},
		{[]Option{obstructionFree, Op("Swap", (*register).Swap).Arg(0, many(60)...)}, ""},
	} {
		if got := planned(t, linear, new, tt.options).complete(); got != tt.want {
			t.Errorf("%s\nwant %s", got, tt.want)
		}
	}
	want := "the function that makes a value is nil"
	if got := planned[int](t, linear, nil, nil).complete(); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func (is property) apply(p *plan) { p.is = is }

// TestOnlyReads: Only reads what a failure shows.
func TestOnlyReads(t *testing.T) {
	with := func(text string) *plan {
		return planOf(t, func() *register { return &register{} }, Op("Set", (*register).Set),
			Op("Get", (*register).Get), Only(text))
	}
	for _, text := range []string{"Set(1); Get() then Set(2); Get() || Get()", "Get() || Set(1)"} {
		p := with(text)
		s, err := p.parse("")
		if err != "" {
			t.Fatal(err)
		}
		if got := s.String(); got != text {
			t.Errorf("%s, want %s", got, text)
		}
	}
	for text, want := range map[string]string{
		"Set(3) || Get()": "Only: there is no call Set(3); " +
			"there is Set(1), Set(2), Get()",
		strings.Repeat("Get();", 63) + " then Get()": "Only: 64 calls of a scenario and 1 in the " +
			"end: want at most 64 together; Silent leaves an operation out in the end",
		"": "Only: 0 goroutines: want 1 to 8",
	} {
		if _, err := with(text).named(text); err != want {
			t.Errorf("%q: %s, want %s", text, err, want)
		}
	}
}
