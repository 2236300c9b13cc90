package division

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime/debug"
	"slices"

	"golang.org/x/sync/errgroup"

	"cpor/statestore"
	"cpor/system"
)

// How large a sample is, and what is tried with it.
const (
	// leastStates is the number of states of a sample, more if there are many parts, up
	// to mostStates; and not more than mostWords words are kept.
	leastStates, mostStates = 8192, 1 << 17
	statesPerPart           = 512
	mostWords               = 1 << 22
	// mostParts is the largest number of parts for which the sample is large enough to say
	// which bits should decide.
	mostParts = mostStates / statesPerPart
	// mostLevels is how deep a sample goes.
	mostLevels = 512
	// mostAlternatives of a transition are executed.
	mostAlternatives = 16
	// mostAtoms is how many of the bits that go together are tried in turn.
	mostAtoms = 128
	// crossingCost is what a move to another part costs more than one within a part, in terms of
	// the latter.
	crossingCost = 3
	// imbalancePower is the power of the largest part in the cost: a search waits for its rank, and
	// its memory is full first.
	imbalancePower = 1.5
	// worthwhile is the cost, in terms of the hash of the whole state, below which a division is
	// used.
	worthwhile = 0.9
)

// collisionTargets are the probabilities that two states of one level fall into the same bucket,
// times the number of parts, for which bits are chosen.
var collisionTargets = [...]float64{0.6, 0.2, 0.06, 0.02}

// tries is how many tables are tried for the same bits.
const tries = 3

// Chosen says what the sample says of a division.
type Chosen struct {
	Leave float64 // the part of the transitions that lead to another part
	// the largest part in terms of the mean, in the mean of some phases of the search
	Largest float64
}

// Options say how Choose takes its sample. Export and Stopped are called by several goroutines at a
// time.
type Options struct {
	// Export writes a state as other ranks see it; nil if they see it as it is. Only then there
	// are shapes.
	Export func(dst, s system.State) system.State
	// Stopped, if not nil, tells that Choose is to return soon.
	Stopped func() bool
	// Examples is how many states of a length make a shape; 0 means 512.
	Examples int

	seed uint64 // other samples for each
}

// Choose returns a division of the states of a system into n parts. What it executes is
// counted ([system.Counting]).
func Choose(sys system.System, n int, o Options) (*Division, Chosen) {
	export, stopped, seed := o.Export, o.Stopped, o.seed
	if stopped == nil {
		stopped = func() bool { return false }
	}
	if n < 2 {
		return &Division{}, Chosen{Largest: 1}
	}
	size := min(max(leastStates, n*statesPerPart), mostStates)
	if n > mostParts {
		size = leastStates // for shapes only
	}
	train, check := newWalk(sys, export, 2*seed), newWalk(sys, export, 2*seed+1)
	ended := train.run(size/mostLevels, mostLevels, stopped)
	if n := len(train.states); n > 0 && train.used > 0 {
		size = min(size, mostWords*n/train.used) // large states: rather fewer of all levels
	}
	width := max(1, size/max(1, len(train.level)))
	// What one sample suggests is checked on another one.
	var walks []func()
	if n <= mostParts {
		walks = append(walks, func() { check.run(width, mostLevels, stopped) })
	}
	if ended && width > 2*size/mostLevels {
		walks = append(walks, func() { train.run(width, mostLevels, stopped) })
	}
	inParallel(walks)
	best := &Division{}
	var cuts []statestore.Shape
	if export == nil {
		cuts = train.shapes(cmp.Or(o.Examples, leastExamples))
	}
	if len(cuts) > 0 {
		best = byAll(train.words, n, cuts)
	}
	if n > mostParts {
		return best, Chosen{Leave: 1 - 1/float64(n), Largest: 1}
	}
	chosen := check.evaluate(n, check.each(func(s system.State) int32 {
		return int32(best.Part(s, n))
	}))
	cost := chosen.cost() * worthwhile
	for fields := range train.parts(n) {
		fields = split(fields, cuts)
		empty := newDivision(fields, n)
		bucket := func(s system.State) int32 { return int32(empty.bucket(empty.sum(s))) }
		var buckets, checked values
		inParallel([]func(){func() { buckets = train.each(bucket) }, func() {
			checked = check.each(bucket)
		}})
		g := train.graph(n, buckets)
		var ds [tries]*Division
		var cs [tries]Chosen
		var all []func()
		for i := range tries {
			all = append(all, func() {
				ds[i] = g.anneal(newDivision(fields, n), rand.New(rand.NewPCG(seed, uint64(i))))
				cs[i] = check.evaluate(n, checked.in(ds[i].Table))
			})
		}
		inParallel(all)
		better := false
		for i := range tries {
			if c := cs[i].cost(); c < cost {
				best, chosen, cost, better = ds[i], cs[i], c, true
			}
		}
		if !better && len(best.Table) > 0 {
			break // with more values, more moves cross
		}
	}
	best.Shapes = cuts
	return best, chosen
}

// byAll returns the division into n parts that goes by all bits of states of at most so many
// words, so that it is known from the numbers of their parts, in place of the hash of the whole
// state.
func byAll(words, n int, shapes []statestore.Shape) *Division {
	var all []Field
	for i := range words {
		all = append(all, Field{i, ^uint64(0)})
	}
	return &Division{Fields: split(all, shapes), Parts: n, Shapes: shapes}
}

// leastExamples is how many states of a length there must be in a sample for a shape, and
// mostExamples from how many it is learnt.
const leastExamples, mostExamples = 512, 1 << 11

// shapes returns the shapes of those lengths of states of which the sample has enough.
func (w *walk) shapes(least int) (all []statestore.Shape) {
	lengths := map[int][]int{}
	for i, k := range w.states {
		n := len(w.seen[k])
		lengths[n] = append(lengths[n], i)
	}
	for _, n := range slices.Sorted(maps.Keys(lengths)) {
		of := lengths[n]
		if n < 2 || len(of) < least {
			continue
		}
		// Every other one is where the one before it came from.
		var examples [][]uint64
		var before []int
		number := map[int]int{}
		add := func(i int) int {
			k, ok := number[i]
			if !ok {
				k = len(examples)
				number[i] = k
				examples, before = append(examples, w.seen[w.states[i]]), append(before, -1)
			}
			return k
		}
		for j := range min(len(of), mostExamples/2) {
			i := of[j*len(of)/min(len(of), mostExamples/2)]
			k := add(i)
			if p := w.before[i]; p >= 0 && len(w.seen[w.states[p]]) == n {
				before[k] = add(p)
			}
		}
		all = append(all, statestore.Learn(examples, func(i int) int { return before[i] }))
	}
	return all
}

// split cuts fields where a shape has cuts.
func split(fields []Field, shapes []statestore.Shape) (all []Field) {
	for _, f := range fields {
		// By the places of cuts within the word, each the lowest bit of what comes behind it.
		var at uint64
		for _, sh := range shapes {
			for _, c := range sh.Cuts {
				if c/64 == f.Word && f.Word < sh.Length {
					at |= 1 << (c % 64)
				}
			}
		}
		for rest := f.Bits; rest != 0; {
			first := rest & -rest
			next := at &^ (first<<1 - 1) // the cuts above it
			below := next&-next - 1      // all bits, if there are none
			all = append(all, Field{f.Word, rest & below})
			rest &^= below
		}
	}
	return all
}

// inParallel calls functions at the same time. It panics if one of them does.
func inParallel(fs []func()) {
	var g errgroup.Group
	for _, f := range fs {
		g.Go(func() (err error) {
			defer func() {
				if v := recover(); v != nil {
					err = fmt.Errorf("%v\n%s", v, debug.Stack())
				}
			}()
			f()
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		panic(err)
	}
}

// walk is a sample of a system's states and transitions: from level to level, as a search
// in breadth goes, but only some states of each.
type walk struct {
	sys     system.System
	export  func(dst, s system.State) system.State
	machine system.Machine
	random  *rand.Rand

	words  int            // of the longest state
	used   int            // words of all of seen
	seen   []system.State // states and ends of moves, as they are exported, each once
	hashes []uint64       // of these
	index  []int32        // into seen, from 1: open addressing by hashes
	states []int32        // the sample: numbers among seen
	// by state of the sample: one of those from which it was reached, -1 if there is none
	before []int
	level  []int  // the first state of each level
	moves  []move // from these states
	slab   []uint64
}

// move is one transition of a walk.
type move struct {
	thread int32
	at     int32 // the number of the state from which it leads, of the sample
	end    int32 // among seen
}

// from returns the state that a move leads from.
func (w *walk) from(m *move) system.State { return w.seen[w.states[m.at]] }

func newWalk(sys system.System, export func(dst, s system.State) system.State, seed uint64) *walk {
	return &walk{sys: sys, export: export, machine: sys.NewMachine(),
		random: rand.New(rand.NewPCG(seed, 1997))}
}

// keep returns a copy of s.
func (w *walk) keep(s system.State) system.State {
	if len(w.slab)+len(s) > cap(w.slab) {
		w.slab = make([]uint64, 0, max(1<<14, len(s)))
	}
	at := len(w.slab)
	w.slab = append(w.slab, s...)
	return w.slab[at:len(w.slab):len(w.slab)]
}

// number returns the number of a state among those seen, and whether it is new. Two states with the
// same hash are one here.
func (w *walk) number(s system.State) (number int32, fresh bool) {
	if 2*len(w.seen) >= len(w.index) {
		w.index = make([]int32, max(1<<10, 4*len(w.index)))
		for i, h := range w.hashes {
			*w.slotOf(h) = int32(i) + 1
		}
	}
	h := Hash(s)
	p := w.slotOf(h)
	if *p > 0 {
		return *p - 1, false
	}
	if w.export != nil {
		s = w.export(nil, s)
	} else {
		s = w.keep(s)
	}
	w.seen, w.hashes = append(w.seen, s), append(w.hashes, h)
	w.words = max(w.words, len(s))
	w.used += len(s)
	*p = int32(len(w.seen))
	return *p - 1, true
}

// slotOf returns the slot of the index that holds the number of the state with a hash, or is free
// for it.
func (w *walk) slotOf(h uint64) *int32 {
	mask := uint64(len(w.index) - 1)
	for at := h; ; at++ {
		if p := &w.index[at&mask]; *p == 0 || w.hashes[*p-1] == h {
			return p
		}
	}
}

// run walks through at most so many levels with at most so many states each, and reports whether
// it came to an end.
func (w *walk) run(width, levels int, stopped func() bool) (ended bool) {
	*w = walk{sys: w.sys, export: w.export, machine: w.machine, random: w.random}
	type reached struct {
		system.State // as the machine takes it
		number       int32
		before       int
	}
	var now, next []reached
	for _, s := range w.sys.Initial() {
		if len(now) < width {
			if number, fresh := w.number(s); fresh {
				now = append(now, reached{s, number, -1})
			}
		}
	}
	var end system.State
	for len(now) > 0 {
		if len(w.level) == levels || w.used > mostWords {
			return false
		}
		w.level = append(w.level, len(w.states))
		next = next[:0]
		count := 0
		for _, s := range now {
			if stopped() {
				return false
			}
			at := len(w.states)
			w.states, w.before = append(w.states, s.number), append(w.before, s.before)
			m := w.machine
			m.Load(s.State)
			mark := m.Mark()
			for t := range m.NumThreads() {
				for alt, more := uint64(0), true; more && alt < mostAlternatives; {
					out := m.Step(t, alt)
					if out.Kind == system.Moved {
						end = m.Encode(end)
					}
					m.Rewind(mark)
					alt, more = out.Next, out.Kind == system.Moved && out.Next != 0
					if out.Kind != system.Moved {
						continue
					}
					number, fresh := w.number(end)
					w.moves = append(w.moves, move{int32(t), int32(at), number})
					if !fresh {
						continue
					}
					kept := w.seen[number]
					if w.export != nil {
						kept = w.keep(end)
					}
					// Each new state is among the next ones with the same probability.
					count++
					if len(next) < width {
						next = append(next, reached{kept, number, at})
					} else if i := w.random.IntN(count); i < width {
						next[i] = reached{kept, number, at}
					}
				}
			}
		}
		now, next = next, now
	}
	return true
}

// atom is some bits of a word that the same threads change.
type atom struct {
	Field
	moves []int32  // that change it
	value []uint64 // a hash of what stands there, by state
}

func word(s system.State, i int) uint64 {
	if i < len(s) {
		return s[i]
	}
	return 0
}

// atoms finds the atoms of a walk.
func (w *walk) atoms() []*atom {
	// By word: the threads that change each bit, the bits that change, and the moves.
	who := make([][64]uint64, w.words)
	varying := make([]uint64, w.words)
	changing := make([][]int32, w.words)
	for k := range w.moves {
		m := &w.moves[k]
		from, end := w.from(m), w.seen[m.end]
		for i := range max(len(from), len(end)) {
			d := word(from, i) ^ word(end, i)
			if d == 0 {
				continue
			}
			changing[i] = append(changing[i], int32(k))
			varying[i] |= d
			for ; d != 0; d &= d - 1 {
				who[i][bits.TrailingZeros64(d)] |= 1 << (m.thread & 63)
			}
		}
	}
	var all []*atom
	for i := range w.words {
		first := len(all)
		last := uint64(0)
		for v := varying[i]; v != 0; v &= v - 1 {
			b := bits.TrailingZeros64(v)
			if len(all) == first || who[i][b] != last {
				all = append(all, &atom{Field: Field{Word: i}})
				last = who[i][b]
			}
			all[len(all)-1].Bits |= 1 << b
		}
		for _, a := range all[first:] {
			for _, k := range changing[i] {
				m := &w.moves[k]
				if (word(w.from(m), i)^word(w.seen[m.end], i))&a.Bits != 0 {
					a.moves = append(a.moves, k)
				}
			}
		}
	}
	if len(all) > mostAtoms {
		// Those that few moves change are the ones that are wanted.
		slices.SortStableFunc(all, func(a, b *atom) int {
			return cmp.Compare(len(a.moves), len(b.moves))
		})
		all = all[:mostAtoms]
	}
	for _, a := range all {
		a.value = make([]uint64, len(w.states))
		for i, k := range w.states {
			v := (word(w.seen[k], a.Word)&a.Bits ^ uint64(a.Word)<<32) * mix1
			a.value[i] = (v ^ v>>29) * mix2
		}
	}
	return all
}

// counter counts equal hashes.
type counter struct {
	slots []slot
	round uint32
}

type slot struct {
	hash  uint64
	round uint32
	count uint32
}

// collisions returns the probability that two states of one level have the same hash.
func (w *walk) collisions(h []uint64, c *counter) float64 {
	if c.slots == nil {
		c.slots = make([]slot, 1<<bits.Len(uint(2*len(h))))
	}
	same, pairs := 0, 0
	mask := uint64(len(c.slots) - 1)
	for l, lo := range w.level {
		hi := len(h)
		if l+1 < len(w.level) {
			hi = w.level[l+1]
		}
		n := hi - lo
		pairs += n * (n - 1) / 2
		c.round++
		for _, x := range h[lo:hi] {
			at := x * mix1 >> 20
			for {
				s := &c.slots[at&mask]
				if s.round != c.round {
					*s = slot{x, c.round, 1}
					break
				}
				if s.hash == x {
					same += int(s.count)
					s.count++
					break
				}
				at++
			}
		}
	}
	if pairs == 0 {
		return 1
	}
	return float64(same) / float64(pairs)
}

// parts yields what could be hashed for n parts: the atoms are taken one after the other, the
// next one being that which tells the most states apart for the moves that change it, until
// there are values enough for each of the collisionTargets.
func (w *walk) parts(n int) func(yield func([]Field) bool) {
	return func(yield func([]Field) bool) {
		all := w.atoms()
		h, sum := make([]uint64, len(w.states)), make([]uint64, len(w.states))
		crosses := make([]bool, len(w.moves))
		var c counter
		rate := 1.0
		var part []*atom
		for _, most := range collisionTargets {
			most /= float64(n)
			for rate > most {
				best, bestGain, bestRate := -1, 0.0, 0.0
				for i, a := range all {
					if a == nil {
						continue
					}
					more := 0
					for _, k := range a.moves {
						if !crosses[k] {
							more++
						}
					}
					for j := range h {
						sum[j] = h[j] + a.value[j]
					}
					e := w.collisions(sum, &c)
					gain := math.Log(rate/max(e, most/2)) / (float64(more)/float64(
						len(crosses)) + 0.001)
					if gain > bestGain {
						best, bestGain, bestRate = i, gain, e
					}
				}
				if best < 0 {
					return // no bits have so many values
				}
				a := all[best]
				all[best] = nil
				part = append(part, a)
				for j := range h {
					h[j] += a.value[j]
				}
				for _, k := range a.moves {
					crosses[k] = true
				}
				rate = bestRate
			}
			if !yield(fields(part)) {
				return
			}
		}
	}
}

// fields returns the bits of some atoms, word by word.
func fields(part []*atom) (all []Field) {
	part = slices.Clone(part)
	slices.SortFunc(part, func(a, b *atom) int { return cmp.Compare(a.Word, b.Word) })
	for _, a := range part {
		if n := len(all); n > 0 && all[n-1].Word == a.Word {
			all[n-1].Bits |= a.Bits
		} else {
			all = append(all, a.Field)
		}
	}
	return all
}

// How a table is made.
const (
	leastBuckets   = 1 << 12
	bucketsPerPart = 1 << 6 // a part
	// phases is into how many phases, one after the other, the sample is divided: the
	// parts have to be of the same size in each, because ranks that have to wait
	// for each other are no faster than one.
	phases = 8
	// imbalanceWeight is what the variance of the parts' sizes, in terms of the mean, costs beside
	// the share of the moves that cross.
	imbalanceWeight = 3
	// stepsPerBucket is how many changes are tried for each bucket, up to mostSteps.
	stepsPerBucket, mostSteps = 100, 1 << 17
	// The temperature falls from hottest to coldest, every so many steps.
	hottest, coldest = 3e-3, 1e-5
	cooling          = 64
)

// newDivision returns a division into n parts by some fields, whose buckets are dealt to the parts
// in turn.
func newDivision(fields []Field, n int) *Division {
	d := &Division{Fields: fields, Parts: n}
	d.Table = make([]uint16, 1<<bits.Len(uint(max(leastBuckets, bucketsPerPart*n)-1)))
	for i := range d.Table {
		d.Table[i] = uint16(i % n)
	}
	return d
}

// values has one value for each state that a walk has seen.
type values []int32

// each computes values.
func (w *walk) each(f func(s system.State) int32) values {
	v := make(values, len(w.seen))
	for i, s := range w.seen {
		v[i] = f(s)
	}
	return v
}

// in returns what a table has for the buckets v.
func (v values) in(table []uint16) values {
	to := make(values, len(v))
	for i, p := range v {
		to[i] = int32(table[p])
	}
	return to
}

// graph has the buckets of a walk as nodes, weighted by their states, and edges weighted by the
// moves between them.
type graph struct {
	nodes []node
	mean  [phases]float64 // the load of a part if all have the same
}

type node struct {
	bucket int32
	load   [phases]float64 // states in each phase
	next   []link
}

// link is an edge to a node, weighted by its share of all moves.
type link struct {
	to     int32
	weight float64
}

// graph returns the graph of the buckets of a walk, for n parts.
func (w *walk) graph(n int, buckets values) *graph {
	g := &graph{}
	number := make([]int32, slices.Max(buckets)+1) // by bucket, from 1
	of := func(p int32) uint64 {
		if number[p] == 0 {
			g.nodes = append(g.nodes, node{bucket: p})
			number[p] = int32(len(g.nodes))
		}
		return uint64(number[p] - 1)
	}
	for i, k := range w.states {
		phase := i * phases / len(w.states)
		g.nodes[of(buckets[k])].load[phase]++
		g.mean[phase] += 1 / float64(n)
	}
	var pairs []uint64
	for k := range w.moves {
		m := &w.moves[k]
		a, b := of(buckets[w.states[m.at]]), of(buckets[m.end])
		if a != b {
			pairs = append(pairs, min(a, b)<<32|max(a, b))
		}
	}
	slices.Sort(pairs)
	for len(pairs) > 0 {
		p, count := pairs[0], 1
		for count < len(pairs) && pairs[count] == p {
			count++
		}
		pairs = pairs[count:]
		a, b, weight := p>>32, p&(1<<32-1), float64(count)/float64(len(w.moves))
		g.nodes[a].next = append(g.nodes[a].next, link{int32(b), weight})
		g.nodes[b].next = append(g.nodes[b].next, link{int32(a), weight})
	}
	return g
}

// anneal assigns buckets to parts by simulated annealing, so that few moves cross and the parts
// have the same load in every phase.
func (g *graph) anneal(d *Division, random *rand.Rand) *Division {
	n, nodes, mean := d.Parts, g.nodes, &g.mean
	var sum [phases][]float64 // the load of each part
	for i := range sum {
		sum[i] = make([]float64, n)
		for j := range nodes {
			sum[i][d.Table[nodes[j].bucket]] += nodes[j].load[i]
		}
	}
	steps := min(stepsPerBucket*len(nodes), mostSteps)
	temperature := hottest
	for i := range steps {
		if i%cooling == 0 {
			temperature = hottest * math.Pow(coldest/hottest, float64(i)/float64(steps))
		}
		x := &nodes[random.IntN(len(nodes))]
		from := d.Table[x.bucket]
		to := uint16(random.IntN(n))
		if len(x.next) > 0 && random.IntN(4) > 0 {
			to = d.Table[nodes[x.next[random.IntN(len(x.next))].to].bucket]
		}
		if to == from {
			continue
		}
		delta := 0.0
		for _, l := range x.next {
			switch d.Table[nodes[l.to].bucket] {
			case from:
				delta += l.weight
			case to:
				delta -= l.weight
			}
		}
		for i, load := range &x.load {
			if load != 0 {
				a, b := sum[i][from]-mean[i], sum[i][to]-mean[i]
				delta += 2 * load * (load - a + b) * imbalanceWeight /
					(mean[i] * mean[i] * phases * float64(n))
			}
		}
		if delta > 0 && delta > temperature*random.ExpFloat64() {
			continue
		}
		d.Table[x.bucket] = to
		for i, load := range &x.load {
			sum[i][from] -= load
			sum[i][to] += load
		}
	}
	return d
}

// evaluate estimates by the walk how good a division into n parts is; parts has those of all states
// seen.
func (w *walk) evaluate(n int, parts values) (c Chosen) {
	for k := range w.moves {
		if m := &w.moves[k]; parts[w.states[m.at]] != parts[m.end] {
			c.Leave += 1 / float64(len(w.moves))
		}
	}
	load := make([]float64, n)
	for phase := range phases {
		lo, hi := phase*len(w.states)/phases, (phase+1)*len(w.states)/phases
		if lo == hi {
			continue
		}
		clear(load)
		for _, k := range w.states[lo:hi] {
			load[parts[k]]++
		}
		c.Largest += slices.Max(load) * float64(n) / float64(hi-lo) / phases
	}
	return c
}

// cost estimates how long a search takes.
func (c *Chosen) cost() float64 {
	return math.Pow(c.Largest, imbalancePower) * (1 + crossingCost*c.Leave)
}
