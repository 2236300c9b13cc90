package experiments

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"cpor/detect"
	"cpor/detect/predicate"
	"cpor/detect/simulate"
)

// TestLevelsAgree: on the protocols, all levels give the answer of the search
// without optimizations, also for invariants that are weakened so that they are
// sometimes violated: a pair of primary and secondary that lacks some pairs.
func TestLevelsAgree(t *testing.T) {
	answers := map[bool]int{}
	for seed := range uint64(60) {
		n := 4 + int(seed%2)
		c := simulate.PrimarySecondary(n, 25, seed)
		var pairs []string
		for i := 1; i <= n; i++ {
			for j := 1; j <= n; j++ {
				if i != j && (i*7+j*3+int(seed))%11 > int(seed%3) {
					pairs = append(pairs,
						fmt.Sprintf("p%[1]d.isPrimary && p%[2]d.isSecondary && p%[1]d.secondary "+
							"== p%[2]d && p%[2]d.primary == p%[1]d", i, j))
				}
			}
		}
		p, err := predicate.Parse("!(" + strings.Join(pairs, " || ") + ")")
		if err != nil {
			t.Fatal(err)
		}
		node, err := p.Expand(predicate.NamesOf(c))
		if err != nil {
			t.Fatal(err)
		}
		want := false
		for x, l := range Levels {
			opt := l.Options
			opt.Check = true
			res, err := detect.Detect(context.Background(), c, node, detect.Poss, opt)
			if err != nil {
				t.Fatal(err)
			}
			if x == 0 {
				want = res.Holds
				answers[want]++
			} else if res.Holds != want {
				t.Errorf("seed %d, %s: %v, without optimisations %v", seed, l.Name, res.Holds, want)
			}
		}
	}
	if answers[true] < 10 || answers[false] < 10 {
		t.Errorf("one-sided: %v", answers)
	}
}
