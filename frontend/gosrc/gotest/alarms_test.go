package gotest

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
)

// timed writes a random test whose goroutines sleep, wait with time-outs, and print.
func timed(name string, r *rand.Rand) string {
	var b strings.Builder
	line := func(f string, a ...any) { fmt.Fprintf(&b, "\t\t"+f+"\n", a...) }
	said := 0
	say := func() string { said++; return fmt.Sprintf("println(%d)", said) }
	d := func() string { return fmt.Sprintf("%d*time.Millisecond", 1+r.IntN(2)) }
	fmt.Fprintf(&b, "\nfunc %s(t *testing.T) {\n\tc := make(chan int, 8)\n\t_ = c\n\tvar wg "+
		"sync.WaitGroup\n", name)
	for range 1 + r.IntN(2) {
		b.WriteString("\twg.Add(1)\n\tgo func() {\n\t\tdefer wg.Done()\n")
		for range 1 + r.IntN(2) {
			switch r.IntN(6) {
			case 0:
				line("%s", say())
			case 1:
				line("time.Sleep(%s)\n\t\t%s", d(), say())
			case 2:
				line("select {\n\t\tcase <-c:\n\t\t\t%s\n\t\tcase "+
					"<-time.After(%s):\n\t\t\t%s\n\t\t}", say(), d(), say())
			case 3:
				line("c <- 1")
			case 4:
				line("{\n\t\ttm := time.AfterFunc(%s, func() { %s })\n\t\tif tm.Stop() "+
					"{\n\t\t\t%s\n\t\t}\n\t\t}", d(), say(), say())
			case 5:
				line("{\n\t\ttk := time.NewTicker(%s)\n\t\t<-tk.C\n\t\ttk.Stop()\n\t\t%s\n\t\t}",
					d(), say())
			}
		}
		b.WriteString("\t}()\n")
	}
	if r.IntN(4) == 0 {
		line("time.Sleep(%s)", d())
	}
	b.WriteString("\twg.Wait()\n}\n")
	return b.String()
}

// allEnds returns how all executions of a program end, without any reduction; ok is false if there
// are too many.
func allEnds(p *gosrc.Program) (outcomes map[string]bool, ok bool) {
	m := p.NewMachine().(*machine.Machine)
	outcomes = map[string]bool{}
	nodes := 0
	var node func()
	node = func() {
		if nodes++; nodes > 20_000 {
			return
		}
		mark, any := m.Mark(), false
		for t := range m.NumThreads() {
			for alt := uint64(0); ; {
				out := m.Step(t, alt)
				if out.Kind != system.Moved {
					break
				}
				any = true
				node()
				m.Rewind(mark)
				if alt = out.Next; alt == 0 {
					break
				}
			}
		}
		if !any {
			outcomes[Outcome(m)] = true
		}
	}
	node()
	return outcomes, nodes <= 20_000
}

// TestAlarms: with any bound on the timers the reduction finds the ends of all executions, and with
// one that keeps no timer from going off those of the whole program.
func TestAlarms(t *testing.T) {
	n := 2 * cmp.Or(*generated, sample.Of(6, 8, 120))
	src := "package m\n\nimport (\n\t\"sync\"\n\t\"testing\"\n\t\"time\"\n)\n\nvar _ time.Time\n"
	for i := range uint64(n) {
		src += timed(fmt.Sprint("Test", *seed+i), rand.New(rand.NewPCG(*seed+i, 11)))
	}
	c := load(t, src)
	compared, cut := 0, 0
	for i := range uint64(n) {
		name := fmt.Sprint("Test", *seed+i)
		whole, err := c.Test(name, gosrc.Explore{Outcomes: true})
		if err != nil {
			t.Fatal(err)
		}
		all, ok := allEnds(whole)
		if !ok {
			continue
		}
		for bound := 1; bound < 20; bound++ {
			p, err := whole.WithAlarms(bound)
			if err != nil {
				t.Fatal(err)
			}
			want, _ := allEnds(p)
			res, err := Run(t.Context(), p, Options{Engine: DPOR, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			compared++
			for _, o := range res.Outcomes {
				if !want[o] {
					t.Errorf("%s, at most %d timers: %q cannot be", name, bound, o)
				}
				delete(want, o)
			}
			for o := range want {
				t.Errorf("%s, at most %d timers: %q is missing", name, bound, o)
			}
			if p.Cut() {
				cut++
				continue
			}
			if got := res.Outcomes; len(got) != len(all) || slices.ContainsFunc(got,
				func(o string) bool { return !all[o] }) {
				t.Errorf("%s: %d timers are enough, but the ends are %q, not %v", name, bound, got,
					all)
			}
			break
		}
	}
	t.Logf("%d comparisons, %d with a bound that holds timers back", compared, cut)
	if compared < n/2 || cut < n/4 {
		t.Error("too few")
	}
	if t.Failed() {
		t.Log(src)
	}
}

const ticking = `package m

import (
	"sync"
	"testing"
	"time"
)

// idle is a pool whose workers are stopped by a ticker; it reads the clock.
type idle struct {
	mu      sync.Mutex
	last    time.Time
	workers int
	fixed   bool
}

func (p *idle) run(tick *time.Ticker, stop chan bool) {
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
			p.mu.Lock()
			if p.last = time.Now(); p.workers > 0 || !p.fixed {
				p.workers--
			}
			p.mu.Unlock()
		}
	}
}

func test(t *testing.T, fixed bool) {
	p := &idle{workers: 2, fixed: fixed}
	tick := time.NewTicker(time.Second)
	stop := make(chan bool)
	go p.run(tick, stop)
	p.mu.Lock()
	if p.workers < 0 {
		panic("fewer than none")
	}
	p.mu.Unlock()
	tick.Stop()
	close(stop)
}

func TestBug(t *testing.T)   { test(t, false) }
func TestFixed(t *testing.T) { test(t, true) }
func TestOnce(t *testing.T)  { time.Sleep(time.Second) }

func TestTwice(t *testing.T) { // with one timer somebody waits at the end
	done := make(chan bool)
	go func() { time.Sleep(time.Second); close(done) }()
	<-done
	time.Sleep(time.Second)
}
`

// TestTicking: a search with a bound on the timers finds what needs three of them, and says what it
// has covered where there are always more.
func TestTicking(t *testing.T) {
	c := load(t, ticking)
	search := func(name string, covered int) *run {
		t.Helper()
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		r := &run{p: p, o: Options{Workers: 1, Timeout: time.Minute}, start: time.Now(),
			res: &Result{}}
		if r.comesAgain(t.Context()) == again {
			t.Errorf("%s: a state comes again", name)
		}
		sampler := newSampler(p, 1)
		sampler.run(t.Context(), p, 0) // a timer goes off
		for n := 1; n <= covered; n++ {
			done, err := r.upTo(t.Context(), n)
			if err != nil || !done || r.res.Verdict == engine.Violated {
				t.Fatalf("%s, at most %d timers: %v, %v, %+v", name, n, done, err, r.res)
			}
		}
		return r
	}
	r := search("TestBug", 2)
	if _, err := r.upTo(t.Context(), 3); err != nil || r.res.Failure == nil ||
		r.res.Failure.Kind != Panic || r.res.Program == nil {
		t.Errorf("%+v, %v", r.res, err)
	}
	if r := search("TestFixed", 5); r.res.Verdict != engine.Incomplete {
		t.Errorf("%+v", r.res)
	}
	if r := search("TestOnce", 1); r.res.Verdict != engine.Pass {
		t.Errorf("%+v", r.res)
	}
	if r := search("TestTwice", 1); r.res.Verdict != engine.Incomplete {
		t.Errorf("%+v", r.res)
	}
	if r := search("TestTwice", 2); r.res.Verdict != engine.Pass {
		t.Errorf("%+v", r.res)
	}
	p, err := c.Test("TestFixed", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	newSampler(p, 1).run(t.Context(), p, 0)
	r = &run{p: p, o: Options{Workers: 1}, start: time.Now(),
		res: &Result{Verdict: engine.Incomplete, Reason: "because"}}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := r.alarms(ctx, 100); err != nil || r.res.Verdict != engine.Incomplete ||
		r.res.Reason != "because" || !strings.Contains(r.covered, "goes off was covered") &&
		!strings.Contains(r.covered, "go off was covered") {
		t.Errorf("%+v, %q, %v", r.res, r.covered, err)
	}
}
