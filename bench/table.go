package bench

import (
	"context"
	"fmt"
	"slices"
)

// Table is something that can be measured and reported by name.
type Table struct {
	// Name is the argument of `cpor bench` that asks for the table, in lower
	// case.
	Name string
	// Summary says in one line what is measured, for the help.
	Summary string
	// Run measures and records in the session. An error ends the table and is
	// shown; what could be measured before stays. When ctx ends, Run returns
	// soon.
	Run func(ctx context.Context, s *Session) error
	// Report makes sections from the table's measurements, from whatever
	// there is of them. It must not keep them.
	Report func(ms []Measurement, machine Machine) []Section
	// Benchmarks returns the names of the rows that the table knows, so that they
	// may be in the arguments; nil if there are none.
	Benchmarks func() []string
	// Flags names the flags that it uses of those that some tables do not.
	Flags []string
	// Files reports whether it measures files of models that the user names, and Named that it
	// measures nothing else than what is named.
	Files, Named bool
	// Asked tells that names of rows alone do not choose it.
	Asked bool
}

// Section is a part of a report: text, grids and plots under a title.
type Section struct {
	Title string
	Text  []string // paragraphs
	Facts []Fact
	Grids []Grid
	Plots []Plot
}

// Fact is a figure that stands out in a report.
type Fact struct {
	Name  string
	Value string
}

// Grid is a table for terminals and pages. Cells of one line may be numbers
// with a mark; all columns but the first are aligned to the right.
type Grid struct {
	Caption string
	Header  []string
	Lines   []Line
	Notes   []string
}

// Line is a line of a grid.
type Line struct {
	// Group is a heading above the line; equal ones of neighbors are shown once.
	Group string
	Cells []string
}

// tables are the registered tables in the order of the help.
var tables = []Table{table1, scale, peers, siegelTable}

// Register adds a table, so that `cpor bench NAME` measures it. It is meant for
// the initialization of a program; a name that is taken is an error of the
// program.
func Register(t Table) {
	if t.Benchmarks == nil {
		t.Benchmarks = func() []string { return nil }
	}
	if t.Name == "" || t.Run == nil || t.Report == nil || slices.ContainsFunc(tables,
		func(o Table) bool { return o.Name == t.Name }) {
		panic(fmt.Sprintf("bench: table %q cannot be registered", t.Name))
	}
	tables = append(tables, t)
}
