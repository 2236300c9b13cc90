package search

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"cpor/engine"
	"cpor/engine/cluster"
	"cpor/statestore"
	"cpor/statestore/spill"
	"cpor/system"
	"cpor/trace"
	"cpor/workers"
)

// ranks is this rank's side of a search on several ranks: it communicates with the others.
type ranks struct {
	place   // of the states of this rank
	run     *run
	x       *cluster.Exchange
	rank    int
	outbox  *cluster.Outbox // says who owns a state
	gate    *workers.Gate
	session statestore.Session // of the goroutine that speaks
	open    *statestore.Batch  // arrivals that are not queued yet
	// If nothing needs to survive the end of the search, states are stored together.
	deferring statestore.Deferring // session, or nil
	deferred  int                  // states that wait for that
	depth     int                  // of these
	sharing   statestore.Sharing   // session, or nil
	names     []map[int]*names     // by rank and length of states

	stop    context.CancelFunc // ends the pool
	pause   chan struct{}      // closed to pause it
	done    chan struct{}      // closed when it has ended
	fault   error              // of the tool, once done is closed
	traffic cluster.Traffic    // of the exchanges before
	merged  bool               // all have the result, and nobody waits for this rank any more

	// With a disk:
	noted      noted  // of the goroutine that speaks
	unreadable string // why traces cannot be rebuilt: the disk of a rank; empty if they can

	saved    time.Time     // when the last checkpoint was written, on rank 0
	overflow []lateArrival // arrived when there was no room
	came     uint64        // states that have arrived
	noRoom   atomic.Bool   // the store in memory has to be dropped

	sides []*remote // of the workers

	portable system.Portable // nil: states are the same on all ranks
	arrived  system.State    // of this process
}

// names translates the numbers of another rank, for states of one length.
type names struct {
	// own is, by part and number, this rank's number for the same value; 0 if there is none.
	own [statestore.MaxNumbers][]uint32
	// unnumbered are parts for whose numbers there was no memory.
	unnumbered map[partName][]uint64
}

// partName is a part with a number of another rank.
type partName struct {
	part   int
	number uint32
}

// lateArrival is a state that arrived when there was no room.
type lateArrival struct {
	depth int
	from  uint64
	state system.State
}

// arrivals is how many states of other ranks may wait for each worker. The receiving goroutine
// stores any others itself, which makes the senders wait.
const arrivals = 4 * statestore.BatchSize

func newRanks(r *run) *ranks {
	k := &ranks{place: r.place, run: r, rank: r.o.Ranks.Rank(), session: r.store.NewSession()}
	o := cluster.Options{Workers: r.o.Workers, Division: r.division}
	if r.parts != nil {
		o.Parts, o.PauseAfter = r.parts.count, r.o.Checkpoint.Every
	}
	if r.o.Progress != nil {
		o.ReportEvery = r.o.ProgressInterval
		o.Report = func(p cluster.Progress) {
			r.watch.Report(engine.Progress{
				Counters: engine.Counters{States: p.States, Transitions: p.Transitions,
					Attempts: p.Attempts},
				Queued: p.Queued, StoreBytes: p.StoreBytes, MaxDepth: int(p.MaxDepth),
				Violations: int(p.Violations),
			})
		}
	}
	if most := r.o.MaxStates; most > 0 {
		o.Limit = func(p cluster.Progress) string {
			if p.States > most {
				return engine.StateLimit(most).Reason
			}
			return ""
		}
	}
	if r.parts == nil && r.disk == nil {
		k.deferring, _ = k.session.(statestore.Deferring)
	}
	k.portable = r.sys.Capabilities().Portable
	if k.portable == nil && r.disk == nil {
		k.sharing, _ = k.session.(statestore.Sharing)
	}
	k.names = make([]map[int]*names, r.o.Ranks.Size())
	k.x = cluster.NewExchange(r.o.Ranks, o)
	k.outbox = k.x.Outbox(0)
	return k
}

// owns reports whether this rank owns a state.
func (k *ranks) owns(s system.State) bool {
	return k.outbox.Owner(k.export(nil, s)) == k.rank
}

// export returns a state in the form that is sent to other ranks, in the memory of dst if it
// differs.
func (k *ranks) export(dst, s system.State) system.State {
	if k.portable == nil {
		return s
	}
	return k.portable.Export(dst[:0], s)
}

// local is the inverse of export.
func (k *ranks) local(dst, s system.State) (system.State, error) {
	if k.portable == nil {
		return s, nil
	}
	return k.portable.Import(dst[:0], s)
}

// search implements [place]. An error that the other ranks do not know is a [cluster.Left].
func (k *ranks) search(res *Result, fresh bool) (_ *Result, err error) {
	r := k.run
	defer func() {
		if err != nil && !k.merged {
			err = &cluster.Left{Err: err}
		}
	}()
	if fresh {
		if err := r.begin(); err != nil {
			k.fault = k.end(err)
		}
	}
	round := k.round
	if r.disk != nil {
		round = k.rounds
	}
	out, err := round()
	for err == nil && out.Paused {
		if err = k.save(); err == nil {
			k.goOn()
			out, err = k.round()
		}
	}
	if err != nil {
		return res, err
	}
	if !out.Ended {
		err = &engine.Stop{Reason: out.Reason}
		if r.parts != nil && out.Reason != engine.AtViolation.Reason {
			if err := k.save(); err != nil {
				return res, err
			}
		}
	}
	r.fill(res)
	res.PeakRSS = r.watch.Memory().Peak()
	res.Traffic = k.x.Traffic()
	res.Traffic.Add(k.traffic)
	if err := k.merge(res, k.fault, err); err != nil {
		return res, err
	}
	return res, k.fault
}

// round runs the pool until the search has ended, was stopped, or pauses on all ranks.
func (k *ranks) round() (cluster.Outcome, error) {
	ctx, stop := context.WithCancel(k.run.watch.Context())
	defer stop()
	k.stop, k.gate, k.pause, k.done = stop, workers.NewGate(), make(chan struct{}),
		make(chan struct{})
	go func() {
		defer close(k.done)
		po := workers.Options{Gate: k.gate, Pause: k.pause}
		if d := k.run.disk; d != nil {
			if err := d.work(ctx, po); errors.Is(err, errNoRoom) {
				k.noRoom.Store(true)
				k.x.RequestPause()
			} else if err != nil && ctx.Err() == nil && !errors.Is(err, workers.ErrPaused) {
				k.fault = errors.Join(k.fault, k.end(err))
			}
			return
		}
		err := k.run.work(ctx, po)
		if err != nil && ctx.Err() == nil && !errors.Is(err, workers.ErrPaused) {
			k.fault = errors.Join(k.fault, k.end(err))
		}
	}()
	<-k.gate.Ready()
	x, all := k.x, k.run.watch.Context()
	defer context.AfterFunc(all, func() {
		_, _, reason, _ := engine.Judge(context.Cause(all), "", false)
		x.RequestStop(reason)
	})()
	return x.Run(k) // it waits for the pool
}

// afterRound is what a rank reports when all have paused and it has searched its disk.
type afterRound struct {
	Work   bool   // it has states to expand, or candidates
	States uint64 // that it knows to be covered
	Reason string // it wants the search to end
	Save   bool   // of rank 0: a checkpoint is to be written
}

// rounds is round for a search with a disk. A rank knows what is left to do only after it has
// looked for its candidates on its disk, and it cannot look while states arrive. So all ranks
// pause when one of them has many candidates or no room, or when no rank has anything else to
// do.
//
// Each state has one owner, where it arrives from all ranks. The owner treats it as a single
// process with a disk does, so each state is covered once and expanded once. A state that
// arrives when there is no room is kept until the pause, which makes room. Termination: when all
// have paused, no message is under way, and no rank gives another one work before the next round
// begins. If then no rank has candidates to look for, states to expand, or states that wait on
// its disk, nothing is left to do, and nothing can arrive.
func (k *ranks) rounds() (cluster.Outcome, error) {
	d := k.run.disk
	k.saved = time.Now()
	for {
		d.begin()
		out, err := k.round()
		if err != nil {
			return out, err
		}
		if !out.Ended && !out.Paused {
			d.collect()
			return out, nil
		}
		var mine afterRound
		if err := k.between(); err != nil {
			var fault error
			_, _, mine.Reason, fault = engine.Judge(err, "", false)
			k.fault = errors.Join(k.fault, fault)
		}
		mine.States = k.covered()
		mine.Work = k.run.ws.Len() > 0 || k.noted.count > 0
		sum, err := k.agree(mine)
		if err != nil {
			return out, err
		}
		if sum.Reason != "" || !sum.Work {
			return cluster.Outcome{Ended: sum.Reason == "", Reason: sum.Reason}, nil
		}
		if sum.Save {
			if err := k.save(); err != nil {
				return out, err
			}
			k.saved = time.Now()
		}
		k.goOn()
	}
}

// agree tells all ranks what this one says, and returns what all say together, the same on every
// rank: rank 0 adds what follows from the sum.
func (k *ranks) agree(mine afterRound) (sum afterRound, err error) {
	m, err := json.Marshal(mine)
	if err != nil {
		return sum, err
	}
	all, err := k.x.Gather(m)
	if err != nil {
		return sum, err
	}
	for rank, m := range all {
		var one afterRound
		if err := json.Unmarshal(m, &one); err != nil {
			return sum, fmt.Errorf("the message from rank %d cannot be read: %w", rank, err)
		}
		sum.Work, sum.Reason = sum.Work || one.Work, cmp.Or(sum.Reason, one.Reason)
		sum.States += one.States
	}
	if most := k.run.o.MaxStates; most > 0 && sum.States > most {
		sum.Reason = cmp.Or(sum.Reason, engine.StateLimit(most).Reason)
	}
	if c := k.run.o.Checkpoint; c != nil && c.Every > 0 && sum.Reason == "" && sum.Work {
		sum.Save = time.Since(k.saved) >= c.Every
	}
	if m, err = json.Marshal(sum); err != nil {
		return sum, err
	}
	if m, err = k.x.Broadcast(m); err != nil {
		return sum, err
	}
	if err := json.Unmarshal(m, &sum); err != nil {
		return sum, fmt.Errorf("the message from rank 0 cannot be read: %w", err)
	}
	return sum, nil
}

// between does the work for the disk while all ranks pause.
func (k *ranks) between() error {
	r, d := k.run, k.run.disk
	if d.failed != nil {
		return d.failed
	}
	if err := d.look(); err != nil {
		return err
	}
	drops := d.drops
	if err := d.makeRoom(k.noRoom.Swap(false)); err != nil {
		return err
	}
	if d.drops > drops {
		k.session = r.store.NewSession()
	}
	waiting := k.overflow
	k.overflow = nil
	for _, l := range waiting {
		k.cover(l.depth, l.from, l.state)
	}
	if len(k.overflow) > 0 {
		return r.watch.OutOfMemory()
	}
	if r.ws.Len() == 0 {
		return d.refill()
	}
	return nil
}

// cover is Arrive for a search with a disk.
func (k *ranks) cover(depth int, from uint64, s system.State) {
	d := k.run.disk
	ref, added, err := k.session.Insert(s, 0)
	switch {
	case err != nil:
		k.tooLate(depth, from, s)
	case added:
		k.noted.from = from
		d.note(&k.noted, s, ref, nil)
		if !d.dropped {
			k.batch(depth, false).Add(ref)
		}
	}
}

// tooLate keeps a state that has arrived until there is room.
func (k *ranks) tooLate(depth int, from uint64, s system.State) {
	k.overflow = append(k.overflow, lateArrival{depth, from, slices.Clone(s)})
	k.noRoom.Store(true)
	k.x.RequestPause()
}

// save writes a checkpoint together with the other ranks: it is valid if all have written their
// parts.
func (k *ranks) save() error {
	k.run.nextSave() // also where it fails: all ranks count alike
	err, d := k.fault, k.run.disk
	var files []spill.Kept
	switch {
	case err != nil:
	case d != nil:
		files, err = d.saveParts()
	default:
		err = k.run.saveParts()
	}
	var mine afterSave
	if err != nil {
		mine.Error = fmt.Sprintf("rank %d: %v", k.rank, err)
	}
	mine.Over = d != nil && d.failed != nil
	m, err := json.Marshal(mine)
	if err != nil {
		return err
	}
	all, lost := k.x.Gather(m)
	if lost != nil {
		return lost
	}
	if k.rank == 0 {
		var failed error
		over := false
		for rank, m := range all {
			var one afterSave
			if err := json.Unmarshal(m, &one); err != nil {
				return fmt.Errorf("the message from rank %d cannot be read: %w", rank, err)
			}
			over = over || one.Over
			if one.Error != "" {
				failed = errors.Join(failed, errors.New(one.Error))
			}
		}
		// If a disk has failed, the search ends and says so.
		p := k.run.parts
		if m = []byte{0}; !over && k.run.o.Checkpoint.Parts.Commit(p.saves, p.count, failed) {
			m[0] = 1
		}
	}
	if d == nil {
		return nil
	}
	if m, lost = k.x.Broadcast(m); lost == nil && len(m) == 1 && m[0] == 1 {
		d.counts(files, d.keptIn())
	}
	return lost
}

// afterSave is what a rank reports when it has written its parts of a checkpoint.
type afterSave struct {
	Error string
	Over  bool // its disk has failed
}

// goOn begins the exchange after a pause.
func (k *ranks) goOn() {
	k.traffic.Add(k.x.Traffic())
	k.x = k.x.Next()
	k.outbox = k.x.Outbox(0)
	clear(k.names) // the outboxes are new and tell all again
	for _, a := range k.sides {
		a.box = k.x.Outbox(a.w.id)
	}
}

// end requests the end of the search on all ranks, and returns err if it is a fault of the tool.
func (k *ranks) end(err error) error {
	_, _, reason, fault := engine.Judge(err, "", false)
	k.x.RequestStop(reason)
	return fault
}

// Arrive implements [cluster.Part].
func (k *ranks) Arrive(a *cluster.Arrival) error {
	_, parent := statestore.Apart(statestore.Ref(a.Parent))
	parent = statestore.Away(parent)
	if a.ByNumbers {
		return k.arriveNumbers(a, parent)
	}
	state, err := k.local(k.arrived, a.State)
	if err != nil {
		return fmt.Errorf("a state from rank %d: %w", a.From, err)
	}
	if k.portable != nil {
		k.arrived = state
	}
	if k.run.disk != nil {
		if k.came++; k.run.o.sizes.SpillEvery > 0 && k.came%16 == 0 {
			k.tooLate(a.Depth, a.Parent, state) // as if there were no room
			return nil
		}
		k.cover(a.Depth, a.Parent, state)
		return nil
	}
	if k.gate.Queued() < arrivals*k.run.o.Workers {
		k.batch(a.Depth, true).AddState(parent, state, nil)
		return nil
	}
	if k.deferring != nil {
		k.takeLater(a.Depth, parent, state)
		return nil
	}
	ref, added, err := k.session.Insert(state, parent)
	switch {
	case err != nil:
		// The search ends; until then the state is kept as it is.
		k.end(k.run.full(err))
		k.batch(a.Depth, true).AddState(parent, state, nil)
	case added:
		k.batch(a.Depth, false).Add(ref)
	}
	return nil
}

// Means implements [cluster.Part].
func (k *ranks) Means(from, length, part int, number uint32, value []uint64) error {
	if k.sharing == nil || k.sharing.Shared(length) == nil {
		return fmt.Errorf("states of %d words cannot be sent by numbers: do all ranks run the "+
			"same cpor?", length)
	}
	own, err := k.sharing.PartNumber(length, part, value)
	if err != nil && !errors.Is(err, statestore.ErrFull) {
		return err
	}
	if k.names[from] == nil {
		k.names[from] = map[int]*names{}
	}
	n := k.names[from][length]
	if n == nil {
		n = &names{unnumbered: map[partName][]uint64{}}
		k.names[from][length] = n
	}
	if err != nil {
		k.end(k.run.full(err))
		n.unnumbered[partName{part, number}] = slices.Clone(value)
		return nil
	}
	if more := int(number) + 1 - len(n.own[part]); more > 0 {
		n.own[part] = append(n.own[part], make([]uint32, max(more, len(n.own[part])))...)
	}
	n.own[part][number] = own
	return nil
}

// arriveNumbers is Arrive for a state given as numbers. Storing it is so cheap that it is not
// left to the workers.
func (k *ranks) arriveNumbers(a *cluster.Arrival, parent statestore.Ref) error {
	n := k.names[a.From][a.Length]
	if n == nil {
		return fmt.Errorf("a state from rank %d has unknown numbers: do all ranks run the same "+
			"cpor?", a.From)
	}
	var own [statestore.MaxNumbers]uint32
	numbers, all := k.sharing.PartsOf(a.Length), true
	for p, number := range a.Numbers[:numbers] {
		if int(number) < len(n.own[p]) {
			own[p] = n.own[p][number]
		}
		all = all && own[p] != 0
	}
	if all && k.deferring != nil {
		if a.Depth != k.depth {
			k.settle()
			k.depth = a.Depth
		}
		if err := k.sharing.DeferState(a.Length, &own, parent); err != nil {
			k.end(k.run.full(err))
		} else if k.deferred++; k.deferred >= settleAt {
			k.settle()
		}
		return nil
	}
	if all {
		err := k.sharing.DeferState(a.Length, &own, parent)
		if err == nil {
			err = k.sharing.Settle(func(ref statestore.Ref) error {
				k.batch(a.Depth, false).Add(ref)
				return nil
			})
		}
		if err == nil {
			return nil
		}
		k.end(k.run.full(err))
	}
	// The search ends; until then the state is kept as it is.
	state := make(system.State, a.Length)
	for p, number := range a.Numbers[:numbers] {
		value, known := n.unnumbered[partName{p, number}]
		if own[p] != 0 {
			value = k.sharing.Part(nil, a.Length, p, own[p])
		} else if !known {
			return fmt.Errorf("a state from rank %d has an unknown number: do all ranks run the "+
				"same cpor?", a.From)
		}
		k.sharing.Put(state, p, value)
	}
	k.batch(a.Depth, true).AddState(parent, state, nil)
	return nil
}

// takeLater stores a state together with some others of the same message.
func (k *ranks) takeLater(depth int, parent statestore.Ref, s system.State) {
	if depth != k.depth {
		k.settle()
		k.depth = depth
	}
	ok, err := k.deferring.Defer(s, parent, nil)
	switch {
	case err != nil:
	case ok:
		if k.deferred++; k.deferred >= settleAt {
			k.settle()
		}
	default:
		var ref statestore.Ref
		var added bool
		if ref, added, err = k.session.Insert(s, parent); added {
			k.batch(depth, false).Add(ref)
		}
	}
	if err != nil {
		k.end(k.run.full(err))
	}
}

// settle stores the states that wait. If there is no room, the search ends, and nothing needs
// those that are lost.
func (k *ranks) settle() {
	if k.deferred == 0 {
		return
	}
	k.deferred = 0
	err := k.deferring.Settle(func(ref statestore.Ref) error {
		k.batch(k.depth, false).Add(ref)
		return nil
	})
	if err != nil {
		k.end(k.run.full(err))
	}
}

// batch returns the open batch of a depth, with or without states.
func (k *ranks) batch(depth int, states bool) *statestore.Batch {
	b := k.open
	if b != nil && (b.Depth != depth || b.Full() || b.Len() > 0 && (b.State(0) != nil) != states) {
		k.push()
		b = nil
	}
	if b == nil {
		b = k.gate.Get()
		b.Depth = depth
		k.open = b
	}
	return b
}

// Arrived implements [cluster.Part].
func (k *ranks) Arrived() {
	k.settle()
	k.push()
}

// push hands the open batch to the workers.
func (k *ranks) push() {
	if k.open != nil {
		k.gate.Push(k.open)
		k.open = nil
	}
}

// Passive implements [cluster.Part].
func (k *ranks) Passive() bool { return k.gate.Passive() }

// Progress implements [cluster.Part].
func (k *ranks) Progress() cluster.Progress {
	p := k.run.progress(k.run.ws.Len())
	return cluster.Progress{
		States: p.States, Transitions: p.Transitions, Attempts: p.Attempts, Queued: p.Queued,
		StoreBytes: p.StoreBytes, MaxDepth: uint64(p.MaxDepth), Violations: uint64(p.Violations),
	}
}

// End implements [cluster.Part].
func (k *ranks) End() { k.gate.Close() }

// Stop implements [cluster.Part].
func (k *ranks) Stop() { k.stop() }

// Pause implements [cluster.Part].
func (k *ranks) Pause() { close(k.pause) }

// Done implements [cluster.Part].
func (k *ranks) Done() <-chan struct{} { return k.done }

// share is what a rank reports to rank 0 when the search is over.
type share struct {
	Result   Result // its counts
	Fault    string // of the tool
	Findings []sharedFinding
	Executed []uint64 // see system.Counting
	Counts   []uint64 // Options.Counts
	Learned  []byte   // see Learning
	Failed   string   // why the disk cannot be read
}

// sharedFinding is a finding of any rank.
type sharedFinding struct {
	Violation system.Violation
	Rank      int
	State     system.State // that was expanded
	Ref       statestore.Ref
	Hint      uint64
	Tail      []Step
}

// question is what rank 0 asks the others while it rebuilds traces: which states of theirs have
// a move that ends in a state. If there is none, the search is over and the result is final.
type question struct {
	State  system.State
	Rank   int // that has the state
	Hint   uint64
	Result *Result
	Counts []uint64 // with the result: those of all
	Told   []byte   // with the result: see Learning
}

// answer is the reply to a question.
type answer struct {
	Before []predecessor
	Failed string // why the disk cannot be read
}

// predecessor is a state with such a move.
type predecessor struct {
	State   system.State
	Ref     statestore.Ref
	Hint    uint64
	Thread  int
	Alt     uint64
	Len     int
	Initial int // the number of the initial state that it is, or -1
}

// diskFailed returns why the disk of this rank cannot be read, empty if it can.
func (k *ranks) diskFailed() string {
	if d := k.run.disk; d != nil && d.failed != nil {
		return d.failed.Error()
	}
	return ""
}

// merge combines all results on rank 0 and sends the result to the others. stopped is why the
// search has ended on all ranks, nil if it ran to its end.
func (k *ranks) merge(res *Result, fault, stopped error) error {
	rb, m, err := k.contribution(res, fault)
	if err != nil {
		return err
	}
	all, err := k.x.Gather(m)
	if err != nil {
		return err
	}
	if k.rank != 0 {
		return k.serve(rb, res)
	}
	u, err := k.unite(res, all, fault)
	if err != nil {
		return err
	}
	fault = u.fault
	res.MoreViolations += u.found.More
	if err := res.Judge(stopped, "", u.found.Len() > 0); err != nil {
		fault = errors.Join(fault, err)
	}
	var raws []engine.Raw
	for f := range u.found.All() {
		t, err := k.rebuild(rb, &f)
		if k.unreadable != "" {
			t, err = nil, &engine.Stop{Reason: k.unreadable}
		}
		raws = append(raws, engine.Raw{Violation: f.Violation, Trace: t, Missing: err})
	}
	var terr error
	if res.Violations, terr = engine.Finish(k.run.watch.From(), plain(k.run.sys), raws,
		&k.run.o.Options); terr != nil {
		fault = errors.Join(fault, terr)
	}
	final := *res
	final.Violations = nil
	end := question{Result: &final, Counts: u.counted}
	if l := k.run.o.Learning; l != nil {
		if end.Told, err = l.Join(u.learned, len(res.Violations) > 0 && !k.run.o.All ||
			fault != nil); err != nil {
			return err
		}
	}
	if m, err = json.Marshal(end); err != nil {
		return err
	}
	if _, err = k.x.Broadcast(m); err != nil {
		return err
	}
	k.merged = true
	return errors.Join(fault, k.told(&end))
}

// contribution returns this rank's share of the result, encoded, and what it needs to rebuild
// traces.
func (k *ranks) contribution(res *Result, fault error) (*rebuilder, []byte, error) {
	mine := share{Result: *res}
	if fault != nil {
		mine.Fault = fmt.Sprintf("rank %d: %v", k.rank, fault)
	}
	from, find, _ := k.past()
	rb := &rebuilder{sys: k.run.sys, expander: k.run.newExpander(), session: from,
		machine: k.run.sys.NewMachine()}
	for f := range k.run.found.All() {
		find(f)
		mine.Findings = append(mine.Findings, sharedFinding{
			f.violation, k.rank, k.export(nil, f.state), f.ref, rb.session.(statestore.Parted).Hint(
				f.ref), f.tail,
		})
	}
	mine.Failed = k.diskFailed()
	if counting := k.run.sys.Capabilities().Counting; counting != nil {
		mine.Executed = counting.Executed()
	}
	for _, c := range k.run.o.Counts {
		mine.Counts = append(mine.Counts, c.Load())
	}
	if l := k.run.o.Learning; l != nil {
		mine.Learned = l.Learned()
	}
	m, err := json.Marshal(&mine)
	return rb, m, err
}

// united is the sum of all ranks' shares, without the figures of the result.
type united struct {
	found   *engine.Collector[sharedFinding]
	counted []uint64 // by Options.Counts
	learned [][]byte // by rank
	fault   error    // of any rank
}

// unite combines the encoded shares of all ranks.
func (k *ranks) unite(res *Result, all [][]byte, fault error) (*united, error) {
	*res = Result{Result: engine.Result{Workers: res.Workers, Duration: res.Duration}}
	u := &united{found: engine.NewCollector[sharedFinding](&k.run.o.Options),
		counted: make([]uint64, len(k.run.o.Counts)), learned: make([][]byte, len(all)),
		fault: fault}
	counting := k.run.sys.Capabilities().Counting
	for rank, m := range all {
		var s share
		if err := json.Unmarshal(m, &s); err != nil {
			return nil, fmt.Errorf("the result of another rank cannot be read: %w", err)
		}
		if counting != nil && rank != 0 {
			counting.AddExecuted(s.Executed)
		}
		res.add(&s.Result)
		res.Traffic.Largest = max(res.Traffic.Largest, float64(s.Result.States))
		u.learned[rank] = s.Learned
		k.unreadable = cmp.Or(k.unreadable, s.Failed)
		for i := range u.counted {
			u.counted[i] += s.Counts[i]
		}
		if s.Fault != "" {
			u.fault = errors.Join(u.fault, errors.New(s.Fault))
		}
		if err := k.addFindings(u.found, rank, s.Findings); err != nil {
			return nil, err
		}
	}
	res.Traffic.Largest *= float64(len(all)) / float64(max(res.States, 1))
	if res.States > 0 {
		bytes := res.StoreBytes
		if res.Disk != nil {
			bytes += res.Disk.Bytes
		}
		res.BytesPerState = float64(bytes) / float64(res.States)
	}
	return u, nil
}

// addFindings adds the findings of a rank.
func (k *ranks) addFindings(found *engine.Collector[sharedFinding], rank int,
	findings []sharedFinding) (err error) {
	for _, f := range findings {
		if f.State, err = k.local(nil, f.State); err != nil {
			return fmt.Errorf("a finding of rank %d: %w", rank, err)
		}
		state := ""
		if f.Violation.Kind == system.Deadlock && k.run.o.All {
			state = k.run.workers[0].stateKeyOf(f.State, f.Tail)
		}
		found.Add(&f.Violation, state, func(system.Violation) sharedFinding { return f })
	}
	return nil
}

// told reads what is sent with the result.
func (k *ranks) told(end *question) error {
	for i, c := range k.run.o.Counts {
		c.Store(end.Counts[i])
	}
	if l := k.run.o.Learning; l != nil {
		return l.Told(end.Told)
	}
	return nil
}

// add adds the counts of a rank.
func (r *Result) add(s *Result) {
	r.States += s.States
	r.Transitions += s.Transitions
	r.Attempts += s.Attempts
	r.EndedLoops += s.EndedLoops
	r.BlockedLoops += s.BlockedLoops
	r.MaxDepth = max(r.MaxDepth, s.MaxDepth)
	r.StoreBytes += s.StoreBytes
	r.PeakRSS += s.PeakRSS
	r.MoreViolations += s.MoreViolations
	r.Steals += s.Steals
	r.FailedCAS += s.FailedCAS
	r.IdleShare = max(r.IdleShare, s.IdleShare)
	r.Traffic.Add(s.Traffic)
	if d := s.Disk; d != nil {
		if r.Disk == nil {
			r.Disk = new(DiskStats)
		}
		r.Disk.add(d)
	}
	r.Store.States += s.Store.States
	r.Store.Bytes += s.Store.Bytes
	r.Store.Nodes += s.Store.Nodes
}

// serve answers the questions of rank 0 until it has the result.
func (k *ranks) serve(rb *rebuilder, res *Result) error {
	for {
		m, err := k.x.Broadcast(nil)
		if err != nil {
			return err
		}
		var q question
		if err := json.Unmarshal(m, &q); err != nil {
			return fmt.Errorf("a question of rank 0 cannot be read: %w", err)
		}
		if q.Result != nil {
			*res = *q.Result
			k.merged = true
			return k.told(&q)
		}
		if q.State, err = k.local(nil, q.State); err != nil {
			return fmt.Errorf("a question of rank 0: %w", err)
		}
		if m, err = json.Marshal(answer{k.predecessors(rb, &q), k.diskFailed()}); err != nil {
			return err
		}
		if _, err := k.x.Gather(m); err != nil {
			return err
		}
	}
}

// predecessors returns the states of this rank with a move that ends in the
// state of the question.
func (k *ranks) predecessors(rb *rebuilder, q *question) []predecessor {
	hint := q.Hint
	if q.Rank != k.rank && k.run.disk == nil {
		hint = statestore.Foreign(hint)
	}
	var refs []statestore.Ref
	session := rb.session.(statestore.Parted)
	session.Candidates(hint, func(ref statestore.Ref) bool {
		refs = append(refs, ref)
		return true
	})
	var all []predecessor
	var initials map[string]int
	var state system.State
	for _, ref := range refs {
		state = rb.session.Load(ref, state)
		found := false
		rb.expander.Expand(state, &finder{
			want: func(end system.State) bool { return !found && slices.Equal(end, q.State) },
			found: func(m *Move) {
				found = true
				if initials == nil {
					initials = rb.initials()
				}
				p := predecessor{State: slices.Clone(state), Ref: ref, Thread: m.Thread, Alt: m.Alt,
					Len: m.Len, Initial: -1}
				if i, ok := initials[engine.StateString(state)]; ok {
					p.Initial = i
				}
				all = append(all, p)
			},
		})
	}
	for i := range all {
		all[i].Hint = session.Hint(all[i].Ref)
		all[i].State = k.export(nil, all[i].State)
	}
	return all
}

// rebuild is [rebuilder.rebuild] for a state whose ancestors are on many ranks:
// the same search backwards, each step of which is a question to all.
func (k *ranks) rebuild(rb *rebuilder, f *sharedFinding) (*trace.Trace, error) {
	type name struct {
		rank int
		ref  statestore.Ref
	}
	type frame struct {
		question
		before []predecessor
		ranks  []int // of before
		down   move
	}
	own := &finding{violation: f.Violation, state: f.State, tail: f.Tail}
	defer func() { f.Violation = own.violation }()
	if i, ok := rb.initials()[engine.StateString(f.State)]; ok {
		return rb.trace(i, nil, own)
	}
	entered := map[name]bool{{f.Rank, f.Ref}: true}
	var stack []frame
	enter := func(q question, down move) error {
		fr := frame{question: q, down: down}
		remote := q
		remote.State = k.export(nil, q.State)
		m, err := json.Marshal(remote)
		if err != nil {
			return err
		}
		if _, err := k.x.Broadcast(m); err != nil {
			return err
		}
		if m, err = json.Marshal(answer{k.predecessors(rb, &q), k.diskFailed()}); err != nil {
			return err
		}
		all, err := k.x.Gather(m)
		if err != nil {
			return err
		}
		for rank, m := range all {
			var a answer
			if err := json.Unmarshal(m, &a); err != nil {
				return fmt.Errorf("the answer of rank %d cannot be read: %w", rank, err)
			}
			k.unreadable = cmp.Or(k.unreadable, a.Failed)
			for _, p := range a.Before {
				if p.State, err = k.local(nil, p.State); err != nil {
					return fmt.Errorf("the answer of rank %d: %w", rank, err)
				}
				fr.before = append(fr.before, p)
				fr.ranks = append(fr.ranks, rank)
			}
		}
		stack = append(stack, fr)
		return nil
	}
	if err := enter(question{State: f.State, Rank: f.Rank, Hint: f.Hint}, move{}); err != nil {
		return nil, err
	}
	for len(stack) > 0 {
		top := &stack[len(stack)-1]
		if len(top.before) == 0 {
			stack = stack[:len(stack)-1]
			continue
		}
		p, rank := top.before[0], top.ranks[0]
		top.before, top.ranks = top.before[1:], top.ranks[1:]
		down := move{p.Thread, p.Alt, p.Len}
		if p.Initial >= 0 {
			moves := []move{down}
			for i := len(stack) - 1; i > 0; i-- {
				moves = append(moves, stack[i].down)
			}
			return rb.trace(p.Initial, moves, own)
		}
		if entered[name{rank, p.Ref}] {
			continue
		}
		entered[name{rank, p.Ref}] = true
		if err := enter(question{State: p.State, Rank: rank, Hint: p.Hint}, down); err != nil {
			return nil, err
		}
	}
	return nil, errors.New("no path from an initial state: the stored parents are wrong")
}
