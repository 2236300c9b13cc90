package computation

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// Issue is something wrong with a log, at a place.
type Issue struct {
	Pos Pos
	Msg string
}

func (i Issue) String() string { return i.Pos.String() + ": " + i.Msg }

// MaxIssues is how many issues are kept for one computation; more are only
// counted.
const MaxIssues = 20

// IssueList lists the mistakes in a log. As an error it prints one issue per line.
type IssueList struct {
	Issues []Issue
	More   int // issues beyond MaxIssues
	// Dropped is how many events were left out by repairs.
	Dropped int
}

// Add adds an issue, or counts it when there are MaxIssues already.
func (l *IssueList) Add(p Pos, format string, args ...any) {
	if len(l.Issues) < MaxIssues {
		l.Issues = append(l.Issues, Issue{p, fmt.Sprintf(format, args...)})
	} else {
		l.More++
	}
}

// sort brings the issues into the order of the sources and lines.
func (l *IssueList) sort(sources []string) {
	slices.SortStableFunc(l.Issues, func(x, y Issue) int {
		return cmp.Or(cmp.Compare(slices.Index(sources, x.Pos.Source),
			slices.Index(sources, y.Pos.Source)), cmp.Compare(x.Pos.Line, y.Pos.Line))
	})
}

// Len returns the number of issues, those included that were only counted.
func (l *IssueList) Len() int { return len(l.Issues) + l.More }

// Error prints the issues.
func (l *IssueList) Error() string {
	var sb strings.Builder
	for i, is := range l.Issues {
		if i > 0 {
			sb.WriteByte('\n')
		}
		sb.WriteString(is.String())
	}
	if l.More > 0 {
		fmt.Fprintf(&sb, "\n(and %d more)", l.More)
	}
	return sb.String()
}

type rawEvent struct {
	clock   uint64 // offset in Builder.clocks
	text    text
	pos     pos
	own     int32
	entries int32 // of the clock
	assign  uint32
	assigns uint32
	field   uint32
	fields  uint32
}

type assignment struct {
	name  int // index in Builder.names
	value ValueID
}

// initial is an assignment to a variable in local state 0.
type initial struct {
	assignment
	pos pos
}

// Builder collects the events of a computation, in any order, and then builds
// it. An event is described by a call of Event and then any number of calls of
// Entry, Assign and Text, which add to the last event.
type Builder struct {
	label    string
	hosts    []string
	hostID   map[string]int
	events   [][]rawEvent // per host
	inits    [][]initial
	declared []bool
	names    []string
	nameID   map[string]int
	values   *Values
	clocks   []int32
	texts    []byte
	assigns  []assignment
	fields   []field
	fieldID  map[string]int
	sources  []string
	source   uint32
	cur      *rawEvent
	restarts int // hosts that begin again with event 1
	restart  Pos // of the first
}

// NewBuilder returns an empty builder for the execution of that label.
func NewBuilder(label string) *Builder {
	return &Builder{label: label, hostID: map[string]int{}, nameID: map[string]int{},
		fieldID: map[string]int{}, values: NewValues(), sources: []string{""}}
}

// Label returns the label that the builder was made with.
func (b *Builder) Label() string { return b.label }

// Len returns the number of events so far.
func (b *Builder) Len() int {
	n := 0
	for _, ev := range b.events {
		n += len(ev)
	}
	return n
}

// Source sets the file that the positions of the following events are in.
func (b *Builder) Source(name string) {
	if i := slices.Index(b.sources, name); i >= 0 {
		b.source = uint32(i)
		return
	}
	b.source = uint32(len(b.sources))
	b.sources = append(b.sources, name)
}

// Host returns the number of the host of that name, a new one if it is new.
// A host that is only mentioned in clocks, neither has events nor was declared,
// is unknown, which Build reports.
func (b *Builder) Host(name string) int {
	id, ok := b.hostID[name]
	if !ok {
		id = len(b.hosts)
		b.hosts = append(b.hosts, name)
		b.hostID[name] = id
		b.events = append(b.events, nil)
		b.inits = append(b.inits, nil)
		b.declared = append(b.declared, false)
	}
	return id
}

// HostBytes is Host for a name in a byte slice; it does not keep the slice.
func (b *Builder) HostBytes(name []byte) int {
	if id, ok := b.hostID[string(name)]; ok {
		return id
	}
	return b.Host(string(name))
}

// HostName returns the name of the host with that number.
func (b *Builder) HostName(id int) string { return b.hosts[id] }

// Declare says that the host is known even if it has no events.
func (b *Builder) Declare(host int) { b.declared[host] = true }

// Name returns the number of the variable of that name.
func (b *Builder) Name(name string) int {
	id, ok := b.nameID[name]
	if !ok {
		id = len(b.names)
		b.names = append(b.names, name)
		b.nameID[name] = id
	}
	return id
}

// NameBytes is Name for a name in a byte slice; it does not keep the slice.
func (b *Builder) NameBytes(name []byte) int {
	if id, ok := b.nameID[string(name)]; ok {
		return id
	}
	return b.Name(string(name))
}

// Init gives a variable a value in the local state 0 of the host; line is where
// it stands, 0 if nowhere.
func (b *Builder) Init(host, name int, v Value, line int) {
	b.declared[host] = true
	b.inits[host] = append(b.inits[host], initial{assignment{name, b.values.ID(v)},
		pos{uint32(line), b.source}})
}

// Event starts the next event, one of the host, which is at the line.
func (b *Builder) Event(host, line int) {
	ev := rawEvent{clock: uint64(len(b.clocks)), assign: uint32(len(b.assigns)),
		field: uint32(len(b.fields)), pos: pos{uint32(line), b.source}}
	b.events[host] = append(b.events[host], ev)
	b.cur = &b.events[host][len(b.events[host])-1]
}

// Entry sets an entry of the event's clock; the ones that are not set are 0.
func (b *Builder) Entry(host int, n int32) {
	for int(b.cur.entries) <= host {
		b.clocks = append(b.clocks, 0)
		b.cur.entries++
	}
	b.clocks[b.cur.clock+uint64(host)] = n
}

// SetClock sets all entries of the event's clock; the hosts are numbered by
// their first use.
func (b *Builder) SetClock(clock Cut) {
	b.cur.clock = uint64(len(b.clocks))
	b.cur.entries = int32(len(clock))
	b.clocks = append(b.clocks, clock...)
}

// Assign says that the event assigns the value to the variable.
func (b *Builder) Assign(name int, v Value) {
	b.assigns = append(b.assigns, assignment{name, b.values.ID(v)})
	b.cur.assigns++
}

// Text sets the text of the event; it does not keep the slice.
func (b *Builder) Text(s []byte) {
	b.cur.text = text{uint64(len(b.texts)), uint32(len(s))}
	b.texts = append(b.texts, s...)
}

// Field sets a part of the event's line that is kept as it stands, such as a
// time; it does not keep the slice.
func (b *Builder) Field(name string, s []byte) {
	id, ok := b.fieldID[name]
	if !ok {
		id = len(b.fieldID)
		b.fieldID[name] = id
	}
	b.fields = append(b.fields, field{id, text{uint64(len(b.texts)), uint32(len(s))}})
	b.texts = append(b.texts, s...)
	b.cur.fields++
}

// ErrEmpty is returned by Build when there is neither an event nor a host.
var ErrEmpty = errors.New("the log has no events")

// Build validates the events and returns the computation; the builder must not
// be used afterwards.
//
// The vector clocks have to be those of a real run: the own entries of a host
// are 1, 2, 3, ...; every host in a clock has events or was declared, and at
// least as many as the entry says; a clock never falls; it contains the clock
// of every event that it contains (transitivity); and no event depends on one
// that depends on it. The order of the events in the log carries no meaning.
//
// With lenient unset, everything that is wrong is returned as an error, an
// *IssueList. With lenient set, Build repairs what it can and returns the
// repairs as issues: an event that appears twice is dropped, missing events are
// closed up (the host's events are numbered again, and everybody's entries with
// them), entries for unknown hosts or events are cut, an event without an entry
// of its own takes the number after its host's previous one, and a clock that
// does not contain what it should is completed. A cyclic dependency cannot be
// repaired.
func (b *Builder) Build(lenient bool) (c *Computation, repairs *IssueList, err error) {
	issues := &IssueList{}
	hosts, hostOf := b.knownHosts(issues)
	if len(hosts) == 0 {
		return nil, nil, ErrEmpty
	}
	n := len(hosts)
	c = &Computation{label: b.label, n: n, values: b.values, texts: b.texts, sources: b.sources,
		index: map[string]int{}}
	c.fieldNames = make([]string, len(b.fieldID))
	for name, id := range b.fieldID {
		c.fieldNames[id] = name
	}
	c.procs = make([]process, n)
	numbers := make([][]int32, n) // the own entries of the events that are kept, by process
	for i, h := range hosts {
		c.procs[i].name = b.hosts[h]
		c.index[b.hosts[h]] = i
		numbers[i] = b.order(h, issues)
	}
	for i, h := range hosts {
		b.fill(c, i, h, numbers, hostOf, issues)
	}
	if lenient {
		if err := complete(c, issues); err != nil {
			return nil, nil, err
		}
	} else {
		validate(c, issues)
		if issues.Len() > 0 {
			if b.restarts > 1 || b.restarts > 0 && len(hosts) == 1 {
				issues.Issues = append(
					[]Issue{{b.restart, "the hosts begin again with event 1 here: perhaps the " +
						"log has several executions, and the delimiter between them is missing"}},
					issues.Issues...)
			}
			issues.sort(b.sources)
			return nil, nil, issues
		}
	}
	issues.sort(b.sources)
	for i, h := range hosts {
		b.columns(&c.procs[i], h)
		b.events[h] = nil
	}
	b.clocks = nil
	return c, issues, nil
}

// knownHosts returns the hosts that have events or were declared, sorted by
// name in the natural order (p2 before p10), and for each host its process or -1.
func (b *Builder) knownHosts(issues *IssueList) (hosts, hostOf []int) {
	for h := range b.hosts {
		if len(b.events[h]) > 0 || b.declared[h] {
			hosts = append(hosts, h)
		}
	}
	sort.SliceStable(hosts, func(x, y int) bool {
		return naturalLess(b.hosts[hosts[x]], b.hosts[hosts[y]])
	})
	hostOf = make([]int, len(b.hosts))
	for h := range hostOf {
		hostOf[h] = -1
	}
	for i, h := range hosts {
		hostOf[h] = i
	}
	return hosts, hostOf
}

func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		da, db := digits(a), digits(b)
		if da > 0 && db > 0 {
			x, y := strings.TrimLeft(a[:da], "0"), strings.TrimLeft(b[:db], "0")
			if len(x) != len(y) {
				return len(x) < len(y)
			}
			if x != y {
				return x < y
			}
			a, b = a[da:], b[db:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

func (b *Builder) at(p pos) Pos { return Pos{b.sources[p.source], int(p.line)} }

// order sorts the host's events by their own entry and reports what is wrong
// with these; it leaves each number once and returns the numbers.
func (b *Builder) order(h int, issues *IssueList) []int32 {
	ev := b.events[h]
	name := b.hosts[h]
	sorted, again := true, false
	var last int32
	for k := range ev {
		e := &ev[k]
		e.own = 0
		if int(e.entries) > h {
			e.own = b.clocks[e.clock+uint64(h)]
		}
		if e.own <= 0 {
			issues.Add(b.at(e.pos), "the clock has no entry for its own host %s", name)
			e.own = last + 1
		}
		if e.own == 1 && last > 1 && !again {
			again = true
			if b.restarts++; b.restarts == 1 {
				b.restart = b.at(e.pos)
			}
		}
		sorted = sorted && e.own > last
		last = e.own
	}
	if !sorted {
		slices.SortStableFunc(ev, func(x, y rawEvent) int { return cmp.Compare(x.own, y.own) })
	}
	numbers := make([]int32, 0, len(ev))
	kept := ev[:0]
	last = 0
	for k := range ev {
		e := ev[k]
		switch {
		case e.own == last && len(kept) > 0:
			issues.Add(b.at(e.pos), "event %d of host %s appears twice, first at %v", e.own, name,
				b.at(kept[len(kept)-1].pos))
			issues.Dropped++
			continue
		case len(kept) == 0 && e.own != 1:
			issues.Add(b.at(e.pos), "the first event of host %s has number %d, not 1", name, e.own)
		case e.own != last+1:
			issues.Add(b.at(e.pos), "event %d of host %s follows event %d: %s missing", e.own, name,
				last, span(last+1, e.own-1))
		}
		last = e.own
		kept = append(kept, e)
		numbers = append(numbers, e.own)
	}
	b.events[h] = kept
	return numbers
}

func span(from, to int32) string {
	if from == to {
		return fmt.Sprintf("event %d is", from)
	}
	return fmt.Sprintf("events %d to %d are", from, to)
}

// fill makes the clocks of process i from the host's events, renumbered.
func (b *Builder) fill(c *Computation, i, h int, numbers [][]int32, hostOf []int,
	issues *IssueList) {
	p := &c.procs[i]
	ev := b.events[h]
	n := c.n
	p.events = int32(len(ev))
	p.clocks = make([]int32, (len(ev)+1)*n)
	p.pos = make([]pos, len(ev))
	p.text = make([]text, len(ev))
	for k := range ev {
		e := &ev[k]
		p.pos[k], p.text[k] = e.pos, e.text
		if e.fields > 0 {
			if p.fields == nil {
				p.fields = make([][]field, len(ev))
			}
			p.fields[k] = b.fields[e.field : e.field+e.fields : e.field+e.fields]
		}
		row := p.clocks[(k+1)*n : (k+2)*n]
		for g, m := range b.clocks[e.clock : e.clock+uint64(e.entries)] {
			if m == 0 {
				continue
			}
			j := hostOf[g]
			switch {
			case j < 0:
				issues.Add(b.at(e.pos), "unknown host %s in the clock: the log has no event of it",
					b.hosts[g])
				continue
			case m < 0:
				issues.Add(b.at(e.pos), "the clock's entry for host %s is negative: %d", b.hosts[g],
					m)
				continue
			}
			nums := numbers[j]
			if r := len(nums); r == 0 || m > nums[r-1] {
				issues.Add(b.at(e.pos), "the clock contains event %d of host %s, which has %s", m,
					b.hosts[g], lastEvent(nums))
				row[j] = int32(r)
			} else if int(m) <= r && nums[m-1] == m { // numbers 1 to m are all there
				row[j] = m
			} else {
				r, _ := slices.BinarySearch(nums, m+1)
				row[j] = int32(r)
			}
		}
		row[i] = int32(k + 1)
	}
}

func lastEvent(nums []int32) string {
	if len(nums) == 0 {
		return "no events"
	}
	return fmt.Sprintf("only %d", nums[len(nums)-1])
}

// validate reports what is wrong with the clocks beyond their own entries.
func validate(c *Computation, issues *IssueList) {
	for i := range c.procs {
		p := &c.procs[i]
		for k := int32(1); k <= p.events; k++ {
			now, before := c.Clock(i, k), c.Clock(i, k-1)
			for j, m := range now {
				if j == i || m == before[j] {
					continue
				}
				if m < before[j] {
					issues.Add(c.Pos(i, k), "the clock's entry for host %s falls from %d to %d",
						c.Name(j), before[j], m)
					continue
				}
				sender := c.Clock(j, m)
				if sender.Leq(now) && sender[i] < k {
					continue
				}
				for l, x := range sender {
					if l == i && x >= k {
						issues.Add(c.Pos(i, k), "cyclic: event %d of host %s contains event %d "+
							"of host %s, which contains it (%v)",
							k, c.Name(i), m, c.Name(j), c.Pos(j, m))
						break
					}
					if x > now[l] {
						issues.Add(c.Pos(i, k), "not transitive: the clock contains event %d of "+
							"host %s (%v), whose clock has %d for host %s, but its own entry is %d",
							m, c.Name(j), c.Pos(j, m), x, c.Name(l), now[l])
						break
					}
				}
			}
		}
	}
}

// complete extends the clocks so that they are transitive and never fall, and
// reports each that it had to change. A cyclic dependency is an error.
func complete(c *Computation, issues *IssueList) error {
	done := c.Initial()
	remaining := c.TotalEvents()
	row := c.Initial()
	for remaining > 0 {
		before := remaining
		for i := range c.procs {
		events:
			for k := done[i] + 1; k <= c.procs[i].events; k++ {
				now := c.Clock(i, k)
				for j, m := range now {
					if j != i && m > done[j] {
						break events
					}
				}
				copy(row, now)
				row.Join(c.Clock(i, k-1))
				row[i] = k
				for j, m := range row {
					if j != i && m > 0 {
						row.Join(c.Clock(j, m))
					}
				}
				if !slices.Equal(row, now) {
					issues.Add(c.Pos(i, k), "the clock was completed from %v to %v", now, row)
					copy(now, row)
				}
				done[i] = k
				remaining--
			}
		}
		if remaining == before {
			return cyclic(c, done)
		}
	}
	return nil
}

func cyclic(c *Computation, done Cut) error {
	l := &IssueList{}
	for i := range c.procs {
		if k := done[i] + 1; k <= c.procs[i].events {
			l.Add(c.Pos(i, k), "cyclic: event %d of host %s depends on events that depend on it; "+
				"this cannot be repaired", k, c.Name(i))
		}
	}
	return l
}

// columns makes the variables of a process from the assignments of its events.
func (b *Builder) columns(p *process, h int) {
	col := make(map[int]int)
	set := func(a assignment, state int32) *Variable {
		x, ok := col[a.name]
		if !ok {
			x = len(p.vars)
			col[a.name] = x
			p.vars = append(p.vars, Variable{Name: b.names[a.name]})
		}
		v := &p.vars[x]
		var last ValueID
		if l := len(v.Changes); l > 0 {
			if v.Changes[l-1].State == state { // the event's last assignment counts
				v.Changes = v.Changes[:l-1]
				l--
			}
			if l > 0 {
				last = v.Changes[l-1].Value
			}
		}
		if a.value != last {
			v.Changes = append(v.Changes, Change{state, a.value})
		}
		return v
	}
	for _, a := range b.inits[h] {
		set(a.assignment, 0).Init = b.at(a.pos)
	}
	for k := range b.events[h] {
		e := &b.events[h][k]
		for _, a := range b.assigns[e.assign : e.assign+e.assigns] {
			set(a, int32(k+1))
		}
	}
	sort.Slice(p.vars, func(i, j int) bool { return p.vars[i].Name < p.vars[j].Name })
}
