package buchi

import (
	"fmt"
	"slices"
	"strings"

	"cpor/ltl/buchi/internal/bdd"
)

// A weak deterministic automaton exists exactly for the obligation properties, and the minimal
// one is unique (Löding 2001). Dax, Eisinger and Klaedtke (ATVA 2007) get it from a
// nondeterministic automaton: determinise by subsets as if the words were finite, decide for
// each component whether its words are accepted by testing one cycle, and minimize as a finite
// automaton. The result is right if the language is an obligation; else it must be compared with
// the original.

// subsets is the deterministic automaton of sets of states. It is complete: the
// empty set is a state.
type subsets struct {
	g     *graph
	sets  [][]int
	out   [][]edge // sorted by target, one edge for each
	index map[string]int
}

// maxBlocks bounds the work of determinise, in pairs of an edge and a block of letters. It is
// reached within tenths of a second.
const maxBlocks = 50000

// maxSubsets bounds the states of a deterministic automaton: minimize takes the
// square of their number in the worst case.
const maxSubsets = 1000

// determinise returns the subset automaton of g, or nil if it has more than limit
// states or takes too much work.
func (g *graph) determinise(limit int) *subsets {
	d := &subsets{g: g, index: map[string]int{}}
	d.add([]int{g.init})
	work := 0
	for i := 0; i < len(d.sets); i++ {
		if len(d.sets) > limit || g.m.Err() != nil {
			return nil
		}
		// Divide the letters by the set of edges that they enable.
		type block struct {
			label bdd.Node
			dsts  []int
		}
		blocks := []block{{label: bdd.True}}
		for _, q := range d.sets[i] {
			for _, e := range g.out[q] {
				var next []block
				for _, b := range blocks {
					if in := g.m.And(b.label, e.label); in != bdd.False {
						next = append(next, block{in, append(slices.Clone(b.dsts), e.dst)})
					}
					if rest := g.m.Diff(b.label, e.label); rest != bdd.False {
						next = append(next, block{rest, b.dsts})
					}
				}
				blocks = next
				if work += len(blocks); work > maxBlocks {
					return nil
				}
			}
		}
		labels := map[int]bdd.Node{}
		for _, b := range blocks {
			j := d.add(b.dsts)
			labels[j] = g.m.Or(labels[j], b.label)
		}
		d.out = append(d.out, edgesOf(labels))
	}
	return d
}

func (d *subsets) add(set []int) int {
	set = slices.Clone(set)
	slices.Sort(set)
	set = slices.Compact(set)
	key := fmt.Sprint(set)
	i, ok := d.index[key]
	if !ok {
		i = len(d.sets)
		d.index[key] = i
		d.sets = append(d.sets, set)
	}
	return i
}

// edgesOf makes sorted edges from a map of targets to labels.
func edgesOf(labels map[int]bdd.Node) []edge {
	var es []edge
	for dst, label := range labels {
		es = append(es, edge{label: label, dst: dst})
	}
	slices.SortFunc(es, func(a, b edge) int { return a.dst - b.dst })
	return es
}

// minimalWeak returns the minimal weak deterministic automaton, complete and
// with final states, that agrees with g on one word for each component of the subset
// automaton; nil if that has more than limit states.
func (g *graph) minimalWeak(limit int) *graph {
	d := g.determinise(limit)
	if d == nil {
		return nil
	}
	r := &graph{m: g.m, out: d.out, final: make([]bool, len(d.sets))}
	s := r.structure()
	// Löding's colors, from the bottom up: the largest one that is not above those of the
	// successors and is even in an accepting component, odd in a rejecting one. States
	// without a cycle have a parity, too, which makes equivalent states agree.
	color := make([]int, s.count)
	for c := range color {
		color[c] = 2*s.count + 2
	}
	order := s.upwards()
	for len(order) > 0 {
		c := s.comp[order[0]]
		n := 0
		for n < len(order) && s.comp[order[n]] == c {
			for _, e := range r.out[order[n]] {
				color[c] = min(color[c], color[s.comp[e.dst]])
			}
			n++
		}
		if s.cyclic[c] && color[c]&1 == 0 != d.acceptsCycle(order[0], s.comp) {
			color[c]--
		}
		for _, q := range order[:n] {
			r.final[q] = color[c]&1 == 0
		}
		order = order[n:]
	}
	return r.minimize()
}

// acceptsCycle reports whether g accepts the word that repeats some cycle from the subset i to
// itself.
func (d *subsets) acceptsCycle(i int, comp []int) bool {
	// Breadth first from i inside the component, back to i.
	type step struct{ from, edge int }
	came := map[int]step{}
	todo := []int{i}
	for len(todo) > 0 {
		v := todo[0]
		todo = todo[1:]
		for k, e := range d.out[v] {
			if _, seen := came[e.dst]; !seen && comp[e.dst] == comp[i] {
				came[e.dst] = step{v, k}
				todo = append(todo, e.dst)
			}
		}
	}
	var word []func(v int) bool
	for v := i; ; {
		st := came[v]
		word = append(word, d.g.m.Witness(d.out[st.from][st.edge].label))
		v = st.from
		if v == i {
			break
		}
	}
	slices.Reverse(word)
	n := len(word)
	var inits []int
	for _, q := range d.sets[i] {
		inits = append(inits, q*n)
	}
	want := allSets(d.g.sets)
	if d.g.final != nil {
		want = 1
	}
	return acceptingCycle(len(d.g.out)*n, inits, want, func(v int, yield func(int, uint64)) {
		q, at := v/n, v%n
		for _, e := range d.g.out[q] {
			if d.g.m.Eval(e.label, word[at]) {
				yield(e.dst*n+(at+1)%n, e.acc|mark(d.g.isFinal(q), 1))
			}
		}
	})
}

// minimize returns the minimal complete deterministic automaton (Moore) of one
// that is deterministic and complete, all states of which are reachable.
func (g *graph) minimize() *graph {
	n := len(g.out)
	class := make([]int, n)
	classes := 1
	for q := range class {
		if g.final[q] {
			class[q] = 1
		}
		if class[q] != class[0] {
			classes = 2
		}
	}
	for {
		index := map[string]int{}
		next := make([]int, n)
		for q, es := range g.out {
			labels := map[int]bdd.Node{}
			for _, e := range es {
				labels[class[e.dst]] = g.m.Or(labels[class[e.dst]], e.label)
			}
			var key strings.Builder
			fmt.Fprint(&key, class[q])
			for _, e := range edgesOf(labels) {
				fmt.Fprint(&key, " ", e.dst, ":", e.label)
			}
			c, ok := index[key.String()]
			if !ok {
				c = len(index)
				index[key.String()] = c
			}
			next[q] = c
		}
		class = next
		if len(index) == classes {
			break
		}
		classes = len(index)
	}
	r := &graph{m: g.m, init: class[g.init], out: make([][]edge, classes),
		final: make([]bool, classes)}
	for q, es := range g.out {
		c := class[q]
		if r.out[c] != nil {
			continue
		}
		r.final[c] = g.final[q]
		for _, e := range es {
			r.out[c] = append(r.out[c], edge{label: e.label, dst: class[e.dst]})
		}
	}
	r.mergeEdges()
	return r
}

// disjoint reports whether no word is accepted by both g and h, which share
// the manager. After an error of that the answer is no, which is on the safe side.
func (g *graph) disjoint(h *graph) bool {
	n := len(h.out)
	full := func(a *graph) uint64 {
		if a.final != nil {
			return 1
		}
		return allSets(a.sets)
	}
	shift := 1
	if g.final == nil {
		shift = g.sets
	}
	if shift > 32 || h.sets > 32 {
		return false
	}
	found := acceptingCycle(len(g.out)*n, []int{g.init*n + h.init}, full(g)|full(h)<<shift,
		func(v int, yield func(int, uint64)) {
			p, q := v/n, v%n
			for _, e := range g.out[p] {
				for _, f := range h.out[q] {
					if g.m.And(e.label, f.label) != bdd.False {
						yield(e.dst*n+f.dst,
							e.acc|mark(g.isFinal(p), 1)|(f.acc|mark(h.isFinal(q), 1))<<shift)
					}
				}
			}
		})
	return !found && g.m.Err() == nil
}

// complement returns the complement of a complete weak deterministic automaton.
func (g *graph) complement() *graph {
	r := *g
	r.final = make([]bool, len(g.final))
	for q, f := range g.final {
		r.final[q] = !f
	}
	return &r
}
