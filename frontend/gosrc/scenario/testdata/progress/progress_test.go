package progress

import (
	"testing"

	"cpor/check"
)

// TestProgress of package scenario explores these tests. The names of those that fail end in
// Blocks.

var stack = []check.Option{check.Op("Push", (*Stack).Push).Arg(0, 1), check.Op("Pop", (*Stack).Pop)}

func newStack() *Stack { return new(Stack) }

func TestStack(t *testing.T)      { check.LockFree(t, newStack, stack...) }
func TestStackAlone(t *testing.T) { check.ObstructionFree(t, newStack, stack...) }

func queue() []check.Option {
	return []check.Option{check.Op("Enq", (*Queue).Enq).Arg(0, 1), check.Op("Deq", (*Queue).Deq)}
}

func TestQueue(t *testing.T) {
	check.LockFree(t, func() *Queue { return newQueue(false) }, queue()...)
}

func TestForgetBlocks(t *testing.T) {
	check.LockFree(t, func() *Queue { return newQueue(true) }, queue()...)
}

func TestForgetAloneBlocks(t *testing.T) {
	check.ObstructionFree(t, func() *Queue { return newQueue(true) }, queue()...)
}

func TestCounter(t *testing.T) {
	check.LockFree(t, func() *Counter { return new(Counter) },
		check.Op("Inc", (*Counter).Inc), check.Op("Add", (*Counter).Add))
}

func TestRing(t *testing.T) {
	check.LockFree(t, func() *Ring { return new(Ring) },
		check.Op("Put", (*Ring).Put), check.Op("Take", (*Ring).Take))
}

func TestVyukov(t *testing.T) {
	check.LockFree(t, newVyukov, check.Bounds{Goroutines: 2, Calls: 3},
		check.Op("Put", (*Vyukov).Put).Arg(0, 1), check.Op("Take", (*Vyukov).Take))
}

func TestLockedBlocks(t *testing.T) {
	check.LockFree(t, func() *Locked { return new(Locked) },
		check.Op("Put", (*Locked).Put), check.Op("Take", (*Locked).Take))
}

func TestLockedAloneBlocks(t *testing.T) {
	check.ObstructionFree(t, func() *Locked { return new(Locked) },
		check.Op("Put", (*Locked).Put), check.Op("Take", (*Locked).Take))
}

func TestSpinBlocks(t *testing.T) {
	check.LockFree(t, func() *Spin { return new(Spin) }, check.Op("Inc", (*Spin).Inc))
}

func TestSpinAloneBlocks(t *testing.T) {
	check.ObstructionFree(t, func() *Spin { return new(Spin) }, check.Op("Inc", (*Spin).Inc))
}

func TestCountingBlocks(t *testing.T) {
	check.LockFree(t, func() *Counting { return new(Counting) }, check.Op("Inc", (*Counting).Inc))
}

func TestCountingAloneBlocks(t *testing.T) {
	check.ObstructionFree(t, func() *Counting { return new(Counting) },
		check.Op("Inc", (*Counting).Inc), check.Bounds{Steps: 50})
}

func abort() []check.Option {
	return []check.Option{check.Op("IncBy", (*Abort).IncBy).Arg(0, 1, 2)}
}

func TestAbortBlocks(t *testing.T) {
	check.LockFree(t, func() *Abort { return new(Abort) }, abort()...)
}

func TestAbortAlone(t *testing.T) {
	check.ObstructionFree(t, func() *Abort { return new(Abort) }, abort()...)
}

func TestStepsBlocks(t *testing.T) {
	check.LockFree(t, newStack, append([]check.Option{check.Bounds{Steps: 3}}, stack...)...)
}

func TestWaitBlocks(t *testing.T) {
	check.LockFree(t, newWait, check.Op("Set", (*Wait).Set), check.Op("Wait", (*Wait).Wait))
}

func TestServedBlocks(t *testing.T) {
	check.LockFree(t, newServed, check.Op("Next", (*Served).Next), check.Config{Leaks: true})
}

// tinyCodes are the programs of TestTiny of package gotest. Few have a lock or a loop.
func tinyCodes() (codes []any) {
	for range 4 {
		codes = append(codes, 0o52, 0o41) // they abort each other
	}
	for x, i := uint32(1), 0; i < 32; i++ {
		code := 0
		for range 3 {
			x = x*1664525 + 1013904223
			code = code*8 + int("1212125123124567"[x>>28]-'0')
		}
		codes = append(codes, code)
	}
	return codes
}

func TestTiny(t *testing.T) {
	check.LockFree(t, func() *Tiny { return new(Tiny) },
		check.Op("Do", (*Tiny).Do).Arg(0, tinyCodes()...))
}
