package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"cpor/internal/version"
)

// limits bound what a call may take.
type limits struct {
	time   time.Duration
	memory uint64 // bytes, of a process
	output uint64 // bytes, of an answer
	calls  int    // at a time
}

var defaultLimits = limits{time: 2 * time.Minute, memory: 2 << 30, output: 64 << 10, calls: 2}

// grace is how long a process may take to end after its time is over, with the result so far.
const grace = 10 * time.Second

// mostFailures is how many failures are kept for later calls, and largestFile how many bytes a
// model and the file of a failure may have.
const (
	mostFailures = 50
	largestFile  = 16 << 20
)

func (l *limits) check() error {
	switch {
	case l.time < time.Second:
		return fmt.Errorf("-timeout %v: want at least 1s", l.time)
	case l.output < 1<<10:
		return fmt.Errorf("-max-output %d: want at least 1KiB", l.output)
	case l.calls < 1:
		return fmt.Errorf("-calls %d: want at least 1", l.calls)
	}
	return nil
}

// server has the tools.
type server struct {
	limits
	cpor  string // the program
	dir   string // of models and failures, until the server ends
	mcp   *mcp.Server
	slots chan struct{}

	mu       sync.Mutex
	number   int
	failures map[string]*failure
}

// failure is one that an earlier call has found.
type failure struct {
	file      string // of -trace
	model     string // its file; empty: a Go test
	constants []string
	dir       string // where the Go test was run
}

const instructions = "cpor explores every interleaving of a concurrent system. A verdict of " +
	"pass is a proof within the bounds that were set; incomplete is not. A failure has a " +
	"name, with which explain_failure and replay_failure show more of it."

func newServer(program string, l limits) (*server, error) {
	dir, err := os.MkdirTemp("", "cpor-mcp-")
	if err != nil {
		return nil, err
	}
	s := &server{limits: l, cpor: program, dir: dir, slots: make(chan struct{}, l.calls),
		failures: map[string]*failure{}}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "cpor", Version: version.String()},
		&mcp.ServerOptions{Instructions: instructions})
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "check_model", Description: "Explores every interleaving " +
		"of a model in cpor's language or in Promela: assertions, deadlocks, invariants and, " +
		"with ltl, temporal properties."}, s.checkModel)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "run_test", Description: "Explores Go tests under every " +
		"schedule: data races, deadlocks, leaks, panics, failures."}, s.runTest)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "explain_failure", Description: "Shows the steps of a " +
		"failing execution in full: what each read and wrote, locals, messages, what blocked " +
		"threads wait for at the end, and the source at the failure."}, s.explain)
	mcp.AddTool(s.mcp, &mcp.Tool{Name: "replay_failure", Description: "Executes a failing " +
		"schedule again, with the sources as they are now, and says whether it still fails."},
		s.replay)
	return s, nil
}

func (s *server) close() { _ = os.RemoveAll(s.dir) } // below the directory for temporary files

// answer is what a tool returns besides its text.
type answer struct {
	Verdict string `json:"verdict" jsonschema:"pass, violation, incomplete or mistake"`
	Failure string `json:"failure,omitempty" jsonschema:"the failure's name for explain_failure and replay_failure"`
}

type checkInput struct {
	Model     string            `json:"model,omitempty" jsonschema:"the text of the model"`
	File      string            `json:"file,omitempty" jsonschema:"or the path of its file"`
	Language  string            `json:"language,omitempty" jsonschema:"of the text: model (the default) or promela"`
	Constants map[string]string `json:"constants,omitempty" jsonschema:"values of constants, by name"`
	LTL       string            `json:"ltl,omitempty" jsonschema:"check this temporal property of the model instead, or all"`
	Reduction string            `json:"reduction,omitempty" jsonschema:"the reduction, as cpor run -por takes it"`
	Seconds   int               `json:"seconds,omitempty" jsonschema:"the most time to take"`
}

var name = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func (s *server) checkModel(ctx context.Context, _ *mcp.CallToolRequest, in checkInput) (
	*mcp.CallToolResult, answer, error,
) {
	f := &failure{model: in.File}
	switch {
	case (in.Model == "") == (in.File == ""):
		return nil, answer{}, errors.New("give either the text of a model or a file")
	case in.File != "":
		if in.Language != "" {
			return nil, answer{}, errors.New("language is for a text; a file has an ending")
		}
		info, err := os.Stat(in.File)
		if err != nil || !info.Mode().IsRegular() || info.Size() > largestFile {
			return nil, answer{}, fmt.Errorf("%s is not a file of at most %d bytes", in.File,
				largestFile)
		}
	case in.Language != "" && in.Language != "model" && in.Language != "promela":
		return nil, answer{}, fmt.Errorf("language %q: want model or promela", in.Language)
	case len(in.Model) > largestFile:
		return nil, answer{}, fmt.Errorf("a model has at most %d bytes", largestFile)
	}
	for _, key := range slices.Sorted(maps.Keys(in.Constants)) {
		if !name.MatchString(key) {
			return nil, answer{}, fmt.Errorf("%q is not the name of a constant", key)
		}
		f.constants = append(f.constants, "-D="+key+"="+in.Constants[key])
	}
	file := s.next()
	if f.file = file + ".json"; in.Model != "" {
		f.model = file + map[string]string{"promela": ".pml"}[in.Language]
		if filepath.Ext(f.model) == "" {
			f.model += ".model"
		}
		if err := os.WriteFile(f.model, []byte(in.Model), 0o600); err != nil {
			return nil, answer{}, err
		}
	}
	args := append([]string{"run", "-q", "-color=never", "-trace=" + f.file}, f.constants...)
	if in.LTL != "" {
		args = append(args, "-ltl="+in.LTL)
	}
	if in.Reduction != "" {
		args = append(args, "-por="+in.Reduction)
	}
	return s.search(ctx, f, in.Seconds, "", args, f.model)
}

type testInput struct {
	Directory string   `json:"directory,omitempty" jsonschema:"the directory of the module or package; default: that of the server"`
	Packages  []string `json:"packages,omitempty" jsonschema:"as go test takes them; default: the package in the directory"`
	Run       string   `json:"run,omitempty" jsonschema:"explore only tests that match this regular expression"`
	Short     bool     `json:"short,omitempty" jsonschema:"testing.Short returns true"`
	Seconds   int      `json:"seconds,omitempty" jsonschema:"the most time to take for a test"`
}

func (s *server) runTest(ctx context.Context, _ *mcp.CallToolRequest, in testInput) (
	*mcp.CallToolResult, answer, error,
) {
	for _, p := range in.Packages {
		if p == "" || strings.HasPrefix(p, "-") {
			return nil, answer{}, fmt.Errorf("%q is not a package", p)
		}
	}
	if in.Directory != "" {
		if info, err := os.Stat(in.Directory); err != nil || !info.IsDir() {
			return nil, answer{}, fmt.Errorf("%s is not a directory", in.Directory)
		}
	}
	f := &failure{file: s.next() + ".json", dir: in.Directory}
	args := []string{"test", "-failfast", "-color=never", "-trace=" + f.file}
	if in.Run != "" {
		args = append(args, "-run="+in.Run)
	}
	if in.Short {
		args = append(args, "-short")
	}
	return s.search(ctx, f, in.Seconds, in.Directory, args, in.Packages...)
}

// search runs a command that searches, with limits, and keeps the failure that it finds.
func (s *server) search(ctx context.Context, f *failure, seconds int, dir string, args []string,
	what ...string) (*mcp.CallToolResult, answer, error,
) {
	limit := s.time
	if seconds < 0 {
		return nil, answer{}, fmt.Errorf("seconds: %d is below 0", seconds)
	}
	if d := time.Duration(seconds) * time.Second; seconds > 0 && d < limit {
		limit = d
	}
	args = append(args, "-timeout="+limit.String(), "-max-memory="+strconv.FormatUint(s.memory, 10))
	text, code, err := s.command(ctx, dir, append(args, what...)...)
	if err != nil {
		return nil, answer{}, err
	}
	a := answer{Verdict: verdict(code)}
	if _, err := os.Stat(f.file); err == nil && a.Verdict == "violation" {
		a.Failure = s.keep(f)
		text += "\nThis failure is called " + a.Failure + ".\n"
	}
	return result(text, code), a, nil
}

// verdict is what an exit code of cpor means.
func verdict(code int) string {
	switch code {
	case 0:
		return "pass"
	case 1:
		return "violation"
	case 3:
		return "incomplete"
	}
	return "mistake"
}

func result(text string, code int) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: verdict(code) == "mistake",
		Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// next returns the name, without an ending, of files for a call.
func (s *server) next() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return filepath.Join(s.dir, strconv.Itoa(s.number))
}

// keep gives a failure a name, and forgets the oldest if there are many.
func (s *server) keep(f *failure) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	called := strings.TrimSuffix(filepath.Base(f.file), ".json")
	s.failures[called] = f
	if len(s.failures) > mostFailures {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.failures)), func(a, b string) int {
			x, _ := strconv.Atoi(a)
			y, _ := strconv.Atoi(b)
			return x - y
		})
		_ = os.Remove(s.failures[oldest].file)
		delete(s.failures, oldest)
	}
	return called
}

func (s *server) found(called string) (*failure, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.failures[called]; f != nil {
		return f, nil
	}
	known := slices.Sorted(maps.Keys(s.failures))
	if len(known) == 0 {
		return nil, fmt.Errorf("there is no failure %q: check_model and run_test have found none",
			called)
	}
	return nil, fmt.Errorf("there is no failure %q, only %s", called, strings.Join(known, ", "))
}

// command runs cpor and returns what it printed, and its exit code. It is interrupted when the
// call is canceled or the server's time for a call is over, and killed if it does not end.
func (s *server) command(ctx context.Context, dir string, args ...string) (string, int, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", 0, ctx.Err()
	}
	within, cancel := context.WithTimeout(ctx, s.time+grace)
	defer cancel()
	c := exec.CommandContext(within, s.cpor, args...)
	c.Dir = dir
	c.Cancel = func() error {
		if err := c.Process.Signal(os.Interrupt); err != nil { // Windows has none
			return c.Process.Kill()
		}
		return nil
	}
	c.WaitDelay = grace
	out := s.bounded()
	c.Stdout, c.Stderr = out, out
	err := c.Run()
	if ctx.Err() != nil {
		return "", 0, ctx.Err()
	}
	if c.ProcessState == nil {
		return "", 0, err
	}
	code := c.ProcessState.ExitCode()
	if code < 0 {
		return "", 0, fmt.Errorf("cpor was killed, because it did not end within %v",
			s.time+2*grace)
	}
	return out.String(), code, nil
}

// bounded keeps the beginning and the end of what is written to it.
type bounded struct {
	most  int
	begin bytes.Buffer
	end   []byte
	lost  int
}

// bounded returns a writer that keeps as much as an answer may have.
func (s *server) bounded() *bounded { return &bounded{most: int(min(s.output, 1<<30))} }

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	room := min(len(p), b.most/2-b.begin.Len())
	b.begin.Write(p[:room])
	b.end = append(b.end, p[room:]...)
	if over := len(b.end) - b.most/2; over > 0 {
		b.lost += over
		b.end = append(b.end[:0], b.end[over:]...)
	}
	return n, nil
}

func (b *bounded) String() string {
	if b.lost == 0 {
		return b.begin.String() + string(b.end)
	}
	return strings.ToValidUTF8(fmt.Sprintf("%s\n... %d bytes are left out ...\n%s",
		b.begin.String(), b.lost, b.end), "?")
}

type explainInput struct {
	Failure string `json:"failure" jsonschema:"the failure's name"`
	From    int    `json:"from,omitempty" jsonschema:"the first step, from 1; default: the last 20"`
	To      int    `json:"to,omitempty" jsonschema:"the last step"`
}

// record is what is needed of the file of a failure: cpor run -trace writes the record itself,
// cpor test with more around it.
type record struct {
	Kind    string            `json:"kind"`
	Message string            `json:"message"`
	Pos     string            `json:"pos"`
	Trace   []json.RawMessage `json:"trace"`
	Final   json.RawMessage   `json:"final"`
	Base    string            `json:"base"` // what places are relative to
	Record  *record           `json:"record"`
	Failure *struct {
		Kind     string   `json:"kind"`
		Headline string   `json:"headline"`
		Pos      string   `json:"pos"`
		Notes    []string `json:"notes"`
	} `json:"failure"`
}

// shownSteps is how many steps explain shows by default, and around how many lines before and
// after a place.
const (
	shownSteps = 20
	around     = 5
)

func (s *server) explain(_ context.Context, _ *mcp.CallToolRequest, in explainInput) (
	*mcp.CallToolResult, any, error,
) {
	f, err := s.found(in.Failure)
	if err != nil {
		return nil, nil, err
	}
	r, err := f.read()
	if err != nil {
		return nil, nil, err
	}
	out := s.bounded()
	place, steps := r.Pos, r
	if r.Record != nil && r.Failure != nil {
		steps, place = r.Record, r.Failure.Pos
		fmt.Fprintf(out, "%s: %s\n", r.Failure.Kind, r.Failure.Headline)
		for _, n := range r.Failure.Notes {
			fmt.Fprintln(out, n)
		}
	} else {
		fmt.Fprintf(out, "%s: %s\n", r.Kind, r.Message)
	}
	out.source(r.Base, place)
	n := len(steps.Trace)
	from, to := in.From, in.To
	if to == 0 {
		to = n
	}
	if from == 0 {
		from = max(1, to-shownSteps+1)
	}
	if from < 1 || to > n || from > to && n > 0 {
		return nil, nil, fmt.Errorf("steps %d to %d: the execution has steps 1 to %d", from, to, n)
	}
	fmt.Fprintf(out, "\nSteps %d to %d of %d:\n", from, to, n)
	for i := from; i <= to; i++ {
		fmt.Fprintf(out, "%d: %s\n", i, compact(steps.Trace[i-1]))
	}
	if to == n && len(steps.Final) > 0 {
		fmt.Fprintf(out, "\nThreads at the end:\n%s\n", compact(steps.Final))
	}
	return result(out.String(), 0), nil, nil
}

func (f *failure) read() (*record, error) {
	text, err := os.ReadFile(f.file)
	if err != nil {
		return nil, err
	}
	r := new(record)
	return r, json.Unmarshal(text, r)
}

// compact returns JSON in one line.
func compact(j json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, j); err != nil {
		return string(j)
	}
	return b.String()
}

var placed = regexp.MustCompile(`^(.*?):(\d+)(?::\d+)?$`)

// source writes the lines around a place, if the file is there.
func (b *bounded) source(base, place string) {
	m := placed.FindStringSubmatch(place)
	if m == nil {
		return
	}
	file := m[1]
	if !filepath.IsAbs(file) {
		file = filepath.Join(base, file)
	}
	if info, err := os.Stat(file); err != nil || info.Size() > largestFile {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return
	}
	line, _ := strconv.Atoi(m[2])
	lines := strings.Split(string(text), "\n")
	fmt.Fprintf(b, "\n%s:\n", m[1])
	for i := max(1, line-around); i <= min(len(lines), line+around); i++ {
		mark := " "
		if i == line {
			mark = ">"
		}
		fmt.Fprintf(b, "%s%5d  %s\n", mark, i, lines[i-1])
	}
}

type replayInput struct {
	Failure string `json:"failure" jsonschema:"the failure's name"`
}

func (s *server) replay(ctx context.Context, _ *mcp.CallToolRequest, in replayInput) (
	*mcp.CallToolResult, any, error,
) {
	f, err := s.found(in.Failure)
	if err != nil {
		return nil, nil, err
	}
	args := []string{"test", "-color=never", "-replay=" + f.file}
	if f.model != "" {
		r, err := f.read()
		if err != nil {
			return nil, nil, err
		}
		args = append([]string{"simulate", "-p", "-replay=" + f.file,
			"-n=" + strconv.Itoa(max(1, len(r.Trace)))}, f.constants...)
		args = append(args, f.model)
	}
	text, code, err := s.command(ctx, f.dir, args...)
	if err != nil {
		return nil, nil, err
	}
	return result(text, code), nil, nil
}
