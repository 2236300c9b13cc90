package bench

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/shirou/gopsutil/v4/load"

	"cpor/benchmarks"
)

// Session is what a table's Run has to work with: what the user asked for, a
// runner, and the results.
type Session struct {
	// Names are the benchmarks and the files of models that the user named;
	// empty means the table's own choice.
	Names []string
	// Params are the parameters that the user set.
	Params benchmarks.Params
	// POR is the reduction that the user chose; "" means the table's own.
	POR string
	// Workers is the number of workers that represents "all".
	Workers int
	// Limit ends a run; MaxMemory, in bytes, too.
	Limit     time.Duration
	MaxMemory uint64
	// Large asks for rows that take minutes each.
	Large bool
	// Simulate is the largest number of workers that scale simulates; 0: it measures.
	Simulate int
	// Transitions ends a sweep of siegel.
	Transitions uint64

	rounds   int  // 0: the table's own
	limited  bool // the user asked for Limit
	runner   Runner
	results  *Results
	table    string
	dir      string
	stderr   io.Writer
	progress *progress
	sections func(rs *Results) []Section
	written  time.Time // when the report was
	err      error     // of writing
}

// Rounds returns how often each run is repeated: as the user asked, or else n.
func (s *Session) Rounds(n int) int {
	if s.rounds > 0 {
		return s.rounds
	}
	return n
}

// LimitOr returns when a run ends: as the user asked, or else the table's own limit.
func (s *Session) LimitOr(own time.Duration) time.Duration {
	if s.limited {
		return s.Limit
	}
	return min(own, s.Limit)
}

// Plan announces work: a number of runs that will take about so long in all.
func (s *Session) Plan(runs int, estimate time.Duration) { s.progress.plan(runs, estimate) }

// Drop takes announced work back.
func (s *Session) Drop(runs int, estimate time.Duration) { s.progress.plan(-runs, -estimate) }

// Run runs a request, shows that it runs under the label, and tells the
// progress that work with this estimate is done.
func (s *Session) Run(ctx context.Context, r Request, label string,
	estimate time.Duration) Outcome {
	return s.Do(ctx, label, estimate, func(ctx context.Context) Outcome {
		return s.runner.Run(ctx, r)
	})
}

// Do runs work that is not a request as Run does.
func (s *Session) Do(ctx context.Context, label string, estimate time.Duration,
	work func(context.Context) Outcome) Outcome {
	if ctx.Err() != nil {
		return Outcome{Status: Interrupted, Reason: "interrupted"}
	}
	s.progress.begin(label, estimate)
	out := work(ctx)
	s.progress.end(&out)
	return out
}

// Record keeps a measurement and writes the files again. Interrupted runs are
// not kept: they tell nothing.
func (s *Session) Record(m Measurement) {
	if m.Status == Interrupted {
		return
	}
	m.Table = s.table
	if avg, err := load.Avg(); err == nil {
		m.Load = avg.Load1
	}
	s.results.Measurements = append(s.results.Measurements, m)
	s.write(false)
}

// Note tells the user that something could not be measured; the rest continues.
func (s *Session) Note(format string, args ...any) {
	note := fmt.Sprintf(format, args...)
	s.results.Notes = append(s.results.Notes, note)
	s.progress.line("cpor bench: " + note)
}

// Unexpected tells the user that a figure is wrong. The command
// then returns exit code 1.
func (s *Session) Unexpected(format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	s.results.Unexpected = append(s.results.Unexpected, what)
	s.progress.line("cpor bench: UNEXPECTED: " + what)
}

// reportEvery bounds how often the page with its plots is made again while runs
// continue: it takes some tens of milliseconds.
const reportEvery = 20 * time.Second

// write writes the results, and the report if it is requested or due.
func (s *Session) write(report bool) {
	var page []byte
	if report || time.Since(s.written) > reportEvery {
		var err error
		if page, err = htmlReport(s.results, s.sections(s.results)); err != nil {
			s.err = err
		}
		s.written = time.Now()
	}
	if err := s.results.write(s.dir, page); err != nil {
		s.err = err
	}
}
