package oracle_test

import (
	"runtime"
	"sync"
	"testing"

	"cpor/testkit/oracle"
	"cpor/testkit/sample"
)

func program(seed uint64, sizes []oracle.Size) string {
	return oracle.Program(seed, sizes[seed%uint64(len(sizes))])
}

func TestProgramLockstep(t *testing.T) {
	n := models(60, 150, 1500)
	c, of := &tally{}, sizes(t)
	campaign(t, n, c, func(seed uint64) (string, string) { return walk(program(seed, of), c) })
}

// TestPairs holds the generator to the grammar: every construct occurs in every
// context that allows it, in the programs of one ordinary run.
func TestPairs(t *testing.T) {
	sample.Skip(t) // it takes many programs to see all pairs
	var mu sync.Mutex
	var wg sync.WaitGroup
	of := sizes(t)
	seen := map[oracle.Pair]int{}
	refused := 0
	n, workers := max(8750, *count), uint64(runtime.GOMAXPROCS(0))
	for w := range workers {
		wg.Go(func() {
			for seed := *first + w; seed < *first+n; seed += workers {
				pairs, err := oracle.Pairs(program(seed, of))
				mu.Lock()
				if err != nil {
					refused++
				}
				for p := range pairs {
					seen[p]++
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if uint64(refused) > n/10 {
		t.Errorf("%d of %d programs are refused", refused, n)
	}
	want, missing := 0, 0
	check := func(constructs, contexts []string) {
		for _, construct := range constructs {
			for _, context := range contexts {
				p := oracle.Pair{Construct: construct, Context: context}
				if oracle.Refused(p) != "" {
					if seen[p] > 0 {
						t.Errorf("%v occurs, and is said to be refused: %s", p, oracle.Refused(p))
					}
					continue
				}
				want++
				if seen[p] == 0 {
					missing++
					t.Errorf("%v never occurs", p)
				}
			}
		}
	}
	check(oracle.Statements, oracle.Contexts)
	check(oracle.Expressions, oracle.ExpressionContexts)
	t.Logf("%d pairs, %d of them never occurred; %d programs of %d were refused", want, missing,
		refused, n)
}
