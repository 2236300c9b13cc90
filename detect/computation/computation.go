package computation

import (
	"fmt"
	"sort"
	"strings"
)

// Cut is a global state of a computation: entry i is the number of events that
// process i has executed, that is, the index of its local state. Clocks are
// cuts, too: the clock of a local state is the least consistent cut that
// contains it.
type Cut []int32

// Join sets c to the entry-wise maximum of c and d, both of the same length.
// The join of two consistent cuts is consistent.
func (c Cut) Join(d Cut) {
	d = d[:len(c)]
	for i, x := range d {
		if x > c[i] {
			c[i] = x
		}
	}
}

// Clone returns a copy of c.
func (c Cut) Clone() Cut { return append(Cut(nil), c...) }

// Leq reports whether c is contained in d: entry-wise less or equal.
func (c Cut) Leq(d Cut) bool {
	d = d[:len(c)]
	for i, x := range c {
		if x > d[i] {
			return false
		}
	}
	return true
}

// Event names an event: the Index'th event, counted from 1, of process Process,
// counted from 0.
type Event struct {
	Process int
	Index   int32
}

// Pos is a place in a log.
type Pos struct {
	Source string // the file, or "" where there is none
	Line   int    // counted from 1; 0 where there is none
}

// String prints FILE:LINE, or what of it is known.
func (p Pos) String() string {
	switch {
	case p.Source == "" && p.Line == 0:
		return "-"
	case p.Line == 0:
		return p.Source
	case p.Source == "":
		return fmt.Sprintf("line %d", p.Line)
	}
	return fmt.Sprintf("%s:%d", p.Source, p.Line)
}

// Change says that a variable has a value from a local state on.
type Change struct {
	State int32
	Value ValueID
}

// Variable is the history of one variable of one process.
type Variable struct {
	Name    string
	Changes []Change // by ascending State; consecutive values differ
	Init    Pos      // where its value in local state 0 is in the log
}

// At returns the variable's value in local state k.
func (v *Variable) At(k int32) ValueID {
	i := sort.Search(len(v.Changes), func(i int) bool { return v.Changes[i].State > k })
	if i == 0 {
		return 0
	}
	return v.Changes[i-1].Value
}

type process struct {
	name   string
	events int32
	clocks []int32   // entry j of local state k at [k*n+j], k in 0..events
	pos    []pos     // of event k at [k-1]
	text   []text    // likewise
	fields [][]field // likewise; nil if no event has any
	vars   []Variable
}

type pos struct {
	line   uint32
	source uint32
}

type text struct {
	off uint64
	len uint32
}

// field is a named part of an event's line.
type field struct {
	name int // index in Computation.fieldNames
	text text
}

// Computation is a recorded run; see the package documentation. It is immutable
// and safe for concurrent use.
type Computation struct {
	label   string
	n       int
	procs   []process
	index   map[string]int
	values  *Values
	texts   []byte
	sources []string

	fieldNames []string
}

// Label names the execution when a log holds several; it is "" otherwise.
func (c *Computation) Label() string { return c.label }

// N returns the number of processes.
func (c *Computation) N() int { return c.n }

// Name returns the name of process i.
func (c *Computation) Name(i int) string { return c.procs[i].name }

// Names returns the names of all processes, in their order.
func (c *Computation) Names() []string {
	names := make([]string, c.n)
	for i := range names {
		names[i] = c.procs[i].name
	}
	return names
}

// Process returns the process of that name.
func (c *Computation) Process(name string) (i int, ok bool) {
	i, ok = c.index[name]
	return i, ok
}

// Events returns the number of events of process i.
func (c *Computation) Events(i int) int32 { return c.procs[i].events }

// States returns the number of local states of process i: its events plus one.
func (c *Computation) States(i int) int32 { return c.procs[i].events + 1 }

// TotalEvents returns the number of events of all processes.
func (c *Computation) TotalEvents() int {
	total := 0
	for i := range c.procs {
		total += int(c.procs[i].events)
	}
	return total
}

// MaxStates returns the paper's S: the largest number of local states of a
// process.
func (c *Computation) MaxStates() int32 {
	var s int32
	for i := range c.procs {
		s = max(s, c.States(i))
	}
	return s
}

// Clock returns the clock of local state k of process i; do not change it.
func (c *Computation) Clock(i int, k int32) Cut {
	o := int(k) * c.n
	return Cut(c.procs[i].clocks[o : o+c.n : o+c.n])
}

// Text returns what the log says about event k (from 1) of process i.
func (c *Computation) Text(i int, k int32) string {
	t := c.procs[i].text[k-1]
	return string(c.texts[t.off : t.off+uint64(t.len)])
}

// FieldNames returns the names of the fields that events have; do not change
// them.
func (c *Computation) FieldNames() []string { return c.fieldNames }

// Field returns the field of that name of event k (from 1) of process i as it appears in the log;
// ok is unset if the event has none.
func (c *Computation) Field(i int, k int32, name string) (s string, ok bool) {
	if c.procs[i].fields == nil {
		return "", false
	}
	for _, f := range c.procs[i].fields[k-1] {
		if c.fieldNames[f.name] == name {
			return string(c.texts[f.text.off : f.text.off+uint64(f.text.len)]), true
		}
	}
	return "", false
}

// Pos returns where event k (from 1) of process i is in the log.
func (c *Computation) Pos(i int, k int32) Pos {
	p := c.procs[i].pos[k-1]
	return Pos{c.sources[p.source], int(p.line)}
}

// Variables returns the variables of process i, by name; do not change them.
func (c *Computation) Variables(i int) []Variable { return c.procs[i].vars }

// Variable returns the variable of process i of that name, nil if the process
// never assigns it.
func (c *Computation) Variable(i int, name string) *Variable {
	vars := c.procs[i].vars
	k := sort.Search(len(vars), func(k int) bool { return vars[k].Name >= name })
	if k < len(vars) && vars[k].Name == name {
		return &vars[k]
	}
	return nil
}

// Value returns the value of a variable in local state k of process i,
// undefined if it was not assigned yet.
func (c *Computation) Value(i int, k int32, name string) Value {
	v := c.Variable(i, name)
	if v == nil {
		return Value{}
	}
	return c.values.Value(v.At(k))
}

// Values returns the table of all values of the computation; do not add to it.
func (c *Computation) Values() *Values { return c.values }

// Initial returns the initial cut: no event was executed.
func (c *Computation) Initial() Cut { return make(Cut, c.n) }

// Final returns the final cut: every event was executed.
func (c *Computation) Final() Cut {
	f := make(Cut, c.n)
	for i := range f {
		f[i] = c.procs[i].events
	}
	return f
}

// Consistent reports whether the cut is a consistent global state: for all
// processes i and j, the clock of j's local state has at most cut[i] as entry i.
func (c *Computation) Consistent(cut Cut) bool {
	for i, k := range cut {
		if !c.Clock(i, k).Leq(cut) {
			return false
		}
	}
	return true
}

// Enabled reports whether process i has a next event in the consistent cut and
// whether executing it leads to a consistent cut: all events that it depends
// on were executed.
func (c *Computation) Enabled(cut Cut, i int) bool {
	k := cut[i] + 1
	if k > c.procs[i].events {
		return false
	}
	for j, x := range c.Clock(i, k) {
		if x > cut[j] && j != i {
			return false
		}
	}
	return true
}

// Linearise returns the events of the consistent cut to that are not in the
// consistent cut from, in an order that executes each of them when it is
// enabled. It stays with one process as long as it can.
func (c *Computation) Linearise(from, to Cut) []Event {
	s := from.Clone()
	total := 0
	for i := range s {
		total += int(to[i] - s[i])
	}
	order := make([]Event, 0, total)
	for len(order) < total {
		before := len(order)
		for i := range s {
			for s[i] < to[i] && c.Enabled(s, i) {
				s[i]++
				order = append(order, Event{i, s[i]})
			}
		}
		if len(order) == before {
			panic("computation: Linearise of a cut that is not consistent")
		}
	}
	return order
}

// Message is a communication that the clocks show: local state To.Index of
// process To.Process depends directly on event From.
type Message struct{ From, To Event }

// Messages returns the communications that explain how event k of process i
// came to its clock, as few as possible: a dependency that follows from another
// one is left out. A log does not say which messages were sent; a message that
// brought nothing new cannot be seen.
func (c *Computation) Messages(i int, k int32) []Message {
	now, before := c.Clock(i, k), c.Clock(i, k-1)
	var out []Message
next:
	for j, m := range now {
		if j == i || m == before[j] {
			continue
		}
		for l, ml := range now {
			if l != i && l != j && ml != before[l] && c.Clock(l, ml)[j] >= m {
				continue next // it came with the message from l
			}
		}
		out = append(out, Message{Event{j, m}, Event{i, k}})
	}
	return out
}

// Describe prints the cut as "a:3 b:0": the number of executed events of each
// process.
func (c *Computation) Describe(cut Cut) string {
	var sb strings.Builder
	for i, k := range cut {
		if i > 0 {
			sb.WriteByte(' ')
		}
		fmt.Fprintf(&sb, "%s:%d", c.procs[i].name, k)
	}
	return sb.String()
}
