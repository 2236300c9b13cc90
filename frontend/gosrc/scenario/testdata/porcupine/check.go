// Package check stands in for this module's package in TestPorcupine: it makes random calls
// natively and asks porcupine about what they return, as one does without cpor. The specification
// is the type itself, used by one goroutine.
package check

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

type (
	Option    any
	Operation struct {
		name    string
		fn      reflect.Value
		values  map[int][]any
		mayWait bool
	}
	Bounds struct {
		Goroutines, Calls, Concurrent, Prefix, Scenarios int
		Seed                                             uint64
	}
	Order int
)

const Quiescence Order = 2

func Op(name string, f any) *Operation {
	return &Operation{name: name, fn: reflect.ValueOf(f), values: map[int][]any{}}
}

func (o *Operation) Arg(i int, values ...any) *Operation {
	o.values[i] = values
	return o
}

func (o *Operation) MayWait() *Operation {
	o.mayWait = true
	return o
}

func Only(string) Option { return nil }

// draw draws arguments.
func (o *Operation) draw() (args []reflect.Value) {
	for i := 1; i < o.fn.Type().NumIn(); i++ {
		list, t := o.values[i-1], o.fn.Type().In(i)
		if list == nil {
			switch t.Kind() {
			case reflect.String:
				list = []any{"a", "b"}
			case reflect.Bool:
				list = []any{false, true}
			case reflect.Interface:
				list = []any{context.Background()}
			default:
				list = []any{1, 2}
			}
		}
		args = append(args, reflect.ValueOf(list[rand.IntN(len(list))]).Convert(t))
	}
	return args
}

// call is a call: what porcupine calls an input.
type call struct {
	op   *Operation
	args []reflect.Value
}

func (c *call) on(value reflect.Value) (results []any) {
	for _, r := range c.op.fn.Call(append([]reflect.Value{value}, c.args...)) {
		if k := r.Kind(); k == reflect.Chan || k == reflect.Func {
			results = append(results, nil)
			continue
		}
		results = append(results, r.Interface())
	}
	return results
}

// sequentially makes the call; ok is false if it waits.
func (c *call) sequentially(value reflect.Value) (results []any, ok bool) {
	if !c.op.mayWait {
		return c.on(value), true
	}
	done := make(chan []any, 1)
	go func() { done <- c.on(value) }()
	select {
	case results = <-done:
		return results, true
	case <-time.After(10 * time.Millisecond):
		return nil, false
	}
}

func same(a, b []any) bool {
	for i := range a {
		if e, ok := a[i].(error); ok {
			if f, ok := b[i].(error); !ok || e.Error() != f.Error() {
				return false
			}
		} else if !reflect.DeepEqual(a[i], b[i]) {
			return false
		}
	}
	return true
}

// Linearizable makes random calls for as long as STRESS says, and fails at the first history that
// is not linearizable.
func Linearizable[T any](t *testing.T, make func() T, options ...Option) {
	var ops []*Operation
	for _, o := range options {
		if op, ok := o.(*Operation); ok {
			ops = append(ops, op)
		}
	}
	fresh := func() reflect.Value { return reflect.ValueOf(make()) }
	model := porcupine.Model{
		Init: func() any { return []*call(nil) },
		Step: func(state, input, output any) (bool, any) {
			before, c := state.([]*call), input.(*call)
			value := fresh()
			for _, b := range before {
				b.sequentially(value)
			}
			got, ok := c.sequentially(value)
			return ok && same(got, output.([]any)), append(before[:len(before):len(before)], c)
		},
		Equal: func(a, b any) bool { return reflect.DeepEqual(a, b) },
	}
	length, err := time.ParseDuration(os.Getenv("STRESS"))
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for begin := time.Now(); time.Since(begin) < length; n++ {
		history := execute(ops, fresh())
		if history != nil && !porcupine.CheckOperations(model, history) {
			t.Fatalf("not linearizable, after %d executions", n+1)
		}
	}
	fmt.Println(n, "executions")
}

// execute makes calls, some before all others, some at the same time, and then those without
// arguments. It returns nil if a call waits forever.
func execute(ops []*Operation, value reflect.Value) []porcupine.Operation {
	var mu sync.Mutex
	var clock atomic.Int64
	var history []porcupine.Operation
	one := func(client int, op *Operation) {
		c := &call{op, op.draw()}
		begin := clock.Add(1)
		results := c.on(value)
		end := clock.Add(1)
		mu.Lock()
		history = append(history, porcupine.Operation{ClientId: client, Input: c, Call: begin,
			Output: results, Return: end})
		mu.Unlock()
	}
	for range rand.IntN(3) {
		if op := ops[rand.IntN(len(ops))]; !op.mayWait {
			one(0, op)
		}
	}
	goroutines := 2 + rand.IntN(3)
	var ready, wait sync.WaitGroup
	var begin atomic.Bool
	ready.Add(goroutines)
	for g := range goroutines {
		list := make([]*Operation, 1+rand.IntN(4))
		for i := range list {
			list[i] = ops[rand.IntN(len(ops))]
		}
		wait.Go(func() {
			ready.Done()
			for !begin.Load() {
				runtime.Gosched()
			}
			for _, op := range list {
				one(g, op)
			}
		})
	}
	ready.Wait()
	begin.Store(true)
	done := make(chan bool)
	go func() {
		wait.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(100 * time.Millisecond):
		for _, op := range ops {
			if op.mayWait {
				return nil
			}
		}
		<-done
	}
	for _, op := range ops {
		if !op.mayWait && op.fn.Type().NumOut() > 0 {
			one(0, op)
		}
	}
	return history
}
