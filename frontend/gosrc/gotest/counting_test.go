package gotest

import (
	"strings"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const counting = `package m

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// six runs f in six goroutines, and waits for them.
func six(f func(i int)) {
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			f(i)
		}()
	}
	wg.Wait()
}

func TestCount(t *testing.T) {
	var n atomic.Int64
	six(func(int) { n.Add(1) })
	if n.Load() != 6 {
		t.Error("lost")
	}
}

func TestTypes(t *testing.T) {
	var a atomic.Int32
	var b atomic.Uint32
	var c atomic.Uint64
	var d atomic.Uintptr
	var e, f int64
	six(func(i int) {
		a.Add(int32(i))
		_ = b.Add(^uint32(0))
		c.Add(1 << 40)
		d.Add(1)
		defer d.Add(^uintptr(0))
		atomic.AddInt64(&e, -1)
		defer atomic.AddInt64(&f, int64(i))
	})
	if a.Load() != 15 || b.Load() != 1<<32-6 || c.Load() != 6<<40 || d.Load() != 0 || e != -6 || f != 15 {
		t.Error("wrong", a.Load(), b.Load(), c.Load(), d.Load(), e, f)
	}
}

func TestRead(t *testing.T) { // each order of the additions
	var n atomic.Int64
	six(func(int) {
		if n.Add(1) > 6 {
			t.Error("more")
		}
	})
}

func TestNil(t *testing.T) {
	var n *atomic.Int64
	n.Add(1)
}

func TestOverwritten(t *testing.T) { // each addition is before the store or behind it
	var n atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() { n.Store(5) })
	wg.Go(func() { n.Add(1) })
	wg.Go(func() { n.Add(2) })
	wg.Wait()
}

func TestRaceByOrder(t *testing.T) { // no race if the second addition is later
	var n atomic.Int64
	x := 0
	var wg sync.WaitGroup
	wg.Go(func() { x = 1; n.Add(1) })
	wg.Go(func() { n.Add(1); _ = x })
	wg.Wait()
}

func TestReleases(t *testing.T) { // a load acquires what the addition released
	var n atomic.Int64
	x := 0
	var wg sync.WaitGroup
	wg.Go(func() { x = 1; n.Add(1) })
	wg.Go(func() {
		n.Add(1)
		if n.Load() == 2 {
			x++
		}
	})
	wg.Wait()
}

func TestSet(t *testing.T) { // who sets the flag first does not matter
	var b atomic.Bool
	var i atomic.Int64
	var u uint64
	six(func(int) { b.Store(true); i.Store(-1); atomic.StoreUint64(&u, 1<<64-1) })
	if !b.Load() || i.Load() != -1 || u != 1<<64-1 {
		t.Error("wrong")
	}
}

func TestSetTwice(t *testing.T) { // each of the first two is before the third or behind it
	var n atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() { n.Store(1) })
	wg.Go(func() { n.Store(1) })
	wg.Go(func() { n.Store(2) })
	wg.Wait()
}

func TestSetPointers(t *testing.T) { // their order decides what is left
	var n atomic.Pointer[int]
	var wg sync.WaitGroup
	wg.Go(func() { n.Store(new(int)) })
	wg.Go(func() { n.Store(new(int)) })
	wg.Wait()
}

func TestSetRace(t *testing.T) { // no race if the second store is later and acquires
	var n atomic.Int64
	x := 0
	var wg sync.WaitGroup
	wg.Go(func() { x = 1; n.Store(1) })
	wg.Go(func() { n.Store(1); _ = x })
	wg.Wait()
}

func TestSetReleases(t *testing.T) { // who sees the flag has acquired both
	var n atomic.Int64
	var x, y int
	var wg sync.WaitGroup
	wg.Go(func() { x = 1; n.Store(1) })
	wg.Go(func() { y = 1; n.Store(1) })
	wg.Wait()
	if n.Load() == 1 && x+y != 2 {
		t.Error("wrong")
	}
}

func TestJoin(t *testing.T) { // each goroutine has a channel for its result
	var outs [4]chan int
	for i := range outs {
		outs[i] = make(chan int, 1)
		go func() { outs[i] <- i }()
	}
	for i, c := range outs {
		if <-c != i {
			t.Error("wrong")
		}
	}
}

func TestResults(t *testing.T) { // in one channel: the sends order the values
	out := make(chan int, 4)
	for i := range 4 {
		go func() { out <- i }()
	}
	for range 4 {
		<-out
	}
}

func TestPipe(t *testing.T) { // never empty, never full
	c := make(chan int, 6)
	for i := range 3 {
		c <- i
	}
	done := make(chan bool)
	go func() {
		for range 3 {
			c <- 1
		}
		close(done)
	}()
	for range 3 {
		<-c
	}
	<-done
}

func TestPlain(t *testing.T) { // read without an atomic operation
	var n int64
	done := make(chan bool)
	go func() { atomic.AddInt64(&n, 1); close(done) }()
	_ = n
	<-done
}

func TestSleeps(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Add(1)
		go func() { time.Sleep(time.Duration(i+1) * time.Millisecond); wg.Done() }()
	}
	time.Sleep(time.Millisecond)
	wg.Wait()
}
`

// TestCounting: atomic additions whose sum nobody looks at commute, and so do stores of one number,
// and a send and a receive on a channel that is neither empty nor full. Goroutines that are waited
// for have one order, whether by a WaitGroup or by channels of their own. Alarms that are due at
// the same time have every order.
func TestCounting(t *testing.T) {
	c := load(t, counting)
	for _, x := range []struct {
		name       string
		executions uint64
		kind       FailureKind
	}{
		{"TestCount", 1, ""},
		{"TestTypes", 1, ""},
		{"TestRead", 720, ""},
		{"TestOverwritten", 4, ""},
		{"TestReleases", 2, ""},
		{"TestSet", 1, ""},
		{"TestSetTwice", 4, ""},
		{"TestSetPointers", 2, ""},
		{"TestSetReleases", 1, ""},
		{"TestJoin", 1, ""},
		{"TestResults", 24, ""},
		{"TestPipe", 1, ""},
		{"TestSleeps", 22, ""},
		{"TestNil", 0, Panic},
		{"TestRaceByOrder", 0, Race},
		{"TestSetRace", 0, Race},
		{"TestPlain", 0, Race},
	} {
		engines := []Engine{DPOR, Cartesian, Full}
		if strings.Contains("TestCount TestTypes TestRead TestSet", x.name) {
			engines = engines[:1] // that many goroutines have too many states
		}
		for _, e := range engines {
			p, err := c.Test(x.name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Run(t.Context(), p, Options{Engine: e, Workers: 1})
			if err != nil {
				t.Fatal(err)
			}
			switch f := res.Failure; {
			case x.kind != "":
				if res.Verdict != engine.Violated || f == nil || f.Kind != x.kind {
					t.Errorf("%s, %s: %v, %+v", x.name, e, res.Verdict, f)
				}
			case res.Verdict != engine.Pass:
				t.Errorf("%s, %s: %v, %+v", x.name, e, res.Verdict, f)
			case e == DPOR && res.Executions != x.executions:
				t.Errorf("%s: %d executions, want %d", x.name, res.Executions, x.executions)
			}
		}
	}
}
