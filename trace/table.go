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
	// OmitViolation leaves the line about the violation out, for callers that
	// print it themselves.
	OmitViolation bool
}

// minColumn is the narrowest column of a thread. Where so many threads take
// part that theirs would be narrower, one column holds the names instead.
const minColumn = 14

// WriteTable prints the record: a table with a column for each thread that
// takes part and a line between two steps of different threads, then the
// violation, then the threads at the end with their locals; those that are
// blocked with the locations that they wait for. A step shows the line of its
// statement, the statement, and below it the values that it wrote, or if there
// are none those that it read.
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
	if slices.ContainsFunc(r.Events, func(e Event) bool { return !e.Observer }) {
		r.writeSteps(b, o, file)
	} else {
		fmt.Fprintln(b, "no step: it is the initial state")
	}
	if v := r.Violation; v != nil && !o.OmitViolation {
		fmt.Fprintln(b)
		head := Headline(v)
		if pos := PosString(v.Pos); pos != "" {
			head = pos + ": " + head
		}
		fmt.Fprintln(b, wrap(head, o.Width, ""))
	}
	r.writeFinal(b, o, file)
	return b.Flush()
}

// Headline returns the kind and the message of a violation, as "kind: message",
// without saying the kind twice.
func Headline(v *system.Violation) string {
	kind := string(v.Kind)
	if rest, ok := strings.CutPrefix(v.Message, kind); ok && (rest == "" || rest[0] == ':' || rest[0] == ' ') {
		return v.Message
	}
	return kind + ": " + v.Message
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
		if _, ok := names[e.Step.Thread]; !ok && !e.Observer {
			threads = append(threads, e.Step.Thread)
			names[e.Step.Thread] = e.Thread
		}
	}
	slices.Sort(threads)

	number := len(strconv.Itoa(len(r.Events)))
	if o.MaxSteps > 0 && len(r.Events) > o.MaxSteps {
		number = max(number, len("..."))
	}
	// A column costs its padding and its separator beyond its own width.
	wide := (o.Width - number - 2 - 3*len(threads)) / len(threads)
	columns := wide >= minColumn
	t := newTable()
	head := table.Row{"#"}
	// The cells are wrapped already: go-pretty's own wrapping drops indents.
	t.SetColumnConfigs([]table.ColumnConfig{{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}})
	if columns {
		for _, n := range threads {
			head = append(head, clipName(names[n], wide))
		}
	} else {
		longest := 6
		for _, n := range names {
			longest = max(longest, text.StringWidth(n))
		}
		longest = min(longest, o.Width/4)
		wide = o.Width - number - 2 - 6 - longest
		head = append(head, "thread", "step")
	}
	t.AppendHeader(head)

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
				t.AppendRow(table.Row{"...", clip(fmt.Sprintf("(%d steps)", to-from), 14)})
				t.AppendSeparator()
				last = -1
			}
			continue
		}
		if e.Observer {
			continue
		}
		if columns && e.Step.Thread != last && i > 0 {
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
			row = append(row, clipName(e.Thread, o.Width/4), cell)
		}
		t.AppendRow(row)
		last = e.Step.Thread
	}
	if file != "" {
		fmt.Fprintln(b, clip(file, o.Width))
	}
	fmt.Fprintln(b, t.Render())
}

// maxReads is how many of the values that a step read are shown.
const maxReads = 4

// cell returns what a step's cell shows, wrapped to width.
func (e *Event) cell(file string, width int) string {
	lines := []string{statement(e.Pos, e.Text, file, width)}
	var reads []string
	for _, a := range e.Accesses {
		if a.Write {
			lines = append(lines, wrap(a.Loc+" = "+a.Value, width, "  "))
		} else if len(reads) < maxReads {
			reads = append(reads, a.Loc+" = "+a.Value)
		} else if len(reads) == maxReads {
			reads = append(reads, "...")
		}
	}
	if len(lines) == 1 && len(reads) > 0 {
		lines = append(lines, wrap("read "+strings.Join(reads, ", "), width, "  "))
	}
	return strings.Join(lines, "\n")
}

// statement returns a statement with its place, wrapped to width.
func statement(pos system.Pos, stmt, file string, width int) string {
	if p := place(pos, file); p != "" {
		stmt = p + ": " + stmt
	}
	return wrap(stmt, width, "")
}

func (r *Record) writeFinal(b *bufio.Writer, o TableOptions, file string) {
	deadlock := r.Violation != nil && r.Violation.Kind == system.Deadlock
	part := map[int]bool{}
	for _, e := range r.Events {
		part[e.Step.Thread] = true
	}
	var shown []Thread
	for _, t := range r.Final {
		if deadlock && t.Kind == system.Blocked || !deadlock && part[t.Number] {
			shown = append(shown, t)
		}
	}
	// Those that may stay where they are come last.
	slices.SortStableFunc(shown, func(a, b Thread) int {
		switch {
		case a.AtEnd == b.AtEnd:
			return 0
		case b.AtEnd:
			return -1
		}
		return 1
	})
	more := 0
	if o.MaxThreads > 0 && len(shown) > o.MaxThreads {
		more = len(shown) - o.MaxThreads
		shown = shown[:o.MaxThreads]
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
	for _, th := range shown {
		t.AppendRow(table.Row{clipName(th.Name, longest), th.next(file, rest*3/5), wrap(th.locals(), rest-rest*3/5, "")})
	}
	fmt.Fprintln(b, t.Render())
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

// next returns what a thread would do next, or what it waits for, wrapped to
// width.
func (t *Thread) next(file string, width int) string {
	if t.Kind == system.Ended {
		return "(ended)"
	}
	s := statement(t.Pos, t.Text, file, width)
	if t.Kind == system.Moved {
		return s
	}
	if len(t.Waits) > 0 {
		var ws []string
		for _, a := range t.Waits {
			ws = append(ws, a.Loc+" = "+a.Value)
		}
		s += "\n" + wrap("waits on "+strings.Join(ws, ", "), width, "  ")
	}
	if t.AtEnd {
		s += "\n" + wrap("(may stay here)", width, "  ")
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

// wrap breaks s into lines of at most width columns, at spaces where it can,
// each with an indent; spaces within s are made one. It is our own because
// go-pretty's text.WrapSoft breaks within words that would fit on the next
// line, and drops the indent.
func wrap(s string, width int, indent string) string {
	width = max(1, width-len(indent))
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		if line != "" && text.StringWidth(line)+1+text.StringWidth(word) <= width {
			line += " " + word
			continue
		}
		if line != "" {
			lines = append(lines, line)
		}
		parts := strings.Split(text.WrapHard(word, width), "\n")
		lines = append(lines, parts[:len(parts)-1]...)
		line = parts[len(parts)-1]
	}
	lines = append(lines, line)
	return indent + strings.Join(lines, "\n"+indent)
}

func clip(s string, width int) string { return text.Snip(s, width, "~") }

// clipName shortens a thread's name, but not its index.
func clipName(s string, width int) string {
	i := strings.LastIndexByte(s, '[')
	if n := text.StringWidth(s); n > width && i > 0 && len(s)-i < width-1 {
		return clip(s[:i], width-(len(s)-i)) + s[i:]
	}
	return clip(s, width)
}
