package cluster_test

import (
	"fmt"
	"testing"
	"time"

	"cpor/engine"
	"cpor/testkit/sample"

	"golang.org/x/sync/errgroup"

	"cpor/engine/cluster"
	"cpor/testkit/fakeranks"
)

// TestConn has one exchange after the other on the same connections, over a network on
// which a rank can be in the search while another still waits for the broadcast that
// comes before it: what comes too early is not lost.
func TestConn(t *testing.T) {
	n := sample.Of(10, 10, 40)
	for seed := range uint64(n) {
		const ranks = 5
		g := graph{nodes: 200, seed: seed}
		comms := fakeranks.New(ranks, fakeranks.Options{Seed: seed, MaxDelay: 2 * time.Millisecond})
		conns := make([]engine.Comm, ranks)
		for i := range comms {
			conns[i] = cluster.Connect(comms[i])
		}
		var eg errgroup.Group
		got := make([]int, ranks)
		for i := range conns {
			eg.Go(func() error {
				text := []byte("model")
				if i != 0 {
					text = nil
				}
				m, err := cluster.NewExchange(conns[i], cluster.Options{}).Broadcast(text)
				if err == nil && string(m) != "model" {
					err = fmt.Errorf("rank %d heard %q", i, m)
				}
				if err != nil {
					return err
				}
				got[i], _, err = searchRank(g, conns[i], i, 2, 0, cluster.Options{BufferBytes: 32,
					ReportEvery: time.Millisecond})
				return err
			})
		}
		if err := eg.Wait(); err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, n := range got {
			sum += n
		}
		if want := g.reachable(); sum != want {
			t.Errorf("seed %d: %d states, want %d", seed, sum, want)
		}
	}
}
