package resumetest

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"

	"cpor/engine"
)

// Shelf keeps checkpoints of ranks in memory. The zero value is an empty one.
type Shelf struct {
	Parts int                  // of the checkpoint that counts
	Now   map[int][]byte       // its parts
	Fail  func(part int) error // why one cannot be written, nil if it can
	Dir   string               // for the files that checkpoints name; empty: they name none
	Said  error                // why the last one does not count

	logs   logs
	mu     sync.Mutex
	number int               // of the one that counts
	next   map[[2]int][]byte // what is written, by checkpoint and part
}

// Checkpoint is the shelf as one rank sees it, when a search begins or continues.
func (s *Shelf) Checkpoint(every time.Duration) *engine.Checkpoint {
	s.mu.Lock()
	defer s.mu.Unlock()
	from := s.number
	return &engine.Checkpoint{Every: every, Dir: s.Dir, Parts: &engine.Parts{
		From: s.Parts,
		Open: func(part int) (io.ReadCloser, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			b, ok := s.Now[part]
			if !ok {
				return nil, fmt.Errorf("there is no part %d", part)
			}
			return sheet{bytes.NewReader(b), &s.logs}, nil
		},
		Write: func(n, part int, save func(io.Writer) error) error {
			if s.Fail != nil {
				if err := s.Fail(part); err != nil {
					return err
				}
			}
			b := &paper{logs: &s.logs}
			if err := save(b); err != nil {
				return err
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if from+n <= s.number {
				return fmt.Errorf("checkpoint %d is written anew", from+n)
			}
			if s.next == nil {
				s.next = map[[2]int][]byte{}
			}
			s.next[[2]int{from + n, part}] = b.Bytes()
			return nil
		},
		Commit: func(n, parts int, err error) bool {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.Said = err; err != nil {
				return false
			}
			s.number, s.Parts, s.Now = from+n, parts, map[int][]byte{}
			for part := range parts {
				s.Now[part] = s.next[[2]int{from + n, part}]
			}
			s.next = nil
			return true
		},
	}}
}
