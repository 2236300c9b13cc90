// Package portfolio explores a system in two ways at once, by an unfolding and by a
// search with stored states, and returns what the first of them finds out:
//
//	cpor run -search auto FILE.model
//
// No one knows beforehand which of the two is the better one for a program: the one can be
// exponentially smaller than the other, or larger. Both are exhaustive, so that a
// pass of either is a pass, and a violation of either is one. They take turns, each with
// all workers, and when one of them can be seen to end soon, it continues alone (see
// turns). A way that ends without an answer, at a limit of its own, leaves the other one
// running.
package portfolio

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"cpor/engine"
	"cpor/engine/search/reduction"
	"cpor/engine/unfolding"
	"cpor/internal/human"
	"cpor/system"
)

// Mode is the name of the portfolio.
const Mode = "auto"

func init() {
	engine.RegisterMode(engine.Mode{
		Name: Mode, Asked: "-search " + Mode, Rank: 4,
		Summary: "alternates between an unfolding and a search with stored states until one has " +
			"the answer",
		Of: "a portfolio", Lacks: "is not for -search auto, which chooses itself",
		Without: "does not always store states",
		Unkept: "half of it is an unfolding, which cannot be saved; use -search stateful, which " +
			"can",
		Label: "search", Prefix: "auto, ",
	})
	engine.Register(engine.Entry{
		Name: "portfolio", Mode: Mode, Default: true,
		Summary: "with -search auto: an unfolding and a search with stored states in turns; " +
			"the first answer counts",
		Preserves: engine.Violations | engine.Deadlocks,
		Counts:    engine.CountTransitions | engine.CountStore,
		Takes:     engine.TakesAll | engine.TakesDeadlocks,
		Run:       run,
	})
}

// way is one of the ways to explore.
type way struct {
	name  string
	entry *engine.Entry
}

// ways returns the ways that a system can be explored in.
func ways(sys system.System) ([]way, error) {
	stored := engine.Entries(reduction.Mode)
	irreducible := system.WhyIrreducible(sys, false) != ""
	var ws []way
	var unmet error
	for _, e := range stored {
		if unmet = e.Unmet(sys); unmet == nil && !(e.Reduces && irreducible) {
			ws = append(ws, way{fmt.Sprintf("stored states (-por %s)", e.Name), e})
			break
		}
	}
	for _, e := range engine.Entries(unfolding.Mode) {
		if e.Unmet(sys) == nil && !(e.Reduces && irreducible) {
			ws = append(ws, way{"unfolding", e})
			break
		}
	}
	if len(ws) == 0 {
		return nil, unmet
	}
	return ws, nil
}

// answer is what one way found out.
type answer struct {
	way int
	res *engine.Result
	err error
}

// run is Entry.Run.
func run(ctx context.Context, t *engine.Task) (*engine.Result, error) {
	o := t.Options
	watch, err := engine.NewWatch(ctx, &o)
	if err != nil {
		return nil, err
	}
	defer watch.End()
	ws, err := ways(t.System)
	if err != nil {
		return nil, err
	}
	p := &progress{tell: t.Progress, every: cmp.Or(o.ProgressInterval, time.Second),
		last: make([]engine.Progress, len(ws)), at: time.Now()}
	running, cancel := context.WithCancel(watch.Context())
	defer cancel()
	answers := make(chan answer, len(ws))
	turn := newTurns(len(ws))
	for i, w := range ws {
		task := &engine.Task{System: t.System, Options: o, Flags: &engine.Values{}}
		task.Timeout = 0 // the watch has the time
		// An unfolding uses no symmetry, and whoever ends first must find the same deadlocks.
		reduction.Symmetry.Put(task.Flags, reduction.Off)
		task.Shared = true
		if len(ws) > 1 {
			task.Turn = func() { turn.wait(i) }
			task.ProgressInterval = sampleEvery
			task.Progress = func(x engine.Progress) {
				turn.ways[i].last.Store(&x)
				p.report(i, x)
			}
		} else if t.Progress != nil {
			task.Progress = func(x engine.Progress) { p.report(i, x) }
		}
		if w.entry.Check != nil {
			if err := w.entry.Check(task.Flags, &task.Options); err != nil {
				return nil, err
			}
		}
		go func() {
			res, err := w.entry.Run(running, task)
			turn.end(i)
			answers <- answer{i, res, err}
		}()
	}
	if len(ws) > 1 {
		go turn.run(running)
	}
	var got []answer
	var won *answer
	for range ws {
		a := <-answers
		got = append(got, a)
		if won == nil && a.err == nil && a.res.Verdict != engine.Incomplete {
			won = &got[len(got)-1]
			cancel()
		}
	}
	return result(ws, got, won, watch)
}

// result is what all answers come to. A fault of the tool is one whoever it was that
// made it.
func result(ws []way, got []answer, won *answer, watch *engine.Watch) (*engine.Result, error) {
	refused := 0
	for _, a := range got {
		no, oe := new(engine.Refusal), new(engine.OptionError)
		switch {
		case a.err == nil:
			if won == nil {
				won = &a
			}
		case errors.As(a.err, &no), errors.As(a.err, &oe):
			if refused++; refused == len(got) {
				return nil, a.err
			}
		default:
			return a.res, fmt.Errorf("%s: %w", ws[a.way].name, a.err)
		}
	}
	res, w := won.res, ws[won.way]
	res.Duration = watch.Elapsed()
	answered := "answered by " + w.name
	switch {
	case res.Verdict == engine.Incomplete:
		answered = "answered by none"
	case len(ws) == 1:
		answered = "only by " + w.name
	}
	res.How = append([]engine.Figure{{Key: "answered_by", Value: w.entry.Mode, Text: answered}},
		res.How...)
	if w.entry.Counts&engine.CountStates != 0 {
		res.Figures = append(res.Figures, engine.Figure{Key: "states", Value: res.States,
			Label: "states", Text: human.Count(res.States)})
	}
	return res, nil
}

// progress puts the reports of all ways together.
type progress struct {
	tell  func(engine.Progress)
	every time.Duration

	mu   sync.Mutex
	at   time.Time // of the last report
	last []engine.Progress
}

func (p *progress) report(way int, x engine.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[way] = x
	if p.tell == nil || len(p.last) > 1 && time.Since(p.at) < p.every {
		return
	}
	p.at = time.Now()
	for i, y := range p.last {
		if i != way {
			x.Transitions += y.Transitions
			x.Queued += y.Queued
			x.StoreBytes += y.StoreBytes
			x.Violations = max(x.Violations, y.Violations)
		}
	}
	p.tell(x)
}
