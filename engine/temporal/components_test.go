package temporal_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/engine/temporal"
	"cpor/frontend/model"
	"cpor/testkit/oracle"
	"cpor/testkit/sample"
)

// wanderer is a thread that walks through a random graph, with properties whose automata have
// strong components. Of random programs, few have cycles enough.
func wanderer(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 6))
	n := 3 + r.IntN(10)
	var b strings.Builder
	fmt.Fprintf(&b, "var x int\nthread P() { for { select {\n")
	for i := range n + r.IntN(n+1) {
		fmt.Fprintf(&b, "case await(x == %d): x = %d\n", i%n, r.IntN(n))
	}
	fmt.Fprintf(&b, "} } }\ninit { go P() }\n")
	some := func() string {
		s := fmt.Sprintf("x == %d", r.IntN(n))
		for r.IntN(3) > 0 {
			s += fmt.Sprintf(" || x == %d", r.IntN(n))
		}
		return "(" + s + ")"
	}
	fmt.Fprintf(&b, "ltl a { <>[] !%s }\n", some())
	fmt.Fprintf(&b, "ltl b { []<> %s -> []<> %s }\n", some(), some())
	fmt.Fprintf(&b, "ltl c { []<> %s || []<> %s }\n", some(), some())
	return b.String()
}

// wander says how a verdict on a property of a seed's graph differs from that of brute force; it is
// empty if none does.
func wander(seed uint64, c *tally) string {
	temporal.Hurry(seed%2 == 1)
	defer temporal.Hurry(false)
	text := wanderer(seed)
	m, err := model.Parse("graph.model", text, model.Options{})
	if err != nil {
		return err.Error()
	}
	g, ok := oracle.NewGraph(m.System(), 1000)
	if !ok {
		return "the graph is too large\n" + text
	}
	for _, p := range properties(m) {
		want, ok := g.Violated(p.Formula, false)
		if !ok {
			continue
		}
		c.checked++
		if want {
			c.violations++
		}
		one := run{g: g, sys: m.System(), prop: p, want: want, red: temporal.None}
		if diff := one.differ([]int{1, 2}, c); diff != "" {
			return fmt.Sprintf("seed %d, %s, %s\n%s", seed, p.Name, diff, text)
		}
	}
	return ""
}

func TestComponents(t *testing.T) {
	var c tally
	for seed := range sample.Of[uint64](40, 80, 2000) {
		if diff := wander(seed, &c); diff != "" {
			t.Fatal(diff)
		}
	}
	t.Logf("%+v", c)
	if c.violations < c.checked/5 || c.violations > c.checked*4/5 {
		t.Errorf("%d of %d properties do not hold", c.violations, c.checked)
	}
}
