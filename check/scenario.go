package check

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// clock counts, for each goroutine of a scenario, the calls that have returned.
type clock struct{ done [limitGoroutines]int64 }

// steps are what is executed: the calls of the prefix, and those of each goroutine.
type steps struct {
	prefix     []invocation
	goroutines [][]invocation
}

// String is the scenario as Only takes it.
func (s steps) String() string {
	join := func(calls []invocation) string {
		var texts []string
		for _, x := range calls {
			texts = append(texts, x.text)
		}
		return strings.Join(texts, "; ")
	}
	var goroutines []string
	for _, calls := range s.goroutines {
		goroutines = append(goroutines, join(calls))
	}
	text := strings.Join(goroutines, " || ")
	if len(s.prefix) > 0 {
		text = join(s.prefix) + " then " + text
	}
	return text
}

// parse reads a scenario: numbers of invocations as package scenario writes them, or nothing for
// that of Only.
func (p *plan) parse(text string) (s steps, err string) {
	if p.only != "" {
		return p.named(p.only)
	}
	parts := strings.Split(text, "/")
	for i, part := range parts {
		var calls []invocation
		for _, f := range strings.Fields(part) {
			n, _ := strconv.Atoi(f)
			calls = append(calls, p.pool[n])
		}
		if i == 0 {
			s.prefix = calls
		} else {
			s.goroutines = append(s.goroutines, calls)
		}
	}
	return s, ""
}

// named reads a scenario as Only has it.
func (p *plan) named(text string) (s steps, err string) {
	prefix, rest, ok := strings.Cut(text, " then ")
	if !ok {
		prefix, rest = "", text
	}
	list := func(text string) (calls []invocation) {
		for _, name := range strings.Split(text, ";") {
			name = strings.TrimSpace(name)
			if name == "" {
				continue
			}
			i := slices.IndexFunc(p.pool, func(x invocation) bool { return x.text == name })
			if i >= 0 {
				calls = append(calls, p.pool[i])
			} else if err == "" {
				err = fmt.Sprintf("Only: there is no call %s; there is %s", name, p.some())
			}
		}
		return calls
	}
	s.prefix = list(prefix)
	for _, g := range strings.Split(rest, "||") {
		if calls := list(g); len(calls) > 0 {
			s.goroutines = append(s.goroutines, calls)
		}
	}
	if n := len(s.goroutines); err == "" && (n == 0 || n > limitGoroutines) {
		err = fmt.Sprintf("Only: %d goroutines: want 1 to %d", n, limitGoroutines)
	}
	n := len(s.prefix)
	for _, calls := range s.goroutines {
		n += len(calls)
	}
	if many := p.tooMany(n); err == "" && many != "" {
		err = "Only: " + many
	}
	return s, err
}

// some are the first calls that there are.
func (p *plan) some() string {
	const most = 8
	text := ""
	for i, x := range p.pool {
		if i == most {
			return text + ", ..."
		}
		if i > 0 {
			text += ", "
		}
		text += x.text
	}
	return text
}

// run executes a scenario once and checks its history.
func (p *plan) run(t *testing.T, s steps) {
	t.Helper()
	h := &history{p: p, scenario: s}
	value := p.make()
	for i, x := range s.prefix {
		c := &call{invocation: x, goroutine: -1, number: i, began: true}
		h.calls = append(h.calls, c)
		if x.op.mayWait {
			// If it waits, nothing can end that: another scenario has the rest.
			var ok bool
			if c.results, ok = waits(x.op.fn, value, x.args); !ok {
				return
			}
		} else {
			c.results = perform(x.op.fn, value, x.args)
		}
		c.returned = true
	}
	prefixed(h)
	e := &execution{clock: new(clock), goroutines: len(s.goroutines), value: value}
	anyWaits := false
	for g, list := range s.goroutines {
		var calls []*call
		for i, x := range list {
			calls = append(calls, &call{invocation: x, goroutine: g, number: i})
			anyWaits = anyWaits || x.op.mayWait
		}
		h.calls = append(h.calls, calls...)
		e.wait.Add(1)
		go e.goroutine(g, calls)
	}
	if !anyWaits {
		e.wait.Wait()
	} else if !settle(&e.wait) {
		return
	}
	if !h.waiting() {
		p.observe(h, func(c *call) []any { return perform(c.op.fn, value, c.args) })
	}
	calm(true)
	ok := agrees(h)
	calm(false)
	if !ok {
		tell(h.account())
		t.Fatal(h.explanation())
	}
}

// observe makes the calls behind all: those that return something and do not wait. Those without
// arguments are repeated until they return the same twice.
func (p *plan) observe(h *history, perform func(*call) []any) {
	n, most := 0, len(h.calls)+1
	for _, x := range p.pool {
		if !x.observes() {
			continue
		}
		var last []any
		for i := 0; (i == 0 || len(x.args) == 0 && i < most) && len(h.calls) < limitCalls; i++ {
			c := &call{invocation: x, goroutine: -2, number: n, began: true, returned: true}
			c.results = perform(c)
			h.calls = append(h.calls, c)
			n++
			if i > 0 && same(last, c.results) {
				break
			}
			last = c.results
		}
	}
}

// execution is a scenario that is being executed.
type execution struct {
	clock      *clock
	goroutines int
	value      reflect.Value
	wait       sync.WaitGroup
}

// goroutine makes the calls of a goroutine.
func (e *execution) goroutine(g int, calls []*call) {
	defer e.wait.Done()
	for _, c := range calls {
		c.began = true
		mayWait(c.op.mayWait)
		invoke(e.clock, c, e.goroutines)
		respond(e.clock, c, perform(c.op.fn, e.value, c.args))
		mayWait(false)
		c.returned = true
	}
}
