// Package resumetest is for tests of explorations with checkpoints: it interrupts them again and
// again, and gives them damaged files.
package resumetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"cpor/engine"
)

// Chain is an exploration that is interrupted by a limit, a time-out or the context, while it
// keeps checkpoints every few microseconds, some of which fail, and each time continues where the
// last checkpoint that counts stands, until it comes to its end.
type Chain struct {
	R *rand.Rand
	// Options are those of an exploration that is not interrupted.
	Options engine.Options
	// Reason is the one of a whole exploration's result that makes it incomplete, if
	// it has one without being interrupted.
	Reason string
	// Workers is the greatest number of workers; 0: as in Options, always.
	Workers int
	// Dir is for the files that checkpoints name; empty: they name none.
	Dir string
	// Limit sets a limit, each time one that lets it get a little further.
	Limit func(*engine.Options)
	// Run explores.
	Run func(context.Context, engine.Options) (*engine.Result, error)
}

// links is how often an exploration can be interrupted.
const links = 10000

// Explore returns how often the exploration was interrupted before it came to its end,
// which is the last call of Run that returned.
func (c *Chain) Explore(t testing.TB) (interrupted int) {
	t.Helper()
	var file []byte
	logs, now := new(logs), uint64(0) // and the log of the file
	for ; interrupted < links; interrupted++ {
		o := c.Options
		if c.Workers > 0 {
			o.Workers = 1 + c.R.IntN(c.Workers)
		}
		k := &engine.Checkpoint{Every: time.Duration(c.R.IntN(300)) * time.Microsecond}
		k.Write = func(save func(io.Writer) error) func(error) bool {
			p := &paper{logs: logs, fail: c.R.IntN(8) == 0}
			err := save(p)
			if err != nil && !(p.fail && errors.Is(err, errNoRoom)) {
				t.Error(err)
			}
			lost := err != nil || c.R.IntN(8) == 0 // between what was written and the disk
			if lost && c.R.IntN(2) == 0 {
				logs.forget(now) // what only the lost one has may be swept away
			}
			return func(err error) bool {
				if err != nil {
					t.Error(err)
				}
				if lost || err != nil {
					return false
				}
				file, now = p.Bytes(), p.has.ID
				return true
			}
		}
		k.Dir = c.Dir
		if file != nil {
			k.From = sheet{bytes.NewReader(file), logs}
		}
		o.Checkpoint = k
		ctx, cancel := context.WithCancel(context.Background())
		switch c.R.IntN(5) {
		case 0, 1:
			c.Limit(&o)
		case 2:
			o.Timeout = time.Duration(1+c.R.IntN(500)) * time.Microsecond
		case 3:
			time.AfterFunc(time.Duration(c.R.IntN(500))*time.Microsecond, cancel)
		}
		res, err := c.Run(ctx, o)
		cancel()
		if err != nil {
			t.Fatalf("interrupted %d times: %v", interrupted, err)
		}
		if res.Reason == c.Reason {
			return interrupted
		}
		if res.Verdict == engine.Pass {
			t.Fatalf("an interrupted exploration passed: %s", res.Reason)
		}
	}
	t.Fatalf("interrupted %d times, and not at its end", interrupted)
	return interrupted
}

func written(t testing.TB, save func(io.Writer) error) []byte {
	var b bytes.Buffer
	if err := save(&b); err != nil {
		t.Error(err)
	}
	return b.Bytes()
}

// Last returns a checkpoint that keeps what is written in file.
func Last(t testing.TB, file *[]byte) *engine.Checkpoint {
	return &engine.Checkpoint{Write: func(save func(io.Writer) error) func(error) bool {
		*file = written(t, save)
		return func(err error) bool {
			if err != nil {
				t.Error(err)
			}
			return err == nil
		}
	}}
}

// Refuses calls resume with a truncated checkpoint, and with one that is too long, and expects an
// error of type [*engine.OptionError] each time.
func Refuses(t testing.TB, file []byte, resume func(io.Reader) error) {
	t.Helper()
	var wrong *engine.OptionError
	for n := 0; n < len(file); n += 1 + len(file)/50 {
		if err := resume(bytes.NewReader(file[:n])); !errors.As(err, &wrong) {
			t.Errorf("the first %d bytes: %v", n, err)
		}
	}
	if err := resume(bytes.NewReader(append(bytes.Clone(file), 0))); !errors.As(err, &wrong) {
		t.Errorf("a byte too many: %v", err)
	}
}
