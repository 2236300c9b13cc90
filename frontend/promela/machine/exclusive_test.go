package machine

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/testkit/sample"
	"cpor/testkit/systemtest"
)

// TestExclusive holds claims by xr and xs to SPIN's verifier with its reduction: what it takes for
// a violation is one.
func TestExclusive(t *testing.T) {
	for _, x := range []struct{ owner, other, third, want string }{
		{"skip", "skip", "skip", ""},
		// the receiver
		{"skip", "nempty(q)", "skip", ""},
		{"skip", "q?<x>", "skip", ""},
		{"skip", "q?1", "skip", ""},
		{"skip", "len(q) == 0", "skip", "A claims with xs"},
		{"skip", "empty(q)", "skip", "A claims with xs"},
		{"skip", "full(q)", "skip", "A claims with xs"},
		{"skip", "nfull(q)", "skip", "A claims with xs"},
		{"skip", "q?[1]", "skip", "A claims with xs"},
		{"skip", "q!1", "skip", "A claims with xs"},
		{"skip", "q!!1", "skip", "A claims with xs"},
		{"skip", "q??1", "skip", "neither"},
		// the sender
		{"nfull(q)", "skip", "skip", ""},
		{"q!1", "skip", "skip", ""},
		{"q!!1", "skip", "skip", "neither"},
		{"len(q) == 0", "skip", "skip", "C claims with xr"},
		{"nempty(q)", "skip", "skip", "C claims with xr"},
		{"full(q)", "skip", "skip", "C claims with xr"},
		{"q?1", "skip", "skip", "C claims with xr"},
		// somebody else
		{"skip", "skip", "nempty(q)", "C claims with xr"},
		{"skip", "skip", "nfull(q)", "A claims with xs"},
		{"skip", "skip", "q!1", "A claims with xs"},
		{"skip", "skip", "q?1", "C claims with xr"},
		{"skip", "skip", "p!1", ""},
	} {
		text := fmt.Sprintf("chan q = [2] of { byte }; chan p = [1] of { byte };\n"+
			"active proctype A() { byte x; xs q; q!1; if :: %s :: skip fi }\n"+
			"active proctype C() { byte x; xr q; if :: %s :: skip fi; q?x }\n"+
			"active proctype D() { byte x; if :: %s :: skip fi }", x.owner, x.other, x.third)
		s := parse(t, text)
		found, ok := searchAll(s, 10000)
		got := false
		for f := range found.faults {
			got = got || x.want != "" && strings.Contains(f, x.want)
			if x.want == "" && !strings.Contains(f, "end state") {
				t.Errorf("%s: %s", text, f)
			}
		}
		if !ok || got != (x.want != "") {
			t.Errorf("%s: %v, want %q", text, found.faults, x.want)
		}
		systemtest.Conform(t, s, systemtest.Options{MaxStates: 50, Walks: 3, Steps: 20})
	}
	for text, want := range map[string]string{
		"chan q = [2] of { byte }; active [2] proctype A() { xs q; q!1 }": "has claimed the same",
		"chan q = [0] of { byte }; active proctype A() { xs q; q!1 }":     "with a capacity",
		"active proctype A() { chan c; xr c; skip }":                      "not been initialized",
	} {
		m, err := parseText(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = New(m, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// claiming returns a program with claims by xr and xs, some of them wrong.
func claiming(r *rand.Rand) string {
	var b strings.Builder
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	b.WriteString("byte g; chan q = [1] of { byte }; chan p[2] = [1] of { byte };\n")
	step := func() string {
		return pick("in?x", "out!x", "out!1", "in?x", "q!1", "q?x", "x = 1", "g = g + 1", "g = x",
			"p[0]!1", "p[1]?x", "nempty(in)", "nfull(out)", "len(q) == 0", "assert(g != 2)\n",
			"if :: in?x :: g = 1 fi", "atomic { g = 0; out!0 }", "timeout")
	}
	for _, name := range []string{"A", "B"} {
		fmt.Fprintf(&b, "proctype %s(chan in, out) { byte x; %s%s%s\n", name,
			pick("xr in; ", "xr in; ", ""), pick("xs out; ", "xs out; ", ""),
			pick("", "", "xs q; ", "xr q; "))
		for range 1 + r.IntN(3) {
			fmt.Fprintf(&b, "  %s;\n", step())
		}
		b.WriteString("  skip }\n")
	}
	fmt.Fprintf(&b, "init { byte x; chan in = p[0]; chan out = q; %s%s;\n", pick("", "xr in; "),
		pick("skip", "q!1", "p[0]!0"))
	for range 2 + r.IntN(2) {
		fmt.Fprintf(&b, "  run %s(%s, %s); %s;\n", pick("A", "B"), pick("p[0]", "p[1]", "q"),
			pick("p[0]", "p[1]", "q"), pick("skip", "skip", "in?x", "g = 1", "out!1",
				"_nr_pr == 1"))
	}
	b.WriteString("  skip }\n")
	return b.String()
}

// writtenClaims are programs in which it matters when a claim ends.
var writtenClaims = []string{
	`chan q = [1] of { byte }; active proctype A() { byte x; xs q; x = 1 }
	active proctype B() { q!1 }`,
	`chan q = [1] of { byte }; active proctype B() { byte x; x = 1; q!1 }
	active proctype A() { byte x; xs q; x = 1 }`,
	`chan q = [1] of { byte }; proctype A(chan c) { byte x; xs c; x = 1; x = 2 }
	init { byte x; run A(q); x = 1; q!1 }`,
	`chan q = [1] of { byte }; proctype A(chan c) { byte x; xs c; x = 1 }
	init { run A(q); run A(q) }`,
}

// claimsAlike compares reductions, merged steps among them, with the full search.
// It returns what differs, and nil if the program is too large.
func claimsAlike(t *testing.T, text string, seed uint64) (string, *compared) {
	p, err := parseText(text)
	if err != nil {
		t.Fatal(err, text)
	}
	s, err := New(p, Options{})
	if err != nil {
		return "", nil // in the initial state
	}
	diff, c := reducedAlike(t, s, text, seed)
	if c != nil && diff == "" {
		diff, _, _ = unmerged(text)
	}
	return diff, c
}

// TestExclusiveReductions compares reductions with the full search where there are claims.
func TestExclusiveReductions(t *testing.T) {
	for i, text := range writtenClaims {
		if diff, c := claimsAlike(t, text, uint64(i)); diff != "" || c == nil {
			t.Error(diff, text)
		}
	}
	n, all := sample.Of(40, 60, 5000), 0
	for seed := range uint64(n) {
		text := claiming(rand.New(rand.NewPCG(*spinFirst, seed)))
		diff, c := claimsAlike(t, text, seed)
		if diff != "" {
			t.Fatalf("seed %d: %s", seed, diff)
		}
		if c == nil {
			continue
		}
		all++
		if seed%10 == 0 {
			systemtest.Conform(t, parse(t, text), systemtest.Options{MaxStates: 20, Walks: 3,
				Steps: 20, Seed: seed})
		}
	}
	t.Logf("%d of %d programs compared", all, n)
	if all < n/3 {
		t.Error("that is too few")
	}
}
