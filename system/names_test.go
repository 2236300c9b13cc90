package system

import (
	"fmt"
	"sync"
	"testing"
)

// TestNames asks for many names from several goroutines: each has one number,
// numbers are dense, and lead back.
func TestNames(t *testing.T) {
	type name struct{ thread, n, field int }
	const size = 2000
	var names Names[name]
	all := make([]map[name]uint32, 4)
	var wg sync.WaitGroup
	for g := range all {
		all[g] = map[name]uint32{}
		wg.Go(func() {
			for i := range size {
				k := (i*(2*g+1)*37 + g) % size
				x := name{k % 7, k, k % 3}
				all[g][x] = names.Number(x)
				if got := names.Name(all[g][x]); got != x {
					t.Errorf("number %d of %v is the number of %v", all[g][x], x, got)
				}
			}
		})
	}
	wg.Wait()
	used := map[uint32]string{}
	for _, m := range all {
		for x, k := range m {
			if was, ok := used[k]; ok && was != fmt.Sprint(x) || int(k) >= names.Len() {
				t.Fatalf("number %d (of %d) stands for %s and %v", k, names.Len(), was, x)
			}
			used[k] = fmt.Sprint(x)
		}
	}
	if len(used) != names.Len() {
		t.Errorf("%d numbers in use, %d handed out", len(used), names.Len())
	}
	known := name{1, 1, 1}
	if n := testing.AllocsPerRun(100, func() { names.Number(known) }); n > 0 {
		t.Errorf("%v allocations for a known name", n)
	}
}
