package stamp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"cpor/detect"
	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	"cpor/detect/stamp"
	"cpor/testkit/sample"
)

// process returns a process with a log in memory.
func process(t *testing.T, name string, opt stamp.Options) (*stamp.Process, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	p, err := stamp.New(name, &b, opt)
	if err != nil {
		t.Fatal(err)
	}
	return p, &b
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		opt  stamp.Options
		a, b string
	}{
		{stamp.Options{}, `{"host":"a","clock":{"a":1},"event":"set x, y","vars":{"x":1,"y":"z"}}
{"host":"a","clock":{"a":2},"event":"set x","vars":{"x":1}}
{"host":"a","clock":{"a":3},"event":"send"}
`, `{"host":"b","clock":{"b":1},"event":"say x=2"}
{"host":"b","clock":{"a":3,"b":2},"event":"receive"}
{"host":"b","clock":{"a":3,"b":3},"event":"set ok","vars":{"ok":true}}
`},
		{stamp.Options{Weak: true},
			`{"host":"a","clock":{"a":1},"event":"set x, y","vars":{"x":1,"y":"z"}}
`, `{"host":"b","clock":{"a":1,"b":1},"event":"set ok","vars":{"ok":true}}
`},
		{stamp.Options{Format: stamp.ShiViz}, `a {"a":1}
set x, y {"x":1,"y":"z"}
a {"a":2}
set x {"x":1}
a {"a":3}
send
`, `b {"b":1}
say x:2
b {"a":3,"b":2}
receive
b {"a":3,"b":3}
set ok {"ok":true}
`},
	} {
		a, aLog := process(t, "a", c.opt)
		b, bLog := process(t, "b", c.opt)
		a.SetAll(map[string]any{"x": 1, "y": "z"})
		a.Set("x", 1)
		b.Event("say x=2")
		if err := b.Receive("receive", a.Send("send")); err != nil {
			t.Fatal(err)
		}
		b.Set("ok", true)
		if got := aLog.String(); got != c.a {
			t.Errorf("%+v: a logs\n%swant\n%s", c.opt, got, c.a)
		}
		if got := bLog.String(); got != c.b {
			t.Errorf("%+v: b logs\n%swant\n%s", c.opt, got, c.b)
		}
		if err := errors.Join(a.Err(), b.Err()); err != nil {
			t.Error(err)
		}
	}
}

func TestMistakes(t *testing.T) {
	for _, name := range []string{"", "a b", "a=1", "ä", "a,b"} {
		if _, err := stamp.New(name, io.Discard, stamp.Options{}); err == nil {
			t.Errorf("a process is called %q", name)
		}
	}
	p, log := process(t, "a", stamp.Options{})
	for _, clock := range []string{"a", "b=", "b=-1", "b=x", "b=1,b=2", "b=1,", ",", "=1", "b=0",
		"a b=1", "b=99999999999999999999"} {
		if err := p.Receive("receive", clock); err == nil || !strings.Contains(err.Error(),
			"not a clock") {
			t.Errorf("the clock %q: %v", clock, err)
		}
	}
	if err := p.Receive("receive", "a=1"); err == nil || !strings.Contains(err.Error(),
		"two processes have this name") {
		t.Errorf("a message from the future: %v", err)
	}
	if log.Len() > 0 {
		t.Errorf("it logs %s", log)
	}
	if err := p.Extract(map[string][]string{"other": {"b=1"}}, "receive"); err == nil {
		t.Error("metadata without a clock is accepted")
	}
	p.Set("x", func() {})
	if err := p.Err(); err == nil || !strings.Contains(err.Error(), "log of a") {
		t.Errorf("a function as a value: %v", err)
	}
	q, _ := stamp.New("q", failing{}, stamp.Options{})
	q.Event("x")
	if err := q.Err(); !errors.Is(err, errFull) {
		t.Errorf("a log that cannot be written: %v", err)
	}
}

var errFull = errors.New("full")

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errFull }

// TestMetadata: keys are found whatever their case is, and replaced.
func TestMetadata(t *testing.T) {
	a, _ := process(t, "a", stamp.Options{})
	b, log := process(t, "b", stamp.Options{})
	header := http.Header{}
	a.Inject(header, "one")
	a.Inject(header, "two")
	canonical := http.Header{}
	for k, v := range header {
		canonical.Set(k, v[0])
	}
	if err := b.Extract(canonical, "receive"); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(log.String(), `"clock":{"a":2,"b":1}`) || len(canonical) != 1 {
		t.Errorf("%v: b logs %s", canonical, log)
	}
}

// read returns the computation of some logs.
func read(t *testing.T, bufs ...*bytes.Buffer) *computation.Computation {
	t.Helper()
	var in []logs.Input
	for i, b := range bufs {
		in = append(in, logs.Input{Name: fmt.Sprint("log", i), Data: b.Bytes()})
	}
	es, err := logs.Read(in, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(es) != 1 {
		t.Fatalf("%d executions", len(es))
	}
	return es[0].Computation
}

func answer(t *testing.T, c *computation.Computation, m detect.Modality, text string) bool {
	t.Helper()
	p, err := predicate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	n, err := p.Expand(predicate.NamesOf(c))
	if err != nil {
		t.Fatal(err)
	}
	res, err := detect.Detect(context.Background(), c, n, m, detect.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return res.Holds
}

// TestWeak: on random runs, logs with weak clocks have the same answers as those of all events.
func TestWeak(t *testing.T) {
	n := sample.Of[uint64](30, 100, 5000)
	yes, less := 0, 0
	for seed := range n {
		r := rand.New(rand.NewPCG(seed, 1))
		names := []string{"a", "b", "c"}
		var all, weak []*stamp.Process
		var allLogs, weakLogs []*bytes.Buffer
		for _, name := range names {
			p, l := process(t, name, stamp.Options{})
			q, m := process(t, name, stamp.Options{Weak: true, Format: stamp.Format(seed % 2)})
			all, allLogs = append(all, p), append(allLogs, l)
			weak, weakLogs = append(weak, q), append(weakLogs, m)
			p.Set("x", 0)
			q.Set("x", 0)
		}
		type message struct {
			to           int
			clock, weakC string
		}
		var flying []message
		for range 20 {
			i := r.IntN(3)
			switch {
			case r.IntN(3) == 0:
				v := r.IntN(3)
				all[i].Set("x", v)
				weak[i].Set("x", v)
			case len(flying) > 0 && r.IntN(2) == 0:
				k := r.IntN(len(flying))
				f := flying[k]
				flying = append(flying[:k], flying[k+1:]...)
				if err := errors.Join(all[f.to].Receive("receive", f.clock),
					weak[f.to].Receive("receive", f.weakC)); err != nil {
					t.Fatal(err)
				}
			default:
				flying = append(flying, message{(i + 1 + r.IntN(2)) % 3, all[i].Send("send"),
					weak[i].Send("send")})
			}
		}
		full, short := read(t, allLogs...), read(t, weakLogs...)
		if short.TotalEvents() < full.TotalEvents() {
			less++
		}
		for _, text := range []string{"a.x == 1 && b.x == 2", "a.x + b.x + c.x == 4",
			"a.x == b.x && b.x != c.x"} {
			for _, m := range []detect.Modality{detect.Poss, detect.Def} {
				want := answer(t, full, m, text)
				if got := answer(t, short, m, text); got != want {
					t.Fatalf("seed %d, %s, %v: %v with weak clocks, %v with all events", seed, text,
						m, got, want)
				}
				if want {
					yes++
				}
			}
		}
	}
	if yes < int(n) || less < int(n)*9/10 {
		t.Errorf("%d answers are yes, %d logs are shorter: the test tries too little", yes, less)
	}
}

// TestHTTP: requests and responses carry clocks, in both directions, and others pass.
func TestHTTP(t *testing.T) {
	client, clientLog := process(t, "client", stamp.Options{})
	server, serverLog := process(t, "server", stamp.Options{})
	handler := http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		server.Set("seen", true)
		switch req.URL.Path {
		case "/text":
			io.WriteString(w, "text")
		case "/flush":
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		case "/status":
			w.WriteHeader(http.StatusTeapot)
		}
	})
	s := httptest.NewServer(server.Handler(handler))
	defer s.Close()
	plain := httptest.NewServer(handler)
	defer plain.Close()
	c := &http.Client{Transport: client.Transport(nil)}
	get := func(c *http.Client, url string) int {
		res, err := c.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		io.Copy(io.Discard, res.Body)
		return res.StatusCode
	}
	for _, path := range []string{"/text", "/flush", "/status", "/nothing"} {
		clientLog.Reset()
		serverLog.Reset()
		get(c, s.URL+path)
		if n := strings.Count(clientLog.String(), "\n"); n != 2 {
			t.Errorf("%s: the client logs\n%s", path, clientLog)
		}
		if n := strings.Count(serverLog.String(), "\n"); n != 3 {
			t.Errorf("%s: the server logs\n%s", path, serverLog)
		}
	}
	clientLog.Reset()
	serverLog.Reset()
	get(c, plain.URL)              // a server that does not stamp
	get(http.DefaultClient, s.URL) // a client that does not
	if strings.Contains(clientLog.String(), "response") || strings.Contains(serverLog.String(),
		`"serve `) {
		t.Errorf("it logs\n%s%s", clientLog, serverLog)
	}
	if err := errors.Join(client.Err(), server.Err()); err != nil {
		t.Error(err)
	}
	// A clock that cannot be read is refused.
	req, _ := http.NewRequest("GET", s.URL, nil)
	req.Header.Set(stamp.Key, "nonsense")
	if res, err := http.DefaultClient.Do(req); err != nil || res.StatusCode != 400 {
		t.Errorf("%v, %v", res, err)
	}
	if server.Err() == nil {
		t.Error("the server does not report it")
	}
}

// TestManyGoroutines: the events of one process are in one order, each with a number of its own.
func TestManyGoroutines(t *testing.T) {
	a, aLog := process(t, "a", stamp.Options{})
	b, bLog := process(t, "b", stamp.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for k := range 20 {
				a.Set(fmt.Sprint("x", i), k)
				if err := b.Receive("receive", a.Send("send")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if n := read(t, aLog, bLog).TotalEvents(); n != 8*20*3 {
		t.Errorf("%d events", n)
	}
}
