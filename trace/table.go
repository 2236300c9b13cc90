package trace

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/system"
)

// TableOptions say how a record is printed. The zero value prints all steps,
// 80 columns wide.
type TableOptions struct {
	// Width is the number of columns of the page; 0 means 80, and less than
	// 40 means 40.
	Width int
	// MaxSteps is the largest number of steps to print: from a longer trace
	// the first and the last ones. 0 means all.
	MaxSteps int
	// MaxThreads is the largest number of threads to list at the end; 0
	// means all.
	MaxThreads int
}

// minColumn is the narrowest column of a thread. Where so many threads take
// part that theirs would be narrower, one column holds the names instead.
const minColumn = 14

// WriteTable prints the record: a table with a column for each thread that
// takes part and a line between two steps of different threads, then the
// violation, then the threads at the end with their locals; those that are
// blocked with the locations that they wait for. A step shows the line of its
// statement, the statement, and below it the values that it wrote.
func (r *Record) WriteTable(w io.Writer, o TableOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	b := bufio.NewWriter(w)
	file := r.file()
	if r.Initial > 0 {
		fmt.Fprintf(b, "from initial state %d\n", r.Initial+1)
	}
	if len(r.Events) > 0 {
		r.writeSteps(b, o, file)
	} else {
		fmt.Fprintln(b, "no step: it is the initial state")
	}
	if v := r.Violation; v != nil {
		fmt.Fprintln(b)
		head := string(v.Kind) + ": "
		if pos := PosString(v.Pos); pos != "" {
			head = pos + ": " + head
		}
		message := strings.TrimPrefix(v.Message, string(v.Kind)+": ")
		fmt.Fprintln(b, text.WrapSoft(head+message, o.Width))
	}
	r.writeFinal(b, o, file)
	return b.Flush()
}

// file returns the name of the file that all events are in, or "" if they are
// in several. Then places are printed with their file.
func (r *Record) file() string {
	file := ""
	for _, e := range r.Events {
		switch {
		case e.Pos.File == "" || e.Pos.File == file:
		case file == "":
			file = e.Pos.File
		default:
			return ""
		}
	}
	for _, t := range r.Final {
		if file == "" {
			file = t.Pos.File
		} else if t.Pos.File != "" && t.Pos.File != file {
			return ""
		}
	}
	return file
}

func place(p system.Pos, file string) string {
	switch {
	case p.Line == 0:
		return ""
	case p.File == file:
		return strconv.Itoa(p.Line)
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// newTable returns a table in the style of all tables here.
func newTable() table.Writer {
	t := table.NewWriter()
	st := table.StyleLight
	st.Options.DrawBorder = false
	st.Format.Header = text.FormatDefault
	t.SetStyle(st)
	t.SuppressTrailingSpaces()
	return t
}

func (r *Record) writeSteps(b *bufio.Writer, o TableOptions, file string) {
	var threads []int
	names := map[int]string{}
	for _, e := range r.Events {
		if _, ok := names[e.Step.Thread]; !ok {
			threads = append(threads, e.Step.Thread)
			names[e.Step.Thread] = e.Thread
		}
	}
	slices.Sort(threads)

	number := len(strconv.Itoa(len(r.Events)))
	// A column costs its padding and its separator beyond its own width.
	wide := (o.Width - number - 2 - 3*len(threads)) / len(threads)
	columns := wide >= minColumn
	t := newTable()
	head := table.Row{"#"}
	configs := []table.ColumnConfig{{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}}
	if columns {
		for i, n := range threads {
			head = append(head, clip(names[n], wide))
			configs = append(configs, table.ColumnConfig{Number: i + 2, WidthMax: wide})
		}
	} else {
		longest := 6
		for _, n := range names {
			longest = max(longest, text.StringWidth(n))
		}
		longest = min(longest, o.Width/4)
		wide = o.Width - number - 2 - 6 - longest
		head = append(head, "thread", "step")
		configs = append(configs, table.ColumnConfig{Number: 2, WidthMax: longest}, table.ColumnConfig{Number: 3, WidthMax: wide})
	}
	t.AppendHeader(head)
	t.SetColumnConfigs(configs)

	from, to := len(r.Events), len(r.Events) // the steps to leave out
	if o.MaxSteps > 0 && len(r.Events) > o.MaxSteps {
		from = o.MaxSteps / 2
		to = len(r.Events) - (o.MaxSteps - from)
	}
	last := -1
	for i, e := range r.Events {
		if i >= from && i < to {
			if i == from {
				t.AppendSeparator()
				t.AppendRow(table.Row{"...", clip(fmt.Sprintf("(%d steps)", to-from), wide)})
				last = -1
			}
			continue
		}
		if e.Step.Thread != last && i > 0 {
			t.AppendSeparator()
		}
		cell := e.cell(file, wide)
		row := table.Row{i + 1}
		if columns {
			for _, n := range threads {
				if n == e.Step.Thread {
					row = append(row, cell)
				} else {
					row = append(row, "")
				}
			}
		} else {
			row = append(row, clip(e.Thread, o.Width/4), cell)
		}
		t.AppendRow(row)
		last = e.Step.Thread
	}
	if file != "" {
		fmt.Fprintln(b, clip(file, o.Width))
	}
	fmt.Fprintln(b, t.Render())
}

// cell returns what a step's cell shows, wrapped to width.
func (e *Event) cell(file string, width int) string {
	lines := []string{wrap(join(place(e.Pos, file), oneLine(e.Text)), width)}
	for _, a := range e.Accesses {
		if a.Write {
			lines = append(lines, wrap("  "+a.Loc+" = "+a.Value, width))
		}
	}
	return strings.Join(lines, "\n")
}

func (r *Record) writeFinal(b *bufio.Writer, o TableOptions, file string) {
	deadlock := r.Violation != nil && r.Violation.Kind == system.Deadlock
	part := map[int]bool{}
	for _, e := range r.Events {
		part[e.Step.Thread] = true
	}
	var shown []Thread
	more := 0
	for _, t := range r.Final {
		switch {
		case deadlock && t.Kind != system.Blocked, !deadlock && !part[t.Number]:
		case o.MaxThreads > 0 && len(shown) >= o.MaxThreads:
			more++
		default:
			shown = append(shown, t)
		}
	}
	if len(shown) == 0 {
		return
	}
	fmt.Fprintln(b)
	longest := 6
	for _, t := range shown {
		longest = max(longest, text.StringWidth(t.Name))
	}
	longest = min(longest, o.Width/4)
	rest := o.Width - longest - 2 - 6
	t := newTable()
	second := "next"
	if deadlock {
		second = "is blocked at"
	}
	t.AppendHeader(table.Row{"thread", second, "locals"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, WidthMax: longest},
		{Number: 2, WidthMax: rest * 3 / 5},
		{Number: 3, WidthMax: rest - rest*3/5},
	})
	for _, th := range shown {
		t.AppendRow(table.Row{clip(th.Name, longest), wrap(th.next(file), rest*3/5), wrap(th.locals(), rest-rest*3/5)})
	}
	fmt.Fprintln(b, t.Render())
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

// next returns what a thread would do next, or what it waits for.
func (t *Thread) next(file string) string {
	if t.Kind == system.Ended {
		return "(ended)"
	}
	s := join(place(t.Pos, file), oneLine(t.Text))
	if t.Kind == system.Moved {
		return s
	}
	if len(t.Waits) > 0 {
		var ws []string
		for _, a := range t.Waits {
			ws = append(ws, a.Loc+" = "+a.Value)
		}
		s += "\n  waits on " + strings.Join(ws, ", ")
	}
	if t.AtEnd {
		s += "\n  (may stay here)"
	}
	return s
}

func (t *Thread) locals() string {
	var ls []string
	for _, l := range t.Locals {
		ls = append(ls, l.Name+" = "+l.Value)
	}
	return strings.Join(ls, ", ")
}

// wrap breaks lines at spaces where it can, and hard where it must.
func wrap(s string, width int) string {
	return text.WrapHard(text.WrapSoft(s, width), width)
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func clip(s string, width int) string { return text.Snip(s, width, "~") }
