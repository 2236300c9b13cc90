// Package bench measures: it runs the tables of the papers, sweeps over worker
// counts, and comparisons with other checkers, and reports what it found as
// text, as data and as a page with plots. It is the sub-command `cpor bench`, which runs the
// program cpor-bench, so that cpor itself carries neither this package nor the libraries that
// draw plots.
//
// # How a run is measured
//
// Every measured run is a process of its own: `cpor run -json`. That costs some milliseconds for
// each run (they show in the wall time, and not in the search time), and in return the peak
// memory is the run's own, no garbage or heap size carries over from one run to the next, a run
// that dies takes nothing with it, and another checker, which is a process anyhow, is measured in
// the same way from outside. So the package needs nothing of the engine but the command's
// contract, the JSON object.
//
// # How it is built
//
// [Main] reads the command line and runs tables. A [Table] is a name, a
// function Run that measures, and a function Report that makes sections of
// grids and plots from measurements alone. Report is pure and is called after every
// measurement, so that a run stopped half-way leaves valid files, and reports
// can be tested without running anything. Further tables [Register] themselves.
//
//	runner.go     Request and Outcome: one run in a process of its own
//	session.go    Session: what a Table's Run has to work with
//	results.go    Results: measurements, and the files they are written to
//	table1.go     the paper's Table 1
//	scale.go      speed-up over the number of workers; simulate.go predicts it
//	peers.go      SPIN on the same systems (spin.go), taking turns
//	systems.go    SPIN on further systems, in both languages
//	corpus.go     SPIN on Promela models as they are
//	reductions.go every reduction on every model, and SPIN's
//	grid.go       tables for terminals; report.go, plot.go: the HTML page
//
// Figures are compared as ratios of runs that took turns on the same machine;
// an absolute time is never shown without what it is to be compared with.
//
// Libraries: go-pretty draws the tables, gonum/plot the plots, progressbar the
// progress, x/perf/benchfmt writes what benchstat reads, gopsutil knows the
// machine. Medians and spreads are written here: they are five lines, and
// gonum's quantiles interpolate in a way that few expect of five rounds.
package bench
