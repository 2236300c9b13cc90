// Package explore provides the contents of the page for executions, without the page: an execution
// with everything there is to see ([Document]), a system that is explored by hand ([Explorer]), a
// search that can be watched and stopped ([Search]), and the state graph of a small system with
// what a reduction explores of it ([Explorer.Graph]). Package explore/page serves them.
//
// An execution is named by its steps ([Path]), never by a number of this process. Going back is a
// shorter path, and a path in the page's address means the same state tomorrow and elsewhere. Every
// request executes its path again in the plain semantics, which takes microseconds per step.
package explore

import (
	"slices"

	"cpor/system"
	"cpor/trace"
)

// Document is an execution as the page shows it: columns are threads or processes,
// time runs down, a row is a step. It is plain data, and all texts in it are
// anybody's.
type Document struct {
	Title   string   `json:"title"`
	Kind    string   `json:"kind"` // of the violation, as in the command's JSON; "" for none
	Message string   `json:"message"`
	Pos     Place    `json:"pos"`
	Notes   []string `json:"notes"`
	Columns []string `json:"columns"`
	Rows    []Row    `json:"rows"`
	// Vars are all variables that are known, with their values at the beginning;
	// the rows say how they change.
	Vars []Var `json:"vars"`
	// Next is where each column is at the beginning; nil if that is not known.
	Next   []Standing `json:"next"`
	Arrows []Arrow    `json:"arrows"`
	// History is what the violation says about the calls of the execution; nil if it is not about
	// calls.
	History *trace.History `json:"history,omitempty"`
	// Violation is what the first state violates; empty if nothing.
	Violation string `json:"violation,omitempty"`
	// Loop is the row to which an execution returns that is run forever, the
	// number of rows if the last state stays forever; -1 if it ends.
	Loop int `json:"loop"`
	// Cut is the row before which a global state of a recorded run lies; -1: none.
	Cut int `json:"cut"`
	// Parting is where a recorded run and a model part, at Cut; nil for none.
	Parting *Parting `json:"parting,omitempty"`
	// Path leads to the end of the execution; nil if nothing is known that could
	// execute it.
	Path *Path `json:"path"`
	// Total is the number of steps of the execution, of which Rows may be the first.
	Total int `json:"total"`

	initial int // what a file says about the initial state
}

// Parting says what comes next in a recorded run, and what a model could do there.
type Parting struct {
	Next   []Coming `json:"next"`
	Offers []Offer  `json:"offers"`
}

// Coming is an event that comes next in a recorded run, and After the texts of those that come
// before it and are not in the cut, either.
type Coming struct {
	Column int      `json:"column"`
	Row    int      `json:"row"` // -1 if it is not shown
	Text   string   `json:"text"`
	After  []string `json:"after"`
}

// Offer is what a thread of the model could do; Does is empty if it is blocked. Why says why the
// run does not continue with it, or what the thread waits for.
type Offer struct {
	Thread string `json:"thread"`
	Host   string `json:"host"`
	Pos    Place  `json:"pos"`
	Text   string `json:"text"`
	Does   string `json:"does"`
	Why    string `json:"why"`
}

// Row is a step.
type Row struct {
	Column int      `json:"column"`
	Pos    Place    `json:"pos"`
	Text   string   `json:"text"`
	Deeds  []string `json:"deeds,omitempty"` // what it did besides accesses, in words
	Calls  []Call   `json:"calls,omitempty"` // the calls around it, the outermost first
	// Within: it continues an earlier step's call of a library.
	Within   bool     `json:"within,omitempty"`
	Accesses []Access `json:"accesses"`
	// Depends are the rows that this one depends on directly, without those that follow from
	// others.
	Depends []int `json:"depends"`
	// Set are the variables that are different after the step.
	Set []Value `json:"set"`
	// Next are the columns that stand elsewhere after the step.
	Next []Standing `json:"next,omitempty"`
	// Violation is what the step or the state after it violates; empty if nothing.
	Violation string `json:"violation,omitempty"`

	alt uint64 // what a file says about the alternative
}

// Call is a call of a function.
type Call struct {
	Func string `json:"func"`
	Pos  Place  `json:"pos"`
}

// Access is an access to a shared location.
type Access struct {
	Loc   string `json:"loc"`
	Write bool   `json:"write"`
	Value string `json:"value"`
}

// Var is a variable with its value at the beginning.
type Var struct {
	Name  string `json:"name"`
	Group string `json:"group"` // shared, a column's name, propositions
	Value string `json:"value"` // "" before it exists or is known
}

// Value is a new value of a variable, by its index.
type Value struct {
	Var   int    `json:"var"`
	Value string `json:"value"`
}

// Standing is where a thread is: what it does next.
type Standing struct {
	Column int    `json:"column"`
	State  string `json:"state"` // enabled, blocked, ended, stopped (by a violation)
	Pos    Place  `json:"pos"`
	Text   string `json:"text"`
	Waits  string `json:"waits,omitempty"` // what a blocked thread waits for
}

// Arrow joins two rows: a message that the first sends and the second receives.
type Arrow struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Text  string `json:"text"`
	Value string `json:"value,omitempty"` // of the message alone
	// Ends, if not nil, are the columns that it goes from and to: within a row.
	Ends []int `json:"ends,omitempty"`
}

// within returns the arrow of a message that goes to another thread, or comes from one,
// in the same step.
func within(row, column, with int, sent bool, text, value string) Arrow {
	ends := []int{column, with}
	if !sent {
		ends = []int{with, column}
	}
	return Arrow{From: row, To: row, Text: text, Value: value, Ends: ends}
}

// Place is a place in a source; the zero value is none.
type Place struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Col  int    `json:"col"`
}

func placeOf(p system.Pos) Place { return Place{p.File, p.Line, p.Col} }

// order has, for the steps of an execution so far, what each of them depends on. Two
// steps are dependent if they are of the same thread or touch a common location that
// one of them writes.
type order struct {
	// by row and column: the number of the column's rows that happened before, with it
	clocks  [][]int32
	column  []int
	nth     []int32       // of its column, from 1
	last    map[int]int   // by column
	writer  map[any]int   // by location
	readers map[any][]int // since the last write
}

func newOrder() *order {
	return &order{last: map[int]int{}, writer: map[any]int{}, readers: map[any][]int{}}
}

// touch is an access to a location, which is any comparable name.
type touch struct {
	loc   any
	write bool
}

// add adds a step and returns the earlier ones that it depends on directly. after are
// further steps that come before it for reasons of their own.
func (o *order) add(column int, touches []touch, after ...int) []int {
	row := len(o.clocks)
	var from []int
	if l, ok := o.last[column]; ok {
		from = append(from, l)
	}
	from = append(from, after...)
	for _, t := range touches {
		if w, ok := o.writer[t.loc]; ok {
			from = append(from, w)
		}
		if t.write {
			from = append(from, o.readers[t.loc]...)
		}
	}
	clock := make([]int32, column+1)
	for _, f := range from {
		clock = grown(clock, len(o.clocks[f]))
		for i, n := range o.clocks[f] {
			clock[i] = max(clock[i], n)
		}
	}
	nth := int32(1)
	if l, ok := o.last[column]; ok {
		nth = o.nth[l] + 1
	}
	clock[column] = nth
	slices.Sort(from)
	from = slices.Compact(from)
	direct := slices.DeleteFunc(slices.Clone(from), func(f int) bool {
		return slices.ContainsFunc(from, func(g int) bool { return g != f && o.before(f, g) })
	})
	o.clocks, o.column, o.nth = append(o.clocks, clock), append(o.column, column),
		append(o.nth, nth)
	o.last[column] = row
	for _, t := range touches {
		if t.write {
			o.writer[t.loc] = row
			delete(o.readers, t.loc)
		} else {
			o.readers[t.loc] = append(o.readers[t.loc], row)
		}
	}
	if direct == nil {
		direct = []int{}
	}
	return direct
}

// before reports whether step f happened before step g.
func (o *order) before(f, g int) bool {
	c := o.column[f]
	return c < len(o.clocks[g]) && o.clocks[g][c] >= o.nth[f]
}

func grown(c []int32, n int) []int32 {
	if len(c) < n {
		c = append(c, make([]int32, n-len(c))...)
	}
	return c
}
