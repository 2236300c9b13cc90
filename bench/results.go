package bench

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/mem"
	"golang.org/x/perf/benchfmt"

	"cpor/benchmarks"
)

// Measurement is one run with what identifies it.
type Measurement struct {
	Table     string            `json:"table"`
	Benchmark string            `json:"benchmark"`
	Params    benchmarks.Params `json:"-"`
	Tool      string            `json:"tool"` // cpor, spin, ...
	// Config says how the tool ran: por=none, workers=2, ... in the order in
	// which it is shown.
	Config benchmarks.Params `json:"-"`
	Round  int               `json:"round"` // from 1; 0: no run was started
	Outcome
	// Load is the machine's load when the run ended: how many processes ran or waited
	// to run in the minute before, this one among them; 0 if unknown.
	Load float64 `json:"load,omitempty"`
	// Extra has figures that only one table knows, by unit.
	Extra map[string]float64 `json:"extra,omitempty"`
}

// row identifies what was explored: the benchmark with its parameters.
func (m *Measurement) row() string {
	return strings.TrimSpace(m.Benchmark + " " + m.Params.String())
}

// MarshalJSON writes the parameters as objects.
func (m Measurement) MarshalJSON() ([]byte, error) {
	type plain Measurement
	return json.Marshal(struct {
		plain
		Params map[string]string `json:"params"`
		Config map[string]string `json:"config"`
	}{plain(m), m.Params.Map(), m.Config.Map()})
}

// Machine describes where the runs were measured.
type Machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"` // that the process may use
	Memory uint64 `json:"memory_bytes"`
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Go     string `json:"go"`
}

func thisMachine() Machine {
	m := Machine{CPU: "unknown", Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Go: runtime.Version()}
	if infos, err := cpu.Info(); err == nil && len(infos) > 0 && infos[0].ModelName != "" {
		m.CPU = strings.Join(strings.Fields(infos[0].ModelName), " ")
	}
	if v, err := mem.VirtualMemory(); err == nil {
		m.Memory = v.Total
	}
	return m
}

// Results are all measurements of one call of the command.
type Results struct {
	Command      []string      `json:"command"` // the arguments
	Machine      Machine       `json:"machine"`
	Start        time.Time     `json:"start"`
	End          time.Time     `json:"end"`      // when the files were written
	Complete     bool          `json:"complete"` // false: it was stopped, or still runs
	Notes        []string      `json:"notes"`    // what could not be measured
	Unexpected   []string      `json:"unexpected"`
	Measurements []Measurement `json:"measurements"`
}

// The files of a directory of results.
const (
	jsonFile  = "results.json"
	csvFile   = "results.csv"
	benchFile = "benchmarks.txt"
	htmlFile  = "report.html"
)

// write writes the data, and the report if it is given, each file at once, so
// that a reader never sees half of one.
func (r *Results) write(dir string, page []byte) error {
	r.End = time.Now()
	j, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	c, err := r.csv()
	if err != nil {
		return err
	}
	b, err := r.benchmarks()
	if err != nil {
		return err
	}
	files := []struct {
		name string
		text []byte
	}{{jsonFile, append(j, '\n')}, {csvFile, c}, {benchFile, b}, {htmlFile, page}}
	for _, f := range files {
		if f.text == nil {
			continue
		}
		if err := replace(filepath.Join(dir, f.name), f.text); err != nil {
			return err
		}
	}
	return nil
}

// replace replaces a file in one step.
func replace(name string, text []byte) error {
	tmp := name + ".new"
	if err := os.WriteFile(tmp, text, 0o666); err != nil {
		return err
	}
	return os.Rename(tmp, name)
}

// csv returns a line for each measurement.
func (r *Results) csv() ([]byte, error) {
	var extra []string
	for _, m := range r.Measurements {
		for unit := range m.Extra {
			if !slices.Contains(extra, unit) {
				extra = append(extra, unit)
			}
		}
	}
	slices.Sort(extra)
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	head := []string{
		"table", "benchmark", "params", "tool", "config", "round", "status", "reason",
		"states", "transitions", "attempts", "ended_loops", "search_seconds", "wall_seconds",
		"cpu_seconds",
		"store_bytes", "bytes_per_state", "peak_rss_bytes", "steals", "failed_cas", "idle_share",
	}
	lines := [][]string{append(head, extra...)}
	for _, m := range r.Measurements {
		line := []string{
			m.Table, m.Benchmark, m.Params.String(), m.Tool, m.Config.String(),
			strconv.Itoa(m.Round), string(m.Status), m.Reason,
			whole(m.States), whole(m.Transitions), whole(m.Attempts), whole(m.EndedLoops),
			number(m.Search.Seconds()), number(m.Wall.Seconds()), number(m.CPU.Seconds()),
			whole(m.StoreBytes), number(m.BytesPerState()), whole(m.PeakRSS), "", "", "",
		}
		if m.Steals != nil {
			line[18] = whole(*m.Steals)
		}
		if m.FailedCAS != nil {
			line[19] = whole(*m.FailedCAS)
		}
		if m.IdleShare != nil {
			line[20] = number(*m.IdleShare)
		}
		for _, unit := range extra {
			cell := ""
			if v, ok := m.Extra[unit]; ok {
				cell = number(v)
			}
			line = append(line, cell)
		}
		lines = append(lines, line)
	}
	if err := w.WriteAll(lines); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func whole(n uint64) string   { return strconv.FormatUint(n, 10) }
func number(x float64) string { return strconv.FormatFloat(x, 'g', 9, 64) }

// benchmarks returns the finished runs in the format of Go's benchmarks, which
// benchstat reads.
func (r *Results) benchmarks() ([]byte, error) {
	var b bytes.Buffer
	w := benchfmt.NewWriter(&b)
	for _, m := range r.Measurements {
		if m.Status != Done || m.Round == 0 {
			continue
		}
		name := []string{strings.ToUpper(m.Table[:1]) + m.Table[1:], m.Benchmark}
		for _, p := range m.Params {
			name = append(name, p.Name+"="+p.Value)
		}
		name = append(name, "tool="+m.Tool)
		for _, p := range m.Config {
			name = append(name, p.Name+"="+p.Value)
		}
		for i, s := range name {
			name[i] = strings.Map(func(c rune) rune {
				if c == '/' || c == ' ' || c == '\t' || c == '\n' {
					return '_'
				}
				return c
			}, s)
		}
		res := benchfmt.Result{
			Name:  benchfmt.Name(strings.Join(name, "/")),
			Iters: 1,
			Values: []benchfmt.Value{
				{Value: m.Search.Seconds(), Unit: "sec/op",
					OrigValue: float64(m.Search.Nanoseconds()), OrigUnit: "ns/op"},
				{Value: m.Wall.Seconds(), Unit: "wall-sec/op"},
				{Value: float64(m.States), Unit: "states"},
				{Value: float64(m.Transitions), Unit: "transitions"},
				{Value: m.Rate(m.Transitions), Unit: "transitions/s"},
				{Value: float64(m.PeakRSS), Unit: "peak-B"},
			},
		}
		if x := m.BytesPerState(); x > 0 {
			res.Values = append(res.Values, benchfmt.Value{Value: x, Unit: "B/state"})
		}
		for _, unit := range slices.Sorted(maps.Keys(m.Extra)) {
			res.Values = append(res.Values, benchfmt.Value{Value: m.Extra[unit], Unit: unit})
		}
		for _, c := range [][2]string{{"goos", r.Machine.OS}, {"goarch", r.Machine.Arch},
			{"pkg", "cpor/bench"}, {"cpu", r.Machine.CPU}} {
			if c[1] != "" {
				res.Config = append(res.Config, benchfmt.Config{Key: c[0], Value: []byte(c[1]),
					File: true})
			}
		}
		if err := w.Write(&res); err != nil {
			return nil, fmt.Errorf("%s: %w", benchFile, err)
		}
	}
	return append([]byte{}, b.Bytes()...), nil // a file even if nothing finished
}

// cell returns the outcomes of the rounds of one run: of the measurements that
// have this row, tool and configuration, in the order in which they were made.
func cell(ms []Measurement, row, tool, config string) []Measurement {
	var c []Measurement
	for _, m := range ms {
		if m.row() == row && m.Tool == tool && m.Config.String() == config {
			c = append(c, m)
		}
	}
	return c
}

// rowNames returns the rows that were measured, in that order.
func rowNames(ms []Measurement) []string {
	var rows []string
	for i := range ms {
		if r := ms[i].row(); !slices.Contains(rows, r) {
			rows = append(rows, r)
		}
	}
	return rows
}

// median returns the middle value, the mean of the two middle ones of an even
// number, and 0 of none.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(xs))
	n := len(s)
	return (s[(n-1)/2] + s[n/2]) / 2
}

// geometric returns the geometric mean of some ratios, and 0 of none.
func geometric(xs []float64) float64 {
	if len(xs) == 0 {
		return 0
	}
	sum := 0.0
	for _, x := range xs {
		sum += math.Log(x)
	}
	return math.Exp(sum / float64(len(xs)))
}

// middle formats the median of some ratios, or a dash if there are none.
func middle(xs []float64) string {
	if len(xs) == 0 {
		return "–"
	}
	return places(median(xs))
}

// mean formats the geometric mean of some ratios, or a dash if there are none.
func mean(xs []float64) string {
	if len(xs) == 0 {
		return "–"
	}
	return places(geometric(xs))
}

// medianTime returns the median of a time over the finished rounds; ok is false
// if there are none.
func medianTime(ms []Measurement, of func(*Measurement) time.Duration) (d time.Duration, ok bool) {
	var xs []float64
	for i := range ms {
		if ms[i].Status == Done {
			xs = append(xs, float64(of(&ms[i])))
		}
	}
	return time.Duration(median(xs)), len(xs) > 0
}

// middleTime formats the median of a time over the finished rounds, or a dash if there are none.
func middleTime(ms []Measurement, of func(*Measurement) time.Duration) string {
	d, ok := medianTime(ms, of)
	if !ok {
		return "–"
	}
	return duration(d)
}

func searchTime(m *Measurement) time.Duration { return m.Search }
func wallTime(m *Measurement) time.Duration   { return m.Wall }
