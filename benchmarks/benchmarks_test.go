package benchmarks

import (
	"errors"
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

func TestNamesAreTheModels(t *testing.T) {
	files, err := fs.Glob(FS, "*.model")
	if err != nil {
		t.Fatal(err)
	}
	others := 0
	for _, f := range files {
		if f == "mattern.model" { // the protocol of engine/cluster, no row of the table
			others++
		}
	}
	if len(files)-others != len(Names()) {
		t.Errorf("%d models embedded, %d named", len(files)-others, len(Names()))
	}
	inTable := map[string]bool{}
	for _, r := range Table1() {
		inTable[r.Benchmark] = true
	}
	for _, name := range Names() {
		if _, err := Model(name); err != nil {
			t.Error(err)
		}
		if _, err := Promela(name); err != nil {
			t.Error(err)
		}
		if !inTable[name] {
			t.Errorf("%s is not in the paper's table", name)
		}
		delete(inTable, name)
	}
	for name := range inTable {
		t.Errorf("the paper's table has %s, which is not a model", name)
	}
}

// TestHeaders checks that each model says where it comes from and what can be
// set, and that what it lists are its constants and the tables' parameters.
func TestHeaders(t *testing.T) {
	listed := regexp.MustCompile(`(?m)^//\t([A-Z]+)  `)
	for _, name := range Names() {
		b, err := Model(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		header, _, _ := strings.Cut(text, "\nconst")
		for _, want := range []string{"// Source: ", "// What it models: ", "// Granularity: ",
			"// Parameters (-D NAME=VALUE):"} {
			if !strings.Contains(header, want) {
				t.Errorf("%s: the header has no %q", name, want)
			}
		}
		params := map[string]bool{}
		for _, m := range listed.FindAllStringSubmatch(header, -1) {
			params[m[1]] = true
			if !strings.Contains(text, "\nconst "+m[1]+" = ") {
				t.Errorf("%s: %s is listed but no constant", name, m[1])
			}
		}
		for _, r := range Table1() {
			if r.Benchmark != name {
				continue
			}
			for _, p := range r.Params {
				if !params[p.Name] {
					t.Errorf("%s: the table sets %s, which the header does not list", name, p.Name)
				}
			}
		}
	}
}

func TestTable1(t *testing.T) {
	rows := Table1()
	if len(rows) != 53 {
		t.Errorf("%d rows, the paper has 53", len(rows))
	}
	for _, r := range rows {
		if r.Standard == nil && r.Cartesian == nil {
			t.Errorf("%s %s is empty", r.Benchmark, r.Params)
		}
		if len(r.Params) == 0 {
			t.Errorf("%s has no parameters", r.Benchmark)
		}
		if again, err := ParseParams(r.Params.String()); err != nil ||
			again.String() != r.Params.String() {
			t.Errorf("%v: parsed again %v, %v", r.Params, again, err)
		}
	}
	last := rows[len(rows)-1]
	if last.Params.Int("C") != 127 || last.Cartesian.Transitions != 221954 ||
		last.Standard != nil || last.Concurrent.Milliseconds() != 27328 {
		t.Errorf("last row: %+v", last)
	}
}

func TestReference(t *testing.T) {
	ended := 0
	for _, r := range Reference() {
		if r.Cartesian == nil {
			t.Errorf("%s %s has no cartesian counts", r.Benchmark, r.Params)
			continue
		}
		if r.Cartesian.Attempts < r.Cartesian.Transitions {
			t.Errorf("%s %s: fewer attempts than transitions", r.Benchmark, r.Params)
		}
		if r.EndedLoops {
			ended++
		}
	}
	if ended != 2 {
		t.Errorf("%d rows count the self-loops of ended threads, want sharedarray and sharedptr",
			ended)
	}
}

func TestUnknown(t *testing.T) {
	for _, name := range []string{"nosuch", "", "../benchmarks/robots", "data", "promela/robots"} {
		if _, err := Model(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Model(%q): %v", name, err)
		}
		if _, err := Promela(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Promela(%q): %v", name, err)
		}
	}
	for _, s := range []string{"N", "=3", "N=", "N=3 x"} {
		if ps, err := ParseParams(s); err == nil {
			t.Errorf("ParseParams(%q) = %v", s, ps)
		}
	}
}
