package temporal

import (
	"sync"
	"testing"

	"cpor/statestore"
)

// TestColors marks and reads bits from several goroutines while the table grows. Bit 0 of a state
// is set once and for all, and each goroutine has a bit that it alone sets and clears.
func TestColors(t *testing.T) {
	const states, workers = 5000, 4
	c := newColors(1, 1, workers, 0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for k := range 2 * states {
				// Half of the references differ in their upper word only.
				at := (k*7919 + w*states/workers) % states
				ref := statestore.Ref(at%2+1) | statestore.Ref(at/2)<<32
				own := 1 + w
				e := c.lock(ref)
				e.mark(0)
				e.mark(own)
				e.unlock()
				if e, ok := c.peek(ref); !ok || !e.has(0) || !e.has(own) || !e.same(ref) {
					t.Errorf("worker %d does not find what it marked at %x", w, ref)
				}
				e = c.lock(ref)
				e.erase(own)
				e.unlock()
				if e, ok := c.peek(ref); !ok || e.has(own) {
					t.Errorf("worker %d finds what it erased at %x", w, ref)
				}
				absent := ref | 1<<50
				if e, ok := c.peek(absent); ok && e.same(absent) {
					t.Errorf("worker %d finds %x, which nobody marked", w, absent)
				}
			}
		})
	}
	wg.Wait()
	used := uint64(0)
	for i := range c.shards {
		used += c.shards[i].used
	}
	if used != states {
		t.Errorf("%d entries, want %d", used, states)
	}
}
