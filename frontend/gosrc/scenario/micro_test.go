package scenario_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/engine/stateless"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/gotest"
	"cpor/testkit/sample"
)

// microState is a value of type T of testdata/micro while goroutines use it.
type microState struct{ a, b, n int64 }

// do executes a digit of a program.
func (s *microState) do(digit int, acc int64) int64 {
	switch digit {
	case 1:
		return s.a
	case 2:
		s.a = acc + 1
	case 3:
		return acc + s.b
	case 4:
		s.b = acc
	case 5:
		if s.a == acc {
			s.a++
			return acc + 10
		}
	case 6:
		s.a++
	case 7:
		s.n += acc + 1
		return s.n
	}
	return acc
}

// micro is a scenario: the programs of each goroutine's calls.
type micro [][]int

// moment is where an execution is: of each goroutine, the call that it is in, what is left of its
// program (-1: it has not begun), and its number; and what is known of the calls.
type moment struct {
	value microState
	call  [3]int
	left  [3]int
	acc   [3]int64
	// of call i of goroutine g, at 2*g+i
	result [6]int64
	seen   [6][3]int
}

// violated explores all interleavings of beginnings, digits and ends of calls. It reports whether
// no order explains the results of some.
func (m micro) violated() bool {
	visited := map[moment]bool{}
	var explore func(x moment) bool
	explore = func(x moment) bool {
		if visited[x] {
			return false
		}
		visited[x] = true
		ended := true
		for g, calls := range m {
			if x.call[g] == len(calls) {
				continue
			}
			ended = false
			y := x
			at := 2*g + x.call[g]
			switch {
			case x.left[g] < 0:
				y.left[g], y.acc[g], y.seen[at] = calls[x.call[g]], 0, x.call
			case x.left[g] == 0:
				y.result[at] = x.acc[g]
				y.call[g]++
				y.left[g], y.acc[g] = -1, 0
			default:
				y.acc[g] = y.value.do(x.left[g]%8, x.acc[g])
				y.left[g] /= 8
			}
			if explore(y) {
				return true
			}
		}
		return ended && !m.explained(&x, microState{}, [3]int{})
	}
	return explore(moment{left: [3]int{-1, -1, -1}})
}

// explained reports whether the calls that are left can come one after the other.
func (m micro) explained(x *moment, value microState, done [3]int) bool {
	left := false
	for g, calls := range m {
		if done[g] == len(calls) {
			continue
		}
		left = true
		at := 2*g + done[g]
		first := true
		for o, n := range x.seen[at] {
			first = first && n <= done[o]
		}
		if !first {
			continue
		}
		after, acc := value, int64(0)
		for code := calls[done[g]]; code > 0; code /= 8 {
			acc = after.do(code%8, acc)
		}
		next := done
		next[g]++
		if acc == x.result[at] && m.explained(x, after, next) {
			return true
		}
	}
	return !left
}

// codes returns the small programs, as in testdata/micro.
func codes() (codes []int) {
	for x, i := uint32(1), 0; i < 64; i++ {
		x = x*1664525 + 1013904223
		code := 0
		for k := range 1 + x>>30 {
			if k < 3 {
				code = code*8 + 1 + int(x>>(8+5*k)%7)
			}
		}
		codes = append(codes, code)
	}
	return codes
}

// alone are the programs of search with stored states, which take long to make.
var alone = map[*gosrc.Program]*gosrc.Program{}

// faulty counts what has failed in search.
var faulty int

// search explores scenarios without stored states and, of those that fail one of four, with them.
// It returns what fails in them; nil: nothing.
func search(t *testing.T, p *gosrc.Program, texts ...string) *engine.Finding {
	t.Helper()
	out, err := stateless.Run(t.Context(), p.WithScenarios(texts).System, stateless.Options{
		Options: engine.Options{KeepTraces: true, Workers: 1}, Reduction: stateless.DPOR})
	if err != nil || out.Verdict == engine.Incomplete {
		t.Fatal(out.Reason, err)
	}
	if out.Verdict != engine.Pass {
		if faulty++; faulty%4 != 0 { // shortening a schedule takes long
			return &out.Violations[0]
		}
	}
	stored, ok := alone[p]
	if !ok {
		if stored, err = p.StatesAlone(); err != nil {
			t.Fatal(err)
		}
		alone[p] = stored
	}
	for _, text := range texts { // one alone is searched with stored states
		res, err := gotest.Scenarios(t.Context(), stored, []string{text},
			gotest.Options{Workers: 1})
		if err != nil || res.Verdict != out.Verdict || res.States == 0 {
			t.Fatalf("%s, stored: %+v, %v, want %v", text, res, err, out.Verdict)
		}
		if f := res.Failure; f != nil && (f.Kind != gotest.Failed ||
			!strings.Contains(f.Message, "linearizable")) {
			t.Fatalf("%s, stored: %s", text, f.Message)
		}
	}
	if out.Verdict == engine.Pass {
		return nil
	}
	return &out.Violations[0]
}

// TestMicro explores random scenarios of random small programs, and compares with all
// interleavings, in which beginnings and ends of calls are events of their own.
func TestMicro(t *testing.T) {
	codes := codes()
	_, c := compiled(t, "micro")
	p, err := c.Test("TestMicro", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	var right []string
	n, wrong := sample.Of(10, 15, 300), 0
	r := rand.New(rand.NewPCG(1, 2))
	for range n {
		goroutines, each := 2, 1+r.IntN(2)
		if each == 1 {
			goroutines += r.IntN(2)
		}
		m := make(micro, goroutines)
		var text strings.Builder
		text.WriteString("0:")
		for g := range m {
			text.WriteString("/")
			for range each {
				k := r.IntN(len(codes))
				m[g] = append(m[g], codes[k])
				fmt.Fprint(&text, " ", k)
			}
		}
		want := m.violated()
		if !want {
			right = append(right, text.String())
			continue
		}
		wrong++
		if v := search(t, p, text.String()); v == nil || !strings.Contains(v.Violation.Message,
			"is not linearizable") {
			t.Fatalf("%o: %+v, but no order explains all interleavings", m, v)
		}
	}
	for list := range slices.Chunk(right, 1000) {
		if v := search(t, p, list...); v != nil {
			t.Fatalf("%s: %v, but an order explains each interleaving", list[v.Trace.Initial],
				v.Violation.Message)
		}
	}
	if wrong < n/10 || wrong > n*9/10 {
		t.Errorf("%d of %d scenarios are wrong: they should be mixed", wrong, n)
	}
	t.Logf("%d of %d scenarios are wrong", wrong, n)
}

// TestCounts: calls that are one critical section have an execution for each order of them that
// keeps the order of each goroutine, and no more because of their beginnings and ends.
func TestCounts(t *testing.T) {
	_, c := compiled(t, "micro")
	p, err := c.Test("TestMicro", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	locked := slices.Index(codes(), 7)
	for _, tt := range []struct{ goroutines, each, want int }{
		{2, 1, 2}, {2, 2, 6}, {3, 1, 6}, {3, 2, 90}, {2, 4, 70},
	} {
		text := "0:" + strings.Repeat("/"+strings.Repeat(fmt.Sprint(" ", locked), tt.each),
			tt.goroutines)
		out, err := stateless.Run(t.Context(), p.WithScenarios([]string{text}).System,
			stateless.Options{Options: engine.Options{Workers: 1}, Reduction: stateless.DPOR})
		if err != nil || out.Verdict != engine.Pass || out.Executions != uint64(tt.want) {
			t.Errorf("%d x %d: %v, %d executions, want %d; %v", tt.goroutines, tt.each,
				out.Verdict, out.Executions, tt.want, err)
		}
	}
}
