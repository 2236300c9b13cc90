package search

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/cluster"
	"cpor/engine/cluster/division"
	"cpor/engine/memory"
	"cpor/statestore"
	"cpor/system"
	"cpor/testkit/sabotage"
	"cpor/workers"
)

// Run searches the system sys with the expanders that newExpander makes.
//
// It ends when everything is covered, at the first violation (unless
// Options.All), at a limit of the options, or when ctx is cancelled, and
// returns what it found out so far in each of these cases. An error is either
// an *engine.OptionError, and the result is nil, or it means that the tool itself
// went wrong: a panic, or a trace that does not replay. The result then is what
// was known by then. On several ranks, a [cluster.Left] is what the other ranks do not know of.
func Run(ctx context.Context, sys system.System, newExpander Factory, o Options) (res *Result, err error) {
	many := o.Ranks != nil && o.Ranks.Size() > 1
	defer func() {
		if v := recover(); v != nil {
			err = &workers.PanicError{Value: v, Stack: debug.Stack()}
			if many {
				err = &cluster.Left{Err: err}
			}
		}
	}()
	if many {
		if o.Store != statestore.Tree {
			return nil, &engine.OptionError{Message: fmt.Sprintf("-cluster requires -store tree; the %v store cannot link to parents on other ranks", o.Store)}
		}
		if o.Hook != nil {
			return nil, &engine.OptionError{Message: "-validate checks a single process and cannot be combined with -cluster"}
		}
		can := sys.Capabilities()
		if what := can.Unportable(); what != "" {
			return nil, &engine.OptionError{Message: fmt.Sprintf("states cannot be sent to other ranks, because they name %s by numbers local to a process", what)}
		}
		o.MaxMemory /= uint64(o.Ranks.Size())
		if _, ok := o.Ranks.(*cluster.Conn); !ok {
			o.Ranks = cluster.Connect(o.Ranks) // a search that pauses has several exchanges
		}
	}
	if o.Checkpoint != nil {
		if err := o.Checkpoint.Unkept(sys); err != nil {
			return nil, err
		}
	}
	watch, err := engine.NewWatch(ctx, &o.Options)
	if watch != nil {
		defer watch.End()
	}
	if many {
		// How much memory a process has before it searches differs from rank to rank.
		if err != nil && o.MaxMemory > 0 {
			err = fmt.Errorf("%w; -max-memory is divided among %d ranks", err, o.Ranks.Size())
		}
		err = agree(o.Ranks, err)
	}
	if err != nil {
		return nil, err
	}
	so := statestore.Options{Kind: o.Store, MaxBytes: watch.Memory().ForStores(), Workers: o.Workers, Young: o.Young}
	if o.StoreBytes > 0 {
		so.MaxBytes = o.StoreBytes
	}
	switch {
	case o.Checkpoint == nil:
	case o.Checkpoint.Parts != nil:
		return runParts(sys, newExpander, o, watch, so)
	case o.Checkpoint.From != nil && o.Disk != "":
		return resumeDisk(sys, newExpander, o, watch, so)
	case o.Checkpoint.From != nil:
		return resume(sys, newExpander, o, watch, so)
	}
	var d *disk
	if o.Disk != "" {
		if d, err = openDisk(&o, so.MaxBytes); d != nil {
			defer d.close()
		}
		if many {
			err = agree(o.Ranks, err)
		}
		if err != nil {
			return nil, err
		}
		so = d.so
	}
	store, err := statestore.New(so)
	if many {
		err = agree(o.Ranks, err)
	} else if err != nil {
		err = &engine.OptionError{Message: err.Error()}
	}
	if err != nil {
		return nil, err
	}
	if o.Checkpoint != nil {
		if err := o.Checkpoint.Start(); err != nil {
			return nil, err
		}
	}
	r := newRun(sys, newExpander, o, watch, store)
	if d != nil {
		r.disk, d.run = d, r
	}
	if many {
		if r.division, err = agreeDivision(r); err != nil {
			return nil, err
		}
		if d == nil { // with a disk stores begin anew
			if err := statestore.Share(store, r.division.Shapes); err != nil {
				return nil, err
			}
		}
		r.ranks = newRanks(r)
	}
	r.hire()
	res = &Result{Result: engine.Result{Workers: o.Workers}}
	if many {
		return r.searchRanks(res)
	}
	if err = r.begin(); err == nil {
		err = r.search()
	}
	return r.end(res, err)
}

// newRun returns a search with an empty work set.
func newRun(sys system.System, newExpander Factory, o Options, watch *engine.Watch, store statestore.Store) *run {
	return &run{
		sys: sys, obs: system.ObserversOf(sys), o: o, newExpander: newExpander, watch: watch,
		store: store, ws: statestore.NewWorkSet(o.Workers + 1), // the last queue is for states of other ranks
		found: engine.NewCollector[*finding](&o.Options),
	}
}

// hire makes the workers.
func (r *run) hire() {
	for id := range r.o.Workers {
		r.workers = append(r.workers, r.newWorker(id))
	}
	r.workers[0].prepare()
	if r.disk != nil {
		r.disk.hire()
	}
}

// end makes the result of a search that ended with err, nil if everything was
// covered.
func (r *run) end(res *Result, err error) (*Result, error) {
	r.fill(res)
	gap := ""
	if !r.store.Exact() {
		gap = fmt.Sprintf("the %v store can take a new state for a covered one", r.o.Store)
	}
	err = res.Judge(err, gap, r.found.Len() > 0)
	if terr := r.traces(res); err == nil {
		err = terr
	}
	res.PeakRSS = r.watch.Memory().Peak()
	return res, err
}

// run is one search.
type run struct {
	sys         system.System
	obs         system.Observers // left out of the states of deadlocks
	o           Options
	newExpander Factory
	watch       *engine.Watch
	store       statestore.Store
	ws          *statestore.WorkSet
	workers     []*worker
	pool        workers.Stats
	states      atomic.Uint64 // counted only if there is a limit

	before   saved           // by the searches that this one goes on with
	mark     checkpoint.Mark // of the last checkpoint of the store, if it is whole
	found    *engine.Collector[*finding]
	ranks    *ranks             // nil if this process is alone
	disk     *disk              // nil if all is in memory
	division *division.Division // of the states among the ranks; nil if this process is alone
	parts    *parts             // nil if the covered set is whole, or is not saved

	making sync.Mutex // factories need not be safe for concurrent use
}

// finding is a violation and where it was found.
type finding struct {
	violation system.Violation
	ref       statestore.Ref
	trail     *statestore.Trail // of the state, if the store is not loadable
	state     system.State      // that was expanded
	tail      []Step            // from there to the violation
}

// search works off the work set in this process. It returns nil if everything was
// covered, and otherwise the reason why not.
func (r *run) search() error {
	var report func(queued int)
	if r.o.Progress != nil {
		report = func(queued int) { r.watch.Report(r.progress(queued)) }
	}
	if r.disk != nil {
		return r.disk.search(report)
	}
	if r.o.Checkpoint != nil {
		return r.searchSaving(report)
	}
	return r.work(r.watch.Context(), workers.Options{Report: report})
}

// begin stores and queues the initial states, those of this rank.
func (r *run) begin() error {
	w := r.workers[0]
	b := r.ws.Get(0)
	var full error
	for _, s := range r.sys.Initial() {
		if r.ranks != nil && !r.ranks.owns(s) {
			continue
		}
		ref, added, err := w.session.Insert(s, 0)
		if err != nil && r.parts != nil && r.disk == nil {
			// The checkpoint has it as a state that is still to be stored.
			kept := r.ws.Get(0)
			kept.AddState(0, s, nil)
			r.ws.Push(0, kept)
			full = err
			continue
		}
		if err != nil {
			return r.full(err)
		}
		if !added {
			continue
		}
		if err := r.countState(); err != nil {
			return err
		}
		if w.disk != nil {
			w.note(s, ref)
		}
		if b.Full() {
			r.ws.Push(0, b)
			b = r.ws.Get(0)
		}
		if r.store.Loadable() {
			b.Add(ref)
		} else {
			b.AddState(ref, s, nil)
		}
	}
	r.ws.Push(0, b)
	if full != nil {
		return r.full(full)
	}
	// The pool would look at the context only now and then.
	return r.watch.Err()
}

// work runs the pool. It returns nil if everything was covered, otherwise why
// not.
func (r *run) work(ctx context.Context, po workers.Options) error {
	if r.watch.Memory().Limited() {
		po.Check, po.CheckEvery = r.watch.CheckMemory, memory.CheckEvery
	}
	return r.full(r.pools(ctx, po))
}

// pools runs the pool and adds its figures up.
func (r *run) pools(ctx context.Context, po workers.Options) error {
	// Where the work items carry their states, the frontier must be small.
	po.Workers, po.ReportEvery, po.DepthFirst = r.o.Workers, r.o.ProgressInterval, !r.store.Loadable()
	pool, err := workers.Run(ctx, r.ws, po, func(id int) workers.Worker { return r.workers[id] })
	r.pool.Add(pool)
	return err
}

// full makes an error of the store that takes no more what ends an exploration.
func (r *run) full(err error) error {
	if errors.Is(err, statestore.ErrFull) {
		return r.watch.OutOfMemory()
	}
	return err
}

// countState counts a new state against the limit.
func (r *run) countState() error {
	if r.o.MaxStates > 0 && r.ranks == nil && r.states.Add(1) > r.o.MaxStates {
		return engine.StateLimit(r.o.MaxStates)
	}
	return nil
}

func (r *run) progress(queued int) engine.Progress {
	if r.disk != nil {
		queued += r.disk.queued()
	}
	p := engine.Progress{
		Counters:   engine.Counters{States: r.covered(), Transitions: r.before.Counters.Transitions, Attempts: r.before.Counters.Attempts},
		MaxDepth:   r.before.MaxDepth,
		Queued:     uint64(queued),
		StoreBytes: r.store.Bytes(),
		Violations: r.found.Len(),
	}
	for _, w := range r.workers {
		p.Transitions += w.public.transitions.Load()
		p.Attempts += w.public.attempts.Load()
		p.MaxDepth = max(p.MaxDepth, int(w.public.depth.Load()))
	}
	return p
}

// fill writes the figures of a search that has ended into res.
func (r *run) fill(res *Result) {
	res.Duration = r.before.Elapsed + r.watch.Elapsed()
	c := r.counted()
	res.Transitions, res.Attempts, res.EndedLoops, res.BlockedLoops = c.Transitions, c.Attempts, c.EndedLoops, c.BlockedLoops
	res.MaxDepth = r.maxDepth()
	res.States = r.covered()
	res.Store = r.store.Stats()
	res.StoreBytes = r.store.Bytes()
	if res.States > 0 {
		res.BytesPerState = float64(res.StoreBytes) / float64(res.States)
	}
	if r.disk != nil {
		res.Disk = r.disk.stats()
		res.BytesPerState = float64(res.StoreBytes+res.Disk.Bytes) / float64(max(res.States, 1))
	}
	res.OmissionProbability = r.store.OmissionProbability()
	res.FailedCAS = res.Store.FailedCAS
	res.Pool = r.pool
	res.Steals = r.pool.Steals
	res.IdleShare = r.pool.IdleShare
	res.MoreViolations = r.found.More
}

// traces rebuilds, checks and minimises the traces of the violations found.
func (r *run) traces(res *Result) (err error) {
	if r.found.Len() == 0 {
		return nil
	}
	rb := &rebuilder{sys: r.sys, expander: r.newExpander(), session: r.workers[0].session, machine: r.sys.NewMachine()}
	var p *past
	if r.disk != nil {
		r.disk.flush(true) // if it fails, the traces are missing
		p = newPast(r.disk)
		rb.session = p
	}
	var raws []engine.Raw
	for f := range r.found.All() {
		if p != nil {
			f.ref, _ = p.Find(f.state)
		}
		t, err := rb.rebuild(f, r.store.Loadable())
		if p != nil && r.disk.failed != nil {
			t, err = nil, r.disk.failed
		}
		raws = append(raws, engine.Raw{Violation: f.violation, Trace: t, Missing: err})
	}
	res.Violations, err = engine.Finish(r.watch.From(), plain(r.sys), raws, &r.o.Options)
	return err
}

// place tells violations apart that are no deadlocks.
type place struct {
	kind   system.ViolationKind
	pos    system.Pos
	object string
}

// worker searches on one goroutine; it is the pool's worker and its expander's
// visitor.
type worker struct {
	run       *run
	expander  Expander
	session   statestore.Session
	deferring statestore.Deferring       // session, if it is one
	numbering statestore.Numbering       // session, if it is one and nobody else asks for moves
	arrive    func(statestore.Ref) error // arrived
	deferred  int                        // moves that are to be settled
	// patient: they may wait until other states of the batch are expanded. A search that
	// can be interrupted and goes on has nothing that is neither covered nor will be
	// found again.
	patient  bool
	loadable bool
	hook     Hook
	box      *cluster.Outbox // nil if there are no other ranks
	homes    *homes          // nil if no states go to other ranks by numbers
	disk     *diskWorker     // nil if all is in memory

	// The state that is expanded.
	state  system.State
	ref    statestore.Ref
	parent *statestore.Trail // if the store is not loadable
	trail  *statestore.Trail // the same with the state itself, made on demand
	depth  int               // of its successors
	home   int               // the rank that it belongs to, -1: not known yet
	// If numbers tell who owns states of its length:
	owners  *owners
	numbers [statestore.MaxNumbers]uint32 // of its parts
	sum     uint64                        // of its terms, if home is known
	out     *workers.Out
	err     error // why the search has to end
	broken  bool  // the expander was told to break off
	// unturned counts the states expanded since the last call of Options.Turn.
	unturned int

	buf      system.State
	exported system.State // see abroad
	redone   Counters     // of states that were not expanded to the end
	maxDepth int
	seen     map[place]struct{} // violations that need not be looked at again
	machine  system.Machine     // for the deadlocked states, made on demand

	_      [128]byte // keeps what the reporter reads away from the rest
	public struct{ transitions, attempts, depth atomic.Uint64 }
	_      [128]byte
}

func (r *run) newWorker(id int) *worker {
	w := &worker{run: r, loadable: r.store.Loadable()}
	if r.o.Hook != nil {
		w.hook = r.o.Hook(id)
	}
	if r.ranks != nil {
		w.box = r.ranks.x.Outbox(id)
	}
	if r.disk != nil {
		w.disk = &diskWorker{}
	}
	return w
}

// prepare makes the worker's expander and session. A worker gets them with its
// first state, because of many more workers than CPUs most never get any.
func (w *worker) prepare() {
	w.run.making.Lock()
	defer w.run.making.Unlock()
	w.expander, w.session = w.run.newExpander(), w.run.store.NewSession()
	if d, ok := w.session.(statestore.Deferring); ok && w.disk == nil && !sabotage.Is("search/queue") {
		w.deferring, w.arrive = d, w.arrived
		if w.hook == nil && (w.box == nil || w.run.ranks.portable == nil) {
			w.numbering, _ = w.session.(statestore.Numbering)
			// A rank that has several parts has several stores, and none of them is told numbers.
			if sharing, ok := w.session.(statestore.Sharing); ok && w.box != nil && w.run.ranks.x.Parts() == w.run.o.Ranks.Size() {
				w.homes = &homes{sharing: sharing, division: w.run.division, parts: w.run.ranks.x.Parts(), most: cmp.Or(w.run.o.MostNumbers, cluster.MostNumbers)}
			}
		}
		w.patient = w.run.o.Checkpoint == nil && w.run.parts == nil
	}
}

// publishEvery is how many states of a batch a worker expands before it
// publishes its counters again. It always does at a batch's end.
const publishEvery = 16

// Process expands item i of a batch.
func (w *worker) Process(b *statestore.Batch, i int, out *workers.Out) error {
	if w.expander == nil {
		w.prepare()
	}
	if turn := w.run.o.Turn; turn != nil {
		if w.unturned++; w.unturned == engine.TurnStates {
			w.unturned = 0
			turn()
		}
	}
	w.ref, w.depth, w.out, w.home, w.owners = b.Refs[i], b.Depth+1, out, -1, nil
	switch s := b.State(i); {
	case w.disk != nil:
		if err := w.take(b.Refs[i], s); err != nil {
			return err
		}
	case s != nil && w.loadable:
		return w.accept(b, i, s)
	case w.loadable:
		w.buf = w.session.Load(w.ref, w.buf)
		w.state = w.buf
	default:
		w.state, w.parent, w.trail = s, b.Trail(i), nil
	}
	w.maxDepth = max(w.maxDepth, b.Depth)
	if w.hook != nil {
		w.hook.Expand(w.state)
	}
	var before Counters
	again := w.run.o.Checkpoint != nil || w.disk != nil
	if again {
		before = w.expander.Counters()
	}
	w.expander.Expand(w.state, w)
	w.settleSome(b, i)
	if i%publishEvery == publishEvery-1 || i == b.Len()-1 {
		c := w.expander.Counters()
		w.public.transitions.Store(c.Transitions)
		w.public.attempts.Store(c.Attempts)
		w.public.depth.Store(uint64(w.maxDepth))
	}
	if (w.err != nil || w.broken) && again {
		// The state will be expanded again, from the beginning.
		w.redone.add(w.expander.Counters().minus(before))
	}
	if w.err == nil && w.broken {
		return workers.ErrStopped
	}
	return w.err
}

// Stopped tells whether the search is to end.
func (w *worker) Stopped() bool {
	if w.err != nil || w.out.Stopped() {
		w.broken = true
	}
	return w.broken
}

// Covered implements [Covers].
func (w *worker) Covered(s system.State) (is, known bool) {
	if w.box != nil {
		if w.box.Owner(w.abroad(s)) != w.run.ranks.rank {
			return false, false
		}
	}
	if w.deferred > 0 { // of other states
		w.settle()
	}
	_, is = w.session.Find(s)
	return is, is || w.disk == nil || !w.run.disk.dropped
}

// abroad returns a state as it goes to other ranks, valid until the next call.
func (w *worker) abroad(s system.State) system.State {
	k := w.run.ranks
	if k.portable == nil {
		return s
	}
	w.exported = k.export(w.exported, s)
	return w.exported
}

// destination returns the rank that the end of a move belongs to, and the end as it goes
// there if it is another one.
func (w *worker) destination(m *Move) (rank int, end system.State) {
	// The state that is expanded can be of another rank: whoever goes on with a checkpoint
	// shares out what is to be expanded.
	if m.Changed != nil && len(m.End) == len(w.state) && w.run.ranks.portable == nil && w.box.Stays(m.Changed) {
		return w.homeOf(), m.End
	}
	end = w.abroad(m.End)
	return w.box.Owner(end), end
}

// homeOf returns the rank that the expanded state belongs to.
func (w *worker) homeOf() int {
	switch {
	case w.home >= 0:
	case w.owners != nil:
		w.sum = w.owners.sum(&w.numbers)
		w.home = w.box.OwnerOf(w.sum)
	default:
		w.home = w.box.Owner(w.state)
	}
	return w.home
}

// Move inserts the end of a move, and queues it if it is new.
func (w *worker) Move(m *Move) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if m.Infinite || w.err != nil || sabotage.Is("search/infinite") && w.depth > 3 && m.Len > 1 {
		return
	}
	if w.box != nil {
		if to, end := w.destination(m); to != w.run.ranks.rank {
			if w.sendNumbers(to, m) {
				return
			}
			parent := uint64(w.ref)
			if w.disk != nil {
				parent = w.disk.from
			}
			w.box.Send(to, w.depth, parent, end)
			return
		}
	}
	if w.disk != nil {
		w.cover(m)
		return
	}
	if w.deferring != nil {
		if ok, err := w.deferring.Defer(m.End, w.ref, m.Changed); ok {
			w.err = err
			w.deferred++
			return
		}
	}
	ref, added, err := w.session.Insert(m.End, w.ref)
	if err != nil {
		w.err = err
		return
	}
	if added && sabotage.Is("search/queue") && w.depth%5 == 4 && m.Thread == 0 {
		return
	}
	if added {
		w.queue(ref, m)
		w.count()
	}
}

// Numbers implements [Numbered].
func (w *worker) Numbers() []uint32 {
	if w.numbering == nil {
		return nil
	}
	numbers := w.numbering.Numbers(w.ref, len(w.state))
	if w.box == nil || numbers == nil {
		return numbers
	}
	if w.homes != nil {
		if w.owners = w.homes.of(len(w.state)); w.owners != nil {
			w.numbers = [statestore.MaxNumbers]uint32{}
			copy(w.numbers[:], numbers)
			return numbers
		}
	}
	if w.homeOf() != w.run.ranks.rank {
		return nil
	}
	return numbers
}

// Parts implements [Numbered].
func (w *worker) Parts(word int32, mask uint64) uint32 {
	return w.numbering.Parts(len(w.state), word, mask)
}

// Ended implements [Numbered].
func (w *worker) Ended() []uint32 { return w.numbering.Deferred(len(w.state)) }

// Stays implements [Numbered].
func (w *worker) Stays(changed []int32) bool {
	return w.box == nil || w.owners != nil || w.box.Stays(changed)
}

// MoveNumbers implements [Numbered].
func (w *worker) MoveNumbers(parts uint32, numbers *[statestore.MaxNumbers]uint32) {
	if w.err != nil || w.owners != nil && w.leaves(parts, numbers) {
		return
	}
	w.err = w.numbering.DeferNumbers(w.ref, parts, numbers)
	w.deferred++
}

// queue puts the end of a move into the work set.
func (w *worker) queue(ref statestore.Ref, m *Move) {
	w.maxDepth = max(w.maxDepth, w.depth)
	if w.loadable {
		w.out.Add(w.depth, ref)
	} else {
		w.out.AddState(w.depth, ref, m.End, w.ownTrail())
	}
}

// settleAt is how many moves may be deferred before they are settled, if they may wait
// for those of other states. More of them give the memory more time, and have longer
// been out of the caches.
const settleAt = 32

// settleSome covers the ends of the deferred moves if they cannot wait any longer, when item i
// of b is done.
func (w *worker) settleSome(b *statestore.Batch, i int) {
	if w.deferred > 0 && (!w.patient || w.deferred >= settleAt || i == b.Len()-1) {
		w.settle()
	}
}

// settle covers the ends of the deferred moves.
func (w *worker) settle() {
	w.deferred = 0
	if err := w.deferring.Settle(w.arrive); w.err == nil {
		w.err = err
	}
}

// arrived queues a new state, the end of a deferred move.
func (w *worker) arrived(ref statestore.Ref) error {
	w.maxDepth = max(w.maxDepth, w.depth)
	w.out.Add(w.depth, ref)
	w.count()
	return w.err
}

// count counts a new state against the limit.
func (w *worker) count() {
	if w.run.o.MaxStates > 0 {
		w.err = w.run.countState()
	}
}

// Expanded implements [Coverer].
func (w *worker) Expanded() (ref statestore.Ref, initial bool) { return w.ref, w.depth == 1 }

// Cover implements [Coverer].
func (w *worker) Cover(m *Move, arrive func(statestore.Ref) bool) {
	if w.hook != nil {
		w.hook.Move(m)
	}
	if w.err != nil {
		return
	}
	if w.box != nil {
		w.err = errors.New("search: an expander that remembers states by their references cannot search on ranks")
		return
	}
	if w.disk != nil {
		w.err = errors.New("search: an expander that remembers states by their references cannot search with a disk")
		return
	}
	ref, added, err := w.session.Insert(m.End, w.ref)
	if err != nil {
		w.err = err
		return
	}
	if arrive(ref) {
		w.queue(ref, m)
	}
	if added {
		w.count()
	}
}

// ownTrail returns the trail of the state that is expanded, itself included.
func (w *worker) ownTrail() *statestore.Trail {
	if w.trail == nil {
		w.trail = &statestore.Trail{Parent: w.parent, Ref: w.ref}
	}
	return w.trail
}

// Violation records the violations of a transition if they are to be kept.
func (w *worker) Violation(v *system.Violation, tail []Step) {
	if w.hook != nil {
		w.hook.Violation(v, tail)
	}
	for ; v != nil; v = v.Also {
		w.violation(v, tail)
	}
}

func (w *worker) violation(v *system.Violation, tail []Step) {
	r := w.run
	if w.err != nil || r.found.Ignores(v) {
		return
	}
	state := ""
	k := place{v.Kind, v.Pos, v.Object}
	if v.Kind == system.Deadlock {
		if r.o.All {
			state = w.stateKey(tail)
		}
	} else if _, ok := w.seen[k]; ok {
		return
	}
	goOn := r.found.Add(v, state, func(v system.Violation) *finding {
		f := &finding{violation: v, ref: w.ref, state: slices.Clone(w.state), tail: slices.Clone(tail)}
		if !w.loadable {
			f.trail = w.ownTrail()
		}
		return f
	})
	switch {
	case !goOn:
		w.err = engine.AtViolation
	case v.Kind != system.Deadlock:
		if w.seen == nil {
			w.seen = map[place]struct{}{}
		}
		w.seen[k] = struct{}{}
	}
}

// stateKey returns the key of the state behind tail.
func (w *worker) stateKey(tail []Step) string { return w.stateKeyOf(w.state, tail) }

// stateKeyOf returns the key of the state behind the steps from s.
func (w *worker) stateKeyOf(s system.State, tail []Step) string {
	if w.machine == nil {
		w.machine = w.run.sys.NewMachine()
	}
	w.machine.Load(s)
	for _, t := range tail {
		w.machine.Step(t.Thread, t.Alt)
	}
	return engine.StateKey(w.run.sys, &w.run.obs, w.machine)
}
