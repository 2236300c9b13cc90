package machine

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cpor/cartesian"
	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/ample"
	"cpor/engine/search/auto"
	"cpor/engine/search/full"
	"cpor/system"
	"cpor/testkit/sample"
)

// starting returns a program that starts processes and waits for them.
func starting(r *rand.Rand) string {
	var b strings.Builder
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	line := 0
	var simple func(ch string, depth int) string
	simple = func(ch string, depth int) string {
		line++
		n := r.IntN(3)
		switch r.IntN(15) {
		case 0, 1:
			return "g = g + 1"
		case 2:
			return fmt.Sprint("g = ", n)
		case 3:
			return "h = g"
		case 4, 5:
			return fmt.Sprint(ch, "!", n)
		case 6:
			return ch + "?x"
		case 7:
			return fmt.Sprint(pick("c", "e"), "!", n)
		case 8:
			return pick("c", "e") + "?x"
		case 9, 10:
			return fmt.Sprintf("assert(%s != %d)\n", pick("g", "h", "x"), n)
		case 11:
			return fmt.Sprintf("g < %d", n+1)
		case 12:
			return pick("x = x + 1", "x = h")
		case 13:
			if depth > 0 {
				return fmt.Sprintf("if :: %s :: %s %sfi", simple(ch, depth-1),
					simple(ch, depth-1), pick("", ":: else ", ":: timeout "))
			}
		case 14:
			if depth > 0 {
				return fmt.Sprintf("atomic { %s; %s }", simple(ch, 0), simple(ch, 0))
			}
		}
		return pick("skip", "skip", "timeout", "timeout; g = g + 1")
	}
	body := func(ch string, n int) string {
		var list []string
		for range n {
			list = append(list, "  "+simple(ch, 1))
		}
		return strings.Join(list, ";\n")
	}
	fmt.Fprintf(&b, "byte g, h; chan c = [%d] of { byte }; chan e = [%d] of { byte };\n",
		r.IntN(3), r.IntN(2))
	fmt.Fprintf(&b, "proctype B(chan d) { byte x;\n%s }\n", body("d", 1+r.IntN(2)))
	runs := pick("", "; run B(d)", "; run B(c)")
	fmt.Fprintf(&b, "proctype A(chan d) { byte x;\n%s%s }\n", body("d", 1+r.IntN(3)), runs)
	if r.IntN(3) == 0 {
		fmt.Fprintf(&b, "active proctype P() { chan d = [1] of { byte }; byte x;\n%s;\n%s }\n",
			pick("g = _pid", "run B(d)", "skip", "e!d", "_nr_pr == 2"), body("d", 2))
	}
	fmt.Fprintf(&b, "init { chan d = [%d] of { byte }; byte x;\n", r.IntN(2))
	for range 2 + r.IntN(3) {
		start := fmt.Sprintf("run %s(%s)", pick("A", "B"), pick("d", "d", "c"))
		switch r.IntN(12) {
		case 0:
			start = fmt.Sprintf("atomic { %s; run B(d) }", start)
		case 1:
			start += "; _nr_pr == 1"
		case 2:
			start += "; d?x; _nr_pr == 1"
		case 3:
			if r.IntN(4) == 0 {
				start = "x = " + start // its number is used
			}
		case 4:
			if r.IntN(4) == 0 {
				start = pick("_nr_pr == 2", "if :: _nr_pr == 1 -> g = 2 :: else fi",
					"atomic { g = 0; _nr_pr == 1; h = 2 }")
			}
		case 5, 6:
			start += "; " + pick("d?x", "d!1", "c?x")
		}
		fmt.Fprintf(&b, "  %s;\n  %s;\n", start, simple("d", 1))
	}
	b.WriteString(pick("  _nr_pr == 1; assert(g != 2)", "  skip") + " }\n")
	return b.String()
}

// written are programs in which the bounds on what processes may still do matter.
var written = []string{
	// The second has number 1 only if the first has died.
	`proctype C(byte k) { assert(k != 2 || _pid != 1) } init { run C(1); run C(2) }`,
	// The channel is gone when its owner is.
	`chan c = [1] of { chan };
	active proctype Q() { chan e; c?e; e!1; assert(false) }
	active proctype P() { chan d = [1] of { byte }; c!d }`,
	// The birth of a receiver takes else away.
	`chan c = [0] of { byte };
	proctype R() { byte x; c?x }
	active proctype S() { if :: c!1 :: else -> assert(false) fi }
	init { run R() }`,
	`proctype C() { skip } init { run C(); if :: _nr_pr == 1 :: else -> assert(false) fi }`,
	`byte g; proctype C() { g = 1 } init { run C(); atomic { skip; _nr_pr == 1; assert(g == 0) } }`,
	`chan c = [2] of { byte };
	proctype P() { c!1; c!2 }
	proctype Q(chan d) { if :: len(d) == 1 -> assert(false) :: len(d) == 2 fi }
	init { atomic { run Q(c); run P() } }`,
	`chan c = [2] of { byte };
	active proctype P() { c!1 }
	active proctype Q() { byte x; if :: c?x :: else -> assert(false) fi }`,
}

// compared says what a comparison was about.
type compared struct{ fewer, dead, told bool }

// unnumbered compares searches to which the numbers of processes do not matter with the full
// search: they find the same violations, and have deadlocks of the same kind. It returns what
// differs. The second result is nil if the program is too large.
func unnumbered(t *testing.T, text string, seed uint64) (string, *compared) {
	return reducedAlike(t, parse(t, text), text, seed)
}

// exploreAll searches, and returns what is found.
func exploreAll(t *testing.T, s *System, f search.Factory, workers int) (*search.Result, string) {
	t.Helper()
	res, err := search.Run(context.Background(), s, f, search.Options{
		Options: engine.Options{Workers: workers, All: true, MaxStates: 10000,
			MaxViolations: 1000, KeepTraces: true}})
	if err != nil {
		return &search.Result{}, err.Error()
	}
	found := map[string]bool{}
	for _, v := range res.Violations {
		what := fmt.Sprint(v.Kind, v.Pos, v.Object)
		if v.Kind == system.Deadlock {
			what = "deadlock " + likeness(s, v)
		}
		found[what] = true
	}
	return res, strings.Join(slices.Sorted(maps.Keys(found)), "\n")
}

// reducedAlike is unnumbered for a system.
func reducedAlike(t *testing.T, s *System, text string, seed uint64) (string, *compared) {
	t.Helper()
	whole, want := exploreAll(t, s, full.Factory(s), 1)
	if !whole.Exhaustive || whole.MoreViolations > 0 {
		return "", nil
	}
	c := &compared{told: s.futuresOf().numbers.told, dead: strings.Contains(want, "deadlock")}
	sets, err := ample.Factory(s, nil)
	if err != nil {
		t.Fatal(err, text)
	}
	early, _ := auto.Factory(s, auto.Options{Choice: auto.Early})
	mixed, _ := auto.Factory(s, auto.Options{Choice: auto.Choice(1 + seed)})
	vectors := func() search.Expander { return cartesian.New(s, cartesian.Options{}) }
	for i, f := range []search.Factory{sets, early, mixed, vectors} {
		res, got := exploreAll(t, s, f, 1+int(seed)%2)
		if !res.Exhaustive || got != want {
			return fmt.Sprintf("search %d: %v\n%s\nthe full search:\n%s\n%s", i, res.Reason, got,
				want, text), c
		}
		c.fewer = c.fewer || res.States < whole.States/2
	}
	return "", c
}

func TestUnnumbered(t *testing.T) {
	for i, text := range written {
		if diff, _ := unnumbered(t, text, uint64(i)); diff != "" {
			t.Error(diff)
		}
	}
	n := sample.Of(60, 100, 6000)
	all, fewer, dead, told := 0, 0, 0, 0
	for seed := range uint64(n) {
		diff, c := unnumbered(t, starting(rand.New(rand.NewPCG(*spinFirst, seed))), seed)
		if diff != "" {
			t.Fatalf("seed %d, %s", seed, diff)
		}
		if c == nil {
			continue
		}
		all++
		for n, is := range map[*int]bool{&fewer: c.fewer, &dead: c.dead, &told: c.told} {
			if is {
				*n++
			}
		}
	}
	t.Logf("%d programs compared, %d with deadlocks, %d tell numbers, %d with fewer states",
		all, dead, told, fewer)
	if all < n/2 || fewer < n/8 || dead < n/8 || told > all/2 {
		t.Error("that is too few")
	}
}

// likeness describes the state at the end of a trace, but for the order of processes and for ended
// ones.
func likeness(s *System, v engine.Finding) string {
	m := s.NewMachine().(*Machine)
	m.Load(s.Initial()[v.Trace.Initial])
	for _, step := range v.Trace.Steps {
		m.Step(step.Thread, step.Alt)
	}
	var list []string
	for u := range m.n {
		if p := m.sys.procs[m.types[u]]; !p.states[m.pc(u)].final {
			list = append(list, fmt.Sprint(p.Name, m.pc(u)))
		}
	}
	slices.Sort(list)
	return fmt.Sprint(list, m.words[1:m.base[0]])
}
