package statestore

import (
	"math"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/internal/probe"
)

// The keys of the Tree store. A key is a word of keyBits bits that represents a
// state: its class, in the highest bits, says how to read the rest.
const (
	shardBits = 10
	fragBits  = 16
	// What is in an entry of the table of states, and what its shard adds to it.
	keyBits   = 64 - fragBits + shardBits
	classBits = 6
	idsBits   = keyBits - classBits
	idsMask   = 1<<idsBits - 1
	keyMask   = 1<<keyBits - 1

	// classYoung is the class of the Refs of states that were stored before
	// their shape was known; see shape.
	classYoung = 0
	// classWhole is the class of all states whose profile got no class of its
	// own: the rest of the key is one number for (length, root).
	classWhole = 1<<classBits - 1

	// maxParts is the largest number of parts of a state.
	maxParts = 6
	maxSlots = 2*maxParts - 1
)

// A shape says how states of one length are taken apart. The state's bits are
// divided into up to maxParts consecutive parts, each with a dense numbering of
// the values it has taken so far. A state is then a handful of small numbers,
// and those are its key.
//
// # Parts
//
// Where the cuts are decides over the memory. A part that all the variation is
// in has nearly as many values as there are states, and saves nothing; cut in
// two, its halves have perhaps the square root of that. So the first sampleStates
// states of a length are kept as they are, as samples, and the cuts are
// then chosen so that the parts have few different values among those states.
// Cuts may fall inside a word.
//
// A part is a binary tree. Its leaves are the words of the part (masked
// and shifted if the part has only some of their bits). An inner vertex is the
// pair of its children's codes. The code of a vertex below the top is a number
// from the shared table of inner nodes, or, for a leaf of at most 31 bits, its
// value itself. The top is numbered in the part's own table. (Laarman, van de
// Pol, Weber, SPIN 2011, whose trees are binary to the root. With a binary root
// the tables of its two children had up to one node per state in our models;
// see docs/design/statestore.md.)
//
// # Profiles
//
// A profile says how many bits of a key each number has. The key of a state has
// the class of the first profile in the shape's list that its numbers fit into.
// Numbers do not change and the list only grows at its end, so a state has the
// same key at all times, for all workers. When a state fits into no profile,
// one is added in which each number has room to grow. When the numbers get too
// many bits together, the new profile has two adjacent ones merged: the pair is
// numbered in a table of its own. There can be merges until one number is left.
type shape struct {
	n       int    // words
	moves   uint32 // what distinguishes its moves from other shapes' (see move); 0: has none
	layout  atomic.Pointer[layout]
	learned atomic.Bool          // the parts are chosen, the samples are in the table
	shared  bool                 // with other stores; set before a session works
	crew    atomic.Pointer[crew] // learns the shape; nil if nobody does
	mu      probe.Mutex          // guards what follows until the shape is learned
	samples *samples
	vertex  []vertex
	leafOf  []int32 // leaves of word i: leafOf[i] to leafOf[i+1]
	leaves  int
	parts   []part
	// different values of parts i to j-1 among the samples
	sampled [maxParts + 1][maxParts + 1]float64

	profileMu probe.Mutex // guards changes of layout
}

// vertex is a vertex of the trees of a shape. The leaves come first, in the
// order of their words, and children come before their parents.
type vertex struct {
	mask        uint64 // leaf: its bits of the word
	left, right int32  // inner: children
	word        int32  // leaf: the word
	parent      int32  // -1: the top of its part
	part        uint8
	shift       uint8 // leaf: of its lowest bit
}

// part is a part of a shape.
type part struct {
	top int32 // vertex
}

// layout is what of a shape changes when a profile is added. It is immutable.
type layout struct {
	direct   uint64  // class of states of at most one word of idsBits bits, shifted; 0: none
	merges   []merge // merge j makes slot len(parts)+j
	profiles []profile
}

// merge makes one number of those in two slots.
type merge struct {
	a, b  uint8
	table *nodes
}

// profile is a way to make a key of numbers. A slot holds a number: slot i that
// of part i, the slots behind those of the merges.
type profile struct {
	class  uint64 // shifted to its place in a key
	merges int    // how many merges have to be done
	slots  []uint8
	widths []uint8
	room   uint64             // the widths, one in each byte, with the bytes' highest bits set
	own    [maxParts]bitField // by part: its number in the key; of no width if it is merged
}

// bitField is where a number is in a key.
type bitField struct{ shift, width uint8 }

// place says where the numbers of k parts stand.
func (p *profile) place(k int) {
	shift := uint8(0)
	for i, w := range p.widths {
		if slot := int(p.slots[i]); slot < k {
			p.own[slot] = bitField{shift, w}
		}
		shift += w
	}
}

// highBits are the highest bits of the bytes of a word.
const highBits = 0x8080808080808080

// lengths returns the lengths in bits of the numbers in some slots, one in each
// byte. They fit into a profile with these slots if and only if no byte of the
// difference room-lengths has lost its highest bit.
func lengths(slots []uint8, numbers *[maxSlots]uint32) (l uint64) {
	for i, slot := range slots {
		l |= uint64(bits.Len32(numbers[slot])) << (8 * i & 63)
	}
	return l
}

// classInfo says how keys of a class are read.
type classInfo struct {
	shape   *shape
	profile *profile
	layout  *layout // one that has the profile's merges
	direct  bool
}

// build makes the vertices for parts with the given cuts: cuts[i] to cuts[i+1]
// are the bits of part i. weigh gives leaves their weights: how often they change. The
// trees are Huffman's, so that what changes often is near the top and what never
// changes is together in a subtree.
func (sh *shape) build(cuts []int, weigh func(leaves []vertex) []int) {
	sh.vertex, sh.parts, sh.leafOf = nil, nil, make([]int32, sh.n+1)
	type open struct {
		vertex int32
		weight int
	}
	var parts [][]open
	for p := 0; p+1 < len(cuts); p++ {
		var part []open
		for lo, hi := cuts[p], cuts[p+1]; lo < hi; {
			w := lo / 64
			end := min(hi, 64*(w+1))
			mask := ^uint64(0) << (lo % 64)
			if end%64 != 0 {
				mask &= 1<<(end%64) - 1
			}
			part = append(part, open{vertex: int32(len(sh.vertex))})
			sh.vertex = append(sh.vertex, vertex{mask: mask, word: int32(w), shift: uint8(lo % 64),
				part: uint8(p), parent: -1})
			sh.leafOf[w+1] = int32(len(sh.vertex))
			lo = end
		}
		parts = append(parts, part)
	}
	sh.leaves = len(sh.vertex)
	weights := weigh(sh.vertex)
	for p, queue := range parts {
		// Of equal weight, the vertex made first goes first: leaves of weight 0
		// make a balanced tree.
		less := func(a, b open) int { return a.weight - b.weight }
		for i := range queue {
			queue[i].weight = weights[queue[i].vertex]
		}
		slices.SortStableFunc(queue, less)
		for len(queue) > 1 {
			a, b := queue[0], queue[1]
			v := int32(len(sh.vertex))
			sh.vertex = append(sh.vertex, vertex{left: a.vertex, right: b.vertex, part: uint8(p),
				parent: -1})
			sh.vertex[a.vertex].parent, sh.vertex[b.vertex].parent = v, v
			c := open{v, a.weight + b.weight}
			queue = queue[2:]
			at, _ := slices.BinarySearchFunc(queue, open{weight: c.weight + 1}, less)
			queue = slices.Insert(queue, at, c)
		}
		sh.parts = append(sh.parts, part{top: queue[0].vertex})
	}
}

// changes returns for each leaf in how many examples its bits differ from the example's parent's.
// parent and all are those of learn.
func changes(leaves []vertex, examples [][]uint64, parent func(i int) int,
	all func(tasks int, do func(task int))) []int {
	parents := make([]int, len(examples))
	for i := range parents {
		parents[i] = parent(i)
	}
	n := make([]int, len(leaves))
	const together = 8 // leaves in a task
	all((len(leaves)+together-1)/together, func(task int) {
		for l := task * together; l < min((task+1)*together, len(leaves)); l++ {
			word, mask := leaves[l].word, leaves[l].mask
			for i, p := range parents {
				if p >= 0 && (examples[i][word]^examples[p][word])&mask != 0 {
					n[l]++
				}
			}
		}
	})
	return n
}

// learn chooses the cuts for states of n words from examples, and returns them
// with, for all i < j, how many different values the bits from cut i to cut j
// have among the examples. Without examples the cuts are at equal distances.
// parent gives an example's parent among them, -1 if it is not there.
//
// The candidates are up to maxCandidates places between bits that vary, at about
// equal distances in varying bits, but rather between fields than inside: where
// few moves change bits on both sides. Of all choices of cuts among these, the
// one is taken with the smallest sum of different values, and a little more for
// each move across a cut, because such a move costs looking up both parts.
//
// all does a number of tasks in any order, and can do some at a time.
func learn(n int, examples [][]uint64, parent func(i int) int,
	all func(tasks int, do func(task int))) (cuts []int, distinct [][]float64) {
	vary := varyingBits(n, examples)
	at, price := candidates(vary, crossings(vary, examples, parent), 64*n)
	v := newValueCounter(at, examples, parent, all)
	k := min(maxParts, len(at)-1)
	limit := v.bound(k, price)
	d := v.table(limit, all)
	chosen := cheapest(d, price, k)
	distinct = make([][]float64, k+1)
	for a, i := range chosen {
		cuts = append(cuts, at[i])
		distinct[a] = make([]float64, k+1)
		for b, j := range chosen {
			if distinct[a][b] = d[i][j]; i < j && d[i][j] > limit {
				distinct[a][b] = v.count(i, j)
			}
		}
	}
	return cuts, distinct
}

// varyingBits returns the bits that are not the same in all examples, and all if there are none.
func varyingBits(n int, examples [][]uint64) []int {
	varying := make([]uint64, n)
	for _, s := range examples {
		for i := range varying {
			varying[i] |= s[i] ^ examples[0][i]
		}
	}
	var vary []int
	for i := range 64 * n {
		if varying[i/64]>>(i%64)&1 != 0 {
			vary = append(vary, i)
		}
	}
	if len(vary) == 0 {
		for i := range 64 * n {
			vary = append(vary, i)
		}
	}
	return vary
}

// crossings returns, for each varying bit, the number of moves that change a bit shortly before it
// and one from there on. parent is that of learn.
func crossings(vary []int, examples [][]uint64, parent func(i int) int) []float64 {
	const near = 16 // varying bits: those further apart are no field
	crossing := make([]float64, len(vary)+1)
	if len(examples) == 0 {
		return crossing
	}
	// The varying bits of each word, and how many are in the words before.
	varying, before := make([]uint64, len(examples[0])), make([]int, len(examples[0])+1)
	for _, bit := range vary {
		varying[bit/64] |= 1 << (bit % 64)
		before[bit/64+1]++
	}
	for w := range varying {
		before[w+1] += before[w]
	}
	for i, s := range examples {
		p := parent(i)
		if p < 0 {
			continue
		}
		last := -near - 1
		for w, v := range examples[p] {
			for changed := s[w] ^ v; changed != 0; changed &= changed - 1 {
				below := changed&-changed - 1
				k := before[w] + bits.OnesCount64(varying[w]&below)
				if k-last <= near { // differences, which are summed up below
					crossing[last+1]++
					crossing[k+1]--
				}
				last = k
			}
		}
	}
	for k := 1; k < len(crossing); k++ {
		crossing[k] += crossing[k-1]
	}
	return crossing
}

// candidates returns the places among which the cuts are chosen, from 0 to total, and what a cut at
// each costs for the moves across it, in different values.
func candidates(vary []int, crossing []float64, total int) (at []int, price []float64) {
	const (
		maxCandidates = 24
		crossingCost  = 0.05 // in different values
	)
	step := (len(vary) + maxCandidates - 1) / maxCandidates
	at, price = []int{0}, []float64{0}
	for k := step; k < len(vary); k += step {
		best := k
		for d := -(step - 1) / 2; d <= step/2; d++ {
			if j := k + d; j > 0 && j < len(vary) && (crossing[j] < crossing[best] ||
				crossing[j] == crossing[best] && abs(d) < abs(best-k)) {
				best = j
			}
		}
		if vary[best] > at[len(at)-1] { // a cut stands just before a varying bit
			at = append(at, vary[best])
			price = append(price, crossing[best]*crossingCost)
		}
	}
	return append(at, total), append(price, 0)
}

// valueCounter counts the different values that the bits between two places have among examples.
type valueCounter struct {
	at []int // the places
	// sums[e*len(at)+i] is a hash of the bits of example e before place i such that
	// the difference of two of e is a hash of the bits between.
	sums []uint64
	// changed[e] are the places i such that the bits from there to the next place are not those of
	// the example from which e was reached; all if there is none.
	changed []uint64
	// changing[i] are the examples e for which i is in changed[e].
	changing [][]int32
	scratch  sync.Pool // of *counterScratch
}

// counterScratch is what counting values takes.
type counterScratch struct {
	list []int32  // examples
	set  []uint64 // a hash set with open addressing, whose size is a power of 2
}

// inTurn does tasks one after the other.
func inTurn(tasks int, do func(task int)) {
	for i := range tasks {
		do(i)
	}
}

func newValueCounter(at []int, examples [][]uint64, parent func(i int) int,
	all func(tasks int, do func(task int))) *valueCounter {
	v := &valueCounter{at: at, sums: make([]uint64, len(at)*len(examples)),
		changed: make([]uint64, len(examples)), changing: make([][]int32, len(at))}
	rowOf := func(e int) []uint64 { return v.sums[e*len(at):][:len(at)] }
	const together = 64 // examples in a task
	all((len(examples)+together-1)/together, func(task int) {
		for e := task * together; e < min((task+1)*together, len(examples)); e++ {
			row := rowOf(e)
			for i := range len(at) - 1 {
				row[i+1] = row[i] + hashBits(examples[e], i+1, at[i], at[i+1])
			}
		}
	})
	n := make([]int, len(at)) // in changing
	for e := range examples {
		row, before := rowOf(e), []uint64(nil)
		if p := parent(e); p >= 0 {
			before = rowOf(p)
		}
		for i := range len(at) - 1 {
			if before == nil || row[i+1]-row[i] != before[i+1]-before[i] {
				v.changed[e] |= 1 << i
				n[i]++
			}
		}
	}
	for i := range v.changing {
		v.changing[i] = make([]int32, 0, n[i])
	}
	for e, c := range v.changed {
		for ; c != 0; c &= c - 1 {
			i := bits.TrailingZeros64(c)
			v.changing[i] = append(v.changing[i], int32(e))
		}
	}
	size := 1
	for size < 2*len(examples) {
		size *= 2
	}
	v.scratch.New = func() any { return &counterScratch{set: make([]uint64, size)} }
	return v
}

// hashBits returns a hash of the bits of a state from one place to another one.
func hashBits(s []uint64, seed, from, to int) uint64 {
	h := uint64(seed)
	for lo := from; lo < to; {
		w := lo / 64
		end := min(to, 64*(w+1))
		v := s[w] >> (lo % 64)
		if d := end - lo; d < 64 {
			v &= 1<<d - 1
		}
		h = hashNode(h ^ hashNode(v+uint64(end)))
		lo = end
	}
	return h
}

// count returns the number of different values between places i and j. Without examples it is the
// square of the distance, so that equal distances are the best.
func (v *valueCounter) count(i, j int) float64 {
	c := v.scratch.Get().(*counterScratch)
	defer v.scratch.Put(c)
	c.list = c.list[:0]
	for k := i; k < j; k++ {
		v.extend(c, i, k)
	}
	return v.distinct(c, i, j, math.Inf(1))
}

// extend adds to c.list the examples that changed between places k and k+1, but not between i and
// k. An example that is not in the list after that for all k from i on has, between the places, the
// value of the example from which it was reached, and so on, back to one that is in the list.
func (v *valueCounter) extend(c *counterScratch, i, k int) {
	before := uint64(1)<<k - 1<<i
	for _, e := range v.changing[k] {
		if v.changed[e]&before == 0 {
			c.list = append(c.list, e)
		}
	}
}

// distinct is count for the examples in c.list, up to limit + 1.
func (v *valueCounter) distinct(c *counterScratch, i, j int, limit float64) float64 {
	if len(v.sums) == 0 {
		d := float64(v.at[j] - v.at[i])
		return d * d
	}
	most := len(c.list) // in the set
	if limit < float64(most) {
		most = int(limit) + 1
	}
	set := c.set[:min(2<<bits.Len(uint(most)), len(c.set))]
	clear(set)
	mask := uint64(len(set) - 1)
	n := 0
	for _, e := range c.list {
		row := v.sums[int(e)*len(v.at):][:len(v.at)]
		h := hashNode(row[j] - row[i])
		if h == 0 {
			h = 1
		}
		k := h & mask
		for set[k] != 0 && set[k] != h {
			k = (k + 1) & mask
		}
		if set[k] == 0 {
			set[k] = h
			if n++; float64(n) > limit {
				break
			}
		}
	}
	return float64(n)
}

// bound returns the cost of k parts with about equal numbers of places: the best choice costs no
// more.
func (v *valueCounter) bound(k int, price []float64) float64 {
	g := len(v.at) - 1
	limit := 0.0
	for a := range k {
		limit += v.count(a*g/k, (a+1)*g/k) + price[(a+1)*g/k]
	}
	return limit
}

// table returns, for all i < j, the number of different values between places i and j, or something
// above limit. Most pairs of places are so far apart that they need not be counted to the end: the
// sum of the best choice is not above limit, so that no part of it is, and more bits have no fewer
// values.
func (v *valueCounter) table(limit float64, all func(tasks int, do func(task int))) [][]float64 {
	d := make([][]float64, len(v.at))
	all(len(d), func(i int) {
		row := make([]float64, len(v.at))
		c := v.scratch.Get().(*counterScratch)
		c.list = c.list[:0]
		for j := i + 1; j < len(row); j++ {
			row[j] = max(row[j-1], limit+1)
			if row[j-1] <= limit {
				v.extend(c, i, j-1)
				row[j] = v.distinct(c, i, j, limit)
			}
		}
		v.scratch.Put(c)
		d[i] = row
	})
	return d
}

// cheapest returns the k+1 places, the first and the last included, for which the sum of the
// distances d between neighbors and of the prices is the least. It is a shortest path with k edges.
func cheapest(d [][]float64, price []float64, k int) []int {
	// best[a][j]: the least sum for the places up to j in a parts.
	best := make([][]float64, k+1)
	from := make([][]int, k+1)
	for a := range best {
		best[a] = make([]float64, len(d))
		from[a] = make([]int, len(d))
		for j := range best[a] {
			best[a][j] = 1e300
		}
	}
	best[0][0] = 0
	for a := 1; a <= k; a++ {
		for j := a; j < len(d); j++ {
			for i := a - 1; i < j; i++ {
				if c := best[a-1][i] + d[i][j] + price[j]; c < best[a][j] {
					best[a][j], from[a][j] = c, i
				}
			}
		}
	}
	chosen := make([]int, k+1)
	for a, j := k, len(d)-1; a >= 0; a-- {
		chosen[a] = j
		j = from[a][j]
	}
	return chosen
}

func abs(i int) int { return max(i, -i) }
