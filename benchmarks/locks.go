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
)

// lockFS holds locks/NAME.model: programs whose threads protect their data by
// monitors, and the paper's figures for two of them.
//
//go:embed locks/*.model locks/*.csv
var lockFS embed.FS

var lockNames = []string{"m_ex", "haltexception", "clean", "philosophers"}

// LockNames returns the names of the lock-based programs of Stoller,
// "Model-Checking Multi-Threaded Distributed Java Programs", FMSD 2002.
func LockNames() []string { return append([]string(nil), lockNames...) }

// LockModel returns the text of one of them. The error wraps fs.ErrNotExist if
// there is no model of that name.
func LockModel(name string) ([]byte, error) {
	if path.Base(name) != name || name == "" {
		return nil, fmt.Errorf("benchmark %q: %w", name, fs.ErrNotExist)
	}
	b, err := lockFS.ReadFile("locks/" + name + ".model")
	if err != nil {
		return nil, fmt.Errorf("benchmark %q: %w", name, err)
	}
	return b, nil
}

// StollerRow is a row of figure 4 of Stoller 2002, measured with a model checker
// for Java bytecode on a machine of that time.
type StollerRow struct {
	Benchmark string
	Atomicity string // bytecode, line or reduced
	Lockset   bool   // whether the discipline was checked
	States    uint64
	Megabytes float64
	Seconds   float64
}

// StollerFigure4 returns the rows in the paper's order.
func StollerFigure4() []StollerRow { return stollerFigure4() }

// The table is part of the program, so reading a malformed one panics; a test
// reads it.
var stollerFigure4 = sync.OnceValue(func() []StollerRow {
	const file = "locks/stoller-2002-figure4.csv"
	b, err := lockFS.ReadFile(file)
	if err != nil {
		panic(err)
	}
	lines, err := csv.NewReader(strings.NewReader(string(b))).ReadAll()
	if err != nil {
		panic(file + ": " + err.Error())
	}
	var rows []StollerRow
	for _, l := range lines[1:] {
		r := StollerRow{Benchmark: l[0], Atomicity: l[1], Lockset: l[2] == "on"}
		var errs [3]error
		r.States, errs[0] = strconv.ParseUint(l[3], 10, 64)
		r.Megabytes, errs[1] = strconv.ParseFloat(l[4], 64)
		r.Seconds, errs[2] = strconv.ParseFloat(l[5], 64)
		for _, err := range errs {
			if err != nil {
				panic(file + ": " + err.Error())
			}
		}
		rows = append(rows, r)
	}
	return rows
})
