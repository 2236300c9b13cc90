package memory

import (
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"time"
)

// TestNested: the settings come back when the last limit ends, in whatever order
// they end, and the smallest counts meanwhile.
func TestNested(t *testing.T) {
	percent := debug.SetGCPercent(77)
	defer debug.SetGCPercent(percent)
	before := debug.SetMemoryLimit(-1)
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		var ms []*Limit
		var limits []int64
		for _, bytes := range []uint64{1 << 40, 1 << 39} {
			m, err := New(bytes)
			if err != nil {
				t.Fatal(err)
			}
			ms, limits = append(ms, m), append(limits, debug.SetMemoryLimit(-1))
		}
		if limits[0] >= before || limits[1] >= limits[0] {
			t.Errorf("limits %d and %d, before %d", limits[0], limits[1], before)
		}
		ms[order[0]].Release()
		if now := debug.SetMemoryLimit(-1); now != limits[1] {
			t.Errorf("order %v: the limit is %d after the first has ended, want %d", order, now,
				limits[1])
		}
		ms[order[1]].Release()
		if now := debug.SetMemoryLimit(-1); now != before {
			t.Errorf("order %v: the limit is %d in the end, want %d", order, now, before)
		}
		if p := debug.SetGCPercent(77); p != 77 {
			t.Errorf("order %v: GOGC is %d in the end", order, p)
		}
	}
}

// TestPeakBesideCheck: a search asks for the peak while its watch still looks at the
// memory. The race detector sees what is wrong with that.
func TestPeakBesideCheck(t *testing.T) {
	m, err := New(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Release()
	var looks sync.WaitGroup
	looks.Go(func() {
		for range 100 {
			if err := m.Check(); err != nil {
				t.Errorf("a terabyte is used up: %v", err)
			}
		}
	})
	for range 100 {
		if m.Peak() == 0 {
			t.Error("the peak is 0 bytes")
		}
	}
	looks.Wait()
}

// TestFrugal: garbage is kept as without a limit until the process has come some way to it.
func TestFrugal(t *testing.T) {
	percent := debug.SetGCPercent(77)
	defer debug.SetGCPercent(percent)
	m, err := New(1 << 40)
	if err != nil {
		t.Fatal(err)
	}
	now := func() int {
		p := debug.SetGCPercent(77)
		debug.SetGCPercent(p)
		return p
	}
	if err := m.Check(); err != nil || now() != 77 {
		t.Errorf("GOGC is %d far from the limit (%v)", now(), err)
	}
	m.save(1 << 39)
	if now() != garbagePercent {
		t.Errorf("GOGC is %d half way to the limit", now())
	}
	m.Release()
	if now() != 77 {
		t.Errorf("GOGC is %d in the end", now())
	}
}

// TestStart: the first collection ends the patience of the beginning, with and without a limit.
func TestStart(t *testing.T) {
	t.Setenv("GOGC", "")
	percent := debug.SetGCPercent(77)
	defer debug.SetGCPercent(percent)
	// now returns the percentage without a limit.
	now := func() int {
		settings.mu.Lock()
		defer settings.mu.Unlock()
		if settings.frugal {
			return settings.percent
		}
		p := debug.SetGCPercent(77)
		debug.SetGCPercent(p)
		return p
	}
	for _, limited := range []bool{false, true} {
		Start()
		m := &Limit{}
		if limited {
			var err error
			if m, err = New(1 << 40); err != nil {
				t.Fatal(err)
			}
			m.save(1 << 40)
		}
		// A collection of another test's can have come first.
		for deadline := time.Now().Add(20 * time.Second); now() != 77; {
			if time.Now().After(deadline) {
				t.Fatalf("limited: %v: GOGC is %d after a collection", limited, now())
			}
			runtime.GC()
		}
		if p := debug.SetGCPercent(garbagePercent); limited && p != garbagePercent {
			t.Errorf("GOGC is %d while the memory is limited", p)
		} else {
			debug.SetGCPercent(p)
		}
		m.Release()
		if p := now(); p != 77 {
			t.Errorf("limited: %v: GOGC is %d in the end", limited, p)
		}
	}
	Start()
	Patient(1 << 40)
	for range 3 {
		runtime.GC()
		time.Sleep(time.Millisecond) // for what looks after it
		if p := now(); p != patience {
			t.Fatalf("GOGC is %d, though less is in use than was asked for", p)
		}
	}
	settings.mu.Lock()
	early.live = 0
	settings.mu.Unlock()
	for deadline := time.Now().Add(20 * time.Second); now() != 77; runtime.GC() {
		if time.Now().After(deadline) {
			t.Fatalf("GOGC is %d after a collection that left more in use", now())
		}
	}
	t.Setenv("GOGC", "50")
	Start()
	if p := now(); p != 77 {
		t.Errorf("GOGC is %d, though the environment sets it", p)
	}
}
