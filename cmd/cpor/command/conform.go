//go:build !models && !gotests

package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"cpor/conform"
	"cpor/detect/computation"
	"cpor/detect/detectcmd"
	"cpor/detect/logs"
	"cpor/frontend"
	"cpor/internal/cliflag"
	"cpor/internal/human"
	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace"
	"cpor/trace/draw"
)

// conformConfig is what the flags of `cpor conform` say.
type conformConfig struct {
	params  map[string]string
	logs    logs.Options
	mapping string
	lost    string
	trace   string
	json    bool
	quiet   bool
	timeout time.Duration
	opt     conform.Options
	color   terminal.When
}

func (c *conformConfig) define() (f *cliflag.Set, complete func() error) {
	f = cliflag.New("conform")
	c.params = map[string]string{}
	defineParams(f, c.params)
	c.defineMapping(f)
	complete = detectcmd.DefineLog(f, &c.logs)
	f.IntVar(&c.opt.MaxNodes, "max-states", conform.DefaultNodes,
		"stop after this `number` of stored states")
	f.DurationVar(&c.timeout, "timeout", 0, "stop after this `time`")
	f.StringVar(&c.trace, "trace", "", "write the model's execution to `FILE`; the name decides "+
		"the form, as in cpor run")
	f.BoolVar(&c.json, "json", false, "print one JSON object")
	f.BoolVar(&c.quiet, "q", false, "print the verdict only")
	f.Var(&c.color, "color", terminal.Usage)
	return f, complete
}

// defineMapping defines the flags that `cpor monitor` has, too.
func (c *conformConfig) defineMapping(f *cliflag.Set) {
	f.StringVar(&c.mapping, "map", "", "read the mapping from this `FILE` instead of the model")
	f.StringVar(&c.lost, "lost", "", "the logs of these `hosts` (node1,node2 or all) may lack "+
		"their end")
}

// lostHosts returns whether the log of a host may lack its end; nil for none.
func (c *conformConfig) lostHosts(names []string) (func(host string) bool, error) {
	if c.lost == "" {
		return nil, nil
	}
	hosts := strings.Split(c.lost, ",")
	for _, h := range hosts {
		if !slices.Contains(names, h) && h != "all" {
			return nil, fmt.Errorf("-lost: the log has no host %q; it has %s", h,
				strings.Join(names, ", "))
		}
	}
	all := slices.Contains(hosts, "all")
	return func(h string) bool { return all || slices.Contains(hosts, h) }, nil
}

func conformHelp(w io.Writer) {
	fmt.Fprintln(w, `usage: cpor conform [flags] MODEL LOG...

Reports whether a recorded run is one of a model: whether the model has an execution
whose visible events are those of the log, in an order that the log's clocks allow.
LOG is a log with vector clocks, as for "cpor detect". Lines in the model say what is
visible:

	//cpor:host node{i} is Server[{i}]
	//cpor:event "append to {d}" with term={t} => print "append {d} {t}"
	//cpor:value role is role[{i}]

Without them, the log has what the model prints. docs/conform.md explains them.`)
	f, _ := new(conformConfig).define()
	f.Describe(w)
	fmt.Fprintln(w, `
Exit codes: 0 the model has such an execution, 1 it has none, 2 a mistake, 3 no answer
(a limit, a time-out, an interruption).`)
}

// conformCommand is `cpor conform`.
func conformCommand(e *env, args []string) int {
	c := new(conformConfig)
	f, complete := c.define()
	files, err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		conformHelp(e.stdout)
		return ExitPass
	}
	if err == nil {
		err = complete()
	}
	switch {
	case err != nil:
	case len(files) < 2:
		err = errors.New("want a model and its log: cpor conform MODEL LOG")
	case files[0] == "-":
		err = errors.New("the model must be in a file; only the log can be on standard input")
	case c.opt.MaxNodes < 1:
		err = fmt.Errorf("-max-states %d: want at least 1", c.opt.MaxNodes)
	case c.json && f.Given("color"):
		err = errors.New("-color is for text, and -json prints JSON; use only one of them")
	}
	if err != nil {
		return e.mistake("conform", "%v (see \"cpor help conform\")", err)
	}
	m, err := e.load(&files[0], frontend.Options{Params: c.params})
	if err != nil {
		return e.modelError(err)
	}
	return c.run(e, m.System, files)
}

func (c *conformConfig) run(e *env, sys system.System, files []string) int {
	mistake := func(err error) int { return e.mistake("conform", "%v", err) }
	mapping, err := c.readMapping(files[0])
	if err != nil {
		return mistake(err)
	}
	execs, err := logs.ReadFiles(files[1:], e.stdin, c.logs)
	if err != nil {
		return mistake(err)
	}
	if len(execs) > 1 {
		return mistake(fmt.Errorf("the log has %d executions; want one", len(execs)))
	}
	run := execs[0].Computation
	if c.opt.Lost, err = c.lostHosts(run.Names()); err != nil {
		return mistake(err)
	}
	ctx := e.ctx
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, c.timeout,
			fmt.Errorf("-timeout %v has passed", c.timeout))
		defer cancel()
	}
	res, err := conform.Check(ctx, sys, run, mapping, c.opt)
	if err != nil {
		return mistake(err)
	}
	rec, err := res.Trace.Record(sys)
	if err != nil {
		return mistake(err)
	}
	r := &conformReport{c, files, run, res, rec, terminal.For(e.stdout, c.color)}
	if c.json {
		err = r.writeJSON(e.stdout)
	} else {
		err = r.write(e.stdout)
	}
	if err == nil && c.trace != "" {
		err = draw.File(c.trace, rec)
	}
	if err != nil {
		return mistake(err)
	}
	return map[conform.Verdict]int{conform.Accepted: ExitPass, conform.Rejected: ExitViolation,
		conform.Incomplete: ExitIncomplete}[res.Verdict]
}

// readMapping reads the mapping of a model. A model in Go, which has no file, has none unless -map
// gives it.
func (c *conformConfig) readMapping(model string) (*conform.Mapping, error) {
	from := model
	if c.mapping != "" {
		from = c.mapping
	}
	source, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) && c.mapping == "" {
		return &conform.Mapping{}, nil
	}
	if err != nil {
		return nil, err
	}
	m, err := conform.ParseMapping(from, string(source))
	if err == nil && c.mapping != "" && len(m.Events)+len(m.Hosts)+len(m.Values) == 0 {
		return nil, fmt.Errorf(`-map %s: no line begins with "//cpor:"`, from)
	}
	return m, err
}

// conformReport is what is printed.
type conformReport struct {
	c    *conformConfig
	file []string
	run  *computation.Computation
	*conform.Result
	rec  *trace.Record
	page terminal.Page
}

var conformVerdicts = map[conform.Verdict]string{
	conform.Accepted:   "the model can do what the log shows",
	conform.Rejected:   "the model cannot do what the log shows",
	conform.Incomplete: "no answer",
}

// event is a place and a text of the log.
func (r *conformReport) event(ev computation.Event, _ string) string {
	return fmt.Sprintf("%v  %s %s", r.run.Pos(ev.Process, ev.Index), r.run.Name(ev.Process),
		strings.TrimSpace(r.run.Text(ev.Process, ev.Index)))
}

func (r *conformReport) write(w io.Writer) error {
	var b strings.Builder
	head := conformVerdicts[r.Verdict]
	if r.Why != "" {
		head += ": " + r.Why
	}
	how := terminal.Bad
	if len(r.Violations) > 0 {
		head += "; the execution that was found violates a property"
	}
	if r.Verdict == conform.Accepted && len(r.Violations) == 0 {
		how = terminal.Good
	}
	fmt.Fprintf(&b, "%s: %s\n", strings.Join(r.file[1:], " "), r.page.Paint(how, head))
	if r.c.quiet {
		_, err := io.WriteString(w, b.String())
		return err
	}
	fmt.Fprintf(&b, "\n  model     %s\n  log       %s, %s", r.file[0],
		human.Plural(r.run.N(), "host"), human.Plural(r.Events, "event"))
	if r.Unmapped > 0 {
		fmt.Fprintf(&b, ", and %d that the mapping does not name, such as %q", r.Unmapped,
			r.FirstUnmapped)
	}
	fmt.Fprintf(&b, "\n  followed  %s\n  states    %s\n", human.Count(int64(r.Followed)),
		human.Count(int64(r.Nodes)))
	if r.Verdict == conform.Incomplete && r.Followed < r.Events {
		fmt.Fprint(&b, "  to do     the search tries what the model can do between the "+
			"events of the log:\n            print and log more of that, or raise -max-states "+
			"or -timeout\n")
	}
	for _, v := range r.Violations {
		fmt.Fprintf(&b, "  violates  %s: %s, after step %d\n", trace.PosString(v.Violation.Pos),
			trace.Headline(v.Violation), v.Steps)
	}
	for h, t := range r.Hosts {
		if t != "" && t != r.run.Name(h) {
			fmt.Fprintf(&b, "  %s is %s\n", r.run.Name(h), t)
		}
	}
	if r.Verdict != conform.Accepted {
		writeParting(&b, &r.Place, r.event)
		fmt.Fprintf(&b, "\nthe model's execution up to there\n\n")
	}
	if _, err := io.WriteString(w, printable(b.String())); err != nil ||
		r.Verdict == conform.Accepted {
		return err
	}
	return draw.Table(w, r.rec, trace.TableOptions{Width: r.page.Width, Color: r.page.Color,
		MaxSteps: 20})
}

// writeParting prints what the log continues with, and what the model could do there. event
// describes an event of the log, whose text is empty if it is only named.
func writeParting(b *strings.Builder, p *conform.Place,
	event func(ev computation.Event, text string) string) {
	fmt.Fprintf(b, "\nthe log continues with\n")
	for _, x := range p.Next {
		fmt.Fprintf(b, "  %s\n", event(x.Event, x.Text))
		for _, a := range x.After {
			fmt.Fprintf(b, "    after %s\n", event(a, ""))
		}
	}
	if len(p.Offers) > 0 {
		fmt.Fprintf(b, "\nthere the model could do\n")
	}
	for _, o := range p.Offers {
		fmt.Fprintf(b, "  %s: %s\n    at %s: %s\n    but %s\n", o.Thread,
			cmp.Or(o.Does, "nothing"), trace.PosString(o.Pos), o.Text, o.Why)
	}
}

// conformJSON is the form of the answer in JSON.
type conformJSON struct {
	Verdict  conform.Verdict `json:"verdict"`
	Why      string          `json:"why,omitempty"`
	Model    string          `json:"model"`
	Logs     []string        `json:"logs"`
	Reading  logs.Options    `json:"reading"` // for those who read the logs again
	Events   int             `json:"events"`
	Unmapped int             `json:"unmapped"`
	placeJSON
	Violates []violatedJSON `json:"violates,omitempty"`
	States   int            `json:"states"`
	Steps    int            `json:"steps"`
	Trace    *trace.Record  `json:"trace"`
}

// placeJSON is how far a log could be followed, and what comes there.
type placeJSON struct {
	Followed int               `json:"followed"`
	Cut      map[string]int32  `json:"cut"`
	Hosts    map[string]string `json:"hosts"`
	Next     []eventJSON       `json:"next,omitempty"`
	Offers   []offerJSON       `json:"offers,omitempty"`
}

// newPlaceJSON returns the form of a place in JSON; names are those of the hosts, and event is as
// for writeParting.
func newPlaceJSON(p *conform.Place, names []string,
	event func(ev computation.Event, text string) eventJSON) placeJSON {
	j := placeJSON{Followed: p.Followed, Cut: map[string]int32{}, Hosts: map[string]string{}}
	for h, name := range names {
		j.Cut[name], j.Hosts[name] = p.Cut[h], p.Hosts[h]
	}
	for _, x := range p.Next {
		next := event(x.Event, x.Text)
		for _, a := range x.After {
			next.After = append(next.After, event(a, ""))
		}
		j.Next = append(j.Next, next)
	}
	for _, o := range p.Offers {
		j.Offers = append(j.Offers, offerJSON{o.Thread, o.Host, trace.PosString(o.Pos), o.Text,
			o.Does, o.Why})
	}
	return j
}

type violatedJSON struct {
	Steps   int                  `json:"steps"`
	Kind    system.ViolationKind `json:"kind"`
	Message string               `json:"message"`
	Pos     string               `json:"pos"`
}

type eventJSON struct {
	Host  string      `json:"host"`
	Index int32       `json:"index"`
	Event string      `json:"event,omitempty"`
	Pos   string      `json:"pos,omitempty"`
	After []eventJSON `json:"after,omitempty"`
}

type offerJSON struct {
	Thread string `json:"thread"`
	Host   string `json:"host,omitempty"`
	Pos    string `json:"pos"`
	Text   string `json:"text"`
	Does   string `json:"does,omitempty"`
	Why    string `json:"why"`
}

func (r *conformReport) eventJSON(ev computation.Event, _ string) eventJSON {
	return eventJSON{Host: r.run.Name(ev.Process), Index: ev.Index,
		Event: r.run.Text(ev.Process, ev.Index), Pos: r.run.Pos(ev.Process, ev.Index).String()}
}

func (r *conformReport) writeJSON(w io.Writer) error {
	j := conformJSON{Verdict: r.Verdict, Why: r.Why, Model: r.file[0], Logs: r.file[1:],
		Reading: r.c.logs, Events: r.Events, Unmapped: r.Unmapped,
		placeJSON: newPlaceJSON(&r.Place, r.run.Names(), r.eventJSON),
		States:    r.Nodes, Steps: r.Result.Steps, Trace: r.rec}
	for _, v := range r.Violations {
		j.Violates = append(j.Violates, violatedJSON{v.Steps, v.Violation.Kind,
			v.Violation.Message, trace.PosString(v.Violation.Pos)})
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(j)
}
