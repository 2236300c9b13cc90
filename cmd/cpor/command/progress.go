package command

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"cpor/engine"
	"cpor/engine/forecast"
	"cpor/internal/human"
)

const (
	liveEvery = 200 * time.Millisecond
	lineEvery = 10 * time.Second
	// narrowest is the terminal's width below which a live line makes no
	// sense, and what is assumed if the terminal does not tell.
	narrowest = 20
	pageWidth = 80
)

// progress shows on stderr how a search gets on: one live line on a terminal,
// else a line every ten seconds, or nothing. The time on the line is the
// search's own. Its methods are called from one goroutine at a time.
type progress struct {
	out      io.Writer
	counts   engine.CounterSet // what the engine counts
	width    func() int
	live     *liveLine // nil if there is none
	interval time.Duration
	// The last report, for the rates.
	last     engine.Progress
	forecast forecast.Forecast
	// report is what the search calls; nil for no progress.
	report func(engine.Progress)
}

func newProgress(e *env, c *runConfig) *progress {
	p := &progress{out: e.stderr, interval: lineEvery, counts: c.entry.Counts}
	if c.quiet {
		return p
	}
	if f, ok := e.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.interval = liveEvery
		p.width = func() int { return terminalWidth(f) }
		p.live = &liveLine{w: f}
		p.report = p.draw
		return p
	}
	p.report = p.line
	return p
}

// terminalWidth returns the columns of a terminal.
func terminalWidth(f *os.File) int {
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil || w < narrowest {
		return pageWidth
	}
	return w
}

func (p *progress) draw(s engine.Progress) {
	// Two columns on the left are the spinner's, and the last one stays free, for
	// terminals that wrap there.
	p.live.write(p.text(s, p.width()-3))
}

func (p *progress) line(s engine.Progress) {
	fmt.Fprintln(p.out, p.text(s, 0))
}

// text returns the report in one line, of at most width columns if width is
// not 0: what does not fit any more is left out from the right.
func (p *progress) text(s engine.Progress, width int) string {
	rate := func(now, before uint64) string {
		d := (s.Elapsed - p.last.Elapsed).Seconds()
		if d <= 0 || now < before {
			return "0"
		}
		return human.Short(uint64(float64(now-before) / d))
	}
	parts := []string{human.Clock(s.Elapsed)}
	count := func(now, before uint64, what string) {
		parts = append(parts, fmt.Sprintf("%s %s (%s/s)", human.Short(now), what,
			rate(now, before)))
	}
	if p.counts&engine.CountStates != 0 {
		count(s.States, p.last.States, "states")
	}
	if p.counts&engine.CountExecutions != 0 {
		count(s.Executions, p.last.Executions, "executions")
	}
	// What an engine does not tell while it runs is 0.
	if s.Transitions > 0 {
		count(s.Transitions, p.last.Transitions, "transitions")
	}
	if s.Queued > 0 {
		parts = append(parts, human.Short(s.Queued)+" queued")
	}
	if s.MaxDepth > 0 {
		parts = append(parts, fmt.Sprintf("depth %d", s.MaxDepth))
	}
	parts = append(parts, human.Size(s.Memory))
	if text, ok := p.forecast.Tell(s, p.counts); ok {
		parts = slices.Insert(parts, 1, text)
	} else {
		parts = append(parts, text)
	}
	if s.Violations > 0 {
		n := fmt.Sprintf("%d violations", s.Violations)
		if s.Violations == 1 {
			n = "1 violation"
		}
		parts = append(parts[:1], append([]string{n}, parts[1:]...)...)
	}
	p.last = s
	line := parts[0]
	for _, part := range parts[1:] {
		next := line + "  " + part
		if width > 0 && text.StringWidth(next) > width {
			break
		}
		line = next
	}
	return line
}

// done removes the live line.
func (p *progress) done() {
	if p.live != nil {
		p.live.clear()
	}
}

// liveLine is a line of a terminal that is written anew each time, behind a spinner. The
// libraries for progress bring a web server along, which takes longer to compile than the
// searches. Errors are ignored, because the result, which follows, meets them too.
type liveLine struct {
	w     io.Writer
	times int
	drawn int // columns that are not blank
}

func (l *liveLine) write(s string) {
	l.clear()
	fmt.Fprintf(l.w, "%c %s", `|/-\`[l.times%4], s)
	l.times, l.drawn = l.times+1, 2+text.StringWidth(s)
}

// clear makes the line blank. Spaces do that in terminals of every kind.
func (l *liveLine) clear() {
	if l.drawn > 0 {
		fmt.Fprintf(l.w, "\r%s\r", strings.Repeat(" ", l.drawn))
		l.drawn = 0
	}
}
