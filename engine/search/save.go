package search

import (
	"errors"
	"io"
	"time"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/statestore"
	"cpor/system"
	"cpor/workers"
)

// saved is what a search saves besides the covered set and the work set.
type saved struct {
	Counters Counters
	MaxDepth int
	Elapsed  time.Duration
	Findings []savedFinding
	More     uint64
	Executed []uint64 // see system.Counting
	Counts   []uint64 // Options.Counts
}

// savedFinding is a finding; its trail is saved with the work set.
type savedFinding struct {
	Violation system.Violation
	Ref       statestore.Ref
	State     system.State
	Tail      []Step
}

func (c Counters) minus(d Counters) Counters {
	return Counters{c.Transitions - d.Transitions, c.Attempts - d.Attempts,
		c.EndedLoops - d.EndedLoops, c.BlockedLoops - d.BlockedLoops}
}

// counted returns the counts so far. No worker may be running.
func (r *run) counted() Counters {
	c := r.before.Counters
	for _, w := range r.workers {
		if w.expander != nil {
			c.Add(w.expander.Counters().minus(w.redone))
		}
	}
	return c
}

// maxDepth returns the longest path of moves so far.
func (r *run) maxDepth() int {
	d := r.before.MaxDepth
	for _, w := range r.workers {
		d = max(d, w.maxDepth)
	}
	return d
}

// keeping is a memoryPlace whose search writes checkpoints.
type keeping struct{ memoryPlace }

// search implements [place].
func (k keeping) search(res *Result, fresh bool) (*Result, error) {
	return k.alone(res, fresh, k.explore)
}

// explore processes the work set. The pool is paused for each checkpoint. Before that, each
// worker finishes its state, so that no transition counts twice.
func (k keeping) explore(report func(queued int)) error {
	r := k.run
	every := r.o.Checkpoint.Every
	keep := r.o.Checkpoint.NewKeeper()
	defer keep.Wait()
	for {
		po := workers.Options{Report: report}
		stop := func() bool { return true }
		if every > 0 {
			pause := make(chan struct{})
			po.Pause = pause
			stop = time.AfterFunc(every, func() { close(pause) }).Stop
		}
		err := r.work(r.watch.Context(), po)
		stop()
		paused := errors.Is(err, workers.ErrPaused)
		if werr := r.watch.Err(); paused && werr != nil && !engine.Interrupted(werr) {
			return werr // a fault in what has been expanded: no checkpoint may have that behind it
		}
		if paused || engine.Interrupted(err) {
			if r.parts != nil {
				r.nextSave()
				serr := r.saveParts()
				r.o.Checkpoint.Parts.Commit(r.parts.saves, r.parts.count, serr)
			} else {
				keep.Write(r.save)
			}
		}
		if !paused {
			return err
		}
	}
}

// save writes the search as it is. No worker may be running.
func (r *run) save(w io.Writer) error {
	s, trails := r.withFindings()
	if err := engine.WriteRecord(w, &s); err != nil {
		return err
	}
	if err := checkpoint.SaveStore(w, r.store, &r.mark); err != nil {
		return err
	}
	if err := statestore.SaveWork(r.ws, trails, w); err != nil {
		return err
	}
	if x, ok := r.workers[0].expander.(Remembering); ok {
		return x.SaveMemory(w)
	}
	return nil
}

// withFindings returns what the search saves, and the trails of its findings.
func (r *run) withFindings() (s saved, trails []*statestore.Trail) {
	s = r.keepsakes()
	for f := range r.found.All() {
		s.Findings = append(s.Findings, savedFinding{f.violation, f.ref, f.state, f.tail})
		trails = append(trails, f.trail)
	}
	return s, trails
}

// keepsakes returns what the search saves, without findings.
func (r *run) keepsakes() saved {
	s := saved{Counters: r.counted(), MaxDepth: r.maxDepth(),
		Elapsed: r.before.Elapsed + r.watch.Elapsed(), More: r.found.More}
	if c := r.sys.Capabilities().Counting; c != nil {
		s.Executed = c.Executed()
	}
	for _, c := range r.o.Counts {
		s.Counts = append(s.Counts, c.Load())
	}
	return s
}

// recount adds what a search has counted (Options.Counts) and executed.
func (s *saved) recount(sys system.System, o *Options) {
	if c := sys.Capabilities().Counting; c != nil && s.Executed != nil {
		c.AddExecuted(s.Executed)
	}
	for i, n := range s.Counts {
		o.Counts[i].Add(n)
	}
}

// find enters an earlier finding.
func (r *run) find(f *savedFinding, trail *statestore.Trail) {
	state := ""
	if f.Violation.Kind == system.Deadlock && r.o.All {
		state = r.workers[0].stateKeyOf(f.State, f.Tail)
	}
	r.found.Add(&f.Violation, state, func(v system.Violation) *finding {
		return &finding{violation: v, ref: f.Ref, trail: trail, state: f.State, tail: f.Tail}
	})
}
