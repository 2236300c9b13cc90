package systemtest

import (
	"fmt"
	"slices"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/system"
)

// telling is what an expander tells of a state.
type telling struct {
	moves      []string
	violations []string
	ends       []system.State
}

func (v *telling) Move(m *search.Move) {
	end := system.State(nil)
	if !m.Infinite {
		end = slices.Clone(m.End)
		v.ends = append(v.ends, end)
	}
	v.moves = append(v.moves, fmt.Sprint(m.Thread, m.Alt, m.Len, m.Infinite, end))
}

func (v *telling) Violation(x *system.Violation, tail []search.Step) {
	v.violations = append(v.violations, fmt.Sprint(x.Kind, x.Message, x.Pos, tail))
}

// Vectors holds that the Cartesian vectors of the states that a search comes to are the same,
// whether machine code or the machine executes them: the prefixes and their ends, violations,
// deadlocks, what is counted, and what they took. It looks at no more than limit states, and
// returns their number. The error is the first difference. newSystem returns the same system each
// time.
func Vectors(newSystem func() system.System, limit int) (states int, err error) {
	sys := newSystem()
	want := cartesian.New(executing{sys}, cartesian.Options{MaxLength: 200, MaxDeadlocks: 100})
	got := cartesian.Coded(newSystem(), cartesian.Options{MaxLength: 200, MaxDeadlocks: 100})
	seen := map[string]bool{}
	var todo []system.State
	add := func(list []system.State) {
		for _, s := range list {
			if key := fmt.Sprint(s); !seen[key] {
				seen[key] = true
				todo = append(todo, s)
			}
		}
	}
	add(sys.Initial())
	for ; len(todo) > 0 && states < limit; states++ {
		s := todo[0]
		todo = todo[1:]
		var a, b telling
		want.Expand(s, &a)
		got.Expand(s, &b)
		if !slices.Equal(a.moves, b.moves) || !slices.Equal(a.violations, b.violations) ||
			want.Counters() != got.Counters() || want.Effort() != got.Effort() {
			return states, fmt.Errorf("the vector of %x:\nmachine %v %v %+v %+v\n"+
				"code    %v %v %+v %+v", s, a.moves, a.violations, want.Counters(), want.Effort(),
				b.moves, b.violations, got.Counters(), got.Effort())
		}
		add(a.ends)
	}
	return states, nil
}
