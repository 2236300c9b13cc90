package auto

import (
	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/system"
)

// The costs of what an expansion does, in hundredths of an executed transition. They
// were fitted to the processor times of both ways on 23 models (docs/design/reductions.md). Only
// their ratios matter, and not much: a wrong weight moves the point where both ways
// are alike, and there either will do.
const (
	costState  = 600 // to load a state, and that it was once new to the covered set
	costStep   = 100 // to execute a transition, and to take it back
	costCopy   = 100 // to load the state once more, for a prefix of more than one transition
	costEnd    = 30  // to write an end down and to look for it in the covered set
	costAsk    = 15  // to ask what a thread may do to another one
	costAccess = 50  // to write an access down and to compare it with those of other prefixes
)

// costs are the costs of plain expansion, which differ from system to system.
type costs struct {
	state uint64 // as costState
	step  uint64 // as costStep
	end   uint64 // as costEnd
}

// costsOf returns the costs for a system: the full search looks up most steps instead of executing
// them if the machine can tell what they depend on, or runs machine code.
func costsOf(sys system.System) costs {
	if sys.NewMachine().Capabilities().Repeating != nil {
		return costs{260, 19, 19}
	}
	return costs{costState, costStep, costEnd}
}

// ofVector returns the costs of a vector and of the plain expansion of its state.
func (c *costs) ofVector(e cartesian.Effort) (vector, plain uint64) {
	return costState + uint64(
			costStep*e.Steps+costCopy*e.Copies+costEnd*e.Ends+costAccess*e.Accesses),
		c.instead(e.FullSteps, e.FullEnds)
}

// instead returns the cost of a plain expansion.
func (c *costs) instead(steps, ends int) uint64 {
	return c.state + c.step*uint64(steps) + c.end*uint64(ends)
}

// ofPlain returns the cost of a plain expansion that counted d.
func (c *costs) ofPlain(d search.Counters) uint64 {
	return c.instead(int(d.Transitions+d.EndedLoops), int(d.Transitions-d.BlockedLoops))
}

// ofSet returns the cost of an attempt to find an ample set, and that of the plain expansion of its
// state.
func (c *costs) ofSet(e ample.Effort) (set, plain uint64) {
	return uint64(costStep*e.Steps + costEnd*e.Ends + costAsk*e.Questions),
		c.instead(e.FullSteps, e.FullEnds)
}

// way is how a state is expanded.
type way int32

// The ways.
const (
	reduced way = iota // by an ample set, or else by a vector
	plainly
)

// spent is what was done.
type spent struct {
	states  [2]uint64 // expanded, by the way
	work    uint64    // cost
	vectors uint64    // cost of the reduced expansions alone
	instead uint64    // what plain expansions of the same states would have cost
	sets    uint64    // states that were expanded by ample sets
}

func (s *spent) vector(costs *costs, e cartesian.Effort) {
	c, p := costs.ofVector(e)
	s.states[reduced]++
	s.work += c
	s.vectors += c
	s.instead += p
}

// set adds an attempt to find an ample set, which found one or is made in vain.
func (s *spent) set(costs *costs, e ample.Effort, found bool) {
	c, p := costs.ofSet(e)
	if found {
		c += costState
		s.states[reduced]++
		s.sets++
		s.instead += p
	}
	s.work += c
	s.vectors += c
}

func (s *spent) plain(costs *costs, after, before search.Counters) {
	s.states[plainly]++
	s.work += costs.ofPlain(search.Counters{
		Transitions:  after.Transitions - before.Transitions,
		EndedLoops:   after.EndedLoops - before.EndedLoops,
		BlockedLoops: after.BlockedLoops - before.BlockedLoops,
	})
}

func (s *spent) add(t *spent) {
	for i := range s.states {
		s.states[i] += t.states[i]
	}
	s.work += t.work
	s.vectors += t.vectors
	s.instead += t.instead
	s.sets += t.sets
}
