package machine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/engine/search/ample"
	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

// The constructs that ask about all processes.
const (
	asksTimeout = iota
	asksEnabled
	asksPriority
	asksTrace
	asksEmpty
	askings
)

// asking returns a program with one of the constructs that ask about all processes.
func asking(r *rand.Rand, what int) string {
	var b strings.Builder
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	rendezvous := what != asksEnabled && r.IntN(2) == 0
	line := 0
	var step func(depth int) string
	step = func(depth int) string {
		line++
		switch n := r.IntN(22); {
		case n < 4:
			return pick("x = 1", "x = x + 1", "y = x", "x = y")
		case n < 7:
			return pick("g = 1", "g = g + 1", "h = g", "h = x", "g = 0")
		case n < 11:
			return pick("q!1", "q?x", "c!x", "c?y", "q!0", "c?1")
		case n < 13:
			return fmt.Sprintf("assert(%s != %d)\n", pick("g", "h", "x"), r.IntN(4))
		case n < 15:
			return pick("g == 1", "h < 2", "x == y", "len(q) == 0", "nempty(q)", "g < 2")
		case n < 18:
			switch what {
			case asksTimeout:
				return pick("timeout", "timeout && g < 2", "timeout || h == 1", "!timeout",
					"timeout; g = g + 1", "h == 0 && timeout; q!1")
			case asksEnabled:
				return fmt.Sprintf("%senabled(%d)%s", pick("", "!", "g < 2 && "), 1+r.IntN(2),
					pick("", "; g = 1", " || h == 1"))
			}
			return "skip"
		case depth == 0:
			return "x = 1 - x"
		case n < 20:
			guard := pick("q!0", "c?x", "g == 2", "x == 1")
			if what == asksTimeout && r.IntN(2) == 0 {
				guard = pick("timeout", "timeout -> g = g + 1", "timeout; h = 0",
					"atomic { timeout; g = 2; q!1 }", "d_step { timeout; g = 1 }")
			}
			return fmt.Sprintf("if :: %s; %s :: %s %sfi", step(depth-1), step(depth-1), guard,
				pick("", ":: else ", ":: else -> "+step(depth-1)+" "))
		case n < 21:
			return fmt.Sprintf("atomic { %s; %s }", step(depth-1), step(depth-1))
		}
		return fmt.Sprintf("{ %s; %s } unless { %s; %s }", step(0), step(0),
			pick("g == 2", "q?1", "timeout && g == 1"), pick("x = 1", "h = 1"))
	}
	capacity := r.IntN(2)
	if !rendezvous {
		capacity = 1
	}
	fmt.Fprintf(&b, "byte g, h; chan q = [%d] of { byte }; chan c = [%d] of { byte };\n",
		1+r.IntN(2), capacity)
	if what == asksTrace {
		b.WriteString(pick(
			"trace { do :: q!_ :: q?_ od }\n", "trace { do :: q!1; q?1 od }\n",
			"trace { q!_; end: do :: q?_ :: q!0 od }\n", "trace { do :: c!_ ; c?_ od }\n",
			"notrace { q!1; q?1; q!1 }\n", "notrace { do :: c!0 :: c!1; break od }\n",
			"trace { end: do :: q!1 :: q!0 od }\n"))
	}
	procs := 2 + r.IntN(2)
	for k := range procs {
		head := fmt.Sprintf("active proctype P%d()", k)
		if what == asksPriority {
			head += fmt.Sprintf(" priority %d", 1+r.IntN(3))
		}
		fmt.Fprintf(&b, "%s { byte x, y;\n", head)
		for range 1 + r.IntN(4) {
			if r.IntN(8) == 0 {
				b.WriteString("end" + fmt.Sprint(line) + ": ")
			}
			fmt.Fprintf(&b, "  %s;\n", step(1))
		}
		if r.IntN(4) == 0 {
			start := "run R(1)"
			if what == asksPriority {
				start += pick("", " priority 3")
			}
			fmt.Fprintf(&b, "  %s;\n", start)
		}
		b.WriteString("  skip }\n")
	}
	fmt.Fprintf(&b, "proctype R(byte x) { byte y;\n  %s;\n  %s }\n", step(1), step(0))
	return b.String()
}

// writtenAsking are programs in which it matters what asks about all processes.
var writtenAsking = []string{
	// Two that need timeout exclude each other.
	`byte g; active proctype P() { timeout; g = 1; assert(g == 1) }
	active proctype Q() { timeout; g = 2; g = 3; assert(g == 3) }
	active proctype R() { byte x; x = 1 }`,
	`byte g; active proctype P() { byte x; x = 1; g = 1 }
	active proctype Q() { timeout || g == 1; assert(g == 0) }`,
	`chan q = [1] of { byte }; trace { q!1; q!2 }
	active proctype P() { q!1 } active proctype Q() { byte x; q?x; q!2 }
	active proctype R() { q!2 }`,
	`chan q = [1] of { byte }; chan c = [1] of { byte }; notrace { q!1; c!1 }
	active proctype P() { q!1 } active proctype Q() { c!1 }`,
	`byte g; active proctype P() priority 2 { g == 1; g = 2; assert(g == 2) }
	active proctype Q() priority 1 { byte x; x = 1; g = 1; x = 2; assert(g == 2) }
	active proctype R() priority 1 { byte x; x = 1; g = 3 }`,
	`byte g, h; active proctype Q() { g = 1 }
	active proctype P() { timeout || h == 0; assert(g != 0) }`,
	`byte g, h; active proctype Q() { h = 1 }
	active proctype P() { if :: g == 1 :: else -> assert(h != 0) fi }
	active proctype R() { timeout }`,
	`chan q = [1] of { byte }; chan c = [1] of { byte }; trace { do :: q!1; c!1 od }
	active proctype Q() { q!1 } active proctype P() { c!1 }`,
	`byte g, h; active proctype E() priority 1 { h = 1; assert(h == 1) }
	active proctype T() priority 2 { g == 1; h = 2 } active proctype U() priority 1 { g = 1 }`,
	`byte g; active proctype P() { if :: timeout -> assert(g == 0) :: g == 5 fi }
	active proctype Q() { if :: g == 1 -> skip :: else -> g = 1; g = 0 fi }`,
	// S makes another process the first one that can move, and so the one that P waits for.
	`byte g; active proctype P() { timeout } active proctype Q() { g == 1 }
	active proctype R() { byte x; x = 1 } active proctype S() { g = 1 }`,
	`byte g; active proctype P() priority 1 { byte x; x = 1 }
	active proctype Q() priority 2 { g == 1 } active proctype R() priority 2 { byte x; x = 1 }
	active proctype S() priority 2 { g = 1 }`,
}

// askingSystem makes the system of a program; nil if it is not one.
func askingSystem(text string, what int) *System {
	p, err := parseText(text)
	if err != nil {
		return nil
	}
	s, err := New(p, Options{EmptyChannels: what == asksEmpty})
	if err != nil || s.Irreducible(false) != "" {
		return nil
	}
	return s
}

// TestAsking compares reductions with the full search where constructs ask about all processes.
func TestAsking(t *testing.T) {
	try := func(text string, what int, seed uint64) (*compared, bool) {
		s := askingSystem(text, what)
		if s == nil {
			return nil, false
		}
		diff, c := reducedAlike(t, s, text, seed)
		if diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if seed%10 == 0 {
			systemtest.Conform(t, s, systemtest.Options{MaxStates: 20, Walks: 3, Steps: 20,
				Seed: seed})
		}
		return c, c != nil
	}
	for _, text := range writtenAsking {
		if _, ok := try(text, asksTimeout, 0); !ok {
			t.Errorf("not compared: %s", text)
		}
	}
	n := sample.Of(20, 20, 4000)
	for what := range askings {
		all, fewer := 0, 0
		for seed := range uint64(n) {
			c, ok := try(asking(rand.New(rand.NewPCG(*spinFirst+uint64(what), seed)), what), what,
				seed)
			if !ok {
				continue
			}
			all++
			if c.fewer {
				fewer++
			}
		}
		t.Logf("construct %d: %d programs compared, %d with less than half the states", what, all,
			fewer)
		if all < n/3 {
			t.Errorf("construct %d: that is too few", what)
		}
	}
}

// TestAskingReductions runs every engine on programs with constructs that ask about all processes.
func TestAskingReductions(t *testing.T) {
	compared, n := 0, sample.Of(3, 3, 60)
	for what := range askings {
		for seed := range uint64(n) {
			s := askingSystem(asking(rand.New(rand.NewPCG(*spinFirst+uint64(what), seed)), what),
				what)
			if s == nil || manyWays(s) {
				continue
			}
			t.Run(fmt.Sprint(what, "/", seed), func(t *testing.T) {
				compared += systemtest.Agree(t, s, systemtest.Engines(), acyclic(s, 300), 300, 1)
				f, err := ample.Factory(s, func(err error) { t.Error(err) })
				if err != nil {
					t.Fatal(err)
				}
				exploreAll(t, s, f, 1)
			})
		}
	}
	if compared < 20 {
		t.Errorf("only %d runs compared", compared)
	}
}
