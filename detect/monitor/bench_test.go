package monitor

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"cpor/detect"
	"cpor/detect/logs"
	"cpor/detect/predicate"
)

// benchHosts is how many hosts the benchmark's run has.
const benchHosts = 16

// benchLog is a run of 16 hosts that send messages to one another, in the two
// formats.
func benchLog(events int) (jsonl, shiviz []byte, hosts []string) {
	rng := rand.New(rand.NewPCG(1, 2))
	clocks := make([][]int32, benchHosts)
	inbox := make([][][]int32, benchHosts)
	for i := range clocks {
		clocks[i] = make([]int32, benchHosts)
		hosts = append(hosts, fmt.Sprint("p", i+1))
	}
	var a, b bytes.Buffer
	for range events {
		i := rng.IntN(benchHosts)
		c := clocks[i]
		c[i]++
		if len(inbox[i]) > 0 && rng.IntN(2) == 0 {
			for j, x := range inbox[i][0] {
				c[j] = max(c[j], x)
			}
			inbox[i] = inbox[i][1:]
		} else if j := rng.IntN(benchHosts); j != i && rng.IntN(3) == 0 {
			inbox[j] = append(inbox[j], append([]int32(nil), c...))
		}
		var clock bytes.Buffer
		sep := '{'
		for j, x := range c {
			if x > 0 {
				fmt.Fprintf(&clock, "%c%q:%d", sep, hosts[j], x)
				sep = ','
			}
		}
		clock.WriteByte('}')
		x := rng.IntN(1001)
		fmt.Fprintf(&a, `{"host":%q,"clock":%s,"event":"step","vars":{"x":%d}}`+"\n", hosts[i],
			&clock, x)
		fmt.Fprintf(&b, "%s %s\nstep x=%d\n", hosts[i], &clock, x)
	}
	return a.Bytes(), b.Bytes(), hosts
}

// BenchmarkStream measures how many events the monitor takes from a stream.
func BenchmarkStream(b *testing.B) {
	const events = 100_000
	jsonl, shiviz, hosts := benchLog(events)
	p, err := predicate.Parse("forall i: i.x > 5000")
	if err != nil {
		b.Fatal(err)
	}
	for name, log := range map[string][]byte{"jsonl": jsonl, "shiviz": shiviz} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s, err := NewService(Config{Predicate: p, Modality: detect.Poss, Hosts: hosts}, "",
					0, logs.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Stream(context.Background(), bytes.NewReader(log), nil); err != nil {
					b.Fatal(err)
				}
				if n := s.Status().Events; n != events {
					b.Fatalf("%d events", n)
				}
			}
			b.ReportMetric(float64(b.N*events)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
