package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"

	"cpor/detect/computation"
	"cpor/detect/logs"

	"github.com/cespare/xxhash/v2"
)

// Event is an event of a process as it arrives.
type Event struct {
	Host  string
	Clock map[string]int32 // its own entry is the event's number; missing entries are 0
	Vars  map[string]computation.Value
	Text  string
}

// event is an event of a host that is monitored, with its clock in the order of
// the hosts.
type event struct {
	host   int32
	own    int32
	clock  computation.Cut
	others []logs.Entry // entries of hosts that are not monitored
	vars   []logs.Var
	text   string
	sum    uint64 // of all its content: equal for equal events
	size   int    // bytes in memory, about
	mine   bool   // nobody will change the clock
}

// reader turns the records of one source into events. It remembers which host
// stood where in the last clock, as it will in the next.
type reader struct {
	m     *Monitor
	names []string
	index []int
	e     event // the last one
	clock computation.Cut
}

// event returns the event of a record, nil if its host is not monitored. It is
// good until the next call.
func (r *reader) event(rec *logs.Record) (*event, error) {
	i, ok := r.m.index[rec.Host]
	if !ok {
		return nil, nil
	}
	e := &r.e
	if len(r.clock) != len(r.m.hosts) {
		r.clock = make(computation.Cut, len(r.m.hosts))
	}
	clear(r.clock)
	*e = event{host: int32(i), clock: r.clock, others: e.others[:0], vars: rec.Vars, text: rec.Text}
	for k, en := range rec.Clock {
		if k >= len(r.names) {
			r.names, r.index = append(r.names, ""), append(r.index, -1)
		}
		if r.names[k] != en.Host || en.Host == "" {
			x, ok := r.m.index[en.Host]
			if !ok {
				x = -1
			}
			r.names[k], r.index[k] = en.Host, x
		}
		if err := e.entry(r.index[k], en); err != nil {
			return nil, err
		}
	}
	return e, e.finish(rec.Host)
}

// kept returns the event's clock for good.
func (e *event) kept() computation.Cut {
	if !e.mine {
		e.clock, e.mine = e.clock.Clone(), true
	}
	return e.clock
}

// clone returns the event for good.
func (e *event) clone() *event {
	x := *e
	x.kept()
	x.others, x.vars = slices.Clone(e.others), slices.Clone(e.vars)
	return &x
}

// fromEvent returns the event of the monitor, nil if its host is not monitored.
func (m *Monitor) fromEvent(x *Event) (*event, error) {
	i, ok := m.index[x.Host]
	if !ok {
		return nil, nil
	}
	e := &event{host: int32(i), clock: make(computation.Cut, len(m.hosts)), text: x.Text,
		mine: true}
	for h, n := range x.Clock {
		j, ok := m.index[h]
		if !ok {
			j = -1
		}
		if err := e.entry(j, logs.Entry{Host: h, Count: n}); err != nil {
			return nil, err
		}
	}
	for name, v := range x.Vars {
		e.vars = append(e.vars, logs.Var{Name: name, Value: v})
	}
	return e, e.finish(x.Host)
}

// entry sets an entry of the clock; j is the number of its host, -1 if that is
// not monitored.
func (e *event) entry(j int, en logs.Entry) error {
	if en.Count < 0 {
		return fmt.Errorf("the clock's entry for host %s is negative: %d", en.Host, en.Count)
	}
	if j >= 0 {
		e.clock[j] = en.Count
	} else if en.Count > 0 {
		e.others = append(e.others, en)
	}
	return nil
}

// finish sets what follows from the rest of the event.
func (e *event) finish(host string) error {
	e.own = e.clock[e.host]
	if e.own <= 0 {
		return fmt.Errorf("the clock has no entry for its own host %s", host)
	}
	if e.own == math.MaxInt32 {
		return fmt.Errorf("the clock's entry for host %s is too large: %d", host, e.own)
	}
	e.size = 160 + 4*len(e.clock) + len(e.text)
	var buf [128]byte
	b := buf[:0]
	for _, x := range e.clock {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	e.sum = xxhash.Sum64(b) + 3*xxhash.Sum64String(e.text)
	for _, en := range e.others { // in any order
		b = append(append(b[:0], 'c'), en.Host...)
		b = append(b, 0, byte(en.Count), byte(en.Count>>8), byte(en.Count>>16), byte(en.Count>>24))
		e.sum += xxhash.Sum64(b)
		e.size += 24 + len(en.Host)
	}
	for _, v := range e.vars {
		b = append(append(b[:0], 'v'), v.Name...)
		b = appendValue(append(b, 0), v.Value)
		e.sum += xxhash.Sum64(b)
		e.size += 96 + len(v.Name) + v.Value.Bytes()
	}
	return nil
}

// appendValue appends the value as JSON. Unlike the value's MarshalJSON it keeps
// an infinite number: as one that is too large.
func appendValue(b []byte, v computation.Value) []byte {
	switch v.Kind() {
	case computation.Bool:
		return strconv.AppendBool(b, v.IsTrue())
	case computation.Int:
		return strconv.AppendInt(b, v.Int(), 10)
	case computation.Float:
		switch x := v.Float(); {
		case math.IsInf(x, 1):
			return append(b, "1e999"...)
		case math.IsInf(x, -1):
			return append(b, "-1e999"...)
		}
	case computation.String:
		return appendString(b, v.Text())
	case computation.List, computation.Set:
		b = append(b, '[')
		for k, x := range v.Elems() {
			if k > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, x)
		}
		return append(b, ']')
	}
	text, err := v.MarshalJSON()
	if err != nil { // it has none for these kinds
		return append(b, "null"...)
	}
	return append(b, text...)
}

// appendString appends the string as JSON.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			text, err := json.Marshal(s)
			if err != nil { // a string has none
				text = []byte(`""`)
			}
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// appendEvent appends the event as JSON, as encoding/json writes an Event but
// for entries of zero: the journal is written as fast as events arrive.
func (m *Monitor) appendEvent(b []byte, e *event) []byte {
	b = append(b, `{"Host":`...)
	b = appendString(b, m.hosts[e.host].name)
	b = append(b, `,"Clock":{`...)
	sep := false
	entry := func(host string, n int32) {
		if sep {
			b = append(b, ',')
		}
		sep = true
		b = appendString(b, host)
		b = append(b, ':')
		b = strconv.AppendInt(b, int64(n), 10)
	}
	for j, x := range e.clock {
		if x != 0 {
			entry(m.hosts[j].name, x)
		}
	}
	for _, en := range e.others {
		entry(en.Host, en.Count)
	}
	b = append(b, `},"Vars":{`...)
	for k, v := range e.vars {
		if k > 0 {
			b = append(b, ',')
		}
		b = appendString(b, v.Name)
		b = append(b, ':')
		b = appendValue(b, v.Value)
	}
	b = append(b, `},"Text":`...)
	b = appendString(b, e.text)
	return append(b, '}')
}
