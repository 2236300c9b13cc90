package check

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// LockFree checks that a type is lock-free: whichever goroutines are suspended forever, and
// wherever that happens, a call of the others ends within a bound of steps that they make
// (Herlihy and Shavit, "On the nature of progress", OPODIS 2011).
//
//	func TestStack(t *testing.T) {
//		check.LockFree(t, NewStack,
//			check.Op("Push", (*Stack).Push),
//			check.Op("Pop", (*Stack).Pop))
//	}
//
// It generates scenarios as [Linearizable] does, without calls in the end, and explores all states
// of each. The test fails if a call waits for another goroutine, if goroutines can make steps
// forever while no call ends, or if they can make more than [Bounds].Steps steps without that. The
// log shows who is suspended where, and the schedule. A step is an operation that synchronizes,
// such as an atomic operation, and the computation up to the next one.
//
// Results do not matter: LockFree refuses [Model], [Order], [Operation.Key] and
// [Operation.MayWait]. Panics, data races, deadlocks and leaked goroutines are failures, too.
func LockFree[T any](t *testing.T, new func() T, options ...Option) {
	t.Helper()
	linearizable(t, planned(t, lockFree, new, options))
}

// ObstructionFree checks that a type is obstruction-free: from every state that goroutines reach
// together, each goroutine ends its call within a bound of steps if all others are suspended
// (Herlihy, Luchangco and Moir, "Obstruction-free synchronization", ICDCS 2003). Otherwise it is as
// [LockFree], which asks for more.
func ObstructionFree[T any](t *testing.T, new func() T, options ...Option) {
	t.Helper()
	linearizable(t, planned(t, obstructionFree, new, options))
}

// property is what a test checks.
type property int

// Package scenario knows these numbers.
const (
	linear property = iota
	lockFree
	obstructionFree
)

// String is the name of the function.
func (p property) String() string {
	return []string{"check.Linearizable", "check.LockFree", "check.ObstructionFree"}[p]
}

// planned is the plan of a call of Linearizable and the like, before it is ready.
func planned[T any](t *testing.T, is property, new func() T, options []Option) *plan {
	t.Helper()
	p := &plan{is: is, what: reflect.TypeFor[T]()}
	if new != nil {
		p.make = func() reflect.Value { return reflect.ValueOf(new()) }
	}
	for _, o := range options {
		if o == nil {
			p.missing = true
			continue
		}
		o.apply(p)
	}
	return p
}

// ready completes a plan that is needed. It ends the test if something is wrong with it.
func (p *plan) ready(t *testing.T) {
	t.Helper()
	if err := p.complete(); err != "" {
		t.Fatalf("%s: %s", p.is, err)
	}
}

// fitsProperty returns what was said that the property does not use.
func (p *plan) fitsProperty() string {
	keys := slices.ContainsFunc(p.ops, func(o *Operation) bool { return o.keyed })
	switch {
	case p.is == linear && p.bounds.Steps != 0:
		return "Bounds.Steps is for LockFree and ObstructionFree"
	case p.is == linear && keys && p.order == ProgramOrder:
		return "Key does not work with ProgramOrder: the calls of each key may have an order " +
			"where those of all keys together have none"
	case p.is == linear:
		return ""
	case keys:
		return "Key says how results are compared, which does not matter here"
	case p.model != nil:
		return "Model says what calls return, which does not matter here"
	case p.order != RealTime:
		return "Order says what calls return, which does not matter here"
	case p.bounds.Steps < 0:
		return fmt.Sprintf("%d steps: want at least 1", p.bounds.Steps)
	}
	for _, o := range p.ops {
		if o.mayWait {
			return fmt.Sprintf("operation %s may wait, so it depends on others", o.name)
		}
	}
	return ""
}
