package auto

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/internal/human"
	"cpor/system"
)

const (
	// sampled is which part of the work samples take.
	sampled = 24
	// first is the work after which the first estimate is made.
	first = 4_000 * costStep
	// enough is, in multiples of first, the work before which nothing is decided: a whole
	// search of a few milliseconds.
	enough = 4
	// largest is the cost at which a sample is large enough.
	largest = 200_000 * costStep
	// behind is how much more than plain expansions the vectors from the same state
	// take before they are compared, when plain expansion is chosen: what sampled is
	// for a search by vectors.
	behind = 8
	// An estimate has settled if it is no less than this part of the two before, and so was
	// the one before. One alone can be so by chance while the estimates fall, more so with
	// several workers; and plain expansion chosen too early is dear: what it has
	// covered by the time it is given up has to be expanded.
	settled = 0.93
	// Plain expansion is chosen if vectors cost this much of it, and given up if they
	// promise that twice in succession.
	worse, better = 1.04, 0.7
	// Below this, vectors are so much better that sampling rests.
	clear = 0.8
)

// policy is how the expanders of one search choose.
type policy struct {
	sys system.System
	o   Options

	expanders []*Expander // of all workers

	now  atomic.Int32  // the way
	work atomic.Uint64 // by all
	next atomic.Uint64 // the work at which there is something to do

	first uint64 // the constant first, but for tests

	mu       sync.Mutex // held by those who tell, and by the one who looks
	spent    spent
	costs    costs
	estimate uint64  // the work at which the next estimate is made
	last     float64 // estimate, 0 for none
	former   float64 // the estimate before it
	steady   bool    // the last estimate was above worse and had settled
	sample   *sample
	root     system.State // for the next sample
	cost     uint64       // of all samples
	changes  []Change
	begun    spent // what was spent when the sample was begun
}

// Change is a choice that was made.
type Change struct {
	// Cartesian tells what was chosen: vectors, or plain expansion.
	Cartesian bool `json:"cartesian"`
	// States is the number of states that had been expanded.
	States uint64 `json:"states"`
	// Ratio is by how much vectors were estimated to cost more than plain expansion.
	Ratio float64 `json:"ratio"`
}

// Report tells what a search has chosen.
type Report struct {
	// CartesianStates and FullStates were expanded by vectors and plainly.
	CartesianStates uint64 `json:"cartesian_states"`
	FullStates      uint64 `json:"full_states"`
	// Ratio is the last estimate of the cost of vectors by that of plain expansion, 0
	// if the search was too short for one.
	Ratio float64 `json:"ratio"`
	// Changes are the choices after the first, which is vectors.
	Changes []Change `json:"changes"`
	// Sampled is the part of the work that went into samples.
	Sampled float64 `json:"sampled"`
}

func newPolicy(sys system.System, o Options) *policy {
	p := &policy{sys: sys, o: o, first: first, costs: costsOf(sys)}
	if o.Choice == Early {
		p.first = 50 * costStep
	}
	p.estimate = p.first
	p.next.Store(p.first / 4)
	return p
}

// way returns how a state is to be expanded now.
func (p *policy) way() way { return way(p.now.Load()) }

// add adds what a worker has done.
func (p *policy) add(s *spent) {
	p.mu.Lock()
	p.spent.add(s)
	p.mu.Unlock()
	p.work.Add(s.work)
}

// look lets samples grow and decides, if it is time. s is the state that is
// expanded next.
func (p *policy) look(s system.State, v search.Visitor) {
	if p.work.Load() < p.next.Load() || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	stopped := func() bool { return false }
	if st, ok := v.(search.Stopper); ok {
		stopped = st.Stopped
	}
	if p.way() == plainly {
		p.lookBack(s, stopped)
	} else {
		p.lookAhead(s, v, stopped)
	}
}

// lookAhead is look while vectors are chosen.
func (p *policy) lookAhead(s system.State, v search.Visitor, stopped func() bool) {
	work := p.spent.work
	var ratio float64
	if len(p.changes) > 0 {
		// The covered set has states that vectors would have left out.
		ratio = p.compare(s, stopped)
	} else {
		if p.sample == nil {
			p.begin()
		}
		before := p.sample.work
		p.sample.grow(min((work-p.begun.work)/sampled, largest), stopped)
		p.cost += p.sample.work - before
		p.next.Store(work + work/8)
		if work < p.estimate {
			return
		}
		if c, ok := v.(search.Covers); ok {
			if instead := p.spent.instead - p.begun.instead; instead > 0 {
				ratio = float64(p.spent.vectors-p.begun.vectors) / float64(
					instead) * p.sample.share(c.Covered)
			}
		}
	}
	p.estimate = 2 * work
	if len(p.changes) > 0 {
		p.next.Store(p.estimate)
	}
	if ratio == 0 || stopped() {
		return
	}
	was := p.steady
	p.steady = min(p.former, p.last, ratio) > worse && ratio >= settled*max(p.last, p.former)
	if was && p.steady && work >= enough*p.first {
		p.change(plainly, ratio)
		return
	}
	p.former, p.last = p.last, ratio
	if work < enough*p.first {
		return
	}
	if ratio < clear || p.sample != nil && p.sample.work >= largest {
		p.sample, p.root = nil, slices.Clone(s)
	}
	if ratio < clear {
		// There is nothing to decide for a while.
		p.estimate = 4 * work
		p.next.Store(2 * work)
	}
}

// begin begins a sample of plain expansions, from the initial states or from root.
func (p *policy) begin() {
	p.sample = p.empty(false)
	if p.root == nil {
		for _, s := range p.sys.Initial() {
			p.sample.put(s)
		}
		return
	}
	p.begun = p.spent
	p.sample.put(p.root)
}

func (p *policy) empty(vectors bool) *sample {
	o := p.o.Vectors
	o.IgnoreDeadlocks, o.Check = true, nil
	of := &o
	if !vectors {
		of = nil
	}
	s, err := newSample(p.sys, of)
	if err != nil {
		panic(fmt.Sprintf("auto: a sample without a limit has no store: %v", err))
	}
	return s
}

// lookBack is look while plain expansion is chosen: would vectors take less from here?
func (p *policy) lookBack(s system.State, stopped func() bool) {
	p.next.Store(2 * p.spent.work)
	ratio := p.compare(s, stopped)
	if ratio == 0 {
		return
	}
	// From one state vectors may save much that the others in the work set do not.
	if p.last > 0 && max(p.last, ratio) < better {
		p.change(byVectors, ratio)
		return
	}
	p.last = ratio
}

// compare estimates how the costs of both ways are from s on, with samples of both; 0
// if it cannot say.
func (p *policy) compare(s system.State, stopped func() bool) float64 {
	vectors, plain := p.empty(true), p.empty(false)
	vectors.put(s)
	plain.put(s)
	budget := min(p.spent.work/sampled, behind*largest)
	vectors.grow(budget, stopped)
	limit := vectors.work / behind
	if vectors.done() {
		// What they have not covered now they leave out.
		limit = max(budget, vectors.work) - vectors.work
	}
	plain.grow(min(limit, largest), stopped)
	p.cost += vectors.work + plain.work
	if stopped() || vectors.instead == 0 || vectors.done() && plain.done() &&
		vectors.work < p.first {
		return 0
	}
	return float64(vectors.work) / float64(vectors.instead) * plain.share(vectors.covers)
}

// change changes the way.
func (p *policy) change(to way, ratio float64) {
	p.changes = append(p.changes, Change{Cartesian: to == byVectors,
		States: p.spent.states[byVectors] + p.spent.states[plainly], Ratio: ratio})
	p.sample, p.last, p.former, p.steady = nil, 0, 0, false
	p.next.Store(4 * p.spent.work)
	p.now.Store(int32(to))
}

// report is [Report] at the end of a search.
func (p *policy) report() Report {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := p.spent
	for _, e := range p.expanders {
		all.add(&e.spent)
	}
	r := Report{CartesianStates: all.states[byVectors], FullStates: all.states[plainly],
		Ratio: p.last, Changes: p.changes}
	if n := len(p.changes); p.last == 0 && n > 0 {
		r.Ratio = p.changes[n-1].Ratio
	}
	if all.work > 0 {
		r.Sampled = float64(p.cost) / float64(p.cost+all.work)
	}
	return r
}

// figure tells people and programs what was chosen.
func (r Report) figure() engine.Figure {
	f := engine.Figure{Key: "auto", Value: r, Label: "chosen"}
	switch {
	case r.FullStates == 0:
		f.Text = "cartesian vectors for all states"
		return f
	case len(r.Changes) == 0:
		f.Text = fmt.Sprintf("cartesian vectors for %s states, plain expansion for %s",
			human.Count(r.CartesianStates), human.Count(r.FullStates))
		return f
	}
	c := r.Changes[len(r.Changes)-1]
	what := fmt.Sprintf("plain expansion from state %s on: vectors cost %.2f times as much",
		human.Count(c.States), c.Ratio)
	if c.Cartesian {
		what = fmt.Sprintf("cartesian vectors from state %s on again: they cost %.2f of plain "+
			"expansion", human.Count(c.States), c.Ratio)
	}
	f.Text = what
	return f
}
