package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	_ "cpor/engine/all" // the engines
)

// Request asks for one run of `cpor run`.
type Request struct {
	// Model is the name of a benchmark (robots), or the path of a file, in cpor's
	// language or in Promela.
	Model  string
	Params benchmarks.Params
	// Mode is of the engine, as package engine names it, classicMode, or simulateMode; "": the
	// default.
	Mode    string
	POR     string // as in -por
	Workers int    // at least 1
	// Limit and MaxMemory end the run as incomplete; 0 means no limit.
	Limit     time.Duration
	MaxMemory uint64 // bytes
	// Flags are further flags of `cpor run`.
	Flags []string
	// Violated tells that the run ends with a violation, which is not a failure.
	Violated bool
}

// Status tells what became of a run.
type Status string

// What can become of a run.
const (
	Done        Status = "done"        // it covered everything
	Limited     Status = "limited"     // a limit ended it
	Skipped     Status = "skipped"     // it was not started; the reason says why
	Failed      Status = "failed"      // it could not do what was asked
	Interrupted Status = "interrupted" // the user ended it
)

// Outcome is what a run told about itself and what was seen from outside.
type Outcome struct {
	Status Status `json:"status"`
	Reason string `json:"reason,omitempty"` // unless Done
	// Violated tells that it found a violation.
	Violated bool `json:"violated,omitempty"`
	// Errors are those that SPIN counted, all of them or only the first.
	Errors uint64 `json:"errors,omitempty"`

	States      uint64 `json:"states"`
	Transitions uint64 `json:"transitions"`
	Attempts    uint64 `json:"attempts,omitempty"`
	// EndedLoops counts the self-loops of ended threads in a full search.
	EndedLoops uint64 `json:"ended_loops,omitempty"`
	// Executions counts those of a stateless search.
	Executions uint64 `json:"executions,omitempty"`

	Search time.Duration `json:"search_ns"` // by the tool's own clock
	Wall   time.Duration `json:"wall_ns"`   // the whole process, from outside
	CPU    time.Duration `json:"cpu_ns"`    // user and system time of the process; 0 if unknown

	StoreBytes uint64 `json:"store_bytes,omitempty"`
	PeakRSS    uint64 `json:"peak_rss_bytes,omitempty"` // 0 if unknown

	// What only some searches tell.
	Steals    *uint64  `json:"steals,omitempty"`
	FailedCAS *uint64  `json:"failed_cas,omitempty"`
	IdleShare *float64 `json:"idle_share,omitempty"` // of the workers' time, 0 to 1
	// Predicted is set by simulateMode.
	Predicted *Prediction `json:"predicted,omitempty"`
}

// Rate returns n a second of search time, and 0 if no time was seen.
func (o *Outcome) Rate(n uint64) float64 {
	if o.Search <= 0 {
		return 0
	}
	return float64(n) / o.Search.Seconds()
}

// BytesPerState returns the store's bytes for each state, 0 if unknown.
func (o *Outcome) BytesPerState() float64 {
	if o.States == 0 {
		return 0
	}
	return float64(o.StoreBytes) / float64(o.States)
}

// Runner runs requests. What goes wrong is in the outcome.
type Runner interface {
	Run(ctx context.Context, r Request) Outcome
}

// processRunner runs each request in a process of its own, except those of classicMode and
// simulateMode.
type processRunner struct {
	exe string // the command
	dir string // holds the models as files, and is removed by close
}

// newProcessRunner writes the embedded models to a new directory, so that a
// process can read them. exe is the command.
func newProcessRunner(exe string) (*processRunner, error) {
	dir, err := os.MkdirTemp("", "cpor-bench-")
	if err != nil {
		return nil, err
	}
	for _, name := range benchmarks.Names() {
		text, err := benchmarks.Model(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name+".model"), text, 0o666)
		}
		if err != nil {
			return nil, errors.Join(err, os.RemoveAll(dir))
		}
	}
	return &processRunner{exe: exe, dir: dir}, nil
}

func (p *processRunner) close() error { return os.RemoveAll(p.dir) }

// isFile tells a path of a model from the name of a benchmark.
func isFile(model string) bool {
	return strings.HasSuffix(model, ".model") || strings.HasSuffix(model, ".pml")
}

// entry returns the engine of a request.
func (r *Request) entry() (*engine.Entry, error) {
	for _, m := range engine.Modes() {
		if m.Name == r.Mode || r.Mode == "" && m.Default {
			return engine.Lookup(m.Name, r.POR)
		}
	}
	return nil, fmt.Errorf("there is no mode %q", r.Mode)
}

// command returns the command line of a request to an engine, without the command
// itself.
func (r *Request) command(e *engine.Entry, dir string) []string {
	args := []string{"run", "-json"}
	if m := engine.LookupMode(e.Mode); !m.Default && !m.Temporal { // a property asks for those
		args = append(args, strings.Fields(m.Asked)...)
	}
	if e.Takes&engine.TakesDeadlocks != 0 {
		args = append(args, "-deadlock=false")
	}
	args = append(args, "-por", r.POR, "-workers", strconv.Itoa(r.Workers))
	if r.Limit > 0 {
		args = append(args, "-timeout", r.Limit.String())
	}
	if r.MaxMemory > 0 {
		args = append(args, "-max-memory", strconv.FormatUint(r.MaxMemory, 10))
	}
	for _, p := range r.Params {
		args = append(args, "-D", p.Name+"="+p.Value)
	}
	args = append(args, r.Flags...)
	if isFile(r.Model) {
		return append(args, r.Model)
	}
	return append(args, filepath.Join(dir, r.Model+".model"))
}

// report is the part of the command's JSON object that is read here.
type report struct {
	Verdict     string   `json:"verdict"`
	Exhaustive  bool     `json:"exhaustive"`
	Reason      string   `json:"reason"`
	States      uint64   `json:"states"`
	Transitions uint64   `json:"transitions"`
	Attempts    uint64   `json:"attempts"`
	EndedLoops  uint64   `json:"ended_loops"`
	Executions  uint64   `json:"executions"`
	DurationMS  float64  `json:"duration_ms"`
	StoreBytes  uint64   `json:"store_bytes"`
	PeakRSS     uint64   `json:"peak_rss_bytes"`
	Steals      *uint64  `json:"steals"`
	FailedCAS   *uint64  `json:"failed_cas"`
	IdleShare   *float64 `json:"idle_share"`
	Violations  []struct {
		Kind    string `json:"kind"`
		Message string `json:"message"`
		Pos     string `json:"pos"`
	} `json:"violations"`
}

// Run runs a request.
func (p *processRunner) Run(ctx context.Context, r Request) Outcome {
	switch r.Mode {
	case classicMode:
		return runClassic(ctx, r)
	case simulateMode:
		return runSimulated(ctx, r)
	}
	e, err := r.entry()
	if err != nil {
		return Outcome{Status: Failed, Reason: err.Error()}
	}
	out, stdout, stderr, err := execute(ctx, "", p.exe, r.command(e, p.dir)...)
	if out.Status == Interrupted {
		return out
	}
	var rep report
	if jsonErr := json.Unmarshal(stdout, &rep); jsonErr != nil {
		out.Status = Failed
		out.Reason = lastLine(stderr)
		if out.Reason == "" {
			out.Reason = fmt.Sprintf("no result (%v)", err)
		}
		return out
	}
	out.States, out.Transitions, out.Attempts, out.EndedLoops = rep.States, rep.Transitions,
		rep.Attempts, rep.EndedLoops
	out.Executions = rep.Executions
	out.Violated = rep.Verdict == "violation"
	out.Search = time.Duration(rep.DurationMS * float64(time.Millisecond))
	out.StoreBytes = rep.StoreBytes
	out.Steals, out.FailedCAS, out.IdleShare = rep.Steals, rep.FailedCAS, rep.IdleShare
	// From outside, a small process seems to have as much as this one, which
	// it was before it became itself; so the run's own figure is better.
	if rep.PeakRSS > 0 {
		out.PeakRSS = rep.PeakRSS
	}
	switch {
	case rep.Exhaustive, r.Violated && rep.Verdict == "violation":
		out.Status = Done // with -all also where there are violations
	case len(rep.Violations) > 0 || rep.Verdict == "violation":
		out.Status, out.Reason = Failed, "it found a violation and did not cover everything"
		if len(rep.Violations) > 0 {
			v := rep.Violations[0]
			out.Reason = strings.TrimSuffix(fmt.Sprintf("%s: %s (%s)", v.Kind, v.Message, v.Pos),
				" ()")
			if rep.Reason != "" {
				out.Reason = rep.Reason + "; it found " + out.Reason
			}
		}
	default:
		out.Status, out.Reason = Limited, rep.Reason
	}
	return out
}

// patience is how long a process that was asked to end may take.
const patience = 5 * time.Second

// execute runs a command in dir and measures it from outside. Status is
// Interrupted if ctx ended first; otherwise it is for the caller to set. A
// process that could not start or returned a code above 0 is an error.
func execute(ctx context.Context, dir, name string, args ...string) (out Outcome, stdout,
	stderr []byte, err error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Cancel = func() error {
		// An interruption lets it clean up; where there is none, it is killed.
		if cmd.Process.Signal(os.Interrupt) == nil {
			return nil
		}
		return cmd.Process.Kill()
	}
	cmd.WaitDelay = patience
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	start := time.Now()
	err = cmd.Run()
	out.Wall = time.Since(start)
	if s := cmd.ProcessState; s != nil {
		out.CPU = s.UserTime() + s.SystemTime()
		out.PeakRSS = maxRSS(s)
	}
	if ctx.Err() != nil {
		out.Status, out.Reason = Interrupted, "interrupted"
	}
	return out, o.Bytes(), e.Bytes(), err
}

// lastLine returns the last line that is not blank: where a message ends is
// where it says what was wrong.
func lastLine(b []byte) string {
	lines := strings.Split(strings.TrimSpace(string(b)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
