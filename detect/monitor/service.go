package monitor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
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
	fixed    bool          // the hosts are those of the configuration
	failed   error
}

// NewService returns a service. The journal is at path, "" for none; limit is
// that of OpenJournal. The options are those of the decoder of the events.
func NewService(cfg Config, path string, limit int64, opt logs.Options) (*Service, error) {
	s := &Service{cfg: cfg, path: path, limit: limit, opt: opt, detected: make(chan struct{}), fixed: len(cfg.Hosts) > 0}
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
	} else {
		s.m, err = New(s.cfg)
	}
	if err == nil {
		s.announce()
	}
	return err
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

// Detected is closed when the predicate was detected.
func (s *Service) Detected() <-chan struct{} { return s.detected }

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

// End is Monitor.End; without a monitor, ErrNeedHosts.
func (s *Service) End() (bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.m == nil {
		return false, ErrNeedHosts
	}
	return s.m.End()
}

// Accepted counts what a source brought.
type Accepted struct {
	Accepted   int `json:"accepted"`   // events that are new
	Duplicates int `json:"duplicates"` // events that were there already
	Ignored    int `json:"ignored"`    // events of hosts that do not matter
}

// take gives records to the monitor and syncs the journal: when it returns
// without an error, they may be acknowledged. An error is about the first record
// that was refused; those before it were taken, and synced.
func (s *Service) take(records []*logs.Record) (a Accepted, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return a, s.failed
	}
	for _, r := range records {
		if err = s.record(r, &a); err != nil {
			err = fmt.Errorf("line %d: %w", r.Line, err)
			break
		}
	}
	if s.j != nil && a.Accepted > 0 {
		if syncErr := s.j.Sync(); syncErr != nil {
			s.failed = fmt.Errorf("the journal cannot be written: %w", syncErr)
			return Accepted{}, s.failed
		}
	}
	if s.m != nil {
		s.announce()
	}
	return a, err
}

func (s *Service) record(r *logs.Record, a *Accepted) error {
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
	if !s.m.Relevant(r.Host) {
		a.Ignored++
		return nil
	}
	e := &Event{r.Host, r.Clock, r.Vars, r.Text}
	fresh, err := s.m.Check(e)
	if err != nil {
		return err
	}
	if !fresh {
		a.Duplicates++
		return nil
	}
	if s.j != nil {
		if err := s.j.Append(e); err != nil {
			s.failed = fmt.Errorf("the journal cannot be written: %w", err)
			return s.failed
		}
	}
	a.Accepted++
	if err := s.m.Add(e); err != nil {
		if errors.Is(err, ErrFull) {
			s.failed = err
		}
		return err
	}
	return nil
}

// declare takes the hosts and the initial values, as long as there was no event;
// later it is ignored, as a sender that connects again repeats its first lines.
func (s *Service) declare(r *logs.Record) error {
	if s.m != nil && s.m.Status().Events > 0 {
		return nil
	}
	if r.Hosts != nil && !s.fixed {
		s.cfg.Hosts = r.Hosts
	}
	for h, vars := range r.Init {
		if s.cfg.Init == nil {
			s.cfg.Init = map[string]map[string]computation.Value{}
		}
		if s.cfg.Init[h] == nil {
			s.cfg.Init[h] = map[string]computation.Value{}
		}
		maps.Copy(s.cfg.Init[h], vars)
	}
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

// batch is how many records are taken, and synced, together at most.
const batch = 1024

// Stream takes the events from r until its end. After each batch it calls ack,
// if that is not nil, with the number of the last line that was taken: what it
// said is on disk. A record that cannot be read or is refused ends the stream
// with an error, after everything before it was taken.
func (s *Service) Stream(ctx context.Context, r io.Reader, ack func(line int) error) error {
	type item struct {
		r   *logs.Record
		err error
	}
	items := make(chan item, batch)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // it ends with ctx, or when its blocked read ends
		defer close(items)
		dec := logs.NewDecoder(r, s.opt)
		for {
			rec, err := dec.Next()
			if err == io.EOF {
				return
			}
			select {
			case items <- item{rec, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for {
		var records []*logs.Record
		var readErr error
		more := true
		select {
		case x, ok := <-items:
			if !ok {
				return nil
			}
			if x.err != nil {
				return x.err
			}
			records = append(records, x.r)
		case <-ctx.Done():
			return ctx.Err()
		}
		// What has arrived in the meantime goes along.
		for more && len(records) < batch {
			select {
			case x, ok := <-items:
				if !ok {
					more = false
				} else if x.err != nil {
					readErr, more = x.err, false
				} else {
					records = append(records, x.r)
				}
			default:
				more = false
			}
		}
		if _, err := s.take(records); err != nil {
			return err
		}
		if ack != nil {
			if err := ack(records[len(records)-1].Line); err != nil {
				return err
			}
		}
		if readErr != nil {
			return readErr
		}
	}
}

// ServeTCP accepts connections until ctx ends. A client sends events; the
// service answers "ok LINE" when everything up to that line of the connection is
// safe, and "error MESSAGE" before it closes a connection on which it refused
// something.
func (s *Service) ServeTCP(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			return err
		}
		wg.Go(func() {
			defer conn.Close()
			stop := context.AfterFunc(ctx, func() { conn.Close() })
			defer stop()
			err := s.Stream(ctx, conn, func(line int) error {
				_, err := fmt.Fprintf(conn, "ok %d\n", line)
				return err
			})
			if err != nil && ctx.Err() == nil {
				fmt.Fprintf(conn, "error %v\n", err) // the client may be gone
			}
		})
	}
}

// MaxBody bounds the body of a request.
const MaxBody = 64 << 20

// Handler serves POST /events, whose body is events and whose answer is an
// Accepted, and GET /status, whose answer is a Status. A refused event is
// answered with status 400 and {"error": ...} beside the counts of what was
// taken before it.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, code int, x any) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(x) // the client may be gone
	}
	mux.HandleFunc("POST /events", func(w http.ResponseWriter, r *http.Request) {
		dec := logs.NewDecoder(http.MaxBytesReader(w, r.Body, MaxBody), s.opt)
		var records []*logs.Record
		var readErr error
		for {
			rec, err := dec.Next()
			if err == io.EOF {
				break
			}
			if err != nil {
				readErr = err
				break
			}
			records = append(records, rec)
		}
		a, err := s.take(records)
		if err == nil {
			err = readErr
		}
		if err != nil {
			answer(w, http.StatusBadRequest, struct {
				Accepted
				Error string `json:"error"`
			}{a, err.Error()})
			return
		}
		answer(w, http.StatusOK, a)
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) { answer(w, http.StatusOK, s.Status()) })
	return mux
}
