package logs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"cpor/detect/computation"
)

// Entry is an entry of a clock: how many events of the host are known.
type Entry struct {
	Host  string
	Count int32
}

// Var is a variable and the value that an event assigns to it.
type Var struct {
	Name  string
	Value computation.Value
}

// Record is an event, or a declaration, as a Decoder returns it.
type Record struct {
	Line int
	Size int // bytes that it took in the log

	Host  string  // "" for a declaration
	Clock []Entry // each host once
	Vars  []Var   // each name once, with its last value
	Text  string

	Hosts []string
	Init  map[string]map[string]computation.Value
}

// MaxLine bounds the length in bytes of a line that a Decoder reads.
const MaxLine = 1 << 20

// Decoder reads a log as it is written: JSON lines, or one of the two default
// layouts of ShiViz. A header line with a regular expression is skipped.
type Decoder struct {
	opt  Options
	s    *bufio.Scanner
	line int
	// unended is set when the last line had no end.
	unended bool
	format  string // "", "jsonl", "govector" or "shiviz"
	order   []string

	names   *computation.Builder // only for the numbers of the hosts
	scan    clockScanner
	assign  assignments
	cur     *Record
	fast    fastLine
	first   []byte
	interns map[string]string

	interned int      // bytes in interns, about
	records  []Record // room for several records, their clocks and variables
	entries  []Entry
	vars     []Var
	lastVars []string
}

// NewDecoder returns a decoder; of the options it uses Format, Assign
// and Ended.
func NewDecoder(r io.Reader, opt Options) *Decoder {
	d := &Decoder{opt: opt, s: bufio.NewScanner(r), interns: map[string]string{}}
	d.s.Buffer(make([]byte, 4<<10), MaxLine)
	d.s.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		d.unended = atEOF && len(data) > 0 && bytes.IndexByte(data, '\n') < 0
		return bufio.ScanLines(data, atEOF)
	})
	d.forget()
	d.assign.opt = &d.opt
	d.assign.set = d.set
	if opt.Format == "jsonl" {
		d.format = "jsonl"
	}
	return d
}

// maxNames bounds the bytes of the names of hosts, and of variables, that a
// decoder remembers.
const maxNames = 1 << 20

// forget makes room for other names of hosts.
func (d *Decoder) forget() {
	d.names = computation.NewBuilder("")
	d.scan = clockScanner{b: d.names}
}

// intern returns the name as a string; the same string for the same name.
func (d *Decoder) intern(name []byte) string {
	s, ok := d.interns[string(name)]
	if !ok {
		if d.interned += len(name) + 64; d.interned > maxNames {
			clear(d.interns)
			d.interned = 0
		}
		s = string(name)
		d.interns[s] = s
	}
	return s
}

// set assigns a variable in the current record.
func (d *Decoder) set(name []byte, v computation.Value) {
	for k := range d.cur.Vars {
		if d.cur.Vars[k].Name == string(name) {
			d.cur.Vars[k].Value = v
			return
		}
	}
	if len(d.cur.Vars) == cap(d.cur.Vars) && len(d.cur.Vars) > 0 {
		// It outgrows its room.
		d.cur.Vars = append(d.cur.Vars, Var{d.varName(name), v})
		return
	}
	if d.cur.Vars == nil {
		const room = 4
		if cap(d.vars)-len(d.vars) < room {
			d.vars = make([]Var, 0, 64*room)
		}
		n := len(d.vars)
		d.vars = d.vars[:n+room]
		d.cur.Vars = d.vars[n : n : n+room]
	}
	d.cur.Vars = append(d.cur.Vars, Var{d.varName(name), v})
}

// varName is intern for the next variable of the current record, which often has
// the name of the one in that place before.
func (d *Decoder) varName(name []byte) string {
	k := len(d.cur.Vars)
	if k < len(d.lastVars) && d.lastVars[k] == string(name) {
		return d.lastVars[k]
	}
	s := d.intern(name)
	if k < len(d.lastVars) {
		d.lastVars[k] = s
	} else if k == len(d.lastVars) && k < 64 {
		d.lastVars = append(d.lastVars, s)
	}
	return s
}

// next returns the next line, without blanks around it.
func (d *Decoder) next() ([]byte, error) {
	if d.s.Scan() {
		if err := d.s.Err(); err != nil {
			return nil, err // this may be half a line
		}
		text := d.s.Bytes()
		if d.line == 0 {
			text = bytes.TrimPrefix(text, byteOrderMark)
		}
		d.line++
		if !utf8.Valid(text) {
			text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
		}
		return bytes.TrimSpace(text), nil
	}
	if err := d.s.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: it has more than %d bytes", d.line+1, MaxLine)
	} else if err != nil {
		return nil, err
	}
	return nil, io.EOF
}

// nonEmpty returns the next line that is not empty.
func (d *Decoder) nonEmpty() ([]byte, error) {
	for {
		text, err := d.next()
		if err != nil || len(text) > 0 {
			return text, err
		}
	}
}

// Next returns the next record; io.EOF at the end. After another error, which
// names the line, the decoder can continue with the next record unless reading
// itself failed.
func (d *Decoder) Next() (*Record, error) {
	if d.scan.learnt > maxNames {
		d.forget()
	}
	text, err := d.nonEmpty()
	if err != nil {
		return nil, err
	}
	line := d.line
	fail := func(err error) (*Record, error) { return nil, fmt.Errorf("line %d: %w", line, err) }
	if d.format == "" && isHeader(text) {
		if text, err = d.nonEmpty(); err != nil {
			return nil, err
		}
		line = d.line
	}
	if d.format == "" && text[0] == '{' {
		d.format = "jsonl"
	}
	if d.format == "jsonl" {
		r, err := d.jsonLine(text)
		if err != nil {
			return fail(err)
		}
		r.Line, r.Size = line, len(text)
		return r, nil
	}
	d.first = append(d.first[:0], text...)
	first := d.first
	second, err := d.next()
	if err == io.EOF {
		return fail(errors.New("the second line of the event is missing"))
	}
	if err != nil {
		return nil, err
	}
	if d.format == "" {
		if d.format = formatOf(first, second); d.format == "" {
			return fail(fmt.Errorf("neither JSON nor an event with a host and its clock: %s",
				shorten(first)))
		}
	}
	clock, event := first, second
	if d.format == "shiviz" {
		clock, event = second, first
	}
	if d.opt.Ended && d.unended {
		return fail(errors.New("the last line is incomplete"))
	}
	if !isClockLine(clock) {
		return fail(fmt.Errorf("expected a host and its clock, found %s", shorten(clock)))
	}
	i := bytes.IndexByte(clock, ' ')
	if err := d.scan.scan(clock[i+1:]); err != nil {
		return fail(err)
	}
	if err := d.twice(); err != nil {
		return fail(err)
	}
	r := d.record(line)
	r.Size = len(first) + len(second)
	r.Host, r.Text = d.intern(clock[:i]), string(event)
	d.assign.find(event)
	return r, nil
}

// formatOf tells the format of a log by the two lines of an event, "" if it has none of those that
// have two.
func formatOf(first, second []byte) string {
	switch {
	case isClockLine(first):
		return "govector"
	case isClockLine(second):
		return "shiviz"
	}
	return ""
}

// twice reports a host that the last clock names twice with different counts.
func (d *Decoder) twice() error {
	if d.scan.twice >= 0 {
		return fmt.Errorf("the clock names host %s twice, with different counts",
			d.names.HostName(d.scan.twice))
	}
	return nil
}

// record returns a new record with the clock that was scanned.
func (d *Decoder) record(line int) *Record {
	if len(d.records) == 0 {
		d.records = make([]Record, 64)
	}
	r := &d.records[0]
	d.records = d.records[1:]
	r.Line = line
	n := len(d.scan.hosts)
	if cap(d.entries)-len(d.entries) < n {
		d.entries = make([]Entry, 0, max(64*n, 64))
	}
	at := len(d.entries)
	for k, id := range d.scan.hosts {
		d.entries = append(d.entries, Entry{d.names.HostName(id), d.scan.vals[k]})
	}
	r.Clock = d.entries[at:len(d.entries):len(d.entries)]
	d.cur = r
	return r
}

func (d *Decoder) jsonLine(text []byte) (*Record, error) {
	if d.fast.parse(text, &d.scan) {
		if err := d.twice(); err != nil {
			return nil, err
		}
		r := d.record(d.line)
		r.Host, r.Text = d.intern(d.fast.host), string(d.fast.event)
		return r, d.assign.assignVars(&d.fast)
	}
	l, err := ParseLine(text)
	if err != nil {
		return nil, err
	}
	r := &Record{Host: l.Host, Text: l.Event, Hosts: l.Hosts}
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
	clock := bytes.TrimSpace(l.Clock)
	if len(clock) > 0 && clock[0] == '[' {
		var array []int32
		if err := json.Unmarshal(clock, &array); err != nil || len(array) != len(d.order) {
			return nil, fmt.Errorf("the clock is not an array of %d counts: %s", len(d.order),
				shorten(clock))
		}
		for i, x := range array {
			r.Clock = append(r.Clock, Entry{d.order[i], x})
		}
	} else {
		if err := d.scan.scan(clock); err != nil {
			return nil, err
		}
		if err := d.twice(); err != nil {
			return nil, err
		}
		r.Clock = d.record(d.line).Clock
	}
	d.cur = r
	flattened("", l.Vars, func(name string, v computation.Value) { d.set([]byte(name), v) })
	return r, nil
}
