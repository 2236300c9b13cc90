package traces

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"cpor/detect/computation"
)

// maxClocks bounds the entries of all vector clocks of a recording.
const maxClocks = 1 << 28

// graph is a recording: events of hosts, and what they depend on.
type graph struct {
	hosts  []string
	hostID map[string]int
	events []event
}

type event struct {
	host   int
	time   int64 // by the clock of its host
	text   string
	vars   []variable
	before []int // events that it depends on, beside its predecessor
}

type variable struct {
	name  string
	value computation.Value
}

func newGraph() *graph { return &graph{hostID: map[string]int{}} }

func (g *graph) host(name string) int {
	id, ok := g.hostID[name]
	if !ok {
		id = len(g.hosts)
		g.hosts = append(g.hosts, name)
		g.hostID[name] = id
	}
	return id
}

// add adds an event and returns its number. Events of a host with the same time
// keep the order in which they were added.
func (g *graph) add(host int, time int64, text string, vars ...variable) int {
	g.events = append(g.events, event{host: host, time: time, text: text, vars: vars})
	return len(g.events) - 1
}

// order returns the events of each host in their order.
func (g *graph) order() [][]int {
	of := make([][]int, len(g.hosts))
	for x := range g.events {
		of[g.events[x].host] = append(of[g.events[x].host], x)
	}
	for _, events := range of {
		slices.SortStableFunc(events, func(a, b int) int {
			return cmp.Compare(g.events[a].time, g.events[b].time)
		})
	}
	return of
}

// build computes the clocks and gives the events to the builder, each after
// those that it depends on.
func (g *graph) build(b *computation.Builder) error {
	n := len(g.hosts)
	if int64(n)*int64(len(g.events)) > maxClocks {
		return fmt.Errorf("%d events of %d hosts would need vector clocks of %d entries, more "+
			"than %d", len(g.events), n, int64(n)*int64(len(g.events)), maxClocks)
	}
	ids := make([]int, n)
	for i, name := range g.hosts {
		ids[i] = b.Host(name)
		b.Declare(ids[i])
	}
	size := slices.Max(append(slices.Clone(ids), 0)) + 1
	of := g.order()
	next := make([]int, n)
	clock := make([]computation.Cut, len(g.events))
	last := make([]computation.Cut, n)
	for i := range last {
		last[i] = make(computation.Cut, size)
	}
	for left := len(g.events); left > 0; {
		before := left
		for i := range of {
		events:
			for ; next[i] < len(of[i]); next[i]++ {
				e := &g.events[of[i][next[i]]]
				c := last[i].Clone()
				for _, p := range e.before {
					if clock[p] == nil {
						break events
					}
					c.Join(clock[p])
				}
				c[ids[i]] = int32(next[i] + 1)
				last[i], clock[of[i][next[i]]] = c, c
				b.Event(ids[i], 0)
				b.SetClock(c)
				b.Text([]byte(e.text))
				for _, v := range e.vars {
					b.Assign(b.Name(v.name), v.value)
				}
				left--
			}
		}
		if left == before {
			return g.cycle(of, next)
		}
	}
	return nil
}

// cycle describes events that wait for one another.
func (g *graph) cycle(of [][]int, next []int) error {
	var parts []string
	for i := range of {
		if next[i] < len(of[i]) && len(parts) < 4 {
			parts = append(parts, fmt.Sprintf("%s of %s", g.events[of[i][next[i]]].text,
				g.hosts[i]))
		}
	}
	return fmt.Errorf("the order of the times contradicts that of the spans: these wait for one "+
		"another: %s", strings.Join(parts, "; "))
}

// name makes a name of a variable.
func name(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' &&
			r <= 'Z' || r >= 0x80 {
			return r
		}
		return '_'
	}, s)
}
