package gotest

import (
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const programs = `package m

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"
	_ "unsafe" // for go:linkname
)

func TestPass(t *testing.T) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	n := 0
	for i := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			n += i
			mu.Unlock()
		}()
	}
	wg.Wait()
	if n != 3 {
		t.Errorf("n = %d", n)
	}
}

func TestRace(t *testing.T) {
	n := 0
	done := make(chan bool)
	go func() { n++; done <- true }()
	n++
	<-done
}

func TestReset(t *testing.T) { // what comes before Reset happens before the timer fires
	n := 0
	done := make(chan bool)
	tm := time.AfterFunc(time.Hour, func() { n++; close(done) })
	if tm.Stop() {
		n = 5
		tm.Reset(time.Second)
	}
	<-done
}

func TestDeadlock(t *testing.T) {
	var a, b sync.Mutex
	done := make(chan bool, 1)
	go func() {
		a.Lock()
		b.Lock()
		b.Unlock()
		a.Unlock()
		done <- true
	}()
	b.Lock()
	a.Lock()
	a.Unlock()
	b.Unlock()
	<-done
}

func TestLeak(t *testing.T) {
	c := make(chan int)
	go func() { c <- 1 }()
	select {
	case <-c:
	case <-time.After(time.Second):
	}
}

func TestPanic(t *testing.T) {
	c := make(chan int, 1)
	go close(c)
	c <- 1
}

func TestFailed(t *testing.T) {
	if err := fmt.Errorf("x: %w", errors.New("y")); err.Error() != "y" {
		t.Fatalf("got %v", err)
	}
}

func TestFatal(t *testing.T) {
	var mu sync.Mutex
	mu.Unlock()
}

func TestExit(t *testing.T) { os.Exit(3) }

func TestUnsupported(t *testing.T) { os.FindProcess(1) }

// fastrandn is a number below n.
//
//go:linkname fastrandn runtime.fastrandn
func fastrandn(n uint32) uint32

//go:linkname fastrand runtime.fastrand
func fastrand() uint32

func TestLinked(t *testing.T) {
	if n := int64(fastrand()); n < 0 || n > 1<<32-1 {
		t.Error(n)
	}
	for range 4 {
		switch n := fastrandn(5); {
		case n == 3:
			t.Fatal("three")
		case n > 4:
			t.Fatal(n)
		}
	}
}
`

func TestRun(t *testing.T) {
	c := load(t, programs)
	for _, x := range []struct {
		name    string
		kind    FailureKind // empty: passes
		message string
	}{
		{"TestPass", "", ""},
		{"TestRace", Race, ""},
		{"TestReset", "", ""},
		{"TestDeadlock", Deadlock, ""},
		{"TestLeak", Leak, ""},
		{"TestPanic", Panic, "panic: send on closed channel"},
		{"TestFailed", Failed, "got x: y"},
		{"TestFatal", Fatal, "fatal error: sync: unlock of unlocked mutex"},
		{"TestExit", Exit, "exit 3"},
		{"TestLinked", Failed, "three"},
	} {
		t.Run(x.name, func(t *testing.T) {
			p, err := c.Test(x.name, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			res, err := Run(t.Context(), p, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if x.kind == "" {
				if res.Verdict != engine.Pass || res.Executions == 0 {
					t.Fatalf("%+v", res)
				}
				return
			}
			f := res.Failure
			if res.Verdict != engine.Violated || f == nil || f.Kind != x.kind || x.message != "" &&
				f.Message != x.message {
				t.Fatalf("%+v, %+v", res, f)
			}
			if len(f.Stacks) == 0 || len(f.Stacks[0].Frames) == 0 || f.Pos.Line == 0 {
				t.Errorf("no stacks: %+v", f)
			}
		})
	}
	p, err := c.Test("TestUnsupported", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = Run(t.Context(), p, Options{})
	u, ok := err.(*gosrc.Unsupported)
	if !ok || len(u.Path) == 0 || u.Path[0].Func != "m.TestUnsupported" {
		t.Errorf("got %v", err)
	}
}
