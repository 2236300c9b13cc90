package unfolding

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	svg "github.com/ajstarks/svgo"

	"cpor/engine"
	"cpor/internal/human"
	"cpor/system"
	"cpor/trace"
)

// MaxDrawn is the largest number of events that a picture shows.
const MaxDrawn = 400

// Picture is the first events of a prefix with their conditions, laid out: a column for
// each thread, and below each other what depends on each other. It is plain data, in
// pixels, and all texts in it are anybody's.
type Picture struct {
	Width   int           `json:"width"`
	Height  int           `json:"height"`
	Columns []DrawnColumn `json:"columns"`
	Events  []DrawnEvent  `json:"events"`
	Conds   []DrawnCond   `json:"conds"`
	Arcs    []DrawnArc    `json:"arcs"`
	// Total and Cutoffs count the events of the whole prefix.
	Total   uint64 `json:"total"`
	Cutoffs uint64 `json:"cutoffs"`
}

// DrawnColumn is the column of a thread.
type DrawnColumn struct {
	Name  string `json:"name"`
	X     int    `json:"x"`
	Width int    `json:"width"`
}

// DrawnEvent is a box.
type DrawnEvent struct {
	Column int    `json:"column"`
	X      int    `json:"x"`
	Y      int    `json:"y"`
	W      int    `json:"w"`
	Short  string `json:"short"` // as much of Text as fits into the box
	Text   string `json:"text"`
	Line   int    `json:"line"` // of the source; 0 for none
	// Cut says of a cut-off event where the state that it leads to was met before; empty
	// for others.
	Cut string `json:"cut,omitempty"`
	// Violation is what the event violates; empty for nothing.
	Violation string `json:"violation,omitempty"`
	// History are the events that it needs before it, by their places in Events.
	History []int `json:"history"`
	// Initial and Steps are its history as an execution, with itself as the last step.
	Initial int          `json:"initial"`
	Steps   []trace.Step `json:"-"`
}

// DrawnCond is a condition: a thread's, drawn as a circle, or a location's with its value;
// of what channels, locks and the like keep for themselves, a dot.
type DrawnCond struct {
	X      int    `json:"x"`
	Y      int    `json:"y"`
	W      int    `json:"w"`
	Thread bool   `json:"thread"`
	Short  string `json:"short"`
	Text   string `json:"text"`
}

// DrawnArc is a line from a condition, or from an event, to an event, or from an event to
// its condition.
type DrawnArc struct {
	// Kind is take and make for what an event takes and makes, read for what it only
	// reads, and after for a writer that comes after a reader.
	Kind  string `json:"kind"`
	Event int    `json:"event"` // whose line it is, by its place in Events
	X1    int    `json:"x1"`
	Y1    int    `json:"y1"`
	X2    int    `json:"x2"`
	Y2    int    `json:"y2"`
}

// The measures of a picture, in pixels.
const (
	boxHeight  = 24
	condHeight = 18
	dotWidth   = 10
	condGap    = 8  // from an event to its conditions, and between these
	boxGap     = 22 // between events side by side
	levelGap   = 34
	columnGap  = 46
	margin     = 18
	headHeight = 30
	letter     = 7 // the width of one
	maxText    = 26
	maxRow     = 230 // of conditions side by side
)

// block is an event, or an initial state's part of a column, with the conditions below it.
type block struct {
	event   uint32
	column  int
	level   int
	x, y, w int // within its column
	h       int
	boxW    int
	centre  int   // where it would like to be
	conds   []int // into Picture.Conds
}

// Picture lays the first events of the prefix out.
func (r *Result) Picture() *Picture {
	b := r.b
	first := uint32(len(b.roots))
	n := min(b.events.n-first, MaxDrawn)
	d := &drawing{b: b, first: first, m: b.sys.NewMachine(), roots: b.sys.NewMachine(),
		at: map[uint32]int{}, column: map[int]int{}, home: map[[2]int]*block{},
		cuts: map[int]string{},
		p: &Picture{Columns: []DrawnColumn{}, Events: []DrawnEvent{}, Conds: []DrawnCond{},
			Arcs: []DrawnArc{}, Total: r.Events, Cutoffs: r.Cutoffs}}
	d.m.Track(true)
	var threads []int
	for e := first; e < first+n; e++ {
		if t := int(b.comp(b.thread(e)).number); !slices.Contains(threads, t) {
			threads = append(threads, t)
		}
	}
	slices.Sort(threads)
	for i, t := range threads {
		d.column[t] = i
		d.p.Columns = append(d.p.Columns, DrawnColumn{})
	}
	same := map[string]uint32{} // who led to a state first
	for root, s := range b.roots {
		if _, ok := same[engine.StateString(s)]; !ok {
			same[engine.StateString(s)] = uint32(root)
		}
	}
	c := newConfig(b.prefix)
	for e := first; e < first+n; e++ {
		d.event(c, e, same)
	}
	for i, state := range d.cuts {
		ev := &d.p.Events[i]
		switch twin, ok := same[state]; {
		case !ok:
			ev.Cut = "as after another event" // that is not drawn
		case twin < first:
			ev.Cut = "as in the beginning"
		default:
			ev.Cut = fmt.Sprintf("as after event %d", twin-first+1)
		}
	}
	d.place()
	d.arcs()
	return d.p
}

// drawing is a picture that is made.
type drawing struct {
	b      *builder
	m      system.Machine // in the state after the event that is entered
	roots  system.Machine // in an initial state
	first  uint32
	p      *Picture
	blocks []*block          // of the events, in their order
	home   map[[2]int]*block // of initial conditions, by column and initial state
	at     map[uint32]int    // conditions that are drawn
	column map[int]int       // by thread
	cuts   map[int]string    // the states that cut-off events lead to
}

// event enters an event with the conditions that it makes.
func (d *drawing) event(c *config, e uint32, same map[string]uint32) {
	b := d.b
	l := b.leafOf(e)
	form, more := b.shape(l), b.extra(l)
	t := int(b.comp(form.thread()).number)
	cand := b.candidateOf(e)
	c.load(cand)
	steps := c.steps(nil)
	d.m.Load(b.roots[cand.root])
	for _, s := range steps {
		d.m.Step(s.Thread, s.Alt)
	}
	name := d.m.ThreadName(t)
	pos, text, _ := d.m.Next(t)
	ev := DrawnEvent{History: []int{}, Column: d.column[t], Text: text, Line: pos.Line,
		Short: cutText(fmt.Sprintf("%d  %s", e-d.first+1, text)), Initial: int(cand.root),
		Steps: append(steps, trace.Step{Thread: t, Alt: more.alt})}
	d.p.Columns[ev.Column].Name = name
	for _, f := range c.events() {
		if f != e && f >= d.first {
			ev.History = append(ev.History, int(f-d.first))
		}
	}
	d.m.Step(t, more.alt)
	if v := more.viol; v != nil {
		ev.Violation = v.Message
		ev.Short = cutText("✗ " + ev.Short)
	}
	bl := &block{event: e, column: ev.Column, boxW: letter*utf8.RuneCountInString(ev.Short) + 16}
	state := engine.StateString(d.m.Encode(nil))
	if b.isCut(e) {
		d.cuts[len(d.p.Events)] = state
	} else if _, ok := same[state]; !ok {
		same[state] = e
	}
	// The conditions that it takes: those of initial states are drawn when they are used.
	touch := func(w uint32) {
		if w&initial != 0 {
			d.start(w, bl)
		} else if x := b.cond(w).event; x-d.first < uint32(len(d.blocks)) && !b.isRoot(x) {
			bl.level = max(bl.level, d.blocks[x-d.first].level+1)
		}
	}
	touch(cand.pre()[0])
	for _, w := range cand.pre()[1+len(form.kids()):] {
		touch(w)
	}
	for _, f := range d.before(cand.readers()) {
		bl.level = max(bl.level, d.blocks[f-d.first].level+1)
	}
	bl.level = max(bl.level, 1)
	if post := b.events.at(e).post; post != none {
		for k := post; k < b.conds.n && b.cond(k).event == e; k++ {
			bl.conds = append(bl.conds, d.cond(k, d.m))
		}
	}
	d.blocks = append(d.blocks, bl)
	d.p.Events = append(d.p.Events, ev)
}

// before returns the events of a candidate's readings that are drawn.
func (d *drawing) before(readers []uint32) (events []uint32) {
	for k := 0; k < len(readers); {
		end := k + 2 + int(readers[k+1])
		for _, f := range readers[k+2 : end] {
			if f >= d.first && f-d.first < uint32(len(d.p.Events)) && !slices.Contains(events, f) {
				events = append(events, f)
			}
		}
		k = end
	}
	return events
}

// start enters a condition of an initial state, in the column of who takes it first.
func (d *drawing) start(w uint32, by *block) {
	if _, ok := d.at[w]; ok {
		return
	}
	root := int(d.b.cond(w).event)
	key := [2]int{by.column, root}
	h := d.home[key]
	if h == nil {
		h = &block{event: uint32(root), column: by.column}
		d.home[key] = h
	}
	d.roots.Load(d.b.roots[root])
	h.conds = append(h.conds, d.cond(w, d.roots))
}

// cond enters a condition with the words that it has in the live state of m.
func (d *drawing) cond(k uint32, m system.Machine) int {
	comp := d.b.comp(d.b.compOf(k))
	x := DrawnCond{Thread: comp.thread}
	if comp.thread {
		t := int(comp.number)
		_, text, _ := m.Next(t)
		x.Text = m.ThreadName(t)
		if text != "" {
			x.Text += " before " + text
		} else {
			x.Text += " at its end"
		}
		x.W = condHeight
	} else {
		loc := system.Loc(comp.number)
		x.Text = m.LocName(loc) + " = " + m.ValueString(loc)
		if tells := m.Capabilities().Narrating; tells != nil && tells.Internal(loc) &&
			!isObject(x.Text) {
			x.W = dotWidth
		} else {
			x.Short = cutText(x.Text)
			x.W = 6*utf8.RuneCountInString(x.Short) + 14
		}
	}
	d.at[k] = len(d.p.Conds)
	d.p.Conds = append(d.p.Conds, x)
	return d.at[k]
}

// isObject reports whether a text is about an object of the program, and not of a part of one:
// lock = free, and not queue.head = 1.
func isObject(text string) bool {
	name, _, _ := strings.Cut(text, " = ")
	return !strings.ContainsAny(name, ". ")
}

func cutText(s string) string {
	if utf8.RuneCountInString(s) > maxText {
		return string([]rune(s)[:maxText-1]) + "…"
	}
	return s
}

// rows breaks the conditions of a block into rows, and returns the width and the height of all.
func (d *drawing) rows(conds []int) (rows [][]int, width, height int) {
	w := 0
	for _, k := range conds {
		x := &d.p.Conds[k]
		if len(rows) == 0 || w+condGap+x.W > maxRow {
			rows = append(rows, nil)
			w = -condGap
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], k)
		w += condGap + x.W
		width = max(width, w)
	}
	return rows, width, len(rows) * (condHeight + condGap)
}

// place gives everything its place: first within the columns, as near to what comes before as
// there is room, then the columns beside each other and the levels below each other.
func (d *drawing) place() {
	levels := 1
	for _, bl := range d.blocks {
		levels = max(levels, bl.level+1)
	}
	at := make([][][]*block, len(d.p.Columns))
	for i := range at {
		at[i] = make([][]*block, levels)
	}
	for _, h := range d.home {
		at[h.column][0] = append(at[h.column][0], h)
	}
	for _, bl := range d.blocks {
		at[bl.column][bl.level] = append(at[bl.column][bl.level], bl)
	}
	heights := make([]int, levels)
	left := margin
	for col, own := range at {
		width := letter * utf8.RuneCountInString(d.p.Columns[col].Name)
		for level, list := range own {
			for _, bl := range list {
				_, w, h := d.rows(bl.conds)
				bl.w = max(bl.boxW, w)
				if bl.h = h; level > 0 {
					bl.h += boxHeight
				}
				heights[level] = max(heights[level], bl.h)
				if level > 0 {
					bl.centre = d.centre(bl)
				}
			}
			slices.SortStableFunc(list, func(a, b *block) int {
				return cmp.Or(cmp.Compare(a.centre, b.centre), cmp.Compare(a.event, b.event))
			})
			x := 0
			for _, bl := range list {
				bl.x = max(x, bl.centre-bl.w/2)
				x = bl.x + bl.w + boxGap
				width = max(width, x-boxGap)
			}
		}
		d.p.Columns[col].X, d.p.Columns[col].Width = left, width
		left += width + columnGap
	}
	d.p.Width = left - columnGap + margin
	y := margin + headHeight
	for level, h := range heights {
		for _, own := range at {
			for _, bl := range own[level] {
				bl.x += d.p.Columns[bl.column].X
				bl.y = y
				d.put(bl)
			}
		}
		y += h + levelGap
	}
	d.p.Height = max(y-levelGap, margin+headHeight) + margin
}

// centre returns where the event of the same column that a block continues from has its
// middle, within the column.
func (d *drawing) centre(bl *block) int {
	w := d.b.candidateOf(bl.event).pre()[0]
	x := d.b.cond(w).event
	if d.b.isRoot(x) {
		if h := d.home[[2]int{bl.column, int(x)}]; h != nil {
			return h.x + h.w/2
		}
		return 0
	}
	if up := d.blocks[x-d.first]; up.column == bl.column {
		return up.x + up.w/2
	}
	return 0
}

// put gives the event of a block and its conditions their places.
func (d *drawing) put(bl *block) {
	y := bl.y
	if bl.level > 0 {
		ev := &d.p.Events[bl.event-d.first]
		ev.X, ev.Y, ev.W = bl.x+(bl.w-bl.boxW)/2, y, bl.boxW
		y += boxHeight + condGap
	}
	rows, _, _ := d.rows(bl.conds)
	for _, row := range rows {
		width := -condGap
		for _, k := range row {
			width += d.p.Conds[k].W + condGap
		}
		x := bl.x + (bl.w-width)/2
		for _, k := range row {
			c := &d.p.Conds[k]
			c.X, c.Y = x, y
			x += c.W + condGap
		}
		y += condHeight + condGap
	}
}

// arcs draws the lines.
func (d *drawing) arcs() {
	for i, bl := range d.blocks {
		ev := &d.p.Events[i]
		form := d.b.shape(d.b.leafOf(bl.event))
		cand := d.b.candidateOf(bl.event)
		x, y := ev.X+ev.W/2, ev.Y
		from := func(w uint32, kind string) {
			if k, ok := d.at[w]; ok {
				c := &d.p.Conds[k]
				d.p.Arcs = append(d.p.Arcs, DrawnArc{kind, i, c.X + c.W/2, c.Y + condHeight, x, y})
			}
		}
		from(cand.pre()[0], "take")
		for j, a := range form.acc() {
			kind := "read"
			if isWrite(a) {
				kind = "take"
			}
			from(cand.pre()[1+len(form.kids())+j], kind)
		}
		for _, f := range d.before(cand.readers()) {
			r := &d.p.Events[f-d.first]
			d.p.Arcs = append(d.p.Arcs, DrawnArc{"after", i, r.X + r.W/2, r.Y + boxHeight, x, y})
		}
		for _, k := range bl.conds {
			c := &d.p.Conds[k]
			d.p.Arcs = append(d.p.Arcs, DrawnArc{"make", i, x, y + boxHeight, c.X + c.W/2, c.Y})
		}
	}
}

// Draw draws the picture of the prefix to a file in SVG. The note says what was drawn.
func (r *Result) Draw(file string) (note string, err error) {
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	p := r.Picture()
	err = p.WriteSVG(f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	note = "drew the prefix to " + file
	if n := uint64(len(p.Events)); n < r.Events {
		note = fmt.Sprintf("drew the first %s of %s events to %s", human.Count(n),
			human.Count(r.Events), file)
	}
	return note, err
}

// style is that of the lines and boxes; color is never the only cue.
const style = `
text { fill: #1a1a1a }
.head { font-weight: bold }
.column { stroke: #d5d9e0 }
.event rect { fill: #eef3fb; stroke: #2457a6; stroke-width: 1.4 }
.event.cut rect { fill: #fff; stroke: #5c6675; stroke-dasharray: 5 3 }
.event.bad rect { fill: #fbe4e2; stroke: #b3261e; stroke-width: 2.4 }
.cond rect, .cond circle { fill: #fff; stroke: #5c6675 }
.cond circle.dot { fill: #5c6675 }
.cond text { font-size: 10.5px }
.arc { fill: none; stroke: #5c6675 }
.arc.read { stroke-dasharray: 2 3 } .arc.after { stroke-dasharray: 7 3 }
.note { fill: #5c6675; font-size: 11px }
`

// WriteSVG draws the picture: boxes are events, circles and pills are conditions. Cut-off events
// are dashed, violations have a thick frame; both say so. The tooltip of a box says all of it.
// The error is the writer's.
func (p *Picture) WriteSVG(w io.Writer) error {
	var b bytes.Buffer // svgo drops the errors of its writer
	c := svg.New(&b)
	const legend = 40
	width := max(p.Width, 820)
	c.Start(width, p.Height+legend, fmt.Sprintf(`viewBox="0 0 %d %d"`, width, p.Height+legend),
		`font-family="sans-serif"`, `font-size="12"`)
	c.Title("prefix of the unfolding")
	c.Style("text/css", style)
	c.Def()
	c.Marker("tip", 8, 4, 8, 8, `orient="auto"`)
	c.Path("M0 0 8 4 0 8z", `fill="#5c6675"`)
	c.MarkerEnd()
	c.DefEnd()
	c.Rect(0, 0, width, p.Height+legend, `fill="#fff"`)
	for i, col := range p.Columns {
		c.Text(col.X, margin+8, col.Name, `class="head"`)
		if i > 0 {
			c.Line(col.X-columnGap/2, margin-8, col.X-columnGap/2, p.Height-margin/2,
				`class="column"`)
		}
	}
	for _, a := range p.Arcs {
		c.Path(a.path(), fmt.Sprintf(`class="arc %s"`, a.Kind), a.tip())
	}
	for _, x := range p.Conds {
		c.Group(`class="cond"`)
		c.Title(x.Text)
		switch {
		case x.Thread:
			c.Circle(x.X+x.W/2, x.Y+condHeight/2, condHeight/2-1)
		case x.Short == "":
			c.Circle(x.X+x.W/2, x.Y+condHeight/2, dotWidth/2-1, `class="dot"`)
		default:
			c.Roundrect(x.X, x.Y, x.W, condHeight, condHeight/2, condHeight/2)
			c.Text(x.X+7, x.Y+13, x.Short)
		}
		c.Gend()
	}
	for i := range p.Events {
		x := &p.Events[i]
		class := "event"
		switch {
		case x.Violation != "":
			class = "event bad"
		case x.Cut != "":
			class = "event cut"
		}
		c.Group(fmt.Sprintf(`class="%s"`, class))
		c.Title(x.Title(i, p.Columns[x.Column].Name))
		c.Roundrect(x.X, x.Y, x.W, boxHeight, 3, 3)
		c.Text(x.X+8, x.Y+16, x.Short)
		if x.Cut != "" {
			c.Text(x.X+2, x.Y+boxHeight+12, x.Cut, `class="note"`)
		}
		c.Gend()
	}
	c.Text(margin, p.Height+12, "box: an event · circle: where a thread is · pill: a location "+
		"with its value · dot: what a channel keeps · dashed box: cut-off, with where its state "+
		"was met before", `class="note"`)
	c.Text(margin, p.Height+28, "arrow: takes and makes · dotted: reads · dashed arrow: after "+
		"who has read", `class="note"`)
	c.End()
	_, err := w.Write(b.Bytes())
	return err
}

// Title says all of the event that has a number and a thread.
func (x *DrawnEvent) Title(number int, thread string) string {
	s := fmt.Sprintf("event %d: %s: ", number+1, thread)
	if x.Line > 0 {
		s += fmt.Sprintf("%d: ", x.Line)
	}
	s += x.Text
	if x.Cut != "" {
		s += "; cut-off, the state is " + x.Cut
	}
	if x.Violation != "" {
		s += "; violation: " + x.Violation
	}
	return s
}

// path is the line in SVG: far ones are bent, so that they leave and come from above.
func (a DrawnArc) path() string {
	if a.Kind == "make" {
		return fmt.Sprintf("M%d %d L%d %d", a.X1, a.Y1, a.X2, a.Y2)
	}
	bend := max(12, min(60, (a.Y2-a.Y1)/2))
	return fmt.Sprintf("M%d %d C%d %d %d %d %d %d", a.X1, a.Y1, a.X1, a.Y1+bend, a.X2, a.Y2-bend,
		a.X2, a.Y2)
}

func (a DrawnArc) tip() string {
	if a.Kind == "read" || a.Kind == "make" {
		return ""
	}
	return `marker-end="url(#tip)"`
}
