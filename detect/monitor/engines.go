package monitor

import (
	"encoding/json"
	"math"
	"slices"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

const never = math.MaxInt32

// part evaluates a conjunction on local states; the truth of the 1-local
// literals is remembered for each tuple of values.
type part struct {
	conj  *predicate.Conjunction
	masks [][][]bool // by host, tuple, clause
}

func newPart(m *Monitor, conj *predicate.Conjunction) part {
	return part{conj: conj, masks: make([][][]bool, len(m.hosts))}
}

// forget follows a renumbering of the tuples.
func (p *part) forget() {
	for i := range p.masks {
		p.masks[i] = nil
	}
}

func (p *part) conjunction() *predicate.Conjunction { return p.conj }

// local reports whether host i's own literal of clause x is true.
func (p *part) local(m *Monitor, i, x int, tuple int32) bool { return p.truth(m, i, tuple)[x] }

func (p *part) truth(m *Monitor, i int, tuple int32) []bool {
	for int(tuple) >= len(p.masks[i]) {
		p.masks[i] = append(p.masks[i], nil)
	}
	mask := p.masks[i][tuple]
	if mask == nil {
		mask = make([]bool, len(p.conj.Clauses))
		for y, cl := range p.conj.Clauses {
			if l := cl.Local[i]; l != nil {
				mask[y] = l.Eval(func(n *predicate.Node) computation.Value {
					return m.value(n, tuple)
				}).IsTrue()
			}
		}
		p.masks[i][tuple] = mask
	}
	return mask
}

// holds reports whether clause x is true when the hosts have these tuples.
func (p *part) holds(m *Monitor, x int, tuples []int32) bool {
	cl := p.conj.Clauses[x]
	for _, i := range cl.Support {
		if p.local(m, i, x, tuples[i]) {
			return true
		}
	}
	for _, l := range cl.Joint {
		if l.Eval(func(n *predicate.Node) computation.Value {
			return m.value(n, tuples[n.Process])
		}).IsTrue() {
			return true
		}
	}
	return false
}

// tuplesAt returns the tuples of a cut whose events have all arrived.
func (m *Monitor) tuplesAt(cut computation.Cut, out []int32) []int32 {
	out = out[:0]
	for i, h := range m.hosts {
		out = append(out, h.states[h.find(cut[i])].tuple)
	}
	return out
}

// seeker is the interval search for Poss: see package detect. A branch whose
// next local state has not arrived waits for it.
type seeker struct {
	part
	nodes   map[*seekNode]struct{}
	waiting []map[*seekNode]struct{} // by host
	ready   []*seekNode
	tuples  []int32
}

// seekNode is an interval [s, ub) of cuts.
type seekNode struct {
	S, UB computation.Cut
	// Clause is the false clause that was chosen, -1 before that: some event of
	// s has not arrived.
	Clause int
	// Pending are the processes whose next candidate is not known, with the
	// position up to which their local states are none.
	Pending []pending
}

type pending struct {
	Host int
	From int32
}

func newSeeker(m *Monitor, conj *predicate.Conjunction) *seeker {
	k := &seeker{part: newPart(m, conj), nodes: map[*seekNode]struct{}{},
		waiting: make([]map[*seekNode]struct{}, len(m.hosts))}
	for i := range k.waiting {
		k.waiting[i] = map[*seekNode]struct{}{}
	}
	n := &seekNode{S: make(computation.Cut, len(m.hosts)), UB: make(computation.Cut, len(m.hosts)),
		Clause: -1}
	for i := range n.UB {
		n.UB[i] = never
	}
	k.add(n)
	return k
}

func (k *seeker) add(n *seekNode) {
	k.nodes[n] = struct{}{}
	k.ready = append(k.ready, n)
}

func (k *seeker) advance(m *Monitor, i int) (*Detection, bool) {
	wake := func(i int) {
		for n := range k.waiting[i] {
			k.ready = append(k.ready, n)
		}
		clear(k.waiting[i])
	}
	if i >= 0 {
		wake(i)
	} else {
		for i := range m.hosts {
			wake(i)
		}
	}
	for steps := 0; len(k.ready) > 0; steps++ {
		if steps%1024 == 1023 && m.over(len(k.nodes)) {
			return nil, false
		}
		n := k.ready[len(k.ready)-1]
		k.ready = k.ready[:len(k.ready)-1]
		if _, alive := k.nodes[n]; !alive {
			continue
		}
		if k.process(m, n) {
			return m.detection(n.S), true
		}
	}
	return nil, false
}

// process continues with a node; it reports whether its state satisfies the
// conjunction.
func (k *seeker) process(m *Monitor, n *seekNode) bool {
	if n.Clause < 0 {
		for i, h := range m.hosts {
			if n.S[i] > h.arrived {
				k.waiting[i][n] = struct{}{}
				return false
			}
		}
		if k.tuples = m.tuplesAt(n.S, k.tuples); k.fails(m, n) {
			return true
		}
		for _, i := range k.conj.Clauses[n.Clause].Support {
			n.Pending = append(n.Pending, pending{i, n.S[i]})
		}
	}
	cl := k.conj.Clauses[n.Clause]
	left := n.Pending[:0]
	for _, p := range n.Pending {
		h := m.hosts[p.Host]
		x := h.find(p.From)
		before := h.states[x].tuple
		candidate := -1
		for x++; x < len(h.states) && h.states[x].at < n.UB[p.Host]; x++ {
			t := h.states[x].tuple
			if k.local(m, p.Host, n.Clause, t) || len(cl.Joint) > 0 && t != before {
				candidate = x
				break
			}
			p.From = h.states[x].at
			before = t
		}
		switch {
		case candidate >= 0:
			st := &h.states[candidate]
			child := &seekNode{S: n.S.Clone(), UB: n.UB.Clone(), Clause: -1}
			child.S.Join(st.clock)
			n.UB[p.Host] = st.at
			inside := true
			for j, y := range child.S {
				inside = inside && y < child.UB[j]
			}
			if inside {
				k.add(child)
			}
		case max(h.arrived+1, p.From+1) < n.UB[p.Host]:
			left = append(left, p)
			k.waiting[p.Host][n] = struct{}{}
		}
	}
	if n.Pending = left; len(left) == 0 {
		delete(k.nodes, n)
	}
	return false
}

// fails chooses a clause that does not hold in the state of a node, of those with the fewest hosts
// the first, and tells that all hold if there is none.
func (k *seeker) fails(m *Monitor, n *seekNode) bool {
	for x, cl := range k.conj.Clauses {
		if (n.Clause < 0 || len(cl.Support) < len(k.conj.Clauses[n.Clause].Support)) &&
			!k.holds(m, x, k.tuples) {
			n.Clause = x
		}
	}
	return n.Clause < 0
}

func (k *seeker) size() int { return len(k.nodes) }

func (k *seeker) needed(i int) int32 {
	least := int32(never)
	for n := range k.nodes {
		at := n.S[i]
		if len(n.Pending) == 1 && n.Pending[0].Host == i {
			at = n.Pending[0].From // the next state of the branch is beyond that
		}
		least = min(least, at)
	}
	return least
}

func (k *seeker) end(*Monitor) (bool, error) { return false, nil }

func (k *seeker) save() any {
	nodes := make([]*seekNode, 0, len(k.nodes))
	for n := range k.nodes {
		nodes = append(nodes, n)
	}
	return nodes
}

func (k *seeker) restore(data []byte) error {
	var nodes []*seekNode
	if err := json.Unmarshal(data, &nodes); err != nil {
		return err
	}
	clear(k.nodes)
	for i := range k.waiting {
		clear(k.waiting[i])
	}
	k.ready = nil
	for _, n := range nodes {
		k.add(n)
	}
	return nil
}

// strong is Garg and Waldecker's algorithm for Def of a conjunction of 1-local
// predicates: see gw.go in package detect, whose search it does with what has
// arrived.
type strong struct {
	part
	S      computation.Cut
	clause []int // by host, -1 if it has none
}

func newStrong(m *Monitor, conj *predicate.Conjunction) *strong {
	g := &strong{part: newPart(m, conj), S: make(computation.Cut, len(m.hosts)),
		clause: make([]int, len(m.hosts))}
	for i := range g.clause {
		g.clause[i] = -1
	}
	for x, cl := range conj.Clauses {
		if len(cl.Support) == 1 {
			g.clause[cl.Support[0]] = x
		}
	}
	return g
}

func (g *strong) isTrue(m *Monitor, i int, tuple int32) bool {
	return g.clause[i] < 0 || g.local(m, i, g.clause[i], tuple)
}

// span is the interval of true local states that a host is in or enters next.
type span struct {
	lo   int32           // its first position; never if it has not arrived
	exit computation.Cut // clock of the first local state after it; nil if it has not arrived
}

func (g *strong) span(m *Monitor, i int) span {
	h := m.hosts[i]
	x := h.find(g.S[i])
	for x < len(h.states) && !g.isTrue(m, i, h.states[x].tuple) {
		x++
	}
	if x == len(h.states) {
		return span{lo: never}
	}
	sp := span{lo: h.states[x].at}
	for x++; x < len(h.states); x++ {
		if !g.isTrue(m, i, h.states[x].tuple) {
			sp.exit = h.states[x].clock
			break
		}
	}
	return sp
}

// impossible reports whether a clause is false whatever happens.
func (g *strong) impossible() bool {
	for _, cl := range g.conj.Clauses {
		if len(cl.Support) == 0 {
			return true
		}
	}
	return false
}

// run continues with the search. It returns 1 if Def holds, -1 if it does not
// (only when ended), 0 if that depends on events to come.
func (g *strong) run(m *Monitor, ended bool) int {
	if g.impossible() {
		if ended {
			return -1
		}
		return 0
	}
	spans := make([]span, len(m.hosts))
	for {
		for i, h := range m.hosts {
			if g.S[i] > h.arrived {
				return 0
			}
			spans[i] = g.span(m, i)
			if ended && spans[i].lo == never {
				return -1
			}
		}
		if g.leave(m, spans) {
			continue
		}
		for a := range m.hosts {
			if spans[a].lo <= g.S[a] {
				continue
			}
			if spans[a].lo == never {
				return 0
			}
			for b, h := range m.hosts {
				if b == a || g.clause[b] < 0 || ended && spans[b].exit == nil {
					continue // it never ends
				}
				// The end of an interval that is still open comes after all that
				// has arrived of its host.
				exit := spans[b].exit
				if exit == nil {
					exit = h.last
				}
				if exit[a] < spans[a].lo {
					return 0
				}
			}
		}
		return 1
	}
}

// leave leaves the interval of a host that ends before the next interval of another one begins,
// and reports whether there is one.
func (g *strong) leave(m *Monitor, spans []span) bool {
	for a := range m.hosts {
		if spans[a].lo <= g.S[a] {
			continue // it is in its interval
		}
		for b := range m.hosts {
			exit := spans[b].exit
			if b == a || exit == nil || exit[a] >= spans[a].lo || exit[a] > m.hosts[a].arrived {
				continue
			}
			g.S.Join(exit)
			return true
		}
	}
	return false
}

func (g *strong) advance(m *Monitor, _ int) (*Detection, bool) {
	if g.run(m, false) == 1 {
		return &Detection{}, true
	}
	return nil, false
}

func (g *strong) end(m *Monitor) (bool, error) { return g.run(m, true) == 1, nil }
func (g *strong) needed(i int) int32           { return g.S[i] }
func (g *strong) size() int                    { return 1 }
func (g *strong) save() any                    { return g.S }
func (g *strong) restore(d []byte) error       { return json.Unmarshal(d, &g.S) }

// avoider looks for Def of any predicate: it explores the global states that can
// be reached without satisfying the predicate. Def is certain when none of them
// can be left any more. Of the states, only those are kept whose successors are
// not all known.
//
// From a state it explores PSDef(s) (paper, section 6 and figure 5), which depends only on
// transitions that are known: for each process of a false clause its next transition, if that is
// enabled, or one that must come before it. While one of these has not arrived, another clause is
// tried; if none gives a set, the state waits, as it would anyway: without persistent sets, a state
// is not left before the next transitions of all processes are known. So Def is announced as
// early. The formula falseUntilEnd is taken to be false, as the paper says for what has not
// arrived. When no more events come, a process without a next one is at its end, and what waits
// is decided: if no process of a false clause can move, the predicate is never true.
type avoider struct {
	part
	open   map[string]*avoidState
	levels map[int]map[string]bool // the states that were reached, by number of transitions
	seen   []int32
	tuples []int32
	over   bool // no more events come
	never  bool // from some state on, the predicate is false, whatever comes
	plain  bool // without persistent sets, for tests

	transitions uint64 // explored
}

// avoidState is a reachable state that does not satisfy the predicate.
type avoidState struct {
	At    computation.Cut
	Level int
	// Todo are the hosts whose next transition is to be explored, once it is known, and whether it
	// is enabled. They are all hosts until Chosen is set, when it is known which of them
	// suffice.
	Todo   []int
	Chosen bool
}

func newAvoider(m *Monitor, conj *predicate.Conjunction) *avoider {
	a := &avoider{part: newPart(m, conj), open: map[string]*avoidState{},
		levels: map[int]map[string]bool{}, seen: make([]int32, len(m.hosts))}
	for i := range a.seen {
		a.seen[i] = -1
	}
	a.reach(m, make(computation.Cut, len(m.hosts)), 0)
	return a
}

func key(cut computation.Cut) string {
	b := make([]byte, 0, 4*len(cut))
	for _, x := range cut {
		b = append(b, byte(x), byte(x>>8), byte(x>>16), byte(x>>24))
	}
	return string(b)
}

// satisfied evaluates the predicate in a state all of whose events have arrived.
func (a *avoider) satisfied(m *Monitor, cut computation.Cut) bool {
	a.tuples = m.tuplesAt(cut, a.tuples)
	for x := range a.conj.Clauses {
		if !a.holds(m, x, a.tuples) {
			return false
		}
	}
	return true
}

func (a *avoider) reach(m *Monitor, at computation.Cut, level int) *avoidState {
	k := key(at)
	if a.levels[level] == nil {
		a.levels[level] = map[string]bool{}
	}
	if a.levels[level][k] {
		return nil
	}
	a.levels[level][k] = true
	if a.satisfied(m, at) {
		return nil
	}
	s := &avoidState{At: at, Level: level}
	for i := range m.hosts {
		s.Todo = append(s.Todo, i)
	}
	a.open[k] = s
	return s
}

func (a *avoider) advance(m *Monitor, _ int) (*Detection, bool) {
	changed := false
	for i, h := range m.hosts {
		if h.arrived != a.seen[i] {
			a.seen[i] = h.arrived
			changed = true
		}
	}
	if changed {
		work := make([]*avoidState, 0, len(a.open))
		for _, s := range a.open {
			work = append(work, s)
		}
		for steps := 0; len(work) > 0 && !a.never; steps++ {
			if steps%1024 == 1023 && m.over(a.size()) {
				break
			}
			s := work[len(work)-1]
			work = a.expand(m, s, work[:len(work)-1])
		}
		a.drop()
	}
	if len(a.open) == 0 {
		return &Detection{}, true
	}
	return nil, false
}

// nextKind says what is known of a process's next transition from a state.
type nextKind uint8

const (
	nextUnknown nextKind = iota // it has not arrived, or something that it may wait for
	nextEnabled
	nextWaits // another process has to move first
	nextNone  // no more events come
)

// nextOf returns what is known of the next transition of host i: where it leads to, or which host
// has to move before it.
func (a *avoider) nextOf(m *Monitor, at computation.Cut, i int) (kind nextKind, to int32,
	wait int) {
	h := m.hosts[i]
	x := h.find(at[i]) + 1
	if x == len(h.states) {
		if a.over {
			return nextNone, 0, 0
		}
		return nextUnknown, 0, 0
	}
	st := &h.states[x]
	kind = nextEnabled
	for j, g := range m.hosts {
		if j == i || st.clock[j] <= at[j] {
			continue
		}
		if y := g.find(at[j]) + 1; y < len(g.states) && g.states[y].at <= st.clock[j] {
			return nextWaits, 0, j // j has to move first, whatever comes
		}
		if st.clock[j] > g.arrived {
			kind = nextUnknown
		}
	}
	return kind, st.at, 0
}

// follow returns the hosts at the ends of the paths in the wait-for graph from some hosts: those
// whose enabled transitions come before any of these hosts moves. known is false if more events
// must arrive first.
func (a *avoider) follow(m *Monitor, at computation.Cut, hosts []int) (set []int, known bool) {
	for _, i := range hosts {
		kind, _, j := a.nextOf(m, at, i)
		for kind == nextWaits {
			i = j
			kind, _, j = a.nextOf(m, at, i)
		}
		switch {
		case kind == nextUnknown:
			return nil, false
		case kind == nextEnabled && !slices.Contains(set, i):
			set = append(set, i)
		}
	}
	return set, true
}

// staysFalse reports whether a clause is still false after each of the transitions.
func (a *avoider) staysFalse(m *Monitor, at computation.Cut, x int, set []int) bool {
	for _, i := range set {
		_, to, _ := a.nextOf(m, at, i)
		there := at.Clone()
		there[i] = to
		a.tuples = m.tuplesAt(there, a.tuples)
		if a.holds(m, x, a.tuples) {
			return false
		}
	}
	return true
}

// choice is what is to be explored from a state.
type choice uint8

const (
	choosesAll   choice = iota // every enabled transition
	choosesSet                 // those of some hosts
	choosesLater               // not known yet
	neverTrue                  // nothing: the predicate is false from here on
)

// choose returns PSDef(s), the smallest set among those of all false clauses.
func (a *avoider) choose(m *Monitor, at computation.Cut) (set []int, c choice) {
	a.tuples = m.tuplesAt(at, a.tuples)
	var wrong []int
	for x := range a.conj.Clauses {
		if !a.holds(m, x, a.tuples) {
			wrong = append(wrong, x)
		}
	}
	var sets [][]int // of the false clauses; nil: not known yet
	for _, x := range wrong {
		t, known := a.follow(m, at, a.conj.Clauses[x].Support)
		switch {
		case !known:
			c = choosesLater
		case len(t) == 0:
			return nil, neverTrue
		}
		sets = append(sets, t)
	}
	offer := func(t []int) {
		if c != choosesSet || len(t) < len(set) {
			set, c = t, choosesSet
		}
	}
	for k, x := range wrong {
		switch {
		case sets[k] == nil:
			continue
		case a.staysFalse(m, at, x, sets[k]): // line (c) of the figure
			offer(sets[k])
			continue
		}
		own := a.conj.Clauses[x].Support
		for l, y := range wrong { // line (e)
			if sets[l] == nil || slices.ContainsFunc(a.conj.Clauses[y].Support,
				func(i int) bool { return slices.Contains(own, i) }) {
				continue
			}
			u := slices.Concat(sets[l], sets[k])
			slices.Sort(u)
			offer(slices.Compact(u))
		}
	}
	return set, c
}

// expand executes the transitions of s that are to be explored, known and enabled.
func (a *avoider) expand(m *Monitor, s *avoidState, work []*avoidState) []*avoidState {
	if !s.Chosen && !a.plain {
		switch set, c := a.choose(m, s.At); c {
		case choosesLater:
			return work
		case neverTrue:
			a.never = true
			return nil
		case choosesSet:
			s.Todo = set
		}
	}
	s.Chosen = true
	left := s.Todo[:0]
	for _, i := range s.Todo {
		switch kind, to, _ := a.nextOf(m, s.At, i); kind {
		case nextUnknown:
			left = append(left, i)
		case nextEnabled:
			a.transitions++
			at := s.At.Clone()
			at[i] = to
			if t := a.reach(m, at, s.Level+1); t != nil {
				work = append(work, t)
			}
		}
	}
	if s.Todo = left; len(left) == 0 {
		delete(a.open, key(s.At))
	}
	return work
}

// drop forgets the states that cannot be reached again: those below the lowest
// level that has an open state.
func (a *avoider) drop() {
	lowest := never
	for _, s := range a.open {
		lowest = min(lowest, s.Level)
	}
	for l := range a.levels {
		if l <= lowest {
			delete(a.levels, l)
		}
	}
}

func (a *avoider) size() int {
	n := len(a.open)
	for _, l := range a.levels {
		n += len(l)
	}
	return n
}

func (a *avoider) needed(i int) int32 {
	least := int32(never)
	for _, s := range a.open {
		least = min(least, s.At[i])
	}
	return least
}

// end finishes the search, knowing that no more events come.
func (a *avoider) end(m *Monitor) (bool, error) {
	a.over = true
	work := make([]*avoidState, 0, len(a.open))
	for _, s := range a.open {
		work = append(work, s)
	}
	for steps := 0; len(work) > 0 && !a.never; steps++ {
		if steps%1024 == 1023 && m.over(a.size()) {
			return false, ErrFull
		}
		s := work[len(work)-1]
		final := true
		for i := range m.hosts {
			kind, _, _ := a.nextOf(m, s.At, i)
			final = final && kind == nextNone
		}
		if final {
			return false, nil
		}
		work = a.expand(m, s, work[:len(work)-1])
	}
	return !a.never, nil
}

func (a *avoider) save() any {
	type saved struct {
		Open   []*avoidState
		Levels map[int][][]byte
	}
	out := saved{Levels: map[int][][]byte{}}
	for _, s := range a.open {
		out.Open = append(out.Open, s)
	}
	for l, set := range a.levels {
		for k := range set {
			out.Levels[l] = append(out.Levels[l], []byte(k))
		}
	}
	return out
}

func (a *avoider) restore(data []byte) error {
	var in struct {
		Open   []*avoidState
		Levels map[int][][]byte
	}
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	clear(a.open)
	clear(a.levels)
	for _, s := range in.Open {
		s.Chosen = s.Chosen || len(s.Todo) < len(a.seen) // saved without sets
		a.open[key(s.At)] = s
	}
	for l, set := range in.Levels {
		a.levels[l] = map[string]bool{}
		for _, k := range set {
			a.levels[l][string(k)] = true
		}
	}
	for i := range a.seen {
		a.seen[i] = -1
	}
	return nil
}
