// Command mutex runs Ricart and Agrawala's distributed mutual exclusion over
// TCP on the loopback interface and writes the run's log, with vector clocks, in
// the format of ShiViz. It makes the real logs that package detect is tried on:
//
//	go run ./detect/benchmarks/mutex -nodes 4 -rounds 3 -log run.log
//	cpor detect -poss 'exists i < j: i.crit && j.crit' run.log
//
// With -broken, a node enters its critical section as soon as a majority has
// replied, which is wrong: whether two nodes were in their critical sections at
// the same time can then depend on timing, and detect tells whether it could
// have happened even if it did not.
//
// Every node is a goroutine with a listener, a connection to every other node,
// and a vector clock of its own; they share nothing but the log file.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"os"
	"sort"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

func main() {
	var cfg config
	flag.IntVar(&cfg.nodes, "nodes", 4, "number of nodes")
	flag.IntVar(&cfg.rounds, "rounds", 3, "critical sections of each node")
	flag.BoolVar(&cfg.broken, "broken", false, "enter with the replies of a majority")
	flag.Uint64Var(&cfg.seed, "seed", 1, "of the pauses")
	flag.DurationVar(&cfg.pause, "pause", 2*time.Millisecond,
		"mean pause between critical sections, and in them")
	path := flag.String("log", "", "the log `file` (default: stdout)")
	flag.Parse()
	if cfg.nodes < 1 || cfg.rounds < 0 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	out := io.Writer(os.Stdout)
	if *path != "" {
		f, err := os.Create(*path)
		if err != nil {
			log.Fatal(err)
		}
		defer f.Close()
		out = f
	}
	if err := run(context.Background(), cfg, out); err != nil {
		log.Fatal(err)
	}
}

type config struct {
	nodes  int
	rounds int
	broken bool
	seed   uint64
	pause  time.Duration
}

// message is what goes over a connection, as a line of JSON.
type message struct {
	From  int            `json:"from"`
	Kind  string         `json:"kind"`            // hello, request, reply
	Stamp int            `json:"stamp,omitempty"` // request: Lamport timestamp
	Clock map[string]int `json:"clock"`
}

// logger writes the events of all nodes to one file.
type logger struct {
	mu  sync.Mutex
	out *bufio.Writer
}

func (l *logger) event(host string, clock map[string]int, text string) {
	hosts := make([]string, 0, len(clock))
	for h := range clock {
		hosts = append(hosts, h)
	}
	sort.Strings(hosts)
	var sb strings.Builder
	for i, h := range hosts {
		if i > 0 {
			sb.WriteString(", ")
		}
		fmt.Fprintf(&sb, "%q:%d", h, clock[h])
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.out, "%s {%s}\n%s\n", host, sb.String(), text)
}

type node struct {
	id   int
	name string
	cfg  *config
	log  *logger
	peer []*json.Encoder // to each other node

	mu         sync.Mutex
	entered    *sync.Cond
	clock      map[string]int
	lamport    int
	requesting bool
	stamp      int
	replies    int
	deferred   []int
}

// event ticks the node's vector clock and logs; the caller holds n.mu.
func (n *node) event(format string, args ...any) {
	n.clock[n.name]++
	n.log.event(n.name, n.clock, fmt.Sprintf(format, args...))
}

// send logs and sends a message to each of the nodes, one event for each; the
// caller holds n.mu.
func (n *node) send(kind string, to ...int) error {
	for _, p := range to {
		n.event("send %s to node%d", kind, p+1)
		m := message{From: n.id, Kind: kind, Stamp: n.stamp, Clock: n.clock}
		if err := n.peer[p].Encode(&m); err != nil {
			return err
		}
	}
	return nil
}

// receive handles a message.
func (n *node) receive(m *message) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	for h, x := range m.Clock {
		n.clock[h] = max(n.clock[h], x)
	}
	n.event("receive %s from node%d", m.Kind, m.From+1)
	switch m.Kind {
	case "request":
		n.lamport = max(n.lamport, m.Stamp)
		mine := n.requesting && (n.stamp < m.Stamp || n.stamp == m.Stamp && n.id < m.From)
		if mine {
			n.deferred = append(n.deferred, m.From)
			return nil
		}
		return n.send("reply", m.From)
	case "reply":
		n.replies++
		n.entered.Broadcast()
	}
	return nil
}

// enough tells whether the node may enter: with the replies of all others, or,
// broken, when it and those who replied are a majority.
func (n *node) enough() bool {
	if n.cfg.broken {
		return n.replies+1 > n.cfg.nodes/2
	}
	return n.replies == n.cfg.nodes-1
}

// work asks for the critical section, uses it and leaves it, again and again.
func (n *node) work() error {
	rng := rand.New(rand.NewPCG(n.cfg.seed, uint64(n.id)))
	pause := func() { time.Sleep(time.Duration(rng.ExpFloat64() * float64(n.cfg.pause))) }
	others := make([]int, 0, n.cfg.nodes-1)
	for p := range n.cfg.nodes {
		if p != n.id {
			others = append(others, p)
		}
	}
	for round := range n.cfg.rounds {
		pause()
		n.mu.Lock()
		n.lamport++
		n.stamp, n.replies, n.requesting = n.lamport, 0, true
		n.event("wants in, round=%d wants=true", round+1)
		if err := n.send("request", others...); err != nil {
			n.mu.Unlock()
			return err
		}
		for !n.enough() {
			n.entered.Wait()
		}
		n.event("enters crit=true wants=false")
		n.mu.Unlock()
		pause()
		n.mu.Lock()
		n.event("leaves crit=false")
		n.requesting = false
		deferred := n.deferred
		n.deferred = nil
		err := n.send("reply", deferred...)
		// Replies that a majority did not need still arrive; they belong to this
		// round, so the next one begins only after them.
		for n.replies < n.cfg.nodes-1 {
			n.entered.Wait()
		}
		n.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// run lets the nodes run until each has been in its critical section as often
// as it should and all messages have arrived.
func run(ctx context.Context, cfg config, out io.Writer) error {
	l := &logger{out: bufio.NewWriter(out)}
	fmt.Fprintf(l.out, "%s\n\n", `(?<host>\S*) (?<clock>{.*})\n(?<event>.*)`)
	nodes := make([]*node, cfg.nodes)
	listeners := make([]net.Listener, cfg.nodes)
	for i := range nodes {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer ln.Close()
		listeners[i] = ln
		n := &node{id: i, name: fmt.Sprintf("node%d", i+1), cfg: &cfg, log: l,
			clock: map[string]int{}, peer: make([]*json.Encoder, cfg.nodes)}
		n.entered = sync.NewCond(&n.mu)
		nodes[i] = n
		n.event("starts crit=false wants=false round=0")
	}
	g, _ := errgroup.WithContext(ctx)
	// Every node accepts a connection from each other one and reads it to its
	// end.
	for _, n := range nodes {
		g.Go(func() error {
			var readers errgroup.Group
			for range cfg.nodes - 1 {
				conn, err := listeners[n.id].Accept()
				if err != nil {
					return err
				}
				readers.Go(func() error {
					defer conn.Close()
					dec := json.NewDecoder(conn)
					for {
						var m message
						if err := dec.Decode(&m); err == io.EOF {
							return nil
						} else if err != nil {
							return err
						}
						if err := n.receive(&m); err != nil {
							return err
						}
					}
				})
			}
			return readers.Wait()
		})
	}
	var conns []net.Conn
	for _, n := range nodes {
		for p := range nodes {
			if p == n.id {
				continue
			}
			conn, err := net.Dial("tcp", listeners[p].Addr().String())
			if err != nil {
				return err
			}
			conns = append(conns, conn)
			n.peer[p] = json.NewEncoder(conn)
		}
	}
	var workers errgroup.Group
	for _, n := range nodes {
		workers.Go(n.work)
	}
	err := workers.Wait()
	// A node that is through may still have to reply to others; now nobody
	// waits for a reply any more.
	for _, c := range conns {
		c.Close()
	}
	if err2 := g.Wait(); err == nil {
		err = err2
	}
	if err2 := l.out.Flush(); err == nil {
		err = err2
	}
	return err
}
