package gotable

import (
	"flag"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cpor/testkit/sample"
)

var rounds = flag.Int("rounds", 2, "how often each program of the table is run by the real Go")

// TestTableIsTrue compiles every program of the table and runs it several times. Whatever is
// observed must be in its set.
func TestTableIsTrue(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles and runs some hundred programs")
	}
	all, err := Read("../../frontend/gosrc/testdata/outcomes")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d programs", len(all))
	byVersion := map[string]map[string]string{}
	if !sample.Long() {
		some := all[:0]
		for i, p := range all {
			if i%10 == 0 {
				some = append(some, p)
			}
		}
		all = some
	}
	for _, p := range all {
		if byVersion[p.GoVersion] == nil {
			byVersion[p.GoVersion] = map[string]string{}
		}
		byVersion[p.GoVersion][p.Name] = p.Source
	}
	binaries := map[string]*Binary{}
	for v, ps := range byVersion {
		b, err := Build(t.TempDir(), v, ps)
		if err != nil {
			t.Fatal(err)
		}
		binaries[v] = b
	}
	var wg sync.WaitGroup
	slots := make(chan bool, runtime.GOMAXPROCS(0))
	for _, p := range all {
		slots <- true
		wg.Go(func() {
			defer func() { <-slots }()
			check(t, p, binaries[p.GoVersion])
		})
	}
	wg.Wait()
}

func check(t *testing.T, p Program, b *Binary) {
	races, limit := false, time.Minute
	for _, o := range p.Outcomes {
		races = races || o.Ending == "race"
		if o.Ending == "livelock" {
			limit = 200 * time.Millisecond
		}
	}
	if races { // the real one continues after a race
		return
	}
	if slices.ContainsFunc(p.Flags, func(f string) bool { return strings.Contains(f, "idle") }) {
		return // time passes in the real one though a goroutine could run
	}
	for range *rounds {
		got, err := b.Run(p.Name, limit)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			return
		}
		if !slices.Contains(p.Outcomes, got) {
			t.Errorf("%s: real Go ended with %q, which is not in the table: %q", p.Name, got,
				p.Outcomes)
			return
		}
	}
}
