package conform_test

import (
	"math/rand/v2"
	"testing"

	"cpor/conform"
	"cpor/detect/computation"
	"cpor/system"
	"cpor/testkit/sample"
)

// arrival is an event that arrives.
type arrival struct {
	host  int
	clock computation.Cut
	vars  map[string]computation.Value
	text  string
}

// arrivals returns the events of a log in a random order that keeps that of each host.
func arrivals(r *rand.Rand, c *computation.Computation) []arrival {
	next := make([]int32, c.N())
	var out []arrival
	for len(out) < c.TotalEvents() {
		h := r.IntN(c.N())
		if next[h] == c.Events(h) {
			continue
		}
		next[h]++
		a := arrival{h, c.Clock(h, next[h]), map[string]computation.Value{},
			c.Text(h, next[h])}
		for _, v := range c.Variables(h) {
			a.vars[v.Name] = c.Value(h, next[h], v.Name)
		}
		out = append(out, a)
	}
	return out
}

// delivered is what a monitor says about a log.
type delivered struct {
	*conform.Monitor
	early bool // the log was rejected before its end
	peak  int
}

// deliver gives a monitor the events, and saves and restores it now and then.
func deliver(t testing.TB, r *rand.Rand, sys system.System, mapping *conform.Mapping,
	events []arrival, o conform.MonitorOptions) (d delivered) {
	t.Helper()
	start := func() *conform.Monitor {
		m, err := conform.NewMonitor(t.Context(), sys, mapping, o)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	d.Monitor = start()
	for _, a := range events {
		d.Take(a.host, a.clock, a.vars, a.text)
		if r.IntN(2) == 0 {
			d.Advance()
		}
		if r.IntN(20) == 0 {
			text, err := d.Save()
			if err != nil {
				t.Fatal(err)
			}
			d.Monitor = start()
			if err := d.Restore(text); err != nil {
				t.Fatal(err)
			}
		}
		n, _ := d.Size()
		d.peak = max(d.peak, n)
		if d.Refused() {
			d.early = true
			d.Place()
			return d
		}
	}
	if _, err := d.End(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestArrival holds that a log that arrives event by event, in any order, has the verdict of the
// whole log; with too little memory, it has that or none.
func TestArrival(t *testing.T) {
	defer conform.SetMinSettle(8)()
	n := sample.Of[uint64](40, 150, 3000)
	early, incomplete := 0, 0
	for seed := range n {
		l := generate(t, seed)
		if l == nil {
			continue
		}
		r := rand.New(rand.NewPCG(seed, 3))
		lost := func(h string) bool { return seed%5 == 0 && h != "T0[0]" }
		res, err := conform.Check(t.Context(), l.sys, l.c, l.mapping, conform.Options{Lost: lost})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			events := arrivals(r, l.c)
			d := deliver(t, r, l.sys, l.mapping, events, conform.MonitorOptions{
				Hosts: l.c.Names(), Lost: lost})
			if d.Verdict() != res.Verdict {
				t.Fatalf("seed %d: on line %v (%s), off line %v\n%s\n%s%v", seed, d.Verdict(),
					d.Why(), res.Verdict, l.source, l.text, events)
			}
			if d.early {
				early++
			}
			d = deliver(t, r, l.sys, l.mapping, events, conform.MonitorOptions{
				Hosts: l.c.Names(), Lost: lost, MaxNodes: 1 + r.IntN(20)})
			switch d.Verdict() {
			case res.Verdict:
			case conform.Incomplete:
				incomplete++
			default:
				t.Fatalf("seed %d: with little memory %v, off line %v\n%s\n%s", seed, d.Verdict(),
					res.Verdict, l.source, l.text)
			}
		}
	}
	if early < int(n)/20 || incomplete < int(n)/20 {
		t.Errorf("%d rejected before the end, %d incomplete: too few", early, incomplete)
	}
	t.Logf("%d rejected before the end, %d incomplete", early, incomplete)
}
