package machine

import (
	"slices"

	"cpor/frontend/model/compile"
	"cpor/system"
)

// The system counts what its machines execute.
var _ system.Counting = (*System)(nil)

// path is what the current step counts if it is not undone: the counters of the jumps taken and
// the threads created.
type path struct {
	last  [pathLen]int32 // a ring
	n     int
	early map[int32]uint64 // what the ring has lost
	// Where the execution continued, if no jump was taken after the first fromAt.
	from, fromAt int
	point        int  // where the step began
	counter      int  // that commit was told
	committed    bool // the step was counted
	looked       bool // at the whole state, to find out whether any thread can move
	trying       bool // only to find out which alternatives are enabled
	probing      bool // the machine only finds out whether a thread can move
}

const pathLen = 64 // a power of two

// took records a jump.
func (m *Machine) took(counter int32) {
	m.path.last[m.path.n%pathLen] = counter
	m.path.n++
	if m.path.n%pathLen == 0 {
		m.path.spill()
	}
}

func (p *path) spill() {
	if p.early == nil {
		p.early = map[int32]uint64{}
	}
	for _, c := range p.last {
		p.early[c]++
	}
}

// begin forgets the previous step.
func (p *path) begin(entry int) {
	if p.n >= pathLen {
		clear(p.early)
	}
	p.n, p.from, p.fromAt, p.committed = 0, entry, 0, false
}

// commit counts the step, which began with a counter.
func (m *Machine) commit(counter int) {
	p := &m.path
	if p.trying || p.probing {
		return
	}
	p.counter, p.committed = counter, true
	m.tellCounts()
	m.counts[counter]++
	for _, c := range p.last[:p.n%pathLen] {
		m.counts[c]++
	}
	if p.n >= pathLen {
		for c, n := range p.early {
			m.counts[c] += n
		}
	}
}

// tellCounts publishes the counts if they were requested.
func (m *Machine) tellCounts() {
	if r := m.sys.Round(); r != m.round {
		m.round = r
		m.tallies.AddTo(m.counts)
		m.sys.Tell(m.counts)
	}
}

// failedAt counts the instruction that ended a segment by a violation at a site: the first one
// with that site after the last jump.
func (m *Machine) failedAt(site int) {
	p := &m.path
	at := p.from
	if p.n > p.fromAt {
		at = m.sys.target(p.last[(p.n-1)%pathLen])
	}
	for range len(m.p.Code) {
		in := &m.p.Code[at]
		switch {
		case in.Op == compile.OpFail || in.Op == compile.OpBound || in.Op == compile.OpBlock ||
			in.Op == compile.OpDrop || in.Op == compile.OpTable:
			return
		case in.Site == int32(site) || in.Op == compile.OpSelect &&
			slices.ContainsFunc(m.p.Selects[in.T], func(c compile.SelectCase) bool {
				return c.Site == int32(site)
			}),
			// an endless loop is attributed to the outer loop
			in.Op == compile.OpJmp && in.T >= 0:
			m.took(int32(m.p.Cover.Faults[at]))
			return
		case in.Op == compile.OpJmp:
			at = int(in.A)
		default:
			at++
		}
	}
}

// target returns where a jump goes.
func (s *System) target(counter int32) int {
	s.coverOnce.Do(func() {
		s.targets = map[int32]int{}
		for at := range s.p.Code {
			switch in := &s.p.Code[at]; in.Op {
			case compile.OpJt, compile.OpJf, compile.OpJeq, compile.OpJne, compile.OpJlt,
				compile.OpJle, compile.OpJmp:
				if in.T >= 0 {
					s.targets[in.T] = int(in.A)
				}
			case compile.OpTable:
				for k, to := range s.p.Jumps[in.T] {
					s.targets[in.C+int32(k)] = int(to)
				}
			}
		}
	})
	return s.targets[counter]
}

// Places returns how often each piece of the source was executed, those of init
// included, in the order of [compile.Cover].
func (s *System) Places() (*compile.Cover, []uint64) { return s.places(s.Counted()) }

// PlacesSoFar is Places while machines are running ([system.Counters.CountedSoFar]).
func (s *System) PlacesSoFar() (*compile.Cover, []uint64) { return s.places(s.CountedSoFar()) }

func (s *System) places(counters []uint64) (*compile.Cover, []uint64) {
	executed := s.p.Executed(counters)
	spots := s.p.Cover.Spots
	out := make([]uint64, len(spots))
	for i := range spots {
		out[i] = spots[i].Count(counters, executed)
	}
	return &s.p.Cover, out
}
