// Package stamp stamps the events of a running program with vector clocks, so that its logs tell
// cpor detect and cpor monitor which events depended on each other.
//
// Each process has a Process and a log. It tells the Process what it assigns, sends and receives:
//
//	p, err := stamp.New("node1", file, stamp.Options{})
//	...
//	http.Handle("/lock", p.Handler(lock))
//	client := &http.Client{Transport: p.Transport(nil)}
//	...
//	p.Set("crit", true)
//
// Then cpor detect -poss 'exists i < j: i.crit && j.crit' *.log says whether two processes could
// have been in their critical sections at once. Program loopback is a complete example.
//
// The package imports nothing but the standard library, and no other package of cpor.
//
// # gRPC
//
// Inject and Extract put a clock into metadata and take it out. Metadata of gRPC is a map of the
// same type, so that interceptors are short:
//
//	func client(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn,
//		invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
//		md, _ := metadata.FromOutgoingContext(ctx)
//		md = md.Copy()
//		p.Inject(md, "call "+method)
//		var header metadata.MD
//		err := invoke(metadata.NewOutgoingContext(ctx, md), method, req, reply, cc,
//			append(opts, grpc.Header(&header))...)
//		return errors.Join(err, p.Extract(header, "reply of "+method))
//	}
//
//	func server(ctx context.Context, req any, info *grpc.UnaryServerInfo,
//		handle grpc.UnaryHandler) (any, error) {
//		md, _ := metadata.FromIncomingContext(ctx)
//		if err := p.Extract(md, "serve "+info.FullMethod); err != nil {
//			return nil, err
//		}
//		reply, err := handle(ctx, req)
//		header := metadata.MD{}
//		p.Inject(header, "reply to "+info.FullMethod)
//		return reply, errors.Join(err, grpc.SetHeader(ctx, header))
//	}
//
// # Clocks
//
// A clock counts, for each process, its events that happened before. By default, all events are
// counted: assignments, sends, receives and those of Event. With Options.Weak, clocks are weak
// vector clocks (Marzullo and Neiger 1991; Stoller, Unnikrishnan and Liu 2000, section 8): only
// assignments of another value are events. Logs are then shorter, and cpor detect gives the same
// answers.
//
// Why that is enough: Poss and Def are about the orders of the assignments that happened-before
// allows, because only these change the values of variables. Let an assignment a happen before an
// assignment b of another process. Then messages lead from a to b, each sent after the one before
// was received. Each carries a's entry, because a message carries all that its sender knows, and a
// receive takes over the greater of both entries. So b's clock has a's entry. The paper counts
// also receives that bring news, because its local states have the clocks; here only events have,
// and the next one of the process has the news in its clock.
package stamp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Key is the name of the header, or of the metadata, that carries a clock.
const Key = "cpor-clock"

// Format is a format of logs.
type Format int

// The formats.
const (
	JSONLines Format = iota // {"host":"p1","clock":{"p1":1},"event":"text","vars":{"x":3}}
	ShiViz                  // two lines, as GoVector writes them
)

// Options say how events are stamped. The zero value is ready to use.
type Options struct {
	Format Format
	// Weak counts and logs only assignments of another value: see the package documentation.
	Weak bool
}

// Process stamps the events of one process. Its methods may be called from many goroutines at
// once. Goroutines of one process share its clock, so their events are in the order in which they
// call.
type Process struct {
	name string
	opt  Options

	mu    sync.Mutex
	w     io.Writer
	clock map[string]uint64
	vars  map[string]any
	err   error
}

// New returns a process with a name that no other one of the run has: letters, digits and . _ - :
// only. Its log goes to w, one write for each event.
func New(name string, w io.Writer, opt Options) (*Process, error) {
	if !named(name) {
		return nil, fmt.Errorf("stamp: the name %q of a process: only letters, digits and any of "+
			". _ - : are allowed", name)
	}
	return &Process{name: name, opt: opt, w: w, clock: map[string]uint64{},
		vars: map[string]any{}}, nil
}

// named reports whether a name can be in a header, and in all formats of logs.
func named(name string) bool {
	return name != "" && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') &&
			!strings.ContainsRune("._-:", c)
	})
}

// Err returns the first error of writing the log, or of a message without a readable clock that
// Transport or Handler received.
func (p *Process) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Event logs an event of the process alone. With Options.Weak it does nothing.
func (p *Process) Event(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick(text, nil, !p.opt.Weak)
}

// Set logs that a variable got a value: a bool, a number or a string. Names are letters, digits
// and _, and do not begin with a digit.
func (p *Process) Set(name string, value any) { p.SetAll(map[string]any{name: value}) }

// SetAll logs that several variables got values at once.
func (p *Process) SetAll(vars map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	changed := map[string]any{}
	for name, v := range vars {
		if old, ok := p.vars[name]; !ok || !reflect.DeepEqual(old, v) {
			changed[name] = v
		}
	}
	maps.Copy(p.vars, changed)
	if p.opt.Weak {
		vars = changed
	}
	p.tick("set "+strings.Join(slices.Sorted(maps.Keys(vars)), ", "), vars,
		!p.opt.Weak || len(changed) > 0)
}

// Send logs that a message is sent (not with Options.Weak), and returns the clock that it has to
// carry.
func (p *Process) Send(text string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick(text, nil, !p.opt.Weak)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(p.clock)) {
		if p.clock[name] == 0 {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(name + "=" + strconv.FormatUint(p.clock[name], 10))
	}
	return b.String()
}

// Receive logs that a message with this clock was received (with Options.Weak it only takes over
// the clock). An error says why the clock cannot be read; then nothing is logged.
func (p *Process) Receive(text, clock string) error {
	got, err := parse(clock)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if got[p.name] > p.clock[p.name] {
		return fmt.Errorf("stamp: a message knows %d events of %s, which had only %d: two "+
			"processes have this name, or it was started again", got[p.name], p.name,
			p.clock[p.name])
	}
	for name, n := range got {
		p.clock[name] = max(p.clock[name], n)
	}
	p.tick(text, nil, !p.opt.Weak)
	return nil
}

// parse reads what Send returns.
func parse(clock string) (map[string]uint64, error) {
	got := map[string]uint64{}
	for part := range strings.SplitSeq(clock, ",") {
		if part == "" && clock == "" {
			break // its sender has no events in its clock
		}
		name, text, _ := strings.Cut(part, "=")
		n, err := strconv.ParseUint(text, 10, 63)
		if _, twice := got[name]; err != nil || n == 0 || !named(name) || twice {
			return nil, fmt.Errorf("stamp: %q is not a clock: want process=number,process=number",
				clock)
		}
		got[name] = n
	}
	return got, nil
}

// tick counts and logs an event, if it is one. The lock is held.
func (p *Process) tick(text string, vars map[string]any, is bool) {
	if !is {
		return
	}
	p.clock[p.name]++
	line, err := p.line(text, vars)
	if err == nil {
		_, err = p.w.Write(line)
	}
	if err != nil && p.err == nil {
		p.err = fmt.Errorf("stamp: the log of %s: %w", p.name, err)
	}
}

// line returns an event as it is in the log.
func (p *Process) line(text string, vars map[string]any) ([]byte, error) {
	clock, err := json.Marshal(p.clock)
	if err != nil {
		return nil, err
	}
	if p.opt.Format == JSONLines {
		b, err := json.Marshal(struct {
			Host  string          `json:"host"`
			Clock json.RawMessage `json:"clock"`
			Event string          `json:"event"`
			Vars  map[string]any  `json:"vars,omitempty"`
		}{p.name, clock, text, vars})
		return append(b, '\n'), err
	}
	// A text assigns variables by name=value and JSON objects: here only the object does.
	text = strings.NewReplacer("\n", " ", "\r", " ", "=", ":", "{", "(", "}", ")").Replace(text)
	if len(vars) > 0 {
		b, err := json.Marshal(vars)
		if err != nil {
			return nil, err
		}
		text += " " + string(b)
	}
	return fmt.Appendf(nil, "%s %s\n%s\n", p.name, clock, text), nil
}

// Inject logs that a message is sent, and adds its clock to the message's metadata: those of gRPC,
// or a header of net/http.
func (p *Process) Inject(md map[string][]string, text string) {
	for k := range md {
		if strings.EqualFold(k, Key) {
			delete(md, k)
		}
	}
	md[Key] = []string{p.Send(text)}
}

// Extract logs that a message with these metadata was received. A message without a clock is an
// error.
func (p *Process) Extract(md map[string][]string, text string) error {
	for k, v := range md {
		if strings.EqualFold(k, Key) && len(v) == 1 {
			return p.Receive(text, v[0])
		}
	}
	return errNoClock
}

var errNoClock = errors.New("stamp: a message has no clock; its sender does not stamp")

// note keeps an error of a message for Err.
func (p *Process) note(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		p.err = err
	}
}
