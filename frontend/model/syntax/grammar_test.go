package syntax

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
)

// grammar is the TextMate grammar for editors, as far as it uses the format: match, begin and
// end, captures and includes. Its expressions are such that Go's regexp reads them as
// Oniguruma, which editors use and of which no library without cgo is known, does.
type grammar struct {
	Patterns   []*rule
	Repository map[string]*rule
}

type rule struct {
	Name, Match, Begin, End, Include string
	Captures, BeginCaptures          map[string]struct{ Name string }
	Patterns                         []*rule
}

func readGrammar(t *testing.T) *grammar {
	t.Helper()
	text, err := os.ReadFile("../../../editors/vscode/syntaxes/cpor.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	g := &grammar{}
	if err := json.Unmarshal(text, g); err != nil {
		t.Fatal(err)
	}
	return g
}

// flat returns the rules that a list represents.
func (g *grammar) flat(t *testing.T, list []*rule) []*rule {
	var all []*rule
	for _, r := range list {
		switch name, ok := strings.CutPrefix(r.Include, "#"); {
		case ok && g.Repository[name] == nil:
			t.Fatalf("there is no %s", r.Include)
		case ok && name != "formula":
			all = append(all, g.flat(t, g.Repository[name].Patterns)...)
		case ok:
			// its braces are in themselves
			all = append(all, g.flat(t, g.Repository[name].Patterns[1:])...)
			all = append(all, g.Repository[name].Patterns[0])
		default:
			all = append(all, r)
		}
	}
	return all
}

// scopes returns the innermost scope of each byte of a text, as an editor finds them: line by
// line, at each place the rule that matches first, the first one of several.
func (g *grammar) scopes(t *testing.T, text string) []string {
	scope := make([]string, len(text))
	type open struct {
		rule  *rule
		rules []*rule
	}
	stack := []open{{&rule{}, g.flat(t, g.Patterns)}}
	at := 0
	for line := range strings.Lines(text) {
		for i := 0; i < len(line); {
			top := stack[len(stack)-1]
			best, begin := []int(nil), (*rule)(nil)
			try := func(r *rule, expr string) {
				// An expression sees the line from its begin on, for ^ and \b.
				for _, m := range regexp.MustCompile("(?m)"+expr).FindAllStringSubmatchIndex(line,
					-1) {
					if m[0] >= i && m[1] > m[0] && (best == nil || m[0] < best[0]) {
						best, begin = m, r
					}
				}
			}
			if top.rule.End != "" {
				try(nil, top.rule.End)
			}
			for _, r := range top.rules {
				try(r, r.Match+r.Begin)
			}
			to := len(line)
			if best != nil {
				to = best[0]
			}
			for k := i; k < to; k++ {
				scope[at+k] = top.rule.Name
			}
			if best == nil {
				break
			}
			name, captures := top.rule.Name, map[string]struct{ Name string }{}
			switch {
			case begin == nil:
				stack = stack[:len(stack)-1]
			case begin.Begin != "":
				stack = append(stack, open{begin, g.flat(t, begin.Patterns)})
				name, captures = begin.Name, begin.BeginCaptures
			default:
				name, captures = begin.Name, begin.Captures
			}
			for k := best[0]; k < best[1]; k++ {
				scope[at+k] = name
			}
			for n, c := range captures {
				var k int
				fmt.Sscan(n, &k)
				for j := best[2*k]; j < best[2*k+1]; j++ {
					scope[at+j] = c.Name
				}
			}
			i = best[1]
		}
		at += len(line)
	}
	if len(stack) != 1 {
		t.Errorf("%d scopes are open at the end", len(stack)-1)
	}
	return scope
}

// TestGrammarKeywords: the grammar knows every word of the scanner, and the words that begin a
// declaration.
func TestGrammarKeywords(t *testing.T) {
	g := readGrammar(t)
	words := slices.Sorted(maps.Keys(keywords))
	words = append(words, "comm", "unshared", "symmetric", "mutex", "rwmutex", "monitor",
		"semaphore", "waitgroup", "cond")
	for _, w := range words {
		scope := g.scopes(t, w+" ")
		if !strings.HasPrefix(scope[0], "keyword.") && !strings.HasPrefix(scope[0], "invalid.") &&
			!strings.HasPrefix(scope[0], "storage.") || scope[len(w)-1] != scope[0] {
			t.Errorf("%s has the scope %q", w, scope[0])
		}
	}
	for w := range reserved {
		if scope := g.scopes(t, w+" p { x }\n"); scope[0] != "keyword.other.cpor" {
			t.Errorf("%s has the scope %q", w, scope[0])
		}
	}
}

// TestGrammarSample scopes a sample: testdata/highlight.golden has each line of it, and below
// what begins where.
func TestGrammarSample(t *testing.T) {
	text, err := os.ReadFile("testdata/highlight.model")
	if err != nil {
		t.Fatal(err)
	}
	scope := readGrammar(t).scopes(t, string(text))
	var b strings.Builder
	at := 0
	for line := range strings.Lines(string(text)) {
		b.WriteString(line)
		for i := 0; i < len(line); {
			j := i
			for j < len(line) && scope[at+j] == scope[at+i] {
				j++
			}
			if part := strings.TrimSpace(line[i:j]); part != "" && scope[at+i] != "" {
				fmt.Fprintf(&b, "    %-34s %s\n", strings.TrimSuffix(scope[at+i], ".cpor"), part)
			}
			i = j
		}
		at += len(line)
	}
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile("testdata/highlight.golden", []byte(b.String()), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/highlight.golden")
	if err != nil || string(want) != b.String() {
		t.Errorf("%v: testdata/highlight.golden differs (go test -update rewrites it); got:\n%s",
			err, b.String())
	}
}

var textmate = flag.String("textmate", "", "compare the grammar with the engine of Visual Studio "+
	"Code; the `directory` has the npm packages vscode-textmate and vscode-oniguruma (.ci/run "+
	"editors installs them)")

// TestGrammarInEngine: the engine of Visual Studio Code, with Oniguruma, finds the scopes in the
// sample and in all models that this test's own reading of the grammar finds.
func TestGrammarInEngine(t *testing.T) {
	if *textmate == "" {
		t.Skip("THE GRAMMAR IS NOT TRIED IN AN EDITOR'S ENGINE: -textmate names it")
	}
	files := []string{"testdata/highlight.model"}
	for _, pattern := range []string{"examples/*.model", "benchmarks/*.model",
		"benchmarks/locks/*.model", "docs/*/*.model"} {
		found, err := filepath.Glob("../../../" + pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	c := exec.Command("node",
		append([]string{"testdata/textmate.cjs",
			"../../../editors/vscode/syntaxes/cpor.tmLanguage.json"}, files...)...)
	c.Env = append(os.Environ(), "NODE_PATH="+*textmate)
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	var engine map[string][][]struct {
		From, To int // in UTF-16
		Scope    string
	}
	if err := json.Unmarshal(out, &engine); err != nil {
		t.Fatal(err)
	}
	g := readGrammar(t)
	// Scopes of meta. have no color; the engine gives them to what stands inside, too.
	colored := func(scope string) string {
		if strings.HasPrefix(scope, "meta.") {
			return ""
		}
		return scope
	}
	scoped := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		own := g.scopes(t, string(text))
		at, differ := 0, 0
		for k, line := range strings.Split(string(text), "\n") {
			var scope []string // of each unit of UTF-16
			for _, s := range engine[file][k] {
				for range s.To - s.From {
					scope = append(scope, s.Scope)
				}
			}
			units := 0
			for i, r := range line {
				// White space has no color.
				if got := scope[units]; !unicode.IsSpace(r) && colored(got) != colored(
					own[at+i]) && differ < 3 {
					differ++
					t.Errorf("%s:%d:%d: %q has the scope %q in the engine, and %q here", file, k+1,
						i+1, line[i:], got, own[at+i])
				}
				if scope[units] != "" {
					scoped++
				}
				units += len(utf16.Encode([]rune{r}))
			}
			at += len(line) + 1
		}
	}
	if scoped < 10_000 {
		t.Errorf("only %d letters have a scope", scoped)
	}
}
