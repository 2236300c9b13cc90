package chunktest

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// Example is a fenced block of a document.
type Example struct {
	Kind    string // model, model-prelude, model-fragment, model-error, promela
	Verdict string // of a model, in Promela too: pass, assertion, deadlock, invariant, runtime
	Text    string
	Line    int // of the first line of text
}

var fence = regexp.MustCompile("^```(model[a-z-]*|promela)(?: verdict=([a-z]+))?$")

// Examples returns the fenced blocks of a document that begin with ```model or
// ```promela.
func Examples(t *testing.T, path string) []Example {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []Example
	var cur *Example
	for i, l := range strings.Split(string(data), "\n") {
		switch {
		case cur != nil && l == "```":
			list = append(list, *cur)
			cur = nil
		case cur != nil:
			cur.Text += l + "\n"
		case strings.HasPrefix(l, "```model"), strings.HasPrefix(l, "```promela"):
			m := fence.FindStringSubmatch(l)
			if m == nil {
				t.Fatalf("line %d: bad fence %q", i+1, l)
			}
			cur = &Example{Kind: m[1], Verdict: m[2], Line: i + 2}
		}
	}
	return list
}
