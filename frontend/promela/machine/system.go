// Package machine executes resolved Promela models: [System] implements
// system.System, [Machine] system.Machine.
//
// A machine of its own, and not the one of the model language: a step of
// Promela is a statement with SPIN's rules of what is stored in between, a
// process can move another one (a rendezvous), the number of processes goes up
// and down, and values are C's ints. What both share is the form of a state
// (packed bits in words, a step changes some of them in place and notes them in
// an undo log), so that everything above package system treats them alike.
//
// A state is the globals, with their channels, and a stack of processes, each
// with its locals and channels: the number of a process is its place in the
// stack, and only the last can be taken off, which is SPIN's rule that a process
// dies after all that are younger. A state's length therefore varies.
//
// Expressions and statements are compiled to Go functions. A transition is what
// SPIN stores a state behind: one statement, or a whole atomic sequence up to
// where it blocks or ends, each way through its choices being an alternative.
package machine

import (
	"fmt"

	"cpor/frontend/promela/program"
	"cpor/system"
)

// System is a Promela model as explorers see it.
type System struct {
	prog    *program.Program
	globals region
	chans   []inst // of the globals
	procs   []*proctype
	initial []system.State
	claims  int32 // what _nr_pr counts beside the processes
	lossy   bool
	strict  bool // a valid end state has empty channels
	props   []eval
	claim   *proctype // nil if there is none
	trace   *events   // nil if there is none
	// onlyClaim: accept labels of processes mean nothing.
	onlyClaim   bool
	nonProgress bool                  // the claim asks for np_
	stored      map[*program.Sym]bool // what is not as it was declared, maybe

	perProcess int  // locations of a process
	control    bool // something beside a process itself depends on where it is
}

// Options say how a model is executed.
type Options struct {
	// Lossy lets a send to a full channel lose its message, as spin -m does.
	Lossy bool
	// EmptyChannels makes an end state valid only if all channels are empty, as
	// pan -q does.
	EmptyChannels bool
	// Claim is the never claim that is a part of the system, nil if there is none.
	Claim *program.Proc
	// Watched makes _nr_pr count one process more, as it does with a claim.
	Watched bool
	// InnerFirst tries the escapes of inner unless statements before those of
	// outer ones, as pan -J does.
	InnerFirst bool
}

// New makes the system of a resolved model. The error says what the initial
// state violates.
func New(p *program.Program, o Options) (*System, error) {
	s := &System{prog: p, lossy: o.Lossy, strict: o.EmptyChannels, stored: stored(p)}
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
		s.procs = append(s.procs, t)
	}
	for _, t := range s.procs {
		s.perProcess = max(s.perProcess, 1+len(t.Scalars))
	}
	s.control = true
	c := &coder{sys: s}
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
	m := &Machine{sys: s}
	m.words = make([]uint64, s.globals.words+64)
	m.rebuild()
	for _, v := range p.Globals.Syms {
		for k, ch := range v.Chans {
			m.put(0, &s.globals.scalars[v.Base+k], int32(ch)+1)
		}
		var inits []func(*Machine)
		c.initial(&s.globals, v, true, &inits)
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
	s.initial = []system.State{m.Encode(nil)}
	return s, nil
}

// Initial implements system.System.
func (s *System) Initial() []system.State { return s.initial }

// NewMachine implements system.System.
func (s *System) NewMachine() system.Machine { return s.newMachine() }

func (s *System) newMachine() *Machine {
	m := &Machine{sys: s}
	m.Load(s.initial[0])
	return m
}

var _ system.System = (*System)(nil)

// Irreducible implements system.Irreducible.
func (s *System) Irreducible() string {
	return "the transitions of a Promela model are not proved to show all that they depend on"
}
