package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// layer is a part of the house: rooms, each a folder with all packages below it that have no
// room of their own, and what it is for.
type layer struct {
	name  string
	rooms [][2]string
}

// forTests is the layer that only tests import. The picture leaves it out.
const forTests = "for tests"

// layers declares which way imports run: a package imports only packages of its own room and
// of rooms that stand below it here. Tests may import what they like.
var layers = []layer{
	{forTests, [][2]string{
		{"testkit/oracle", "random models, and what a reduction preserves"},
		{"testkit/systemtest", "a system against the contract"},
		{"testkit/sample", "how much of a long test runs"},
		{"testkit/toysystem", "small systems as Go data"},
		{"testkit/resumetest", "interruptions and damage"},
		{"testkit/fakeranks", "ranks in one process"},
		{"testkit/racetest", "races by brute force"},
		{"testkit/ltltest", "formulas as text"},
		{"testkit/treewalk", "a second interpreter of models"},
		{"testkit/chunktest", "many models in a file"},
		{"testkit/trailtest", "trails and SPIN"},
		{"testkit/conform", "outcomes of Go programs"},
		{"testkit/gogen", "random Go programs"},
		{"testkit/gotable", "Go programs with their outcomes"},
	}},
	{"what users start and import", [][2]string{
		{"cmd/cpor-bench", "what cpor bench runs"},
		{"cmd/cpor-mcp", "what cpor mcp runs"},
		{"examples/models", "models in Go with their twins"},
		{"model/cli", "a command of models in Go"},
		{"cmd/cpor", "flags, printing, exit codes"},
		{"bench", "tables, peers, plots"},
		{"benchmarks", "what is measured"},
		{"examples", "models to begin with"},
		{"check", "a Go test under every schedule"},
		{"model", "models in Go"},
		{"frontend/gosrc/testcmd", "cpor test"},
		{"frontend/gosrc/gotest", "one Go test, with all engines"},
	}},
	{"recorded runs", [][2]string{
		{"conform", "logs checked against models"},
		{"detect", "Poss and Def of computations"},
	}},
	{"what people look at", [][2]string{
		{"explore", "the page in the browser"},
	}},
	{"how to explore", [][2]string{
		{"engine/all", "every engine registers"},
		{"engine/portfolio", "two engines in turns"},
		{"engine/search/auto", "ample sets, vectors or plain expansion, by measurement"},
		{"cartesian", "cartesian vectors"},
		{"engine/stateless", "executions one after the other"},
		{"engine/search/composed", "lock-based reduction"},
		{"engine/search/ample", "ample sets"},
		{"engine/temporal", "temporal properties"},
		{"engine/search/full", "every transition"},
		{"engine/unfolding", "events instead of states"},
		{"engine/search/reduction", "expanders become engines"},
		{"engine/lockset", "disciplines and races, by wrapping a system"},
		{"engine/search", "the driver of stateful searches"},
		{"engine/forecast", "how long a search takes"},
	}},
	{"machinery", [][2]string{
		{"engine/cluster", "traffic between ranks"},
		{"engine/checkpoint", "files that are whole"},
		{"workers", "work-sharing pool"},
		{"statestore", "covered set, work set"},
		{"engine/lockset/persistent", "persistent sets"},
		{"engine", "options, results, the rules of honesty"},
	}},
	{"what is explored", [][2]string{
		{"frontend/gosrc", "Go"},
		{"frontend/promela", "SPIN's language"},
		{"frontend/model", "cpor's own language"},
		{"frontend", "the registry of languages"},
		{"frontend/code", "models as machine code"},
		{"frontend/source", "texts and places"},
	}},
	{"the ground", [][2]string{
		{"trace", "replay, shorten, print"},
		{"system", "the concurrent system as everybody sees it"},
		{"ltl", "formulas and automata"},
		{"testkit/sabotage", "faults by name, for the test of the tests"},
		{"engine/memory", "a limit of memory"},
		{"internal", "flags, words, numbers for people"},
	}},
}

// part is a room that is kept apart from the others, more than the layers say.
type part struct {
	room string
	// imports are the other rooms that it may import.
	imports []string
	// doors are the packages of it that others may import, by the room that may; nil if any may
	// import all of it.
	doors map[string][]string
}

var parts = []part{
	// The vocabulary: neither ranks nor stores nor checkpoints.
	{"engine", []string{"engine/memory", "trace", "system", "ltl", "internal"}, nil},
	// A product of its own that shares the page, the flags and the words.
	{"detect", []string{"explore", "internal"}, map[string][]string{
		"cmd/cpor":       {"detect/detectcmd", "detect/computation", "detect/logs"},
		"conform":        {"detect/computation"},
		"cmd/cpor-bench": {"detect/experiments"}}},
	// What measures is in a program of its own.
	{"bench", []string{"benchmarks", "engine", "engine/all", "engine/search/reduction",
		"engine/stateless", "engine/temporal", "engine/unfolding", "examples", "frontend",
		"frontend/model", "frontend/promela", "internal"},
		map[string][]string{"cmd/cpor-bench": {"bench"}}},
}

// apart returns the imports that a part is not to have, or others of it.
func apart(parts []part, layers []layer, imports map[string][]string) []string {
	_, place := rooms(layers)
	var wrong []string
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		for _, to := range imports[from] {
			a, b := roomOf(place, from), roomOf(place, to)
			for _, p := range parts {
				if a == p.room && b != a && !slices.Contains(p.imports, b) {
					wrong = append(wrong, fmt.Sprintf("%s imports %s, but of other rooms %s "+
						"imports only %s", from, to, p.room, strings.Join(p.imports, ", ")))
				}
				if b == p.room && a != b && p.doors != nil && !slices.Contains(p.doors[a], to) {
					wrong = append(
						wrong,
						fmt.Sprintf("%s imports %s, which is not a door of %s for it",
							from, to, p.room),
					)
				}
			}
		}
	}
	return wrong
}

// rooms are all folders of the layers, from the top, with their places.
func rooms(layers []layer) (names []string, place map[string]int) {
	place = map[string]int{}
	for _, l := range layers {
		for _, r := range l.rooms {
			place[r[0]] = len(names)
			names = append(names, r[0])
		}
	}
	return names, place
}

// roomOf returns the room of a package, by its folder; "" if it has none.
func roomOf(place map[string]int, folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if _, ok := place[folder]; ok {
			return folder
		}
	}
	return ""
}

// imports returns what the packages of the module import of each other, by folder.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, p.Module.Path+"/")
		found[from] = nil
		for _, to := range p.Imports {
			if rest, ok := strings.CutPrefix(to, p.Module.Path+"/"); ok {
				found[from] = append(found[from], rest)
			}
		}
	}
	return found
}

// goPackage is what the go command knows of a package of the module.
type goPackage struct {
	ImportPath, Name       string
	GoFiles, Imports, Deps []string
	Module                 struct{ Path string }
}

var listed = sync.OnceValues(func() (map[string]goPackage, error) {
	list := exec.Command("go", "list", "-json=ImportPath,Name,GoFiles,Imports,Deps,Module", "./...")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return nil, err
	}
	found := map[string]goPackage{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); err == io.EOF {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		found[p.ImportPath] = p
	}
})

// packages returns the packages of the module by path. The go command is asked once, because it
// takes long.
func packages(t *testing.T) map[string]goPackage {
	t.Helper()
	all, err := listed()
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// upward returns what is wrong with imports: packages without a room, rooms without a
// package, and imports that do not run downwards.
func upward(layers []layer, imports map[string][]string) []string {
	names, place := rooms(layers)
	var wrong []string
	empty := maps.Clone(place)
	for _, from := range slices.Sorted(maps.Keys(imports)) {
		room := roomOf(place, from)
		if room == "" {
			wrong = append(wrong, from+" has no room in layers")
			continue
		}
		delete(empty, room)
		for _, to := range imports[from] {
			if below := roomOf(place, to); below != "" && place[below] < place[room] {
				wrong = append(wrong, fmt.Sprintf("%s imports %s, but the room %s stands above %s",
					from, to, below, room))
			}
		}
	}
	for _, room := range names {
		if _, ok := empty[room]; ok {
			wrong = append(wrong, "the room "+room+" has no package")
		}
	}
	return wrong
}

// arrows returns the imports between rooms without those that follow from others: the
// transitive reduction. Imports have to run downwards.
func arrows(layers []layer, imports map[string][]string) [][2]int {
	names, place := rooms(layers)
	direct := make([]map[int]bool, len(names))
	for i := range direct {
		direct[i] = map[int]bool{}
	}
	for from, tos := range imports {
		a := place[roomOf(place, from)]
		for _, to := range tos {
			if b := place[roomOf(place, to)]; b != a {
				direct[a][b] = true
			}
		}
	}
	reach := make([]map[int]bool, len(names))
	var out [][2]int
	for a := len(names) - 1; a >= 0; a-- {
		reach[a] = map[int]bool{}
		for _, b := range slices.Sorted(maps.Keys(direct[a])) { // the highest first
			if !reach[a][b] {
				out = append(out, [2]int{a, b})
				reach[a][b] = true
				maps.Copy(reach[a], reach[b])
			}
		}
	}
	slices.SortFunc(out, func(x, y [2]int) int { return slices.Compare(x[:], y[:]) })
	return out
}

// mermaid draws the rooms and the imports between them.
func mermaid(layers []layer, imports map[string][]string) string {
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TB\n")
	n, drawn := 0, map[int]bool{}
	for i, l := range layers {
		if l.name == forTests {
			n += len(l.rooms)
			continue
		}
		fmt.Fprintf(&b, "    subgraph layer%d [%s]\n", i, l.name)
		for _, r := range l.rooms {
			fmt.Fprintf(&b, "        n%d[\"%s<br/>%s\"]\n", n, r[0], r[1])
			drawn[n] = true
			n++
		}
		b.WriteString("    end\n")
	}
	for _, a := range arrows(layers, imports) {
		if drawn[a[0]] {
			fmt.Fprintf(&b, "    n%d --> n%d\n", a[0], a[1])
		}
	}
	b.WriteString("```\n")
	return b.String()
}

// TestImportsRunDownwards: every package has its room in layers, imports only what stands
// below it, and docs/architecture.md shows these imports (-update writes them).
func TestImportsRunDownwards(t *testing.T) {
	found := imports(t)
	for _, w := range append(upward(layers, found), apart(parts, layers, found)...) {
		t.Error(w)
	}
	if t.Failed() {
		return
	}
	const begin = "<!-- The imports, generated: go test ./cmd/cpor -run Downwards -update -->\n"
	const end = "<!-- end -->\n"
	name := filepath.Join(root, "docs", "architecture.md")
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	drawn, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the imports", name)
	}
	want := mermaid(layers, found)
	if drawn == want {
		return
	}
	if !*update {
		t.Fatalf("%s shows other imports; go test ./cmd/cpor -run Downwards -update draws "+
			"these:\n%s",
			name, want)
	}
	if err := os.WriteFile(name, []byte(before+begin+want+end+after), 0o666); err != nil {
		t.Fatal(err)
	}
}

func TestUpward(t *testing.T) {
	house := []layer{
		{"top", [][2]string{{"a", "above"}, {"b/c", "within b"}}},
		{"bottom", [][2]string{{"b", "below"}, {"d", "nothing"}}},
	}
	for _, tt := range []struct {
		imports map[string][]string
		wrong   string
		arrows  string
	}{
		{map[string][]string{"a/x": {"b/c", "b"}, "b/c": {"b/e"}, "b/e": {"b"}, "b": nil, "d": nil},
			"[]", "[[0 1] [1 2]]"},
		{map[string][]string{"a": {"d", "b"}, "b/c/f": {"b/c"}, "b/c": nil, "b": nil, "d": nil},
			"[]", "[[0 2] [0 3]]"},
		{map[string][]string{"a": nil, "b": {"b/c"}, "b/c": nil, "d": {"a/x"}, "e": nil},
			"[b imports b/c, but the room b/c stands above b d imports a/x, but the room a " +
				"stands above d e has no room in layers]", ""},
		{map[string][]string{"a": nil, "b": nil, "b/c": nil}, "[the room d has no package]", ""},
	} {
		if got := fmt.Sprint(upward(house, tt.imports)); got != tt.wrong {
			t.Errorf("%v: %s, want %s", tt.imports, got, tt.wrong)
		}
		if tt.arrows != "" {
			if got := fmt.Sprint(arrows(house, tt.imports)); got != tt.arrows {
				t.Errorf("%v: arrows %s, want %s", tt.imports, got, tt.arrows)
			}
		}
	}
}

func TestApart(t *testing.T) {
	house := []layer{{"house", [][2]string{{"a", ""}, {"b", ""}, {"c", ""}, {"d", ""}}}}
	parts := []part{{"b", []string{"c"}, map[string][]string{"a": {"b/door"}}}}
	for imports, want := range map[[2]string]string{
		{"a", "b/door"}:   "[]",
		{"a/x", "b/door"}: "[]",
		{"a", "b/x"}:      "[a imports b/x, which is not a door of b for it]",
		{"d", "b/door"}:   "[d imports b/door, which is not a door of b for it]",
		{"b/x", "b/door"}: "[]",
		{"b", "c/x"}:      "[]",
		{"b", "d"}:        "[b imports d, but of other rooms b imports only c]",
	} {
		found := map[string][]string{imports[0]: {imports[1]}}
		if got := fmt.Sprint(apart(parts, house, found)); got != want {
			t.Errorf("%v: %s, want %s", imports, got, want)
		}
	}
}

// TestUsersPay: what users start and import is linked with nothing that only measurements
// need.
func TestUsersPay(t *testing.T) {
	for _, path := range []string{"cpor/cmd/cpor", "cpor/check"} {
		deps := packages(t)[path].Deps
		if len(deps) < 100 {
			t.Fatalf("%s depends on %d packages only", path, len(deps))
		}
		for _, p := range deps {
			if strings.HasPrefix(p, "gonum.org/") || p == "cpor/bench" {
				t.Errorf("%s is linked with %s", path, p)
			}
		}
	}
}

// TestImported pins how many packages of ours, and of others outside of Go's library, come with
// what other modules import. Whoever adds one has a reason.
func TestImported(t *testing.T) {
	for path, most := range map[string][2]int{
		"cpor/system":           {1, 0},
		"cpor/model":            {31, 18},
		"cpor/engine/unfolding": {8, 8},
		"cpor/engine/search":    {17, 10},
	} {
		if len(packages(t)[path].Deps) == 0 {
			t.Errorf("%s is no package, or imports nothing", path)
		}
		ours, others := 1, 0
		for _, p := range packages(t)[path].Deps {
			first, _, _ := strings.Cut(p, "/")
			switch {
			case first == "cpor":
				ours++
			case strings.Contains(first, "."):
				others++
			}
		}
		if ours > most[0] || others > most[1] {
			t.Errorf("%s comes with %d packages of ours and %d of others, at most %d and %d", path,
				ours, others, most[0], most[1])
		}
	}
}
