//go:build linux

package native

import (
	"context"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// TestGuard: a process is killed when its time is over or its context is canceled, and not between
// executions.
func TestGuard(t *testing.T) {
	begun := func(g *guard) *exec.Cmd {
		c := exec.Command("sleep", "1000")
		ownGroup(c)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if c.ProcessState == nil {
				killGroup(c)
				_ = c.Wait()
			}
		})
		g.guards(c)
		return c
	}
	hour := time.Now().Add(time.Hour)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()

	var g guard
	c := begun(&g)
	g.begin(ctx, hour)
	g.end()
	g.canceled(ctx)
	g.look()
	if err := c.Process.Signal(syscall.Signal(0)); err != nil {
		t.Errorf("killed between executions: %v", err)
	}
	g.begin(ctx, time.Now()) // earlier than what the timer is set to
	if err := c.Wait(); err == nil || !g.late() {
		t.Errorf("its time is over: %v, late %v", err, g.late())
	}
	g.close()

	c = begun(&g)
	g.begin(ctx, hour)
	cancel()
	if err := c.Wait(); err == nil || g.late() {
		t.Errorf("canceled: %v, late %v", err, g.late())
	}
	g.close()

	c = begun(&g)
	g.begin(ctx, hour) // the context was canceled before
	if err := c.Wait(); err == nil {
		t.Error("it goes on without a context")
	}
	g.close()
}
