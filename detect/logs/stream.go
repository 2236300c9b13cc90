package logs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"cpor/detect/computation"
)

// Record is an event, or a declaration, as a Decoder returns it.
type Record struct {
	Line int

	Host  string // "" for a declaration
	Clock map[string]int32
	Vars  map[string]computation.Value
	Text  string

	Hosts []string
	Init  map[string]map[string]computation.Value
}

// MaxLine bounds the length of a line that a Decoder reads.
const MaxLine = 16 << 20

// Decoder reads a log as it is written: JSON lines, or one of the two default
// layouts of ShiViz. A header line with a regular expression is skipped.
type Decoder struct {
	opt    Options
	s      *bufio.Scanner
	line   int
	format string // "", "jsonl", "govector" or "shiviz"
	order  []string

	names  *computation.Builder // only for the numbers of the hosts
	scan   clockScanner
	assign assignments
	cur    *Record
	fast   fastLine
}

// NewDecoder returns a decoder; of the options it uses Format and Assign.
func NewDecoder(r io.Reader, opt Options) *Decoder {
	d := &Decoder{opt: opt, s: bufio.NewScanner(r)}
	d.s.Buffer(make([]byte, 64<<10), MaxLine)
	d.names = computation.NewBuilder("")
	d.scan.b = d.names
	d.assign.opt = &d.opt
	d.assign.set = func(name []byte, v computation.Value) { d.cur.Vars[string(name)] = v }
	if opt.Format == "jsonl" {
		d.format = "jsonl"
	}
	return d
}

// next returns the next line that is not empty.
func (d *Decoder) next() ([]byte, error) {
	for d.s.Scan() {
		d.line++
		if text := bytes.TrimSpace(d.s.Bytes()); len(text) > 0 {
			return text, nil
		}
	}
	if err := d.s.Err(); err != nil {
		return nil, fmt.Errorf("line %d: %w", d.line+1, err)
	}
	return nil, io.EOF
}

// Next returns the next record; io.EOF at the end. After another error, which
// names the line, the decoder can go on with the next record unless reading
// itself failed.
func (d *Decoder) Next() (*Record, error) {
	text, err := d.next()
	if err != nil {
		return nil, err
	}
	line := d.line
	fail := func(err error) (*Record, error) { return nil, fmt.Errorf("line %d: %w", line, err) }
	if d.format == "" && isHeader(text) {
		if text, err = d.next(); err != nil {
			return nil, err
		}
		line = d.line
	}
	if d.format == "" || d.format == "jsonl" {
		if text[0] == '{' {
			d.format = "jsonl"
		}
	}
	if d.format == "jsonl" {
		r, err := d.jsonLine(text)
		if err != nil {
			return fail(err)
		}
		r.Line = line
		return r, nil
	}
	first := bytes.Clone(text)
	second, err := d.next()
	if err == io.EOF {
		return fail(fmt.Errorf("the second line of the event is missing"))
	}
	if err != nil {
		return nil, err
	}
	if d.format == "" {
		switch {
		case isClockLine(first):
			d.format = "govector"
		case isClockLine(second):
			d.format = "shiviz"
		default:
			return fail(fmt.Errorf("neither JSON nor an event with a host and its clock: %s", shorten(first)))
		}
	}
	clock, event := first, second
	if d.format == "shiviz" {
		clock, event = second, first
	}
	if !isClockLine(clock) {
		return fail(fmt.Errorf("expected a host and its clock, found %s", shorten(clock)))
	}
	i := bytes.IndexByte(clock, ' ')
	if err := d.scan.scan(clock[i+1:]); err != nil {
		return fail(err)
	}
	r := d.record(line)
	r.Host, r.Text = string(clock[:i]), string(event)
	d.assign.find(event)
	return r, nil
}

// record returns a new record with the clock that was scanned.
func (d *Decoder) record(line int) *Record {
	r := &Record{Line: line, Clock: make(map[string]int32, len(d.scan.hosts)), Vars: map[string]computation.Value{}}
	for k, id := range d.scan.hosts {
		r.Clock[d.names.HostName(id)] = d.scan.vals[k]
	}
	d.cur = r
	return r
}

func (d *Decoder) jsonLine(text []byte) (*Record, error) {
	if d.fast.parse(text) {
		if err := d.scan.scan(d.fast.clock); err != nil {
			return nil, err
		}
		r := d.record(d.line)
		r.Host, r.Text = string(d.fast.host), string(d.fast.event)
		if d.fast.vars != nil {
			if err := d.assign.vars("", d.fast.vars); err != nil {
				return nil, err
			}
		}
		return r, nil
	}
	l, err := ParseLine(text)
	if err != nil {
		return nil, err
	}
	r := &Record{Host: l.Host, Text: l.Event, Hosts: l.Hosts, Vars: map[string]computation.Value{}}
	if l.Hosts != nil {
		d.order = l.Hosts
	}
	for h, vars := range l.Init {
		if r.Init == nil {
			r.Init = map[string]map[string]computation.Value{}
		}
		r.Init[h] = map[string]computation.Value{}
		flattened("", vars, func(name string, v computation.Value) { r.Init[h][name] = v })
	}
	if l.Host == "" {
		return r, nil
	}
	flattened("", l.Vars, func(name string, v computation.Value) { r.Vars[name] = v })
	clock := bytes.TrimSpace(l.Clock)
	if len(clock) > 0 && clock[0] == '[' {
		var array []int32
		if err := json.Unmarshal(clock, &array); err != nil || len(array) != len(d.order) {
			return nil, fmt.Errorf("the clock is no array of %d counts: %s", len(d.order), shorten(clock))
		}
		r.Clock = map[string]int32{}
		for i, x := range array {
			r.Clock[d.order[i]] = x
		}
		return r, nil
	}
	if err := d.scan.scan(clock); err != nil {
		return nil, err
	}
	r.Clock = d.record(d.line).Clock
	return r, nil
}
