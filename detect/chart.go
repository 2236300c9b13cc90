package detect

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/scanner"

	"cpor/detect/computation"
	"cpor/internal/spell"
)

// MessageChart is a message sequence chart as a query: messages and local events, from top to
// bottom, to be found in a computation. For example
//
//	exists i != j: i -> j: "request"; j -> i: "grant"; i: "enters"
//
// A statement is `sender -> receiver`, with a regular expression for the text of the sending
// event and, after a slash, one for the receiving event, or `host: "regexp"` for an event of one
// host. Semicolons or line ends separate statements. Hosts are named as in the log, or bound by
// exists, each to a different host.
type MessageChart struct {
	variables  []string
	statements []statement
}

// statement is a message, or an event of from if to is empty.
type statement struct {
	from, to      string
	send, receive *regexp.Regexp // nil: any text
	text          string
}

// chartParser reads charts with the scanner of the standard library.
type chartParser struct {
	s   scanner.Scanner
	tok rune
	err error
	src string
}

// ParseChart reads a chart.
func ParseChart(text string) (*MessageChart, error) {
	p := &chartParser{src: text}
	p.s.Init(strings.NewReader(text))
	p.s.Mode = scanner.ScanIdents | scanner.ScanStrings | scanner.ScanRawStrings
	p.s.Whitespace = 1<<' ' | 1<<'\t' | 1<<'\r'
	p.s.Error = func(_ *scanner.Scanner, msg string) { p.fail("%s", msg) }
	p.next()
	m := &MessageChart{}
	p.skipLines()
	if p.tok == scanner.Ident && p.s.TokenText() == "exists" {
		p.head(m)
	}
	for p.skipLines(); p.tok != scanner.EOF && p.err == nil; p.skipLines() {
		m.statements = append(m.statements, p.statement())
		if p.err == nil && p.tok != ';' && p.tok != '\n' && p.tok != scanner.EOF {
			p.fail("expected ';' after a message, found %s", p.describe())
		}
	}
	if p.err == nil && len(m.statements) == 0 {
		p.fail("the chart has no message")
	}
	return m, p.err
}

func (p *chartParser) next() { p.tok = p.s.Scan() }

func (p *chartParser) skipLines() {
	for p.err == nil && (p.tok == '\n' || p.tok == ';') {
		p.next()
	}
}

func (p *chartParser) describe() string {
	switch p.tok {
	case scanner.EOF:
		return "the end"
	case '\n':
		return "the end of the line"
	}
	return "'" + p.s.TokenText() + "'"
}

func (p *chartParser) fail(format string, args ...any) {
	if p.err == nil {
		pos := p.s.Position
		if !pos.IsValid() {
			pos = p.s.Pos()
		}
		p.err = fmt.Errorf("chart:%d:%d: %s", pos.Line, pos.Column, fmt.Sprintf(format, args...))
	}
}

func (p *chartParser) accept(r rune) bool {
	if p.err == nil && p.tok == r {
		p.next()
		return true
	}
	return false
}

func (p *chartParser) host() string {
	name := p.s.TokenText()
	switch p.tok {
	case scanner.Ident:
	case scanner.String, scanner.RawString:
		name, _ = strconv.Unquote(name)
	default:
		p.fail("expected a host, found %s", p.describe())
		return ""
	}
	p.next()
	return name
}

// head reads `exists i != j:`.
func (p *chartParser) head(m *MessageChart) {
	for p.next(); p.err == nil; {
		v := p.host()
		if slices.Contains(m.variables, v) {
			p.fail("%s is bound twice", v)
		}
		m.variables = append(m.variables, v)
		switch {
		case p.accept(':'):
			return
		case p.accept(','):
		case p.accept('!'):
			if !p.accept('=') {
				p.fail("expected '!=' between the variables")
			}
		default:
			p.fail("expected '!=' or ':' after a variable of exists, found %s", p.describe())
		}
	}
}

func (p *chartParser) statement() statement {
	start := p.s.Position.Offset
	st := statement{from: p.host()}
	if p.accept('-') {
		if !p.accept('>') {
			p.fail("expected '->', found '-' and %s", p.describe())
		}
		st.to = p.host()
		if st.to == st.from {
			p.fail("a message from %s to itself", st.from)
		}
	}
	switch {
	case p.accept(':'):
		st.send = p.pattern()
		if p.accept('/') {
			if st.to == "" {
				p.fail("an event of one host has only one text")
			}
			st.receive = p.pattern()
		}
	case st.to == "":
		p.fail("expected '->' or ':' after a host, found %s", p.describe())
	}
	end := len(p.src)
	if p.tok != scanner.EOF {
		end = p.s.Position.Offset
	}
	st.text = strings.TrimSpace(p.src[min(start, end):end])
	return st
}

func (p *chartParser) pattern() *regexp.Regexp {
	if p.tok != scanner.String && p.tok != scanner.RawString {
		p.fail("expected a regular expression in double quotes, found %s", p.describe())
		return nil
	}
	text, err := strconv.Unquote(p.s.TokenText())
	if err != nil {
		p.fail("the string has a bad escape; \\ is written \\\\, or use `...`")
		return nil
	}
	re, err := regexp.Compile(text)
	if err != nil {
		p.fail("%v", err)
	}
	p.next()
	return re
}

// FindChart looks for the chart in the computation. Result.Holds says whether it is there, and
// Result.Run shows one occurrence: the events up to the last one that belongs to it.
//
// An occurrence gives each message a sending and a receiving event, such that the latter depends
// directly on the former (computation.Messages), and each host executes its events in the order
// of the chart; other events may come between. The statements are matched from top to bottom.
// What can follow depends only on how far each host has come, and the less the better. So an
// event of one host takes the first that fits. A message takes a pair of events such that no
// other pair is earlier on both hosts. With channels that preserve the order of messages there is
// one such pair, and the search never goes back; otherwise it tries each, and remembers how far
// the hosts had come without success.
//
// The error is about the chart or the options: an unknown host, or an algorithm other than Auto.
func FindChart(ctx context.Context, c *computation.Computation, m *MessageChart,
	opt Options) (*Result, error) {
	bound := map[string]int{}
	for _, st := range m.statements {
		for _, h := range []string{st.from, st.to} {
			i, ok := c.Process(h)
			switch {
			case h == "" || slices.Contains(m.variables, h):
			case !ok:
				names := append(c.Names(), m.variables...)
				return nil, fmt.Errorf("chart: unknown host %s%s", h,
					spell.DidYouMean(h, names, ""))
			default:
				bound[h] = i
			}
		}
	}
	return ask(ctx, c, nil, Chart, opt, func(r *run) error {
		r.res.Algorithm = "chart"
		f := &chartSearch{r: r, c: c, m: m, hosts: bound, pairs: map[[2]int][]pair{}}
		f.bind(0)
		r.add(&f.tally)
		return nil
	})
}

// pair is a message: the index of its sending and of its receiving event.
type pair struct{ send, receive int32 }

type chartSearch struct {
	r     *run
	c     *computation.Computation
	m     *MessageChart
	hosts map[string]int
	pairs map[[2]int][]pair // messages by sender and receiver, by ascending receive
	dead  map[string]bool   // statement and how far each host has come, without success
	match []pair            // by statement
	tally
}

// bind binds the variables from the k'th on and matches the chart.
func (f *chartSearch) bind(k int) bool {
	if k < len(f.m.variables) {
		taken := slices.Collect(maps.Values(f.hosts))
		for i := range f.c.N() {
			if slices.Contains(taken, i) {
				continue
			}
			f.hosts[f.m.variables[k]] = i
			if f.bind(k+1) || f.r.stopped.Load() {
				return true
			}
			delete(f.hosts, f.m.variables[k])
		}
		return false
	}
	f.dead = map[string]bool{}
	f.match = make([]pair, len(f.m.statements))
	if !f.from(0, f.c.Initial()) {
		return false
	}
	f.r.answer(func(res *Result) { res.Holds, res.Run = true, f.run() })
	return true
}

// from matches the statements from the k'th on with events after the positions.
func (f *chartSearch) from(k int, at computation.Cut) bool {
	if k == len(f.m.statements) {
		return true
	}
	key := fmt.Sprint(k, at)
	if f.dead[key] {
		return false
	}
	f.states++
	if f.r.tick(&f.tally) {
		return false
	}
	st := f.m.statements[k]
	from, to := f.hosts[st.from], f.hosts[st.to]
	try := func(p pair) bool {
		next := at.Clone()
		next[from] = p.send
		if st.to != "" {
			next[to] = p.receive
		}
		f.match[k] = p
		return f.from(k+1, next)
	}
	if st.to == "" {
		for e := at[from] + 1; e <= f.c.Events(from) && !f.r.stopped.Load(); e++ {
			if st.send.MatchString(f.c.Text(from, e)) {
				return try(pair{send: e})
			}
		}
		return false
	}
	// By ascending receive, a pair is worth a try only if it is sent before all others so far.
	best := f.c.Events(from) + 1
	for _, p := range f.messages(from, to) {
		if p.send <= at[from] || p.receive <= at[to] || p.send >= best {
			continue
		}
		if st.send != nil && !st.send.MatchString(f.c.Text(from, p.send)) ||
			st.receive != nil && !st.receive.MatchString(f.c.Text(to, p.receive)) {
			continue
		}
		best = p.send
		if try(p) {
			return true
		}
	}
	f.dead[key] = true
	f.r.bytes.Add(int64(len(key)))
	return false
}

// messages returns the messages from one host to another.
func (f *chartSearch) messages(from, to int) []pair {
	if known, ok := f.pairs[[2]int{from, to}]; ok {
		return known
	}
	var out []pair
	for k := int32(1); k <= f.c.Events(to) && !f.r.stopped.Load(); k++ {
		if f.c.Clock(to, k)[from] == f.c.Clock(to, k-1)[from] {
			continue
		}
		for _, m := range f.c.Messages(to, k) {
			if m.From.Process == from {
				out = append(out, pair{m.From.Index, k})
			}
		}
	}
	f.pairs[[2]int{from, to}] = out
	return out
}

// run orders the events up to the occurrence and marks its own.
func (f *chartSearch) run() *Run {
	texts := map[computation.Event]string{}
	cut := f.c.Initial()
	add := func(host string, k int32, text string) {
		i := f.hosts[host]
		cut.Join(f.c.Clock(i, k))
		texts[computation.Event{Process: i, Index: k}] = text
	}
	for k, st := range f.m.statements {
		add(st.from, f.match[k].send, st.text)
		if st.to != "" {
			add(st.to, f.match[k].receive, st.text+", received")
		}
	}
	out := &Run{Order: f.c.Linearise(f.c.Initial(), cut)}
	for x, e := range out.Order {
		if text, ok := texts[e]; ok {
			out.Marks = append(out.Marks, Mark{After: x + 1, Text: text})
		}
	}
	return out
}
