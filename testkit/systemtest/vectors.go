package systemtest

import (
	"fmt"
	"slices"

	"cpor/cartesian"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/statestore"
	"cpor/system"
)

// telling is what an expander tells of a state.
type telling struct {
	moves      []string
	violations []string
	ends       []system.State
	asked      int // how often whether to stop
}

// mostAsked ends the comparison at a state of which so many alternatives were executed.
const mostAsked = 300

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

// covering is telling for expanders that have to know which states are covered.
type covering struct {
	telling
	refs map[string]statestore.Ref
	now  statestore.Ref // of the state that is expanded
}

func (v *covering) ref(s system.State) (ref statestore.Ref, fresh bool) {
	key := fmt.Sprint(s)
	ref, covered := v.refs[key]
	if !covered {
		ref = statestore.Ref(len(v.refs))
		v.refs[key] = ref
	}
	return ref, !covered
}

// Stopped implements [search.Stopper].
func (v *covering) Stopped() bool {
	v.asked++
	return v.asked > mostAsked
}

func (v *covering) Expanded() (statestore.Ref, bool) { return v.now, v.now == 0 }

func (v *covering) Cover(m *search.Move, arrive func(ref statestore.Ref, fresh bool) bool) {
	v.Move(m)
	arrive(v.ref(m.End))
}

// Vectors holds that the Cartesian vectors of the states that a search comes to are the same,
// whether machine code or the machine executes them: the prefixes and their ends, violations,
// deadlocks, what is counted, and what they took. It looks at no more than limit states, and
// returns their number. The error is the first difference. newSystem returns the same system each
// time.
func Vectors(newSystem func() system.System, limit int) (states int, err error) {
	o := cartesian.Options{MaxLength: 200, MaxDeadlocks: 100}
	want := cartesian.New(executing{newSystem()}, o)
	got := cartesian.Coded(newSystem(), o)
	return expansions(newSystem().Initial(), limit, func(s system.State) (a, b telling,
		counts [2]string) {
		want.Expand(s, &a)
		got.Expand(s, &b)
		return a, b, [2]string{fmt.Sprintf("%+v %+v", want.Counters(), want.Effort()),
			fmt.Sprintf("%+v %+v", got.Counters(), got.Effort())}
	})
}

// AmpleSets is [Vectors] for ample sets, with lazy moves and without. In the second case the
// transitions that were tried do not count: code tries others. A system without bounds on what its
// threads may do is not compared.
func AmpleSets(newSystem func() system.System, limit int) (states int, err error) {
	for _, lazy := range []bool{false, true} {
		var by [2]search.Expander
		var visitors [2]covering
		for i, sys := range []system.System{executing{newSystem()}, newSystem()} {
			f, err := ample.Coded(sys, lazy)
			if err != nil {
				return 0, nil
			}
			by[i], visitors[i].refs = f(), map[string]statestore.Ref{}
		}
		states, err = expansions(newSystem().Initial(), limit, func(s system.State) (a, b telling,
			counts [2]string) {
			for i := range by {
				v := &visitors[i]
				v.telling = telling{}
				v.now, _ = v.ref(s)
				by[i].Expand(s, v)
				c, e := by[i].Counters(), by[i].(*ample.Expander).Effort()
				if !lazy {
					c.Attempts, e = 0, ample.Effort{}
				}
				counts[i] = fmt.Sprintf("%+v %+v", c, e)
			}
			return visitors[0].telling, visitors[1].telling, counts
		})
		if err != nil {
			break
		}
	}
	return states, err
}

// expansions holds that states are expanded in the same way twice, beginning with the initial ones.
func expansions(initial []system.State, limit int,
	expand func(s system.State) (a, b telling, counts [2]string)) (states int, err error) {
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
	add(initial)
	for ; len(todo) > 0 && states < limit; states++ {
		s := todo[0]
		todo = todo[1:]
		a, b, counts := expand(s)
		if a.asked > mostAsked {
			return states, nil
		}
		if !slices.Equal(a.moves, b.moves) || !slices.Equal(a.violations, b.violations) ||
			counts[0] != counts[1] {
			return states, fmt.Errorf("the expansion of %x:\nmachine %v %v %s\n"+
				"code    %v %v %s", s, a.moves, a.violations, counts[0], b.moves, b.violations,
				counts[1])
		}
		add(a.ends)
	}
	return states, nil
}
