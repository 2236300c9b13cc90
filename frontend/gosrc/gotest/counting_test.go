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

func TestPlain(t *testing.T) { // read without an atomic operation
	var n int64
	done := make(chan bool)
	go func() { atomic.AddInt64(&n, 1); close(done) }()
	_ = n
	<-done
}
`

// TestCounting: atomic additions whose sum nobody looks at commute.
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
		{"TestNil", 0, Panic},
		{"TestRaceByOrder", 0, Race},
		{"TestPlain", 0, Race},
	} {
		engines := []Engine{DPOR, Cartesian, Full}
		if strings.Contains("TestCount TestTypes TestRead", x.name) {
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
