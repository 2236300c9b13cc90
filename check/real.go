package check

import (
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/frontend/gosrc/scenario"
)

// linearizable explores the test that has called Linearizable. A test that cannot be explored is
// sampled, except for LockFree and ObstructionFree: nothing here can suspend a goroutine.
func linearizable(t *testing.T, p *plan) {
	t.Helper()
	p.ready(t)
	if p.config.Timeout == 0 {
		p.config.Timeout = manyTests
	}
	p.config.every(t, p.is.String(), 3, func(why error) {
		t.Helper()
		if p.is != linear {
			return
		}
		n, count := p.sample(t)
		const text = "sampled only, because it cannot be explored: %d executions of %d " +
			"scenarios, no failure; cpor test may run it natively under every schedule; %v"
		if p.config.Incomplete {
			t.Logf(text, n, count, why)
			t.SkipNow()
		}
		t.Fatalf(text, n, count, why)
	})
}

// manyTests is the time-out of Linearizable, which explores many small tests.
const manyTests = 5 * time.Minute

// sampleFor is how long a test is sampled.
const sampleFor = 2 * time.Second

// sample executes scenarios under the schedules that happen.
func (p *plan) sample(t *testing.T) (executions, count int) {
	t.Helper()
	d, err := scenario.Parse("0 " + p.describe())
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{"0:"}
	if !d.Only {
		texts = nil
		for _, s := range d.Sizes() {
			texts = append(texts, d.Generate(s).Texts...)
		}
	}
	for until := time.Now().Add(sampleFor); time.Now().Before(until); {
		for _, text := range texts {
			s, err := p.parse(text[2:])
			if err != "" {
				t.Fatalf("%s: %s", p.is, err)
			}
			p.run(t, s)
			executions++
		}
	}
	return executions, len(texts)
}

func invoke(c *clock, x *call, n int) {
	for g := range n {
		x.seen[g] = atomic.LoadInt64(&c.done[g])
	}
}

func respond(c *clock, x *call, results []any) {
	x.results = results
	atomic.AddInt64(&c.done[x.goroutine], 1)
}

func prefixed(*history) {}

func agrees(h *history) bool { return h.explained() }

func mayWait(bool) {}

func calm(bool) {}

func tell(string) {}

// patience is how long a call that may wait forever is waited for.
const patience = time.Second / 2

// settle waits until nothing can happen any more. It returns false if that is not known.
func settle(wait *sync.WaitGroup) bool {
	done := make(chan struct{})
	go func() {
		wait.Wait()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(patience / 10):
		return false
	}
}

// waits calls a function that may wait; ok is false if it does.
func waits(f, value reflect.Value, args []reflect.Value) (results []any, ok bool) {
	done := make(chan []any, 1)
	go func() { done <- perform(f, value, args) }()
	select {
	case results = <-done:
		return results, true
	case <-time.After(patience):
		return nil, false
	}
}
