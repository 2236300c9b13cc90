package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/stateless"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
)

// statelessConfig is what the flags say about a search without stored states.
type statelessConfig struct {
	on        bool   // -search stateless
	name      string // -por, if it is one of a state-less search only
	reduction stateless.Reduction
	undo      stateless.Undo
	maxDepth  int
	deepen    bool
	maxTrans  uint64
	invisible string // -invisible
}

// define defines the flags.
func (c *statelessConfig) define(f *cliflag.Set) {
	f.Func("search", "`how` to search: stateful (the default) stores the states that it has covered; stateless runs one execution after the other, for acyclic models", func(s string) error {
		switch s {
		case "stateful", "stateless":
			c.on = s == "stateless"
			return nil
		}
		return errors.New("want stateful or stateless")
	})
	f.IntVar(&c.maxDepth, "max-depth", 0, "with -search stateless: cut executions off after this `number` of transitions; every violation that can be reached within it is found, and the result is incomplete if something was cut off; with -por none or sleep (the default with a bound)")
	f.BoolVar(&c.deepen, "deepen", false, "with -search stateless: bound the length of executions as -max-depth does, by 8 at first, and repeat with twice the bound (at most -max-depth) until none is cut off")
	f.Func("undo", "with -search stateless: `how` to take transitions back: log (the default) or replay, from the initial state", func(s string) (err error) {
		c.undo, err = stateless.ParseUndo(s)
		return err
	})
	f.Uint64Var(&c.maxTrans, "max-transitions", 0, "with -search stateless: end the search after this `number` of transitions")
	c.defineInvisible(f)
	f.Group("Search without stored states:", "search", "invisible", "max-depth", "deepen", "undo", "max-transitions")
}

// statelessReductionHelp describes the values of -por.
func statelessReductionHelp() [][2]string {
	return [][2]string{
		{"dpor", "with -search stateless, the default there: optimal dynamic reduction, one execution of each Mazurkiewicz trace; keeps every assertion, invariant and deadlock, as all of these do; not with a bound on the depth"},
		{"sleep", "with -search stateless: sleep sets"},
		{"persistent", "with -search stateless: persistent sets"},
		{"persistent+sleep", "with -search stateless: both"},
	}
}

// parse takes a value of -por; it returns false if a state-less search is not
// the only one to have it.
func (c *statelessConfig) parse(s string) bool {
	r, err := stateless.ParseReduction(s)
	if err != nil || r == stateless.None {
		c.name = ""
		return false
	}
	c.name, c.reduction = s, r
	return true
}

// unasked checks the flags of a search that stores its states.
func (c *statelessConfig) unasked(f *cliflag.Set) error {
	switch {
	case c.name == "":
		return nil
	case f.Given("search"):
		return fmt.Errorf("-por %s is a reduction of -search stateless", c.name)
	}
	return fmt.Errorf("-por %s is a reduction of a search without stored states; add -search stateless", c.name)
}

// validate checks the flags together.
func (c *statelessConfig) validate(f *cliflag.Set, run *runConfig) error {
	switch {
	case c.name != "":
	case !f.Given("por"):
		c.reduction = stateless.DPOR
		if c.bounded() {
			c.reduction = stateless.Sleep
		}
	case run.reduction.name == "none" && run.ltl.reduction == nil:
		c.reduction = stateless.None
	default:
		name := run.reduction.name
		if run.ltl.reduction != nil {
			name = run.ltl.reduction.String()
		}
		return fmt.Errorf("-por %s needs stored states; with -search stateless use %s", name, strings.Join(stateless.ReductionNames(), ", "))
	}
	if err := c.checkInvisible(f, &run.locks); err != nil {
		return err
	}
	switch {
	case f.Given("max-depth") && c.maxDepth < 1:
		return fmt.Errorf("-max-depth %d: the number must be above 0", c.maxDepth)
	case f.Given("max-transitions") && c.maxTrans == 0:
		return errors.New("-max-transitions 0: the number must be above 0")
	case c.bounded() && !c.reduction.Bounded():
		return fmt.Errorf("-por %v may miss violations within a bound on the depth; with -max-depth or -deepen use -por sleep (the default then) or none", c.reduction)
	}
	if err := run.locks.checkInitThread(); err != nil {
		return err
	}
	run.reduction = &reduction{name: c.reduction.String()}
	return nil
}

// bounded tells whether the length of executions is bounded.
func (c *statelessConfig) bounded() bool { return c.maxDepth != 0 || c.deepen }

// runStateless searches a model without storing states and prints the result.
func runStateless(e *env, c *runConfig, m *frontend.Program, out *traceFile) int {
	sys, shown, err := c.locks.wrapStateless(m.System)
	if err != nil {
		return e.mistake("run", "%s: %v", c.file, err)
	}
	p := newProgress(e, c)
	o := stateless.Options{Options: engine.Options{Workers: c.workers, MaxDepth: c.stateless.maxDepth, All: c.all, IgnoreDeadlocks: !c.deadlock, MaxTransitions: c.stateless.maxTrans, MaxMemory: c.maxMemory, Timeout: c.timeout, ProgressInterval: p.interval}, InvisibleFirst: c.stateless.invisible == invisibleExplored, Composed: c.stateless.invisible == invisibleComposed, Reduction: c.stateless.reduction, Undo: c.stateless.undo, Deepen: c.stateless.deepen}
	if p.report != nil {
		o.Progress = func(q engine.Progress) {
			p.report(engine.Progress{Elapsed: q.Elapsed, Counters: engine.Counters{States: q.Executions, Transitions: q.Transitions}, MaxDepth: q.MaxDepth, Memory: q.Memory, Violations: q.Violations})
		}
	}
	res, err := stateless.Run(e.ctx, sys, o)
	p.done()
	var oe *engine.OptionError
	switch {
	case errors.As(err, &oe):
		return e.mistake("run", "%v", err)
	case err != nil:
		e.internalError(strings.TrimPrefix(err.Error(), "internal error: "))
		return exitMistake
	}
	c.stateless.judgeLocks(res, &c.locks)
	rep, err := newReport(c, m, shown, &search.Result{Result: res.Result})
	if err != nil {
		e.internalError(err.Error())
		return exitMistake
	}
	var traceErr error
	rep.traces, traceErr = out.write(rep.records())
	return e.print(c.json, func(b *bytes.Buffer) error {
		if c.json {
			return writeStatelessJSON(b, rep, res)
		}
		return writeStatelessText(b, rep, res, outputWidth(e.stdout))
	}, traceErr, rep.exitCode())
}

// statelessJSON is the object that -json prints: as far as they make sense, the
// names are those of resultJSON.
type statelessJSON struct {
	Model                string          `json:"model"`
	Params               map[string]any  `json:"params"`
	Search               string          `json:"search"`
	POR                  string          `json:"por"`
	Invisible            string          `json:"invisible,omitempty"`
	Undo                 string          `json:"undo"`
	Workers              int             `json:"workers"`
	Verdict              engine.Verdict  `json:"verdict"`
	Exhaustive           bool            `json:"exhaustive"`
	Reason               string          `json:"reason"`
	Executions           uint64          `json:"executions"`
	BlockedExecutions    uint64          `json:"blocked_executions"`
	CutExecutions        uint64          `json:"cut_executions"`
	Transitions          uint64          `json:"transitions"`
	MaxDepth             int             `json:"max_depth"`
	Rounds               int             `json:"rounds"`
	Bound                int             `json:"bound"`
	DurationMS           float64         `json:"duration_ms"`
	TransitionsPerSecond float64         `json:"transitions_per_second"`
	Deadlocks            bool            `json:"deadlocks_reported"`
	NotChecked           string          `json:"not_checked,omitempty"`
	Violations           []violationJSON `json:"violations"`
	MoreViolations       uint64          `json:"more_violations"`
	Races                string          `json:"races"`
}

func writeStatelessJSON(w io.Writer, r *report, res *stateless.Result) error {
	j := statelessJSON{
		Model: r.c.file, Params: r.params, Search: "stateless", POR: r.c.reduction.name, Invisible: r.c.stateless.invisible, Undo: r.c.stateless.undo.String(), Workers: res.Workers,
		Verdict: r.verdict(), Exhaustive: res.Exhaustive, Reason: res.Reason,
		Executions: res.Executions, BlockedExecutions: res.BlockedExecutions, CutExecutions: res.CutExecutions,
		Transitions: res.Transitions, MaxDepth: res.MaxDepth, Rounds: res.Rounds, Bound: res.Bound,
		DurationMS: res.Duration.Seconds() * 1000, TransitionsPerSecond: res.TransitionsPerSecond(),
		Deadlocks: r.c.deadlock, NotChecked: r.ltl, Violations: []violationJSON{}, MoreViolations: res.MoreViolations,
		Races: r.c.locks.races.String(),
	}
	for _, f := range r.found {
		j.Violations = append(j.Violations, violationJSON{f})
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}

func writeStatelessText(w io.Writer, r *report, res *stateless.Result, width int) error {
	p := &printer{w: w, width: width}
	for i, f := range r.found {
		r.writeViolation(p, i, f)
	}
	r.writeVerdict(p)
	if r.c.quiet {
		return p.err
	}
	p.printf("\n")
	how := []string{"state-less", r.c.reduction.name, fmt.Sprintf("%d workers", res.Workers)}
	if res.Workers == 1 {
		how[2] = "1 worker"
	}
	if r.c.stateless.undo != stateless.Log {
		how = append(how, "undo by "+r.c.stateless.undo.String())
	}
	switch r.c.stateless.invisible {
	case invisibleExplored:
		how = append(how, "invisible transitions first")
	case invisibleComposed:
		how = append(how, "composed transitions")
	}
	p.figure("search", strings.Join(how, ", "), "")
	if ps := paramList(r.params); ps != "" {
		p.figure("constants", ps, "")
	}
	if r.c.locks.races != 0 {
		p.figure("races", "checked by "+r.c.locks.races.String(), "")
	}
	p.figure("executions", human.Count(res.Executions), human.Short(uint64(float64(res.Executions)/max(res.Duration.Seconds(), 1e-9)))+"/s")
	var vain []string
	if res.BlockedExecutions > 0 {
		vain = append(vain, human.Count(res.BlockedExecutions)+" more that a sleep set blocked")
	}
	if res.CutExecutions > 0 {
		vain = append(vain, fmt.Sprintf("%s more cut off after %d transitions", human.Count(res.CutExecutions), res.Bound))
	}
	for _, s := range vain {
		p.figure("", s, "")
	}
	p.figure("transitions", human.Count(res.Transitions), human.Short(uint64(res.TransitionsPerSecond()))+"/s")
	p.figure("depth", human.Count(uint64(res.MaxDepth)), "")
	if res.Rounds > 1 {
		p.figure("rounds", human.Count(res.Rounds), "")
	}
	p.figure("time", human.Duration(res.Duration), "")
	if !r.c.deadlock {
		p.figure("deadlocks", "not reported (-deadlock=false)", "")
	}
	return p.err
}
