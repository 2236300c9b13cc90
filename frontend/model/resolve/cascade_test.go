package resolve_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cpor/frontend/model/resolve"
	"cpor/frontend/model/syntax"
	"cpor/frontend/source"
)

var mutants = flag.Int("mutants", 30, "how `often` each model is broken by TestNoCascades")

var tokens = regexp.MustCompile(
	`//[^\n]*|"[^"\n]*"|[A-Za-z_]\w*|\d+|:=|<-|&&|\|\||[-+=!<>]=|\+\+|--|[^\s\w]`)

// broken returns a model with a mistake at a token: it is left out, doubled or exchanged.
func broken(text string, rnd *rand.Rand) string {
	all := tokens.FindAllStringIndex(text, -1)
	at := all[rnd.IntN(len(all))]
	strange := []string{")", "(", "=", ":=", "==", "]", ",", "func", "else", "2x", "+", ";", "let",
		"'"}
	with := ""
	switch rnd.IntN(4) {
	case 0: // left out
	case 1:
		with = text[at[0]:at[1]] + " " + text[at[0]:at[1]]
	default:
		with = strange[rnd.IntN(len(strange))]
	}
	return text[:at[0]] + with + text[at[1]:]
}

// TestNoCascades breaks models that are right. What has a syntax error then must not be
// reported to have others: they would be consequences of the first. Some are none, as a text
// that is broken can mean something else, so that few are allowed.
func TestNoCascades(t *testing.T) {
	var files []string
	for _, pattern := range []string{"examples", "benchmarks", "benchmarks/locks",
		"docs/tutorial"} {
		found, err := filepath.Glob("../../../" + pattern + "/*.model")
		if err != nil || len(found) == 0 {
			t.Fatal(pattern, err)
		}
		files = append(files, found...)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	n, more := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := resolve.Check(source.New(file, string(text)), resolve.Options{}); err != nil {
			continue // of mistakes, or with parameters that it needs
		}
		for range *mutants {
			m := broken(string(text), rnd)
			f, err := syntax.Parse(source.New(filepath.Base(file), m))
			if err == nil {
				continue
			}
			n++
			var first, all *source.List
			errors.As(err, &first)
			_, err = resolve.Check(f.Source, resolve.Options{})
			if errors.As(err, &all); all.Len() > first.Len() {
				more++
				t.Logf("%d. %s", more, strings.TrimSpace(all.Error()))
			}
		}
	}
	t.Logf("%d of %d broken models have further messages", more, n)
	if n < 1000 && !testing.Short() || more*50 > n {
		t.Errorf("%d of %d broken models have further messages", more, n)
	}
}
