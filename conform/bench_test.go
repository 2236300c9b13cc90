package conform_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"cpor/conform"
	"cpor/system"
)

// walk records the prints of a random execution until there are n, with the clocks that its
// accesses give.
func walk(r *rand.Rand, sys system.System, n int) []logged {
	m := told(sys)
	type clock = map[string]int
	threads, writes, reads := map[int]clock{}, map[system.Loc]clock{}, map[system.Loc]clock{}
	join := func(to, from clock) {
		for h, k := range from {
			to[h] = max(to[h], k)
		}
	}
	var out []logged
	for idle := 0; len(out) < n && idle < 1000; idle++ {
		t := r.IntN(m.NumThreads())
		alts := []uint64{0}
		mark := m.Mark()
		o := m.Step(t, 0)
		if o.Kind != system.Moved {
			continue
		}
		for next := o.Next; next != 0; {
			m.Rewind(mark)
			alts = append(alts, next)
			next = m.Step(t, next).Next
		}
		m.Rewind(mark)
		m.Step(t, alts[r.IntN(len(alts))])
		idle = 0
		c := threads[t]
		if c == nil {
			c = clock{}
			threads[t] = c
		}
		for _, a := range m.Accesses() {
			join(c, writes[a.Loc])
			if a.Write {
				join(c, reads[a.Loc])
			}
		}
		for _, d := range m.Capabilities().Narrating.Story().Deeds {
			if d.Kind == system.Print {
				c[m.ThreadName(t)]++
				now := clock{}
				join(now, c)
				out = append(out, logged{seen{m.ThreadName(t), strings.TrimSpace(d.Value), ""},
					now})
			}
		}
		for _, a := range m.Accesses() {
			of := reads
			if a.Write {
				of = writes
			}
			if of[a.Loc] == nil {
				of[a.Loc] = clock{}
			}
			join(of[a.Loc], c)
		}
	}
	return out
}

// replicate is a model of five servers that elect leaders and replicate entries.
func replicate(t testing.TB) system.System {
	t.Helper()
	source, err := os.ReadFile("testdata/replicate.model")
	if err != nil {
		t.Fatal(err)
	}
	return load(t, string(source))
}

// BenchmarkLog follows a log of 100,000 events of replicate.
func BenchmarkLog(b *testing.B) {
	sys := replicate(b)
	c := read(b, write(walk(rand.New(rand.NewPCG(1, 1)), sys, 100_000), nil, false))
	for b.Loop() {
		res, err := conform.Check(b.Context(), sys, c, &conform.Mapping{}, conform.Options{})
		if err != nil || res.Verdict != conform.Accepted {
			b.Fatal(err, fmt.Sprintf("%+v", res))
		}
		b.ReportMetric(float64(res.Nodes), "nodes")
		b.ReportMetric(float64(res.Steps), "steps")
	}
}

// BenchmarkMonitor follows the log of BenchmarkLog while it arrives.
func BenchmarkMonitor(b *testing.B) {
	sys := replicate(b)
	log := walk(rand.New(rand.NewPCG(1, 1)), sys, 100_000)
	c := read(b, write(log, nil, false))
	next := make([]int32, c.N())
	var events []arrival
	for _, e := range log {
		h, _ := c.Process(e.thread)
		next[h]++
		events = append(events, arrival{h, c.Clock(h, next[h]), nil, e.text})
	}
	for b.Loop() {
		m, err := conform.NewMonitor(b.Context(), sys, &conform.Mapping{},
			conform.MonitorOptions{Hosts: c.Names(), MaxNodes: 100_000})
		if err != nil {
			b.Fatal(err)
		}
		peak := 0
		for i, a := range events {
			m.Take(a.host, a.clock, a.vars, a.text)
			if m.Advance(); m.Stuck() {
				b.Fatalf("after %d events: %s, %d forgotten", i, m.Why(), m.Forgotten())
			}
			n, _ := m.Size()
			peak = max(peak, n)
		}
		if ok, err := m.End(); !ok {
			b.Fatal(err, m.Verdict(), m.Why())
		}
		b.ReportMetric(float64(peak), "kept")
		b.ReportMetric(float64(m.Forgotten()), "forgotten")
	}
}
