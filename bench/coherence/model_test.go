package coherence

import (
	"math"
	"testing"
	"time"
)

// step is an access of a worker to a line, in nanoseconds.
type step struct {
	worker int
	kind   byte // r, w, or t for a touch
	line   uintptr
	at     time.Duration
	charge charge
}

func TestMemory(t *testing.T) {
	none := charge{}
	moved := func(transfer, wait time.Duration) charge { return charge{transfer, wait, true} }
	for _, tt := range []struct {
		name  string
		steps []step
	}{
		{"one worker pays nothing", []step{
			{0, 'r', 1, 0, none}, {0, 'w', 1, 10, none}, {0, 'w', 1, 20, none},
			{0, 'r', 1, 30, none},
		}},
		{"what another has written comes from there, once", []step{
			{0, 'w', 1, 0, none}, {1, 'r', 1, 10, moved(30, 0)}, {1, 'r', 1, 50, none},
			{0, 'r', 1, 60, none},
		}},
		{"a write makes copies invalid", []step{
			{0, 'r', 1, 0, none}, {1, 'r', 1, 10, moved(30, 0)}, {0, 'w', 1, 100, moved(30, 0)},
			{0, 'w', 1, 200, none}, {1, 'r', 1, 300, moved(30, 0)},
		}},
		{"writers wait for each other", []step{
			{0, 'w', 1, 0, none}, {1, 'w', 1, 10, moved(30, 0)}, {2, 'w', 1, 15, moved(30, 25)},
			{3, 'w', 1, 15, moved(30, 55)}, {3, 'w', 1, 200, none},
		}},
		{"readers of what nobody has written do not wait", []step{
			{0, 'r', 1, 0, none}, {1, 'r', 1, 10, moved(30, 0)}, {2, 'r', 1, 10, moved(30, 0)},
		}},
		{"the owner waits while its line is on the way", []step{
			{0, 'w', 1, 0, none}, {1, 'w', 1, 10, moved(30, 0)}, {0, 'w', 1, 20, moved(30, 20)},
			{0, 'w', 1, 60, charge{wait: 10}},
		}},
		{"lines do not disturb each other", []step{
			{0, 'w', 1, 0, none}, {1, 'w', 2, 0, none}, {0, 'w', 1, 1, none}, {1, 'w', 2, 1, none},
		}},
		{"a touch hides the transfer", []step{
			{0, 'w', 1, 0, none}, {1, 't', 1, 10, none}, {1, 'r', 1, 20, charge{transfer: 20}},
			{1, 'r', 1, 50, none},
		}},
		{"a touch in time hides all of it", []step{
			{0, 'w', 1, 0, none}, {1, 't', 1, 10, none}, {1, 'r', 1, 90, none},
		}},
		{"a touched line that another has written since comes again", []step{
			{0, 'w', 1, 0, none}, {1, 't', 1, 10, none}, {0, 'w', 1, 50, moved(30, 0)},
			{1, 'r', 1, 90, moved(30, 0)},
		}},
		{"what a single worker would have missed, too, costs the difference only", []step{
			{0, 'w', 1, 0, none}, {0, 'r', 2, 1, none}, {0, 'r', 3, 2, none}, {0, 'r', 4, 3, none},
			{0, 'r', 5, 4, none}, {1, 'r', 1, 10, moved(10, 0)},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := newMemory(4, Costs{Transfer: 30, Memory: 20, CacheLines: 4})
			for i, s := range tt.steps {
				if s.kind == 't' {
					m.touch(s.worker, s.line, s.at)
				} else if got := m.access(s.worker, s.line, s.kind == 'w', s.at); got != s.charge {
					t.Errorf("step %d: charged %+v, want %+v", i, got, s.charge)
				}
			}
		})
	}
}

func TestFit(t *testing.T) {
	for _, want := range []Law{{}, {Contention: 0.1}, {Coherence: 0.001}, {0.05, 0.0002}} {
		speedups := map[int]float64{}
		for n := 1; n <= 64; n *= 2 {
			speedups[n] = want.Speedup(n)
		}
		got := Fit(speedups)
		if math.Abs(got.Contention-want.Contention) > 1e-9 ||
			math.Abs(got.Coherence-want.Coherence) > 1e-9 {
			t.Errorf("fitted %+v to the speed-ups of %+v", got, want)
		}
	}
	// Better than linear cannot be distinguished from linear.
	if got := Fit(map[int]float64{1: 1, 2: 2.2, 4: 4.4}); got != (Law{}) {
		t.Errorf("fitted %+v to more than linear speed-up", got)
	}
	if got := Fit(map[int]float64{1: 1}); got != (Law{}) {
		t.Errorf("fitted %+v to one point", got)
	}
	if got := (Law{Contention: 0.19, Coherence: 0.0009}).Peak(); got != 30 {
		t.Errorf("the peak is at %d workers, want 30", got)
	}
	if got := (Law{Contention: 0.5}).Peak(); got != 0 {
		t.Errorf("without coherence there is a peak at %d", got)
	}
}
