// Package machine executes resolved Promela models: [System] implements
// system.System, [Machine] system.Machine.
//
// It does not use the machine of the model language, because a step of Promela is a statement
// with SPIN's rules of what is stored in between, a process can move another one (a rendezvous),
// the number of processes goes up and down, and values are C's ints. Both represent a state as
// packed bits in words; a step changes some of them in place and records them in an undo log.
//
// A state is the globals, with their channels, and a stack of processes, each with its locals
// and channels: the number of a process is its place in the stack, and only the last can be
// removed: SPIN's rule that a process dies after all younger ones. A state's length therefore
// varies.
//
// Expressions and statements are compiled to Go functions. A transition is what SPIN stores a
// state after: one statement, or a whole atomic sequence up to where it blocks or ends. Each
// path through its choices is an alternative.
//
// # Accesses
//
// Reductions treat two transitions of different processes as independent if they touch no common
// location that one of them writes. So a transition must show everything that decides what it
// does, and everything it changes. Data that only conflicting transitions use needs no location
// of its own:
//
//   - Control. Every transition of a process, including a waiting one's self-loop, reads where
//     the process is, and one that moves writes it. That location covers the locals, the
//     parameters and the priority of a process: only its own transitions, and those of a
//     rendezvous with it, which write it too, use them. Locals that a remote reference names
//     have locations, as have channels that belong to a process.
//   - Variables. Each scalar of the globals is a location. An index is evaluated first, so the
//     location is that of the element. Adding a number to a global scalar commutes with adding
//     the same number ([system.Op]): arithmetic wraps around.
//   - Channels. A channel with a capacity is one location, see below.
//   - Rendezvous. The sender's transition changes the receiver, so it writes the control of
//     both. A process that tries to send reads, for each process whose type can receive this
//     way, whether it is ready. A step writes that for its process if it comes from or leads to
//     a state in which the process can receive. The sender's transition reads what the
//     receiver's arguments and its provided clause read. The receiver alone waits, and reads its
//     own control, which the rendezvous writes.
//   - Processes. run and death read and write the number of processes, so any two of them are
//     dependent: numbers of processes mean the same in every order of independent transitions.
//     _nr_pr, remote references, a process that waits for its death, channels of processes and
//     attempts at a rendezvous read it. A free process number (the last process died, or there
//     was none) counts as a thread that waits to be created.
//   - Remote references read the control of the process, or its local.
//   - else is enabled if nothing else is, so everything tried before it, and escapes, are
//     evaluated. All guards of a control state are evaluated for each of its alternatives.
//   - atomic and d_step. A transition continues until control is given up, and has the accesses
//     of all its statements. Control is given up within a transition only: no state records that
//     a process has it, so nothing depends on it. This holds across a rendezvous, too, where the
//     receiver continues in the sender's transition. The alternatives are decided along the
//     sequence, so if it continues after a choice, each alternative shows the accesses of all of
//     them.
//   - provided clauses are read whenever a process is tested for whether it can move.
//   - A fault is part of the transition in whose evaluation it occurs, and a transition that
//     only fails has a self-loop.
//
// # Sends and receives
//
// A channel with a capacity is one location, its number of messages and all that they hold.
// Every use of it first reads how many messages it has, which reads the location
// (Machine.length): a send, a receive, a poll, len, full, empty and their negations, executed or
// waiting. Only two operations change it, a send that adds a message and a receive that removes
// one, and both store fields, which writes the location (Machine.setField). A send to a full
// channel, which waits or with -lossy loses its message, and a receive that leaves the message
// only read. So
//
//   - two steps that change one channel are dependent. Two sends are because the order of the
//     messages is kept, two receives because each takes another message;
//   - a step that changes a channel is dependent on each that reads it: on a waiting receive
//     that a send enables, on a waiting send that a receive enables, and on conditions that
//     become true or false;
//   - two steps that only read it are independent, like two reads of a variable.
//
// A send to the tail and a receive from the head of a channel that is neither empty nor full
// commute, but their accesses are dependent, which costs reduction, not soundness. Ample sets
// see the ends of channels (ends.go): they find out which process uses which end, so they need
// no xr and xs. These are not steps, and nothing relies on their claims.
//
// Finding the channel also reads locations. A channel variable with assignments is read as a
// variable; one without keeps the channels of its declaration, and its index is read. The number
// of a process's channel depends on which processes exist, so using it also reads the number of
// processes, unless the channel's process comes before the user's and cannot die first. Its
// location is one of the process's locals. Arguments and the values that fields are compared
// with are read as far as they are evaluated: a receive that stops at a field that does not
// match depends on no later one. A channel without capacity has no location, since it never
// holds anything: len is 0 in every state, and a rendezvous touches what is described above.
//
// # What asks about all processes
//
// timeout, enabled, priorities and trace assertions do. asking.go says what they access, and why
// ample sets need not see all of it. Reductions refuse what no location represents
// ([System.Irreducible]): np_, _last, never claims, priorities that change, and, for temporal
// properties, all constructs of this section.
//
// future.go bounds what a process may still access from each control state, for persistent sets
// and for the ample sets of formulas.
//
// Only transitions that conflict in this sense can disable or change each other, so the proofs
// of the reductions apply. Tests check the accesses on every small model (systemtest.Conform
// executes independent transitions in both orders) and compare the engines' verdicts.
package machine

import (
	"fmt"
	"slices"
	"sync"

	"cpor/frontend/code"
	"cpor/frontend/promela/program"
	"cpor/system"
)

// System is a Promela model as a system.
type System struct {
	// Counters counts how often processes reached their control states, from proctype.first.
	system.Counters

	prog      *program.Program
	globals   region
	chans     []inst     // of the globals
	channelAt []*channel // by scalar of the globals: the channel with a buffer that begins there
	passing   []int      // scalars of hidden globals that no state depends on
	procs     []*proctype
	initial   []system.State
	claims    int32 // what _nr_pr counts beside the processes
	lossy     bool
	strict    bool // a valid end state has empty channels
	props     []eval
	places    int32 // control states of all process types
	waits     bool  // something that can be come to asks for timeout
	// everywhere: timeout matters to processes that do not ask for it.
	everywhere bool
	sets       bool // priorities change, or are not known
	claimed    bool // there are xr or xs

	claim *proctype // nil if there is none
	// What the claim does besides reading: it changes the state, it starts processes.
	claimChanges, claimRuns bool
	trace                   *events // nil if there is none
	// onlyClaim: accept labels of processes mean nothing.
	onlyClaim   bool
	nonProgress bool                  // the claim asks for np_
	stored      map[*program.Sym]bool // what is not as it was declared, maybe

	// With merged semantics, see merged.go.
	chain  map[*program.State]bool // no process rests here
	dead   map[*program.Edge][]int // the scalars of its process that are set to 0
	unused map[*program.Proc][]int // those that are 0 from the start
	apart  *System                 // the same without; nil with pure semantics

	analysis sync.Once // of future
	future   *futures

	// The system as machine code, and as code that records accesses.
	code, codeAccesses code.Later
	repeats            bool // what steps depend on is known by locations, timeout aside

	perProcess int  // locations of a process
	meets      bool // there are rendezvous channels
}

// Options say how a model is executed.
type Options struct {
	// Lossy lets a send to a full channel lose its message, as spin -m does.
	Lossy bool
	// EmptyChannels makes an end state valid only if all channels are empty, as
	// pan -q does.
	EmptyChannels bool
	// Claim is the never claim that is part of the system, nil if there is none.
	Claim *program.Proc
	// Watched makes _nr_pr count one process more, as it does with a claim.
	Watched bool
	// InnerFirst tries the escapes of inner unless statements before those of
	// outer ones, as pan -J does.
	InnerFirst bool
	// Merged skips states that no process needs to rest in, and sets locals to 0 that nothing
	// will read. It is for safety searches, without a claim.
	Merged bool
}

// New makes the system of a resolved model. The error is a violation in the initial state.
func New(p *program.Program, o Options) (*System, error) {
	s := &System{prog: p, passing: passing(p), lossy: o.Lossy, strict: o.EmptyChannels,
		stored: stored(p)}
	p.OrderEscapes(o.InnerFirst)
	s.globals = layOut(&p.Globals, globalBits)
	for _, c := range channels(&s.globals) {
		s.chans = append(s.chans, inst{c, 0})
	}
	if o.Watched {
		s.claims = 1
	}
	for _, pr := range p.Procs {
		t := &proctype{Proc: pr, states: make([]state, len(pr.States))}
		t.lay = layOut(&pr.Region, processBit)
		t.chans = channels(&t.lay)
		t.first = s.places
		s.places += int32(len(t.states))
		s.procs = append(s.procs, t)
	}
	s.meets = meetsSomewhere(p)
	s.claimed = slices.ContainsFunc(p.Procs, func(pr *program.Proc) bool {
		return len(pr.Exclusive) > 0
	})
	for _, t := range s.procs {
		s.perProcess = max(s.perProcess, 2+len(t.Scalars))
	}
	s.findWaits()
	s.findPriorities()
	s.channelAt = make([]*channel, len(s.globals.scalars))
	for _, q := range s.chans {
		if q.c.Cap > 0 {
			s.channelAt[q.c.Base] = q.c
		}
	}
	if o.Merged {
		s.merge()
		o.Merged = false
		var err error
		if s.apart, err = New(p, o); err != nil {
			return nil, err
		}
	}
	c := &coder{sys: s}
	s.addClaims(c)
	for _, t := range s.procs {
		c.compile(t)
	}
	if o.Claim != nil {
		if err := s.addClaim(c, o.Claim); err != nil {
			return nil, err
		}
		s.onlyClaim = o.Claim.Name == "np_"
	}
	if p.Trace != nil {
		if err := s.addTrace(c, p.Trace, p.Model.NotTrace); err != nil {
			return nil, err
		}
	}
	c.proc = nil
	for _, q := range p.Props {
		s.props = append(s.props, c.expr(q.X))
	}
	m, err := s.begin(c)
	if err != nil {
		return nil, err
	}
	m.forget()
	s.initial = []system.State{m.Encode(nil)}
	s.repeats = s.unlocated(false) == "" && !p.UsesPriority && !p.UsesLast
	return s, nil
}

// meetsSomewhere reports whether the model has a channel of rendezvous.
func meetsSomewhere(p *program.Program) bool {
	meets := func(c *program.Channel) bool { return c.Cap == 0 }
	return slices.ContainsFunc(p.Globals.Chans, meets) ||
		slices.ContainsFunc(p.Procs, func(pr *program.Proc) bool {
			return slices.ContainsFunc(pr.Chans, meets)
		})
}

// begin returns a machine in the initial state. The error says what that violates.
func (s *System) begin(c *coder) (*Machine, error) {
	p := s.prog
	m := &Machine{sys: s, seen: s.StartCounting(int(s.places))}
	m.words = make([]uint64, s.globals.words+64)
	m.rebuild()
	for _, f := range p.Globals.Fields {
		m.put(0, &s.globals.scalars[f.Scalar], int32(f.Chan)+1)
	}
	for _, v := range p.Globals.Syms {
		for k, ch := range v.Chans {
			m.put(0, &s.globals.scalars[v.Base+k], int32(ch)+1)
		}
		var inits []func(*Machine)
		c.initial(&s.globals, v, v.Base, true, &inits)
		for _, f := range inits {
			f(m)
		}
	}
	for _, a := range p.Actives {
		t := s.procs[a.Proc.Index]
		m.create(t, nil, c.priority(nil, t)(m), a.Proc.Decl.Pos)
	}
	if m.viol != nil {
		return nil, fmt.Errorf("%s: %s", m.viol.Pos.File, m.viol.Message)
	}
	if s.trace != nil {
		m.setBits(0, traceShift, 16, uint64(s.trace.proc.Start))
	}
	if s.claim != nil {
		m.setBits(0, claimShift, 16, uint64(s.claim.Start))
	}
	return m, nil
}

// findWaits finds what uses timeout, ignoring dead code.
func (s *System) findWaits() {
	asks := func(f func(in func(program.Expr))) (is bool) {
		f(func(x program.Expr) {
			program.Each(x, func(x program.Expr) {
				t, ok := x.(*program.Special)
				is = is || ok && t.Name == "timeout"
			})
		})
		return is
	}
	edges := func(st *program.State, in func(program.Expr), receives bool) {
		for _, e := range edgesOf(st) {
			for _, e := range append([]*program.Edge{e}, e.Guards...) {
				if !receives || e.Kind == program.Recv {
					eachExpr(e, in)
				}
			}
		}
	}
	// Whether a process may move, and what it receives, also matters to others.
	s.everywhere = asks(func(in func(program.Expr)) {
		for _, pr := range slices.Concat(s.prog.Procs, s.prog.Claims) {
			in(pr.Provided)
			for _, st := range pr.States {
				edges(st, in, true)
			}
		}
		for _, pr := range s.prog.Claims {
			for _, st := range pr.States {
				edges(st, in, false)
			}
		}
	})
	// enabled(p) is also evaluated with timeout true, and then sees what p can do.
	s.everywhere = s.everywhere || s.prog.UsesEnabled && s.prog.UsesTimeout
	everywhere := s.everywhere || asks(func(in func(program.Expr)) {
		for _, q := range s.prog.Props {
			in(q.X)
		}
	})
	s.waits = everywhere
	for _, p := range s.procs {
		for i, st := range p.States {
			p.states[i].waits = everywhere || asks(func(in func(program.Expr)) {
				edges(st, in, false)
			})
			s.waits = s.waits || p.states[i].waits
		}
	}
}

// findPriorities finds whether priorities change, or are not known.
func (s *System) findPriorities() {
	for _, p := range s.procs {
		s.sets = s.sets || !known(p.Priority)
		for _, st := range p.States {
			for _, e := range st.Edges {
				s.sets = s.sets || e.Kind == program.SetPrio
				eachExpr(e, func(x program.Expr) {
					program.Each(x, func(x program.Expr) {
						r, ok := x.(*program.Run)
						s.sets = s.sets || ok && !known(r.Priority)
					})
				})
			}
		}
	}
}

// known reports whether a priority is a number that is not below the lowest one, which processes
// have by default.
func known(x program.Expr) bool {
	c, ok := x.(*program.Const)
	return x == nil || ok && c.Value >= 1 && c.Value <= 255
}

// Initial implements system.System.
func (s *System) Initial() []system.State { return s.initial }

// NewMachine implements system.System.
func (s *System) NewMachine() system.Machine { return s.newMachine() }

func (s *System) newMachine() *Machine {
	m := &Machine{sys: s, seen: s.CountMachine()}
	m.Load(s.initial[0])
	return m
}

var _ system.System = (*System)(nil)
