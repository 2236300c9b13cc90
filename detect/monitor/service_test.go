package monitor

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
)

func line(t *testing.T, e *Event) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"host": e.Host, "clock": e.Clock, "vars": e.Vars,
		"event": e.Text})
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

// byHost returns the lines of the events of each host.
func byHost(t *testing.T, all []*Event) map[string]*bytes.Buffer {
	out := map[string]*bytes.Buffer{}
	for _, e := range all {
		if out[e.Host] == nil {
			out[e.Host] = &bytes.Buffer{}
		}
		out[e.Host].WriteString(line(t, e))
	}
	return out
}

func newService(t *testing.T, text, path string) *Service {
	t.Helper()
	p, err := predicate.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	s, err := NewService(Config{Predicate: p, Hosts: []string{"p1", "p2", "p3"}}, path, 2000,
		logs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestTCP: a client for each process, all at the same time; what was
// acknowledged is in the journal.
func TestTCP(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c := simulate.Random(rng, simulate.RandomConfig{Processes: 3, Events: 300, Messages: 0.5,
		Variables: 2, Values: 3, Assign: 0.5})
	path := filepath.Join(t.TempDir(), "journal")
	s := newService(t, "forall i: i.y == 7", path)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- (&Server{Service: s}).ServeTCP(ctx, l) }()
	var clients sync.WaitGroup
	for host, lines := range byHost(t, events(rng, c)) {
		clients.Go(func() {
			conn, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			n := strings.Count(lines.String(), "\n")
			go conn.Write(lines.Bytes())
			in := bufio.NewScanner(conn)
			last := ""
			for want := fmt.Sprintf("ok %d", n); last != want && in.Scan(); {
				last = in.Text()
				if !strings.HasPrefix(last, "ok ") {
					t.Errorf("%s: %s", host, last)
					return
				}
			}
		})
	}
	clients.Wait()
	if st := s.Status(); st.Events != 300 {
		t.Errorf("%d events", st.Events)
	}
	// A client that sends nonsense is told so.
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(conn, `{"host":"p1","clock":{"p1":0}}`)
	if reply, _ := io.ReadAll(conn); !strings.HasPrefix(string(reply),
		"error line 1: the clock has no entry") {
		t.Errorf("reply %q", reply)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	again := newService(t, "forall i: i.y == 7", path)
	defer again.Close()
	if st := again.Status(); st.Events != 300 {
		t.Errorf("%d events after the restart", st.Events)
	}
}

func TestHTTP(t *testing.T) {
	s := newService(t, "p1.x && p2.x", "")
	srv := httptest.NewServer((&Server{Service: s}).Handler())
	defer srv.Close()
	post := func(body string) (int, map[string]any) {
		resp, err := http.Post(srv.URL+"/events", "application/x-ndjson", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var x map[string]any
		if err := json.NewDecoder(resp.Body).Decode(&x); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, x
	}
	if code, x := post(`{"host":"p1","clock":{"p1":1},"vars":{"x":true}}` + "\n" +
		`{"host":"q","clock":{"q":1}}` + "\n"); code != 200 || x["accepted"] != 1.0 ||
		x["ignored"] != 1.0 {
		t.Errorf("%d %v", code, x)
	}
	if code, x := post(`{"host":"p1","clock":{"p1":1},"vars":{"x":true}}`); code != 200 ||
		x["duplicates"] != 1.0 {
		t.Errorf("%d %v", code, x)
	}
	if code, x := post(`{"host":"p1","clock":{"p1":2}}` + "\nnonsense\n"); code != 400 ||
		x["accepted"] != 1.0 || !strings.HasPrefix(x["error"].(string),
		"line 2: not a line of a log") {
		t.Errorf("%d %v", code, x)
	}
	select {
	case <-s.Detected():
		t.Error("detected too early")
	default:
	}
	post(`{"host":"p2","clock":{"p2":1},"vars":{"x":true}}`)
	<-s.Detected()
	resp, err := http.Get(srv.URL + "/status")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var st Status
	if err := json.NewDecoder(resp.Body).Decode(&st); err != nil {
		t.Fatal(err)
	}
	if st.Events != 3 || st.Detected == nil || st.Detected.Cut["p1"] != 1 {
		t.Errorf("%+v", st)
	}
}

// TestTornJournal: a journal whose last line was not written to its end loses
// that line, which was never acknowledged, and nothing else; wherever it is cut.
func TestTornJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	s := newService(t, "p1.x && p2.y", path)
	for k := 1; k <= 5; k++ {
		if err := s.Stream(context.Background(),
			strings.NewReader(fmt.Sprintf(`{"host":"p1","clock":{"p1":%d},"vars":{"x":false}}`, k)),
			nil); err != nil {
			t.Fatal(err)
		}
	}
	s.Close()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	header := bytes.IndexByte(data, '\n') + 1
	for cut := header; cut <= len(data); cut += 7 {
		if err := os.WriteFile(path, data[:cut], 0o666); err != nil {
			t.Fatal(err)
		}
		s := newService(t, "p1.x && p2.y", path)
		if got, want := s.Status().Events,
			int64(bytes.Count(data[header:cut], []byte("\n"))); got != want {
			t.Fatalf("cut at %d: %d events, want %d", cut, got, want)
		}
		// It continues where it was.
		next := s.Status().Events + 1
		if err := s.Stream(context.Background(),
			strings.NewReader(fmt.Sprintf(`{"host":"p1","clock":{"p1":%d},"vars":{"x":true}}`,
				next)), nil); err != nil {
			t.Fatal(err)
		}
		s.Close()
		s = newService(t, "p1.x && p2.y", path)
		if got := s.Status().Events; got != next {
			t.Fatalf("cut at %d: %d events after going on", cut, got)
		}
		s.Close()
	}
	// Another journal is refused, and so is a file that is none, which is not
	// touched.
	for text, want := range map[string]string{
		"{\"host\":\"p1\"}\n": "line 1: not a monitor journal",
		"my only copy":        "line 1: not a monitor journal",
		"{\"journal\":":       "line 1: not a monitor journal",
		strings.Replace(string(data), `"version":2`, `"version":3`, 1): "version 3 is not known",
		strings.Replace(string(data), `"p3"`, `"p4"`, 1): "it is about the hosts " +
			"[p1 p2 p4]",
	} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		p, _ := predicate.Parse("p1.x && p2.y")
		if _, _, err := OpenJournal(path, Config{Predicate: p, Hosts: []string{"p1", "p2", "p3"}},
			0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%q was changed to %q", text, now)
		}
	}
}

// TestCompaction: the journal does not grow with the run.
func TestCompaction(t *testing.T) {
	for _, mod := range []detect.Modality{detect.Poss, detect.Def} {
		path := filepath.Join(t.TempDir(), "journal")
		p, err := predicate.Parse("p1.x && p2.x && p1.n > p2.n + 3")
		if err != nil {
			t.Fatal(err)
		}
		s, err := NewService(Config{Predicate: p, Modality: mod}, path, 4000, logs.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var in strings.Builder
		for k := 1; k <= 2000; k++ {
			fmt.Fprintf(&in, `{"host":"p1","clock":{"p1":%d,"p2":%d},"vars":{"x":%v,"n":%d}}`+"\n",
				k, k-1, k%2 == 0, k)
			fmt.Fprintf(&in, `{"host":"p2","clock":{"p1":%d,"p2":%d},"vars":{"x":%v,"n":%d}}`+"\n",
				k, k, k%2 == 1, k)
		}
		if err := s.Stream(context.Background(), strings.NewReader(in.String()), nil); err != nil {
			t.Fatal(err)
		}
		s.Close()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if info.Size() > 150_000 { // a batch of events; all of them are 600 kB
			t.Errorf("%v: the journal has %d bytes", mod, info.Size())
		}
		j, m, err := OpenJournal(path, Config{Predicate: p, Modality: mod}, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer j.Close()
		if m.Detected() != nil {
			t.Errorf("%v: detected", mod)
		}
		if st := m.Status(); st.Events != 4000 || st.Kept > 200 {
			t.Errorf("%v: %d events, %d kept", mod, st.Events, st.Kept)
		}
	}
}
