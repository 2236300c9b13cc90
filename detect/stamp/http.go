package stamp

import (
	"net/http"
)

// Transport returns a transport that stamps each request, and the response to it, before base
// sends the one and after it received the other. A nil base is http.DefaultTransport.
//
// A response without a clock, from a server that does not stamp, is passed on and not logged.
func (p *Process) Transport(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return transport{p, base}
}

type transport struct {
	p    *Process
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	what := req.Method + " " + req.URL.Path
	req = req.Clone(req.Context())
	t.p.Inject(req.Header, "request "+what)
	res, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := t.p.Extract(res.Header, "response to "+what); err != nil && err != errNoClock {
		t.p.note(err)
	}
	return res, nil
}

// Handler returns a handler that stamps the requests that h serves, and its responses. The
// response is stamped when its header is written, so events of h after that are not in its clock.
//
// A request without a clock, from a client that does not stamp, is served and not logged.
func (p *Process) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		what := req.Method + " " + req.URL.Path
		switch err := p.Extract(req.Header, "serve "+what); err {
		case nil:
		case errNoClock:
			h.ServeHTTP(w, req)
			return
		default:
			p.note(err)
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		s := &stamped{ResponseWriter: w, p: p, what: what}
		h.ServeHTTP(s, req)
		s.stamp()
	})
}

// stamped is a response whose header gets a clock when it is written.
type stamped struct {
	http.ResponseWriter
	p    *Process
	what string
	done bool
}

func (s *stamped) stamp() {
	if !s.done {
		s.done = true
		s.p.Inject(s.Header(), "respond to "+s.what)
	}
}

// WriteHeader implements http.ResponseWriter.
func (s *stamped) WriteHeader(status int) {
	if status >= 200 { // others are not the response yet
		s.stamp()
	}
	s.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (s *stamped) Write(b []byte) (int, error) {
	s.stamp()
	return s.ResponseWriter.Write(b)
}

// FlushError is for http.ResponseController: to flush writes the header.
func (s *stamped) FlushError() error {
	s.stamp()
	return http.NewResponseController(s.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController.
func (s *stamped) Unwrap() http.ResponseWriter { return s.ResponseWriter }
