package search

import (
	"fmt"

	"cpor/engine"
)

// end returns the result of a search that ended with err, which is nil if everything was
// covered.
func (r *run) end(res *Result, err error) (*Result, error) {
	r.fill(res)
	gap := ""
	if !r.store.Exact() {
		gap = fmt.Sprintf("the %v store can mistake a new state for a covered one", r.o.Store)
	}
	err = res.Judge(err, gap, r.found.Len() > 0)
	if terr := r.traces(res); err == nil {
		err = terr
	}
	res.PeakRSS = r.watch.Memory().Peak()
	return res, err
}

func (r *run) progress(queued int) engine.Progress {
	p := engine.Progress{
		Counters: engine.Counters{States: r.place.covered(),
			Transitions: r.before.Counters.Transitions, Attempts: r.before.Counters.Attempts},
		MaxDepth:   r.before.MaxDepth,
		Queued:     uint64(queued + r.place.waiting()),
		StoreBytes: r.store.Bytes(),
		Violations: r.found.Len(),
	}
	for _, w := range r.workers {
		p.Transitions += w.public.transitions.Load()
		p.Attempts += w.public.attempts.Load()
		p.MaxDepth = max(p.MaxDepth, int(w.public.depth.Load()))
	}
	return p
}

// fill writes the figures of a search that has ended into res.
func (r *run) fill(res *Result) {
	res.Duration = r.before.Elapsed + r.watch.Elapsed()
	c := r.counted()
	res.Transitions, res.Attempts, res.EndedLoops, res.BlockedLoops = c.Transitions, c.Attempts,
		c.EndedLoops, c.BlockedLoops
	res.MaxDepth = r.maxDepth()
	res.States = r.place.covered()
	res.Store = r.store.Stats()
	res.StoreBytes = r.store.Bytes()
	if res.States > 0 {
		res.BytesPerState = float64(res.StoreBytes) / float64(res.States)
	}
	r.place.figures(res)
	res.OmissionProbability = r.store.OmissionProbability()
	res.FailedCAS = res.Store.FailedCAS
	res.Pool = r.pool
	res.Steals = r.pool.Steals
	res.IdleShare = r.pool.IdleShare
	res.MoreViolations = r.found.More
}

// traces rebuilds, checks and minimizes the traces of the violations found.
func (r *run) traces(res *Result) (err error) {
	if r.found.Len() == 0 {
		return nil
	}
	from, find, failed := r.place.past()
	rb := &rebuilder{sys: r.sys, expander: r.newExpander(), session: from,
		machine: r.sys.NewMachine()}
	var raws []engine.Raw
	for f := range r.found.All() {
		find(f)
		t, err := rb.rebuild(f, r.store.Loadable())
		if ferr := failed(); ferr != nil {
			t, err = nil, ferr
		}
		raws = append(raws, engine.Raw{Violation: f.violation, Trace: t, Missing: err})
	}
	if r.o.Unproven {
		for i := range raws {
			res.Violations = append(res.Violations,
				engine.Finding{Violation: &raws[i].Violation, Trace: raws[i].Trace})
		}
		return nil
	}
	res.Violations, err = engine.Finish(r.watch.From(), plain(r.sys), raws, &r.o.Options)
	return err
}
