package gotest

import (
	"slices"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/trace"
)

// A goroutine of an initializer that continues forever and looks at the clock, so that states do
// not come again.
const tailPrograms = `package m

import (
	"context"
	"sync"
	"testing"
	"time"
)

var seen time.Time
var global = make(chan int)

func init() {
	go func() {
		for range time.NewTicker(time.Second).C {
			seen = time.Now()
		}
	}()
}

func TestPass(t *testing.T) {
	done := make(chan bool)
	go func() { close(done) }()
	<-done
}

func TestLeak(t *testing.T) {
	c := make(chan int)
	go func() { c <- 1 }()
	select {
	case <-c:
	default:
	}
}

func TestDeadlock(t *testing.T) {
	var mu sync.Mutex
	ready := make(chan bool)
	go func() {
		mu.Lock()
		ready <- true
	}()
	<-ready
	mu.Lock()
}

// Nobody but the clock of a ticker can go on, forever.
func TestTicker(t *testing.T) {
	tasks := make(chan func(), 1)
	ended := make(chan bool)
	go func() {
		defer close(ended)
		for range time.NewTicker(time.Second).C {
			tasks <- nil
		}
	}()
	<-ended
}

func TestCond(t *testing.T) {
	var mu sync.Mutex
	cond := sync.NewCond(&mu)
	go func() {
		mu.Lock()
		defer mu.Unlock()
		cond.Wait()
	}()
	cond.Signal()
}

// From here on somebody can still be woken by those that go on.

func TestGlobal(t *testing.T) {
	go func() {
		for range time.NewTicker(time.Second).C {
			global <- 1
		}
	}()
	for range 2 {
		<-global
	}
}

func TestTimer(t *testing.T) {
	done := make(chan bool)
	time.AfterFunc(time.Hour, func() { done <- true })
	<-done
}

func TestContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	inner, stop := context.WithCancel(ctx)
	defer stop()
	<-inner.Done()
}

type node struct {
	next map[string]any
}

// What one waits for is reached through a deferred call, a map, an interface, a channel's
// buffer, and a goroutine that waits itself.
func TestChain(t *testing.T) {
	first, second := make(chan int), make(chan int)
	box := make(chan any, 1)
	box <- &node{map[string]any{"c": second}}
	go func() {
		defer func(f func()) { f() }(func() { first <- 1 })
		for range 3 {
			time.Sleep(time.Second)
		}
	}()
	go func() {
		<-first
		(<-box).(*node).next["c"].(chan int) <- 1
	}()
	<-second
}

func TestLock(t *testing.T) {
	var rw sync.RWMutex
	var wg sync.WaitGroup
	rw.Lock()
	wg.Add(1)
	go func() {
		defer wg.Done()
		rw.RLock()
		defer rw.RUnlock()
	}()
	for range 3 {
		time.Sleep(time.Second)
	}
	rw.Unlock()
	wg.Wait()
}

// A test that fails by itself is seen by who made it only.
func TestMock(t *testing.T) {
	mock := new(testing.T)
	done := make(chan bool)
	go func() {
		defer close(done)
		mock.Log("x")
		mock.Fatalf("y")
		t.Error("Fatalf has returned")
	}()
	<-done
	if !mock.Failed() || t.Failed() {
		t.Error(mock.Failed(), t.Failed())
	}
}
`

// TestTails: goroutines that wait forever are found though others run forever, and
// those of initializers are not leaks.
func TestTails(t *testing.T) {
	c := load(t, tailPrograms)
	for name, want := range map[string]FailureKind{
		"TestPass": "", "TestLeak": Leak, "TestDeadlock": Deadlock, "TestTicker": Deadlock,
		"TestCond": Leak, "TestGlobal": "", "TestTimer": "", "TestContext": "", "TestChain": "",
		"TestLock": "", "TestMock": "",
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.Test(name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			s := newSampler(p, 1)
			runs := 300
			if want == "" {
				runs = 30
			}
			for i := range runs {
				// Some goroutines can still continue: the graph of states has no end.
				s.limit = 300
				failed, _ := s.run(t.Context(), p, i)
				if m := s.m.(*machine.Machine); !failed {
					if ts := lost(m); want == "" && ts != nil {
						t.Fatalf("%v are lost", ts)
					}
					continue
				}
				r := &run{p: p, res: &Result{}}
				if err := r.fail(&trace.Trace{Steps: slices.Clone(s.steps)}); err != nil {
					t.Fatal(err)
				}
				f := r.res.Failure
				if r.res.Verdict != engine.Violated || f.Kind != want {
					t.Fatalf("%+v, want %q", f, want)
				}
				if _, err := f.Trace.Record(p); err != nil {
					t.Error(err)
				}
				again, err := Repeat(p, f.Trace)
				if err != nil || again.Message != f.Message {
					t.Errorf("%v, %+v; want %+v", err, again, f)
				}
				if n := switches(f.Trace.Steps); n > 8 {
					t.Errorf("%d switches", n)
				}
				return
			}
			if want != "" {
				t.Errorf("nothing was found, want %q", want)
			}
		})
	}
}
