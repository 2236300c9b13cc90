package scenario_test

import (
	"math/rand/v2"
	"strconv"
)

// failures is a set of ways in which a scenario fails.
type failures uint8

const (
	notLinear failures = 1 << iota
	raced
	panicked
	stuck
)

// use is a call of a scenario: an operation with argument k.
type use struct{ op, k int8 }

// usage is the scenario of a type: a call before, if op is not -1, and the calls of goroutines.
type usage struct {
	before     []use
	goroutines [][]use
}

// newUsage draws a scenario.
func newUsage(r *rand.Rand, t *generatedType) (u usage) {
	draw := func() use { // half of the calls are of the first operation, which has the fault
		return use{int8(max(0, r.IntN(4)-1)), 1 + int8(r.IntN(2))}
	}
	if c := draw(); r.IntN(2) == 0 && !t.methods[c.op].mayWait {
		u.before = []use{c}
	}
	goroutines, each := 2, 1
	if t.guard != child && (t.guard != pointer || t.fault != gapped && r.IntN(3) == 0) {
		switch r.IntN(5) { // the others have many executions
		case 0:
			goroutines = 3
		case 1, 2:
			each = 2
		}
	}
	for range goroutines {
		var calls []use
		for range each {
			calls = append(calls, draw())
		}
		u.goroutines = append(u.goroutines, calls)
	}
	return u
}

// text is the scenario as package scenario writes it, of plan number i.
func (u usage) text(i int) string {
	text := strconv.Itoa(i) + ":"
	list := func(calls []use) {
		for _, c := range calls {
			text += " " + strconv.Itoa(int(2*c.op+c.k-1))
		}
	}
	list(u.before)
	for _, calls := range u.goroutines {
		text += "/"
		list(calls)
	}
	return text
}

// point is where an execution is.
type point struct {
	w    world
	g    [3]routine
	call [3]int8
	// of call i of goroutine g, at 2*g+i
	results [6]int8
	seen    [6][3]int8
}

// judge explores an usage of a type.
type judge struct {
	t       *generatedType
	u       usage
	visited map[point]struct{}
	found   failures
	ends    int
	// The state of the specification after the call before all others.
	spec world
}

// judged returns all ways in which a scenario of a type fails, by exploring all interleavings of
// beginnings, single steps and ends of calls.
func judged(t *generatedType, u usage) (found failures, ends int) {
	j := &judge{t: t, u: u, visited: map[point]struct{}{}, spec: newWorld()}
	x := point{w: newWorld()}
	for _, c := range u.before {
		r, how := run(&x.w, t.methods[c.op].code, t.methods[c.op].handle, c.k)
		want, as := j.specified(&j.spec, c)
		switch {
		case how == panics:
			return panicked, 0
		case how == waits || as != done:
			return stuck, 0
		case r != want:
			return notLinear, 0
		}
	}
	for i := range x.g {
		x.g[i] = routine{me: int8(i + 1), pc: -1}
	}
	j.explore(x)
	return j.found, j.ends
}

// run executes code alone.
func run(w *world, code []instr, handle, k int8) (r int8, how outcome) {
	g := routine{me: 1, k: k}
	for int(g.pc) < len(code) {
		switch how := g.advance(w, code); how {
		case panics:
			if handle < 0 {
				return 0, how
			}
			g.r, g.pc, handle, g.local = 7, handle, -1, false
		case waits, more:
			return 0, waits
		}
	}
	return g.r, done
}

// specified executes a call on the specification.
func (j *judge) specified(w *world, c use) (r int8, how outcome) {
	m := &j.t.methods[c.op]
	if j.t.modeled {
		return run(w, m.spec, m.specHandle, c.k)
	}
	return run(w, m.code, m.handle, c.k)
}

// advance executes an instruction.
func (g *routine) advance(w *world, code []instr) outcome {
	i := &code[g.pc]
	if i.stmt.do == nil {
		g.pc = i.other
		return done
	}
	how := i.stmt.do(w, g)
	switch how {
	case done:
		g.pc++
	case no:
		g.pc, how = i.other, done
	case repeat:
		g.pc, g.local, g.copy, g.version, how = i.other, false, data{}, 0, done
	}
	return how
}

func (j *judge) explore(x point) {
	if _, ok := j.visited[x]; ok {
		return
	}
	j.visited[x] = struct{}{}
	if j.races(&x) {
		j.found |= raced
	}
	moved := false
	for g := range j.u.goroutines {
		y := x
		if int(x.call[g]) == len(j.u.goroutines[g]) {
			continue
		}
		switch j.step(&y, g) {
		case panics:
			j.found |= panicked
			moved = true
		case done, more:
			moved = true
			j.explore(y)
		}
	}
	if !moved {
		j.end(&x)
	}
}

// step takes a step of a goroutine: the beginning of a call, an instruction with the local ones
// that follow it, or the end of the call.
func (j *judge) step(x *point, g int) outcome {
	c := j.u.goroutines[g][x.call[g]]
	m := &j.t.methods[c.op]
	at := 2*g + int(x.call[g])
	r := &x.g[g]
	switch int(r.pc) {
	case -1:
		x.seen[at] = x.call
		r.pc, r.k = 0, c.k
		return done
	case len(m.code):
		x.results[at] = r.r
		x.call[g]++
		*r = routine{me: r.me, pc: -1}
		return done
	}
	for first := true; int(r.pc) < len(m.code) && (first || m.code[r.pc].local); first = false {
		switch how := r.advance(&x.w, m.code); {
		case how == panics && m.handle >= 0:
			r.r, r.pc, r.local = 7, m.handle, false
			return done
		case how != done:
			return how
		}
	}
	return done
}

// races reports whether two goroutines can access the same data next, and one of them writes.
func (j *judge) races(x *point) bool {
	var reads, writes component
	for g, calls := range j.u.goroutines {
		if int(x.call[g]) == len(calls) || x.g[g].pc < 0 || x.g[g].local {
			continue
		}
		code := j.t.methods[calls[x.call[g]].op].code
		if int(x.g[g].pc) == len(code) {
			continue
		}
		s := code[x.g[g].pc].stmt
		if w, r := x.w, x.g[g]; s.writes != 0 && s.do(&w, &r) == panics {
			s.reads, s.writes = s.reads|s.writes, 0 // it panics before it writes
		}
		if s.writes&(reads|writes) != 0 || s.reads&writes != 0 {
			return true
		}
		reads, writes = reads|s.reads, writes|s.writes
	}
	return false
}

// end judges an execution in which nobody can move any more.
func (j *judge) end(x *point) {
	j.ends++
	pending := false
	for g, calls := range j.u.goroutines {
		if int(x.call[g]) < len(calls) {
			pending = true
			if !j.t.methods[calls[x.call[g]].op].mayWait {
				j.found |= stuck
				return
			}
		}
	}
	if !j.explained(x, j.spec, [3]int8{}, pending) {
		j.found |= notLinear
	}
}

// explained reports whether the calls that are left can come one after the other.
func (j *judge) explained(x *point, spec world, ended [3]int8, pending bool) bool {
	left := false
	for g, calls := range j.u.goroutines {
		if ended[g] == x.call[g] {
			continue
		}
		left = true
		at := 2*g + int(ended[g])
		first := true
		for h, n := range x.seen[at] {
			first = first && n <= ended[h]
		}
		if !first {
			continue
		}
		next, after := ended, spec
		next[g]++
		r, how := j.specified(&after, calls[ended[g]])
		if how == done && r == x.results[at] && j.explained(x, after, next, pending) {
			return true
		}
	}
	if left {
		return false
	}
	for g, calls := range j.u.goroutines {
		if int(x.call[g]) < len(calls) {
			w := spec
			if _, how := j.specified(&w, calls[x.call[g]]); how != waits {
				return false
			}
		}
	}
	return pending || observed(&x.w) == observed(&spec)
}

// observed is what State returns.
func observed(w *world) world {
	return world{data: w.data, a: w.a, b: w.b, ch: min(w.ch, 1), sm: w.sm}
}
