// Package asynclog collects lines in a goroutine of its own.
package asynclog

import (
	"errors"
	"sync"
)

// ErrClosed means that the logger was closed.
var ErrClosed = errors.New("asynclog: closed")

// Logger writes lines in the background.
type Logger struct {
	mu     sync.RWMutex // held for reading while a line is sent
	closed bool
	lines  chan string
	done   chan struct{}
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

// Log hands over a line.
func (l *Logger) Log(s string) error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if l.closed {
		return ErrClosed
	}
	l.lines <- s
	return nil
}

// Close ends the logger and returns what was logged.
func (l *Logger) Close() []string {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.lines)
	}
	l.mu.Unlock()
	<-l.done
	return l.got
}
