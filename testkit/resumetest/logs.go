package resumetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/cespare/xxhash/v2"

	"cpor/engine/checkpoint"
)

// logs are the logs of checkpoints, in memory. The zero value has none.
type logs struct {
	mu   sync.Mutex
	all  map[uint64][]byte
	made uint64
}

// errNoRoom is why a log cannot be written.
var errNoRoom = errors.New("no room for the log")

// paper is the writer of a checkpoint.
type paper struct {
	bytes.Buffer
	logs *logs
	fail bool // Append fails when all is written
	has  checkpoint.Mark
}

// Append implements [checkpoint.Appender].
func (p *paper) Append(last checkpoint.Mark,
	fill func(w io.Writer, anew bool) error) (checkpoint.Mark, error) {
	l := p.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	id, log := last.ID, l.all[last.ID]
	anew := last == checkpoint.Mark{} || len(log) < int(last.Length)
	if anew {
		l.made++
		id = l.made
	}
	b := new(bytes.Buffer)
	if !anew {
		b.Write(log[:last.Length])
	}
	if err := fill(b, anew); err != nil {
		return checkpoint.Mark{}, err
	}
	if p.fail {
		return checkpoint.Mark{}, errNoRoom
	}
	if anew && b.Len() == 0 {
		return checkpoint.Mark{}, nil
	}
	if l.all == nil {
		l.all = map[uint64][]byte{}
	}
	l.all[id] = b.Bytes()
	p.has = checkpoint.Mark{ID: id, Length: int64(b.Len()), Sum: xxhash.Sum64(b.Bytes())}
	return p.has, nil
}

// forget lets there be no log any more but one.
func (l *logs) forget(keep uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	log, ok := l.all[keep]
	clear(l.all)
	if ok {
		l.all[keep] = log
	}
}

// sheet is the reader of a checkpoint.
type sheet struct {
	*bytes.Reader
	logs *logs
}

// Close implements [io.Closer].
func (sheet) Close() error { return nil }

// OpenLog implements [checkpoint.Opener].
func (s sheet) OpenLog(m checkpoint.Mark) (io.ReadCloser, error) {
	l := s.logs
	l.mu.Lock()
	defer l.mu.Unlock()
	log := l.all[m.ID]
	if len(log) < int(m.Length) || xxhash.Sum64(log[:m.Length]) != m.Sum {
		return nil, fmt.Errorf("log %d has %d bytes, not the %d with the sum %x", m.ID, len(log),
			m.Length, m.Sum)
	}
	return io.NopCloser(bytes.NewReader(log[:m.Length])), nil
}
