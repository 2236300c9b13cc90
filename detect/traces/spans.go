package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"cpor/detect/computation"
)

// spans collects the spans of a recording.
type spans struct {
	processes []*process
	byKey     map[string]*process
	list      []*span
}

// process is one that has spans.
type process struct {
	key      string
	service  string
	instance string
	host     int
}

// span is a span of either format.
type span struct {
	id         string // trace and span
	process    *process
	name       string
	start, end int64 // end is 0 if it has none
	parents    []string
	vars       []variable
	events     []spanEvent
}

type spanEvent struct {
	time int64
	name string
	vars []variable
}

func newSpans() *spans { return &spans{byKey: map[string]*process{}} }

func (s *spans) process(key, service, instance string) *process {
	p := s.byKey[key]
	if p == nil {
		p = &process{key: key, service: service, instance: instance}
		s.byKey[key] = p
		s.processes = append(s.processes, p)
	}
	return p
}

// build makes the events of the spans and gives them to the builder; the notes
// say what was left out.
func (s *spans) build(b *computation.Builder) (notes []string, err error) {
	if len(s.list) == 0 {
		return nil, errors.New("the recording has no spans")
	}
	g := newGraph()
	services := map[string]int{}
	for _, p := range s.processes {
		services[p.service]++
	}
	for k, p := range s.processes {
		host := p.service
		if services[p.service] > 1 {
			if host += "@" + p.instance; p.instance == "" {
				host += strconv.Itoa(k + 1)
			}
		}
		if _, twice := g.hostID[host]; twice {
			host += "#" + strconv.Itoa(k+1)
		}
		p.host = g.host(host)
	}
	start := map[string]int{}
	for _, x := range s.list {
		if _, twice := start[x.id]; twice {
			return nil, fmt.Errorf("span %s (%s) appears twice", x.id, x.name)
		}
		if x.end != 0 && x.end < x.start {
			return nil, fmt.Errorf("span %s (%s) ends before it starts", x.id, x.name)
		}
		start[x.id] = g.add(x.process.host, x.start, "start "+x.name, x.vars...)
		for _, e := range x.events {
			g.add(x.process.host, e.time, e.name, e.vars...)
		}
		if x.end != 0 {
			g.add(x.process.host, x.end, "end "+x.name)
		}
	}
	missing, first := 0, ""
	for _, x := range s.list {
		for _, p := range x.parents {
			at, ok := start[p]
			if !ok {
				if missing++; missing == 1 {
					first = fmt.Sprintf("%s of span %s (%s)", p, x.id, x.name)
				}
				continue
			}
			e := &g.events[start[x.id]]
			e.before = append(e.before, at)
		}
	}
	if missing > 0 {
		notes = append(notes,
			fmt.Sprintf("%d parents and links are not in the recording, and nothing is known of "+
				"their order; the first is %s", missing, first))
	}
	if skewed := g.agree(); skewed > 0 {
		notes = append(notes,
			fmt.Sprintf("%d spans start, by the clock of their own process, before their parent "+
				"in it; their time was taken for the parent's", skewed))
	}
	s.counters(g)
	return notes, g.build(b)
}

// agree moves events to the time of an event of the same host that they depend
// on, if they have an earlier one: a process's clock may have been set back. It
// returns how many it moved.
func (g *graph) agree() (moved int) {
	for again := true; again; {
		again = false
		for x := range g.events {
			e := &g.events[x]
			for _, p := range e.before {
				if q := &g.events[p]; q.host == e.host && q.time > e.time {
					e.time = q.time
					again = true
					if moved++; moved > len(g.events) {
						return moved // a cycle, which build reports
					}
				}
			}
		}
	}
	return moved
}

// counters assigns the numbers of open spans.
func (s *spans) counters(g *graph) {
	for _, events := range g.order() {
		total := int64(0)
		open := map[string]int64{}
		for _, x := range events {
			e := &g.events[x]
			kind, what, _ := strings.Cut(e.text, " ")
			step := map[string]int64{"start": 1, "end": -1}[kind]
			if step == 0 {
				continue
			}
			total += step
			open[what] += step
			e.vars = append(e.vars, variable{"open", computation.IntValue(total)},
				variable{"open." + name(what), computation.IntValue(open[what])})
		}
	}
}

// number is a 64-bit number that JSON may have as a string.
type number int64

// UnmarshalJSON reads a number or a string.
func (n *number) UnmarshalJSON(text []byte) error {
	s := strings.Trim(string(text), `"`)
	if s == "" || s == "null" {
		return nil
	}
	v, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return fmt.Errorf("%s is not a time or count", text)
	}
	*n = number(v)
	return nil
}

type otlpValue struct {
	String *string  `json:"stringValue"`
	Bool   *bool    `json:"boolValue"`
	Int    *number  `json:"intValue"`
	Double *float64 `json:"doubleValue"`
	Array  *struct {
		Values []otlpValue `json:"values"`
	} `json:"arrayValue"`
}

func (v *otlpValue) value() computation.Value {
	switch {
	case v.String != nil:
		return computation.StringValue(*v.String)
	case v.Bool != nil:
		return computation.BoolValue(*v.Bool)
	case v.Int != nil:
		return computation.IntValue(int64(*v.Int))
	case v.Double != nil:
		return computation.FloatValue(*v.Double)
	case v.Array != nil:
		var elems []computation.Value
		for k := range v.Array.Values {
			elems = append(elems, v.Array.Values[k].value())
		}
		return computation.ListValue(elems)
	}
	return computation.Value{}
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

func otlpVars(attributes []otlpAttribute) []variable {
	var out []variable
	for k := range attributes {
		if v := attributes[k].Value.value(); v.Defined() {
			out = append(out, variable{name(attributes[k].Key), v})
		}
	}
	return out
}

type otlpSpan struct {
	TraceID    string          `json:"traceId"`
	SpanID     string          `json:"spanId"`
	ParentID   string          `json:"parentSpanId"`
	Name       string          `json:"name"`
	Start      number          `json:"startTimeUnixNano"`
	End        number          `json:"endTimeUnixNano"`
	Attributes []otlpAttribute `json:"attributes"`
	Events     []struct {
		Time       number          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes"`
	} `json:"events"`
	Links []struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
	} `json:"links"`
}

type otlpFile struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes []otlpAttribute `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Spans []otlpSpan `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// ReadOTLP reads OTLP traces as JSON, one object or several one after another,
// as the collector's file exporter writes them. The notes say what is missing.
func ReadOTLP(data []byte, b *computation.Builder) (notes []string, err error) {
	s := newSpans()
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		var f otlpFile
		if err := dec.Decode(&f); err == io.EOF {
			break
		} else if err != nil {
			return nil, place(data, dec, err)
		}
		for _, rs := range f.ResourceSpans {
			attributes := map[string]string{}
			for _, a := range rs.Resource.Attributes {
				v := a.Value.value()
				attributes[a.Key] = v.String()
				if v.Kind() == computation.String {
					attributes[a.Key] = v.Text()
				}
			}
			service := attributes["service.name"]
			if service == "" {
				service = "unknown_service"
			}
			instance := attributes["service.instance.id"]
			for _, k := range []string{"host.name", "process.pid"} {
				if instance == "" {
					instance = attributes[k]
				}
			}
			p := s.process(service+"\x00"+instance, service, instance)
			for _, ss := range rs.ScopeSpans {
				for _, x := range ss.Spans {
					if x.SpanID == "" || x.Start <= 0 {
						return nil, fmt.Errorf("a span (%q) has no spanId or no startTimeUnixNano",
							x.Name)
					}
					sp := &span{id: x.TraceID + ":" + x.SpanID, process: p, name: x.Name,
						start: int64(x.Start), end: int64(x.End), vars: otlpVars(x.Attributes)}
					if x.ParentID != "" {
						sp.parents = append(sp.parents, x.TraceID+":"+x.ParentID)
					}
					for _, l := range x.Links {
						sp.parents = append(sp.parents, l.TraceID+":"+l.SpanID)
					}
					for _, e := range x.Events {
						sp.events = append(sp.events, spanEvent{int64(e.Time), e.Name,
							otlpVars(e.Attributes)})
					}
					s.list = append(s.list, sp)
				}
			}
		}
	}
	return s.build(b)
}

type jaegerTag struct {
	Key   string `json:"key"`
	Value any    `json:"value"`
}

func jaegerVars(tags []jaegerTag) []variable {
	var out []variable
	for _, t := range tags {
		if v, err := computation.FromJSON(t.Value); err == nil && v.Defined() {
			out = append(out, variable{name(t.Key), v})
		}
	}
	return out
}

type jaegerFile struct {
	Data []struct {
		Spans []struct {
			TraceID    string `json:"traceID"`
			SpanID     string `json:"spanID"`
			ParentID   string `json:"parentSpanID"`
			Name       string `json:"operationName"`
			References []struct {
				TraceID string `json:"traceID"`
				SpanID  string `json:"spanID"`
			} `json:"references"`
			Start    number      `json:"startTime"`
			Duration number      `json:"duration"`
			Tags     []jaegerTag `json:"tags"`
			Logs     []struct {
				Time   number      `json:"timestamp"`
				Fields []jaegerTag `json:"fields"`
			} `json:"logs"`
			ProcessID string `json:"processID"`
		} `json:"spans"`
		Processes map[string]struct {
			Service string      `json:"serviceName"`
			Tags    []jaegerTag `json:"tags"`
		} `json:"processes"`
	} `json:"data"`
}

// ReadJaeger reads what Jaeger's interface and its API give as JSON. The notes
// say what is missing.
func ReadJaeger(data []byte, b *computation.Builder) (notes []string, err error) {
	s := newSpans()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var f jaegerFile
	if err := dec.Decode(&f); err != nil {
		return nil, place(data, dec, err)
	}
	for _, d := range f.Data {
		for _, x := range d.Spans {
			proc, ok := d.Processes[x.ProcessID]
			if !ok || x.SpanID == "" || x.Start <= 0 {
				return nil, fmt.Errorf("a span (%q) has no spanID, no startTime or no process %q",
					x.Name, x.ProcessID)
			}
			instance := ""
			for _, want := range []string{"client-uuid", "service.instance.id", "hostname",
				"host.name", "ip"} {
				for _, t := range proc.Tags {
					if v, ok := t.Value.(string); ok && t.Key == want && instance == "" {
						instance = v
					}
				}
			}
			sp := &span{id: x.TraceID + ":" + x.SpanID,
				process: s.process(proc.Service+"\x00"+instance, proc.Service, instance),
				name:    x.Name,
				start:   int64(x.Start), end: int64(x.Start + x.Duration), vars: jaegerVars(x.Tags)}
			if x.ParentID != "" {
				sp.parents = append(sp.parents, x.TraceID+":"+x.ParentID)
			}
			for _, ref := range x.References {
				if id := ref.TraceID + ":" + ref.SpanID; !slices.Contains(sp.parents, id) {
					sp.parents = append(sp.parents, id)
				}
			}
			for _, l := range x.Logs {
				e := spanEvent{int64(l.Time), "log", jaegerVars(l.Fields)}
				for _, v := range e.vars {
					if v.name == "event" || v.name == "message" {
						e.name = v.value.Text()
					}
				}
				sp.events = append(sp.events, e)
			}
			s.list = append(s.list, sp)
		}
	}
	return s.build(b)
}

// place puts the line in front of an error of the decoder.
func place(data []byte, dec *json.Decoder, err error) error {
	at := dec.InputOffset()
	if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
		at = syntax.Offset
	}
	if typed := (*json.UnmarshalTypeError)(nil); errors.As(err, &typed) {
		at = typed.Offset
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		at = int64(len(data))
	}
	at = min(at, int64(len(data)))
	return fmt.Errorf("line %d: %w", bytes.Count(data[:at], []byte("\n"))+1, err)
}
