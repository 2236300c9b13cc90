package gotest

import (
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
)

const libraryPrograms = `package m

import (
	"context"
	"encoding/json"
	"flag"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"
)

type point struct{ X, Y int }

func TestMarshal(t *testing.T) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	sum := 0
	for i := range 3 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			b, err := json.Marshal(point{i, 1})
			var p point
			if err == nil {
				err = json.Unmarshal(b, &p)
			}
			same(t, nil, err)
			mu.Lock()
			defer mu.Unlock()
			sum += p.X
		}()
	}
	wg.Wait()
	same(t, 3, sum)
}

func TestRace(t *testing.T) {
	p := &point{}
	done := make(chan bool)
	go func() { p.X = 1; close(done) }()
	json.Marshal(p)
	<-done
}

func TestHelper(t *testing.T) {
	same(t, 1, 2)
}

type box[T any] struct{ v T }
type unit struct{}

func (b *box[T]) each(f func()) { f() }
func (unit) show() string      { return where() }

// where returns the functions on the stack.
func where() string {
	pcs := make([]uintptr, 20)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	var names []string
	for {
		f, more := frames.Next()
		names = append(names, f.Function)
		if !more {
			return strings.Join(names, " ")
		}
	}
}

func generic[T any](x T) string { return where() }

// What package runtime says is what it says in Go, but for what is inlined.
func TestStack(t *testing.T) {
	var s interface{ show() string } = unit{}
	same(t, "m.unit.show m.TestStack testing.tRunner", s.show())
	same(t, "m.generic[...] m.TestStack testing.tRunner", generic(1))
	(&box[int]{}).each(func() {
		func() { same(t, "m.TestStack.func1.1 m.TestStack.func1 m.(*box[...]).each m.TestStack testing.tRunner", where()) }()
	})
	pc, file, line, ok := runtime.Caller(0)
	same(t, true, ok && line > 0 && strings.HasSuffix(file, "a_test.go"))
	same(t, "m.TestStack", runtime.FuncForPC(pc).Name())
	_, _, _, ok = runtime.Caller(100)
	same(t, false, ok)
	f, g := unit{}.show, unit{}.show
	same(t, reflect.ValueOf(f).Pointer(), reflect.ValueOf(g).Pointer())
	same(t, "m.where", runtime.FuncForPC(reflect.ValueOf(where).Pointer()).Name())
	defer func() {
		recover()
		stack := string(debug.Stack())
		same(t, true, strings.HasPrefix(stack, "goroutine ") && strings.Contains(stack, "\nm.TestStack("))
	}()
	panic("no")
}

// The time-out of the test itself that expires too early makes it panic.
func TestTimeout(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	c := make(chan int)
	go func() {
		select {
		case c <- 1:
		case <-ctx.Done():
		}
	}()
	select {
	case <-c:
	case <-ctx.Done():
		panic("too late")
	}
}

// What is not there is said as Go says it.
func TestNobody(t *testing.T) {
	_, ok := debug.ReadBuildInfo()
	same(t, false, ok)
	fs := flag.NewFlagSet("x", flag.ContinueOnError)
	fs.Init("y", flag.PanicOnError)
	same(t, "y", fs.Name())
	same(t, flag.PanicOnError, fs.ErrorHandling())
	same(t, true, runtime.MemProfileRate > 0)
}

// Here it is a goroutine of the program that panics.
func TestOther(t *testing.T) {
	c, done := make(chan int, 1), make(chan bool)
	time.AfterFunc(10*time.Millisecond, func() { c <- 1; close(done) })
	close(c)
	<-done
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if want != got {
		t.Errorf("%v, not %v", got, want)
	}
}
`

// TestLibrary: calls of the library do not depend on each other by what it keeps for
// itself, what they read of the program's memory is seen, and the failures of helpers
// are their callers'.
func TestLibrary(t *testing.T) {
	c := load(t, libraryPrograms)
	run := func(name string) *Result {
		t.Helper()
		p, err := c.Test(name, gosrc.Explore{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := Run(t.Context(), p, Options{Engine: DPOR})
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	// The orders in which three goroutines take the lock.
	if res := run("TestMarshal"); res.Verdict != engine.Pass || res.Executions != 6 {
		t.Errorf("%+v, %+v", res, res.Failure)
	}
	if res := run("TestRace"); res.Failure == nil || res.Failure.Kind != Race {
		t.Errorf("%+v", res)
	}
	if f := run("TestHelper").Failure; f == nil || f.Kind != Failed || f.Pos.Line != 50 {
		t.Errorf("%+v", f)
	}
	if res := run("TestNobody"); res.Verdict != engine.Pass {
		t.Errorf("%+v, %+v", res, res.Failure)
	}
	if res := run("TestStack"); res.Verdict != engine.Pass {
		t.Errorf("%+v, %+v", res, res.Failure)
	}
	if res := run("TestTimeout"); res.Verdict != engine.Pass || res.Slow == nil ||
		res.Slow.Kind != Panic {
		t.Errorf("%+v, %+v", res, res.Failure)
	}
	if f := run("TestOther").Failure; f == nil || f.Kind != Panic {
		t.Errorf("%+v", f)
	}
}
