package search

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"cpor/engine"
	"cpor/engine/checkpoint"
	"cpor/engine/cluster"
	"cpor/engine/cluster/division"
	"cpor/statestore"
	"cpor/system"
	"cpor/workers"
)

// setup holds the parts that a search is composed of, for those that refer to each other. The
// loop knows none of them.
type setup struct {
	mark     checkpoint.Mark    // of the last checkpoint of the store, if it is whole
	ranks    *ranks             // nil if this process is alone
	disk     *disk              // nil if all is in memory
	division *division.Division // of the states among the ranks; nil if this process is alone
	parts    *parts             // nil if the covered set is whole, or is not saved
}

// Run searches the system sys with the expanders that newExpander makes.
//
// It ends when everything is covered, at the first violation (unless Options.All), at a limit of
// the options, or when ctx is canceled, and in each case returns what it has found so far. An
// error is either an *engine.OptionError, with a nil result, or it means that the tool itself
// failed: a panic, or a trace that does not replay. The result is then what was known at that
// time. On several ranks, a [cluster.Left] is an error that the other ranks do not know.
func Run(ctx context.Context, sys system.System, newExpander Factory, o Options) (res *Result,
	err error) {
	many := o.Ranks != nil && o.Ranks.Size() > 1
	defer func() {
		if v := recover(); v != nil {
			err = &workers.PanicError{Value: v, Stack: debug.Stack()}
			if many {
				err = &cluster.Left{Err: err}
			}
		}
	}()
	c := &composing{sys: sys, o: &o, rank: 0, ranks: 1,
		together: func(err error) error { return err }}
	if many {
		if err := forRanks(sys, &o); err != nil {
			return nil, err
		}
		c.rank, c.ranks = o.Ranks.Rank(), o.Ranks.Size()
		c.together = func(err error) error { return agree(o.Ranks, err) }
	}
	if o.Checkpoint != nil {
		if err := o.Checkpoint.Unkept(sys); err != nil {
			return nil, err
		}
	}
	c.watch, err = engine.NewWatch(ctx, &o.Options)
	if c.watch != nil {
		defer c.watch.End()
	}
	if many && err != nil && o.MaxMemory > 0 {
		// The memory that a process uses before it searches differs from rank to rank.
		err = fmt.Errorf("%w; -max-memory is divided among %d ranks", err, o.Ranks.Size())
	}
	if err := c.together(err); err != nil {
		return nil, err
	}
	defer func() {
		if c.disk != nil {
			c.disk.close()
		}
	}()
	if err := c.openDisk(); err != nil {
		return nil, err
	}
	from := c.origin()
	r, err := c.prepare(newExpander, from)
	if err != nil {
		return nil, err
	}
	over, err := from.goOn(r)
	if err != nil {
		return nil, err
	}
	res = &Result{Result: engine.Result{Workers: o.Workers}}
	if over && !many {
		return r.end(res, c.watch.Err())
	}
	return r.place.search(res, from.fresh())
}

// openDisk sets the options of the store, and opens the disk if there is one.
func (c *composing) openDisk() (err error) {
	o := c.o
	c.so = statestore.Options{Kind: o.Store, MaxBytes: c.watch.Memory().ForStores(),
		Workers: o.Workers, Samples: o.sizes.Samples}
	if o.sizes.StoreBytes > 0 {
		c.so.MaxBytes = o.sizes.StoreBytes
	}
	if o.Disk == "" {
		return nil
	}
	if c.disk, err = openDisk(o, c.so.MaxBytes); c.disk != nil {
		c.so = c.disk.so
	}
	return c.together(err)
}

// prepare makes the search with its workers, and starts it with from.
func (c *composing) prepare(newExpander Factory, from origin) (*run, error) {
	store, err := from.open(c)
	if err := c.together(err); err != nil {
		return nil, err
	}
	r := newRun(c.sys, newExpander, *c.o, c.watch, store)
	r.disk, r.again = c.disk, c.o.Checkpoint != nil || c.disk != nil
	c.choosePlace(r)
	if err := from.enter(r, c.together); err != nil {
		return nil, err
	}
	if c.ranks > 1 {
		if err := r.among(); err != nil {
			return nil, err
		}
	} else {
		r.most = c.o.MaxStates
	}
	r.hire()
	if c.disk != nil {
		c.disk.hire()
	}
	return r, nil
}

// choosePlace chooses where the states of this process are kept. With several ranks, [run.among]
// wraps that place.
func (c *composing) choosePlace(r *run) {
	keeps := c.o.Checkpoint != nil && c.ranks == 1
	switch {
	case c.disk != nil:
		c.disk.run = r
		r.place = c.disk
		if keeps {
			r.place = keepingDisk{c.disk}
		}
	case keeps:
		r.place = keeping{memoryPlace{r}}
	default:
		r.place = memoryPlace{r}
	}
}

// forRanks changes the options to those of one of several ranks.
func forRanks(sys system.System, o *Options) error {
	if o.Store != statestore.Tree {
		return &engine.OptionError{
			Message: fmt.Sprintf("-cluster requires -store tree; the %v store cannot link to "+
				"parents on other ranks", o.Store)}
	}
	if o.Hook != nil {
		return &engine.OptionError{
			Message: "-validate checks a single process and cannot be combined with -cluster"}
	}
	can := sys.Capabilities()
	if what := can.Unportable(); what != "" {
		return &engine.OptionError{
			Message: fmt.Sprintf("states cannot be sent to other ranks, because they name %s by "+
				"numbers local to a process", what)}
	}
	o.MaxMemory /= uint64(o.Ranks.Size())
	if _, ok := o.Ranks.(*cluster.Conn); !ok {
		o.Ranks = cluster.Connect(o.Ranks) // a search that pauses has several exchanges
	}
	return nil
}

// among puts the search among the other ranks.
func (r *run) among() (err error) {
	if r.parts != nil {
		r.division = r.parts.division // of the checkpoint
	}
	if r.division == nil {
		if r.division, err = agreeDivision(r); err != nil {
			return err
		}
		if r.parts != nil {
			r.parts.division = r.division
		}
		if r.disk == nil { // with a disk stores begin again
			if err := statestore.Share(r.store, r.division.Shapes); err != nil {
				return err
			}
		}
	}
	r.ranks = newRanks(r)
	r.place = r.ranks
	return nil
}

// composing is what exists before the search does.
type composing struct {
	sys         system.System
	o           *Options
	watch       *engine.Watch
	so          statestore.Options
	disk        *disk
	rank, ranks int
	// together returns on all ranks the error of any of them.
	together func(error) error
}

// origin is what a search begins with.
type origin interface {
	// open returns the store, with its content when the search was interrupted.
	open(c *composing) (statestore.Store, error)
	// enter restores what does not need workers. The other ranks may have to learn of its
	// failure.
	enter(r *run, together func(error) error) error
	// goOn restores the rest. over says that the search must end before it begins.
	goOn(r *run) (over bool, err error)
	// fresh says that the initial states are not covered yet.
	fresh() bool
}

func (c *composing) origin() origin {
	switch k := c.o.Checkpoint; {
	case k == nil || k.Parts == nil && k.From == nil:
		return anew{}
	case k.Parts != nil:
		return &fromParts{c: k}
	case c.disk != nil:
		return &fromDisk{c: k}
	default:
		return &fromFile{c: k}
	}
}

// again begins with the initial states.
type anew struct{}

func (anew) open(c *composing) (statestore.Store, error) {
	store, err := statestore.New(c.so)
	if err != nil {
		return nil, &engine.OptionError{Message: err.Error()}
	}
	if c.o.Checkpoint != nil {
		err = c.o.Checkpoint.Start()
	}
	return store, err
}

func (anew) enter(*run, func(error) error) error { return nil }
func (anew) goOn(*run) (bool, error)             { return false, nil }
func (anew) fresh() bool                         { return true }

// fromFile resumes a checkpoint of one file.
type fromFile struct {
	c    *engine.Checkpoint
	all  saved
	mark checkpoint.Mark
}

func (f *fromFile) open(c *composing) (statestore.Store, error) {
	if err := engine.ReadRecord(f.c.From, &f.all); err != nil {
		return nil, err
	}
	store, mark, err := checkpoint.RestoreStore(f.c.From, c.so)
	if errors.Is(err, statestore.ErrFull) {
		return nil, &engine.OptionError{
			Message: "the checkpoint needs more memory than -max-memory allows"}
	}
	if err != nil {
		return nil, err
	}
	f.mark = mark
	return store, f.c.Start()
}

func (f *fromFile) enter(r *run, _ func(error) error) error {
	r.before, r.mark = f.all, f.mark
	f.all.recount(r.sys, &r.o)
	return nil
}

func (f *fromFile) goOn(r *run) (bool, error) {
	trails, err := statestore.RestoreWork(r.ws, f.c.From)
	if err != nil {
		return false, engine.Unreadable(err)
	}
	if len(trails) != len(f.all.Findings) {
		return false, engine.Unreadable(errors.New("some violations have no trail"))
	}
	if x, ok := r.workers[0].expander.(Remembering); ok {
		if err := x.RestoreMemory(f.c.From); err != nil {
			return false, engine.Unreadable(err)
		}
	}
	// Reading past the end checks that nothing follows.
	if err := engine.AtEnd(f.c.From); err != nil {
		return false, err
	}
	r.states.Store(r.store.Len())
	r.refind(&f.all, trails)
	return false, nil
}

func (*fromFile) fresh() bool { return false }

// fromDisk resumes a checkpoint of a search with a disk.
type fromDisk struct {
	c    *engine.Checkpoint
	all  saved
	disk savedDisk
	over bool // the disk was not read completely
}

func (f *fromDisk) open(c *composing) (statestore.Store, error) {
	if err := engine.ReadRecord(f.c.From, &f.all); err != nil {
		return nil, err
	}
	if err := engine.ReadRecord(f.c.From, &f.disk); err != nil {
		return nil, err
	}
	store, err := statestore.New(c.so)
	if err != nil {
		return nil, &engine.OptionError{Message: err.Error()}
	}
	if err := f.c.Start(); err != nil {
		return nil, err
	}
	err = c.disk.restore(c.watch, f.c.Dir, &f.disk)
	if f.over = err != nil; f.over && c.watch.Err() == nil {
		return nil, &engine.OptionError{
			Message: fmt.Sprintf("the checkpoint cannot be resumed: -disk: %v", err)}
	}
	return store, nil
}

func (f *fromDisk) enter(r *run, _ func(error) error) error {
	r.before = f.all
	f.all.recount(r.sys, &r.o)
	return nil
}

func (f *fromDisk) goOn(r *run) (bool, error) {
	if err := r.disk.read(bufio.NewReader(f.c.From), &f.disk); err != nil {
		return false, err
	}
	r.refind(&f.all, make([]*statestore.Trail, len(f.all.Findings)))
	if f.over {
		// It must end before everything is restored: the last checkpoint stays valid.
		r.disk.failed = &engine.Stop{Reason: "the disk was not read completely"}
	}
	return f.over, nil
}

func (*fromDisk) fresh() bool { return false }

// refind enters the findings of the interrupted search.
func (r *run) refind(s *saved, trails []*statestore.Trail) {
	for i := range s.Findings {
		r.find(&s.Findings[i], trails[i])
	}
	r.found.More += s.More
	r.before.Findings = nil
}

// fromParts begins or resumes a search in several parts: on ranks, or in one process that
// resumes a search of ranks.
type fromParts struct {
	c     *engine.Checkpoint
	parts *parts
	kept  []*saved
	work  []*statestore.Batch
	taken *taken // of the disk; nil if all is in memory
}

func (f *fromParts) open(c *composing) (statestore.Store, error) {
	if d := c.disk; d != nil {
		d.dir.Number(0, c.rank)
		f.taken = &taken{disk: d, watch: c.watch, dir: f.c.Dir, writers: map[int]bool{}}
	}
	p, kept, work, err := open(c.sys, f.c, c.rank, c.ranks, c.so, f.taken)
	if err != nil {
		return nil, err
	}
	f.parts, f.kept, f.work = p, kept, work
	return p.store()
}

func (f *fromParts) enter(r *run, together func(error) error) error {
	r.parts, r.unstored = f.parts, r.disk == nil
	if r.disk == nil {
		for _, o := range f.parts.own {
			r.copies += o.extra
		}
	}
	if f.taken != nil {
		// Before there is an exchange for the search.
		if err := together(r.disk.resume(f.taken)); err != nil {
			return err
		}
	}
	if f.parts.ranks == 1 && f.parts.division == nil {
		f.parts.division = &division.Division{}
	}
	return nil
}

func (f *fromParts) goOn(r *run) (bool, error) {
	r.goOn(f.kept, f.work)
	return f.taken != nil && f.taken.over != nil, nil
}

func (f *fromParts) fresh() bool { return f.c.Parts.From == 0 }
