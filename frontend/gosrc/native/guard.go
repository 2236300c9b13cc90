package native

import (
	"context"
	"os/exec"
	"sync"
	"time"
)

// guard kills a process that takes too long for an execution, or whose context is canceled. So its
// answer can be awaited in a system call, which costs a fraction of what the network poller does.
// An execution that begins usually sets no timer: the one that is set finds out, when it fires, how
// long to wait from then on.
type guard struct {
	mu     sync.Mutex
	c      *exec.Cmd
	until  time.Time // zero: there is no execution
	timer  *time.Timer
	fires  time.Time // when the timer does; zero: it is not set
	killed bool      // because it took too long
	ctx    context.Context
	stop   func() bool // stops watching ctx
}

// guards says which process it is from now on.
func (g *guard) guards(c *exec.Cmd) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.c, g.killed = c, false
}

// begin watches an execution, until end is called.
func (g *guard) begin(ctx context.Context, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = until
	if g.fires.IsZero() || until.Before(g.fires) {
		g.fires = until
		if g.timer == nil {
			g.timer = time.AfterFunc(time.Until(until), g.look)
		} else {
			g.timer.Reset(time.Until(until))
		}
	}
	if g.ctx != ctx {
		if g.stop != nil {
			g.stop()
		}
		g.ctx, g.stop = ctx, context.AfterFunc(ctx, func() { g.canceled(ctx) })
	}
	if ctx.Err() != nil { // it may have been canceled before there was an execution
		killGroup(g.c)
	}
}

// end says that there is no execution: nothing is killed any more.
func (g *guard) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Time{}
}

// close forgets the context as well.
func (g *guard) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.until = time.Time{}
	if g.stop != nil {
		g.stop()
	}
	if g.timer != nil {
		g.timer.Stop()
	}
	g.ctx, g.stop, g.fires = nil, nil, time.Time{}
}

// late tells whether the process was killed because it took too long.
func (g *guard) late() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.killed
}

// look is called when the timer fires.
func (g *guard) look() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.fires = time.Time{}
	switch now := time.Now(); {
	case g.until.IsZero():
	case g.until.After(now):
		g.fires = g.until
		g.timer.Reset(g.until.Sub(now))
	default:
		g.killed = true
		killGroup(g.c)
	}
}

// canceled is called when a context is canceled.
func (g *guard) canceled(ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx == ctx && !g.until.IsZero() {
		killGroup(g.c)
	}
}
