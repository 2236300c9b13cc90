package engine

import (
	"context"
	"io"
	"sync/atomic"
	"time"
)

// mostRounds is how often a search begins again with larger bounds. The next one has none.
const mostRounds = 20

// errBounds says that a search with checkpoints cannot begin again.
var errBounds = &OptionError{"this reduction needs bounds on what processes may still do; they " +
	"were learned from samples, and are too small here: run it without -checkpoint, which lets " +
	"the search begin again with larger ones, or with -por cartesian or none"}

// learning returns Entry.Run for engines that rely on bounds. Where these are learned, a search in
// which they turn out to be too small is void, except for a violation that has ended it, and
// begins again ([system.Learning]). On several ranks there are no bounds.
//
// A search with checkpoints does not begin again, because its continuation in another process
// needs the same bounds. A checkpoint counts only if it was complete before the search was void.
func learning(run func(context.Context, *Task) (*Result, error)) func(context.Context,
	*Task) (*Result, error) {
	return func(ctx context.Context, t *Task) (*Result, error) {
		l := t.System.Capabilities().Learning
		if l == nil || t.Ranks != nil {
			return run(ctx, t)
		}
		begun := time.Now()
		for range mostRounds {
			round, cancel := context.WithCancel(ctx)
			var stopped atomic.Bool
			sys, end := l.Begin(t.Checkpoint != nil, func() { stopped.Store(true); cancel() })
			u := inTime(t, begun)
			u.System = sys
			u.Checkpoint = keptUnless(t.Checkpoint, &stopped)
			res, err := run(round, u)
			void := end()
			cancel()
			if !void || err == nil && res.Verdict == Violated && !t.All && len(t.Properties) == 0 {
				return res, err
			}
			if t.Checkpoint != nil {
				return nil, errBounds
			}
		}
		return run(ctx, inTime(t, begun))
	}
}

// inTime returns the task with the time that is left since it began.
func inTime(t *Task, begun time.Time) *Task {
	u := *t
	if t.Timeout > 0 {
		u.Timeout = max(1, t.Timeout-time.Since(begun))
	}
	return &u
}

// keptUnless returns a checkpoint that is given up if the search has been stopped.
func keptUnless(c *Checkpoint, stopped *atomic.Bool) *Checkpoint {
	if c == nil {
		return nil
	}
	k := *c
	k.Write = func(save func(io.Writer) error) func(error) bool {
		finish := c.Write(save)
		return func(err error) bool {
			if err == nil && stopped.Load() {
				err = errBounds
			}
			return finish(err)
		}
	}
	return &k
}
