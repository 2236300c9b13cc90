package machine

import (
	"slices"

	"cpor/frontend/gosrc/compile"
	"cpor/frontend/gosrc/std"
)

// scenarios are what package check generates and what it says about itself: the natives of its
// calls.
//
// # Invocations and responses
//
// A call of the type under test has an invocation and a response. Each goroutine of a scenario
// has a word that counts its responses. A response writes the word of its goroutine, and an
// invocation reads the words of all: so they are dependent as a history needs it, and neither
// two invocations nor two responses are. Neither is a transition of its own. A response belongs
// to the transition in which the call returns. An invocation belongs to the first transition
// that begins, or in which the goroutine is handed what it waits for, after the invocation; if
// the call returns before that, check asks for a transition (invokeNow). Neither orders anything
// for the detection of races.
//
// So a call is taken to last from its first transition to its last one, as short as an execution
// of the program allows it. That is enough. Take an execution of the program with events for
// invocations and responses, and move each response to directly behind the last transition of
// its call, and each invocation to directly before the first one. Nothing else changes, because
// the program cannot see these events; a call without a transition computes with what its
// goroutine has seen before, and what it reads nobody else can write meanwhile without a race,
// so it may as well compute where invokeNow is. The calls return the same, and a call that
// preceded another still does: the new history has the same results and at least as much order,
// so it is not linearizable if the old one was not. It is the history of an execution that the
// program has, so no alarm is false. And a reduction that explores one execution of each class
// explores one with this history: whether an invocation sees a response is the order of two
// dependent transitions, the same in the whole class.
func scenarios(plain func(name string, run func(m *Machine, g *goroutine, r []uint64))) {
	merging(plain)
	// described(text): check says what it can generate scenarios of.
	plain("internal/cpor.Described", func(m *Machine, g *goroutine, r []uint64) {
		s, text := m.sys, m.text(r[0])
		s.mu.Lock()
		defer s.mu.Unlock()
		if !slices.Contains(s.described, text) {
			s.described = append(s.described, text)
		}
	})
	// Scenario returns that which is explored; empty if there is none.
	plain("internal/cpor.Scenario", func(m *Machine, g *goroutine, r []uint64) {
		text := ""
		if m.scenario > 0 {
			text = m.sys.o.Scenarios[m.scenario-1]
		}
		r[0] = m.str(text)
	})
	// Invoke(done, seen, n): a call begins that sees the n words at done, and notes them at seen.
	plain("internal/cpor.Invoke", func(m *Machine, g *goroutine, r []uint64) {
		g.invokes, g.sees, g.words = r[0], r[1], int32(r[2])
	})
	plain("internal/cpor.Invoked", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(g.words == 0)
	})
	// InvokeNow is a transition in which nothing happens but the invocation.
	enter(native{name: "internal/cpor.InvokeNow", alts: always,
		sync: func(*Machine, *goroutine, []uint64, int) {}})
	// Respond(done): a call of the goroutine with this word has returned.
	plain("internal/cpor.Respond", func(m *Machine, g *goroutine, r []uint64) {
		m.put(r[0], m.mem[m.addr(r[0])]+1)
	})
	// Settled waits until no other goroutine can run.
	enter(native{name: "internal/cpor.Settled", alts: func(m *Machine, g *goroutine,
		r []uint64) int {
		return int(flag(m.settled(g)))
	},
		sync: func(m *Machine, g *goroutine, r []uint64, _ int) { m.joinAll(g) }})
	// Calm says whether the goroutine synchronizes with nobody.
	plain("internal/cpor.Calm", func(m *Machine, g *goroutine, r []uint64) {
		g.calm = r[0] != 0
		m.story.calm = g.calm
	})
	// Calling(text): a call begins of which neither results nor order matter; empty: it ends.
	plain("internal/cpor.Calling", func(m *Machine, g *goroutine, r []uint64) {
		if r[0] == 0 {
			g.calls++
		}
		g.call = r[0]
	})
	// MayWait says whether the goroutine may wait forever.
	plain("internal/cpor.MayWait", func(m *Machine, g *goroutine, r []uint64) {
		g.behind = r[0] != 0
	})
}

// invoke makes the invocation of a call part of the transition.
func (m *Machine) invoke(g *goroutine) {
	if s := m.spec(); s != nil {
		m.monitor = s.invoked(m.monitor, int32(g.sees))
		g.sees, g.words = 0, 0
		return
	}
	for i := range uint64(g.words) {
		m.touchWord(g.invokes+i, false)
		m.set(m.addr(g.sees+i), m.mem[m.addr(g.invokes+i)])
	}
	g.invokes, g.sees, g.words = 0, 0, 0
}

// calmly takes the next step of a goroutine as a part of this one, if it has nobody to synchronize
// with. So the calls of the specification, on values of their own, are one transition for each
// history.
func (m *Machine) calmly(g *goroutine) bool {
	i := g.pending()
	if i == nil || i.Op == compile.Go || i.Op == compile.Sync &&
		natives[i.N].name == "internal/cpor.Settled" {
		return false
	}
	r := g.regs()
	alts := m.alternatives(g, i, r)
	m.scratch = alts
	if len(alts) != 1 || alts[0].partner >= 0 {
		return false
	}
	m.execute(g, i, r, alts[0])
	return g.status == alive
}

// Call returns the call that a goroutine is in, of a scenario of check.LockFree or
// check.ObstructionFree; empty if it is in none.
func (m *Machine) Call(t int) string {
	if t >= len(m.gors) || m.gors[t].status != alive || m.gors[t].call == 0 {
		return ""
	}
	return m.text(m.gors[t].call)
}

// Ended returns how many such calls of a goroutine have ended since the state was loaded.
func (m *Machine) Ended(t int) int {
	if t >= len(m.gors) {
		return 0
	}
	return int(m.gors[t].calls)
}

// Invokes reports whether a call of a scenario of check.Linearizable has yet to be invoked by the
// next step of a goroutine.
func (m *Machine) Invokes(t int) bool { return m.gors[t].words > 0 }

// Starts reports whether a goroutine starts another one next, and nobody counts them.
func (m *Machine) Starts(t int) bool {
	i := m.gors[t].pending()
	return i != nil && i.Op == compile.Go && !m.gors[t].unstarted && !m.sys.counts
}

// Begins reports whether a goroutine has not made a step, and nobody counts them.
func (m *Machine) Begins(t int) bool {
	g := m.gors[t]
	return g.status == alive && g.unstarted && !m.sys.counts
}

// Settles reports whether a goroutine waits until no other one can run.
func (m *Machine) Settles(t int) bool {
	i := m.gors[t].pending()
	return i != nil && i.Op == compile.Sync && !m.gors[t].unstarted &&
		natives[i.N].name == "internal/cpor.Settled"
}

// Sleeps reports whether a goroutine waits for time to pass.
func (m *Machine) Sleeps(t int) bool { return m.gors[t].armed }

// SetScenarios makes the system one that explores other scenarios, or none. Nothing that belongs
// to the system may be running.
func (s *System) SetScenarios(texts []string) {
	s.o.Scenarios, s.scenarios, s.unmerged = texts, nil, ""
	s.specs = make([]*spec, len(texts))
	s.bubbles = s.mayBubble()
	if len(texts) == 0 {
		return
	}
	m := &Machine{sys: s, p: s.p}
	for i := range texts {
		m.Load(s.initial)
		m.scenario = uint32(i + 1)
		s.scenarios = append(s.scenarios, m.Encode(nil))
	}
}

// Scenario returns which of the scenarios the execution has.
func (m *Machine) Scenario() int { return int(m.scenario) - 1 }

// mayBubble is what bubbles is to be.
func (s *System) mayBubble() bool {
	return s.p.Uses("testing/synctest", "Test") || s.p.Uses("testing/synctest", "Run") ||
		len(s.o.Scenarios) > 0 && s.p.Uses(std.Check, "MayWait")
}

// Described returns what package check says it can generate scenarios of, for each call of
// Linearizable in the order in which they came.
func (s *System) Described() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.described)
}

// Work is how many instructions the last step has executed, and what costly ones count for. Steps
// that took different branches mostly differ in it.
func (m *Machine) Work() int64 { return m.stepBudget() - m.left - m.budget }
