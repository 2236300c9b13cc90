package engine

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"cpor/engine/memory"
)

// Watch ends an exploration in time: when its context ends, the time is up, or the
// memory is used up. It also reports progress. An engine makes one when it
// begins, works while Context has not ended, and calls End when it is done.
type Watch struct {
	o      *Options
	start  time.Time
	from   context.Context
	ctx    context.Context
	cancel []func()
	halt   context.CancelCauseFunc
	mem    *memory.Limit
	done   chan struct{}
	wg     sync.WaitGroup
}

// NewWatch prepares the process for the limits of o, which must stay as they are,
// and sets Workers if it is 0. The error is an *OptionError.
func NewWatch(ctx context.Context, o *Options) (*Watch, error) {
	switch {
	case o.Workers < 0:
		return nil, &OptionError{fmt.Sprintf("%d workers", o.Workers)}
	case o.MaxDepth < 0:
		return nil, &OptionError{"the bound on the depth is negative"}
	case o.Workers == 0:
		o.Workers = runtime.GOMAXPROCS(0)
	}
	mem, err := memory.New(o.MaxMemory)
	if err != nil {
		return nil, &OptionError{err.Error()}
	}
	w := &Watch{o: o, start: time.Now(), from: ctx, mem: mem, done: make(chan struct{})}
	if o.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, w.start.Add(o.Timeout), timeUp(o.Timeout))
		w.cancel = append(w.cancel, cancel)
	}
	w.ctx, w.halt = context.WithCancelCause(ctx)
	return w, nil
}

// Context ends when the exploration has to end. Its cause is a [Stop] or that of
// the context that the watch was made with.
func (w *Watch) Context() context.Context { return w.ctx }

// From returns the context that the watch was made with: it ends when the user wants
// no more.
func (w *Watch) From() context.Context { return w.from }

// Err returns why the exploration has to end, nil if it may continue. Unlike the
// context, it does not depend on a timer that may be late.
func (w *Watch) Err() error {
	if w.o.Timeout > 0 && w.Elapsed() >= w.o.Timeout {
		w.Stop(timeUp(w.o.Timeout))
	}
	return context.Cause(w.ctx)
}

// Stop ends the context with a cause; the first one counts.
func (w *Watch) Stop(cause error) { w.halt(cause) }

// Elapsed returns the time since the watch was made.
func (w *Watch) Elapsed() time.Duration { return time.Since(w.start) }

// Memory returns the limit of memory.
func (w *Watch) Memory() *memory.Limit { return w.mem }

// CheckMemory returns a [Stop] if the memory is used up. It is called from one
// goroutine at a time, every [memory.CheckEvery]; Go does that.
func (w *Watch) CheckMemory() error {
	if w.mem.Check() != nil {
		return w.OutOfMemory()
	}
	return nil
}

// OutOfMemory ends an exploration whose tables take no more.
func (w *Watch) OutOfMemory() *Stop {
	if !w.mem.Limited() {
		return &Stop{"out of memory in the store"}
	}
	return &Stop{w.mem.Reason()}
}

// Go watches the memory, and reports progress to Options.Progress, until End.
// report returns what to report; the watch fills in the time and the memory.
func (w *Watch) Go(report func() Progress) {
	var check, tell <-chan time.Time
	stop := func() {}
	if w.mem.Limited() {
		t := time.NewTicker(memory.CheckEvery)
		check, stop = t.C, t.Stop
	}
	stop2 := func() {}
	if w.o.Progress != nil {
		t := time.NewTicker(cmp.Or(w.o.ProgressInterval, time.Second))
		tell, stop2 = t.C, t.Stop
	}
	if check == nil && tell == nil {
		return
	}
	w.wg.Go(func() {
		defer stop()
		defer stop2()
		for {
			select {
			case <-w.done:
				return
			case <-check:
				if err := w.CheckMemory(); err != nil {
					w.Stop(err)
					check = nil
				}
			case <-tell:
				w.Report(report())
			}
		}
	})
}

// Report hands a report to Options.Progress, with the time and the memory.
func (w *Watch) Report(p Progress) {
	p.Elapsed, p.Memory = w.Elapsed(), memory.Resident()
	w.o.Progress(p)
}

// End ends the watch and gives the process its settings back.
func (w *Watch) End() {
	close(w.done)
	w.wg.Wait()
	w.halt(nil)
	for _, cancel := range w.cancel {
		cancel()
	}
	w.mem.Release()
}
