package conform

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"cpor/system"
)

// Mapping says which steps of a model are which events of a log. Without rules, every text that the
// model prints is an event, and the log has the same text.
type Mapping struct {
	Events []EventRule
	Hosts  []HostRule
	Values []ValueRule
}

// EventRule says that an event of the log whose text fits Log, and whose variables fit With, is
// a deed of the model that fits. A name in braces fits the same value on both sides.
//
//	//cpor:event "append to {d}" with term={t} => print "append {d} {t}"
//	//cpor:event "vote" => receive "{v}" from "inbox[{i}]"
type EventRule struct {
	Log  *Pattern
	With []ValueRule // Model is nil
	Kind system.DeedKind
	// Text is the pattern of what is printed or of the message, and Channel that of the channel;
	// nil fits everything.
	Text, Channel *Pattern
	Line          int // of the source
}

// HostRule says that threads whose names fit Thread play the hosts that fit Host:
//
//	//cpor:host node{i} is Server[{i}], Timer[{i}]
type HostRule struct {
	Host    *Pattern
	Threads []*Pattern
	Line    int
}

// ValueRule says which variable of the model must have the value that a variable of the log has
// after an event: a shared variable of the model, or a local one of the thread that takes the step.
//
//	//cpor:value term is currentTerm[{i}]
//
// The names in braces are those of the rule of the host. A variable that the log does not give a
// value, or takes it away (null), may have any.
type ValueRule struct {
	Name  string // in the log
	Model *Pattern
	Value *Pattern // of EventRule.With
	Line  int
}

// HostsOf returns the hosts that the rules name for the threads of a system's initial state, nil
// if there are no such rules.
func (m *Mapping) HostsOf(sys system.System) []string {
	mach := sys.NewMachine()
	mach.Load(sys.Initial()[0])
	var hosts []string
	for t := range mach.NumThreads() {
		for i := range m.Hosts {
			for _, p := range m.Hosts[i].Threads {
				b, ok := p.match(mach.ThreadName(t), nil)
				if !ok {
					continue
				}
				if h, ok := m.Hosts[i].Host.fill(b); ok && !slices.Contains(hosts, h) {
					hosts = append(hosts, h)
				}
			}
		}
	}
	return hosts
}

// Pattern is a text with names in braces, each of which fits a word: {name} the same wherever it
// stands in a rule, {_} any.
type Pattern struct {
	Source string
	re     *regexp.Regexp
	names  []string // by group
	parts  []string // between the names
}

var hole = regexp.MustCompile(`\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// ParsePattern reads a pattern.
func ParsePattern(s string) (*Pattern, error) {
	p := &Pattern{Source: s}
	re, last := "^", 0
	for _, m := range hole.FindAllStringSubmatchIndex(s, -1) {
		p.parts = append(p.parts, s[last:m[0]])
		p.names = append(p.names, s[m[2]:m[3]])
		re += regexp.QuoteMeta(s[last:m[0]]) + `(\S*?)`
		last = m[1]
	}
	p.parts = append(p.parts, s[last:])
	var err error
	p.re, err = regexp.Compile(re + regexp.QuoteMeta(s[last:]) + "$")
	return p, err
}

// match reports whether s fits, where the names in bound have values already; it returns the
// values with those of the other names.
func (p *Pattern) match(s string, bound binding) (binding, bool) {
	if p == nil {
		return bound, true
	}
	if len(p.names) == 0 {
		return bound, s == p.Source
	}
	m := p.re.FindStringSubmatch(s)
	if m == nil {
		return nil, false
	}
	for i, name := range p.names {
		if name == "_" {
			continue
		}
		if old, ok := bound.value(name); ok {
			if !equalValues(old, m[i+1]) {
				return nil, false
			}
			continue
		}
		bound = append(bound[:len(bound):len(bound)], system.Binding{Name: name, Value: m[i+1]})
	}
	return bound, true
}

// fill returns the pattern with the values of its names; false if one has none.
func (p *Pattern) fill(b binding) (string, bool) {
	var s strings.Builder
	for i, name := range p.names {
		v, ok := b.value(name)
		if !ok {
			return "", false
		}
		s.WriteString(p.parts[i])
		s.WriteString(v)
	}
	s.WriteString(p.parts[len(p.names)])
	return s.String(), true
}

// binding is the values of names.
type binding []system.Binding

func (b binding) value(name string) (string, bool) {
	for _, x := range b {
		if x.Name == name {
			return x.Value, true
		}
	}
	return "", false
}

// equalValues compares printed values: numbers by their value.
func equalValues(a, b string) bool {
	if a == b {
		return true
	}
	x, err1 := strconv.ParseFloat(a, 64)
	y, err2 := strconv.ParseFloat(b, 64)
	return err1 == nil && err2 == nil && x == y
}

// directive is what a line of a mapping begins with, after any indentation. It is a comment of
// both model languages.
const directive = "//cpor:"

// ParseMapping returns the mapping in the lines of a source that begin with //cpor:event,
// //cpor:host or //cpor:value. The error lists all mistakes with their lines.
func ParseMapping(name, source string) (*Mapping, error) {
	m := &Mapping{}
	var errs []error
	for i, line := range strings.Split(source, "\n") {
		rest, ok := strings.CutPrefix(strings.TrimSpace(line), directive)
		if !ok {
			continue
		}
		kind, rest := cutWord(rest)
		var err error
		switch kind {
		case "event":
			err = m.event(rest, i+1)
		case "host":
			err = m.host(rest, i+1)
		case "value":
			err = m.value(rest, i+1)
		default:
			err = fmt.Errorf("%s%s is unknown: want event, host or value", directive, kind)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s:%d: %w", name, i+1, err))
		}
	}
	return m, errors.Join(errs...)
}

const eventForm = `want event "TEXT" [with NAME=VALUE, ...] => print "TEXT", send "VALUE" to ` +
	`"CHANNEL" or receive "VALUE" from "CHANNEL"`

// event reads "LOG" [with NAME=PATTERN, ...] => print|send|receive ["TEXT"] [to|from "CHANNEL"].
func (m *Mapping) event(s string, line int) error {
	r := EventRule{Line: line}
	var err error
	if r.Log, s, err = quoted(s); err != nil {
		return err
	}
	left, right, ok := strings.Cut(s, "=>")
	if !ok {
		return errors.New(eventForm)
	}
	if word, with := cutWord(left); word == "with" {
		for _, w := range strings.Split(with, ",") {
			name, value, ok := strings.Cut(w, "=")
			if name = strings.TrimSpace(name); !ok || name == "" {
				return fmt.Errorf("%q: %s", strings.TrimSpace(w), eventForm)
			}
			p, err := ParsePattern(strings.TrimSpace(value))
			if err != nil {
				return err
			}
			r.With = append(r.With, ValueRule{Name: name, Value: p, Line: line})
		}
	} else if word != "" {
		return fmt.Errorf("%q: %s", word, eventForm)
	}
	if err := r.does(right); err != nil {
		return err
	}
	m.Events = append(m.Events, r)
	return nil
}

// does reads the right side of a rule.
func (r *EventRule) does(s string) error {
	verb, s := cutWord(s)
	between := ""
	switch verb {
	case "print":
		r.Kind = system.Print
	case "send":
		r.Kind, between = system.Send, "to"
	case "receive":
		r.Kind, between = system.Receive, "from"
	default:
		return fmt.Errorf("%q: %s", verb, eventForm)
	}
	var err error
	word, rest := cutWord(s)
	if s != "" && word != between {
		if r.Text, s, err = quoted(s); err != nil {
			return err
		}
		word, rest = cutWord(s)
	}
	if s != "" && word == between {
		if r.Channel, s, err = quoted(rest); err != nil {
			return err
		}
	}
	if s != "" {
		return fmt.Errorf("%q: %s", s, eventForm)
	}
	return nil
}

// cutWord cuts a text behind its first word.
func cutWord(s string) (word, rest string) {
	s = strings.TrimSpace(s)
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// quoted reads the pattern between quotation marks that s begins with.
func quoted(s string) (p *Pattern, rest string, err error) {
	s = strings.TrimSpace(s)
	q, err := strconv.QuotedPrefix(s)
	if err != nil {
		word, _ := cutWord(s)
		return nil, s, fmt.Errorf("%q is not a text in quotation marks (%s)", word, eventForm)
	}
	u, err := strconv.Unquote(q)
	if err != nil {
		return nil, s, err
	}
	p, err = ParsePattern(u)
	return p, strings.TrimSpace(s[len(q):]), err
}

// host reads HOST is THREAD, ....
func (m *Mapping) host(s string, line int) error {
	const form = "want host NAME is THREAD[, THREAD]"
	host, threads, ok := strings.Cut(s, " is ")
	host = strings.TrimSpace(host)
	if !ok || host == "" {
		return errors.New(form)
	}
	r := HostRule{Line: line}
	var err error
	if r.Host, err = ParsePattern(host); err != nil {
		return err
	}
	for _, t := range strings.Split(threads, ",") {
		t = strings.TrimSpace(t)
		if t == "" {
			return errors.New(form)
		}
		p, err := ParsePattern(t)
		if err != nil {
			return err
		}
		for _, name := range r.Host.names {
			if name == "_" || !slices.Contains(p.names, name) {
				return fmt.Errorf("thread %s does not say what {%s} in host %s is: the names of "+
					"the host must be in each thread", t, name, host)
			}
		}
		r.Threads = append(r.Threads, p)
	}
	m.Hosts = append(m.Hosts, r)
	return nil
}

// value reads NAME is VARIABLE.
func (m *Mapping) value(s string, line int) error {
	name, variable, ok := strings.Cut(s, " is ")
	name = strings.TrimSpace(name)
	if !ok || name == "" {
		return errors.New("want value NAME is VARIABLE")
	}
	p, err := ParsePattern(strings.TrimSpace(variable))
	if err != nil {
		return err
	}
	m.Values = append(m.Values, ValueRule{Name: name, Model: p, Line: line})
	return nil
}

// base is the name of a variable without indices and fields.
func base(s string) string {
	if i := strings.IndexAny(s, ".["); i >= 0 {
		return s[:i]
	}
	return s
}

// shows reports whether the values of a variable of the model are compared with the log.
func (m *Mapping) shows(variable string) bool {
	return variable != "" && slices.ContainsFunc(m.Values, func(r ValueRule) bool {
		return base(r.Model.Source) == base(variable)
	})
}
