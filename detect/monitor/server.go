package monitor

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Server serves a Service to clients on the network. Its clients may be slow,
// many, or hostile: each connection has time-outs and a bounded buffer, and the
// connections are counted.
type Server struct {
	Service *Service
	// Token is what a client must know, "" for nothing: a TCP client sends "token TOKEN" as its
	// first line, an HTTP client the header "Authorization: Bearer TOKEN".
	Token string
	// Names are the host names under which HTTP clients may ask, beside the
	// loopback's and the address of the connection itself: a page of another site
	// that the user's browser shows must not be one of them.
	Names []string
	// MaxConnections is the most connections at a time, over TCP and HTTP; 0 is
	// DefaultConnections.
	MaxConnections int
	// Idle is how long a connection may send nothing; 0 is DefaultIdle.
	Idle time.Duration
	// Log is called with what an operator should know: a refused event, a
	// connection that could not be accepted; nil for nothing.
	Log func(format string, args ...any)

	open atomic.Int64
}

// The defaults of Server's bounds.
const (
	DefaultConnections = 128
	DefaultIdle        = 10 * time.Minute
)

const (
	firstTimeout = 10 * time.Second // for the token, or the header of a request
	writeTimeout = 10 * time.Second
	bodyTimeout  = 30 * time.Second // for the next piece of a request's body
)

func (s *Server) log(format string, args ...any) {
	if s.Log != nil {
		s.Log(format, args...)
	}
}

func (s *Server) idle() time.Duration {
	if s.Idle > 0 {
		return s.Idle
	}
	return DefaultIdle
}

// gate is a listener that continues when a connection cannot be accepted (there
// may be file descriptors again later), and turns away those that are too many.
type gate struct {
	net.Listener
	s      *Server
	refuse string // sent to a client that is turned away
	done   <-chan struct{}
}

// Accept implements net.Listener.
func (g *gate) Accept() (net.Conn, error) {
	pause := 5 * time.Millisecond
	for {
		conn, err := g.Listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil {
			g.s.log("a connection could not be accepted, going on in %v: %v", pause, err)
			select {
			case <-time.After(pause):
			case <-g.done:
				return nil, net.ErrClosed
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = 5 * time.Millisecond
		most := int64(g.s.MaxConnections)
		if most <= 0 {
			most = DefaultConnections
		}
		if g.s.open.Add(1) > most {
			g.s.open.Add(-1)
			// it fits the socket's buffer
			conn.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			io.WriteString(conn, g.refuse)
			conn.Close()
			continue
		}
		return &gatedConn{Conn: conn, open: &g.s.open}, nil
	}
}

type gatedConn struct {
	net.Conn
	open *atomic.Int64
	once sync.Once
}

// Close implements net.Conn.
func (c *gatedConn) Close() error {
	c.once.Do(func() { c.open.Add(-1) })
	return c.Conn.Close()
}

// patientConn gives each read and each write its own time.
type patientConn struct {
	net.Conn
	idle time.Duration
}

func (c *patientConn) Read(p []byte) (int, error) {
	if err := c.SetReadDeadline(time.Now().Add(c.idle)); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

func (c *patientConn) Write(p []byte) (int, error) {
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return 0, err
	}
	return c.Conn.Write(p)
}

// ServeTCP accepts connections until ctx ends. A client sends events; the service answers "ok
// LINE" when everything up to that line of the connection (not counting the token's) is safe,
// and "error MESSAGE" before it closes a connection on which it refused something.
func (s *Server) ServeTCP(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	g := &gate{Listener: l, s: s, refuse: "error too many connections\n", done: ctx.Done()}
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := g.Accept()
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
			s.serveConn(ctx, conn)
		})
	}
}

func (s *Server) serveConn(ctx context.Context, conn net.Conn) {
	patient := &patientConn{conn, s.idle()}
	if s.Token != "" {
		if !s.readToken(&patientConn{conn, firstTimeout}) {
			fmt.Fprintf(patient, "error the first line must be: token TOKEN\n")
			return
		}
	}
	opt := s.Service.opt
	opt.Ended = true
	err := s.Service.stream(ctx, patient, opt, func(_ Accepted, line int) error {
		_, err := fmt.Fprintf(patient, "ok %d\n", line)
		return err
	})
	if err == nil || ctx.Err() != nil {
		return
	}
	if timeout := net.Error(nil); errors.As(err, &timeout) && timeout.Timeout() {
		err = errors.New("the connection was idle for too long")
	}
	s.log("client %v: %v", conn.RemoteAddr(), err)
	fmt.Fprintf(patient, "error %v\n", err) // the client may be gone
}

// readToken reads the first line, a byte at a time so that nothing after it is
// lost, and reports whether it is the token's.
func (s *Server) readToken(r io.Reader) bool {
	var line []byte
	b := make([]byte, 1)
	for len(line) < 4096 {
		if _, err := io.ReadFull(r, b); err != nil {
			return false
		}
		if b[0] == '\n' {
			token, ok := strings.CutPrefix(strings.TrimRight(string(line), "\r"), "token ")
			return ok && s.isToken(token)
		}
		line = append(line, b[0])
	}
	return false
}

// isToken compares in a time that tells nothing about the token.
func (s *Server) isToken(token string) bool {
	a, b := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.Token))
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}

// ServeHTTP accepts requests until ctx ends; see Handler. Answers that are on
// their way then are finished, for a client should learn that its events were
// taken.
func (s *Server) ServeHTTP(ctx context.Context, l net.Listener) error {
	g := &gate{Listener: l, s: s, refuse: "HTTP/1.1 503 Service Unavailable\r\nConnection: " +
		"close\r\nContent-Length: 0\r\n\r\n", done: ctx.Done()}
	srv := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: firstTimeout, IdleTimeout: s.idle(),
		MaxHeaderBytes: 16 << 10,
		BaseContext:    func(net.Listener) context.Context { return ctx },
	}
	closed := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		closed <- errors.Join(srv.Shutdown(last), srv.Close())
	})
	err := srv.Serve(g)
	if stop() {
		return err // it is not because of ctx
	}
	<-closed
	return nil
}

// patientBody gives each read of a request's body its own time.
type patientBody struct {
	r    io.Reader
	c    *http.ResponseController
	mu   sync.Mutex
	over bool // the request was answered
}

func (b *patientBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return 0, http.ErrBodyReadAfterClose
	}
	err := b.c.SetReadDeadline(time.Now().Add(bodyTimeout))
	b.mu.Unlock()
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return 0, err
	}
	return b.r.Read(p)
}

func (b *patientBody) close() {
	b.mu.Lock()
	b.over = true
	b.mu.Unlock()
}

// Handler serves POST /events, whose body is events and whose answer is an
// Accepted, and GET /status, whose answer is a Status. A refused event is
// answered with status 400 and {"error": ...} beside the counts of what was
// taken before it; 503 says that no more events are taken at all. The body is
// taken as it comes. Requests for another host, or from another site's pages,
// are refused, and those without the token.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, code int, x any) {
		http.NewResponseController(w).SetWriteDeadline(time.Now().Add(writeTimeout))
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.WriteHeader(code)
		json.NewEncoder(w).Encode(x) // the client may be gone
	}
	type refusal struct {
		Accepted
		Error string `json:"error"`
	}
	mux.HandleFunc("POST /events", func(w http.ResponseWriter, r *http.Request) {
		var total Accepted
		body := &patientBody{r: r.Body, c: http.NewResponseController(w)}
		defer body.close()
		err := s.Service.Stream(r.Context(), body, func(a Accepted, _ int) error {
			total.Accepted += a.Accepted
			total.Duplicates += a.Duplicates
			total.Ignored += a.Ignored
			return nil
		})
		switch {
		case err == nil:
			answer(w, http.StatusOK, total)
		case s.Service.Err() != nil:
			answer(w, http.StatusServiceUnavailable, refusal{total, err.Error()})
		default:
			s.log("client %s: %v", r.RemoteAddr, err)
			answer(w, http.StatusBadRequest, refusal{total, err.Error()})
		}
	})
	mux.HandleFunc("GET /status", func(w http.ResponseWriter, r *http.Request) {
		answer(w, http.StatusOK, s.Service.Status())
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.foreign(r); err != nil {
			answer(w, http.StatusForbidden, refusal{Error: err.Error()})
			return
		}
		if s.Token != "" {
			token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			if !ok || !s.isToken(token) {
				w.Header().Set("WWW-Authenticate", "Bearer")
				answer(w, http.StatusUnauthorized,
					refusal{Error: "the request needs the header Authorization: Bearer TOKEN"})
				return
			}
		}
		mux.ServeHTTP(w, r)
	})
}

// foreign reports a request that was made for another host, or by a page of
// another site: a browser would send it without its user's knowledge.
func (s *Server) foreign(r *http.Request) error {
	if !s.isMine(r.Host, r) {
		return fmt.Errorf("the request is for host %q, which this is not", r.Host)
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(u.Host, r.Host) {
			return fmt.Errorf("the request comes from a page of %q", origin)
		}
	}
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" &&
		site != "none" {
		return fmt.Errorf("the request comes from a page of another site (%s)", site)
	}
	return nil
}

// isMine reports whether a Host header names this server.
func (s *Server) isMine(hostport string, r *http.Request) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	for _, name := range s.Names {
		if strings.EqualFold(name, host) {
			return true
		}
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	if ip == nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ok && local.IP.Equal(ip)
}
