package composed

import "testing"

// TestMemory follows what is remembered of a state.
func TestMemory(t *testing.T) {
	m := newMemory()
	type arrival struct {
		asleep        threads
		expand, fresh bool
	}
	arrive := func(want arrival) {
		t.Helper()
		if expand, fresh := m.arrive(7, want.asleep); expand != want.expand || fresh != want.fresh {
			t.Errorf("arriving with %b: expand %v, fresh %v; want %v, %v", want.asleep, expand,
				fresh, want.expand, want.fresh)
		}
	}
	begin := func(initial bool, asleep, woken threads, first bool) {
		t.Helper()
		if a, w, f, _ := m.begin(7, initial); a != asleep || w != woken || f != first {
			t.Errorf("asleep %b, woken %b, first %v; want %b, %b, %v", a, w, f, asleep, woken,
				first)
		}
	}
	arrive(arrival{0b0111, true, true})
	arrive(arrival{0b1110, false, true}) // it waits to be expanded already
	begin(false, 0b0110, 0, true)
	arrive(arrival{0b0110, false, false})
	arrive(arrival{0b0100, true, false})
	arrive(arrival{0b0010, false, false}) // it waits again
	begin(false, 0, 0b0110, false)
	begin(false, 0, 0, false)
	arrive(arrival{0, false, false})

	// An expansion that is broken off has not been.
	_, _, _, before := m.begin(7, false)
	m.forget(7, before)
	begin(false, 0, 0, false)
	m = newMemory()
	arrive(arrival{0b11, true, true})
	_, _, _, before = m.begin(7, false)
	arrive(arrival{0b10, true, false})
	m.forget(7, before)
	arrive(arrival{0b10, false, true})
	begin(false, 0b10, 0, true)

	// An initial state that was reached before its turn: nobody sleeps there.
	m = newMemory()
	arrive(arrival{0b1, true, true})
	begin(true, 0, 0, true)
	m = newMemory()
	arrive(arrival{0b1, true, true})
	begin(false, 0b1, 0, true)
	begin(true, 0, 0b1, false)
}
