package logs

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"

	"cpor/detect/computation"
)

// The default layouts.
const (
	GoVectorRegexp = `(?<host>\S*) (?<clock>{.*})\n(?<event>.*)`
	ShiVizRegexp   = `(?<event>.*)\n(?<host>\S*) (?<clock>{.*})`
)

var byteOrderMark = []byte("\xef\xbb\xbf")

// readShiViz reads a log as the ShiViz site does: the text is cut at each match
// of the delimiter, and in each piece every match of the parser is an event.
// What is between the matches is ignored.
func readShiViz(b *builders, data []byte) error {
	// What the site's text field does to a file.
	if bytes.IndexByte(data, '\r') >= 0 {
		data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	expr, delimiter := b.opt.Regexp, b.opt.Delimiter
	line := 1
	if first, rest := cutLine(data); isHeader(first) {
		if expr == "" {
			expr = string(bytes.TrimSpace(first))
		}
		second, after := cutLine(rest)
		data, line = rest, 2
		if len(bytes.TrimSpace(second)) == 0 {
			data, line = after, 3
		} else if isDelimiter(second) {
			if delimiter == "" {
				delimiter = string(bytes.TrimSpace(second))
			}
			data, line = after, 3
		}
	}
	var delim *regexp.Regexp
	if delimiter != "" {
		var err error
		if delim, err = compile(delimiter); err != nil {
			return err
		}
	}
	r := &shivizReader{eventReader: newEventReader(b), data: data, line: line}
	if expr == "" {
		if expr = layout(data, delim); expr == "" {
			return errors.New("the layout of the log is not one of the two default ones; give " +
				"its regular expression")
		}
		r.blanks = true // there is no expression to be true to
	}
	if err := r.parser(expr); err != nil {
		return err
	}
	from := 0
	if delim != nil {
		trace := delim.SubexpIndex("trace")
		for _, m := range delim.FindAllSubmatchIndex(data, -1) {
			if m[0] < from || m[0] == m[1] {
				continue
			}
			r.piece(from, m[0])
			label := ""
			if trace >= 0 && m[2*trace] >= 0 {
				label = string(data[m[2*trace]:m[2*trace+1]])
			}
			b.start(label, r.lineOf(m[0]))
			r.reset()
			from = m[1]
		}
	}
	r.piece(from, len(data))
	if r.events == 0 && len(bytes.TrimSpace(data)) > 0 {
		return fmt.Errorf("the regular expression %q matches nothing in the log", expr)
	}
	return nil
}

// shivizReader reads the pieces of a log.
type shivizReader struct {
	*eventReader
	data    []byte
	line    int // the number of the line that data[counted] is in
	counted int
	events  int
	blanks  bool // there may be blanks after GoVector's clock

	next   func(piece []byte, at int) []int // for the two default layouts
	re     *regexp.Regexp
	names  []string // of the groups
	host   int
	clockG int
	event  int
	fields []int // the groups that are variables
}

// parser sets the regular expression of the log.
func (r *shivizReader) parser(expr string) error {
	re, err := compile(expr)
	if err != nil {
		return err
	}
	for _, group := range []string{"host", "clock", "event"} {
		if re.SubexpIndex(group) < 0 {
			return fmt.Errorf("regular expression %q has no group %s", expr, group)
		}
	}
	switch expr {
	case GoVectorRegexp:
		r.next = func(data []byte, at int) []int { return nextGoVector(data, at, r.blanks) }
	case ShiVizRegexp:
		r.next = nextShiViz
	}
	r.re, r.names = re, re.SubexpNames()
	r.host, r.clockG, r.event = re.SubexpIndex("host"), re.SubexpIndex("clock"),
		re.SubexpIndex("event")
	for g, name := range r.names {
		if name != "" && g != r.host && g != r.clockG && g != r.event {
			r.fields = append(r.fields, g)
		}
	}
	return nil
}

// lineOf returns the number of the line of a place in the data. It is fast for
// places that come one after another.
func (r *shivizReader) lineOf(at int) int {
	if at < r.counted {
		return r.line - bytes.Count(r.data[at:r.counted], []byte("\n"))
	}
	r.line += bytes.Count(r.data[r.counted:at], []byte("\n"))
	r.counted = at
	return r.line
}

// piece reads the events in data[from:to].
func (r *shivizReader) piece(from, to int) {
	piece := r.data[from:to]
	last := 0
	take := func(m []int) {
		r.skipped(from+last, from+m[0])
		r.take(from, piece, m)
		last = m[1]
	}
	if r.next != nil {
		for m := r.next(piece, 0); m != nil; m = r.next(piece, m[1]) {
			take(m)
		}
	} else {
		for _, m := range r.re.FindAllSubmatchIndex(piece, -1) {
			take(m)
		}
	}
	r.skipped(from+last, to)
}

// take reads the event of a match.
func (r *shivizReader) take(from int, piece []byte, m []int) {
	group := func(g int) []byte {
		if m[2*g] < 0 {
			return nil
		}
		return piece[m[2*g]:m[2*g+1]]
	}
	line := r.lineOf(from + max(m[0], m[2*r.clockG]))
	r.events++
	if !r.add(line, group(r.host), group(r.clockG), group(r.event)) {
		return
	}
	x := r.b.builder()
	for _, g := range r.fields {
		if m[2*g] >= 0 {
			x.Field(r.names[g], group(g))
			r.assign.value(r.names[g], group(g))
		}
	}
}

// skipped counts the lines between two matches that are not blank.
func (r *shivizReader) skipped(from, to int) {
	text := r.data[from:to]
	if len(bytes.TrimSpace(text)) == 0 {
		return
	}
	for at := from; at < to; {
		line, _ := cutLine(r.data[at:to])
		if len(bytes.TrimSpace(line)) > 0 {
			r.b.ignore(r.lineOf(at), line)
		}
		at += len(line) + 1
	}
}

// nextGoVector finds the first match of GoVectorRegexp from a place on, as
// regexp.FindAllSubmatchIndex would, in a fraction of the time: the groups 1 to
// 3 are host, clock and event. The tests compare the two. With blanks set, there
// may be blanks after the clock.
func nextGoVector(data []byte, at int, blanks bool) []int {
	for at < len(data) {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return nil
		}
		line := data[at : at+n]
		if blanks {
			line = bytes.TrimRight(line, " \t")
		}
		if z := len(line) - 1; z > 0 && line[z] == '}' {
			if q := bytes.Index(line, []byte(" {")); q >= 0 && q+2 <= z {
				p := q
				for p > 0 && !isSpace(line[p-1]) {
					p--
				}
				event := at + n + 1
				end := len(data)
				if k := bytes.IndexByte(data[event:], '\n'); k >= 0 {
					end = event + k
				}
				return []int{at + p, end, at + p, at + q, at + q + 1, at + z + 1, event, end}
			}
		}
		at += n + 1
	}
	return nil
}

// nextShiViz is nextGoVector for ShiVizRegexp; the groups 1 to 3 are event, host
// and clock.
func nextShiViz(data []byte, at int) []int {
	for at < len(data) {
		n := bytes.IndexByte(data[at:], '\n')
		if n < 0 {
			return nil
		}
		from := at + n + 1
		line := data[from:]
		if k := bytes.IndexByte(line, '\n'); k >= 0 {
			line = line[:k]
		}
		q := 0
		for q < len(line) && !isSpace(line[q]) {
			q++
		}
		if q+1 < len(line) && line[q] == ' ' && line[q+1] == '{' {
			if z := bytes.LastIndexByte(line, '}'); z > q+1 {
				return []int{at, from + z + 1, at, at + n, from, from + q, from + q + 1,
					from + z + 1}
			}
		}
		at = from
	}
	return nil
}

// isSpace is \s of regular expressions.
func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\f' || c == '\r' || c == '\n' }

func isHeader(line []byte) bool {
	return bytes.Contains(line, []byte("(?<")) && bytes.Contains(line, []byte("clock>")) ||
		bytes.Contains(line, []byte("(?P<clock>"))
}

// isDelimiter tells the second line of a file with a header, if it is not
// empty, from a first event: a delimiter has the syntax of a regular expression
// or no clock.
func isDelimiter(line []byte) bool {
	return bytes.Contains(line, []byte("(?<")) || bytes.Contains(line, []byte("(?P<")) ||
		line[0] == '^' || !bytes.Contains(line, []byte(`{"`)) && bytes.ContainsAny(line, `\^$*+(`)
}

// isClockLine reports whether the line is a host and its clock.
func isClockLine(line []byte) bool {
	line = bytes.TrimRight(line, " \t\r")
	i := bytes.IndexByte(line, ' ')
	if i < 0 || i+2 >= len(line) || line[i+1] != '{' || line[len(line)-1] != '}' {
		return false
	}
	c := line[i+2]
	return c == '"' || c == ' ' || c == '}' || c == '\\'
}

// layout recognizes which of the two default layouts a log has, "" if none: by
// the first line with a clock if it is the first or the second one that is not
// blank; else by the last line, which in ShiViz's layout has a clock.
func layout(data []byte, delim *regexp.Regexp) string {
	var lines [2][]byte
	n := 0
	for rest := data; len(rest) > 0 && n < 2; {
		var line []byte
		line, rest = cutLine(rest)
		if n > 0 || len(bytes.TrimSpace(line)) > 0 && (delim == nil || !delim.Match(line)) {
			lines[n] = line
			n++
		}
	}
	switch {
	case n == 0 || isClockLine(lines[0]):
		return GoVectorRegexp
	case isClockLine(lines[1]):
		return ShiVizRegexp
	}
	trimmed := bytes.TrimRight(data, " \t\n")
	if last := trimmed[bytes.LastIndexByte(trimmed, '\n')+1:]; isClockLine(last) {
		return ShiVizRegexp
	}
	for m := nextGoVector(data, 0, true); m != nil; m = nextGoVector(data, m[1], true) {
		if isClockLine(data[m[0]:m[5]]) {
			return GoVectorRegexp
		}
	}
	return ""
}

// eventReader puts events into the current builder.
type eventReader struct {
	b      *builders
	clock  clockScanner
	assign assignments
}

func newEventReader(b *builders) *eventReader {
	r := &eventReader{b: b}
	r.reset()
	return r
}

// reset follows a change of the builder.
func (r *eventReader) reset() {
	x := r.b.builder()
	r.clock = clockScanner{b: x}
	r.assign.opt = r.b.opt
	r.assign.set = func(name []byte, v computation.Value) { x.Assign(x.NameBytes(name), v) }
}

// add adds an event; it reports whether its clock could be read.
func (r *eventReader) add(line int, host, clock, text []byte) bool {
	if len(host) == 0 {
		r.b.lost(line, "the event has no host")
		return false
	}
	if err := r.clock.scan(clock); err != nil {
		r.b.lost(line, "%v", err)
		return false
	}
	r.twice(line)
	x := r.b.builder()
	x.Event(x.HostBytes(host), line)
	r.clock.entries()
	x.Text(text)
	r.assign.find(text)
	return true
}

// twice reports a host that the clock names twice with different counts.
func (r *eventReader) twice(line int) {
	if id := r.clock.twice; id >= 0 {
		r.b.issues.add(r.b.source, line, "the clock names host %s twice, with different counts",
			r.clock.b.HostName(id))
	}
}
