package monitor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"sync"

	"cpor/detect/computation"
	"cpor/detect/logs"
)

// Service feeds a monitor, and its journal if it has one, from several sources
// at once. The monitor is made when the hosts are known: by the configuration,
// the journal, or the first declaration {"hosts": [...]} that arrives.
type Service struct {
	mu       sync.Mutex
	cfg      Config
	m        *Monitor
	j        *Journal
	path     string
	limit    int64
	opt      logs.Options
	detected chan struct{} // closed at the detection
	stopped  chan struct{} // closed when failed is set
	fixed    bool          // the hosts are those of the configuration
	failed   error
	damage   *Damage
}

// NewService returns a service. The journal is at path, "" for none; limit is
// that of OpenJournal. The options are those of the decoder of the events.
func NewService(cfg Config, path string, limit int64, opt logs.Options) (*Service, error) {
	s := &Service{cfg: cfg, path: path, limit: limit, opt: opt, detected: make(chan struct{}),
		stopped: make(chan struct{}), fixed: len(cfg.Hosts) > 0}
	err := s.start()
	if errors.Is(err, ErrNeedHosts) {
		return s, nil // a declaration may come
	}
	return s, err
}

func (s *Service) start() error {
	var err error
	if s.path != "" {
		s.j, s.m, err = OpenJournal(s.path, s.cfg, s.limit)
		if err == nil && s.j.Damage() != nil {
			s.damage = s.j.Damage()
		}
	} else {
		s.m, err = New(s.cfg)
	}
	if err != nil {
		return err
	}
	s.announce()
	if s.m.Full() {
		s.fail(ErrFull)
	}
	return nil
}

func (s *Service) announce() {
	if s.m.Detected() != nil {
		select {
		case <-s.detected:
		default:
			close(s.detected)
		}
	}
}

// fail makes the service take no more events.
func (s *Service) fail(err error) {
	if s.failed == nil {
		s.failed = err
		close(s.stopped)
	}
}

// Detected is closed when the predicate was detected.
func (s *Service) Detected() <-chan struct{} { return s.detected }

// Stopped is closed when no more events are taken; Err tells why.
func (s *Service) Stopped() <-chan struct{} { return s.stopped }

// Err tells why no more events are taken: ErrFull, or that the journal cannot be
// written; nil if they are.
func (s *Service) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}

// Damage tells what was wrong with the journal when it was opened, or nil.
func (s *Service) Damage() *Damage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.damage
}

// Close closes the journal.
func (s *Service) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.j != nil {
		return s.j.Close()
	}
	return nil
}

// Status returns the monitor's status.
func (s *Service) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		return Status{}
	}
	return s.m.Status()
}

// End is Monitor.End; without a monitor, ErrNeedHosts. If the predicate does not
// hold, it also returns, by variable, the hosts that never assigned a variable of
// the predicate, and an error if no host did that could have.
func (s *Service) End() (holds bool, unassigned map[string][]string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		return false, nil, ErrNeedHosts
	}
	if holds, err = s.m.End(); holds || err != nil {
		return holds, nil, err
	}
	unassigned, err = s.m.neverAssigned()
	return false, unassigned, err
}

// Accepted counts the events of a source.
type Accepted struct {
	Accepted   int `json:"accepted"`   // events that are new
	Duplicates int `json:"duplicates"` // events that were there already
	Ignored    int `json:"ignored"`    // events of hosts that do not matter
}

// take gives records to the monitor and syncs the journal: when it returns
// without an error, they may be acknowledged. An error is about the first record
// that was refused; those before it were taken, and synced, and are counted; line
// is the last one's. The reader is that of the records' source.
func (s *Service) take(rd *reader, records []*logs.Record) (a Accepted, line int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return a, 0, s.failed
	}
	var taken Accepted
	for _, r := range records {
		if err = s.record(rd, r, &taken); err != nil {
			err = fmt.Errorf("line %d: %w", r.Line, err)
			break
		}
		line = r.Line
	}
	if s.j != nil && taken.Accepted > 0 {
		if syncErr := s.j.Sync(); syncErr != nil {
			s.fail(fmt.Errorf("the journal cannot be written: %w", syncErr))
			return Accepted{}, 0, s.failed
		}
	}
	if s.m != nil {
		s.announce()
		if s.m.Full() {
			s.fail(ErrFull)
		}
	}
	return taken, line, err
}

func (s *Service) record(rd *reader, r *logs.Record, a *Accepted) error {
	if r.Hosts != nil || r.Init != nil {
		if err := s.declare(r); err != nil {
			return err
		}
	}
	if r.Host == "" {
		return nil
	}
	if s.m == nil {
		return ErrNeedHosts
	}
	if rd.m != s.m {
		*rd = reader{m: s.m}
	}
	e, err := rd.event(r)
	if err != nil {
		return err
	}
	if e == nil && s.m.follow != nil {
		return s.m.unknown(r.Host)
	}
	if e == nil {
		a.Ignored++
		return nil
	}
	fresh, err := s.m.check(e)
	if err != nil {
		return err
	}
	if !fresh {
		a.Duplicates++
		return nil
	}
	if s.j != nil {
		if err := s.j.append(e); err != nil {
			s.fail(fmt.Errorf("the journal cannot be written: %w", err))
			return s.failed
		}
	}
	a.Accepted++
	// this event is taken; the next one will not be
	if err := s.m.add(e); err != nil && !errors.Is(err, ErrFull) {
		return err
	}
	return nil
}

// declare takes the hosts and the initial values, as long as there was no event;
// later it is ignored, as a sender that connects again repeats its first lines.
func (s *Service) declare(r *logs.Record) error {
	if s.m != nil && s.m.events > 0 {
		return nil
	}
	cfg := s.cfg
	if r.Hosts != nil && !s.fixed {
		cfg.Hosts = r.Hosts
	}
	init := map[string]map[string]computation.Value{}
	for _, from := range []map[string]map[string]computation.Value{s.cfg.Init, r.Init} {
		for h, vars := range from {
			if init[h] == nil {
				init[h] = map[string]computation.Value{}
			}
			maps.Copy(init[h], vars)
		}
	}
	cfg.Init = init
	// A declaration that is refused changes nothing.
	if _, err := New(cfg); err != nil && !errors.Is(err, ErrNeedHosts) {
		return err
	}
	s.cfg = cfg
	if s.j != nil { // it has no events yet
		if err := errors.Join(s.j.Close(), os.Remove(s.path)); err != nil {
			return err
		}
		s.j, s.m = nil, nil
	}
	err := s.start()
	if errors.Is(err, ErrNeedHosts) {
		return nil
	}
	return err
}

// What a source may have waiting: records that are decoded while others are
// taken. They are also what is taken, and synced, together.
const (
	maxBatch      = 1024
	maxBatchBytes = 256 << 10
)

// queue hands records from the goroutine that decodes a source to the one that
// takes them, all that have come in the meantime together.
type queue struct {
	mu      sync.Mutex
	cond    sync.Cond
	records []*logs.Record
	bytes   int
	err     error // the source has ended; io.EOF at its end
	closed  bool  // nobody takes any more
}

// put adds a record, when there is room; it reports whether to continue.
func (q *queue) put(r *logs.Record) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.records) > 0 && (len(q.records) >= maxBatch || q.bytes+r.Size > maxBatchBytes) &&
		!q.closed {
		q.cond.Wait()
	}
	q.records = append(q.records, r)
	q.bytes += r.Size
	if len(q.records) == 1 {
		q.cond.Broadcast()
	}
	return !q.closed
}

// end says why no more records come.
func (q *queue) end(err error) {
	q.mu.Lock()
	q.err = err
	q.mu.Unlock()
	q.cond.Broadcast()
}

// close says that no more are taken.
func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	q.cond.Broadcast()
}

// get returns all records that are there, waiting for the first; with the last
// ones, or none, why there are no more. The slice buf is used for the next ones.
func (q *queue) get(buf []*logs.Record) ([]*logs.Record, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.records) == 0 && q.err == nil && !q.closed {
		q.cond.Wait()
	}
	out := q.records
	q.records, q.bytes = buf[:0], 0
	q.cond.Broadcast()
	if q.closed {
		return nil, context.Canceled
	}
	return out, q.err
}

// Stream takes the events from r until its end. After each batch it calls ack, if that is not nil,
// with what was accepted and the number of the last line: everything up to there is on disk. A
// record that cannot be read or is refused ends the stream with an error, after everything before
// it was accepted.
//
// Only a few lines of the source, or one long one, are in memory at a time.
func (s *Service) Stream(ctx context.Context, r io.Reader,
	ack func(a Accepted, line int) error) error {
	return s.stream(ctx, r, s.opt, ack)
}

func (s *Service) stream(ctx context.Context, r io.Reader, opt logs.Options,
	ack func(a Accepted, line int) error) error {
	q := &queue{}
	q.cond.L = &q.mu
	stop := context.AfterFunc(ctx, q.close)
	defer stop()
	defer q.close()
	go func() { // it ends with the stream, or when its blocked read ends
		dec := logs.NewDecoder(r, opt)
		for {
			rec, err := dec.Next()
			if err != nil {
				q.end(err)
				return
			}
			if !q.put(rec) {
				return
			}
		}
	}()
	var rd reader
	var buf []*logs.Record
	for {
		records, readErr := q.get(buf)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(records) > 0 {
			a, line, err := s.take(&rd, records)
			if ack != nil && line > 0 {
				if ackErr := ack(a, line); ackErr != nil {
					return errors.Join(err, ackErr)
				}
			}
			if err != nil {
				return err
			}
		}
		if readErr == io.EOF {
			return nil
		}
		if readErr != nil {
			return readErr
		}
		clear(records)
		buf = records
	}
}
