package composed_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"cpor/engine"
	"cpor/engine/lockset"
	"cpor/engine/search"
	"cpor/engine/search/composed"
	"cpor/frontend/model"
	"cpor/system"
)

// TestCircles searches models whose threads go round in invisible transitions, in circles of
// several lengths and with a way that leads there: each move is cut off after a few rounds, not
// after 10,000 transitions, and the error behind it is found.
func TestCircles(t *testing.T) {
	for _, at := range []struct {
		lap  int
		most uint64 // transitions of a move, on average
	}{{1, 100}, {5, 100}, {30, 300}} {
		lap := at.lap
		m, err := model.Parse("circles.model", fmt.Sprintf(`
var x, y int
var done atomic bool
thread Spins() { for range 10 { skip }; for { x = 0; for range %d { x++ } } }
thread Sets() { y = 1; done = true; y = 2 }
thread Reads() { await(done); assert(false) }
init { go Spins(); go Sets(); go Reads() }
`, lap), model.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range []composed.Options{{}, {InvisibleFirst: true}, {Persistent: true},
			{Sleep: true}, {Persistent: true, Sleep: true}} {
			cuts := new(atomic.Uint64)
			o.Cuts = cuts
			name := fmt.Sprintf("lap %d, %+v", lap, o)
			_, res, err := lockset.Run(context.Background(), m.System(), lockset.Options{
				Rule: lockset.LDPrime, Dependences: o.Persistent || o.Sleep},
				func(sys system.System) (search.Factory, error) {
					return composed.Factory(sys, o)
				}, search.Options{Options: engine.Options{Workers: 1, All: true}})
			if err != nil || !res.Exhaustive {
				t.Fatalf("%s: %v, %v", name, err, res)
			}
			if len(res.Violations) != 1 || res.Violations[0].Kind != system.Assertion {
				t.Errorf("%s: %v", name, res.Violations)
			}
			// With InvisibleFirst, looking ahead is not among the attempts.
			if n := cuts.Load(); n == 0 || res.Attempts > at.most*n {
				t.Errorf("%s: %d moves cut off, %d transitions", name, n, res.Attempts)
			}
		}
	}
}
