package detect

import (
	"encoding/binary"
	"slices"

	"cpor/detect/computation"
	"cpor/detect/predicate"
)

// problem is a computation together with a conjunction, compiled for the
// searches: the processes by small numbers, the local states by class, the
// truth of the 1-local literals as bit masks.
//
// Made with weak clocks, it has only the processes that the conjunction depends
// on, and of their events only those that change the truth of a literal or the
// value of a variable in a joint literal. These are Marzullo and Neiger's weak
// vector clocks (paper, section 8) without the receive events, which only exist
// to carry clocks around in a running system: off line, the order of the
// relevant events can be read off the full clocks. It is sound for Poss and for
// Def, because the cuts of the restricted partial order are exactly the
// restrictions of the cuts, its linearizations exactly those of the
// linearizations, and a global state satisfies the predicate or does not
// according to its relevant events alone.
type problem struct {
	c     *computation.Computation
	conj  *predicate.Conjunction
	n     int
	hosts []int // the process of c that each process here is
	procs []proc
	words int // 64-bit words of a mask with a bit for each clause

	trees   map[string]*rangeTree // of linear literals, by what they sum up
	clauses []clause
	joint   []uint64 // mask of the clauses that have joint literals
	all     []uint64 // mask of all clauses
}

type proc struct {
	last  int32    // index of the last local state
	clock []int32  // entry j of local state k at [k*n+j]
	start []int32  // the local state of c that local state k begins with
	class []int32  // of local state k
	mask  []uint64 // of class x at [x*words:]: the clauses that have a true literal
	tuple []int32  // of class x: the number of its tuple of joint variables' values
}

type clause struct {
	support []int // ascending
	joint   []jointLiteral
	// next[x][k] is, for process support[x], the first local state after k that
	// could make the clause true: one that satisfies the process's own literal, or
	// differs from k in a variable of the joint literals; last+1 if there is none.
	next   [][]int32
	linear *linear // the form of its only literal, if it has one
	// by position in support, by class: number of the tuple of the clause's joint variables
	sub [][]int32
}

// jointLiteral is a literal on several processes. Its value is looked up in a
// table if that is small.
type jointLiteral struct {
	node    *predicate.Node
	support []int
	// by position in support, by class: number of the tuple of the literal's variables
	sub    [][]int32
	stride []int
	table  []bool
	slot   map[*predicate.Node]slot
	values [][][]computation.Value // by position in support, by tuple: the values
}

type slot struct{ pos, index int }

// stopEvery is how many steps of a loop over local states there are between two
// questions whether to stop.
const stopEvery = 1 << 12

// The largest table of a joint literal, and of next for all clauses together;
// variables for the tests. Beyond them, literals are evaluated and next is
// searched for each time.
var (
	maxTable = 1 << 16
	maxNext  = 64 << 20
)

// compile makes the problem of a conjunction. It returns nil as soon as stop
// says so.
func compile(c *computation.Computation, conj *predicate.Conjunction, weak bool,
	stop func() bool) *problem {
	p := &problem{c: c, conj: conj, words: max(1, (len(conj.Clauses)+63)/64)}
	if weak {
		p.hosts = conj.Support()
	} else {
		for i := range c.N() {
			p.hosts = append(p.hosts, i)
		}
	}
	p.n = len(p.hosts)
	p.procs = make([]proc, p.n)
	at := make(map[int]int, p.n) // process of c -> process here
	for i, h := range p.hosts {
		at[h] = i
	}
	p.all = make([]uint64, p.words)
	p.joint = make([]uint64, p.words)
	p.clauses = make([]clause, len(conj.Clauses))
	for x, cl := range conj.Clauses {
		p.all[x/64] |= 1 << (x % 64)
		if len(cl.Joint) > 0 {
			p.joint[x/64] |= 1 << (x % 64)
		}
		for _, h := range cl.Support {
			p.clauses[x].support = append(p.clauses[x].support, at[h])
		}
	}
	vars := p.variables(at)
	tuples := make([]tupleTable, p.n)
	for i := range p.procs {
		tuples[i] = p.classify(i, vars[i], weak, stop)
		if stop() {
			return nil
		}
	}
	for i := range p.procs {
		p.clocks(i, weak)
		if stop() {
			return nil
		}
	}
	for x, cl := range conj.Clauses {
		p.compileJoint(x, cl, at, tuples)
		p.clauses[x].linear = p.compileLinear(x, cl, at, tuples, stop)
		if stop() {
			return nil
		}
	}
	p.compileNext(stop)
	if stop() {
		return nil
	}
	return p
}

// relevant are the variables of one process that the conjunction reads.
type relevant struct {
	names []string
	joint int // the first so many are in joint literals
}

func collect(n *predicate.Node, f func(*predicate.Node)) {
	if n.Op == predicate.Var {
		f(n)
	}
	for _, k := range n.Kids {
		collect(k, f)
	}
}

func (p *problem) variables(at map[int]int) []relevant {
	out := make([]relevant, p.n)
	add := func(n *predicate.Node) {
		r := &out[at[n.Process]]
		if !slices.Contains(r.names, n.Name) {
			r.names = append(r.names, n.Name)
		}
	}
	for _, cl := range p.conj.Clauses {
		for _, l := range cl.Joint {
			collect(l, add)
		}
	}
	for i := range out {
		out[i].joint = len(out[i].names)
	}
	for _, cl := range p.conj.Clauses {
		for _, h := range cl.Support {
			if l := cl.Local[h]; l != nil {
				collect(l, add)
			}
		}
	}
	return out
}

// tupleTable numbers the tuples of values that the joint variables of a process
// take.
type tupleTable struct {
	names  []string
	tuples [][]computation.ValueID
}

// classify finds the classes of the local states of process i and, with weak
// clocks, leaves of each run of states of the same class only the first.
func (p *problem) classify(i int, vars relevant, weak bool, stop func() bool) tupleTable {
	pr := &p.procs[i]
	h := p.hosts[i]
	table := tupleTable{names: vars.names[:vars.joint]}
	columns := make([]*computation.Variable, len(vars.names))
	for x, name := range vars.names {
		columns[x] = p.c.Variable(h, name)
	}

	var literals []struct {
		clause int
		node   *predicate.Node
	}
	for x, cl := range p.conj.Clauses {
		if l := cl.Local[h]; l != nil {
			literals = append(literals, struct {
				clause int
				node   *predicate.Node
			}{x, l})
		}
	}
	index := make(map[string]int, len(vars.names))
	for x, name := range vars.names {
		index[name] = x
	}
	cur := make([]computation.ValueID, len(vars.names))
	values := p.c.Values()
	get := func(n *predicate.Node) computation.Value { return values.Value(cur[index[n.Name]]) }

	raw := map[string]int32{}     // values of all relevant variables -> class
	classes := map[string]int32{} // mask and joint tuple -> class
	tupleOf := map[string]int32{}
	key := make([]byte, 0, 64)
	classOf := func() int32 {
		key = key[:0]
		for _, v := range cur {
			key = binary.LittleEndian.AppendUint32(key, uint32(v))
		}
		if x, ok := raw[string(key)]; ok {
			return x
		}
		rawKey := string(key)
		t, ok := tupleOf[rawKey[:4*vars.joint]]
		if !ok {
			t = int32(len(table.tuples))
			tupleOf[rawKey[:4*vars.joint]] = t
			table.tuples = append(table.tuples, slices.Clone(cur[:vars.joint]))
		}
		mask := make([]uint64, p.words)
		for _, l := range literals {
			if l.node.Eval(get).IsTrue() {
				mask[l.clause/64] |= 1 << (l.clause % 64)
			}
		}
		key = binary.LittleEndian.AppendUint32(key[:0], uint32(t))
		for _, m := range mask {
			key = binary.LittleEndian.AppendUint64(key, m)
		}
		x, ok := classes[string(key)]
		if !ok {
			x = int32(len(pr.tuple))
			classes[string(key)] = x
			pr.tuple = append(pr.tuple, t)
			pr.mask = append(pr.mask, mask...)
		}
		raw[rawKey] = x
		return x
	}

	// Walk along the changes of the relevant variables.
	states := p.c.States(h)
	next := make([]int, len(columns))
	for k, n := int32(0), 0; k < states; n++ {
		if n%stopEvery == 0 && stop() {
			return table
		}
		until := states
		for x, col := range columns {
			if col == nil {
				continue
			}
			for next[x] < len(col.Changes) && col.Changes[next[x]].State <= k {
				cur[x] = col.Changes[next[x]].Value
				next[x]++
			}
			if next[x] < len(col.Changes) {
				until = min(until, col.Changes[next[x]].State)
			}
		}
		pr.add(k, until, classOf(), weak)
		k = until
	}
	pr.last = int32(len(pr.class)) - 1
	return table
}

// add adds states from..to-1, which are of the same class; with weak clocks only the first of
// neighbors of a class.
func (pr *proc) add(from, to, class int32, weak bool) {
	if weak {
		if k := len(pr.class); k > 0 && pr.class[k-1] == class {
			return
		}
		to = from + 1
	}
	for k := from; k < to; k++ {
		pr.class = append(pr.class, class)
		pr.start = append(pr.start, k)
	}
}

// clocks restricts the clocks of process i to the processes and events that
// the problem has.
func (p *problem) clocks(i int, weak bool) {
	pr := &p.procs[i]
	pr.clock = make([]int32, (int(pr.last)+1)*p.n)
	at := make([]int32, p.n)
	for k := int32(0); k <= pr.last; k++ {
		full := p.c.Clock(p.hosts[i], pr.start[k])
		row := pr.clock[int(k)*p.n : int(k+1)*p.n]
		if !weak {
			copy(row, full)
			continue
		}
		for j := range row {
			start := p.procs[j].start
			m := full[p.hosts[j]]
			for int(at[j])+1 < len(start) && start[at[j]+1] <= m {
				at[j]++
			}
			row[j] = at[j]
		}
	}
}

func (p *problem) row(i int, k int32) []int32 {
	o := int(k) * p.n
	return p.procs[i].clock[o : o+p.n : o+p.n]
}

func (p *problem) compileJoint(x int, cl *predicate.Clause, at map[int]int, tuples []tupleTable) {
	if len(cl.Joint) == 0 {
		return
	}
	c := &p.clauses[x]
	names := make([][]string, p.n)
	for _, node := range cl.Joint {
		l := jointLiteral{node: node, slot: map[*predicate.Node]slot{}}
		mine := make([][]string, p.n)
		for _, h := range node.Support() {
			l.support = append(l.support, at[h])
		}
		collect(node, func(v *predicate.Node) {
			i := at[v.Process]
			k := slices.Index(mine[i], v.Name)
			if k < 0 {
				k = len(mine[i])
				mine[i] = append(mine[i], v.Name)
			}
			l.slot[v] = slot{slices.Index(l.support, i), k}
			if !slices.Contains(names[i], v.Name) {
				names[i] = append(names[i], v.Name)
			}
		})
		size := 1
		for _, i := range l.support {
			sub, values := p.project(i, mine[i], tuples[i])
			l.sub = append(l.sub, sub)
			l.values = append(l.values, values)
			l.stride = append(l.stride, size)
			if size <= maxTable {
				size *= len(values)
			}
		}
		if size <= maxTable {
			table := make([]bool, size)
			at := make([]int32, len(l.support))
			for y := range table {
				rest := y
				for z := range at {
					at[z] = int32(rest % len(l.values[z]))
					rest /= len(l.values[z])
				}
				table[y] = l.eval(at)
			}
			l.table = table
		}
		c.joint = append(c.joint, l)
	}
	for _, i := range c.support {
		sub, _ := p.project(i, names[i], tuples[i])
		c.sub = append(c.sub, sub)
	}
}

// project numbers the values of some of the joint variables of process i, and
// returns the number for each class, and the values for each number.
func (p *problem) project(i int, names []string, table tupleTable) (sub []int32,
	values [][]computation.Value) {
	cols := make([]int, len(names))
	for x, name := range names {
		cols[x] = slices.Index(table.names, name)
	}
	ofTuple := make([]int32, len(table.tuples))
	numbers := map[string]int32{}
	key := make([]byte, 0, 64)
	for t, tuple := range table.tuples {
		key = key[:0]
		for _, x := range cols {
			key = binary.LittleEndian.AppendUint32(key, uint32(tuple[x]))
		}
		id, ok := numbers[string(key)]
		if !ok {
			id = int32(len(values))
			numbers[string(key)] = id
			row := make([]computation.Value, len(cols))
			for y, x := range cols {
				row[y] = p.c.Values().Value(tuple[x])
			}
			values = append(values, row)
		}
		ofTuple[t] = id
	}
	pr := &p.procs[i]
	sub = make([]int32, len(pr.tuple))
	for x, t := range pr.tuple {
		sub[x] = ofTuple[t]
	}
	return sub, values
}

// eval evaluates the literal for tuples of values.
func (l *jointLiteral) eval(at []int32) bool {
	return l.node.Eval(func(v *predicate.Node) computation.Value {
		s := l.slot[v]
		return l.values[s.pos][at[s.pos]][s.index]
	}).IsTrue()
}

// holds evaluates the literal in global state s.
func (l *jointLiteral) holds(p *problem, s []int32) bool {
	if l.table != nil {
		y := 0
		for z, i := range l.support {
			y += l.stride[z] * int(l.sub[z][p.procs[i].class[s[i]]])
		}
		return l.table[y]
	}
	var buf [16]int32
	at := buf[:0]
	for z, i := range l.support {
		at = append(at, l.sub[z][p.procs[i].class[s[i]]])
	}
	return l.eval(at)
}

// compileNext fills the next tables unless they would be too large.
func (p *problem) compileNext(stop func() bool) {
	size := 0
	for x := range p.clauses {
		for _, i := range p.clauses[x].support {
			size += int(p.procs[i].last) + 1
		}
	}
	if size > maxNext {
		return
	}
	for x := range p.clauses {
		c := &p.clauses[x]
		c.next = make([][]int32, len(c.support))
		for y, i := range c.support {
			if stop() {
				return
			}
			last := p.procs[i].last
			next := make([]int32, last+1)
			next[last] = last + 1
			for k := last - 1; k >= 0; k-- {
				if p.mayChange(x, y, i, k) {
					next[k] = k + 1
				} else {
					next[k] = next[k+1]
				}
			}
			c.next[y] = next
		}
	}
}

// mayChange reports whether the step of process i, the y'th of clause x's
// support, from local state k to k+1 could make the clause true.
func (p *problem) mayChange(x, y, i int, k int32) bool {
	pr := &p.procs[i]
	now, then := pr.class[k], pr.class[k+1]
	if pr.mask[int(then)*p.words+x/64]>>(x%64)&1 != 0 {
		return true
	}
	c := &p.clauses[x]
	return c.sub != nil && c.sub[y][now] != c.sub[y][then]
}

// next returns the first local state after k of the y'th process of the support
// of clause x that could make the clause true; last+1 if there is none.
func (p *problem) next(x, y int, k int32) int32 {
	c := &p.clauses[x]
	if c.next != nil {
		return c.next[y][k]
	}
	i := c.support[y]
	last := p.procs[i].last
	for ; k < last; k++ {
		if p.mayChange(x, y, i, k) {
			return k + 1
		}
	}
	return last + 1
}

// truth fills acc with the mask of the clauses that have a true 1-local literal
// in state s.
func (p *problem) truth(s []int32, acc []uint64) {
	if p.words == 1 {
		var m uint64
		for i := range p.procs {
			pr := &p.procs[i]
			m |= pr.mask[pr.class[s[i]]]
		}
		acc[0] = m
		return
	}
	clear(acc)
	for i := range p.procs {
		pr := &p.procs[i]
		o := int(pr.class[s[i]]) * p.words
		for w, m := range pr.mask[o : o+p.words] {
			acc[w] |= m
		}
	}
}

// jointHolds reports whether a joint literal of clause x holds in state s.
func (p *problem) jointHolds(x int, s []int32) bool {
	for y := range p.clauses[x].joint {
		if p.clauses[x].joint[y].holds(p, s) {
			return true
		}
	}
	return false
}

// localHolds reports whether the literal of clause x on process i holds in local state k.
func (p *problem) localHolds(x, i int, k int32) bool {
	pr := &p.procs[i]
	return pr.mask[int(pr.class[k])*p.words+x/64]>>(x%64)&1 != 0
}

// clauseHolds reports whether clause x holds in state s.
func (p *problem) clauseHolds(x int, s []int32) bool {
	for _, i := range p.clauses[x].support {
		pr := &p.procs[i]
		if pr.mask[int(pr.class[s[i]])*p.words+x/64]>>(x%64)&1 != 0 {
			return true
		}
	}
	return p.jointHolds(x, s)
}

// cut returns the least consistent cut of the computation that contains the
// local states of s, a consistent state of the problem. Its processes are in
// local states of the same classes.
func (p *problem) cut(s []int32) computation.Cut {
	cut := p.c.Initial()
	for i, k := range s {
		cut.Join(p.c.Clock(p.hosts[i], p.procs[i].start[k]))
	}
	return cut
}

// observation extends a path of the problem, given by the process that moves in
// each step, to a sequence of all events of the computation.
func (p *problem) observation(path []int) []computation.Event {
	cut := p.c.Initial()
	s := make([]int32, p.n)
	var events []computation.Event
	to := func(next computation.Cut) {
		events = append(events, p.c.Linearise(cut, next)...)
		cut = next
	}
	for _, i := range path {
		s[i]++
		next := cut.Clone()
		next.Join(p.c.Clock(p.hosts[i], p.procs[i].start[s[i]]))
		to(next)
	}
	to(p.c.Final())
	return events
}

// lastState returns the final state of the problem.
func (p *problem) lastState() []int32 {
	s := make([]int32, p.n)
	for i := range s {
		s[i] = p.procs[i].last
	}
	return s
}

// size returns the product of the numbers of local states, an upper bound of
// the number of consistent global states.
func (p *problem) size() float64 {
	x := 1.0
	for i := range p.procs {
		x *= float64(p.procs[i].last + 1)
	}
	return x
}
