package page

import (
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"cpor/engine"
	_ "cpor/engine/all"
	"cpor/explore"
	"cpor/frontend"
	_ "cpor/frontend/model"
)

// hostile is a model whose texts try to be markup.
const hostile = `var x int // <script>alert(1)</script>
thread T() { x = 1; assert(x == 2, "</script><img src=x onerror=alert(1)>") }
init { go T(); go T() }
`

// serve serves the page of a program and returns its address without the token, and the
// token.
func serve(t *testing.T) (base, token string) {
	t.Helper()
	m, err := frontend.Read("hostile.model", strings.NewReader(hostile), frontend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := &explore.Explorer{Program: m, File: "hostile.model"}
	s := &Server{Title: "<b>hostile</b>", Explorer: x, Reductions: []string{"cartesian"}}
	s.Plan = func(flags []string, at *explore.Path) (*explore.Plan, error) {
		e, err := engine.Lookup("stateful", flags[0])
		if err != nil {
			return nil, err
		}
		return &explore.Plan{Name: e.Name, Entry: e, Task: &engine.Task{System: m.System}}, nil
	}
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, end := make(chan string, 1), make(chan error, 1)
	go func() { end <- s.Serve(ctx, l, func(a string) { ready <- a }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-end; err != nil {
			t.Error(err)
		}
	})
	base, token, ok := strings.Cut(<-ready, "/?token=")
	if !ok || len(token) != 32 || !strings.HasPrefix(base, "http://127.0.0.1:") {
		t.Fatalf("the address %s with the token %s", base, token)
	}
	return base, token
}

// ask sends a request. A header "Host" is the name under which the server is asked.
func ask(t *testing.T, method, url, body string, header map[string]string) (int, string,
	http.Header) {
	t.Helper()
	r, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			r.Host = v
		} else {
			r.Header.Set(k, v)
		}
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

func TestWhoMayAsk(t *testing.T) {
	base, token := serve(t)
	port := base[strings.LastIndexByte(base, ':'):]
	good := func(more ...string) map[string]string {
		h := map[string]string{"X-Cpor-Token": token, "Content-Type": "application/json"}
		for i := 0; i < len(more); i += 2 {
			h[more[i]] = more[i+1]
		}
		return h
	}
	const play = `{"initial": 0, "steps": []}`
	for _, c := range []struct {
		what, method, path, body string
		header                   map[string]string
		status                   int
	}{
		{"the page", "GET", "/", "", nil, 200},
		{"the page under the other name", "GET", "/", "", map[string]string{
			"Host": "localhost" + port}, 200},
		{"data", "GET", "/api/info", "", good(), 200},
		{"a request of the page's own", "POST", "/api/play", play,
			good("Origin", base, "Sec-Fetch-Site", "same-origin"), 200},
		{"an address that was typed in", "GET", "/", "", map[string]string{
			"Sec-Fetch-Site": "none"}, 200},

		{"DNS rebinding", "GET", "/", "", map[string]string{"Host": "evil.example" + port}, 403},
		{"DNS rebinding with the token", "GET", "/api/info", "", good("Host", "evil.example"+port),
			403},
		{"a name with ours in front", "GET", "/", "", map[string]string{
			"Host": "127.0.0.1" + port + ".evil.example"}, 403},
		{"another port", "GET", "/", "", map[string]string{"Host": "127.0.0.1:1"}, 403},
		{"no port", "GET", "/", "", map[string]string{"Host": "127.0.0.1"}, 403},
		{"another origin", "POST", "/api/play", play, good("Origin", "http://evil.example"), 403},
		{"another scheme", "POST", "/api/play", play,
			good("Origin", strings.Replace(base, "http", "https", 1)), 403},
		{"another port's origin", "POST", "/api/play", play, good("Origin", "http://127.0.0.1:1"),
			403},
		{"the other name's origin", "POST", "/api/play", play,
			good("Origin", "http://localhost"+port), 403},
		{"a sandboxed page", "POST", "/api/play", play, good("Origin", "null"), 403},
		{"another site's picture", "GET", "/icon.svg", "", map[string]string{
			"Sec-Fetch-Site": "cross-site"}, 403},
		{"a neighbour's script", "GET", "/main.js", "", map[string]string{
			"Sec-Fetch-Site": "same-site"}, 403},

		{"data without the token", "GET", "/api/info", "", nil, 403},
		{"data with a wrong token", "GET", "/api/info", "",
			good("X-Cpor-Token", strings.Repeat("0", 32)), 403},
		{"data with a part of the token", "GET", "/api/info", "", good("X-Cpor-Token", token[:8]),
			403},
		{"the token elsewhere", "GET", "/api/info?token=" + token, "", nil, 403},
		{"a change without the token", "POST", "/api/search", `{"flags": ["cartesian"]}`,
			map[string]string{"Content-Type": "application/json"}, 403},
		{"a form", "POST", "/api/play", play,
			good("Content-Type", "application/x-www-form-urlencoded"), 400},
		{"not JSON", "POST", "/api/play", "steps", good(), 400},
		{"too much", "POST", "/api/play", `"` + strings.Repeat("x", maxBody) + `"`, good(), 400},
		{"a change by GET", "GET", "/api/stop", "", good(), 404},
		{"a file of the machine", "GET", "/%2e%2e/%2e%2e/etc/passwd", "", nil, 404},
		{"a source that nothing names", "GET", "/api/source?name=/etc/passwd", "", good(), 400},
		{"a source", "GET", "/api/source?name=hostile.model", "", good(), 200},
		{"an execution that is not there", "GET", "/api/document?n=0", "", good(), 400},
		{"no number", "GET", "/api/found?n=x", "", good(), 400},
		{"a search that was not started", "POST", "/api/stop", "{}", good(), 400},
		{"a path that cannot be taken", "POST", "/api/moves", `{"initial": 0, "steps": [[9, 0]]}`,
			good(), 400},
		{"a path of nonsense", "POST", "/api/moves", `{"initial": 0, "steps": [[-1, 0]]}`, good(),
			400},
		{"a condition that cannot be evaluated", "POST", "/api/jump",
			`{"initial": 0, "steps": [], "predicate": "x == 1"}`, good(), 400},
		{"an unknown reduction", "POST", "/api/graph", `{"reduction": "magic"}`, good(), 400},
		{"a method that is none", "DELETE", "/api/info", "", good(), 405},
	} {
		status, text, h := ask(t, c.method, base+c.path, c.body, c.header)
		if status != c.status {
			t.Errorf("%s: status %d, want %d: %.200s", c.what, status, c.status, text)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff",
			"Referrer-Policy":              "no-referrer",
			"Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q", c.what, name, got)
			}
		}
		if h.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: others are let in", c.what)
		}
		if status == 200 && strings.HasPrefix(c.path, "/api/") &&
			!strings.HasPrefix(h.Get("Content-Type"), "application/json") {
			t.Errorf("%s: data come as %s", c.what, h.Get("Content-Type"))
		}
	}
}

// TestSearches: a search is started once at a time, watched, and its findings are given.
func TestSearches(t *testing.T) {
	base, token := serve(t)
	h := map[string]string{"X-Cpor-Token": token, "Content-Type": "application/json"}
	if status, text, _ := ask(t, "GET", base+"/api/search", "", h); status != 200 ||
		strings.TrimSpace(text) != "null" {
		t.Errorf("no search: %d %s", status, text)
	}
	if status, text, _ := ask(t, "POST", base+"/api/search", `{"flags": ["magic"]}`,
		h); status != 400 {
		t.Errorf("an unknown search: %d %s", status, text)
	}
	if status, text, _ := ask(t, "POST", base+"/api/search", `{"flags": ["cartesian"]}`,
		h); status != 200 {
		t.Fatalf("a search: %d %s", status, text)
	}
	var st explore.Status
	for st.Running = true; st.Running; {
		_, text, _ := ask(t, "GET", base+"/api/search", "", h)
		if err := json.Unmarshal([]byte(text), &st); err != nil {
			t.Fatal(err)
		}
	}
	if st.Verdict != "violation" || len(st.Found) != 1 {
		t.Fatalf("verdict %s, found %v", st.Verdict, st.Found)
	}
	status, text, _ := ask(t, "GET", base+"/api/found?n=0", "", h)
	if status != 200 || !strings.Contains(text, `\u003cimg src=x`) {
		t.Errorf("the finding: %d %s", status, text)
	}
	if status, _, _ := ask(t, "GET", base+"/api/found?n=1", "", h); status != 400 {
		t.Errorf("a finding that is not there: %d", status)
	}
}

// TestStatic: no file of the page makes markup of texts, asks another server, or has
// scripts or styles inside of HTML, which the policy forbids.
func TestStatic(t *testing.T) {
	bad := regexp.MustCompile(
		`innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|javascript:|setAttribute\("style"|https?://`)
	allowed := regexp.MustCompile(`http://www\.w3\.org/2000/svg`)
	inline := regexp.MustCompile(`(?i)<script(?:\s+[^>]*)?>[^<]|<style|\son\w+=|\sstyle=`)
	err := fs.WalkDir(static, "static", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(static, name)
		if err != nil {
			return err
		}
		if m := bad.Find(allowed.ReplaceAll(text, nil)); m != nil {
			t.Errorf("%s has %s", name, m)
		}
		if m := inline.Find(text); m != nil && strings.HasSuffix(name, ".html") {
			t.Errorf("%s has %s", name, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestListenElsewhere(t *testing.T) {
	l, err := Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if host := l.Addr().String(); !strings.HasPrefix(host, "127.0.0.1:") {
		t.Errorf("it listens on %s", host)
	}
}
