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
	statesOfPart            = 512
	mostWords               = 1 << 22
	// mostParts is the largest number of parts for which the sample is large enough.
	mostParts = mostStates / statesOfPart
	// mostLevels is how deep a sample goes.
	mostLevels = 512
	// mostAlternatives of a transition are executed.
	mostAlternatives = 16
	// mostAtoms is how many of the bits that go together are tried in turn.
	mostAtoms = 128
	// travel is what a move that leaves costs more than one that stays, in terms of the latter.
	travel = 3
	// even is the power of the largest part in the cost: a search waits for the rank with it, and
	// its memory is full first.
	even = 1.5
	// worth is by how much a division must be cheaper than the hash of the whole state.
	worth = 0.9
)

// equals are the probabilities, divided by the number of parts, that two states of one level
// have the same place: what is tried.
var equals = [...]float64{0.6, 0.2, 0.06, 0.02}

// tries is how many tables are tried for the same bits.
const tries = 3

// Chosen says what the sample says of a division.
type Chosen struct {
	Leave   float64 // the part of the transitions that lead to another part
	Largest float64 // the largest part in terms of the mean, in the mean of some phases of the search
}

// Options say how Choose takes its sample. Export and Stopped are called by several goroutines at a
// time.
type Options struct {
	// Export writes a state as other ranks see it; nil if they see it as it is. Only then there
	// are shapes.
	Export func(dst, s system.State) system.State
	// Stopped, if not nil, tells that Choose is to return soon.
	Stopped func() bool
	// Examples is how many states of a length make a shape; 0 stands for 512.
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
	if n < 2 || n > mostParts {
		return &Division{}, Chosen{Leave: 1 - 1/float64(n), Largest: 1}
	}
	size := min(max(leastStates, n*statesOfPart), mostStates)
	train, judge := newWalk(sys, export, 2*seed), newWalk(sys, export, 2*seed+1)
	ended := train.run(size/mostLevels, mostLevels, stopped)
	if n := len(train.states); n > 0 && train.used > 0 {
		size = min(size, mostWords*n/train.used) // large states: rather fewer of all levels
	}
	width := max(1, size/max(1, len(train.level)))
	// What is good for one sample has to be good for another one.
	walks := []func(){func() { judge.run(width, mostLevels, stopped) }}
	if ended && width > size/mostLevels {
		walks = append(walks, func() { train.run(width, mostLevels, stopped) })
	}
	together(walks)
	best := &Division{}
	var cuts []statestore.Shape
	if export == nil {
		cuts = train.shapes(cmp.Or(o.Examples, leastExamples))
	}
	chosen := judge.judge(n, judge.each(func(s system.State) int32 { return int32(best.Part(s, n)) }))
	cost := chosen.cost() * worth
	for fields := range train.parts(n) {
		fields = split(fields, cuts)
		empty := newDivision(fields, n)
		place := func(s system.State) int32 { return int32(empty.place(empty.sum(s))) }
		var places, judged *values
		together([]func(){func() { places = train.each(place) }, func() { judged = judge.each(place) }})
		var ds [tries]*Division
		var cs [tries]Chosen
		var all []func()
		for i := range tries {
			all = append(all, func() {
				ds[i] = train.anneal(newDivision(fields, n), places, rand.New(rand.NewPCG(seed, uint64(i))))
				cs[i] = judge.judge(n, judged.in(ds[i].Table))
			})
		}
		together(all)
		better := false
		for i := range tries {
			if c := cs[i].cost(); c < cost {
				best, chosen, cost, better = ds[i], cs[i], c, true
			}
		}
		if !better && best.Parts > 0 {
			break // with more values, more moves leave
		}
	}
	best.Shapes = cuts
	return best, chosen
}

// leastExamples is how many states of a length there must be in a sample for a shape, and mostExamples
// from how many it is learnt.
const leastExamples, mostExamples = 512, 1 << 11

// shapes returns the shapes of those lengths of states of which the sample has enough.
func (w *walk) shapes(least int) (all []statestore.Shape) {
	lengths := map[int][]int{}
	for i, s := range w.states {
		lengths[len(s)] = append(lengths[len(s)], i)
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
				examples, before = append(examples, w.states[i]), append(before, -1)
			}
			return k
		}
		for j := range min(len(of), mostExamples/2) {
			i := of[j*len(of)/min(len(of), mostExamples/2)]
			k := add(i)
			if p := w.before[i]; p >= 0 && len(w.states[p]) == n {
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

// together calls functions at the same time. It panics if one of them does.
func together(fs []func()) {
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

	words  int // of the longest state
	used   int // words of all states that are kept
	states []system.State
	before []int  // by state: one of those from which it was reached, -1 if there is none
	level  []int  // the first state of each level
	moves  []move // from these states
	slab   []uint64
}

// move is one transition of a walk.
type move struct {
	thread    int
	at        int // the number of from among the states
	from, end system.State
}

func newWalk(sys system.System, export func(dst, s system.State) system.State, seed uint64) *walk {
	return &walk{sys: sys, export: export, machine: sys.NewMachine(), random: rand.New(rand.NewPCG(seed, 1997))}
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

// exported returns a copy of s as it is exported; s was kept.
func (w *walk) exported(s system.State) system.State {
	if w.export == nil {
		return s
	}
	return w.export(nil, s)
}

// run walks through at most so many levels with at most so many states each, and tells whether
// it came to an end.
func (w *walk) run(width, levels int, stopped func() bool) (ended bool) {
	w.states, w.before, w.level, w.moves, w.words, w.used, w.slab = nil, nil, nil, nil, 0, 0, nil
	seen := make(map[uint64]struct{}, 4*width)
	type reached struct {
		system.State
		before int
	}
	var now, next []reached
	for _, s := range w.sys.Initial() {
		if len(now) < width {
			now = append(now, reached{s, -1})
			seen[Hash(s)] = struct{}{}
		}
	}
	var end system.State
	for len(now) > 0 {
		if len(w.level) == levels || w.used > mostWords {
			return false
		}
		w.level = append(w.level, len(w.states))
		next = next[:0]
		fresh := 0
		for _, s := range now {
			if stopped() {
				return false
			}
			from := w.exported(s.State)
			w.states, w.before = append(w.states, from), append(w.before, s.before)
			w.words = max(w.words, len(from))
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
					w.used += len(end)
					kept := w.keep(end)
					w.moves = append(w.moves, move{t, len(w.states) - 1, from, w.exported(kept)})
					h := Hash(kept)
					if _, old := seen[h]; old {
						continue
					}
					seen[h] = struct{}{}
					// Each new state is among the next ones with the same probability.
					fresh++
					if len(next) < width {
						next = append(next, reached{kept, len(w.states) - 1})
					} else if i := w.random.IntN(fresh); i < width {
						next[i] = reached{kept, len(w.states) - 1}
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
	var all []*atom
	for i := range w.words {
		var who [64]uint64 // the threads that change each bit
		var varying uint64
		var changing []int32
		for k := range w.moves {
			m := &w.moves[k]
			d := word(m.from, i) ^ word(m.end, i)
			if d == 0 {
				continue
			}
			changing = append(changing, int32(k))
			varying |= d
			for ; d != 0; d &= d - 1 {
				who[bits.TrailingZeros64(d)] |= 1 << (m.thread & 63)
			}
		}
		first := len(all)
		last := uint64(0)
		for v := varying; v != 0; v &= v - 1 {
			b := bits.TrailingZeros64(v)
			if len(all) == first || who[b] != last {
				all = append(all, &atom{Field: Field{Word: i}})
				last = who[b]
			}
			all[len(all)-1].Bits |= 1 << b
		}
		for _, a := range all[first:] {
			for _, k := range changing {
				m := &w.moves[k]
				if (word(m.from, i)^word(m.end, i))&a.Bits != 0 {
					a.moves = append(a.moves, k)
				}
			}
		}
	}
	if len(all) > mostAtoms {
		// Those that few moves change are the ones that are wanted.
		slices.SortStableFunc(all, func(a, b *atom) int { return cmp.Compare(len(a.moves), len(b.moves)) })
		all = all[:mostAtoms]
	}
	for _, a := range all {
		a.value = make([]uint64, len(w.states))
		for i, s := range w.states {
			v := (word(s, a.Word)&a.Bits ^ uint64(a.Word)<<32) * mix1
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

// equal returns how probable it is that two states of one level have the same hash.
func (w *walk) equal(h []uint64, c *counter) float64 {
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

// parts yields what could be hashed for n parts: the atoms are taken one after the
// other, the next one being that which tells the most states apart for the moves that change it, until
// there are values enough for each of the equals.
func (w *walk) parts(n int) func(yield func([]Field) bool) {
	return func(yield func([]Field) bool) {
		all := w.atoms()
		h, sum := make([]uint64, len(w.states)), make([]uint64, len(w.states))
		leaves := make([]bool, len(w.moves))
		var c counter
		equal := 1.0
		var part []*atom
		for _, most := range equals {
			most /= float64(n)
			for equal > most {
				best, bestGain, bestEqual := -1, 0.0, 0.0
				for i, a := range all {
					if a == nil {
						continue
					}
					more := 0
					for _, k := range a.moves {
						if !leaves[k] {
							more++
						}
					}
					for j := range h {
						sum[j] = h[j] + a.value[j]
					}
					e := w.equal(sum, &c)
					gain := math.Log(equal/max(e, most/2)) / (float64(more)/float64(len(leaves)) + 0.001)
					if gain > bestGain {
						best, bestGain, bestEqual = i, gain, e
					}
				}
				if best < 0 {
					return // nothing has so many values
				}
				a := all[best]
				all[best] = nil
				part = append(part, a)
				for j := range h {
					h[j] += a.value[j]
				}
				for _, k := range a.moves {
					leaves[k] = true
				}
				equal = bestEqual
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
	leastPlaces = 1 << 12
	placesOf    = 1 << 6 // a part
	// phases is into how many phases, one after the other, the sample is divided: the
	// parts have to be of the same size in each, because ranks that have to wait
	// for each other are no faster than one.
	phases = 8
	// uneven is what different sizes cost, by the square of what a part has too many in
	// terms of the mean, beside the part of the moves that leave.
	uneven = 3
	// stepsOf is how many changes are tried for each place, up to mostSteps.
	stepsOf, mostSteps = 100, 1 << 17
	hot, cold          = 3e-3, 1e-5
	cooling            = 64 // steps
)

// newDivision returns a division into n parts by some fields whose table knows nothing yet.
func newDivision(fields []Field, n int) *Division {
	d := &Division{Fields: fields, Parts: n}
	d.Table = make([]uint16, 1<<bits.Len(uint(max(leastPlaces, placesOf*n)-1)))
	for i := range d.Table {
		d.Table[i] = uint16(i % n)
	}
	return d
}

// values is something that a walk's states and the ends of its moves have.
type values struct{ states, ends []int32 }

// each computes values.
func (w *walk) each(f func(s system.State) int32) *values {
	v := &values{make([]int32, len(w.states)), make([]int32, len(w.moves))}
	for i, s := range w.states {
		v.states[i] = f(s)
	}
	for k := range w.moves {
		v.ends[k] = f(w.moves[k].end)
	}
	return v
}

// in returns what stands in a table at the places v.
func (v *values) in(table []uint16) *values {
	to := &values{make([]int32, len(v.states)), make([]int32, len(v.ends))}
	for i, p := range v.states {
		to.states[i] = int32(table[p])
	}
	for i, p := range v.ends {
		to.ends[i] = int32(table[p])
	}
	return to
}

// anneal says which place is in which part, by simulated annealing. places are those of the walk.
func (w *walk) anneal(d *Division, places *values, random *rand.Rand) *Division {
	n := d.Parts
	type node struct {
		place int32
		load  [phases]float64
		next  []link
	}
	var nodes []*node
	number := make([]int32, len(d.Table)) // by place, from 1
	of := func(p int32) int32 {
		if number[p] == 0 {
			nodes = append(nodes, &node{place: p})
			number[p] = int32(len(nodes))
		}
		return number[p] - 1
	}
	var mean [phases]float64
	for i, p := range places.states {
		phase := i * phases / len(w.states)
		nodes[of(p)].load[phase]++
		mean[phase] += 1 / float64(n)
	}
	weights := map[[2]int32]int{}
	for k := range w.moves {
		a, b := of(places.states[w.moves[k].at]), of(places.ends[k])
		if a != b {
			weights[[2]int32{min(a, b), max(a, b)}]++
		}
	}
	// In the order of the numbers: that of a map would make another table each time.
	for _, ab := range sortedPairs(weights) {
		a, b := nodes[ab[0]], nodes[ab[1]]
		weight := float64(weights[ab]) / float64(len(w.moves))
		a.next = append(a.next, link{ab[1], weight})
		b.next = append(b.next, link{ab[0], weight})
	}
	var has [phases][]float64
	for i := range has {
		has[i] = make([]float64, n)
		for _, x := range nodes {
			has[i][d.Table[x.place]] += x.load[i]
		}
	}
	steps := min(stepsOf*len(nodes), mostSteps)
	heat := hot
	for i := range steps {
		if i%cooling == 0 {
			heat = hot * math.Pow(cold/hot, float64(i)/float64(steps))
		}
		x := nodes[random.IntN(len(nodes))]
		from := d.Table[x.place]
		to := uint16(random.IntN(n))
		if len(x.next) > 0 && random.IntN(4) > 0 {
			to = d.Table[nodes[x.next[random.IntN(len(x.next))].to].place]
		}
		if to == from {
			continue
		}
		delta := 0.0
		for _, l := range x.next {
			switch d.Table[nodes[l.to].place] {
			case from:
				delta += l.weight
			case to:
				delta -= l.weight
			}
		}
		for i, load := range x.load {
			if load != 0 {
				a, b := has[i][from]-mean[i], has[i][to]-mean[i]
				delta += 2 * load * (load - a + b) * uneven / (mean[i] * mean[i] * phases * float64(n))
			}
		}
		if delta > 0 && delta > heat*random.ExpFloat64() {
			continue
		}
		d.Table[x.place] = to
		for i, load := range x.load {
			has[i][from] -= load
			has[i][to] += load
		}
	}
	return d
}

// link leads to a node with a part of the moves.
type link struct {
	to     int32
	weight float64
}

func sortedPairs(m map[[2]int32]int) [][2]int32 {
	all := make([][2]int32, 0, len(m))
	for ab := range m {
		all = append(all, ab)
	}
	slices.SortFunc(all, func(a, b [2]int32) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return all
}

// judge says what the walk says of a division into n parts, those of its states and ends.
func (w *walk) judge(n int, parts *values) (c Chosen) {
	for k, p := range parts.ends {
		if parts.states[w.moves[k].at] != p {
			c.Leave += 1 / float64(len(w.moves))
		}
	}
	has := make([]float64, n)
	for phase := range phases {
		lo, hi := phase*len(w.states)/phases, (phase+1)*len(w.states)/phases
		if lo == hi {
			continue
		}
		clear(has)
		for _, p := range parts.states[lo:hi] {
			has[p]++
		}
		c.Largest += slices.Max(has) * float64(n) / float64(hi-lo) / phases
	}
	return c
}

// cost estimates how long a search takes.
func (c *Chosen) cost() float64 { return math.Pow(c.Largest, even) * (1 + travel*c.Leave) }
