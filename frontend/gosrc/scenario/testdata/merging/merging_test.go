// Package merging has types for searches with stored states that do not contain the histories. Most
// are specifications that depend on more than the calls before, or whose results may change later.
package merging

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cpor/check"
)

type counter struct {
	mu     sync.Mutex
	n      int
	serial int64
}

func (c *counter) add(beside func()) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
	beside()
	return c.n
}

var global atomic.Int64

func newCounter() *counter { return &counter{} }

func add(c *counter) int      { return c.add(func() {}) }
func starts(c *counter) int   { return c.add(func() { go new(atomic.Int64).Add(1) }) }
func draws(c *counter) int    { return c.add(func() { rand.IntN(2) }) }
func reads(c *counter) int    { return c.add(func() { time.Now() }) }
func changes(c *counter) int  { return c.add(func() { global.Add(1) }) }
func pointer(c *counter) *int { n := add(c); return &n }
func slice(c *counter) []int  { return []int{add(c)} }

func mapped(c *counter) map[int]int         { return map[int]int{1: add(c)} }
func inside(c *counter) struct{ p [1]*int } { return struct{ p [1]*int }{[1]*int{pointer(c)}} }

// joined is a type with a data race that leaves no trace in the state: Write and Read, which use n
// if it is open, come to the same states as if they had not.
type joined struct {
	open atomic.Bool
	n    int
}

func (j *joined) Write() {
	if j.open.Load() {
		j.n = 0
	}
}

func (j *joined) Read() {
	if j.open.Load() {
		_ = j.n
	}
}

func (j *joined) Open() { j.open.Store(true) }

// both explores an operation with the type as its own specification, and with a model.
func both(t *testing.T, new func() *counter, op any) {
	check.Linearizable(t, new, check.Op("Add", op))
	check.Linearizable(t, new, check.Model(new), check.Op("Add", op).As(op))
}

// TestPlans has the plans of tests in package gotest, in their order.
func TestPlans(t *testing.T) {
	check.Linearizable(t, func() *joined { return &joined{} }, check.Op("Write", (*joined).Write),
		check.Op("Read", (*joined).Read), check.Op("Open", (*joined).Open))
	for _, op := range []any{add, starts, draws, reads, changes, pointer, slice, mapped, inside} {
		both(t, newCounter, op)
	}
	both(t, func() *counter { global.Add(1); return newCounter() }, add)
	var news atomic.Int64
	both(t, func() *counter { return &counter{serial: news.Add(1)} }, add)
	check.Linearizable(t, newCounter, check.Op("Add", add), check.ProgramOrder)
	check.Linearizable(t, newCounter, check.Op("Add", add), check.Quiescence)
}
