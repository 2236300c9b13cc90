package detectcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"sort"
	"strings"
	"time"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/monitor"
	"cpor/detect/predicate"

	"golang.org/x/sync/errgroup"
)

const monitorUsage = `usage: cpor monitor -poss EXPR | -def EXPR [flags]

Reads events as they happen, those of a host in their order and those of
different hosts in any, from stdin or from clients, as JSON lines or in the
layouts of ShiViz, and tells as soon as it is certain that the system could have
passed (-poss), or must have passed (-def), through a global state that satisfies
the predicate. For example

	tail -f run.jsonl | cpor monitor -poss 'exists i < j: i.crit && j.crit' -hosts p1,p2,p3
	cpor monitor -poss 'p1.x > p2.y' -tcp 127.0.0.1:7700 -journal run.journal

A TCP client sends events, and is answered "ok LINE" when everything up to that
line is safe; an HTTP client posts them to /events, and finds /status. With
-journal, what was acknowledged survives a restart. See cpor help detect for the
exit codes.

`

// Monitor is `cpor monitor`; args are those after the name. It returns the exit
// code.
func Monitor(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	f := newFlagSet("monitor", stderr)
	var (
		poss     = f.String("poss", "", "the `predicate` that could hold")
		def      = f.String("def", "", "the `predicate` that must hold")
		hosts    = f.String("hosts", "", "all hosts, with commas between them (default: those in the predicate, or in the first line {\"hosts\": [...]})")
		tcp      = f.String("tcp", "", "listen for clients on that `address`")
		httpAddr = f.String("http", "", "serve HTTP on that `address`")
		journal  = f.String("journal", "", "keep the events in `FILE`, and go on from there")
		keep     = f.Bool("keep", false, "go on after the detection")
		maxKept  = f.Int("max-states", 0, "keep at most `n` local states and branches in memory")
		format   = f.String("format", "", "of the events, shiviz or jsonl (default: recognised)")
		assign   = f.String("assign", "", "finds the assignments in an event's text, see cpor detect")
		asJSON   = f.Bool("json", false, "print JSON objects")
		limit    = bytesFlag(monitor.DefaultLimit)
	)
	f.Var(&limit, "journal-limit", "replace the journal by a checkpoint when it has that `size`")
	rest, code, ok := f.parse(args, monitorUsage, stdout)
	if !ok {
		return code
	}
	if len(rest) > 0 {
		return f.mistake("unexpected argument %s: events come from stdin or from clients", rest[0])
	}
	cfg := monitor.Config{MaxStates: *maxKept}
	text := *poss
	switch {
	case (*poss == "") == (*def == ""):
		return f.mistake("give one of -poss EXPR and -def EXPR")
	case *def != "":
		text = *def
		cfg.Modality = detect.Def
	}
	opt := logs.Options{Format: *format}
	if *format != "" && *format != "shiviz" && *format != "jsonl" {
		return f.mistake("-format %s: want shiviz or jsonl", *format)
	}
	if *assign != "" {
		re, err := regexp.Compile(*assign)
		if err != nil || re.SubexpIndex("name") < 0 || re.SubexpIndex("value") < 0 {
			return f.mistake("-assign %s: want a regular expression with groups (?<name>...) and (?<value>...)", *assign)
		}
		opt.Assign = re
	}
	var err error
	if cfg.Predicate, err = predicate.Parse(text); err != nil {
		return f.mistake("%v", err)
	}
	if *hosts != "" {
		for _, h := range strings.Split(*hosts, ",") {
			cfg.Hosts = append(cfg.Hosts, strings.TrimSpace(h))
		}
	}
	s, err := monitor.NewService(cfg, *journal, int64(limit), opt)
	if err != nil {
		return f.mistake("%v", err)
	}
	defer s.Close()
	c := &monitorCommand{flagSet: f, s: s, stdout: stdout, json: *asJSON, keep: *keep, predicate: text, modality: cfg.Modality}
	return c.run(ctx, stdin, *tcp, *httpAddr)
}

type monitorCommand struct {
	*flagSet
	s          *monitor.Service
	stdout     io.Writer
	json, keep bool
	predicate  string
	modality   detect.Modality
}

// run feeds the service until the input ends, the predicate is detected or ctx
// ends.
func (c *monitorCommand) run(ctx context.Context, stdin io.Reader, tcp, httpAddr string) int {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(inner)
	listening := tcp != "" || httpAddr != ""
	if tcp != "" {
		l, err := net.Listen("tcp", tcp)
		if err != nil {
			return c.mistake("%v", err)
		}
		fmt.Fprintf(c.stderr, "listening on tcp %v\n", l.Addr())
		g.Go(func() error { return c.s.ServeTCP(gctx, l) })
	}
	if httpAddr != "" {
		l, err := net.Listen("tcp", httpAddr)
		if err != nil {
			return c.mistake("%v", err)
		}
		fmt.Fprintf(c.stderr, "listening on http://%v\n", l.Addr())
		srv := &http.Server{Handler: c.s.Handler(), ReadHeaderTimeout: 10 * time.Second}
		g.Go(func() error {
			if err := srv.Serve(l); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		})
		g.Go(func() error {
			<-gctx.Done()
			// Answers that are on their way are finished: a client should learn
			// that its events were taken.
			last, stop := context.WithTimeout(context.Background(), 2*time.Second)
			defer stop()
			return srv.Shutdown(last)
		})
	}
	ended := make(chan struct{})
	if !listening {
		g.Go(func() error {
			err := c.s.Stream(gctx, stdin, nil)
			if err == nil {
				close(ended)
			}
			return err
		})
	}
	failed := make(chan error, 1)
	go func() { failed <- g.Wait() }()
	var err error
	announced := false
	detected := c.s.Detected()
	for done := false; !done; {
		select {
		case <-detected:
			if err := c.announce(); err != nil {
				return c.mistake("%v", err)
			}
			announced, detected, done = true, nil, !c.keep
		case <-ended:
			done = true
		case err = <-failed:
			failed <- err
			done = true
		case <-ctx.Done():
			done = true
		}
	}
	if !announced {
		select { // the last event may have been the one
		case <-detected:
			if err := c.announce(); err != nil {
				return c.mistake("%v", err)
			}
			announced = true
		default:
		}
	}
	cancel()
	if listening { // a read of stdin cannot be interrupted: nothing waits for it
		if e := <-failed; err == nil {
			err = e
		}
	}
	switch {
	case announced:
		return c.code(true)
	case ctx.Err() != nil:
		c.print("interrupted", "not detected so far")
		return exitIncomplete
	case err != nil && !errors.Is(err, context.Canceled):
		return c.mistake("%v", err)
	}
	holds, err := c.s.End()
	if err != nil {
		return c.mistake("%v", err)
	}
	verdict := map[detect.Modality]string{detect.Poss: "possibly", detect.Def: "definitely"}[c.modality]
	answer := "no"
	if holds {
		answer = "yes"
	}
	c.print("end", verdict+": "+answer)
	return c.code(holds)
}

// code is the exit code for an answer.
func (c *monitorCommand) code(holds bool) int {
	if holds == (c.modality == detect.Poss) {
		return exitAlarm
	}
	return exitFine
}

// print prints the answer at the end, with the status.
func (c *monitorCommand) print(event, text string) {
	st := c.s.Status()
	if c.json {
		c.encode(map[string]any{"event": event, "answer": text, "status": st})
		return
	}
	fmt.Fprintf(c.stdout, "%s\n%d events, at most %d local states and branches in memory\n", text, st.Events, st.PeakKept)
}

func (c *monitorCommand) encode(x any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(x)
}

// announce prints the detection.
func (c *monitorCommand) announce() error {
	st := c.s.Status()
	d := st.Detected
	if c.json {
		return c.encode(map[string]any{"event": "detected", "predicate": c.predicate, "detection": d, "status": st})
	}
	if c.modality == detect.Def {
		_, err := fmt.Fprintf(c.stdout, "definitely: yes, after %d events\n", d.Events)
		return err
	}
	out := &strings.Builder{}
	fmt.Fprintf(out, "possibly: yes, after %d events\n", d.Events)
	names := make([]string, 0, len(d.Cut))
	for h := range d.Cut {
		names = append(names, h)
	}
	sort.Strings(names)
	for _, h := range names {
		fmt.Fprintf(out, "  %s after %d events", h, d.Cut[h])
		vars := make([]string, 0, len(d.Where[h]))
		for v, x := range d.Where[h] {
			vars = append(vars, fmt.Sprintf("%s=%v", v, x))
		}
		sort.Strings(vars)
		for _, v := range vars {
			fmt.Fprintf(out, "  %s", v)
		}
		if d.Texts[h] != "" {
			fmt.Fprintf(out, "  (%s)", d.Texts[h])
		}
		fmt.Fprintln(out)
	}
	_, err := io.WriteString(c.stdout, out.String())
	return err
}
