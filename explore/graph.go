package explore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"cpor/engine"
	"cpor/engine/search"
	"cpor/engine/search/reduction"
	"cpor/system"
	"cpor/trace"
)

// MaxGraph is the largest number of states that a state graph is drawn of.
const MaxGraph = 2000

// Graph is the state graph of a program, and what a reduction explores of it.
type Graph struct {
	Nodes []Node `json:"nodes"`
	Edges []Edge `json:"edges"`
	// Complete reports whether these are all states.
	Complete bool `json:"complete"`
	// Reduction is the name of the reduction whose search is marked; "" for none.
	Reduction string `json:"reduction"`
	// Columns are the threads.
	Columns []string `json:"columns"`
	// Vars are the variables whose values distinguish the states.
	Vars []GraphVar `json:"vars"`
}

// GraphVar is a variable, with all values that it has in the states of a graph.
type GraphVar struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// maxGraphVars bounds the variables of a graph.
const maxGraphVars = 200

// Node is a state.
type Node struct {
	// Y is the layer in which it is drawn: its distance from the initial states.
	Y int `json:"y"`
	// Path leads there, by a shortest way.
	Parent int  `json:"parent"` // -1 for an initial state
	Step   Step `json:"step"`   // from the parent
	First  int  `json:"first"`  // the number of the initial state
	// Covered: the reduced search stores the state. Passed: it comes through it on
	// the path of a move.
	Covered bool `json:"covered"`
	Passed  bool `json:"passed"`
	// End: no thread is enabled. Deadlock: and one should not wait forever.
	End      bool `json:"end"`
	Deadlock bool `json:"deadlock"`
	// Violation is what a transition to the state violates.
	Violation string `json:"violation"`
	// Values are indices into the values of Graph.Vars, -1 for a variable that does not exist
	// here; those at the end may be missing.
	Values []int `json:"values"`
}

// Edge is a transition; several between the same states by the same thread are one.
type Edge struct {
	From   int    `json:"from"`
	To     int    `json:"to"`
	Column int    `json:"column"`
	Text   string `json:"text"`
	Taken  bool   `json:"taken"` // by the reduced search
}

// grapher builds a graph.
type grapher struct {
	sys    system.System
	obs    system.Observers
	m      system.Machine
	g      *Graph
	index  map[string]int
	states []system.State
	edges  map[[3]int]int
	column map[int]int
	vars   map[string]int   // indices into g.Vars, by name
	values []map[string]int // of each of them, indices into its values
}

// Graph explores a program without a reduction, up to MaxGraph states, and marks what
// the stateful search with a reduction explores of it; "" marks nothing. The error says
// what is wrong with the name, or that the reduction cannot explore the program.
func (x *Explorer) Graph(ctx context.Context, name string) (*Graph, error) {
	sys := x.Program.System
	b := &grapher{sys: sys, obs: *x.observers(), m: sys.NewMachine(), index: map[string]int{},
		edges: map[[3]int]int{}, column: map[int]int{}, vars: map[string]int{},
		g: &Graph{Nodes: []Node{}, Edges: []Edge{}, Columns: []string{}, Vars: []GraphVar{},
			Reduction: name}}
	if err := b.full(ctx); err != nil {
		return nil, err
	}
	if name != "" {
		if err := b.reduced(ctx, name); err != nil {
			return nil, err
		}
	}
	if err := x.refused(); err != nil {
		return nil, err
	}
	return b.g, nil
}

// add returns the number of the live state, a new one if it is new, and -1 if there is
// no room.
func (b *grapher) add(parent int, s trace.Step, first int) int {
	key := engine.StateKey(b.sys, &b.obs, b.m)
	if i, ok := b.index[key]; ok {
		return i
	}
	if len(b.g.Nodes) == MaxGraph {
		b.g.Complete = false
		return -1
	}
	i := len(b.g.Nodes)
	b.index[key] = i
	b.states = append(b.states, b.m.Encode(nil))
	n := Node{Parent: parent, First: first}
	if parent >= 0 {
		n.Step = Step{uint64(s.Thread), s.Alt}
		n.Y, n.First = b.g.Nodes[parent].Y+1, b.g.Nodes[parent].First
	}
	b.g.Nodes = append(b.g.Nodes, n)
	return i
}

// full goes through all states breadth-first.
func (b *grapher) full(ctx context.Context) error {
	b.g.Complete = true
	for first, s := range b.sys.Initial() {
		b.m.Load(s)
		b.add(-1, trace.Step{}, first)
	}
	b.m.Track(true)
	for i := 0; i < len(b.states); i++ {
		if i%256 == 0 && ctx.Err() != nil {
			return errors.New("the drawing was stopped")
		}
		b.m.Load(b.states[i])
		enabled, blocked := b.obs.Deadlock(b.m)
		b.g.Nodes[i].End = enabled < 0
		b.g.Nodes[i].Deadlock = enabled < 0 && len(blocked) > 0
		b.describe(&b.g.Nodes[i])
		for t := range b.m.NumThreads() {
			if b.obs.Has(t) {
				mark := b.m.Mark()
				if out := b.m.Step(t, 0); out.Violation != nil {
					b.g.Nodes[i].violated(out.Violation)
				}
				b.m.Rewind(mark)
			}
		}
		if n := b.m.Capabilities().Narrating; n != nil {
			n.Narrate(true)
		}
		texts := map[int]string{}
		for t := range b.m.NumThreads() {
			if _, text, ok := b.m.Next(t); ok {
				texts[t] = text
			}
		}
		eachMove(b.m, &b.obs, true, func(s trace.Step, out system.Outcome) {
			text := texts[s.Thread]
			if told := b.m.Capabilities().Telling; told != nil {
				_, text = told.Told()
			}
			to := b.add(i, s, 0)
			if to < 0 {
				return
			}
			if out.Violation != nil {
				b.g.Nodes[to].violated(out.Violation)
			}
			b.edge(i, to, s.Thread, text)
		})
	}
	return nil
}

// describe notes the values of all variables in the live state, and where the threads are.
func (b *grapher) describe(n *Node) {
	n.Values = []int{}
	if s := b.m.Capabilities().Showing; s != nil {
		for _, v := range s.Variables() {
			b.value(n, v.Name, v.Value)
		}
	}
	for t := range b.m.NumThreads() {
		if b.obs.Has(t) {
			continue
		}
		name := b.m.ThreadName(t)
		pos, text, ok := b.m.Next(t)
		switch {
		case !ok:
			text = "ended"
		case pos.Line > 0:
			text = fmt.Sprintf("%d: %s", pos.Line, text)
		}
		b.value(n, name+" at", text)
		for _, l := range b.m.Locals(t) {
			b.value(n, name+"."+l.Name, l.Value)
		}
	}
}

// value notes the value of a variable in a state.
func (b *grapher) value(n *Node, name, value string) {
	i, ok := b.vars[name]
	if !ok {
		if i = len(b.g.Vars); i == maxGraphVars {
			return
		}
		b.vars[name] = i
		b.g.Vars = append(b.g.Vars, GraphVar{Name: name})
		b.values = append(b.values, map[string]int{})
	}
	k, ok := b.values[i][value]
	if !ok {
		k = len(b.g.Vars[i].Values)
		b.values[i][value] = k
		b.g.Vars[i].Values = append(b.g.Vars[i].Values, value)
	}
	for len(n.Values) <= i {
		n.Values = append(n.Values, -1)
	}
	n.Values[i] = k
}

func (n *Node) violated(v *system.Violation) {
	if text := trace.Headline(v); !strings.Contains(n.Violation, text) {
		n.Violation = strings.TrimPrefix(n.Violation+"; "+text, "; ")
	}
}

// edge enters an edge and returns its number.
func (b *grapher) edge(from, to, thread int, text string) int {
	c, ok := b.column[thread]
	if !ok {
		c = len(b.g.Columns)
		b.column[thread] = c
		b.g.Columns = append(b.g.Columns, b.m.ThreadName(thread))
	}
	key := [3]int{from, to, c}
	e, ok := b.edges[key]
	if !ok {
		e = len(b.g.Edges)
		b.edges[key] = e
		b.g.Edges = append(b.g.Edges, Edge{From: from, To: to, Column: c, Text: text})
	} else if !strings.Contains(b.g.Edges[e].Text, text) {
		b.g.Edges[e].Text += " | " + text
	}
	return e
}

// reduced runs the search with a reduction and marks what it does.
func (b *grapher) reduced(ctx context.Context, name string) error {
	t := &engine.Task{System: b.sys, Options: engine.Options{Workers: 1, All: true}}
	if why := system.WhyIrreducible(b.sys, false); why != "" && name != "none" {
		return fmt.Errorf("no reduction is sound: %s", why)
	}
	newExpander, err := reduction.Expanders(name, t)
	if err != nil {
		return err
	}
	o := search.Options{Options: t.Options}
	// What a prefix passes through need not fit the picture, but what is covered is a
	// part of all states, so that this bound is met by pictures that are not whole.
	o.MaxStates = MaxGraph
	w := &marker{b: b, m: b.sys.NewMachine()}
	o.Hook = func(int) search.Hook { return w }
	_, err = search.Run(ctx, b.sys, newExpander, o)
	return err
}

// marker marks what a search does. There is one worker.
type marker struct {
	b    *grapher
	m    system.Machine
	from system.State
}

// at returns the number of the live state, -1 if it is not drawn.
func (w *marker) at() int {
	if i, ok := w.b.index[engine.StateKey(w.b.sys, &w.b.obs, w.m)]; ok {
		return i
	}
	return -1
}

// Expand implements search.Hook.
func (w *marker) Expand(s system.State) {
	w.from = slices.Clone(s)
	w.m.Load(s)
	if i := w.at(); i >= 0 {
		w.b.g.Nodes[i].Covered = true
	}
}

// Move implements search.Hook: it marks the path of the move.
func (w *marker) Move(mv *search.Move) {
	w.m.Load(w.from)
	b := w.b
	before, alt := w.at(), mv.Alt
	for range mv.Len {
		if out := w.m.Step(mv.Thread, alt); out.Kind != system.Moved {
			break
		}
		alt = 0
		after := w.at()
		if before >= 0 && after >= 0 && !b.obs.Has(mv.Thread) {
			b.g.Edges[b.edge(before, after, mv.Thread, "")].Taken = true
		}
		if after >= 0 {
			b.g.Nodes[after].Passed = true
		}
		before = after
	}
}

// Violation implements search.Hook.
func (w *marker) Violation(*system.Violation, []search.Step) {}
