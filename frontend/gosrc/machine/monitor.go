package machine

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"

	"cpor/system"
	"cpor/testkit/sabotage"
)

// A search that stores states need not keep the history of an execution of check.Linearizable.
// What can still become of a history depends on less: which calls have begun, and what the
// specification may have done by now. For each order of calls that explains what has returned, a
// configuration says in which state the specification is behind it, which running calls are in the
// order already, and what these must return. The monitor is the set of all configurations. It is
// part of the state in place of the history: so executions that differ only in the order of the
// calls lead to one state wherever the specification makes no difference between them.
//
// # Why that is exact
//
// By induction on the events of an execution, the configurations are those of the orders of calls
// such that each call that has returned is in the order, with what it has returned; each further
// call of the order is running, and has the result that the specification gives it; and no call
// comes before one that had returned when it began. An invocation adds the orders that end with
// that call and perhaps others that are running (close). A response with the result x removes the
// orders that lack the call or give it another result; what is left needs no addition, because
// the calls that are running are fewer. In an order of a complete history each call comes between
// its invocation and its response in that sense: the order is linearizable at the moments at
// which its calls were added. Conversely, an order that respects what precedes what can be split
// into moments: a call is added at the later one of its invocation and the last invocation of
// those before it in the order, which is not behind its response, because otherwise one of those
// before it would have begun after it had returned. So a history has an order if and only if a
// configuration is left in the end whose specification then returns what the calls in the end
// have returned. A call that waits forever must not be in the order, and must wait behind it.
//
// Two executions that reach the same state of the program and the same monitor have the same
// continuations, and with each of them both or neither have an order.
//
// # The specification
//
// It is executed beforehand, by itself (Specify): a scenario has few calls, so the states that
// the specification reaches by them, in all orders in which the calls of each goroutine keep
// theirs, are a graph. Values that are equal word by word, up to the addresses of what they refer
// to, are one node (fingerprint). States are one if whatever calls are left return the same in
// both (number): that matters where a slice has remains of what was taken out of it. A
// specification that changes anything besides its value, or whose results are not compared by
// what they are when a call returns (pointers, slices and maps may change afterwards), is not
// used, and the histories are kept.

// spec is the specification of a scenario, and the monitors of its executions.
type spec struct {
	results map[string]int32 // from 1 on
	prefix  int32            // the results of the calls before the goroutines
	classes []class
	root    int32

	mu     sync.Mutex
	ids    map[string]uint32
	all    []monitor // by number; 0: no call has begun
	events map[monitorEvent]uint32
}

// limitCallers is how many goroutines a scenario may have, as package check says.
const limitCallers = 8

// What the specification does with the next call of a goroutine, besides leading to a class.
const (
	noCall  = -1 // there is none
	mayNot  = -2 // it waits
	unknown = -1 // a result that the specification never has
)

// class is the states of the specification that differ in nothing that the calls left can show.
type class struct {
	next   [limitCallers]int32
	result [limitCallers]int32
	last   int32 // the results of the calls in the end, if no call is left; 0: some are
}

// configuration is a state of the specification, behind an order of calls.
type configuration struct {
	class int32
	// done are, by goroutine, the results of running calls that are in the order; 0: it is not.
	done [limitCallers]int32
}

// monitor is what matters of a history.
type monitor struct {
	running uint8 // goroutines, as bits
	all     []configuration
}

// monitorEvent is an invocation, with the result 0, or a response.
type monitorEvent struct {
	from   uint32
	caller int32
	result int32
}

func (c configuration) compare(d configuration) int {
	return cmp.Or(cmp.Compare(c.class, d.class), slices.Compare(c.done[:], d.done[:]))
}

// enter returns the number of a monitor.
func (s *spec) enter(x monitor) uint32 {
	slices.SortFunc(x.all, configuration.compare)
	x.all = slices.Compact(x.all)
	key := []byte{x.running}
	if len(x.all) == 0 {
		key = key[:0] // nothing can be explained any more
	}
	for _, c := range x.all {
		key = binary.AppendVarint(key, int64(c.class))
		for _, d := range c.done {
			key = binary.AppendVarint(key, int64(d))
		}
	}
	id, ok := s.ids[string(key)]
	if !ok {
		id = uint32(len(s.all))
		s.all = append(s.all, x)
		s.ids[string(key)] = id
	}
	return id
}

// begins returns the monitor behind the calls before the goroutines, which have returned that.
func (s *spec) begins(results string) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := monitor{}
	if s.results[results] == s.prefix {
		x.all = []configuration{{class: s.root}}
	}
	return s.enter(x)
}

// invoked returns the monitor behind an invocation.
func (s *spec) invoked(from uint32, caller int32) uint32 {
	return s.after(monitorEvent{from: from, caller: caller}, func(x monitor) monitor {
		y := monitor{running: x.running | 1<<caller, all: slices.Clone(x.all)}
		if sabotage.Is("histories/order") {
			y.running = 1<<limitCallers - 1
		}
		s.close(&y)
		return y
	})
}

// responded returns the monitor behind a response.
func (s *spec) responded(from uint32, caller int32, result string) uint32 {
	s.mu.Lock()
	r, ok := s.results[result]
	s.mu.Unlock()
	if !ok {
		r = unknown
	}
	return s.after(monitorEvent{from, caller, r}, func(x monitor) monitor {
		y := monitor{running: x.running &^ (1 << caller)}
		for _, c := range x.all {
			if c.done[caller] == r || sabotage.Is("histories/result") {
				c.done[caller] = 0
				y.all = append(y.all, c)
			}
		}
		return y
	})
}

func (s *spec) after(e monitorEvent, f func(monitor) monitor) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.events[e]
	if !ok {
		id = s.enter(f(s.all[e.from]))
		s.events[e] = id
	}
	return id
}

// close adds what the specification may do with the running calls.
func (s *spec) close(x *monitor) {
	seen := map[configuration]bool{}
	for _, c := range x.all {
		seen[c] = true
	}
	for i := 0; i < len(x.all) && (i == 0 || !sabotage.Is("histories/chain")); i++ {
		c := x.all[i]
		for g := range int32(limitCallers) {
			k := &s.classes[c.class]
			if x.running>>g&1 == 0 || c.done[g] != 0 || k.next[g] < 0 {
				continue
			}
			d := c
			d.class, d.done[g] = k.next[g], k.result[g]
			if !seen[d] {
				seen[d] = true
				x.all = append(x.all, d)
			}
		}
	}
}

// explained reports whether an order explains all calls, of which those of some goroutines have
// begun and wait forever. The calls in the end have returned last, unless some wait.
func (s *spec) explained(id uint32, last string, waiting uint64) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all[id].all, func(c configuration) bool {
		k := &s.classes[c.class]
		if waiting == 0 {
			return k.last != 0 && k.last == s.results[last]
		}
		for g := range limitCallers {
			if c.done[g] != 0 || waiting>>g&1 == 1 && k.next[g] != mayNot {
				return false
			}
		}
		return true
	})
}

// rules are the specification as package check finds it: a graph of nodes.
type rules struct {
	nodes  []class // with nodes for classes
	prints map[string]int
	s      *spec
	ended  bool
	waits  int    // calls that wait, each in a goroutine of its own
	outer  string // what is not part of the value
	why    string // the histories are kept
}

func (x *rules) node(n int) *class {
	for len(x.nodes) <= n {
		c := class{}
		for g := range c.next {
			c.next[g] = noCall
		}
		x.nodes = append(x.nodes, c)
	}
	return &x.nodes[n]
}

func (x *rules) result(text string) int32 {
	r, ok := x.s.results[text]
	if !ok {
		r = int32(len(x.s.results) + 1)
		x.s.results[text] = r
	}
	return r
}

// number makes classes of the nodes. What follows a node is numbered before it.
func (x *rules) number() {
	x.node(0) // there is one, even if no call was made
	of, known := make([]int32, len(x.nodes)), map[class]int32{}
	var number func(n int32) int32
	number = func(n int32) int32 {
		if of[n] > 0 {
			return of[n] - 1
		}
		c := x.nodes[n]
		for g, to := range c.next {
			if to >= 0 {
				c.next[g] = number(to)
			}
		}
		if sabotage.Is("histories/class") {
			c.result = [limitCallers]int32{}
		}
		k, ok := known[c]
		if !ok {
			k = int32(len(x.s.classes))
			known[c] = k
			x.s.classes = append(x.s.classes, c)
		}
		of[n] = k + 1
		return k
	}
	x.s.root = number(0)
}

// specSteps is how many steps the specification of a scenario may take.
const specSteps = 1_000_000

// Specify executes the specification of a scenario on a machine whose state does not matter, so
// that its executions keep what matters of their histories, and no more. It returns why that
// cannot be; empty if it can.
func (m *Machine) Specify(scenario int) (why string) {
	x := &rules{prints: map[string]int{}, s: &spec{results: map[string]int32{},
		ids: map[string]uint32{}, events: map[monitorEvent]uint32{}, all: make([]monitor, 1)}}
	s := m.sys
	m.Load(s.scenarios[scenario])
	m.rules = x
	defer func() { m.rules = nil }()
	for steps := 0; x.why == "" && !m.Over(); steps++ {
		moved := false
		for t := m.NumThreads() - 1; t >= 0 && !moved; t-- {
			o := m.Step(t, 0)
			if o.Violation != nil {
				return o.Violation.Message
			}
			moved = o.Kind == system.Moved
		}
		if !moved || steps > specSteps {
			break
		}
		m.Forget()
	}
	if x.why != "" || !x.ended {
		return cmp.Or(x.why, "it does not end")
	}
	x.number()
	s.specs[scenario] = x.s
	return ""
}

// spec is that of the execution; nil: its history is kept.
func (m *Machine) spec() *spec {
	if m.scenario == 0 || len(m.sys.specs) == 0 {
		return nil
	}
	return m.sys.specs[m.scenario-1]
}

// Unmerged returns why histories must be kept after all; empty if nothing speaks for it.
func (s *System) Unmerged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unmerged
}

// aside notes if the specification has done more than its value shows since this was called last.
func (m *Machine) aside() {
	x := m.rules
	others, draws := 0, int32(0)
	for _, g := range m.gors {
		others += int(flag(g.status == alive))
		draws += g.rands
	}
	outer := m.encoder()
	for _, id := range m.soiled(m.sys.first) {
		if changed(m, m.sys.first, id) {
			outer.word(uint64(id))
			outer.object(id)
		}
	}
	text := fmt.Sprint(draws, m.clockWasRead, outer.text())
	switch {
	case others-1 != x.waits:
		x.why = "it starts goroutines"
	case x.outer != "" && x.outer != text:
		x.why = "it changes more than its value"
	}
	x.outer = text
}

// fingerprint returns a number of a value, the same for values that nothing can tell apart.
func (m *Machine) fingerprint(typ, w uint64) int {
	m.aside()
	x := m.rules
	e := m.encoder()
	e.word(typ, e.iface(m.p.TypeByID(typ), w))
	print := e.text()
	n, ok := x.prints[print]
	if !ok {
		n = len(x.prints)
		x.prints[print] = n
	}
	return n
}

// text writes what was referred to, and returns everything.
func (e *encoder) text() string {
	for i := 0; i < len(e.list) && !sabotage.Is("histories/value"); i++ {
		e.object(e.list[i])
	}
	var b []byte
	for _, w := range e.dst {
		b = binary.AppendUvarint(b, w)
	}
	return string(b)
}

// merging are the natives of package check for this.
func merging(plain func(name string, run func(m *Machine, g *goroutine, r []uint64))) {
	// Merges reports whether the execution keeps a monitor in place of its history.
	plain("internal/cpor.Merges", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(m.spec() != nil)
	})
	// Specifying reports whether the specification is to be executed, and nothing else.
	plain("internal/cpor.Specifying", func(m *Machine, g *goroutine, r []uint64) {
		r[0] = flag(m.rules != nil)
	})
	// Unmerged(why): histories must be kept.
	plain("internal/cpor.Unmerged", func(m *Machine, g *goroutine, r []uint64) {
		why := m.text(r[0])
		if m.rules != nil {
			m.rules.why = why
		}
		m.sys.mu.Lock()
		defer m.sys.mu.Unlock()
		m.sys.unmerged = why
	})
	// Fingerprint(value any) int
	plain("internal/cpor.Fingerprint", func(m *Machine, g *goroutine, r []uint64) {
		r[2] = uint64(m.fingerprint(r[0], r[1]))
	})
	// Rule(node, caller, next int, result string): at a node, the next call of a goroutine leads
	// to another one; next < 0: it waits.
	plain("internal/cpor.Rule", func(m *Machine, g *goroutine, r []uint64) {
		k, next := m.rules.node(int(r[0])), int32(int64(r[2]))
		if next < 0 {
			next = mayNot
			m.rules.waits++
		} else {
			k.result[r[1]] = m.rules.result(m.text(r[3]))
		}
		k.next[r[1]] = next
	})
	// Last(node int, results string): those of the calls in the end.
	plain("internal/cpor.Last", func(m *Machine, g *goroutine, r []uint64) {
		m.rules.node(int(r[0])).last = m.rules.result(m.text(r[1]))
	})
	// Specified(results string): that was all, with the results of the calls before.
	plain("internal/cpor.Specified", func(m *Machine, g *goroutine, r []uint64) {
		m.aside()
		m.rules.s.prefix, m.rules.ended = m.rules.result(m.text(r[0])), true
	})
	// Prefixed(results string): the calls before the goroutines have returned.
	plain("internal/cpor.Prefixed", func(m *Machine, g *goroutine, r []uint64) {
		m.monitor = m.spec().begins(m.text(r[0]))
	})
	// Invocation(caller int): a call of that goroutine of the scenario begins.
	plain("internal/cpor.Invocation", func(m *Machine, g *goroutine, r []uint64) {
		g.invokes, g.sees, g.words = 0, r[0], 1
	})
	// Response(caller int, result string): it has returned.
	plain("internal/cpor.Response", func(m *Machine, g *goroutine, r []uint64) {
		m.monitor = m.spec().responded(m.monitor, int32(r[0]), m.text(r[1]))
	})
	// Explained(last string, waiting int) bool
	plain("internal/cpor.Explained", func(m *Machine, g *goroutine, r []uint64) {
		r[2] = flag(m.spec().explained(m.monitor, m.text(r[0]), r[1]))
	})
}
