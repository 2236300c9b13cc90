package auto

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/engine/search/full"
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
	// the one before; samples scatter it by a sixth. One alone can be so by chance while the
	// estimates fall, more so with several workers; and plain expansion chosen too early is dear:
	// what it has covered by the time it is given up has to be expanded.
	settled = 0.83
	// Plain expansion is chosen if vectors cost this much of it, and given up if they
	// promise that twice in succession.
	worse, better = 1.04, 0.7
	// These hold if it has at least twice the states, for which memory pays, too.
	dear, cheap = 3.2, 1.0
	twice       = 0.5
	// Below this, vectors are so much better that sampling rests.
	clear = 0.8
)

// policy is how the expanders of one search choose.
type policy struct {
	sys  system.System
	o    Options
	sets func() *ample.Expander // nil if there are none

	expanders []*Expander // of all workers

	now  atomic.Int32  // the way
	work atomic.Uint64 // by all
	next atomic.Uint64 // the work at which there is something to do

	first uint64 // the constant first, but for tests

	tried sync.Once
	alone bool // vectors are taken without ample sets; read behind tried

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
	// Cartesian tells what was chosen: reduction, or plain expansion.
	Cartesian bool `json:"cartesian"`
	// States is the number of states that had been expanded.
	States uint64 `json:"states"`
	// Ratio is by how much reduction was estimated to cost more than plain expansion.
	Ratio float64 `json:"ratio"`
}

// Report tells what a search has chosen.
type Report struct {
	// AmpleStates, CartesianStates and FullStates were expanded by ample sets, by vectors, and
	// plainly.
	AmpleStates     uint64 `json:"ample_states"`
	CartesianStates uint64 `json:"cartesian_states"`
	FullStates      uint64 `json:"full_states"`
	// Ratio is the last estimate of the cost of reduction by that of plain expansion, 0
	// if the search was too short for one.
	Ratio float64 `json:"ratio"`
	// Changes are the choices after the first, which is reduction.
	Changes []Change `json:"changes"`
	// Sampled is the part of the work that went into samples.
	Sampled float64 `json:"sampled"`
}

func newPolicy(sys system.System, o Options) *policy {
	p := &policy{sys: sys, o: o, first: first, costs: costsOf(sys), sets: setsOf(sys, o)}
	if o.Choice == Early {
		p.first = 50 * costStep
	}
	p.estimate = p.first
	p.next.Store(p.first / 4)
	return p
}

// setsOf returns what makes the expanders of ample sets that share a memory; nil if there are none.
func setsOf(sys system.System, o Options) func() *ample.Expander {
	if _, orbits := sys.(search.Quotient); orbits || o.NoSets {
		return nil
	}
	sets, err := ample.Sets(sys, o.Vectors.Check)
	if err != nil {
		return nil
	}
	return sets
}

// reducer returns what one worker expands states by.
func (p *policy) reducer(o cartesian.Options) reducer {
	r := reducer{vectors: cartesian.New(p.sys, o)}
	if p.sets != nil {
		r.sets = p.sets()
	}
	return r
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

const (
	// A trial takes this many times the work of first, or this many if it is close.
	brief, long = 1, 4
	// Ample sets are taken if the search grows by no more than this part of its growth with vectors
	// alone. It is close between the other two.
	slower         = 0.95
	clearly, never = 0.88, 1.02
)

// try finds out once whether vectors alone are better than ample sets and vectors, before anything
// is expanded.
func (p *policy) try(v search.Visitor) {
	p.tried.Do(func() {
		if p.sets == nil {
			return
		}
		stopped := stoppedOf(v)
		both, alone := p.empty(true), p.empty(true)
		alone.by.sets = nil
		for _, s := range p.sys.Initial() {
			both.put(s)
			alone.put(s)
		}
		for _, n := range []uint64{brief, long} {
			both.grow(n*p.first, stopped)
			alone.grow(min(n*p.first, both.work), stopped)
			if stopped() || both.done() || alone.done() {
				p.alone = alone.done() // and took no more
				break
			}
			growth := both.growth() / alone.growth()
			p.alone = growth >= slower
			if growth < clearly || growth > never {
				break
			}
		}
		p.cost += both.work + alone.work
	})
}

// look lets samples grow and decides, if it is time. s is the state that is
// expanded next.
func (p *policy) look(s system.State, v search.Visitor) {
	if p.work.Load() < p.next.Load() || !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	stopped := stoppedOf(v)
	if p.way() == plainly {
		p.lookBack(s, stopped)
	} else {
		p.lookAhead(s, v, stopped)
	}
}

// stoppedOf returns a function that reports whether the search has been stopped.
func stoppedOf(v search.Visitor) func() bool {
	if st, ok := v.(search.Stopper); ok {
		return st.Stopped
	}
	return func() bool { return false }
}

// lookAhead is look while vectors are chosen.
func (p *policy) lookAhead(s system.State, v search.Visitor, stopped func() bool) {
	work := p.spent.work
	var ratio, share float64
	if len(p.changes) > 0 {
		// The covered set has states that vectors would have left out.
		ratio, share = p.compare(s, stopped)
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
				share = far(p.sample.share(c.Covered))
				ratio = float64(p.spent.vectors-p.begun.vectors) / float64(instead) * share
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
	bar := worse
	if share < twice {
		bar = dear
	}
	p.steady = min(p.former, p.last, ratio) > bar && ratio >= settled*max(p.last, p.former)
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

// far estimates which part of all states reduction covers, of which it covers this part in a
// sample. Near where a sample begins, reduction saves least: if it leaves out one of two
// interleavings of each pair of threads, say, it leaves out more the more of them have moved. Over
// the Promela corpus, the part of all states is the square of that of a sample, in the median.
func far(share float64) float64 { return share * share }

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

func (p *policy) empty(reduces bool) *sample {
	s, err := newSample(p.sys)
	if err != nil {
		panic(fmt.Sprintf("auto: a sample without a limit has no store: %v", err))
	}
	if !reduces {
		s.plain = full.New(p.sys)
		return s
	}
	o := p.o.Vectors
	o.IgnoreDeadlocks, o.Check = true, nil
	s.by = &reducer{vectors: cartesian.New(p.sys, o)}
	if p.sets != nil && !p.alone {
		private := p.o
		private.Vectors = o
		s.by.sets = setsOf(p.sys, private)()
	}
	return s
}

// lookBack is look while plain expansion is chosen: would vectors take less from here?
func (p *policy) lookBack(s system.State, stopped func() bool) {
	p.next.Store(2 * p.spent.work)
	ratio, share := p.compare(s, stopped)
	if ratio == 0 {
		return
	}
	bar := better
	if share < twice {
		bar = cheap
	}
	// From one state vectors may save much that the others in the work set do not.
	if p.last > 0 && max(p.last, ratio) < bar {
		p.change(reduced, ratio)
		return
	}
	p.last = ratio
}

// compare estimates how the costs of both ways are from s on, with samples of both, and which part
// of the plain states reduction covers; 0 if it cannot say.
func (p *policy) compare(s system.State, stopped func() bool) (ratio, share float64) {
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
		return 0, 0
	}
	share = far(plain.share(vectors.covers))
	return float64(vectors.work) / float64(vectors.instead) * share, share
}

// change changes the way.
func (p *policy) change(to way, ratio float64) {
	p.changes = append(p.changes, Change{Cartesian: to == reduced,
		States: p.spent.states[reduced] + p.spent.states[plainly], Ratio: ratio})
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
	r := Report{AmpleStates: all.sets, CartesianStates: all.states[reduced] - all.sets,
		FullStates: all.states[plainly], Ratio: p.last, Changes: p.changes}
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
	var parts []string
	part := func(what string, n uint64) {
		if n > 0 {
			parts = append(parts, what+" for "+human.Count(n))
		}
	}
	part("ample sets", r.AmpleStates)
	part("cartesian vectors", r.CartesianStates)
	part("plain expansion", r.FullStates)
	f := engine.Figure{Key: "auto", Value: r, Label: "chosen"}
	switch len(parts) {
	case 0:
	case 1:
		what, _, _ := strings.Cut(parts[0], " for ")
		f.Text = what + " for all states"
	default:
		last := len(parts) - 1
		f.Text = strings.Join(parts[:last], ", ") + " and " + parts[last] + " states"
	}
	if n := len(r.Changes); n > 0 {
		c := r.Changes[n-1]
		what := "no reduction"
		if c.Cartesian {
			what = "reduction again"
		}
		f.Text += fmt.Sprintf("; %s from state %s on, at %.2f of the cost of the other",
			what, human.Count(c.States), min(c.Ratio, 1/c.Ratio))
	}
	return f
}
