package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"cpor/engine"
	"cpor/engine/memory"
	"cpor/statestore"
	"cpor/statestore/spill"
	"cpor/system"
	"cpor/workers"
)

// disk lets a search continue beyond memory (Options.Disk). All covered states are written to
// the disk from the beginning, in large pieces. The store in memory has all of them, too, until
// it is full. Then it is dropped, and the work set goes to the disk. From then on, a state that
// is new to the store is only a candidate: when there are many of them, or nothing else to do,
// the pool pauses and looks for them on the disk. A candidate that is not there becomes covered
// and is expanded. So a state is expanded once, as in memory, only later.
//
// With checkpoints, all that is covered is written to the disk for each, as when the store is
// full; the work set and the candidates stand in the checkpoint itself. Who continues does so as
// after a drop.
//
// A state that was being expanded when the store was full is expanded again from the
// beginning, as after a checkpoint; its transitions count once.
type disk struct {
	run    *run
	so     statestore.Options
	dir    *spill.Dir
	above  string // the directory above it if that is to be removed, too
	set    *spill.Set
	queues []*spill.Queue // behind the work set, the oldest first
	least  int            // how many entries of a worker are enough for a look
	most   int            // how many entries are kept in memory
	chunk  int            // how many words of waiting states are read at a time

	dropped  bool                        // the store in memory has not all that is covered
	open     [spill.Shards][]spill.Entry // candidates that the workers have handed in
	own      [spill.Shards][]spill.Entry
	kept     int // of all own ones: what is covered and not on the disk
	looked   int // at the disk
	drops    int
	states   uint64    // covered
	since    uint64    // the states that were covered at the last drop
	sides    []*onDisk // of the workers
	sessions []statestore.Session
	items    uint64 // that the pool had processed at the last drop

	there   map[spill.Kept]bool // the files that the last checkpoint has
	session int                 // how often a search on ranks has gone on

	mu    sync.Mutex
	pause chan struct{}
	asked bool

	failed error // of the disk: what is on it is not believed any more
}

// DiskStats report how a search used the disk.
type DiskStats struct {
	spill.Stats
	// Drops is how often the store in memory was full, Looks how often the search looked for
	// candidates on the disk.
	Drops int `json:"drops"`
	Looks int `json:"looks"`
}

// add adds the figures of another rank.
func (s *DiskStats) add(t *DiskStats) {
	s.Written += t.Written
	s.Read += t.Read
	s.Bytes += t.Bytes
	s.Most += t.Most
	s.Drops += t.Drops
	s.Looks += t.Looks
}

// errNoRoom ends a pool whose store has to be dropped.
var errNoRoom = errors.New("search: no room in memory")

// How the memory for stores is divided with a disk.
const (
	// storeOfRoom is the share of the store in memory. The rest is for the work set, and for the
	// states that are looked for or written next.
	storeOfRoom = 0.62
	// entryBytes is the most that such a state takes: an entry while it is new, with the growth
	// of slices, another one while it is kept, and its place in the order.
	entryBytes   = 96
	entriesShare = 0.2
	chunkShare   = 0.04
	leastEntries = 256
	// sessionBytes is about what a session of the store takes, with the buffers of a goroutine
	// that works on the disk.
	sessionBytes = 150 << 10
	// fewItems is the least number of states to expand between two times that the store is full.
	// With fewer, the limit of memory is too small.
	fewItems = 100
)

// From of an entry: the hash of the state before it, and its depth below.
const depthBits = 64 - spill.FromBits

func from(hash uint64, depth int) uint64 {
	return hash&^(1<<depthBits-1) | uint64(min(depth, 1<<depthBits-1))
}

func depthOf(e spill.Entry) int { return int(e.From & (1<<depthBits - 1)) }

// openDisk takes the directory and divides the memory.
func openDisk(o *Options, room uint64) (*disk, error) {
	if room == 0 && o.sizes.SpillEvery == 0 {
		return nil, &engine.OptionError{
			Message: "-disk needs -max-memory SIZE: " +
				"the search continues on disk beyond that memory",
		}
	}
	if o.Store != statestore.Tree && o.Store != statestore.Plain {
		return nil, &engine.OptionError{
			Message: fmt.Sprintf("-disk requires -store tree or plain, from which states can be "+
				"recovered; -store %v cannot be combined with it", o.Store)}
	}
	path, above := o.Disk, ""
	if o.Ranks != nil && o.Ranks.Size() > 1 {
		// Ranks on one machine share it.
		path = filepath.Join(o.Disk, fmt.Sprintf("rank-%d", o.Ranks.Rank()))
		if _, err := os.Stat(o.Disk); errors.Is(err, os.ErrNotExist) {
			above = o.Disk
		}
		// No rank creates it before all have checked whether it exists.
		if err := agree(o.Ranks, nil); err != nil {
			return nil, err
		}
	}
	dir, err := spill.Open(path)
	if err != nil {
		return nil, &engine.OptionError{Message: fmt.Sprintf("-disk: %v", err)}
	}
	perSession := uint64(sessionBytes * (o.Workers + 2*runtime.GOMAXPROCS(0)))
	room -= min(room/2, perSession)
	d := &disk{dir: dir, above: above, set: spill.NewSet(dir), asked: true}
	d.so = statestore.Options{Kind: o.Store, MaxBytes: uint64(storeOfRoom * float64(room)),
		Workers: o.Workers}
	d.most = max(int(entriesShare*float64(room))/entryBytes, leastEntries)
	d.chunk = max(int(chunkShare*float64(room))/8, 1<<12)
	if room == 0 {
		d.most, d.chunk = 1<<20, 1<<20
	}
	if o.sizes.SpillEvery > 0 {
		d.most, d.chunk = max(int(o.sizes.SpillEvery)/4, 1), 64
	}
	return d, nil
}

// close removes what is on the disk.
func (d *disk) close() {
	for _, q := range d.queues {
		q.Close()
	}
	d.set.Close()
	d.dir.Close()
	if d.above != "" {
		os.Remove(d.above) // the last one does
	}
}

// stop ends a search whose disk has failed. Another reason to end is passed on.
func (d *disk) stop(err error) error {
	if err == nil || context.Cause(d.run.watch.Context()) == err {
		return err
	}
	if d.failed == nil {
		d.failed = &engine.Stop{Reason: fmt.Sprintf("-disk: %v", err)}
	}
	return d.failed
}

// covered implements [place]: the states known to be covered.
func (d *disk) covered() uint64 {
	if !d.dropped {
		return d.run.store.Len()
	}
	return d.states
}

// noted are the states that one goroutine has found that are new to the store in memory.
type noted struct {
	fresh [spill.Shards][]spill.Entry
	count int
	from  uint64 // of the ends of moves from the state that is expanded
}

// onDisk is the destination of a worker of a search with a disk.
type onDisk struct {
	noted
	disk    *disk
	w       *worker
	session statestore.Session
}

// join implements [place].
func (d *disk) join(w *worker) destination {
	x := &onDisk{disk: d, w: w, session: d.run.store.NewSession()}
	d.sides = append(d.sides, x)
	return x
}

// Take implements [destination]. An item that carries its state comes from the disk.
func (x *onDisk) Take(b *statestore.Batch, i int) (bool, error) {
	w := x.w
	if s := b.State(i); s == nil {
		w.buf = x.session.Load(w.ref, w.buf)
	} else {
		w.buf = append(w.buf[:0], s...)
		// So that a move back to it is not looked for.
		if _, _, err := x.session.Insert(w.buf, 0); err != nil {
			return false, x.disk.full(err)
		}
	}
	w.state = w.buf
	x.from = from(spill.Hash(w.state), w.depth)
	return true, nil
}

// Cover implements [destination].
func (x *onDisk) Cover(m *Move) (statestore.Ref, outcome, error) {
	return x.cover(m.End, x.w.out)
}

func (x *onDisk) cover(s system.State, out *workers.Out) (statestore.Ref, outcome, error) {
	ref, added, err := x.session.Insert(s, 0)
	if err != nil {
		return 0, isFull, x.disk.full(err)
	}
	if !added {
		return ref, wasKnown, nil
	}
	x.disk.note(&x.noted, s, ref, out)
	if x.disk.dropped {
		return ref, isElsewhere, nil // it may be on the disk
	}
	return ref, isNew, nil
}

// CoverNow implements [destination].
func (x *onDisk) CoverNow(*Move) (statestore.Ref, outcome, error) {
	return 0, isFull, errors.New("search: an expander that remembers states by their references " +
		"cannot search with a disk")
}

// Initial implements [destination].
func (x *onDisk) Initial(s system.State) (statestore.Ref, outcome, error) {
	ref, what, err := x.cover(s, nil)
	if errors.Is(err, errNoRoom) {
		err = statestore.ErrFull // not even these have room
	}
	return ref, what, err
}

// Flush implements [destination].
func (x *onDisk) Flush(bool) error { return nil }

// Queue implements [destination].
func (x *onDisk) Queue(ref statestore.Ref, _ *Move) { x.w.out.Add(x.w.depth, ref) }

// Idle implements [destination].
func (x *onDisk) Idle() {}

// Find implements [destination].
func (x *onDisk) Find(s system.State) (is, known bool) {
	_, is = x.session.Find(s)
	return is, is || !x.disk.dropped
}

// Parent implements [destination].
func (x *onDisk) Parent() uint64 { return x.from }

// Trail implements [destination].
func (x *onDisk) Trail() *statestore.Trail { return nil }

// Numbered implements [destination].
func (x *onDisk) Numbered() Numbered { return nil }

// note notes a state that is new to the store in memory.
func (d *disk) note(w *noted, s system.State, ref statestore.Ref, out *workers.Out) {
	h := spill.Hash(s)
	list := &w.fresh[spill.Shard(h)]
	*list = append(*list, spill.Entry{Hash: h, Ref: ref, From: w.from})
	if w.count++; w.count >= d.least {
		d.ask(out)
	}
}

// ask pauses the pool. out makes that faster and may be nil.
func (d *disk) ask(out *workers.Out) {
	if k := d.run.ranks; k != nil {
		k.x.RequestPause()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.asked {
		d.asked = true
		close(d.pause)
		if out != nil {
			out.Pause()
		}
	}
}

// full turns the store's error into one that does not end the search.
func (d *disk) full(err error) error {
	if errors.Is(err, statestore.ErrFull) {
		return errNoRoom
	}
	return err
}

// search implements [place].
func (d *disk) search(res *Result, fresh bool) (*Result, error) {
	return d.run.alone(res, fresh, d.explore)
}

// explore processes the work set.
func (d *disk) explore(report func(queued int)) error { return d.exploreSaving(report, nil) }

// exploreSaving processes the work set. save writes a checkpoint; it is nil if there are none.
func (d *disk) exploreSaving(report func(queued int), save func() error) error {
	r := d.run
	var every time.Duration
	if save != nil {
		every = r.o.Checkpoint.Every
	}
	last := time.Now() // when a checkpoint was written
	for {
		d.mu.Lock()
		d.pause, d.asked = make(chan struct{}), false
		d.mu.Unlock()
		d.begin()
		stop := func() bool { return true }
		if every > 0 {
			stop = time.AfterFunc(every-time.Since(last), func() { d.ask(nil) }).Stop
		}
		err := d.work(r.watch.Context(), workers.Options{Report: report, Pause: d.pause})
		stop()
		noRoom := errors.Is(err, errNoRoom)
		if err != nil && !noRoom && !errors.Is(err, workers.ErrPaused) {
			d.collect()
			return err
		}
		if serr := d.look(); serr != nil {
			return serr
		}
		if every > 0 && time.Since(last) >= every {
			if werr := r.watch.Err(); werr != nil {
				return werr
			}
			if serr := save(); serr != nil {
				return serr
			}
			last = time.Now()
		}
		if serr := d.makeRoom(noRoom); serr != nil {
			return serr
		}
		if r.ws.Len() == 0 {
			if serr := d.refill(); serr != nil {
				return serr
			}
			if r.ws.Len() == 0 {
				return nil
			}
		}
	}
}

// begin prepares the workers for a pool.
func (d *disk) begin() {
	r := d.run
	left := uint64(d.most)
	if r.o.MaxStates > 0 {
		left = min(left, r.o.MaxStates-min(d.states, r.o.MaxStates)+1)
	}
	d.least = max(int(left)/r.o.Workers, 1)
	for _, w := range r.workers {
		w.err, w.broken = nil, false
	}
}

// work runs the pool, for example until errNoRoom.
func (d *disk) work(ctx context.Context, po workers.Options) error {
	if w := d.run.watch; w.Memory().Limited() {
		po.CheckEvery = memory.CheckEvery
		po.Check = func() error {
			if w.CheckMemory() != nil {
				return errNoRoom
			}
			return nil
		}
	}
	return d.run.pools(ctx, po)
}

// makeRoom drops the store in memory if there is no room, or a test wants it.
func (d *disk) makeRoom(noRoom bool) error {
	r := d.run
	if every := r.o.sizes.SpillEvery; !noRoom && (every == 0 || d.states-d.since < every) {
		return nil
	}
	// On ranks, states of others may have taken the room.
	few := r.pool.Items-d.items < fewItems && (r.ranks == nil || d.states-d.since < fewItems)
	if noRoom && d.drops > 0 && few && r.o.sizes.SpillEvery == 0 {
		return r.watch.OutOfMemory()
	}
	return d.drop()
}

// collect takes what the workers have noted. As long as nothing was dropped, all of that is
// covered; otherwise it is open.
func (d *disk) collect() {
	to := &d.open
	if !d.dropped {
		to = &d.own
		d.states = d.run.store.Len()
	}
	var all []*noted
	for _, x := range d.sides {
		all = append(all, &x.noted)
	}
	if k := d.run.ranks; k != nil {
		all = append(all, &k.noted)
	}
	for _, w := range all {
		for i, l := range w.fresh {
			to[i] = append(to[i], l...)
			w.fresh[i] = l[:0]
		}
		if !d.dropped {
			d.kept += w.count
		}
		w.count = 0
	}
}

// look finds out which candidates are covered, and covers the others.
func (d *disk) look() error {
	r := d.run
	d.collect()
	if !d.dropped {
		return d.flush(false)
	}
	open := &d.open
	var before [spill.Shards]int
	for i := range before {
		before[i] = len(d.own[i])
	}
	err := d.shards(func(i int, load func(spill.Entry) []uint64) error {
		spill.Sort(open[i])
		gone := make([]bool, len(open[i]))
		if err := d.set.Sift(r.watch.Context(), i, open[i], load, func(k int) {
			gone[k] = true
		}); err != nil {
			return err
		}
		left := open[i][:0]
		for k, e := range open[i] {
			if !gone[k] {
				left = append(left, e)
			}
		}
		open[i] = left
		d.own[i] = append(d.own[i], left...)
		// Neighbors in this order share parts, which makes loading them faster.
		slices.SortFunc(left, func(a, b spill.Entry) int {
			return cmp.Or(cmp.Compare(depthOf(a), depthOf(b)), cmp.Compare(a.Ref, b.Ref))
		})
		return nil
	})
	if err != nil {
		for i := range before {
			d.own[i] = d.own[i][:before[i]] // they are open still
		}
		return d.stop(err)
	}
	d.looked++
	if err := d.queue(open); err != nil {
		return err
	}
	d.open = [spill.Shards][]spill.Entry{}
	if most := r.o.MaxStates; most > 0 && d.states > most {
		return engine.StateLimit(most)
	}
	return d.flush(false)
}

// queue queues the states that have become covered, least depth first.
func (d *disk) queue(open *[spill.Shards][]spill.Entry) error {
	r := d.run
	var at [spill.Shards]int
	b, to := r.ws.Get(0), 0
	for {
		depth, any := 0, false
		for i, l := range open {
			if at[i] < len(l) && (!any || depthOf(l[at[i]]) < depth) {
				depth, any = depthOf(l[at[i]]), true
			}
		}
		if !any {
			break
		}
		r.before.MaxDepth = max(r.before.MaxDepth, depth)
		for i, l := range open {
			for ; at[i] < len(l) && depthOf(l[at[i]]) == depth; at[i]++ {
				if n := len(d.queues); n > 0 {
					// Others are before it.
					if err := d.queues[n-1].Push(depth, d.sessions[0].Load(l[at[i]].Ref,
						nil)); err != nil {
						return d.stop(err)
					}
				} else {
					if b.Full() || b.Len() > 0 && b.Depth != depth {
						r.ws.Push(to, b)
						to = (to + 1) % r.o.Workers
						b = r.ws.Get(0)
					}
					b.Depth = depth
					b.Add(l[at[i]].Ref)
				}
				d.states++
				d.kept++
			}
		}
	}
	r.ws.Push(to, b)
	return nil
}

// shards calls f for all shards, several at a time; load gives the state of an entry.
func (d *disk) shards(f func(i int, load func(spill.Entry) []uint64) error) error {
	free := make(chan statestore.Session, len(d.sessions))
	for _, s := range d.sessions {
		free <- s
	}
	var g errgroup.Group
	g.SetLimit(len(d.sessions))
	for i := range spill.Shards {
		g.Go(func() error {
			s := <-free
			defer func() { free <- s }()
			var buf []uint64
			return f(i, func(e spill.Entry) []uint64 {
				buf = s.Load(e.Ref, buf)
				return buf
			})
		})
	}
	return g.Wait()
}

// flush writes the covered states that are not on the disk, if there are many or all should be
// written.
func (d *disk) flush(all bool) error {
	if d.kept == 0 || !all && d.kept < d.most {
		return nil
	}
	r := d.run
	err := d.shards(func(i int, load func(spill.Entry) []uint64) error {
		spill.Sort(d.own[i])
		if err := d.set.Add(i, d.own[i], load); err != nil {
			return err
		}
		d.own[i] = d.own[i][:0]
		if err := r.watch.Err(); all || err != nil {
			return nil // it is to end
		}
		return d.set.Merge(i)
	})
	d.kept = 0
	return d.stop(err)
}

// drop empties the store in memory.
func (d *disk) drop() error {
	r := d.run
	if err := d.flush(true); err != nil {
		return err
	}
	q := spill.NewQueue(d.dir)
	d.queues = slices.Insert(d.queues, 0, q)
	var all []*statestore.Batch
	for id := range r.o.Workers + 1 { // the last queue is for states of other ranks
		for b := r.ws.Pop(id); b != nil; b = r.ws.Pop(id) {
			all = append(all, b)
		}
	}
	slices.SortStableFunc(all, func(a, b *statestore.Batch) int {
		return cmp.Compare(a.Depth, b.Depth)
	})
	var buf []uint64
	for _, b := range all {
		for i, ref := range b.Refs {
			s := b.State(i)
			if s == nil {
				buf = d.sessions[0].Load(ref, buf)
				s = buf
			}
			if err := q.Push(b.Depth, s); err != nil {
				return d.stop(err)
			}
		}
	}
	r.ws = statestore.NewWorkSet(r.o.Workers + 1)
	store, err := statestore.New(d.so)
	if err != nil {
		return err
	}
	r.store = store
	d.dropped, d.since, d.items = true, d.states, r.pool.Items
	d.drops++
	d.hire()
	if r.watch.Memory().Limited() {
		debug.FreeOSMemory()
	}
	return nil
}

// hire gives each worker a session of the store.
func (d *disk) hire() {
	d.sessions = d.sessions[:0]
	for range min(runtime.GOMAXPROCS(0), spill.Shards) {
		d.sessions = append(d.sessions, d.run.store.NewSession())
	}
	for _, x := range d.sides {
		x.session = d.run.store.NewSession()
	}
}

// refill moves states that wait on the disk into the work set.
func (d *disk) refill() error {
	words := 0
	var s []uint64
	f := d.newFiller()
	for words < d.chunk && len(d.queues) > 0 {
		q := d.queues[0]
		depth, t, ok, err := q.Pop(s)
		if err != nil {
			return d.stop(err)
		}
		if !ok {
			d.queues = d.queues[1:]
			continue
		}
		s = t
		f.add(depth, s)
		words += len(s) + 4
	}
	f.flush()
	return nil
}

// filler puts states into the work set, for all workers.
type filler struct {
	run *run
	to  int
	b   *statestore.Batch
}

func (d *disk) newFiller() *filler { return &filler{run: d.run, b: d.run.ws.Get(0)} }

// add adds a state to be expanded.
func (f *filler) add(depth int, s system.State) {
	if f.b.Full() || f.b.Len() > 0 && f.b.Depth != depth {
		f.flush()
	}
	f.b.Depth = depth
	f.b.AddState(0, s, nil)
}

// flush puts what has been added into the work set.
func (f *filler) flush() {
	ws := f.run.ws
	ws.Push(f.to, f.b)
	f.to = (f.to + 1) % f.run.o.Workers
	f.b = ws.Get(0)
}

// waiting implements [place]: the states that wait on the disk.
func (d *disk) waiting() (n int) {
	for _, q := range d.queues {
		n += int(q.Len())
	}
	return n
}

// figures implements [place].
func (d *disk) figures(res *Result) {
	res.Disk = d.stats()
	res.BytesPerState = float64(res.StoreBytes+res.Disk.Bytes) / float64(max(res.States, 1))
}

// past implements [place].
func (d *disk) past() (history, func(*finding), func() error) {
	d.flush(true) // if it fails, the traces are missing
	p := newPast(d)
	return p, func(f *finding) { f.ref, _ = p.Find(f.state) }, func() error { return d.failed }
}

// stats returns figures.
func (d *disk) stats() *DiskStats { return &DiskStats{d.dir.Stats(), d.drops, d.looked} }

// past numbers the states of a search with a disk, instead of Refs, as the rebuilder of traces
// needs them.
type past struct {
	disk   *disk
	refs   map[string]statestore.Ref
	states []system.State // by Ref-1
	froms  []uint64       // what is known of the state before it
	known  []bool         // whether that is so
}

func newPast(d *disk) *past { return &past{disk: d, refs: map[string]statestore.Ref{}} }

// Find implements part of [statestore.Session]: it numbers a state.
func (p *past) Find(s []uint64) (statestore.Ref, bool) {
	k := engine.StateString(s)
	r, ok := p.refs[k]
	if !ok {
		p.states = append(p.states, slices.Clone(s))
		p.froms, p.known = append(p.froms, 0), append(p.known, false)
		r = statestore.Ref(len(p.states))
		p.refs[k] = r
	}
	return r, true
}

// Load implements part of [statestore.Session].
func (p *past) Load(ref statestore.Ref, dst []uint64) []uint64 {
	return append(dst[:0], p.states[ref-1]...)
}

// Parents implements part of [statestore.Session].
func (p *past) Parents(ref statestore.Ref, yield func(statestore.Ref) bool) {
	if from := p.Hint(ref); p.known[ref-1] {
		p.Candidates(from, yield)
	}
}

// Hint implements part of [statestore.Parted]: what is known of a state's parent, which means
// the same on all ranks.
func (p *past) Hint(ref statestore.Ref) uint64 {
	if s := p.states[ref-1]; !p.known[ref-1] {
		p.lookUp(spill.Hash(s), func(t []uint64, from uint64) bool {
			if !slices.Equal(s, t) {
				return true
			}
			p.froms[ref-1], p.known[ref-1] = from, true
			return false
		})
	}
	return p.froms[ref-1]
}

// Candidates implements part of [statestore.Parted].
func (p *past) Candidates(from uint64, yield func(statestore.Ref) bool) {
	p.lookUp(from, func(t []uint64, from uint64) bool {
		r, _ := p.Find(t)
		p.froms[r-1], p.known[r-1] = from, true
		return yield(r)
	})
}

func (p *past) lookUp(hash uint64, yield func([]uint64, uint64) bool) {
	p.disk.stop(p.disk.set.Lookup(hash, yield))
}
