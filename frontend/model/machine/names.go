package machine

import (
	"cmp"
	"math/bits"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/system"
	"cpor/testkit/sabotage"
)

// The names of a Scalarset can be exchanged (Ip and Dill 1996): one can only compare two for
// equality, use one as the index of an array that has no other indices, and choose any. An
// iteration over all of them is within one transition, and its outcome does not depend on the
// order. So a permutation of the names of each type, applied to the values and to the elements
// of the arrays, is an automorphism, and so it is together with a permutation of symmetric
// threads. A pointer into such an array, and a reference to a channel in one, goes with its
// element. nil is 0 and is not renamed, so anything dead or never set stays the same.
//
// The representative of a state is the least one of some states of its orbit whose threads are
// sorted. Colors determine which ones, as in programs for graph isomorphism (McKay, Practical
// graph isomorphism, Congressus Numerantium 30, 1981). Names and symmetric threads are vertices;
// each thread and each location is an edge with a label, which joins the names and threads in
// it. Vertices have ranks, which are refined by those of their neighbors until nothing changes.
// If several names have the same rank, each of them in turn is made the first one. None of this
// depends on which name is which, so all states of an orbit lead to the same ones. Two names are
// twins if exchanging them gives the same state, except for the order of threads; then one of
// them is enough. So there is no bound, and not all permutations need to be compared. Where
// neither colors nor twins help, as with names in a ring, there are as many as names; only
// graphs that are hard for the programs above are hard here.

// cellKind says how a permutation of names changes a value.
type cellKind uint8

const (
	plainCell   cellKind = iota
	nameCell             // a name of a Scalarset
	pointerCell          // to a location
	chanCell             // a reference to a channel
	ownerCell            // a thread, or several
)

// cell is a value in a state.
type cell struct {
	kind cellKind
	set  int // of a name
	// depth is how many of the indices of the location that a pointer points to are within
	// what it points to.
	depth int
	named []compile.Named // the names that lead to it; strides are in locations, or in fields
}

// slotCell is a cell in the slot of a thread.
type slotCell struct {
	cell
	field compile.Field
	// Of a leaf of a variable that stays in the slot: the fields of the thread, and which
	// one of them it is; -1 of others.
	fields []compile.Field
	leaf   int
}

// renamer finds representatives of states with names, for one goroutine.
type renamer struct {
	s        *System
	threads  *sorter
	first    []int // by set: its first vertex
	names    int   // in all
	locs     []cell
	touched  []int // the locations that a permutation touches
	inBag    []bool
	bags     []int        // the channels that are bags
	slots    [][]slotCell // by point
	vertices []int32      // of the edges, one after another
	edges    []edge
	joined   []int32 // of the edge that is being made
	label    uint64  // of it
	hash     []uint64
	order    []int32 // the vertices by rank
	levels   []*level
	loose    []bool  // by vertex, whether others have its rank
	tied     []bool  // by name
	with     []int32 // by thread, among the vertices
	to       []int32
	spare    []uint64
	base     system.State // the state with its threads sorted, empty until it is needed
	from     system.State
	trial    system.State
	best     system.State
	found    bool
}

// edge is a fact about vertices[from:to].
type edge struct {
	label    uint64
	from, to int32
}

func (s *System) newRenamer(threads *sorter) *renamer {
	r := &renamer{s: s, threads: threads}
	for _, t := range s.p.Sets {
		r.first = append(r.first, r.names)
		r.names += t.Len
	}
	r.inBag = make([]bool, len(s.p.Locs))
	for i := range s.p.Chans {
		c := &s.p.Chans[i]
		if c.Bag {
			r.bags = append(r.bags, i)
			for l := range c.Size() {
				r.inBag[c.First+l] = true
			}
		}
	}
	for l := range s.p.Locs {
		info := &s.p.Locs[l]
		c := cell{named: info.Named}
		switch {
		case relates(info):
			c.kind = ownerCell
		case info.Type != nil && !info.Mutex:
			c = r.cell(info.Type, info.Named)
		}
		r.locs = append(r.locs, c)
		if c.kind == nameCell || c.kind == pointerCell || c.kind == chanCell || len(c.named) > 0 {
			r.touched = append(r.touched, l)
		}
	}
	for i := range s.p.Points {
		r.slots = append(r.slots, r.slotCells(&s.p.Points[i]))
	}
	return r
}

// cell returns the cell of a scalar of a type.
func (r *renamer) cell(t *resolve.Type, named []compile.Named) cell {
	c := cell{named: named}
	switch t.Kind {
	case resolve.Scalarset:
		c.kind, c.set = nameCell, slices.Index(r.s.p.Sets, t.Underlying())
	case resolve.Pointer:
		c.kind, c.depth = pointerCell, depth(t.Elem)
	case resolve.Chan:
		c.kind = chanCell
	}
	return c
}

// depth returns how many indices that are names lead to the first scalar of a type.
func depth(t *resolve.Type) int {
	switch {
	case t.Kind == resolve.Array && t.Index != nil && !sabotage.Is("names/depth"):
		return 1 + depth(t.Elem)
	case t.Kind == resolve.Array:
		return depth(t.Elem)
	case t.Kind == resolve.Struct && len(t.Fields) > 0:
		return depth(t.Fields[0].Type)
	}
	return 0
}

// slotCells returns the cells of a thread at a point that a permutation changes.
func (r *renamer) slotCells(pt *compile.Point) []slotCell {
	var cells []slotCell
	add := func(c slotCell) {
		if c.kind != plainCell || len(c.named) > 0 {
			cells = append(cells, c)
		}
	}
	for _, v := range pt.Alive() {
		if v.N == 0 {
			add(slotCell{cell: r.cell(v.Type, nil), field: v.Field, leaf: -1})
			continue
		}
		fields := pt.Thread.Fields[v.Base : v.Base+v.N]
		named := r.leafNames(nil, nil, v.Type)
		for i, t := range compile.Leaves(v.Type) {
			add(slotCell{r.cell(t, named[i]), fields[i], fields, i})
		}
	}
	return cells
}

// leafNames appends the names that lead to each scalar in a value of a type.
func (r *renamer) leafNames(dst [][]compile.Named, named []compile.Named,
	t *resolve.Type) [][]compile.Named {
	switch t.Kind {
	case resolve.Array:
		stride := len(compile.Leaves(t.Elem))
		for i := range t.Len {
			in := named
			if t.Index != nil {
				in = append(slices.Clone(named), compile.Named{
					Set: slices.Index(r.s.p.Sets, t.Index.Underlying()), Index: i, Stride: stride})
			}
			dst = r.leafNames(dst, in, t.Elem)
		}
		return dst
	case resolve.Struct:
		for _, f := range t.Fields {
			dst = r.leafNames(dst, named, f.Type)
		}
		return dst
	}
	return append(dst, named)
}

// represent turns a state into the representative of its orbit.
func (r *renamer) represent(state system.State) {
	r.from = append(r.from[:0], state...)
	r.base = r.base[:0]
	n := r.s.threadsIn(state)
	r.collect(n)
	rank := r.at(0).rank[:0]
	for i, t := range r.s.p.Sets {
		for range t.Len {
			rank = append(rank, int32(r.first[i]))
		}
	}
	for range n {
		rank = append(rank, int32(r.names))
	}
	r.levels[0].rank = rank
	r.found = false
	r.search(0)
	copy(state, r.best)
}

// level is the search's state while each name in turn is made the first one.
type level struct {
	rank  []int32 // by vertex
	class []int32 // the names that have the same one
	kinds []int32 // of these, no two of which are twins
}

func (r *renamer) at(depth int) *level {
	if depth == len(r.levels) {
		r.levels = append(r.levels, &level{})
	}
	return r.levels[depth]
}

// search tries the permutations that agree with the ranks at a depth, and keeps the least state.
func (r *renamer) search(depth int) {
	l := r.at(depth)
	for {
		if !r.refine(l.rank) {
			r.rename(l.rank)
			if !r.found || slices.Compare(r.trial, r.best) < 0 {
				r.best, r.trial, r.found = r.trial, r.best, true
			}
			return
		}
		if r.alone(l.rank) { // any order
			for i, v := range r.order[:r.names] {
				l.rank[v] = int32(i)
			}
			continue
		}
		r.choose(l)
		if len(l.kinds) > 1 {
			break
		}
		for i, v := range l.class {
			l.rank[v] += int32(i)
		}
	}
	for _, first := range l.kinds {
		next := r.at(depth + 1)
		next.rank = append(next.rank[:0], l.rank...)
		for _, v := range l.class {
			if v != first {
				next.rank[v]++
			}
		}
		r.search(depth + 1)
	}
}

// choose finds the names of the first rank that several have, and which of them are not twins.
func (r *renamer) choose(l *level) {
	at := 0
	for l.rank[r.order[at]] != l.rank[r.order[at+1]] {
		at++
	}
	l.class, l.kinds = l.class[:0], l.kinds[:0]
	for ; at < r.names && (len(l.class) == 0 || l.rank[r.order[at]] == l.rank[l.class[0]]); at++ {
		l.class = append(l.class, r.order[at])
	}
	for _, v := range l.class {
		if !slices.ContainsFunc(l.kinds, func(u int32) bool {
			return !r.tied[u] && !r.tied[v] || r.twins(u, v) || sabotage.Is("names/twins")
		}) {
			l.kinds = append(l.kinds, v)
		}
	}
}

// alone finds out which names are tied to others: an edge joins both, or edges join one thread
// with each. A vertex with a unique rank ties nothing. Two names of one rank that are not tied
// are twins, since the threads that go with one can change places with those that go with the
// other: the ranks say that their edges are the same. It reports whether no name is tied.
func (r *renamer) alone(rank []int32) bool {
	r.loose = append(r.loose[:0], make([]bool, len(rank))...)
	for i, v := range r.order[1:] {
		if u := r.order[i]; rank[u] == rank[v] {
			r.loose[u], r.loose[v] = true, true
		}
	}
	r.tied = append(r.tied[:0], make([]bool, r.names)...)
	r.with = append(r.with[:0], make([]int32, len(rank))...)
	all := true
	tie := func(joined []int32) {
		for _, v := range joined {
			if int(v) < r.names && r.loose[v] {
				r.tied[v], all = true, false
			}
		}
	}
	// With each thread goes no name, one, which is counted from 1, or several.
	for i := range r.edges {
		joined := r.vertices[r.edges[i].from:r.edges[i].to]
		one := int32(0)
		for _, v := range joined {
			if int(v) < r.names && r.loose[v] && one != v+1 {
				one = either(one, v+1)
			}
		}
		if one == several {
			tie(joined)
		}
		for _, t := range joined {
			if int(t) >= r.names && r.loose[t] && one != 0 && r.with[t] != one {
				r.with[t] = either(r.with[t], one)
			}
		}
	}
	for i := range r.edges {
		joined := r.vertices[r.edges[i].from:r.edges[i].to]
		if slices.ContainsFunc(joined, func(t int32) bool { return r.with[t] == several }) {
			tie(joined)
		}
	}
	return all || sabotage.Is("names/tied")
}

// several stands for more than one name, 0 for none.
const several = -1

// either returns what two threads or names have in common: the one, or several.
func either(one, other int32) int32 {
	if one == 0 {
		return other
	}
	return several
}

// twins reports whether exchanging two names gives the same state, except for the order of
// symmetric threads.
func (r *renamer) twins(u, v int32) bool {
	if len(r.base) == 0 {
		r.base = append(r.base, r.from...)
		r.threads.represent(r.base)
	}
	r.to = r.to[:0]
	for i := range int32(r.names) {
		r.to = append(r.to, i)
	}
	r.to[u], r.to[v] = v, u
	r.rename(r.to)
	return slices.Equal(r.trial, r.base)
}

// refine splits ranks until each vertex of a rank is in edges with vertices of the same ranks,
// or no two names have the same one. It reports whether some have. The rank of a vertex is how
// many have a smaller one.
func (r *renamer) refine(rank []int32) bool {
	r.order = r.order[:0]
	for v := range rank {
		r.order = append(r.order, int32(v))
	}
	slices.SortStableFunc(r.order, func(u, v int32) int { return int(rank[u] - rank[v]) })
	for split := true; split; {
		alike := false // some names
		for i := range r.names - 1 {
			alike = alike || rank[r.order[i]] == rank[r.order[i+1]]
		}
		if !alike {
			return false
		}
		r.color(rank)
		split = false
		for from := 0; from < len(r.order); {
			to := from + 1
			for to < len(r.order) && rank[r.order[to]] == rank[r.order[from]] {
				to++
			}
			class := r.order[from:to]
			if slices.ContainsFunc(class, func(v int32) bool {
				return r.hash[v] != r.hash[class[0]]
			}) {
				split = true
				slices.SortStableFunc(class, func(u, v int32) int {
					return cmp.Compare(r.hash[u], r.hash[v])
				})
				at := int32(from)
				for i, v := range class {
					if i > 0 && r.hash[v] != r.hash[class[i-1]] {
						at = int32(from + i)
					}
					rank[v] = at
				}
			}
			from = to
		}
	}
	return true
}

// color hashes for each vertex the ranks of those that it is in edges with.
func (r *renamer) color(rank []int32) {
	r.hash = append(r.hash[:0], make([]uint64, len(rank))...)
	for i := range r.edges {
		e := &r.edges[i]
		all := e.label
		for _, v := range r.vertices[e.from:e.to] {
			all = scramble(all, uint64(rank[v]))
		}
		for k, v := range r.vertices[e.from:e.to] {
			r.hash[v] += scramble(all, uint64(k))
		}
	}
}

// scramble hashes a number together with another one.
func scramble(h, v uint64) uint64 {
	hi, lo := bits.Mul64(h^0x9e3779b97f4a7c15, v^0xd6e8feb86659fd93)
	return hi ^ lo
}

// collect makes the edges of the state.
func (r *renamer) collect(n int) {
	s := r.s
	r.vertices, r.edges = r.vertices[:0], r.edges[:0]
	for l := range s.p.Locs {
		v := s.locs[l].get(r.from)
		if v == 0 || r.inBag[l] {
			continue
		}
		info := &s.p.Locs[l]
		c := &r.locs[l]
		if c.kind == ownerCell && waiting(info) {
			for t := range min(n, maxWaiters) {
				if v>>t&1 != 0 {
					r.path(1, l, c)
					r.thread(t)
					r.join()
				}
			}
			continue
		}
		r.path(1, l, c)
		switch {
		case c.kind != ownerCell:
			r.value(c, v)
		case parking(info):
			state, who, k := unmark(int64(v))
			r.tell(uint64(markOf(state, 0, k)))
			r.thread(who)
		default:
			r.thread(int(v - 1))
		}
		r.join()
	}
	for _, i := range r.bags { // its messages are in an order that depends on the names
		c := &s.p.Chans[i]
		for k := range c.Cap {
			l := slotLoc(c, k)
			if s.locs[l].get(r.from) == 0 {
				break
			}
			r.path(2, c.First, &r.locs[c.First])
			for j := range c.Leaves {
				r.value(&r.locs[l+1+j], s.locs[l+1+j].get(r.from))
			}
			r.join()
		}
		if c.Closed >= 0 && s.locs[c.Closed].get(r.from) != 0 {
			r.path(3, c.First, &r.locs[c.First])
			r.join()
		}
	}
	for t := range n {
		r.slot(t)
	}
}

// slot makes the edges of a thread.
func (r *renamer) slot(t int) {
	s := r.s
	r.spare = r.spare[:0]
	for i := range s.slotWords {
		r.spare = append(r.spare, s.slotWord(r.from, t, i))
	}
	tt := s.typeIn(r.from, t)
	pc := r.spare[0] >> s.pcShift & s.pcMask
	var cells []slotCell
	if pc > 0 && int(pc) <= len(s.p.Points) {
		cells = r.slots[pc-1]
	}
	for i := range cells {
		c := &cells[i]
		f := &c.field
		v := r.spare[f.Word] >> f.Shift & maskOf(int(f.Bits))
		r.spare[f.Word] &^= maskOf(int(f.Bits)) << f.Shift
		if v == 0 {
			continue
		}
		r.label, r.joined = 4, r.joined[:0]
		r.thread(t)
		r.tell(pc)
		if c.leaf >= 0 {
			at := c.leaf
			for _, n := range c.named {
				at -= n.Index * n.Stride
				r.joined = append(r.joined, int32(r.first[n.Set]+n.Index))
			}
			f = &c.fields[at]
		}
		r.tell(uint64(f.Word)<<8 | uint64(f.Shift))
		r.value(&c.cell, v)
		r.join()
	}
	r.label, r.joined = 5, r.joined[:0]
	r.thread(t)
	r.tell(uint64(s.typeIndex[tt]))
	for _, w := range r.spare {
		r.tell(w)
	}
	r.join()
}

// path begins an edge about a location: with the names that lead to it.
func (r *renamer) path(kind uint64, l int, c *cell) {
	r.label, r.joined = kind, r.joined[:0]
	r.along(l, c.named)
}

// along describes a location without its names, and joins these.
func (r *renamer) along(l int, named []compile.Named) {
	for _, n := range named {
		l -= n.Index * n.Stride
		r.joined = append(r.joined, int32(r.first[n.Set]+n.Index))
	}
	r.tell(uint64(l))
}

// value describes a value, and joins the names in it.
func (r *renamer) value(c *cell, v uint64) {
	switch {
	case v == 0 || c.kind == plainCell || c.kind == ownerCell:
		r.tell(v)
	case c.kind == nameCell:
		r.tell(1)
		r.joined = append(r.joined, int32(r.first[c.set]+int(v)-1))
	case c.kind == pointerCell:
		r.along(int(v-1), r.s.p.Locs[v-1].Named[c.depth:])
	case c.kind == chanCell:
		l := r.s.p.Chans[v-1].First
		r.along(l, r.s.p.Locs[l].Named)
	}
}

// thread joins a thread, if it can be exchanged; else its number tells which it is.
func (r *renamer) thread(t int) {
	if r.s.typeIn(r.from, t).Symmetric {
		r.joined = append(r.joined, int32(r.names+t))
	} else {
		r.tell(uint64(t))
	}
}

func (r *renamer) tell(v uint64) { r.label = scramble(r.label, v) }

func (r *renamer) join() {
	if len(r.joined) == 0 {
		return
	}
	from := int32(len(r.vertices))
	r.vertices = append(r.vertices, r.joined...)
	r.edges = append(r.edges, edge{r.label, from, int32(len(r.vertices))})
}

// rename makes trial of the state: each name is the one in to, and the threads are sorted.
func (r *renamer) rename(to []int32) {
	s := r.s
	r.trial = append(r.trial[:0], r.from...)
	for _, l := range r.touched {
		c := &r.locs[l]
		s.locs[r.moved(to, l, c.named)].put(r.trial, r.renamed(to, c, s.locs[l].get(r.from)))
	}
	for _, i := range r.bags {
		if sabotage.Is("names/bag") {
			break
		}
		r.sortBag(&s.p.Chans[i])
	}
	for t := range s.threadsIn(r.from) {
		w, sh := s.slot(t)
		pc := r.from[w] >> (sh + s.pcShift) & s.pcMask
		if pc == 0 || int(pc) > len(s.p.Points) {
			continue
		}
		for i := range r.slots[pc-1] {
			c := &r.slots[pc-1][i]
			mask := maskOf(int(c.field.Bits))
			v := r.renamed(to, &c.cell, r.from[w+int(c.field.Word)]>>(uint(c.field.Shift)+sh)&mask)
			f := &c.field
			if c.leaf >= 0 {
				f = &c.fields[r.moved(to, c.leaf, c.named)]
			}
			at := uint(f.Shift) + sh
			r.trial[w+int(f.Word)] = r.trial[w+int(f.Word)]&^(mask<<at) | v<<at
		}
	}
	r.threads.represent(r.trial)
}

// moved returns the new location, or leaf, of one.
func (r *renamer) moved(to []int32, l int, named []compile.Named) int {
	if sabotage.Is("names/element") {
		return l
	}
	for _, n := range named {
		l += n.Stride * (int(to[r.first[n.Set]+n.Index]) - r.first[n.Set] - n.Index)
	}
	return l
}

// renamed returns the renamed value.
func (r *renamer) renamed(to []int32, c *cell, v uint64) uint64 {
	switch {
	case v == 0:
	case c.kind == nameCell:
		return uint64(int(to[r.first[c.set]+int(v)-1]) - r.first[c.set] + 1)
	case c.kind == pointerCell && !sabotage.Is("names/pointer"):
		return uint64(r.moved(to, int(v-1), r.s.p.Locs[v-1].Named[c.depth:]) + 1)
	case c.kind == chanCell:
		l := r.s.p.Chans[v-1].First
		return uint64(r.s.p.ChanAt[r.moved(to, l, r.s.p.Locs[l].Named)] + 1)
	}
	return v
}

// sortBag sorts the messages of a bag in trial, as sending does.
func (r *renamer) sortBag(c *compile.Chan) {
	s := r.s
	less := func(a, b int) bool {
		for j := 1; j <= c.Leaves; j++ {
			if x, y := s.locs[a+j].load(r.trial), s.locs[b+j].load(r.trial); x != y {
				return x < y
			}
		}
		return false
	}
	for k := 1; k < c.Cap && s.locs[slotLoc(c, k)].get(r.trial) != 0; k++ {
		for i := k; i > 0 && less(slotLoc(c, i), slotLoc(c, i-1)); i-- {
			a, b := slotLoc(c, i), slotLoc(c, i-1)
			for j := 1; j <= c.Leaves; j++ {
				x, y := s.locs[a+j].get(r.trial), s.locs[b+j].get(r.trial)
				s.locs[a+j].put(r.trial, y)
				s.locs[b+j].put(r.trial, x)
			}
		}
	}
}
