package gogen

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"cpor/testkit/gotable"
)

// timedOp is the kind of a step of a program with timers.
type timedOp uint8

const (
	sleep     timedOp = iota // for Val milliseconds
	afterFunc                // timer Obj adds Val to atomic 0 after that many milliseconds
	stop                     // reg = 1 if timer Obj had not fired
	timeout                  // reg = a value of channel Obj, or -7 after Val ms (timer Tm)
	sendTo                   // channel Obj <- Val
	recvFrom                 // reg = <-channel Obj
	addTo                    // atomic Obj += Val
	loadFrom                 // reg = atomic Obj
	sinceNow                 // reg = the milliseconds since the beginning; in a bubble
	settle                   // synctest.Wait(); the main goroutine of a bubble
	signOff                  // the last step of a goroutine that main has started
	join                     // main waits for those, prints, and ends
)

type timedStep struct {
	op           timedOp
	obj, val, tm int
	reg          int
}

// Timed is the body of a random test whose goroutines sleep, start timers, stop them, and
// wait with a time-out. In a bubble of testing/synctest time passes when nobody can run;
// otherwise a timer may fire at any time, in the order of the deadlines.
type Timed struct {
	Bubble     bool
	caps       []int
	atomics    int
	timers     int
	regs       int
	goroutines [][]timedStep // 0: main
}

// NewTimed makes a random test body.
func NewTimed(r *rand.Rand, bubble bool, goroutines, steps int) *Timed {
	p := &Timed{Bubble: bubble, caps: []int{1 + r.IntN(2)}, atomics: 2}
	for g := range goroutines + 1 {
		var list []timedStep
		var timers []int // that this goroutine has started
		for range 1 + r.IntN(steps) {
			list = append(list, p.random(r, g, &timers))
		}
		last := signOff
		if g == 0 {
			last = join
		}
		p.goroutines = append(p.goroutines, append(list, timedStep{op: last, reg: -1}))
	}
	return p
}

func (p *Timed) register() int { p.regs++; return p.regs - 1 }

func (p *Timed) timer() int { p.timers++; return p.timers - 1 }

func (p *Timed) random(r *rand.Rand, g int, timers *[]int) timedStep {
	ms := 1 + r.IntN(2)
	switch k := r.IntN(14); {
	case k < 4:
		return timedStep{op: sleep, val: ms, reg: -1}
	case k < 5:
		t := p.timer()
		*timers = append(*timers, t)
		return timedStep{op: afterFunc, obj: t, val: ms, reg: -1}
	case k < 6 && len(*timers) > 0:
		return timedStep{op: stop, obj: (*timers)[r.IntN(len(*timers))], reg: p.register()}
	case k < 7:
		return timedStep{op: timeout, val: ms, tm: p.timer(), reg: p.register()}
	case k < 8:
		return timedStep{op: sendTo, val: 1 + g, reg: -1}
	case k < 9:
		return timedStep{op: recvFrom, reg: p.register()}
	case k < 10 && p.Bubble:
		return timedStep{op: sinceNow, reg: p.register()}
	case k < 12 && p.Bubble && g == 0:
		return timedStep{op: settle, reg: -1}
	case k < 12:
		return timedStep{op: addTo, obj: r.IntN(p.atomics), val: 1 + g, reg: -1}
	}
	return timedStep{op: loadFrom, obj: r.IntN(p.atomics), reg: p.register()}
}

// Source returns a test function of that name. It needs packages sync, sync/atomic, testing,
// testing/synctest and time.
func (p *Timed) Source(name string) string {
	var b strings.Builder
	in := "\t"
	line := func(format string, args ...any) { fmt.Fprintf(&b, in+format+"\n", args...) }
	fmt.Fprintf(&b, "func %s(t *testing.T) {\n", name)
	if p.Bubble {
		line("synctest.Test(t, func(t *testing.T) {")
		in = "\t\t"
	}
	line("var wg sync.WaitGroup")
	line("var a [%d]atomic.Int64", p.atomics)
	line("var tm [%d]*time.Timer", max(1, p.timers))
	line("var r [%d]int", max(1, p.regs))
	for i, n := range p.caps {
		line("c%d := make(chan int, %d)", i, n)
	}
	if p.Bubble {
		line("begin := time.Now()\n%s_ = begin", in)
	}
	line("_, _, _ = &a, &tm, c0")
	line("wg.Add(%d)", len(p.goroutines)-1)
	outer := in
	for _, steps := range p.goroutines[1:] {
		line("go func() {")
		in = outer + "\t"
		for _, s := range steps {
			line("%s", s.source())
		}
		in = outer
		line("}()")
	}
	for _, s := range p.goroutines[0] {
		line("%s", s.source())
	}
	line("for _, x := range r {\n%s\tprint(x, \" \")\n%s}", in, in)
	line("println()")
	if p.Bubble {
		in = "\t"
		line("})")
	}
	b.WriteString("}\n")
	return b.String()
}

func (s timedStep) source() string {
	switch s.op {
	case sleep:
		return fmt.Sprintf("time.Sleep(%d * time.Millisecond)", s.val)
	case afterFunc:
		return fmt.Sprintf("tm[%d] = time.AfterFunc(%d*time.Millisecond, func() { a[0].Add(%d) })",
			s.obj, s.val, s.val)
	case stop:
		return fmt.Sprintf("if tm[%d].Stop() { r[%d] = 1 }", s.obj, s.reg)
	case timeout:
		return fmt.Sprintf("select { case r[%d] = <-c%d: case <-time.After(%d*time.Millisecond): "+
			"r[%d] = -7 }", s.reg, s.obj, s.val, s.reg)
	case sendTo:
		return fmt.Sprintf("c%d <- %d", s.obj, s.val)
	case recvFrom:
		return fmt.Sprintf("r[%d] = <-c%d", s.reg, s.obj)
	case addTo:
		return fmt.Sprintf("a[%d].Add(%d)", s.obj, s.val)
	case loadFrom:
		return fmt.Sprintf("r[%d] = int(a[%d].Load())", s.reg, s.obj)
	case sinceNow:
		return fmt.Sprintf("r[%d] = int(time.Since(begin) / time.Millisecond)", s.reg)
	case settle:
		return "synctest.Wait()"
	case signOff:
		return "wg.Done()"
	}
	return "wg.Wait()"
}

// How a timer is.
const (
	unset = iota
	armed
	fired // of a function: which has not been called yet
	over  // stopped, or the function was called
)

// timedState is a global state of the model.
type timedState struct {
	pc, waiting []int // waiting: 1 behind the beginning of a sleep or a select
	until       []int // sleeping goroutines: until when
	timers, at  []int // how each timer is, and when it fires
	atomics     []int
	regs        []int
	chans       [][]int
	now, alive  int
}

func (s *timedState) clone() *timedState {
	c := *s
	for _, f := range []*[]int{&c.pc, &c.waiting, &c.until, &c.timers, &c.at, &c.atomics, &c.regs} {
		*f = clone(*f)
	}
	c.chans = slices.Clone(s.chans)
	for i := range c.chans {
		c.chans[i] = clone(c.chans[i])
	}
	return &c
}

func (s *timedState) key() string {
	var b []byte
	for _, xs := range append([][]int{s.pc, s.waiting, s.until, s.timers, s.at, s.atomics, s.regs,
		{s.now, s.alive}}, s.chans...) {
		b = binary.AppendVarint(b, int64(len(xs)))
		for _, x := range xs {
			b = binary.AppendVarint(b, int64(x))
		}
	}
	return string(b)
}

// BruteForce explores every interleaving, and every passing of time, storing states. It is
// written from the documentation of time and testing/synctest, and from docs/go.md. ok is
// false if there are more than limit states.
func (p *Timed) BruteForce(limit int) (res Brute, ok bool) {
	n := len(p.goroutines)
	start := &timedState{pc: make([]int, n), waiting: make([]int, n), until: make([]int, n),
		timers: make([]int, p.timers), at: make([]int, p.timers), atomics: make([]int, p.atomics),
		regs: make([]int, max(1, p.regs)), chans: make([][]int, len(p.caps)), alive: n - 1}
	res.Outcomes = map[gotable.Outcome]bool{}
	seen := map[string]bool{start.key(): true}
	work := []*timedState{start}
	for len(work) > 0 {
		s := work[len(work)-1]
		work = work[:len(work)-1]
		if s.pc[0] == len(p.goroutines[0]) {
			res.Outcomes[gotable.NewOutcome(s.print(), "")] = true
			continue
		}
		next := p.successors(s)
		if len(next) == 0 {
			res.Outcomes[gotable.NewOutcome("", "deadlock")] = true
		}
		for _, t := range next {
			if k := t.key(); !seen[k] {
				if len(seen) >= limit {
					return res, false
				}
				seen[k] = true
				work = append(work, t)
			}
		}
	}
	res.States = len(seen)
	return res, true
}

func (s *timedState) print() string {
	var b strings.Builder
	for _, x := range s.regs {
		fmt.Fprint(&b, x, " ")
	}
	return b.String()
}

// runs reports whether goroutine g can take its next step without time passing, and without
// synctest.Wait.
func (p *Timed) runs(s *timedState, g int) bool {
	if s.pc[g] == len(p.goroutines[g]) {
		return false
	}
	switch st := p.goroutines[g][s.pc[g]]; st.op {
	case sleep:
		return s.waiting[g] == 0
	case timeout:
		return s.waiting[g] == 0 || len(s.chans[st.obj]) > 0 || s.timers[st.tm] == fired
	case sendTo:
		return len(s.chans[st.obj]) < p.caps[st.obj]
	case recvFrom:
		return len(s.chans[st.obj]) > 0
	case settle:
		return false
	case join:
		return s.alive == 0
	}
	return true
}

// calls reports whether a timer has fired whose function has not been called.
func (p *Timed) calls(s *timedState, t int) bool {
	return s.timers[t] == fired && p.function(t) > 0
}

// function returns what the function of a timer adds, 0 if it has none.
func (p *Timed) function(t int) int {
	for _, steps := range p.goroutines {
		for _, st := range steps {
			if st.op == afterFunc && st.obj == t {
				return st.val
			}
		}
	}
	return 0
}

// quiet reports whether nobody can run.
func (p *Timed) quiet(s *timedState) bool {
	for g := range p.goroutines {
		if p.runs(s, g) {
			return false
		}
	}
	for t := range s.timers {
		if p.calls(s, t) {
			return false
		}
	}
	return true
}

func (p *Timed) successors(s *timedState) (next []*timedState) {
	step := func(g int, f func(t *timedState)) {
		t := s.clone()
		t.pc[g]++
		t.waiting[g] = 0
		f(t)
		next = append(next, t)
	}
	// The alarms: when, and what happens then.
	type alarm struct {
		at int
		do func(t *timedState)
	}
	var alarms []alarm
	waits := false
	for g := range p.goroutines {
		if s.pc[g] == len(p.goroutines[g]) {
			continue
		}
		st := p.goroutines[g][s.pc[g]]
		switch {
		case st.op == settle:
			waits = true
		case st.op == sleep && s.waiting[g] == 1:
			alarms = append(alarms, alarm{s.until[g], func(t *timedState) {
				t.pc[g]++
				t.waiting[g], t.until[g] = 0, 0
			}})
		case !p.runs(s, g):
		case st.op == sleep:
			t := s.clone()
			t.waiting[g], t.until[g] = 1, s.now+st.val
			next = append(next, t)
		case st.op == timeout && s.waiting[g] == 0:
			t := s.clone()
			t.waiting[g], t.timers[st.tm], t.at[st.tm] = 1, armed, s.now+st.val
			next = append(next, t)
		case st.op == timeout:
			if len(s.chans[st.obj]) > 0 {
				step(g, func(t *timedState) {
					t.regs[st.reg] = t.chans[st.obj][0]
					t.chans[st.obj] = t.chans[st.obj][1:]
				})
			}
			if s.timers[st.tm] == fired {
				step(g, func(t *timedState) { t.regs[st.reg] = -7 })
			}
		case st.op == afterFunc:
			step(g, func(t *timedState) { t.timers[st.obj], t.at[st.obj] = armed, t.now+st.val })
		case st.op == stop:
			step(g, func(t *timedState) {
				if t.timers[st.obj] == armed {
					t.regs[st.reg], t.timers[st.obj] = 1, over
				}
			})
		case st.op == sendTo:
			step(g, func(t *timedState) { t.chans[st.obj] = append(t.chans[st.obj], st.val) })
		case st.op == recvFrom:
			step(g, func(t *timedState) {
				t.regs[st.reg] = t.chans[st.obj][0]
				t.chans[st.obj] = t.chans[st.obj][1:]
			})
		case st.op == addTo:
			step(g, func(t *timedState) { t.atomics[st.obj] += st.val })
		case st.op == loadFrom:
			step(g, func(t *timedState) { t.regs[st.reg] = t.atomics[st.obj] })
		case st.op == sinceNow:
			step(g, func(t *timedState) { t.regs[st.reg] = t.now })
		case st.op == signOff:
			step(g, func(t *timedState) { t.alive-- })
		case st.op == join:
			step(g, func(t *timedState) {})
		}
	}
	for k := range s.timers {
		switch {
		case s.timers[k] == armed:
			alarms = append(alarms, alarm{s.at[k], func(t *timedState) { t.timers[k] = fired }})
		case p.calls(s, k):
			t := s.clone()
			t.atomics[0] += p.function(k)
			t.timers[k] = over
			next = append(next, t)
		}
	}
	first, quiet := 0, p.quiet(s)
	for i, a := range alarms {
		if i == 0 || a.at < first {
			first = a.at
		}
	}
	for _, a := range alarms {
		if a.at > first || p.Bubble && a.at > s.now && (!quiet || waits) {
			continue
		}
		t := s.clone()
		t.now = max(t.now, a.at)
		a.do(t)
		next = append(next, t)
	}
	if waits && quiet && !slices.ContainsFunc(alarms, func(a alarm) bool { return a.at <= s.now }) {
		step(0, func(*timedState) {})
	}
	return next
}
