package detectcmd

import (
	"bufio"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/monitor"
	"cpor/detect/predicate"
	"cpor/internal/cliflag"

	"golang.org/x/sync/errgroup"
)

const monitorCodes = `
Exit codes: 0 not possible, definite, or the model can do it, 1 possible, not
definite, or the model cannot do it, 2 a mistake, 3 no answer (a limit or an
interruption).
`

const monitorUsage = `usage: cpor monitor -poss EXPR | -def EXPR | -model MODEL [flags]

Reads events as they happen, as JSON lines or in the layouts of ShiViz, from
standard input or from clients: those of a host in order, those of different hosts
in any order. It reports as soon as it is certain that the system could have passed
(-poss), or must have passed (-def), through a global state that satisfies the
predicate. For example

	tail -f run.jsonl | cpor monitor -poss 'exists i < j: i.crit && j.crit' -hosts p1,p2,p3
	cpor monitor -poss 'p1.x > p2.y' -tcp 127.0.0.1:7700 -journal run.journal

With -model, it reports as soon as it is certain that the model cannot do what the
events show, as "cpor conform" does for a log that is complete:

	tail -f run.jsonl | cpor monitor -model lock.model

A TCP client sends events, and is answered "ok LINE" when everything up to that
line is safe; an HTTP client posts them to /events, and finds /status. An event
that contradicts an earlier one is refused to its sender. With -journal, what was
acknowledged survives a restart; FILE.lock beside it keeps a second monitor away.

Anyone who can connect can send events, so it listens on the loopback interface
only. With -public it listens on any address and needs -token-file, whose content
clients must know: a TCP client sends "token TOKEN" as its first line, an HTTP
client the header "Authorization: Bearer TOKEN". Nothing is encrypted unless
-tls-cert and -tls-key are given.

When -max-states or -max-memory is reached, the monitor reports it, takes no more
events and ends with exit code 3. Started again with a higher limit and the same
journal, it continues. With -model, it first forgets the executions that are furthest
behind. It can then still find that the model can do what the events show, but no
longer that it cannot.
`

// Monitor is `cpor monitor`; args are those after the name. It returns the exit
// code. The model is what -model loads.
func Monitor(ctx context.Context, model Model, args []string, stdin io.Reader, stdout,
	stderr io.Writer) int {
	f := newMonitorFlags(stderr, model)
	rest, code, ok := f.parse(args, monitorUsage, monitorCodes, stdout)
	if !ok {
		return code
	}
	if len(rest) > 0 {
		return f.mistake("unexpected argument %s: events come from stdin or from clients", rest[0])
	}
	if err := f.check(); err != nil {
		return f.mistake("%v", err)
	}
	cfg, opt, err := f.config()
	if err == nil && f.model != "" {
		err = f.modelConfig(ctx, model, &cfg)
	}
	if err != nil {
		return f.mistake("%v", err)
	}
	c := &monitorCommand{flagSet: f.flagSet, stdout: stdout, json: f.json, keep: f.keep,
		predicate: f.text(), modality: cfg.Modality}
	if f.model != "" {
		c.model = model
	}
	c.server = &monitor.Server{MaxConnections: f.conns, Idle: f.idle, Log: c.log, Names: f.names}
	if err := f.secure(c); err != nil {
		return f.mistake("%v", err)
	}
	// The sockets come first: who cannot have them has touched nothing.
	listeners := map[string]net.Listener{}
	defer func() {
		for _, l := range listeners {
			l.Close()
		}
	}()
	for kind, addr := range map[string]string{"tcp": f.tcp, "http": f.http} {
		if addr == "" {
			continue
		}
		l, err := listen(addr, f.public)
		if err != nil {
			return f.mistake("-%s: %v", kind, err)
		}
		listeners[kind] = l
	}
	defer collectLater(cfg.MaxBytes)()
	s, err := monitor.NewService(cfg, f.journal, int64(f.limit), opt)
	if err != nil {
		return f.mistake("%v", err)
	}
	defer s.Close()
	c.s, c.server.Service = s, s
	if d := s.Damage(); d != nil {
		c.log("journal %s: %v", f.journal, d)
	}
	return c.run(ctx, stdin, listeners["tcp"], listeners["http"])
}

// monitorFlags is the flags of `cpor monitor`.
type monitorFlags struct {
	*flagSet
	poss, def, model       string
	onlyModel              []string // flags that need -model
	hosts, names           cliflag.List
	tcp, http              string
	journal                string
	limit                  cliflag.Size
	keep, json, public     bool
	maxKept, conns         int
	idle                   time.Duration
	token, tlsCert, tlsKey string
	memory                 cliflag.Size
	format, assign         string
}

func newMonitorFlags(stderr io.Writer, model Model) *monitorFlags {
	f := &monitorFlags{flagSet: newFlagSet("monitor", stderr), memory: 1 << 30,
		limit: monitor.DefaultLimit}
	f.StringVar(&f.poss, "poss", "", "the `predicate` that could hold")
	f.StringVar(&f.def, "def", "", "the `predicate` that must hold")
	if model != nil {
		f.StringVar(&f.model, "model", "", "the `MODEL` that must be able to do what the events "+
			"show, see cpor conform")
		f.onlyModel = model.Define(f.Set)
	}
	f.StringVar(&f.tcp, "tcp", "", "listen for clients on this `address`")
	f.StringVar(&f.http, "http", "", "serve HTTP on this `address`")
	f.StringVar(&f.journal, "journal", "", "keep the events in `FILE`, and continue from there")
	f.BoolVar(&f.keep, "keep", false, "continue after the detection")
	f.IntVar(&f.maxKept, "max-states", 0, "keep at most `n` local states and branches in memory")
	f.BoolVar(&f.public, "public", false,
		"listen on addresses beyond the loopback interface, too; needs -token-file")
	f.StringVar(&f.token, "token-file", "", "clients must know the first line of `FILE`, "+
		"at least 16 characters")
	f.StringVar(&f.tlsCert, "tls-cert", "", "serve TLS with the certificate in the PEM `FILE`")
	f.StringVar(&f.tlsKey, "tls-key", "", "the certificate's key, in this PEM `FILE`")
	f.IntVar(&f.conns, "max-connections", monitor.DefaultConnections,
		"serve at most `n` connections at a time")
	f.DurationVar(&f.idle, "idle-timeout", monitor.DefaultIdle,
		"close a connection that sends nothing for this `time`")
	f.StringVar(&f.format, "format", "",
		"the `format` of the events: shiviz or jsonl (default: detected)")
	f.StringVar(&f.assign, "assign", "", "finds the assignments in an event's text, see "+
		"cpor detect")
	f.BoolVar(&f.json, "json", false, "print JSON objects")
	f.Var(&f.hosts, "hosts", "all hosts, as a `list` with commas (default: those in the "+
		"predicate, the mapping, or in the first line {\"hosts\": [...]})")
	f.Var(&f.names, "server-names", "host names that HTTP clients may use for this server, as a "+
		"`list` with commas (default: localhost)")
	f.Var(&f.memory, "max-memory", "keep at most about this `size` in memory")
	f.Var(&f.limit, "journal-limit",
		"replace the journal by a checkpoint when it reaches this `size`")
	return f
}

// check refuses flags that need others, and values that are out of range.
func (f *monitorFlags) check() error {
	if f.tcp == "" && f.http == "" {
		for _, name := range []string{"public", "token-file", "tls-cert", "tls-key",
			"max-connections", "idle-timeout"} {
			if f.Given(name) {
				return fmt.Errorf("-%s needs -tcp or -http", name)
			}
		}
	}
	switch {
	case f.Given("server-names") && f.http == "":
		return errors.New("-server-names needs -http")
	case f.Given("journal-limit") && f.journal == "":
		return errors.New("-journal-limit needs -journal")
	case f.maxKept < 0 || f.conns <= 0 || f.idle <= 0:
		return errors.New("-max-states, -max-connections and -idle-timeout must be positive")
	case (f.tlsCert == "") != (f.tlsKey == ""):
		return errors.New("-tls-cert and -tls-key belong together")
	case f.public && f.token == "":
		return errors.New("-public needs -token-file, because anyone could send events")
	}
	return f.checkModel()
}

// text returns the predicate, or the name of the model.
func (f *monitorFlags) text() string {
	if f.model != "" {
		return f.model
	}
	if f.def != "" {
		return f.def
	}
	return f.poss
}

// config returns what is monitored, and how the events are read.
func (f *monitorFlags) config() (cfg monitor.Config, opt logs.Options, err error) {
	cfg = monitor.Config{MaxStates: f.maxKept, MaxBytes: int64(f.memory), Hosts: f.hosts}
	if f.def != "" {
		cfg.Modality = detect.Def
	}
	opt = logs.Options{Format: f.format}
	if f.format != "" && f.format != "shiviz" && f.format != "jsonl" {
		return cfg, opt, fmt.Errorf("-format %s: want shiviz or jsonl", f.format)
	}
	if opt.Assign, err = assignments(f.assign); err != nil {
		return cfg, opt, err
	}
	if f.model == "" {
		cfg.Predicate, err = predicate.Parse(f.text())
	}
	return cfg, opt, err
}

// assignments returns the regular expression of -assign; nil if it was not given.
func assignments(text string) (*regexp.Regexp, error) {
	if text == "" {
		return nil, nil
	}
	re, err := regexp.Compile(text)
	if err != nil || re.SubexpIndex("name") < 0 || re.SubexpIndex("value") < 0 {
		return nil, fmt.Errorf("-assign %s: want a regular expression with groups (?<name>...) "+
			"and (?<value>...)", text)
	}
	return re, nil
}

// secure gives the server its token and its certificate.
func (f *monitorFlags) secure(c *monitorCommand) (err error) {
	if f.token != "" {
		if c.server.Token, err = readToken(f.token); err != nil {
			return fmt.Errorf("-token-file: %v", err)
		}
	}
	if f.tlsCert != "" {
		cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return fmt.Errorf("-tls-cert: %v", err)
		}
		c.tls = &tls.Config{Certificates: []tls.Certificate{cert}}
	}
	return nil
}

// collectLater makes the garbage collector run less often while little memory is
// in use: with little to keep and much to decode, it takes a quarter of the time
// otherwise. It returns how to undo it, and leaves what the environment says.
func collectLater(maxBytes int64) (undo func()) {
	if os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent := debug.SetGCPercent(400)
	limit := debug.SetMemoryLimit(2*maxBytes + 256<<20)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// minToken is the least length of a token.
const minToken = 16

func readToken(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(data), "\n")
	token := strings.TrimSpace(line)
	if len(token) < minToken || strings.ContainsAny(token, " \t") {
		return "", fmt.Errorf("%s: the first line must be one word of at least %d characters", path,
			minToken)
	}
	return token, nil
}

// listen listens on the address, which has to be one of the loopback interface
// unless public is set.
func listen(addr string, public bool) (net.Listener, error) {
	resolved, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, err
	}
	if !public && !resolved.IP.IsLoopback() {
		return nil, fmt.Errorf("%s is not on the loopback interface: anyone who reaches it could "+
			"send events; use 127.0.0.1:%d, or -public with -token-file", addr, resolved.Port)
	}
	return net.ListenTCP("tcp", resolved)
}

type monitorCommand struct {
	*flagSet
	s          *monitor.Service
	server     *monitor.Server
	tls        *tls.Config
	logMu      sync.Mutex
	stdout     io.Writer
	json, keep bool
	predicate  string
	modality   detect.Modality
	model      Model // nil without -model
}

// run feeds the service until the input ends, the predicate is detected or ctx
// ends.
func (c *monitorCommand) run(ctx context.Context, stdin io.Reader, tcp,
	httpListener net.Listener) int {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	g, gctx := errgroup.WithContext(inner)
	listening := tcp != nil || httpListener != nil
	c.serve(gctx, g, tcp, httpListener)
	ended := make(chan struct{})
	if !listening {
		g.Go(func() error {
			err := c.s.Stream(gctx, bufio.NewReaderSize(stdin, 256<<10), nil)
			if err == nil {
				close(ended)
				return nil
			}
			return fmt.Errorf("stdin, %w", err)
		})
	}
	failed := make(chan error, 1)
	go func() { failed <- g.Wait() }()
	announced, announceErr, err := c.wait(ctx, ended, failed)
	if announceErr != nil {
		return c.mistake("%v", announceErr)
	}
	cancel()
	if listening { // a read of stdin cannot be interrupted: nothing waits for it
		if e := <-failed; err == nil {
			err = e
		}
	}
	return c.result(ctx, announced, err)
}

// serve serves the clients of the listeners that are not nil.
func (c *monitorCommand) serve(ctx context.Context, g *errgroup.Group, tcp,
	httpListener net.Listener) {
	scheme := "http://"
	if c.tls != nil {
		scheme = "https://"
	}
	for _, s := range []struct {
		l      net.Listener
		prefix string
		serve  func(context.Context, net.Listener) error
	}{{tcp, "tcp ", c.server.ServeTCP}, {httpListener, scheme, c.server.ServeHTTP}} {
		if s.l == nil {
			continue
		}
		c.log("listening on %s%v", s.prefix, s.l.Addr())
		if c.tls != nil {
			s.l = tls.NewListener(s.l, c.tls)
		}
		g.Go(func() error { return s.serve(ctx, s.l) })
	}
}

// wait waits until the service has come to its end, and announces a detection. err is what failed;
// it is in failed afterwards, too.
func (c *monitorCommand) wait(ctx context.Context, ended <-chan struct{}, failed chan error) (
	announced bool, announceErr, err error) {
	detected := c.s.Detected()
	for done := false; !done; {
		select {
		case <-detected:
			if err := c.announce(); err != nil {
				return false, err, nil
			}
			announced, detected, done = true, nil, !c.keep
		case <-ended:
			done = true
		case <-c.s.Stopped():
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
				return false, err, nil
			}
			announced = true
		default:
		}
	}
	return announced, nil, err
}

// result prints how the service has come to its end, and returns the exit code.
func (c *monitorCommand) result(ctx context.Context, announced bool, err error) int {
	stopped := c.s.Err()
	switch {
	case announced && (stopped == nil || !c.keep):
		return c.code(true)
	case errors.Is(stopped, monitor.ErrFull):
		switch {
		case announced:
		case c.model != nil:
			c.print("full", "no answer: "+cmp.Or(c.model.Why(),
				"the model can do what has arrived so far"))
		default:
			c.print("full", "not detected so far")
		}
		c.mistake("%v; start again with a higher -max-states or -max-memory", stopped)
		if announced {
			return c.code(true)
		}
		return exitIncomplete
	case stopped != nil:
		c.mistake("%v", stopped)
		return exitIncomplete
	case ctx.Err() != nil && c.model != nil:
		c.print("interrupted", "not refused so far")
		return exitIncomplete
	case ctx.Err() != nil:
		c.print("interrupted", "not detected so far")
		return exitIncomplete
	case err != nil && !errors.Is(err, context.Canceled):
		return c.mistake("%v", err)
	case c.model != nil:
		return c.endModel()
	}
	holds, unassigned, err := c.s.End()
	if err != nil {
		return c.mistake("%v", err)
	}
	for _, v := range slices.Sorted(maps.Keys(unassigned)) {
		c.log("note: %s", undefinedOn(v, unassigned[v]))
	}
	verdict := map[detect.Modality]string{detect.Poss: "possibly",
		detect.Def: "definitely"}[c.modality]
	answer := "no"
	if holds {
		answer = "yes"
	}
	c.print("end", verdict+": "+answer)
	return c.code(holds)
}

// log tells the operator something.
func (c *monitorCommand) log(format string, args ...any) {
	c.logMu.Lock()
	defer c.logMu.Unlock()
	fmt.Fprintf(c.stderr, format+"\n", args...)
}

// code is the exit code for an answer.
func (c *monitorCommand) code(holds bool) int {
	if c.model != nil {
		return exitAlarm // the events were refused
	}
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
	fmt.Fprintf(c.stdout, "%s\n%d events, at most %d local states and branches in memory\n", text,
		st.Events, st.PeakKept)
}

func (c *monitorCommand) encode(x any) error {
	enc := json.NewEncoder(c.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(x)
}

// announce prints the detection.
func (c *monitorCommand) announce() error {
	if c.model != nil {
		return c.announceModel()
	}
	st := c.s.Status()
	d := st.Detected
	if c.json {
		return c.encode(map[string]any{"event": "detected", "predicate": c.predicate,
			"detection": d, "status": st})
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
