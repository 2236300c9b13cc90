package oracle_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cpor/testkit/chunktest"
	"cpor/testkit/oracle"
	"cpor/testkit/treewalk"
)

// lockstepPairs bounds the pairs of states that are compared of one model.
const lockstepPairs = 600

// TestLockstep compares the compiled machine with the tree walker, which has
// been written from the language's documentation, on generated models.
func TestLockstep(t *testing.T) {
	n := models(50, 100, 700)
	c := &tally{}
	campaign(t, n, c, func(seed uint64) (string, string) {
		return walk(oracle.Generate(seed, configs[seed%uint64(len(configs))]), c)
	})
}

// walk compares a model with the tree walker. The second result says why the
// model was passed over.
func walk(text string, c *tally) (diff, over string) {
	sem, diff, err := oracle.Lockstep("generated.model", text, lockstepPairs)
	switch {
	case diff != "":
		return diff + "\n" + text, ""
	case err != nil:
		return "", refusal(err)
	case !sem.Complete:
		c.note("more than %d pairs of states: compared on random walks beyond them", lockstepPairs)
	}
	return "", ""
}

// examples returns the models of the documentation and of the tests of the
// language. Some of them are refused on purpose.
func examples(t *testing.T) []string {
	var texts []string
	for _, ex := range chunktest.Examples(t, "../../docs/language.md") {
		texts = append(texts, ex.Text)
	}
	files, err := filepath.Glob("../../frontend/model/testdata/*.models")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		texts = append(texts, chunks(t, file)...)
	}
	return texts
}

// chunks returns the models of a file, which lines of --- divide.
func chunks(t *testing.T, file string) []string {
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(string(b), "\n---\n")
}

// TestLockstepExamples does the same on models that people wrote.
func TestLockstepExamples(t *testing.T) {
	compared := 0
	for _, text := range append(examples(t), chunks(t, "testdata/engines.models")...) {
		_, diff, err := oracle.Lockstep("example.model", text, 400)
		if diff != "" {
			t.Errorf("%s\n%s", diff, text)
		}
		if err == nil {
			compared++
		}
	}
	t.Logf("%d models agree", compared)
	if compared < 60 {
		t.Errorf("only %d models were compared", compared)
	}
}

// TestPatience: a transition with alternatives without number ends the comparison,
// not the memory.
func TestPatience(t *testing.T) {
	if testing.Short() {
		t.Skip("takes as long as the walker has patience")
	}
	_, diff, err := oracle.Lockstep("endless.model", `
comm var x uint2
thread T() {
	atomic {
		for choose(0, 1) == 1 {
			x++
			x--
		}
	}
}
init { go T() }
`, 400)
	if diff != "" || err != treewalk.ErrPatience {
		t.Errorf("difference %q, error %v", diff, err)
	}
}
