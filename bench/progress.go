package bench

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// progress shows what runs, and estimates how long the rest takes. On a
// terminal it is one live line, elsewhere a line for each run.
//
// Runs differ in length by a factor of ten thousand, so it counts estimated
// time and not runs, and corrects the estimate by how the finished runs came
// out.
type progress struct {
	w    io.Writer
	live bool

	mu       sync.Mutex
	bar      *progressbar.ProgressBar
	start    time.Time
	runs     int           // planned
	done     int           // finished
	planned  time.Duration // estimated, all
	finished time.Duration // estimated, of the finished runs
	label    string
	estimate time.Duration // of the present run
	began    time.Time     // the present run; zero: none runs
	stop     chan struct{}
	stopped  sync.WaitGroup
}

func newProgress(w io.Writer) *progress {
	f, ok := w.(*os.File)
	p := &progress{w: w, live: ok && term.IsTerminal(int(f.Fd())), start: time.Now()}
	if p.live {
		p.bar = progressbar.NewOptions64(1,
			progressbar.OptionSetWriter(w),
			progressbar.OptionSetPredictTime(false),
			progressbar.OptionSetElapsedTime(false),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetWidth(10),
			progressbar.OptionUseANSICodes(true),
			progressbar.OptionSetTheme(progressbar.ThemeASCII),
		)
		p.stop = make(chan struct{})
		p.stopped.Go(p.tick)
	}
	return p
}

// tick draws the live line until the progress is closed.
func (p *progress) tick() {
	t := time.NewTicker(200 * time.Millisecond)
	defer t.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-t.C:
			p.mu.Lock()
			p.draw()
			p.mu.Unlock()
		}
	}
}

// minEstimate is what starting a process takes at least.
const minEstimate = 30 * time.Millisecond

func (p *progress) plan(runs int, estimate time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.runs += runs
	p.planned += estimate + time.Duration(runs)*minEstimate
}

func (p *progress) begin(label string, estimate time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.label, p.estimate, p.began = label, estimate+minEstimate, time.Now()
	if p.live {
		p.draw()
	}
}

func (p *progress) end(o *Outcome) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	p.finished += p.estimate
	p.began = time.Time{}
	if p.live {
		p.draw()
		return
	}
	what := duration(o.Search)
	if o.Status != Done {
		what = string(o.Status)
		if o.Reason != "" {
			what += ": " + o.Reason
		}
	}
	fmt.Fprintf(p.w, "%d/%d  %s  %s  (%s)\n", p.done, max(p.runs, p.done), p.label, what, p.left())
}

// left estimates the time that is left, in words.
func (p *progress) left() string {
	rest := p.planned - p.finished
	if rest <= 0 {
		return "nearly done"
	}
	present := time.Duration(0)
	if !p.began.IsZero() {
		present = min(time.Since(p.began), p.estimate)
	}
	rate := 1.0
	if p.finished > 0 {
		rate = float64(time.Since(p.start)-present) / float64(p.finished)
	}
	d := time.Duration(float64(rest-present) * rate)
	if d < time.Second {
		return "a moment left"
	}
	return "about " + roughly(d) + " left"
}

// roughly returns a time as people say it.
func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", int(d.Seconds()+0.5))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// longest is what the live line has room for besides the figures.
const longest = 34

func (p *progress) draw() {
	present := time.Duration(0)
	running := ""
	if !p.began.IsZero() {
		since := time.Since(p.began)
		present = min(since, p.estimate)
		running = fmt.Sprintf(", %d s", int(since.Seconds()))
	}
	label := p.label
	if r := []rune(label); len(r) > longest {
		label = string(r[:longest-1]) + "…"
	}
	p.bar.Describe(fmt.Sprintf("%d/%d %s%s, %s", p.done, p.runs, label, running, p.left()))
	p.bar.ChangeMax64(max(int64(p.planned/time.Millisecond), 1))
	p.bar.Set64(min(int64((p.finished+present)/time.Millisecond), p.bar.GetMax64()-1))
}

// line writes a line for people between the live lines.
func (p *progress) line(s string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.live {
		p.bar.Clear()
	}
	fmt.Fprintln(p.w, s)
}

func (p *progress) close() {
	if !p.live {
		return
	}
	close(p.stop)
	p.stopped.Wait()
	p.bar.Clear()
}
