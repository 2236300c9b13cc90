package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/testkit/sample"
)

// The kinds of operations of testdata/types.
const (
	locked = iota
	compared
	torn
	twice
	looksAgain
	noWakeup
	noLoop
)

// operation is an operation of testdata/types.
type operation int

func (o operation) kind() int { return int(o) / 1000 }

// waits reports whether the operation waits in a state.
func (o operation) waits(s int8) bool { return o.digit(s) == 9 }

func (o operation) digit(s int8) int8 {
	return int8(int(o) / []int{1, 10, 100}[s] % 10)
}

// after returns what the operation does in a state if it does not wait.
func (o operation) after(s int8) (next, result int8) {
	if d := o.digit(s); d != 9 {
		return d / 3, d % 3
	}
	return s, 0
}

// calls is a scenario: the operations of each goroutine.
type calls [][]operation

// The places of a goroutine in a call.
const (
	notBegun = iota
	begun    // a kind of its own steps follows
	looked
	mustSleep
	asleep
	woken
	acts
	wakes
	unlocks
	again
	looks
	leaves
	between
	ended
)

// instant is where an execution is.
type instant struct {
	s      int8 // the state
	holder int8 // of the lock, 1 for goroutine 0; 0: nobody
	call   [3]int8
	place  [3]int8
	acc    [3]int8 // what it has read
	result [3]int8 // of the call
	late   [3]bool // it has waited
	// of call i of goroutine g, at 2*g+i
	results [6]int8
	seen    [6][3]int8
}

// violated explores all interleavings of beginnings, single accesses and ends of calls. It
// reports whether no order explains what one of them returns, or who waits in the end.
func (c calls) violated() bool {
	visited := map[instant]bool{}
	var explore func(x instant) bool
	explore = func(x instant) bool {
		if visited[x] {
			return false
		}
		visited[x] = true
		stuck := true
		for g := range c {
			y := x
			if int(x.call[g]) < len(c[g]) && c.step(&y, g) {
				stuck = false
				if explore(y) {
					return true
				}
			}
		}
		return stuck && !c.explained(&x, 0, [3]int8{})
	}
	return explore(instant{})
}

// step takes a step of a goroutine; it returns false if the goroutine cannot move.
func (c calls) step(x *instant, g int) bool {
	o := c[g][x.call[g]]
	at := 2*g + int(x.call[g])
	place := &x.place[g]
	switch *place {
	case notBegun:
		x.seen[at] = x.call
		x.late[g] = false
		*place = begun
	case ended:
		x.results[at] = x.result[g]
		x.call[g]++
		*place, x.acc[g], x.result[g] = notBegun, 0, 0
	case begun, woken, again, between:
		return c.enter(x, g, o)
	case looked:
		x.acc[g] = x.s
		*place = acts
		switch {
		case o.kind() == twice:
			*place = leaves
		case o.waits(x.s) && !(x.late[g] && o.kind() == noLoop):
			*place = mustSleep
		}
	case mustSleep:
		x.holder, *place = 0, asleep
	case asleep:
		return false
	case acts:
		next, result := o.after(x.acc[g])
		switch {
		case o.kind() == compared && x.s != x.acc[g]:
			*place = begun
			return true
		case o.kind() <= torn && o.kind() != locked:
			*place = ended
		default:
			*place = wakes
		}
		x.s, x.result[g] = next, result
	case wakes:
		for h := range x.place {
			if o.kind() != noWakeup && x.place[h] == asleep {
				x.place[h] = woken
			}
		}
		*place = unlocks
	case unlocks:
		x.holder, *place = 0, ended
		if o.kind() == looksAgain {
			*place = again
		}
	case looks:
		if next, _ := o.after(x.acc[g]); x.s != next {
			x.result[g] = (x.result[g] + 1) % 3
		}
		x.holder, *place = 0, ended
	case leaves:
		x.holder, *place = 0, between
	}
	return true
}

// enter takes the lock, or the first step of an operation without it.
func (c calls) enter(x *instant, g int, o operation) bool {
	place := &x.place[g]
	if k := o.kind(); k == compared || k == torn {
		x.acc[g], *place = x.s, acts
		return true
	}
	if x.holder != 0 {
		return false
	}
	x.holder = int8(g + 1)
	switch *place {
	case begun:
		*place = looked
	case woken:
		x.late[g] = true
		*place = looked
	case again:
		*place = looks
	case between:
		*place = acts
	}
	return true
}

// explained reports whether the calls that are left can come one after the other.
func (c calls) explained(x *instant, s int8, done [3]int8) bool {
	left, pending := false, false
	for g, list := range c {
		if done[g] == x.call[g] {
			pending = pending || int(x.call[g]) < len(list)
			continue
		}
		left = true
		o, at := list[done[g]], 2*g+int(done[g])
		first := !o.waits(s)
		for h, n := range x.seen[at] {
			first = first && n <= done[h]
		}
		if !first {
			continue
		}
		next := done
		next[g]++
		if s, result := o.after(s); result == x.results[at] && c.explained(x, s, next) {
			return true
		}
	}
	if left {
		return false
	}
	for g, list := range c {
		if int(x.call[g]) < len(list) && !list[x.call[g]].waits(s) {
			return false
		}
	}
	return pending || s == x.s
}

// generated is a pool of operations: quick ones, then those that wait in some state.
type generated struct {
	r   *rand.Rand
	all []operation
	// by kind
	quick, waiting [noLoop + 1][]int
}

// poolOf generates operations of all kinds.
func poolOf(r *rand.Rand) *generated {
	p := &generated{r: r}
	table := func(waits bool) operation {
		code, at := 0, r.IntN(3)
		for i := range 3 {
			d := r.IntN(9)
			if waits && (i == at || r.IntN(4) == 0) {
				d = 9
			}
			code = 10*code + d
		}
		return operation(code)
	}
	for kind := range noLoop + 1 {
		n := 2
		if kind <= compared {
			n = 6
		}
		for range n {
			p.quick[kind] = append(p.quick[kind], len(p.all))
			p.all = append(p.all, operation(1000*kind)+table(false))
		}
	}
	for kind := range noLoop + 1 {
		for n := 0; kind != compared && n < max(2, 6-6*kind); n++ {
			p.waiting[kind] = append(p.waiting[kind], len(p.all))
			p.all = append(p.all, operation(1000*kind)+table(true))
		}
	}
	return p
}

// args are the arguments of the program with these operations.
func (p *generated) args() (out []string) {
	for i, o := range p.all {
		if i == p.waiting[locked][0] {
			out = append(out, "--")
		}
		out = append(out, strconv.Itoa(int(o)))
	}
	return out
}

// typ draws a type of three operations: a right one, or one with a fault in one of them.
func (p *generated) typ() (ops []int) {
	r := p.r
	of := func(kinds [noLoop + 1][]int, kind int) int {
		return kinds[kind][r.IntN(len(kinds[kind]))]
	}
	any := func(kind int) int {
		if r.IntN(2) == 0 {
			return of(p.waiting, kind)
		}
		return of(p.quick, kind)
	}
	if r.IntN(6) == 0 {
		for range 3 {
			ops = append(ops, of(p.quick, compared))
		}
		return ops
	}
	ops = []int{any(locked), any(locked), any(locked)}
	switch r.IntN(3) {
	case 0:
		ops[0] = any(torn + r.IntN(noLoop+1-torn))
	case 1:
		ops[0] = of(p.quick, compared+r.IntN(2))
	}
	return ops
}

// scenario draws a scenario of a type, as package scenario writes it.
func (p *generated) scenario() (calls, string) {
	ops := p.typ()
	goroutines, each := 2, 1+p.r.IntN(2)
	if each == 1 {
		goroutines += p.r.IntN(2)
	}
	c := make(calls, goroutines)
	text := "0:"
	for g := range c {
		text += "/"
		for range each {
			k := ops[p.r.IntN(len(ops))]
			c[g] = append(c[g], p.all[k])
			text += " " + strconv.Itoa(k)
		}
	}
	return c, text
}

// TestTypes explores scenarios of random types: a generated specification, in which calls may have
// to wait, and an implementation, most with a fault. It compares with all interleavings.
func TestTypes(t *testing.T) {
	_, c := compiled(t, "types")
	n, wrong, waited := sample.Of(10, 30, 1000), 0, 0
	const batch = 500
	for seed := range uint64((n + batch - 1) / batch) {
		p := poolOf(rand.New(rand.NewPCG(seed, 3)))
		prog, err := c.Test("TestTypes", gosrc.Explore{Args: p.args()})
		if err != nil {
			t.Fatal(err)
		}
		var right, faulty []string
		for range min(batch, n) {
			s, text := p.scenario()
			if strings.Contains(fmt.Sprint(s), "9") {
				waited++
			}
			if s.violated() {
				faulty = append(faulty, text)
			} else {
				right = append(right, text)
			}
		}
		wrong += len(faulty)
		if v := search(t, prog, right...); v != nil {
			t.Fatalf("seed %d, %s of %v: %s, but an order explains each interleaving", seed,
				right[v.Trace.Initial], p.all, v.Violation.Message)
		}
		for _, text := range faulty {
			if v := search(t, prog, text); v == nil || !strings.Contains(v.Violation.Message,
				"is not linearizable") {
				t.Fatalf("seed %d, %s of %v: %+v, but no order explains all interleavings", seed,
					text, p.all, v)
			}
		}
		if done := (seed + 1) * batch; done%10000 == 0 {
			t.Logf("%d scenarios, %d of them wrong", done, wrong)
		}
	}
	if wrong < n/10 || wrong > n*9/10 || waited < n/10 {
		t.Errorf("%d of %d scenarios are wrong, %d can wait: they should be mixed", wrong, n,
			waited)
	}
	t.Logf("%d of %d scenarios are wrong, %d can wait", wrong, n, waited)
}
