package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cpor/cmd/cpor/command"
	"cpor/testkit/sample"
)

// fetch asks a page for data and returns the status and the answer.
func fetch(t *testing.T, address, method, path, body string, answer any) (int, string) {
	t.Helper()
	base, token, _ := strings.Cut(address, "/?token=")
	r, err := http.NewRequest(method, base+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-Cpor-Token", token)
	r.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode == http.StatusOK && answer != nil {
		if err := json.Unmarshal(text, answer); err != nil {
			t.Fatalf("%s: %v: %s", path, err, text)
		}
	}
	return res.StatusCode, string(text)
}

// TestPage asks the pages of cpor explore and cpor view what TestBrowser, which needs a
// browser, clicks for.
func TestPage(t *testing.T) {
	t.Parallel()
	dir := mirror(t)
	t.Run("explore", func(t *testing.T) {
		// A port that is free, most probably still when the command asks for it.
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		l.Close()
		address := startPage(t, dir, "explore", "-no-browser", "-port", strconv.Itoa(port), "-D",
			"ATOMIC=true", "docs/tutorial/counter.model")
		if want := "http://127.0.0.1:" + strconv.Itoa(port) + "/?token="; !strings.HasPrefix(
			address, want) {
			t.Errorf("the page is at %s, not %s", address, want)
		}
		var info struct {
			File       string
			Explore    bool
			Searches   []struct{ Name string }
			Reductions []string
		}
		fetch(t, address, "GET", "/api/info", "", &info)
		if !info.Explore || info.File != "docs/tutorial/counter.model" || len(info.Searches) < 5 ||
			!strings.HasPrefix(strings.Join(info.Reductions, " "), "auto cartesian ") {
			t.Errorf("%+v", info)
		}
		// With -D ATOMIC=true a thread adds in one step.
		var d struct {
			Rows []struct{ Set []struct{ Value string } }
		}
		fetch(t, address, "POST", "/api/play", `{"initial": 0, "steps": [[0, 0]]}`, &d)
		if len(d.Rows) != 1 || len(d.Rows[0].Set) == 0 || d.Rows[0].Set[0].Value != "1" {
			t.Errorf("the first step: %+v", d)
		}
		for flags, want := range map[string]string{
			`["-json"]`:                             "-json has no effect in a search started",
			`["-D", "ATOMIC=false"]`:                "-D has no effect",
			`["-lossy"]`:                            "-lossy has no effect",
			`["other.model"]`:                       "one model at a time",
			`["--", "x"]`:                           "-- is not a flag",
			`["-h"]`:                                "cpor help run",
			`["-por=magic"]`:                        "magic",
			`["-workers=0"]`:                        "a search needs at least one worker",
			`["-ltl=all"]`:                          "no ltl property",
			`["-checkpoint-interval=1s"]`:           "needs -checkpoint DIR",
			`["-search=stateless", "-store=plain"]`: "-store has no meaning",
		} {
			if status, text := fetch(t, address, "POST", "/api/search", `{"flags": `+flags+`}`,
				nil); status != http.StatusBadRequest || !strings.Contains(text, want) {
				t.Errorf("%s: %d %s, want %s", flags, status, text, want)
			}
		}
		if status, text := fetch(t, address, "POST", "/api/search",
			`{"flags": ["-checkpoint=x"], "here": true, "initial": 0, "steps": []}`,
			nil); status != http.StatusBadRequest ||
			!strings.Contains(text, "cannot write checkpoints") {
			t.Errorf("a checkpoint from here: %d %s", status, text)
		}
	})
	t.Run("checkpoint", func(t *testing.T) {
		kept := filepath.Join(t.TempDir(), "kept")
		address := startPage(t, dir, "explore", "-no-browser", "-D", "R=2",
			"benchmarks/robots.model")
		if status, text := fetch(t, address, "POST", "/api/search",
			`{"flags": ["-por=none", "-max-states=1000", "-checkpoint=`+filepath.ToSlash(kept)+
				`"]}`, nil); status != http.StatusOK {
			t.Fatalf("%d %s", status, text)
		}
		var st struct{ Running bool }
		for st.Running = true; st.Running; {
			fetch(t, address, "GET", "/api/search", "", &st)
		}
		// The search continues elsewhere, with the constants of the page.
		out, code := runCpor(t, dir, []string{"resume", "-q", kept})
		if code != command.ExitPass {
			t.Errorf("exit code %d: %s", code, out)
		}
	})
	t.Run("view", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "trace.json")
		runCpor(t, dir, []string{"run", "-workers", "1", "-q", "-trace", file, "-D", "REUSE=true",
			"docs/explore/mailbox.model"})
		var d struct {
			Notes  []string
			Rows   []struct{}
			Next   []struct{}
			Arrows []struct{}
			Path   *struct{}
		}
		// The file has the constant, unless the command line gives another value.
		fetch(t, startPage(t, dir, "view", "-no-browser", file), "GET", "/api/document?n=0", "", &d)
		if len(d.Notes) != 0 || d.Path == nil || len(d.Next) != 3 || len(d.Arrows) != 4 {
			t.Errorf("with the constant of the file: %+v", d)
		}
		d.Path, d.Notes = nil, nil
		fetch(t, startPage(t, dir, "view", "-no-browser", "-D", "REUSE=false", file), "GET",
			"/api/document?n=0", "", &d)
		if len(d.Notes) != 1 || d.Path != nil || len(d.Arrows) != 4 {
			t.Errorf("with another constant: %+v", d)
		}
		// A model is also looked for relative to the file.
		work := t.TempDir()
		text, err := os.ReadFile(filepath.Join(dir, "docs/explore/mailbox.model"))
		if err == nil {
			err = os.WriteFile(filepath.Join(work, "m.model"), text, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		runCpor(t, work, []string{"run", "-workers", "1", "-q", "-trace", "t.json", "-D",
			"REUSE=true", "m.model"})
		d.Path, d.Notes = nil, nil
		fetch(t, startPage(t, dir, "view", "-no-browser", filepath.Join(work, "t.json")), "GET",
			"/api/document?n=0", "", &d)
		if len(d.Notes) != 0 || d.Path == nil {
			t.Errorf("from another directory: %+v", d)
		}
	})
	t.Run("go trace", func(t *testing.T) {
		if testing.Short() {
			t.Skip("loading packages takes seconds")
		}
		work := t.TempDir()
		type document struct {
			Title   string
			Notes   []string
			Columns []string
			Rows    []struct {
				Text, Violation string
				Pos             struct {
					File string
					Line int
				}
			}
			Vars []struct{}
			Path *struct{ Steps [][2]int }
		}
		for i, c := range []struct{ pkg, title string }{
			{"./pubsub/bug", "deadlock: TestUnsubscribe, TestUnsubscribe.func1 #1 (made " +
				"hub_test.go:9) wait forever"},
			{"./racymap/bug", "data race on Counter.hits"},
		} {
			if i > 0 && !sample.Long() {
				break // a second of CPU time to load the package, and one to view it
			}
			file := filepath.Join(work, path.Base(path.Dir(c.pkg))+".json")
			if out, code := runCpor(t, dir, []string{"test", "-C", "examples/go", "-trace", file,
				c.pkg}); code != command.ExitViolation {
				t.Fatalf("exit code %d: %s", code, out)
			}
			var d document
			address := startPage(t, work, "view", "-no-browser", file)
			fetch(t, address, "GET", "/api/document?n=0", "", &d)
			last := len(d.Rows) - 1
			if !strings.HasPrefix(d.Title, c.title) || len(d.Columns) != 2 || last < 2 ||
				!strings.HasPrefix(d.Rows[last].Violation, c.title) || d.Path == nil ||
				len(d.Path.Steps) != last+1 || len(d.Vars) == 0 {
				t.Errorf("%s: %+v", c.pkg, d)
			}
			var src struct{ Text string }
			if fetch(t, address, "GET", "/api/source?name="+d.Rows[last].Pos.File, "",
				&src); !strings.Contains(src.Text, "package h") {
				t.Errorf("%s: the source %s: %q", c.pkg, d.Rows[last].Pos.File, src.Text)
			}
			var moves []struct{ Name string }
			if fetch(t, address, "POST", "/api/moves", `{"initial": 0, "steps": [[0, 0], [0, 0]]}`,
				&moves); len(moves) == 0 {
				t.Errorf("%s: nothing can be done after two steps", c.pkg)
			}
		}
		// Another package than the one that the trace is of, and none at all.
		file := filepath.Join(work, "pubsub.json")
		if out, code := runCpor(t, work, []string{"view", "-no-browser", file,
			filepath.Join(dir, "bench")}); code != command.ExitMistake ||
			!strings.Contains(out, "pubsub.json does not fit the package") {
			t.Errorf("exit code %d: %s", code, out)
		}
		if out, code := runCpor(t, work, []string{"view", "-no-browser", "-D", "N=1",
			file}); code != command.ExitMistake || !strings.Contains(out, "-D is for models") {
			t.Errorf("exit code %d: %s", code, out)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		gone := filepath.Join(work, "gone.json")
		if err := os.WriteFile(gone, bytes.ReplaceAll(text, []byte("classic/pubsub/bug"),
			[]byte("classic/gone/bug")), 0o666); err != nil {
			t.Fatal(err)
		}
		var d document
		address := startPage(t, work, "view", "-no-browser", gone)
		fetch(t, address, "GET", "/api/document?n=0", "", &d)
		if d.Path != nil || len(d.Rows) < 3 || !slices.ContainsFunc(d.Notes, func(n string) bool {
			return strings.HasPrefix(n, "Showing only the contents of the file: ")
		}) {
			t.Errorf("without the package: %+v", d)
		}
		var src struct{ Text string }
		if fetch(t, address, "GET", "/api/source?name="+d.Rows[len(d.Rows)-1].Pos.File, "",
			&src); !strings.Contains(src.Text, "package h") {
			t.Errorf("without the package: the source %s: %q", d.Rows[len(d.Rows)-1].Pos.File,
				src.Text)
		}
	})
	t.Run("go", func(t *testing.T) {
		for _, c := range []struct {
			args []string
			want string
		}{
			{[]string{"-D", "N=1", "./examples/go/abba/bug"}, "-D is for models"},
			{[]string{"-lossy", "./examples/go/abba/bug"}, "-lossy is for models"},
			{[]string{"./examples/go/abba/bug"}, "which of its tests? Name one with -test"},
			{[]string{"-test", "TestTransfr", "./examples/go/abba/bug"},
				"did you mean TestTransfer?"},
			{[]string{"-test", "TestTransfer", "docs/tutorial/counter.model"},
				"-test is for Go packages"},
		} {
			if out, code := runCpor(t, dir, append([]string{"explore", "-no-browser"},
				c.args...)); code != command.ExitMistake || !strings.Contains(out, c.want) {
				t.Errorf("%v: exit code %d, %s, want %s", c.args, code, out, c.want)
			}
		}
		address := startPage(t, dir, "explore", "-no-browser", "-test", "TestTransfer",
			"./examples/go/abba/bug")
		var moves []struct{ Name, Text, State string }
		fetch(t, address, "POST", "/api/moves", `{"initial": 0, "steps": [[0, 0], [0, 0], [0, 0]]}`,
			&moves)
		if len(moves) != 2 || moves[0].Text != "WaitGroup.Add wg 1" || moves[1].State != "enabled" {
			t.Errorf("what can be done after three steps: %+v", moves)
		}
		fetch(t, address, "POST", "/api/search", `{"flags": ["-search=stateless"]}`, nil)
		var st struct {
			Running bool
			Verdict string
			Found   []string
		}
		for st.Running = true; st.Running; {
			fetch(t, address, "GET", "/api/search", "", &st)
		}
		if st.Verdict != "violation" || len(st.Found) != 1 || !strings.Contains(st.Found[0],
			"deadlock") {
			t.Errorf("the search: %+v", st)
		}
		var d struct {
			Rows []struct{ Pos struct{ File string } }
		}
		fetch(t, address, "GET", "/api/found?n=0", "", &d)
		file := d.Rows[len(d.Rows)-1].Pos.File
		var src struct{ Text string }
		if fetch(t, address, "GET", "/api/source?name="+file, "", &src); !strings.Contains(src.Text,
			"package") {
			t.Errorf("the source %s: %q", file, src.Text)
		}
	})
}
