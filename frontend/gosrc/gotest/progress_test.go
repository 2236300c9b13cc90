package gotest

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"cpor/engine"
	"cpor/frontend/gosrc"
	"cpor/frontend/gosrc/scenario"
	"cpor/testkit/sample"
)

// tinyState is a value of type Tiny of testdata/progress while goroutines use it: its word, who
// holds its lock (from 1 on), and of each goroutine the call that it is in and what is left of it.
type tinyState struct {
	a, holder int
	call      [3]int
	left      [3]int
}

// tiny is a scenario: the programs of each goroutine's calls.
type tiny [][]int

// local makes what a goroutine does without a step.
func (x tiny) local(s *tinyState, g int) {
	for s.call[g] < len(x[g]) {
		switch held := s.holder == g+1; {
		case s.left[g] == 0 && held:
			return // it unlocks
		case s.left[g] == 0:
			if s.call[g]++; s.call[g] < len(x[g]) {
				s.left[g] = x[g][s.call[g]]
			}
		case s.left[g]%8 == 0, s.left[g]%8 == 6 && held, s.left[g]%8 == 7 && !held:
			s.left[g] /= 8
		default:
			return
		}
	}
}

func (x tiny) begin() (s tinyState) {
	for g := range x {
		s.left[g] = x[g][0]
		x.local(&s, g)
	}
	return s
}

// step returns the state after a step of a goroutine; not ok if it waits.
func (x tiny) step(s tinyState, g int) (_ tinyState, ok bool) {
	digit := s.left[g] % 8
	s.left[g] /= 8
	again := false
	switch digit {
	case 0, 7:
		s.holder = 0
	case 1, 2:
		s.a = digit
	case 3, 4:
		if again = s.a != digit-3; !again {
			s.a = digit - 2
		}
	case 5:
		again = s.a == 1
	case 6:
		if s.holder != 0 {
			return s, false
		}
		s.holder = g + 1
	}
	if again {
		s.left[g] = x[g][s.call[g]]
	}
	x.local(&s, g)
	return s, true
}

// longest returns the most steps of some goroutines that lead from a state until a call ends; -1 if
// there is no bound, or one of them waits. On are the states on the way.
func (x tiny) longest(s tinyState, who []int, on map[tinyState]bool) int {
	if on[s] {
		return -1
	}
	on[s] = true
	defer delete(on, s)
	most := 0
	for _, g := range who {
		if s.call[g] == len(x[g]) {
			continue
		}
		next, ok := x.step(s, g)
		if !ok {
			return -1
		}
		n := 0
		if next.call == s.call {
			if n = x.longest(next, who, on); n < 0 {
				return -1
			}
		}
		most = max(most, n+1)
	}
	return most
}

// bound is the most steps over all states that can be reached; -1 if there is no bound.
func (x tiny) bound(is scenario.Progress) int {
	var all []int
	for g := range x {
		all = append(all, g)
	}
	seen := map[tinyState]bool{x.begin(): true}
	queue := []tinyState{x.begin()}
	most := 0
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		groups := [][]int{all}
		if is == scenario.ObstructionFree {
			groups = nil
			for g := range x {
				groups = append(groups, []int{g})
			}
		}
		for _, who := range groups {
			n := x.longest(s, who, map[tinyState]bool{})
			if n < 0 {
				return -1
			}
			most = max(most, n)
		}
		for g := range x {
			if s.call[g] == len(x[g]) {
				continue
			}
			if next, ok := x.step(s, g); ok && !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return most
}

// tinyCodes returns the small programs, as in testdata/progress.
func tinyCodes() (codes []int) {
	for range 4 {
		codes = append(codes, 0o52, 0o41) // they abort each other
	}
	for x, i := uint32(1), 0; i < 32; i++ {
		code := 0
		for range 3 {
			x = x*1664525 + 1013904223
			code = code*8 + int("1212125123124567"[x>>28]-'0')
		}
		codes = append(codes, code)
	}
	return codes
}

// TestTiny explores random scenarios of random small programs, and compares with the definitions of
// lock-freedom and obstruction-freedom.
func TestTiny(t *testing.T) {
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Tests: true,
		Dir: filepath.Join("..", "scenario", "testdata", "progress")})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Test("TestTiny", gosrc.Explore{})
	if err != nil {
		t.Fatal(err)
	}
	if p, err = p.StatesAlone(); err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 3))
	codes, seen := tinyCodes(), map[string]int{}
	for range sample.Of(5, 5, 800) {
		x := make(tiny, 2+r.IntN(2))
		each := 1
		if len(x) == 2 {
			each += r.IntN(2)
		}
		var text strings.Builder
		text.WriteString("0:")
		for g := range x {
			text.WriteString("/")
			for range each {
				k := r.IntN(len(codes))
				x[g] = append(x[g], codes[k])
				fmt.Fprint(&text, " ", k)
			}
		}
		verdict := ""
		for _, is := range []scenario.Progress{scenario.LockFree, scenario.ObstructionFree} {
			want := x.bound(is)
			d := scenario.Description{Progress: is, Steps: 1000}
			res, err := advances(t.Context(), p, []string{text.String()}, d, Options{Workers: 1})
			if err != nil {
				t.Fatalf("%o: %v", x, err)
			}
			got := res.steps
			if f := res.Failure; f != nil && f.Kind == Progress {
				got = -1
			} else if res.Verdict != engine.Pass {
				t.Fatalf("%o, %v: %+v", x, is, res)
			}
			if got != want {
				t.Fatalf("%o, %v: %d steps, want %d; %+v", x, is, got, want, res.Failure)
			}
			if want >= 0 {
				verdict += is.String() + " "
			}
		}
		seen[verdict]++
	}
	t.Log(seen)
	if len(seen) != 3 && sample.Long() {
		t.Errorf("scenarios of three kinds are wanted: %v", seen)
	}
}

// storing compares searches of scenarios of check.Linearizable with stored states and without.
type storing struct{ p, stored *gosrc.Program }

func newStoring(t *testing.T, pkg, test string) (x storing) {
	t.Helper()
	pkgs, err := gosrc.Load(t.Context(), []string{"."}, gosrc.Options{Tests: true,
		Dir: filepath.Join("..", "scenario", "testdata", pkg)})
	if err != nil {
		t.Fatal(err)
	}
	c, err := pkgs[0].Compile()
	if err != nil {
		t.Fatal(err)
	}
	if x.p, err = c.Test(test, gosrc.Explore{}); err != nil {
		t.Fatal(err)
	}
	if x.stored, err = x.p.StatesAlone(); err != nil {
		t.Fatal(err)
	}
	return x
}

// differ compares the searches of a random scenario. It returns how the one with stored states
// differs, with histories or merged; empty: not at all.
func (x storing) differ(t *testing.T, r *rand.Rand, merge ...bool) (diff string,
	is engine.Verdict) {
	t.Helper()
	text := "0:"
	for range 2 {
		text += fmt.Sprintf("/ %d %d", r.IntN(64), r.IntN(64))
	}
	want, err := judged(t.Context(), x.p.WithScenarios([]string{text}), Options{Engine: DPOR,
		Workers: 1})
	if err != nil {
		t.Fatal(err)
	}
	for _, merge := range merge {
		got, err := advances(t.Context(), x.stored, []string{text},
			scenario.Description{Steps: 1}, Options{Workers: 1, merge: merge})
		if err != nil {
			t.Fatal(err)
		}
		if got.Verdict != want.Verdict ||
			got.Failure != nil && got.Failure.Kind != want.Failure.Kind {
			return fmt.Sprintf("%s, merged %v: %+v, want %+v", text, merge, got, want), ""
		}
	}
	return "", want.Verdict
}

// TestStored: searches of scenarios of check.Linearizable with stored states and without agree.
func TestStored(t *testing.T) {
	x := newStoring(t, "micro", "TestMicro")
	r := rand.New(rand.NewPCG(1, 4))
	seen := map[engine.Verdict]int{}
	for range sample.Of(2, 3, 300) {
		diff, is := x.differ(t, r, false, true)
		if diff != "" {
			t.Fatal(diff)
		}
		seen[is]++
	}
	t.Log(seen)
}

// TestMerging: the histories are kept if a specification does more than its value shows, if what a
// call returns may change, or if the order is not that of real time. Without them, races show.
func TestMerging(t *testing.T) {
	x := newStoring(t, "merging", "TestPlans")
	res := hiddenRace(t, x)
	if f := res.Failure; f == nil || f.Kind != Race {
		t.Errorf("%+v", res)
	}
	plan := 1
	for _, tt := range []struct {
		what  string
		plans int
		why   string
	}{
		{"no reason", 2, ""},
		{"goroutines", 2, "it starts goroutines"},
		{"random numbers", 2, "it changes more than its value"},
		{"the clock", 2, "it changes more than its value"},
		{"globals", 2, "it changes more than its value"},
		{"pointers", 2, "a call returns a *int"},
		{"slices", 2, "a call returns a []int"},
		{"maps", 2, "a call returns a map[int]int"},
		{"pointers inside", 2, "a call returns a *int"},
		{"globals of new values", 2, "it changes more than its value"},
		{"numbers of new values", 2, "it depends on more than the calls before"},
		{"program order", 1, "the order is not that of real time"},
		{"quiescence", 1, "the order is not that of real time"},
	} {
		text := ""
		for range tt.plans {
			text = fmt.Sprintf("%d:/ 0/ 0", plan)
			plan++
			got, err := advances(t.Context(), x.stored, []string{text}, scenario.Description{},
				Options{Workers: 1, merge: true})
			if err != nil {
				t.Fatal(err)
			}
			if got.unmerged != (tt.why != "") || !strings.HasSuffix(got.Reason, tt.why) {
				t.Errorf("%s, %s: unmerged %v: %v, %s, want %q", tt.what, text, got.unmerged,
					got.Verdict, got.Reason, tt.why)
			}
		}
		got, err := Scenarios(t.Context(), x.stored, []string{text}, Options{Workers: 1})
		if err != nil || got.Verdict != engine.Pass || (got.Executions > 0) != (tt.why != "") {
			t.Errorf("%s, %s: %+v, %v", tt.what, text, got, err)
		}
	}
}

// hiddenRace is what a search with merged states finds out about a race between two steps, each of
// which leads to a state that is known already.
func hiddenRace(t *testing.T, x storing) *Result {
	t.Helper()
	res, err := advances(t.Context(), x.stored, []string{"0:/ 0/ 1/ 2"}, scenario.Description{},
		Options{Workers: 1, merge: true})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// TestChanges: histories are kept where they must be, or where a scenario takes long; scenarios
// that take long with histories are searched with stored states, and without once more if that
// takes long, too. Those of check.LockFree are not: their own search asks more.
func TestChanges(t *testing.T) {
	for _, tt := range []struct {
		is       scenario.Progress
		unmerged bool
		ran      string
	}{
		{scenario.AnyProgress, true, "run merged run stored run run"},
		{scenario.AnyProgress, false, "run merged run merged"},
		{scenario.LockFree, false, "run run run"},
		{scenario.ObstructionFree, false, "run run run"},
	} {
		ran := ""
		search := func(name string) explorer {
			return func(_ context.Context, _ scenario.Description, texts []string,
				_ Options) (*Result, error) {
				ran = strings.TrimPrefix(ran+" "+name, " ")
				if len(texts) > 1 && texts[0] == "0:a" {
					return &Result{Verdict: engine.Incomplete,
						unmerged: tt.unmerged && name == "merged"}, nil
				}
				return &Result{Verdict: engine.Pass}, nil
			}
		}
		x := &exploring{ctx: t.Context(), total: &Result{}, run: search("run"),
			stored: search("stored"), merged: search("merged")}
		d := scenario.Description{Progress: tt.is}
		set := scenario.Set{Texts: []string{"0:a", "0:b", "0:c"}, Total: big.NewInt(3)}
		on, err := x.explore(set, d)
		if !on || err != nil || ran != tt.ran {
			t.Errorf("%v: %v, %v, %s", tt.is, on, err, ran)
		}
	}
}
