package oracle_test

import (
	"cmp"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpor/oracle"
)

// tally counts what became of the programs of a run, so that nothing is left
// out silently.
type tally struct {
	mu       sync.Mutex
	compared uint64
	over     map[string]uint64 // programs that were not compared, by reason
	parts    map[string]uint64 // comparisons that were left out, or weaker, by what and why
	reports  []string          // of differences, up to maxReports
	differed uint64
}

// maxReports bounds the differences that are shrunk and reported; a run goes on
// behind them, and counts them all.
const maxReports = 20

func (c *tally) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[string]uint64{}
	}
	c.parts[fmt.Sprintf(format, args...)]++
}

// room tells whether another difference will be reported.
func (c *tally) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.reports) < maxReports
}

func (c *tally) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	skipped := uint64(0)
	for _, n := range c.over {
		skipped += n
	}
	fmt.Fprintf(&b, "%d models compared, %d differ, %d passed over", c.compared, c.differed, skipped)
	list := func(m map[string]uint64) {
		keys := slices.SortedFunc(maps.Keys(m), func(a, b string) int {
			return cmp.Or(cmp.Compare(m[b], m[a]), strings.Compare(a, b))
		})
		for _, k := range keys {
			fmt.Fprintf(&b, "\n\t%8d %s", m[k], k)
		}
	}
	list(c.over)
	if len(c.parts) > 0 {
		b.WriteString("\nand of these comparisons")
		list(c.parts)
	}
	return b.String()
}

// parallel runs a check on models with different seeds until n of them were
// compared. Others, for which it returns a reason, are passed over and counted.
// After a difference it goes on. It prints what it has done every minute, and at
// the end.
func parallel(t *testing.T, n uint64, check func(seed uint64) (diff, over string)) {
	t.Helper()
	campaign(t, n, &tally{}, check)
}

func campaign(t *testing.T, n uint64, c *tally, check func(seed uint64) (diff, over string)) {
	t.Helper()
	c.over = map[string]uint64{}
	var wg sync.WaitGroup
	begin, last := time.Now(), time.Now()
	started := uint64(0)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for {
				c.mu.Lock()
				if c.compared >= n || started > 20*n+100 {
					c.mu.Unlock()
					return
				}
				s := *first + started
				started++
				show := time.Since(last) > time.Minute
				if show {
					last = time.Now()
				}
				c.mu.Unlock()
				if show {
					fmt.Printf("%s %s, seeds %d to %d: %v\n", time.Since(begin).Round(time.Second), t.Name(), *first, s-1, c)
				}
				d, over := check(s)
				c.mu.Lock()
				switch {
				case over != "":
					c.over[over]++
				case d != "":
					c.differed++
					if len(c.reports) < maxReports {
						c.reports = append(c.reports, d)
						t.Errorf("seed %d: %s", s, d)
						fmt.Printf("%s seed %d: %s\n", t.Name(), s, d)
					}
					fallthrough
				default:
					c.compared++
				}
				c.mu.Unlock()
			}
		})
	}
	wg.Wait()
	t.Logf("seeds %d to %d, %s: %v", *first, *first+started-1, time.Since(begin).Round(time.Millisecond), c)
	if c.compared < n {
		t.Errorf("only %d models were compared, want %d", c.compared, n)
	}
}

// refusal names why a program cannot be compared: its text is refused, or init
// fails or blocks.
func refusal(err error) string {
	e := strings.Split(err.Error(), "\n")[0]
	for _, what := range []string{"init fails", "init blocks", "never exists"} {
		if strings.Contains(e, what) {
			return what
		}
	}
	return "refused by the language"
}

// sizes returns the sizes of the programs of a run.
func sizes(t *testing.T) []oracle.Size {
	list := oracle.SizesNamed[*size]
	if list == nil {
		t.Fatalf("there is no size %q: tiny, mixed or large", *size)
	}
	return list
}
