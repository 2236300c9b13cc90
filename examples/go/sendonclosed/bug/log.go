// Package asynclog collects lines in a goroutine of its own.
package asynclog

import (
	"errors"
	"sync/atomic"
)

// ErrClosed means that the logger was closed.
var ErrClosed = errors.New("asynclog: closed")

// Logger writes lines in the background.
type Logger struct {
	lines  chan string
	done   chan struct{}
	closed atomic.Bool
	got    []string
}

// New starts a logger.
func New() *Logger {
	l := &Logger{lines: make(chan string, 1), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for s := range l.lines {
			l.got = append(l.got, s)
		}
	}()
	return l
}

// Log hands over a line. Between the look at closed and the send, Close may
// close the channel: the send panics.
func (l *Logger) Log(s string) error {
	if l.closed.Load() {
		return ErrClosed
	}
	l.lines <- s
	return nil
}

// Close ends the logger and returns what was logged.
func (l *Logger) Close() []string {
	if l.closed.CompareAndSwap(false, true) {
		close(l.lines)
	}
	<-l.done
	return l.got
}
