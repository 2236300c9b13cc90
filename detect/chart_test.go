package detect

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"cpor/detect/computation"
	"cpor/detect/simulate"
	"cpor/testkit/sample"
)

// bruteChart tries every choice of hosts and events.
func bruteChart(c *computation.Computation, m *MessageChart) bool {
	hosts := map[string]int{}
	for i := range c.N() {
		hosts[c.Name(i)] = i
	}
	var from func(k int, at computation.Cut) bool
	from = func(k int, at computation.Cut) bool {
		if k == len(m.statements) {
			return true
		}
		st := m.statements[k]
		i := hosts[st.from]
		for e := at[i] + 1; e <= c.Events(i); e++ {
			if st.send != nil && !st.send.MatchString(c.Text(i, e)) {
				continue
			}
			next := at.Clone()
			next[i] = e
			if st.to == "" {
				if from(k+1, next) {
					return true
				}
				continue
			}
			j := hosts[st.to]
			for f := at[j] + 1; f <= c.Events(j); f++ {
				if st.receive != nil && !st.receive.MatchString(c.Text(j, f)) {
					continue
				}
				for _, msg := range c.Messages(j, f) {
					if msg.From == (computation.Event{Process: i, Index: e}) {
						next[j] = f
						if from(k+1, next) {
							return true
						}
					}
				}
			}
		}
		return false
	}
	var bind func(k int, taken map[int]bool) bool
	bind = func(k int, taken map[int]bool) bool {
		if k == len(m.variables) {
			return from(0, c.Initial())
		}
		for i := range c.N() {
			if taken[i] {
				continue
			}
			hosts[m.variables[k]] = i
			taken[i] = true
			if bind(k+1, taken) {
				return true
			}
			delete(taken, i)
		}
		return false
	}
	return bind(0, map[int]bool{})
}

func randomChart(rng *rand.Rand, n int) string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprint("p", i+1)
	}
	head := ""
	if rng.IntN(2) == 0 {
		names = []string{"i", "j", "k"}[:min(n, 3)]
		head = "exists " + strings.Join(names, " != ") + ":\n"
	}
	var lines []string
	for range rng.IntN(4) + 1 {
		a, b := rng.IntN(len(names)), rng.IntN(len(names))
		if a == b {
			text := []string{"send", "receive", "step", "."}[rng.IntN(4)]
			lines = append(lines, fmt.Sprintf("%s: %q", names[a], text))
			continue
		}
		line := names[a] + " -> " + names[b]
		switch rng.IntN(4) {
		case 0:
			line += `: "send"`
		case 1:
			line += `: "end" / "rec"`
		}
		lines = append(lines, line)
	}
	return head + strings.Join(lines, []string{"; ", "\n"}[rng.IntN(2)])
}

// TestChartOracle compares with trying everything. FindChart replays what it found.
func TestChartOracle(t *testing.T) {
	found, rounds := 0, sample.Of(300, 1000, 20_000)
	for k := range rounds {
		rng := rand.New(rand.NewPCG(11, uint64(k)))
		n := rng.IntN(4) + 1
		c := simulate.Random(rng, simulate.RandomConfig{Processes: n, Events: rng.IntN(25),
			Messages: []float64{0.5, 0.8, 1}[rng.IntN(3)], Variables: 1, Values: 2})
		text := randomChart(rng, n)
		m, err := ParseChart(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		res, err := FindChart(context.Background(), c, m, Options{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if want := bruteChart(c, m); res.Holds != want || !res.Exhaustive {
			t.Fatalf("seed %d, %s: %v, want %v", k, text, res.Holds, want)
		}
		if res.Holds {
			found++
		}
	}
	if found < rounds/10 || found > rounds*9/10 {
		t.Errorf("%d of %d charts found: the sample does not try what it should", found, rounds)
	}
}

func TestChartMistakes(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "chart:1:1: the chart has no message",
		"a":                           "expected '->' or ':' after a host, found the end",
		"a -> a":                      "a message from a to itself",
		"a -> b c -> d":               "expected ';' after a message, found 'c'",
		"a - b":                       "expected '->'",
		"a -> b: request":             "a regular expression in double quotes, found 'request'",
		"a -> b: \"(\"":               "missing closing )",
		"a: \"x\" / \"y\"":            "an event of one host has only one text",
		"exists i != i: i: \"x\"":     "i is bound twice",
		"exists i < j: i -> j":        "expected '!=' or ':' after a variable of exists, found '<'",
		"a -> b: \"x":                 "literal not terminated",
		"\n\n  a -> \"b c\": `\\d` /": "chart:3:21: expected a regular expression",
	} {
		_, err := ParseChart(text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParseChart(f *testing.F) {
	f.Add("exists i != j: i -> j: \"request\" / `r`; j: \"x\"\n\"a b\" -> i")
	f.Add("a -> b: \"(\"")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := ParseChart(text); err == nil && len(m.statements) == 0 {
			t.Errorf("%q has no statements and no mistake", text)
		}
	})
}
