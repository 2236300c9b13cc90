package gotest

import (
	"fmt"
	"slices"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
	"cpor/testkit/gogen"
)

// orders is how often an execution had each order of its selected steps.
type orders struct {
	seen map[string]int
	want int // how many there are
}

// sampled samples a test by SURW, or by an even choice among those who can run. Selected are all
// steps, or those of the object that so many steps touch.
func sampled(t *testing.T, p *gosrc.Program, surw bool, touched, runs int) *orders {
	s := newSampler(p, 1)
	s.run(t.Context(), p, 3) // counts
	objects := s.uniform.profile.objects
	which := slices.IndexFunc(objects, func(o objectSteps) bool {
		n := 0
		for _, k := range o.steps {
			n += k
		}
		return n == touched
	})
	if touched > 0 && which < 0 {
		t.Fatalf("no object is touched by %d steps", touched)
	}
	o := &orders{seen: map[string]int{}}
	m := p.NewMachine().(*machine.Machine)
	m.Track(true)
	for i, done := 0, 0; done < runs; i++ {
		n := 2*i + 1 // all steps are selected
		if touched > 0 {
			if n = 2 * (which + i*len(objects)); n%profileEvery == 0 {
				continue
			}
		}
		done++
		number := 4*n + 3
		if !surw {
			number = 0
		}
		if failed, ended := s.run(t.Context(), p, number); failed || !ended {
			t.Fatalf("failed: %v, ended: %v", failed, ended)
		}
		m.Load(p.Initial()[0])
		var who []int
		before, last, at := []int{}, map[int]int{0: -1}, 0
		for _, st := range s.steps {
			if m.Step(st.Thread, st.Alt); touched == 0 || touches(m, objects[which].object) {
				who = append(who, st.Thread)
			}
			before = append(before, last[st.Thread])
			last[st.Thread] = at
			for _, x := range m.Living(nil) {
				if _, ok := last[x]; !ok {
					last[x] = at
				}
			}
			at++
		}
		o.seen[fmt.Sprint(who)]++
		if touched == 0 && o.want == 0 {
			o.want = gogen.Extensions(before)
		}
	}
	return o
}

func touches(m *machine.Machine, o machine.Object) bool {
	return slices.ContainsFunc(m.Accesses(), func(a system.Access) bool {
		x, ok := m.Object(a.Loc)
		return ok && x == o
	})
}

// TestSURW: where the weights are right and nobody who has selected steps left is blocked, all
// orders of them are equally likely. Where they are not, all are possible. An even choice among
// those who can run is far from that.
func TestSURW(t *testing.T) {
	c := load(t, gogen.Uneven)
	for _, tt := range []struct {
		test    string
		touched int // by so many steps is the object that is selected; 0: all are selected
		want    int // how many orders there are; 0: that follows from who starts whom
		even    bool
		runs    int
	}{
		{"TestObject", 5, 10, true, 1000},
		{"TestAll", 0, 0, true, 1000},
		{"TestBlocked", 4, 6, false, 300},
		{"TestSpins", 2, 0, false, 20},
	} {
		t.Run(tt.test, func(t *testing.T) {
			p, err := c.Test(tt.test, gosrc.Explore{})
			if err != nil {
				t.Fatal(err)
			}
			for _, surw := range []bool{true, false} {
				o := sampled(t, p, surw, tt.touched, tt.runs)
				if tt.want > 0 {
					o.want = tt.want
				}
				if o.want == 0 {
					continue // it is enough that it ends
				}
				chi, bound := gogen.ChiSquared(o.seen, o.want)
				t.Logf("SURW %v: %d of %d orders, statistic %.1f, bound %.1f", surw, len(o.seen),
					o.want, chi, bound)
				switch {
				case !surw:
					if tt.even && chi < 2*bound {
						t.Error("the test cannot tell uneven from even")
					}
				case tt.even && chi > bound:
					t.Error("the orders are not equally likely")
				case !tt.even && len(o.seen) != tt.want:
					t.Errorf("%d orders, not %d", len(o.seen), tt.want)
				}
			}
		})
	}
}

// TestParents: whoever has started whom in different executions, the parents have no circle, which
// would never end.
func TestParents(t *testing.T) {
	u := uniform{}
	for _, start := range [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 1}, {1, 3}, {2, 1}, {1, 1}, {3, 2}} {
		u.profile.adopt(start[0], start[1])
		u.weigh([]int{1, 1, 1, 1, 1})
		if u.weights[0] != 5 {
			t.Errorf("%v: weights %v; the first thread has all five steps", start, u.weights)
		}
	}
}
