// Package benchmarks holds the benchmark programs and what is known about
// them: the models in cpor's language, their twins in Promela, and the figures
// of the paper from which they come.
//
// Everything is embedded, so that the command can measure wherever it runs:
//
//   - robots, cmis, sharedarray, sharedptr, indexer, filesystem and
//     philosophers are the seven programs of Table 1 of Gueta, Flanagan, Yahav,
//     Sagiv, "Cartesian Partial-Order Reduction", SPIN 2007. The header comment
//     of each says what it models, at which granularity, and which constants
//     can be set.
//   - promela/ has the same systems for SPIN: same transitions, same number of
//     states; murphi/ has some of them in Murphi's language, for Rumur.
//   - systems/ has thirty other systems in both languages, for comparisons with SPIN: puzzles,
//     mutual exclusion, protocols. systems/runs.csv has their runs with numbers of states and
//     verdicts. Each is written from its algorithm, and takes the same steps in both languages.
//   - data/gueta-2007-table1.csv is the paper's table. Its transitions in the
//     cartesian columns are attempts in cpor's words.
//   - data/reference-counts.csv has the counts of a reference implementation of
//     the cartesian search as docs/benchmarks.md describes it. Tests pin cpor
//     to them.
//
// The package knows nothing about searches and imports nothing of the project.
package benchmarks

import (
	"embed"
	"encoding/csv"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FS holds the models (NAME.model), their twins (promela/NAME.pml, murphi/NAME.m), the figures
// (data/*.csv), and the systems (systems/NAME.model, systems/NAME.pml, systems/runs.csv).
//
//go:embed *.model promela/*.pml murphi/*.m data/*.csv
//go:embed systems/*.model systems/*.pml systems/*.csv
var FS embed.FS

// names lists the models in the order of the paper's table.
var names = []string{
	"sharedptr", "sharedarray", "robots", "filesystem", "indexer", "philosophers", "cmis",
}

// Names returns the names of the models in the order of the paper's table.
func Names() []string { return append([]string(nil), names...) }

// Model returns the text of a model. The error wraps fs.ErrNotExist if there
// is no model of that name.
func Model(name string) ([]byte, error) { return read(name, name+".model") }

// Promela returns the text of a model's twin for SPIN. The error wraps
// fs.ErrNotExist if there is none.
func Promela(name string) ([]byte, error) { return read(name, "promela/"+name+".pml") }

// Murphi returns the text of a model's twin in Murphi's language. The error wraps
// fs.ErrNotExist if there is none.
func Murphi(name string) ([]byte, error) { return read(name, "murphi/"+name+".m") }

func read(name, file string) ([]byte, error) {
	if path.Base(name) != name || name == "" {
		return nil, fmt.Errorf("benchmark %q: %w", name, fs.ErrNotExist)
	}
	b, err := FS.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("benchmark %q: %w", name, err)
	}
	return b, nil
}

// Param sets a constant of a model, as -D NAME=VALUE does.
type Param struct {
	Name  string
	Value string
}

// Params set the constants of a model; they identify a row of a table together
// with the model's name.
type Params []Param

// ParseParams reads parameters as String writes them: NAME=VALUE, separated by
// blanks. The empty string has none.
func ParseParams(s string) (Params, error) {
	var ps Params
	for _, f := range strings.Fields(s) {
		name, value, ok := strings.Cut(f, "=")
		if !ok || name == "" || value == "" {
			return nil, fmt.Errorf("parameter %q is not NAME=VALUE", f)
		}
		ps = append(ps, Param{name, value})
	}
	return ps, nil
}

// String returns the parameters as ParseParams reads them.
func (ps Params) String() string {
	var b strings.Builder
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(p.Name + "=" + p.Value)
	}
	return b.String()
}

// Map returns the parameters by name.
func (ps Params) Map() map[string]string {
	m := make(map[string]string, len(ps))
	for _, p := range ps {
		m[p.Name] = p.Value
	}
	return m
}

// Int returns the value of a parameter, or 0 if it is not there or no number.
func (ps Params) Int(name string) int {
	n, _ := strconv.Atoi(ps.Map()[name])
	return n
}

// PaperFigures are the figures of one algorithm in one row of the paper's table.
type PaperFigures struct {
	States      uint64
	Transitions uint64        // cartesian: the attempts, added or not
	Time        time.Duration // on the authors' machine of 2007
}

// PaperRow is a row of Table 1 of Gueta et al. 2007.
type PaperRow struct {
	Benchmark string
	Params    Params
	Standard  *PaperFigures // nil: ran out of memory
	Cartesian *PaperFigures // nil: not measured
	// Concurrent is the time of the concurrent cartesian search with four
	// processors; valid if Cartesian is not nil.
	Concurrent time.Duration
}

// Table1 returns the rows of Table 1 of Gueta et al. 2007 in the paper's order.
func Table1() []PaperRow { return table1() }

// Counts are what a search counts.
type Counts struct {
	States      uint64
	Transitions uint64
	Attempts    uint64 // 0 for a full search
}

// ReferenceRow is a row of the reference implementation's counts.
type ReferenceRow struct {
	Benchmark string
	Params    Params
	Full      *Counts // nil: too large to count there
	Cartesian *Counts
	// EndedLoops tells that Full.Transitions counts the self-loops of ended
	// threads, which cpor reports apart, as the paper does in this row.
	EndedLoops bool
	Note       string
}

// Reference returns the counts of the reference implementation.
func Reference() []ReferenceRow { return reference() }

var table1 = sync.OnceValue(func() []PaperRow {
	var rows []PaperRow
	for _, r := range records("data/gueta-2007-table1.csv") {
		row := PaperRow{Benchmark: r.text("benchmark"), Params: r.params()}
		if r.text("std_states") != "" {
			row.Standard = &PaperFigures{r.num("std_states"), r.num("std_transitions"),
				r.ms("std_ms")}
		}
		if r.text("cart_states") != "" {
			row.Cartesian = &PaperFigures{r.num("cart_states"), r.num("cart_transitions"),
				r.ms("cart_ms")}
			row.Concurrent = r.ms("cart_4proc_ms")
		}
		rows = append(rows, row)
	}
	return rows
})

var reference = sync.OnceValue(func() []ReferenceRow {
	var rows []ReferenceRow
	for _, r := range records("data/reference-counts.csv") {
		row := ReferenceRow{
			Benchmark:  r.text("benchmark"),
			Params:     r.params(),
			EndedLoops: r.text("ended_loops") == "yes",
			Note:       r.text("note"),
		}
		if r.text("full_states") != "" {
			row.Full = &Counts{r.num("full_states"), r.num("full_transitions"), 0}
		}
		if r.text("cart_states") != "" {
			row.Cartesian = &Counts{r.num("cart_states"), r.num("cart_transitions"),
				r.num("cart_attempts")}
		}
		rows = append(rows, row)
	}
	return rows
})

// record is a line of an embedded table by column. The tables are part of the
// program, so a malformed one is a mistake of the build: the tests read every
// column, and reading panics.
type record struct {
	file  string
	cells map[string]string
}

func records(file string) []record {
	b, err := FS.ReadFile(file)
	if err != nil {
		panic(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil || len(lines) == 0 {
		panic(fmt.Sprintf("%s: %v", file, err))
	}
	var recs []record
	for _, line := range lines[1:] {
		r := record{file, map[string]string{}}
		for i, name := range lines[0] {
			r.cells[name] = line[i]
		}
		recs = append(recs, r)
	}
	return recs
}

func (r record) text(col string) string {
	s, ok := r.cells[col]
	if !ok {
		panic(fmt.Sprintf("%s has no column %s", r.file, col))
	}
	return s
}

func (r record) num(col string) uint64 {
	n, err := strconv.ParseUint(r.text(col), 10, 64)
	if err != nil {
		panic(fmt.Sprintf("%s, column %s: %v", r.file, col, err))
	}
	return n
}

func (r record) ms(col string) time.Duration {
	return time.Duration(r.num(col)) * time.Millisecond
}

func (r record) params() Params {
	ps, err := ParseParams(r.text("params"))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", r.file, err))
	}
	return ps
}
