package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cpor/benchmarks"
	"cpor/internal/human"
)

// stoller compares the lock-based reduction with the full search at two
// granularities, with and without the check of the locking discipline.
var stoller = Table{
	Name: "stoller",
	Summary: "figure 4 of Stoller 2002: lock-based reduction, and what checking the " +
		"discipline costs",
	Run:        runStoller,
	Report:     reportStoller,
	Flags:      []string{"rounds", "D"},
	Benchmarks: benchmarks.LockNames,
}

func init() { Register(stoller) }

// atomicity is a granularity of the paper's table, and how to search at it.
type atomicity struct {
	name  string
	por   string
	param string   // of the model, which has it; it is true for line, else false
	races []string // what is checked in turn: the rules of -races
	plain bool     // measure the uncompressed store, too
	base  string   // the atomicity that it is compared with
}

// The paper's rows count bytecode instructions. The models have a skip for each
// that only its thread can see. How much these add is in the rows without
// them: accesses is what the model language itself interleaves.
var atomicities = []atomicity{
	{"bytecode", "none", "", []string{"none", "ld'"}, true, "bytecode"},
	{"line", "none", "LINE", []string{"none", "ld'"}, false, "bytecode"},
	{"reduced", "locks", "", []string{"none", "ld'"}, true, "bytecode"},
	{"cartesian", "cartesian", "", []string{"none"}, false, "bytecode"},
	{"accesses", "none", "LOCAL", []string{"none", "ld'"}, true, "accesses"},
	{"accesses, reduced", "locks", "LOCAL", []string{"none", "ld'"}, true, "accesses"},
	{"accesses, cartesian", "cartesian", "LOCAL", []string{"none"}, false, "accesses"},
}

// stollerRows are the programs with their constants. The paper's sizes come
// first; the larger ones show what is left of the fixed costs there.
var stollerRows = []sweep{
	{model: "m_ex"},
	{model: "haltexception"},
	{model: "haltexception", params: benchmarks.Params{{Name: "ITEMS", Value: "30"},
		{Name: "SIZE", Value: "15"}}},
	{model: "clean"},
	{model: "clean", params: benchmarks.Params{{Name: "MOD", Value: "250"}}},
	{model: "philosophers", params: benchmarks.Params{{Name: "N", Value: "4"}}},
	{model: "philosophers", params: benchmarks.Params{{Name: "N", Value: "5"}}},
}

// hasBytecode reports whether a model has the parameters LINE and LOCAL: the others have no
// instructions that only their thread can see.
func hasBytecode(model string) bool { return model == "haltexception" || model == "clean" }

// composedMex is the number of states of C(M_ex) in the paper.
const composedMex = 9

// stollerJob is a run of one model.
type stollerJob struct {
	sweep
	atomicity
	races, store string
}

// stollerJobs lists the runs of one round.
func stollerJobs(s *Session) []stollerJob {
	var jobs []stollerJob
	for _, row := range stollerRows {
		if !selected(s, row.model, row.params) {
			continue
		}
		for _, a := range atomicities {
			if a.param != "" && !hasBytecode(row.model) {
				continue
			}
			for _, races := range a.races {
				jobs = append(jobs, stollerJob{row, a, races, "tree"})
				if a.plain {
					jobs = append(jobs, stollerJob{row, a, races, "plain"})
				}
			}
		}
	}
	return jobs
}

// runStoller measures with one worker, so that times compare.
func runStoller(ctx context.Context, s *Session) error {
	dir, err := os.MkdirTemp("", "cpor-bench-locks-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := writeModels(dir, benchmarks.LockNames(), benchmarks.LockModel); err != nil {
		return err
	}
	jobs := stollerJobs(s)
	const est = 300 * time.Millisecond
	rounds := s.Rounds(5)
	s.Plan(rounds*len(jobs), est*time.Duration(rounds*len(jobs)))
	// Rounds outside: what changes on the machine meanwhile meets all.
	for round := 1; round <= rounds; round++ {
		for _, j := range jobs {
			params := slices.Clone(j.params)
			if j.param != "" {
				params = append(params, benchmarks.Param{
					Name: j.param, Value: strconv.FormatBool(j.param == "LINE")})
			}
			label := fmt.Sprintf("%s, %s, races %s, store %s", rowName(j.model, j.params),
				j.atomicity.name, j.races, j.store)
			out := s.Run(ctx, Request{
				Model: filepath.Join(dir, j.model+".model"), Params: params, POR: j.atomicity.por,
				Workers: 1,
				Limit:   s.Limit, MaxMemory: s.MaxMemory, Flags: []string{"-races", j.races,
					"-store",
					j.store},
			}, label, est)
			if out.Status == Interrupted {
				return nil
			}
			// Without the check a reduced search covers everything under
			// an assumption, and calls itself incomplete. Its figures are
			// whole.
			if out.Status == Limited && j.atomicity.por == "locks" && j.races == "none" &&
				strings.Contains(out.Reason, "assumed") {
				out.Status, out.Reason = Done, ""
			}
			s.Record(Measurement{
				Benchmark: j.model, Params: j.params, Tool: "cpor", Round: round, Outcome: out,
				Config: benchmarks.Params{{Name: "atomicity", Value: j.atomicity.name},
					{Name: "races", Value: j.races}, {Name: "store", Value: j.store}},
			})
			switch {
			case out.Status != Done:
				s.Note("%s: %s", label, out.Reason)
			case j.model == "m_ex" && j.atomicity.por == "locks" && out.States != composedMex:
				s.Unexpected("%s: %d states, and C(M_ex) has %d", label, out.States, composedMex)
			}
		}
	}
	return nil
}

func cpuTime(m *Measurement) time.Duration { return m.CPU }

// stollerRuns are the measurements of the table.
type stollerRuns []Measurement

func (ms stollerRuns) find(row, atomicity, races, store string) []Measurement {
	var found []Measurement
	for _, m := range ms {
		if c := m.Config.Map(); m.row() == row && c["atomicity"] == atomicity &&
			c["races"] == races && c["store"] == store && m.Status == Done {
			found = append(found, m)
		}
	}
	return found
}

// stollerPaper returns the paper's row, nil if it has none.
func stollerPaper(m *Measurement, atomicity string, lockset bool) *benchmarks.StollerRow {
	if len(m.Params) > 0 {
		return nil // another size
	}
	for _, r := range benchmarks.StollerFigure4() {
		if r.Benchmark == m.Benchmark && r.Atomicity == atomicity && r.Lockset == lockset {
			return &r
		}
	}
	return nil
}

// cells is the line of one atomicity and rule, nil if it was not measured.
func (ms stollerRuns) cells(of *Measurement, a atomicity, races string) []string {
	row := of.row()
	got := ms.find(row, a.name, races, "tree")
	if len(got) == 0 {
		return nil
	}
	base := ms.find(row, a.base, "none", "tree")
	basePlain := ms.find(row, a.base, "none", "plain")
	off, _ := medianTime(ms.find(row, a.name, "none", "tree"), cpuTime)
	cells := []string{
		a.name, map[bool]string{false: "off", true: "on"}[races != "none"], "", "", "",
		""}
	if p := stollerPaper(of, a.name, races != "none"); p != nil {
		cells[2], cells[4] = count(p.States), digits(p.Megabytes)
		if b := stollerPaper(of, "bytecode", false); b != nil {
			cells[3] = times(float64(b.States) / float64(p.States))
			cells[5] = times(b.Megabytes / p.Megabytes)
		}
	}
	m := &got[0]
	d, _ := medianTime(got, cpuTime)
	fewer, less, cost := "", "", ""
	if len(base) > 0 && m.States > 0 && m.StoreBytes > 0 {
		fewer = times(float64(base[0].States) / float64(m.States))
		less = times(float64(base[0].StoreBytes) / float64(m.StoreBytes))
	}
	if races != "none" && off > 0 {
		cost = times(float64(d) / float64(off))
	}
	plain, plainLess := "", ""
	if p := ms.find(row, a.name, races, "plain"); len(p) > 0 && len(basePlain) > 0 &&
		p[0].StoreBytes > 0 {
		plain = short(float64(p[0].StoreBytes))
		plainLess = times(float64(basePlain[0].StoreBytes) / float64(p[0].StoreBytes))
	}
	return append(cells, count(m.States), fewer, short(float64(m.StoreBytes)), less,
		plain, plainLess, duration(d), cost)
}

func reportStoller(ms []Measurement, machine Machine) []Section {
	if len(ms) == 0 {
		return nil
	}
	g := Grid{
		Header: []string{"atomicity", "lockset", "paper states", "times fewer", "paper MB",
			"times less", "states", "times fewer", "store", "times less", "plain store",
			"times less", "CPU", "lockset costs"},
		Notes: []string{
			"times fewer, times less: than bytecode atomicity with lockset off, the comparison " +
				"of the paper's section 10; in the rows of accesses, than these with lockset off.",
			"bytecode: each instruction is a transition, as in the paper, so that most are ones " +
				"that only their thread can see (skip). accesses: the same programs without " +
				"these, so that a transition is an access to a field or an operation on a " +
				"monitor. The factors of accesses are what the reduction gains on a model " +
				"written in this language.",
			"CPU: user and system time of the whole process, as in the paper; a process that " +
				"does nothing takes some 10 ms. lockset costs: that time with the discipline " +
				"checked, by the time without it.",
			"store: compressed (-store tree); large stores compress better, so that memory " +
				"shrinks less than the states do. plain store: without compression. Both include " +
				"what is there before the first state.",
			"reduced: the composed transitions C(M) (-por locks). cartesian: the cartesian " +
				"reduction, for comparison.",
		},
	}
	var rows []string
	for i := range ms {
		row := ms[i].row()
		if slices.Contains(rows, row) {
			continue
		}
		rows = append(rows, row)
		for _, a := range atomicities {
			for _, races := range a.races {
				if cells := stollerRuns(ms).cells(&ms[i], a, races); cells != nil {
					g.Lines = append(g.Lines, Line{Group: row, Cells: cells})
				}
			}
		}
	}
	return []Section{{
		Title: "Lock-based reduction (Stoller 2002, figure 4)",
		Text: []string{fmt.Sprintf("Measured on %s (%s) with one worker; times are medians. The "+
			"programs are written anew from the paper's "+
			"descriptions, so the factors compare, and the figures do not. The paper's check of "+
			"the discipline is part of each state; "+
			"here histories are merged over the executions first, which costs no states where "+
			"the discipline holds.",
			human.Plural(machine.Cores, "core"), machine.CPU)},
		Grids: []Grid{g},
	}}
}
