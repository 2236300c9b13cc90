package resolve

import (
	"math/big"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestGrammarKnowsNames: the grammar for editors knows every predeclared name. (What it does
// with texts is tested in package syntax.)
func TestGrammarKnowsNames(t *testing.T) {
	text, err := os.ReadFile("../../../editors/vscode/syntaxes/cpor.tmLanguage.json")
	if err != nil {
		t.Fatal(err)
	}
	var known []*regexp.Regexp
	for _, m := range regexp.MustCompile(`"match": "(\\\\b\(.*\)\\\\b)"`).FindAllStringSubmatch(
		string(text), -1) {
		known = append(known, regexp.MustCompile("^"+strings.ReplaceAll(m[1], `\\`, `\`)+"$"))
	}
	n := 0
names:
	for name := range (&checker{value: map[*Object]*big.Int{}}).newUniverse().names {
		n++
		for _, re := range known {
			if re.MatchString(name) {
				continue names
			}
		}
		t.Errorf("the grammar does not know %s", name)
	}
	if n < 100 || len(known) < 5 {
		t.Errorf("%d names, %d patterns", n, len(known))
	}
}
