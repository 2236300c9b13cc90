package draw

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"cpor/internal/terminal"
	"cpor/system"
	"cpor/trace"
)

// minColumn is the narrowest column of a thread. Where so many threads take part
// that theirs would be narrower, or their texts do not fit well, one column holds
// the names instead.
const minColumn = 14

// Table prints a record: a table with a column for each thread that takes part and a line
// between two steps of different threads; then the violation; then the threads at the end with
// their locals and what blocked ones wait for. A step shows the line and text of its statement.
// Below it come the call that it is in, if that has changed, what it did in words, the values that
// it wrote or else those that it read, and the locals that it changed.
func Table(w io.Writer, r *trace.Record, o trace.TableOptions) error {
	if o.Width == 0 {
		o.Width = 80
	}
	o.Width = max(o.Width, 40)
	b := bufio.NewWriter(w)
	file := fileOf(r)
	switch {
	case len(r.Choices) > 0:
		fmt.Fprintln(b, wrap(fmt.Sprintf("from initial state %d: %s", r.Initial+1,
			strings.Join(r.Choices, ", ")), o.Width, ""))
	case r.Initial > 0:
		fmt.Fprintf(b, "from initial state %d\n", r.Initial+1)
	}
	if slices.ContainsFunc(r.Events, func(e trace.Event) bool { return !e.Observer }) {
		writeSteps(b, r, o, file)
	} else {
		fmt.Fprintln(b, "no step: it is the initial state")
	}
	if v := r.Violation; v != nil && !o.OmitViolation {
		fmt.Fprintln(b)
		head := trace.Headline(v)
		if pos := trace.PosString(v.Pos); pos != "" {
			head = pos + ": " + head
		}
		fmt.Fprintln(b, wrap(head, o.Width, ""))
	}
	writeWitness(b, r, o)
	writeFinal(b, r, o, file)
	writeShared(b, r, o)
	return b.Flush()
}

// writeWitness says what an observer found at the end: its steps are not in the table.
func writeWitness(b *bufio.Writer, r *trace.Record, o trace.TableOptions) {
	if len(r.Events) == 0 {
		return
	}
	if e := r.Events[len(r.Events)-1]; e.Observer && len(e.Deeds) > 0 {
		fmt.Fprintf(b, "\n%s\n", wrap("because: "+strings.Join(e.Deeds, ", "), o.Width, " "))
	}
}

// Page returns the width and the colors of a table in the form that package terminal uses.
func Page(o trace.TableOptions) terminal.Page {
	return terminal.Page{Width: o.Width, Color: o.Color}
}

// fileOf returns the name of the file that all events are in, or "" if they are
// in several. Then places are printed with their file.
func fileOf(r *trace.Record) string {
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

// row is a step as it is printed, or several that are one statement.
type row struct {
	index  int // of the event; -1 for the line that replaces omitted ones
	first  int // of the events that it stands for
	thread int
	name   string
	lines  []line
}

// line is a line of a step before it is wrapped.
type line struct {
	text   string
	indent string
	color  terminal.Color
}

// rowsOf returns the printed steps: of a long trace the first and the last ones.
func rowsOf(r *trace.Record, o trace.TableOptions, file string) []row {
	from, to := len(r.Events), len(r.Events) // the steps to leave out
	if o.MaxSteps > 0 && len(r.Events) > o.MaxSteps {
		from = o.MaxSteps / 2
		to = len(r.Events) - (o.MaxSteps - from)
	}
	var rows []row
	calls := map[int][]system.Call{} // of each thread's last step
	blocks := map[system.Pos]bool{}  // atomic blocks that were printed
	begin := -1                      // of the statement whose reads have been made
	for i, e := range r.Events {
		switch {
		case i == from:
			begin = -1
			rows = append(rows,
				row{index: -1, lines: []line{{text: fmt.Sprintf("(%d steps)", to-from)}}})
			fallthrough
		case i > from && i < to, e.Observer:
			calls[e.Step.Thread] = e.Calls
			continue
		}
		if begin < 0 {
			begin = i
		}
		if i+1 < len(r.Events) && i+1 != from && continued(r, i) {
			continue
		}
		whole := merged(r, begin, i)
		if strings.HasPrefix(e.Text, "atomic {") && e.Pos.Line > 0 {
			if blocks[e.Pos] {
				whole.Text = "atomic {...}"
			}
			blocks[e.Pos] = true
		}
		rows = append(rows, row{i, begin, e.Step.Thread, e.Thread,
			lines(&whole, file, !slices.Equal(calls[e.Step.Thread], e.Calls))})
		calls[e.Step.Thread] = e.Calls
		begin = -1
	}
	return rows
}

// continued reports whether step i only reads for a statement that the next step completes, as in
// n++: the same thread, the same place, and then a write.
func continued(r *trace.Record, i int) bool {
	e, next := &r.Events[i], &r.Events[i+1]
	quiet := func(e *trace.Event) bool {
		return len(e.Deeds) == 0 && len(e.Messages) == 0 && !e.Observer && e.Pos.Line > 0
	}
	writes := func(a trace.Access) bool { return a.Write }
	return quiet(e) && quiet(next) && len(e.Accesses) > 0 && e.Step.Thread == next.Step.Thread &&
		e.Pos == next.Pos && e.Text == next.Text && slices.Equal(e.Calls, next.Calls) &&
		!slices.ContainsFunc(e.Accesses, writes) && slices.ContainsFunc(next.Accesses, writes)
}

// merged returns steps from to to as one: what the last has done, what they read before, and
// what locals they changed.
func merged(r *trace.Record, from, to int) trace.Event {
	whole := r.Events[to]
	for i := to - 1; i >= from; i-- {
		e := &r.Events[i]
		whole.Accesses = slices.Concat(e.Accesses, whole.Accesses)
		for _, b := range e.Changed {
			same := func(x system.Binding) bool { return x.Name == b.Name }
			if !slices.ContainsFunc(whole.Changed, same) {
				whole.Changed = append(slices.Clone(whole.Changed), b)
			}
		}
	}
	return whole
}

func writeSteps(b *bufio.Writer, r *trace.Record, o trace.TableOptions, file string) {
	rows := rowsOf(r, o, file)
	var threads []int
	names := map[int]string{}
	for _, w := range rows {
		if _, ok := names[w.thread]; !ok && w.index >= 0 {
			threads = append(threads, w.thread)
			names[w.thread] = w.name
		}
	}
	slices.Sort(threads)
	number := len(strconv.Itoa(len(r.Events)))
	for _, w := range rows {
		number = max(number, len(w.number()))
	}
	if o.MaxSteps > 0 && len(r.Events) > o.MaxSteps {
		number = max(number, len("..."))
	}
	longest := len("thread")
	for _, n := range names {
		longest = max(longest, columnsOf(n))
	}
	longest = min(longest, o.Width/3)
	// A column costs its padding and its separator beyond its own width.
	column := (o.Width - number - 2 - 3*len(threads)) / len(threads)
	listed := o.Width - number - 2 - 6 - longest
	labels := clipNames(names, longest)
	columns := inColumns(rows, names, column, listed)
	page := Page(o)
	for i, n := range threads {
		names[n] = page.Paint(terminal.Thread(i), names[n])
		labels[n] = page.Paint(terminal.Thread(i), labels[n])
	}
	if n := len(rows); r.Violation != nil && n > 0 {
		rows[n-1].lines[0].color = terminal.Bad
	}

	t := newTable()
	head := table.Row{"#"}
	// The cells are wrapped already: go-pretty's own wrapping drops indents.
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 1, Align: text.AlignRight, AlignHeader: text.AlignRight}})
	if columns {
		for _, n := range threads {
			head = append(head, names[n])
		}
	} else {
		head = append(head, "thread", "step")
	}
	t.AppendHeader(head)
	last := -1
	for i, w := range rows {
		if w.index < 0 {
			t.AppendSeparator()
			t.AppendRow(table.Row{"...", w.lines[0].text})
			t.AppendSeparator()
			last = -1
			continue
		}
		if columns && w.thread != last && i > 0 {
			t.AppendSeparator()
		}
		out := table.Row{w.number()}
		switch {
		case columns:
			for _, n := range threads {
				if n == w.thread {
					out = append(out, w.cell(column, page))
				} else {
					out = append(out, "")
				}
			}
		case w.thread == last:
			out = append(out, "", w.cell(listed, page))
		default:
			out = append(out, labels[w.thread], w.cell(listed, page))
		}
		t.AppendRow(out)
		last = w.thread
	}
	if file != "" {
		fmt.Fprintln(b, clip(file, o.Width))
	}
	fmt.Fprintln(b, t.Render())
}

// inColumns reports whether the steps are easier to read with a column for each thread: if it
// breaks no name, and the table does not become much longer than a list by that.
func inColumns(rows []row, names map[int]string, column, listed int) bool {
	if column < minColumn {
		return false
	}
	for _, n := range names {
		if columnsOf(n) > column {
			return false
		}
	}
	narrow, wide := 0, 0
	for _, w := range rows {
		for _, l := range w.lines {
			if longestWord(l.text) > column-len(l.indent) {
				return false
			}
			narrow += 1 + strings.Count(wrap(l.text, column, l.indent), "\n")
			wide += 1 + strings.Count(wrap(l.text, listed, l.indent), "\n")
		}
	}
	return 2*narrow <= 3*wide
}

// maxReads is how many of the values that a step read are shown.
const maxReads = 4

// lines returns the text of a step; call reports whether to show the calls around it.
func lines(e *trace.Event, file string, call bool) []line {
	lines := []line{{text: statement(e.Pos, e.Text, file)}}
	paint := func(text string, color terminal.Color) {
		lines = append(lines, line{text, "  ", color})
	}
	add := func(text string) { paint(text, terminal.Plain) }
	if call {
		for i := len(e.Calls) - 1; i >= 0; i-- {
			paint("in "+e.Calls[i].Func+", called at "+placeCol(e.Calls[i].Pos, file), terminal.Dim)
		}
	}
	shown := false
	for _, d := range e.Deeds {
		if shown = true; bare(d) != bare(e.Text) {
			if i := strings.LastIndex(d, " ("); i > 0 {
				d = d[:i+1] + together(d[i+1:])
			}
			add(d)
		}
	}
	var reads []string
	for _, a := range e.Accesses {
		switch {
		case a.Internal:
		case a.Write:
			paint(together(a.Loc+" = "+a.Value), terminal.Value)
			shown = true
		case len(reads) < maxReads:
			reads = append(reads, together(a.Loc+" = "+a.Value))
		case len(reads) == maxReads:
			reads = append(reads, "...")
		}
	}
	if !shown && len(reads) > 0 {
		add("read " + strings.Join(reads, ", "))
	}
	if len(e.Changed) > 0 {
		paint("local "+bindings(e.Changed), terminal.Value)
	}
	return lines
}

// number returns the numbers of the steps.
func (w *row) number() string {
	if w.first < w.index {
		return fmt.Sprintf("%d-%d", w.first+1, w.index+1)
	}
	return strconv.Itoa(w.index + 1)
}

// bare returns a text without what tells lock(m) from lock m.
func bare(s string) string { return strings.NewReplacer("(", "", ")", "", " ", "").Replace(s) }

// cell returns the lines of a step, wrapped to width.
func (w *row) cell(width int, page terminal.Page) string {
	var b strings.Builder
	for i, l := range w.lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(page.Paint(l.color, wrap(l.text, width, l.indent)))
	}
	return b.String()
}

// statement returns a statement with its place.
func statement(pos system.Pos, stmt, file string) string {
	if p := place(pos, file); p != "" {
		return p + ": " + stmt
	}
	return stmt
}

// placeCol returns a place with its column.
func placeCol(p system.Pos, file string) string {
	if p.File == file {
		p.File = ""
	}
	return strings.TrimPrefix(trace.PosString(p), ":")
}

func writeFinal(b *bufio.Writer, r *trace.Record, o trace.TableOptions, file string) {
	deadlock := r.Violation != nil && r.Violation.Kind == system.Deadlock
	part := map[int]bool{}
	for _, e := range r.Events {
		part[e.Step.Thread] = true
	}
	var shown []trace.Thread
	for _, t := range r.Final {
		if deadlock && t.Kind == system.Blocked || !deadlock && part[t.Number] {
			shown = append(shown, t)
		}
	}
	// Those that may stay where they are come last.
	slices.SortStableFunc(shown, func(a, b trace.Thread) int {
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
	next, locals := 0, len("locals")
	for _, t := range shown {
		longest = max(longest, columnsOf(t.Name))
		next = max(next, longestWord(upcoming(&t, file, 1<<16)))
		locals = max(locals, longestWord(bindings(t.Locals)))
	}
	longest = min(longest, o.Width/3)
	names := map[int]string{}
	for _, t := range shown {
		names[t.Number] = t.Name
	}
	labels := clipNames(names, longest)
	rest := o.Width - longest - 2 - 6
	// Both columns are as wide as their words need, if there is room.
	next = max(1, min(max(rest*3/5, next+2), rest-min(locals, rest/2)))
	t := newTable()
	second := "next"
	if deadlock {
		second = "is blocked at"
	}
	t.AppendHeader(table.Row{"thread", second, "locals"})
	for _, th := range shown {
		t.AppendRow(table.Row{labels[th.Number], upcoming(&th, file, next),
			wrap(bindings(th.Locals), rest-next, "")})
	}
	fmt.Fprintln(b, t.Render())
	if more > 0 {
		fmt.Fprintf(b, "and %d more\n", more)
	}
}

// maxShared is how many shared variables are shown at the end.
const maxShared = 40

// writeShared prints what the threads share at the end, and what the last step has changed.
func writeShared(b *bufio.Writer, r *trace.Record, o trace.TableOptions) {
	if len(r.Shared) == 0 {
		return
	}
	was := map[string]string{}
	for _, v := range r.Before {
		was[v.Name] = v.Value
	}
	page := Page(o)
	var texts []string
	for _, v := range r.Shared[:min(len(r.Shared), maxShared)] {
		s := v.Name + " = " + v.Value
		if old, ok := was[v.Name]; ok && old != v.Value {
			s += " (was " + old + ")"
		}
		texts = append(texts, together(s))
	}
	if n := len(r.Shared) - maxShared; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	text := wrap("at the end: "+strings.Join(texts, ", "), o.Width-1, "")
	for _, s := range texts {
		if s = strings.ReplaceAll(s, joint, " "); strings.HasSuffix(s, ")") &&
			strings.Contains(s, " (was ") {
			text = strings.Replace(text, s, page.Paint(terminal.Value, s), 1)
		}
	}
	fmt.Fprintf(b, "\n%s\n", strings.ReplaceAll(" "+text, "\n", "\n "))
}

// upcoming returns what a thread would do next, or what it waits for, wrapped to width.
func upcoming(t *trace.Thread, file string, width int) string {
	if t.Stopped {
		return wrap("(stopped by the violation)", width, "")
	}
	if t.Kind == system.Ended {
		return "(ended)"
	}
	s := wrap(statement(t.Pos, t.Text, file), width, "")
	if t.Kind == system.Moved {
		return s
	}
	var ws []string
	for _, a := range t.Waits {
		if !a.Internal {
			ws = append(ws, together(a.Loc+" = "+a.Value))
		}
	}
	waits := ""
	switch values := strings.Join(ws, ", "); {
	case len(t.WaitsFor) > 0 && values != "":
		waits = "waits for " + strings.Join(t.WaitsFor, "; or ") + " (" + values + ")"
	case len(t.WaitsFor) > 0:
		waits = "waits for " + strings.Join(t.WaitsFor, "; or ")
	case values != "":
		waits = "waits while " + values
	}
	if waits != "" {
		s += "\n" + wrap(waits, width, "  ")
	}
	if t.AtEnd {
		s += "\n" + wrap("(may stay here)", width, "  ")
	}
	return s
}

// bindings prints variables with their values. Fields of one variable are printed together.
func bindings(bs []system.Binding) string {
	var ls []string
	for i := 0; i < len(bs); i++ {
		object, field, ok := strings.Cut(bs[i].Name, ".")
		if !ok {
			ls = append(ls, together(bs[i].Name+" = "+bs[i].Value))
			continue
		}
		fields := []string{together(field + ": " + bs[i].Value)}
		for ; i+1 < len(bs) && strings.HasPrefix(bs[i+1].Name, object+"."); i++ {
			fields = append(fields, together(bs[i+1].Name[len(object)+1:]+": "+bs[i+1].Value))
		}
		ls = append(ls, object+" = {"+strings.Join(fields, ", ")+"}")
	}
	return strings.Join(ls, ", ")
}

// wrap breaks s into lines of at most width columns, each with an indent; spaces within s are
// made one. It breaks at spaces, and words that are too long after commas and opening brackets;
// a name is broken only if it is wider than a line. It is our own because go-pretty's wrapping
// breaks words, and drops the indent.
func wrap(s string, width int, indent string) string {
	width = max(1, width-len(indent))
	var lines []string
	line := ""
	put := func(part string, space bool) {
		switch n := columnsOf(part); {
		case line == "":
			line = part
		case space && columnsOf(line)+1+n <= width:
			line += " " + part
		case !space && columnsOf(line)+n <= width:
			line += part
		default:
			lines = append(lines, line)
			line = part
		}
	}
	for word := range strings.FieldsSeq(s) {
		if columnsOf(word) <= width {
			put(word, true)
			continue
		}
		if strings.Contains(word, joint) { // there is no line for it
			for part := range strings.FieldsSeq(strings.ReplaceAll(word, joint, " ")) {
				put(part, true)
			}
			continue
		}
		for i, part := range breakable(word) {
			for j, piece := range strings.Split(text.WrapHard(part, width), "\n") {
				put(piece, i+j == 0)
			}
		}
	}
	lines = append(lines, line)
	return strings.ReplaceAll(indent+strings.Join(lines, "\n"+indent), joint, " ")
}

// columnsOf returns how many columns s takes. Nearly all text is ASCII, for which the library's
// answer takes some hundred times as long.
func columnsOf(s string) int {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return text.StringWidth(s)
		}
	}
	return len(s)
}

// joint replaces a space at which wrap must not break. It belongs to no script.
const joint = "\ue000"

// together makes wrap keep a short text on one line.
func together(s string) string {
	if len(s) > minColumn+10 {
		return s
	}
	return strings.ReplaceAll(s, " ", joint)
}

// breakable splits a word where it may be broken.
func breakable(word string) []string {
	var parts []string
	for word != "" {
		i := strings.IndexAny(word, ",({;") + 1
		if i == 0 {
			i = len(word)
		}
		parts = append(parts, word[:i])
		word = word[i:]
	}
	return parts
}

// longestWord returns the width of the longest piece of s that wrap does not break.
func longestWord(s string) int {
	n := 0
	for word := range strings.FieldsSeq(s) {
		for _, part := range breakable(word) {
			for piece := range strings.SplitSeq(part, joint) {
				n = max(n, columnsOf(piece))
			}
		}
	}
	return n
}

func clip(s string, width int) string { return text.Snip(s, width, "~") }

// clipNames shortens the names of threads. Names that would look the same are wrapped instead.
func clipNames(names map[int]string, width int) map[int]string {
	out := map[int]string{}
	same := map[string]int{}
	for n, s := range names {
		out[n] = clipName(s, width)
		same[out[n]]++
	}
	for n, s := range out {
		if same[s] > 1 {
			out[n] = wrap(names[n], width, "")
		}
	}
	return out
}

// clipName shortens a thread's name, but not what tells it from others: P[3], worker #2.1.
func clipName(s string, width int) string {
	i := max(strings.LastIndexByte(s, '['), strings.LastIndex(s, " #"))
	if n := columnsOf(s); n > width && i > 0 && len(s)-i < width-1 {
		return clip(s[:i], width-(len(s)-i)) + s[i:]
	}
	return clip(s, width)
}
