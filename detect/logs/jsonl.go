package logs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"cpor/detect/computation"
)

// Line is one line of a JSON-lines log: an event, or a declaration.
type Line struct {
	Host  string          `json:"host,omitempty"`
	Clock json.RawMessage `json:"clock,omitempty"`
	Event string          `json:"event,omitempty"`
	Vars  map[string]any  `json:"vars,omitempty"`

	Hosts []string                  `json:"hosts,omitempty"`
	Init  map[string]map[string]any `json:"init,omitempty"`
	Trace *string                   `json:"trace,omitempty"`
}

// hint shows what a line looks like, if it has an unknown field.
func hint(err error) string {
	if !strings.Contains(err.Error(), "unknown field") {
		return ""
	}
	return `; an event is {"host": "a", "clock": {"a": 1}, "event": "text", "vars": {"x": 1}}`
}

// ParseLine reads a line of a JSON-lines log.
func ParseLine(text []byte) (*Line, error) {
	var l Line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return nil, fmt.Errorf("not a line of a log: %s%s", strings.TrimPrefix(err.Error(),
			"json: "), hint(err))
	}
	if end := skipSpace(text, int(dec.InputOffset())); end != len(text) {
		return nil, fmt.Errorf("unexpected text after the object: %s", shorten(text[end:]))
	}
	if l.Host == "" && l.Hosts == nil && l.Init == nil && l.Trace == nil {
		return nil, fmt.Errorf("neither an event with a host nor a declaration: %s", shorten(text))
	}
	return &l, nil
}

// readJSONLines reads a JSON-lines log.
func readJSONLines(b *builders, data []byte) error {
	r := newEventReader(b)
	var order []int // the hosts of clocks that are arrays
	var array []int32
	var fast fastLine
	for line := 1; len(data) > 0; line++ {
		var text []byte
		text, data = cutLine(data)
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		// Nearly every line is an event without surprises.
		if fast.parse(text, &r.clock) {
			r.twice(line)
			x := b.builder()
			x.Event(x.HostBytes(fast.host), line)
			r.clock.entries()
			x.Text(fast.event)
			if err := r.assign.assignVars(&fast); err != nil {
				b.issues.add(b.source, line, "%v", err)
			}
			continue
		}
		l, err := ParseLine(text)
		if err != nil {
			b.lost(line, "%v", err)
			if !b.opt.Lenient && b.issues.list.Len() > computation.MaxIssues {
				return nil
			}
			continue
		}
		if l.Trace != nil {
			b.start(*l.Trace, line)
			r.reset()
			order = nil
		}
		x := b.builder()
		if l.Hosts != nil {
			order = nil
			for _, h := range l.Hosts {
				id := x.Host(h)
				x.Declare(id)
				order = append(order, id)
			}
		}
		for h, vars := range l.Init {
			id := x.Host(h)
			x.Declare(id)
			flattened("", vars, func(name string, v computation.Value) {
				x.Init(id, x.Name(name), v, line)
			})
		}
		if l.Host == "" {
			continue
		}
		clock := bytes.TrimSpace(l.Clock)
		if len(clock) > 0 && clock[0] == '[' {
			if err := json.Unmarshal(clock, &array); err != nil {
				b.lost(line, "the clock is not an array of counts: %s", shorten(clock))
				continue
			}
			if len(array) != len(order) {
				b.lost(line, "the clock has %d entries for the %d declared hosts", len(array),
					len(order))
				continue
			}
			x.Event(x.Host(l.Host), line)
			for k, id := range order {
				x.Entry(id, array[k])
			}
		} else {
			if err := r.clock.scan(clock); err != nil {
				b.lost(line, "%v", err)
				continue
			}
			r.twice(line)
			x.Event(x.Host(l.Host), line)
			r.clock.entries()
		}
		x.Text([]byte(l.Event))
		flattened("", l.Vars, func(name string, v computation.Value) { x.Assign(x.Name(name), v) })
	}
	return nil
}

// flattened calls f for each variable; the members of an object become separate variables.
func flattened(prefix string, vars map[string]any, f func(name string, v computation.Value)) {
	for name, x := range vars {
		if obj, ok := x.(map[string]any); ok {
			flattened(prefix+name+".", obj, f)
			continue
		}
		if v, err := computation.FromJSON(x); err == nil {
			f(prefix+name, v)
		}
	}
}
