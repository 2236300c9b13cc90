// Package gotable is for tests of the Go front end: small Go programs with the set of all their
// outcomes, and their outcomes with the real compiler.
//
// The table is in testdata/outcomes of the front end, whose README.md describes its format. [Read]
// parses an archive of it. [Build] compiles any number of programs into one binary, because linking
// each alone would take most of the time, and [Binary.Run] executes one of them.
//
// [Build] calls go build, which only needs the tool chain that builds the tests themselves; the
// programs only use the standard library.
package gotable

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// Program is one program of a table.
type Program struct {
	Name   string // of its section, without .go, after the archive's: sync/mutex
	Source string // the whole file, package clause and imports included
	// GoVersion is the version of the language in go.mod: 1.21. It is that of
	// the project unless the program names one.
	GoVersion string
	Flags     []string // of the search
	// Outcomes are the expected outcomes, sorted.
	Outcomes []Outcome
}

// DefaultGoVersion is the language version of programs that name none.
const DefaultGoVersion = "1.26"

// Outcome is one way in which a program may end.
type Outcome struct {
	// Output is what it printed: lines joined by " / ", without trailing spaces.
	Output string
	// Ending is empty if the program ended by itself, and otherwise "deadlock",
	// "panic: VALUE", "fatal: MESSAGE", "race", "livelock" or "exit N".
	Ending string
}

// String returns the outcome as it appears in a table.
func (o Outcome) String() string {
	out := o.Output
	if out == "" {
		out = "-"
	}
	if o.Ending != "" {
		out += " ! " + o.Ending
	}
	return out
}

// NewOutcome returns the outcome of a run that printed output and ended as
// ending says. The output of a race is dropped: it depends on which access the
// detector looks at first.
func NewOutcome(output, ending string) Outcome {
	ending = strings.TrimSpace(ending)
	if ending == "race" {
		return Outcome{Ending: ending}
	}
	lines := strings.Split(strings.TrimSpace(output), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return Outcome{Output: strings.Join(lines, " / "), Ending: ending}
}

// endings is how the text of an ending begins, in a table.
var endings = regexp.MustCompile(
	`(?:^| )! (deadlock|panic: .*|fatal: .*|race|livelock|exit [0-9]+)$`)

// ParseOutcome parses what String returns.
func ParseOutcome(line string) Outcome {
	var o Outcome
	if m := endings.FindStringSubmatchIndex(line); m != nil {
		o.Ending = line[m[2]:m[3]]
		line = line[:m[0]]
	}
	if line = strings.TrimSpace(line); line != "-" {
		o.Output = line
	}
	return o
}

// Compare orders outcomes by their text.
func Compare(a, b Outcome) int { return strings.Compare(a.String(), b.String()) }

// Read reads all tables of a directory.
func Read(dir string) ([]Program, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		return nil, err
	}
	var all []Program
	for _, f := range files {
		a, err := txtar.ParseFile(f)
		if err != nil {
			return nil, err
		}
		for _, s := range a.Files {
			p, err := parse(s)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", f, s.Name, err)
			}
			p.Name = strings.TrimSuffix(filepath.Base(f), ".txtar") + "/" + strings.TrimSuffix(
				s.Name, ".go")
			all = append(all, p)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no tables in %s: %w", dir, os.ErrNotExist)
	}
	return all, nil
}

func parse(s txtar.File) (Program, error) {
	p := Program{GoVersion: DefaultGoVersion}
	code, table, ok := strings.Cut(string(s.Data), "// outcomes:\n")
	if !ok {
		return p, fmt.Errorf("no outcomes")
	}
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		if v, ok := strings.CutPrefix(line, "// go "); ok {
			p.GoVersion = v
		}
		if v, ok := strings.CutPrefix(line, "// flags: "); ok {
			p.Flags = strings.Fields(v)
		}
	}
	for line := range strings.Lines(table) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		text, ok := strings.CutPrefix(line, "// ")
		if !ok {
			return p, fmt.Errorf("%q among the outcomes: they are comments", line)
		}
		o := ParseOutcome(text)
		if slices.Contains(p.Outcomes, o) {
			return p, fmt.Errorf("outcome %q twice", o)
		}
		p.Outcomes = append(p.Outcomes, o)
	}
	if len(p.Outcomes) == 0 {
		return p, fmt.Errorf("no outcomes")
	}
	slices.SortFunc(p.Outcomes, Compare)
	var err error
	p.Source, err = Complete(code)
	return p, err
}

// imports are the packages that Complete knows by the name they are used by.
var imports = map[string]string{}

func init() {
	for _, path := range strings.Fields(
		`archive/zip bufio bytes cmp compress/gzip container/heap container/list container/ring context
		crypto/hmac crypto/md5 crypto/sha1 crypto/sha256 crypto/sha512 crypto/subtle encoding/binary encoding/gob encoding/hex encoding/json encoding/xml errors flag fmt go/format hash/maphash image image/color image/png io io/fs iter log maps math math/big math/bits math/cmplx math/rand math/rand/v2
		log/slog net net/http net/http/httptest net/rpc net/textproto net/url os os/signal path/filepath reflect regexp runtime runtime/pprof slices sort strconv strings sync sync/atomic syscall testing/quick text/scanner text/tabwriter text/template time unicode unicode/utf8
		unique unsafe weak`) {
		imports[path[strings.LastIndexByte(path, '/')+1:]] = path
	}
}

// Complete adds the package clause and the imports to a program that has none.
// A package is imported if its name is used and nothing of the file has that
// name.
func Complete(code string) (string, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", "package main\n"+code, parser.SkipObjectResolution)
	if err != nil {
		return "", err
	}
	used, own := map[string]bool{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && imports[x.Name] != "" {
				used[imports[x.Name]] = true
			}
		case *ast.AssignStmt:
			for _, x := range n.Lhs {
				if x, ok := x.(*ast.Ident); ok {
					own[x.Name] = true
				}
			}
		case *ast.Field:
			for _, x := range n.Names {
				own[x.Name] = true
			}
		case *ast.ValueSpec:
			for _, x := range n.Names {
				own[x.Name] = true
			}
		}
		return true
	})
	var b strings.Builder
	b.WriteString("package main\n\n")
	paths := make([]string, 0, len(used))
	for path := range used {
		if !own[path[strings.LastIndexByte(path, '/')+1:]] {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		name := ""
		if strings.HasSuffix(path, "/v2") {
			name = "v2 " // programs of the table use it by that name
		}
		b.WriteString("import " + name + strconv.Quote(path) + "\n")
	}
	b.WriteString("\n" + code)
	text, err := format.Source([]byte(b.String()))
	return string(text), err
}
