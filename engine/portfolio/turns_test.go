package portfolio

import (
	"context"
	"testing"
	"time"

	"cpor/engine"
)

// course of a way that has used so many milliseconds, whose frontier grew or shrank.
func courseOf(ms int, queued ...float64) *course {
	c := &course{used: time.Duration(ms) * time.Millisecond}
	found := 10000.0
	for i, q := range queued {
		used := c.used * time.Duration(i+1) / time.Duration(len(queued))
		if i > 0 {
			found += 1000 + q - queued[i-1] // 1,000 are expanded between two samples
		}
		c.samples = append(c.samples, sample{used: used, found: found, done: found - q, queued: q})
	}
	return c
}

func TestNext(t *testing.T) {
	const slice = 5 * time.Millisecond
	grows := func(ms int) *course { return courseOf(ms, 1000, 2000, 3000, 4000, 5000) }
	shrinks := func(ms int) *course { return courseOf(ms, 5000, 4200, 3400, 2600, 1800) }
	explodes := func(ms int) *course { return courseOf(ms, 9000, 19000, 29000) }
	for _, c := range []struct {
		name  string
		a, b  *course
		alone int
		way   int
		then  int
	}{
		{"no end in sight: who has had less", grows(100), grows(97), -1, 1, -1},
		{"the first can be seen to end", shrinks(100), grows(100), -1, 0, 0},
		{"the second can be seen to end", grows(100), shrinks(100), -1, 1, 1},
		{"both can be seen to end at the same time", shrinks(100), shrinks(100), -1, 0, -1},
		{"not while it is behind", grows(100), shrinks(200), -1, 0, -1},
		{"goes on alone", shrinks(150), grows(100), 0, 0, 0},
		{"has had what was forecast", shrinks(300), grows(100), 0, 1, -1},
		{"is no longer seen to end", grows(150), grows(100), 0, 1, -1},
		{"what waits will take longer than the other one so far", explodes(10), grows(30), -1, 1,
			-1},
		{"but for so long only", explodes(10), grows(50), -1, 0, -1},
		{"nothing is known", &course{}, &course{}, -1, 0, -1},
	} {
		u := &turns{ways: []*course{c.a, c.b}}
		way, alone, until := u.next(slice, c.alone, 200*time.Millisecond)
		if way != c.way || alone != c.then {
			t.Errorf("%s: way %d, alone %d until %v; want %d and %d", c.name, way, alone, until,
				c.way, c.then)
		}
		if alone >= 0 && until <= u.ways[alone].used {
			t.Errorf("%s: alone until %v, which is over", c.name, until)
		}
	}
}

// TestTurns: a way waits while it is the other's turn, and no longer when that has
// ended or the context has.
func TestTurns(t *testing.T) {
	for _, ended := range []bool{true, false} {
		u := newTurns(2)
		ctx, cancel := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() {
			u.run(ctx)
			close(over)
		}()
		u.ways[0].last.Store(&engine.Progress{Queued: 1})
		for range 20 {
			u.wait(0)
			u.wait(1)
		}
		if ended {
			u.end(0)
		} else {
			cancel()
		}
		<-over
		u.wait(0)
		u.wait(1)
		cancel()
	}
}
