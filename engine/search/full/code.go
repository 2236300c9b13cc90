package full

import (
	"math/bits"
	"os"
	"time"

	"cpor/engine/search"
	"cpor/system"
)

// way is how a state is expanded. All tell the same.
type way uint8

const (
	byStep   way = iota // by the machine, step by step
	byMemory            // the same, with the steps that are remembered not executed
	byCode              // by machine code
	ways
)

// code is what an expander knows of machine code.
type code struct {
	machine system.Expanding // nil if there is no code, and will be none
	code    system.Code      // nil if it is not ready
	next    system.Successor

	now   way
	left  int // states that are still expanded this way
	since time.Time
	steps uint64 // transitions when that began
	costs [ways]float64
	tried int
}

const (
	patience = 1 << 12 // transitions before code is compiled: small models end before
)

// choose chooses how the next state is expanded.
func (x *Expander) choose() way {
	c := &x.code
	if c.machine != nil && c.code == nil && x.counters.Transitions > patience {
		code, gone := c.machine.Compiled()
		if c.code = code; gone {
			c.machine = nil
		}
	}
	switch f := os.Getenv("CPORWAY"); {
	case f == "step":
		return byStep
	case c.code != nil && f != "memory":
		return byCode
	case x.repeating != nil:
		return byMemory
	}
	return byStep
}

// expandByCode is expand by machine code. What that leaves is executed.
func (x *Expander) expandByCode(v search.Visitor, stopper search.Stopper) (stopped bool) {
	c := &x.code
	if !c.code.Expand(x.state) {
		return x.expand(v, stopper)
	}
	n := &c.next
	for c.code.Next(n) {
		if n.Left {
			if !x.loaded {
				x.load()
			}
			if x.steps(n.Thread, v, stopper) {
				return true
			}
			continue
		}
		x.count(n.Thread, n.Kind, n.AtEnd)
		if n.Kind != system.Moved {
			continue
		}
		x.move.Thread, x.move.Alt, x.move.End, x.move.Changed = n.Thread, n.Alt, n.End, nil
		if n.Changed != 0 && len(n.End) == len(x.state) && len(n.End) <= 64 {
			words := x.changed[:0]
			for set := n.Changed; set != 0; set &= set - 1 {
				words = append(words, int32(bits.TrailingZeros64(set)))
			}
			x.changed, x.move.Changed = words, words
		}
		v.Move(&x.move)
		if n.Alt != 0 && stopper != nil && stopper.Stopped() {
			return true
		}
	}
	return false
}
