package gotest

import (
	"testing"
	"time"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const endless = `package m

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// poll waits until stop is set.
func poll(stop *atomic.Bool) {
	for !stop.Load() {
		time.Sleep(time.Millisecond)
	}
}

func TestPolls(t *testing.T) { // what it waits for orders the accesses
	var stop atomic.Bool
	n := 0
	go func() {
		n++
		stop.Store(true)
	}()
	poll(&stop)
	n++
}

func TestPollsRace(t *testing.T) { // stop comes too early
	var stop atomic.Bool
	n := 0
	go func() {
		stop.Store(true)
		n++
	}()
	poll(&stop)
	n++
}

func TestTicker(t *testing.T) { // a worker that ticks until it is told to end
	var mu sync.Mutex
	n := 0
	tick := time.NewTicker(time.Second)
	stop, done := make(chan bool), make(chan bool)
	go func() {
		defer close(done)
		for {
			select {
			case <-tick.C:
				mu.Lock()
				n = 1 - n
				mu.Unlock()
			case <-stop:
				return
			}
		}
	}()
	close(stop)
	<-done
	tick.Stop()
	n++
}

func TestTickerRace(t *testing.T) { // it does not wait for the end of the worker
	n := 0
	tick := time.NewTicker(time.Second)
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-tick.C:
				n = 1 - n
			case <-stop:
				return
			}
		}
	}()
	close(stop)
	tick.Stop()
	n++
}

func TestReaders(t *testing.T) { // many who read and one who writes, in turns
	var rw sync.RWMutex
	var stop atomic.Bool
	n := 0
	for range 2 {
		go func() {
			for !stop.Load() {
				rw.RLock()
				_ = n
				rw.RUnlock()
			}
		}()
	}
	rw.Lock()
	n++
	rw.Unlock()
	stop.Store(true)
}

func TestReadersRace(t *testing.T) { // the last write is not protected
	var rw sync.RWMutex
	var stop atomic.Bool
	n := 0
	for range 2 {
		go func() {
			for !stop.Load() {
				rw.RLock()
				_ = n
				rw.RUnlock()
			}
		}()
	}
	stop.Store(true)
	n++
}

func TestLivelock(t *testing.T) { // each gives way to the other
	var a, b sync.Mutex
	var wg sync.WaitGroup
	both := func(x, y *sync.Mutex) {
		defer wg.Done()
		for {
			x.Lock()
			if y.TryLock() {
				y.Unlock()
				x.Unlock()
				return
			}
			x.Unlock()
		}
	}
	wg.Add(2)
	go both(&a, &b)
	go both(&b, &a)
	wg.Wait()
}
`

// TestEndless: programs whose executions need not end are covered, data races included.
func TestEndless(t *testing.T) {
	c := load(t, endless)
	for name, want := range map[string]FailureKind{
		"TestPolls": "", "TestPollsRace": Race, "TestTicker": "", "TestTickerRace": Race,
		"TestReaders": "", "TestReadersRace": Race, "TestLivelock": Livelock,
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.Test(name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			// Without random schedules beside it.
			r := &run{p: p, o: Options{Workers: 1, Timeout: time.Minute}, start: time.Now(),
				res: &Result{}}
			if err := r.endless(t.Context()); err != nil {
				t.Fatal(err)
			}
			if want == "" && r.res.Verdict != engine.Pass || want != "" && (r.res.Failure == nil ||
				r.res.Failure.Kind != want || r.res.Program == nil) {
				t.Errorf("%+v, %+v; want %q", r.res, r.res.Failure, want)
			}
			if want == Livelock {
				f := r.res.Failure
				if _, err := ExplainCycle(r.res.Program, f.Trace, f.Cycle, Livelock); err != nil ||
					len(f.Cycle) < 6 {
					t.Errorf("the cycle has %d steps: %v", len(f.Cycle), err)
				}
				return
			}
			res, err := Run(t.Context(), p, Options{Engine: Full, Timeout: time.Minute})
			if err != nil || want == "" && res.Verdict != engine.Pass || want != "" &&
				(res.Failure == nil || res.Failure.Kind != want) {
				t.Errorf("full: %+v, %v; want %q", res, err, want)
			}
		})
	}
}
