package monitor

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cpor/testkit/sample"

	"cpor/detect/computation"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// contradicts compares two events of different number by the definition of
// vector clocks.
func contradicts(e, f *Event) bool {
	leq := func(a, b *Event, but ...string) bool {
	hosts:
		for h, x := range a.Clock {
			for _, g := range but {
				if g == h {
					continue hosts
				}
			}
			if x > b.Clock[h] {
				return false
			}
		}
		return true
	}
	own := func(x *Event) int32 { return x.Clock[x.Host] }
	if e.Host == f.Host {
		if own(e) > own(f) {
			e, f = f, e
		}
		return !leq(e, f)
	}
	contains := func(e, f *Event) bool { return e.Clock[f.Host] >= own(f) }
	if contains(e, f) && contains(f, e) {
		return true
	}
	return contains(e, f) && (!leq(f, e) || f.Clock[e.Host] >= own(e)) || contains(f, e) &&
		(!leq(e, f) || e.Clock[f.Host] >= own(f))
}

// TestNothingInvalid: events of random runs, some of them altered, in any order:
// each is taken exactly if it contradicts none that was taken before, the same
// before and after restarts, and what was taken is what package computation
// accepts.
func TestNothingInvalid(t *testing.T) {
	defer func(old int) { minTrim = old }(minTrim)
	minTrim = 1
	rounds := sample.Of(150, 150, 2000)
	dir := t.TempDir()
	refused := 0
	for seed := range rounds {
		rng := rand.New(rand.NewPCG(uint64(seed), 5))
		c := randomComputation(rng)
		var hosts []string
		hosts = append(hosts, c.Names()...)
		p, err := predicate.Parse("exists i: i.x && i.y == 7")
		if err != nil {
			t.Fatal(err)
		}
		cfg := Config{Predicate: p, Hosts: hosts}
		path := filepath.Join(dir, fmt.Sprint(seed))
		withJournal := rng.IntN(8) == 0
		m, err := New(cfg)
		var j *Journal
		if withJournal {
			j, m, err = OpenJournal(path, cfg, 500)
		}
		if err != nil {
			t.Fatal(err)
		}
		all := events(rng, c)
		if rng.IntN(2) == 0 { // those of a process in any order, too
			rng.Shuffle(len(all), func(x, y int) { all[x], all[y] = all[y], all[x] })
		}
		var taken []*Event
		known := map[string]*Event{}
		for _, e := range all {
			// Perhaps an altered one first, then the right one.
			for _, x := range []*Event{altered(rng, e, hosts), e, e} {
				if x == nil {
					continue
				}
				id := fmt.Sprint(x.Host, x.Clock[x.Host])
				ok := x.Clock[x.Host] > 0
				old := known[id]
				if old != nil {
					ok = same(old, x)
				} else {
					for _, f := range taken {
						ok = ok && !contradicts(x, f)
					}
				}
				fresh, err := m.Check(x)
				if ok != (err == nil) || err == nil && fresh != (old == nil) {
					t.Fatalf("seed %d: %+v after %d events: fresh %v, %v, want %v", seed, x,
						len(taken), fresh, err, ok)
				}
				if err != nil {
					refused++
					continue
				}
				if !fresh {
					continue
				}
				if err := m.Add(x); err != nil {
					t.Fatal(err)
				}
				taken = append(taken, x)
				known[id] = x
				if j != nil {
					journalled(t, j, x)
					if err := j.Sync(); err != nil {
						t.Fatal(err)
					}
					if rng.IntN(3) == 0 {
						if err := j.Close(); err != nil {
							t.Fatal(err)
						}
						if j, m, err = OpenJournal(path, cfg, 500); err != nil ||
							j.Damage() != nil {
							t.Fatalf("seed %d: %v %v", seed, err, j.Damage())
						}
					}
				}
			}
		}
		if j != nil {
			j.Close()
		}
		prefixBuilds(t, hosts, known)
	}
	if refused < rounds {
		t.Errorf("only %d events were refused", refused)
	}
}

func same(a, b *Event) bool {
	if a.Text != b.Text || len(a.Vars) != len(b.Vars) {
		return false
	}
	for h, x := range a.Clock {
		if b.Clock[h] != x {
			return false
		}
	}
	for h, x := range b.Clock {
		if a.Clock[h] != x {
			return false
		}
	}
	for name, v := range a.Vars {
		if !b.Vars[name].Equal(v) {
			return false
		}
	}
	return true
}

// altered returns a copy of the event with something else in it, sometimes nil.
func altered(rng *rand.Rand, e *Event, hosts []string) *Event {
	if rng.IntN(3) > 0 {
		return nil
	}
	x := &Event{Host: e.Host, Clock: map[string]int32{}, Vars: map[string]computation.Value{},
		Text: e.Text}
	for h, n := range e.Clock {
		x.Clock[h] = n
	}
	for name, v := range e.Vars {
		x.Vars[name] = v
	}
	switch rng.IntN(6) {
	case 0:
		x.Text += "!"
	case 1:
		x.Vars["z"] = computation.IntValue(1)
	default:
		h := hosts[rng.IntN(len(hosts))]
		x.Clock[h] = max(0, x.Clock[h]+int32(rng.IntN(5))-2)
	}
	return x
}

// prefixBuilds: the events whose past has arrived make a computation.
func prefixBuilds(t *testing.T, hosts []string, known map[string]*Event) {
	t.Helper()
	b := computation.NewBuilder("")
	for _, h := range hosts {
		b.Declare(b.Host(h))
	}
	last := map[string]int32{}
	for _, h := range hosts {
		for known[fmt.Sprint(h, last[h]+1)] != nil {
			last[h]++
		}
	}
	for again := true; again; {
		again = false
		for _, h := range hosts {
			if last[h] == 0 {
				continue
			}
			for g, x := range known[fmt.Sprint(h, last[h])].Clock {
				if x > last[g] && last[h] > 0 {
					last[h]--
					again = true
					break
				}
			}
		}
	}
	for _, h := range hosts {
		for k := int32(1); k <= last[h]; k++ {
			b.Event(b.Host(h), 0)
			for g, x := range known[fmt.Sprint(h, k)].Clock {
				b.Entry(b.Host(g), x)
			}
		}
	}
	if _, _, err := b.Build(false); err != nil {
		t.Fatal(err)
	}
}

// TestDamagedJournal: a journal with a damaged line is read up to there, and the
// rest of the file is kept.
func TestDamagedJournal(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "journal")
	s := newService(t, "p1.x && p2.y", path)
	for k := 1; k <= 5; k++ {
		if err := s.Stream(context.Background(),
			strings.NewReader(
				fmt.Sprintf(`{"host":"p1","clock":{"p1":%d},"event":"e%d","vars":{"x":false}}`, k,
					k)), nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(data, '\n') + 1
	rng := rand.New(rand.NewPCG(3, 4))
	for range 60 {
		at := header + rng.IntN(len(data)-header-1)
		hurt := bytes.Clone(data)
		switch rng.IntN(3) {
		case 0:
			hurt[at] ^= 1 << rng.IntN(7)
		case 1:
			hurt[at] = '\n'
		default:
			hurt = append(append(bytes.Clone(hurt[:at]), "garbage\n"...), hurt[at:]...)
		}
		if bytes.Equal(hurt, data) {
			continue
		}
		if err := os.WriteFile(path, hurt, 0o666); err != nil {
			t.Fatal(err)
		}
		whole := bytes.Count(data[header:at], []byte("\n"))
		s := newService(t, "p1.x && p2.y", path)
		st, d := s.Status(), s.Damage()
		s.Close()
		now, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if d == nil { // the damage is not one, such as a blank
			if st.Events != 5 {
				t.Fatalf("%q: %d events", hurt, st.Events)
			}
			continue
		}
		rest, err := os.ReadFile(d.Rest)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(append(now, rest...), hurt) || int(st.Events) < whole ||
			d.Line != bytes.Count(now, []byte("\n"))+1 {
			t.Fatalf("%q: %d events, %v, rest %q", hurt, st.Events, d, rest)
		}
		os.Remove(d.Rest)
		s = newService(t, "p1.x && p2.y", path) // it is whole now
		if s.Damage() != nil || s.Status().Events != st.Events {
			t.Fatalf("%q: %v", hurt, s.Damage())
		}
		s.Close()
	}
}

// TestOneWriter: a journal that a monitor has open is refused to another.
func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	s := newService(t, "p1.x", path)
	p, err := predicate.Parse("p1.x")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.ReadFile(path)
	if _, err := NewService(Config{Predicate: p, Hosts: []string{"p1", "p2", "p3"}}, path, 0,
		logs.Options{}); !errors.Is(err, ErrLocked) {
		t.Errorf("a second monitor: %v", err)
	}
	if now, _ := os.ReadFile(path); !bytes.Equal(before, now) {
		t.Error("the second monitor changed the journal")
	}
	s.Close()
	newService(t, "p1.x", path).Close()
}

// TestMore: at its limit a monitor says so and takes no more; started with a
// higher one it continues, and nothing that was acknowledged is lost.
func TestMore(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	p, err := predicate.Parse("p1.x && p2.x")
	if err != nil {
		t.Fatal(err)
	}
	var in strings.Builder
	for k := 1; k <= 3000; k++ {
		fmt.Fprintf(&in, `{"host":"p1","clock":{"p1":%d},"vars":{"x":%v}}`+"\n", k, k%2 == 0)
	}
	acknowledged := 0
	for _, most := range []int{100, 100, 1000, 0} {
		s, err := NewService(Config{Predicate: p, MaxStates: most}, path, 5000, logs.Options{})
		if err != nil {
			if most == 100 && acknowledged > 0 && errors.Is(err, ErrFull) {
				continue // refused at the start
			}
			t.Fatal(err)
		}
		if got := int(s.Status().Events); got < acknowledged {
			t.Errorf("%d events, but %d were acknowledged", got, acknowledged)
		}
		err = s.Stream(context.Background(), strings.NewReader(in.String()),
			func(a Accepted, line int) error {
				acknowledged = max(acknowledged, line)
				return nil
			})
		if most > 0 {
			if !errors.Is(err, ErrFull) || !errors.Is(s.Err(), ErrFull) || !s.Status().Full {
				t.Errorf("limit %d: %v", most, err)
			}
			<-s.Stopped()
		} else if err != nil || s.Status().Events != 3000 {
			t.Errorf("%v, %d events", err, s.Status().Events)
		}
		s.Close()
	}
}

// failingWriter fails after some bytes, as a full disk does.
type failingWriter struct {
	w    io.Writer
	left int
}

func (f *failingWriter) Write(p []byte) (int, error) {
	n := min(len(p), f.left)
	f.left -= n
	k, err := f.w.Write(p[:n])
	if err == nil && n < len(p) {
		err = syscall.ENOSPC
	}
	return k, err
}

// TestFullDisk: what was acknowledged before the disk was full is there after a
// restart, and nothing is acknowledged afterwards.
func TestFullDisk(t *testing.T) {
	for room := 0; room < 3000; room += 190 {
		path := filepath.Join(t.TempDir(), "journal")
		s := newService(t, "p1.x && p2.y", path)
		s.j.limit, s.j.rewrite = 1<<20, 1<<20
		s.j.out = bufio.NewWriterSize(&failingWriter{s.j.file, room}, 16)
		acknowledged := 0
		var err error
		for k := 1; k <= 60 && err == nil; k++ {
			err = s.Stream(context.Background(),
				strings.NewReader(fmt.Sprintf(`{"host":"p1","clock":{"p1":%d}}`, k)),
				func(Accepted, int) error { acknowledged = k; return nil })
		}
		if err == nil || s.Err() == nil || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("room %d: %v", room, err)
		}
		s.Close()
		s = newService(t, "p1.x && p2.y", path)
		if got := int(s.Status().Events); got < acknowledged {
			t.Errorf("room %d: %d events, but %d were acknowledged", room, got, acknowledged)
		}
		s.Close()
	}
}

// serve starts a server on the loopback interface.
func serve(t *testing.T, s *Server) (tcp, url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	t.Cleanup(func() { cancel(); wg.Wait() })
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	a, b := listen(), listen()
	wg.Go(func() {
		if err := s.ServeTCP(ctx, a); err != nil {
			t.Error(err)
		}
	})
	wg.Go(func() {
		if err := s.ServeHTTP(ctx, b); err != nil {
			t.Error(err)
		}
	})
	return a.Addr().String(), "http://" + b.Addr().String()
}

// patternReader yields the lines that make returns, without ever keeping them.
type patternReader struct {
	make func(k int) string
	k, n int
	rest string
}

func (r *patternReader) Read(p []byte) (int, error) {
	if r.rest == "" {
		if r.k == r.n {
			return 0, io.EOF
		}
		r.k++
		r.rest = r.make(r.k)
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// TestMemory: large posts at the same time, long lines, names without end and
// values without end are taken, or refused, in bounded memory.
func TestMemory(t *testing.T) {
	p, err := predicate.Parse("p1.x == 1 && p2.x == 1")
	if err != nil {
		t.Fatal(err)
	}
	svc, err := NewService(Config{Predicate: p, Hosts: []string{"p1", "p2", "p3"},
		MaxBytes: 16 << 20}, "", 0, logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	srv := &Server{Service: svc}
	_, url := serve(t, srv)
	var peak atomic.Uint64
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			var ms runtime.MemStats
			runtime.ReadMemStats(&ms)
			peak.Store(max(peak.Load(), ms.HeapAlloc))
			select {
			case <-done:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	size := 4000 // lines of 2 kB: 8 MB a post
	if testing.Short() {
		size = 1000
	}
	text := strings.Repeat("t", 2000)
	long := strings.Repeat("l", longPiece)
	var posts sync.WaitGroup
	post := func(r *patternReader) {
		posts.Go(func() {
			resp, err := http.Post(url+"/events", "application/x-ndjson", r)
			if err != nil {
				return // the server may answer before it has read everything
			}
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		})
	}
	for c := range 3 {
		host := fmt.Sprint("p", c+1)
		post(&patternReader{n: size, make: func(k int) string {
			return fmt.Sprintf(`{"host":"%s","clock":{"%s":%d},"event":"%s","vars":{"x":0}}`+"\n",
				host, host, k, text)
		}})
	}
	post(&patternReader{n: size, make: func(k int) string { // names without end
		return fmt.Sprintf(`{"host":"q%d","clock":{"q%d":1,"%s%d":1},"vars":{"%s%d":1}}`+"\n", k, k,
			text[:500], k, text[:500], k)
	}})
	// a line that does not end
	post(&patternReader{n: 40, make: func(int) string { return long }})
	post(&patternReader{n: size, make: func(int) string { return "{\"host" }}) // the same
	posts.Wait()
	// Values that are all different, of a variable of the predicate, by a host that
	// the others do not hear of.
	post(&patternReader{n: 2 * size, make: func(k int) string {
		return fmt.Sprintf(`{"host":"p1","clock":{"p1":%d},"vars":{"x":"%s%d"}}`+"\n", size+k, text,
			k)
	}})
	post(&patternReader{n: size, make: func(k int) string { // events without their predecessors
		return fmt.Sprintf(`{"host":"p2","clock":{"p2":%d},"event":"%s"}`+"\n", size+2+k, text)
	}})
	posts.Wait()
	close(done)
	watch.Wait()
	// 16 MB for the monitor, and what the collector leaves lying about.
	if got := peak.Load() >> 20; got > 120 {
		t.Errorf("the heap grew to %d MiB", got)
	}
}

// longPiece is a piece of a line that is too long.
const longPiece = 64 << 10

// TestManyConnections: connections beyond the limit are turned away, and those
// within it are served all the time.
func TestManyConnections(t *testing.T) {
	s := newService(t, "p1.x && p2.x", "")
	addr, _ := serve(t, &Server{Service: s, MaxConnections: 20})
	dials := sample.Of(1000, 1000, 10_000)
	good, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer good.Close()
	replies := bufio.NewScanner(good)
	var open []net.Conn
	turned := 0
	for k := range dials {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			continue // the backlog is full
		}
		if len(open) < 40 {
			open = append(open, c)
		} else {
			old := k % len(open)
			open[old].Close()
			open[old] = c
		}
		if k%(dials/50) == 0 {
			fmt.Fprintf(good, `{"host":"p1","clock":{"p1":%d}}`+"\n", k/(dials/50)+1)
			if want := fmt.Sprintf("ok %d", k/(dials/50)+1); !replies.Scan() ||
				replies.Text() != want {
				t.Fatalf("%q, want %s", replies.Text(), want)
			}
		}
	}
	for _, c := range open {
		c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
		text, _ := io.ReadAll(c)
		if strings.HasPrefix(string(text), "error too many") {
			turned++
		}
		c.Close()
	}
	if turned == 0 {
		t.Error("no connection was turned away")
	}
}

// brokenListener fails as one does that has no file descriptors left.
type brokenListener struct {
	net.Listener
	failures int
}

func (l *brokenListener) Accept() (net.Conn, error) {
	if l.failures > 0 {
		l.failures--
		return nil, &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", syscall.EMFILE)}
	}
	return l.Listener.Accept()
}

// TestOutOfDescriptors: the server continues when connections can be accepted again.
func TestOutOfDescriptors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	s := &Server{Service: newService(t, "p1.x && p2.x", ""), Log: func(string, ...any) { told++ }}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- s.ServeTCP(ctx, &brokenListener{l, 4}) }()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"host":"p1","clock":{"p1":1}}`)
	if reply, err := bufio.NewReader(conn).ReadString('\n'); reply != "ok 1\n" {
		t.Errorf("%q %v", reply, err)
	}
	conn.Close()
	cancel()
	if err := <-served; err != nil || told != 4 {
		t.Errorf("%v, told %d times", err, told)
	}
}

// TestSlowClients: one that reads no answers, and one that sends half a line,
// hold nobody up; an idle one is closed.
func TestSlowClients(t *testing.T) {
	s := newService(t, "p1.x && p2.x", "")
	addr, _ := serve(t, &Server{Service: s, Idle: 300 * time.Millisecond})
	deaf, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer deaf.Close()
	fmt.Fprint(deaf, `{"host":"p2","clock":{"p2":1}`)
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	in := bufio.NewScanner(conn)
	for k := range 100 {
		fmt.Fprintf(conn, `{"host":"p1","clock":{"p1":%d}}`+"\n", k+1)
		if !in.Scan() {
			t.Fatalf("event %d: %v", k, in.Err())
		}
	}
	// What breaks off in the middle of a line is not taken.
	half, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(half, "p3 {\"p3\":1}\nthe beginning of a te")
	half.(*net.TCPConn).CloseWrite()
	if reply, err := io.ReadAll(half); err != nil || string(reply) != "error line 1: the last "+
		"line is incomplete\n" || s.Status().Arrived["p3"] != 0 {
		t.Errorf("%q %v", reply, err)
	}
	half.Close()
	if reply, err := io.ReadAll(deaf); err != nil || !strings.HasPrefix(string(reply),
		"error the connection was idle") {
		t.Errorf("%q %v", reply, err)
	}
}

// TestForeign: pages of other sites, other hosts and clients without the token
// are refused.
func TestForeign(t *testing.T) {
	s := &Server{Service: newService(t, "p1.x && p2.x", ""), Token: "0123456789abcdef",
		Names: []string{"monitor.example"}}
	for _, tt := range []struct {
		host, header, value string
		token               bool
		code                int
	}{
		{"127.0.0.1:80", "", "", true, 200},
		{"localhost", "", "", true, 200},
		{"[::1]:80", "", "", true, 200},
		{"monitor.example:80", "", "", true, 200},
		{"127.0.0.1:80", "", "", false, 401},
		{"127.0.0.1:80", "Authorization", "Bearer 0123456789abcdeX", false, 401},
		{"evil.example", "", "", true, 403},
		{"10.1.2.3", "", "", true, 403},
		{"localhost.evil.example", "", "", true, 403},
		{"localhost:80", "Origin", "http://localhost:80", true, 200},
		{"localhost:80", "Origin", "http://evil.example", true, 403},
		{"localhost:80", "Origin", "null", true, 403},
		{"localhost:80", "Sec-Fetch-Site", "cross-site", true, 403},
	} {
		r := httptest.NewRequest("GET", "/status", nil)
		r.Host = tt.host
		if tt.token {
			r.Header.Set("Authorization", "Bearer "+s.Token)
		}
		if tt.header != "" {
			r.Header.Set(tt.header, tt.value)
		}
		w := httptest.NewRecorder()
		s.Handler().ServeHTTP(w, r)
		if w.Code != tt.code {
			t.Errorf("%+v: %d %s", tt, w.Code, w.Body)
		}
	}
	addr, _ := serve(t, s)
	for line, want := range map[string]string{
		"token 0123456789abcdef": "ok 1\n",
		"token 0123456789abcdeg": "error the first line must be: token TOKEN\n",
		"{}":                     "error the first line must be: token TOKEN\n",
	} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(conn, "%s\n%s\n", line, `{"host":"p1","clock":{"p1":1}}`)
		if reply, err := bufio.NewReader(conn).ReadString('\n'); reply != want {
			t.Errorf("%q: %q %v", line, reply, err)
		}
		conn.Close()
	}
}

// TestClients: random clients that break off, repeat, reorder and lie, with
// restarts in between: what was acknowledged is never lost, and what is there is
// valid.
func TestClients(t *testing.T) {
	seeds := sample.Of(15, 15, 100)
	for seed := range seeds {
		rng := rand.New(rand.NewPCG(uint64(seed), 8))
		c := randomComputation(rng)
		path := filepath.Join(t.TempDir(), "journal")
		p, err := predicate.Parse("exists i: i.x && i.y == 7")
		if err != nil {
			t.Fatal(err)
		}
		acknowledged := map[string]int32{}
		var all []*Event
		for round := 0; round < 4; round++ {
			s, err := NewService(Config{Predicate: p, Hosts: c.Names()}, path, 1500, logs.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for h, n := range acknowledged {
				if got := s.Status().Arrived[h]; got < n {
					t.Fatalf("seed %d: %d events of %s, but %d were acknowledged", seed, got, h, n)
				}
			}
			all = events(rng, c)
			var mu sync.Mutex
			var clients sync.WaitGroup
			for host, lines := range byHost(t, all) {
				wrong := rng.IntN(3) == 0
				length := rng.IntN(lines.Len() + 1)
				wrong = wrong && bytes.IndexByte(lines.Bytes()[:length], '\n') >= 0
				if round == 3 {
					wrong, length = false, lines.Len()
				}
				clients.Go(func() {
					in := io.Reader(bytes.NewReader(lines.Bytes()[:length]))
					if wrong {
						in = io.MultiReader(in,
							strings.NewReader("\n"+`{"host":"`+host+`","clock":{"`+host+
								`":1},"event":"a lie"}`+"\n"))
					}
					err := s.Stream(context.Background(), in, func(_ Accepted, line int) error {
						mu.Lock()
						defer mu.Unlock()
						if !wrong {
							acknowledged[host] = max(acknowledged[host], int32(line))
						}
						return nil
					})
					if err != nil && round == 3 {
						t.Errorf("seed %d: %v", seed, err)
					}
				})
			}
			clients.Wait()
			s.Close()
		}
		s, err := NewService(Config{Predicate: p, Hosts: c.Names()}, path, 0, logs.Options{})
		if err != nil || s.Damage() != nil {
			t.Fatalf("seed %d: %v %v", seed, err, s.Damage())
		}
		if got := s.Status().Events; got != int64(c.TotalEvents()) {
			t.Errorf("seed %d: %d events, want %d", seed, got, c.TotalEvents())
		}
		s.Close()
	}
}

// FuzzJournal: whatever is in the file, opening it does not fail but for
// reasons, and what it leaves is a journal.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`{"journal":{"version":2,"modality":"poss","predicate":"p1.x","hosts":["p1"]}}` +
		"\n" + `{"e":{"Host":"p1","Clock":{"p1":1},"Vars":{},"Text":""},"sum":1}` + "\n"))
	f.Add([]byte(`{"journal":{"version":2,"modality":"poss","predicate":"p1.x","hosts":["p1"]}}` +
		"\n" + `{"checkpoint":{"events":1,"hosts":[{}],"parts":[[]]},"sum":2}` + "\n"))
	p, err := predicate.Parse("p1.x")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		j, m, err := OpenJournal(path, Config{Predicate: p}, 0)
		if err != nil {
			if now, _ := os.ReadFile(path); !bytes.Equal(now, data) {
				t.Fatalf("%v, but the file was changed", err)
			}
			return
		}
		events := m.Status().Events
		j.Close()
		j, m, err = OpenJournal(path, Config{Predicate: p}, 0)
		if err != nil || j.Damage() != nil || m.Status().Events != events {
			t.Fatalf("the second time: %v", err)
		}
		j.Close()
	})
}
