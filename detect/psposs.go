package detect

import "slices"

// psposs is persistent-set selective search with PSPoss (paper, figures 2 and
// 3), with or without sleep sets (Godefroid 1996, figure 5.2) and persistent
// sets: the four levels of optimization of section 7.
//
// The search is depth-first on one state that is changed in place and changed
// back, with the wait-for graph kept incrementally: wait[i] counts the processes
// that the next transition of process i waits for, so an enabled one has 0. A
// transition of process i changes wait[i] and, in each other process, whether
// it waits for i: O(N).
//
// Transitions other than t0 are independent of each other wherever both are
// enabled, so a transition never leaves a sleep set; since each process has one
// next transition, a sleep set is a set of processes. With sleep sets no state
// is reached twice (section 7: "sleep sets completely eliminated state
// matches"), so visited states are only stored without them.
type psposs struct {
	r       *run
	p       *problem
	s       []int32
	next    [][]int32 // clock of each process's next local state; nil at its end
	wait    []int32
	asleep  []bool
	acc     []uint64
	seen    []bool // of followWF
	frames  []frame
	todo    []int32 // the transitions of all frames, one behind the other
	pack    *packer
	visited *keySet
	key     []uint64
	tally
}

// frame is a state on the depth-first stack.
type frame struct {
	from, to int   // its transitions are todo[from:to]
	at       int   // the next one to explore
	moved    int32 // the process that moved to come here
}

func newPSPoss(r *run, p *problem) *psposs {
	d := &psposs{r: r, p: p, s: make([]int32, p.n), next: make([][]int32, p.n),
		wait:   make([]int32, p.n),
		asleep: make([]bool, p.n), seen: make([]bool, p.n), acc: make([]uint64, p.words)}
	for i := range d.s {
		d.arm(i)
	}
	return d
}

func (r *run) psposs(p *problem) {
	d := newPSPoss(r, p)
	if r.opt.NoSleep || r.opt.Check {
		d.pack = newPacker(p)
		d.visited = newKeySet(d.pack.words)
		d.key = make([]uint64, d.pack.words)
	}
	d.search()
	if d.visited != nil {
		r.bytes.Store(d.visited.bytes())
	}
	r.add(&d.tally)
}

// arm sets next and wait of process i for its local state.
func (d *psposs) arm(i int) {
	k := d.s[i] + 1
	if k > d.p.procs[i].last {
		d.next[i] = nil
		d.wait[i] = -1 // it has no next transition
		return
	}
	row := d.p.row(i, k)
	d.next[i] = row
	w := int32(0)
	for j, x := range row {
		if x > d.s[j] && j != i {
			w++
		}
	}
	d.wait[i] = w
}

func (d *psposs) move(i int) {
	d.s[i]++
	k := d.s[i]
	for j, row := range d.next {
		if row != nil && row[i] == k && j != i {
			d.wait[j]--
		}
	}
	d.arm(i)
}

func (d *psposs) undo(i int) {
	k := d.s[i]
	for j, row := range d.next {
		if row != nil && row[i] == k && j != i {
			d.wait[j]++
		}
	}
	d.s[i] = k - 1
	d.next[i] = d.p.row(i, k)
	d.wait[i] = 0 // it was enabled when it was executed
}

// falseClause returns the first clause that is false in the state, -1 if the
// predicate holds.
func (d *psposs) falseClause() int {
	p := d.p
	p.truth(d.s, d.acc)
	for w, m := range d.acc {
		if m == p.all[w] {
			continue
		}
		for x := w * 64; x < min(len(p.clauses), w*64+64); x++ {
			if m>>(x%64)&1 == 0 && (p.joint[w]>>(x%64)&1 == 0 || !p.jointHolds(x, d.s)) {
				return x
			}
		}
	}
	return -1
}

// followWF appends to todo, for each process of procs that has a next
// transition, an enabled transition that must be executed before it (or is it):
// the end of a path in the wait-for graph.
func (d *psposs) followWF(procs []int) {
	from := len(d.todo)
	for _, i := range procs {
		if d.next[i] == nil {
			continue
		}
		for d.wait[i] > 0 {
			for j, x := range d.next[i] {
				if x > d.s[j] && j != i {
					i = j
					break
				}
			}
		}
		if !d.seen[i] {
			d.seen[i] = true
			d.todo = append(d.todo, int32(i))
		}
	}
	for _, i := range d.todo[from:] {
		d.seen[i] = false
	}
}

// enter evaluates the state that the search has come to and pushes its frame;
// it reports whether the search is over.
func (d *psposs) enter(moved int32) (done bool) {
	if d.visited != nil {
		d.pack.pack(d.s, d.key)
		fresh := d.visited.insert(d.key)
		if !fresh {
			if !d.r.opt.NoSleep {
				d.r.fail(errMatch)
				return true
			}
			// A state match: nothing to explore.
			d.frames = append(d.frames, frame{from: len(d.todo), to: len(d.todo), at: len(d.todo),
				moved: moved})
			return false
		}
		d.r.bytes.Store(d.visited.bytes())
	}
	d.states++
	if d.r.tick(&d.tally) {
		return true
	}
	x := d.falseClause()
	if x < 0 {
		d.r.add(&d.tally)
		d.r.found(d.p, d.s)
		return true
	}
	from := len(d.todo)
	if d.r.opt.NoPersistent {
		for i, w := range d.wait {
			if w == 0 {
				d.todo = append(d.todo, int32(i))
			}
		}
	} else {
		d.followWF(d.p.clauses[x].support)
	}
	if !d.r.opt.NoSleep {
		kept := d.todo[:from]
		for _, i := range d.todo[from:] {
			if !d.asleep[i] {
				kept = append(kept, i)
			}
		}
		d.todo = kept
	}
	if d.r.opt.Reverse {
		slices.Reverse(d.todo[from:])
	}
	d.frames = append(d.frames, frame{from: from, to: len(d.todo), at: from, moved: moved})
	return false
}

func (d *psposs) search() {
	if d.enter(-1) {
		return
	}
	for len(d.frames) > 0 {
		f := &d.frames[len(d.frames)-1]
		if f.at == f.to {
			if !d.r.opt.NoSleep {
				for _, i := range d.todo[f.from:f.to] {
					d.asleep[i] = false
				}
			}
			d.todo = d.todo[:f.from]
			moved := f.moved
			d.frames = d.frames[:len(d.frames)-1]
			if moved >= 0 {
				d.undo(int(moved))
				if !d.r.opt.NoSleep {
					d.asleep[moved] = true // explored: asleep in what follows in the parent
				}
			}
			continue
		}
		i := d.todo[f.at]
		f.at++
		d.transitions++
		d.events++
		d.move(int(i))
		if d.enter(i) {
			return
		}
	}
}
