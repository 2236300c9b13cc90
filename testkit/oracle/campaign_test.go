package oracle_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cpor/testkit/oracle"
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

// maxReports bounds the differences that are shrunk and reported; a run continues after them, and
// counts them all.
const maxReports = 20

func (c *tally) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.parts == nil {
		c.parts = map[string]uint64{}
	}
	c.parts[fmt.Sprintf(format, args...)]++
}

// room reports whether another difference will be reported.
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
	fmt.Fprintf(&b, "%d models compared, %d differ, %d passed over", c.compared, c.differed,
		skipped)
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

// parallel runs a check on models with different seeds until n of them were compared. Models for
// which the check returns a reason are skipped and counted. After a difference it continues. Every
// minute and at the end, it prints what it has done.
func parallel(t *testing.T, n uint64, check func(seed uint64) (diff, over string)) {
	t.Helper()
	campaign(t, n, &tally{}, check)
}

// campaign is parallel with a tally, or checks the one seed that -seed names.
func campaign(t *testing.T, n uint64, c *tally, check func(seed uint64) (diff, over string)) {
	t.Helper()
	if *seed != 0 {
		d, over := check(*seed)
		if d != "" {
			t.Errorf("seed %d: %s", *seed, d)
		}
		t.Logf("seed %d: %s", *seed, cmp.Or(over, "compared"))
		return
	}
	c.over = map[string]uint64{}
	var wg sync.WaitGroup
	begin, started := time.Now(), uint64(0)
	workers := runtime.GOMAXPROCS(0)
	now := make([]uint64, workers) // the seed that each is at
	for w := range workers {
		wg.Go(func() {
			for {
				c.mu.Lock()
				if c.compared >= n || started > 20*n+100 {
					c.mu.Unlock()
					return
				}
				s := *first + started
				started++
				now[w] = s
				c.mu.Unlock()
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
	stop := make(chan bool)
	go observe(stop, func() string {
		c.mu.Lock()
		defer c.mu.Unlock()
		return fmt.Sprintf("%s at seeds %v of %d to %d", t.Name(), now, *first, *first+started-1)
	}, c)
	wg.Wait()
	if *count == 0 && *first == 1 && !testing.Short() {
		for _, s := range pinned(t) {
			if s < *first+started {
				continue
			}
			if d, over := check(s); d != "" || over != "" {
				t.Errorf("seed %d, which catches a sabotage: %s%s", s, d, over)
			}
		}
	}
	close(stop)
	t.Logf("seeds %d to %d, %s: %v", *first, *first+started-1,
		time.Since(begin).Round(time.Millisecond), c)
	if c.compared < n {
		t.Errorf("only %d models were compared, want %d", c.compared, n)
	}
}

// pinned returns the seeds of the programs on which a test catches a sabotage, according to the
// table in docs/oracle.md. The default sample includes them, so it catches whatever the whole run
// catches.
func pinned(t *testing.T) []uint64 {
	t.Helper()
	b, err := os.ReadFile("../../docs/oracle.md")
	if err != nil {
		t.Fatal(err)
	}
	var seeds []uint64
	for _, r := range tableRows(string(b)) {
		if test, _, _ := strings.Cut(r.test, " ("); test == t.Name() {
			seeds = append(seeds, r.seed)
		}
	}
	slices.Sort(seeds)
	return slices.Compact(seeds)
}

// tableRow is a row of the table of sabotages: the test, and the seed of its program.
type tableRow struct {
	test string
	seed uint64
}

// tableRows reads the table of sabotages, by their names.
func tableRows(text string) map[string]tableRow {
	rows := map[string]tableRow{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		if n, err := strconv.ParseUint(strings.TrimSpace(cells[4]), 10, 64); err == nil {
			rows[strings.TrimSpace(cells[1])] = tableRow{strings.TrimSpace(cells[3]), n}
		}
	}
	return rows
}

// maxHeap is how much a run may hold; one that needs more ends with the seeds
// that it is at, rather than with the machine's memory.
const maxHeap = 6 << 30

// observe prints every minute where a run is, and ends one that takes too much memory.
func observe(stop chan bool, where func() string, what fmt.Stringer) {
	begin := time.Now()
	for i := 1; ; i++ {
		select {
		case <-stop:
			return
		case <-time.After(time.Second):
		}
		heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(heap)
		if held := heap[0].Value.Uint64(); held > maxHeap {
			panic(fmt.Sprintf("%s: %d MB held", where(), held>>20))
		}
		if i%60 == 0 {
			fmt.Printf("%s %s: %v\n", time.Since(begin).Round(time.Second), where(), what)
		}
	}
}

// refusal names why a program cannot be compared: its text is refused, or init
// fails or blocks.
func refusal(err error) string {
	e := strings.Split(err.Error(), "\n")[0]
	for _, what := range []string{"init fails", "init blocks", "never exists", "patience"} {
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
