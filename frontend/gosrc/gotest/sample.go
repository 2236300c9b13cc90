package gotest

import (
	"context"
	"math/rand/v2"
	"slices"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/trace"
)

// pctSteps is after how many steps priorities are given up: a goroutine that spins
// would keep the others from what it waits for.
const pctSteps = 300

// maxSteps is the length at which a bounded execution is cut off.
const maxSteps = 10_000

// An execution at random is cut off after shortSample steps, or twice as many as the shortest one
// had that has ended. When one was cut off, some may have longerBy times as many
// steps, and so on up to maxSample: one of longerBy goes on to the next length, so that each
// length gets as much of the time. Most bugs need few steps, some need many.
const (
	shortSample = 1250
	longerBy    = 8
	maxSample   = 2_000_000
)

// firstLook is after how many steps it is looked for the first time whether somebody waits for
// ever while others continue; then again each time when the number has doubled.
const firstLook = 128

// sampler runs executions at random: every other one chooses evenly among the threads that can
// continue. The others choose in turns by PCT (Burckhardt, Kothari, Musuvathi, Nagarakatte, ASPLOS
// 2010: random priorities, which are lowered at d-1 random steps), with d from 1 to 3, and by SURW.
type sampler struct {
	m      system.Machine
	rand   *rand.Rand
	steps  []trace.Step
	limit  int // when the longest executions are cut off
	length int // of the longest execution so far, for PCT's points of change
	// shortest is the length of the shortest execution that has ended.
	shortest int
	prio     []int
	low      int
	tail     bool // stop when the test has ended, whoever continues
	uniform  uniform
	surw     bool // this execution is by SURW
	counts   bool // it counts steps for SURW
	order    []int
	buf      system.State
}

func newSampler(p *gosrc.Program, seed uint64) *sampler {
	r := rand.New(rand.NewPCG(seed, 1))
	return &sampler{m: p.NewMachine(), rand: r, uniform: uniform{rand: r}, length: 10,
		limit: shortSample}
}

// begin makes the initial state the live one.
func (s *sampler) begin(p *gosrc.Program) {
	s.m.Load(p.Initial()[0])
	s.steps = s.steps[:0]
	s.prio, s.low = s.prio[:0], 0
	s.surw, s.counts = false, false
}

// run runs one execution. It returns whether it failed, and whether it came to an
// end; the steps are in s.steps.
func (s *sampler) run(ctx context.Context, p *gosrc.Program, number int) (failed, ended bool) {
	s.begin(p)
	pct := s.choose(number)
	if s.counts {
		defer s.uniform.counted()
	}
	changes := s.changes(pct, number)
	limit := s.limitOf()
	m := s.m.(*machine.Machine)
	for look := firstLook; len(s.steps) < limit; {
		m.Forget()
		if len(s.steps) == look {
			look *= 2
			if lost(m) != nil {
				return true, true
			}
		}
		if p.Halted() {
			return false, false
		}
		if m.Over() || s.tail && !m.Alive(0) {
			s.noteEnd()
			return false, true
		}
		if len(s.steps)%16 == 15 && (ctx.Err() != nil || m.Bytes() > maxGraph) {
			return false, false
		}
		lower := pct && len(s.steps) < pctSteps && slices.Contains(changes, len(s.steps))
		out := s.step(pct && len(s.steps) < pctSteps, lower)
		if out.Kind != system.Moved {
			some, _ := m.Stuck()
			s.noteEnd()
			return some && s.stuck(), true
		}
		if out.Violation != nil {
			return true, true
		}
		if abandoned(p) {
			return false, false
		}
	}
	if limit == s.limit {
		s.limit = min(longerBy*s.limit, maxSample)
	}
	return false, false
}

// choose decides how an execution chooses, by its number, and tells whether that is by PCT.
func (s *sampler) choose(number int) (pct bool) {
	if number%4 == 3 {
		s.counts = s.uniform.begin(number / 4)
		s.surw = !s.counts
	}
	s.m.Track(s.surw || s.counts)
	return number%4 == 1
}

// abandoned reports whether nothing more can be learned from an execution.
func abandoned(p *gosrc.Program) bool {
	return p.Unsupported() != nil || p.GaveUp() != "" || p.Halted()
}

// changes draws the steps at which a priority is lowered, which probabilistic concurrency testing
// has.
func (s *sampler) changes(pct bool, number int) (steps []int) {
	if pct {
		for range number / 4 % 3 {
			steps = append(steps, s.rand.IntN(s.length))
		}
	}
	return steps
}

// limitOf draws how long an execution may be: mostly not much longer than the shortest.
func (s *sampler) limitOf() int {
	limit := min(max(shortSample, 2*s.shortest), s.limit)
	for limit < s.limit && s.rand.IntN(longerBy) == 0 {
		limit = min(longerBy*limit, s.limit)
	}
	return limit
}

// noteEnd notes how long an execution was that has ended.
func (s *sampler) noteEnd() {
	n := len(s.steps)
	s.length = max(s.length, n)
	if s.shortest == 0 || n < s.shortest {
		s.shortest = n
	}
}

// stuck tells whether somebody waits who may not.
func (s *sampler) stuck() bool {
	for t := range s.m.NumThreads() {
		if out := s.m.Step(t, 0); out.Kind == system.Blocked && !out.AtEnd {
			return true
		}
	}
	return false
}

// step lets one thread take one step; the outcome is not Moved if none can.
func (s *sampler) step(pct, lower bool) system.Outcome {
	n := s.m.NumThreads()
	for len(s.prio) < n {
		s.prio = append(s.prio, s.rand.IntN(1<<20)+1)
	}
	s.order = s.m.(*machine.Machine).Living(s.order[:0])
	if pct {
		slices.SortStableFunc(s.order, func(a, b int) int { return s.prio[b] - s.prio[a] })
	} else {
		s.rand.Shuffle(len(s.order), func(i, j int) {
			s.order[i], s.order[j] = s.order[j],
				s.order[i]
		})
	}
	mark := s.m.Mark()
	out := system.Outcome{Kind: system.Ended}
	if s.surw {
		s.uniform.pass(len(s.steps))
	}
	for _, t := range s.order {
		if s.surw && s.uniform.isHeld(t) {
			continue
		}
		first := uint64(0)
		draws := s.m.(*machine.Machine).Draws(t)
		if draws {
			first = s.rand.Uint64N(1 << 30)
		}
		if out = s.m.Step(t, first); out.Kind != system.Moved {
			continue
		}
		if s.surw && s.uniform.selected(s.m.Accesses(), s.m.(*machine.Machine)) {
			s.m.Rewind(mark)
			if !s.uniform.goes(t, len(s.steps), s.enabled) {
				continue
			}
			out = s.m.Step(t, first)
		}
		if lower {
			// The one that would go is the last one from now on.
			s.m.Rewind(mark)
			s.low--
			s.prio[t] = s.low
			return s.step(pct, false)
		}
		alt := uint64(0)
		if draws {
			alt = first
		}
		for seen := 2; out.Next != 0; seen++ {
			next := out.Next
			s.m.Rewind(mark)
			if s.rand.IntN(seen) != 0 {
				// Look whether there are more, and come back.
				probe := s.m.Step(t, next)
				s.m.Rewind(mark)
				out = s.m.Step(t, alt)
				out.Next = probe.Next
				continue
			}
			alt = next
			out = s.m.Step(t, alt)
		}
		s.steps = append(s.steps, trace.Step{Thread: t, Alt: alt})
		s.took(t)
		return out
	}
	if s.surw && s.uniform.release() { // whose turn it is cannot run
		return s.step(pct, lower)
	}
	return out
}

// enabled returns who can run.
func (s *sampler) enabled() (ts []int) {
	mark := s.m.Mark()
	for _, t := range s.order {
		if s.m.Step(t, 0).Kind == system.Moved {
			ts = append(ts, t)
		}
		s.m.Rewind(mark)
	}
	return ts
}

// took tells SURW of a step of a thread.
func (s *sampler) took(t int) {
	if !s.surw && !s.counts {
		return
	}
	m := s.m.(*machine.Machine)
	if s.counts {
		s.uniform.count(t, m.Accesses(), m)
	}
	s.order = m.Living(s.order[:0])
	s.uniform.started(t, s.order)
}
