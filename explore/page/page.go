// Package page serves the page that shows executions and explores a program by hand: static files
// in the binary, and a few JSON requests answered by package explore. It needs no network and no
// build step: the scripts are modules that browsers read as they are.
//
// # Who may ask
//
// A page in a browser can send requests to any port of its machine. So the server
//
//   - listens on 127.0.0.1 only,
//   - answers only under its own name, 127.0.0.1 or localhost with its port, and not under a name
//     that an attacker has pointed here (DNS rebinding),
//   - refuses requests from other origins,
//   - answers requests for data only with the token in the address that the command printed, so
//     other users of the machine do not get them.
//
// Model text is not trusted either. The scripts show it as text, never as markup, and the policy
// sent along forbids scripts that are not files of this server.
package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"cpor/explore"
)

//go:embed static
var static embed.FS

// Server is the page of one program or file. It shows what is in Explorer and Kept, and nothing
// else.
type Server struct {
	// Title is above the page.
	Title string
	// Kept are executions of a file; nil for none.
	Kept *explore.Kept
	// Explorer explores a program by hand; nil if there is only a saved file.
	Explorer *explore.Explorer
	// Searches says which searches can be started; nil for none.
	Searches []SearchKind
	// Plan prepares a search, with the flags of `cpor run`, in the program's system or, if at is
	// not nil, from a state. The error says what is wrong with the flags.
	Plan func(flags []string, at *explore.Path) (*explore.Plan, error)
	// Reductions are the names of the reductions that a state graph can show.
	Reductions []string
	// ReadSource reads a file that is named by a place but is not one of the program's; nil if
	// there are none.
	ReadSource func(name string) (string, error)

	token string
	hosts []string
	ctx   context.Context

	mu      sync.Mutex
	search  *explore.Search
	sources map[string]bool // files that places have named
}

// SearchKind is a search that can be chosen.
type SearchKind struct {
	Flags   []string `json:"flags"`
	Name    string   `json:"name"`
	Summary string   `json:"summary"`
}

// Listen returns a listener on a port of this machine that no other machine reaches; port 0 is
// any that is free.
func Listen(port int) (net.Listener, error) {
	return net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
}

// Serve serves the page on l until ctx ends. ready is called with the address to open.
func (s *Server) Serve(ctx context.Context, l net.Listener, ready func(address string)) error {
	address := s.prepare(ctx, l.Addr().String())
	srv := &http.Server{Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		<-ctx.Done()
		wait, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if srv.Shutdown(wait) != nil {
			srv.Close()
		}
	}()
	ready(address)
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
		<-done
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search != nil {
		s.search.Stop()
		s.search.Wait()
	}
	return err
}

// prepare makes the token and returns the address with it.
func (s *Server) prepare(ctx context.Context, addr string) string {
	var b [16]byte
	rand.Read(b[:]) // does not fail
	s.token = hex.EncodeToString(b[:])
	s.ctx = ctx
	_, port, _ := net.SplitHostPort(addr)
	s.hosts = []string{"127.0.0.1:" + port, "localhost:" + port}
	s.sources = map[string]bool{}
	return "http://" + s.hosts[0] + "/?token=" + s.token
}

// policy is the Content-Security-Policy of all answers.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

func (s *Server) handler() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic(err) // the directory is in the binary
	}
	mux := http.NewServeMux()
	mux.Handle("GET /", http.FileServerFS(files))
	api := func(pattern string, answer func(r *http.Request) (any, error)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			s.answer(w, r, answer)
		})
	}
	api("GET /api/info", s.info)
	api("GET /api/document", s.document)
	api("GET /api/source", s.source)
	api("POST /api/play", s.play)
	api("POST /api/moves", s.moves)
	api("POST /api/jump", s.jump)
	api("POST /api/graph", s.graph)
	api("POST /api/prefix", s.prefix)
	api("POST /api/search", s.start)
	api("POST /api/stop", s.stop)
	api("GET /api/search", s.status)
	api("GET /api/found", s.found)
	api("GET /api/coverage", s.coverage)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if why := s.refused(r); why != "" {
			http.Error(w, why, http.StatusForbidden)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// refused says why a request is not answered; empty if it is.
func (s *Server) refused(r *http.Request) string {
	own := func(host string) bool {
		for _, h := range s.hosts {
			if host == h {
				return true
			}
		}
		return false
	}
	if !own(r.Host) {
		return "this server answers under " + s.hosts[0] + " only"
	}
	if o := r.Header.Get("Origin"); o != "" {
		if u, err := url.Parse(o); err != nil || u.Scheme != "http" || u.Host != r.Host {
			return "requests from other pages are refused"
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
	default:
		return "requests from other pages are refused"
	}
	return ""
}

// mistake is what is wrong with a request, in words for the page.
type mistake struct{ err error }

func (m mistake) Error() string { return m.err.Error() }

func wrong(format string, args ...any) error { return mistake{fmt.Errorf(format, args...)} }

// answer answers a request for data.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, f func(r *http.Request) (any,
	error)) {
	if subtle.ConstantTimeCompare([]byte(r.Header.Get("X-Cpor-Token")), []byte(s.token)) != 1 {
		http.Error(w,
			"the token is missing or wrong: open the address that the command printed",
			http.StatusForbidden)
		return
	}
	v, err := f(r)
	status := http.StatusOK
	if err != nil {
		status = http.StatusBadRequest
		v = map[string]string{"error": err.Error()}
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	// An error means that the client has gone away.
	_ = enc.Encode(v)
}

// maxBody bounds a request: a path of a million steps fits.
const maxBody = 16 << 20

// body reads the JSON of a request.
func body(r *http.Request, v any) error {
	if r.Header.Get("Content-Type") != "application/json" {
		return wrong("want Content-Type: application/json")
	}
	text, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return mistake{err}
	}
	if len(text) > maxBody {
		return wrong("the request is too long")
	}
	if err := json.Unmarshal(text, v); err != nil {
		return wrong("invalid request: %v", err)
	}
	return nil
}

func number(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.URL.Query().Get("n"))
	if err != nil {
		return 0, wrong("n=%q is not a number", r.URL.Query().Get("n"))
	}
	return n, nil
}

type info struct {
	Title      string       `json:"title"`
	Documents  []string     `json:"documents"` // their titles
	Explore    bool         `json:"explore"`
	Initial    int          `json:"initial"` // the number of initial states
	File       string       `json:"file"`    // with the program's text; "" for none
	Jump       bool         `json:"jump"`
	Searches   []SearchKind `json:"searches"`
	Reductions []string     `json:"reductions"`
	MaxGraph   int          `json:"maxGraph"`
	Unfolds    bool         `json:"unfolds"`
}

func (s *Server) info(*http.Request) (any, error) {
	i := info{Title: s.Title, Documents: []string{}, Searches: s.Searches, Reductions: s.Reductions,
		MaxGraph: explore.MaxGraph}
	if s.Kept != nil {
		for _, d := range s.Kept.Documents {
			i.Documents = append(i.Documents, d.Title)
		}
	}
	if x := s.Explorer; x != nil {
		i.Explore, i.Initial, i.Jump, i.Unfolds = true, x.Initial(), x.Reload != nil,
			x.Unfolds() == nil
		if _, ok := x.Source(x.File); ok {
			i.File = x.File
			s.name(x.File)
		}
	}
	return i, nil
}

// name remembers a file that a place names: only such can be read.
func (s *Server) name(file string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[file] = true
}

// shown remembers the files that a document names.
func (s *Server) shown(d *explore.Document, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sources[d.Pos.File] = true
	stands := func(list []explore.Standing) {
		for _, st := range list {
			s.sources[st.Pos.File] = true
		}
	}
	stands(d.Next)
	for i := range d.Rows {
		s.sources[d.Rows[i].Pos.File] = true
		stands(d.Rows[i].Next)
	}
	return d, nil
}

func (s *Server) document(r *http.Request) (any, error) {
	n, err := number(r)
	if err != nil {
		return nil, err
	}
	if s.Kept == nil || n < 0 || n >= len(s.Kept.Documents) {
		return nil, wrong("there is no execution %d", n)
	}
	return s.shown(s.Kept.Documents[n], nil)
}

func (s *Server) source(r *http.Request) (any, error) {
	name := r.URL.Query().Get("name")
	s.mu.Lock()
	named := name != "" && s.sources[name]
	s.mu.Unlock()
	if !named {
		return nil, wrong("%s is not a source file of this program", name)
	}
	if x := s.Explorer; x != nil {
		if text, ok := x.Source(name); ok {
			return map[string]string{"text": text}, nil
		}
	}
	if s.ReadSource == nil {
		return nil, wrong("%s does not exist", name)
	}
	text, err := s.ReadSource(name)
	if err != nil {
		return nil, err
	}
	return map[string]string{"text": text}, nil
}

// asked is what requests about a state say.
type asked struct {
	explore.Path
	Predicate string   `json:"predicate"`
	Reduction string   `json:"reduction"`
	Flags     []string `json:"flags"`
	Here      bool     `json:"here"` // search from the path's end, not from the beginning
}

func (s *Server) asked(r *http.Request) (*asked, error) {
	if s.Explorer == nil {
		return nil, wrong("there is no program to explore")
	}
	a := new(asked)
	return a, body(r, a)
}

func (s *Server) play(r *http.Request) (any, error) {
	a, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return s.shown(s.Explorer.Play(a.Path))
}

func (s *Server) moves(r *http.Request) (any, error) {
	a, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	return s.Explorer.Moves(a.Path)
}

// patience is how long a jump or a drawing may take.
const patience = 30 * time.Second

func (s *Server) jump(r *http.Request) (any, error) {
	a, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return s.Explorer.Jump(ctx, a.Path, a.Predicate, explore.MaxJump)
}

func (s *Server) graph(r *http.Request) (any, error) {
	a, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return s.Explorer.Graph(ctx, a.Reduction)
}

func (s *Server) prefix(r *http.Request) (any, error) {
	if _, err := s.asked(r); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	return s.Explorer.Prefix(ctx)
}

func (s *Server) start(r *http.Request) (any, error) {
	a, err := s.asked(r)
	if err != nil {
		return nil, err
	}
	if s.Plan == nil {
		return nil, wrong("searches cannot be started here")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search != nil && s.search.Status().Running {
		return nil, wrong("a search is running; stop it first")
	}
	var at *explore.Path
	if a.Here {
		at = &a.Path
	}
	p, err := s.Plan(a.Flags, at)
	if err != nil {
		return nil, err
	}
	s.search = s.Explorer.Start(s.ctx, p, at)
	return s.search.Status(), nil
}

func (s *Server) coverage(*http.Request) (any, error) {
	x, err := s.running()
	if err != nil {
		return nil, err
	}
	return x.Coverage(), nil
}

func (s *Server) running() (*explore.Search, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.search == nil {
		return nil, wrong("no search was started")
	}
	return s.search, nil
}

func (s *Server) stop(r *http.Request) (any, error) {
	q, err := s.running()
	if err != nil {
		return nil, err
	}
	q.Stop()
	return q.Status(), nil
}

func (s *Server) status(*http.Request) (any, error) {
	q, err := s.running()
	if err != nil {
		return nil, nil // none yet
	}
	return q.Status(), nil
}

func (s *Server) found(r *http.Request) (any, error) {
	n, err := number(r)
	if err != nil {
		return nil, err
	}
	q, err := s.running()
	if err != nil {
		return nil, err
	}
	return s.shown(q.Found(n))
}
