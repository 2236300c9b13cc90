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

// readShiViz reads a ShiViz or GoVector log.
func readShiViz(b *builders, data []byte) error {
	expr, delimiter := b.opt.Regexp, b.opt.Delimiter
	line := 1
	if first, rest := cutLine(data); isHeader(first) {
		if expr == "" {
			expr = string(first)
		}
		second, after := cutLine(rest)
		data, line = rest, 2
		if len(bytes.TrimSpace(second)) == 0 {
			data, line = after, 3
		} else if isDelimiter(second) {
			if delimiter == "" {
				delimiter = string(second)
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
	if expr == "" {
		switch layout(data, delim) {
		case GoVectorRegexp:
			expr = GoVectorRegexp
		case ShiVizRegexp:
			expr = ShiVizRegexp
		default:
			return errors.New("the layout of the log is not one of the two default ones; give its regular expression")
		}
	}
	if expr == GoVectorRegexp || expr == ShiVizRegexp {
		return readPairs(b, data, line, expr == GoVectorRegexp, delim)
	}
	re, err := compile(expr)
	if err != nil {
		return err
	}
	for _, group := range []string{"host", "clock", "event"} {
		if re.SubexpIndex(group) < 0 {
			return fmt.Errorf("regular expression %q has no group %s", expr, group)
		}
	}
	return readRegexp(b, data, line, re, delim)
}

func isHeader(line []byte) bool {
	return bytes.Contains(line, []byte("(?<")) && bytes.Contains(line, []byte("clock>")) || bytes.Contains(line, []byte("(?P<clock>"))
}

// isDelimiter tells the second line of a file with a header, if it is not
// empty, from a first event: a delimiter has the syntax of a regular expression
// or no clock.
func isDelimiter(line []byte) bool {
	return bytes.Contains(line, []byte("(?<")) || bytes.Contains(line, []byte("(?P<")) || line[0] == '^' || !bytes.Contains(line, []byte(`{"`)) && bytes.ContainsAny(line, `\^$*+(`)
}

// isClockLine reports whether the line is a host and its clock.
func isClockLine(line []byte) bool {
	i := bytes.IndexByte(line, ' ')
	return i >= 0 && i+2 < len(line) && line[i+1] == '{' && line[len(line)-1] == '}' && (line[i+2] == '"' || line[i+2] == ' ' || line[i+2] == '}')
}

// layout looks which line of the first events is the one with the clock.
func layout(data []byte, delim *regexp.Regexp) string {
	for len(data) > 0 {
		line, rest := cutLine(data)
		if len(bytes.TrimSpace(line)) == 0 || delim != nil && delim.Match(line) {
			data = rest
			continue
		}
		if isClockLine(line) {
			return GoVectorRegexp
		}
		if next, _ := cutLine(rest); isClockLine(next) {
			return ShiVizRegexp
		}
		return ""
	}
	return GoVectorRegexp
}

// readPairs reads the two default layouts, in which an event is two lines.
func readPairs(b *builders, data []byte, line int, clockFirst bool, delim *regexp.Regexp) error {
	r := newEventReader(b)
	for len(data) > 0 {
		first, rest := cutLine(data)
		if len(first) == 0 {
			data = rest
			line++
			continue
		}
		if delim != nil && startExecution(b, r, delim, first) {
			data = rest
			line++
			continue
		}
		second, after := cutLine(rest)
		clock, text := first, second
		if !clockFirst {
			clock, text = second, first
		}
		if !isClockLine(clock) {
			what := "expected a host and its clock"
			if !clockFirst {
				what = "expected a host and its clock in the line after this one"
			}
			b.issues.add(b.source, line, "%s, found %s", what, shorten(clock))
			if !b.opt.Lenient && b.issues.list.Len() > computation.MaxIssues {
				return nil
			}
			data = rest // skip the line and try the next one
			line++
			continue
		}
		i := bytes.IndexByte(clock, ' ')
		at := line
		if !clockFirst {
			at++
		}
		r.event(at, clock[:i], clock[i+1:], text)
		data = after
		line += 2
	}
	return nil
}

func startExecution(b *builders, r *eventReader, delim *regexp.Regexp, line []byte) bool {
	m := delim.FindSubmatch(line)
	if m == nil {
		return false
	}
	label := ""
	if i := delim.SubexpIndex("trace"); i >= 0 {
		label = string(m[i])
	}
	b.start(label)
	r.reset()
	return true
}

// readRegexp reads a log by a regular expression.
func readRegexp(b *builders, data []byte, line int, re, delim *regexp.Regexp) error {
	r := newEventReader(b)
	host, clock, event := re.SubexpIndex("host"), re.SubexpIndex("clock"), re.SubexpIndex("event")
	names := re.SubexpNames()
	counted := 0 // the lines of data[:counted] are in line
	lineOf := func(at int) int {
		line += bytes.Count(data[counted:at], []byte("\n"))
		counted = at
		return line
	}
	var breaks [][]int
	if delim != nil {
		breaks = delim.FindAllIndex(data, -1)
	}
	matched := false
	for at := 0; at <= len(data); {
		m := re.FindSubmatchIndex(data[at:])
		if m == nil {
			break
		}
		for len(breaks) > 0 && breaks[0][0] <= at+m[0] {
			startExecution(b, r, delim, data[breaks[0][0]:breaks[0][1]])
			breaks = breaks[1:]
		}
		if m[1] == m[0] {
			at += m[1] + 1 // an empty match
			continue
		}
		group := func(g int) []byte {
			if m[2*g] < 0 {
				return nil
			}
			return data[at+m[2*g] : at+m[2*g+1]]
		}
		matched = true
		if r.event(lineOf(at+m[0]), group(host), group(clock), group(event)) {
			for g, name := range names {
				if g != host && g != clock && g != event && name != "" && m[2*g] >= 0 {
					r.assign.value(name, group(g))
				}
			}
		}
		at += m[1]
	}
	if !matched && len(bytes.TrimSpace(data)) > 0 {
		return fmt.Errorf("the regular expression %q matches nothing in the log", re.String()[len("(?m)"):])
	}
	return nil
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

// event adds an event; it reports whether its clock could be read.
func (r *eventReader) event(line int, host, clock, text []byte) bool {
	if len(host) == 0 {
		r.b.issues.add(r.b.source, line, "the event has no host")
		return false
	}
	x := r.b.builder()
	if err := r.clock.scan(clock); err != nil {
		r.b.issues.add(r.b.source, line, "%v", err)
		return false
	}
	x.Event(x.HostBytes(host), line)
	r.clock.entries()
	x.Text(text)
	r.assign.find(text)
	return true
}
