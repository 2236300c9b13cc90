package unfolding

import (
	"encoding/xml"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"cpor/internal/human"
)

// maxDrawn is the largest number of events that a picture shows.
const maxDrawn = 400

// Sizes of a picture.
const (
	boxHeight, gapX, gapY, margin = 26, 18, 34, 16
	letter                        = 7 // the width of one
	maxText                       = 24
)

// Draw draws the first events of the prefix to a file in SVG: a column for each
// thread, below each other by the size of their histories, with an arrow from
// each event to those that follow it, by the thread's going on or through a
// location. Cut-off events are dashed, violations red. The note says what was
// drawn.
func (r *Result) Draw(file string) (note string, err error) {
	f, err := os.Create(file)
	if err != nil {
		return "", err
	}
	b := r.b
	n := min(b.events.n-uint32(len(b.roots)), maxDrawn)
	_, err = f.WriteString(b.svg(n))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	note = "drew the prefix to " + file
	if uint64(n) < r.Events {
		note = fmt.Sprintf("drew the first %s of %s events to %s", human.Count(uint64(n)), human.Count(r.Events), file)
	}
	return note, err
}

// svg draws the first n events.
func (b *builder) svg(n uint32) string {
	type box struct {
		event         uint32
		text, title   string
		x, y, w       int
		column, level int
	}
	m := b.sys.NewMachine()
	m.Track(true)
	first := uint32(len(b.roots))
	boxes := make([]box, n)
	var columns []int // thread numbers
	at := map[[2]int][]int{}
	levels := 0
	c := newConfig(b.prefix)
	for i := range boxes {
		x := &boxes[i]
		x.event = first + uint32(i)
		l := b.leafOf(x.event)
		t := int(b.comp(l.before.thread).number)
		// What it does is told by the machine at the end of its history.
		cand := b.candidateOf(x.event)
		c.load(cand)
		m.Load(b.program.roots[cand.root])
		for _, s := range c.steps(nil) {
			m.Step(s.Thread, s.Alt)
		}
		_, text, _ := m.Next(t)
		x.text = text
		if utf8.RuneCountInString(text) > maxText {
			x.text = string([]rune(text)[:maxText-1]) + "…"
		}
		x.title = fmt.Sprintf("event %d: %s: %s", x.event, m.ThreadName(t), text)
		if !slices.Contains(columns, t) {
			columns = append(columns, t)
		}
		x.column, x.level = t, int(b.events.at(x.event).size)
		levels = max(levels, x.level)
		at[[2]int{t, x.level}] = append(at[[2]int{t, x.level}], i)
	}
	slices.Sort(columns)
	// Columns are as wide as their widest level.
	left := margin
	var heads strings.Builder
	for _, t := range columns {
		name := m.ThreadName(t)
		width := letter * utf8.RuneCountInString(name)
		for level := 1; level <= levels; level++ {
			x := left
			for _, i := range at[[2]int{t, level}] {
				boxes[i].x, boxes[i].y = x, margin+20+(level-1)*(boxHeight+gapY)
				boxes[i].w = letter*utf8.RuneCountInString(boxes[i].text) + 14
				x += boxes[i].w + gapX
			}
			width = max(width, x-left-gapX)
		}
		fmt.Fprintf(&heads, `<text x="%d" y="%d" class="head">%s</text>`+"\n", left, margin+4, escape(name))
		left += width + 2*gapX
	}
	var s strings.Builder
	fmt.Fprintf(&s, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", left+margin, 2*margin+20+levels*(boxHeight+gapY))
	s.WriteString(`<style>
svg { background: #fff; color: #1a1a1a }
.head { font-weight: bold; fill: #444 }
rect { fill: #f2f5fa; stroke: #5b6f8f }
.cut rect { stroke-dasharray: 4 3; fill: #fff }
.bad rect { fill: #fbe3e1; stroke: #b3261e }
.thread { stroke: #5b6f8f } .loc { stroke: #c08a3e } .read { stroke: #c08a3e; stroke-dasharray: 3 3 }
</style>
<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" fill="#777"/></marker></defs>
`)
	s.WriteString(heads.String())
	line := func(from, to uint32, class string) {
		if from < first || from-first >= n {
			return
		}
		x, y := &boxes[from-first], &boxes[to-first]
		fmt.Fprintf(&s, `<line x1="%d" y1="%d" x2="%d" y2="%d" class="%s" marker-end="url(#a)"/>`+"\n",
			x.x+x.w/2, x.y+boxHeight, y.x+y.w/2, y.y, class)
	}
	for i := range boxes {
		e := boxes[i].event
		x := b.candidateOf(e)
		line(b.cond(x.pre[0]).event, e, "thread")
		drawn := []uint32{b.cond(x.pre[0]).event}
		for _, w := range x.pre[1:] {
			if f := b.cond(w).event; !slices.Contains(drawn, f) {
				line(f, e, "loc")
				drawn = append(drawn, f)
			}
		}
		for k := 0; k < len(x.readers); {
			end := k + 2 + int(x.readers[k+1])
			for _, f := range x.readers[k+2 : end] {
				if !slices.Contains(drawn, f) {
					line(f, e, "read")
					drawn = append(drawn, f)
				}
			}
			k = end
		}
	}
	for i := range boxes {
		x := &boxes[i]
		class := "event"
		switch {
		case b.leafOf(x.event).viol != nil:
			class = "bad"
		case b.isCut(x.event):
			class = "cut"
		}
		fmt.Fprintf(&s, `<g class="%s"><title>%s</title><rect x="%d" y="%d" width="%d" height="%d" rx="4"/><text x="%d" y="%d">%s</text></g>`+"\n",
			class, escape(x.title), x.x, x.y, x.w, boxHeight, x.x+7, x.y+17, escape(x.text))
	}
	s.WriteString("</svg>\n")
	return s.String()
}

func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes everything
	return b.String()
}
