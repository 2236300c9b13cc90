package mcpserver

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cpor/cmd/cpor/command"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestMain(m *testing.M) {
	if os.Getenv(standIn) != "" {
		os.Exit(command.Main(os.Args[1:]))
	}
	os.Setenv("CPORCACHE", "off")
	os.Setenv(standIn, "yes")
	os.Exit(m.Run())
}

// standIn is set in the environment of the test binary where it stands in for cpor.
const standIn = "CPOR_MCP_STAND_IN"

// cpor returns the program that the tools run.
func cpor(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("loading packages takes seconds")
	}
	file, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// connect returns a client of a server with these limits.
func connect(t *testing.T, program string, l limits) *mcp.ClientSession {
	t.Helper()
	s, err := newServer(program, l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.close)
	ours, theirs := mcp.NewInMemoryTransports()
	if _, err := s.mcp.Connect(t.Context(), ours, nil); err != nil {
		t.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil)
	c, err := client.Connect(t.Context(), theirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

type args = map[string]any

// call calls a tool, and returns its text and whether it is an error.
func call(t *testing.T, c *mcp.ClientSession, tool string, in args) (string, bool) {
	t.Helper()
	r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: in})
	if err != nil {
		return err.Error(), true
	}
	var b strings.Builder
	for _, x := range r.Content {
		b.WriteString(x.(*mcp.TextContent).Text)
	}
	return b.String(), r.IsError
}

const lost = `var x, done int
thread T() { x++; atomic { done++; assert(done < N || x == N, "lost") } }
const N = 2
init { for i := range N { go T() } }
`

// TestTools finds failures, explains and replays them.
func TestTools(t *testing.T) {
	c := connect(t, cpor(t), defaultLimits)
	tools, err := c.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 4 {
		t.Fatalf("%d tools, %v", len(tools.Tools), err)
	}
	examples, err := filepath.Abs("../../examples/go")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "own.model")
	if err := os.WriteFile(file, []byte(lost), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		tool string
		in   args
		want []string
	}{
		{"check_model", args{"model": lost}, []string{"assertion: lost", "T[1]",
			"This failure is called 1."}},
		{"explain_failure", args{"failure": "1"}, []string{"assertion: lost", "Steps 1 to ",
			">    2  thread T()", `"loc":"x","write":true`}},
		{"explain_failure", args{"failure": "1", "from": 2, "to": 2}, []string{"Steps 2 to 2 of"}},
		{"replay_failure", args{"failure": "1"}, []string{"lost", "T[1]"}},
		{"check_model", args{"file": file, "constants": args{"N": "1"}}, []string{"no violation"}},
		{"check_model", args{"model": "active proctype P() { assert(false) }",
			"language": "promela"}, []string{"assertion violated"}},
		{"check_model", args{"model": "var x bool\nthread T() { for { x = !x } }\n" +
			"ltl p { <>[] x }\ninit { go T() }\n", "ltl": "p"}, []string{"ltl p does not hold"}},
		{"run_test", args{"directory": examples, "packages": []string{"./closetwice/bug"}},
			[]string{"panic: close of closed channel", "This failure is called 5."}},
		{"explain_failure", args{"failure": "5"}, []string{"panic: ", ">   15  ", "conn.go:15"}},
		{"replay_failure", args{"failure": "5"}, []string{"close of closed channel"}},
		{"run_test", args{"directory": filepath.Join(examples, "closetwice", "fixed")},
			[]string{"ok", "every schedule: 2 executions"}},
	} {
		got, wrong := call(t, c, test.tool, test.in)
		for _, want := range test.want {
			if wrong || !strings.Contains(got, want) {
				t.Errorf("%s %v: error: %v, want %q in\n%s", test.tool, test.in, wrong, want, got)
			}
		}
	}
}

// TestMistakes calls tools with bad input. None of it ends the server.
func TestMistakes(t *testing.T) {
	c := connect(t, cpor(t), defaultLimits)
	for _, test := range []struct {
		tool string
		in   args
		want string
	}{
		{"check_model", args{}, "give either the text of a model or a file"},
		{"check_model", args{"model": "x", "file": "y"}, "give either"},
		{"check_model", args{"file": "nothing.model"}, "nothing.model is not a file"},
		{"check_model", args{"file": "."}, ". is not a file"},
		{"check_model", args{"model": "thread {"}, "1:8"},
		{"check_model", args{"model": lost, "language": "go"}, "want model or promela"},
		{"check_model", args{"model": lost, "constants": args{"-x": "1"}},
			"not the name of a constant"},
		{"check_model", args{"model": lost, "constants": args{"Q": "1"}}, "Q"},
		{"check_model", args{"model": lost, "reduction": "-x"}, "-x"},
		{"check_model", args{"model": lost, "seconds": -1}, "below 0"},
		{"check_model", args{"model": 7}, "model"},
		{"check_model", args{"models": lost}, "models"},
		{"run_test", args{"directory": "nowhere"}, "nowhere is not a directory"},
		{"run_test", args{"packages": []string{"-exec=rm"}}, "is not a package"},
		{"run_test", args{"run": "("}, "-run"},
		{"explain_failure", args{"failure": "1"}, "have found none"},
		{"replay_failure", args{"failure": "../../etc/passwd"}, "no failure"},
		{"nothing", args{}, "nothing"},
	} {
		got, wrong := call(t, c, test.tool, test.in)
		if !wrong || !strings.Contains(got, test.want) {
			t.Errorf("%s %v: error: %v, want %q in\n%s", test.tool, test.in, wrong, test.want, got)
		}
	}
	if got, wrong := call(t, c, "check_model", args{"model": lost}); wrong ||
		!strings.Contains(got, "lost") {
		t.Errorf("afterwards: %s", got)
	}
	if got, wrong := call(t, c, "explain_failure", args{"failure": "99"}); !wrong ||
		!strings.Contains(got, "only ") {
		t.Errorf("another failure: %s", got)
	}
}

// endless is a model whose search does not end within the time of a test.
const endless = `const N = 6
var x [N]uint16
thread T(i int) { for { x[i] = uint16((int(x[i]) + 1) % 60000); x[(i+1)%N] = x[i] } }
init { for i := range N { go T(i) } }
`

// TestLimits bounds time and output, and cancels.
func TestLimits(t *testing.T) {
	program := cpor(t)
	l := defaultLimits
	l.output = 1 << 10
	c := connect(t, program, l)
	got, wrong := call(t, c, "check_model", args{"model": lost, "constants": args{"N": "6"},
		"reduction": "none"})
	if wrong || !strings.Contains(got, "bytes are left out") || len(got) > 2<<10 {
		t.Errorf("%d bytes of output: %.200s", len(got), got)
	}
	got, wrong = call(t, c, "check_model", args{"model": endless, "seconds": 1})
	if wrong || !strings.Contains(got, "incomplete") {
		t.Errorf("a second: %s", got)
	}
	l.memory = 1 << 10
	got, wrong = call(t, connect(t, program, l), "check_model", args{"model": endless})
	if !strings.Contains(got, "memory") {
		t.Errorf("1 KiB of memory: error: %v, %s", wrong, got)
	}

	// A call that is canceled gives its place to the next one.
	l = defaultLimits
	l.calls = 1
	c = connect(t, program, l)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Second, cancel)
	if _, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "check_model",
		Arguments: args{"model": endless}}); err == nil {
		t.Error("a canceled call has a result")
	}
	if got, wrong := call(t, c, "check_model", args{"model": lost}); wrong ||
		!strings.Contains(got, "lost") {
		t.Errorf("after a canceled call: %s", got)
	}
}

// TestCommand checks the command line.
func TestCommand(t *testing.T) {
	for _, test := range []struct {
		args, want string
		code       int
	}{
		{"-h", "usage: cpor mcp", exitPass},
		{"x", "mcp takes no arguments: x", exitMistake},
		{"-timeout 1ns", "want at least 1s", exitMistake},
		{"-calls 0", "-calls 0", exitMistake},
		{"-max-output 1B", "want at least 1KiB", exitMistake},
		{"-nothing", "nothing", exitMistake},
	} {
		var out bytes.Buffer
		code := Main(t.Context(), strings.Fields(test.args), &out, &out)
		if code != test.code || !strings.Contains(out.String(), test.want) {
			t.Errorf("%s: exit code %d, %s", test.args, code, out.String())
		}
	}
	t.Setenv("PATH", t.TempDir())
	var out bytes.Buffer
	if code := Main(t.Context(), nil, &out, &out); code != exitMistake ||
		!strings.Contains(out.String(), "not installed") {
		t.Errorf("without cpor: exit code %d, %s", code, out.String())
	}
}

// TestForget keeps a bounded number of failures.
func TestForget(t *testing.T) {
	s, err := newServer("", defaultLimits)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	for range mostFailures + 3 {
		s.keep(&failure{file: s.next() + ".json"})
	}
	if _, err := s.found("3"); err == nil || len(s.failures) != mostFailures {
		t.Errorf("%d failures, %v", len(s.failures), err)
	}
	if _, err := s.found("4"); err != nil {
		t.Error(err)
	}
}
