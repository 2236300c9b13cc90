package machine

import (
	"math/rand/v2"
	"testing"

	"cpor/system"
)

// TestTouch holds the accesses of steps, short and long ones, to those that a map collects.
func TestTouch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := &Machine{}
	m.Track(true)
	for step := range 400 {
		m.accesses = m.accesses[:0]
		want := map[system.Loc]bool{}
		locs := 1 + r.IntN(1+step)
		for range r.IntN(3 * (1 + step)) {
			l, write := system.Loc(r.IntN(locs)), r.IntN(3) == 0
			m.touch(l, write)
			want[l] = want[l] || write
		}
		if len(m.accesses) != len(want) {
			t.Fatalf("step %d: %d accesses, want %d", step, len(m.accesses), len(want))
		}
		for _, a := range m.accesses {
			if w, ok := want[a.Loc]; !ok || w != a.Write {
				t.Fatalf("step %d: %+v, want %v %v", step, a, ok, w)
			}
		}
	}
}
