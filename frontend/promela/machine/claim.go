package machine

import (
	"fmt"
	"slices"

	"cpor/frontend/promela/program"
	"cpor/frontend/promela/syntax"
	"cpor/system"
)

// A never claim is part of the system, as in SPIN's verifier: it moves first, in the state of
// the processes, and then one of them moves. A transition is both moves, and a state contains
// the claim's place, so the states are those that SPIN stores. Where the claim cannot move,
// there is no transition: the claim does not describe the continuation. Where no process can
// move, the claim continues alone (the execution stutters); that is a thread of its own, the
// last one.
//
// A claim may also change variables of the model and start processes, although SPIN warns about
// it. Then what a process can do depends on the claim's move.
//
// An execution is forbidden if the claim reaches its end, or if it, or a process, is at an
// accept label infinitely often; [System.Accepting] is the proposition for that.

// Accepting returns the name of the proposition that the claim or a process is at an
// accept label, and that the claim can move if there is one.
func (s *System) Accepting() string {
	if s.onlyClaim {
		return "no progress from now on"
	}
	return "at an accept label"
}

// NonProgress returns the claim that SPIN adds for non-progress cycles: from some state
// on, no process is at a progress label.
func NonProgress(p *program.Program) *program.Proc {
	first, cycle, end := &program.State{ID: 0}, &program.State{ID: 1, Accept: true}, &program.State{
		ID: 2}
	// SPIN's numbers of the moves, which follow each other, are used in trails.
	np := func(seq int) *program.Edge {
		return &program.Edge{Kind: program.Cond, X: &program.Special{Name: "np_"}, To: cycle,
			Text: "np_", Seq: seq}
	}
	first.Edges = []*program.Edge{np(1), {Kind: program.Cond, X: &program.Const{Value: 1},
		To: first, Text: "true", Seq: 2}}
	cycle.Edges = []*program.Edge{np(3)}
	return &program.Proc{
		Name: "np_", Index: len(p.Procs), First: 9997, Elements: 3, Type: p.Types(),
		States: []*program.State{first, cycle, end}, End: 2,
		Decl: &syntax.Proctype{Name: syntax.Name{Text: "np_"}},
	}
}

// claimMove is a move of the claim in the live state: several edges if they are atomic.
type claimMove struct {
	to      int32
	viol    *system.Violation
	failed  int
	changes []undo  // the words that it changes, with their new values
	by      []*edge // while tracking is on: the edges
}

// alone returns the number of the thread that is the claim without a process.
func (m *Machine) alone() int {
	if m.sys.claimRuns {
		return program.MaxProcesses // the others are taken when it starts processes
	}
	return m.n
}

// claimMoves finds the moves of the claim without changing the live state.
func (m *Machine) claimMoves() []claimMove {
	at := int32(m.words[0] >> claimShift & 0xffff)
	t, fb, proc, opts, edge := m.t, m.fb, m.proc, m.opts, m.at
	viol, fatal, failed := m.viol, m.fatal, m.failed
	m.proc, m.t, m.opts = m.sys.claim, 0, nil
	m.moves, m.claimWay = m.moves[:0], m.claimWay[:0]
	m.claimFrom(at, nil, 0, 0, m.Mark())
	m.t, m.fb, m.proc, m.opts, m.at = t, fb, proc, opts, edge
	m.viol, m.fatal, m.failed = viol, fatal, failed
	return m.moves
}

// claimDepth bounds the steps of a claim in one atomic.
const claimDepth = 1000

// claimFrom appends the moves that continue at a state of the claim; begin is where they began
// in the undo log.
func (m *Machine) claimFrom(at int32, viol *system.Violation, failed, depth int,
	begin system.Mark) {
	s := &m.proc.states[at]
	if depth > claimDepth {
		m.at = nil
		m.viol = nil
		m.fail(system.Runtime, s.src.Pos, true, "this atomic sequence of the claim does not end")
		m.moves = append(m.moves, claimMove{to: at, viol: m.viol, failed: 1})
		return
	}
	m.opts = m.opts[:0]
	m.collectEdges(s)
	before := m.Mark()
	for _, o := range append([]option(nil), m.opts...) {
		m.Rewind(before)
		m.viol, m.failed = nil, 0
		m.run(o.e)
		if m.track {
			m.claimWay = append(m.claimWay[:depth], o.e)
		}
		v, n := viol, failed+m.failed
		if v == nil {
			v = m.viol
		}
		if o.e.atomic {
			m.claimFrom(o.e.to, v, n, depth+1, begin)
			continue
		}
		if to := &m.proc.states[o.e.to]; to.final || to.end {
			n++
			if v == nil {
				m.viol = nil
				m.fail(system.Invariant, o.e.src.Pos, false,
					"the claim %s has reached its end: what it describes has happened", m.proc.Name)
				v = m.viol
				v.Object = m.proc.Name
			}
		}
		m.moves = append(m.moves, claimMove{o.e.to, v, n, m.since(begin), slices.Clone(m.claimWay)})
	}
	m.Rewind(before)
}

// since returns the changes since a mark, with the new values.
func (m *Machine) since(begin system.Mark) []undo {
	var out []undo
	for _, u := range m.log[begin:] {
		if u.word >= 0 {
			u.old = m.words[u.word]
		}
		out = append(out, u)
	}
	return out
}

// change repeats changes that since returned.
func (m *Machine) change(list []undo) {
	created := false
	for _, u := range list {
		if u.word < 0 {
			m.log = append(m.log, u)
			created = true
			continue
		}
		m.set(u.word, u.old)
	}
	if created {
		m.rebuild()
	}
}

// stepClaim is Step with a claim. The number of an alternative is that of the
// process's times the claim's moves, plus that of the claim's.
func (m *Machine) stepClaim(t int, alt uint64) system.Outcome {
	blocked := system.Outcome{Kind: system.Blocked, AtEnd: true}
	if t > m.alone() {
		return system.Outcome{Kind: system.Ended}
	}
	m.acc, m.told = m.acc[:0], m.told[:0]
	m.story.deeds, m.story.t = m.story.deeds[:0], t
	m.viol, m.fatal, m.failed = nil, false, 0
	if m.sys.claimChanges {
		return m.stepChanging(t, alt)
	}
	if t == m.n {
		if !m.stuck() {
			return blocked
		}
		m.viol, m.fatal, m.failed = nil, false, 0
		m.stutter = true
	}
	moves := m.claimMoves()
	m.stutter = false
	c := uint64(len(moves))
	if c == 0 {
		return blocked
	}
	flag := alt & deep
	alt &^= deep
	mine := moves[alt%c]
	var out system.Outcome
	if t == m.n {
		out = system.Outcome{Kind: system.Moved}
	} else {
		if out = m.stepProcess(t, flag|alt/c); out.Kind != system.Moved {
			return blocked
		}
	}
	m.setBits(0, claimShift, 16, uint64(mine.to))
	m.claimed = mine.by
	m.failed += mine.failed
	if out.Violation == nil {
		out.Violation = mine.viol
	}
	switch {
	case alt%c+1 < c:
		out.Next = flag | alt + 1
	case out.Next != 0:
		out.Next = out.Next&deep | out.Next&^deep*c
	}
	return out
}

// stepChanging is stepClaim for a claim that changes more than its place. What a process can do
// depends on the claim's move, so the alternatives of one move are counted before those of the
// next.
func (m *Machine) stepChanging(t int, alt uint64) system.Outcome {
	m.stutter = m.sys.nonProgress && t == m.alone() && m.stuck()
	moves := append([]claimMove(nil), m.claimMoves()...)
	m.stutter = false
	c := uint64(len(moves))
	if c == 0 {
		return system.Outcome{Kind: system.Blocked, AtEnd: true}
	}
	mark := m.Mark()
	try := func(k, alt uint64) (out system.Outcome) {
		m.Rewind(mark)
		m.change(moves[k].changes)
		switch {
		case t != m.alone():
			out = m.stepProcess(t, alt)
		case m.stuck():
			out.Kind = system.Moved
			m.viol, m.fatal, m.failed = nil, false, 0
		default:
			out.Kind = system.Blocked
		}
		return out
	}
	flag := alt & deep
	alt &^= deep
	k := alt % c
	of := alt / c
	out := try(k, flag|of)
	for k+1 < c && alt == 0 && out.Kind != system.Moved {
		k++
		out = try(k, 0)
	}
	if out.Kind != system.Moved {
		m.Rewind(mark)
		return system.Outcome{Kind: system.Blocked, AtEnd: true}
	}
	next := out.Next
	if next != 0 {
		next = next&deep | next&^deep*c + k
	} else if k+1 < c {
		later := k + 1
		for later < c && try(later, 0).Kind != system.Moved {
			later++
		}
		if later < c {
			next = later
		}
		out = try(k, flag|of)
	}
	out.Next = next
	m.setBits(0, claimShift, 16, uint64(moves[k].to))
	m.claimed = moves[k].by
	m.failed += moves[k].failed
	if out.Violation == nil {
		out.Violation = moves[k].viol
	}
	return out
}

// stuck reports whether no process can move.
func (m *Machine) stuck() bool {
	t, fb, proc, opts, at := m.t, m.fb, m.proc, m.opts, m.at
	m.opts = nil
	defer func() { m.t, m.fb, m.proc, m.opts, m.at = t, fb, proc, opts, at }()
	for u := range m.n {
		m.enter(u)
		m.findOptions()
		if len(m.opts) > 0 {
			return false
		}
	}
	return true
}

// accepting is the proposition [System.Accepting].
func (m *Machine) accepting() bool {
	if m.sys.claim != nil {
		m.stutter = m.sys.nonProgress && m.stuck()
		n := len(m.claimMoves())
		m.stutter = false
		if n == 0 {
			return false
		}
		if m.sys.claim.states[m.words[0]>>claimShift&0xffff].accept {
			return true
		}
		if m.sys.onlyClaim {
			return false
		}
	}
	for t := range m.n {
		if m.sys.procs[m.words[m.base[t]]&0xff].states[m.pc(t)].accept {
			return true
		}
	}
	return false
}

// addClaim compiles a claim.
func (s *System) addClaim(c *coder, claim *program.Proc) error {
	if len(claim.Syms) > 0 {
		v := claim.Syms[0]
		return syntax.Errors{
			{Pos: v.Name.Pos, Len: len(v.Name.Text),
				Text: fmt.Sprintf("the claim %s declares a variable, which SPIN refuses; declare "+
					"it outside of the claim", claim.Name)}}
	}
	for _, st := range claim.States {
		for _, e := range st.Edges {
			switch e.Kind {
			case program.Send, program.Recv:
				return syntax.Errors{
					{Pos: e.Pos, Len: max(1, len(e.Text)),
						Text: fmt.Sprintf("the claim %s sends or receives a message here, which "+
							"SPIN refuses; it can ask for one, as in q?[x]", claim.Name)}}
			case program.Assign, program.SetPrio:
				s.claimChanges = true
			}
			eachExpr(e, func(x program.Expr) { s.claimRuns = s.claimRuns || program.Runs(x) > 0 })
		}
	}
	s.claimChanges = s.claimChanges || s.claimRuns
	s.nonProgress = s.prog.UsesNonProgress || claim.Name == "np_"
	s.claim = &proctype{Proc: claim, states: make([]state, len(claim.States))}
	s.claim.lay = layOut(&claim.Region, processBit)
	s.claims = 1
	c.compile(s.claim)
	return nil
}
