package gotest

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/machine"
	"cpor/system"
)

const uneven = `package m

import (
	"sync"
	"sync/atomic"
	"testing"
)

func times(n int, f func()) {
	for range n {
		f()
	}
}

// The word is loaded in ten orders: one goroutine loads it before it starts one that loads it
// twice, beside another one that does so.
func TestObject(t *testing.T) {
	var word, other atomic.Int32
	var mu sync.Mutex
	var wg sync.WaitGroup
	load := func() { word.Load() }
	wg.Go(func() {
		times(3, func() { other.Add(1) })
		load()
		wg.Go(func() {
			mu.Lock()
			mu.Unlock()
			times(2, load)
		})
	})
	wg.Go(func() {
		mu.Lock()
		other.Load()
		mu.Unlock()
		times(2, load)
	})
	wg.Wait()
}

// Nobody waits for anybody.
func TestAll(t *testing.T) {
	var word atomic.Int32
	go word.Load()
	go func() {
		go word.Load()
		word.Load()
	}()
}

// The word is loaded under a lock, so that whose turn it is is often blocked.
func TestBlocked(t *testing.T) {
	var word atomic.Int32
	var mu sync.Mutex
	for range 2 {
		go times(2, func() {
			mu.Lock()
			word.Load()
			mu.Unlock()
		})
	}
}

// One spins until another one moves, which may be held.
func TestSpins(t *testing.T) {
	var word, flag atomic.Int32
	go func() {
		word.Load()
		flag.Store(1)
	}()
	for flag.Load() == 0 {
	}
	word.Load()
}
`

// orders is how often an execution had each order of its selected steps.
type orders struct {
	seen map[string]int
	want int // how many there are
	runs int
}

// statistic is the chi-squared statistic of equally likely orders, and its mean with six standard
// deviations.
func (o *orders) statistic() (chi, bound float64) {
	mean := float64(o.runs) / float64(o.want)
	for _, n := range o.seen {
		chi += (float64(n) - mean) * (float64(n) - mean) / mean
	}
	free := float64(o.want - 1)
	return chi + float64(o.want-len(o.seen))*mean, free + 6*math.Sqrt(2*free)
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
	o := &orders{seen: map[string]int{}, runs: runs}
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
			o.want = extensions(before)
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

// extensions returns how many orders steps have of which each comes after the one that led to it:
// n! by the product of how many steps each one leads to (Knuth, The Art of Computer Programming 3,
// section 5.1.4, exercise 20).
func extensions(before []int) int {
	size := make([]int, len(before))
	n := 1.0
	for i := len(size) - 1; i >= 0; i-- {
		size[i]++
		n *= float64(i+1) / float64(size[i])
		if before[i] >= 0 {
			size[before[i]] += size[i]
		}
	}
	return int(math.Round(n))
}

// TestSURW: where the weights are right and nobody who has selected steps left is blocked, all
// orders of them are equally likely. Where they are not, all are possible. An even choice among
// those who can run is far from that.
func TestSURW(t *testing.T) {
	c := load(t, uneven)
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
				chi, bound := o.statistic()
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
