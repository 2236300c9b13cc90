package spill

import (
	"encoding/binary"
	"errors"
	"os"
)

// segmentBytes is about how long the files of a queue are: each is removed when it has
// been read.
var segmentBytes int64 = 32 << 20 // tests make it smaller

// Queue is a queue of states, each with a depth, on a disk: first in, first out.
type Queue struct {
	dir      *Dir
	segments []*segment // the oldest first; the last is written
	items    uint64

	buf  []byte // of the oldest: the block that is read
	rest []byte
}

type segment struct {
	w       *writer
	read    int64 // where the next block to be read begins
	blocks  uint32
	counted bool
	closed  bool
}

// NewQueue returns an empty queue in a directory.
func NewQueue(d *Dir) *Queue { return &Queue{dir: d} }

// Len returns the number of states.
func (q *Queue) Len() uint64 { return q.items }

// Push appends a state.
func (q *Queue) Push(depth int, s []uint64) error {
	var last *segment
	if n := len(q.segments); n > 0 {
		last = q.segments[n-1]
	}
	if last == nil || last.counted {
		f, err := q.dir.create()
		if err != nil {
			return err
		}
		last = &segment{w: newWriter(f)}
		q.segments = append(q.segments, last)
	}
	w := last.w
	w.buf = appendState(binary.AppendUvarint(w.buf, uint64(depth)), s)
	q.items++
	if w.full() {
		if err := w.flush(); err != nil {
			return err
		}
		if w.f.size >= segmentBytes {
			return q.settle(last)
		}
	}
	return nil
}

// settle counts a segment that is complete, and closes its file: there can be many.
func (q *Queue) settle(s *segment) error {
	s.counted, s.closed = true, true
	q.dir.wrote(s.w.f)
	s.w.buf = nil
	return s.w.f.Close()
}

// Pop takes the oldest state, over dst; ok is false if there is none.
func (q *Queue) Pop(dst []uint64) (depth int, s []uint64, ok bool, err error) {
	for len(q.rest) == 0 {
		if len(q.segments) == 0 {
			return 0, dst, false, nil
		}
		g := q.segments[0]
		if !g.counted && g.read == g.w.f.size {
			if err := g.w.flush(); err != nil {
				return 0, dst, false, err
			}
			if err := q.settle(g); err != nil {
				return 0, dst, false, err
			}
		}
		if g.read == g.w.f.size {
			if err := q.dir.remove(g.w.f, true); err != nil {
				return 0, dst, false, err
			}
			q.segments = q.segments[1:]
			continue
		}
		if g.closed {
			g.closed = false
			var err error
			if g.w.f.File, err = os.Open(g.w.f.Name()); err != nil {
				return 0, dst, false, err
			}
		}
		b, err := g.w.f.read(g.read, g.blocks, q.buf)
		if err != nil {
			return 0, dst, false, err
		}
		q.dir.read.Add(int64(len(b)))
		g.read += int64(len(b))
		g.blocks++
		q.buf, q.rest = b, b[headerBytes:]
	}
	d, n := binary.Uvarint(q.rest)
	if n > 0 {
		var state []byte
		if state, q.rest, ok = cutState(q.rest[n:]); ok {
			q.items--
			return int(d), decodeState(state, dst), true, nil
		}
	}
	g := q.segments[0]
	return 0, dst, false, &Damaged{g.w.f.Name(), g.read, "a block ends within a state"}
}

// Close removes the files.
func (q *Queue) Close() (err error) {
	for _, g := range q.segments {
		err = errors.Join(err, q.dir.remove(g.w.f, g.counted))
	}
	q.segments, q.rest, q.items = nil, nil, 0
	return err
}
