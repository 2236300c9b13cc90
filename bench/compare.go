package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/engine"
	"cpor/internal/human"
)

// compare runs every engine with each of its reductions on models of the user's.
var compare = Table{
	Name: "compare",
	Summary: "every engine and reduction on your own models: states, transitions, time, " +
		"memory, the winner",
	Run:        runCompare,
	Report:     reportCompare,
	Flags:      []string{"rounds", "por", "D"},
	Benchmarks: benchmarks.Names,
	Files:      true,
	Named:      true,
}

func init() { Register(compare) }

// compared are the engines that are compared: all that explore a whole system.
func compared(por string) []*engine.Entry {
	var all []*engine.Entry
	for _, e := range engine.Entries("") {
		if !engine.LookupMode(e.Mode).Temporal && (por == "" || e.Name == por) {
			all = append(all, e)
		}
	}
	return all
}

// wayName is what an engine is called in the table.
func wayName(e *engine.Entry) string { return engine.LookupMode(e.Mode).Prefix + e.Name }

// runCompare measures with one worker, so that times compare. All violations are
// collected, because the time to the first says how lucky an order was.
func runCompare(ctx context.Context, s *Session) error {
	const est = time.Second
	ways := compared(s.POR)
	if len(ways) == 0 {
		return fmt.Errorf("-por %s is for temporal properties, which are not compared", s.POR)
	}
	rounds := s.Rounds(3)
	n := rounds * len(ways) * len(s.Names)
	s.Plan(n, est*time.Duration(n))
	for _, model := range s.Names {
		over := map[*engine.Entry]bool{}
		for round := 1; round <= rounds; round++ {
			for _, e := range ways {
				if over[e] {
					s.Drop(1, est)
					continue
				}
				r := Request{Model: model, Params: s.Params, Mode: e.Mode, POR: e.Name, Workers: 1,
					Limit: s.Limit, MaxMemory: s.MaxMemory}
				if e.Takes&engine.TakesAll != 0 {
					r.Flags = []string{"-all"}
				}
				out := s.Run(ctx, r, fmt.Sprintf("%s, %s", name(model), wayName(e)), est)
				if out.Status == Interrupted {
					return nil
				}
				over[e] = out.Status != Done
				s.Record(Measurement{Benchmark: name(model), Params: s.Params, Tool: "cpor",
					Round: round, Outcome: out,
					Config: benchmarks.Params{{Name: "search", Value: e.Mode},
						{Name: "por", Value: e.Name}}})
			}
		}
	}
	return nil
}

const (
	// tooShort is the time below which a search mostly starts and ends.
	tooShort = 10 * time.Millisecond
	// busy is the load for each core, beside the run itself, above which others have
	// taken part of its time.
	busy = 0.5
)

func reportCompare(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	sec := Section{
		Title: "Engines and reductions beside each other",
		Text: []string{fmt.Sprintf("Measured on %s (%s) with one worker; all violations are "+
			"collected, deadlocks are not reported. Times are the searches' own: "+
			"the median of the rounds, in which the engines take turns, with the smallest and "+
			"the largest.", human.Plural(machine.Cores, "core"), machine.CPU)},
	}
	for _, row := range rowNames(ms) {
		sec.Grids = append(sec.Grids, compareGrid(row, ms, machine))
	}
	return []Section{sec}
}

// wayResult is what was measured of one search.
type wayResult struct {
	way   string
	entry *engine.Entry
	times []float64 // of the runs that ended, sorted
	last  *Measurement
}

// collectWays sorts the measurements of one model by search. load is the highest while they
// were taken.
func collectWays(row string, ms []Measurement) (all []*wayResult, load float64) {
	for i := range ms {
		m := &ms[i]
		if m.row() != row {
			continue
		}
		c := m.Config.Map()
		e, err := engine.Lookup(c["search"], c["por"])
		if err != nil {
			continue // of another build
		}
		j := slices.IndexFunc(all, func(r *wayResult) bool { return r.way == wayName(e) })
		if j < 0 {
			j = len(all)
			all = append(all, &wayResult{way: wayName(e), entry: e})
		}
		all[j].last = m
		if m.Status == Done {
			all[j].times = append(all[j].times, m.Search.Seconds())
		}
		load = max(load, m.Load)
	}
	for _, r := range all {
		slices.Sort(r.times)
	}
	return all, load
}

// compareGrid is the table of one model.
func compareGrid(row string, ms []Measurement, machine Machine) Grid {
	all, load := collectWays(row, ms)
	best := time.Duration(math.MaxInt64)
	var winner *wayResult
	for _, r := range all {
		if d := seconds(median(r.times)); len(r.times) > 0 && d < best {
			best, winner = d, r
		}
	}
	g := Grid{Caption: row, Header: []string{"search", "states", "transitions", "executions",
		"time", "from", "to", "× best", "MB"}}
	number := func(n uint64) string {
		if n == 0 {
			return ""
		}
		return count(n)
	}
	var reasons []string
	for _, r := range all {
		group := cmp.Or(strings.TrimSuffix(engine.LookupMode(r.entry.Mode).Prefix, ", "),
			r.entry.Mode)
		if len(r.times) == 0 {
			g.Lines = append(g.Lines, Line{Group: group, Cells: []string{r.entry.Name, "–", "", "",
				"", "", "", "", ""}})
			reasons = append(reasons, fmt.Sprintf("– %s: %s", r.way, r.last.Reason))
			continue
		}
		d := seconds(median(r.times))
		g.Lines = append(g.Lines, Line{Group: group, Cells: []string{
			r.entry.Name, number(r.last.States), number(r.last.Transitions),
			number(r.last.Executions), duration(d),
			duration(seconds(r.times[0])), duration(seconds(r.times[len(r.times)-1])),
			times(float64(d) / float64(max(best, 1))), short(float64(r.last.PeakRSS) / 1e6),
		}})
	}
	if winner != nil {
		g.Notes = append(g.Notes, winners(all, winner))
	}
	of := func(mode, por string) *wayResult {
		e, err := engine.Lookup(mode, por)
		if err != nil {
			return nil
		}
		if i := slices.IndexFunc(all, func(r *wayResult) bool {
			return r.way == wayName(e) && len(r.times) > 0
		}); i >= 0 {
			return all[i]
		}
		return nil
	}
	if c, d := of("stateful", "cartesian"), of("stateless", "dpor"); c != nil && d != nil &&
		d.last.Transitions > 0 {
		g.Notes = append(g.Notes, fmt.Sprintf("Cartesian takes %s of the transitions of dpor.",
			times2(float64(c.last.Transitions)/float64(d.last.Transitions))))
	}
	g.Notes = append(g.Notes, reasons...)
	if winner != nil && best < tooShort {
		g.Notes = append(g.Notes,
			fmt.Sprintf("Too short: below %v a search mostly starts and ends; its times say "+
				"nothing. Take larger constants (-D).", tooShort))
	}
	if note := loadNote(load, machine); note != "" {
		g.Notes = append(g.Notes, note)
	}
	if winner == nil {
		g.Notes = append(g.Notes, "No search covered everything: raise -limit or -max-memory, or "+
			"take smaller constants (-D).")
	}
	return g
}

// winners says which search was the fastest, and which took the least memory if it is another.
func winners(all []*wayResult, fastest *wayResult) string {
	memory := func(r *wayResult) uint64 {
		if len(r.times) == 0 || r.last.PeakRSS == 0 {
			return math.MaxUint64
		}
		return r.last.PeakRSS
	}
	least := slices.MinFunc(all, func(a, b *wayResult) int {
		return cmp.Compare(memory(a), memory(b))
	})
	if least.last.PeakRSS > 0 && least != fastest {
		return fmt.Sprintf("Fastest: %s. Least memory: %s.", fastest.way, least.way)
	}
	return fmt.Sprintf("Fastest: %s.", fastest.way)
}

// loadNote says how busy the machine was, "" if that is not known.
func loadNote(load float64, machine Machine) string {
	cores := human.Plural(machine.Cores, "core")
	switch {
	case load-1 > busy*float64(max(machine.Cores, 1)):
		return fmt.Sprintf("Too busy: the load was up to %.1f on %s while this was measured; the "+
			"times are of little meaning.", load, cores)
	case load > 0:
		return fmt.Sprintf("The load was at most %.1f on %s.", load, cores)
	}
	return ""
}

// seconds returns s as a duration.
func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
