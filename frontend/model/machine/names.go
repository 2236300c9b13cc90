package machine

import (
	"cmp"
	"slices"

	"cpor/frontend/model/compile"
	"cpor/frontend/model/resolve"
	"cpor/system"
)

// The names of a Scalarset can be exchanged (Ip and Dill 1996): there is no operation on
// them but to compare two for equality, to take one as the index of an array that has
// no other indices, and to choose any. What goes through all of them, in some order, is
// within one transition, and its outcome does not depend on the order. So a permutation of the
// names of each type, applied to the values and to the elements of the arrays, is an
// automorphism, and so it is together with a permutation of symmetric threads. A
// pointer into such an array, and a reference to a channel in one, goes with its element.
// nil is 0 and stays, so that what is not alive or was never set stays as well.
//
// The representative of a state is the least one of some states of its orbit, of which the
// threads are sorted. Which ones is found out by colours, as by the programs for graph
// isomorphism (McKay, Practical graph isomorphism, Congressus Numerantium 30, 1981). Names and symmetric
// threads are vertices; each thread and each location is an edge with a label, which
// joins the names and threads in it. Vertices have ranks, which are refined by those of their
// neighbours until that makes no difference. If names of one rank are left, each of
// them in turn is made the first one. Nothing of this depends on which name is which, so all
// states of an orbit come to the same ones. Two names are twins if exchanging
// them gives the same state, but for the order of threads; then one of them is enough.
// So there is no bound, and the states need not be compared with all that the permutations make.
// Where neither colours nor twins help, as with names in a ring, there are as many
// as names; only graphs that are hard for the programs above are hard here.

// cellKind says what a permutation of names does to a value.
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
	vertices []int32      // of the edges, one after the other
	edges    []edge
	joined   []int32 // of the edge that is being made
	label    uint64  // of it
	hash     []uint64
	order    []int32
	spare    []uint64
	base     system.State // the state with its threads sorted
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
	case t.Kind == resolve.Array && t.Index != nil:
		return 1 + depth(t.Elem)
	case t.Kind == resolve.Array:
		return depth(t.Elem)
	case t.Kind == resolve.Struct && len(t.Fields) > 0:
		return depth(t.Fields[0].Type)
	}
	return 0
}

// slotCells returns what a permutation touches of a thread at a point.
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
func (r *renamer) leafNames(dst [][]compile.Named, named []compile.Named, t *resolve.Type) [][]compile.Named {
	switch t.Kind {
	case resolve.Array:
		stride := len(compile.Leaves(t.Elem))
		for i := range t.Len {
			in := named
			if t.Index != nil {
				in = append(slices.Clone(named), compile.Named{Set: slices.Index(r.s.p.Sets, t.Index.Underlying()), Index: i, Stride: stride})
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

// represent makes of a state the representative of its orbit.
func (r *renamer) represent(state system.State) {
	r.from = append(r.from[:0], state...)
	r.base = append(r.base[:0], state...)
	r.threads.represent(r.base)
	n := r.s.threadsIn(state)
	r.collect(n)
	rank := make([]int32, r.names+n)
	for i, t := range r.s.p.Sets {
		for k := range t.Len {
			rank[r.first[i]+k] = int32(r.first[i])
		}
	}
	for t := range n {
		rank[r.names+t] = int32(r.names)
	}
	r.found = false
	r.search(rank)
	copy(state, r.best)
}

// search tries the permutations that agree with the ranks, and keeps the least state.
func (r *renamer) search(rank []int32) {
	r.refine(rank)
	// The first names of one rank, if there are any.
	var class []int32
	for v := range int32(r.names) {
		if len(class) > 0 && rank[v] > rank[class[0]] {
			continue
		}
		if len(class) > 0 && rank[v] == rank[class[0]] {
			class = append(class, v)
			continue
		}
		if slices.Contains(rank[v+1:r.names], rank[v]) {
			class = append(class[:0], v)
		}
	}
	if len(class) == 0 {
		r.rename(rank)
		if !r.found || slices.Compare(r.trial, r.best) < 0 {
			r.best, r.trial, r.found = r.trial, r.best, true
		}
		return
	}
	var kinds []int32 // no two of them are twins
	for _, v := range class {
		if !slices.ContainsFunc(kinds, func(u int32) bool { return r.twins(u, v) }) {
			kinds = append(kinds, v)
		}
	}
	if len(kinds) == 1 {
		for i, v := range class {
			rank[v] += int32(i)
		}
		r.search(rank)
		return
	}
	for _, first := range kinds {
		next := slices.Clone(rank)
		for _, v := range class {
			if v != first {
				next[v]++
			}
		}
		r.search(next)
	}
}

// twins tells whether the state is the same with two names exchanged, but for the order of
// symmetric threads.
func (r *renamer) twins(u, v int32) bool {
	to := make([]int32, r.names)
	for i := range to {
		to[i] = int32(i)
	}
	to[u], to[v] = v, u
	r.rename(to)
	return slices.Equal(r.trial, r.base)
}

// refine splits ranks until each vertex of a rank is in edges with vertices of the same ranks.
// The rank of a vertex is how many have a smaller one.
func (r *renamer) refine(rank []int32) {
	r.order = r.order[:0]
	for v := range rank {
		r.order = append(r.order, int32(v))
	}
	for classes := 0; ; {
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
		slices.SortFunc(r.order, func(u, v int32) int {
			return cmp.Or(cmp.Compare(rank[u], rank[v]), cmp.Compare(r.hash[u], r.hash[v]), cmp.Compare(u, v))
		})
		n := 0
		was := int32(-1)
		at := int32(0)
		for i, v := range r.order {
			if i == 0 || rank[v] != was || r.hash[v] != r.hash[r.order[i-1]] {
				n++
				at = int32(i)
			}
			was = rank[v]
			rank[v] = at
		}
		if n == classes {
			return
		}
		classes = n
	}
}

// scramble hashes a number together with another one.
func scramble(h, v uint64) uint64 { return mix(int32(h>>40), h^mix(1, v+0x9e3779b97f4a7c15)) }

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

// along tells of a location without its names, and joins these.
func (r *renamer) along(l int, named []compile.Named) {
	for _, n := range named {
		l -= n.Index * n.Stride
		r.joined = append(r.joined, int32(r.first[n.Set]+n.Index))
	}
	r.tell(uint64(l))
}

// value tells of a value, and joins the names in it.
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

// moved returns where a location, or a leaf, goes.
func (r *renamer) moved(to []int32, l int, named []compile.Named) int {
	for _, n := range named {
		l += n.Stride * (int(to[r.first[n.Set]+n.Index]) - r.first[n.Set] - n.Index)
	}
	return l
}

// renamed returns what becomes of a value.
func (r *renamer) renamed(to []int32, c *cell, v uint64) uint64 {
	switch {
	case v == 0:
	case c.kind == nameCell:
		return uint64(int(to[r.first[c.set]+int(v)-1]) - r.first[c.set] + 1)
	case c.kind == pointerCell:
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
